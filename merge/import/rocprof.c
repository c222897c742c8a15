// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * rocprof.c - the JSON of AMD's rocprofv3 (--output-format json)
 *
 *	{"rocprofiler-sdk-tool": [{
 *		"metadata": {"pid": 1, "command": ["app", ...]},
 *		"agents": [{"id": {"handle": 1}, "type": 2, "logical_node_type_id": 0, ...}],
 *		"strings": {"buffer_records": [{"kind": "...", "operations": ["...", ...]}, ...],
 *			    "marker_api": [{"key": 1, "value": "..."}]},
 *		"kernel_symbols": [{"kernel_id": 1, "formatted_kernel_name": "..."}],
 *		"buffer_records": {"hip_api": [...], "kernel_dispatch": [...],
 *				   "memory_copy": [...]}}]}
 *
 * A record of device work has the id of the innermost call when the work was queued: a HIP call, or
 * an HSA call within it, which names the HIP call as its ancestor.
 * Source: rocprofiler-sdk, source/lib/output/generateJSON.cpp.
 */
#include <errno.h>
#include <stdlib.h>

#include "import/gputrace.h"
#include "import/json.h"
#include "util.h"

#define AGENT_GPU	2		/* ROCPROFILER_AGENT_TYPE_GPU */

struct rocprof_agent {
	uint64_t handle;
	uint64_t type, number;		/* the agent's type, and its number among agents of this
					 * type */
	bool numbered;
	struct span name;
};

/* A record of any array of buffer_records; members that the record lacks are 0. */
struct rocprof_record {
	uint64_t kind, operation;
	uint64_t start_ns, end_ns, tid;
	uint64_t id, ancestor;		/* both ids are in the record's correlation_id */
	uint64_t kernel, agent, src_agent, queue, stream, bytes;
	bool has_stream;
};

typedef ARRAY(struct rocprof_record) rocprof_records_t;

struct rocprof_kind {
	struct span name;
	size_t first, nr;		/* in operations */
};

/* One process. */
struct rocprof {
	struct gputrace *t;
	uint32_t pid;
	struct span command;
	ARRAY(struct rocprof_agent) agents;
	ARRAY(struct rocprof_kind) kinds;
	ARRAY(struct span) operations;
	ARRAY(struct span) kernels, markers;	/* raw strings of kernels and of markers */
	struct idmap kernel_ids, marker_ids;	/* maps an id to its string in kernels or markers */
	rocprof_records_t hip, hsa, dispatches, copies, ranges;
	struct idmap gpus;		/* maps handle to an index in agents */
	struct idmap hip_ids, hsa_ids;	/* maps a correlation id to the index of the call */
	struct idmap told;		/* ids of HSA calls that were added to the trace */
};

/* ---- values ---------------------------------------------------------------------------------- */

/* Reads a number that is not negative; any other number gives 0. */
static uint64_t read_u64(struct json *j)
{
	char next = json__peek(j);
	struct span raw;
	uint64_t v = 0;
	size_t i;

	if (next != '-' && (next < '0' || next > '9')) {
		json__skip(j);
		return 0;
	}
	if (!json__number(j, &raw))
		return 0;
	/* Handles may use all 64 bits, so do not go through a signed number. */
	for (i = 0; i < raw.len && raw.s[i] >= '0' && raw.s[i] <= '9'; i++)
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, raw.s[i] - '0', &v))
			return 0;
	return i == raw.len ? v : 0;
}

static struct span read_string(struct json *j)
{
	struct span s = { 0 };

	if (json__peek(j) == '"')
		json__string(j, &s);
	else
		json__skip(j);
	return s;
}

/* Reads "agent_id": {"handle": 7} */
static uint64_t read_handle(struct json *j)
{
	uint64_t handle = 0;
	struct span key;

	if (json__peek(j) != '{')
		return read_u64(j);
	json__enter(j, '{');
	while (json__next_key(j, &key))
		if (span__is(key, "handle"))
			handle = read_u64(j);
		else
			json__skip(j);
	return handle;
}

/* Enters an object or array; skips any other value. */
static bool enter(struct json *j, char open)
{
	if (json__peek(j) == open)
		return json__enter(j, open);
	json__skip(j);
	return false;
}

/* ---- objects that records refer to ----------------------------------------------------------- */

