// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * rocprof_json.c - the JSON of AMD's rocprofv3 (--output-format json)
 *
 *	{"rocprofiler-sdk-tool": [{
 *		"metadata": {"pid": 1, "command": ["app", ...]},
 *		"agents": [{"id": {"handle": 1}, "type": 2, "logical_node_type_id": 0, ...}],
 *		"strings": {"buffer_records": [{"kind": "...", "operations": ["...", ...]}, ...],
 *			    "marker_api": [{"key": 1, "value": "..."}],
 *			    "correlation_id": {"external": [{"key": 1, "value": "..."}]}},
 *		"kernel_symbols": [{"kernel_id": 1, "formatted_kernel_name": "..."}],
 *		"buffer_records": {"hip_api": [...], "kernel_dispatch": [...],
 *				   "memory_copy": [...], "memory_allocation": [...],
 *				   "marker_api": [...], ...},
 *		"callback_records": {"counter_collection": [{"records": [...]}, ...]}}]}
 *
 * Source: rocprofiler-sdk, source/lib/output/generateJSON.cpp.
 */
#include <errno.h>
#include <stdlib.h>

#include "import/json.h"
#include "import/rocprof/rocprof.h"

#define AGENT_GPU	2		/* ROCPROFILER_AGENT_TYPE_GPU */

/* ---- values ---------------------------------------------------------------------------------- */

/* Reads a number that is not negative; any other value gives 0. */
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
	/* Handles may use all 64 bits, so do not convert to a signed number. */
	for (i = 0; i < raw.len && raw.s[i] >= '0' && raw.s[i] <= '9'; i++)
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, raw.s[i] - '0', &v))
			return 0;
	return i == raw.len ? v : 0;
}

/* Return: whether the value is a finite number. */
static bool read_real(struct json *j, double *value)
{
	char next = json__peek(j);
	struct span raw;

	if (next != '-' && (next < '0' || next > '9')) {
		json__skip(j);
		return false;
	}
	return json__number(j, &raw) && span__real(raw, value);
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

/* Reads "address": "0x7f" */
static uint64_t read_address(struct json *j)
{
	struct span s;

	if (json__peek(j) != '"')
		return read_handle(j);
	s = read_string(j);
	return s.s ? span__hex(s) : 0;
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
				a.gpu = read_u64(j) == AGENT_GPU;
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
static int read_texts(struct rocprof_texts *to, struct json *j)
{
	struct span key, text;
	uint64_t id;
	int err = 0;

	if (!enter(j, '['))
		return 0;
	while (!err && json__next_item(j)) {
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
			err = rocprof_texts__add(to, id, text);
	}
	return err;
}

/* Reads the names that --kernel-rename gave to kernels: {"external": [...]} */
static int rocprof__read_renames(struct rocprof *r, struct json *j)
{
	struct span key;
	int err = 0;

	if (!enter(j, '{'))
		return 0;
	while (!err && json__next_key(j, &key))
		if (span__is(key, "external"))
			err = read_texts(&r->renames, j);
		else
			json__skip(j);
	return err;
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
			err = read_texts(&r->markers, j);
		} else if (span__is(key, "correlation_id")) {
			err = rocprof__read_renames(r, j);
		} else {
			json__skip(j);
		}
	}
	return err;
}

static int rocprof__read_kernels(struct rocprof *r, struct json *j)
{
	/* The kernel's name is the first of these members that exists. */
	static const char *const names[] = {
		"formatted_kernel_name", "demangled_kernel_name", "truncated_kernel_name",
		"kernel_name",
	};
	struct span key;
	int err = 0;

	if (!enter(j, '['))
		return 0;
	while (!err && json__next_item(j)) {
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
		if (i < ARRAY_SIZE(names))
			err = rocprof_texts__add(&r->kernels, id, found[i]);
	}
	return err;
}

