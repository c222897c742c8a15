// SPDX-License-Identifier: GPL-3.0-or-later
#include "metrics/roof.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NEAR 60.0		/* percent: a unit that is used less does not bound a kernel */
#define RATE_UNKNOWN 0.05	/* fraction of a sum's time: if more is unknown, the rate is
				 * unknown */
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

/* CUPTI's metrics for rates; a rate is the sum of its metrics, each multiplied by its factor */
static const struct {
	enum roof_rate rate;
	const char *begin, *end;	/* begin and end of the metric's name */
	unsigned int parts;		/* the parts that the metric has, as bits: 1 is reads, 2 is
					 * writes */
	double factor;
} amounts[] = {
	{ RATE_BYTES, "dram__bytes.sum.per_second", "", 3, 1e-9 },
	{ RATE_BYTES, "dram__bytes_read.sum.per_second", "", 1, 1e-9 },
	{ RATE_BYTES, "dram__bytes_write.sum.per_second", "", 2, 1e-9 },
	{ RATE_OPERATIONS, "sm__ops_path_tensor_src_", ".sum.per_second", 0, 1e-9 },
	{ RATE_OPERATIONS, "sm__sass_thread_inst_executed_op_", "add_pred_on.sum.per_second", 0,
	  1e-9 },
	{ RATE_OPERATIONS, "sm__sass_thread_inst_executed_op_", "mul_pred_on.sum.per_second", 0,
	  1e-9 },
	{ RATE_OPERATIONS, "sm__sass_thread_inst_executed_op_", "fma_pred_on.sum.per_second", 0,
	  2e-9 },
};

static const typeof(*amounts) instructions = {
	RATE_OPERATIONS, "sm__inst_executed.sum.per_second", "", 0, 1e-9
};

static const struct solved_value unknown = { NAN, NAN };

static bool amount__is(const typeof(*amounts) *a, const char *name, enum roof_rate rate)
{
	size_t begin = strlen(a->begin), end = strlen(a->end), len = strlen(name);

	return a->rate == rate && len >= begin + end && (end || len == begin) &&
	       !strncmp(name, a->begin, begin) && !strcmp(name + len - end, a->end) &&
	       !strstr(name, "sparsity");
}

/* Return: the row of amounts[] for a metric; NULL: the metric has no row. */
static const typeof(*amounts) *amount_of(const char *name, enum roof_rate rate)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(amounts); i++)
		if (amount__is(&amounts[i], name, rate))
			return &amounts[i];
	return NULL;
}

bool roof__counts_instructions(const struct metrics *metrics)
{
	bool has = false;

	array_each(&metrics->names, name) {
		if (amount_of(name->name, RATE_OPERATIONS))
			return false;
		has |= amount__is(&instructions, name->name, RATE_OPERATIONS);
	}
	return has;
}

static void add_rate(struct solved_value *to, const struct solved_value *v, double factor)
{
	to->value += v->value * factor;
	to->error = both_errors(to->error, v->error * factor);
}

static struct solved_value amount_rate(const struct metrics *metrics, const struct metric_set *set,
				       const struct solved_value *values, enum roof_rate rate)
{
	bool count = rate == RATE_OPERATIONS && roof__counts_instructions(metrics), any = false;
	struct solved_value sum = { 0, 0 };
	unsigned int parts = 0;
	uint32_t i;

	for (i = 0; i < set->nr; i++) {
		const char *name = set->names[i] == NO_INDEX ? "" :
			metrics->names.v[set->names[i]].name;
		const typeof(*amounts) *a = amount_of(name, rate);

		if (count && amount__is(&instructions, name, rate))
			a = &instructions;

		if (!a || a->parts & parts)
			continue;
		add_rate(&sum, &values[i], a->factor);
		parts |= a->parts;
		any = true;
	}
	return any && (rate != RATE_BYTES || parts == 3) ? sum : unknown;
}

struct solved_value roof__rate(const struct metrics *metrics, const struct metric_set *set,
			       const struct solved_value *values, enum roof_rate rate)
{
	struct solved_value sum = { 0, 0 };
	uint32_t i;

	if (rate >= RATE_BYTES)
		return amount_rate(metrics, set, values, rate);
	for (i = 0; i < ARRAY_SIZE(units[rate].keys) && units[rate].keys[i]; i++) {
		const struct solved_value *v = value_of(metrics, set, values, units[rate].keys[i]);

		if (!v)
			return unknown;
		add_rate(&sum, v, 1);
	}
	return isnan(sum.value) ? unknown : sum;
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
	struct roof roof = { .percent = NAN, .error = NAN, .bound = ROOF_UNCLEAR };
	uint32_t rate;
	bool known = true;

	for (rate = 0; rate < NR_ROOF_RATES; rate++) {
		roof.rates[rate] = roof__rate(metrics, set, values, rate);
		known &= rate >= NR_ROOF_UNITS || !isnan(roof.rates[rate].value);
	}
	for (rate = 0; rate < NR_ROOF_UNITS && known; rate++) {
		if (rate && roof.rates[rate].value <= roof.percent)
			continue;
		roof.percent = roof.rates[rate].value;
		roof.error = roof.rates[rate].error;
		roof.bound = rate;
	}
	roof.percent = known ? fmin(roof.percent, 100) : NAN;
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

int roofs__add(struct roofs *r, uint32_t leaf, uint32_t chain, double ns, const struct roof *roof,
	       bool together)
{
	struct roof_use sum = { .together = together }, *use;
	uint32_t i;
	int err;

	for (i = 0; i < NR_ROOF_RATES; i++)
		if (!isnan(roof->rates[i].value))
			sum.rates[i] = (struct roof_sum){ ns, ns * roof->rates[i].value,
							  ns * roof->rates[i].error };

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
	for (i = 0; i < NR_ROOF_RATES; i++) {
		to->rates[i].ns += from->rates[i].ns;
		to->rates[i].sum += from->rates[i].sum;
		to->rates[i].error += from->rates[i].error;
	}
	to->together |= from->together;
}

struct solved_value roof_use__rate(const struct roof_use *use, enum roof_rate rate)
{
	const struct roof_sum *s = &use->rates[rate];

	if (!(s->ns > 0) || s->ns < (1 - RATE_UNKNOWN) * (use->ns + use->unknown_ns))
		return unknown;
	return (struct solved_value){ s->sum / s->ns, s->error / s->ns };
}

struct solved_value roof_use__intensity(const struct roof_use *use)
{
	struct solved_value bytes = roof_use__rate(use, RATE_BYTES);
	struct solved_value operations = roof_use__rate(use, RATE_OPERATIONS);
	double value = operations.value / bytes.value;

	/* The quotient is unknown if the divisor may be 0. */
	if (!(bytes.value > 2 * bytes.error) || isnan(operations.value))
		return unknown;
	return (struct solved_value){ value, both_errors(operations.error / bytes.value,
							 value * bytes.error / bytes.value) };
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
