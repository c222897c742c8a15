// SPDX-License-Identifier: GPL-3.0-or-later
#include "join/place_samples.h"

#include <errno.h>
#include <string.h>

#include "hash.h"
#include "join/origin.h"
#include "join/tell.h"
#include "join/wanted.h"
#include "symbols/name_keeper.h"
#include "xpu_time.h"

/* A thread's CPU clock and the clock of timestamps may differ by this much. */
#define CLOCKS_APART_NS	1000000000ull

/* a call chain that was unwound here; equal chains are one path */
struct unwound_entry {
	UT_hash_handle hh;
	uint32_t path;
	struct unwound_key {
		struct image *image;
		struct xpu_record_callchain rec;
	} key;
};

/* Adds the CPU time of a sample, or CPU time without a sample. @at: the chain, thread and name */
static int cpu_time__add(struct second_pass *p, const struct launch *at,
			 const struct filter_span *s)
{
	uint32_t leaf;
	int err = leaves__get(&p->model->leaves, LEAF_CPU, NO_INDEX, "", &leaf);

	if (err || tell__leaves_out(p, leaf))
		return err;
	return sums__place(p->sums, p->opts, at->chain, at->comm, at->thread, leaf, NO_INDEX) ?:
	       sums__add_sum(p->sums, s->nr, s->ns, s->ns) ?:
	       times__thread(&p->sums->times, at->thread, at->comm, LEAF_CPU, s->from_ns, s->to_ns,
			     s->ns) ?:
	       tell__spent(p, at->thread, leaf, s) ?:
	       tell__placed(p, &(struct placed){
			.time_ns = s->to_ns,
			.duration_ns = s->ns,
			.comm = at->comm,
			.chain = at->chain,
			.thread = at->thread,
			.leaf = leaf,
			.ends_after = s->to_ns != at->time_ns,
	       });
}

/*
 * Adds one sample to the sums. @at: the sample's chain, thread, name and timestamp. @period_ns: the
 * time that the sample stands for
 */
static int sample__add(struct second_pass *p, struct launch *at, uint32_t period_ns)
{
	struct model *m = p->model;
	struct filter_span s = { .ns = period_ns, .nr = 1 };
	const struct hooks *hooks = &p->sample_hooks;
	unsigned int i;
	int err;

	if (!found__has_time(p->found, at->time_ns, at->time_ns)) {
		p->sums->loss.outside_samples++;
		return 0;
	}
	at->time_ns += p->found->shift_ns;
	sums__see_time(p->sums, at->time_ns, at->time_ns);
	if (p->opts->by_range) {
		err = chains__in_range(&m->chains,
				       second_pass__range_at(p, at->thread, at->time_ns),
				       &at->chain);
		if (err)
			return err;
	}
	m->chains.v[at->chain].nr_samples++;
	if (p->opts->without & 1u << LEAF_CPU)
		return 0;
	/* A sample stands for the period that ends at its timestamp. */
	s.from_ns = xpu_ns_between(period_ns, at->time_ns);
	s.to_ns = at->time_ns;
	if (!wanted__cut(p->opts->filter, m, &s))
		return 0;
	err = wanted__work(p->opts->filter, m, at->chain, at->thread, at->comm, s.from_ns, NULL);
	if (err <= 0)
		return err;
	if (!p->opts->own_threads && thread_comm__is_ours(at->comm)) {
		p->sums->own_ns += s.ns;
		return 0;
	}
	p->sums->nr_samples += s.nr;
	if (at->thread != NO_INDEX)
		m->threads.v[at->thread].nr_samples += s.nr;
	err = cpu_time__add(p, at, &s);
	for (i = 0; i < hooks->nr && !err; i++)
		err = hooks->v[i].feature->sample(hooks->v[i].state, p, &(struct placed_sample){
			.time_ns = s.to_ns, .chain = at->chain, .thread = at->thread,
		});
	return err;
}

/*
 * Return: whether the time of a sample belongs to a feature; during the pass, true also if the time
 * may belong to a feature. @time_ns: by the recording's clock
 */
