// SPDX-License-Identifier: GPL-3.0-or-later
#include "top_frame.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "complain.h"
#include "human.h"
#include "write/section.h"
#include "write/table.h"

/* A new session begins after this many files, or after files of this many bytes. */
#define MAX_READERS	120
#define MAX_BYTES	(256ull << 20)
#define MAX_ROWS	200		/* maximum number of rows of each list */
#define ROWS_ALONE	10

/* ---- sums of one interval -------------------------------------------------------------------- */

/* a share of a row: the time of one aggregate */
struct row_share {
	uintptr_t key;			/* all shares with the same key make one row */
	const struct stack *stack;	/* the call path, for rows of paths */
	const char *name;		/* the row's name; for a path, the name of its work, or NULL
					 * if its work has several names */
	const char *prefix;		/* printed before the name */
	uint64_t ns, nr;
};

typedef ARRAY(struct row_share) row_shares_t;

static int row_share__cmp_key(const void *va, const void *vb)
{
	const struct row_share *a = va, *b = vb;

	return cmp3(a->key, b->key) ?: strcmp(a->prefix, b->prefix);
}

static int row_share__cmp_ns(const void *va, const void *vb)
{
	const struct row_share *a = va, *b = vb;

	return cmp3(b->ns, a->ns) ?: cmp3(b->nr, a->nr) ?: cmp3(a->key, b->key);
}

/* Adds up the shares of each key, and sorts the sums by time, the longest time first. */
static void row_shares__sum(row_shares_t *shares)
{
	size_t i, nr = 0;

	if (!shares->nr)
		return;
	array_qsort(shares, row_share__cmp_key);
	for (i = 1; i < shares->nr; i++) {
		if (row_share__cmp_key(&shares->v[nr], &shares->v[i])) {
			shares->v[++nr] = shares->v[i];
			continue;
		}
		if (shares->v[nr].name != shares->v[i].name)
			shares->v[nr].name = NULL;
		shares->v[nr].ns += shares->v[i].ns;
		shares->v[nr].nr += shares->v[i].nr;
	}
	shares->nr = nr + 1;
	array_qsort(shares, row_share__cmp_ns);
}

/* Return: the name of a row, allocated, or NULL. */
static char *row_share__name(const struct row_share *share)
{
	char *name;

	if (share->stack)
		return stack__path(share->stack, TABLE_TEXT, share->name);
	return asprintf(&name, "%s%s", share->prefix, share->name) < 0 ? NULL : name;
}

static void frame__clear(struct top_frame *frame)
{
	size_t i, k;

	for (i = 0; i < NR_TOP_LISTS; i++) {
		for (k = 0; k < frame->lists[i].nr; k++)
			free(frame->lists[i].v[k].name);
		frame->lists[i].nr = 0;
		frame->total_ns[i] = 0;
	}
	frame->gpus.nr = 0;
	frame->cpu_ns = 0;
}

static int frame__take(struct top_frame *frame, enum top_list list, row_shares_t *shares)
{
	int err = 0;
	size_t i;

	row_shares__sum(shares);
	for (i = 0; i < shares->nr; i++)
		frame->total_ns[list] += shares->v[i].ns;
	for (i = 0; i < shares->nr && i < MAX_ROWS && !err; i++) {
		char *name = row_share__name(&shares->v[i]);

		err = name ? array_push(&frame->lists[list],
					((struct top_row){ name, shares->v[i].ns,
							   shares->v[i].nr })) : -ENOMEM;
		if (err)
			free(name);
	}
	array_free(shares);
	return err;
}

