// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdlib.h>

#include "join/session.h"
#include "stalls/stall_rows.h"
#include "stalls/state.h"
#include "write/page_json.h"

/* the names that were printed, with their indices */
struct names {
	struct idmap known;
	uint32_t nr;
};

/*
 * Prints a name, unless it was printed before. Rows then refer to the name by its index. @as: the
 * text to print for the name
 */
static int print_name(struct json_out *j, struct names *names, const char *name, const char *as)
{
	uint32_t idx;

	if (idmap__get(&names->known, (uintptr_t)name, &idx))
		return 0;
	if (names->nr)
		json_out__line(j, 0);
	json_out__string(j, as);
	return idmap__put(&names->known, (uintptr_t)name, names->nr++);
}

static void print_name_of(struct json_out *j, const struct names *names, size_t i, const char *name)
{
	uint32_t idx = 0;

	idmap__get(&names->known, (uintptr_t)name, &idx);
	page__number(j, i, idx);
}

int stalls__page(const struct session *s, struct json_out *j)
{
	struct names kernels = { 0 }, places = { 0 }, texts = { 0 }, reasons = { 0 };
	struct stall_reason_row *v;
	const struct source_text *source = &stalls_state__of(&s->model)->source;
	size_t nr, i;
	int err = stall_rows__collect(stalls__of(&s->model), &v, &nr);

	json_out__key(j, "stalls");
	json_out__open(j, '{');
	page__open_array(j, "kernels");
	for (i = 0; i < nr && !err; i++)
		err = print_name(j, &kernels, v[i].kernel, v[i].kernel);
	page__next_array(j, "places");
	for (i = 0; i < nr && !err; i++)
		err = print_name(j, &places, v[i].place, v[i].place);
	page__next_array(j, "texts");
	for (i = 0; i < nr && source->lines.nr && !err; i++)
		err = print_name(j, &texts, v[i].place, source_text__of(source, v[i].place));
	page__next_array(j, "reasons");
	for (i = 0; i < nr && !err; i++)
		err = print_name(j, &reasons, v[i].reason, v[i].reason);
	page__next_array(j, "kernel");
	for (i = 0; i < nr && !err; i++)
		print_name_of(j, &kernels, i, v[i].kernel);
	page__next_array(j, "place");
	for (i = 0; i < nr && !err; i++)
		print_name_of(j, &places, i, v[i].place);
	page__next_array(j, "reason");
	for (i = 0; i < nr && !err; i++)
		print_name_of(j, &reasons, i, v[i].reason);
	page__next_array(j, "samples");
	for (i = 0; i < nr && !err; i++)
		page__number(j, i, v[i].samples);
	page__next_array(j, "not_issued");
	for (i = 0; i < nr && !err; i++)
		page__number(j, i, v[i].not_issued);
	json_out__close(j, ']');
	json_out__close(j, '}');
	idmap__free(&kernels.known);
	idmap__free(&places.known);
	idmap__free(&texts.known);
	idmap__free(&reasons.known);
	free(v);
	return err;
}
