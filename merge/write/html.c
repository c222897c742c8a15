// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/html.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "escape.h"
#include "human.h"
#include "json_out.h"
#include "write/page.h"
#include "write/page_events.h"
#include "write/page_json.h"
#include "write/shorten.h"
#include "write/text.h"
#include "write/text_answer.h"
#include "write/tree.h"

/* If there are more cells, owners get fewer properties. A cell takes about 30 bytes of a page. */
#define MAX_CELLS	60000

/*
 * If there are more bins, bins get longer. A bin takes about 14 bytes of a page. A page with all
 * events computes its sums from them, and needs bins only until the events are unpacked.
 */
#define MAX_CELL_BINS	250000
#define MAX_BINS_WITH_EVENTS	30000
#define MAX_RECORDED	4000		/* maximum number of elements of the member "recorded" */

#define ANSWER_WIDTH	140		/* width of the lines of the answer, in characters */

/* Prints one index of an array; NO_INDEX becomes -1. */
static void print_index(struct json_out *j, size_t i, uint32_t idx)
{
	if (idx == NO_INDEX)
		json_out__literal(j, "-1");
	else
		page__number(j, i, idx);
}

static void print_u64(struct json_out *j, const char *key, uint64_t n)
{
	json_out__member_u64(j, key, n);
}

/* ---- what was recorded ---------------------------------------------------------------------- */

typedef void (*line_fn)(struct json_out *j, char *line);

/*
 * Calls @print for each line of @text; @print may change the line. The output of each call is on
 * its own line of the JSON text.
 */
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

/* Prints a line "label: value". */
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

/* Prints into the page the lines of text that @write produces. */
static int print_text(struct json_out *j, const struct session *s, size_t nr,
		      int (*write)(const struct session *s, size_t nr, FILE *f), line_fn print)
{
	char *text = NULL;
	size_t size;
	FILE *lines = open_memstream(&text, &size);
	int err;

	if (!lines)
		return -ENOMEM;
	err = write(s, nr, lines);
	/* The only failure is lack of memory, which fclose() may not report. */
	if (ferror(lines))
		err = -ENOMEM;
	if (fclose(lines) || !text)
		err = -ENOMEM;
	if (!err)
		for_each_line(j, text, print);
	free(text);
	return err;
}

static int write_head(const struct session *s, size_t nr, FILE *f)
{
	text__write_head(s, &s->model.inputs.v[nr], f);
	return 0;
}

static int write_answer(const struct session *s, size_t nr, FILE *f)
{
	(void)nr;
	return text__write_answer(s, f, ANSWER_WIDTH);
}

static int write_loss(const struct session *s, size_t nr, FILE *f)
{
	(void)nr;
	session__print_loss(s, f);
	return 0;
}

static int write_messages(const struct session *s, size_t nr, FILE *f)
{
	size_t i;

	(void)nr;
	for (i = 0; i < s->msgs.lines.nr; i++) {
		escape__print(f, s->msgs.lines.v[i], ESCAPE_TEXT);
		fputc('\n', f);
	}
	if (s->msgs.nr_dropped)
		fprintf(f, "%" PRIu64 " more %s\n", s->msgs.nr_dropped,
			PLURAL(s->msgs.nr_dropped, "message like this", "messages like these"));
	text__write_messages(s, f, "");
	return 0;
}

