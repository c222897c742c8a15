-- SPDX-License-Identifier: MIT
-- Memory by call path, of recordings with --memory: what was allocated in all, and what was never freed; of each rank
-- the twenty call paths with most of it. Physical memory (cuMemCreate) lives as long as its mappings, and what a context owns
-- ends with it: xpumerge --memory knows both, this recipe does not.

WITH events AS (
	SELECT *, CASE WHEN space IN ('device', 'managed', 'pool') THEN 'device' ELSE space END AS addresses
	FROM allocations
	WHERE what IN ('made', 'freed') AND space NOT IN ('mapping', 'imported')
), last AS (
	-- The last event at each address.
	SELECT rank, process_id, max(number) AS number FROM events GROUP BY rank, process_id, addresses, address
), parts AS (
	SELECT rank, process_id, path_id, comm, space, sum(bytes) AS allocated_bytes, count(*) AS allocations,
		0 AS never_freed_bytes, 0 AS never_freed
	FROM events
	WHERE what = 'made'
	GROUP BY rank, process_id, path_id, comm, space
	UNION ALL
	SELECT e.rank, e.process_id, e.path_id, e.comm, e.space, 0, 0, sum(e.bytes), count(*)
	FROM events AS e
	JOIN last AS l ON l.number = e.number AND l.process_id = e.process_id AND l.rank = e.rank
	WHERE e.what = 'made'
	GROUP BY e.rank, e.process_id, e.path_id, e.comm, e.space
), sums AS (
	SELECT rank, process_id, path_id, comm, space, sum(allocated_bytes)::BIGINT AS allocated_bytes,
		sum(allocations)::BIGINT AS allocations, sum(never_freed_bytes)::BIGINT AS never_freed_bytes,
		sum(never_freed)::BIGINT AS never_freed
	FROM parts
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
