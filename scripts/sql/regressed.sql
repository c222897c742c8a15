-- SPDX-License-Identifier: MIT
-- Kernels that take longer in one run than in another, as each has been launched then: what the change of
-- their average costs in all launches of the second run. The tables are before.device and after.device:
--
--	CREATE SCHEMA before; CREATE VIEW before.device AS FROM read_parquet('monday/device/*/*.parquet');
--	CREATE SCHEMA after; CREATE VIEW after.device AS FROM read_parquet('friday/device/*/*.parquet');

WITH a AS (
	SELECT name, count(*) AS launches, sum(duration_ns)::BIGINT AS ns, max(duration_ns) AS max_ns
	FROM before.device
	WHERE kind = 'kernel'
	GROUP BY name
), b AS (
	SELECT name, count(*) AS launches, sum(duration_ns)::BIGINT AS ns, max(duration_ns) AS max_ns
	FROM after.device
	WHERE kind = 'kernel'
	GROUP BY name
)
SELECT coalesce(a.name, b.name) AS name,
	coalesce(a.launches, 0) AS launches_before, coalesce(b.launches, 0) AS launches_after,
	coalesce(a.ns, 0) AS ns_before, coalesce(b.ns, 0) AS ns_after,
	round(a.ns / a.launches, 1) AS avg_ns_before, round(b.ns / b.launches, 1) AS avg_ns_after,
	round(b.ns - coalesce(1.0 * a.ns / a.launches, 0) * b.launches) AS slower_ns
FROM a
FULL JOIN b ON a.name = b.name
ORDER BY slower_ns DESC NULLS LAST, name
LIMIT 50;