/* Sums up the aggregates of the last recording, which start at @first. Return: 0 or -ENOMEM. */
static int frame__sum(struct top_frame *frame, const struct session *s, size_t first)
{
	row_shares_t shares[NR_TOP_LISTS] = { { 0 } };
	int err = 0;
	size_t i;

	for (i = first; i < s->sums.aggregates.nr && !err; i++) {
		const struct aggregate *a = &s->sums.aggregates.v[i];
		const struct leaf *leaf = &s->model.leaves.v[a->leaf];
		const struct stack *stack = s->model.chains.v[a->chain].stack;

		if (leaf_kind__is_device(leaf->kind)) {
			err = array_push(&shares[TOP_WORK], ((struct row_share){
				(uintptr_t)leaf->name, NULL, leaf->name,
				leaf_kind__prefix(leaf->kind), a->sum_ns, a->nr })) ?:
			      array_push(&shares[TOP_PATHS], ((struct row_share){
				(uintptr_t)stack, stack, leaf->name, "", a->sum_ns, a->nr }));
		} else if (leaf->kind == LEAF_CPU && stack->nr) {
			const char *name = stack->frames[stack->nr - 1]->name;

			frame->cpu_ns += a->sum_ns;
			err = array_push(&shares[TOP_FUNCTIONS], ((struct row_share){
				(uintptr_t)name, NULL, name, "", a->sum_ns, a->nr }));
		}
	}
	for (i = 0; i < NR_TOP_LISTS; i++) {
		if (err)
			array_free(&shares[i]);
		else
			err = frame__take(frame, i, &shares[i]);
	}
	return err;
}

/* ---- the session ----------------------------------------------------------------------------- */

void top_frames__init(struct top_frames *f)
{
	memset(f, 0, sizeof(*f));
	f->opts = (struct session_opts){ .stats = true, .trim = true };
}

static void frames__forget(struct top_frames *f)
{
	size_t i;

	if (f->open)
		session__exit(&f->s);
	f->open = false;
	for (i = 0; i < f->readers.nr; i++) {
		reader__close(f->readers.v[i]);
		free(f->readers.v[i]);
	}
	f->readers.nr = 0;
	f->bytes = 0;
}

void top_frames__exit(struct top_frames *f)
{
	size_t i;

	frames__forget(f);
	array_free(&f->readers);
	frame__clear(&f->frame);
	for (i = 0; i < NR_TOP_LISTS; i++)
		array_free(&f->frame.lists[i]);
	array_free(&f->frame.gpus);
}

/*
 * Opens the recording @name; begins a new session if the old one is full. Return: 0, or a negative
 * errno after a message.
 */
static int frames__open(struct top_frames *f, const char *name)
{
	struct reader *r;
	int err;

	if (f->readers.nr >= MAX_READERS || f->bytes > MAX_BYTES)
		frames__forget(f);
	if (!f->open) {
		err = session__init(&f->s, &f->opts);
		if (err)
			return err;
		f->open = true;
	}
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	err = reader__open(r, name);
	err = err ?: array_push(&f->readers, r);
	if (err) {
		complain("%s %s", name, r->error);
		free(r);
		return err;
	}
	r->name = "the recording";		/* the caller owns @name */
	f->bytes += r->size;
	return 0;
}

int top_frames__add(struct top_frames *f, const char *name, double seconds)
{
	uint64_t before_ns[64] = { 0 };
	struct sums *sums = &f->s.sums;
	size_t first, i;
	int err = frames__open(f, name);

	if (err)
		return err;
	first = sums->aggregates.nr;
	for (i = 0; i < sums->busy.nr && i < ARRAY_SIZE(before_ns); i++)
		before_ns[i] = busy__ns(&sums->busy.v[i]);
	frame__clear(&f->frame);
	err = session__add(&f->s, f->readers.v[f->readers.nr - 1]) ?:
	      frame__sum(&f->frame, &f->s, first);
	for (i = 0; i < sums->busy.nr && i < ARRAY_SIZE(before_ns) && !err; i++)
		err = array_push(&f->frame.gpus,
				 ((struct top_gpu){ f->s.model.gpus.list.v[i].number,
						    busy__ns(&sums->busy.v[i]) - before_ns[i] }));
	if (err) {
		frames__forget(f);
		return err;
	}
	f->frame.seconds = seconds;
	f->frame.nr++;
	f->frame.nr_launches = sums->loss.nr_launches;
	f->frame.nr_lost += loss__lost(&sums->loss);
	return 0;
}

/* ---- the shown rows -------------------------------------------------------------------------- */

static double row__average(const struct top_row *row)
{
	return row->nr ? (double)row->ns / row->nr : 0;
}

