// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/html.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "escape.h"
#include "write/page.h"
#include "write/text.h"

static const char *const kind_names[NR_LEAF_KINDS] = {
	[LEAF_KERNEL] = "kernel", [LEAF_MEMCPY] = "memcpy", [LEAF_MEMSET] = "memset",
	[LEAF_PENDING] = "pending", [LEAF_CPU] = "cpu", [LEAF_OFF_CPU] = "off_cpu",
	[LEAF_GPU_WAIT] = "gpu_wait",
};

static void print_string(FILE *f, const char *s)
{
	fputc('"', f);
	escape__print(f, s, ESCAPE_SCRIPT);
	fputc('"', f);
}

/* Prints one number of an array, in short lines, so that an editor can open the file. */
static void print_number(FILE *f, size_t i, uint64_t n)
{
	fprintf(f, i ? i % 64 ? ",%" PRIu64 : ",\n%" PRIu64 : "%" PRIu64, n);
}

/* Prints one index of an array; NO_INDEX means none. */
static void print_index(FILE *f, size_t i, uint32_t idx)
{
	if (idx == NO_INDEX)
		fputs(i ? ",-1" : "-1", f);
	else
		print_number(f, i, idx);
}

/* ---- what was recorded ---------------------------------------------------------------------- */

typedef void (*line_fn)(FILE *f, size_t i, char *line);

/* Calls @print for each line of @text, which it may change. */
static void for_each_line(FILE *f, char *text, line_fn print)
{
	char *rest = NULL, *line;
	size_t i = 0;

	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		print(f, i++, line);
}

static void print_line(FILE *f, size_t i, char *line)
{
	fputs(i ? ",\n" : "", f);
	print_string(f, line);
}

/* "label: value" */
static void print_pair(FILE *f, size_t i, char *line)
{
	char *colon = strstr(line, ": ");

	if (colon)
		*colon = 0;
	fputs(i ? ",\n[" : "[", f);
	print_string(f, line);
	fputc(',', f);
	print_string(f, colon ? colon + 2 : "");
	fputc(']', f);
}

