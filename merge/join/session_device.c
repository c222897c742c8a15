// SPDX-License-Identifier: GPL-3.0-or-later
#include "join/session_device.h"

#include <string.h>

#include "join/session_calls.h"
#include "join/session_leaf.h"
#include "join/session_nvtx.h"
#include "join/session_origin.h"
#include "join/session_settle.h"
#include "join/session_sum.h"
#include "join/session_tables.h"
#include "model/window.h"

/* ---- launches ------------------------------------------------------------------------------- */

/* Launch @i with its ids resolved. Return: the number of ids that nothing defines, or -errno. */
static int session__read_launch(struct session *s, const struct xpu_record_launches *launches,
				uint32_t i, struct launch *l, uint64_t *key, bool *one_record)
{
	const struct xpu_launch *rec = &launches->launches[i];
	const __u32 *range_ids = (const void *)&launches->launches[launches->nr];
	uint32_t path, proc = NO_INDEX;
	int nr_bad, err = 0;

	*l = (struct launch){ .time_ns = launches->time_ns + (int64_t)rec->delta_ns };
	nr_bad = session__read_origin(s, rec->path_id, rec->thread_id, l, &proc, &path);
	if (nr_bad < 0)
		return nr_bad;
	*key = JOIN_KEY(proc, rec->correlation_id);
	*one_record = path != NO_INDEX && s->paths.v[path].one_record;
	if (launches->hdr.misc & XPU_MISC_LAUNCHES_RANGES)
		err = session__nvtx_chain(s, proc, range_ids[i], &l->chain);
	return err < 0 ? err : nr_bad + err;
}

int session__launches(struct session *s, const struct xpu_record_launches *rec)
{
	struct account *account;
	struct launch l;
	bool one_record;
	uint64_t key = 0;
	uint32_t i;
	int err;

	for (i = 0; i < rec->nr; i++) {
		/* Most likely of the process of the one before. */
		if (rec->nr - i > JOIN_PREFETCH)
			join__prefetch(&s->join,
				       JOIN_KEY(JOIN_KEY_PROC(key),
						rec->launches[i + JOIN_PREFETCH].correlation_id));
		err = session__read_launch(s, rec, i, &l, &key, &one_record);
		if (err < 0)
			return err;
		s->loss.bad_refs += err;
		err = session__account(s, JOIN_KEY_PROC(key), &account);
		if (err)
			return err;
		account->nr_launches++;
		if (account->window.nr_threads) {
			err = window__see(&account->window, JOIN_KEY_ID(key));
			if (err)
				return err;
		}
		account->seen_ns = max_t(uint64_t, account->seen_ns, l.time_ns);
		l.time_ns += s->shift_ns;
		s->chains.v[l.chain].nr_launches++;
		if (l.thread != NO_INDEX)
			s->threads.v[l.thread].nr_launches++;
		session__see_time(s, l.time_ns, l.time_ns);
		if (s->opts.sink && s->opts.sink->launch && !filter__active(s->opts.filter) &&
		    !(s->opts.without & 1u << LEAF_PENDING)) {
			err = s->opts.sink->launch(s->opts.sink->ctx, s, key, &l);
			if (err)
				return err;
		}
		err = join__add_launch(&s->join, key, &l, one_record);
		if (err)
			return err;
	}
	return 0;
}

int session__relaunches(struct session *s, const struct xpu_record_launches *rec)
{
	struct launch l;
	bool one_record;
	uint64_t key;
	uint32_t i;
	int err;

	for (i = 0; i < rec->nr; i++) {
		err = session__read_launch(s, rec, i, &l, &key, &one_record);
		l.time_ns += s->shift_ns;
		if (err >= 0)
			err = join__rescan_launch(&s->join, key, &l);
		if (err)
			return err;
	}
	return 0;
}

/* ---- device records ------------------------------------------------------------------------- */

static int session__work_stream(struct session *s, uint32_t proc, uint32_t id, uint32_t *idx)
{
	struct stream stream = { .proc = proc };
	struct account *account;
	int err;

	if (id && idmap__get(&s->tables->streams, ID_KEY(proc, id), idx))
		return 0;
	s->loss.bad_refs++;
	err = session__account(s, proc, &account);
	if (err)
		return err;
	if (account->unknown_stream == NO_INDEX) {
		err = gpus__get(&s->gpus, proc, 0, &stream.gpu);
		account->unknown_stream = s->streams.nr;
		if (!err)
			err = array_push(&s->streams, stream);
		if (err)
			return err;
	}
	*idx = account->unknown_stream;
	return 0;
}

