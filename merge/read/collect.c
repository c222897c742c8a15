// SPDX-License-Identifier: GPL-3.0-or-later
#include "read/collect.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "read/reader.h"
#include "record.h"
#include "xpu_time.h"

/* Tolerance: the clocks of device and host differ by some microseconds. */
#define EDGE_NS		10000000ull
/*
 * If a recording was not closed, launches may be this much later than the last record with a time.
 */
#define UNSENT_NS	10000000000ull

/* Indexes the thread by each tid that call records may use for it. Return: 0 or -ENOMEM. */
static int collect__tid(struct found *f, const struct xpu_record_thread *rec, uint32_t proc,
			uint32_t thread)
{
	int err = idmap__add(&f->tids, ID_KEY(proc, rec->tid), thread);

	if (err >= 0 && rec->ns_tid)
		err = idmap__add(&f->ns_tids, ID_KEY(proc, rec->ns_tid), thread);
	return min_t(int, err, 0);
}

static int collect__callchain(struct collect *c, const struct xpu_record_callchain *rec)
{
	struct path path = {
		.rec = rec, .path_id = rec->path_id, .chain = NO_INDEX,
		.api_known = rec->domain || rec->cbid, .api_number = XPU_API(rec->domain),
	};
	uint32_t idx;
	int err;

	if (!rec->path_id || idmap__get(&c->found->paths, rec->path_id, &idx))
		return 0;
	err = machine__proc(&c->model->machine, rec->proc_id, &path.proc);
	err = err ?: idmap__put(&c->found->paths, rec->path_id, c->model->paths.nr);
	err = err ?: array_push(&c->model->paths, path);
	if (!err && path.api_known && !(rec->hdr.misc & XPU_CHAIN_CPU))
		c->model->machine.procs.v[path.proc].apis |= 1u << path.api_number;
	return err;
}

static int collect__thread(struct collect *c, const struct xpu_record_thread *rec)
{
	struct thread thread = { .tid = rec->tid };
	uint32_t idx;
	int err;

	if (!rec->thread_id)
		return 0;
	/* A later definition of the thread may add a tid. */
	if (idmap__get(&c->found->threads, rec->thread_id, &idx))
		return collect__tid(c->found, rec, c->model->threads.v[idx].proc, idx);
	err = machine__proc(&c->model->machine, rec->proc_id, &thread.proc);
	/*
	 * If a tid is reused, all threads with that tid become one thread, because call records
	 * have only the tid.
	 */
	if (!err && rec->tid && idmap__get(&c->found->tids, ID_KEY(thread.proc, rec->tid), &idx))
		return idmap__put(&c->found->threads, rec->thread_id, idx);
	err = err ?: idmap__put(&c->found->threads, rec->thread_id, c->model->threads.nr);
	err = err ?: collect__tid(c->found, rec, thread.proc, c->model->threads.nr);
	err = err ?: array_push(&c->model->threads, thread);
	return err;
}

static void collect__lost(struct collect *c, const struct xpu_record_lost *rec)
{
	if (rec->kind && rec->kind < XPU_LOST_NR)
		c->loss->recorder[rec->kind] += rec->count;
	else
		c->loss->recorder_other += rec->count;
}

/*
 * Reads cumulative counters. Two threads may send at the same time and out of order, so the largest
 * counts are the latest.
 */
static int sent__read(struct found *f, struct sent *s, uint64_t place,
		      const struct xpu_record_counters *rec)
{
	int err = 0;

	if (rec->nr_batches >= s->last->nr_batches)
		err = found__keep_counters(f, &s->last, rec, rec->hdr.size);
	if (!s->carried && (!s->baseline || rec->nr_batches < s->first->nr_batches)) {
		err = err ?: found__keep_counters(f, &s->first, rec, rec->hdr.size);
		s->baseline = place;
	}
	return err;
}

/* Reads the counters that a process had at the end of the previous file. Return: 0 or -ENOMEM. */
static int collect__carried(struct collect *c, const struct xpu_record_carried *rec)
{
	struct sent *sent;
	uint32_t proc;
	int err = machine__proc(&c->model->machine, rec->proc_id, &proc);

	err = err ?: found__add_sent(c->found, proc, &sent);
	if (err)
		return err;
	sent->carried = true;
	sent->baseline = UINT64_MAX;	/* no batch contained these counters */
	sent->final = rec->hdr.misc & XPU_MISC_CARRIED_FINAL;
	sent->lost = rec->hdr.misc & XPU_MISC_CARRIED_LOST;
	err = found__keep_counters(c->found, &sent->first, &rec->first, sizeof(rec->first));
	if (!err && rec->last.nr_batches >= sent->last->nr_batches)
		err = found__keep_counters(c->found, &sent->last, &rec->last, sizeof(rec->last));
	return err;
}