/* Puts lines of the text output, which @write makes, into the page. */
static int print_text(FILE *f, const struct session *s, size_t nr,
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
		for_each_line(f, text, print);
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

static void print_gpus(FILE *f, const struct session *s)
{
	size_t i, nr = 0;

	for (i = 0; i < s->model.gpus.list.nr; i++) {
		const struct gpu *gpu = &s->model.gpus.list.v[i];

		if (!gpu->nr_works)
			continue;
		fprintf(f, "%s{\"number\":%" PRIu32 ",\"name\":", nr++ ? "," : "", gpu->number);
		print_string(f, gpu->name ? gpu->name : "");
		fputc('}', f);
	}
}

static int print_side(FILE *f, const struct html_side *side)
{
	const struct session *s = side->session;
	struct loss l = s->sums.loss;
	size_t i;
	int err = 0;

	/* Hardly any has a name for every frame. */
	l.unsymbolized = 0;

	fputs("{\"recordings\":[", f);
	for (i = 0; i < s->model.inputs.nr && !err; i++) {
		fputs(i ? "],\n[" : "[", f);
		err = print_text(f, s, i, write_head, print_pair);
	}
	fprintf(f, "%s],\n\"totals\":{\"launches\":%" PRIu64 ",\"matched\":%" PRIu64
		",\"unmatched\":%" PRIu64 ",\"lost\":%" PRIu64 ",\"clean\":%s},\n\"account\":[",
		s->model.inputs.nr ? "]" : "", l.nr_launches, l.nr_matched, loss__unmatched(&l),
		loss__lost(&l), loss__clean(&l) ? "true" : "false");
	err = err ?: print_text(f, s, 0, write_loss, print_line);
	fputs("],\n\"messages\":[", f);
	err = err ?: print_text(f, s, 0, write_messages, print_line);
	fputs("],\n\"filter\":", f);
	print_string(f, filter__active(s->opts.filter) ? s->opts.filter->text.v : "");
	fputs(",\n\"gpus\":[", f);
	print_gpus(f, s);
	fprintf(f, "],\"scale\":%.17g}", side->scale);
	return err;
}

/* ---- the tree ------------------------------------------------------------------------------- */

static void print_frames(FILE *f, const struct tree *t)
{
	size_t i;

	fputs("\"frames\":{\"name\":[", f);
	for (i = 0; i < t->frames.nr; i++) {
		fputs(i ? ",\n" : "", f);
		print_string(f, t->frames.v[i].name);
	}
	fputs("],\n\"file\":[", f);
	for (i = 0; i < t->frames.nr; i++)
		print_number(f, i, t->frames.v[i].file);
	fputs("],\n\"kind\":[", f);
	for (i = 0; i < t->frames.nr; i++)
		print_index(f, i, t->frames.v[i].kind == NR_LEAF_KINDS ? NO_INDEX :
			    t->frames.v[i].kind);
	fputs("]},\n", f);
}

/* Without the root, which every page has. */
static void print_nodes(FILE *f, const struct tree *t)
{
	size_t i;

	fputs("\"nodes\":{\"frame\":[", f);
	for (i = 1; i < t->nodes.nr; i++)
		print_number(f, i - 1, t->nodes.v[i].frame);
	fputs("],\n\"depth\":[", f);
	for (i = 1; i < t->nodes.nr; i++)
		print_number(f, i - 1, t->nodes.v[i].depth - 1);
	fputs("]},\n", f);
}

static void print_cells(FILE *f, const struct tree *t, unsigned int nr_sides)
{
	unsigned int side;
	size_t i;

	fputs("\"cells\":{\"node\":[", f);
	for (i = 0; i < t->cells.nr; i++)
		print_number(f, i, t->cells.v[i].node - 1);
	fputs("],\n\"kind\":[", f);
	for (i = 0; i < t->cells.nr; i++)
		print_number(f, i, t->cells.v[i].kind);
	fputs("],\n\"gpu\":[", f);
	for (i = 0; i < t->cells.nr; i++)
		print_index(f, i, t->cells.v[i].gpu);
	fputs("],\n\"values\":[", f);
	for (side = 0; side < nr_sides; side++) {
		fputs(side ? ",\n{\"ns\":[" : "{\"ns\":[", f);
		for (i = 0; i < t->cells.nr; i++)
			print_number(f, i, t->cells.v[i].v[side].ns);
		fputs("],\n\"nr\":[", f);
		for (i = 0; i < t->cells.nr; i++)
			print_number(f, i, t->cells.v[i].v[side].nr);
		fputs("],\n\"bytes\":[", f);
		for (i = 0; i < t->cells.nr; i++)
			print_number(f, i, t->cells.v[i].v[side].bytes);
		fputs("]}", f);
	}
	fputs("]}", f);
}

static int print_data(FILE *f, const struct tree *t, const struct html_side *sides,
		      unsigned int nr_sides, const struct html_opts *opts)
{
	unsigned int side;
	size_t i;
	int err = 0;

	fputs("{\"format\":\"xpuload-html\",\"version\":1,\"unit\":", f);
	print_string(f, opts->unit);
	fputs(",\"normalize\":", f);
	print_string(f, opts->normalize);
	fprintf(f, ",\"roots\":%" PRIu32, by_list__nr(&opts->by));
	fputs(",\n\"sides\":[", f);
	for (side = 0; side < nr_sides && !err; side++) {
		fputs(side ? ",\n" : "", f);
		err = print_side(f, &sides[side]);
	}
	fputs("],\n\"kinds\":[", f);
	for (i = 0; i < NR_LEAF_KINDS; i++) {
		fputs(i ? "," : "", f);
		print_string(f, kind_names[i]);
	}
	fputs("],\n\"files\":[", f);
	for (i = 0; i < t->files.nr; i++) {
		fputs(i ? ",\n" : "", f);
		print_string(f, t->files.v[i]);
	}
	fputs("],\n", f);
	print_frames(f, t);
	print_nodes(f, t);
	print_cells(f, t, nr_sides);
	fputs("}\n", f);
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