/* Return: the correlation id of a device record, 0 for other records. */
static uint32_t work__correlation_id(const struct xpu_record *rec)
{
	if (rec->type == XPU_RECORD_KERNEL)
		return ((const struct xpu_record_kernel *)rec)->correlation_id;
	if (rec->type == XPU_RECORD_MEMCPY || rec->type == XPU_RECORD_MEMSET)
		return ((const struct xpu_record_memory *)rec)->correlation_id;
	return 0;
}

/* The origin of the graph node that a device record is of, NO_INDEX if it is of none or unknown. */
static uint32_t session__work_node(struct session *s, uint32_t proc, const struct xpu_record *rec)
{
	uint64_t id;
	uint32_t node;

	if (!(rec->misc & XPU_MISC_GRAPH_NODE))
		return NO_INDEX;
	if (rec->type == XPU_RECORD_KERNEL)
		id = ((const struct xpu_record_kernel *)rec)->graph_node_id[0];
	else
		id = ((const struct xpu_record_memory *)rec)->graph_node_id[0];
	node = graphs__origin(&s->graphs, proc, id);
	if (node == NO_INDEX && s->opts.graph != GRAPH_LAUNCH)
		s->loss.unknown_nodes++;
	return node;
}

/* When it ran, for @w and for who waited for it. */
static int session__time_work(struct session *s, uint32_t proc, const struct xpu_record *rec,
			      struct work *w)
{
	const struct stream *stream = &s->streams.v[w->stream];
	/* All device records begin alike: times first. */
	const struct xpu_record_kernel *k = (const void *)rec;
	uint64_t end_ns;

	if (rec->misc & XPU_MISC_BAD_TIME || !k->start_ns ||
	    __builtin_add_overflow(k->start_ns, k->duration_ns, &end_ns) ||
	    __builtin_add_overflow(end_ns, s->shift_ns, &end_ns)) {
		s->loss.bad_times++;
		return 0;
	}
	w->start_ns = k->start_ns + s->shift_ns;
	w->duration_ns = k->duration_ns;
	session__see_time(s, w->start_ns, end_ns);
	return waits__work(&s->waits, &(struct wait_work){
		.start_ns = w->start_ns,
		.end_ns = end_ns,
		.proc = proc,
		.context = stream->context,
		.stream = stream->stream,
		.correlation_id = work__correlation_id(rec),
		.leaf = w->leaf,
		.kernel = rec->type == XPU_RECORD_KERNEL,
	});
}

static int session__work(struct session *s, uint32_t proc, const struct xpu_record *rec)
{
	const struct xpu_record_memory *m = (const void *)rec;
	const struct xpu_record_kernel *k = (const void *)rec;
	bool kernel = rec->type == XPU_RECORD_KERNEL, copy = rec->type == XPU_RECORD_MEMCPY;
	struct account *account;
	struct work w = { 0 };
	const char *name;
	uint32_t gpu;
	int err;

	err = session__account(s, proc, &account);
	if (err)
		return err;
	account->nr_works++;
	w.node = session__work_node(s, proc, rec);
	err = session__work_stream(s, proc, kernel ? k->stream : m->stream, &w.stream);
	if (err)
		return err;
	gpu = s->streams.v[w.stream].gpu;
	if (kernel) {
		err = session__kernel_leaf(s, proc, gpu, k->name, &w.leaf);
	} else {
		name = copy ? memcpy_kind__name(m->copy_kind) : "";
		err = session__leaf(s, copy ? LEAF_MEMCPY : LEAF_MEMSET, gpu,
				    strpool__intern(&s->strings, name, strlen(name)), &w.leaf);
		w.bytes = m->bytes;
	}
	if (!err)
		err = session__time_work(s, proc, rec, &w);
	if (err)
		return err;
	s->gpus.list.v[gpu].used = true;
	return join__add_work(&s->join, JOIN_KEY(proc, work__correlation_id(rec)), &w);
}

