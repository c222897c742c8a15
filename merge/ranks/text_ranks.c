// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "json_out.h"
#include "ranks/ranks.h"
#include "ranks/state.h"
#include "write/shorten.h"

/* Return: the unit of a table's times, in words; "" if each time has its own unit. */
static const char *times(const struct ranks_opts *opts)
{
	return opts->human ? "" : opts->unit == UNIT_NS ? ", times in ns" :
	       opts->unit == UNIT_MS ? ", times in ms" : ", times in us";
}

static bool for_people(const struct table *t)
{
	return t->format == TABLE_TEXT;
}

static size_t nr_shown(size_t nr, const struct ranks_opts *opts)
{
	return opts->max_rows ? min_t(size_t, nr, opts->max_rows) : nr;
}

/* Ends the table of @nr rows. Return: 0 or -ENOMEM. */
static int end_table(struct table *t, size_t nr, const struct ranks_opts *opts)
{
	int err = table__end(t);

	if (!err && for_people(t) && nr_shown(nr, opts) < nr)
		fprintf(t->f, "  ... and %zu more\n", nr - nr_shown(nr, opts));
	return err;
}

static const struct proc *rank__proc(const struct ranks *r, uint32_t rank)
{
	return &r->s->model.machine.procs.v[r->ranks.v[rank].proc];
}

static const char *rank__host(const struct ranks *r, uint32_t rank)
{
	return r->s->model.inputs.v[rank__proc(r, rank)->recording].host;
}

/* ---- what makes ranks late ------------------------------------------------------------------- */

/* Return: a path with its leaf, as text for people, which the caller frees; or NULL. */
static char *late_path__text(const struct late_path *p)
{
	char *text = NULL, *c;

	if (asprintf(&text, "%s%s%s%s", p->path, *p->path && *p->leaf ? ";" : "", p->leaf,
		     p->kind == LATE_HOST ? " (before it)" : "") < 0)
		return NULL;
	for (c = text; *c; c++)		/* each ';' separates frames: a leaf's name has none */
		if (*c == ';')
			*c = SHORTEN_FRAME;
	return text;
}

static const struct column late_columns[] = {
	{ "rank", "rank", COLUMN_COUNT, 0 }, { "late by", "late_ns", COLUMN_TIME, 0 },
	{ "this rank", "rank_ns", COLUMN_TIME, 2 }, { "median", "median_ns", COLUMN_TIME, 2 },
	{ "kind", NULL, COLUMN_WORD, 1 }, { NULL, "kind", COLUMN_NAME, 0 },
	{ "path", "path", COLUMN_PATH, 0 }, { NULL, "leaf", COLUMN_NAME, 0 },
};

static int write_late(const struct ranks *r, struct table *t, const struct ranks_opts *opts)
{
	if (for_people(t) && !r->late.nr)
		return 0;
	if (for_people(t))
		fprintf(t->f, "\nlate paths: %zu%s, before collectives that other ranks waited in,"
			" compared with the median of the other ranks%s\n", r->late.nr,
			r->stragglers.nr > RANKS_MAX_CULPRITS ? " of the 64 worst stragglers" : "",
			times(opts));
	table__begin(t, "late_paths", late_columns, ARRAY_SIZE(late_columns));
	array_each(&r->late, p) {
		char *text = for_people(t) ? late_path__text(p) : NULL;

		if (for_people(t) && !text)
			return -ENOMEM;
		table__row(t, (struct cell[]){
			{ .n = r->ranks.v[p->rank].number }, { .n = p->ns - p->median_ns },
			{ .n = p->ns }, { .n = p->median_ns }, { .s = late_kind__name(p->kind) },
			{ .s = late_kind__name(p->kind) }, { .s = text ?: p->path },
			{ .s = p->leaf },
		});
		free(text);
	}
	return end_table(t, r->late.nr, opts);
}

static const struct column straggler_columns[] = {
	{ "rank", "rank", COLUMN_COUNT, 0 }, { "waits caused", "caused_ns", COLUMN_TIME, 0 },
	{ "times last", "last", COLUMN_COUNT, 0 }, { "pid", "pid", COLUMN_COUNT, 1 },
	{ "host", "host", COLUMN_NAME, 0 },
};

