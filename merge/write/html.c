// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/html.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "escape.h"
#include "json_out.h"
#include "write/page.h"
#include "write/stall_rows.h"
#include "write/text.h"

/* One number of an array. The lines are short, for people who open the file in an editor. */
static void print_number(struct json_out *j, size_t i, uint64_t n)
{
	if (i && i % 64 == 0)
		json_out__line(j, 0);
	json_out__u64(j, n);
}

/* Prints one index of an array; NO_INDEX becomes -1. */
static void print_index(struct json_out *j, size_t i, uint32_t idx)
{
	if (idx == NO_INDEX)
		json_out__literal(j, "-1");
	else
		print_number(j, i, idx);
}

static void print_u64(struct json_out *j, const char *key, uint64_t n)
{
	json_out__member_u64(j, key, n);
}

/* Opens a member that is an array; the caller closes it. */
static void open_array(struct json_out *j, const char *key)
{
	json_out__key(j, key);
	json_out__open(j, '[');
}

/* Closes an array, and opens the next one on a line of its own. */
static void next_array(struct json_out *j, const char *key)
{
	json_out__close(j, ']');
	json_out__line(j, 0);
	open_array(j, key);
}

/* ---- what was recorded ---------------------------------------------------------------------- */

typedef void (*line_fn)(struct json_out *j, char *line);

/* Calls @print for each line of @text, which it may change. Each line of text makes one of JSON. */
static void for_each_line(struct json_out *j, char *text, line_fn print)
{
	char *rest = NULL, *line = strtok_r(text, "\n", &rest);

	while (line) {
		print(j, line);
		line = strtok_r(NULL, "\n", &rest);
		if (line)
			json_out__line(j, 0);
	}
}

static void print_line(struct json_out *j, char *line)
{
	json_out__string(j, line);
}

/* "label: value" */
static void print_pair(struct json_out *j, char *line)
{
	char *colon = strstr(line, ": ");

	if (colon)
		*colon = 0;
	json_out__open(j, '[');
	json_out__string(j, line);
	json_out__string(j, colon ? colon + 2 : "");
	json_out__close(j, ']');
}

/* Puts lines of the text output, which @write makes, into the page. */
static int print_text(struct json_out *j, const struct session *s, size_t nr,
		      void (*write)(const struct session *s, size_t nr, FILE *f), line_fn print)
{
	char *text = NULL;
	size_t size;
	FILE *lines = open_memstream(&text, &size);
	int err = 0;

	if (!lines)
		return -ENOMEM;
	write(s, nr, lines);
	/* Only memory can run out; at the end fclose() may keep it to itself. */
	if (ferror(lines))
		err = -ENOMEM;
	if (fclose(lines) || !text)
		err = -ENOMEM;
	if (!err)
		for_each_line(j, text, print);
	free(text);
	return err;
}

static void write_head(const struct session *s, size_t nr, FILE *f)
{
	text__write_head(s, &s->model.inputs.v[nr], f);
}

static void write_loss(const struct session *s, size_t nr, FILE *f)
{
	(void)nr;
	session__print_loss(s, f);
}

static void write_messages(const struct session *s, size_t nr, FILE *f)
{
	size_t i;

	(void)nr;
	for (i = 0; i < s->msgs.lines.nr; i++) {
		escape__print(f, s->msgs.lines.v[i], ESCAPE_TEXT);
		fputc('\n', f);
	}
	if (s->msgs.nr_dropped)
		fprintf(f, "%" PRIu64 " more messages like these\n", s->msgs.nr_dropped);
	text__write_messages(s, f, "");
}
static void print_gpus(struct json_out *j, const struct session *s)
{
	size_t i;

	for (i = 0; i < s->model.gpus.list.nr; i++) {
		const struct gpu *gpu = &s->model.gpus.list.v[i];

		if (!gpu->nr_works)
			continue;
		json_out__open(j, '{');
		print_u64(j, "number", gpu->number);
		json_out__key(j, "name");
		json_out__string(j, gpu->name ? gpu->name : "");
		json_out__close(j, '}');
	}
}
static void print_totals(struct json_out *j, const struct loss *l)
{
	json_out__key(j, "totals");
	json_out__open(j, '{');
	print_u64(j, "launches", l->nr_launches);
	print_u64(j, "matched", l->nr_matched);
	print_u64(j, "unmatched", loss__unmatched(l));
	print_u64(j, "lost", loss__lost(l));
	json_out__key(j, "clean");
	json_out__literal(j, loss__clean(l) ? "true" : "false");
	json_out__close(j, '}');
}

/* Prints names of rows in order of them: each once, for rows to have its index. */
struct names {
	struct idmap known;
	uint32_t nr;
};

static int print_name(struct json_out *j, struct names *names, const char *name)
{
	uint32_t idx;

	if (idmap__get(&names->known, (uintptr_t)name, &idx))
		return 0;
	if (names->nr)
		json_out__line(j, 0);
	json_out__string(j, name);
	return idmap__put(&names->known, (uintptr_t)name, names->nr++);
}

