// SPDX-License-Identifier: GPL-3.0-or-later
#include "join/session_collect.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "join/session_calls.h"
#include "join/session_nvtx.h"
#include "join/session_pass.h"
#include "join/session_settle.h"
#include "join/session_tables.h"

/* How the shim names an explicit call that makes a graph node: it knows no better. */
#define DOMAIN_RESOURCE		3	/* CUPTI_CB_DOMAIN_RESOURCE */
#define CBID_GRAPHNODE_CREATED	13	/* CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED */

static int session__collect_callchain(struct session *s, const struct xpu_record_callchain *rec)
{
	struct path path = { .rec = rec, .chain = NO_INDEX };
	uint32_t idx;
	int err;

	if (!rec->path_id || idmap__get(&s->tables->paths, rec->path_id, &idx))
		return 0;
	err = machine__proc(&s->machine, rec->proc_id, &path.proc);
	if (!err)
		err = idmap__put(&s->tables->paths, rec->path_id, s->paths.nr);
	if (!err)
		err = array_push(&s->paths, path);
	return err;
}

static int session__collect_thread(struct session *s, const struct xpu_record_thread *rec)
{
	struct thread thread = { .tid = rec->tid };
	uint32_t idx;
	int err;

	if (!rec->thread_id)
		return 0;
	/* It may be told of again, with more. */
	if (idmap__get(&s->tables->threads, rec->thread_id, &idx))
		return session__collect_tid(s, rec, s->threads.v[idx].proc, idx);
	err = machine__proc(&s->machine, rec->proc_id, &thread.proc);
	if (!err)
		err = idmap__put(&s->tables->threads, rec->thread_id, s->threads.nr);
	if (!err)
		err = session__collect_tid(s, rec, thread.proc, s->threads.nr);
	if (!err)
		err = array_push(&s->threads, thread);
	return err;
}

static void session__collect_lost(struct session *s, const struct xpu_record_lost *rec)
{
	if (rec->kind && rec->kind < XPU_LOST_NR)
		s->loss.recorder[rec->kind] += rec->count;
	else
		s->loss.recorder_other += rec->count;
}

static int session__collect_graph_node(struct session *s, const struct xpu_record_graph_node *rec)
{
	uint32_t proc;
	int err;

	err = machine__proc(&s->machine, rec->proc_id, &proc);
	return err ?: graphs__add_node(&s->graphs, proc, rec);
}

/* Older shims have fewer of them. */
static void counters__read(struct xpu_record_counters *to, const struct xpu_record_counters *rec)
{
	memset(to, 0, sizeof(*to));
	memcpy(to, rec, min_t(size_t, sizeof(*to), rec->hdr.size));
}

/* Running totals, so the bigger is the later: two threads may send at a time. */
static void account__read(struct account *a, uint64_t place,
			  const struct xpu_record_counters *sent)
{
	if (sent->nr_batches >= a->sent.nr_batches)
		counters__read(&a->sent, sent);
	if (!a->baseline || sent->nr_batches < a->first.nr_batches) {
		counters__read(&a->first, sent);
		a->baseline = place;
	}
}

/* Makes @*rec last if it is one that is referred to until the end. Return: 0 or -ENOMEM. */
static int session__keep(const struct session *s, const struct xpu_record **rec)
{
	switch ((*rec)->type) {
	case XPU_RECORD_INFO:
	case XPU_RECORD_MMAP:
	case XPU_RECORD_COMM:
	case XPU_RECORD_FORK:
	case XPU_RECORD_EXIT:
	case XPU_RECORD_CALLCHAIN:
	case XPU_RECORD_GRAPH_NODE:
	case XPU_RECORD_WAIT:
	case XPU_RECORD_RANGES:
	case XPU_RECORD_ACCOUNT:
	case XPU_RECORD_PYSOURCE:
	case XPU_RECORD_KSYM:
	case XPU_RECORD_STRING:
	case XPU_RECORD_STREAM:
	case XPU_RECORD_DEVICE:
	case XPU_RECORD_PYCODE:
	case XPU_RECORD_RANGE:
	case XPU_RECORD_MESSAGE:
		*rec = reader__keep(s->reader, *rec);
		return *rec ? 0 : -ENOMEM;
	default:
		return 0;
	}
}

