// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/changed_counters.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "human.h"
#include "json_out.h"
#include "model/feature.h"
#include "write/student_t.h"

#define LEAST_ERROR	1e-6		/* minimum relative error that is assumed */
#define CHANCE		0.0027		/* a change counts if its probability by chance is lower:
					 * three standard errors of a normal distribution */
#define CELL		48
#define JSON_DIGITS	6

enum { A, B };

static int add_value(struct changed_counters *c, const struct kernel_value *v, unsigned int side)
{
	struct changed_counter new = {
		.kernel = strpool__intern(&c->strings, v->kernel, strlen(v->kernel)),
		.counter = strpool__intern(&c->strings, v->counter, strlen(v->counter)),
		.unit = strpool__intern(&c->strings, v->unit, strlen(v->unit)),
	};
	const char *name = strpool__internf(&c->strings, "%s %s", v->counter, v->unit);
	struct counter_side *to;
	uint64_t key;
	uint32_t at;
	int err = 0;

	if (!new.kernel || !new.counter || !new.unit || !name)
		return -ENOMEM;
	key = ID_KEY(strpool__id(new.kernel), strpool__id(name));
	if (!idmap__get(&c->by_name, key, &at)) {
		at = c->list.nr;
		err = idmap__put(&c->by_name, key, at) ?: array_push(&c->list, new);
	}
	if (err)
		return err;
	to = &c->list.v[at].sides[side];
	to->ns += v->ns;
	c->list.v[at].together |= v->together;
	if (isnan(v->value))
		return 0;
	to->nr++;
	to->sum += v->value;
	to->squares += v->value * v->value;
	to->errors += v->error * v->error;
	return 0;
}

int changed_counters__add(struct changed_counters *c, const struct session *s, unsigned int side)
{
	kernel_values_t values = { 0 };
	unsigned int i;
	size_t k;
	int err = 0;

	for (i = 0; features[i] && !err; i++)
		err = features[i]->kernel_values ? features[i]->kernel_values(s, &values) : 0;
	for (k = 0; k < values.nr && !err; k++)
		err = add_value(c, &values.v[k], side);
	array_free(&values);
	return err;
}

static double mean_of(const struct counter_side *s)
{
	return s->nr ? s->sum / s->nr : NAN;
}

/* Return: the standard error of the mean, computed from the recordings' own errors. */
static double own_error(const struct counter_side *s)
{
	return fmax(sqrt(s->errors) / s->nr, fabs(mean_of(s)) * LEAST_ERROR);
}

/* Return: the standard error of the mean, computed from the spread of the values. */
static double spread_of(const struct counter_side *s)
{
	double mean = mean_of(s);

	return s->nr < 2 ? 0 :
	       sqrt(fmax(s->squares - s->nr * mean * mean, 0) / (s->nr - 1) / s->nr);
}

static double error_of(const struct counter_side *s)
{
	return fmax(own_error(s), spread_of(s));
}

static double square(double x)
{
	return x * x;
}

/*
 * Return: the degrees of freedom of the error of a change, by Welch and Satterthwaite. The spread
 * of few values is a poor estimate. An error that follows from the errors of the values counts as
 * exact.
 */
static double freedom_of(const struct changed_counter *v)
{
	double sum = 0;
	unsigned int side;

	for (side = A; side <= B; side++)
		if (spread_of(&v->sides[side]) > own_error(&v->sides[side]))
			sum += square(square(spread_of(&v->sides[side]) / v->error)) /
			       (v->sides[side].nr - 1);
	return sum > 0 ? 1 / sum : INFINITY;
}

static double time_of(const struct changed_counter *v)
{
	return fmax(v->sides[A].ns, v->sides[B].ns);
}

static int counter__cmp(const void *va, const void *vb)
{
	const struct changed_counter *a = va, *b = vb;

	return cmp3(time_of(b), time_of(a)) ?: strcmp(a->kernel, b->kernel) ?:
	       cmp3(fabs(b->change) / b->error, fabs(a->change) / a->error) ?:
	       strcmp(a->counter, b->counter);
}

void changed_counters__find(struct changed_counters *c)
{
	size_t i, nr = 0;

	for (i = 0; i < c->list.nr; i++) {
		struct changed_counter v = c->list.v[i];

		if (v.together) {
			c->nr_together++;
			continue;
		}
		if (!v.sides[A].nr || !v.sides[B].nr) {
			c->nr_unknown++;
			continue;
		}
		c->nr_compared++;
		c->repeated |= v.sides[A].nr > 1 || v.sides[B].nr > 1;
		v.change = mean_of(&v.sides[B]) - mean_of(&v.sides[A]);
		v.error = sqrt(square(error_of(&v.sides[A])) + square(error_of(&v.sides[B])));
		if (v.change != 0 &&
		    student_t__probability(fabs(v.change) / v.error, freedom_of(&v)) < CHANCE)
			c->list.v[nr++] = v;
	}
	c->list.nr = nr;
	array_qsort(&c->list, counter__cmp);
}

