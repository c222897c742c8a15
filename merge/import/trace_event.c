// SPDX-License-Identifier: GPL-3.0-or-later
#include "import/trace_event.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Reads any value without decoding it. */
static void json__raw(struct json *j, struct span *out)
{
	const char *begin = j->p;

	if (json__skip(j))
		*out = (struct span){ begin, j->p - begin };
}

void json__scalar(struct json *j, struct span *out)
{
	char c = json__peek(j);

	if (c == '"')
		json__string(j, out);
	else if (c == '-' || c == 'N' || c == 'I' || (c >= '0' && c <= '9'))
		json__number(j, out);
	else
		json__skip(j);
}

enum {
	IN_EVENT = 1 << 0,
	IN_ARGS	 = 1 << 1,
	ANYWHERE = IN_EVENT | IN_ARGS,
};

#define FIELD(where, name, member)	\
	{ { (name), sizeof(name) - 1 }, (where), offsetof(struct event, member) }

/* Return: the member of @e for a key, or NULL if the key is not used. */
static struct span *event__field(struct event *e, struct span key, bool args)
{
	static const struct {
		struct span key;
		int where;
		size_t offset;
	} fields[] = {
		FIELD(IN_EVENT, "ph", phase), FIELD(IN_EVENT, "name", name),
		FIELD(IN_EVENT, "cat", category), FIELD(IN_EVENT, "type", type),
		FIELD(IN_EVENT, "ts", ts), FIELD(IN_EVENT, "dur", dur),
		FIELD(ANYWHERE, "start", start), FIELD(ANYWHERE, "end", end),
		FIELD(ANYWHERE, "pid", pid), FIELD(ANYWHERE, "tid", tid),
		FIELD(ANYWHERE, "processId", process), FIELD(ANYWHERE, "threadId", thread),
		FIELD(ANYWHERE, "correlationId", correlation),
		FIELD(ANYWHERE, "correlation", correlation),
		FIELD(ANYWHERE, "deviceId", device), FIELD(ANYWHERE, "device", device),
		FIELD(ANYWHERE, "contextId", context), FIELD(ANYWHERE, "context", context),
		FIELD(ANYWHERE, "streamId", stream), FIELD(ANYWHERE, "stream", stream),
		FIELD(IN_ARGS, "sycl queue", stream), FIELD(ANYWHERE, "id", id),
		FIELD(IN_ARGS, "Type", sync_type), FIELD(IN_ARGS, "CLOCK_REALTIME", real_time),
		FIELD(ANYWHERE, "size", bytes), FIELD(ANYWHERE, "bytes", bytes),
		FIELD(ANYWHERE, "copyKind", copy_kind),
		FIELD(IN_ARGS, "name", arg_name), FIELD(IN_ARGS, "Call stack", stack),
		FIELD(IN_ARGS, "Module Hierarchy", modules),
		FIELD(IN_ARGS, "grid", grid), FIELD(IN_ARGS, "block", block),
		FIELD(IN_ARGS, "cluster", cluster),
		FIELD(IN_ARGS, "registers per thread", registers),
		FIELD(IN_ARGS, "shared memory", shared),
		FIELD(IN_ARGS, "local memory per thread", local),
		FIELD(IN_ARGS, "BeginNs", rocprof),
	};
	struct span *out;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(fields); i++) {
		if (key.len != fields[i].key.len || *key.s != *fields[i].key.s ||
		    !(fields[i].where & (args ? IN_ARGS : IN_EVENT)) ||
		    memcmp(key.s, fields[i].key.s, key.len))
			continue;
		out = (struct span *)((char *)e + fields[i].offset);
		return args && out->s ? NULL : out;
	}
	return NULL;
}

void event__read(struct event *e, struct json *j, bool args)
{
	struct span key, *out;

	if (!json__enter(j, '{'))
		return;
	while (json__next_key(j, &key)) {
		if (!args && span__is(key, "args")) {
			if (json__peek(j) == '{')
				event__read(e, j, true);
			else
				json__skip(j);
			continue;
		}
		out = event__field(e, key, args);
		if (out == &e->grid || out == &e->block || out == &e->cluster)
			json__raw(j, out);
		else if (out)
			json__scalar(j, out);
		else
			json__skip(j);
	}
}

bool span__u64(struct span raw, int scale, uint64_t *value)
{
	int64_t v;

	if (!raw.s || !span__decimal(raw, scale, &v) || v < 0)
		return false;
	*value = v;
	return true;
}