static int rocprof__read_agents(struct rocprof *r, struct json *j)
{
	struct span key;
	int err = 0;

	if (!enter(j, '['))
		return 0;
	while (!err && json__next_item(j)) {
		struct rocprof_agent a = { 0 };

		if (!enter(j, '{'))
			continue;
		while (json__next_key(j, &key)) {
			if (span__is(key, "id")) {
				a.handle = read_handle(j);
			} else if (span__is(key, "type")) {
				a.type = read_u64(j);
			} else if (span__is(key, "logical_node_type_id")) {
				a.numbered = json__peek(j) != '-';
				a.number = read_u64(j);
			} else if (span__is(key, "product_name") ||
				   (span__is(key, "name") && !a.name.len)) {
				a.name = read_string(j);
			} else {
				json__skip(j);
			}
		}
		err = array_push(&r->agents, a);
	}
	return err;
}

static int rocprof__read_kind(struct rocprof *r, struct json *j)
{
	struct rocprof_kind kind = { .first = r->operations.nr };
	struct span key;
	int err = 0;

	if (enter(j, '{'))
		while (!err && json__next_key(j, &key)) {
			if (span__is(key, "kind")) {
				kind.name = read_string(j);
			} else if (span__is(key, "operations") && json__peek(j) == '[') {
				json__enter(j, '[');
				while (!err && json__next_item(j))
					err = array_push(&r->operations, read_string(j));
			} else {
				json__skip(j);
			}
		}
	kind.nr = r->operations.nr - kind.first;
	return err ?: array_push(&r->kinds, kind);
}

/* Reads [{"key": 5, "value": "text"}, ...] */
static int rocprof__read_markers(struct rocprof *r, struct json *j)
{
	struct span key, text;
	uint64_t id;
	int err = 0;

	if (!enter(j, '['))
		return 0;
	while (err >= 0 && json__next_item(j)) {
		if (!enter(j, '{'))
			continue;
		id = 0;
		text = (struct span){ 0 };
		while (json__next_key(j, &key)) {
			if (span__is(key, "key"))
				id = read_u64(j);
			else if (span__is(key, "value"))
				text = read_string(j);
			else
				json__skip(j);
		}
		if (text.s)
			err = idmap__add(&r->marker_ids, id, r->markers.nr);
		if (text.s && err > 0)
			err = array_push(&r->markers, text);
	}
	return min_t(int, err, 0);
}

static int rocprof__read_strings(struct rocprof *r, struct json *j)
{
	struct span key;
	int err = 0;

	if (!enter(j, '{'))
		return 0;
	while (!err && json__next_key(j, &key)) {
		if (span__is(key, "buffer_records") && json__peek(j) == '[') {
			json__enter(j, '[');
			while (!err && json__next_item(j))
				err = rocprof__read_kind(r, j);
		} else if (span__is(key, "marker_api")) {
			err = rocprof__read_markers(r, j);
		} else {
			json__skip(j);
		}
	}
	return err;
}

static int rocprof__read_kernels(struct rocprof *r, struct json *j)
{
	/* The first of these members that exists has the name. */
	static const char *const names[] = {
		"formatted_kernel_name", "demangled_kernel_name", "truncated_kernel_name",
		"kernel_name",
	};
	struct span key;
	int err = 0;

	if (!enter(j, '['))
		return 0;
	while (err >= 0 && json__next_item(j)) {
		struct span found[ARRAY_SIZE(names)] = { 0 };
		uint64_t id = 0;
		size_t i;

		if (!enter(j, '{'))
			continue;
		while (json__next_key(j, &key)) {
			for (i = 0; i < ARRAY_SIZE(names) && !span__is(key, names[i]); i++)
				;
			if (i < ARRAY_SIZE(names))
				found[i] = read_string(j);
			else if (span__is(key, "kernel_id"))
				id = read_u64(j);
			else
				json__skip(j);
		}
		for (i = 0; i < ARRAY_SIZE(names) && !found[i].len; i++)
			;
		if (i == ARRAY_SIZE(names))
			continue;
		err = idmap__add(&r->kernel_ids, id, r->kernels.nr);
		if (err > 0)
			err = array_push(&r->kernels, found[i]);
	}
	return min_t(int, err, 0);
}

