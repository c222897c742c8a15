-- SPDX-License-Identifier: MIT
-- What the host did while a device had no work for 10 us and more: CPU samples of the thread that launched next,
-- by call path. Samples belong to gaps by their time, on one clock: a sample is one of many moments, so paths with few
-- of them say little. (Times off the CPU are in waits, without a time for each.)

WITH slots AS (
	SELECT rank, gpu, start_ns - start_ns % 10000 AS slot, min(start_ns) AS first_ns,
		max(start_ns + duration_ns) AS last_ns
	FROM device
	WHERE start_ns IS NOT NULL
	GROUP BY rank, gpu, slot
), ends AS (
	SELECT rank, gpu, first_ns AS to_ns, max(last_ns) OVER (PARTITION BY rank, gpu ORDER BY slot
		ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS from_ns
	FROM slots
), long AS (
	SELECT * FROM ends WHERE to_ns - from_ns >= 10000
), ended AS (
	-- Of works that begin at the same time, the first one launched.
	SELECT d.rank, d.gpu, l.from_ns, l.to_ns, d.process_id, d.launch_tid AS tid,
		row_number() OVER (PARTITION BY d.rank, d.gpu, d.start_ns ORDER BY d.process_id, d.correlation_id) AS nr
	FROM device AS d
	JOIN long AS l ON l.rank = d.rank AND l.gpu = d.gpu AND l.to_ns = d.start_ns
), gaps AS (
	SELECT * FROM ended WHERE nr = 1
), seen AS (
	SELECT s.rank, g.gpu, s.process_id, s.path_id, count(*) AS samples, sum(s.period_ns)::BIGINT AS cpu_ns
	FROM samples AS s
	ASOF JOIN gaps AS g ON s.rank = g.rank AND s.process_id = g.process_id AND s.tid = g.tid AND s.time_ns >= g.from_ns
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
