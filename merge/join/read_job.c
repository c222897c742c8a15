// SPDX-License-Identifier: GPL-3.0-or-later
#include "join/read_job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "join/absorb.h"
#include "join/device.h"
#include "join/frames.h"
#include "join/losses.h"
#include "join/place_samples.h"
#include "join/works_keeper.h"
#include "read/collect.h"
#include "read/resolve.h"
#include "symbols/name_keeper.h"

#define LOOK_UP_EPOCHS	64		/* maximum number of remap epochs in which a path is looked
					 * up */

/* ---- begin and end --------------------------------------------------------------------------- */

static void read_job__open_jitmaps(struct read_job *p, const struct input *in)
{
	char host[256] = "";
	struct stat st;

	gethostname(host, sizeof(host) - 1);
	p->jitmaps = (struct jitmaps){
		.kept = strpool__internf(&p->model->strings, "%s" XPU_KEPT_SUFFIX,
					 in->reader->name),
		.here = !strcmp(host, in->host),
		.owner = stat(in->reader->name, &st) ? geteuid() : st.st_uid,
		.real_ns = input__boot_ns(in),
	};
}

/*
 * Saves and resets the first and last time of the sums. While this recording is read, both times
 * cover only this recording.
 */
static void read_job__enter(struct read_job *p)
{
	struct sums *sums = p->sums;

	p->first_ns = sums->first_ns;
	p->last_ns = sums->last_ns;
	sums->first_ns = UINT64_MAX;
	sums->last_ns = 0;
	memset(&sums->loss, 0, sizeof(sums->loss));
}

static void read_job__leave(struct read_job *p)
{
	struct sums *sums = p->sums;

	sums->first_ns = min_t(uint64_t, sums->first_ns, p->first_ns);
	sums->last_ns = max_t(uint64_t, sums->last_ns, p->last_ns);
}

static void read_job__begin(struct read_job *p)
{
	struct input *in = &p->model->inputs.v[p->nr];

	p->model->ranges.first = p->model->ranges.list.nr;
	p->model->machine.recording = p->nr;
	p->model->gpus.host = in->host_nr;
	in->first_info = p->model->infos.nr;
	in->nr_infos = 0;
	read_job__enter(p);
	read_job__open_jitmaps(p, in);
	found__init(&p->found, p->model, in);
	join__init(&p->join);
	second_pass__init(&p->pass, &p->opts, &p->found, p->model, p->sums, &p->join,
			  p->apart ? NULL : &p->s->unwind);
}

int read_job__init(struct read_job *p, struct session *s, size_t nr, struct passes *passes)
{
	*p = (struct read_job){
		.s = s, .nr = nr, .opts = s->opts, .passes = passes,
		.model = &s->model, .sums = &s->sums, .msgs = &s->msgs,
	};
	machine__next(&s->model.machine);
	copied_stacks__next(&s->unwind);
	read_job__begin(p);
	return 0;
}

/*
 * Initializes the model of a read job. All read jobs share the session's inputs; each job writes
 * only to its own input.
 */
static void model__init_apart(struct model *m, const struct model *of)
{
	model__init(m);
	m->inputs.v = of->inputs.v;
	m->inputs.nr = of->inputs.nr;
	m->nr_hosts = of->nr_hosts;
	m->realtime = of->realtime;
	m->start_ns = of->start_ns;
	m->gpus.keeps_uses = true;
}

int read_job__init_apart(struct read_job *p, struct session *s, size_t nr, struct passes *passes)
{
	struct read_job_results *apart = calloc(1, sizeof(*apart));
	int err;

	if (!apart)
		return -ENOMEM;
	sums__init(&apart->sums, &apart->model, &s->opts);
	*p = (struct read_job){
		.s = s, .nr = nr, .opts = s->opts, .passes = passes, .apart = apart,
		.model = &apart->model, .sums = &apart->sums, .msgs = &apart->msgs,
	};
	if (s->opts.sink) {
		err = s->opts.sink->apart(s->opts.sink->ctx, &p->opts.sink);
		if (err) {
			sums__exit(&apart->sums);
			free(apart);
			return err;
		}
	}
	model__init_apart(&apart->model, &s->model);
	apart->sums.works.wanted = s->keeps_works;
	if (s->opts.filter) {
		apart->filter = *s->opts.filter;
		memset(&apart->filter.kernels, 0, sizeof(apart->filter.kernels));
		p->opts.filter = &apart->filter;
	}
	read_job__begin(p);
	return 0;
}

/* Drops the model's references to records of this recording. */
static void read_job__let_go(struct read_job *p)
{
	struct model *m = p->model;
	size_t i;

	for (i = p->found.first_path; i < m->paths.nr; i++) {
		m->paths.v[i].rec = NULL;
		m->paths.v[i].image = NULL;
	}
	reader__let_go(p->found.reader);
}