static bool sample__is_owned(const struct second_pass *p, uint32_t thread_id, uint64_t time_ns)
{
	const struct hooks *hooks = &p->owner_hooks;
	unsigned int i;

	for (i = 0; i < hooks->nr; i++)
		if (hooks->v[i].feature->owns_sample(hooks->v[i].state, thread_id,
						     time_ns + p->found->shift_ns))
			return true;
	return false;
}

/*
 * Adds a sample, unless its time may belong to a feature. In that case samples__finish() decides.
 */
static int sample__see(struct second_pass *p, uint32_t thread_id, struct launch *at,
		       uint32_t period_ns)
{
	if (!sample__is_owned(p, thread_id, at->time_ns))
		return sample__add(p, at, period_ns);
	return array_push(&p->samples.waiting,
			  ((struct waiting_sample){ *at, period_ns, thread_id }));
}

int samples__finish(struct second_pass *p)
{
	int err = 0;

	array_each_while(&p->samples.waiting, sample, !err) {
		if (!sample__is_owned(p, sample->thread_id, sample->at.time_ns))
			err = sample__add(p, &sample->at, sample->period_ns);
	}
	array_free(&p->samples.waiting);
	return err;
}

int samples__read(struct second_pass *p, const struct xpu_record_samples *rec)
{
	struct model *m = p->model;
	uint32_t i, path, proc;
	bool has_ran = rec->hdr.misc & XPU_MISC_SAMPLES_RAN;
	const __u32 *ran_ns = (const void *)&rec->samples[rec->nr];
	struct launch at;
	int err, nr_bad;

	for (i = 0; i < rec->nr; i++) {
		const struct xpu_sample *sample = &rec->samples[i];

		at = (struct launch){ .time_ns = rec->time_ns + (int64_t)sample->delta_ns };
		proc = NO_INDEX;
		nr_bad = origin__read(p->found, m, sample->path_id, sample->thread_id, &at, &proc,
					      &path);
		if (nr_bad < 0)
			return nr_bad;
		p->sums->loss.bad_refs += nr_bad;
		err = path == NO_INDEX ?
		      chains__of_label(&m->chains, proc, LABEL_NO_STACK, &at.chain) : 0;
		err = err ?: sample__see(p, sample->thread_id, &at,
					 has_ran ? ran_ns[i] : rec->period_ns);
		if (err)
			return err;
	}
	return 0;
}

int samples__rest(struct second_pass *p, const struct xpu_record_cpu_rest *rec)
{
	uint64_t shift_ns = p->found->shift_ns;
	struct filter_span s = {
		.from_ns = rec->from_ns + shift_ns, .to_ns = rec->end_ns + shift_ns, .ns = rec->ns,
	};
	struct launch at = { .thread = NO_INDEX };	/* CPU time without a sample has no
							 * timestamp. */
	struct model *m = p->model;
	uint32_t proc;
	int err = machine__proc(&m->machine, rec->proc_id, &proc);

	if (err)
		return err;
	if (rec->end_ns < rec->from_ns || rec->ns > rec->end_ns - rec->from_ns + CLOCKS_APART_NS) {
		p->sums->loss.bad_refs++;
		return 0;
	}
	if (rec->thread_id && (!idmap__get(&p->found->threads, rec->thread_id, &at.thread) ||
			       m->threads.v[at.thread].proc != proc)) {
		p->sums->loss.bad_refs++;
		at.thread = NO_INDEX;
	}
	/* Use the last name that the thread had. */
	at.comm = at.thread != NO_INDEX ?
		  model__thread_comm(m, &m->threads.v[at.thread], xpu_ns_between(1, rec->end_ns)) :
		  model__proc_comm(m, proc, xpu_ns_between(1, rec->end_ns));
	if (!wanted__cut(p->opts->filter, m, &s))
		return 0;
	err = chains__of_label(&m->chains, proc, LABEL_NO_SAMPLE, &at.chain);
	err = err ?: wanted__work(p->opts->filter, m, at.chain, at.thread, at.comm, s.from_ns,
				  NULL);
	if (err <= 0)
		return err;
	if (!p->opts->own_threads && thread_comm__is_ours(at.comm)) {
		p->sums->own_ns += s.ns;
		return 0;
	}
	return cpu_time__add(p, &at, &s);
}

