// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/changed_counters.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "json_out.h"
#include "model/feature.h"

#define LEAST_ERROR	1e-6		/* values are not more exact, relative to themselves */
#define CELL		48

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

static double error_of(const struct counter_side *s)
{
	double mean = mean_of(s), own = sqrt(s->errors) / s->nr, spread = 0;

	if (s->nr > 1)
		spread = sqrt(fmax(s->squares - s->nr * mean * mean, 0) / (s->nr - 1) / s->nr);
	return fmax(fmax(own, spread), fabs(mean) * LEAST_ERROR);
}

static double square(double x)
{
	return x * x;
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
		v.change = mean_of(&v.sides[B]) - mean_of(&v.sides[A]);
		v.error = sqrt(square(error_of(&v.sides[A])) + square(error_of(&v.sides[B])));
		if (fabs(v.change) > CHANGED_ERRORS * v.error)
			c->list.v[nr++] = v;
	}
	c->list.nr = nr;
	array_qsort(&c->list, counter__cmp);
}

/* ---- results --------------------------------------------------------------------------------- */

static const char *format_value(char text[CELL], const char *sign, double value, double error)
{
	int digits = error >= 10 ? 0 : error >= 0.095 ? 1 : 2;

	snprintf(text, CELL, "%s%.*f+-%.*f", sign, digits, value, digits, error);
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
	fprintf(t.f, "\n%scounters of kernels: %zu, of which %zu changed by more than %d of their "
		"errors%s, without %zu that A or B does not know and %zu of kernels that cannot be "
		"told apart. How much two runs of one build differ is not known\n",
		t.color ? "\033[1m" : "", c->nr_compared, c->list.nr, CHANGED_ERRORS,
		t.color ? "\033[m" : "", c->nr_unknown, c->nr_together);
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

static void put_number(struct json_out *j, const char *key, double v)
{
	char text[32];

	json_out__key(j, key);
	snprintf(text, sizeof(text), "%.6g", v);
	json_out__literal(j, isfinite(v) ? text : "null");
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
	put_number(j, "before", mean_of(&v->sides[A]));
	put_number(j, "before_error", error_of(&v->sides[A]));
	put_number(j, "after", mean_of(&v->sides[B]));
	put_number(j, "after_error", error_of(&v->sides[B]));
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
