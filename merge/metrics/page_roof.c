// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * page_roof.c - writes the data of the roof plot, a member "roof" of the page
 *
 *	"roof": { "mode": "operations", "shares", or "none",
 *		  "bytes_per_ns": the highest sample, or null, "operations_per_ns": the same,
 *		  "counted": "operations", or "instructions" instead of operations,
 *		  "nr_more": kernels that were left out, "more_ns": their time,
 *		  "name": [ of a kernel, ... ], "ns": [ ... ], "count": [ ... ],
 *		  "x": [ ... ], "x_error", "y", "y_error": [ ... ], "of": [ unit of y, ... ],
 *		  "roof_percent", "roof_error", "save_ns", "save_error": [ ... ],
 *		  "together": [ 1: values of several kernels, ... ], "bound": [ ... ] }
 *
 * In the mode "operations", x is operations for each byte of DRAM, and y is operations for each ns.
 * In the mode "shares", x is the used percentage of DRAM's peak, and y is the used percentage of
 * the unit "of". 0 is the tensor cores, and 1 is the issue of instructions; the unit that is used
 * more is shown. An unknown value is null.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "json_out.h"
#include "metrics/roof_rows.h"
#include "metrics/state.h"
#include "write/page_json.h"
#include "write/section.h"

#define DIGITS		6
#define MAX_KERNELS	1000		/* a kernel takes about 200 bytes of the page */

enum mode { MODE_NONE, MODE_SHARES, MODE_OPERATIONS };

struct roof_page {
	struct json_out *j;
	const struct roof_row *rows;
	size_t nr;
	enum mode mode;
	double most[NR_ROOF_RATES];	/* the highest sample; NaN: the rate is not recorded */
};

/* Finds the factors of the metrics whose sum is the rate. Return: whether the set has the rate. */
static bool find_factors(const struct metrics *metrics, const struct metric_set *set,
			 enum roof_rate rate, double factors[XPU_MAX_METRICS])
{
	struct solved_value values[XPU_MAX_METRICS] = { 0 };
	uint32_t i;

	if (isnan(roof__rate(metrics, set, values, rate).value))
		return false;
	for (i = 0; i < set->nr; i++) {
		values[i].value = 1;
		factors[i] = roof__rate(metrics, set, values, rate).value;
		values[i].value = 0;
	}
	return true;
}

/* Return: the sum of a row's samples, each multiplied by its factor; 0 if the sum is not finite. */
static double sum_of(const struct metric_set *set, size_t row, const double *factors)
{
	const float *sample = metric_set__row(set, row);
	double sum = 0;
	uint32_t i;

	for (i = 0; i < set->nr; i++)
		if (factors[i])
			sum += factors[i] * sample[i];
	return isfinite(sum) ? sum : 0;
}

/* Finds the highest samples of a set. */
static void find_most(struct roof_page *p, const struct metrics *metrics,
		      const struct metric_set *set)
{
	double factors[XPU_MAX_METRICS];
	uint32_t rate;
	size_t row;

	for (rate = 0; rate < NR_ROOF_RATES; rate++) {
		if (!find_factors(metrics, set, rate, factors))
			continue;
		p->most[rate] = fmax(p->most[rate], 0);
		for (row = 0; row < set->rows.nr; row++)
			p->most[rate] = fmax(p->most[rate], sum_of(set, row, factors));
	}
}

static enum mode mode_of(const double most[NR_ROOF_RATES])
{
	if (most[RATE_BYTES] > 0 && most[RATE_OPERATIONS] > 0)
		return MODE_OPERATIONS;
	return !isnan(most[RATE_DRAM]) && !(isnan(most[RATE_TENSOR]) && isnan(most[RATE_ISSUE])) ?
	       MODE_SHARES : MODE_NONE;
}

/* Return: the value of a kernel on the axis y. *@unit is set in the mode "shares". */
static struct solved_value y_of(const struct roof_page *p, const struct roof_use *use,
				unsigned int *unit)
{
	struct solved_value tensor = roof_use__rate(use, RATE_TENSOR);
	struct solved_value issue = roof_use__rate(use, RATE_ISSUE);

	*unit = 0;
	if (p->mode == MODE_OPERATIONS)
		return roof_use__rate(use, RATE_OPERATIONS);
	*unit = isnan(p->most[RATE_TENSOR]) || issue.value > tensor.value;
	if (!isnan(p->most[RATE_TENSOR]) && !isnan(p->most[RATE_ISSUE]) &&
	    (isnan(tensor.value) || isnan(issue.value)))
		return (struct solved_value){ NAN, NAN };
	return *unit ? issue : tensor;
}