/* @place: of the batch that the record is in */
static int session__collect_nested(struct session *s, uint32_t proc, struct account *account,
				   uint64_t place, const struct xpu_record *rec)
{
	struct session_tables *t = s->tables;
	int err;

	err = session__keep(s, &rec);
	if (err)
		return err;
	switch (rec->type) {
	case XPU_RECORD_STRING: {
		const struct xpu_record_string *str = (const void *)rec;
		struct string_def def = { str->data, NO_INDEX, NO_INDEX };

		err = !str->id ? 0 :
		      idmap__add(&t->strings, ID_KEY(proc, str->id), t->string_defs.nr);
		return err <= 0 ? err : array_push(&t->string_defs, def);
	}
	case XPU_RECORD_API: {
		const struct xpu_record_api *api = (const void *)rec;

		if (!API_KEY_FITS(api->domain, api->cbid))
			return 0;
		err = idmap__add(&t->apis, API_KEY(proc, api->domain, api->cbid), api->name);
		return min_t(int, err, 0);
	}
	case XPU_RECORD_STREAM: {
		const struct xpu_record_stream *stream = (const void *)rec;
		struct stream_def def = { proc, stream };

		/* The same index as in s->streams, which is filled when the GPUs are known. */
		err = !stream->id ? 0 : idmap__add(&t->streams, ID_KEY(proc, stream->id),
						   s->streams.nr + t->stream_defs.nr);
		return err <= 0 ? err : array_push(&t->stream_defs, def);
	}
	case XPU_RECORD_DEVICE: {
		struct device_def def = { proc, (const void *)rec };

		return array_push(&t->device_defs, def);
	}
	case XPU_RECORD_GRAPH_CLONE: {
		const struct xpu_record_graph_clone *clone = (const void *)rec;

		return graphs__add_clone(&s->graphs, proc, clone->node_id, clone->original_id);
	}
	case XPU_RECORD_REFUSED: {
		const struct xpu_record_refused *refused = (const void *)rec;

		err = idmap__add(&t->refused, ID_KEY(proc, refused->correlation_id),
				 refused->result);
		return min_t(int, err, 0);
	}
	case XPU_RECORD_PYCODE: {
		const struct xpu_record_pycode *code = (const void *)rec;

		err = !code->id ? 0 :
		      idmap__add(&t->pycodes, ID_KEY(proc, code->id), t->pycode_defs.nr);
		return err <= 0 ? err : array_push(&t->pycode_defs, code);
	}
	case XPU_RECORD_COUNTERS:
		account__read(account, place, (const void *)rec);
		return 0;
	case XPU_RECORD_RANGE:
		return session__collect_range(s, proc, (const void *)rec);
	case XPU_RECORD_MESSAGE: {
		struct shim_message msg = {
			proc, rec->misc, ((const struct xpu_record_message *)rec)->data,
		};

		return array_push(&s->messages, msg);
	}
	default:
		return 0;
	}
}

static int session__collect_batch(struct session *s, const struct record_iter *outer,
				  const struct xpu_record_batch *batch)
{
	const struct xpu_record *rec = (const void *)batch->records;
	struct account *account;
	struct record_iter it;
	uint32_t proc;
	int err;

	err = machine__proc(&s->machine, batch->proc_id, &proc);
	if (!err)
		err = session__account(s, proc, &account);
	if (err)
		return err;
	/* The shim does not count those that have one RANGE each. */
	account->nr_batches += batch->bytes < sizeof(*rec) || rec->type != XPU_RECORD_RANGE;
	account->seen_ns = max_t(uint64_t, account->seen_ns, batch->time_ns);
	record_iter__enter(&it, outer, batch);
	while ((rec = record_iter__next(&it))) {
		err = session__collect_nested(s, proc, account, record_iter__place(outer), rec);
		if (err)
			return err;
	}
	if (it.end != RECORDS_WHOLE) {
		s->loss.bad_batches++;
		s->status = -EBADMSG;
		msgs__add(&s->msgs, "%s: damaged at offset %" PRIu64
			  ", in a batch: %s; skipped to the batch's end", s->reader->name,
			  record_iter__file_offset(&it), it.what);
	}
	return 0;
}

