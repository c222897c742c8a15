// SPDX-License-Identifier: GPL-3.0-or-later
#include "stalls/stall_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int reason__cmp(const void *va, const void *vb)
{
	const struct stall_reason_row *a = va, *b = vb;

	return strcmp(a->kernel, b->kernel) ?: strcmp(a->place, b->place) ?:
	       strcmp(a->reason, b->reason);
}

int stall_rows__collect(const struct stalls *s, struct stall_reason_row **v, size_t *nr)
{
	size_t i, k, to = 0;

	*nr = 0;
	*v = malloc((s->counts.nr + 1) * sizeof(**v));
	if (!*v)
		return -ENOMEM;
	array_each(&s->readings, w) {
		for (k = w->first; k < w->first + w->nr; k++) {
			const struct leaf_place *place = &s->places.v[s->counts.v[k].place];

			if (!s->counts.v[k].samples && !s->counts.v[k].not_issued)
				continue;	/* all its samples are outside of --from and --to */
			(*v)[(*nr)++] = (struct stall_reason_row){
				s->functions.v[w->function].name, place->place, place->reason,
				s->counts.v[k].samples, s->counts.v[k].not_issued,
			};
		}
	}
	if (!*nr)
		return 0;
	qsort(*v, *nr, sizeof(**v), reason__cmp);
	for (i = 1; i < *nr; i++) {
		if (reason__cmp(&(*v)[to], &(*v)[i])) {
			(*v)[++to] = (*v)[i];
		} else {
			(*v)[to].samples += (*v)[i].samples;
			(*v)[to].not_issued += (*v)[i].not_issued;
		}
	}
	*nr = to + 1;
	return 0;
}