static int write_stragglers(const struct ranks *r, struct table *t, const struct ranks_opts *opts)
{
	size_t i;

	if (for_people(t) && !r->stragglers.nr)
		return 0;
	if (for_people(t))
		fprintf(t->f, "\nstragglers: %zu, with the waits of the other ranks for them%s\n",
			r->stragglers.nr, times(opts));
	table__begin(t, "stragglers", straggler_columns, ARRAY_SIZE(straggler_columns));
	for (i = 0; i < r->stragglers.nr; i++) {
		uint32_t rank = r->stragglers.v[i];

		table__row(t, (struct cell[]){
			{ .n = r->ranks.v[rank].number }, { .n = r->ranks.v[rank].caused_ns },
			{ .n = r->ranks.v[rank].nr_last }, { .n = rank__proc(r, rank)->pid },
			{ .s = rank__host(r, rank) },
		});
	}
	return end_table(t, r->stragglers.nr, opts);
}

const char *ranks__numbered(const struct ranks *r)
{
	return r->numbers == RANKS_BY_LABEL ? "by their launcher" :
	       r->numbers == RANKS_BY_COMM ? "as in their largest communicator" :
	       "in the order of recordings and processes";
}

/* ---- ranks ----------------------------------------------------------------------------------- */

static const struct column rank_columns[] = {
	{ "rank", "rank", COLUMN_COUNT, 0 }, { "busy", "busy_ns", COLUMN_TIME, 1 },
	{ "own work", "own_ns", COLUMN_TIME, 0 }, { "waiting", "wait_ns", COLUMN_TIME, 0 },
	{ "transfer", "transfer_ns", COLUMN_TIME, 0 },
	{ "unpaired", "unpaired_ns", COLUMN_TIME, 4 },
	{ "host waits", "host_wait_ns", COLUMN_TIME, 3 },
	{ "launches", "launches", COLUMN_COUNT, 4 }, { "NCCL ops", "ops", COLUMN_COUNT, 3 },
	{ "paired", "paired", COLUMN_COUNT, 3 }, { "last", "last", COLUMN_COUNT, 0 },
	{ "caused", "caused_ns", COLUMN_TIME, 0 }, { NULL, "start_wait_ns", COLUMN_TIME, 0 },
	{ "pid", "pid", COLUMN_COUNT, 2 }, { "name", "name", COLUMN_NAME, 2 },
	{ "host", "host", COLUMN_NAME, 0 },
};

static int write_ranks(const struct ranks *r, struct table *t, const struct ranks_opts *opts)
{
	size_t i;

	if (for_people(t))
		fprintf(t->f, "\nranks: %zu, numbered %s%s\n", r->ranks.nr,
			ranks__numbered(r), times(opts));
	table__begin(t, "ranks", rank_columns, ARRAY_SIZE(rank_columns));
	for (i = 0; i < r->ranks.nr; i++) {
		const struct rank *rank = &r->ranks.v[i];

		table__row(t, (struct cell[]){
			{ .n = rank->number }, { .n = rank->busy_ns }, { .n = rank->own_ns },
			{ .n = rank->wait_ns }, { .n = rank->transfer_ns },
			{ .n = rank->unpaired_ns }, { .n = rank->gpu_wait_ns },
			{ .n = rank->nr_launches }, { .n = rank->nr_ops }, { .n = rank->nr_paired },
			{ .n = rank->nr_last }, { .n = rank->caused_ns },
			{ .n = rank->start_wait_ns }, { .n = rank__proc(r, i)->pid },
			{ .s = model__proc_name(&r->s->model, rank->proc) },
			{ .s = rank__host(r, i) },
		});
	}
	return end_table(t, r->ranks.nr, opts);
}

/* ---- collectives ----------------------------------------------------------------------------- */

static const struct column collective_columns[] = {
	{ "count", "count", COLUMN_COUNT, 0 }, { "ranks", "ranks", COLUMN_COUNT, 0 },
	{ "bytes", "bytes", COLUMN_BYTES, 2 }, { "waiting", "wait_ns", COLUMN_TIME, 0 },
	{ "transfer", "transfer_ns", COLUMN_TIME, 0 },
	{ "longest wait", "longest_wait_ns", COLUMN_TIME, 1 },
	{ "communicator", "communicator", COLUMN_NAME, 0 },
	{ "operation", "operation", COLUMN_NAME, 0 },
};

static int write_collectives(const struct ranks *r, struct table *t, const struct ranks_opts *opts)
{
	char comm[24];

	if (for_people(t) && !r->collectives.nr)
		return 0;
	if (for_people(t))
		fprintf(t->f,
			"\ncollectives: %zu communicators and operations, count and bytes of one"
			" rank, times of all ranks%s\n",
			r->collectives.nr, times(opts));
	table__begin(t, "collectives", collective_columns, ARRAY_SIZE(collective_columns));
	array_each(&r->collectives, c) {
		snprintf(comm, sizeof(comm), "%#" PRIx64, c->comm);
		table__row(t, (struct cell[]){
			{ .n = c->nr }, { .n = c->nr_ranks }, { .n = c->bytes },
			{ .n = c->wait_ns }, { .n = c->transfer_ns }, { .n = c->longest_wait_ns },
			{ .s = comm }, { .s = c->name },
		});
	}
	return end_table(t, r->collectives.nr, opts);
}