static void session__see_period(struct session *s, uint32_t period_ns)
{
	struct input *in = &s->inputs.v[s->machine.recording];

	if (!in->sample_period_ns)
		in->sample_period_ns = period_ns;
}

static int session__collect_record(struct session *s, const struct record_iter *it,
				   const struct xpu_record *rec)
{
	struct input *in;
	int err;

	err = session__keep(s, &rec);
	if (err)
		return err;
	switch (rec->type) {
	case XPU_RECORD_INFO:
		s->inputs.v[s->machine.recording].nr_infos++;
		return array_push(&s->infos, (const void *)rec);
	case XPU_RECORD_PROCESS:
		if (rec->misc == XPU_MISC_PROCESS_ATTACH)
			s->inputs.v[s->machine.recording].attached = true;
		return machine__add_process(&s->machine, (const void *)rec);
	case XPU_RECORD_PROCESS_EXIT:
		return machine__add_process_exit(&s->machine, (const void *)rec);
	case XPU_RECORD_THREAD:
		return session__collect_thread(s, (const void *)rec);
	case XPU_RECORD_MMAP:
	case XPU_RECORD_COMM:
	case XPU_RECORD_FORK:
	case XPU_RECORD_EXIT:
		return machine__add_event(&s->machine, rec);
	case XPU_RECORD_CALLCHAIN:
		return session__collect_callchain(s, (const void *)rec);
	case XPU_RECORD_BATCH:
		return session__collect_batch(s, it, (const void *)rec);
	case XPU_RECORD_GRAPH_NODE:
		return session__collect_graph_node(s, (const void *)rec);
	case XPU_RECORD_WAIT:
		return array_push(&s->tables->wait_recs, (const void *)rec);
	case XPU_RECORD_RANGES:
		return array_push(&s->nvtx.recs, (const void *)rec);
	case XPU_RECORD_ACCOUNT:
		s->idles.wanted = true;
		return array_push(&s->accounts, ((struct thread_account){
			.rec = (const void *)rec, .thread = NO_INDEX,
		}));
	case XPU_RECORD_PYSOURCE:
		return pysources__add(&s->pysources, (const void *)rec);
	case XPU_RECORD_KSYM:
		return kallsyms__add(&s->kallsyms, (const void *)rec);
	case XPU_RECORD_SAMPLES:
		session__see_period(s, ((const struct xpu_record_samples *)rec)->period_ns);
		return 0;
	case XPU_RECORD_STACK:
		session__see_period(s, ((const struct xpu_record_stack *)rec)->period_ns);
		return 0;
	case XPU_RECORD_LOST:
		session__collect_lost(s, (const void *)rec);
		return 0;
	case XPU_RECORD_END:
		in = &s->inputs.v[s->machine.recording];
		in->ended = true;
		in->wait_status = ((const struct xpu_record_end *)rec)->wait_status;
		return 0;
	default:
		return 0;
	}
}

