// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/format.h"

#include <inttypes.h>

#include "escape.h"

/* [{"stack": ["main", "train"], "leaf": "kernel", "ns": 1234, "nr": 5}, ...] */
static int write_session(const struct session *s, FILE *f, const struct write_opts *o, void *events,
			 struct folded_result *result)
{
	size_t i, k;

	(void)o, (void)events;
	fputs("[", f);
	for (i = 0; i < s->sums.aggregates.nr; i++) {
		const struct aggregate *a = &s->sums.aggregates.v[i];
		const struct stack *stack = s->model.chains.v[a->chain].stack;

		fputs(i ? ",\n{\"stack\": [" : "\n{\"stack\": [", f);
		for (k = 0; k < stack->nr; k++) {
			fputs(k ? ", \"" : "\"", f);
			escape__print(f, stack->frames[k]->name, ESCAPE_JSON);
			fputs("\"", f);
		}
		fputs("], \"leaf\": \"", f);
		escape__print(f, s->model.leaves.v[a->leaf].name, ESCAPE_JSON);
		fprintf(f, "\", \"ns\": %" PRIu64 ", \"nr\": %" PRIu64 "}", a->sum_ns, a->nr);
		result->nr_lines++;
	}
	fputs("\n]\n", f);
	return 0;
}

const struct format collapsed_json_format = {
	.help = "each call path as a line of JSON",
	.options = FORMAT_MERGED,
	.write = write_session,
};
