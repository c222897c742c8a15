-- SPDX-License-Identifier: MIT
-- Gaps of 10 us and more in which a device had no work, by the thread and the call path that launched the work
-- after them: of each rank the ten for which the device was idle longest. A gap is between the end of all work that
-- began before, and the next begin; times are of one host's clock.
--
-- Work is first summed up in slots of 10 us, within which no gap is as long, so that few rows have to be sorted.

WITH slots AS (
	SELECT rank, gpu, start_ns - start_ns % 10000 AS slot, min(start_ns) AS first_ns,
		max(start_ns + duration_ns) AS last_ns
	FROM device
	WHERE start_ns IS NOT NULL
	GROUP BY rank, gpu, slot
), gaps AS (
	SELECT rank, gpu, first_ns, max(last_ns) OVER (PARTITION BY rank, gpu ORDER BY slot
		ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS idle_from_ns
	FROM slots
), long AS (
	SELECT rank, gpu, first_ns, first_ns - idle_from_ns AS ns FROM gaps WHERE first_ns - idle_from_ns >= 10000
), ended AS (
	-- Of works that begin at the same time, the first one launched.
	SELECT d.rank, d.gpu, l.ns, d.process_id, d.launch_tid AS tid, d.comm, d.launch_path_id AS path_id,
		row_number() OVER (PARTITION BY d.rank, d.gpu, d.start_ns ORDER BY d.process_id, d.correlation_id) AS nr
	FROM device AS d
	JOIN long AS l ON l.rank = d.rank AND l.gpu = d.gpu AND l.first_ns = d.start_ns
), sums AS (
	SELECT rank, gpu, process_id, tid, comm, path_id, count(*) AS gaps, sum(ns)::BIGINT AS idle_ns, max(ns) AS longest_ns
	FROM ended
	WHERE nr = 1
	GROUP BY rank, gpu, process_id, tid, comm, path_id
), ranked AS (
	SELECT *, row_number() OVER (PARTITION BY rank ORDER BY idle_ns DESC, gpu, tid, path_id) AS place FROM sums
)
SELECT r.rank, r.gpu, r.idle_ns, r.gaps, r.longest_ns, r.comm, r.tid, p.path AS launched_next
FROM ranked AS r
LEFT JOIN paths AS p ON p.process_id = r.process_id AND p.path_id = r.path_id AND p.rank = r.rank
WHERE r.place <= 10
ORDER BY r.rank, r.idle_ns DESC, r.gpu, r.tid, launched_next;