uint32_t span__u32(struct span raw)
{
	uint64_t v;

	return span__u64(raw, 0, &v) && v <= UINT32_MAX ? v : 0;
}

/* Return: a number, or the low half of a handle such as "0x000055d08918fc78". */
static uint32_t span__handle(struct span raw)
{
	uint32_t v = 0;
	size_t i;

	if (raw.len < 3 || memcmp(raw.s, "0x", 2))
		return span__u32(raw);
	for (i = 2; i < raw.len && isxdigit((unsigned char)raw.s[i]); i++)
		v = v << 4 | (isdigit((unsigned char)raw.s[i]) ? raw.s[i] - '0' :
			      (raw.s[i] | 0x20) - 'a' + 10);
	return v;
}

uint32_t span__number_after(struct span raw, const char *word)
{
	const char *p = raw.s ? memmem(raw.s, raw.len, word, strlen(word)) : NULL;
	uint64_t v = 0;

	if (!p)
		return 0;
	for (p += strlen(word); p < raw.s + raw.len && (*p == ' ' || *p == '_'); p++)
		;
	for (; p < raw.s + raw.len && isdigit((unsigned char)*p) && v <= UINT32_MAX; p++)
		v = v * 10 + (*p - '0');
	return v <= UINT32_MAX ? v : 0;
}

enum record_kind record__kind(struct span s)
{
	static const struct {
		const char *name;
		enum record_kind kind;
	} kinds[] = {
		{ "CUDA_Runtime", RECORD_RUNTIME }, { "cuda_runtime", RECORD_RUNTIME },
		{ "RUNTIME", RECORD_RUNTIME }, { "Runtime", RECORD_RUNTIME },
		{ "CUDA_Driver", RECORD_DRIVER }, { "cuda_driver", RECORD_DRIVER },
		{ "DRIVER", RECORD_DRIVER },
		{ "GPU_Kernel", RECORD_KERNEL }, { "kernel", RECORD_KERNEL },
		{ "CONCURRENT_KERNEL", RECORD_KERNEL }, { "KERNEL", RECORD_KERNEL },
		{ "Kernel", RECORD_KERNEL },
		{ "MemCopy", RECORD_MEMCPY }, { "GPU_Memcpy", RECORD_MEMCPY },
		{ "gpu_memcpy", RECORD_MEMCPY }, { "MEMCPY", RECORD_MEMCPY },
		{ "MEMCPY2", RECORD_MEMCPY }, { "Memcpy", RECORD_MEMCPY },
		{ "MemSet", RECORD_MEMSET }, { "GPU_Memset", RECORD_MEMSET },
		{ "gpu_memset", RECORD_MEMSET }, { "MEMSET", RECORD_MEMSET },
		{ "Memset", RECORD_MEMSET },
		{ "xpu_runtime", RECORD_RUNTIME }, { "xpu_driver", RECORD_DRIVER },
		{ "xpu_sync", RECORD_DRIVER }, { "gpu_op", RECORD_PTI_WORK },
		{ "cuda_sync", RECORD_SYNC },
		{ "cpu_op", RECORD_OP }, { "Operator", RECORD_OP },
		{ "python_function", RECORD_PYTHON },
		{ "user_annotation", RECORD_ANNOTATION },
		/* PyTorch's copies of other events, its marks, and its own costs */
		{ "gpu_user_annotation", RECORD_NOTHING }, { "overhead", RECORD_NOTHING },
		{ "external_correlation", RECORD_NOTHING }, { "Trace", RECORD_NOTHING },
		{ "cpu_instant_event", RECORD_NOTHING }, { "cuda_event", RECORD_NOTHING },
		/* CUPTI's descriptions and its own costs */
		{ "OVERHEAD", RECORD_NOTHING }, { "EXTERNAL_CORRELATION", RECORD_NOTHING },
		{ "DEVICE", RECORD_NOTHING }, { "DEVICE_ATTRIBUTE", RECORD_NOTHING },
		{ "CONTEXT", RECORD_NOTHING }, { "STREAM", RECORD_NOTHING },
		{ "NAME", RECORD_NOTHING }, { "MODULE", RECORD_NOTHING },
		{ "FUNCTION", RECORD_NOTHING },
	};
	size_t i;

	for (i = 0; s.s && i < ARRAY_SIZE(kinds); i++)
		if (span__is(s, kinds[i].name))
			return kinds[i].kind;
	return RECORD_OTHER;
}

