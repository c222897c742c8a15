-- SPDX-License-Identifier: MIT
-- Who waited for whom in NCCL's collectives. The n-th operation of a communicator is the same one on all of its ranks:
-- no time joins them. Its kernel waits from its begin until the last rank's kernel begins, and transfers from then on; one that
-- ends earlier, as the root of a broadcast may, waited for the last one that began before its end. waited_ns is what a rank
-- waited in all, waited_for_it in how many waits others waited for it, and waited_for_it_ns how long.
-- Times of several hosts are compared by CLOCK_REALTIME, which is as good as the hosts' synchronization; xpumerge ranks aligns
-- them, and knows groups, graphs, sends and receives.
--
-- Without communicators, which NCCL tells from 2.2x on, operations are counted by their name.

WITH work AS (
	SELECT d.rank, d.process_id, d.gpu, d.correlation_id, d.start_ns + coalesce(p.realtime_ns, 0) AS begin_ns,
		d.start_ns + d.duration_ns + coalesce(p.realtime_ns, 0) AS end_ns, coalesce(d.communicator, 0) AS communicator,
		CASE WHEN d.communicator IS NULL THEN regexp_extract(d.nvtx, 'NCCL:([^;]*)', 1) ELSE '' END AS operation
	FROM device AS d
	JOIN processes AS p ON p.process_id = d.process_id AND p.rank = d.rank
	WHERE d.kind = 'kernel' AND starts_with(d.name, 'nccl') AND d.start_ns IS NOT NULL
		AND (d.communicator IS NOT NULL OR d.nvtx LIKE '%NCCL:%')
), numbered AS (
	SELECT *, row_number() OVER (PARTITION BY process_id, gpu, communicator, operation ORDER BY correlation_id) AS nr
	FROM work
), last AS (
	SELECT communicator, operation, nr, max(begin_ns) AS last_ns, max_by(rank, (begin_ns, rank)) AS last_rank, count(*) AS ranks
	FROM numbered
	GROUP BY communicator, operation, nr
), paired AS (
	SELECT n.*, l.last_ns, l.last_rank
	FROM numbered AS n
	JOIN last AS l ON l.communicator = n.communicator AND l.operation = n.operation AND l.nr = n.nr
	WHERE l.ranks > 1
), waits AS (
	SELECT rank, last_rank AS for_rank, end_ns - begin_ns AS ns, last_ns - begin_ns AS waited_ns
	FROM paired
	WHERE last_ns < end_ns
	UNION ALL
	SELECT p.rank, o.rank, p.end_ns - p.begin_ns, greatest(o.begin_ns - p.begin_ns, 0)
	FROM paired AS p
	ASOF JOIN numbered AS o ON o.communicator = p.communicator AND o.operation = p.operation AND o.nr = p.nr
		AND p.end_ns > o.begin_ns
	WHERE p.last_ns >= p.end_ns
), blamed AS (
	SELECT for_rank AS rank, count(*) AS last, sum(waited_ns)::BIGINT AS ns FROM waits WHERE waited_ns > 0 GROUP BY for_rank
)
SELECT w.rank, count(*) AS collectives, sum(w.ns)::BIGINT AS collective_ns, sum(w.waited_ns)::BIGINT AS waited_ns,
	(sum(w.ns) - sum(w.waited_ns))::BIGINT AS transfer_ns,
	coalesce(any_value(b.last), 0) AS waited_for_it, coalesce(any_value(b.ns), 0) AS waited_for_it_ns
FROM waits AS w
LEFT JOIN blamed AS b ON b.rank = w.rank
GROUP BY w.rank
ORDER BY waited_for_it_ns DESC, w.rank;