/*
 * If a later step needs records of this type, replaces *@rec with a copy that stays valid until
 * reader__let_go() or reader__close(). Return: 0 or -ENOMEM.
 */
static int collect__keep(const struct collect *c, const struct xpu_record **rec)
{
	switch ((*rec)->type) {
	case XPU_RECORD_MMAP:
	case XPU_RECORD_COMM:
	case XPU_RECORD_FORK:
	case XPU_RECORD_EXIT:
	case XPU_RECORD_CALLCHAIN:
	case XPU_RECORD_PYSOURCE:
	case XPU_RECORD_KSYM:
	case XPU_RECORD_NAMES:
	case XPU_RECORD_STREAM:
	case XPU_RECORD_PYCODE:
		*rec = reader__hold(c->found->reader, *rec, (*rec)->size);
		return *rec ? 0 : -ENOMEM;
	case XPU_RECORD_INFO:
	case XPU_RECORD_DEVICE:
	case XPU_RECORD_MESSAGE:
		*rec = reader__keep(c->found->reader, *rec, (*rec)->size);
		return *rec ? 0 : -ENOMEM;
	default:
		return 0;
	}
}

static int collect__string(struct found *f, uint32_t proc, const struct xpu_record_string *rec)
{
	const char *data;
	int err = 0;

	if (rec->id)
		err = ids__add(&f->strings, proc, rec->id, f->string_defs.nr);
	if (err <= 0)
		return err;
	data = reader__hold(f->reader, rec->data, rec->bytes);
	return data ? array_push(&f->string_defs, data) : -ENOMEM;
}

static int collect__shape(struct collect *c, uint32_t proc, const struct xpu_record_shape *rec)
{
	uint32_t idx;
	int err = 0;

	if (rec->name)
		err = shapes__get(&c->model->shapes, &rec->shape, &idx) ?:
		      min_t(int, ids__add(&c->found->shapes, proc, rec->name, idx), 0);
	return err;
}

static int collect__api(struct found *f, uint32_t proc, const struct xpu_record_api *rec)
{
	int err = 0;

	if (API_KEY_FITS(rec->domain, rec->cbid))
		err = idmap__add(&f->apis, API_KEY(proc, rec->domain, rec->cbid), rec->name);
	if (err >= 0 && API_KEY_FITS(rec->domain, rec->cbid) && rec->class)
		err = idmap__add(&f->api_classes, API_KEY(proc, rec->domain, rec->cbid),
				 rec->class);
	return min_t(int, err, 0);
}

static int collect__stream(struct collect *c, uint32_t proc, const struct xpu_record_stream *rec)
{
	struct stream_def def = { proc, rec };
	struct found *f = c->found;
	int err = 0;

	c->model->machine.procs.v[proc].apis |= 1u << XPU_API(rec->hdr.misc);
	/*
	 * Map the id to the stream's future index in the model. The streams are added to the model
	 * when all GPUs are known.
	 */
	if (rec->id)
		err = idmap__add(&f->streams, ID_KEY(proc, rec->id),
				 c->model->streams.nr + f->stream_defs.nr);
	return err > 0 ? array_push(&f->stream_defs, def) : err;
}

static int collect__pycode(struct found *f, uint32_t proc, const struct xpu_record_pycode *rec)
{
	int err = 0;

	if (rec->id)
		err = idmap__add(&f->pycodes, ID_KEY(proc, rec->id), f->pycode_defs.nr);
	return err > 0 ? array_push(&f->pycode_defs, rec) : err;
}

static int collect__refused(struct found *f, uint32_t proc, const struct xpu_record_refused *rec)
{
	uint32_t scope = SCOPE(proc, XPU_API(rec->hdr.misc));
	int err = idmap__add(&f->refused, ID_KEY(scope, rec->correlation_id), rec->result);

	return min_t(int, err, 0);
}

static int collect__message(struct model *m, uint32_t proc, const struct xpu_record_message *rec)
{
	return array_push(&m->messages, ((struct shim_message){ proc, rec->hdr.misc, rec->data }));
}