/*
 * Reads a correlation id. Recordings have its lower half: this is enough for a counter that passed
 * 32 bits, or that a tool wrote as a signed number. Ids whose upper halves differ by more than
 * 1 are from no counter. Return: the lower half; 0 if the id is missing or cannot be used.
 */
static uint32_t gputrace__id(struct gputrace *t, struct span raw)
{
	int64_t id;

	if (!raw.s || span__is(raw, "-1"))
		return 0;
	if (!span__decimal(raw, 0, &id) || id < INT32_MIN) {
		t->nr_bad_ids++;
		return 0;
	}
	if (id <= UINT32_MAX)
		return id;
	if (!t->has_high)
		t->high = id >> 32;
	t->has_high = true;
	if (t->high - (uint32_t)(id >> 32) + 1 <= 2)
		return id;
	t->nr_bad_ids++;
	return 0;
}

static int gputrace__event_call(struct gputrace *t, const struct event *e, bool driver,
				uint64_t start_ns, uint64_t end_ns, struct span name)
{
	struct gpu_call c = {
		.start_ns = start_ns, .end_ns = end_ns,
		.pid = span__u32(e->process.s ? e->process : e->pid),
		.correlation_id = gputrace__id(t, e->correlation), .driver = driver,
	};

	span__u64(e->thread.s ? e->thread : e->tid, 0, &c.tid);
	return gputrace__add_call(t, &c, name);
}

/* Reads "[64, 2, 1]". Return: whether the text is three numbers. */
static bool span__three(struct span raw, uint32_t v[3])
{
	struct json j;
	unsigned int nr = 0;
	struct span number;

	if (!raw.s)
		return false;
	json__init(&j, raw.s, raw.len);
	if (!json__enter(&j, '['))
		return false;
	while (json__next_item(&j)) {
		if (json__peek(&j) == '"' || !json__number(&j, &number) || nr == 3)
			return false;
		v[nr++] = span__u32(number);
	}
	return nr == 3;
}

/*
 * Reads the launch shape of a kernel, as PyTorch's profiler and xpumerge write it. Return: whether
 * the event has a launch shape.
 */
static bool event__shape(const struct event *e, struct xpu_shape *shape)
{
	memset(shape, 0, sizeof(*shape));
	if (!span__three(e->grid, shape->grid) || !span__three(e->block, shape->block))
		return false;
	if (!span__three(e->cluster, shape->cluster))
		memset(shape->cluster, 0, sizeof(shape->cluster));
	shape->registers = span__u32(e->registers);
	shape->static_bytes = span__u32(e->shared);
	shape->local_bytes = span__u32(e->local);
	return true;
}

static int gputrace__event_work(struct gputrace *t, const struct event *e, enum record_kind kind,
				uint64_t start_ns, uint64_t end_ns, struct span name)
{
	struct gpu_work w = {
		.kind = kind == RECORD_KERNEL ? WORK_KERNEL :
			kind == RECORD_MEMCPY ? WORK_MEMCPY : WORK_MEMSET,
		.w = { .start_ns = start_ns, .correlation_id = gputrace__id(t, e->correlation) },
		.pid = span__u32(e->process),
		.device = e->device.s ? span__u32(e->device) : span__number_after(e->pid, "Device"),
		.context = span__handle(e->context),
		.stream = e->stream.s ? span__u32(e->stream) : span__number_after(e->tid, "tream"),
	};

	struct xpu_shape shape;

	span__u64(e->bytes, 0, &w.w.bytes);
	if (e->copy_kind.s)
		w.w.copy_kind = import__copy_kind(e->copy_kind.s, e->copy_kind.len);
	if (kind == RECORD_KERNEL && event__shape(e, &shape)) {
		w.w.shape = strpool__intern(&t->names, (const char *)&shape, sizeof(shape));
		if (!w.w.shape)
			return -ENOMEM;
	}
	return gputrace__add_work(t, &w, end_ns, name);
}

const char *gputrace__name(struct gputrace *t, struct span raw)
{
	const char *name;
	char *decoded;

	if (!memchr(raw.s, '\\', raw.len))
		return strpool__intern(&t->names, raw.s, strnlen(raw.s, raw.len));
	decoded = malloc(raw.len + 1);
	if (!decoded)
		return NULL;
	name = strpool__intern(&t->names, decoded, json_string__decode(raw, decoded));
	free(decoded);
	return name;
}

/*
 * Removes meaningless addresses from names such as "<built-in method item of Tensor object at
 * 0x7f8bb02dcdc0>".
 */
