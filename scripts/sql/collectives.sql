-- SPDX-License-Identifier: MIT
-- Who waited for whom in NCCL's collectives. The n-th operation of a communicator is the same one on all of its ranks:
-- no time joins them. Its kernel waits from its begin until the last rank's kernel begins, and transfers from then on.
-- waited_ns is what a rank waited in all, last how often it came last, and waited_for_it_ns what the others waited then.
-- Times of several hosts are compared by CLOCK_REALTIME, which is as good as the hosts' synchronization.
--
-- Without communicators, which NCCL tells from 2.2x on, operations are counted by their name.

WITH work AS (
	SELECT d.rank, d.process_id, d.correlation_id, d.start_ns + coalesce(p.realtime_ns, 0) AS begin_ns,
		d.start_ns + d.duration_ns + coalesce(p.realtime_ns, 0) AS end_ns, d.communicator,
		CASE WHEN d.communicator IS NULL THEN regexp_extract(d.nvtx, 'NCCL:([^;]*)', 1) ELSE '' END AS operation
	FROM device AS d
	JOIN processes AS p ON p.process_id = d.process_id AND p.rank = d.rank
	WHERE d.kind = 'kernel' AND starts_with(d.name, 'nccl') AND d.start_ns IS NOT NULL
		AND (d.communicator IS NOT NULL OR d.nvtx LIKE '%NCCL:%')
), numbered AS (
	SELECT *, row_number() OVER (PARTITION BY process_id, communicator, operation ORDER BY correlation_id) AS nr FROM work
), last AS (
	SELECT communicator, operation, nr, max(begin_ns) AS last_ns, max_by(rank, (begin_ns, -rank)) AS last_rank, count(*) AS ranks
	FROM numbered
	GROUP BY communicator, operation, nr
), waits AS (
	SELECT n.rank, l.last_rank, n.end_ns - n.begin_ns AS ns,
		least(l.last_ns, greatest(n.end_ns, n.begin_ns)) - n.begin_ns AS waited_ns
	FROM numbered AS n
	JOIN last AS l ON l.communicator IS NOT DISTINCT FROM n.communicator AND l.operation = n.operation AND l.nr = n.nr
	WHERE l.ranks > 1
), blamed AS (
	SELECT last_rank AS rank, sum(waited_ns)::BIGINT AS ns FROM waits GROUP BY last_rank
)
SELECT w.rank, count(*) AS collectives, sum(w.ns)::BIGINT AS collective_ns, sum(w.waited_ns)::BIGINT AS waited_ns,
	(sum(w.ns) - sum(w.waited_ns))::BIGINT AS transfer_ns,
	count(*) FILTER (WHERE w.rank = w.last_rank) AS last, coalesce(any_value(b.ns), 0) AS waited_for_it_ns
FROM waits AS w
LEFT JOIN blamed AS b ON b.rank = w.rank
GROUP BY w.rank
ORDER BY waited_for_it_ns DESC, w.rank;
