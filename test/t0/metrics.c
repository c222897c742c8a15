// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Divides a GPU's metrics among kernels and call paths, and compares the shares with sums over
 * every single nanosecond. Activities are random and overlap; samples are random, with gaps between
 * them and with missing values.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "metrics/metric_sums.h"
#include "tap.h"

#define NR_NS		400
#define NR_WORKS	30
#define NR_LEAVES	3
#define NR_CHAINS	4

enum { MEAN, AMOUNT, NR_METRICS };

static uint64_t seed = 88172645463325252ull;

static uint32_t rnd(uint32_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % below;
}

struct expected {
	struct metric_use leaf[NR_LEAVES][NR_METRICS], chain[NR_CHAINS][NR_METRICS];
	double idle, total;
};

static void use(struct metric_use *to, double ns, double value)
{
	to->ns += ns;
	to->sum += value;
}

/* Adds the values that one nanosecond of one sample should give. */
static void expect_ns(struct expected *e, const struct kept_work *works, uint64_t ns,
		      const float *values, double length)
{
	double amount = values[AMOUNT] / length;
	unsigned int i, nr = 0;

	for (i = 0; i < NR_WORKS; i++)
		nr += works[i].gpu == 0 && works[i].start_ns <= ns && ns < works[i].end_ns;
	for (i = 0; i < NR_WORKS; i++) {
		const struct kept_work *w = &works[i];

		if (w->gpu || w->leaf == NO_INDEX || w->start_ns > ns || ns >= w->end_ns)
			continue;
		if (isfinite(values[MEAN])) {
			use(&e->leaf[w->leaf][MEAN], 1, values[MEAN]);
			use(&e->chain[w->chain][MEAN], 1, values[MEAN]);
		}
		if (isfinite(amount)) {
			use(&e->leaf[w->leaf][AMOUNT], 1, amount / nr);
			use(&e->chain[w->chain][AMOUNT], 1, amount / nr);
		}
	}
	if (isfinite(amount)) {
		e->idle += nr ? 0 : amount;
		e->total += amount;
	}
}

static void make_works(struct kept_work *works)
{
	unsigned int i;

	for (i = 0; i < NR_WORKS; i++) {
		bool out = !rnd(8);

		works[i].gpu = !rnd(10);
		works[i].start_ns = 1000 + rnd(NR_NS);
		works[i].end_ns = works[i].start_ns + rnd(60);
		works[i].leaf = out ? NO_INDEX : rnd(NR_LEAVES);
		works[i].chain = out ? NO_INDEX : rnd(NR_CHAINS);
	}
}

static void define(struct metrics *m, uint16_t index, uint32_t kind, const char *name)
{
	char room[sizeof(struct xpu_record_metric) + 64] __attribute__((aligned(8))) = { 0 };
	struct xpu_record_metric *rec = (void *)room;

	*rec = (struct xpu_record_metric){
		.set = 1, .index = index, .kind = kind, .name_bytes = strlen(name) + 1,
		.unit_bytes = 2,
	};
	strcpy(rec->data, name);
	strcpy(rec->data + rec->name_bytes, "W");	/* a GPU's state is averaged, not solved */
	if (metrics__define(m, 0, rec))
		abort();
}

/* Adds samples, and computes the values that they should give. */
static void make_rows(struct metrics *m, const struct kept_work *works, struct expected *e)
{
	char room[sizeof(struct xpu_record_metrics) + 64] __attribute__((aligned(8))) = { 0 };
	struct xpu_record_metrics *rec = (void *)room;
	uint32_t nr_bad, length, k;
	uint64_t ns = 990, at;
	float values[NR_METRICS];

	for (; ns < 1000 + NR_NS; ns += length + (rnd(3) ? 0 : rnd(20))) {
		length = 1 + rnd(50);
		for (k = 0; k < NR_METRICS; k++)
			values[k] = rnd(6) ? rnd(1000) / 10.f : NAN;
		*rec = (struct xpu_record_metrics){
			.set = 1, .nr_metrics = NR_METRICS, .nr_rows = 1, .time_ns = ns - 5,
		};
		rec->words[0] = 5;
		rec->words[1] = length;
		memcpy(rec->words + 2, values, sizeof(values));
		if (metrics__add(m, 0, rec, 0, &nr_bad) || nr_bad)
			abort();
		for (at = ns; at < ns + length; at++)
			expect_ns(e, works, at, values, length);
		/* A second sample with this timestamp is refused. */
		if (metrics__add(m, 0, rec, 0, &nr_bad) || nr_bad != 1)
			abort();
	}
}