static int collect__take(struct collect *c, const struct collect_take *take, uint32_t proc,
			 const struct xpu_record *rec)
{
	void **state = &c->model->features[take->feature];
	int err = feature__wake(take->feature, c->model, state);

	if (!err && take->how->held)
		rec = reader__hold(c->found->reader, rec, rec->size);
	return err ?: rec ? take->how->take(*state, c, proc, rec) : -ENOMEM;
}

/* Passes a record to the feature that handles its type, if any. Return: 0 or -ENOMEM. */
static inline int collect__feature(struct collect *c, uint32_t proc, const struct xpu_record *rec)
{
	const struct collect_take *take = &c->takes[rec->type % COLLECT_TYPES];

	return take->how && take->how->type == rec->type ? collect__take(c, take, proc, rec) : 0;
}

/* Handles a record inside a batch. @place: the place of the batch */
static int collect__nested(struct collect *c, uint32_t proc, struct sent *sent, uint64_t place,
			   const struct xpu_record *rec)
{
	struct found *f = c->found;
	int err = collect__keep(c, &rec);

	if (err)
		return err;
	switch (rec->type) {
	case XPU_RECORD_STRING:
		return collect__string(f, proc, (const void *)rec);
	case XPU_RECORD_SHAPE:
		return collect__shape(c, proc, (const void *)rec);
	case XPU_RECORD_API:
		return collect__api(f, proc, (const void *)rec);
	case XPU_RECORD_STREAM:
		return collect__stream(c, proc, (const void *)rec);
	case XPU_RECORD_DEVICE:
		return array_push(&f->device_defs,
				  ((struct device_def){ proc, (const void *)rec }));
	case XPU_RECORD_REFUSED:
		return collect__refused(f, proc, (const void *)rec);
	case XPU_RECORD_PYCODE:
		return collect__pycode(f, proc, (const void *)rec);
	case XPU_RECORD_COUNTERS:
		return sent__read(f, sent, place, (const void *)rec);
	case XPU_RECORD_WINDOW:
		err = captured__take(&c->model->captured, proc, (const void *)rec, f->shift_ns);
		c->loss->outside_windows += err > 0;
		return min_t(int, err, 0);
	case XPU_RECORD_MESSAGE:
		return collect__message(c->model, proc, (const void *)rec);
	default:
		return collect__feature(c, proc, rec);
	}
}

static int collect__batch(struct collect *c, const struct record_iter *outer,
			  const struct xpu_record_batch *batch)
{
	const struct xpu_record *rec = (const void *)batch->records;
	struct record_iter it;
	uint64_t *seen_ns;
	struct sent *sent;
	uint32_t proc;
	int err = machine__proc(&c->model->machine, batch->proc_id, &proc);

	err = err ?: found__add_sent(c->found, proc, &sent);
	if (err)
		return err;
	/* Carried batches were counted in the previous file. */
	sent->nr_batches += !(batch->hdr.misc & XPU_MISC_BATCH_CARRIED) && batch__is_counted(batch);
	seen_ns = &c->model->machine.procs.v[proc].seen_ns;
	*seen_ns = max_t(uint64_t, *seen_ns, batch->time_ns);
	record_iter__enter(&it, outer, batch);
	while ((rec = record_iter__next(&it))) {
		err = collect__nested(c, proc, sent, record_iter__place(outer), rec);
		if (err)
			return err;
	}
	c->loss->unknown_records += it.nr_skipped;
	if (it.end != RECORDS_WHOLE) {
		c->loss->bad_batches++;
		c->status = -EBADMSG;
		msgs__add(c->msgs, "%s: damaged at offset %" PRIu64
			  ", in a batch: %s; skipped to the batch's end", c->found->reader->name,
			  record_iter__file_offset(&it), it.what);
	}
	return 0;
}

/*
 * Handles the version of a recorder: sets the start time of the recording. Imported recordings have
 * no recorder.
 */
static void collect__see_recorder(struct collect *c)
{
	c->has_recorder = true;
	if (!c->found->reader->bad_header && c->begin_ns > EDGE_NS)
		c->found->from_ns = c->begin_ns - EDGE_NS;
}

/* Sets the end time of the recording. Call this after the last record. */
static void collect__see_end(struct collect *c)
{
	uint64_t more_ns = model__input(c->model)->ended ? EDGE_NS : UNSENT_NS;
	struct found *f = c->found;

	if (!c->has_recorder)
		return;
	f->to_ns = UINT64_MAX - more_ns < c->made_ns ? UINT64_MAX : c->made_ns + more_ns;
}