/* ---- unwinding stacks ----------------------------------------------------------------------- */

static uint32_t callchain__nr_kernel(const struct xpu_record_callchain *rec)
{
	uint32_t nr;

	for (nr = 0; nr < rec->nr_frames && XPU_FRAME_IS_KERNEL(rec->frames[nr]); nr++)
		;
	return nr;
}

/*
 * Finds or makes the path of the first @nr frames of p->unwind, after the frames of @kernel (may be
 * NULL). Equal chains in one image are one path.
 */
static int unwound__path(struct second_pass *p, uint32_t proc, struct image *image,
			 const struct xpu_record_callchain *kernel, uint16_t nr, uint16_t flags,
			 uint32_t *idx)
{
	struct model *m = p->model;
	uint32_t nr_kernel = kernel ? kernel->nr_frames : 0;
	size_t frames_bytes = (nr_kernel + nr) * sizeof(p->unwind->frames[0]);
	size_t key_bytes = sizeof(struct unwound_key) + frames_bytes;
	struct path path = { .proc = proc, .image = image, .chain = NO_INDEX };
	struct unwound_entry *e;
	struct unwound_key *key;
	bool oom = false;
	int err = array_reserve(&p->samples.unwound_key, key_bytes);

	if (err)
		return err;
	key = (void *)p->samples.unwound_key.v;
	memset(key, 0, sizeof(*key));
	key->image = image;
	key->rec.hdr = (struct xpu_record){ XPU_RECORD_CALLCHAIN, flags, 0 };
	key->rec.proc_id = m->machine.procs.v[proc].proc_id;
	key->rec.nr_frames = min_t(uint32_t, nr_kernel + nr, UINT16_MAX);
	if (nr_kernel)
		memcpy(key->rec.frames, kernel->frames, nr_kernel * sizeof(kernel->frames[0]));
	memcpy(key->rec.frames + nr_kernel, p->unwind->frames, nr * sizeof(p->unwind->frames[0]));
	HASH_FIND(hh, p->samples.unwound, key, key_bytes, e);
	if (e) {
		*idx = e->path;
		return 0;
	}
	e = arena__alloc(&m->arena, sizeof(*e) + frames_bytes);
	if (!e)
		return -ENOMEM;
	memcpy(&e->key, key, key_bytes);
	path.rec = &e->key.rec;
	*idx = e->path = m->paths.nr;
	err = array_push(&m->paths, path);
	if (err)
		return err;
	HASH_ADD_KEYPTR(hh, p->samples.unwound, &e->key, key_bytes, e);
	return oom ? -ENOMEM : 0;
}

/*
 * Completes a call path that was made with frame pointers: inserts functions without a frame
 * pointer after the innermost user frame. p->unwind has @nr frames; the inserted frames are between
 * its innermost frame and the path's next frame.
 */
static int path__complete(struct second_pass *p, struct path *path, uint16_t nr)
{
	const struct xpu_record_callchain *old = path->rec;
	struct xpu_record_callchain *new;
	uint32_t next = callchain__nr_kernel(old) + 1, k;

	if (next > old->nr_frames)
		return 0;
	for (k = 1; k < nr && next < old->nr_frames; k++)
		if (p->unwind->frames[k] == old->frames[next])
			break;
	/* Nothing is missing, or this is another stack. */
	if (k < 2 || k >= nr || old->nr_frames + k - 1 > UINT16_MAX)
		return 0;
	new = arena__alloc(&p->model->arena, sizeof(*new) +
			   (old->nr_frames + k - 1) * sizeof(new->frames[0]));
	if (!new)
		return -ENOMEM;
	*new = *old;
	new->nr_frames = old->nr_frames + k - 1;
	memcpy(new->frames, old->frames, next * sizeof(new->frames[0]));
	memcpy(new->frames + next, p->unwind->frames + 1, (k - 1) * sizeof(new->frames[0]));
	memcpy(new->frames + next + k - 1, old->frames + next,
	       (old->nr_frames - next) * sizeof(new->frames[0]));
	path->rec = new;
	return 0;
}