static int rocprof__read_counters(struct rocprof *r, struct json *j)
{
	struct span key;
	int err = 0;

	if (!enter(j, '['))
		return 0;
	while (!err && json__next_item(j)) {
		struct span name = { 0 };
		uint64_t id = 0;

		if (!enter(j, '{'))
			continue;
		while (json__next_key(j, &key))
			if (span__is(key, "id"))
				id = read_handle(j);
			else if (span__is(key, "name"))
				name = read_string(j);
			else
				json__skip(j);
		if (name.len)
			err = rocprof_texts__add(&r->counters, id, name);
	}
	return err;
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

/* Reads an object with the members x, y and z. */
static void read_three(struct json *j, uint64_t v[3])
{
	struct span key;

	if (!enter(j, '{'))
		return;
	while (json__next_key(j, &key))
		if (key.len == 1 && *key.s >= 'x' && *key.s <= 'z')
			v[*key.s - 'x'] = min_t(uint64_t, read_u64(j), UINT32_MAX);
		else
			json__skip(j);
}

/* Reads a member of a record, or of an object in the record. Return: whether the member is used. */
static bool work__member(struct rocprof_work *w, struct json *j, struct span key)
{
	const struct {
		const char *key;
		uint64_t *value;
	} numbers[] = {
		{ "start_timestamp", &w->c.start_ns }, { "end_timestamp", &w->c.end_ns },
		{ "thread_id", &w->c.tid }, { "internal", &w->c.id },
		{ "ancestor", &w->c.ancestor }, { "external", &w->external },
		{ "kernel_id", &w->kernel },
		{ "dispatch_id", &w->dispatch },
		{ "bytes", &w->bytes }, { "allocation_size", &w->bytes },
		{ "group_segment_size", &w->shared_bytes },
		{ "private_segment_size", &w->local_bytes },
	}, handles[] = {
		{ "agent_id", &w->agent }, { "dst_agent_id", &w->agent },
		{ "src_agent_id", &w->src_agent }, { "queue_id", &w->queue },
		{ "stream_id", &w->stream },
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
			w->has_stream |= handles[i].value == &w->stream;
			return true;
		}
	if (span__is(key, "kind"))
		w->c.kind = min_t(uint64_t, read_u64(j), UINT32_MAX);
	else if (span__is(key, "operation"))
		w->c.operation = min_t(uint64_t, read_u64(j), UINT32_MAX);
	else if (span__is(key, "address"))
		w->address = read_address(j);
	else if (span__is(key, "workgroup_size"))
		read_three(j, w->block);
	else if (span__is(key, "grid_size"))
		read_three(j, w->grid);
	else
		return false;
	return true;
}

/* Return: the number of items in an array. */
static uint64_t count_items(struct json *j)
{
	uint64_t nr = 0;

	if (!enter(j, '['))
		return 0;
	for (; json__next_item(j); nr++)
		json__skip(j);
	return nr;
}

/* Reads the counter values of a dispatch whose number is not known yet. */
static int rocprof__read_pmcs(struct rocprof *r, struct json *j)
{
	struct span key;
	int err = 0;

	if (!enter(j, '['))
		return 0;
	while (!err && json__next_item(j)) {
		struct rocprof_pmc pmc = { 0 };
		bool real = false;

		if (!enter(j, '{'))
			continue;
		while (json__next_key(j, &key))
			if (span__is(key, "counter_id"))
				pmc.counter = read_handle(j);
			else if (span__is(key, "value"))
				real = read_real(j, &pmc.value);
			else
				json__skip(j);
		if (real)
			err = rocprof__add_pmc(r->t, &r->pmcs, pmc);
		else
			r->t->nr_strange++;
	}
	return err;
}

/* Reads a record. Some of its members are in nested objects. Return: 0 or -ENOMEM. */
static int work__read(struct rocprof_work *w, struct rocprof *r, struct json *j)
{
	struct span key;
	int err = 0;

	if (!enter(j, '{'))
		return 0;
	while (!err && json__next_key(j, &key))
		if (span__is(key, "correlation_id") || span__is(key, "dispatch_info") ||
		    span__is(key, "dispatch_data"))
			err = work__read(w, r, j);
		else if (span__is(key, "records"))
			err = rocprof__read_pmcs(r, j);
		else if (!work__member(w, j, key))
			json__skip(j);
	return err;
}

/* Reads an array of records into @calls, or into @works. */
static int rocprof__read_records(struct rocprof *r, struct json *j, rocprof_calls_t *calls,
				 rocprof_works_t *works)
{
	size_t pmc;
	int err = 0;

	if (!enter(j, '['))
		return 0;
	while (!err && json__next_item(j)) {
		struct rocprof_work w = { .dispatch = NO_DISPATCH };
		bool record = json__peek(j) == '{';

		pmc = r->pmcs.nr;
		err = work__read(&w, r, j);
		for (; pmc < r->pmcs.nr; pmc++)
			r->pmcs.v[pmc].dispatch = w.dispatch;
		if (err || j->what)
			continue;
		if (!record)
			r->t->nr_strange++;
		else
			err = works ? array_push(works, w) : array_push(calls, w.c);
	}
	return err;
}

static int rocprof__read_callbacks(struct rocprof *r, struct json *j)
{
	struct span key;
	int err = 0;

	if (!enter(j, '{'))
		return 0;
	while (!err && json__next_key(j, &key))
		if (span__is(key, "counter_collection"))
			err = rocprof__read_records(r, j, NULL, &r->counted);
		else
			r->t->nr_unread[UNREAD_OTHER] += count_items(j);
	return err;
}

static int rocprof__read_buffers(struct rocprof *r, struct json *j)
{
	struct span key;
	int err = 0;

	if (!enter(j, '{'))
		return 0;
	while (!err && json__next_key(j, &key)) {
		if (span__is(key, "kernel_dispatch"))
			err = rocprof__read_records(r, j, NULL, &r->dispatches);
		else if (span__is(key, "memory_copy"))
			err = rocprof__read_records(r, j, NULL, &r->copies);
		else if (span__is(key, "memory_allocation"))
			err = rocprof__read_records(r, j, NULL, &r->memory);
		else if (span__is(key, "pc_sample_host_trap") ||
			 span__is(key, "pc_sample_stochastic"))
			r->t->nr_unread[UNREAD_PC_SAMPLES] += count_items(j);
		else if (span__is(key, "scratch_memory"))
			r->t->nr_unread[UNREAD_SCRATCH] += count_items(j);
		else if (key.len > 4 && !memcmp(key.s + key.len - 4, "_api", 4))
			err = rocprof__read_records(r, j, rocprof__calls(r, key), NULL);
		else
			r->t->nr_unread[UNREAD_OTHER] += count_items(j);
	}
	return err;
}

static int rocprof__read_process(struct gputrace *t, struct json *j)
{
	struct rocprof r = { .t = t, .escaped = true };
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
		else if (span__is(key, "counters"))
			err = rocprof__read_counters(&r, j);
		else if (span__is(key, "buffer_records"))
			err = rocprof__read_buffers(&r, j);
		else if (span__is(key, "callback_records"))
			err = rocprof__read_callbacks(&r, j);
		else
			json__skip(j);
	}
	/* If the file is damaged, this adds all records before the damage. */
	err = err ?: rocprof__tell(&r);
	rocprof__exit(&r);
	return err;
}

int gputrace__read_rocprof(struct gputrace *t, struct json *j)
{
	int err = 0;

	/* The first versions wrote a single process, without an array. */
	if (json__peek(j) == '{')
		return rocprof__read_process(t, j);
	if (!enter(j, '['))
		return 0;
	while (!err && json__next_item(j))
		err = rocprof__read_process(t, j);
	return err;
}
