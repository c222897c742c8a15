// SPDX-License-Identifier: GPL-3.0-or-later
#include "join/device.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "join/origin.h"
#include "join/place.h"
#include "join/place_calls.h"
#include "join/tell.h"
#include "symbols/demangle.h"

/* Places the join's matches if @more is positive. */
static int take(struct second_pass *p, int more)
{
	const struct match *match;
	int err = min_t(int, more, 0);

	while (more > 0 && !err && (match = join__next(p->join)))
		err = place__match(p, match);
	return err;
}

/* ---- launches ------------------------------------------------------------------------------- */

/*
 * Replaces an impossible timestamp of a launch by the timestamp of its process's previous launch,
 * or by the start of the process.
 * Return: 1 if the launch's own timestamp is possible; 0 if not; or -ENOMEM.
 */
static int launch__mend(struct second_pass *p, uint32_t proc, struct launch *l)
{
	const struct found *f = p->found;
	struct arrived *arrived;
	int err = second_pass__arrived(p, proc, &arrived);

	if (err)
		return err;
	if (found__has_time(f, l->time_ns, l->time_ns)) {
		arrived->launch_ns = l->time_ns;
		return 1;
	}
	l->time_ns = arrived->launch_ns ?: p->model->machine.procs.v[proc].time_ns;
	l->time_ns = found__nearest_ns(f, l->time_ns);
	return 0;
}

/*
 * Return: the launch's key. If the launch's path is lost, its API is known only in a process that
 * uses a single API. In other processes, the key then matches no device work.
 */
static uint64_t launch__key(const struct model *m, uint32_t proc, uint32_t path, uint32_t id)
{
	unsigned int apis = m->machine.procs.v[proc].apis;

	if (path != NO_INDEX && m->paths.v[path].api_known)
		return JOIN_KEY(SCOPE(proc, m->paths.v[path].api_number), id);
	return apis & (apis - 1) ? JOIN_KEY(proc, 0) :
	       JOIN_KEY(SCOPE(proc, apis ? __builtin_ctz(apis) : 0), id);
}

/*
 * Reads launch @i and resolves its ids. @timed: set to 1 if the launch's own timestamp is possible.
 * Return: the number of undefined ids, or -errno.
 */
static int read_launch(struct second_pass *p, const struct xpu_record_launches *launches,
		       uint32_t i, struct launch *l, uint64_t *key, bool *one_record, int *timed)
{
	struct model *m = p->model;
	const struct xpu_launch *rec = &launches->launches[i];
	const __u32 *range_ids = (const void *)&launches->launches[launches->nr];
	uint32_t path, proc = NO_INDEX;
	int nr_bad, err = 0;

	*l = (struct launch){ .time_ns = launches->time_ns + (int64_t)rec->delta_ns };
	nr_bad = origin__read(p->found, m, rec->path_id, rec->thread_id, l, &proc, &path);
	if (nr_bad < 0)
		return nr_bad;
	*timed = launch__mend(p, proc, l);
	if (!*timed)
		err = origin__read(p->found, m, rec->path_id, rec->thread_id, l, &proc, &path);
	if (*timed < 0 || err < 0)
		return min_t(int, *timed, err);
	err = 0;
	l->time_ns += p->found->shift_ns;
	*key = launch__key(m, proc, path, rec->correlation_id);
	*one_record = path != NO_INDEX && m->paths.v[path].one_record;
	if (launches->hdr.misc & XPU_MISC_LAUNCHES_RANGES)
		err = second_pass__in_range(p, proc, range_ids[i], &l->chain);
	return err < 0 ? err : nr_bad + err;
}