static const struct column other_columns[] = {
	{ "rank", "rank", COLUMN_COUNT, 0 }, { "count", "count", COLUMN_COUNT, 0 },
	{ "time", "time_ns", COLUMN_TIME, 0 }, { "library", "library", COLUMN_NAME, 0 },
	{ "kernel", "kernel", COLUMN_NAME, 0 },
};

static int write_others(const struct ranks *r, struct table *t, const struct ranks_opts *opts)
{
	if (for_people(t) && !r->others.nr)
		return 0;
	if (for_people(t))
		fprintf(t->f,
			"\nother kernels that communicate: %zu, which cannot be matched across "
			"ranks%s\n",
			r->others.nr, times(opts));
	table__begin(t, "others", other_columns, ARRAY_SIZE(other_columns));
	array_each(&r->others, o) {
		table__row(t, (struct cell[]){
			{ .n = r->ranks.v[o->rank].number }, { .n = o->nr }, { .n = o->ns },
			{ .s = o->library }, { .s = r->s->model.leaves.v[o->leaf].name },
		});
	}
	return end_table(t, r->others.nr, opts);
}

static const struct column clock_columns[] = {
	{ "collectives", "collectives", COLUMN_COUNT, 1 },
	{ "ahead us", "ahead_us", COLUMN_REAL, 0 }, { "error us", "error_us", COLUMN_REAL, 0 },
	{ "drift ppm", "drift_ppm", COLUMN_REAL, 0 },
	{ "aligned by", "aligned_by", COLUMN_NAME, 0 }, { "host", "host", COLUMN_NAME, 0 },
};

