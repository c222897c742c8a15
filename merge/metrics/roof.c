// SPDX-License-Identifier: GPL-3.0-or-later
#include "metrics/roof.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NEAR 60.0		/* percent: a unit that is used less does not bound a kernel */
#define MOST_UNKNOWN 0.25	/* fraction of a sum's time: if more is unknown, the roof is
				 * unknown */

/* the metrics whose sum is the use of a unit */
static const struct {
	const char *keys[2];
} units[NR_ROOF_UNITS] = {
	[ROOF_TENSOR] = { { "tensor_percent" } },
	[ROOF_DRAM] = { { "dram_read_percent", "dram_write_percent" } },
	[ROOF_ISSUE] = { { "sm_issue_percent" } },
};

/* Return: the value of a metric; NULL: the set does not have the metric. */
static const struct solved_value *value_of(const struct metrics *metrics,
					   const struct metric_set *set,
					   const struct solved_value *values, const char *key)
{
	uint32_t i;

	for (i = 0; i < set->nr; i++)
		if (set->names[i] != NO_INDEX &&
		    !strcmp(metrics->names.v[set->names[i]].key, key))
			return &values[i];
	return NULL;
}

static enum roof_bound bound_below(const struct solved_value *active)
{
	if (!active || isnan(active->value))
		return ROOF_UNCLEAR;
	return active->value < NEAR ? ROOF_IDLE_SMS : ROOF_LATENCY;
}

struct roof roof__of(const struct metrics *metrics, const struct metric_set *set,
		     const struct solved_value *values)
{
	struct roof roof = { .percent = NAN, .error = NAN };
	uint32_t unit, i;

	for (unit = 0; unit < NR_ROOF_UNITS; unit++) {
		double used = 0, error = 0;

		for (i = 0; i < ARRAY_SIZE(units[unit].keys) && units[unit].keys[i]; i++) {
			const struct solved_value *v =
				value_of(metrics, set, values, units[unit].keys[i]);

			if (!v || isnan(v->value))
				return (struct roof){ NAN, NAN, ROOF_UNCLEAR };
			used += v->value;
			error = both_errors(error, v->error);
		}
		if (unit && used <= roof.percent)
			continue;
		roof = (struct roof){ fmin(used, 100), error, unit };
	}
	if (roof.percent < NEAR)
		roof.bound = bound_below(value_of(metrics, set, values, "sm_active_percent"));
	return roof;
}

static int roofs__get(struct roofs *r, struct idmap *map, uint32_t of, struct roof_use **use)
{
	static const struct roof_use none;
	uint32_t at;
	int err = 0;

	if (!idmap__get(map, of, &at)) {
		at = r->uses.nr;
		err = idmap__put(map, of, at) ?: array_push(&r->uses, none);
	}
	if (!err)
		*use = &r->uses.v[at];
	return err;
}

int roofs__add(struct roofs *r, uint32_t leaf, uint32_t chain, double ns, const struct roof *roof)
{
	struct roof_use sum = { 0 }, *use;
	int err;

	if (isnan(roof->percent)) {
		sum.unknown_ns = ns;
	} else {
		sum.ns = sum.bound_ns[roof->bound] = ns;
		sum.save_ns = ns * (1 - roof->percent / 100);
		sum.error_ns = ns * roof->error / 100;
	}
	err = roofs__get(r, &r->by_leaf, leaf, &use);
	if (!err)
		roof_use__add(use, &sum);
	err = err ?: roofs__get(r, &r->by_chain, chain, &use);
	if (!err)
		roof_use__add(use, &sum);
	return err;
}

void roofs__exit(struct roofs *r)
{
	idmap__free(&r->by_leaf);
	idmap__free(&r->by_chain);
	array_free(&r->uses);
}

const struct roof_use *roofs__of_leaf(const struct roofs *r, uint32_t leaf)
{
	uint32_t at;

	return idmap__get(&r->by_leaf, leaf, &at) ? &r->uses.v[at] : NULL;
}

const struct roof_use *roofs__of_chain(const struct roofs *r, uint32_t chain)
{
	uint32_t at;

	return idmap__get(&r->by_chain, chain, &at) ? &r->uses.v[at] : NULL;
}

void roof_use__add(struct roof_use *to, const struct roof_use *from)
{
	uint32_t i;

	to->ns += from->ns;
	to->save_ns += from->save_ns;
	to->error_ns += from->error_ns;
	to->unknown_ns += from->unknown_ns;
	for (i = 0; i < NR_ROOF_BOUNDS; i++)
		to->bound_ns[i] += from->bound_ns[i];
}

double roof_use__save_ns(const struct roof_use *use)
{
	return use->save_ns + use->unknown_ns / 2;
}

double roof_use__error_ns(const struct roof_use *use)
{
	/* The standard deviation of a value that may be anything from 0 to the whole time. */
	return both_errors(use->error_ns, use->unknown_ns / sqrt(12));
}

double roof_use__percent(const struct roof_use *use)
{
	return 100 - 100 * roof_use__save_ns(use) / (use->ns + use->unknown_ns);
}

bool roof_use__is_known(const struct roof_use *use)
{
	return use->ns > 0 && use->unknown_ns <= MOST_UNKNOWN * (use->ns + use->unknown_ns);
}

const char *roof_use__bound(const struct roof_use *use)
{
	static const char *const names[NR_ROOF_BOUNDS] = {
		[ROOF_TENSOR] = "tensor cores",
		[ROOF_DRAM] = "DRAM",
		[ROOF_ISSUE] = "instruction issue",
		[ROOF_LATENCY] = "latency",
		[ROOF_IDLE_SMS] = "idle SMs",
		[ROOF_UNCLEAR] = "latency or idle SMs",
	};
	uint32_t i, most = 0;

	if (!roof_use__is_known(use))
		return "unknown";
	for (i = 1; i < NR_ROOF_BOUNDS; i++)
		if (use->bound_ns[i] > use->bound_ns[most])
			most = i;
	return names[most];
}
