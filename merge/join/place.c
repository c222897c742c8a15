// SPDX-License-Identifier: GPL-3.0-or-later
#include "join/place.h"

#include <errno.h>
#include <stdlib.h>

#include "join/tell.h"
#include "join/wanted.h"

static int add_stats(struct second_pass *p, const struct work *w, const struct filter_span *part)
{
	static const struct leaf_stats none;
	struct leaf_stats *stats;
	int err = 0;

	while (!err && p->sums->leaf_stats.nr <= w->leaf)
		err = array_push(&p->sums->leaf_stats, none);
	if (err)
		return err;
	stats = &p->sums->leaf_stats.v[w->leaf];
	if (!stats->bytes && p->model->leaves.v[w->leaf].kind != LEAF_KERNEL) {
		stats->bytes = calloc(1, sizeof(*stats->bytes));
		if (!stats->bytes)
			return -ENOMEM;
	}
	return stats__add_part(&stats->ns, w->duration_ns, part->ns, part->nr) ?:
	       stats->bytes && part->nr ? stats__add(stats->bytes, w->bytes) : 0;
}

static int count_work(struct second_pass *p, const struct work *w, const struct filter_span *part)
{
	struct model *m = p->model;
	struct stream *stream = &m->streams.v[w->stream];
	struct gpu *gpu = &m->gpus.list.v[stream->gpu];

	stream->nr_works += part->nr;
	stream->busy_ns += part->ns;
	gpu->nr_works += part->nr;
	gpu->busy_ns += part->ns;
	p->sums->nr_works[m->leaves.v[w->leaf].kind] += part->nr;
	return p->opts->stats ? add_stats(p, w, part) : 0;
}

/* Adds the time of device work to the busy time of its GPU. Return: 0 or -ENOMEM. */
static int add_busy(struct second_pass *p, const struct work *w, const struct filter_span *part)
{
	uint32_t gpu = p->model->streams.v[w->stream].gpu;
	struct sums *sums = p->sums;
	int err = 0;

	if ((!p->opts->stats && !p->opts->by_time) || !w->start_ns)
		return 0;
	while (!err && sums->busy.nr <= gpu)
		err = array_push(&sums->busy, (struct busy){ 0 });
	return err ?: busy__add(&sums->busy.v[gpu], part->from_ns, part->to_ns);
}

/* Passes device work, or the part of it that the filter keeps, to the sink of single events. */
static int tell__part(struct second_pass *p, uint64_t key, const struct work *whole,
		      const struct filter_span *part, const struct launch *l, uint32_t made,
		      bool first)
{
	struct work w;

	if (!tell__wants_work(p))
		return 0;
	w = *whole;
	if (w.start_ns) {
		w.start_ns = part->from_ns;
		w.duration_ns = part->to_ns - part->from_ns;
	}
	w.is_part = w.duration_ns != whole->duration_ns;
	w.began_before = !part->nr;
	w.aggregate = p->sums->aggregates.last;
	return tell__work(p, key, &w, l, made, first);
}

/* Adds a piece of device work to the sums over time. */
static int tell__device_time(struct second_pass *p, const struct work *w,
			     const struct filter_span *part)
{
	return tell__when(p, w->leaf, part->from_ns, part->to_ns,
			  &(struct bin_value){ part->ns, part->nr ? w->bytes : 0, part->nr });
}

/*
 * Sets @part to the part of the work between --from and --to. Return: whether this part exists.
 */
static bool work__cut(const struct second_pass *p, const struct work *w, struct filter_span *part)
{
	*part = (struct filter_span){
		.from_ns = w->start_ns, .to_ns = w->start_ns + w->duration_ns, .ns = w->duration_ns,
		.nr = 1,
	};
	/* wanted__work() decides about work without a timestamp. */
	return !w->start_ns || wanted__cut(p->opts->filter, p->model, part);
}

/*
 * Passes device work to the features. @part: the part of the work that was added to the sums; NULL:
 * the work is left out.
 * Return: 0 or -ENOMEM.
 */
static inline int place__hooks(struct second_pass *p, uint64_t key, const struct work *w,
			       const struct launch *l, const struct filter_span *part,
			       const struct work_place *place, bool in_time)
{
	const struct hooks *hooks = &p->work_hooks;
	struct placed_work placed;
	unsigned int i;
	int err = 0;

	if (!hooks->nr)
		return 0;
	placed = (struct placed_work){
		.key = key, .work = w, .launch = l, .part = part, .place = place,
		.chain = part ? place->chain : NO_INDEX, .in_time = in_time,
		.aggregate = part ? p->sums->aggregates.last : NO_INDEX,
	};
	for (i = 0; i < hooks->nr && !err; i++)
		err = hooks->v[i].feature->work(hooks->v[i].state, p, &placed);
	return err;
}