static void print_gpus(struct json_out *j, const struct session *s)
{
	array_each(&s->model.gpus.list, gpu) {
		if (!gpu__has_work(gpu))
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

/* Prints a side without a recording. */
static void print_no_side(struct json_out *j)
{
	static const char *const arrays[] = { "recordings", "answer", "account", "messages",
						"gpus" };
	const struct loss none = { 0 };
	size_t i;

	json_out__open(j, '{');
	for (i = 0; i < ARRAY_SIZE(arrays); i++) {
		page__open_array(j, arrays[i]);
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
	/*
	 * Nearly all recordings have frames without names. The graph shows the CPU samples of deep
	 * recursion below the frame [truncated]. The page need not warn about either.
	 */
	l.unsymbolized = l.samples_truncated = 0;

	json_out__open(j, '{');
	page__open_array(j, "recordings");
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
	page__open_array(j, "answer");
	err = err ?: print_text(j, s, 0, write_answer, print_line);
	page__next_array(j, "account");
	err = err ?: print_text(j, s, 0, write_loss, print_line);
	page__next_array(j, "messages");
	err = err ?: print_text(j, s, 0, write_messages, print_line);
	json_out__close(j, ']');
	json_out__line(j, 0);
	json_out__key(j, "filter");
	json_out__string(j, filter__active(s->opts.filter) ? s->opts.filter->text.v : "");
	json_out__line(j, 0);
	for (i = 0; features[i] && !err; i++)
		err = features[i]->page_head ? features[i]->page_head(s, j) : 0;
	page__open_array(j, "gpus");
	print_gpus(j, s);
	json_out__close(j, ']');
	json_out__line(j, 0);
	for (i = 0; features[i] && !err; i++)
		err = features[i]->page ? features[i]->page(s, j) : 0;
	err = err ?: text__page(s, j);
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
	page__open_array(j, "name");
	for (i = 0; i < t->frames.nr; i++) {
		if (i)
			json_out__line(j, 0);
		json_out__string(j, t->frames.v[i].name);
	}
	page__next_array(j, "file");
	for (i = 0; i < t->frames.nr; i++)
		page__number(j, i, t->frames.v[i].file);
	page__next_array(j, "kind");
	for (i = 0; i < t->frames.nr; i++)
		print_index(j, i, kind__number(t->frames.v[i].kind));
	page__next_array(j, "place");
	for (i = 0; i < t->frames.nr; i++)
		page__number(j, i, t->frames.v[i].place);
	json_out__close(j, ']');
	json_out__close(j, '}');
}

/* Prints all nodes except the root, because every page has a root. */
static void print_nodes(struct json_out *j, const struct tree *t)
{
	size_t i;

	json_out__key(j, "nodes");
	json_out__open(j, '{');
	page__open_array(j, "frame");
	for (i = 1; i < t->nodes.nr; i++)
		page__number(j, i - 1, t->nodes.v[i].frame);
	page__next_array(j, "depth");
	for (i = 1; i < t->nodes.nr; i++)
		page__number(j, i - 1, t->nodes.v[i].depth - 1);
	json_out__close(j, ']');
	json_out__close(j, '}');
}

/* Whether the times of some records are cut by a time window or a split. */
static bool cells_are_cut(const struct tree *t, unsigned int side)
{
	size_t i;

	for (i = 0; i < t->values[side].nr; i++)
		if (t->values[side].v[i].ns != t->values[side].v[i].whole_ns)
			return true;
	return false;
}

static void print_cells(struct json_out *j, const struct tree *t, unsigned int nr_sides)
{
	unsigned int side;
	bool are_cut;
	size_t i;

	json_out__key(j, "cells");
	json_out__open(j, '{');
	page__open_array(j, "node");
	for (i = 0; i < t->cells.nr; i++)
		print_index(j, i,
			    t->cells.v[i].node == TREE_ROOT ? NO_INDEX : t->cells.v[i].node - 1);
	page__next_array(j, "kind");
	for (i = 0; i < t->cells.nr; i++)
		page__number(j, i, kind__number(t->cells.v[i].kind));
	page__next_array(j, "owner");
	for (i = 0; i < t->cells.nr; i++)
		page__number(j, i, t->cells.v[i].owner);
	page__next_array(j, "values");
	for (side = 0; side < nr_sides; side++) {
		if (side)
			json_out__line(j, 0);
		json_out__open(j, '{');
		page__open_array(j, "ns");
		for (i = 0; i < t->cells.nr; i++)
			page__number(j, i, tree__value(t, &t->cells.v[i], side).ns);
		page__next_array(j, "nr");
		for (i = 0; i < t->cells.nr; i++)
			page__number(j, i, tree__value(t, &t->cells.v[i], side).nr);
		page__next_array(j, "bytes");
		for (i = 0; i < t->cells.nr; i++)
			page__number(j, i, tree__value(t, &t->cells.v[i], side).bytes);
		page__next_array(j, "whole");
		are_cut = cells_are_cut(t, side);
		for (i = 0; i < t->cells.nr && are_cut; i++)
			page__number(j, i, tree__value(t, &t->cells.v[i], side).whole_ns);
		json_out__close(j, ']');
		json_out__close(j, '}');
	}
	json_out__close(j, ']');
	json_out__close(j, '}');
}

static void print_owners(struct json_out *j, const struct tree *t, uint32_t owners,
			 uint32_t left_out)
{
	size_t i, k;
	int by;

	page__open_array(j, "labels");
	for (i = 0; i < t->labels.nr; i++) {
		if (i)
			json_out__line(j, 0);
		json_out__string(j, t->labels.v[i]);
	}
	page__next_array(j, "ranges");
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
		page__open_array(j, by_names[by]);
		for (i = 0; i < t->owners.nr; i++)
			print_index(j, i, t->owners.v[i].label[by]);
		json_out__close(j, ']');
	}
	json_out__close(j, '}');
	json_out__line(j, 0);
	page__open_array(j, "without");
	for (by = 0; by < NR_BY; by++)
		if (left_out & 1u << by)
			json_out__word(j, by_names[by]);
	json_out__close(j, ']');
}

/* ---- over time ------------------------------------------------------------------------------ */

/*
 * The frame for call paths without times of their own, and the row for threads without a row of
 * their own.
 */
#define SMALL_PATHS	"[call paths too small to have times of their own]"
#define OTHER_THREADS	"[other threads]"

#define LEAVES_WITH_BYTES	(1u << LEAF_MEMCPY | 1u << LEAF_MEMSET)

/* a tree, and which properties the owners of its cells have */
struct page {
	struct tree tree;
	uint32_t owners, left_out;	/* sets of properties: 1 << enum by, or'ed */
	ARRAY(uint32_t) rest;		/* for each group of times.sums: index of its value
					 * (tree__value()), or NO_INDEX; page__find_cells() replaces
					 * the index with the cell, or 0 */
	uint32_t *cell_of;		/* with one recording: the cell of each aggregate */
	size_t max_bins;		/* maximum number of bins of all cells together */
};

/* The part of a key's time that goes to one cell. */
struct key_part {
	uint32_t key, cell;
	uint64_t ns, given_ns;		/* the part's total time; the time already given to the
					 * cell */
	bool counts;			/* this cell also gets the key's counts */
};

typedef ARRAY(struct key_part) key_parts_t;

static int key_part__cmp(const void *va, const void *vb, void *ctx)
{
	const struct key_part *a = va, *b = vb;

	(void)ctx;
	return cmp3(a->key, b->key) ?: cmp3(b->counts, a->counts) ?: cmp3(a->cell, b->cell);
}

/*
 * Collects the cells of each key that has several cells because its aggregate was split. Each cell
 * gets its part of the key's time. @cell_of: the cell of each aggregate. Return: 0 or -ENOMEM.
 */
static int key_parts__collect(key_parts_t *parts, const struct sums *sums, const uint32_t *cell_of)
{
	const struct times *times = &sums->times;
	const struct aggregate *all = sums->aggregates.v;
	size_t i, nr_whole = sums->aggregates.nr;
	int err = 0;

	if (!times->parts.nr)
		return 0;
	array_each_while(&times->parts, part, !err) {
		nr_whole = min_t(size_t, nr_whole, part->part);
		err = array_push(parts, ((struct key_part){
			.key = bins__key(&times->sums, part->whole), .cell = cell_of[part->part],
			.ns = all[part->part].sum_ns,
		}));
	}
	for (i = 0; i < nr_whole && !err; i++) {
		uint32_t key = bins__key(&times->sums, i);

		err = array_push(parts, ((struct key_part){
			.key = key, .cell = cell_of[i], .ns = all[i].sum_ns, .counts = key == i,
		}));
	}
	array__sort(parts->v, parts->nr, sizeof(*parts->v), key_part__cmp, NULL);
	return err;
}

/*
 * Divides a sum among the cells of its key, in proportion to their parts. @done_ns: total of the
 * key's sums so far, including @sum. Return: 0 or -ENOMEM.
 */
static int share_out(struct bins *cells, const struct bin_scale *scale, const struct bin_sum *sum,
		     uint64_t done_ns, struct key_part *parts, size_t nr)
{
	uint64_t whole_ns = 0, until_ns;
	size_t i;
	int err = 0;

	for (i = 0; i < nr; i++)
		whole_ns += parts[i].ns;
	done_ns = min_t(uint64_t, done_ns, whole_ns);
	for (i = 0; i < nr && !err; i++) {
		struct bin_sum part = { .key = parts[i].cell, .bin = sum->bin };

		until_ns = whole_ns ? (unsigned __int128)parts[i].ns * done_ns / whole_ns : 0;
		part.ns = until_ns - parts[i].given_ns;
		parts[i].given_ns = until_ns;
		if (parts[i].counts) {
			part.nr = sum->nr;
			part.bytes = sum->bytes;
		}
		if (part.ns || part.nr)
			err = bins__put(cells, scale, &part);
	}
	return err;
}

/*
 * Converts the sums of aggregates to sums of cells. @cell_of: the cell of each aggregate; @rest:
 * the cell of each group. Return: 0 or -ENOMEM.
 */
static int cells__collect(struct bins *cells, const struct sums *sums, const uint32_t *cell_of,
			  const uint32_t *rest)
{
	const struct bins *bins = &sums->times.sums;
	key_parts_t parts = { 0 };
	size_t i, at = 0, end;
	uint64_t done_ns = 0;
	int err = key_parts__collect(&parts, sums, cell_of) ?:
		  array_reserve(&cells->list, bins->list.nr);

	for (i = 0; i < bins->list.nr && !err; i++) {
		struct bin_sum sum = bins->list.v[i];

		done_ns = i && sum.key == bins->list.v[i - 1].key ? done_ns + sum.ns : sum.ns;
		for (; at < parts.nr && parts.v[at].key < sum.key; at++)
			;
		for (end = at; end < parts.nr && parts.v[end].key == sum.key; end++)
			;
		if (end > at + 1 && sum.key < BINS_GROUP(0)) {
			err = share_out(cells, &bins->scale, &sum, done_ns, &parts.v[at], end - at);
			continue;
		}
		sum.key = sum.key >= BINS_GROUP(0) ? rest[sum.key - BINS_GROUP(0)] :
			  cell_of[sum.key];
		err = bins__put(cells, &bins->scale, &sum);
	}
	array_free(&parts);
	return err ?: bins__finish(cells, cells->max_sums / 2);
}

/* Prints a time since the recording's start; earlier times are negative. */
static void print_since_start(struct json_out *j, const struct session *s, uint64_t ns)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRId64, (int64_t)(ns - s->model.start_ns));
	json_out__literal(j, text);
}