static void print_name_of(struct json_out *j, const struct names *names, size_t i, const char *name)
{
	uint32_t idx = 0;

	idmap__get(&names->known, (uintptr_t)name, &idx);
	print_number(j, i, idx);
}

/* Samples of kernels: their lines are the same whatever call path is looked at. */
static int print_stalls(struct json_out *j, const struct session *s)
{
	struct names kernels = { 0 }, places = { 0 }, reasons = { 0 };
	struct stall_reason_row *v;
	size_t nr, i;
	int err = stall_rows__collect(&s->model.stalls, &v, &nr);

	json_out__open(j, '{');
	open_array(j, "kernels");
	for (i = 0; i < nr && !err; i++)
		err = print_name(j, &kernels, v[i].kernel);
	next_array(j, "places");
	for (i = 0; i < nr && !err; i++)
		err = print_name(j, &places, v[i].place);
	next_array(j, "reasons");
	for (i = 0; i < nr && !err; i++)
		err = print_name(j, &reasons, v[i].reason);
	next_array(j, "kernel");
	for (i = 0; i < nr && !err; i++)
		print_name_of(j, &kernels, i, v[i].kernel);
	next_array(j, "place");
	for (i = 0; i < nr && !err; i++)
		print_name_of(j, &places, i, v[i].place);
	next_array(j, "reason");
	for (i = 0; i < nr && !err; i++)
		print_name_of(j, &reasons, i, v[i].reason);
	next_array(j, "samples");
	for (i = 0; i < nr && !err; i++)
		print_number(j, i, v[i].samples);
	next_array(j, "not_issued");
	for (i = 0; i < nr && !err; i++)
		print_number(j, i, v[i].not_issued);
	json_out__close(j, ']');
	json_out__close(j, '}');
	idmap__free(&kernels.known);
	idmap__free(&places.known);
	idmap__free(&reasons.known);
	free(v);
	return err;
}

static int print_side(struct json_out *j, const struct html_side *side)
{
	const struct session *s = side->session;
	struct loss l = s->sums.loss;
	char scale[32];
	size_t i;
	int err = 0;

	/* Hardly any has a name for every frame. */
	l.unsymbolized = 0;

	json_out__open(j, '{');
	open_array(j, "recordings");
	for (i = 0; i < s->model.inputs.nr && !err; i++) {
		if (i)
			json_out__line(j, 0);
		json_out__open(j, '[');
		err = print_text(j, s, i, write_head, print_pair);
		json_out__close(j, ']');
	}
	json_out__close(j, ']');
	json_out__line(j, 0);
	print_totals(j, &l);
	json_out__line(j, 0);
	open_array(j, "account");
	err = err ?: print_text(j, s, 0, write_loss, print_line);
	next_array(j, "messages");
	err = err ?: print_text(j, s, 0, write_messages, print_line);
	json_out__close(j, ']');
	json_out__line(j, 0);
	json_out__key(j, "filter");
	json_out__string(j, filter__active(s->opts.filter) ? s->opts.filter->text.v : "");
	json_out__line(j, 0);
	open_array(j, "gpus");
	print_gpus(j, s);
	json_out__close(j, ']');
	json_out__line(j, 0);
	json_out__key(j, "stalls");
	err = err ?: print_stalls(j, s);
	snprintf(scale, sizeof(scale), "%.17g", side->scale);
	json_out__key(j, "scale");
	json_out__literal(j, scale);
	json_out__close(j, '}');
	return err;
}

/* ---- the tree ------------------------------------------------------------------------------- */

static void print_frames(struct json_out *j, const struct tree *t)
{
	size_t i;

	json_out__key(j, "frames");
	json_out__open(j, '{');
	open_array(j, "name");
	for (i = 0; i < t->frames.nr; i++) {
		if (i)
			json_out__line(j, 0);
		json_out__string(j, t->frames.v[i].name);
	}
	next_array(j, "file");
	for (i = 0; i < t->frames.nr; i++)
		print_number(j, i, t->frames.v[i].file);
	next_array(j, "kind");
	for (i = 0; i < t->frames.nr; i++)
		print_index(j, i, t->frames.v[i].kind == NR_LEAF_KINDS ? NO_INDEX :
			    t->frames.v[i].kind);
	json_out__close(j, ']');
	json_out__close(j, '}');
}

/* Writes the nodes, without the root, which every page has. */
static void print_nodes(struct json_out *j, const struct tree *t)
{
	size_t i;

	json_out__key(j, "nodes");
	json_out__open(j, '{');
	open_array(j, "frame");
	for (i = 1; i < t->nodes.nr; i++)
		print_number(j, i - 1, t->nodes.v[i].frame);
	next_array(j, "depth");
	for (i = 1; i < t->nodes.nr; i++)
		print_number(j, i - 1, t->nodes.v[i].depth - 1);
	json_out__close(j, ']');
	json_out__close(j, '}');
}