/* ---- results --------------------------------------------------------------------------------- */

static const char *format_value(char text[CELL], const char *sign, double value, double error)
{
	char number[HUMAN_MAX];

	snprintf(text, CELL, "%s%s", sign, human__with_error(number, value, error));
	return text;
}

static int put_row(const struct changed_counter *v, struct table *t)
{
	char change[CELL], a[CELL], b[CELL];
	const struct counter_side *s = v->sides;

	return table__row(t, (struct cell[]){
		{ .s = format_value(change, v->change < 0 ? "" : "+", v->change, v->error) },
		{ .s = format_value(a, "", mean_of(&s[A]), error_of(&s[A])) },
		{ .s = format_value(b, "", mean_of(&s[B]), error_of(&s[B])) },
		{ .s = v->unit }, { .s = v->counter }, { .s = v->kernel },
	});
}

int changed_counters__print(const struct changed_counters *c, struct table t, uint32_t max_rows)
{
	static const struct column columns[] = {
		{ "B - A", "change", COLUMN_WORD, 0 }, { "A", "a", COLUMN_WORD, 1 },
		{ "B", "b", COLUMN_WORD, 2 }, { "unit", "unit", COLUMN_WORD, 3 },
		{ "counter", "counter", COLUMN_NAME, 0 }, { "kernel", "kernel", COLUMN_NAME, 0 },
	};
	size_t shown = max_rows ? min_t(size_t, max_rows, c->list.nr) : c->list.nr, i;
	int err = 0;

	if (!c->nr_compared && !c->nr_unknown && !c->nr_together)
		return 0;
	fprintf(t.f, "\n%scounters of kernels: %zu, of which %zu changed by more than chance "
		"(confidence %.2f %%)%s, without %zu that A or B does not know and %zu of kernels "
		"that cannot be told apart%s\n", t.color ? "\033[1m" : "", c->nr_compared,
		c->list.nr, 100 - 100 * CHANCE, t.color ? "\033[m" : "", c->nr_unknown,
		c->nr_together,
		c->repeated ? "" : ". How much two runs of one build differ is not known");
	if (!c->list.nr)
		return 0;
	table__begin(&t, "counters", columns, ARRAY_SIZE(columns));
	for (i = 0; i < shown && !err; i++)
		err = put_row(&c->list.v[i], &t);
	if (table__end(&t))
		err = -ENOMEM;
	if (shown < c->list.nr)
		fprintf(t.f, "  ... and %zu more\n", c->list.nr - shown);
	return err;
}

static void put_counter(struct json_out *j, const struct changed_counter *v)
{
	json_out__line(j, 2);
	json_out__open(j, '{');
	json_out__key(j, "kernel");
	json_out__string(j, v->kernel);
	json_out__key(j, "counter");
	json_out__string(j, v->counter);
	json_out__key(j, "unit");
	json_out__string(j, v->unit);
	json_out__key(j, "before");
	json_out__double(j, mean_of(&v->sides[A]), JSON_DIGITS);
	json_out__key(j, "before_error");
	json_out__double(j, error_of(&v->sides[A]), JSON_DIGITS);
	json_out__key(j, "after");
	json_out__double(j, mean_of(&v->sides[B]), JSON_DIGITS);
	json_out__key(j, "after_error");
	json_out__double(j, error_of(&v->sides[B]), JSON_DIGITS);
	json_out__close(j, '}');
}

void changed_counters__json(const struct changed_counters *c, struct json_out *j, uint32_t max_rows)
{
	size_t shown = max_rows ? min_t(size_t, max_rows, c->list.nr) : c->list.nr, i;

	json_out__key(j, "counters");
	json_out__open(j, '{');
	json_out__member_u64(j, "compared", c->nr_compared);
	json_out__member_u64(j, "unknown", c->nr_unknown);
	json_out__member_u64(j, "together", c->nr_together);
	json_out__member_u64(j, "changed_left_out", c->list.nr - shown);
	json_out__key(j, "changed");
	json_out__open(j, '[');
	for (i = 0; i < shown; i++)
		put_counter(j, &c->list.v[i]);
	json_out__close(j, ']');
	json_out__close(j, '}');
}

void changed_counters__exit(struct changed_counters *c)
{
	strpool__free(&c->strings);
	idmap__free(&c->by_name);
	array_free(&c->list);
}