/* Passes device work to the features, although the options leave it out. */
static int place__left_out(struct second_pass *p, uint64_t key, const struct work *w,
			   const struct launch *l, const struct work_place *place, bool in_time)
{
	return place__hooks(p, key, w, l, NULL, place, in_time);
}

/*
 * Adds device work to the sums of its call path, and passes it to the sink. The call path is the
 * path of the launch, @chain, or another path that a feature chooses.
 */
static int place__work(struct second_pass *p, uint64_t key, const struct work *w,
		       const struct launch *l, uint32_t chain, const char *comm, bool first)
{
	struct model *m = p->model;
	struct work_place place = {
		.chain = chain, .thread = l ? l->thread : NO_INDEX, .comm = comm, .made = NO_INDEX,
	};
	struct filter_span part;
	bool in_time;
	int err = 0;

	if (w->maker != NO_INDEX)
		err = p->maker.feature->move_work(p->maker.state, p, w->maker, &place);
	if (!err && p->opts->without & 1u << m->leaves.v[w->leaf].kind)
		return place__left_out(p, key, w, l, &place, false);
	if (err)
		return err;
	err = wanted__at(p->opts->filter, m, JOIN_KEY_PROC(key), l ? l->time_ns : 0);
	if (err)
		err = wanted__cut_work(p->opts->filter, m, place.chain, place.thread, place.comm,
				       w);
	in_time = err > 0;
	if (err > 0)
		err = work__cut(p, w, &part);
	if (err <= 0) {
		p->sums->nr_left_out += !err;
		return err ?: place__left_out(p, key, w, l, &place, in_time);
	}
	p->sums->nr_left_out += !part.nr;
	p->sums->nr_parts += !part.nr;
	err = count_work(p, w, &part) ?: add_busy(p, w, &part);
	if (!err)
		err = tell__sum(p, place.chain, place.comm, place.thread, w->leaf, w, &part);
	if (!err)
		err = place__hooks(p, key, w, l, &part, &place, true);
	if (!err && w->start_ns)
		err = tell__device_time(p, w, &part);
	if (!err)
		err = tell__placed(p, &(struct placed){
			.time_ns = l ? l->time_ns : part.from_ns,
			.duration_ns = part.ns,
			.comm = place.comm,
			.chain = place.chain,
			.thread = place.thread,
			.leaf = w->leaf,
		});
	/*
	 * With a filter, tell the sink about the launch only now, when the launch is known to pass
	 * the filter.
	 */
	if (!err && l && filter__active(p->opts->filter))
		err = tell__launch(p, key, l);
	return err ?: tell__part(p, key, w, &part, l, place.made, first);
}

static int place__pending(struct second_pass *p, const struct match *match)
{
	const struct launch *l = &match->launch;
	uint64_t key = match->key;
	struct model *m = p->model;
	uint32_t leaf, result;
	int keep, err;

	keep = wanted__work(p->opts->filter, m, l->chain, l->thread, l->comm, l->time_ns, NULL);
	if (keep > 0)
		keep = (filter__active(p->opts->filter) ? tell__launch(p, key, l) : 0) ?: 1;
	if (keep < 0)
		return keep;
	if (p->maker.state && p->maker.feature->runs_nothing(p->maker.state, p, key))
		return 0;
	if (idmap__get(&p->found->refused, key, &result)) {
		if (result == XPU_REFUSED_NO_BYTES)
			p->sums->loss.nr_no_bytes++;
		else
			p->sums->loss.nr_refused++;
		return 0;
	}
	/* The device work of a duplicate may have ended long ago, under the other launch. */
	p->sums->loss.at_detach +=
		!match->duplicate && second_pass__outlived(p, JOIN_KEY_PROC(key));
	p->sums->loss.nr_cut_off += second_pass__cut_off(p, JOIN_KEY_PROC(key));
	m->chains.v[l->chain].nr_pending++;
	if (!keep) {
		p->sums->nr_pending_left_out++;
		return 0;
	}
	err = leaves__get(&m->leaves, LEAF_PENDING, NO_INDEX, "", &leaf);
	if (!err)
		err = tell__sum(p, l->chain, l->comm, l->thread, leaf, NULL, NULL);
	if (!err)
		err = tell__spent(p, l->thread, leaf, &(struct filter_span){
			.from_ns = l->time_ns, .to_ns = l->time_ns, .nr = 1,
		});
	return err ?: tell__placed(p, &(struct placed){
		.time_ns = l->time_ns, .comm = l->comm, .chain = l->chain, .thread = l->thread,
		.leaf = leaf,
	});
}