/*
 * Replaces all frames of a call path, except kernel frames, by the first @nr frames of p->unwind.
 */
static int path__replace(struct second_pass *p, struct path *path, uint16_t nr, uint16_t flags)
{
	const struct xpu_record_callchain *old = path->rec;
	uint32_t nr_kernel = callchain__nr_kernel(old);
	uint32_t all = min_t(uint32_t, nr_kernel + nr, UINT16_MAX);
	struct xpu_record_callchain *new;

	new = arena__alloc(&p->model->arena, sizeof(*new) + all * sizeof(new->frames[0]));
	if (!new)
		return -ENOMEM;
	*new = *old;
	new->hdr.misc = (old->hdr.misc & ~(XPU_CHAIN_TRUNCATED | XPU_CHAIN_FAILED)) | flags;
	new->nr_frames = all;
	memcpy(new->frames, old->frames, nr_kernel * sizeof(new->frames[0]));
	memcpy(new->frames + nr_kernel, p->unwind->frames,
	       (all - nr_kernel) * sizeof(new->frames[0]));
	path->rec = new;
	return 0;
}

int samples__stack(struct second_pass *p, const struct xpu_record_stack *rec)
{
	struct model *m = p->model;
	const struct xpu_record_callchain *kernel = NULL;
	uint16_t nr = 0, flags = XPU_CHAIN_CPU, i;
	struct launch at = { .time_ns = rec->time_ns };
	uint32_t path, proc = NO_INDEX, epoch = 0;
	const struct recorded_stack *known = recorded_names__stack(&p->found->names, rec);
	const uint64_t *words = known ? p->found->names.words.v + known->first : NULL;
	struct image *image = NULL;
	int err, nr_bad;

	nr_bad = origin__read(p->found, m, rec->path_id, rec->thread_id, &at, &proc, &path);
	if (nr_bad < 0)
		return nr_bad;
	p->sums->loss.bad_refs += nr_bad;
	if (path != NO_INDEX)
		kernel = m->paths.v[path].rec;
	if (m->machine.procs.v[proc].pid)
		image = machine__image(&m->machine, m->machine.procs.v[proc].pid, rec->time_ns);
	if (image && image->epochs.nr)
		epoch = image__epoch(image, rec->time_ns);
	err = copied_stacks__record(p->unwind, rec, image, epoch, &nr, &flags, words,
				    known ? known->nr : 0);
	if (err < 0)
		return err;
	p->sums->loss.bad_refs += err;
	flags |= known ? known->flags & XPU_CHAIN_TRUNCATED : 0;
	if (p->keeper && !known && !p->unwind->misses_file)
		err = name_keeper__add_stack(p->keeper, rec, p->unwind->frames, nr, flags);
	if (err < 0)
		return err;
	if (!rec->period_ns && path == NO_INDEX)
		return 0;
	if (!rec->period_ns && !rec->nr_python && callchain__nr_kernel(kernel) < kernel->nr_frames)
		return path__complete(p, &m->paths.v[path], nr);
	for (i = 0; i < nr; i++)
		if (XPU_WORD_IS_PYTHON(p->unwind->frames[i]))
			p->unwind->frames[i] = pysources__frame(&p->found->pysources,
							       p->unwind->frames[i]);
	if (!rec->period_ns)
		return path__replace(p, &m->paths.v[path], nr, flags);
	err = unwound__path(p, proc, image, kernel, nr, flags, &path);
	err = err ?: chains__of_path(&m->chains, &m->paths.v[path], path, rec->time_ns, &at.chain);
	return err ?: sample__see(p, rec->thread_id, &at, rec->period_ns);
}

void samples__exit(struct second_pass *p)
{
	HASH_CLEAR(hh, p->samples.unwound);
	array_free(&p->samples.unwound_key);
	array_free(&p->samples.waiting);
}
