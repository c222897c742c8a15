-- SPDX-License-Identifier: MIT
-- What the host did while a device had no work for 10 us and more: CPU samples of the thread that launched next,
-- by call path. Samples belong to gaps by their time, on one clock: a sample is one of many moments, so paths with few
-- of them say little. (Times off the CPU are in waits, without a time for each.)

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
	SELECT d.rank, d.gpu, g.from_ns, g.to_ns, d.process_id, d.launch_tid AS tid,
		row_number() OVER (PARTITION BY d.rank, d.gpu, d.start_ns ORDER BY d.process_id, d.correlation_id) AS nr
	FROM device AS d
	JOIN gaps AS g ON g.rank = d.rank AND g.gpu = d.gpu AND g.to_ns = d.start_ns
), first AS (
	SELECT * FROM ended WHERE nr = 1
), seen AS (
	SELECT s.rank, g.gpu, s.process_id, s.path_id, count(*) AS samples, sum(s.period_ns)::BIGINT AS cpu_ns
	FROM samples AS s
	ASOF JOIN first AS g ON s.rank = g.rank AND s.process_id = g.process_id AND s.tid = g.tid AND s.time_ns >= g.from_ns
	WHERE s.time_ns < g.to_ns
	GROUP BY s.rank, g.gpu, s.process_id, s.path_id
), ranked AS (
	SELECT *, row_number() OVER (PARTITION BY rank ORDER BY cpu_ns DESC, gpu, process_id, path_id) AS place FROM seen
)
SELECT r.rank, r.gpu, r.samples, r.cpu_ns, p.place, p.path
FROM ranked AS r
JOIN paths AS p ON p.process_id = r.process_id AND p.path_id = r.path_id AND p.rank = r.rank
WHERE r.place <= 10
ORDER BY r.rank, r.cpu_ns DESC, r.gpu, p.path;