static void print_cells(struct json_out *j, const struct tree *t, unsigned int nr_sides)
{
	unsigned int side;
	size_t i;

	json_out__key(j, "cells");
	json_out__open(j, '{');
	open_array(j, "node");
	for (i = 0; i < t->cells.nr; i++)
		print_number(j, i, t->cells.v[i].node - 1);
	next_array(j, "kind");
	for (i = 0; i < t->cells.nr; i++)
		print_number(j, i, t->cells.v[i].kind);
	next_array(j, "gpu");
	for (i = 0; i < t->cells.nr; i++)
		print_index(j, i, t->cells.v[i].gpu);
	next_array(j, "values");
	for (side = 0; side < nr_sides; side++) {
		if (side)
			json_out__line(j, 0);
		json_out__open(j, '{');
		open_array(j, "ns");
		for (i = 0; i < t->cells.nr; i++)
			print_number(j, i, tree__value(t, &t->cells.v[i], side).ns);
		next_array(j, "nr");
		for (i = 0; i < t->cells.nr; i++)
			print_number(j, i, tree__value(t, &t->cells.v[i], side).nr);
		next_array(j, "bytes");
		for (i = 0; i < t->cells.nr; i++)
			print_number(j, i, tree__value(t, &t->cells.v[i], side).bytes);
		json_out__close(j, ']');
		json_out__close(j, '}');
	}
	json_out__close(j, ']');
	json_out__close(j, '}');
}

static int print_sides(struct json_out *j, const struct html_side *sides, unsigned int nr_sides)
{
	unsigned int side;
	int err = 0;

	open_array(j, "sides");
	for (side = 0; side < nr_sides && !err; side++) {
		if (side)
			json_out__line(j, 0);
		err = print_side(j, &sides[side]);
	}
	json_out__close(j, ']');
	return err;
}

static int print_data(FILE *f, const struct tree *t, const struct html_side *sides,
		      unsigned int nr_sides, const struct html_opts *opts)
{
	struct json_out j;
	size_t i;
	int err;

	err = json_out__init(&j, f, ESCAPE_SCRIPT);
	if (err)
		return err;
	json_out__open(&j, '{');
	json_out__member_word(&j, "format", "xpuload-html");
	print_u64(&j, "version", 1);
	json_out__key(&j, "unit");
	json_out__string(&j, opts->unit);
	json_out__key(&j, "normalize");
	json_out__string(&j, opts->normalize);
	print_u64(&j, "roots", by_list__nr(&opts->by));
	json_out__line(&j, 0);
	err = print_sides(&j, sides, nr_sides);
	json_out__line(&j, 0);
	open_array(&j, "kinds");
	for (i = 0; i < NR_LEAF_KINDS; i++)
		json_out__word(&j, leaf_kind__name(i));
	next_array(&j, "files");
	for (i = 0; i < t->files.nr; i++) {
		if (i)
			json_out__line(&j, 0);
		json_out__string(&j, t->files.v[i]);
	}
	json_out__close(&j, ']');
	json_out__line(&j, 0);
	print_frames(&j, t);
	json_out__line(&j, 0);
	print_nodes(&j, t);
	json_out__line(&j, 0);
	print_cells(&j, t, nr_sides);
	json_out__close(&j, '}');
	json_out__end_line(&j);
	json_out__exit(&j);
	return err;
}

int html__write(FILE *f, const struct tree *tree, const struct html_side *sides, unsigned int nr,
		const struct html_opts *opts)
{
	static const struct {
		const char *line;
		const char *text;
	} parts[] = {
		{ "@CSS@\n", page_css }, { "@LIBRARY@\n", page_library },
		{ "@SCRIPT@\n", page_script },
	};
	const char *at = page_html, *end;
	int err = 0;
	size_t i;

	for (; *at && !err; at = end) {
		end = strchr(at, '\n');
		end = end ? end + 1 : at + strlen(at);
		for (i = 0; i < ARRAY_SIZE(parts); i++)
			if (!strncmp(at, parts[i].line, strlen(parts[i].line)))
				break;
		if (i < ARRAY_SIZE(parts))
			fputs(parts[i].text, f);
		else if (!strncmp(at, "@DATA@\n", 7))
			err = print_data(f, tree, sides, nr, opts);
		else
			fwrite(at, 1, end - at, f);
	}
	return err;
}

int html__write_session(FILE *f, const struct session *s, const struct html_opts *opts)
{
	const struct html_side side = { s, 1 };
	struct tree t;
	int err;

	err = tree__init(&t) ?:
	      tree__add(&t, s, 0, &opts->by, gpus__nr_used(&s->model.gpus) > 1) ?:
	      tree__sort(&t);
	err = err ?: html__write(f, &t, &side, 1, opts);
	tree__exit(&t);
	return err;
}
