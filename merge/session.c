// SPDX-License-Identifier: GPL-3.0-or-later
#include "session.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "demangle.h"
#include "escape.h"
#include "window.h"

#define HASH_NONFATAL_OOM	1
#define uthash_nonfatal_oom(e)	(oom = true)
#include <uthash.h>

#define UNKNOWN		"[unknown]"
#define NR_RECENT	4096

/* How the shim names an explicit call that makes a graph node: it knows no better. */
#define DOMAIN_RESOURCE		3	/* CUPTI_CB_DOMAIN_RESOURCE */
#define CBID_GRAPHNODE_CREATED	13	/* CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED */

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

/* What stands in the place of a call path, or of a launch. */
enum label {
	LABEL_NO_PATH,
	LABEL_NO_LAUNCH,
	LABEL_BEFORE,
	LABEL_AFTER,
	LABEL_NO_STACK,			/* of a sample */
	NR_LABELS
};

static const char *const no_launch_labels[NR_LABELS] = {
	[LABEL_NO_LAUNCH] = "[no launch]",
	[LABEL_BEFORE] = "[before attach]",
	[LABEL_AFTER] = "[after detach]",
	[LABEL_NO_STACK] = "[no stack]",
};

/* What one process says it sent, and what has arrived of it. */
struct account {
	struct xpu_record_counters sent;	/* nr_batches 0: it never said */
	struct xpu_record_counters first;	/* what it had sent when the recording began ... */
	const struct xpu_record_batch *baseline;	/* ... this batch included */
	struct window window;
	uint64_t nr_launches;
	uint64_t nr_works;
	uint64_t nr_batches;
	uint32_t nr_threads;
	uint64_t seen_ns;			/* the last time it launched or sent something */
	uint32_t label_chains[NR_LABELS];
	uint32_t unknown_stream;
};

/* A call chain that was unwound here: equal ones are one path. */
struct unwound_entry {
	UT_hash_handle hh;
	uint32_t path;
	struct unwound_key {
		struct image *image;
		struct xpu_record_callchain rec;
	} key;
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
		uint32_t thread;
		uint32_t stream;
	} key;
	uint32_t aggregate;
	UT_hash_handle hh;
};

/* A sample in a call of which it turns out later whether it was a wait. */
struct waiting_sample {
	struct launch at;
	uint32_t period_ns;
	const struct wait *wait;
};

/* Where ids lead. Ids of one process only have its index in the upper half of their key. */
struct session_tables {
	struct idmap paths;
	struct idmap threads;
	struct idmap strings;		/* (proc, id) */
	struct idmap streams;		/* (proc, id) */
	struct idmap apis;		/* (domain, cbid) */
	struct idmap chains;		/* (path, epoch), epoch > 0 */
	struct idmap joined_chains;	/* (chain of the launch, chain of the capture) */
	struct idmap pycodes;		/* (proc, id) */
	uint32_t path_proc;		/* whose path is being resolved */
	ARRAY(struct string_def) string_defs;
	ARRAY(struct api_def) api_defs;
	ARRAY(struct device_def) device_defs;
	ARRAY(struct stream_def) stream_defs;
	ARRAY(const struct xpu_record_pycode *) pycode_defs;
	ARRAY(const struct xpu_record_wait *) wait_recs;
	ARRAY(uint32_t) wait_leaves;	/* by leaf: that of waiting for it, or NO_INDEX */
	ARRAY(struct waiting_sample) waiting_samples;
	ARRAY(struct account) accounts;	/* by process */
	struct unwound_entry *unwound;
	ARRAY(char) unwound_key;	/* to look one up */
	struct leaf_entry *leaves;
	struct aggregate_entry *aggregates;
	uint32_t recent[NR_RECENT];	/* aggregates, by RECENT(): most works find theirs here */
	struct arena arena;
	unsigned int permille;
	/* Where the tables of the recording that is being read begin. */
	size_t first_path, first_thread, first_chain, first_proc, first_account;
};

/* Two boot times this close to one another are one boot's, seen before and after a clock step. */
#define SAME_BOOT_NS	1000000000

#define RECENT(chain, leaf, comm) \
	(((chain) * 31 + (leaf) * 7 + ((uintptr_t)(comm) >> 3)) % NR_RECENT)
#define ID_KEY(proc, id)	((uint64_t)(proc) << 32 | (id))

static const struct join_ops session_join_ops;

static bool session__pycode(void *ctx, uint32_t id, struct pycode *code);
static const char *session__frame_string(void *ctx, uint32_t id);
static const char *session__jit(void *ctx, const struct image *image, bool ran_before,
				uint64_t addr);

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
	s->dsos.paths.symfs = opts->symfs;
	s->dsos.paths.debug_dirs = opts->debug_dirs;
	s->dsos.paths.buildid_dir = opts->buildid_dir;
	callchains__init(&s->callchains, &s->dsos, &s->strings, opts->trim);
	s->callchains.python_style = opts->python_style;
	s->callchains.show_inline = opts->show_inline;
	s->callchains.show_srcline = opts->show_srcline;
	s->callchains.pycode = session__pycode;
	s->callchains.jit = session__jit;
	s->callchains.kallsyms = &s->kallsyms;
	s->callchains.string = session__frame_string;
	s->callchains.lookup_ctx = s;
	unwind__init(&s->unwind, &s->dsos);
	pysources__init(&s->pysources, &s->strings);
	join__init(&s->join, &session_join_ops, s);
	graphs__init(&s->graphs);
	waits__init(&s->waits);
	idles__init(&s->idles);
	gpus__init(&s->gpus, &s->strings);
	return 0;
}

void session__exit(struct session *s)
{
	struct session_tables *t = s->tables;
	size_t i;

	if (!t)
		return;
	HASH_CLEAR(hh, t->unwound);
	array_free(&t->unwound_key);
	HASH_CLEAR(hh, t->leaves);
	HASH_CLEAR(hh, t->aggregates);
	arena__free(&t->arena);
	for (i = 0; i < t->accounts.nr; i++)
		window__exit(&t->accounts.v[i].window);
	array_free(&t->accounts);
	array_free(&t->waiting_samples);
	array_free(&t->wait_leaves);
	array_free(&t->wait_recs);
	array_free(&t->pycode_defs);
	array_free(&t->stream_defs);
	array_free(&t->device_defs);
	array_free(&t->api_defs);
	array_free(&t->string_defs);
	idmap__free(&t->pycodes);
	idmap__free(&t->joined_chains);
	idmap__free(&t->chains);
	idmap__free(&t->apis);
	idmap__free(&t->streams);
	idmap__free(&t->strings);
	idmap__free(&t->threads);
	idmap__free(&t->paths);
	free(t);
	s->tables = NULL;
	array_free(&s->accounts);
	array_free(&s->messages);
	array_free(&s->aggregates);
	for (i = 0; i < s->leaf_stats.nr; i++) {
		stats__free(&s->leaf_stats.v[i].ns);
		stats__free(&s->leaf_stats.v[i].bytes);
	}
	array_free(&s->leaf_stats);
	array_free(&s->leaves);
	array_free(&s->streams);
	array_free(&s->chains);
	array_free(&s->threads);
	array_free(&s->paths);
	array_free(&s->infos);
	array_free(&s->inputs);
	gpus__exit(&s->gpus);
	idles__exit(&s->idles);
	waits__exit(&s->waits);
	jitmaps__exit(&s->jitmaps);
	kallsyms__free(&s->kallsyms);
	graphs__exit(&s->graphs);
	join__exit(&s->join);
	unwind__exit(&s->unwind);
	pysources__exit(&s->pysources);
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

	permille = (permille + 1000 * (s->machine.recording)) / s->inputs.nr;
	if (!s->opts.progress || permille == s->tables->permille)
		return;
	s->tables->permille = permille;
	s->opts.progress(s->opts.progress_ctx, permille);
}

