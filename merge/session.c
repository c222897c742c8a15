// SPDX-License-Identifier: GPL-3.0-or-later
#include "session.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "demangle.h"

#define HASH_NONFATAL_OOM	1
#define uthash_nonfatal_oom(e)	(oom = true)
#include <uthash.h>

#define UNKNOWN		"[unknown]"

/* An interned string of the shim's: a kernel's name, most of them. */
struct string_def {
	const char *s;			/* in the recording */
	uint32_t leaf, leaf_gpu;	/* the kernel of this name that was looked up last */
};

struct api_def {
	uint32_t proc;
	uint32_t name;			/* string id */
};

struct device_def {
	uint32_t proc;
	const struct xpu_record_device *rec;
};

struct stream_def {
	uint32_t proc;
	const struct xpu_record_stream *rec;
};

/* What one process says it sent, and what has arrived of it. */
struct account {
	struct xpu_record_counters sent;	/* nr_batches 0: it never said */
	uint64_t nr_launches;
	uint64_t nr_works;
	uint64_t nr_batches;
	uint64_t seen_ns;			/* the last time it launched or sent something */
	uint32_t no_launch_chain;
	uint32_t no_path_chain;
	uint32_t unknown_stream;
};

struct leaf_entry {
	struct leaf_key {
		uint32_t kind;
		uint32_t gpu;
		const char *name;
	} key;
	uint32_t leaf;
	UT_hash_handle hh;
};

struct aggregate_entry {
	struct aggregate_key {
		uint32_t chain;
		uint32_t leaf;
		const char *comm;
	} key;
	uint32_t aggregate;
	UT_hash_handle hh;
};

/* Where ids lead. Ids of one process only have its index in the upper half of their key. */
struct session_tables {
	struct idmap paths;
	struct idmap threads;
	struct idmap strings;		/* (proc, id) */
	struct idmap streams;		/* (proc, id) */
	struct idmap apis;		/* (domain, cbid) */
	struct idmap chains;		/* (path, epoch), epoch > 0 */
	ARRAY(struct string_def) string_defs;
	ARRAY(struct api_def) api_defs;
	ARRAY(struct device_def) device_defs;
	ARRAY(struct stream_def) stream_defs;
	ARRAY(struct account) accounts;	/* by process */
	struct leaf_entry *leaves;
	struct aggregate_entry *aggregates;
	struct arena arena;
	unsigned int permille;
};

#define ID_KEY(proc, id)	((uint64_t)(proc) << 32 | (id))

static const struct join_ops session_join_ops;

int session__init(struct session *s, const struct session_opts *opts)
{
	memset(s, 0, sizeof(*s));
	s->opts = *opts;
	s->tables = calloc(1, sizeof(*s->tables));
	if (!s->tables)
		return -ENOMEM;
	s->tables->permille = UINT32_MAX;
	machine__init(&s->machine, &s->strings);
	dsos__init(&s->dsos, &s->strings);
	callchains__init(&s->callchains, &s->dsos, &s->strings, opts->trim);
	join__init(&s->join, &session_join_ops, s);
	gpus__init(&s->gpus, &s->strings);
	return 0;
}

void session__exit(struct session *s)
{
	struct session_tables *t = s->tables;

	if (!t)
		return;
	HASH_CLEAR(hh, t->leaves);
	HASH_CLEAR(hh, t->aggregates);
	arena__free(&t->arena);
	array_free(&t->accounts);
	array_free(&t->stream_defs);
	array_free(&t->device_defs);
	array_free(&t->api_defs);
	array_free(&t->string_defs);
	idmap__free(&t->chains);
	idmap__free(&t->apis);
	idmap__free(&t->streams);
	idmap__free(&t->strings);
	idmap__free(&t->threads);
	idmap__free(&t->paths);
	free(t);
	s->tables = NULL;
	array_free(&s->messages);
	array_free(&s->aggregates);
	array_free(&s->leaves);
	array_free(&s->streams);
	array_free(&s->chains);
	array_free(&s->threads);
	array_free(&s->paths);
	array_free(&s->infos);
	gpus__exit(&s->gpus);
	join__exit(&s->join);
	callchains__exit(&s->callchains);
	dsos__exit(&s->dsos);
	machine__exit(&s->machine);
	msgs__free(&s->msgs);
	strpool__free(&s->strings);
}