static void rocprof__read_metadata(struct rocprof *r, struct json *j)
{
	struct span key, word;

	if (!enter(j, '{'))
		return;
	while (json__next_key(j, &key)) {
		if (span__is(key, "pid")) {
			r->pid = min_t(uint64_t, read_u64(j), UINT32_MAX);
		} else if (span__is(key, "command") && json__peek(j) == '[') {
			json__enter(j, '[');
			while (json__next_item(j)) {
				word = read_string(j);
				if (!r->command.s)
					r->command = word;
			}
		} else {
			json__skip(j);
		}
	}
}

/* ---- records --------------------------------------------------------------------------------- */

/* Reads a member of a record, or of an object in it. Return: whether the member is used. */
static bool record__member(struct rocprof_record *r, struct json *j, struct span key)
{
	const struct {
		const char *key;
		uint64_t *value;
	} numbers[] = {
		{ "kind", &r->kind }, { "operation", &r->operation },
		{ "start_timestamp", &r->start_ns }, { "end_timestamp", &r->end_ns },
		{ "thread_id", &r->tid }, { "internal", &r->id }, { "ancestor", &r->ancestor },
		{ "kernel_id", &r->kernel }, { "bytes", &r->bytes },
	}, handles[] = {
		{ "agent_id", &r->agent }, { "dst_agent_id", &r->agent },
		{ "src_agent_id", &r->src_agent }, { "queue_id", &r->queue },
		{ "stream_id", &r->stream },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(numbers); i++)
		if (span__is(key, numbers[i].key)) {
			*numbers[i].value = read_u64(j);
			return true;
		}
	for (i = 0; i < ARRAY_SIZE(handles); i++)
		if (span__is(key, handles[i].key)) {
			*handles[i].value = read_handle(j);
			r->has_stream |= handles[i].value == &r->stream;
			return true;
		}
	return false;
}

static int rocprof__read_records(struct json *j, rocprof_records_t *records)
{
	struct span key;
	int err = 0;

	if (!enter(j, '['))
		return 0;
	while (!err && json__next_item(j)) {
		struct rocprof_record r = { 0 };

		if (!enter(j, '{'))
			continue;
		while (json__next_key(j, &key)) {
			if (record__member(&r, j, key))
				continue;
			if ((!span__is(key, "correlation_id") && !span__is(key, "dispatch_info")) ||
			    json__peek(j) != '{') {
				json__skip(j);
				continue;
			}
			json__enter(j, '{');
			while (json__next_key(j, &key))
				if (!record__member(&r, j, key))
					json__skip(j);
		}
		if (!j->what)
			err = array_push(records, r);
	}
	return err;
}

static int rocprof__read_buffers(struct rocprof *r, struct json *j)
{
	const struct {
		const char *name;
		rocprof_records_t *records;
	} arrays[] = {
		{ "hip_api", &r->hip }, { "hsa_api", &r->hsa },
		{ "kernel_dispatch", &r->dispatches }, { "memory_copy", &r->copies },
		{ "marker_api", &r->ranges },
	};
	struct span key;
	int err = 0;
	size_t i;

	if (!enter(j, '{'))
		return 0;
	while (!err && json__next_key(j, &key)) {
		for (i = 0; i < ARRAY_SIZE(arrays) && !span__is(key, arrays[i].name); i++)
			;
		if (i < ARRAY_SIZE(arrays))
			err = rocprof__read_records(j, arrays[i].records);
		else
			json__skip(j);
	}
	return err;
}

/* ---- adding to the trace --------------------------------------------------------------------- */

/* Return: the raw name of a record's operation; .s is NULL if it is unknown. */
static struct span rocprof__operation(const struct rocprof *r, const struct rocprof_record *record)
{
	const struct rocprof_kind *kind;

	if (record->kind >= r->kinds.nr)
		return (struct span){ 0 };
	kind = &r->kinds.v[record->kind];
	if (record->operation >= kind->nr)
		return (struct span){ 0 };
	return r->operations.v[kind->first + record->operation];
}

/* Return: whether the record's times and ids are usable; counts the record if they are not. */
static bool rocprof__check(struct rocprof *r, const struct rocprof_record *record)
{
	if (record->end_ns >= record->start_ns && record->end_ns <= INT64_MAX &&
	    record->id <= UINT32_MAX && record->tid <= UINT32_MAX)
		return true;
	r->t->nr_strange++;
	return false;
}