static void read_job_results__free(struct read_job_results *apart)
{
	if (!apart)
		return;
	memset(&apart->model.inputs, 0, sizeof(apart->model.inputs));
	idmap__free(&apart->filter.kernels);
	msgs__free(&apart->msgs);
	sums__exit(&apart->sums);
	model__exit(&apart->model);
	free(apart);
}

void read_job__exit(struct read_job *p)
{
	read_job__leave(p);
	samples__exit(&p->pass);
	second_pass__exit(&p->pass);
	join__exit(&p->join);
	if (!p->apart)
		p->s->join = p->join;
	read_job__let_go(p);
	found__exit(&p->found);
	jitmaps__exit(&p->jitmaps);
	remap__exit(&p->remap);
	if (p->apart && p->opts.sink)
		p->s->opts.sink->free_apart(p->opts.sink);
	read_job_results__free(p->apart);
}

/* ---- the passes ------------------------------------------------------------------------------ */

/* Passes a record to the features. Return: 0, -ENOMEM or the sink's error. */
static int record__hooks(struct second_pass *p, const struct xpu_record *rec)
{
	const struct hooks *hooks = &p->record_hooks;
	unsigned int i;
	int err = 0;

	for (i = 0; i < hooks->nr && !err; i++)
		err = hooks->v[i].feature->record(hooks->v[i].state, p, rec);
	return err;
}

static int stream_record(void *ctx, const struct record_iter *it, const struct xpu_record *rec)
{
	struct second_pass *p = ctx;

	/* If records are missing, the last stacks of threads are unknown. */
	if (it->nr_damages != p->nr_damages) {
		p->nr_damages = it->nr_damages;
		if (p->unwind)
			copied_stacks__next(p->unwind);
	}
	switch (rec->type) {
	case XPU_RECORD_LAUNCHES:
		return device__launches(p, (const void *)rec);
	case XPU_RECORD_EARLIER:
		return device__earlier(p, (const void *)rec);
	case XPU_RECORD_BATCH:
		return device__batch(p, it, (const void *)rec);
	case XPU_RECORD_SAMPLES:
		return samples__read(p, (const void *)rec);
	case XPU_RECORD_STACK:
		return p->unwind ? samples__stack(p, (const void *)rec) : 0;
	case XPU_RECORD_CPU_REST:
		return samples__rest(p, (const void *)rec);
	default:
		return record__hooks(p, rec);
	}
}

static int rescan_record(void *ctx, const struct record_iter *it, const struct xpu_record *rec)
{
	(void)it;
	return rec->type == XPU_RECORD_LAUNCHES ? device__relaunches(ctx, (const void *)rec) : 0;
}

/*
 * Calls begin() of the features that this or an earlier recording woke. Return: 0 or -ENOMEM.
 */
static int read_job__begin_features(struct read_job *p)
{
	void **states = p->model->features;
	unsigned int i;
	int err = 0;

	for (i = 0; features[i] && !err; i++) {
		if (features[i]->wakes && features[i]->wakes(&p->pass))
			err = feature__wake(i, p->model, &states[i]);
		if (!err && states[i] && features[i]->begin)
			err = features[i]->begin(states[i], &p->pass);
	}
	second_pass__add_hooks(&p->pass);
	works_keeper__add(&p->pass);
	return err;
}

/* Reads the definitions and resolves their ids. Return: 0 or -ENOMEM. */
static int read_job__collect(struct read_job *p)
{
	struct collect c = {
		.found = &p->found, .model = p->model, .loss = &p->sums->loss, .msgs = p->msgs,
	};
	int err = collect__run(&c, p->passes);

	p->status = c.status;
	if (p->found.to_ns != UINT64_MAX)
		p->sums->loss.outside_windows +=
			captured__leave_out(&p->model->captured, p->found.first_proc,
					    p->found.from_ns + p->found.shift_ns,
					    p->found.to_ns + p->found.shift_ns);
	captured__sort(&p->model->captured);
	return err ?: found__resolve(&p->found, p->model);
}

/* Makes the second pass, and the third if needed. Return: 0, -ENOMEM or the sink's error. */
static int read_job__second_pass(struct read_job *job)
{
	const struct reader *r = job->found.reader;
	void *const *states = job->model->features;
	struct second_pass *p = &job->pass;
	struct record_iter it;
	int err = second_pass__open_attach_spans(p);

	err = err ?: features_call(states, open, p, job->passes);
	err = err ?: pass__run(r, job->passes, stream_record, p, 300, 950, &it);
	if (!err && join__wants_rescan(p->join))
		err = pass__run(r, job->passes, rescan_record, p, 950, 950, &it);
	err = err ?: device__finish(p);
	err = err ?: features_call(states, last, p);
	err = err ?: samples__finish(p);
	return err ?: features_call(states, close, p);
}