static void session__progress(struct session *s, const struct record_iter *it, unsigned int from,
			      unsigned int to)
{
	unsigned int permille = from + (to - from) * (it->offset >> 10) / ((it->size >> 10) + 1);

	if (!s->opts.progress || permille == s->tables->permille)
		return;
	s->tables->permille = permille;
	s->opts.progress(s->opts.progress_ctx, permille);
}

static int session__account(struct session *s, uint32_t proc, struct account **account)
{
	struct session_tables *t = s->tables;
	struct account new = {
		.no_launch_chain = NO_INDEX,
		.no_path_chain = NO_INDEX,
		.unknown_stream = NO_INDEX,
	};
	int err;

	while (t->accounts.nr <= proc) {
		err = array_push(&t->accounts, new);
		if (err)
			return err;
	}
	*account = &t->accounts.v[proc];
	return 0;
}

/* ---- first pass: what others refer to ------------------------------------------------------- */

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

	if (!rec->thread_id || idmap__get(&s->tables->threads, rec->thread_id, &idx))
		return 0;
	err = machine__proc(&s->machine, rec->proc_id, &thread.proc);
	if (!err)
		err = idmap__put(&s->tables->threads, rec->thread_id, s->threads.nr);
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

static int session__collect_nested(struct session *s, uint32_t proc, struct account *account,
				   const struct xpu_record *rec)
{
	struct session_tables *t = s->tables;
	uint32_t idx;
	int err;

	switch (rec->type) {
	case XPU_RECORD_STRING: {
		const struct xpu_record_string *str = (const void *)rec;
		struct string_def def = { str->data, NO_INDEX, NO_INDEX };

		if (!str->id || idmap__get(&t->strings, ID_KEY(proc, str->id), &idx))
			return 0;
		err = idmap__put(&t->strings, ID_KEY(proc, str->id), t->string_defs.nr);
		return err ?: array_push(&t->string_defs, def);
	}
	case XPU_RECORD_API: {
		const struct xpu_record_api *api = (const void *)rec;
		struct api_def def = { proc, api->name };

		if (idmap__get(&t->apis, ID_KEY(api->domain, api->cbid), &idx))
			return 0;
		err = idmap__put(&t->apis, ID_KEY(api->domain, api->cbid), t->api_defs.nr);
		return err ?: array_push(&t->api_defs, def);
	}
	case XPU_RECORD_STREAM: {
		const struct xpu_record_stream *stream = (const void *)rec;
		struct stream_def def = { proc, stream };

		if (!stream->id || idmap__get(&t->streams, ID_KEY(proc, stream->id), &idx))
			return 0;
		/* The same index as in s->streams, which is filled when the GPUs are known. */
		err = idmap__put(&t->streams, ID_KEY(proc, stream->id), t->stream_defs.nr);
		return err ?: array_push(&t->stream_defs, def);
	}
	case XPU_RECORD_DEVICE: {
		struct device_def def = { proc, (const void *)rec };

		return array_push(&t->device_defs, def);
	}
	case XPU_RECORD_COUNTERS: {
		const struct xpu_record_counters *sent = (const void *)rec;

		/* Running totals, so the bigger is the later: two threads may send at a time. */
		if (sent->nr_batches >= account->sent.nr_batches)
			account->sent = *sent;
		return 0;
	}
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
	const struct xpu_record *rec;
	struct account *account;
	struct record_iter it;
	uint32_t proc;
	int err;

	err = machine__proc(&s->machine, batch->proc_id, &proc);
	if (!err)
		err = session__account(s, proc, &account);
	if (err)
		return err;
	account->nr_batches++;
	account->seen_ns = max_t(uint64_t, account->seen_ns, batch->time_ns);
	record_iter__enter(&it, outer, batch);
	while ((rec = record_iter__next(&it))) {
		err = session__collect_nested(s, proc, account, rec);
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

static int session__collect_record(struct session *s, const struct record_iter *it,
				   const struct xpu_record *rec)
{
	switch (rec->type) {
	case XPU_RECORD_INFO:
		return array_push(&s->infos, (const void *)rec);
	case XPU_RECORD_PROCESS:
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
	case XPU_RECORD_LOST:
		session__collect_lost(s, (const void *)rec);
		return 0;
	case XPU_RECORD_END:
		s->ended = true;
		s->wait_status = ((const struct xpu_record_end *)rec)->wait_status;
		return 0;
	default:
		return 0;
	}
}

static int session__collect(struct session *s)
{
	const struct xpu_record *rec;
	struct record_iter it;
	int err;

	reader__rewind(s->reader, &it);
	while ((rec = record_iter__next(&it))) {
		err = session__collect_record(s, &it, rec);
		if (err)
			return err;
		reader__release(s->reader, &it);
		session__progress(s, &it, 0, 300);
	}
	s->loss.not_closed = !s->ended;
	if (it.end == RECORDS_CUT) {
		s->loss.cut_bytes = it.size - it.offset;
		msgs__add(&s->msgs, "%s: cut at offset %" PRIu64 ": %" PRIu64 " bytes ignored",
			  s->reader->name, it.offset, it.size - it.offset);
	} else if (it.end == RECORDS_CORRUPT) {
		s->loss.corrupt_bytes = it.size - it.offset;
		s->status = -EBADMSG;
		msgs__add(&s->msgs, "%s: damaged at offset %" PRIu64 ": %s; %" PRIu64
			  " bytes ignored", s->reader->name, it.offset, it.what,
			  it.size - it.offset);
	}
	return 0;
}

/* ---- between the passes: ids become things -------------------------------------------------- */

/* Return: the string of that id, or NULL. */
static const char *session__string(const struct session *s, uint32_t proc, uint32_t id)
{
	uint32_t idx;

	if (!id || !idmap__get(&s->tables->strings, ID_KEY(proc, id), &idx))
		return NULL;
	return s->tables->string_defs.v[idx].s;
}

static int session__resolve_path(struct session *s, struct path *path)
{
	const struct xpu_record_callchain *rec = path->rec;
	const struct proc *proc = &s->machine.procs.v[path->proc];
	const char *name = NULL;
	uint32_t idx;

	if (proc->pid)
		path->image = machine__image(&s->machine, proc->pid, rec->time_ns);
	if (idmap__get(&s->tables->apis, ID_KEY(rec->domain, rec->cbid), &idx)) {
		const struct api_def *def = &s->tables->api_defs.v[idx];

		name = session__string(s, def->proc, def->name);
	}
	/* A graph launch owns the records of all its nodes; an unknown call may be one. */
	path->one_record = name && !strcasestr(name, "graph");
	if (name && *name)
		path->api = strpool__intern(&s->strings, name, strlen(name));
	else
		path->api = strpool__internf(&s->strings, "[api %u:%u]", rec->domain, rec->cbid);
	return path->api ? 0 : -ENOMEM;
}

static int session__resolve(struct session *s)
{
	struct session_tables *t = s->tables;
	size_t i;
	int err;

	err = machine__finish(&s->machine);
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
	for (i = 0; i < s->paths.nr; i++) {
		err = session__resolve_path(s, &s->paths.v[i]);
		if (err)
			return err;
	}
	return 0;
}

/* ---- second pass: launches ------------------------------------------------------------------ */

static int session__new_chain(struct session *s, const struct chain *chain, uint32_t *idx)
{
	*idx = s->chains.nr;
	return array_push(&s->chains, *chain);
}

static int session__path_chain(struct session *s, uint32_t path_idx, uint64_t time_ns,
			       uint32_t *idx)
{
	struct path *path = &s->paths.v[path_idx];
	struct chain chain = { .proc = path->proc, .path = path_idx };
	int err;

	if (path->image && path->image->epochs.nr)
		chain.epoch = image__epoch(path->image, time_ns);
	if (!chain.epoch) {
		if (path->chain == NO_INDEX) {
			err = session__new_chain(s, &chain, &path->chain);
			if (err)
				return err;
		}
		*idx = path->chain;
		return 0;
	}
	if (idmap__get(&s->tables->chains, ID_KEY(path_idx, chain.epoch), idx))
		return 0;
	err = session__new_chain(s, &chain, idx);
	return err ?: idmap__put(&s->tables->chains, ID_KEY(path_idx, chain.epoch), *idx);
}

/* The chain of what has no call path in that process. */
static int session__label_chain(struct session *s, uint32_t proc, bool no_launch, uint32_t *idx)
{
	struct chain chain = { .proc = proc, .path = NO_INDEX, .no_launch = no_launch };
	struct account *account;
	uint32_t *known;
	int err;

	err = session__account(s, proc, &account);
	if (err)
		return err;
	known = no_launch ? &account->no_launch_chain : &account->no_path_chain;
	err = *known == NO_INDEX ? session__new_chain(s, &chain, known) : 0;
	*idx = *known;
	return err;
}

/* The name of a process at a time, never NULL. */
static const char *session__proc_comm(struct session *s, uint32_t proc, uint64_t time_ns)
{
	const struct proc *p = &s->machine.procs.v[proc];
	const char *comm = NULL;
	uint64_t from, to;

	if (p->pid)
		comm = machine__comm(&s->machine, p->pid, p->pid, time_ns, &from, &to);
	return comm ?: p->comm ?: UNKNOWN;
}

static const char *session__thread_comm(struct session *s, struct thread *thread, uint64_t time_ns)
{
	const struct proc *p = &s->machine.procs.v[thread->proc];

	if (thread->comm && thread->from_ns <= time_ns && time_ns < thread->to_ns)
		return thread->comm;
	thread->comm = NULL;
	if (p->pid)
		thread->comm = machine__comm(&s->machine, p->pid, thread->tid, time_ns,
					     &thread->from_ns, &thread->to_ns);
	if (!thread->comm) {
		/* Never heard of that thread: it goes by its process's name at that time. */
		thread->from_ns = thread->to_ns = 0;
		if (p->pid)
			thread->comm = machine__comm(&s->machine, p->pid, p->pid, time_ns,
						     &thread->from_ns, &thread->to_ns);
	}
	if (!thread->comm) {
		thread->comm = p->comm ?: UNKNOWN;
		thread->from_ns = 0;
		thread->to_ns = UINT64_MAX;
	}
	return thread->comm;
}

/*
 * session__read_launch - a launch with its ids resolved
 *
 * Return: the number of ids that nothing defines, or -errno.
 */
static int session__read_launch(struct session *s, uint64_t base_ns, const struct xpu_launch *rec,
				struct launch *l, uint64_t *key, bool *one_record)
{
	uint32_t path = NO_INDEX, proc;
	int err, nr_bad = 0;

	*l = (struct launch){ .time_ns = base_ns + (int64_t)rec->delta_ns, .thread = NO_INDEX };
	if (!idmap__get(&s->tables->threads, rec->thread_id, &l->thread))
		nr_bad++;
	if (rec->path_id && !idmap__get(&s->tables->paths, rec->path_id, &path))
		nr_bad++;

	if (l->thread != NO_INDEX) {
		proc = s->threads.v[l->thread].proc;
	} else if (path != NO_INDEX) {
		proc = s->paths.v[path].proc;
	} else {
		/* Nothing says whose it is; proc_id 0 is nobody's. */
		err = machine__proc(&s->machine, 0, &proc);
		if (err)
			return err;
	}
	/* Addresses of another process mean nothing here. */
	if (path != NO_INDEX && s->paths.v[path].proc != proc) {
		path = NO_INDEX;
		nr_bad++;
	}
	if (path != NO_INDEX)
		err = session__path_chain(s, path, l->time_ns, &l->chain);
	else
		err = session__label_chain(s, proc, false, &l->chain);
	if (err)
		return err;
	if (l->thread != NO_INDEX)
		l->comm = session__thread_comm(s, &s->threads.v[l->thread], l->time_ns);
	else
		l->comm = session__proc_comm(s, proc, l->time_ns);
	*key = JOIN_KEY(proc, rec->correlation_id);
	*one_record = path != NO_INDEX && s->paths.v[path].one_record;
	return nr_bad;
}

static void session__see_time(struct session *s, uint64_t from_ns, uint64_t to_ns)
{
	if (from_ns < s->first_ns)
		s->first_ns = from_ns;
	if (to_ns > s->last_ns)
		s->last_ns = to_ns;
}

static int session__launches(struct session *s, const struct xpu_record_launches *rec)
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
		err = session__read_launch(s, rec->time_ns, &rec->launches[i], &l, &key,
					   &one_record);
		if (err < 0)
			return err;
		s->loss.bad_refs += err;
		err = session__account(s, JOIN_KEY_PROC(key), &account);
		if (err)
			return err;
		account->nr_launches++;
		account->seen_ns = max_t(uint64_t, account->seen_ns, l.time_ns);
		s->chains.v[l.chain].nr_launches++;
		if (l.thread != NO_INDEX)
			s->threads.v[l.thread].nr_launches++;
		session__see_time(s, l.time_ns, l.time_ns);
		if (s->opts.sink) {
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

static int session__relaunches(struct session *s, const struct xpu_record_launches *rec)
{
	struct launch l;
	bool one_record;
	uint64_t key;
	uint32_t i;
	int err;

	for (i = 0; i < rec->nr; i++) {
		err = session__read_launch(s, rec->time_ns, &rec->launches[i], &l, &key,
					   &one_record);
		if (err >= 0)
			err = join__rescan_launch(&s->join, key, &l);
		if (err)
			return err;
	}
	return 0;
}

/* ---- second pass: device records ------------------------------------------------------------ */

const char *memcpy_kind__name(uint8_t kind)
{
	static const char *const names[] = {	/* by CUpti_ActivityMemcpyKind */
		"unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH",
		"PtoP",
	};

	return kind < ARRAY_SIZE(names) ? names[kind] : names[0];
}

static int session__leaf(struct session *s, enum leaf_kind kind, uint32_t gpu, const char *name,
			 uint32_t *idx)
{
	struct leaf leaf = { kind, gpu, name };
	struct leaf_key key = { kind, gpu, name };
	struct leaf_entry *e;
	bool oom = false;
	int err;

	if (!name)
		return -ENOMEM;
	HASH_FIND(hh, s->tables->leaves, &key, sizeof(key), e);
	if (e) {
		*idx = e->leaf;
		return 0;
	}
	e = arena__alloc(&s->tables->arena, sizeof(*e));
	if (!e)
		return -ENOMEM;
	e->key = key;
	*idx = e->leaf = s->leaves.nr;
	err = array_push(&s->leaves, leaf);
	if (err)
		return err;
	HASH_ADD(hh, s->tables->leaves, key, sizeof(key), e);
	return oom ? -ENOMEM : 0;
}

static int session__kernel_leaf(struct session *s, uint32_t proc, uint32_t gpu, uint32_t name,
				uint32_t *idx)
{
	struct string_def *def;
	const char *interned;
	uint32_t string;
	char *pretty;
	int err;

	if (!name || !idmap__get(&s->tables->strings, ID_KEY(proc, name), &string)) {
		s->loss.bad_refs++;
		return session__leaf(s, LEAF_KERNEL, gpu,
				     strpool__intern(&s->strings, UNKNOWN, strlen(UNKNOWN)), idx);
	}
	def = &s->tables->string_defs.v[string];
	if (def->leaf == NO_INDEX || def->leaf_gpu != gpu) {
		pretty = demangle(def->s);
		interned = strpool__intern(&s->strings, pretty ? pretty : def->s,
					   strlen(pretty ? pretty : def->s));
		free(pretty);
		err = session__leaf(s, LEAF_KERNEL, gpu, interned, &def->leaf);
		if (err)
			return err;
		def->leaf_gpu = gpu;
	}
	*idx = def->leaf;
	return 0;
}

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

static int session__work(struct session *s, uint32_t proc, const struct xpu_record *rec)
{
	const struct xpu_record_memory *m = (const void *)rec;
	const struct xpu_record_kernel *k = (const void *)rec;
	bool kernel = rec->type == XPU_RECORD_KERNEL;
	struct account *account;
	struct work w = { 0 };
	struct stream *stream;
	enum leaf_kind kind;
	const char *name;
	uint64_t end_ns;
	uint32_t gpu;
	int err;

	err = session__account(s, proc, &account);
	if (err)
		return err;
	account->nr_works++;
	err = session__work_stream(s, proc, kernel ? k->stream : m->stream, &w.stream);
	if (err)
		return err;
	gpu = s->streams.v[w.stream].gpu;
	if (kernel) {
		kind = LEAF_KERNEL;
		err = session__kernel_leaf(s, proc, gpu, k->name, &w.leaf);
	} else {
		kind = rec->type == XPU_RECORD_MEMCPY ? LEAF_MEMCPY : LEAF_MEMSET;
		name = kind == LEAF_MEMCPY ? memcpy_kind__name(m->copy_kind) : "";
		err = session__leaf(s, kind, gpu, strpool__intern(&s->strings, name, strlen(name)),
				    &w.leaf);
		w.bytes = m->bytes;
	}
	if (err)
		return err;

	/* Both structures begin alike: times first. */
	if (rec->misc & XPU_MISC_BAD_TIME || !k->start_ns ||
	    __builtin_add_overflow(k->start_ns, k->duration_ns, &end_ns)) {
		s->loss.bad_times++;
	} else {
		w.start_ns = k->start_ns;
		w.duration_ns = k->duration_ns;
		session__see_time(s, w.start_ns, end_ns);
	}
	stream = &s->streams.v[w.stream];
	stream->nr_works++;
	stream->busy_ns += w.duration_ns;
	s->gpus.list.v[gpu].nr_works++;
	s->gpus.list.v[gpu].busy_ns += w.duration_ns;
	s->nr_works[kind]++;
	return join__add_work(&s->join, JOIN_KEY(proc, work__correlation_id(rec)), &w);
}

static int session__batch(struct session *s, const struct record_iter *outer,
			  const struct xpu_record_batch *batch)
{
	const struct xpu_record *rec, *next;
	struct record_iter it, ahead;
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
	}
	return err;
}

/* ---- what the join finds -------------------------------------------------------------------- */

static int session__add(struct session *s, uint32_t chain, const char *comm, uint32_t leaf,
			const struct work *w)
{
	struct aggregate_key key = { chain, leaf, comm };
	struct aggregate new = { .chain = chain, .leaf = leaf, .comm = comm, .min_ns = UINT64_MAX };
	struct aggregate_entry *e;
	struct aggregate *a;
	bool oom = false;
	int err;

	HASH_FIND(hh, s->tables->aggregates, &key, sizeof(key), e);
	if (!e) {
		e = arena__alloc(&s->tables->arena, sizeof(*e));
		if (!e)
			return -ENOMEM;
		e->key = key;
		e->aggregate = s->aggregates.nr;
		err = array_push(&s->aggregates, new);
		if (err)
			return err;
		HASH_ADD(hh, s->tables->aggregates, key, sizeof(key), e);
		if (oom)
			return -ENOMEM;
	}
	a = &s->aggregates.v[e->aggregate];
	a->nr++;
	if (w) {
		a->sum_ns += w->duration_ns;
		a->bytes += w->bytes;
		a->min_ns = min_t(uint64_t, a->min_ns, w->duration_ns);
		a->max_ns = max_t(uint64_t, a->max_ns, w->duration_ns);
	}
	return 0;
}

static int session__matched(void *ctx, uint64_t key, const struct launch *l, const struct work *w,
			    bool first)
{
	struct session *s = ctx;
	int err;

	(void)first;
	err = session__add(s, l->chain, l->comm, w->leaf, w);
	if (!err && s->opts.sink)
		err = s->opts.sink->work(s->opts.sink->ctx, s, key, w, l);
	return err;
}

static int session__pending(void *ctx, uint64_t key, const struct launch *l)
{
	struct session *s = ctx;
	uint32_t leaf;
	int err;

	(void)key;
	s->chains.v[l->chain].nr_pending++;
	err = session__leaf(s, LEAF_PENDING, NO_INDEX, strpool__intern(&s->strings, "", 0), &leaf);
	return err ?: session__add(s, l->chain, l->comm, leaf, NULL);
}

static int session__orphan(void *ctx, uint64_t key, const struct work *w)
{
	struct session *s = ctx;
	uint32_t chain;
	int err;

	err = session__label_chain(s, JOIN_KEY_PROC(key), true, &chain);
	if (!err)
		err = session__add(s, chain, w->start_ns ?
				   session__proc_comm(s, JOIN_KEY_PROC(key), w->start_ns) :
				   session__proc_name(s, JOIN_KEY_PROC(key)), w->leaf, w);
	if (!err && s->opts.sink)
		err = s->opts.sink->work(s->opts.sink->ctx, s, key, w, NULL);
	return err;
}

static const struct join_ops session_join_ops = {
	.matched = session__matched,
	.pending = session__pending,
	.orphan = session__orphan,
};

static int session__stream(struct session *s)
{
	const struct xpu_record *rec;
	struct record_iter it;
	int err = 0;

	reader__rewind(s->reader, &it);
	while (!err && (rec = record_iter__next(&it))) {
		if (rec->type == XPU_RECORD_LAUNCHES)
			err = session__launches(s, (const void *)rec);
		else if (rec->type == XPU_RECORD_BATCH)
			err = session__batch(s, &it, (const void *)rec);
		reader__release(s->reader, &it);
		session__progress(s, &it, 300, 950);
	}
	return err;
}

static int session__rescan(struct session *s)
{
	const struct xpu_record *rec;
	struct record_iter it;
	int err = 0;

	reader__rewind(s->reader, &it);
	while (!err && (rec = record_iter__next(&it))) {
		if (rec->type == XPU_RECORD_LAUNCHES)
			err = session__relaunches(s, (const void *)rec);
		reader__release(s->reader, &it);
	}
	return err;
}

/* ---- afterwards ----------------------------------------------------------------------------- */

static int session__resolve_chains(struct session *s)
{
	size_t i;

	for (i = 0; i < s->chains.nr; i++) {
		struct chain *chain = &s->chains.v[i];
		const struct path *path = NULL;

		if (chain->path != NO_INDEX)
			path = &s->paths.v[chain->path];
		if (chain->no_launch)
			chain->stack = callchains__label(&s->callchains, "[no launch]");
		else
			chain->stack = callchains__resolve(&s->callchains, path ? path->rec : NULL,
							   path ? path->image : NULL, chain->epoch,
							   path ? path->api : NULL);
		if (!chain->stack)
			return -ENOMEM;
		if (chain->no_launch)
			continue;
		if (!path || !path->rec->nr_frames || path->rec->hdr.misc & XPU_CHAIN_FAILED)
			s->loss.no_stack += chain->nr_launches;
		else if (path->rec->hdr.misc & XPU_CHAIN_TRUNCATED)
			s->loss.truncated += chain->nr_launches;
	}
	dsos__report(&s->dsos, &s->msgs);
	s->loss.nr_frames = s->callchains.nr_frames;
	s->loss.unsymbolized = s->callchains.nr_unsymbolized;
	return 0;
}

static uint64_t missing(uint64_t sent, uint64_t arrived)
{
	return sent > arrived ? sent - arrived : 0;
}

static void session__settle(struct session *s)
{
	struct loss *l = &s->loss;
	size_t i;

	for (i = 0; i < s->tables->accounts.nr; i++) {
		const struct account *a = &s->tables->accounts.v[i];

		/* The shim's total may be older than the last launches: never count backwards. */
		l->missing_launches += missing(a->sent.nr_launches, a->nr_launches);
		l->missing_works += missing(a->sent.nr_kernels + a->sent.nr_memcpys +
					    a->sent.nr_memsets, a->nr_works);
		l->missing_batches += missing(a->sent.nr_batches, a->nr_batches);
		l->dropped_cupti += a->sent.nr_dropped_cupti;
		l->dropped_shim += a->sent.nr_dropped_shim;
		l->unfinished += a->sent.nr_unfinished;
	}
	/* Work that still ran has no valid times either; it has a line of its own. */
	l->bad_times -= min_t(uint64_t, l->bad_times, l->unfinished);
	l->nr_launches = s->join.nr_launches;
	l->nr_matched = s->join.nr_matched;
	l->nr_pending = s->join.nr_pending;
	l->nr_duplicates = s->join.nr_duplicates;
	l->nr_works = s->join.nr_works;
	l->nr_orphans = s->join.nr_orphans;
	if (s->first_ns > s->last_ns)
		s->first_ns = s->last_ns = 0;
}

int session__process(struct session *s, const struct reader *r)
{
	int err;

	s->reader = r;
	s->first_ns = UINT64_MAX;
	err = session__collect(s);
	if (!err)
		err = session__resolve(s);
	if (!err)
		err = session__stream(s);
	if (!err && join__wants_rescan(&s->join))
		err = session__rescan(s);
	if (!err)
		err = join__finish(&s->join);
	if (!err)
		err = session__resolve_chains(s);
	if (!err)
		session__settle(s);
	return err;
}

const char *session__proc_name(const struct session *s, uint32_t proc)
{
	const struct session_tables *t = s->tables;
	const struct proc *p = &s->machine.procs.v[proc];
	const char *comm = NULL;
	uint64_t from, to;

	/* At a time when it surely was this image: its pid may have had others. */
	if (p->pid && proc < t->accounts.nr && t->accounts.v[proc].seen_ns)
		comm = machine__comm(&s->machine, p->pid, p->pid, t->accounts.v[proc].seen_ns,
				     &from, &to);
	comm = comm ?: p->comm;
	return comm && *comm ? comm : UNKNOWN;
}
