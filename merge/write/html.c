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
#include "write/tree.h"

/* With more than that, cells are of fewer owners: some 30 bytes of a page each. */
#define MAX_CELLS	60000

/* With more than that, bins are longer: some 14 bytes each. */
#define MAX_CELL_BINS	250000

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

/* Prints a side without a recording. */
static void print_no_side(struct json_out *j)
{
	static const char *const arrays[] = { "recordings", "account", "messages", "gpus" };
	const struct loss none = { 0 };
	size_t i;

	json_out__open(j, '{');
	for (i = 0; i < ARRAY_SIZE(arrays); i++) {
		open_array(j, arrays[i]);
		json_out__close(j, ']');
	}
	print_totals(j, &none);
	json_out__member_word(j, "filter", "");
	print_u64(j, "scale", 1);
	json_out__close(j, '}');
}

static int print_side(struct json_out *j, const struct html_side *side)
{
	const struct session *s = side->session;
	struct loss l;
	char scale[32];
	size_t i;
	int err = 0;

	if (!s) {
		print_no_side(j);
		return 0;
	}
	l = s->sums.loss;
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

/* Return: the index of a kind in "kinds", or NO_INDEX. */
static uint32_t kind__number(uint32_t kind)
{
	return kind == TREE_FUNCTION ? NO_INDEX : kind > TREE_FUNCTION ? kind - 1 : kind;
}

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
		print_index(j, i, kind__number(t->frames.v[i].kind));
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
		print_index(j, i, t->cells.v[i].node == TREE_ROOT ? NO_INDEX : t->cells.v[i].node - 1);
	next_array(j, "kind");
	for (i = 0; i < t->cells.nr; i++)
		print_number(j, i, kind__number(t->cells.v[i].kind));
	next_array(j, "owner");
	for (i = 0; i < t->cells.nr; i++)
		print_number(j, i, t->cells.v[i].owner);
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

static void print_owners(struct json_out *j, const struct tree *t, uint32_t owners, uint32_t left_out)
{
	size_t i, k;
	int by;

	open_array(j, "labels");
	for (i = 0; i < t->labels.nr; i++) {
		if (i)
			json_out__line(j, 0);
		json_out__string(j, t->labels.v[i]);
	}
	next_array(j, "ranges");
	for (i = 0; i < t->ranges.nr; i++) {
		if (i)
			json_out__line(j, 0);
		json_out__open(j, '[');
		for (k = 0; k < t->ranges.v[i].nr; k++)
			json_out__u64(j, t->range_labels.v[t->ranges.v[i].first + k]);
		json_out__close(j, ']');
	}
	json_out__close(j, ']');
	json_out__line(j, 0);
	json_out__key(j, "owners");
	json_out__open(j, '{');
	for (by = 0; by < NR_BY; by++) {
		if (!(owners & 1u << by))
			continue;
		json_out__line(j, 0);
		open_array(j, by_names[by]);
		for (i = 0; i < t->owners.nr; i++)
			print_index(j, i, t->owners.v[i].label[by]);
		json_out__close(j, ']');
	}
	json_out__close(j, '}');
	json_out__line(j, 0);
	open_array(j, "without");
	for (by = 0; by < NR_BY; by++)
		if (left_out & 1u << by)
			json_out__word(j, by_names[by]);
	json_out__close(j, ']');
}

/* ---- over time ------------------------------------------------------------------------------ */

/* The sums of one cell in a bin. */
struct cell_bin {
	uint32_t cell;
	uint64_t bin;
	struct bin_value value;
};

typedef ARRAY(struct cell_bin) cell_bins_t;

static int cell_bin__cmp(const void *va, const void *vb, void *ctx)
{
	const struct cell_bin *a = va, *b = vb;

	(void)ctx;
	return cmp3(a->cell, b->cell) ?: cmp3(a->bin, b->bin);
}

/* Adds @sum to the cell of aggregate @idx: @part of @whole of its time. */
static int cell_bins__add(cell_bins_t *bins, const uint32_t *cell_of, uint32_t idx, const struct bin_sum *sum,
			  uint64_t part, uint64_t whole, bool counts)
{
	struct cell_bin bin = { .cell = cell_of[idx], .bin = sum->bin };

	bin.value.ns = whole ? (unsigned __int128)sum->value.ns * part / whole : sum->value.ns;
	if (counts) {
		bin.value.nr = sum->value.nr;
		bin.value.bytes = sum->value.bytes;
	}
	return array_push(bins, bin);
}

/*
 * Puts the sums by aggregate under cells. Aggregates that were split share the time of the whole.
 * @cell_of: by aggregate. Return: 0 or -ENOMEM.
 */
static int cell_bins__collect(cell_bins_t *bins, const struct sums *sums, const uint32_t *cell_of)
{
	const struct times *times = &sums->times;
	size_t i, part = 0, end;
	int err = 0;

	for (i = 0; i < times->sums.list.nr && !err; i++) {
		const struct bin_sum *sum = &times->sums.list.v[i];
		uint64_t whole = sums->aggregates.v[sum->key].sum_ns;
		size_t k;

		/* Both lists are by aggregate. */
		while (part < times->parts.nr && times->parts.v[part].whole < sum->key)
			part++;
		for (end = part; end < times->parts.nr && times->parts.v[end].whole == sum->key; end++)
			whole += sums->aggregates.v[times->parts.v[end].part].sum_ns;
		if (end == part)
			whole = 0;
		err = cell_bins__add(bins, cell_of, sum->key, sum, sums->aggregates.v[sum->key].sum_ns, whole,
				     true);
		for (k = part; k < end && !err; k++)
			err = cell_bins__add(bins, cell_of, times->parts.v[k].part, sum,
					     sums->aggregates.v[times->parts.v[k].part].sum_ns, whole, false);
	}
	return err;
}

/* Sorts the sums; makes one of those of one cell and bin. */
static void cell_bins__merge(cell_bins_t *bins)
{
	size_t i, nr = 0;

	array__sort(bins->v, bins->nr, sizeof(*bins->v), cell_bin__cmp, NULL);
	for (i = 0; i < bins->nr; i++) {
		struct bin_value *last = nr ? &bins->v[nr - 1].value : NULL;

		if (last && !cell_bin__cmp(&bins->v[nr - 1], &bins->v[i], NULL))
			bin_value__add(last, &bins->v[i].value);
		else
			bins->v[nr++] = bins->v[i];
	}
	bins->nr = nr;
}

/* Makes bins longer until there are few enough of them. */
static void cell_bins__widen(cell_bins_t *bins, struct bin_scale *scale)
{
	size_t i;

	cell_bins__merge(bins);
	while (bins->nr > MAX_CELL_BINS && scale->first < scale->last) {
		for (i = 0; i < bins->nr; i++)
			bins->v[i].bin >>= 1;
		scale->shift++;
		scale->first >>= 1;
		scale->last >>= 1;
		cell_bins__merge(bins);
	}
}

static void print_scale(struct json_out *j, const struct session *s, const struct bin_scale *scale)
{
	uint64_t from_ns = scale->first << scale->shift, start_ns = s->model.start_ns;
	char text[32];

	snprintf(text, sizeof(text), "%" PRId64, (int64_t)(from_ns - start_ns));
	json_out__key(j, "from_ns");
	json_out__literal(j, text);
	print_u64(j, "bin_ns", 1ull << scale->shift);
	print_u64(j, "nr", scale->last - scale->first + 1);
}

static void print_row_thread(struct json_out *j, const struct session *s, const struct times_row *row)
{
	const struct thread *thread;

	print_u64(j, "kind", row->kind);
	json_out__key(j, "name");
	json_out__string(j, row->comm);
	if (row->thread == NO_INDEX)
		return;
	thread = &s->model.threads.v[row->thread];
	print_u64(j, "tid", thread->tid);
	print_u64(j, "pid", s->model.machine.procs.v[thread->proc].pid);
}

/* Prints the rows of the overview. */
static void print_rows(struct json_out *j, const struct session *s)
{
	const struct times *times = &s->sums.times;
	const struct bins *bins = &times->rows;
	size_t i, k, end;

	json_out__key(j, "rows");
	json_out__open(j, '{');
	print_scale(j, s, &bins->scale);
	open_array(j, "list");
	for (i = 0; i < bins->list.nr; i = end) {
		const struct times_row *row = &times->row_list.v[bins->list.v[i].key];

		for (end = i; end < bins->list.nr && bins->list.v[end].key == bins->list.v[i].key; end++)
			;
		json_out__line(j, 0);
		json_out__open(j, '{');
		if (row->device)
			print_u64(j, "gpu", s->model.gpus.list.v[row->gpu].number);
		else
			print_row_thread(j, s, row);
		open_array(j, "bin");
		for (k = i; k < end; k++)
			print_number(j, k - i, bins->list.v[k].bin - bins->scale.first);
		next_array(j, "ns");
		for (k = i; k < end; k++)
			print_number(j, k - i, bins->list.v[k].value.ns);
		json_out__close(j, ']');
		json_out__close(j, '}');
	}
	json_out__close(j, ']');
	json_out__close(j, '}');
}

/* Prints how many of its bins each cell has. */
static void print_bins_of_cells(struct json_out *j, const struct tree *t, const cell_bins_t *bins)
{
	size_t i, k = 0, nr;

	open_array(j, "each");
	for (i = 0; i < t->cells.nr; i++) {
		for (nr = 0; k < bins->nr && bins->v[k].cell == i; k++)
			nr++;
		print_number(j, i, nr);
	}
	json_out__close(j, ']');
	json_out__line(j, 0);
}

static void print_bins(struct json_out *j, const struct session *s, const struct tree *t,
		       const cell_bins_t *bins, const struct bin_scale *scale)
{
	char start[24];
	size_t i, nr;

	json_out__open(j, '{');
	/* As text: with CLOCK_REALTIME, which recordings of several hosts have, it is beyond 2^53. */
	snprintf(start, sizeof(start), "%" PRIu64, s->model.start_ns);
	json_out__key(j, "start_ns");
	json_out__string(j, start);
	print_scale(j, s, scale);
	print_bins_of_cells(j, t, bins);
	open_array(j, "bin");
	for (i = 0; i < bins->nr; i++)
		print_number(j, i, bins->v[i].bin - scale->first);
	next_array(j, "ns");
	for (i = 0; i < bins->nr; i++)
		print_number(j, i, bins->v[i].value.ns);
	next_array(j, "count");
	for (i = 0; i < bins->nr; i++)
		print_number(j, i, bins->v[i].value.nr);
	next_array(j, "bytes");
	for (i = nr = 0; i < bins->nr; i++)
		if (tree__value(t, &t->cells.v[bins->v[i].cell], 0).bytes)
			print_number(j, nr++, bins->v[i].value.bytes);
	json_out__close(j, ']');
	json_out__line(j, 0);
	print_rows(j, s);
	json_out__close(j, '}');
}

/* Prints when the work of the only side was, if that is known. Return: 0 or -ENOMEM. */
static int print_times(struct json_out *j, const struct session *s, const struct tree *t)
{
	const struct times *times = &s->sums.times;
	uint32_t *place = calloc(t->cells.nr + 1, sizeof(*place)), *cell_of = NULL;
	struct bin_scale scale = times->sums.scale;
	cell_bins_t bins = { 0 };
	int err = place ? 0 : -ENOMEM;
	size_t i;

	json_out__key(j, "times");
	if (err || !times->wanted || times->sums.full || times->rows.full || !times->sums.list.nr) {
		json_out__literal(j, "null");
		goto out;
	}
	err = -ENOMEM;
	cell_of = calloc(t->cell_of[0].nr + 1, sizeof(*cell_of));
	if (!cell_of)
		goto out;
	for (i = 0; i < t->cells.nr; i++)
		place[t->cells.v[i].value] = i;
	for (i = 0; i < t->cell_of[0].nr; i++)
		cell_of[i] = place[t->cell_of[0].v[i]];
	err = cell_bins__collect(&bins, &s->sums, cell_of);
	if (err)
		goto out;
	cell_bins__widen(&bins, &scale);
	print_bins(j, s, t, &bins, &scale);
out:
	array_free(&bins);
	free(cell_of);
	free(place);
	return err;
}

/* ---- the whole ------------------------------------------------------------------------------ */

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

/* A tree, and what its owners tell. */
struct page {
	struct tree tree;
	uint32_t owners, left_out;	/* 1 << enum by, or'ed */
};

static int print_data(FILE *f, const struct page *page, const struct html_side *sides,
		      unsigned int nr_sides, const struct html_opts *opts)
{
	const struct tree *t = &page->tree;
	struct json_out j;
	uint32_t by;
	size_t i;
	int err;

	err = json_out__init(&j, f, ESCAPE_SCRIPT);
	if (err)
		return err;
	json_out__open(&j, '{');
	json_out__member_word(&j, "format", "xpuload-html");
	print_u64(&j, "version", 2);
	json_out__key(&j, "unit");
	json_out__string(&j, opts->unit);
	json_out__key(&j, "normalize");
	json_out__string(&j, opts->normalize);
	open_array(&j, "by");
	for (by = 0; by < by_list__nr(&opts->by); by++)
		json_out__word(&j, by_names[opts->by.v[by]]);
	json_out__close(&j, ']');
	json_out__line(&j, 0);
	err = print_sides(&j, sides, nr_sides);
	json_out__line(&j, 0);
	open_array(&j, "kinds");
	for (i = 0; i < NR_LEAF_KINDS; i++)
		json_out__word(&j, leaf_kind__name(i));
	if (opts->tree) {
		json_out__word(&j, "nccl");
		json_out__word(&j, "host");
	}
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
	print_owners(&j, t, page->owners, page->left_out);
	json_out__line(&j, 0);
	print_cells(&j, t, nr_sides);
	json_out__line(&j, 0);
	if (nr_sides == 1)
		err = err ?: print_times(&j, sides->session, t);
	else
		json_out__key(&j, "times"), json_out__literal(&j, "null");
	if (opts->print_more) {
		json_out__line(&j, 0);
		err = err ?: opts->print_more(&j, opts->ctx);
	}
	json_out__close(&j, '}');
	json_out__end_line(&j);
	json_out__exit(&j);
	return err;
}

/* Return: what the owners of cells can tell: 1 << enum by, or'ed. */
static uint32_t page__owners(const struct html_side *sides, unsigned int nr)
{
	const struct session_opts *opts = &sides->session->opts;
	uint32_t owners = ((1u << NR_BY) - 1) & ~(1u << BY_SHAPE);

	/* Processes and threads of two recordings have nothing in common but their names. */
	if (!opts->by_thread || nr > 1)
		owners &= ~(1u << BY_TID);
	if (nr > 1)
		owners &= ~(1u << BY_PID);
	if (!opts->by_stream)
		owners &= ~(1u << BY_STREAM);
	if (!opts->by_range)
		owners &= ~(1u << BY_NVTX);
	return owners;
}

static int page__build(struct page *page, const struct html_side *sides, unsigned int nr)
{
	unsigned int side;
	int err = tree__init(&page->tree);

	for (side = 0; side < nr && !err; side++)
		err = tree__add(&page->tree, sides[side].session, side, NULL, page->owners);
	return err;
}

/* Makes the tree; where that has too many cells, makes it again with owners that tell less. */
static int page__make(struct page *page, const struct html_side *sides, unsigned int nr,
		      const struct by_list *by)
{
	static const enum by dear[] = { BY_NVTX, BY_STREAM, BY_TID };
	uint32_t asked = 0, i;
	int err;

	for (i = 0; i < by_list__nr(by); i++)
		asked |= 1u << by->v[i];
	page->owners = page__owners(sides, nr);
	err = page__build(page, sides, nr);
	if (page->tree.ranges.nr <= 1)
		page->owners &= ~(1u << BY_NVTX);	/* nothing was in a range, or all in one */
	for (i = 0; i < ARRAY_SIZE(dear) && !err && page->tree.cells.nr > MAX_CELLS; i++) {
		if (!(page->owners & ~asked & 1u << dear[i]))
			continue;
		page->owners &= ~(1u << dear[i]);
		page->left_out |= 1u << dear[i];
		tree__exit(&page->tree);
		err = page__build(page, sides, nr);
	}
	return err ?: tree__sort(&page->tree);
}

static int write_parts(FILE *f, const struct page *page, const struct html_side *sides,
		       unsigned int nr, const struct html_opts *opts)
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
			err = print_data(f, page, sides, nr, opts);
		else
			fwrite(at, 1, end - at, f);
	}
	return err;
}

int html__write(FILE *f, const struct html_side *sides, unsigned int nr, const struct html_opts *opts)
{
	struct page page = { .owners = opts->owners };
	int err;

	if (opts->tree) {
		page.tree = *opts->tree;
		return write_parts(f, &page, sides, nr, opts);
	}
	err = page__make(&page, sides, nr, &opts->by) ?: write_parts(f, &page, sides, nr, opts);
	tree__exit(&page.tree);
	return err;
}
