-- SPDX-License-Identifier: MIT
-- Memory by call path, of recordings with --memory: what was allocated in all, and what was never freed; of each rank
-- the twenty call paths with most of it. Physical memory (cuMemCreate) lives as long as its mappings, and what a context owns
-- ends with it: xpumerge --memory knows both, this recipe does not.

WITH events AS (
	SELECT *, lead(what) OVER (PARTITION BY rank, process_id,
			CASE WHEN space IN ('device', 'managed', 'pool') THEN 'device' ELSE space END, address
			ORDER BY number) AS next
	FROM allocations
	WHERE what IN ('made', 'freed') AND space NOT IN ('mapping', 'imported')
), sums AS (
	SELECT rank, process_id, path_id, comm, space, sum(bytes)::BIGINT AS allocated_bytes, count(*) AS allocations,
		coalesce(sum(bytes) FILTER (WHERE next IS NULL), 0)::BIGINT AS never_freed_bytes,
		count(*) FILTER (WHERE next IS NULL) AS never_freed
	FROM events
	WHERE what = 'made'
	GROUP BY rank, process_id, path_id, comm, space
), named AS (
	SELECT s.rank, s.comm, s.space, p.path, sum(s.allocated_bytes)::BIGINT AS allocated_bytes,
		sum(s.allocations)::BIGINT AS allocations, sum(s.never_freed_bytes)::BIGINT AS never_freed_bytes,
		sum(s.never_freed)::BIGINT AS never_freed
	FROM sums AS s
	JOIN paths AS p ON p.process_id = s.process_id AND p.path_id = s.path_id AND p.rank = s.rank
	GROUP BY s.rank, s.comm, s.space, p.path
), ranked AS (
	SELECT *, row_number() OVER (PARTITION BY rank ORDER BY never_freed_bytes DESC, allocated_bytes DESC, space, path) AS place
	FROM named
)
SELECT rank, never_freed_bytes, never_freed, allocated_bytes, allocations, space, comm, path
FROM ranked
WHERE place <= 20
ORDER BY rank, never_freed_bytes DESC, allocated_bytes DESC, space, path;
