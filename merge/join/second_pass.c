// SPDX-License-Identifier: GPL-3.0-or-later
#include "join/second_pass.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void second_pass__init(struct second_pass *p, const struct session_opts *opts,
		       const struct found *found, struct model *model, struct sums *sums,
		       struct join *join, struct copied_stacks *unwind)
{
	memset(p, 0, sizeof(*p));
	p->opts = opts;
	p->found = found;
	p->model = model;
	p->sums = sums;
	p->join = join;
	p->unwind = unwind;
}

void second_pass__exit(struct second_pass *p)
{
	size_t i;

	idmap__free(&p->calls.stats);
	idmap__free(&p->calls.tids[0]);
	idmap__free(&p->calls.tids[1]);
	array_free(&p->device.kernels);
	for (i = 0; i < p->arrived.nr; i++)
		attach_span__free(p->arrived.v[i].attach_span);
	array_free(&p->arrived);
}

int second_pass__expect(struct second_pass *p, uint32_t proc)
{
	static const struct arrived none = { .unknown_stream = NO_INDEX };
	int err = 0;

	while (!err && p->arrived.nr <= proc - p->found->first_proc)
		err = array_push(&p->arrived, none);
	return err;
}

static void hooks__add(struct hooks *hooks, const struct feature *feature, void *state)
{
	hooks->v[hooks->nr++] = (struct hook){ feature, state };
}

void second_pass__add_hooks(struct second_pass *p)
{
	void *const *states = p->model->features;
	unsigned int i;

	for (i = 0; features[i]; i++) {
		if (states[i] && features[i]->find_range)
			p->finder = (struct hook){ features[i], states[i] };
		if (states[i] && features[i]->find_maker)
			p->maker = (struct hook){ features[i], states[i] };
		if (states[i] && features[i]->launch)
			hooks__add(&p->launch_hooks, features[i], states[i]);
		if (states[i] && features[i]->work)
			hooks__add(&p->work_hooks, features[i], states[i]);
		if (states[i] && features[i]->range)
			hooks__add(&p->range_hooks, features[i], states[i]);
		if (states[i] && features[i]->record)
			hooks__add(&p->record_hooks, features[i], states[i]);
		if (states[i] && features[i]->owns_sample)
			hooks__add(&p->owner_hooks, features[i], states[i]);
		if (states[i] && features[i]->sample)
			hooks__add(&p->sample_hooks, features[i], states[i]);
	}
}

/* Return: whether the beginning or the end of the process was not recorded. */
static bool has_attach_span(const struct second_pass *p, uint32_t proc)
{
	const struct proc *at = &p->model->machine.procs.v[proc];

	return at->how == XPU_MISC_PROCESS_ATTACH || (p->found->ends_known && !at->exited);
}

int second_pass__open_attach_spans(struct second_pass *p)
{
	const struct found *f = p->found;
	const struct model *m = p->model;
	struct arrived *arrived;
	uint32_t nr_slots;
	size_t i;
	int err;

	for (i = f->first_thread; i < m->threads.nr; i++) {
		if (!has_attach_span(p, m->threads.v[i].proc))
			continue;
		err = second_pass__arrived(p, m->threads.v[i].proc, &arrived);
		if (err)
			return err;
		arrived->nr_threads++;
	}
	for (i = f->first_proc; i < m->machine.procs.nr; i++) {
		if (!has_attach_span(p, i))
			continue;
		err = second_pass__arrived(p, i, &arrived);
		if (err)
			return err;
		nr_slots = min_t(uint64_t, found__sent(f, i)->last->nr_slots, ATTACH_MAX_THREADS);
		arrived->attach_span =
			attach_span__new(max_t(uint32_t, arrived->nr_threads, nr_slots));
		if (!arrived->attach_span)
			return -ENOMEM;
	}
	return 0;
}

bool second_pass__outlived(const struct second_pass *p, uint32_t proc)
{
	size_t i = proc - p->found->first_proc;

	return i < p->arrived.nr && p->arrived.v[i].attach_span &&
	       !p->model->machine.procs.v[proc].exited;
}

bool second_pass__cut_off(const struct second_pass *p, uint32_t proc)
{
	const struct sent *sent = found__sent(p->found, proc);

	return sent->nr_batches && p->model->machine.procs.v[proc].exited &&
	       !(sent->last->hdr.misc & XPU_MISC_COUNTERS_LAST);
}

/* Wakes the feature that finds ranges, if one exists. Return: 0 or -ENOMEM. */
static int second_pass__wake_finder(struct second_pass *p)
{
	void **states = p->model->features;
	unsigned int i;
	int err;

	for (i = 0; features[i] && !features[i]->find_range; i++)
		;
	if (!features[i])
		return 0;
	err = feature__wake(i, p->model, &states[i]);
	if (err)
		return err;
	p->finder = (struct hook){ features[i], states[i] };
	if (features[i]->work)
		hooks__add(&p->work_hooks, features[i], states[i]);
	return 0;
}

int second_pass__range(struct second_pass *p, uint32_t proc, uint32_t range_id, uint32_t *range)
{
	int err = 0;

	*range = NO_RANGE;
	if (!range_id)
		return 0;
	if (!p->finder.state)
		err = second_pass__wake_finder(p);
	if (err || !p->finder.state)
		return err;
	return p->finder.feature->find_range(p->finder.state, p->model, proc, range_id, range);
}

int second_pass__find_maker(struct second_pass *p, uint32_t proc, const struct xpu_record *rec,
			    uint32_t *maker)
{
	void **states = p->model->features;
	unsigned int i;
	int err;

	*maker = NO_INDEX;
	if (!p->maker.state) {
		for (i = 0; features[i] && !features[i]->find_maker; i++)
			;
		err = features[i] ? feature__wake(i, p->model, &states[i]) : 0;
		if (err || !features[i])
			return err;
		p->maker = (struct hook){ features[i], states[i] };
	}
	*maker = p->maker.feature->find_maker(p->maker.state, p, proc, rec);
	return 0;
}

uint32_t second_pass__range_at(const struct second_pass *p, uint32_t thread, uint64_t time_ns)
{
	return p->finder.state ?
	       p->finder.feature->range_at(p->finder.state, thread, time_ns) : NO_RANGE;
}

int second_pass__in_range(struct second_pass *p, uint32_t proc, uint32_t range_id, uint32_t *chain)
{
	struct model *m = p->model;
	uint32_t range;
	int nr_bad, err;

	if (!range_id || !p->opts->by_range)
		return 0;
	nr_bad = second_pass__range(p, proc, range_id, &range);
	if (nr_bad < 0)
		return nr_bad;
	err = chains__in_range(&m->chains, range, chain);
	return err ?: nr_bad;
}