static struct solved_value x_of(const struct roof_page *p, const struct roof_use *use)
{
	return p->mode == MODE_OPERATIONS ? roof_use__intensity(use) :
	       roof_use__rate(use, RATE_DRAM);
}

/* the numbers of a kernel; each becomes an array */
enum number {
	NUMBER_NS, NUMBER_COUNT, NUMBER_X, NUMBER_X_ERROR, NUMBER_Y, NUMBER_Y_ERROR, NUMBER_OF,
	NUMBER_ROOF, NUMBER_ROOF_ERROR, NUMBER_SAVE, NUMBER_SAVE_ERROR, NUMBER_TOGETHER,
	NR_NUMBERS,
};

static const char *const number_keys[NR_NUMBERS] = {
	"ns", "count", "x", "x_error", "y", "y_error", "of", "roof_percent", "roof_error",
	"save_ns", "save_error", "together",
};

static void numbers_of(const struct roof_page *p, const struct roof_row *row, double v[NR_NUMBERS])
{
	const struct roof_use *use = &row->use;
	bool known = roof_use__is_known(use);
	unsigned int unit;
	struct solved_value x = x_of(p, use), y = y_of(p, use, &unit);
	double error_ns = known ? roof_use__error_ns(use) : NAN;

	v[NUMBER_NS] = row->ns;
	v[NUMBER_COUNT] = row->nr;
	v[NUMBER_X] = x.value;
	v[NUMBER_X_ERROR] = x.error;
	v[NUMBER_Y] = y.value;
	v[NUMBER_Y_ERROR] = y.error;
	v[NUMBER_OF] = unit;
	v[NUMBER_ROOF] = known ? roof_use__percent(use) : NAN;
	v[NUMBER_ROOF_ERROR] = 100 * error_ns / (use->ns + use->unknown_ns);
	v[NUMBER_SAVE] = known ? roof_use__save_ns(use) : NAN;
	v[NUMBER_SAVE_ERROR] = error_ns;
	v[NUMBER_TOGETHER] = use->together;
}

static void put_kernels(const struct roof_page *p)
{
	double v[NR_NUMBERS];
	uint32_t number;
	size_t i;

	page__open_array(p->j, "name");
	for (i = 0; i < p->nr; i++)
		json_out__string(p->j, p->rows[i].name);
	for (number = 0; number < NR_NUMBERS; number++) {
		page__next_array(p->j, number_keys[number]);
		for (i = 0; i < p->nr; i++) {
			numbers_of(p, &p->rows[i], v);
			if (number < NUMBER_X)
				json_out__u64(p->j, v[number]);
			else
				json_out__double(p->j, v[number], DIGITS);
		}
	}
	page__next_array(p->j, "bound");
	for (i = 0; i < p->nr; i++)
		json_out__word(p->j, roof_use__bound(&p->rows[i].use));
	json_out__close(p->j, ']');
}

int roof__page(const struct session *s, struct json_out *j)
{
	static const char *const modes[] = { "none", "shares", "operations" };
	const struct metrics *metrics = metrics__of(&s->model);
	struct section_rows rows = { .s = s };
	struct roof_page p = { .j = j };
	double more_ns = 0;
	size_t i;
	int err;

	if (!metrics->names.nr)
		return 0;
	err = section_kernel_roof.collect(&rows);
	p.rows = rows.v;
	p.nr = min_t(size_t, rows.nr, MAX_KERNELS);
	for (i = 0; i < NR_ROOF_RATES; i++)
		p.most[i] = NAN;
	array_each(&metrics->sets, set)
		find_most(&p, metrics, set);
	p.mode = mode_of(p.most);
	for (i = p.nr; i < rows.nr; i++)
		more_ns += p.rows[i].ns;
	json_out__key(j, "roof");
	json_out__open(j, '{');
	json_out__member_word(j, "mode", modes[p.mode]);
	json_out__key(j, "bytes_per_ns");
	json_out__double(j, p.most[RATE_BYTES], DIGITS);
	json_out__key(j, "operations_per_ns");
	json_out__double(j, p.most[RATE_OPERATIONS], DIGITS);
	json_out__member_word(j, "counted", roof__counts_instructions(metrics) ? "instructions" :
			      "operations");
	json_out__member_u64(j, "nr_more", rows.nr - p.nr);
	json_out__member_u64(j, "more_ns", more_ns);
	if (!err)
		put_kernels(&p);
	json_out__close(j, '}');
	json_out__line(j, 0);
	free(rows.columns);
	free(rows.v);
	return err;
}