static bool same(double a, double b)
{
	return fabs(a - b) <= 1e-6 * (1 + fabs(b));
}

static bool same_uses(const struct metric_use *got, const struct metric_use *want)
{
	unsigned int k;

	for (k = 0; k < NR_METRICS; k++)
		if (!same(got[k].ns, want[k].ns) || !same(got[k].sum, want[k].sum))
			return false;
	return true;
}

/*
 * Adds a set with the same samples, as if another recording had sampled the GPU at that time: means
 * have twice the weight, amounts are the same.
 */
static void sample_twice(struct metrics *m, struct expected *e)
{
	struct metric_set set = m->sets.v[0];
	unsigned int i;

	set.id = 2;
	memset(&set.rows, 0, sizeof(set.rows));
	memset(&set.values, 0, sizeof(set.values));
	array_each(&m->sets.v[0].rows, row)
		if (array_push(&set.rows, *row))
			abort();
	array_each(&m->sets.v[0].values, value)
		if (array_push(&set.values, *value))
			abort();
	if (metrics__add_set(m, &set))
		abort();
	for (i = 0; i < NR_LEAVES; i++)
		use(&e->leaf[i][MEAN], e->leaf[i][MEAN].ns, e->leaf[i][MEAN].sum);
	for (i = 0; i < NR_CHAINS; i++)
		use(&e->chain[i][MEAN], e->chain[i][MEAN].ns, e->chain[i][MEAN].sum);
}

/* Return: whether all values are as expected. */
static bool check(bool twice)
{
	struct kept_work works[NR_WORKS];
	struct metric_sums sums = { 0 };
	struct works kept = { .wanted = true };
	struct expected e = { 0 };
	struct strpool strings = { 0 };
	struct metrics m;
	bool right = true;
	unsigned int i;

	metrics__init(&m, &strings);
	define(&m, MEAN, XPU_METRIC_MEAN, "mean");
	define(&m, AMOUNT, XPU_METRIC_SUM, "amount");
	make_works(works);
	make_rows(&m, works, &e);
	m.sets.v[0].gpu = 0;
	if (twice)
		sample_twice(&m, &e);
	for (i = 0; i < NR_WORKS; i++)
		right &= !works__add(&kept, &works[i]);
	right &= !metric_sums__finish(&sums, &m, NULL, &kept);
	for (i = 0; i < NR_LEAVES; i++) {
		struct metric_use uses[NR_METRICS] = { 0 };

		metric_sums__of_leaf(&sums, &m, i, uses);
		right &= same_uses(uses, e.leaf[i]);
	}
	for (i = 0; i < NR_CHAINS; i++) {
		struct metric_use uses[NR_METRICS] = { 0 };

		metric_sums__of_chain(&sums, &m, i, uses);
		right &= same_uses(uses, e.chain[i]);
	}
	right &= same(sums.idle.v[AMOUNT].sum, e.idle) && e.total > 0;
	array_free(&kept.list);
	metric_sums__exit(&sums);
	metrics__exit(&m);
	strpool__free(&strings);
	return right;
}

static void refuse(struct metrics *m, const struct xpu_record_metric *like, const char *what)
{
	char room[sizeof(*like) + 16] __attribute__((aligned(8))) = { 0 };

	memcpy(room, like, sizeof(*like));
	strcpy(((struct xpu_record_metric *)room)->data, "x");
	is_int(metrics__define(m, 0, (void *)room), -EINVAL, "a definition is refused: %s", what);
}

