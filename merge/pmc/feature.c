// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The values of hardware counters, such as SQ_WAVES, that a vendor's tool read for single kernels.
 * A value refers to its kernel by the launch's correlation ID and by the kernel's start, because
 * one launch may run several kernels.
 */
#include "model/feature.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "join/second_pass.h"
#include "join/session.h"
#include "model/remap.h"
#include "read/collect.h"
#include "write/section.h"

/* a value that was read from the recording, before its kernel is found */
struct pmc_value {
	uint64_t key;			/* JOIN_KEY() of the launch */
	uint64_t start_ns;		/* start of the kernel */
	double value;
	uint32_t proc, name;		/* name: ID of the process's string, later an index in
					 * names */
	bool placed;
};

/* the values of a counter, for the kernels of one leaf and one call path */
struct pmc_sum {
	uint32_t leaf, chain, name;	/* name: index in names */
	uint64_t nr, ns;		/* number of kernels, and their total time */
	double sum, min, max;
};

struct pmc {
	ARRAY(struct pmc_value) values;	/* values of the recording that is being read */
	ARRAY(const char *) names;	/* interned, in the order of their appearance */
	struct idmap name_ids;		/* maps the address of a name to its index */
	ARRAY(struct pmc_sum) sums;
	struct idmap by_place;		/* maps ID_KEY(chain, leaf) to this place's first sum */
	ARRAY(uint32_t) next;		/* for each sum: the next sum of its place, or NO_INDEX */
	uint64_t nr_homeless;		/* number of values that are not finite, or whose kernel is
					 * not in the recording */
};

static void *pmc__new(struct model *m)
{
	(void)m;
	return calloc(1, sizeof(struct pmc));
}

static void pmc__free(void *state)
{
	struct pmc *s = state;

	array_free(&s->values);
	array_free(&s->names);
	array_free(&s->sums);
	array_free(&s->next);
	idmap__free(&s->name_ids);
	idmap__free(&s->by_place);
	free(s);
}

/* Finds or adds an interned name. Return: 0 or -ENOMEM. */
static int pmc__name(struct pmc *s, const char *name, uint32_t *idx)
{
	int added;

	if (!name)
		return -ENOMEM;
	added = idmap__add(&s->name_ids, (uintptr_t)name, s->names.nr);
	if (added > 0)
		added = array_push(&s->names, name);
	return added < 0 || !idmap__get(&s->name_ids, (uintptr_t)name, idx) ? -ENOMEM : 0;
}

static void sum__add(struct pmc_sum *to, const struct pmc_sum *more)
{
	to->nr += more->nr;
	to->ns += more->ns;
	to->sum += more->sum;
	to->min = fmin(to->min, more->min);
	to->max = fmax(to->max, more->max);
}

/* Adds @more to the sum of the same counter, leaf and call path, or makes that sum. */
static int pmc__add(struct pmc *s, const struct pmc_sum *more)
{
	uint64_t key = ID_KEY(more->chain, more->leaf);
	uint32_t first = NO_INDEX, i;
	int err;

	idmap__get(&s->by_place, key, &first);
	for (i = first; i != NO_INDEX && s->sums.v[i].name != more->name; i = s->next.v[i])
		;
	if (i == NO_INDEX) {
		err = array_push(&s->next, first) ?: array_push(&s->sums, *more);
		return err ?: idmap__put(&s->by_place, key, s->sums.nr - 1);
	}
	sum__add(&s->sums.v[i], more);
	return 0;
}

/* ---- a recording ----------------------------------------------------------------------------- */

static int take_value(void *state, struct collect *c, uint32_t proc, const struct xpu_record *r)
{
	const struct xpu_record_pmc *rec = (const void *)r;
	struct pmc *s = state;
	struct pmc_value v = {
		.key = JOIN_KEY(SCOPE(proc, XPU_API(r->misc)), rec->correlation_id),
		.start_ns = rec->start_ns, .proc = proc, .name = rec->name,
	};

	(void)c;
	memcpy(&v.value, &rec->value, sizeof(v.value));
	s->nr_homeless += !isfinite(v.value);
	return isfinite(v.value) ? array_push(&s->values, v) : 0;
}

static const struct feature_record records[] = {
	{ XPU_RECORD_PMC, false, take_value },
	{ 0 },
};

static int value__compare(const void *va, const void *vb)
{
	const struct pmc_value *a = va, *b = vb;

	return cmp3(a->key, b->key) ?: cmp3(a->start_ns, b->start_ns) ?: cmp3(a->name, b->name);
}

