// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/section.h"

#include <inttypes.h>
#include <stdlib.h>

static int call_stats__cmp(const void *va, const void *vb)
{
	const struct call_stats *a = *(const struct call_stats *const *)va;
	const struct call_stats *b = *(const struct call_stats *const *)vb;

	return cmp3(stats__total(&b->ns), stats__total(&a->ns)) ?: cmp3(b->ns.nr, a->ns.nr) ?:
	       cmp3(a, b);
}

static int api_calls__collect(struct section_rows *to)
{
	ARRAY(const struct call_stats *) rows = { 0 };
	const struct session *s = to->s;
	int err = 0;
	size_t i;

	for (i = 0; i < s->sums.calls.nr && !err; i++) {
		if (!s->sums.calls.v[i].ns.nr && !stats__total(&s->sums.calls.v[i].ns))
			continue;
		err = array_push(&rows, &s->sums.calls.v[i]);
		to->sum_ns += stats__total(&s->sums.calls.v[i].ns);
	}
	array_qsort(&rows, call_stats__cmp);
	to->v = rows.v;
	to->nr = rows.nr;
	return err;
}

static void api_calls__head(const struct section_rows *rows, FILE *f)
{
	fprintf(f, "API calls: %" PRIu64 " of %zu name%s%s\n", rows->s->sums.nr_calls,
		rows->nr, rows->nr == 1 ? "" : "s", rows->times);
}

static int api_calls__row(const struct section_rows *rows, const void *row, struct table *t)
{
	const struct call_stats *stats = *(const struct call_stats *const *)row;

	return section_rows__times(rows, &stats->ns, stats->name, t);
}

static const struct column api_calls_columns[] = { TIME_COLUMNS("calls", "name") };

SECTION(api_calls, struct call_stats *, .from = "xpuload --api records them");