static void print_scale(struct json_out *j, const struct session *s, const struct bin_scale *scale)
{
	json_out__key(j, "from_ns");
	print_since_start(j, s, scale->first << scale->shift);
	print_u64(j, "bin_ns", 1ull << scale->shift);
	print_u64(j, "nr", scale->last - scale->first + 1);
}

static void print_row_thread(struct json_out *j, const struct session *s,
			     const struct times_row *row)
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

/* Return: how many CPUs the hosts have together; 0: unknown. */
static uint64_t nr_cpus(const struct model *m)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < m->inputs.nr; i++) {
		uint32_t nr = m->inputs.v[i].reader->header.nr_cpus;

		if (!nr)
			return 0;
		sum += m->inputs.v[i].host_nr == i ? nr : 0;
	}
	return sum;
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
	print_u64(j, "cpus", nr_cpus(&s->model));
	page__open_array(j, "list");
	for (i = 0; i < bins->list.nr; i = end) {
		uint32_t key = bins->list.v[i].key;
		const struct times_row rest = {
			.kind = key - BINS_GROUP(0), .thread = NO_INDEX, .comm = OTHER_THREADS,
		};
		const struct times_row *row = key < BINS_GROUP(0) ? &times->row_list.v[key] : &rest;

		for (end = i; end < bins->list.nr && bins->list.v[end].key == key; end++)
			;
		json_out__line(j, 0);
		json_out__open(j, '{');
		if (row->device)
			print_u64(j, "gpu", s->model.gpus.list.v[row->gpu].number);
		else
			print_row_thread(j, s, row);
		page__open_array(j, "bin");
		for (k = i; k < end; k++)
			page__number(j, k - i, bins__index(&bins->scale, &bins->list.v[k]));
		page__next_array(j, "ns");
		for (k = i; k < end; k++)
			page__number(j, k - i, bins->list.v[k].ns);
		json_out__close(j, ']');
		json_out__close(j, '}');
	}
	json_out__close(j, ']');
	json_out__close(j, '}');
}

