// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/tables/tables.h"

#include <errno.h>
#include <stdlib.h>

#include "write/tables/closing_tables.h"
#include "write/tables/tables_recording.h"

/*
 * A launch that is held back: with a filter, the session passes it again before each of its
 * records.
 */
struct held_launch {
	bool is;
	uint64_t key;
	struct launch launch;
};

struct tables {
	struct session_sink sink;
	struct tables_recording recording;
	struct placed placed;		/* the last device work that was placed; the sink gets it
					 * again, with all details */
	bool filtered;
	struct held_launch held;	/* with a filter: the launch that is held back */
	struct idmap told;		/* with a filter: launches that may have several records,
					 * and whose row is already written */
	uint32_t nr_done;		/* number of earlier recordings whose tables are complete */
	struct tables *whole;		/* for a recording that is read separately: the tables of
					 * all recordings; otherwise NULL */
};

/* ---- launches ------------------------------------------------------------------------------- */

static int put_launch(struct tables *t, const struct model *m, uint64_t key, const struct launch *l)
{
	struct tables_recording *r = &t->recording;
	struct row_process proc;
	struct row_ranges in;
	int err;

	err = tables_recording__process(r, m, JOIN_KEY_PROC(key), &proc) ?:
	      tables_recording__range_names(r, m, m->chains.v[l->chain].range, &in);
	return err ?: partitions__put(&r->partitions, proc.partition, tables_launches, (int64_t[]){
		proc.id, JOIN_KEY_ID(key), l->time_ns - r->shift_ns, thread__cell(m, l->thread),
		parquet__string(l->comm ?: ""), tables_recording__path(r, m, l->chain),
		parquet__string(in.text), JOIN_KEY_API(key),
	});
}

/*
 * Writes the held launch, if any. Called when its work arrives, or before the next launch. Return:
 * 0 or -errno.
 */
static int put_held(struct tables *t, const struct model *m)
{
	bool is = t->held.is;

	t->held.is = false;
	return is ? put_launch(t, m, t->held.key, &t->held.launch) : 0;
}

/* Writes the tables of processes, paths and so on, and ends the recording. Return: 0 or -errno. */
static int tables__end(struct tables *t, const struct model *m)
{
	struct tables_recording *r = &t->recording;

	return put_held(t, m) ?: closing_tables__write(r, m) ?: tables_recording__commit(r, m);
}

/*
 * Ends the tables of all recordings with lower numbers, and begins the tables of recording @nr,
 * which is being read. Return: 0 or -errno.
 */
static int tables__enter(struct tables *t, const struct model *m, uint32_t nr)
{
	struct tables_recording *r = &t->recording;
	uint32_t next;
	int err = 0;

	if (t->whole)
		return r->nr == nr ? 0 : tables_recording__begin(r, m, nr);
	while (!err && r->nr != nr) {
		next = r->nr == NO_INDEX ? t->nr_done : r->nr + 1;
		if (r->nr != NO_INDEX)
			err = tables__end(t, m);
		err = err ?: tables_recording__begin(r, m, next);
	}
	return err;
}

static int tables__launch(void *ctx, const struct model *m, uint64_t key, const struct launch *l)
{
	struct tables *t = ctx;
	int err = tables__enter(t, m, m->machine.recording);

	if (err || !t->filtered)
		return err ?: put_launch(t, m, key, l);
	err = put_held(t, m);
	t->held = (struct held_launch){ true, key, *l };
	return err;
}

/* Return: whether the launch can own at most one device record. */
static bool launch__owns_one(const struct model *m, const struct launch *l)
{
	uint32_t path = m->chains.v[l->chain].path;

	return path != NO_INDEX && m->paths.v[path].one_record;
}

/*
 * Writes a launch once. With a filter, the launch arrives again with each of its device records.
 * Return: 0 or -errno.
 */
static int put_launch_once(struct tables *t, const struct model *m, bool first)
{
	uint32_t unused;
	int err = 0;

	if (!t->held.is)
		return 0;
	/* The filter may have left out the launch's first record. */
	if (!first || !launch__owns_one(m, &t->held.launch)) {
		if (idmap__get(&t->told, t->held.key, &unused))
			t->held.is = false;
		else
			err = idmap__put(&t->told, t->held.key, 0);
	}
	return err ?: put_held(t, m);
}

/* ---- device work ---------------------------------------------------------------------------- */

/* The cells of device work that come from its launch; null for an orphan. */
struct launch_cells {
	int64_t time_ns, tid, path_id, correlation_id;
};

static struct launch_cells launch__cells(const struct tables_recording *r, const struct model *m,
					 uint64_t key, const struct launch *l)
{
	return (struct launch_cells){
		.time_ns = l ? tables_recording__time(r, l->time_ns) : PARQUET_NULL,
		.tid = thread__cell(m, l ? l->thread : NO_INDEX),
		.path_id = l ? tables_recording__path(r, m, l->chain) : PARQUET_NULL,
		.correlation_id = JOIN_KEY_ID(key) ? (int64_t)JOIN_KEY_ID(key) : PARQUET_NULL,
	};
}

