-- SPDX-License-Identifier: MIT
-- Gaps of 10 us and more in which a device had no work, by the thread and the call path that launched the work
-- after them: of each rank the ten for which the device was idle longest. A gap is between the end of all work that
-- began before, and the next begin; times are of one host's clock. With xpuload --capture a gap begins no earlier than the
-- window of the launch that ended it: what was before was not recorded.
--
-- Work is first summed up in slots of 10 us, within which no gap is as long, so that few rows have to be sorted. Most work
-- ends in its own slot or in the next one; that which does not is looked at apart.

WITH slots AS (
	SELECT rank, gpu, start_ns // 10000 AS slot, min(start_ns) AS first_ns, max(start_ns + duration_ns) AS last_ns
	FROM device
	WHERE start_ns IS NOT NULL
	GROUP BY rank, gpu, slot
), before AS (
	-- Work of the slot before the last one may end later than that of the last one; of earlier ones only what is in covered.
	SELECT rank, gpu, slot, first_ns, greatest(lag(last_ns) OVER slots_before, lag(last_ns, 2) OVER slots_before) AS last_ns
	FROM slots
	WINDOW slots_before AS (PARTITION BY rank, gpu ORDER BY slot)
), covered AS (
	SELECT rank, gpu, slot, max(last_ns) OVER (PARTITION BY rank, gpu ORDER BY slot) AS last_ns
	FROM slots
	WHERE last_ns >= (slot + 2) * 10000
), gaps AS MATERIALIZED (
	SELECT b.rank, b.gpu, b.first_ns AS to_ns, greatest(b.last_ns, c.last_ns) AS from_ns
	FROM before AS b
	ASOF LEFT JOIN covered AS c ON c.rank = b.rank AND c.gpu = b.gpu AND c.slot < b.slot
	WHERE b.first_ns - b.last_ns >= 10000 AND b.first_ns - coalesce(c.last_ns, 0) >= 10000
), ended AS (
	-- Of works that begin at the same time, the first one launched.
	SELECT d.rank, d.gpu, g.from_ns, g.to_ns, d.process_id, d.launch_tid AS tid, d.comm, d.launch_path_id AS path_id,
		coalesce(d.launch_ns, d.start_ns) AS launch_ns,
		row_number() OVER (PARTITION BY d.rank, d.gpu, d.start_ns ORDER BY d.process_id, d.correlation_id) AS nr
	FROM device AS d
	JOIN gaps AS g ON g.rank = d.rank AND g.gpu = d.gpu AND g.to_ns = d.start_ns
), recorded AS (
	SELECT e.* REPLACE (greatest(e.from_ns, w.open_ns) AS from_ns)
	FROM ended AS e
	ASOF LEFT JOIN windows AS w ON w.rank = e.rank AND w.process_id = e.process_id AND w.open_ns <= e.launch_ns
	WHERE e.nr = 1
), sums AS (
	SELECT rank, gpu, process_id, tid, comm, path_id, count(*) AS gaps, sum(to_ns - from_ns)::BIGINT AS idle_ns,
		max(to_ns - from_ns) AS longest_ns
	FROM recorded
	WHERE to_ns - from_ns >= 10000
	GROUP BY rank, gpu, process_id, tid, comm, path_id
), ranked AS (
	SELECT *, row_number() OVER (PARTITION BY rank ORDER BY idle_ns DESC, gpu, tid, path_id) AS place FROM sums
)
SELECT r.rank, r.gpu, r.idle_ns, r.gaps, r.longest_ns, r.comm, r.tid, p.path AS launched_next
FROM ranked AS r
LEFT JOIN paths AS p ON p.process_id = r.process_id AND p.path_id = r.path_id AND p.rank = r.rank
WHERE r.place <= 10
ORDER BY r.rank, r.idle_ns DESC, r.gpu, r.tid, launched_next;