static void collect__see_period(struct collect *c, uint32_t period_ns)
{
	struct input *in = model__input(c->model);

	if (!in->sample_period_ns)
		in->sample_period_ns = period_ns;
}

/*
 * Sets the sampling interval. The samples do not show it, because each sample represents the time
 * that its thread ran.
 */
static void collect__see_interval(struct collect *c, const struct xpu_record_info *info)
{
	char text[24] = "";

	memcpy(text, info->data, min_t(size_t, info->bytes, sizeof(text) - 1));
	collect__see_period(c, min_t(unsigned long, strtoul(text, NULL, 10), UINT32_MAX));
}

/*
 * Sets the time limits of an import, which has no recorder. The importer stores them if some times
 * are far away from all others.
 */
static void collect__see_times(struct found *f, const struct xpu_record_info *info)
{
	char text[48] = "", *end;
	uint64_t from_ns, to_ns;

	memcpy(text, info->data, min_t(size_t, info->bytes, sizeof(text) - 1));
	from_ns = strtoull(text, &end, 10);
	to_ns = strtoull(end, NULL, 10);
	if (from_ns > to_ns || to_ns > UINT64_MAX - EDGE_NS)
		return;
	f->from_ns = xpu_ns_between(EDGE_NS, from_ns);
	f->to_ns = to_ns + EDGE_NS;
}

static int collect__record(void *ctx, const struct record_iter *it, const struct xpu_record *rec)
{
	struct collect *c = ctx;
	struct input *in;
	int err = collect__keep(c, &rec);

	if (err)
		return err;
	c->made_ns = max_t(uint64_t, c->made_ns, record__made_ns(rec));
	switch (rec->type) {
	case XPU_RECORD_INFO:
		model__input(c->model)->nr_infos++;
		if (((const struct xpu_record_info *)rec)->key == XPU_INFO_VERSION)
			collect__see_recorder(c);
		if (((const struct xpu_record_info *)rec)->key == XPU_INFO_SAMPLE_NS)
			collect__see_interval(c, (const void *)rec);
		if (((const struct xpu_record_info *)rec)->key == XPU_INFO_TIMES)
			collect__see_times(c->found, (const void *)rec);
		return array_push(&c->model->infos, (const void *)rec);
	case XPU_RECORD_PROCESS:
		if (rec->misc == XPU_MISC_PROCESS_ATTACH)
			model__input(c->model)->attached = true;
		return machine__add_process(&c->model->machine, (const void *)rec);
	case XPU_RECORD_PROCESS_EXIT:
		return machine__add_process_exit(&c->model->machine, (const void *)rec);
	case XPU_RECORD_THREAD:
		return collect__thread(c, (const void *)rec);
	case XPU_RECORD_MMAP:
	case XPU_RECORD_COMM:
	case XPU_RECORD_FORK:
	case XPU_RECORD_EXIT:
		return machine__add_event(&c->model->machine, rec);
	case XPU_RECORD_CALLCHAIN:
		return collect__callchain(c, (const void *)rec);
	case XPU_RECORD_BATCH:
		return collect__batch(c, it, (const void *)rec);
	case XPU_RECORD_PYSOURCE:
		return pysources__add(&c->found->pysources, (const void *)rec);
	case XPU_RECORD_KSYM:
		return kallsyms__add(&c->found->kallsyms, (const void *)rec);
	case XPU_RECORD_NAMES:
		return recorded_names__add(&c->found->names, (const void *)rec);
	case XPU_RECORD_UNWOUND:
		return recorded_names__add_stacks(&c->found->names, (const void *)rec);
	case XPU_RECORD_SAMPLES:
		collect__see_period(c, ((const struct xpu_record_samples *)rec)->period_ns);
		return 0;
	case XPU_RECORD_STACK:
		c->found->has_stacks = true;
		collect__see_period(c, ((const struct xpu_record_stack *)rec)->period_ns);
		return 0;
	case XPU_RECORD_LOST:
		collect__lost(c, (const void *)rec);
		return 0;
	case XPU_RECORD_CARRIED:
		return collect__carried(c, (const void *)rec);
	case XPU_RECORD_PART:
		in = model__input(c->model);
		in->part = ((const struct xpu_record_part *)rec)->number;
		return 0;
	case XPU_RECORD_END:
		in = model__input(c->model);
		in->ended = true;
		in->end_ns = ((const struct xpu_record_end *)rec)->time_ns;
		in->continues = rec->misc & XPU_MISC_END_CONTINUES;
		in->wait_status = ((const struct xpu_record_end *)rec)->wait_status;
		return 0;
	default:
		return collect__feature(c, NO_INDEX, rec);
	}
}