static int row__cmp(const void *va, const void *vb, void *ctx)
{
	const struct top_row *a = va, *b = vb;
	enum top_order order = *(const enum top_order *)ctx;

	if (order == TOP_BY_COUNT)
		return cmp3(b->nr, a->nr) ?: cmp3(b->ns, a->ns) ?: strcmp(a->name, b->name);
	if (order == TOP_BY_AVERAGE)
		return cmp3(row__average(b), row__average(a)) ?: strcmp(a->name, b->name);
	return cmp3(b->ns, a->ns) ?: cmp3(b->nr, a->nr) ?: strcmp(a->name, b->name);
}

static void print_head(const struct top_frame *frame, const struct top_look *look, FILE *out)
{
	uint64_t span_ns = frame->seconds * 1e9, permille;
	char rate[HUMAN_MAX], cpu[HUMAN_MAX];
	size_t i;

	fputs(look->color ? "\033[1m" : "", out);
	for (i = 0; i < frame->gpus.nr && i < 4; i++) {
		permille = min_t(uint64_t, table__share(frame->gpus.v[i].busy_ns, span_ns), 1000);
		fprintf(out, "GPU %" PRIu32 " busy %" PRIu64 ".%" PRIu64 " %%, ",
			frame->gpus.v[i].number, permille / 10, permille % 10);
	}
	if (i < frame->gpus.nr)
		fprintf(out, "%zu more GPUs, ", frame->gpus.nr - i);
	human__count(rate, frame->nr_launches / frame->seconds + 0.5);
	fprintf(out, "%s launches/s, ", rate);
	if (frame->cpu_ns)
		fprintf(out, "CPU %s, ", human__time(cpu, frame->cpu_ns));
	fprintf(out, "lost %" PRIu64 "%s%s\n", frame->nr_lost, look->paused ? " (paused)" : "",
		look->color ? "\033[m" : "");
}

static int print_list(struct top_frame *frame, enum top_list list, const struct top_look *look,
		      size_t max_rows, FILE *out)
{
	static const char *const titles[] = {
		[TOP_WORK] = "kernel or copy",
		[TOP_PATHS] = "call path",
		[TOP_FUNCTIONS] = "function",
	};
	const struct column columns[] = {
		{ "time %", "time_percent", COLUMN_SHARE, 0 }, { "time", "ns", COLUMN_TIME, 0 },
		{ "count", "count", COLUMN_COUNT, 1 }, { "avg", "avg_ns", COLUMN_TIME, 2 },
		{ titles[list], "name", list == TOP_PATHS ? COLUMN_PATH : COLUMN_NAME, 0 },
	};
	struct table t = { .f = out, .human = true, .width = look->width, .color = look->color,
			   .max_rows = max_rows };
	size_t i;

	array__sort(frame->lists[list].v, frame->lists[list].nr, sizeof(*frame->lists[list].v),
		    row__cmp, (void *)&look->order);
	fputc('\n', out);
	table__begin(&t, titles[list], columns, ARRAY_SIZE(columns));
	for (i = 0; i < frame->lists[list].nr && i < max_rows; i++) {
		const struct top_row *row = &frame->lists[list].v[i];

		table__row(&t, (struct cell[]){
			{ .n = table__share(row->ns, frame->total_ns[list]) }, { .n = row->ns },
			{ .n = row->nr }, { .n = row__average(row) }, { .s = row->name },
		});
	}
	return table__end(&t);
}

int top_frame__print(struct top_frame *frame, const struct top_look *look, FILE *out)
{
	bool shown[NR_TOP_LISTS] = { look->work, look->paths };
	size_t nr = 0, rows = ROWS_ALONE, i;
	int err = 0;

	if (!frame->lists[TOP_WORK].nr && frame->lists[TOP_FUNCTIONS].nr)
		shown[TOP_WORK] = shown[TOP_PATHS] = !(shown[TOP_FUNCTIONS] = true);
	for (i = 0; i < NR_TOP_LISTS; i++)
		nr += shown[i];
	/* One line comes before all lists, and two lines come before each list. */
	if (look->height)
		rows = look->height > 1 + 3 * nr ? (look->height - 1 - 2 * nr) / nr : 1;
	print_head(frame, look, out);
	for (i = 0; i < NR_TOP_LISTS && !err; i++)
		if (shown[i])
			err = print_list(frame, i, look, rows, out);
	return err;
}