static void session__tell_damages(struct session *s, const struct damages *all)
{
	uint64_t i;

	if (s->reader->bad_header) {
		s->loss.bad_header = 1;
		s->status = -EBADMSG;
		msgs__add(&s->msgs, "%s: damaged in its first %" PRIu32 " bytes: the time of day, and "
			  "where the recording began, may be wrong", s->reader->name,
			  s->reader->header.header_bytes);
	}
	if (!all || !all->nr)
		return;
	s->status = -EBADMSG;
	s->loss.damaged_bytes = all->bytes;
	s->loss.damaged_blocks = all->nr_blocks;
	s->loss.damaged_launches = all->nr_launches;
	for (i = 0; i < all->nr && i < DAMAGES_MAX; i++) {
		const struct damage *d = &all->v[i];

		msgs__add(&s->msgs, "%s: damaged at offset %" PRIu64 ", %" PRIu64 " bytes: %s: %" PRIu64
			  " blocks with %" PRIu64 " launches lost", s->reader->name, d->offset,
			  d->bytes, d->what, d->nr_blocks, d->nr_launches);
	}
	if (i < all->nr)
		msgs__add(&s->msgs, "%s: damaged in %" PRIu64 " more places", s->reader->name,
			  all->nr - i);
}

int session__collect(struct session *s)
{
	struct record_iter it;
	int err;

	err = session__pass(s, session__collect_record, 0, 300, &it);
	if (err)
		return err;
	session__tell_damages(s, reader__damages(s->reader));
	s->loss.not_closed = !s->inputs.v[s->machine.recording].ended;
	if (it.end == RECORDS_CUT) {
		s->loss.cut_bytes = it.size - it.offset;
		msgs__add(&s->msgs, "%s: cut at offset %" PRIu64 ": %" PRIu64 " bytes ignored, "
			  "all before them used", s->reader->name, it.offset, it.size - it.offset);
	} else if (it.end == RECORDS_CORRUPT) {
		s->loss.corrupt_bytes = it.size - it.offset;
		s->status = -EBADMSG;
		msgs__add(&s->msgs, "%s: damaged at offset %" PRIu64 ": %s; %" PRIu64
			  " bytes ignored", s->reader->name, it.offset, it.what,
			  it.size - it.offset);
	} else if (s->loss.not_closed) {
		msgs__add(&s->msgs, "%s: not closed: cut, or still being recorded; all that is "
			  "there was used", s->reader->name);
	}
	return 0;
}

/* ---- between the passes: ids become things -------------------------------------------------- */

const char *session__string(const struct session *s, uint32_t proc, uint32_t id)
{
	uint32_t idx;

	if (!id || !idmap__get(&s->tables->strings, ID_KEY(proc, id), &idx))
		return NULL;
	return s->tables->string_defs.v[idx].s;
}

const char *session__api_name(const struct session *s, uint32_t proc, uint32_t domain,
			      uint32_t cbid)
{
	uint32_t id;

	if (!API_KEY_FITS(domain, cbid) ||
	    !idmap__get(&s->tables->apis, API_KEY(proc, domain, cbid), &id))
		return NULL;
	return session__string(s, proc, id);
}

static int session__resolve_path(struct session *s, struct path *path)
{
	const struct xpu_record_callchain *rec = path->rec;
	const struct proc *proc = &s->machine.procs.v[path->proc];
	const char *name;

	if (proc->pid)
		path->image = machine__image(&s->machine, proc->pid, rec->time_ns);
	if (rec->hdr.misc & XPU_CHAIN_CPU)
		return 0;
	name = session__api_name(s, path->proc, rec->domain, rec->cbid);
	/* A graph launch owns the records of all its nodes; an unknown call may be one. */
	path->one_record = name && !strcasestr(name, "graph");
	if (name && *name)
		path->api = strpool__intern(&s->strings, name, strlen(name));
	else if (rec->domain == DOMAIN_RESOURCE && rec->cbid == CBID_GRAPHNODE_CREATED)
		path->api = strpool__internf(&s->strings, "[graph node made]");
	else
		path->api = strpool__internf(&s->strings, "[api %u:%u]", rec->domain, rec->cbid);
	return path->api ? 0 : -ENOMEM;
}