static int read_job__later_passes(struct read_job *p)
{
	int err = read_job__second_pass(p);

	if (!err && p->apart && p->opts.sink && p->opts.sink->end)
		p->opts.sink->end(p->opts.sink->ctx);
	return err;
}

int read_job__read(struct read_job *p)
{
	int err = read_job__collect(p) ?: read_job__begin_features(p);

	if (!err && p->meet) {
		err = p->meet(p->meet_ctx, p);
		p->again |= err > 0;
		err = min_t(int, err, 0);
	}
	/* Unwinding needs the unwind tables of files, which belong to the session. */
	p->waits = p->apart && p->found.has_stacks;
	return err || p->again || p->waits ? err : read_job__later_passes(p);
}

/* Makes the passes that had to wait for read_job__take(). Return: like read_job__read(). */
static int read_job__go_on(struct read_job *p)
{
	p->pass.unwind = &p->s->unwind;
	copied_stacks__next(p->pass.unwind);
	return read_job__later_passes(p);
}

/* Names the frames, and counts what is missing. Return: 0 or -ENOMEM. */
static int read_job__name(struct read_job *p)
{
	struct model *m = p->model;
	size_t i;
	int err = frames__run(&p->s->callchains, &p->found, &p->jitmaps, m, &p->sums->loss);

	if (!err) {
		losses__settle(&p->pass);
		err = features_call(m->features, settle, &p->pass);
	}
	for (i = p->found.first_proc; i < m->machine.procs.nr; i++)
		m->machine.procs.v[i].name = model__proc_name(m, i);
	model__input(m)->loss = p->sums->loss;
	return err;
}

int read_job__take(struct read_job *p)
{
	struct session *s = p->s;
	int err = 0;

	if (p->waits && !p->again)
		err = read_job__go_on(p);
	if (!err && p->apart && !p->again)
		err = remap__start(&p->remap, &s->model, p->model);
	p->again |= err > 0;
	if (err < 0 || p->again)
		return min_t(int, err, 0);
	err = read_job__name(p);
	if (!err && p->apart && s->opts.sink && s->opts.sink->named)
		err = p->opts.sink->named(p->opts.sink->ctx, p->model);
	if (!err && p->apart)
		err = model__absorb(&s->model, p->model, s->opts.with_shapes, &p->remap) ?:
		      sums__absorb(&s->sums, p->sums, &p->remap) ?:
		      features__absorb(&s->model, s->model.features, p->model->features,
				       &p->remap);
	if (!err && p->apart && s->opts.sink)
		err = s->opts.sink->absorb(s->opts.sink->ctx, &s->model, p->opts.sink, &p->remap);
	if (p->apart)
		msgs__move(&s->msgs, p->msgs);
	s->status = s->status ?: p->status;
	return err;
}

/* ---- only names ------------------------------------------------------------------------------ */

/* Unwinds a stack. Return: 1 to end the pass, 0 or -ENOMEM. */
static int unwind_record(void *ctx, const struct record_iter *it, const struct xpu_record *rec)
{
	struct second_pass *p = ctx;

	if (rec->type != XPU_RECORD_STACK)
		return 0;
	if (!name_keeper__is_over(p->keeper))
		return stream_record(ctx, it, rec);
	p->keeper->nr_left++;
	return 1;
}

/*
 * Makes the chains of a call path, one for each remap epoch in which it may occur: in each epoch,
 * an address may mean another function. Return: 0 or -ENOMEM.
 */
static int read_job__add_chains(struct read_job *p, uint32_t idx)
{
	struct path *path = &p->model->paths.v[idx];
	const struct image *image = path->image;
	uint64_t time_ns = path->rec->time_ns;
	size_t i, first, nr = image ? image->epochs.nr : 0;
	uint32_t chain;
	int err = chains__of_path(&p->model->chains, path, idx, time_ns, &chain);

	first = sorted_count(nr, k, image->epochs.v[k] <= time_ns);
	for (i = first; i < nr && i < first + LOOK_UP_EPOCHS && !err; i++)
		err = chains__of_path(&p->model->chains, path, idx, image->epochs.v[i], &chain);
	return err;
}

int read_job__look_up(struct read_job *p)
{
	struct name_keeper *keeper = p->s->callchains.keeper;
	size_t nr, i;
	struct record_iter it;
	int err;

	p->pass.keeper = keeper;
	err = read_job__collect(p);
	nr = p->model->paths.nr;
	if (!err && p->found.has_stacks)
		err = pass__run(p->found.reader, p->passes, unwind_record, &p->pass, 300, 950, &it);
	for (i = p->found.first_path; i < nr && err >= 0; i++)
		err = read_job__add_chains(p, i);
	if (err >= 0)
		err = frames__run(&p->s->callchains, &p->found, &p->jitmaps, p->model,
				  &p->sums->loss);
	return err ?: name_keeper__look_up_lines(keeper, &p->s->callchains.srclines);
}
