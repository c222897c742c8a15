// SPDX-License-Identifier: GPL-3.0-or-later
#include "stalls/state.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "human.h"
#include "stalls/stall_rows.h"
#include "write/section.h"

/* a place in a kernel, with its samples on all GPUs together */
struct stall_row {
	const char *kernel, *place;	/* interned */
	const char *reason;		/* the most frequent reason */
	uint64_t first;			/* samples with the most frequent reason */
	uint64_t samples, not_issued;
};

static int row__cmp(const void *va, const void *vb)
{
	const struct stall_row *a = va, *b = vb;

	return cmp3(b->samples, a->samples) ?: strcmp(a->kernel, b->kernel) ?:
	       strcmp(a->place, b->place);
}

static int reason__cmp_samples(const void *va, const void *vb)
{
	const struct stall_reason_row *a = va, *b = vb;

	return cmp3(b->samples, a->samples) ?: strcmp(a->reason, b->reason);
}

static int stalls__collect(struct section_rows *to)
{
	ARRAY(struct stall_row) rows = { 0 };
	struct stall_reason_row *reasons;
	size_t nr, i, k;
	int err = stall_rows__collect(stalls__of(&to->s->model), &reasons, &nr);

	for (i = 0; i < nr && !err; i = k) {
		struct stall_row row = { .kernel = reasons[i].kernel, .place = reasons[i].place };

		for (k = i; k < nr && !strcmp(reasons[k].kernel, row.kernel) &&
			    !strcmp(reasons[k].place, row.place); k++) {
			row.samples += reasons[k].samples;
			row.not_issued += reasons[k].not_issued;
		}
		qsort(&reasons[i], k - i, sizeof(*reasons), reason__cmp_samples);
		row.reason = reasons[i].reason;
		row.first = reasons[i].samples;
		to->sum_ns += row.samples;
		err = array_push(&rows, row);
	}
	free(reasons);
	array_qsort(&rows, row__cmp);
	to->v = rows.v;
	to->nr = rows.nr;
	return err;
}

static void stalls__head(const struct section_rows *rows, FILE *f)
{
	const struct stall_sums *sums = &stalls_state__of(&rows->s->model)->sums;
	const struct stalls *s = stalls__of(&rows->s->model);

	uint64_t nr = sums->exact + sums->shared + sums->no_launch;
	char some[HUMAN_MAX], all[HUMAN_MAX];

	fprintf(f, "stalls: %" PRIu64 " sample%s of kernels: %" PRIu64 " of one launch path, %"
		PRIu64 " shared out among several, %" PRIu64 " without a launch;\n"
		"  of other programs %" PRIu64 ", dropped %" PRIu64 ", in all %" PRIu64 "\n",
		nr, PLURAL(nr, "", "s"), sums->exact, sums->shared, sums->no_launch,
		s->others, s->dropped, s->total);
	if (!s->knows_spans || !sums->kernels_ns)
		return;
	fprintf(f, "  samples cover %s%.1f %% of the kernels' time: %s of %s\n",
		sums->covered_ns < sums->kernels_ns ? "at least " : "",
		/* Round down, so that 100 means everything. */
		floor(1000.0 * sums->covered_ns / sums->kernels_ns) / 10,
		human__time(some, sums->covered_ns), human__time(all, sums->kernels_ns));
}

/*
 * Return: whether PC samples were requested. If no sample was taken, the lines above the table say
 * so.
 */
static bool stalls__was_recorded(const struct session *s)
{
	return stalls__of(&s->model)->knows_spans;
}

static int stalls__row(const struct section_rows *rows, const void *vrow, struct table *t)
{
	const struct stall_row *row = vrow;
	char *name;

	if (asprintf(&name, "%s;%s", row->kernel, row->place) < 0)
		return -ENOMEM;
	return table__row_free(t, name, (struct cell[]){
		{ .n = table__share(row->samples, rows->sum_ns) }, { .n = row->samples },
		{ .n = table__share(row->not_issued, row->samples) },
		{ .n = table__share(row->first, row->samples) }, { .s = row->reason },
		{ .s = row->kernel }, { .s = row->place }, { .s = name },
	});
}

static const struct column stalls_columns[] = {
	{ "samples %", "samples_percent", COLUMN_SHARE, 0 },
	{ "samples", "samples", COLUMN_COUNT, 0 },
	{ "no issue %", "not_issued_percent", COLUMN_SHARE, 2 },
	{ "reason %", "reason_percent", COLUMN_SHARE, 1 },
	{ "largest reason", "reason", COLUMN_NAME, 0 }, { NULL, "kernel", COLUMN_NAME, 0 },
	{ NULL, "place", COLUMN_NAME, 0 }, { "place", "name", COLUMN_NAME, 0 },
};

SECTION(stalls, struct stall_row, .from = "xpuload --stalls records them",
	.was_recorded = stalls__was_recorded, .head_without_rows = true);
