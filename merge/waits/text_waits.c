// SPDX-License-Identifier: GPL-3.0-or-later
#include "waits/state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "human.h"
#include "join/session.h"
#include "write/section.h"
#include "xpu_time.h"

/* ---- the lives of threads -------------------------------------------------------------------- */

/*
 * A thread's lifetime consists of these parts. Time in which the thread waited for the device
 * counts only as waiting.
 */
struct life {
	uint64_t life_ns, on_cpu_ns, wait_ns, sum_ns;
	uint64_t off_ns[XPU_OFF_NR];
};

static struct life thread_account__life(const struct session *s, const struct thread_account *a)
{
	const struct xpu_thread_time *t = &a->time;
	struct life l = {
		.life_ns = xpu_ns_between(a->rec->start_ns, a->rec->end_ns),
		.on_cpu_ns = t->run_ns,
		.wait_ns = waits_state__waited_ns(&s->model, a->thread),
	};
	uint64_t spun_ns;
	int kind;

	memcpy(l.off_ns, t->off_ns, sizeof(l.off_ns));
	/*
	 * In a call that waits, a thread either sleeps or spins, so the thread spun in all of the
	 * time without sleep.
	 */
	spun_ns = l.wait_ns - min_t(uint64_t, l.wait_ns, l.off_ns[XPU_OFF_CALL]);
	l.off_ns[XPU_OFF_OTHER] += l.off_ns[XPU_OFF_CALL] -
				   min_t(uint64_t, l.wait_ns, l.off_ns[XPU_OFF_CALL]);
	l.off_ns[XPU_OFF_CALL] = 0;
	l.on_cpu_ns -= min_t(uint64_t, l.on_cpu_ns, spun_ns);
	l.sum_ns = l.on_cpu_ns + l.wait_ns;
	for (kind = 0; kind < XPU_OFF_NR; kind++)
		l.sum_ns += l.off_ns[kind];
	return l;
}

static int thread_account__cmp(const void *va, const void *vb, void *ctx)
{
	const struct thread_account *a = va, *b = vb;
	const struct model *m = ctx;

	return cmp3(waits_state__waited_ns(m, b->thread), waits_state__waited_ns(m, a->thread)) ?:
	       cmp3(a->rec->start_ns, b->rec->start_ns) ?: cmp3(a->thread, b->thread);
}

/*
 * Return: a copy of the array @v, which can be sorted; NULL if memory is short. @nr: number of
 * elements. @bytes: size of an element
 */
static void *copy_rows(const void *v, size_t nr, size_t bytes)
{
	void *copy = calloc(nr + 1, bytes);

	if (copy && nr)
		memcpy(copy, v, nr * bytes);
	return copy;
}

/* Whether a thread launched work for a GPU, or waited for it. */
static bool thread__uses_gpu(const struct model *m, uint32_t thread)
{
	return m->threads.v[thread].nr_launches || waits_state__waited_ns(m, thread);
}

/*
 * Fills the rows with the threads to show. A table for people shows only threads that use a GPU, if
 * any thread does. Return: the number of rows.
 */
static size_t threads__nr_shown(struct section_rows *rows, const struct thread_account *all,
				size_t nr)
{
	struct thread_account *shown = rows->v;
	size_t i, k = 0;

	for (i = 0; i < nr && rows->people && !rows->s->opts.own_threads; i++)
		if (thread__uses_gpu(&rows->s->model, all[i].thread))
			shown[k++] = all[i];
	if (!k && nr)
		memcpy(shown, all, nr * sizeof(*all));
	return k ?: nr;
}

static int threads__collect(struct section_rows *rows)
{
	const struct session *s = rows->s;
	const struct waits_state *w = waits_state__of(&s->model);

	/* the user gave --gpu-only */
	if (s->opts.without == LEAVES_CPU)
		return 0;
	rows->v = copy_rows(w->accounts.v, w->accounts.nr, sizeof(*w->accounts.v));
	if (!rows->v)
		return -ENOMEM;
	rows->nr = threads__nr_shown(rows, w->accounts.v, w->accounts.nr);
	qsort_r(rows->v, rows->nr, sizeof(*w->accounts.v), thread_account__cmp, (void *)&s->model);
	return 0;
}

static void threads__head(const struct section_rows *rows, FILE *f)
{
	size_t others = waits_state__of(&rows->s->model)->accounts.nr - rows->nr;

	fprintf(f, "threads: %zu, how they spent their lives%s\n", rows->nr, rows->times);
	if (others)
		fprintf(f, "  %zu %s nothing with a GPU: --csv has %s\n", others,
			PLURAL(others, "other thread does", "other threads do"),
			PLURAL(others, "it", "them"));
}