/* Rows in adjacent windows: amounts are divided, means stay the same, and all parts add up. */
static void cut(void)
{
	static const uint64_t edges[] = { 0, 1000, 1250, 1600, 2000, UINT64_MAX };
	static const float values[2] = { 40, 8 };
	double ns = 0, sum = 0;
	struct strpool strings = { 0 };
	size_t k, row;

	for (k = 0; k + 1 < sizeof(edges) / sizeof(edges[0]); k++) {
		char room[sizeof(struct xpu_record_metrics) + 64]
			__attribute__((aligned(8))) = { 0 };
		struct xpu_record_metrics *rec = (void *)room;
		struct metrics m;
		uint32_t nr_bad;

		metrics__init(&m, &strings);
		define(&m, 0, XPU_METRIC_MEAN, "mean");
		define(&m, 1, XPU_METRIC_SUM, "amount");
		*rec = (struct xpu_record_metrics){
			.set = 1, .nr_metrics = 2, .nr_rows = 1, .time_ns = 1000,
		};
		rec->words[1] = 500;
		memcpy(rec->words + 2, values, sizeof(values));
		metrics__add(&m, 0, rec, 0, &nr_bad);
		rec->time_ns = 1500;
		metrics__add(&m, 0, rec, 0, &nr_bad);
		metrics__cut(&m, edges[k], edges[k + 1]);
		for (row = 0; row < m.sets.v[0].rows.nr; row++) {
			const struct metric_row *r = &m.sets.v[0].rows.v[row];

			ok(r->begin_ns >= edges[k] && r->end_ns <= edges[k + 1],
			   "window %zu: the row is inside the window", k);
			ok(metric_set__row(&m.sets.v[0], row)[0] == 40,
			   "window %zu: a mean is unchanged", k);
			ns += r->end_ns - r->begin_ns;
			sum += metric_set__row(&m.sets.v[0], row)[1];
		}
		if (k == 1)
			ok(metric_set__row(&m.sets.v[0], 0)[1] == 4,
			   "a window with half of a row has half of the row's amount");
		metrics__exit(&m);
	}
	ok(ns == 1000, "all windows together have all of the time");
	ok(sum > 15.99 && sum < 16.01, "all windows together have all of the amount");
	strpool__free(&strings);
}

int main(void)
{
	struct xpu_record_metric like = {
		.set = 1, .index = 2, .kind = XPU_METRIC_MEAN, .name_bytes = 2, .unit_bytes = 1,
	};
	struct strpool strings = { 0 };
	unsigned int i, nr_right = 0;
	struct metrics m;

	for (i = 0; i < 300; i++)
		nr_right += check(false);
	is_int(nr_right, 300, "random work and samples give the expected values");
	for (i = nr_right = 0; i < 300; i++)
		nr_right += check(true);
	is_int(nr_right, 300, "two recordings sample one GPU at the same time: amounts count once");
	cut();

	metrics__init(&m, &strings);
	define(&m, 0, XPU_METRIC_MEAN, "DRAM read");
	is_str(m.names.v[0].key, "dram_read_w", "a metric's name becomes its key");
	refuse(&m, &like, "an index that leaves a gap");
	like.index = 0;
	refuse(&m, &like, "an index that is already defined");
	like.index = 1;
	like.kind = 3;
	refuse(&m, &like, "an unknown kind");
	like.kind = XPU_METRIC_SUM;
	like.uuid[0] = 1;
	refuse(&m, &like, "another GPU");
	like.uuid[0] = 0;
	like.set = 0;
	refuse(&m, &like, "set 0");
	like.set = XPU_MAX_METRIC_SETS + 1;
	like.index = 0;
	refuse(&m, &like, "too many sets");
	metrics__exit(&m);
	strpool__free(&strings);
	return done_testing();
}