/*
 * Prints the spans in which events were recorded: the capture windows, or the time from the first
 * to the last event. Two spans become one if the gap between them would be too short to see.
 */
static void print_recorded(struct json_out *j, const struct session *s)
{
	const struct sums *sums = &s->sums;
	const struct busy_span whole = { sums->from_ns, sums->to_ns, 0 };
	const struct busy_span *v = sums->nr_windows ? sums->windows.spans.v : &whole;
	size_t i, end, nr = sums->nr_windows ? sums->windows.spans.nr : 1;
	uint64_t least_ns = nr ? (v[nr - 1].end_ns - v->start_ns) / MAX_RECORDED : 0, ns;

	print_u64(j, "nr_windows", sums->nr_windows);
	page__open_array(j, "recorded");
	for (i = 0; i < nr; i = end) {
		ns = busy_span__ns(&v[i]);
		for (end = i + 1; end < nr && v[end].start_ns - v[end - 1].end_ns < least_ns; end++)
			ns += busy_span__ns(&v[end]);
		json_out__open(j, '[');
		print_since_start(j, s, v[i].start_ns);
		print_since_start(j, s, v[end - 1].end_ns);
		json_out__u64(j, ns);
		json_out__close(j, ']');
	}
	json_out__close(j, ']');
	json_out__line(j, 0);
}