/*
 * For each thread that existed when its process's first launch was recorded, notes the thread's
 * first launch.
 */
static int see_firsts(struct second_pass *p, uint32_t proc, const struct arrived *arrived,
		      struct attach_span *span)
{
	struct model *m = p->model;
	uint64_t from_ns, to_ns;
	uint32_t first;
	size_t i;
	int err = 0;

	for (i = p->found->first_thread; i < m->threads.nr && !err; i++) {
		const struct thread *t = &m->threads.v[i];

		if (t->proc != proc || !idmap__get(&span->first_of, i, &first))
			continue;
		machine__comm(&m->machine, m->machine.procs.v[proc].pid, t->tid, arrived->first_ns,
			      &from_ns, &to_ns);
		if (from_ns)		/* the thread existed then: it had a name */
			err = attach_span__first(span, first);
	}
	return err;
}

/*
 * Return: 1 if the launch @id, whose device work is inside @span, may have begun before the span; 0
 * if not; or -ENOMEM.
 */
static int is_late(struct second_pass *p, uint32_t proc, struct attach_span *span,
		   uint32_t id)
{
	int err;

	if (!span || p->model->machine.procs.v[proc].how != XPU_MISC_PROCESS_ATTACH)
		return 0;
	if (!span->firsts_seen) {
		span->firsts_seen = true;
		err = see_firsts(p, proc, &p->arrived.v[proc - p->found->first_proc], span);
		if (err)
			return err;
	}
	return attach_span__is_late(span, id);
}

static int place__orphan(struct second_pass *p, uint64_t key, const struct work *w)
{
	struct model *m = p->model;
	uint32_t chain, proc = JOIN_KEY_PROC(key);
	enum label label = LABEL_NO_LAUNCH;
	struct attach_span *span;
	struct arrived *arrived;
	enum attach_place place;
	const char *comm;
	int err;

	err = second_pass__arrived(p, proc, &arrived);
	if (err)
		return err;
	span = arrived->attach_span;
	if (span) {
		span = attach_span__of(span, JOIN_KEY_API(key));
		if (!span)
			return -ENOMEM;
	}
	place = span ? attach_span__place(span, JOIN_KEY_ID(key)) : ATTACH_INSIDE;
	if (place == ATTACH_INSIDE) {
		err = is_late(p, proc, span, JOIN_KEY_ID(key));
		if (err < 0)
			return err;
		if (err)
			place = ATTACH_BEFORE;
	}
	switch (place) {
	case ATTACH_BEFORE:
		p->sums->loss.before_attach++;
		label = LABEL_BEFORE;
		break;
	case ATTACH_AFTER:
		p->sums->loss.after_detach++;
		label = LABEL_AFTER;
		break;
	case ATTACH_INSIDE:
		break;
	}
	err = chains__of_label(&m->chains, proc, label, &chain);
	if (err)
		return err;
	comm = w->start_ns ? model__proc_comm(m, proc, w->start_ns - p->found->shift_ns) :
			     model__proc_name(m, proc);
	return place__work(p, key, w, NULL, chain, comm, true);
}

int place__match(struct second_pass *p, const struct match *match)
{
	struct captured *captured = &p->model->captured;
	const struct launch *l = &match->launch;
	struct captured_window *window;

	if (captured->windows.nr && match->kind != MATCH_ORPHAN) {
		window = captured__at(captured, JOIN_KEY_PROC(match->key), l->time_ns);
		captured_window__extend(window, l->time_ns);
		if (match->kind == MATCH_WORK)
			captured_window__extend(window,
						match->work.start_ns + match->work.duration_ns);
	}
	switch (match->kind) {
	case MATCH_WORK:
		return place__work(p, match->key, &match->work, l, l->chain, l->comm, match->first);
	case MATCH_PENDING:
		return place__pending(p, match);
	case MATCH_ORPHAN:
		break;
	}
	return place__orphan(p, match->key, &match->work);
}
