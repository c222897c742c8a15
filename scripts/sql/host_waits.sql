-- SPDX-License-Identifier: MIT
-- Where threads waited, for what, and how long: the ten longest of each rank.

WITH sums AS (
	SELECT rank, process_id, path_id, kind, name, comm, sum(duration_ns)::BIGINT AS ns, count(*) AS records
	FROM waits
	GROUP BY rank, process_id, path_id, kind, name, comm
), named AS (
	SELECT s.rank, s.kind, s.name, s.comm, p.path, sum(s.ns)::BIGINT AS ns, sum(s.records)::BIGINT AS records
	FROM sums AS s
	JOIN paths AS p ON p.process_id = s.process_id AND p.path_id = s.path_id AND p.rank = s.rank
	GROUP BY s.rank, s.kind, s.name, s.comm, p.path
), ranked AS (
	SELECT *, row_number() OVER (PARTITION BY rank ORDER BY ns DESC, kind, name, comm, path) AS place FROM named
)
SELECT rank, ns, records, kind, name, comm, path
FROM ranked
WHERE place <= 10
ORDER BY rank, ns DESC, kind, name, comm, path;
