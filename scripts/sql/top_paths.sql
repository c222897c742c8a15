-- SPDX-License-Identifier: MIT
-- Call paths by device time, the ten largest of each rank.

WITH sums AS (
	SELECT rank, process_id, path_id, comm, sum(duration_ns) AS device_ns, count(*) AS records
	FROM device
	GROUP BY rank, process_id, path_id, comm
), named AS (
	SELECT s.rank, s.comm, p.path, sum(s.device_ns)::BIGINT AS device_ns, sum(s.records)::BIGINT AS records
	FROM sums AS s
	JOIN paths AS p ON p.process_id = s.process_id AND p.path_id = s.path_id AND p.rank = s.rank
	GROUP BY s.rank, s.comm, p.path
), ranked AS (
	SELECT *, row_number() OVER (PARTITION BY rank ORDER BY device_ns DESC, path) AS place,
		round(100.0 * device_ns / sum(device_ns) OVER (PARTITION BY rank), 1) AS percent
	FROM named
)
SELECT rank, percent, device_ns, records, comm, path
FROM ranked
WHERE place <= 10
ORDER BY rank, device_ns DESC, path;