/* Prints the number of bins of each cell. */
static void print_bins_of_cells(struct json_out *j, const struct tree *t, const struct bins *cells)
{
	size_t i, k = 0, nr;

	page__open_array(j, "each");
	for (i = 0; i < t->cells.nr; i++) {
		for (nr = 0; k < cells->list.nr && cells->list.v[k].key == i; k++)
			nr++;
		page__number(j, i, nr);
	}
	json_out__close(j, ']');
	json_out__line(j, 0);
}

static void print_bins(struct json_out *j, const struct session *s, const struct tree *t,
		       const struct bins *cells)
{
	const struct bin_sum *v = cells->list.v;
	size_t i, nr, nr_bytes = 0;
	char start[24];

	json_out__open(j, '{');
	/*
	 * Print the start as text: with CLOCK_REALTIME, which recordings of several hosts use, the
	 * number is beyond 2^53.
	 */
	snprintf(start, sizeof(start), "%" PRIu64, s->model.start_ns);
	nr = cells->list.nr;
	json_out__key(j, "start_ns");
	json_out__string(j, start);
	print_scale(j, s, &cells->scale);
	print_u64(j, "nr_rest", s->sums.times.sums.nr_grouped);
	print_recorded(j, s);
	print_bins_of_cells(j, t, cells);
	page__open_array(j, "bin");
	for (i = 0; i < nr; i++)
		page__number(j, i, bins__index(&cells->scale, &v[i]));
	page__next_array(j, "ns");
	for (i = 0; i < nr; i++)
		page__number(j, i, v[i].ns);
	page__next_array(j, "count");
	for (i = 0; i < nr; i++)
		page__number(j, i, v[i].nr);
	page__next_array(j, "bytes");
	for (i = 0; i < nr; i++)
		if (1u << t->cells.v[v[i].key].kind & LEAVES_WITH_BYTES)
			page__number(j, nr_bytes++, v[i].bytes);
	json_out__close(j, ']');
	json_out__line(j, 0);
	print_rows(j, s);
	json_out__close(j, '}');
}