static void collect__tell_damages(struct collect *c, const struct damages *all)
{
	uint64_t i;

	if (c->found->reader->bad_header) {
		c->loss->bad_header = 1;
		c->status = -EBADMSG;
		msgs__add(c->msgs,
			  "%s: damaged in its first %" PRIu32 " bytes: the time of day, and "
			  "where the recording began, may be wrong",
			  c->found->reader->name, c->found->reader->header.header_bytes);
	}
	if (!all || !all->nr)
		return;
	c->status = -EBADMSG;
	c->loss->damaged_bytes = all->bytes;
	c->loss->damaged_blocks = all->nr_blocks;
	c->loss->damaged_launches = all->nr_launches;
	for (i = 0; i < all->nr && i < DAMAGES_MAX; i++) {
		const struct damage *d = &all->v[i];

		msgs__add(c->msgs, "%s: damaged at offset %" PRIu64 ", %" PRIu64 " %s: %s: %" PRIu64
			  " %s with %" PRIu64 " %s lost", c->found->reader->name, d->offset,
			  d->bytes, PLURAL(d->bytes, "byte", "bytes"), d->what,
			  d->nr_blocks, PLURAL(d->nr_blocks, "block", "blocks"),
			  d->nr_launches, PLURAL(d->nr_launches, "launch", "launches"));
	}
	if (i < all->nr)
		msgs__add(c->msgs, "%s: damaged in %" PRIu64 " more %s", c->found->reader->name,
			  (uint64_t)(all->nr - i), PLURAL(all->nr - i, "place", "places"));
}

/* Adds messages about names in the recording that cannot be used. */
static void collect__tell_names(struct collect *c)
{
	const struct recorded_names *n = &c->found->names;

	if (n->nr_bad)
		msgs__add(c->msgs, "%s: %" PRIu64 " malformed %s of names: used up to the fault",
			  c->found->reader->name, n->nr_bad,
			  PLURAL(n->nr_bad, "record", "records"));
	if (n->nr_beyond)
		msgs__add(c->msgs, "%s: %" PRIu64 " %s of names beyond the limit of %u MiB: not "
			  "used", c->found->reader->name, n->nr_beyond,
			  PLURAL(n->nr_beyond, "record", "records"), RECORDED_NAMES_MAX >> 20);
}

static void collect__add_features(struct collect *c)
{
	const struct feature_record *how;
	unsigned int i;

	for (i = 0; features[i]; i++)
		for (how = features[i]->records; how && how->type; how++)
			c->takes[how->type] = (struct collect_take){ how, i };
}

int collect__run(struct collect *c, struct passes *passes)
{
	const struct reader *r = c->found->reader;
	struct record_iter it;
	int err;

	collect__add_features(c);
	/* reader__file_number() iterates over the records, so no iterator may be in use here. */
	reader__file_number(r, &c->begin_ns);
	c->begin_ns = min_t(uint64_t, c->begin_ns, r->header.start_mono_ns);
	err = pass__run(r, passes, collect__record, c, 0, 300, &it);
	if (err)
		return err;
	c->loss->unknown_records += it.nr_skipped;
	collect__tell_damages(c, reader__damages(c->found->reader));
	collect__tell_names(c);
	collect__see_end(c);
	c->loss->not_closed = !model__input(c->model)->ended;
	if (it.end == RECORDS_CUT) {
		c->loss->cut_bytes = it.size - it.offset;
		msgs__add(c->msgs,
			  "%s: cut at offset %" PRIu64 ": %" PRIu64 " byte%s ignored, everything "
								    "before is used",
			  c->found->reader->name, it.offset, it.size - it.offset,
			  PLURAL(it.size - it.offset, "", "s"));
	} else if (it.end == RECORDS_CORRUPT) {
		c->loss->corrupt_bytes = it.size - it.offset;
		c->status = -EBADMSG;
		msgs__add(c->msgs, "%s: damaged at offset %" PRIu64 ": %s; %" PRIu64
			  " bytes ignored", c->found->reader->name, it.offset, it.what,
			  it.size - it.offset);
	} else if (c->loss->not_closed) {
		msgs__add(c->msgs, "%s: not closed: cut, or still being recorded; everything in it "
				   "was used", c->found->reader->name);
	}
	return 0;
}