int session__batch(struct session *s, const struct record_iter *outer,
		   const struct xpu_record_batch *batch)
{
	const struct xpu_record *rec, *next;
	struct record_iter it, ahead;
	struct account *account;
	uint32_t proc;
	int err, i;

	err = machine__proc(&s->machine, batch->proc_id, &proc);
	record_iter__enter(&it, outer, batch);
	ahead = it;
	for (i = 0; i < JOIN_PREFETCH; i++)
		record_iter__next(&ahead);
	while (!err && (rec = record_iter__next(&it))) {
		next = record_iter__next(&ahead);
		if (next)
			join__prefetch(&s->join, JOIN_KEY(proc, work__correlation_id(next)));
		if (rec->type == XPU_RECORD_KERNEL || rec->type == XPU_RECORD_MEMCPY ||
		    rec->type == XPU_RECORD_MEMSET)
			err = session__work(s, proc, rec);
		else if (rec->type == XPU_RECORD_CALLS)
			err = session__calls(s, proc, batch, (const void *)rec);
	}
	if (!err)
		err = session__account(s, proc, &account);
	/* What was sent with the baseline is not among what was sent after it. */
	if (!err && account->baseline == record_iter__place(outer))
		account->nr_works = account->nr_calls = 0;
	return err;
}

/* ---- what the join finds -------------------------------------------------------------------- */

/* Where and by whom a graph node was made, looked up once. */
static int session__resolve_node(struct session *s, struct graph_node *node)
{
	struct launch made = { .time_ns = node->rec->time_ns };
	uint32_t path, proc = node->proc;
	int nr_bad;

	if (node->resolved)
		return 0;
	nr_bad = session__read_origin(s, node->rec->path_id, node->rec->thread_id, &made, &proc,
				      &path);
	if (nr_bad < 0)
		return nr_bad;
	s->loss.bad_refs += nr_bad;
	/* A captured launch is among the launches of its own call path. */
	if (!node->rec->correlation_id)
		s->chains.v[made.chain].nr_nodes++;
	node->chain = made.chain;
	node->thread = made.thread;
	node->comm = made.comm;
	node->resolved = true;
	return 0;
}

/* With a filter, launches are told only when it is known that they are wanted. */
static int session__tell_launch(struct session *s, uint64_t key, const struct launch *l)
{
	const struct session_sink *sink = s->opts.sink;

	if (!sink || !sink->launch || !filter__active(s->opts.filter) ||
	    s->opts.without & 1u << LEAF_PENDING)
		return 0;
	return sink->launch(sink->ctx, s, key, l);
}

static int session__add_stats(struct session *s, const struct work *w)
{
	static const struct leaf_stats none;
	struct leaf_stats *stats;
	int err = 0;

	while (!err && s->leaf_stats.nr <= w->leaf)
		err = array_push(&s->leaf_stats, none);
	if (err)
		return err;
	stats = &s->leaf_stats.v[w->leaf];
	return stats__add(&stats->ns, w->duration_ns) ?: stats__add(&stats->bytes, w->bytes);
}

static int session__count_work(struct session *s, const struct work *w)
{
	struct stream *stream = &s->streams.v[w->stream];
	struct gpu *gpu = &s->gpus.list.v[stream->gpu];

	stream->nr_works++;
	stream->busy_ns += w->duration_ns;
	gpu->nr_works++;
	gpu->busy_ns += w->duration_ns;
	s->nr_works[s->leaves.v[w->leaf].kind]++;
	return s->opts.stats ? session__add_stats(s, w) : 0;
}

/*
 * Device work under its call path: that of its launch, @chain, or the one that made the graph node
 * it is of, or both. Tells the sink, too.
 */