static int pmc__begin(void *state, struct second_pass *p)
{
	struct pmc *s = state;
	size_t i;
	int err = 0;

	for (i = 0; i < s->values.nr && !err; i++) {
		struct pmc_value *v = &s->values.v[i];
		const char *name = found__string(p->found, v->proc, v->name) ?: "[unknown]";

		v->start_ns += p->found->shift_ns;
		err = pmc__name(s, strpool__intern(&p->model->strings, name, strlen(name)),
				&v->name);
	}
	if (s->values.nr)
		qsort(s->values.v, s->values.nr, sizeof(*s->values.v), value__compare);
	return err;
}

/*
 * Adds a kernel's values to the sums of its leaf and call path, unless the filter drops the kernel.
 */
static int pmc__work(void *state, struct second_pass *p, const struct placed_work *w)
{
	struct pmc *s = state;
	struct pmc_value *v;
	uint32_t last = NO_INDEX;
	size_t at = sorted_count(s->values.nr, i,
				 s->values.v[i].key < w->key ||
				 (s->values.v[i].key == w->key &&
				  s->values.v[i].start_ns < w->work->start_ns));
	int err = 0;

	(void)p;
	for (v = s->values.v + at; v < s->values.v + s->values.nr && v->key == w->key &&
				   v->start_ns == w->work->start_ns && !err; v++) {
		/* A second value of one counter belongs to another kernel with the same start. */
		if (v->placed || v->name == last)
			continue;
		v->placed = true;
		last = v->name;
		if (w->aggregate == NO_INDEX)
			continue;
		err = pmc__add(s, &(struct pmc_sum){
			.leaf = w->work->leaf, .chain = w->chain, .name = v->name, .nr = 1,
			.ns = w->work->duration_ns, .sum = v->value, .min = v->value,
			.max = v->value,
		});
	}
	return err;
}

static int pmc__settle(void *state, struct second_pass *p)
{
	struct pmc *s = state;
	size_t i;

	(void)p;
	for (i = 0; i < s->values.nr; i++)
		s->nr_homeless += !s->values.v[i].placed;
	s->values.nr = 0;
	return 0;
}