static int put_work(struct tables *t, const struct model *m, uint64_t key, const struct work *w,
		    const struct launch *l)
{
	struct tables_recording *r = &t->recording;
	const struct leaf *leaf = &m->leaves.v[w->leaf];
	const struct stream *stream = &m->streams.v[w->stream];
	const struct gpu *gpu = &m->gpus.list.v[stream->gpu];
	const struct launch_cells of = launch__cells(r, m, key, l);
	struct row_process proc;
	struct row_ranges in;
	int err;

	err = tables_recording__process(r, m, JOIN_KEY_PROC(key), &proc) ?:
	      tables_recording__range_names(r, m, m->chains.v[t->placed.chain].range, &in);
	return err ?: partitions__put(&r->partitions, proc.partition, tables_device, (int64_t[]){
		proc.id, of.correlation_id, parquet__string(leaf_kind__name(leaf->kind)),
		parquet__string(leaf->name), gpu->number, parquet__string(gpu->name),
		stream->known ? (int64_t)stream->context : PARQUET_NULL,
		stream->known ? (int64_t)stream->stream : PARQUET_NULL,
		w->start_ns ? tables_recording__time(r, w->start_ns) : PARQUET_NULL,
		w->duration_ns,
		leaf->kind == LEAF_KERNEL || w->began_before ? PARQUET_NULL : (int64_t)w->bytes,
		of.time_ns, of.tid, thread__cell(m, t->placed.thread),
		parquet__string(t->placed.comm ?: ""),
		tables_recording__path(r, m, t->placed.chain), of.path_id, parquet__string(in.text),
		in.communicator, in.message_bytes, JOIN_KEY_API(key),
	});
}

static int tables__work(void *ctx, const struct model *m, uint64_t key, const struct work *w,
			const struct launch *l, uint32_t made, bool first)
{
	struct tables *t = ctx;
	int err = tables__enter(t, m, m->machine.recording);

	(void)made;
	if (!err && t->filtered)
		err = put_launch_once(t, m, first);
	return err ?: put_work(t, m, key, w, l);
}

/* ---- samples and waits ---------------------------------------------------------------------- */

static int put_sample(struct tables *t, const struct model *m, const struct placed *p,
		      const struct row_process *proc, const char *nvtx)
{
	struct tables_recording *r = &t->recording;

	return partitions__put(&r->partitions, proc->partition, tables_samples, (int64_t[]){
		proc->id, p->time_ns - r->shift_ns, p->duration_ns, thread__cell(m, p->thread),
		parquet__string(p->comm ?: ""), tables_recording__path(r, m, p->chain),
		parquet__string(nvtx),
	});
}

static int put_wait(struct tables *t, const struct model *m, const struct placed *p,
		    const struct row_process *proc, const char *nvtx)
{
	struct tables_recording *r = &t->recording;
	const struct leaf *leaf = &m->leaves.v[p->leaf];

	/*
	 * Timestamps of off-CPU periods, and of waits for work without timestamps, may have any
	 * value.
	 */
	return partitions__put(&r->partitions, proc->partition, tables_waits, (int64_t[]){
		proc->id, parquet__string(leaf_kind__name(leaf->kind)), parquet__string(leaf->name),
		p->time_ns - r->shift_ns, p->duration_ns, thread__cell(m, p->thread),
		parquet__string(p->comm ?: ""), tables_recording__path(r, m, p->chain),
		parquet__string(nvtx),
	});
}

static int tables__placed(void *ctx, const struct model *m, const struct placed *p)
{
	enum leaf_kind kind = m->leaves.v[p->leaf].kind;
	const struct chain *chain = &m->chains.v[p->chain];
	struct tables *t = ctx;
	struct row_process proc;
	struct row_ranges in;
	int err;

	/* Device work arrives again later, with all details. */
	t->placed = *p;
	if (leaf_kind__is_device(kind) || kind == LEAF_PENDING)
		return 0;
	err = tables__enter(t, m, m->machine.recording) ?:
	      tables_recording__process(&t->recording, m, chain->proc, &proc) ?:
	      tables_recording__range_names(&t->recording, m, chain->range, &in);
	if (err)
		return err;
	return kind == LEAF_CPU ? put_sample(t, m, p, &proc, in.text) :
	       put_wait(t, m, p, &proc, in.text);
}

/* ---- calls and ranges ----------------------------------------------------------------------- */

static int put_call(struct tables *t, const struct model *m, const struct slice *slice,
		    const struct row_process *proc)
{
	struct tables_recording *r = &t->recording;
	uint32_t id = JOIN_KEY_ID(slice->key);

	return partitions__put(&r->partitions, proc->partition, tables_calls, (int64_t[]){
		proc->id, thread__cell(m, slice->thread), id ? (int64_t)id : PARQUET_NULL,
		parquet__string(slice->name), slice->start_ns - r->shift_ns,
		slice->end_ns - slice->start_ns, JOIN_KEY_API(slice->key),
	});
}