static int threads__row(const struct section_rows *rows, const void *row, struct table *t)
{
	const struct session *s = rows->s;
	const struct thread_account *a = row;
	const struct thread *thread = &s->model.threads.v[a->thread];
	struct life l = thread_account__life(s, a);

	return table__row(t, (struct cell[]){
		{ .n = l.life_ns }, { .n = l.on_cpu_ns }, { .n = l.off_ns[XPU_OFF_LOCK] },
		{ .n = l.off_ns[XPU_OFF_IO] }, { .n = l.off_ns[XPU_OFF_SLEEP] },
		{ .n = l.off_ns[XPU_OFF_POLL] }, { .n = l.off_ns[XPU_OFF_CHILD] },
		{ .n = l.off_ns[XPU_OFF_OTHER] }, { .n = l.off_ns[XPU_OFF_RUNNABLE] },
		{ .n = l.wait_ns }, { .n = table__share(l.sum_ns, l.life_ns) },
		{ .n = a->time.nr_switches },
		{ .n = s->model.machine.procs.v[thread->proc].pid }, { .n = thread->tid },
		{ .s = a->comm && *a->comm ? a->comm : "[unknown]" },
	});
}

static const struct column threads_columns[] = {
	{ "life", "life_ns", COLUMN_TIME, 0 }, { "on CPU", "on_cpu_ns", COLUMN_TIME, 0 },
	{ "lock", "lock_ns", COLUMN_TIME, 0 }, { "io", "io_ns", COLUMN_TIME, 0 },
	{ "sleep", "sleep_ns", COLUMN_TIME, 3 }, { "poll", "poll_ns", COLUMN_TIME, 4 },
	{ "child", "child_ns", COLUMN_TIME, 6 }, { "other", "other_ns", COLUMN_TIME, 5 },
	{ "runnable", "runnable_ns", COLUMN_TIME, 2 },
	{ "GPU wait", "gpu_wait_ns", COLUMN_TIME, 0 },
	{ "sum %", "sum_percent", COLUMN_SHARE, 8 },
	{ "switches", "switches", COLUMN_COUNT, 7 }, { NULL, "pid", COLUMN_COUNT, 0 },
	{ "tid", "tid", COLUMN_COUNT, 0 }, { "thread", "name", COLUMN_NAME, 0 },
};

SECTION(threads, struct thread_account, .from = "xpuload --off-cpu records them");

/* ---- idle gaps of devices, and what caused them ---------------------------------------------- */

/* Return: the frame that the thread was in; NULL if it is unknown. */
static const struct frame *idle_row__place(const struct session *s, const struct idle_row *row)
{
	return row->chain != NO_INDEX ? stack__place(s->model.chains.v[row->chain].stack) : NULL;
}

/*
 * Compares rows by thread and place: equal rows become one, because whole stacks are too many to
 * read.
 */
static int idle_row__cmp_same(const void *va, const void *vb, void *ctx)
{
	const struct idle_row *a = va, *b = vb;
	const struct session *s = ctx;

	return cmp3(a->gpu, b->gpu) ?: cmp3(a->doing, b->doing) ?: cmp3(a->kind, b->kind) ?:
	       cmp3(a->thread, b->thread) ?:
	       cmp3(idle_row__place(s, a), idle_row__place(s, b));
}

static int idle_row__cmp_time(const void *va, const void *vb)
{
	const struct idle_row *a = va, *b = vb;

	return cmp3(a->gpu, b->gpu) ?: cmp3(b->ns, a->ns) ?: cmp3(a->doing, b->doing) ?:
	       cmp3(a->thread, b->thread) ?: cmp3(a->chain, b->chain);
}

/* Return: the activity, as in "io" or "waiting for the GPU". */
static const char *idle_row__doing(const struct idle_row *row)
{
	static const char *const doings[] = {
		[IDLE_OFF_CPU] = "", [IDLE_WAITED] = "waiting for the GPU",
		[IDLE_ON_CPU] = "on CPU", [IDLE_UNSEEN] = "unseen",
		[IDLE_NOBODY] = "the thread that launched next is unknown",
		[IDLE_SHORT] = "between pieces of work, under 10 us each",
	};

	return *row->kind ? row->kind : doings[row->doing];
}

static const char *idle_row__comm(const struct session *s, const struct idle_row *row)
{
	const struct thread *thread = row->thread != NO_INDEX ?
				      &s->model.threads.v[row->thread] : NULL;

	return thread ? thread->comm ?: model__proc_name(&s->model, thread->proc) : "";
}

/* Prints "io in SlowDataset.__getitem__". */
static void print_idle(const struct session *s, FILE *f, const struct idle_row *row)
{
	const struct frame *place = idle_row__place(s, row);

	fputs(idle_row__doing(row), f);
	if (place) {
		fputs(" in ", f);
		fputs(place->name, f);
	}
}

/* Return: the name of a row, for the caller to free(), or NULL. */
static char *idle_row__name(const struct session *s, const struct idle_row *row)
{
	const struct thread *thread;
	char *name = NULL;
	size_t size;
	FILE *f = open_memstream(&name, &size);

	if (!f)
		return NULL;
	if (row->thread != NO_INDEX) {
		thread = &s->model.threads.v[row->thread];
		fprintf(f, "%s (tid %" PRIu32 "): ", idle_row__comm(s, row), thread->tid);
	}
	print_idle(s, f, row);
	if (fclose(f)) {
		free(name);
		return NULL;
	}
	return name;
}