static int session__new_accounts(struct session *s, uint32_t proc)
{
	struct session_tables *t = s->tables;
	struct account new = {
		.label_chains = { NO_INDEX, NO_INDEX, NO_INDEX, NO_INDEX, NO_INDEX },
		.unknown_stream = NO_INDEX,
	};
	int err = 0;

	while (!err && t->accounts.nr <= proc)
		err = array_push(&t->accounts, new);
	return err;
}

static inline int session__account(struct session *s, uint32_t proc, struct account **account)
{
	int err = s->tables->accounts.nr <= proc ? session__new_accounts(s, proc) : 0;

	if (!err)
		*account = &s->tables->accounts.v[proc];
	return err;
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

static int session__collect_graph_node(struct session *s, const struct xpu_record_graph_node *rec)
{
	uint32_t proc;
	int err;

	err = machine__proc(&s->machine, rec->proc_id, &proc);
	return err ?: graphs__add_node(&s->graphs, proc, rec);
}

static int session__collect_nested(struct session *s, uint32_t proc, struct account *account,
				   const struct xpu_record_batch *batch,
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
		err = idmap__put(&t->streams, ID_KEY(proc, stream->id),
				 s->streams.nr + t->stream_defs.nr);
		return err ?: array_push(&t->stream_defs, def);
	}
	case XPU_RECORD_DEVICE: {
		struct device_def def = { proc, (const void *)rec };

		return array_push(&t->device_defs, def);
	}
	case XPU_RECORD_GRAPH_CLONE: {
		const struct xpu_record_graph_clone *clone = (const void *)rec;

		return graphs__add_clone(&s->graphs, proc, clone->node_id, clone->original_id);
	}
	case XPU_RECORD_PYCODE: {
		const struct xpu_record_pycode *code = (const void *)rec;

		if (!code->id || idmap__get(&t->pycodes, ID_KEY(proc, code->id), &idx))
			return 0;
		err = idmap__put(&t->pycodes, ID_KEY(proc, code->id), t->pycode_defs.nr);
		return err ?: array_push(&t->pycode_defs, code);
	}
	case XPU_RECORD_COUNTERS: {
		const struct xpu_record_counters *sent = (const void *)rec;

		/* Running totals, so the bigger is the later: two threads may send at a time. */
		if (sent->nr_batches >= account->sent.nr_batches)
			account->sent = *sent;
		if (!account->baseline || sent->nr_batches < account->first.nr_batches) {
			account->first = *sent;
			account->baseline = batch;
		}
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
		err = session__collect_nested(s, proc, account, batch, rec);
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

	switch (rec->type) {
	case XPU_RECORD_INFO:
		s->inputs.v[s->machine.recording].nr_infos++;
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
	case XPU_RECORD_GRAPH_NODE:
		return session__collect_graph_node(s, (const void *)rec);
	case XPU_RECORD_WAIT:
		return array_push(&s->tables->wait_recs, (const void *)rec);
	case XPU_RECORD_ACCOUNT:
		s->idles.wanted = true;
		return array_push(&s->accounts, ((struct thread_account){
			(const void *)rec, NO_INDEX, NULL,
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
	s->loss.not_closed = !s->inputs.v[s->machine.recording].ended;
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
	if (rec->hdr.misc & XPU_CHAIN_CPU)
		return 0;
	if (idmap__get(&s->tables->apis, ID_KEY(rec->domain, rec->cbid), &idx)) {
		const struct api_def *def = &s->tables->api_defs.v[idx];

		name = session__string(s, def->proc, def->name);
	}
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

/*
 * Tells the processes that were not recorded from their beginning or to their end, for they were
 * attached to or outlived the recording, from those that were there all along.
 * @ends_known: a process without an end has none, rather than that ends are not recorded
 */
static int session__resolve_accounts(struct session *s, bool ends_known)
{
	struct session_tables *t = s->tables;
	struct account *account;
	size_t i;
	int err;

	for (i = t->first_proc; i < s->machine.procs.nr; i++) {
		err = session__account(s, i, &account);
		if (err)
			return err;
		if (s->machine.procs.v[i].how == XPU_MISC_PROCESS_ATTACH) {
			window__open(&account->window, min_t(uint64_t, account->sent.nr_slots,
							     WINDOW_MAX_THREADS));
			continue;
		}
		account->baseline = NULL;
		memset(&account->first, 0, sizeof(account->first));
		if (ends_known && !s->machine.procs.v[i].exited)
			window__open(&account->window, min_t(uint64_t, account->sent.nr_slots,
							     WINDOW_MAX_THREADS));
	}
	for (i = t->first_thread; i < s->threads.nr; i++)
		t->accounts.v[s->threads.v[i].proc].nr_threads++;
	for (i = t->first_proc; i < t->accounts.nr; i++) {
		account = &t->accounts.v[i];
		if (account->window.nr_threads)
			window__open(&account->window, max_t(uint32_t, account->nr_threads,
							     account->window.nr_threads));
	}
	return 0;
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

static int session__resolve(struct session *s)
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
	return session__resolve_waits(s);
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
	struct chain chain = {
		.proc = path->proc, .path = path_idx, .launched = NO_INDEX, .captured = NO_INDEX,
	};
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
static int session__label_chain(struct session *s, uint32_t proc, enum label label, uint32_t *idx)
{
	struct chain chain = {
		.proc = proc, .path = NO_INDEX, .no_launch = no_launch_labels[label],
		.launched = NO_INDEX, .captured = NO_INDEX,
	};
	struct account *account;
	uint32_t *known;
	int err;

	err = session__account(s, proc, &account);
	if (err)
		return err;
	known = &account->label_chains[label];
	err = *known == NO_INDEX ? session__new_chain(s, &chain, known) : 0;
	*idx = *known;
	return err;
}

/* The chain of what one call path launched and another one captured. */
static int session__joined_chain(struct session *s, uint32_t launched, uint32_t captured,
				 uint32_t *idx)
{
	struct chain chain = {
		.proc = s->chains.v[launched].proc, .path = NO_INDEX, .launched = launched,
		.captured = captured,
	};
	uint64_t key = ID_KEY(launched, captured);
	int err;

	if (idmap__get(&s->tables->joined_chains, key, idx))
		return 0;
	err = session__new_chain(s, &chain, idx);
	return err ?: idmap__put(&s->tables->joined_chains, key, *idx);
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
 * session__read_origin - where a call came from, by the ids of a record
 * @s: the session
 * @l: its time is known; chain, comm and thread are filled in
 * @procp: whose it is; NO_INDEX if the caller does not know, either
 * @pathp: set to its call path, NO_INDEX if it has none
 *
 * Return: the number of ids that nothing defines, or -errno.
 */
static int session__read_origin(struct session *s, uint32_t path_id, uint32_t thread_id,
				struct launch *l, uint32_t *procp, uint32_t *pathp)
{
	uint32_t path = NO_INDEX, proc = *procp;
	int err, nr_bad = 0;

	l->thread = NO_INDEX;
	if (!idmap__get(&s->tables->threads, thread_id, &l->thread))
		nr_bad++;
	if (path_id && !idmap__get(&s->tables->paths, path_id, &path))
		nr_bad++;

	if (proc != NO_INDEX) {
		if (l->thread != NO_INDEX && s->threads.v[l->thread].proc != proc) {
			l->thread = NO_INDEX;
			nr_bad++;
		}
	} else if (l->thread != NO_INDEX) {
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
		err = session__label_chain(s, proc, LABEL_NO_PATH, &l->chain);
	if (err)
		return err;
	if (l->thread != NO_INDEX)
		l->comm = session__thread_comm(s, &s->threads.v[l->thread], l->time_ns);
	else
		l->comm = session__proc_comm(s, proc, l->time_ns);
	*procp = proc;
	*pathp = path;
	return nr_bad;
}

/* A launch with its ids resolved. Return: the number of ids that nothing defines, or -errno. */
static int session__read_launch(struct session *s, uint64_t base_ns, const struct xpu_launch *rec,
				struct launch *l, uint64_t *key, bool *one_record)
{
	uint32_t path, proc = NO_INDEX;
	int nr_bad;

	*l = (struct launch){ .time_ns = base_ns + (int64_t)rec->delta_ns };
	nr_bad = session__read_origin(s, rec->path_id, rec->thread_id, l, &proc, &path);
	if (nr_bad < 0)
		return nr_bad;
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
		if (account->window.nr_threads) {
			err = window__see(&account->window, JOIN_KEY_ID(key));
			if (err)
				return err;
		}
		account->seen_ns = max_t(uint64_t, account->seen_ns, l.time_ns);
		l.time_ns += s->shift_ns;
		s->chains.v[l.chain].nr_launches++;
		if (l.thread != NO_INDEX)
			s->threads.v[l.thread].nr_launches++;
		session__see_time(s, l.time_ns, l.time_ns);
		if (s->opts.sink && s->opts.sink->launch && !filter__active(s->opts.filter) &&
		    !(s->opts.without & 1u << LEAF_PENDING)) {
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
		l.time_ns += s->shift_ns;
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

void leaf__label(const struct session *s, const struct leaf *leaf, bool numbered, char *buf)
{
	static const char *const kinds[NR_LEAF_KINDS] = {
		[LEAF_KERNEL] = "Kernel",
		[LEAF_MEMCPY] = "Memcpy",
		[LEAF_MEMSET] = "Memset",
		[LEAF_PENDING] = "[GPU_Launch_Pending]",
		[LEAF_CPU] = "",
		[LEAF_OFF_CPU] = "[Off_CPU]",
		[LEAF_GPU_WAIT] = "[GPU_Wait]",
	};

	if (!leaf_kind__is_device(leaf->kind))
		snprintf(buf, LEAF_LABEL_MAX, "%s", kinds[leaf->kind]);
	else if (numbered)
		snprintf(buf, LEAF_LABEL_MAX, "[GPU%" PRIu32 "_%s]",
			 s->gpus.list.v[leaf->gpu].number, kinds[leaf->kind]);
	else
		snprintf(buf, LEAF_LABEL_MAX, "[GPU_%s]", kinds[leaf->kind]);
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

/* The origin of the graph node that a device record is of, NO_INDEX if it is of none or unknown. */
static uint32_t session__work_node(struct session *s, uint32_t proc, const struct xpu_record *rec)
{
	uint64_t id;
	uint32_t node;

	if (!(rec->misc & XPU_MISC_GRAPH_NODE))
		return NO_INDEX;
	if (rec->type == XPU_RECORD_KERNEL)
		id = ((const struct xpu_record_kernel *)rec)->graph_node_id[0];
	else
		id = ((const struct xpu_record_memory *)rec)->graph_node_id[0];
	node = graphs__origin(&s->graphs, proc, id);
	if (node == NO_INDEX && s->opts.graph != GRAPH_LAUNCH)
		s->loss.unknown_nodes++;
	return node;
}

static int session__work(struct session *s, uint32_t proc, const struct xpu_record *rec)
{
	const struct xpu_record_memory *m = (const void *)rec;
	const struct xpu_record_kernel *k = (const void *)rec;
	bool kernel = rec->type == XPU_RECORD_KERNEL;
	struct account *account;
	struct work w = { 0 };
	enum leaf_kind kind;
	const char *name;
	uint64_t end_ns;
	uint32_t gpu;
	int err;

	err = session__account(s, proc, &account);
	if (err)
		return err;
	account->nr_works++;
	w.node = session__work_node(s, proc, rec);
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
	    __builtin_add_overflow(k->start_ns, k->duration_ns, &end_ns) ||
	    __builtin_add_overflow(end_ns, s->shift_ns, &end_ns)) {
		s->loss.bad_times++;
	} else {
		w.start_ns = k->start_ns + s->shift_ns;
		w.duration_ns = k->duration_ns;
		session__see_time(s, w.start_ns, end_ns);
		const struct stream *stream = &s->streams.v[w.stream];
		err = waits__work(&s->waits, &(struct wait_work){
			.start_ns = w.start_ns,
			.end_ns = end_ns,
			.proc = proc,
			.context = stream->context,
			.stream = stream->stream,
			.correlation_id = work__correlation_id(rec),
			.leaf = w.leaf,
			.kernel = kernel,
		});
		if (err)
			return err;
	}
	s->gpus.list.v[gpu].used = true;
	return join__add_work(&s->join, JOIN_KEY(proc, work__correlation_id(rec)), &w);
}

static int session__batch(struct session *s, const struct record_iter *outer,
			  const struct xpu_record_batch *batch)
{
	const struct xpu_record *rec, *next;
	struct record_iter it, ahead;
	struct account *account;
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
	if (!err)
		err = session__account(s, proc, &account);
	/* What was sent with the baseline is not among what was sent after it. */
	if (!err && account->baseline == batch)
		account->nr_works = 0;
	return err;
}

/* ---- what the join finds -------------------------------------------------------------------- */

static int session__add(struct session *s, uint32_t chain, const char *comm, uint32_t thread,
			uint32_t leaf, const struct work *w)
{
	struct aggregate_key key = {
		.chain = chain,
		.leaf = leaf,
		.comm = comm,
		.thread = s->opts.by_thread ? thread : NO_INDEX,
		.stream = s->opts.by_stream && w ? w->stream : NO_INDEX,
	};
	uint32_t *recent = &s->tables->recent[RECENT(chain, leaf, comm)];
	struct aggregate_entry *e;
	struct aggregate *a;
	bool oom = false;
	int err;

	if (s->opts.without & 1u << s->leaves.v[leaf].kind)
		return 0;
	if (*recent < s->aggregates.nr) {
		a = &s->aggregates.v[*recent];
		if (a->chain == chain && a->leaf == leaf && a->comm == comm &&
		    a->thread == key.thread && a->stream == key.stream)
			goto found;
	}
	HASH_FIND(hh, s->tables->aggregates, &key, sizeof(key), e);
	if (!e) {
		e = arena__alloc(&s->tables->arena, sizeof(*e));
		if (!e)
			return -ENOMEM;
		e->key = key;
		e->aggregate = s->aggregates.nr;
		err = array_push(&s->aggregates, ((struct aggregate){
			.chain = chain,
			.leaf = leaf,
			.comm = comm,
			.thread = key.thread,
			.stream = key.stream,
			.min_ns = UINT64_MAX,
		}));
		if (err)
			return err;
		HASH_ADD(hh, s->tables->aggregates, key, sizeof(key), e);
		if (oom)
			return -ENOMEM;
	}
	*recent = e->aggregate;
	a = &s->aggregates.v[e->aggregate];
found:
	a->nr++;
	if (w) {
		a->sum_ns += w->duration_ns;
		a->bytes += w->bytes;
		a->min_ns = min_t(uint64_t, a->min_ns, w->duration_ns);
		a->max_ns = max_t(uint64_t, a->max_ns, w->duration_ns);
	}
	return 0;
}

/* To the sum that session__add() has just added to: @nr more, which took @ns together. */
static void session__add_more(struct session *s, uint32_t chain, const char *comm, uint32_t leaf,
			      uint64_t nr, uint64_t ns)
{
	struct aggregate *a = &s->aggregates.v[s->tables->recent[RECENT(chain, leaf, comm)]];

	a->nr += nr;
	a->sum_ns += ns;
	if (nr)
		a->min_ns = min_t(uint64_t, a->min_ns, ns / nr);
}

/* Where and by whom a graph node was made, looked up once. */
static int session__resolve_node(struct session *s, struct graph_node *node)
{
	struct launch made = { .time_ns = node->rec->time_ns };
	uint32_t path, proc = node->proc;
	int nr_bad;

	if (node->resolved)
		return 0;
	nr_bad = session__read_origin(s, node->rec->path_id, node->rec->thread_id, &made, &proc,
				      &path);
	if (nr_bad < 0)
		return nr_bad;
	s->loss.bad_refs += nr_bad;
	/* A captured launch is among the launches of its own call path. */
	if (!node->rec->correlation_id)
		s->chains.v[made.chain].nr_nodes++;
	node->chain = made.chain;
	node->thread = made.thread;
	node->comm = made.comm;
	node->resolved = true;
	return 0;
}

static int session__tell_placed(struct session *s, const struct placed *placed)
{
	const struct session_sink *sink = s->opts.sink;

	return sink && sink->placed ? sink->placed(sink->ctx, s, placed) : 0;
}

/* With a filter, launches are told only when it is known that they are wanted. */
static int session__tell_launch(struct session *s, uint64_t key, const struct launch *l)
{
	const struct session_sink *sink = s->opts.sink;

	if (!sink || !sink->launch || !filter__active(s->opts.filter) ||
	    s->opts.without & 1u << LEAF_PENDING)
		return 0;
	return sink->launch(sink->ctx, s, key, l);
}

/* Return: 1 if the filter lets it pass, or there is none; 0 if not, or -ENOMEM. @w: NULL for a launch. */
static int session__keeps(struct session *s, uint32_t chain, uint32_t thread, const char *comm,
			  uint64_t time_ns, const struct work *w)
{
	struct filter_event e = {
		.pid = s->machine.procs.v[s->chains.v[chain].proc].pid,
		.tid = thread != NO_INDEX ? s->threads.v[thread].tid : NO_INDEX,
		.comm = comm,
		.timed = time_ns,
		.time_ns = time_ns > s->start_ns ? time_ns - s->start_ns : 0,
		.device = NO_INDEX,
		.stream = NO_INDEX,
	};

	if (!filter__active(s->opts.filter))
		return 1;
	if (w) {
		const struct stream *stream = &s->streams.v[w->stream];
		const struct leaf *leaf = &s->leaves.v[w->leaf];

		e.device = s->gpus.list.v[stream->gpu].number;
		e.stream = stream->known ? stream->stream : NO_INDEX;
		e.kernel = leaf->kind == LEAF_KERNEL ? leaf->name : NULL;
	}
	return filter__keeps(s->opts.filter, &e);
}

static int session__add_stats(struct session *s, const struct work *w)
{
	static const struct leaf_stats none;
	struct leaf_stats *stats;
	int err = 0;

	while (!err && s->leaf_stats.nr <= w->leaf)
		err = array_push(&s->leaf_stats, none);
	if (err)
		return err;
	stats = &s->leaf_stats.v[w->leaf];
	return stats__add(&stats->ns, w->duration_ns) ?: stats__add(&stats->bytes, w->bytes);
}

static int session__count_work(struct session *s, const struct work *w)
{
	struct stream *stream = &s->streams.v[w->stream];
	struct gpu *gpu = &s->gpus.list.v[stream->gpu];

	stream->nr_works++;
	stream->busy_ns += w->duration_ns;
	gpu->nr_works++;
	gpu->busy_ns += w->duration_ns;
	s->nr_works[s->leaves.v[w->leaf].kind]++;
	return s->opts.stats ? session__add_stats(s, w) : 0;
}

/*
 * Device work under its call path: that of its launch, @chain, or the one that made the graph node
 * it is of, or both. Tells the sink, too.
 */
static int session__place(struct session *s, uint64_t key, const struct work *w,
			  const struct launch *l, uint32_t chain, const char *comm)
{
	uint32_t thread = l ? l->thread : NO_INDEX;
	struct graph_node *node = NULL;
	int err = 0;

	if (w->node != NO_INDEX) {
		node = &s->graphs.nodes.v[w->node];
		err = session__resolve_node(s, node);
		if (!err && s->opts.graph == GRAPH_CAPTURE) {
			chain = node->chain;
			comm = node->comm;
			thread = node->thread;
		} else if (!err && s->opts.graph == GRAPH_BOTH) {
			err = session__joined_chain(s, chain, node->chain, &chain);
		}
	}
	if (err || s->opts.without & 1u << s->leaves.v[w->leaf].kind)
		return err;
	err = session__keeps(s, chain, thread, comm, w->start_ns, w);
	if (!err)
		s->nr_left_out++;
	if (err <= 0)
		return err;
	err = session__count_work(s, w);
	if (!err && w->start_ns)
		err = idles__work(&s->idles, s->streams.v[w->stream].gpu, l ? l->thread : NO_INDEX,
				  w->start_ns, w->start_ns + w->duration_ns);
	if (!err)
		err = session__add(s, chain, comm, thread, w->leaf, w);
	if (!err)
		err = session__tell_placed(s, &(struct placed){
			.time_ns = l ? l->time_ns : w->start_ns,
			.duration_ns = w->duration_ns,
			.comm = comm,
			.chain = chain,
			.thread = thread,
			.leaf = w->leaf,
		});
	if (!err && l)
		err = session__tell_launch(s, key, l);
	if (!err && s->opts.sink && s->opts.sink->work)
		err = s->opts.sink->work(s->opts.sink->ctx, s, key, w, l,
					 node ? node->chain : NO_INDEX);
	return err;
}

static int session__matched(void *ctx, uint64_t key, const struct launch *l, const struct work *w,
			    bool first)
{
	(void)first;
	return session__place(ctx, key, w, l, l->chain, l->comm);
}

/* Return: whether the process was still there when the recording that had found it there ended. */
static bool session__outlived(const struct session *s, uint32_t proc)
{
	return s->tables->accounts.v[proc].window.nr_threads && !s->machine.procs.v[proc].exited;
}

static int session__pending(void *ctx, uint64_t key, const struct launch *l)
{
	struct session *s = ctx;
	uint32_t leaf;
	int keep, err;

	keep = session__keeps(s, l->chain, l->thread, l->comm, l->time_ns, NULL);
	if (keep > 0)
		keep = session__tell_launch(s, key, l) ?: 1;
	if (keep < 0)
		return keep;
	if (graphs__captured(&s->graphs, JOIN_KEY_PROC(key), JOIN_KEY_ID(key))) {
		s->loss.nr_captured++;
		return 0;
	}
	s->loss.at_detach += session__outlived(s, JOIN_KEY_PROC(key));
	s->chains.v[l->chain].nr_pending++;
	if (!keep) {
		s->nr_pending_left_out++;
		return 0;
	}
	err = session__leaf(s, LEAF_PENDING, NO_INDEX, strpool__intern(&s->strings, "", 0), &leaf);
	if (!err)
		err = session__add(s, l->chain, l->comm, l->thread, leaf, NULL);
	return err ?: session__tell_placed(s, &(struct placed){
		.time_ns = l->time_ns, .comm = l->comm, .chain = l->chain, .thread = l->thread,
		.leaf = leaf,
	});
}

static int session__orphan(void *ctx, uint64_t key, const struct work *w)
{
	uint32_t chain, proc = JOIN_KEY_PROC(key);
	enum label label = LABEL_NO_LAUNCH;
	struct session *s = ctx;
	const char *comm;
	int err;

	switch (window__place(&s->tables->accounts.v[proc].window, JOIN_KEY_ID(key))) {
	case WINDOW_BEFORE:
		s->loss.before_attach++;
		label = LABEL_BEFORE;
		break;
	case WINDOW_AFTER:
		s->loss.after_detach++;
		label = LABEL_AFTER;
		break;
	case WINDOW_INSIDE:
		break;
	}
	err = session__label_chain(s, proc, label, &chain);
	if (err)
		return err;
	comm = w->start_ns ? session__proc_comm(s, proc, w->start_ns - s->shift_ns) :
			     session__proc_name(s, proc);
	return session__place(s, key, w, NULL, chain, comm);
}

static const struct join_ops session_join_ops = {
	.matched = session__matched,
	.pending = session__pending,
	.orphan = session__orphan,
};

/* The leaf of waiting for @leaf, which is one of the device's or WAIT_LEAF_*. */
static int session__wait_leaf(struct session *s, uint32_t leaf, uint32_t *idx)
{
	struct session_tables *t = s->tables;
	const char *name;
	int err = 0;

	if (leaf == WAIT_LEAF_IDLE || leaf == WAIT_LEAF_OTHER) {
		name = leaf == WAIT_LEAF_IDLE ? "(idle)" : "(other streams)";
		return session__leaf(s, LEAF_GPU_WAIT, NO_INDEX,
				     strpool__intern(&s->strings, name, strlen(name)), idx);
	}
	while (!err && t->wait_leaves.nr <= leaf)
		err = array_push(&t->wait_leaves, NO_INDEX);
	if (err)
		return err;
	if (t->wait_leaves.v[leaf] == NO_INDEX) {
		name = s->leaves.v[leaf].name;
		if (s->leaves.v[leaf].kind == LEAF_MEMCPY)
			name = strpool__internf(&s->strings, "memcpy %s", name);
		else if (s->leaves.v[leaf].kind == LEAF_MEMSET)
			name = strpool__intern(&s->strings, "memset", strlen("memset"));
		err = session__leaf(s, LEAF_GPU_WAIT, NO_INDEX, name, &t->wait_leaves.v[leaf]);
	}
	*idx = t->wait_leaves.v[leaf];
	return err;
}

const char *off_kind__name(uint32_t kind)
{
	static const char *const names[XPU_OFF_NR] = {
		[XPU_OFF_LOCK] = "lock",
		[XPU_OFF_IO] = "io",
		[XPU_OFF_SLEEP] = "sleep",
		[XPU_OFF_POLL] = "poll",
		[XPU_OFF_CHILD] = "child",
		[XPU_OFF_OTHER] = "other",
		[XPU_OFF_RUNNABLE] = "runnable",
		[XPU_OFF_CALL] = "CUDA call",
	};

	return kind < XPU_OFF_NR ? names[kind] : NULL;
}

/*
 * session__read_off - who was off the CPU, and where
 * @at: its time is known; the rest is filled in
 * @leaf: set to that of the kind
 *
 * Return: 1, 0 if the record makes no sense or the filter does not let it pass, or -errno.
 */
static int session__read_off(struct session *s, uint32_t kind, uint32_t path_id, uint32_t thread_id,
			     struct launch *at, uint32_t *leaf)
{
	const char *name = off_kind__name(kind);
	uint32_t path, proc = NO_INDEX;
	int err;

	if (!name) {
		s->loss.bad_refs++;
		return 0;
	}
	err = session__read_origin(s, path_id, thread_id, at, &proc, &path);
	if (err < 0)
		return err;
	s->loss.bad_refs += err;
	err = path == NO_INDEX ? session__label_chain(s, proc, LABEL_NO_STACK, &at->chain) : 0;
	if (!err)
		err = session__leaf(s, LEAF_OFF_CPU, NO_INDEX,
				    strpool__intern(&s->strings, name, strlen(name)), leaf);
	at->time_ns += s->shift_ns;
	return err ?: session__keeps(s, at->chain, at->thread, at->comm, at->time_ns, NULL);
}

static int session__off_cpu(struct session *s, const struct xpu_record_off_cpu *rec)
{
	struct work w = { .duration_ns = rec->max_ns, .stream = NO_INDEX, .node = NO_INDEX };
	struct launch at = { .time_ns = rec->last_ns };
	uint32_t leaf;
	int err;

	err = session__read_off(s, rec->hdr.misc, rec->path_id, rec->thread_id, &at, &leaf);
	if (err <= 0 || !rec->nr || s->opts.without & 1u << LEAF_OFF_CPU)
		return min_t(int, err, 0);
	/* One for the longest, and then the others. */
	err = session__add(s, at.chain, at.comm, at.thread, leaf, &w);
	if (!err)
		session__add_more(s, at.chain, at.comm, leaf, rec->nr - 1,
				  rec->sum_ns - min_t(uint64_t, rec->sum_ns, rec->max_ns));
	return err;
}

static int session__off(struct session *s, const struct xpu_record_off *rec)
{
	struct launch at = { .time_ns = rec->start_ns };
	uint64_t end_ns;
	uint32_t leaf;
	int err;

	err = session__read_off(s, rec->hdr.misc, rec->path_id, rec->thread_id, &at, &leaf);
	if (err <= 0 || at.thread == NO_INDEX)
		return min_t(int, err, 0);
	if (__builtin_add_overflow(at.time_ns, rec->duration_ns, &end_ns)) {
		s->loss.bad_refs++;
		return 0;
	}
	return idles__did(&s->idles, at.thread, IDLE_OFF_CPU, s->leaves.v[leaf].name, at.chain,
			  at.time_ns, end_ns);
}

static int session__wait_share(void *ctx, const struct wait *wait, uint32_t device_leaf,
			       uint64_t ns)
{
	struct work share = { .duration_ns = ns, .stream = NO_INDEX, .node = NO_INDEX };
	struct launch l = { .time_ns = wait->rec->start_ns };
	uint32_t path, leaf, proc = wait->proc;
	struct session *s = ctx;
	int err;

	err = session__wait_leaf(s, device_leaf, &leaf);
	if (err)
		return err;
	err = session__read_origin(s, wait->rec->path_id, wait->rec->thread_id, &l, &proc, &path);
	if (err < 0)
		return err;
	s->loss.bad_refs += err;
	if (l.thread != NO_INDEX)
		s->threads.v[l.thread].gpu_wait_ns += ns;
	err = session__keeps(s, l.chain, l.thread, l.comm, wait->start_ns, NULL);
	if (err <= 0)
		return err;
	return session__add(s, l.chain, l.comm, l.thread, leaf, &share);
}

/* ---- second pass: CPU samples --------------------------------------------------------------- */

/*
 * Sums up one sample. @at: its chain, thread and name, and its time, of the recording; @period_ns: what
 * it stands for.
 */
static int session__sample(struct session *s, struct launch *at, uint32_t period_ns)
{
	/* A stretch of CPU time is summed up as device work is: it is of no stream. */
	struct work w = { .duration_ns = period_ns, .stream = NO_INDEX, .node = NO_INDEX };
	uint32_t leaf;
	int err;

	at->time_ns += s->shift_ns;
	session__see_time(s, at->time_ns, at->time_ns);
	s->chains.v[at->chain].nr_samples++;
	if (s->opts.without & 1u << LEAF_CPU)
		return 0;
	err = session__keeps(s, at->chain, at->thread, at->comm, at->time_ns, NULL);
	if (err <= 0)
		return err;
	s->nr_samples++;
	if (at->thread != NO_INDEX)
		s->threads.v[at->thread].nr_samples++;
	err = session__leaf(s, LEAF_CPU, NO_INDEX, strpool__intern(&s->strings, "", 0), &leaf);
	if (!err)
		err = session__add(s, at->chain, at->comm, at->thread, leaf, &w);
	if (!err && at->thread != NO_INDEX)
		err = idles__sample(&s->idles, at->thread, at->chain, at->time_ns);
	if (!err)
		err = session__tell_placed(s, &(struct placed){
			.time_ns = at->time_ns,
			.duration_ns = period_ns,
			.comm = at->comm,
			.chain = at->chain,
			.thread = at->thread,
			.leaf = leaf,
		});
	return err;
}

/* A thread that waits for the device may spin; that time is told of as waiting. */
static int session__see_sample(struct session *s, uint32_t thread_id, struct launch *at,
			       uint32_t period_ns)
{
	const struct wait *wait = waits__at(&s->waits, thread_id, at->time_ns + s->shift_ns);

	if (!wait)
		return session__sample(s, at, period_ns);
	return array_push(&s->tables->waiting_samples,
			  ((struct waiting_sample){ *at, period_ns, wait }));
}

/* When it is known which calls were waits: the samples in the others. */
static int session__waiting_samples(struct session *s)
{
	size_t i;
	int err = 0;

	for (i = 0; i < s->tables->waiting_samples.nr && !err; i++) {
		struct waiting_sample *sample = &s->tables->waiting_samples.v[i];

		if (!sample->wait->counts)
			err = session__sample(s, &sample->at, sample->period_ns);
	}
	array_free(&s->tables->waiting_samples);
	return err;
}

static int session__samples(struct session *s, const struct xpu_record_samples *rec)
{
	uint32_t i, path, proc;
	struct launch at;
	int err, nr_bad;

	for (i = 0; i < rec->nr; i++) {
		const struct xpu_sample *sample = &rec->samples[i];

		at = (struct launch){ .time_ns = rec->time_ns + (int64_t)sample->delta_ns };
		proc = NO_INDEX;
		nr_bad = session__read_origin(s, sample->path_id, sample->thread_id, &at, &proc,
					      &path);
		if (nr_bad < 0)
			return nr_bad;
		s->loss.bad_refs += nr_bad;
		err = path == NO_INDEX ?
		      session__label_chain(s, proc, LABEL_NO_STACK, &at.chain) : 0;
		if (!err)
			err = session__see_sample(s, sample->thread_id, &at, rec->period_ns);
		if (err)
			return err;
	}
	return 0;
}

static uint32_t callchain__nr_kernel(const struct xpu_record_callchain *rec)
{
	uint32_t nr;

	for (nr = 0; nr < rec->nr_frames && XPU_FRAME_IS_KERNEL(rec->frames[nr]); nr++)
		;
	return nr;
}

/*
 * The path of the first @nr frames of s->unwind, with those of @kernel, if it is not NULL, before them.
 * Equal ones in one image are one path.
 */
static int session__unwound_path(struct session *s, uint32_t proc, struct image *image,
				 const struct xpu_record_callchain *kernel, uint16_t nr,
				 uint16_t flags, uint32_t *idx)
{
	uint32_t nr_kernel = kernel ? kernel->nr_frames : 0;
	size_t frames_bytes = (nr_kernel + nr) * sizeof(s->unwind.frames[0]);
	size_t key_bytes = sizeof(struct unwound_key) + frames_bytes;
	struct path path = { .proc = proc, .image = image, .chain = NO_INDEX };
	struct session_tables *t = s->tables;
	struct unwound_entry *e;
	struct unwound_key *key;
	bool oom = false;
	int err;

	err = array_reserve(&t->unwound_key, key_bytes);
	if (err)
		return err;
	key = (void *)t->unwound_key.v;
	memset(key, 0, sizeof(*key));
	key->image = image;
	key->rec.hdr = (struct xpu_record){ XPU_RECORD_CALLCHAIN, flags, 0 };
	key->rec.proc_id = s->machine.procs.v[proc].proc_id;
	key->rec.nr_frames = min_t(uint32_t, nr_kernel + nr, UINT16_MAX);
	if (nr_kernel)
		memcpy(key->rec.frames, kernel->frames, nr_kernel * sizeof(kernel->frames[0]));
	memcpy(key->rec.frames + nr_kernel, s->unwind.frames, nr * sizeof(s->unwind.frames[0]));
	HASH_FIND(hh, t->unwound, key, key_bytes, e);
	if (e) {
		*idx = e->path;
		return 0;
	}
	e = arena__alloc(&t->arena, sizeof(*e) + frames_bytes);
	if (!e)
		return -ENOMEM;
	memcpy(&e->key, key, key_bytes);
	path.rec = &e->key.rec;
	*idx = e->path = s->paths.nr;
	err = array_push(&s->paths, path);
	if (err)
		return err;
	HASH_ADD_KEYPTR(hh, t->unwound, &e->key, key_bytes, e);
	return oom ? -ENOMEM : 0;
}

/*
 * Puts into a call path along frame pointers those frames that have none, behind its innermost one:
 * the first @nr of s->unwind up to the path's next one.
 */
static int session__complete_path(struct session *s, struct path *path, uint16_t nr)
{
	const struct xpu_record_callchain *old = path->rec;
	struct xpu_record_callchain *new;
	uint32_t next = callchain__nr_kernel(old) + 1, k;

	if (next > old->nr_frames)
		return 0;
	for (k = 1; k < nr && next < old->nr_frames; k++)
		if (s->unwind.frames[k] == old->frames[next])
			break;
	/* Nothing is missing, or this is not the same stack. */
	if (k < 2 || k >= nr || old->nr_frames + k - 1 > UINT16_MAX)
		return 0;
	new = arena__alloc(&s->tables->arena, sizeof(*new) +
			   (old->nr_frames + k - 1) * sizeof(new->frames[0]));
	if (!new)
		return -ENOMEM;
	*new = *old;
	new->nr_frames = old->nr_frames + k - 1;
	memcpy(new->frames, old->frames, next * sizeof(new->frames[0]));
	memcpy(new->frames + next, s->unwind.frames + 1, (k - 1) * sizeof(new->frames[0]));
	memcpy(new->frames + next + k - 1, old->frames + next,
	       (old->nr_frames - next) * sizeof(new->frames[0]));
	path->rec = new;
	return 0;
}

/* Puts the first @nr of s->unwind in the place of all of a call path's frames but the kernel's. */
static int session__replace_path(struct session *s, struct path *path, uint16_t nr, uint16_t flags)
{
	const struct xpu_record_callchain *old = path->rec;
	uint32_t nr_kernel = callchain__nr_kernel(old);
	uint32_t all = min_t(uint32_t, nr_kernel + nr, UINT16_MAX);
	struct xpu_record_callchain *new;

	new = arena__alloc(&s->tables->arena, sizeof(*new) + all * sizeof(new->frames[0]));
	if (!new)
		return -ENOMEM;
	*new = *old;
	new->hdr.misc = (old->hdr.misc & ~(XPU_CHAIN_TRUNCATED | XPU_CHAIN_FAILED)) | flags;
	new->nr_frames = all;
	memcpy(new->frames, old->frames, nr_kernel * sizeof(new->frames[0]));
	memcpy(new->frames + nr_kernel, s->unwind.frames,
	       (all - nr_kernel) * sizeof(new->frames[0]));
	path->rec = new;
	return 0;
}

static int session__stack(struct session *s, const struct xpu_record_stack *rec)
{
	const struct xpu_record_callchain *kernel = NULL;
	uint16_t nr = 0, flags = XPU_CHAIN_CPU, i;
	struct launch at = { .time_ns = rec->time_ns };
	uint32_t path, proc = NO_INDEX, epoch = 0;
	struct image *image = NULL;
	int err, nr_bad;

	nr_bad = session__read_origin(s, rec->path_id, rec->thread_id, &at, &proc, &path);
	if (nr_bad < 0)
		return nr_bad;
	s->loss.bad_refs += nr_bad;
	if (path != NO_INDEX)
		kernel = s->paths.v[path].rec;
	if (s->machine.procs.v[proc].pid)
		image = machine__image(&s->machine, s->machine.procs.v[proc].pid, rec->time_ns);
	if (image && image->epochs.nr)
		epoch = image__epoch(image, rec->time_ns);
	err = unwind__record(&s->unwind, rec, image, epoch, &nr, &flags);
	if (err < 0)
		return err;
	s->loss.bad_refs += err;
	if (!rec->period_ns && path == NO_INDEX)
		return 0;
	if (!rec->period_ns && !rec->nr_python)
		return session__complete_path(s, &s->paths.v[path], nr);
	for (i = 0; i < nr; i++)
		if (XPU_WORD_IS_PYTHON(s->unwind.frames[i]))
			s->unwind.frames[i] = pysources__frame(&s->pysources,
							       s->unwind.frames[i]);
	if (!rec->period_ns)
		return session__replace_path(s, &s->paths.v[path], nr, flags);
	err = session__unwound_path(s, proc, image, kernel, nr, flags, &path);
	if (!err)
		err = session__path_chain(s, path, rec->time_ns, &at.chain);
	return err ?: session__see_sample(s, rec->thread_id, &at, rec->period_ns);
}

/* As session__keeps(), for a thread's whole life, which is of no time and no device. */
static int session__keeps_thread(struct session *s, const struct thread_account *a)
{
	const struct thread *thread = &s->threads.v[a->thread];
	struct filter_event e = {
		.pid = s->machine.procs.v[thread->proc].pid,
		.tid = thread->tid,
		.comm = a->comm,
		.device = NO_INDEX,
		.stream = NO_INDEX,
	};

	return filter__active(s->opts.filter) ? filter__keeps(s->opts.filter, &e) : 1;
}

/* What the accounts of threads and devices need beside the sums. */
static int session__finish_accounts(struct session *s)
{
	struct session_tables *t = s->tables;
	size_t i, nr = t->first_account;
	int err = 0;

	for (i = 0; i < s->waits.list.nr && s->idles.wanted && !err; i++) {
		const struct wait *wait = &s->waits.list.v[i];
		struct launch l = { .time_ns = wait->rec->start_ns };
		uint32_t path, proc = wait->proc;

		if (!wait->counts)
			continue;
		err = session__read_origin(s, wait->rec->path_id, wait->rec->thread_id, &l, &proc,
					   &path);
		if (err >= 0 && l.thread != NO_INDEX)
			err = idles__did(&s->idles, l.thread, IDLE_WAITED, "", l.chain,
					 wait->start_ns, wait->start_ns + wait->rec->duration_ns);
		err = min_t(int, err, 0);
	}
	if (!err)
		err = idles__finish(&s->idles);
	for (i = nr; i < s->accounts.nr; i++) {
		struct thread_account *a = &s->accounts.v[i];

		if (!idmap__get(&t->threads, a->rec->thread_id, &a->thread) ||
		    a->rec->end_ns < a->rec->start_ns) {
			s->loss.bad_refs++;
			continue;
		}
		a->comm = session__thread_comm(s, &s->threads.v[a->thread], a->rec->end_ns - 1);
		err = session__keeps_thread(s, a);
		if (err < 0)
			return err;
		if (err)
			s->accounts.v[nr++] = *a;
		err = 0;
	}
	s->accounts.nr = nr;
	return err;
}

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
		else if (rec->type == XPU_RECORD_SAMPLES)
			err = session__samples(s, (const void *)rec);
		else if (rec->type == XPU_RECORD_STACK)
			err = session__stack(s, (const void *)rec);
		else if (rec->type == XPU_RECORD_OFF_CPU)
			err = session__off_cpu(s, (const void *)rec);
		else if (rec->type == XPU_RECORD_OFF)
			err = session__off(s, (const void *)rec);
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

static bool session__pycode(void *ctx, uint32_t id, struct pycode *code)
{
	const struct xpu_record_pycode *rec;
	struct session *s = ctx;
	uint32_t proc = s->tables->path_proc, idx;
	const struct pysource *source;

	if (id & PYSOURCE_ID) {
		source = pysources__find(&s->pysources, id);
		if (source)
			*code = (struct pycode){ source->name, source->filename };
		return source;
	}
	if (!idmap__get(&s->tables->pycodes, ID_KEY(proc, id), &idx))
		return false;
	rec = s->tables->pycode_defs.v[idx];
	code->name = session__string(s, proc, rec->name);
	code->filename = session__string(s, proc, rec->filename);
	return code->name && code->filename;
}

static const char *session__frame_string(void *ctx, uint32_t id)
{
	struct session *s = ctx;

	return session__string(s, s->tables->path_proc, id);
}

static const char *session__jit(void *ctx, const struct image *image, bool ran_before,
				uint64_t addr)
{
	struct session *s = ctx;
	const char *name = NULL;
	const struct proc *p;
	uint64_t to_ns;
	size_t i;

	/* A forked process goes on with its parent's code. */
	for (; image && !name; image = image->parent) {
		to_ns = UINT64_MAX;
		for (i = s->tables->first_proc; i < s->machine.procs.nr; i++) {
			p = &s->machine.procs.v[i];
			if (p->pid == image->pid && p->exited && p->exit_ns >= image->time_ns)
				to_ns = min_t(uint64_t, to_ns, p->exit_ns);
		}
		name = jitmaps__find(&s->jitmaps, image->pid, ran_before ? 0 : image->time_ns, to_ns,
				     addr);
	}
	return name;
}

static int session__resolve_chains(struct session *s)
{
	size_t i;

	s->callchains.nr_frames = s->callchains.nr_unsymbolized = 0;
	for (i = s->tables->first_chain; i < s->chains.nr; i++) {
		struct chain *chain = &s->chains.v[i];
		const struct path *path = NULL;

		if (chain->launched != NO_INDEX) {
			/* Both are of lower indices. */
			chain->stack = callchains__concat(&s->callchains,
							  s->chains.v[chain->launched].stack,
							  "[captured at]",
							  s->chains.v[chain->captured].stack);
			if (!chain->stack)
				return -ENOMEM;
			continue;
		}
		if (chain->path != NO_INDEX)
			path = &s->paths.v[chain->path];
		s->tables->path_proc = chain->proc;
		if (chain->no_launch)
			chain->stack = callchains__label(&s->callchains, chain->no_launch);
		else
			chain->stack = callchains__resolve(&s->callchains, path ? path->rec : NULL,
							   path ? path->image : NULL, chain->epoch,
							   path ? path->api : NULL);
		if (!chain->stack)
			return -ENOMEM;
		if (chain->no_launch) {
			s->loss.samples_no_stack += chain->nr_samples;
			continue;
		}
		if (!path || !path->rec->nr_frames || path->rec->hdr.misc & XPU_CHAIN_FAILED) {
			s->loss.no_stack += chain->nr_launches + chain->nr_nodes;
			s->loss.samples_no_stack += chain->nr_samples;
		} else if (path->rec->hdr.misc & XPU_CHAIN_TRUNCATED) {
			s->loss.truncated += chain->nr_launches + chain->nr_nodes;
			s->loss.samples_truncated += chain->nr_samples;
		}
	}
	s->loss.nr_frames = s->callchains.nr_frames;
	s->loss.unsymbolized = s->callchains.nr_unsymbolized;
	return 0;
}

/* Never counts backwards: the shim's last total may be older than what came last. */
static uint64_t missing(uint64_t sent, uint64_t first, uint64_t arrived)
{
	return sent > first && sent - first > arrived ? sent - first - arrived : 0;
}

#define SINCE(a, member)	missing((a)->sent.member, (a)->first.member, 0)

static void session__settle(struct session *s)
{
	uint64_t nr_missing, nr_unfinished = 0;
	struct loss *l = &s->loss;
	size_t i;

	for (i = s->tables->first_proc; i < s->tables->accounts.nr; i++) {
		const struct account *a = &s->tables->accounts.v[i];

		/* While probes come and go, the shim's idea of who listens is an instant off. */
		nr_missing = missing(a->sent.nr_launches, a->first.nr_launches, a->nr_launches);
		if (a->window.nr_threads)
			l->at_edges += nr_missing;
		else
			l->missing_launches += nr_missing;
		l->missing_works += missing(a->sent.nr_kernels + a->sent.nr_memcpys +
					    a->sent.nr_memsets, a->first.nr_kernels +
					    a->first.nr_memcpys + a->first.nr_memsets,
					    a->nr_works);
		l->missing_batches += missing(a->sent.nr_batches, a->first.nr_batches,
					      a->nr_batches - (a->baseline != NULL));
		l->dropped_cupti += SINCE(a, nr_dropped_cupti);
		l->dropped_shim += SINCE(a, nr_dropped_shim);
		nr_unfinished += SINCE(a, nr_unfinished);
		if (session__outlived(s, i))
			l->unfinished_at_detach += SINCE(a, nr_unfinished);
	}
	l->unfinished = nr_unfinished - l->unfinished_at_detach;
	/* Work that still ran has no valid times either; it has a line of its own. */
	l->bad_times -= min_t(uint64_t, l->bad_times, nr_unfinished);
	l->nr_launches = s->join.nr_launches - l->nr_captured - l->at_detach;
	l->nr_matched = s->join.nr_matched;
	l->nr_pending = s->join.nr_pending - l->nr_captured - l->at_detach;
	l->nr_duplicates = s->join.nr_duplicates;
	l->nr_works = s->join.nr_works;
	l->nr_orphans = s->join.nr_orphans - l->before_attach - l->after_detach;
}

/* The pass that follows knows nothing of the ids and pids of the one before. */
static void session__next_input(struct session *s)
{
	struct session_tables *t = s->tables;
	size_t i;

	for (i = t->first_proc; i < s->machine.procs.nr; i++)
		s->machine.procs.v[i].name = session__proc_name(s, i);
	for (i = t->first_path; i < s->paths.nr; i++)
		s->paths.v[i].image = NULL;
	idmap__free(&t->paths);
	idmap__free(&t->threads);
	idmap__free(&t->strings);
	idmap__free(&t->streams);
	idmap__free(&t->apis);
	idmap__free(&t->pycodes);
	t->stream_defs.nr = t->device_defs.nr = 0;
	t->first_path = s->paths.nr;
	t->first_thread = s->threads.nr;
	t->first_chain = s->chains.nr;
	t->first_proc = s->machine.procs.nr;
	t->first_account = s->accounts.nr;
	waits__exit(&s->waits);
	waits__init(&s->waits);
	graphs__exit(&s->graphs);
	graphs__init(&s->graphs);
	jitmaps__exit(&s->jitmaps);
	kallsyms__free(&s->kallsyms);
	unwind__next(&s->unwind);
	pysources__exit(&s->pysources);
	pysources__init(&s->pysources, &s->strings);
	HASH_CLEAR(hh, t->unwound);
	join__exit(&s->join);
	join__init(&s->join, &session_join_ops, s);
	machine__next(&s->machine);
}

/* When its clock was 0, in CLOCK_REALTIME; 0 if the recording does not tell. */
static uint64_t input__boot_ns(const struct input *in)
{
	const struct xpu_file_header *h = &in->reader->header;

	return h->start_real_ns > h->start_mono_ns ? h->start_real_ns - h->start_mono_ns : 0;
}

static void session__open_jitmaps(struct session *s, const struct input *in)
{
	char host[256] = "";
	struct stat st;

	gethostname(host, sizeof(host) - 1);
	s->jitmaps = (struct jitmaps){
		.kept = strpool__internf(&s->strings, "%s" XPU_KEPT_SUFFIX, in->reader->name),
		.here = !strcmp(host, in->host),
		.owner = stat(in->reader->name, &st) ? geteuid() : st.st_uid,
		.real_ns = input__boot_ns(in),
	};
}

static int session__input(struct session *s, size_t nr)
{
	struct input *in = &s->inputs.v[nr];
	int err;

	if (nr)
		session__next_input(s);
	memset(&s->loss, 0, sizeof(s->loss));
	s->reader = in->reader;
	s->shift_ns = in->shift_ns;
	s->gpus.host = in->host_nr;
	session__open_jitmaps(s, in);
	in->first_info = s->infos.nr;
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
		err = waits__share(&s->waits, session__wait_share, s);
	if (!err)
		err = session__waiting_samples(s);
	if (!err)
		err = session__finish_accounts(s);
	if (!err)
		err = session__resolve_chains(s);
	if (!err)
		session__settle(s);
	in->loss = s->loss;
	return err;
}

/* The host's name is among the first things in a recording. Return: it, "" or NULL (no memory). */
static const char *session__hostname(struct session *s, const struct reader *r)
{
	const struct xpu_record_info *info;
	const struct xpu_record *rec;
	struct record_iter it;

	reader__rewind(r, &it);
	while ((rec = record_iter__next(&it)) && rec->type == XPU_RECORD_INFO) {
		info = (const void *)rec;
		if (info->key == XPU_INFO_HOSTNAME)
			return strpool__intern(&s->strings, info->data,
					       strnlen(info->data, info->bytes));
	}
	return strpool__intern(&s->strings, "", 0);
}

static bool input__same_boot(const struct input *a, const struct input *b)
{
	uint64_t boot_a = input__boot_ns(a), boot_b = input__boot_ns(b);

	return a->host_nr == b->host_nr &&
	       max_t(uint64_t, boot_a, boot_b) - min_t(uint64_t, boot_a, boot_b) < SAME_BOOT_NS;
}

/* Hosts and the clock that all have in common. */
static int session__open_inputs(struct session *s, const struct reader *r, size_t nr)
{
	size_t i, k;
	int err;

	for (i = 0; i < nr; i++) {
		struct input in = { .reader = &r[i], .host_nr = i };

		err = symbol_paths__add_kept(&s->dsos.paths, r[i].name);
		if (err)
			return err;
		in.host = session__hostname(s, &r[i]);
		if (!in.host)
			return -ENOMEM;
		for (k = 0; k < i; k++)
			if (s->inputs.v[k].host == in.host)
				in.host_nr = min_t(uint32_t, in.host_nr, k);
		s->nr_hosts += in.host_nr == i;
		err = array_push(&s->inputs, in);
		if (err)
			return err;
		s->realtime |= !input__same_boot(&s->inputs.v[0], &s->inputs.v[i]);
	}
	for (i = 0; i < nr && s->realtime; i++) {
		for (k = 0; !input__same_boot(&s->inputs.v[k], &s->inputs.v[i]); k++)
			;
		s->inputs.v[i].shift_ns = input__boot_ns(&s->inputs.v[k]);
	}
	s->start_ns = UINT64_MAX;
	for (i = 0; i < nr; i++)
		s->start_ns = min_t(uint64_t, s->start_ns, s->inputs.v[i].shift_ns +
				    r[i].header.start_mono_ns);
	return 0;
}

int session__process(struct session *s, const struct reader *r, size_t nr)
{
	struct loss loss = { 0 };
	size_t i;
	int err;

	s->first_ns = UINT64_MAX;
	s->ended = true;
	err = session__open_inputs(s, r, nr);
	for (i = 0; i < nr && !err; i++) {
		err = session__input(s, i);
		loss__add(&loss, &s->loss);
		s->ended &= s->inputs.v[i].ended;
	}
	s->loss = loss;
	if (!err)
		dsos__report(&s->dsos, &s->msgs);
	if (s->first_ns > s->last_ns)
		s->first_ns = s->last_ns = 0;
	return err;
}

void session__print_loss(const struct session *s, FILE *f)
{
	size_t i;

	loss__print(&s->loss, f, "");
	if (filter__active(s->opts.filter)) {
		fprintf(f, "left out: %" PRIu64 " of %" PRIu64 " device records, %" PRIu64
			" launches without any; asked for: ", s->nr_left_out, s->loss.nr_works,
			s->nr_pending_left_out);
		escape__print(f, s->opts.filter->text.v, ESCAPE_TEXT);
		fputc('\n', f);
	}
	for (i = 0; i < s->inputs.nr && s->inputs.nr > 1; i++) {
		struct loss l = s->inputs.v[i].loss;

		/* Hardly any has a name for every frame. */
		l.unsymbolized = 0;
		if (loss__clean(&l))
			continue;
		fputs("of these, in ", f);
		escape__print(f, s->inputs.v[i].reader->name, ESCAPE_TEXT);
		fputs(":\n", f);
		loss__print(&s->inputs.v[i].loss, f, "  ");
	}
}

uint32_t session__freq_hz(const struct session *s)
{
	size_t i;

	for (i = 0; i < s->inputs.nr; i++)
		if (s->inputs.v[i].sample_period_ns)
			return 1000000000 / s->inputs.v[i].sample_period_ns;
	return 0;
}

const char *session__host(const struct session *s, uint32_t proc)
{
	return s->nr_hosts > 1 ? s->inputs.v[s->machine.procs.v[proc].recording].host : "";
}

const char *session__proc_name(const struct session *s, uint32_t proc)
{
	const struct session_tables *t = s->tables;
	const struct proc *p = &s->machine.procs.v[proc];
	const char *comm = NULL;
	uint64_t from, to;

	if (p->name)
		return p->name;
	/* At a time when it surely was this image: its pid may have had others. */
	if (p->pid && proc < t->accounts.nr && t->accounts.v[proc].seen_ns)
		comm = machine__comm(&s->machine, p->pid, p->pid, t->accounts.v[proc].seen_ns,
				     &from, &to);
	comm = comm ?: p->comm;
	return comm && *comm ? comm : UNKNOWN;
}