static int pmc__absorb(void *state, void *from_state, struct remap *r)
{
	struct pmc *s = state, *from = from_state;
	struct pmc_sum sum;
	size_t i;
	int err = 0;

	for (i = 0; i < from->sums.nr && !err; i++) {
		sum = from->sums.v[i];
		err = pmc__name(s, remap__text(r, from->names.v[sum.name]), &sum.name);
		sum.leaf = remap__find(r->leaves, sum.leaf);
		sum.chain = remap__move(sum.chain, r->chain);
		err = err ?: pmc__add(s, &sum);
	}
	s->nr_homeless += from->nr_homeless;
	return err;
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* the values of one counter, for all kernels with one name or one call path */
struct pmc_row {
	const char *kernel;		/* NULL in the table of call paths */
	const struct stack *stack;	/* NULL in the table of kernels */
	uint32_t number;		/* number of the name or call path, in order of
					 * appearance */
	uint64_t longest_ns;		/* the largest sum.ns of all rows with this number; the rows
					 * are sorted by longest_ns */
	struct pmc_sum sum;
};

typedef ARRAY(struct pmc_row) pmc_rows_t;

static int row__compare(const void *va, const void *vb)
{
	const struct pmc_row *a = va, *b = vb;

	return cmp3(b->longest_ns, a->longest_ns) ?: cmp3(a->number, b->number) ?:
	       cmp3(a->sum.name, b->sum.name);
}

/* Adds a sum to the row of its counter and of its kernel or call path. Return: 0 or -ENOMEM. */
static int rows__add(pmc_rows_t *rows, struct idmap *numbers, struct idmap *index,
		     struct pmc_row row)
{
	uint64_t key = row.kernel ? (uintptr_t)row.kernel : (uintptr_t)row.stack;
	uint32_t idx;
	int added = min_t(int, idmap__add(numbers, key, rows->nr), 0);

	if (added || !idmap__get(numbers, key, &row.number))
		return -ENOMEM;
	added = idmap__add(index, ID_KEY(row.number, row.sum.name), rows->nr);
	if (added > 0)
		return array_push(rows, row);
	if (added < 0 || !idmap__get(index, ID_KEY(row.number, row.sum.name), &idx))
		return -ENOMEM;
	sum__add(&rows->v[idx].sum, &row.sum);
	return 0;
}

static int pmc__collect(struct section_rows *to, bool kernels)
{
	const struct pmc *s = to->s->model.features[FEATURE_pmc];
	struct idmap numbers = { 0 }, index = { 0 };
	pmc_rows_t rows = { 0 };
	uint64_t *longest;
	size_t i;
	int err = 0;

	for (i = 0; s && i < s->sums.nr && !err; i++) {
		const struct pmc_sum *sum = &s->sums.v[i];

		err = rows__add(&rows, &numbers, &index, (struct pmc_row){
			.kernel = kernels ? to->s->model.leaves.v[sum->leaf].name : NULL,
			.stack = kernels ? NULL : to->s->model.chains.v[sum->chain].stack,
			.sum = *sum,
		});
	}
	for (i = 0; i < rows.nr; i++) {
		longest = &rows.v[rows.v[i].number].longest_ns;
		*longest = max_t(uint64_t, *longest, rows.v[i].sum.ns);
	}
	for (i = 0; i < rows.nr; i++)
		rows.v[i].longest_ns = rows.v[rows.v[i].number].longest_ns;
	if (rows.nr)
		qsort(rows.v, rows.nr, sizeof(*rows.v), row__compare);
	idmap__free(&numbers);
	idmap__free(&index);
	to->v = rows.v;
	to->nr = rows.nr;
	return err;
}

static int pmc__row(const struct section_rows *rows, const struct pmc_row *row, const char *name,
		    struct table *t)
{
	const struct pmc *s = rows->s->model.features[FEATURE_pmc];

	table__row(t, (struct cell[]){
		{ .n = row->sum.nr }, { .n = row->sum.ns }, { .d = row->sum.sum },
		{ .d = row->sum.sum / row->sum.nr }, { .d = row->sum.min }, { .d = row->sum.max },
		{ .s = s->names.v[row->sum.name] }, { .s = name },
	});
	return 0;
}

static void pmc__head(const struct section_rows *rows, const char *of, FILE *f)
{
	fprintf(f, "hardware counters of %s: as the vendor's tool read them for each kernel%s\n",
		of, rows->times);
}

#define PMC_COLUMNS(name, type) \
	{ "count", "instances", COLUMN_COUNT, 0 }, { "total", "total_ns", COLUMN_TIME, 1 }, \
	{ "sum", "sum", COLUMN_REAL, 0 }, { "average", "average", COLUMN_REAL, 0 }, \
	{ "min", "min", COLUMN_REAL, 2 }, { "max", "max", COLUMN_REAL, 2 }, \
	{ "counter", "counter", COLUMN_NAME, 0 }, { name, name, type, 0 }

static const struct column kernel_counters_columns[] = { PMC_COLUMNS("name", COLUMN_NAME) };
static const struct column path_counters_columns[] = { PMC_COLUMNS("path", COLUMN_PATH) };

static int kernel_counters__collect(struct section_rows *to)
{
	return pmc__collect(to, true);
}

static void kernel_counters__head(const struct section_rows *rows, FILE *f)
{
	pmc__head(rows, "kernels", f);
}

static int kernel_counters__row(const struct section_rows *rows, const void *row, struct table *t)
{
	return pmc__row(rows, row, ((const struct pmc_row *)row)->kernel, t);
}

static int path_counters__collect(struct section_rows *to)
{
	return pmc__collect(to, false);
}

static void path_counters__head(const struct section_rows *rows, FILE *f)
{
	pmc__head(rows, "call paths", f);
}

static int path_counters__row(const struct section_rows *rows, const void *row, struct table *t)
{
	char *path = stack__path(((const struct pmc_row *)row)->stack, t->format, NULL);

	if (!path)
		return -ENOMEM;
	pmc__row(rows, row, path, t);
	free(path);
	return 0;
}

#define FROM	"rocprofv3 --pmc records them"

static SECTION(kernel_counters, struct pmc_row, .on_page = true, .from = FROM);
static SECTION(path_counters, struct pmc_row, .from = FROM);

static const struct section *const sections[] = {
	&section_kernel_counters, &section_path_counters, NULL,
};

static void pmc__summary(const struct session *session, FILE *f)
{
	const struct pmc *s = session->model.features[FEATURE_pmc];

	if (s && s->nr_homeless)
		fprintf(f, "values of hardware counters that are not numbers, or whose kernel is "
			"not recorded: %" PRIu64 "\n", s->nr_homeless);
}

const struct feature pmc_feature = {
	.name = "pmc",
	.new = pmc__new,
	.free = pmc__free,
	.records = records,
	.begin = pmc__begin,
	.work = pmc__work,
	.settle = pmc__settle,
	.absorb = pmc__absorb,
	.summary = pmc__summary,
	.sections = sections,
};
