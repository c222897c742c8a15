/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * tell.h - passes the second pass's results to the sums and to the sink of single events
 *
 * Return values: 0, -ENOMEM or the sink's error. Events that the options leave out go nowhere.
 */
#ifndef MERGE_TELL_H
#define MERGE_TELL_H

#include "join/second_pass.h"

static inline bool tell__leaves_out(const struct second_pass *p, uint32_t leaf)
{
	return p->opts->without & 1u << p->model->leaves.v[leaf].kind;
}

/* Passes work to sums__add(). */
static inline int tell__sum(struct second_pass *p, uint32_t chain, const char *comm,
			    uint32_t thread, uint32_t leaf, const struct work *w,
			    const struct filter_span *part)
{
	if (tell__leaves_out(p, leaf))
		return 0;
	return sums__add(p->sums, p->opts, chain, comm, thread, leaf, w, part);
}

/* Adds the time of device work for which tell__sum() was called last. */
static inline int tell__when(struct second_pass *p, uint32_t leaf, uint64_t from_ns, uint64_t to_ns,
			     const struct bin_value *value)
{
	if (tell__leaves_out(p, leaf))
		return 0;
	return sums__when(p->sums, from_ns, to_ns, value);
}

/*
 * Adds the time of a thread or of a launch to the sums over time, and passes it to the sink. Must
 * follow the call of tell__sum(), sums__add() or sums__place() for the same thread or launch.
 */
static inline int tell__spent(struct second_pass *p, uint32_t thread, uint32_t leaf,
			      const struct filter_span *s)
{
	const struct session_sink *sink = p->opts->sink;
	const struct spent spent = {
		.from_ns = s->from_ns, .to_ns = s->to_ns, .ns = s->ns,
		.nr = min_t(uint64_t, s->nr, UINT32_MAX),
		.aggregate = p->sums->aggregates.last, .thread = thread, .leaf = leaf,
	};
	int err;

	if (tell__leaves_out(p, leaf))
		return 0;
	err = sums__when(p->sums, s->from_ns, s->to_ns,
			 &(struct bin_value){ .ns = s->ns, .nr = spent.nr });
	if (err || !sink || !sink->spent || !s->from_ns)
		return err;
	return sink->spent(sink->ctx, p->model, &spent);
}

static inline int tell__placed(struct second_pass *p, const struct placed *placed)
{
	const struct session_sink *sink = p->opts->sink;

	if (!sink || !sink->placed || tell__leaves_out(p, placed->leaf))
		return 0;
	return sink->placed(sink->ctx, p->model, placed);
}

static inline int tell__off(struct second_pass *p, const struct placed *off)
{
	const struct session_sink *sink = p->opts->sink;

	if (!sink || !sink->off || tell__leaves_out(p, off->leaf))
		return 0;
	return sink->off(sink->ctx, p->model, off);
}

static inline int tell__slice(struct second_pass *p, const struct slice *slice)
{
	const struct session_sink *sink = p->opts->sink;

	return sink && sink->slice ? sink->slice(sink->ctx, p->model, slice) : 0;
}

static inline int tell__row(struct second_pass *p, put_table_row put, const void *row)
{
	const struct session_sink *sink = p->opts->sink;

	return sink && sink->row ? sink->row(sink->ctx, p->model, put, row) : 0;
}

static inline int tell__launch(struct second_pass *p, uint64_t key, const struct launch *l)
{
	const struct session_sink *sink = p->opts->sink;

	if (!sink || !sink->launch || p->opts->without & 1u << LEAF_PENDING)
		return 0;
	return sink->launch(sink->ctx, p->model, key, l);
}

static inline bool tell__wants_work(const struct second_pass *p)
{
	return p->opts->sink && p->opts->sink->work;
}

/* Passes work to the sink. Requires tell__wants_work(). */
static inline int tell__work(struct second_pass *p, uint64_t key, const struct work *w,
			     const struct launch *l, uint32_t made, bool first)
{
	const struct session_sink *sink = p->opts->sink;

	return sink->work(sink->ctx, p->model, key, w, l, made, first);
}

#endif /* MERGE_TELL_H */