static int rocprof__add_call(struct rocprof *r, const struct rocprof_record *record)
{
	struct gpu_call c = {
		.start_ns = record->start_ns, .end_ns = record->end_ns, .tid = record->tid,
		.pid = r->pid, .correlation_id = record->id,
	};
	struct span raw = rocprof__operation(r, record);
	const char *name = raw.len ? gputrace__name(r->t, raw) : "[unknown]";

	return name ? gputrace__add_call(r->t, &c, span__of(name)) : -ENOMEM;
}

static int rocprof__add_calls(struct rocprof *r)
{
	size_t i;
	int err = 0;

	for (i = 0; i < r->hip.nr && !err; i++) {
		if (!rocprof__check(r, &r->hip.v[i]))
			continue;
		err = min_t(int, idmap__add(&r->hip_ids, r->hip.v[i].id, i), 0);
		err = err ?: rocprof__add_call(r, &r->hip.v[i]);
	}
	for (i = 0; i < r->hsa.nr && !err; i++)
		err = min_t(int, idmap__add(&r->hsa_ids, r->hsa.v[i].id, i), 0);
	return err;
}

/*
 * Sets @id to the id of the call that queued the work. An HSA call is added only if it queued work.
 */
static int rocprof__find_call(struct rocprof *r, const struct rocprof_record *work, uint32_t *id)
{
	const struct rocprof_record *hsa;
	uint32_t i;
	int err;

	*id = work->id;
	if (idmap__get(&r->hip_ids, work->id, &i))
		return 0;
	if (work->ancestor <= UINT32_MAX && idmap__get(&r->hip_ids, work->ancestor, &i)) {
		*id = work->ancestor;
		return 0;
	}
	if (!idmap__get(&r->hsa_ids, work->id, &i))
		return 0;
	hsa = &r->hsa.v[i];
	if (hsa->ancestor <= UINT32_MAX && idmap__get(&r->hip_ids, hsa->ancestor, &i)) {
		*id = hsa->ancestor;
		return 0;
	}
	err = idmap__add(&r->told, work->id, 0);
	if (err <= 0 || !rocprof__check(r, hsa))
		return min_t(int, err, 0);
	return rocprof__add_call(r, hsa);
}

/* Return: the GPU with that handle, or NULL. */
static const struct rocprof_agent *rocprof__gpu(const struct rocprof *r, uint64_t handle)
{
	uint32_t i;

	return idmap__get(&r->gpus, handle, &i) ? &r->agents.v[i] : NULL;
}

static int rocprof__add_work(struct rocprof *r, const struct rocprof_record *record,
			     enum gpu_work_kind kind)
{
	const struct rocprof_agent *gpu = rocprof__gpu(r, record->agent) ?:
					  rocprof__gpu(r, record->src_agent);
	struct gpu_work w = {
		.kind = kind, .pid = r->pid, .device = gpu ? gpu->number : 0,
		.stream = (uint32_t)(record->has_stream ? record->stream : record->queue),
		.w = { .start_ns = record->start_ns, .bytes = record->bytes },
	};
	const char *name = "[unknown]";
	uint32_t i;
	int err;

	if (!rocprof__check(r, record))
		return 0;
	/* HIP has at least one context for each device. */
	w.context = w.device + 1;
	err = rocprof__find_call(r, record, &w.w.correlation_id);
	if (err)
		return err;
	if (kind == WORK_MEMCPY) {
		struct span operation = rocprof__operation(r, record);

		if (operation.len)
			w.w.copy_kind = import__copy_kind(operation.s, operation.len);
		name = "";
	} else if (idmap__get(&r->kernel_ids, record->kernel, &i)) {
		name = gputrace__name(r->t, r->kernels.v[i]);
	}
	return name ? gputrace__add_work(r->t, &w, record->end_ns, span__of(name)) : -ENOMEM;
}