/* Prints when the work of the only side ran, if this is known. Return: 0 or -ENOMEM. */
static int print_times(struct json_out *j, const struct session *s, const struct page *page)
{
	const struct times *times = &s->sums.times;
	const struct tree *t = &page->tree;
	struct bins cells;
	int err = 0;

	/* Bins may get longer, but cells must not be merged. */
	bins__init(&cells, 2 * max_t(size_t, page->max_bins, t->cells.nr),
		   &(struct bins_keys){ NULL, NULL, NULL });
	cells.scale = times->sums.scale;
	json_out__key(j, "times");
	if (!times->wanted || !times->sums.list.nr || t->cells.nr >= BINS_GROUP(0)) {
		json_out__literal(j, "null");
		goto out;
	}
	err = cells__collect(&cells, &s->sums, page->cell_of, page->rest.v);
	if (!err)
		print_bins(j, s, t, &cells);
out:
	bins__exit(&cells);
	return err;
}

/* ---- the whole ------------------------------------------------------------------------------ */

static int print_sides(struct json_out *j, const struct html_side *sides, unsigned int nr_sides)
{
	unsigned int side;
	int err = 0;

	page__open_array(j, "sides");
	for (side = 0; side < nr_sides && !err; side++) {
		if (side)
			json_out__line(j, 0);
		err = print_side(j, &sides[side]);
	}
	json_out__close(j, ']');
	return err;
}

