-- SPDX-License-Identifier: MIT
-- The call paths that made the slowest rank late: device time outside of collectives by call path, of the
-- rank with the most of it, less that of the median rank in the same path.

WITH by_id AS (
	SELECT rank, process_id, path_id, sum(duration_ns) AS ns, count(*) AS records
	FROM device
	WHERE NOT starts_with(name, 'nccl')
	GROUP BY rank, process_id, path_id
), by_path AS (
	SELECT s.rank, p.path_hash, min(p.path) AS path, sum(s.ns)::BIGINT AS ns, sum(s.records)::BIGINT AS records
	FROM by_id AS s
	JOIN paths AS p ON p.process_id = s.process_id AND p.path_id = s.path_id AND p.rank = s.rank
	GROUP BY s.rank, p.path_hash
), ranks AS (
	SELECT count(DISTINCT rank) AS nr FROM by_path
), slowest AS (
	SELECT rank FROM by_path GROUP BY rank ORDER BY sum(ns) DESC, rank LIMIT 1
), ordered AS (
	SELECT path_hash, ns, row_number() OVER (PARTITION BY path_hash ORDER BY ns) AS place,
		count(*) OVER (PARTITION BY path_hash) AS nr
	FROM by_path
), middle AS (
	-- Ranks without the path have no time in it: they come first.
	SELECT o.path_hash, o.ns
	FROM ordered AS o, ranks AS r
	WHERE o.place + r.nr - o.nr = floor((r.nr + 1) / 2)
)
SELECT b.rank, b.ns - coalesce(m.ns, 0) AS later_ns, b.ns, coalesce(m.ns, 0) AS median_ns, b.records, b.path
FROM by_path AS b
JOIN slowest AS s ON s.rank = b.rank
LEFT JOIN middle AS m ON m.path_hash = b.path_hash
ORDER BY later_ns DESC, b.path
LIMIT 20;