/* Adds a ROCTX range as an annotation of its thread. */
static int rocprof__add_range(struct rocprof *r, const struct rocprof_record *record)
{
	struct gpu_op op = {
		.start_ns = record->start_ns, .end_ns = record->end_ns, .tid = record->tid,
		.pid = r->pid, .kind = OP_ANNOTATION,
	};
	struct span operation = rocprof__operation(r, record);
	uint32_t i;

	if (!idmap__get(&r->marker_ids, record->id, &i) || record->end_ns <= record->start_ns ||
	    (operation.len && memmem(operation.s, operation.len, "Mark", 4)))
		return 0;
	if (!rocprof__check(r, record))
		return 0;
	op.name = gputrace__name(r->t, r->markers.v[i]);
	return op.name ? array_push(&r->t->ops, op) : -ENOMEM;
}

static int rocprof__add_names(struct rocprof *r)
{
	struct gpu_name n = { .pid = r->pid };
	const char *slash;
	uint32_t nr = 0;
	int err = 0;
	size_t i;

	for (i = 0; i < r->agents.nr && !err; i++) {
		struct rocprof_agent *a = &r->agents.v[i];
		struct gpu_device d = { 0 };

		if (a->type != AGENT_GPU)
			continue;
		if (!a->numbered || a->number > UINT16_MAX)
			a->number = nr;
		nr++;
		d.id = a->number;
		d.name = gputrace__name(r->t, a->name.len ? a->name : span__of("GPU"));
		err = d.name ? array_push(&r->t->devices, d) : -ENOMEM;
		err = err ?: min_t(int, idmap__add(&r->gpus, a->handle, i), 0);
	}
	if (err || !r->command.len || !r->pid)
		return err;
	slash = memrchr(r->command.s, '/', r->command.len);
	if (slash) {
		r->command.len -= slash + 1 - r->command.s;
		r->command.s = slash + 1;
	}
	n.name = gputrace__name(r->t, r->command);
	return n.name ? array_push(&r->t->thread_names, n) : -ENOMEM;
}

static int rocprof__tell(struct rocprof *r)
{
	size_t i;
	int err = rocprof__add_names(r);

	if (!err)
		err = rocprof__add_calls(r);
	for (i = 0; i < r->dispatches.nr && !err; i++)
		err = rocprof__add_work(r, &r->dispatches.v[i], WORK_KERNEL);
	for (i = 0; i < r->copies.nr && !err; i++)
		err = rocprof__add_work(r, &r->copies.v[i], WORK_MEMCPY);
	for (i = 0; i < r->ranges.nr && !err; i++)
		err = rocprof__add_range(r, &r->ranges.v[i]);
	return err;
}

static void rocprof__exit(struct rocprof *r)
{
	idmap__free(&r->told);
	idmap__free(&r->hsa_ids);
	idmap__free(&r->hip_ids);
	idmap__free(&r->gpus);
	array_free(&r->ranges);
	array_free(&r->copies);
	array_free(&r->dispatches);
	array_free(&r->hsa);
	array_free(&r->hip);
	idmap__free(&r->marker_ids);
	idmap__free(&r->kernel_ids);
	array_free(&r->markers);
	array_free(&r->kernels);
	array_free(&r->operations);
	array_free(&r->kinds);
	array_free(&r->agents);
}

static int rocprof__read_process(struct gputrace *t, struct json *j)
{
	struct rocprof r = { .t = t };
	struct span key;
	int err = 0;

	if (!enter(j, '{'))
		return 0;
	while (!err && json__next_key(j, &key)) {
		if (span__is(key, "metadata"))
			rocprof__read_metadata(&r, j);
		else if (span__is(key, "agents"))
			err = rocprof__read_agents(&r, j);
		else if (span__is(key, "strings"))
			err = rocprof__read_strings(&r, j);
		else if (span__is(key, "kernel_symbols"))
			err = rocprof__read_kernels(&r, j);
		else if (span__is(key, "buffer_records"))
			err = rocprof__read_buffers(&r, j);
		else
			json__skip(j);
	}
	/* If the file is damaged, this adds everything before the damage. */
	if (!err)
		err = rocprof__tell(&r);
	rocprof__exit(&r);
	return err;
}

int gputrace__read_rocprof(struct gputrace *t, struct json *j)
{
	int err = 0;

	/* The first versions wrote one process, without an array around it. */
	if (json__peek(j) == '{')
		return rocprof__read_process(t, j);
	if (!enter(j, '['))
		return 0;
	while (!err && json__next_item(j))
		err = rocprof__read_process(t, j);
	return err;
}