static bool has_accounts(const struct session *s)
{
	return s->sums.nr_accounts;
}

static int idle__collect(struct section_rows *to)
{
	const struct session *s = to->s;
	const struct idles *idles = &waits_state__of(&s->model)->idles;
	size_t i, k = 0, nr = idles->rows.nr;
	struct idle_row *rows;

	rows = copy_rows(idles->rows.v, nr, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	to->v = rows;
	if (!nr)
		return 0;
	qsort_r(rows, nr, sizeof(*rows), idle_row__cmp_same, (void *)s);
	for (i = 1; i < nr; i++) {
		if (idle_row__cmp_same(&rows[k], &rows[i], (void *)s)) {
			rows[++k] = rows[i];
			continue;
		}
		rows[k].ns += rows[i].ns;
		rows[k].nr_gaps += rows[i].nr_gaps;
		rows[k].chain = min_t(uint32_t, rows[k].chain, rows[i].chain);
	}
	to->nr = k + 1;
	qsort(rows, to->nr, sizeof(*rows), idle_row__cmp_time);
	return 0;
}

/* Prints "GPU 0 idle 41.2 % of 9.10 s, from its first to its last work". */
static void print_idle_gpu(const struct session *s, FILE *f, uint32_t nr_gpu)
{
	const struct idle_gpu *gpu = &waits_state__of(&s->model)->idles.gpus.v[nr_gpu];
	uint64_t span_ns = gpu->to_ns - gpu->from_ns;
	uint64_t permille = table__share(span_ns - gpu->busy_ns, span_ns);
	char time[HUMAN_MAX];

	fprintf(f,
		"GPU %" PRIu32 " idle %" PRIu64 ".%" PRIu64
		" %% of %s, from its first to its last work\n",
		s->model.gpus.list.v[nr_gpu].number, permille / 10, permille % 10,
		human__time(time, span_ns));
}

static void idle__head(const struct section_rows *rows, FILE *f)
{
	const struct session *s = rows->s;
	const struct idles *idles = &waits_state__of(&s->model)->idles;
	size_t i;

	for (i = 0; i < idles->gpus.nr; i++)
		if (idles->gpus.v[i].to_ns > idles->gpus.v[i].from_ns)
			print_idle_gpu(s, f, i);
}

static int idle__row(const struct section_rows *rows, const void *vrow, struct table *t)
{
	const struct session *s = rows->s;
	const struct idle_row *row = vrow;
	const struct idle_gpu *gpu = &waits_state__of(&s->model)->idles.gpus.v[row->gpu];
	const struct frame *place = idle_row__place(s, row);
	char *name = idle_row__name(s, row);

	return table__row_free(t, name, (struct cell[]){
		{ .n = table__share(row->ns, gpu->to_ns - gpu->from_ns) }, { .n = row->ns },
		{ .n = row->nr_gaps }, { .n = s->model.gpus.list.v[row->gpu].number },
		{ .n = row->thread != NO_INDEX ? s->model.threads.v[row->thread].tid : CELL_NONE },
		{ .s = idle_row__comm(s, row) }, { .s = idle_row__doing(row) },
		{ .s = place ? place->name : "" }, { .s = name },
	});
}

static const struct column idle_columns[] = {
	{ "time %", "time_percent", COLUMN_SHARE, 0 }, { "idle", "idle_ns", COLUMN_TIME, 0 },
	{ "gaps", "gaps", COLUMN_COUNT, 1 }, { "GPU", "device", COLUMN_COUNT, 0 },
	{ "tid", NULL, COLUMN_COUNT, 2 }, { "while", NULL, COLUMN_NAME, 0 },
	{ "which launched next, was", NULL, COLUMN_NAME, 0 }, { "in", NULL, COLUMN_NAME, 0 },
	{ NULL, "name", COLUMN_NAME, 0 },
};

SECTION(idle, struct idle_row,
	.from = "xpuload --off-cpu records them", .was_recorded = has_accounts);

/* ---- times that a filter cut ----------------------------------------------------------------- */

/* Prints the largest possible error of times off the CPU, if it is more than 1 %. */
void waits__left_out(const struct session *s, FILE *f)
{
	const struct waits_state *w = waits_state__of(&s->model);
	char unsure[HUMAN_MAX], all[HUMAN_MAX];
	uint64_t all_ns = 0;
	size_t i;

	for (i = 0; i < s->sums.aggregates.nr; i++)
		if (s->model.leaves.v[s->sums.aggregates.v[i].leaf].kind == LEAF_OFF_CPU)
			all_ns += s->sums.aggregates.v[i].sum_ns;
	if (w->off_unsure_ns > all_ns / 100)
		fprintf(f, "times off the CPU: %s, which may be wrong by up to %s: sums of short "
			"times lie across --from or --to\n", human__time(all, all_ns),
			human__time(unsure, w->off_unsure_ns));
}