/* Passes launch @i to the features. Return: 0 or -ENOMEM. */
static int launch__hooks(struct second_pass *p, const struct xpu_record_launches *rec, uint32_t i,
			 const struct launch *l, uint64_t key)
{
	const __u32 *range_ids = (const void *)&rec->launches[rec->nr];
	const struct hooks *hooks = &p->launch_hooks;
	struct placed_launch placed;
	unsigned int k;
	int err = 0;

	if (!hooks->nr)
		return 0;
	placed = (struct placed_launch){
		.key = key, .launch = l,
		.range_id = rec->hdr.misc & XPU_MISC_LAUNCHES_RANGES ? range_ids[i] : 0,
	};
	for (k = 0; k < hooks->nr && !err; k++)
		err = hooks->v[k].feature->launch(hooks->v[k].state, p, &placed);
	return err;
}

/* Notes a launch of a process that was not recorded from its beginning to its end. */
static int see_in_span(struct attach_span *span, uint64_t key, uint32_t thread)
{
	span = attach_span__of(span, JOIN_KEY_API(key));
	if (!span)
		return -ENOMEM;
	return attach_span__see(span, JOIN_KEY_ID(key)) ?:
	       thread == NO_INDEX ? 0 : attach_span__note_thread(span, thread, JOIN_KEY_ID(key));
}

int device__launches(struct second_pass *p, const struct xpu_record_launches *rec)
{
	struct model *m = p->model;
	struct arrived *arrived;
	struct launch l;
	uint64_t key = 0, *seen_ns, made_ns;
	bool one_record;
	uint32_t i;
	int err, timed;

	for (i = 0; i < rec->nr; i++) {
		/*
		 * The launch to prefetch most likely belongs to the process of the previous launch.
		 */
		if (rec->nr - i > JOIN_PREFETCH)
			join__prefetch(p->join,
				       JOIN_KEY(JOIN_KEY_SCOPE(key),
						rec->launches[i + JOIN_PREFETCH].correlation_id));
		err = read_launch(p, rec, i, &l, &key, &one_record, &timed);
		if (err < 0)
			return err;
		p->sums->loss.bad_refs += err;
		err = second_pass__arrived(p, JOIN_KEY_PROC(key), &arrived);
		if (err)
			return err;
		made_ns = l.time_ns - p->found->shift_ns;
		if (!arrived->nr_launches++ || made_ns < arrived->first_ns)
			arrived->first_ns = made_ns;
		if (arrived->attach_span) {
			err = see_in_span(arrived->attach_span, key, l.thread);
			if (err)
				return err;
		}
		seen_ns = &m->machine.procs.v[JOIN_KEY_PROC(key)].seen_ns;
		*seen_ns = max_t(uint64_t, *seen_ns, made_ns);
		m->chains.v[l.chain].nr_launches++;
		if (l.thread != NO_INDEX)
			m->threads.v[l.thread].nr_launches++;
		if (timed)
			sums__see_time(p->sums, l.time_ns, l.time_ns);
		p->sums->loss.outside_launches += !timed;
		err = launch__hooks(p, rec, i, &l, key);
		if (err)
			return err;
		/*
		 * With a filter, the sink gets a launch later, once the launch is known to pass the
		 * filter.
		 */
		if (!filter__active(p->opts->filter))
			err = tell__launch(p, key, &l);
		if (!err)
			err = take(p, join__add_launch(p->join, key, &l, one_record));
		if (err)
			return err;
	}
	return 0;
}

int device__earlier(struct second_pass *p, const struct xpu_record_launches *rec)
{
	struct launch l;
	bool one_record;
	uint64_t key;
	uint32_t i;
	int err, timed;

	for (i = 0; i < rec->nr; i++) {
		err = read_launch(p, rec, i, &l, &key, &one_record, &timed);
		if (err < 0)
			return err;
		p->sums->loss.bad_refs += err;
		err = take(p, join__add_earlier(p->join, key, &l));
		if (err)
			return err;
	}
	return 0;
}

int device__relaunches(struct second_pass *p, const struct xpu_record_launches *rec)
{
	struct launch l;
	bool one_record;
	uint64_t key;
	uint32_t i;
	int err, timed;

	for (i = 0; i < rec->nr; i++) {
		err = read_launch(p, rec, i, &l, &key, &one_record, &timed);
		if (err >= 0)
			err = take(p, join__rescan_launch(p->join, key, &l));
		if (err)
			return err;
	}
	return 0;
}