static int session__place(struct session *s, uint64_t key, const struct work *w,
			  const struct launch *l, uint32_t chain, const char *comm, bool first)
{
	uint32_t thread = l ? l->thread : NO_INDEX, range = s->chains.v[chain].range;
	struct graph_node *node = NULL;
	int err = 0;

	if (w->node != NO_INDEX) {
		node = &s->graphs.nodes.v[w->node];
		err = session__resolve_node(s, node);
		if (!err && s->opts.graph == GRAPH_CAPTURE) {
			chain = node->chain;
			comm = node->comm;
			thread = node->thread;
			err = session__ranged_chain(s, range, &chain);	/* its launch's */
		} else if (!err && s->opts.graph == GRAPH_BOTH) {
			err = session__joined_chain(s, chain, node->chain, &chain);
		}
	}
	if (err || s->opts.without & 1u << s->leaves.v[w->leaf].kind)
		return err;
	err = session__keeps(s, chain, thread, comm, w->start_ns, w);
	if (!err)
		s->nr_left_out++;
	if (err <= 0)
		return err;
	err = session__count_work(s, w);
	if (range != NVTX_NO_RANGE) {
		s->nvtx.ranges.v[range].nr_works++;
		s->nvtx.ranges.v[range].gpu_ns += w->duration_ns;
	}
	if (!err && w->start_ns)
		err = idles__work(&s->idles, s->streams.v[w->stream].gpu, l ? l->thread : NO_INDEX,
				  w->start_ns, w->start_ns + w->duration_ns);
	if (!err)
		err = session__add(s, chain, comm, thread, w->leaf, w);
	if (!err)
		err = session__tell_placed(s, &(struct placed){
			.time_ns = l ? l->time_ns : w->start_ns,
			.duration_ns = w->duration_ns,
			.comm = comm,
			.chain = chain,
			.thread = thread,
			.leaf = w->leaf,
		});
	if (!err && l)
		err = session__tell_launch(s, key, l);
	if (!err && s->opts.sink && s->opts.sink->work)
		err = s->opts.sink->work(s->opts.sink->ctx, s, key, w, l,
					 node ? node->chain : NO_INDEX, first);
	return err;
}

static int session__matched(void *ctx, uint64_t key, const struct launch *l, const struct work *w,
			    bool first)
{
	return session__place(ctx, key, w, l, l->chain, l->comm, first);
}

static int session__pending(void *ctx, uint64_t key, const struct launch *l)
{
	struct session *s = ctx;
	uint32_t leaf, result;
	int keep, err;

	keep = session__keeps(s, l->chain, l->thread, l->comm, l->time_ns, NULL);
	if (keep > 0)
		keep = session__tell_launch(s, key, l) ?: 1;
	if (keep < 0)
		return keep;
	if (graphs__captured(&s->graphs, JOIN_KEY_PROC(key), JOIN_KEY_ID(key))) {
		s->loss.nr_captured++;
		return 0;
	}
	if (idmap__get(&s->tables->refused, key, &result)) {
		s->loss.nr_refused++;
		return 0;
	}
	s->loss.at_detach += session__outlived(s, JOIN_KEY_PROC(key));
	s->chains.v[l->chain].nr_pending++;
	if (!keep) {
		s->nr_pending_left_out++;
		return 0;
	}
	err = session__leaf(s, LEAF_PENDING, NO_INDEX, strpool__intern(&s->strings, "", 0), &leaf);
	if (!err)
		err = session__add(s, l->chain, l->comm, l->thread, leaf, NULL);
	return err ?: session__tell_placed(s, &(struct placed){
		.time_ns = l->time_ns, .comm = l->comm, .chain = l->chain, .thread = l->thread,
		.leaf = leaf,
	});
}

static int session__orphan(void *ctx, uint64_t key, const struct work *w)
{
	uint32_t chain, proc = JOIN_KEY_PROC(key);
	enum label label = LABEL_NO_LAUNCH;
	struct session *s = ctx;
	const char *comm;
	int err;

	switch (window__place(&s->tables->accounts.v[proc].window, JOIN_KEY_ID(key))) {
	case WINDOW_BEFORE:
		s->loss.before_attach++;
		label = LABEL_BEFORE;
		break;
	case WINDOW_AFTER:
		s->loss.after_detach++;
		label = LABEL_AFTER;
		break;
	case WINDOW_INSIDE:
		break;
	}
	err = session__label_chain(s, proc, label, &chain);
	if (err)
		return err;
	comm = w->start_ns ? session__proc_comm(s, proc, w->start_ns - s->shift_ns) :
			     session__proc_name(s, proc);
	return session__place(s, key, w, NULL, chain, comm, true);
}

const struct join_ops session_join_ops = {
	.matched = session__matched,
	.pending = session__pending,
	.orphan = session__orphan,
};
