-- SPDX-License-Identifier: MIT
-- Ranks compared with the median rank: launches, device time, and own_ns, the device time outside of
-- collectives. A collective's kernel lasts until the last rank has come, so the rank that all others
-- wait for has the most own work and the least time in collectives. The rank that differs most is first.

WITH work AS (
	SELECT rank, sum(duration_ns)::BIGINT AS device_ns,
		coalesce(sum(duration_ns) FILTER (WHERE NOT starts_with(name, 'nccl')), 0)::BIGINT AS own_ns
	FROM device
	GROUP BY rank
), launched AS (
	SELECT rank, count(*) AS launches FROM launches GROUP BY rank
), ranks AS (
	SELECT w.rank, coalesce(l.launches, 0) AS launches, w.device_ns, w.own_ns
	FROM work AS w
	LEFT JOIN launched AS l ON l.rank = w.rank
), middle AS (
	SELECT median(launches) AS launches, median(device_ns) AS device_ns, median(own_ns) AS own_ns FROM ranks
)
SELECT r.rank, r.launches, r.device_ns, r.own_ns,
	round(r.launches / nullif(m.launches, 0), 3) AS launches_of_median,
	round(r.device_ns / nullif(m.device_ns, 0), 3) AS device_of_median,
	round(r.own_ns / nullif(m.own_ns, 0), 3) AS own_of_median
FROM ranks AS r, middle AS m
ORDER BY abs(r.own_ns - m.own_ns) DESC, r.rank;