/* Waits are known before the work that they waited for comes by. */
static int session__resolve_waits(struct session *s)
{
	struct session_tables *t = s->tables;
	uint32_t thread;
	size_t i;
	int err;

	for (i = 0; i < t->wait_recs.nr; i++) {
		const struct xpu_record_wait *rec = t->wait_recs.v[i];

		err = -EINVAL;
		if (idmap__get(&t->threads, rec->thread_id, &thread))
			err = waits__add(&s->waits, s->threads.v[thread].proc,
					 rec->start_ns + s->shift_ns, rec);
		if (err == -EINVAL)
			s->loss.bad_refs++;
		else if (err)
			return err;
	}
	array_free(&t->wait_recs);
	return waits__ready(&s->waits);
}

static int exit_at__cmp(const void *va, const void *vb)
{
	const struct exit_at *a = va, *b = vb;

	return cmp3(a->pid, b->pid) ?: cmp3(a->exit_ns, b->exit_ns);
}

static int session__sort_exits(struct session *s)
{
	struct session_tables *t = s->tables;
	size_t i;
	int err = 0;

	for (i = t->first_proc; i < s->machine.procs.nr && !err; i++) {
		const struct proc *p = &s->machine.procs.v[i];

		if (p->exited)
			err = array_push(&t->exits, ((struct exit_at){ p->pid, p->exit_ns }));
	}
	if (!err && t->exits.nr)
		qsort(t->exits.v, t->exits.nr, sizeof(*t->exits.v), exit_at__cmp);
	return err;
}

uint64_t session__exit_ns(const struct session *s, uint32_t pid, uint64_t from_ns)
{
	const struct session_tables *t = s->tables;
	const struct exit_at from = { pid, from_ns };
	size_t lo = 0, hi = t->exits.nr, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (exit_at__cmp(&t->exits.v[mid], &from) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < t->exits.nr && t->exits.v[lo].pid == pid ? t->exits.v[lo].exit_ns : UINT64_MAX;
}

int session__resolve(struct session *s)
{
	struct session_tables *t = s->tables;
	bool ends_seen = false;
	size_t i;
	int err;

	err = machine__finish(&s->machine);
	if (err)
		return err;
	graphs__finish(&s->graphs);
	kallsyms__finish(&s->kallsyms);
	for (i = t->first_proc; i < s->machine.procs.nr; i++)
		ends_seen |= s->machine.procs.v[i].exited;
	/* An image that is replaced by an exec has ended, too. */
	for (i = t->first_proc; i < s->machine.procs.nr; i++) {
		const struct proc *p = &s->machine.procs.v[i];
		uint32_t replaced;

		if (p->how == XPU_MISC_PROCESS_EXEC &&
		    idmap__get(&s->machine.procs_by_id, p->parent_proc_id, &replaced))
			s->machine.procs.v[replaced].exited = true;
	}
	err = session__sort_exits(s);
	if (!err)
		err = session__resolve_accounts(s, ends_seen &&
						s->inputs.v[s->machine.recording].ended);
	if (err)
		return err;
	for (i = 0; i < t->device_defs.nr; i++) {
		const struct device_def *def = &t->device_defs.v[i];

		err = gpus__define(&s->gpus, def->proc, def->rec->device, def->rec->uuid,
				   session__string(s, def->proc, def->rec->name));
		if (err)
			return err;
	}
	for (i = 0; i < t->stream_defs.nr; i++) {
		const struct stream_def *def = &t->stream_defs.v[i];
		struct stream stream = {
			.proc = def->proc,
			.context = def->rec->context,
			.stream = def->rec->stream,
			.known = true,
		};

		err = gpus__get(&s->gpus, def->proc, def->rec->device, &stream.gpu);
		if (!err)
			err = array_push(&s->streams, stream);
		if (err)
			return err;
	}
	for (i = t->first_path; i < s->paths.nr; i++) {
		err = session__resolve_path(s, &s->paths.v[i]);
		if (err)
			return err;
	}
	return session__resolve_waits(s) ?: session__nvtx_resolve(s);
}