static int write_clocks(const struct ranks *r, struct table *t)
{
	const struct nccl_clocks *clocks = &nccl__of(&r->s->model)->clocks;
	size_t i;

	if (for_people(t) && clocks->list.nr < 2)
		return 0;
	if (for_people(t))
		fprintf(t->f,
			"\nclocks: %zu; half of the collectives that a clock is aligned by end no"
			" further apart than its error\n",
			clocks->list.nr);
	table__begin(t, "clocks", clock_columns, ARRAY_SIZE(clock_columns));
	for (i = 0; i < clocks->list.nr; i++) {
		const struct nccl_clock *c = &clocks->list.v[i];

		table__row(t, (struct cell[]){
			{ .n = c->nr_ends }, { .d = c->offset_ns / 1e3 },
			{ .d = c->error_ns / 1e3 }, { .d = c->drift * 1e6 },
			{ .s = !i ? "is the first" : c->aligned ? "collectives" :
			       "CLOCK_REALTIME" },
			{ .s = r->s->model.inputs.v[c->input].host },
		});
	}
	return table__end(t);
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* a count of operations, as a key for programs and as words for people */
struct count {
	const char *key, *words;
	uint64_t n;
};

#define MAX_COUNTS	24

static size_t ranks__counts(const struct ranks *r, struct count counts[MAX_COUNTS])
{
	const struct nccl_counts *c = &nccl__of(&r->s->model)->counts;
	const struct count all[] = {
		{ "ops", "operations of NCCL", c->nr_ops },
		{ "paired", "paired", c->nr_paired },
		{ "alone", "of communicators of one recorded rank", c->nr_alone },
		{ "missing", "without the operation of another rank", c->nr_missing },
		{ "older", "not paired, attached late: of communicators that are older than a "
		  "recording, without their end on each rank; or of a rank that lost ranges",
		  c->nr_older },
		{ "late", "not paired, attached late: before the recording of another rank",
		  c->nr_late },
		{ "from_end", "paired by their number from the communicator's end, because ranks "
			      "were attached late", c->nr_from_end },
		{ "disagree", "different from the operation with this number on another rank, or "
			      "after one",
		  c->nr_disagree },
		{ "no_rank", "sends and receives of ranks whose number is not known",
		  c->nr_no_rank },
		{ "no_kernel", "paired, without a kernel", c->nr_no_kernel },
		{ "captured",
		  "calls captured into CUDA graphs, whose operations ran with the graphs",
		  c->nr_captured },
		{ "unplaced", "launches in calls whose beginning is not recorded",
		  c->nr_launches_unplaced },
		{ "by_stream",
		  "kernels of an NCCL that reports no communicator, paired by order in streams",
		  c->nr_by_stream },
		{ "own_threads", "kernels that NCCL's own threads launched, for calls that do not "
		  "block, taken in their order", c->nr_own_threads },
		{ "setup", "copies and sets next to kernels, which set up "
			   "connections", c->nr_setup },
		{ "shared", "kernels of groups of several communicators, of one that is not known",
		  c->nr_kernels_shared },
	};

	memcpy(counts, all, sizeof(all));
	return ARRAY_SIZE(all);
}

bool ranks__have_nccl(const struct ranks *r)
{
	struct count counts[MAX_COUNTS];
	size_t i, nr = ranks__counts(r, counts);

	for (i = 0; i < nr; i++)
		if (counts[i].n)
			return true;
	return r->others.nr;
}

void ranks__print_account(const struct ranks *r, FILE *f)
{
	const struct nccl_counts *c = &nccl__of(&r->s->model)->counts;
	struct count counts[MAX_COUNTS];
	size_t i, nr = ranks__counts(r, counts);

	fprintf(f, "operations of NCCL %" PRIu64 " paired %" PRIu64 " unpaired %" PRIu64 "\n",
		c->nr_ops, c->nr_paired, c->nr_ops - min_t(uint64_t, c->nr_ops, c->nr_paired));
	for (i = 2; i < nr; i++)
		if (counts[i].n)
			fprintf(f, "  %" PRIu64 " %s\n", counts[i].n, counts[i].words);
	fprintf(f,
		"kernels of paired operations %" PRIu64 " ns: waiting %" PRIu64
		" + transferring %" PRIu64 "; of others %" PRIu64 " ns\n",
		c->paired_ns, c->wait_ns, c->paired_ns - c->wait_ns, c->unpaired_ns + c->shared_ns);
	fprintf(f, "waiting %" PRIu64 " ns: for stragglers %" PRIu64
		" + in first operations, while ranks start %" PRIu64 "\n", c->wait_ns, r->caused_ns,
		r->start_wait_ns);
}

static int write_tables(const struct ranks *r, struct table *t, const struct ranks_opts *opts)
{
	return write_late(r, t, opts) ?: write_stragglers(r, t, opts) ?: write_ranks(r, t, opts) ?:
	       write_collectives(r, t, opts) ?: write_others(r, t, opts) ?: write_clocks(r, t);
}

static int write_json(const struct ranks *r, FILE *f, const struct ranks_opts *opts)
{
	const struct nccl_counts *c = &nccl__of(&r->s->model)->counts;
	struct count counts[MAX_COUNTS];
	size_t i, nr = ranks__counts(r, counts);
	struct json_out j;
	struct table t = {
		.json = &j, .format = TABLE_JSON, .sort = opts->sort, .max_rows = opts->max_rows,
	};
	int err = json_out__init(&j, f, ESCAPE_JSON);

	if (err)
		return err;
	j.spaced = true;
	json_out__open(&j, '{');
	json_out__line(&j, 0);
	json_out__key(&j, "account");
	json_out__open(&j, '{');
	for (i = 0; i < nr; i++) {
		json_out__key(&j, counts[i].key);
		json_out__u64(&j, counts[i].n);
	}
	json_out__key(&j, "paired_ns");
	json_out__u64(&j, c->paired_ns);
	json_out__key(&j, "wait_ns");
	json_out__u64(&j, c->wait_ns);
	json_out__key(&j, "unpaired_ns");
	json_out__u64(&j, c->unpaired_ns + c->shared_ns);
	json_out__key(&j, "caused_ns");
	json_out__u64(&j, r->caused_ns);
	json_out__key(&j, "start_wait_ns");
	json_out__u64(&j, r->start_wait_ns);
	json_out__close(&j, '}');
	err = write_tables(r, &t, opts);
	json_out__end_line(&j);
	json_out__close(&j, '}');
	json_out__end_line(&j);
	json_out__exit(&j);
	return err;
}

int ranks__write_text(const struct ranks *r, FILE *f, const struct ranks_opts *opts)
{
	struct table t = {
		.f = f, .format = opts->format, .unit = opts->unit, .human = opts->human,
		.width = opts->width, .color = opts->color, .sort = opts->sort,
		.max_rows = opts->max_rows,
	};

	if (opts->format == TABLE_JSON)
		return write_json(r, f, opts);
	if (opts->format == TABLE_TEXT)
		ranks__print_account(r, f);
	return write_tables(r, &t, opts);
}