static const char *gputrace__python_name(struct gputrace *t, struct span raw)
{
	const char *end = raw.s + raw.len, *at = memmem(raw.s, raw.len, " at 0x", 6), *behind;
	const char *name;
	char *copy;

	if (!at)
		return gputrace__name(t, raw);
	for (behind = at + 6; behind < end && isxdigit((unsigned char)*behind); behind++)
		;
	copy = malloc(raw.len + 1);
	if (!copy)
		return NULL;
	memcpy(copy, raw.s, at - raw.s);
	memcpy(copy + (at - raw.s), behind, end - behind);
	name = gputrace__name(t, (struct span){ copy, raw.len - (behind - at) });
	free(copy);
	return name;
}

static int gputrace__event_op(struct gputrace *t, const struct event *e, enum record_kind kind,
			      uint64_t start_ns, uint64_t end_ns)
{
	struct gpu_op op = {
		.start_ns = start_ns, .end_ns = end_ns, .pid = span__u32(e->pid),
		.kind = kind == RECORD_OP ? OP_CPU : kind == RECORD_PYTHON ? OP_PYTHON :
			OP_ANNOTATION,
	};
	struct span name = e->name.s ? e->name : span__of("[unknown]");
	bool oom;

	op.name = op.kind == OP_PYTHON ? gputrace__python_name(t, name) : gputrace__name(t, name);
	oom = !op.name;
	span__u64(e->tid, 0, &op.tid);
	if (e->stack.len) {
		op.stack = gputrace__name(t, e->stack);
		oom |= !op.stack;
	}
	if (e->modules.len) {
		op.modules = gputrace__name(t, e->modules);
		oom |= !op.modules;
	}
	return oom ? -ENOMEM : array_push(&t->ops, op);
}

static int gputrace__event_sync(struct gputrace *t, const struct event *e)
{
	struct gpu_sync sync = {
		.correlation_id = gputrace__id(t, e->correlation), .device = span__u32(e->device),
		.context = span__u32(e->context),
	};
	uint64_t stream;

	/* A stream of -1 means no stream. */
	sync.of_stream = span__u64(e->stream, 0, &stream) && stream < UINT32_MAX;
	sync.stream = sync.of_stream ? stream : 0;
	return array_push(&t->syncs, sync);
}

int gputrace__decode(struct gputrace *t, struct span raw, struct span *name)
{
	char *decoded;

	*name = raw.s ? raw : span__of("");
	if (!memchr(name->s, '\\', name->len))
		return 0;
	decoded = arena__alloc(&t->arena, raw.len + 1);
	if (!decoded)
		return -ENOMEM;
	*name = (struct span){ decoded, json_string__decode(raw, decoded) };
	return 0;
}

int gputrace__add_event(struct gputrace *t, const struct event *e, enum record_kind kind,
			uint64_t start_ns, uint64_t end_ns)
{
	struct span name;

	if (kind == RECORD_SYNC)
		return gputrace__event_sync(t, e);
	if (kind >= RECORD_OP)
		return gputrace__event_op(t, e, kind, start_ns, end_ns);
	if (gputrace__decode(t, e->name, &name))
		return -ENOMEM;
	if (kind == RECORD_RUNTIME || kind == RECORD_DRIVER)
		return gputrace__event_call(t, e, kind == RECORD_DRIVER, start_ns, end_ns, name);
	return gputrace__event_work(t, e, kind, start_ns, end_ns, name);
}

int gputrace__pass_over(struct gputrace *t, enum record_kind kind, struct span what)
{
	t->nr_other++;
	if (kind == RECORD_NOTHING || t->nr_left_out++)
		return 0;
	t->left_out = gputrace__name(t, what.s ? what : span__of("one without a name"));
	return t->left_out ? 0 : -ENOMEM;
}

int gputrace__json_line(struct gputrace *t, const char *s, size_t len)
{
	struct event e;
	enum record_kind kind;
	uint64_t start_ns, end_ns;
	struct json j;

	memset(&e, 0, sizeof(e));
	json__init(&j, s, len);
	event__read(&e, &j, false);
	kind = record__kind(e.type);
	t->nr_not_finite += j.nr_not_finite;
	if (j.what || !e.type.s) {
		t->nr_strange++;
		return 0;
	}
	if (kind == RECORD_OTHER || kind == RECORD_NOTHING)
		return gputrace__pass_over(t, kind, e.type);
	if (!span__u64(e.start, 0, &start_ns) || !span__u64(e.end, 0, &end_ns)) {
		t->nr_strange++;
		return 0;
	}
	return gputrace__add_event(t, &e, kind, start_ns, end_ns);
}