/* ---- device records ------------------------------------------------------------------------- */

static int work__stream(struct second_pass *p, uint32_t proc, uint32_t id, uint32_t *idx)
{
	struct model *m = p->model;
	struct stream stream = { .proc = proc };
	struct arrived *arrived;
	int err;

	if (id && idmap__get(&p->found->streams, ID_KEY(proc, id), idx))
		return 0;
	p->sums->loss.bad_refs++;
	err = second_pass__arrived(p, proc, &arrived);
	if (err)
		return err;
	if (arrived->unknown_stream == NO_INDEX) {
		err = gpus__get(&m->gpus, proc, 0, &stream.gpu);
		arrived->unknown_stream = m->streams.nr;
		if (!err)
			err = array_push(&m->streams, stream);
		if (err)
			return err;
	}
	*idx = arrived->unknown_stream;
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

/* Return: the key of a device record. */
static uint64_t work__key(uint32_t proc, const struct xpu_record *rec)
{
	return JOIN_KEY(SCOPE(proc, XPU_API(rec->misc)), work__correlation_id(rec));
}

/* Reads the times of device work. They stay 0 if the record's times are impossible. */
static void work__time(struct second_pass *p, const struct xpu_record *rec, struct work *w)
{
	/* All device records begin with the same members, and the times are the first members. */
	const struct xpu_record_kernel *k = (const void *)rec;
	uint64_t end_ns;

	if (rec->misc & XPU_MISC_BAD_TIME || !k->start_ns ||
	    __builtin_add_overflow(k->start_ns, k->duration_ns, &end_ns) ||
	    __builtin_add_overflow(end_ns, p->found->shift_ns, &end_ns)) {
		p->sums->loss.bad_times++;
		return;
	}
	if (!found__has_time(p->found, k->start_ns, k->start_ns + k->duration_ns)) {
		p->sums->loss.outside_works++;
		return;
	}
	w->start_ns = k->start_ns + p->found->shift_ns;
	w->duration_ns = k->duration_ns;
	sums__see_time(p->sums, w->start_ns, end_ns);
}

/* Finds the leaf of a kernel by its mangled name. Return: 0 or -ENOMEM. */
static int kernel__new_leaf(struct second_pass *p, uint32_t gpu, const char *mangled,
			    uint32_t shape_idx, uint32_t *idx)
{
	const struct xpu_shape *shape = shapes__at(&p->model->shapes, shape_idx);
	char *pretty = demangle(mangled), *name = NULL, text[SHAPE_TEXT_MAX];
	int err;

	if (p->opts->by_shape && shape) {
		shape__text(shape, text);
		if (asprintf(&name, "%s%s", pretty ?: mangled, text) < 0) {
			free(pretty);
			return -ENOMEM;
		}
	}
	err = leaves__kernel(&p->model->leaves, gpu, name ?: pretty ?: mangled, shape_idx,
			     p->opts->with_shapes, idx);
	free(name);
	free(pretty);
	return err;
}

/* Finds the leaf and shape of a kernel by the id of its mangled name. Return: 0 or -ENOMEM. */
static int kernel__leaf(struct second_pass *p, uint32_t proc, uint32_t gpu, uint32_t name,
			struct work *w)
{
	struct leaves *leaves = &p->model->leaves;
	const struct found *f = p->found;
	uint32_t string, shape, *idx = &w->leaf;
	int err = 0;

	if (!name || !ids__get(&f->strings, proc, name, &string)) {
		p->sums->loss.bad_refs++;
		return leaves__get(leaves, LEAF_KERNEL, gpu, UNKNOWN, idx);
	}
	while (!err && p->device.kernels.nr <= string)
		err = array_push(&p->device.kernels,
				 ((struct known_kernel){ NO_INDEX, WORK_NO_SHAPE }));
	if (err)
		return err;
	*idx = p->device.kernels.v[string].leaf;
	w->shape = p->device.kernels.v[string].shape;
	if (*idx != NO_INDEX && leaves->v[*idx].gpu == gpu)
		return 0;
	if (!ids__get(&f->shapes, proc, name, &shape))
		shape = NO_INDEX;
	err = kernel__new_leaf(p, gpu, f->string_defs.v[string], shape, idx);
	w->shape = min_t(uint32_t, shape, WORK_NO_SHAPE);
	if (!err)
		p->device.kernels.v[string] = (struct known_kernel){ *idx, w->shape };
	return err;
}

static int device__work(struct second_pass *p, uint32_t proc, const struct xpu_record *rec)
{
	struct model *m = p->model;
	const struct xpu_record_memory *mem = (const void *)rec;
	const struct xpu_record_kernel *k = (const void *)rec;
	bool kernel = rec->type == XPU_RECORD_KERNEL, copy = rec->type == XPU_RECORD_MEMCPY;
	struct arrived *arrived;
	struct work w = { .shape = WORK_NO_SHAPE };
	const char *name;
	uint32_t gpu;
	int err;

	err = second_pass__arrived(p, proc, &arrived);
	if (err)
		return err;
	arrived->nr_works++;
	w.maker = NO_INDEX;
	if (rec->misc & XPU_MISC_GRAPH_NODE)
		err = second_pass__find_maker(p, proc, rec, &w.maker);
	if (!err)
		err = work__stream(p, proc, kernel ? k->stream : mem->stream, &w.stream);
	if (err)
		return err;
	gpu = m->streams.v[w.stream].gpu;
	if (kernel) {
		err = kernel__leaf(p, proc, gpu, k->name, &w);
	} else {
		name = copy ? memcpy_kind__name(mem->copy_kind) : "";
		err = leaves__get(&m->leaves, copy ? LEAF_MEMCPY : LEAF_MEMSET, gpu, name, &w.leaf);
		w.bytes = mem->bytes;
	}
	if (err)
		return err;
	work__time(p, rec, &w);
	m->gpus.list.v[gpu].used = true;
	return take(p, join__add_work(p->join, work__key(proc, rec), &w));
}

int device__batch(struct second_pass *p, const struct record_iter *outer,
		  const struct xpu_record_batch *batch)
{
	const struct xpu_record *rec, *ahead[JOIN_PREFETCH];	/* read but not yet taken */
	uint64_t nr_read = 0, nr_taken = 0, baseline;
	struct model *m = p->model;
	struct arrived *arrived;
	struct record_iter it;
	uint32_t proc;
	int err;

	err = machine__proc(&m->machine, batch->proc_id, &proc);
	record_iter__enter(&it, outer, batch);
	while (!err) {
		rec = record_iter__next(&it);
		if (rec) {
			join__prefetch(p->join, work__key(proc, rec));
			ahead[nr_read++ % JOIN_PREFETCH] = rec;
			if (nr_read < JOIN_PREFETCH)
				continue;
		} else if (nr_taken == nr_read) {
			break;
		}
		rec = ahead[nr_taken++ % JOIN_PREFETCH];
		if (rec->type == XPU_RECORD_KERNEL || rec->type == XPU_RECORD_MEMCPY ||
		    rec->type == XPU_RECORD_MEMSET)
			err = device__work(p, proc, rec);
		else if (rec->type == XPU_RECORD_CALLS)
			err = calls__read(p, proc, batch, (const void *)rec);
	}
	baseline = err ? 0 : found__sent(p->found, proc)->baseline;
	if (!baseline)			/* an import has no counters to compare */
		return err;
	err = second_pass__arrived(p, proc, &arrived);
	/* Do not count the batch that has the baseline: counting begins after it. */
	if (!err && baseline == record_iter__place(outer))
		arrived->nr_works = arrived->nr_calls = 0;
	return err;
}

int device__finish(struct second_pass *p)
{
	return take(p, join__finish(p->join));
}