static int print_data(FILE *f, const struct page *page, const struct html_side *sides,
		      unsigned int nr_sides, const struct html_opts *opts)
{
	const struct tree *t = &page->tree;
	struct json_out j;
	uint32_t by;
	size_t i;
	int err = json_out__init(&j, f, ESCAPE_SCRIPT);

	if (err)
		return err;
	json_out__open(&j, '{');
	json_out__member_word(&j, "format", "xpuload-html");
	print_u64(&j, "version", 2);
	json_out__key(&j, "unit");
	json_out__string(&j, opts->unit);
	json_out__key(&j, "normalize");
	json_out__string(&j, opts->normalize);
	page__open_array(&j, "by");
	for (by = 0; by < opts->by.nr; by++)
		json_out__word(&j, by_names[opts->by.v[by]]);
	json_out__close(&j, ']');
	json_out__line(&j, 0);
	err = print_sides(&j, sides, nr_sides);
	json_out__line(&j, 0);
	page__open_array(&j, "kinds");
	for (i = 0; i < NR_LEAF_KINDS; i++)
		json_out__word(&j, leaf_kind__name(i));
	for (i = 0; opts->kinds && opts->kinds[i]; i++)
		json_out__word(&j, opts->kinds[i]);
	page__next_array(&j, "files");
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
		err = err ?: print_times(&j, sides->session, page);
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

/* Return: the properties that owners of cells can have: 1 << enum by, or'ed. */
static uint32_t page__owners(const struct html_side *sides, unsigned int nr)
{
	const struct session_opts *opts = &sides->session->opts;
	uint32_t owners = ((1u << NR_BY) - 1) & ~(1u << BY_SHAPE);

	/* Processes and threads of two recordings share only their names. */
	if (!opts->by_thread || nr > 1)
		owners &= ~(1u << BY_TID);
	if (nr > 1)
		owners &= ~(1u << BY_PID);
	if (!opts->by_stream)
		owners &= ~(1u << BY_STREAM);
	if (!opts->by_range)
		owners &= ~(1u << BY_RANGE);
	return owners;
}

static int page__build(struct page *page, const struct html_side *sides, unsigned int nr)
{
	unsigned int side;
	int err = 0;

	for (side = 0; side < nr && !err; side++)
		err = tree__add(&page->tree, sides[side].session, side, NULL, page->owners);
	return err;
}

/* Makes one cell for each group of call paths without times of their own. */
static int page__add_rest(struct page *page, const struct session *s)
{
	const struct bins *bins = &s->sums.times.sums;
	size_t i;
	int err = 0;

	for (i = 0; i < bins->groups.nr && !err; i++)
		err = array_push(&page->rest, NO_INDEX);
	for (i = 0; i < s->sums.aggregates.nr && page->rest.nr && !err; i++) {
		uint32_t key = bins__key(bins, i), group = key - BINS_GROUP(0);

		if (key >= BINS_GROUP(0) && group < page->rest.nr &&
		    page->rest.v[group] == NO_INDEX)
			err = tree__add_rest(&page->tree, s, &s->sums.aggregates.v[i], SMALL_PATHS,
					     page->owners, &page->rest.v[group]);
	}
	return err;
}

/*
 * Makes the tree's cells. If there are too many cells, makes the cells again, with owners that have
 * fewer properties.
 */
static int page__make(struct page *page, const struct html_side *sides, unsigned int nr,
		      const struct by_list *by)
{
	static const enum by dear[] = { BY_RANGE, BY_STREAM, BY_TID };
	const bool is_coarse = sides->session->sums.times.sums.is_coarse;
	const uint32_t not_told = is_coarse ? 1u << BY_RANGE | 1u << BY_TID : 0;
	uint32_t asked = 0, i;
	int err;

	for (i = 0; i < by_list__nr(by); i++)
		asked |= 1u << by->v[i];
	page->owners = page__owners(sides, nr);
	page->left_out = page->owners & not_told;
	page->owners &= ~not_told;
	err = tree__init(&page->tree) ?: page__build(page, sides, nr);
	if (page->owners & 1u << BY_RANGE && page->tree.ranges.nr <= 1)
		page->owners &= ~(1u << BY_RANGE);	/* no work was in a range, or all work was
							 * in one range */
	for (i = 0; i < ARRAY_SIZE(dear) && !err && page->tree.cells.nr > MAX_CELLS; i++) {
		if (!(page->owners & ~asked & 1u << dear[i]))
			continue;
		page->owners &= ~(1u << dear[i]);
		page->left_out |= 1u << dear[i];
		err = tree__forget_cells(&page->tree) ?: page__build(page, sides, nr);
	}
	if (!err && nr == 1)
		err = page__add_rest(page, sides->session);
	return err ?: tree__sort(&page->tree);
}

/* Finds the cells of aggregates and of page->rest, once cells are sorted. Return: 0 or -ENOMEM. */
static int page__find_cells(struct page *page)
{
	const struct tree *t = &page->tree;
	uint32_t *place = calloc(t->cells.nr + 1, sizeof(*place));
	size_t i;

	page->cell_of = calloc(t->cell_of[0].nr + 1, sizeof(*page->cell_of));
	if (!place || !page->cell_of) {
		free(place);
		return -ENOMEM;
	}
	for (i = 0; i < t->cells.nr; i++)
		place[t->cells.v[i].value] = i;
	for (i = 0; i < t->cell_of[0].nr; i++)
		page->cell_of[i] = place[t->cell_of[0].v[i]];
	for (i = 0; i < page->rest.nr; i++)
		page->rest.v[i] = page->rest.v[i] == NO_INDEX ? 0 : place[page->rest.v[i]];
	free(place);
	return 0;
}

static int write_parts(FILE *f, const struct page *page, const struct html_side *sides,
		       unsigned int nr, const struct html_opts *opts)
{
	static const struct {
		const char *line;
		const char *text;
	} parts[] = {
		{ "@CSS@\n", page_css }, { "@PANELS@\n", page_panels },
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
		else if (!strncmp(at, "@EVENTS@\n", 9))
			err = opts->events ? page_events__write(opts->events, sides->session,
								&page->tree, page->cell_of, f) : 0;
		else
			fwrite(at, 1, end - at, f);
	}
	return err;
}

int html__write(FILE *f, const struct html_side *sides, unsigned int nr,
		const struct html_opts *opts)
{
	struct page page = { .owners = opts->owners, .max_bins = MAX_CELL_BINS };
	int err;

	if (opts->tree) {
		page.tree = *opts->tree;
		return write_parts(f, &page, sides, nr, opts);
	}
	err = (opts->events ? page_events__end(opts->events) : 0) ?:
	      page__make(&page, sides, nr, &opts->by) ?:
	      (nr == 1 ? page__find_cells(&page) : 0);
	if (!err && opts->events && page_events__are_all(opts->events))
		page.max_bins = MAX_BINS_WITH_EVENTS;
	err = err ?: write_parts(f, &page, sides, nr, opts);
	free(page.cell_of);
	tree__exit(&page.tree);
	array_free(&page.rest);
	return err;
}
