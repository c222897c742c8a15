// SPDX-License-Identifier: GPL-3.0-or-later
#include "nvtx/nvtx.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "join/session.h"
#include "write/section.h"

/* all ranges with one name, and the work launched in them */
struct nvtx_row {
	const char *name;
	const struct nvtx_name *open;
	uint64_t nr_works, gpu_ns;
};

static int nvtx_row__cmp(const void *va, const void *vb)
{
	const struct nvtx_row *a = va, *b = vb;

	return cmp3(b->gpu_ns, a->gpu_ns) ?:
	       cmp3(stats__total(&b->open->ns), stats__total(&a->open->ns)) ?:
	       cmp3(b->open->ns.nr, a->open->ns.nr) ?: strcmp(a->name, b->name);
}

/*
 * Adds the work of a range to all names on its path; a name that occurs twice on the path gets the
 * work once.
 */
static void nvtx_ranges__add(const struct ranges *ranges, const struct nvtx_work *work,
			     struct nvtx_row *rows, uint32_t range)
{
	uint32_t path[MAX_RANGES], nr, i, k;

	nr = work->nr || work->ns ? ranges__path(ranges, range, path) : 0;
	for (i = 0; i < nr; i++) {
		uint32_t name = ranges->list.v[path[i]].name;

		for (k = 0; k < i && ranges->list.v[path[k]].name != name; k++)
			;
		if (k < i)
			continue;
		rows[name].nr_works += work->nr;
		rows[name].gpu_ns += work->ns;
	}
}

static int nvtx_ranges__collect(struct section_rows *to)
{
	static const struct nvtx_name never;
	const struct session *s = to->s;
	const struct ranges *ranges = &s->model.ranges;
	const struct nvtx *n = nvtx__of(&s->model);
	size_t i;
	struct nvtx_row *rows = calloc(ranges->names.nr + 1, sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	for (i = 0; i < ranges->names.nr; i++) {
		rows[i].name = ranges->names.v[i].name;
		rows[i].open = i < n->names.nr ? &n->names.v[i] : &never;
	}
	for (i = 1; i < n->works.nr; i++)
		nvtx_ranges__add(ranges, &n->works.v[i], rows, i);
	/* keep neither marks nor ranges that the filter left out */
	for (i = 0; i < ranges->names.nr; i++)
		if (rows[i].open->ns.nr || stats__total(&rows[i].open->ns) || rows[i].nr_works ||
		    rows[i].gpu_ns)
			rows[to->nr++] = rows[i];
	qsort(rows, to->nr, sizeof(*rows), nvtx_row__cmp);
	to->v = rows;
	for (i = 0; i < s->model.gpus.list.nr; i++)
		to->sum_ns += s->model.gpus.list.v[i].busy_ns;
	return 0;
}

static void nvtx_ranges__head(const struct section_rows *rows, FILE *f)
{
	const struct nvtx_row *r = rows->v;
	uint64_t nr = 0, nr_unclosed = 0, nr_before = 0, nr_after = 0;
	size_t i;

	for (i = 0; i < rows->nr; i++) {
		nr += r[i].open->ns.nr;
		nr_unclosed += r[i].open->nr_unclosed;
		nr_before += r[i].open->nr_before;
		nr_after += r[i].open->nr_after;
	}
	fprintf(f, "NVTX ranges: %" PRIu64 " of %zu name%s, with the time that devices worked for "
		"launches in them%s", nr, rows->nr, rows->nr == 1 ? "" : "s",
		rows->times);
	if (nr_unclosed)
		fprintf(f, "; %" PRIu64 " %s open at the end", nr_unclosed,
			nr_unclosed == 1 ? "was" : "were");
	if (nr_before)
		fprintf(f, "; %" PRIu64 " began in an earlier file", nr_before);
	if (nr_after)
		fprintf(f, "; %" PRIu64 " %s on in a later file, which counts %s", nr_after,
			nr_after == 1 ? "goes" : "go", nr_after == 1 ? "it" : "them");
	fputc('\n', f);
}

static int nvtx_ranges__row(const struct section_rows *rows, const void *row, struct table *t)
{
	const struct nvtx_row *r = row;
	const struct stats *ns = &r->open->ns;

	return table__row(t, (struct cell[]){
		{ .n = table__share(r->gpu_ns, rows->sum_ns) }, { .n = r->gpu_ns },
		{ .n = r->nr_works }, { .n = stats__total(ns) }, { .n = ns->nr }, STATS_CELLS(ns),
		{ .s = r->name },
	});
}

static const struct column nvtx_ranges_columns[] = {
	{ "GPU %", "gpu_percent", COLUMN_SHARE, 0 }, { "GPU time", "gpu_ns", COLUMN_TIME, 0 },
	{ "GPU ops", "gpu_ops", COLUMN_COUNT, 3 }, { "open", "total_ns", COLUMN_TIME, 1 },
	{ "count", "instances", COLUMN_COUNT, 2 }, { "avg", "avg_ns", COLUMN_TIME, 4 },
	{ "med", "median_ns", COLUMN_TIME, 6 }, { "min", "min_ns", COLUMN_TIME, 7 },
	{ "max", "max_ns", COLUMN_TIME, 5 }, { "stddev", "stddev_ns", COLUMN_TIME, 8 },
	{ "range", "range", COLUMN_NAME, 0 },
};

SECTION(nvtx_ranges, struct nvtx_row,
	.before = "processes",
	.from = "programs open them; xpuload --nvtx=off leaves them out");