static int put_range(struct tables *t, const struct model *m, const struct slice *slice,
		     const struct row_process *proc)
{
	struct tables_recording *r = &t->recording;
	struct row_ranges in;
	int err = tables_recording__range_names(r, m, slice->range, &in);

	return err ?: partitions__put(&r->partitions, proc->partition, tables_ranges, (int64_t[]){
		proc->id, thread__cell(m, slice->thread), parquet__string(slice->name),
		parquet__string(in.text ?: ""), slice->start_ns - r->shift_ns,
		slice->end_ns - slice->start_ns, in.communicator, in.message_bytes,
	});
}

static int tables__slice(void *ctx, const struct model *m, const struct slice *slice)
{
	struct tables *t = ctx;
	struct row_process proc;
	int err;

	if (slice->launch_only)
		return 0;
	err = tables__enter(t, m, m->machine.recording) ?:
	      tables_recording__process(&t->recording, m, JOIN_KEY_PROC(slice->key), &proc);
	if (err)
		return err;
	return slice->kind == SLICE_API ? put_call(t, m, slice, &proc) :
	       put_range(t, m, slice, &proc);
}

/* ---- rows of features ------------------------------------------------------------------------ */

static int tables__row(void *ctx, const struct model *m, put_table_row put, const void *row)
{
	struct tables *t = ctx;
	int err = tables__enter(t, m, m->machine.recording);

	return err ?: put(&t->recording, m, row);
}

/* ---- recordings that are read separately ----------------------------------------------------- */

static void tables__init(struct tables *t, bool filtered);

static int tables__apart(void *ctx, struct session_sink **sink)
{
	struct tables *t = ctx, *apart = calloc(1, sizeof(*apart));
	int err;

	if (!apart)
		return -ENOMEM;
	tables__init(apart, t->filtered);
	apart->whole = t;
	err = partitions__open_again(&apart->recording.partitions, &t->recording.partitions);
	*sink = &apart->sink;
	if (err)
		tables__free(apart);
	return err;
}

static void tables__free_apart(struct session_sink *sink)
{
	struct tables *apart = sink->ctx;
	struct partitions *whole = &apart->whole->recording.partitions;

	whole->err = whole->err ?: apart->recording.partitions.err;
	tables__free(apart);
}

/* Ends a recording once it has all its rows, and its call paths have names. */
static int tables__named(void *ctx, const struct model *m)
{
	return tables__enter(ctx, m, m->machine.recording) ?: tables__end(ctx, m);
}

/* Ends the recordings before @nr, unless they were read separately. Return: 0 or -errno. */
static int tables__end_before(struct tables *t, const struct model *m, uint32_t nr)
{
	int err = 0;

	if (t->recording.nr != NO_INDEX || t->nr_done < nr)
		err = tables__enter(t, m, nr - 1) ?: tables__end(t, m);
	t->recording.nr = NO_INDEX;
	t->nr_done = nr;
	return err;
}

/* Counts a recording as done after it was read separately and its tables were written. */
static int tables__absorb(void *ctx, const struct model *m, struct session_sink *sink,
			  const struct remap *r)
{
	const struct tables *apart = sink->ctx;
	struct tables *t = ctx;
	int err = tables__end_before(t, m, apart->recording.nr);

	(void)r;
	t->nr_done = apart->recording.nr + 1;
	return err;
}

/* ---- all tables ------------------------------------------------------------------------------ */

static void tables__init(struct tables *t, bool filtered)
{
	t->filtered = filtered;
	t->sink = (struct session_sink){
		.ctx = t,
		.launch = tables__launch,
		.work = tables__work,
		.placed = tables__placed,
		.slice = tables__slice,
		.row = tables__row,
		.apart = tables__apart,
		.free_apart = tables__free_apart,
		.named = tables__named,
		.absorb = tables__absorb,
		.numbers_gpus = true,
	};
	t->recording.nr = NO_INDEX;
}

int tables__new(struct tables **tp, const char *path, bool filtered)
{
	struct tables *t = *tp = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	tables__init(t, filtered);
	return partitions__open(&t->recording.partitions, path);
}

void tables__free(struct tables *t)
{
	if (!t)
		return;
	tables_recording__exit(&t->recording);
	idmap__free(&t->told);
	free(t);
}

struct session_sink *tables__sink(struct tables *t)
{
	return &t->sink;
}

const char *tables__failed(const struct tables *t)
{
	int err = t->recording.partitions.err;

	return err ? tables_dir__strerror(err) : NULL;
}

int tables__write(struct tables *t, const struct session *s)
{
	return tables__end_before(t, &s->model, s->model.inputs.nr);
}
