// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/feature.h"

#include <errno.h>
#include <stdlib.h>

#include "join/second_pass.h"
#include "model/remap.h"
#include "read/collect.h"
#include "read/reader.h"
#include "waits/off.h"
#include "waits/state.h"

const struct waits_state *waits_state__of(const struct model *m)
{
	static const struct waits_state none;

	return m->features[FEATURE_waits] ?: &none;
}

int waits_state__waited(struct waits_state *s, uint32_t thread, uint64_t ns)
{
	int err = 0;

	while (!err && s->waited_ns.nr <= thread)
		err = array_push(&s->waited_ns, 0);
	if (!err)
		s->waited_ns.v[thread] += ns;
	return err;
}

static void *state__new(struct model *m)
{
	struct waits_state *s = calloc(1, sizeof(*s));

	(void)m;
	if (!s)
		return NULL;
	waits__init(&s->waits);
	idles__init(&s->idles);
	return s;
}

/* Frees the data of the recording that was read last. */
static void state__forget(struct waits_state *s)
{
	array_free(&s->wait_records);
	array_free(&s->account_records);
	waits__exit(&s->waits);
	waits__init(&s->waits);
	s->shared = false;
}

static void state__free(void *state)
{
	struct waits_state *s = state;

	state__forget(s);
	idles__exit(&s->idles);
	array_free(&s->accounts);
	array_free(&s->waited_ns);
	free(s);
}

/* ---- records --------------------------------------------------------------------------------- */

static int take_wait(void *state, struct collect *c, uint32_t proc, const struct xpu_record *rec)
{
	struct waits_state *s = state;

	(void)c, (void)proc;
	return array_push(&s->wait_records, (const void *)rec);
}

static int take_account(void *state, struct collect *c, uint32_t proc, const struct xpu_record *r)
{
	const void *rec = reader__keep(c->found->reader, r, r->size);
	struct waits_state *s = state;

	(void)proc;
	return rec ? array_push(&s->account_records, rec) : -ENOMEM;
}

/* Only marks the feature as used: the second pass reads the record. */
static int take_later(void *state, struct collect *c, uint32_t proc, const struct xpu_record *rec)
{
	(void)state, (void)c, (void)proc, (void)rec;
	return 0;
}

static const struct feature_record records[] = {
	{ XPU_RECORD_WAIT, true, take_wait },
	{ XPU_RECORD_ACCOUNT, false, take_account },
	{ XPU_RECORD_OFF_CPU, false, take_later },
	{ XPU_RECORD_OFF, false, take_later },
	{ 0 },
};

/* ---- a recording ----------------------------------------------------------------------------- */

static int waits__begin(void *state, struct second_pass *p)
{
	struct waits_state *s = state;

	s->idles.wanted |= s->account_records.nr != 0;
	s->idles.begin_ns = filter__begin_ns(p->opts->filter, p->model->start_ns);
	s->idles.end_ns = filter__end_ns(p->opts->filter, p->model->start_ns);
	return 0;
}

static int waits__open(void *state, struct second_pass *p, struct passes *passes)
{
	(void)passes;
	return off__open_waits(state, p);
}

static int waits__record(void *state, struct second_pass *p, const struct xpu_record *rec)
{
	switch (rec->type) {
	case XPU_RECORD_OFF_CPU:
		return off__sum(state, p, (const void *)rec);
	case XPU_RECORD_OFF:
		return off__span(state, p, (const void *)rec);
	default:
		return 0;
	}
}

/* Takes all device work, even work that the filter leaves out, because threads waited for it. */
static int waits__placed(void *state, struct second_pass *p, const struct placed_work *placed)
{
	const struct work *w = placed->work;
	const struct stream *stream = &p->model->streams.v[w->stream];
	struct waits_state *s = state;
	uint64_t end_ns = w->start_ns + w->duration_ns;
	int err;

	if (!w->start_ns)
		return 0;
	err = waits__work(&s->waits, &(struct wait_work){
		.start_ns = w->start_ns,
		.end_ns = end_ns,
		.scope = JOIN_KEY_SCOPE(placed->key),
		.context = stream->context,
		.stream = stream->stream,
		.correlation_id = JOIN_KEY_ID(placed->key),
		.leaf = w->leaf,
		.kernel = p->model->leaves.v[w->leaf].kind == LEAF_KERNEL,
	});
	if (err || !placed->in_time)
		return err;
	return idles__work(&s->idles, stream->gpu,
			   placed->launch ? placed->launch->thread : NO_INDEX, w->start_ns, end_ns);
}

/*
 * Return: whether a sample's time counts as waiting: a thread may spin in a call that waits for a
 * GPU. Until waits__share() knows which calls are waits, all calls count as waits.
 */
static bool waits__owns_sample(void *state, uint32_t thread_id, uint64_t time_ns)
{
	const struct waits_state *s = state;
	const struct wait *wait = waits__at(&s->waits, thread_id, time_ns);

	return wait && (wait->counts || !s->shared);
}

static int waits__sample(void *state, struct second_pass *p, const struct placed_sample *sample)
{
	struct waits_state *s = state;

	(void)p;
	return sample->thread == NO_INDEX ? 0 :
	       idles__sample(&s->idles, sample->thread, sample->chain, sample->time_ns);
}

static int waits__last(void *state, struct second_pass *p)
{
	struct waits_state *s = state;

	s->shared = true;
	return off__share_waits(s, p);
}

static int waits__close(void *state, struct second_pass *p)
{
	return off__finish(state, p);
}

static int waits__settle(void *state, struct second_pass *p)
{
	struct waits_state *s = state;

	p->sums->loss.crowded += s->waits.nr_crowded;
	state__forget(s);
	return 0;
}

/* ---- all recordings -------------------------------------------------------------------------- */

static int waits__absorb(void *state, void *from_state, struct remap *r)
{
	const struct waits_state *from = from_state;
	struct waits_state *s = state;
	size_t i;
	int err = idles__absorb(&s->idles, &from->idles, r);

	for (i = 0; i < from->accounts.nr && !err; i++) {
		struct thread_account a = from->accounts.v[i];

		a.thread += r->thread;
		a.comm = remap__text(r, a.comm);
		err = array_push(&s->accounts, a);
	}
	for (i = 0; i < from->waited_ns.nr && !err; i++)
		if (from->waited_ns.v[i])
			err = waits_state__waited(s, i + r->thread, from->waited_ns.v[i]);
	s->off_unsure_ns += from->off_unsure_ns;
	return err;
}

static const struct section *const sections[] = { &section_threads, &section_idle, NULL };

const struct feature waits_feature = {
	.name = "waits",
	.new = state__new,
	.free = state__free,
	.records = records,
	.begin = waits__begin,
	.open = waits__open,
	.record = waits__record,
	.work = waits__placed,
	.owns_sample = waits__owns_sample,
	.sample = waits__sample,
	.last = waits__last,
	.close = waits__close,
	.settle = waits__settle,
	.absorb = waits__absorb,
	.answer = waits__answer,
	.left_out = waits__left_out,
	.sections = sections,
};
