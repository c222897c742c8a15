// SPDX-License-Identifier: GPL-3.0-or-later
#include "import/gputrace.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "import/json.h"

/* ---- names ---------------------------------------------------------------------------------- */

static bool drop_prefix(const char **s, size_t *len, const char *prefix)
{
	size_t n = strlen(prefix);

	if (*len < n || memcmp(*s, prefix, n))
		return false;
	*s += n;
	*len -= n;
	return true;
}

static bool ends_with(const char *s, size_t len, const char *suffix)
{
	size_t n = strlen(suffix);

	return len > n && !memcmp(s + len - n, suffix, n);
}

bool cuda_api__parse(const char *s, size_t len, const char **name, size_t *name_len)
{
	const char *rest;
	size_t n, left;

	if (!drop_prefix(&s, &len, "Runtime: ") && !drop_prefix(&s, &len, "Driver: "))
		drop_prefix(&s, &len, "cudaError ");
	rest = s;
	left = len;
	drop_prefix(&rest, &left, "__");
	if (!drop_prefix(&rest, &left, "cuda") && !drop_prefix(&rest, &left, "cu"))
		return false;
	if (!left || *rest < 'A' || *rest > 'Z')
		return false;
	for (n = 0; n < len && (isalnum((unsigned char)s[n]) || s[n] == '_'); n++)
		;
	if (n < len && !strchr("<(@+ ", s[n]))
		return false;
	/*
	 * Function names in CUPTI and in libraries end with versions: cudaLaunchKernel_ptsz_v7000.
	 */
	for (left = n; left && isdigit((unsigned char)s[left - 1]); left--)
		;
	if (left < n && left > 2 && s[left - 1] == 'v' && s[left - 2] == '_')
		n = left - 2;
	if (ends_with(s, n, "_ptsz") || ends_with(s, n, "_ptds"))
		n -= 5;
	*name = s;
	*name_len = n;
	return true;
}

/* Return: whether the function's name has one of @parts, up to a NULL. */
static bool name__has(const char *name, size_t len, const char *const *parts)
{
	for (; *parts; parts++)
		if (memmem(name, len, *parts, strlen(*parts)))
			return true;
	return false;
}

enum call_kind cuda_api__kind(const char *name, size_t len)
{
	static const char *const graphs[] = {
		"GraphLaunch", "ExecuteCommandLists", "ImmediateAppendCommandLists", "AppendGraph",
		"EnqueueCommandBuffer", NULL,
	}, *const kernels[] = {
		"Kernel", "cuLaunch", NULL,
	}, *const copies[] = {
		"Memcpy", "AppendMemoryCopy", "AppendImageCopy", "clEnqueueRead", "clEnqueueWrite",
		"clEnqueueCopy", "clEnqueueMap", "clEnqueueUnmap", "EnqueueMemBufferRead",
		"EnqueueMemBufferWrite", "EnqueueMemBufferCopy", "EnqueueMemImage", NULL,
	}, *const fills[] = {
		"Memset", "AppendMemoryFill", "clEnqueueFill", "clEnqueueSVMMemFill",
		"clEnqueueMemFill", "EnqueueUSMFill", "EnqueueMemBufferFill", NULL,
	};

	if (name__has(name, len, graphs))
		return CALL_GRAPH;
	if (memmem(name, len, "Launch", 6) && name__has(name, len, kernels))
		return CALL_KERNEL;
	if (memmem(name, len, "clEnqueueNDRangeKernel", 22) ||
	    memmem(name, len, "clEnqueueTask", 13))
		return CALL_KERNEL;
	if (name__has(name, len, copies))
		return CALL_MEMCPY;
	return name__has(name, len, fills) ? CALL_MEMSET : CALL_OTHER;
}

enum xpu_api gpu_api__of(const char *name, size_t len)
{
	static const struct {
		const char *prefix;
		enum xpu_api api;
	} prefixes[] = {
		{ "cl", XPU_API_OPENCL }, { "hip", XPU_API_HIP }, { "ze", XPU_API_LEVEL_ZERO },
		{ "zes", XPU_API_LEVEL_ZERO }, { "zet", XPU_API_LEVEL_ZERO },
		{ "zex", XPU_API_LEVEL_ZERO }, { "ur", XPU_API_SYCL }, { "pi", XPU_API_SYCL },
		{ "piext", XPU_API_SYCL },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(prefixes); i++) {
		size_t n = strlen(prefixes[i].prefix);

		if (len > n && !memcmp(name, prefixes[i].prefix, n) &&
		    isupper((unsigned char)name[n]))
			return prefixes[i].api;
	}
	return XPU_API_CUDA;
}

bool gpu_api__waits(const char *name)
{
	static const char *const waits[] = {
		"Synchronize", "clFinish", "clWaitForEvents", "urQueueFinish", "urEventWait",
		"piQueueFinish", "piEventsWait", NULL,
	};

	return name__has(name, strlen(name), waits);
}

enum epoch_works call_kind__works(enum call_kind kind, const char *name)
{
	switch (kind) {
	case CALL_KERNEL:
		return strstr(name, "MultiDevice") ? EPOCH_ANY_WORK : EPOCH_ONE_KERNEL;
	case CALL_MEMCPY:
	case CALL_MEMSET:
		return EPOCH_ONE_WORK;
	case CALL_GRAPH:
		return EPOCH_ANY_WORK;
	default:
		return EPOCH_NO_WORK;
	}
}

/* The name must not contain a NUL, because readers would cut the name there. */
int gputrace__add_call(struct gputrace *t, struct gpu_call *c, struct span s)
{
	const char *name = s.s;
	size_t name_len = s.len;

	if (!cuda_api__parse(s.s, s.len, &name, &name_len))
		if (!drop_prefix(&name, &name_len, "Runtime: "))
			drop_prefix(&name, &name_len, "Driver: ");
	c->name = strpool__intern(&t->strings, name, strnlen(name, name_len));
	if (!c->name)
		return -ENOMEM;
	if (strpool__id(c->name) == t->kinds.nr &&
	    array_push(&t->kinds, cuda_api__kind(c->name, strlen(c->name))))
		return -ENOMEM;
	c->kind = t->kinds.v[strpool__id(c->name)];
	if (c->end_ns < c->start_ns)
		c->end_ns = c->start_ns;
	return array_push(&t->calls, *c);
}

int gputrace__add_work(struct gputrace *t, struct gpu_work *w, uint64_t end_ns, struct span s)
{
	static const char *const prefixes[] = {
		"Kernel: ", "MemCopy: ", "MemCpy: ", "MemSet: ", "Memcpy ", "Memset ",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (drop_prefix(&s.s, &s.len, prefixes[i]))
			break;
	if (w->kind == WORK_MEMCPY && !w->w.copy_kind)
		w->w.copy_kind = import__copy_kind(s.s, s.len);
	w->name.len = strnlen(s.s, s.len);
	w->name.s = strpool__intern(&t->names, s.s, w->name.len);
	if (!w->name.s)
		return -ENOMEM;
	/* A start of 0 means that the file has no times. */
	if (end_ns < w->w.start_ns)
		w->w.start_ns = 0;
	w->w.duration_ns = w->w.start_ns ? end_ns - w->w.start_ns : 0;
	return array_push(&t->works, *w);
}

/* ---- events with fields: shared by Chrome JSON and JSON lines ------------------------- */

/* The used fields of an event, raw and unchecked. */
struct event {
	struct span name, category, type, phase, ts, dur, start, end, pid, tid;
	struct span process, thread, correlation, device, context, stream, bytes, copy_kind;
	struct span arg_name, stack, modules;
	struct span grid, block, cluster, registers, shared, local;
	struct span id, sync_type, real_time;
};

/* Reads any value, raw. */
static void json__raw(struct json *j, struct span *out)
{
	const char *begin = j->p;

	if (json__skip(j))
		*out = (struct span){ begin, j->p - begin };
}

static void json__scalar(struct json *j, struct span *out)
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

/* Return: where to store the value of a key, or NULL if the key is not used. */
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

/* Reads one object, and the object "args" inside it. */
static void event__read(struct event *e, struct json *j, bool args)
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

static bool span__u64(struct span raw, int scale, uint64_t *value)
{
	int64_t v;

	if (!raw.s || !span__decimal(raw, scale, &v) || v < 0)
		return false;
	*value = v;
	return true;
}

static uint32_t span__u32(struct span raw)
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

/* Return: the number that follows @word, such as "Stream" in "GPU0_Stream7". */
static uint32_t span__number_after(struct span raw, const char *word)
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

#define LINUX_TID_MAX	(4u << 20)

enum record_kind {
	RECORD_OTHER,
	RECORD_RUNTIME,
	RECORD_DRIVER,
	RECORD_KERNEL,
	RECORD_MEMCPY,
	RECORD_MEMSET,
	RECORD_PTI_WORK,
	RECORD_SYNC,
	RECORD_OP,
	RECORD_PYTHON,
	RECORD_ANNOTATION,
};

/* Return: the record kind for an event category or for CUPTI's name of an activity kind. */
static enum record_kind record__kind(struct span s)
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
	};
	size_t i;

	for (i = 0; s.s && i < ARRAY_SIZE(kinds); i++)
		if (span__is(s, kinds[i].name))
			return kinds[i].kind;
	return RECORD_OTHER;
}

static int gputrace__event_call(struct gputrace *t, const struct event *e, bool driver,
				uint64_t start_ns, uint64_t end_ns, struct span name)
{
	struct gpu_call c = {
		.start_ns = start_ns, .end_ns = end_ns,
		.pid = span__u32(e->process.s ? e->process : e->pid),
		.correlation_id = span__u32(e->correlation), .driver = driver,
	};

	span__u64(e->thread.s ? e->thread : e->tid, 0, &c.tid);
	return gputrace__add_call(t, &c, name);
}

/* Reads "[64, 2, 1]". Return: whether these are three numbers. */
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
 * Reads how a kernel was launched, as PyTorch's profiler and xpumerge write it. Return: whether the
 * event has that.
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
		.w = { .start_ns = start_ns, .correlation_id = span__u32(e->correlation) },
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
 * Removes addresses from names such as "<built-in method item of Tensor object at 0x7f8bb02dcdc0>",
 * because they say nothing.
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
		.correlation_id = span__u32(e->correlation), .device = span__u32(e->device),
		.context = span__u32(e->context),
	};
	uint64_t stream;

	/* A stream of -1 means no stream. */
	sync.of_stream = span__u64(e->stream, 0, &stream) && stream < UINT32_MAX;
	sync.stream = sync.of_stream ? stream : 0;
	return array_push(&t->syncs, sync);
}

/* Decodes the name of an event. Return: 0 or -ENOMEM. */
static int gputrace__decode(struct gputrace *t, struct span raw, struct span *name)
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

static int gputrace__add_event(struct gputrace *t, const struct event *e, enum record_kind kind,
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

/* ---- Chrome JSON ----------------------------------------------------------------------------- */

/* One half of a range: an event that only begins a range, or only ends one. */
struct half {
	struct event e;
	uint32_t thread;		/* this program's own number for the event's thread */
	uint32_t seq;
	uint64_t time_ns;
	bool ends;
};

struct chrome {
	struct gputrace *t;
	struct pti pti;
	bool onetrace;			/* written by onetrace, ze_tracer or cl_tracer: events have
					 * no category */
	struct strpool threads, queues;
	ARRAY(struct half) halves;
	uint64_t base_ns;		/* baseTimeNanoseconds */
};

/* Return: our own number for the event's thread, or NO_INDEX if memory is short. */
static uint32_t event__thread(const struct event *e, struct strpool *threads)
{
	/* The work of each tile of a device is on a queue of its own. */
	size_t tile = e->name.len > 8 && !memcmp(e->name.s, "Tile #", 6) ? 8 : 0;
	const char *thread = strpool__internf(threads, "%.*s %.*s%.*s",
					      (int)min_t(size_t, e->pid.len, 256), e->pid.s ?: "",
					      (int)min_t(size_t, e->tid.len, 256), e->tid.s ?: "",
					      (int)tile, tile ? e->name.s : "");

	return thread ? strpool__id(thread) : NO_INDEX;
}

static bool span__ends(struct span s, const char *suffix)
{
	return s.s && ends_with(s.s, s.len, suffix);
}

/*
 * Return: the kind of an event of onetrace: a call by a thread, whose number is a process id of
 * Linux; or a stage of work, of which the last is the work itself.
 */
static enum record_kind onetrace__kind(const struct event *e)
{
	uint64_t tid;

	if (!e->name.s || !e->id.s || span__ends(e->name, " (Appended)") ||
	    span__ends(e->name, " (Queued)") || span__ends(e->name, " (Submitted)"))
		return RECORD_OTHER;
	return span__u64(e->tid, 0, &tid) && tid <= LINUX_TID_MAX &&
	       gpu_api__of(e->name.s, e->name.len) ? RECORD_DRIVER : RECORD_PTI_WORK;
}

static enum record_kind chrome__kind(const struct chrome *c, const struct event *e)
{
	enum record_kind kind = record__kind(e->category);
	enum xpu_api api;

	if (c->onetrace && !e->category.s)
		return onetrace__kind(e);
	/* In some files kernels have no category. */
	if (kind == RECORD_OTHER && e->name.len > 8 && !memcmp(e->name.s, "Kernel: ", 8))
		return RECORD_KERNEL;
	/* A wait of the device for itself is no call. */
	if (e->sync_type.len > 4 && !memcmp(e->sync_type.s, "GPU_", 4) &&
	    span__is(e->category, "xpu_sync"))
		return RECORD_OTHER;
	/* To unitrace, calls are operators. */
	api = kind == RECORD_OP && e->name.s ? gpu_api__of(e->name.s, e->name.len) : XPU_API_CUDA;
	return api == XPU_API_LEVEL_ZERO || api == XPU_API_OPENCL ? RECORD_DRIVER : kind;
}

static int chrome__pti_work(struct chrome *c, const struct event *e, uint64_t start_ns,
			    uint64_t end_ns)
{
	uint32_t device = NO_INDEX, queue = event__thread(e, &c->queues);
	struct gpu_work w = { .kind = WORK_KERNEL, .w = { .start_ns = start_ns } };
	struct gputrace *t = c->t;
	struct xpu_shape shape;
	struct span name;

	if (c->onetrace)
		w.pid = span__u32(e->pid);
	else
		w.device = device = pti__device(&c->pti, span__u32(e->pid));
	if (queue == NO_INDEX || (!c->onetrace && device == NO_INDEX) ||
	    gputrace__decode(t, e->name, &name))
		return -ENOMEM;
	w.stream = queue + 1;
	if (c->onetrace && span__ends(name, " (Executed)"))
		name.len -= strlen(" (Executed)");
	if (pti_work__parse(&w, &name, &shape)) {
		w.w.shape = strpool__intern(&t->names, (const char *)&shape, sizeof(shape));
		if (!w.w.shape)
			return -ENOMEM;
	}
	return pti__add_work(&c->pti, t->works.nr, device, e->id) ?:
	       gputrace__add_work(t, &w, end_ns, name);
}

static int chrome__complete_event(struct chrome *c, const struct event *e, uint64_t start_ns,
				  uint64_t end_ns)
{
	enum record_kind kind = chrome__kind(c, e);
	struct gputrace *t = c->t;
	int err;

	if (kind == RECORD_OTHER) {
		t->nr_other++;
		return 0;
	}
	if (kind == RECORD_PTI_WORK)
		return chrome__pti_work(c, e, start_ns, end_ns);
	err = gputrace__add_event(t, e, kind, start_ns, end_ns);
	if (!err && c->onetrace && !e->category.s)
		err = pti__add_call(&c->pti, t->calls.nr - 1, e->id);
	return err;
}

static int chrome__half(struct chrome *c, const struct event *e, bool ends)
{
	struct half h = { .e = *e, .ends = ends, .seq = c->halves.nr };

	if (!span__u64(e->ts, 3, &h.time_ns)) {
		c->t->nr_strange++;
		return 0;
	}
	h.thread = event__thread(e, &c->threads);
	return h.thread == NO_INDEX ? -ENOMEM : array_push(&c->halves, h);
}

/*
 * Reads the name of a process of unitrace: "HOST<name>", "RANK 3 HOST<name>", or for a device
 * "DEVICE<name>[Intel(R) Arc(TM)] 0:3:0:0 #0". Return: 1 if it is one, 0 if not, or -ENOMEM.
 */
static int chrome__pti_name(struct chrome *c, const struct event *e)
{
	struct gpu_name process = { .pid = span__u32(e->pid) };
	struct span name = e->arg_name;
	uint64_t rank = 0;
	struct gpu_device d;
	const char *open;
	bool ranked;

	ranked = drop_prefix(&name.s, &name.len, "RANK ");
	for (; ranked && name.len && isdigit((unsigned char)*name.s); name.s++, name.len--)
		rank = min_t(uint64_t, rank * 10 + (*name.s - '0'), UINT32_MAX);
	ranked = ranked && drop_prefix(&name.s, &name.len, " ");
	if (drop_prefix(&name.s, &name.len, "DEVICE<")) {
		open = memchr(name.s, '[', name.len);
		if (open) {
			name.len -= open + 1 - name.s;
			name.s = open + 1;
			open = memchr(name.s, ']', name.len);
			name.len = open ? (size_t)(open - name.s) : name.len;
		}
		d.id = pti__device(&c->pti, span__u32(e->pid));
		d.name = gputrace__name(c->t, name);
		if (d.id == NO_INDEX || !d.name || array_push(&c->t->devices, d))
			return -ENOMEM;
		return 1;
	}
	if (!drop_prefix(&name.s, &name.len, "HOST<"))
		return 0;
	if (!ranked)
		return 1;
	process.name = strpool__internf(&c->t->names, "rank %" PRIu64, rank);
	return process.name && !array_push(&c->t->thread_names, process) ? 1 : -ENOMEM;
}

/* Reads names of processes and threads, and the base of onetrace's times. */
static int chrome__metadata(struct chrome *c, const struct event *e)
{
	struct gpu_name n = { .pid = span__u32(e->pid),
			      .thread = span__is(e->name, "thread_name") };
	int ret = 0;

	if (span__ends(e->name, "start_time") || span__is(e->name, "start_time")) {
		c->onetrace = true;
		span__u64(e->real_time, 0, &c->base_ns);
	}
	if (!e->name.s || !e->arg_name.s || (!n.thread && !span__is(e->name, "process_name")))
		return 0;
	if (!n.thread)
		ret = chrome__pti_name(c, e);
	if (ret)
		return min_t(int, ret, 0);
	if (!n.pid || (n.thread && !span__u64(e->tid, 0, &n.tid)))
		return 0;
	n.name = gputrace__name(c->t, e->arg_name);
	return n.name ? array_push(&c->t->thread_names, n) : -ENOMEM;
}

static int chrome__flow(struct chrome *c, const struct event *e, bool begins)
{
	uint64_t time_ns = 0, tid = 0;
	int ret;

	if (!span__u64(e->ts, 3, &time_ns) || !span__u64(e->tid, 0, &tid)) {
		c->t->nr_other++;
		return 0;
	}
	ret = pti__add_flow(&c->pti, e->category, span__u32(e->pid), tid, time_ns, begins,
			    c->t->calls.nr);
	c->t->nr_other += !ret;
	return min_t(int, ret, 0);
}

static int chrome__event(struct chrome *c, const struct event *e)
{
	struct gputrace *t = c->t;
	char phase = e->phase.len == 1 ? *e->phase.s : e->phase.s ? 0 : 'X';
	uint64_t start_ns, duration_ns = 0, end_ns;

	switch (phase) {
	case 'B':
	case 'E':
		return chrome__half(c, e, phase == 'E');
	case 'M':
		return chrome__metadata(c, e);
	case 's':
	case 't':
		return chrome__flow(c, e, phase == 's');
	case 'X':
		break;
	default:
		t->nr_other++;
		return 0;
	}
	if (!span__u64(e->ts, 3, &start_ns) || (e->dur.s && !span__u64(e->dur, 3, &duration_ns)) ||
	    __builtin_add_overflow(start_ns, duration_ns, &end_ns) || end_ns > INT64_MAX) {
		if (chrome__kind(c, e) == RECORD_OTHER)
			t->nr_other++;
		else
			t->nr_strange++;
		return 0;
	}
	return chrome__complete_event(c, e, start_ns, end_ns);
}

static int half__compare(const void *a, const void *b, void *ctx __attribute__((unused)))
{
	const struct half *x = a, *y = b;

	return cmp3(x->thread, y->thread) ?: cmp3(x->time_ns, y->time_ns) ?: cmp3(x->seq, y->seq);
}

/* Copies fields that only the ending event has into the beginning event. */
static void event__complete(struct event *e, const struct event *end)
{
	struct span *to = (struct span *)e;
	const struct span *from = (const struct span *)end;
	size_t i;

	for (i = 0; i < sizeof(*e) / sizeof(*to); i++)
		if (!to[i].s)
			to[i] = from[i];
}

/*
 * Pairs events that begin a range with events that end a range. Ranges nest on a thread: an end
 * belongs to the latest open beginning.
 */
static int chrome__pair(struct chrome *c)
{
	ARRAY(uint32_t) open = { 0 };
	int err = 0;
	size_t i;

	array__sort(c->halves.v, c->halves.nr, sizeof(*c->halves.v), half__compare, NULL);
	for (i = 0; i < c->halves.nr && !err; i++) {
		struct half *h = &c->halves.v[i], *begin;

		if (i && h->thread != h[-1].thread) {
			c->t->nr_begins += open.nr;
			open.nr = 0;
		}
		if (!h->ends) {
			err = array_push(&open, i);
		} else if (!open.nr) {
			c->t->nr_ends++;
		} else {
			begin = &c->halves.v[open.v[--open.nr]];
			event__complete(&begin->e, &h->e);
			err = chrome__complete_event(c, &begin->e, begin->time_ns, h->time_ns);
		}
	}
	c->t->nr_begins += open.nr;
	array_free(&open);
	return err;
}

static int chrome__events(struct chrome *c, struct json *j)
{
	int err = 0;

	if (!json__enter(j, '['))
		return 0;
	while (!err && json__next_item(j)) {
		struct event e;

		input_file__release(c->t->input, j->p);
		if (json__peek(j) != '{') {
			json__skip(j);
			continue;
		}
		memset(&e, 0, sizeof(e));
		event__read(&e, j, false);
		if (!j->what)
			err = chrome__event(c, &e);
	}
	return err;
}

/* Reads "distributedInfo": {"rank": 3, "world_size": 8, ...} */
static void chrome__distributed(struct chrome *c, struct json *j)
{
	struct span key, value = { 0 };

	json__enter(j, '{');
	while (json__next_key(j, &key)) {
		json__scalar(j, &value);
		if (span__is(key, "rank") && value.s) {
			c->t->rank = span__u32(value);
			c->t->has_rank = true;
		} else if (span__is(key, "world_size") && value.s) {
			c->t->world_size = span__u32(value);
		}
		value.s = NULL;
	}
}

/* Reads "deviceProperties": [{"id": 0, "name": "..."}, ...] */
static int chrome__devices(struct chrome *c, struct json *j)
{
	struct span key, id, name;
	int err = 0;

	json__enter(j, '[');
	while (!err && json__next_item(j)) {
		struct gpu_device d;

		if (json__peek(j) != '{') {
			json__skip(j);
			continue;
		}
		id = name = (struct span){ 0 };
		json__enter(j, '{');
		while (json__next_key(j, &key)) {
			if (span__is(key, "id"))
				json__scalar(j, &id);
			else if (span__is(key, "name") && json__peek(j) == '"')
				json__string(j, &name);
			else
				json__skip(j);
		}
		if (j->what || !id.s || !name.s)
			continue;
		d.id = span__u32(id);
		d.name = gputrace__name(c->t, name);
		err = d.name ? array_push(&c->t->devices, d) : -ENOMEM;
	}
	return err;
}

/* Reads a member of the object that contains the events. */
static int chrome__member(struct chrome *c, struct json *j, struct span key)
{
	struct span value = { 0 };
	char next = json__peek(j);

	if (span__is(key, "distributedInfo") && next == '{') {
		chrome__distributed(c, j);
	} else if (span__is(key, "deviceProperties") && next == '[') {
		return chrome__devices(c, j);
	} else if (span__is(key, "baseTimeNanoseconds")) {
		json__scalar(j, &value);
		span__u64(value, 0, &c->base_ns);
	} else {
		json__skip(j);
	}
	return 0;
}

/* Records of waits have no process. It is known if the file has a single one. */
static void chrome__only_pid(struct chrome *c)
{
	struct gputrace *t = c->t;
	uint32_t pid = 0;
	size_t i;

	for (i = 0; i < t->calls.nr; i++) {
		if (!t->calls.v[i].pid)
			continue;
		if (pid && t->calls.v[i].pid != pid)
			return;
		pid = t->calls.v[i].pid;
	}
	for (i = 0; i < t->calls.nr; i++)
		t->calls.v[i].pid = pid;
}

/* Adds the base to times that are relative to it; in some files, times already contain the base. */
static void chrome__rebase(struct chrome *c)
{
	struct gputrace *t = c->t;
	uint64_t first_ns = UINT64_MAX;
	size_t i;

	for (i = 0; i < t->calls.nr; i++)
		first_ns = min_t(uint64_t, first_ns, t->calls.v[i].start_ns);
	for (i = 0; i < t->works.nr; i++)
		if (t->works.v[i].w.start_ns)
			first_ns = min_t(uint64_t, first_ns, t->works.v[i].w.start_ns);
	for (i = 0; i < t->ops.nr; i++)
		first_ns = min_t(uint64_t, first_ns, t->ops.v[i].start_ns);
	if (first_ns >= c->base_ns || c->base_ns > INT64_MAX)
		return;
	t->base_ns = c->base_ns;
	for (i = 0; i < t->calls.nr; i++) {
		t->calls.v[i].start_ns += t->base_ns;
		t->calls.v[i].end_ns += t->base_ns;
	}
	for (i = 0; i < t->works.nr; i++)
		if (t->works.v[i].w.start_ns)
			t->works.v[i].w.start_ns += t->base_ns;
	for (i = 0; i < t->ops.nr; i++) {
		t->ops.v[i].start_ns += t->base_ns;
		t->ops.v[i].end_ns += t->base_ns;
	}
}

static int gputrace__read_chrome(struct gputrace *t, const char *buf, size_t size)
{
	struct chrome c = { .t = t };
	struct json j;
	struct span key;
	bool found = false;
	int err = 0;

	json__init(&j, buf, size);
	if (json__peek(&j) == '{') {
		json__enter(&j, '{');
		while (!err && json__next_key(&j, &key)) {
			if (span__is(key, "traceEvents") && json__peek(&j) == '[') {
				err = chrome__events(&c, &j);
				found = true;
			} else if (span__is(key, "rocprofiler-sdk-tool")) {
				err = gputrace__read_rocprof(t, &j);
				found = true;
			} else {
				err = chrome__member(&c, &j, key);
			}
		}
		if (!found && !j.what)
			j.what = "no traceEvents";
	} else {
		err = chrome__events(&c, &j);
		/* onetrace ends its array with a comma. */
		if (c.onetrace && j.depth == 1 && j.p == j.end)
			j.what = NULL;
	}
	t->damage = j.what;
	t->damage_offset = j.p - buf;
	t->nr_not_finite = j.nr_not_finite;
	err = err ?: chrome__pair(&c);
	if (!err) {
		err = pti__link(&c.pti, t);
		t->linked = err > 0;
		chrome__only_pid(&c);
	}
	chrome__rebase(&c);
	pti__free(&c.pti);
	array_free(&c.halves);
	strpool__free(&c.queues);
	strpool__free(&c.threads);
	return min_t(int, err, 0);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static int gputrace__json_line(struct gputrace *t, const char *s, size_t len)
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
	if (kind == RECORD_OTHER) {
		t->nr_other++;
		return 0;
	}
	if (!span__u64(e.start, 0, &start_ns) || !span__u64(e.end, 0, &end_ns)) {
		t->nr_strange++;
		return 0;
	}
	return gputrace__add_event(t, &e, kind, start_ns, end_ns);
}

/* Reads a decimal number at *@p and moves *@p to its end. */
static bool read_number(const char **p, const char *end, uint64_t *value)
{
	const char *q = *p;

	for (*value = 0; q < end && isdigit((unsigned char)*q); q++)
		if (__builtin_mul_overflow(*value, 10, value) ||
		    __builtin_add_overflow(*value, *q - '0', value))
			return false;
	if (q == *p)
		return false;
	*p = q;
	return true;
}

/* Return: the number that follows the first @word in [@p, @end), or 0. */
static uint64_t number_after(const char *p, const char *end, const char *word)
{
	uint64_t value;

	p = memmem(p, end - p, word, strlen(word));
	if (!p)
		return 0;
	p += strlen(word);
	return read_number(&p, end, &value) ? value : 0;
}

/* Return: the last @needle in [@p, @end), or NULL. */
static const char *last_of(const char *p, const char *end, const char *needle)
{
	size_t len = strlen(needle);
	const char *at = end - len;

	for (; at >= p; at--)
		if (!memcmp(at, needle, len))
			return at;
	return NULL;
}

/* Reads the times of "KIND [ start, end ] duration N, "name", ..." and moves *@p to their end. */
static bool text__head(const char **p, const char *end, uint64_t *start_ns, uint64_t *end_ns)
{
	const char *q = *p;

	if (end - q < 2 || memcmp(q, "[ ", 2))
		return false;
	q += 2;
	if (!read_number(&q, end, start_ns))
		return false;
	/* CUDA before 11.5 wrote "-" */
	if (end - q > 2 && !memcmp(q, ", ", 2))
		q += 2;
	else if (end - q > 3 && !memcmp(q, " - ", 3))
		q += 3;
	else
		return false;
	if (!read_number(&q, end, end_ns) || end - q < 2 || memcmp(q, " ]", 2))
		return false;
	*p = q + 2;
	return true;
}

/* Reads the second or third line of a record, which describes the latest work. */
static void text__continue(struct gpu_work *w, const char *p, const char *end)
{
	w->device = number_after(p, end, "deviceId ") ?: number_after(p, end, " device ");
	w->context = number_after(p, end, "contextId ") ?: number_after(p, end, " context ");
	w->stream = number_after(p, end, "streamId ") ?: number_after(p, end, " stream ");
}

/*
 * Return: the name of a launch, copy or wait, for a line that has only CUPTI's number of the
 * function.
 */
static struct span text__callback(uint32_t cbid, bool driver)
{
	static const struct {
		uint32_t cbid;
		const char *name;
	} runtime[] = {
		{ 13, "cudaLaunch" }, { 31, "cudaMemcpy" }, { 41, "cudaMemcpyAsync" },
		{ 49, "cudaMemset" }, { 51, "cudaMemsetAsync" }, { 131, "cudaStreamSynchronize" },
		{ 165, "cudaDeviceSynchronize" }, { 211, "cudaLaunchKernel" },
	};
	size_t i;

	if (driver)
		return span__of(cbid == 307 ? "cuLaunchKernel" : "[unknown]");
	for (i = 0; i < ARRAY_SIZE(runtime); i++)
		if (runtime[i].cbid == cbid)
			return span__of(runtime[i].name);
	return span__of("[unknown]");
}

/*
 * Reads the name after the times of a line: , "name", or "name". Return: whether the line has a
 * name.
 */
static bool text__name(const char **p, const char *end, struct span *name)
{
	const char *at = memmem(*p, end - *p, " \"", 2), *last;

	/* A name may contain quotes: it ends where the next field begins. */
	last = at ? last_of(at + 2, end, "\", c") : NULL;
	if (!last)
		return false;
	*name = (struct span){ at + 2, last - at - 2 };
	*p = last;
	return true;
}

static int gputrace__text_call(struct gputrace *t, bool driver, uint64_t start_ns, uint64_t end_ns,
			       struct span name, const char *p, const char *end)
{
	struct gpu_call c = {
		.start_ns = start_ns, .end_ns = end_ns, .driver = driver,
		.pid = number_after(p, end, "processId ") ?: number_after(p, end, " process "),
		.tid = number_after(p, end, "threadId ") ?: number_after(p, end, " thread "),
		.correlation_id = number_after(p, end, "correlationId ") ?:
				  number_after(p, end, " correlation "),
	};

	return gputrace__add_call(t, &c, name);
}

/* Reads a record. @p: the text after the word that names the kind */
static int gputrace__text_record(struct gputrace *t, enum record_kind kind, const char *p,
				 const char *end)
{
	bool call = kind == RECORD_RUNTIME || kind == RECORD_DRIVER;
	struct span name = { "", 0 };
	struct gpu_work w = { 0 };
	uint64_t start_ns, end_ns, cbid;
	const char *at = p + 5;

	if (call && end - p > 5 && !memcmp(p, "cbid=", 5) && read_number(&at, end, &cbid)) {
		/*
		 * CUDA before 11.5 wrote: RUNTIME cbid=211 [ start - end ] process 1, thread 2, ...
		 */
		name = text__callback(min_t(uint64_t, cbid, UINT32_MAX), kind == RECORD_DRIVER);
		p = at + (at < end);
	} else if (*p == '"') {
		/*
		 * A copy reads MEMCPY "HtoD" [ start, end ]. A kernel may read KERNEL "name" [
		 * start
		 * - end ].
		 */
		at = last_of(p + 1, end, "\" [ ");
		name = (struct span){ p + 1, at ? at - p - 1 : 0 };
		p = at ? at + 2 : p;
	} else if (*p != '[') {
		at = memmem(p, end - p, " [ ", 3);
		name = (struct span){ p, at ? at - p : 0 };
		p = at ? at + 1 : p;
	}
	if (!text__head(&p, end, &start_ns, &end_ns)) {
		t->nr_strange++;
		return 0;
	}
	if (!name.len && (call || kind == RECORD_KERNEL) && !text__name(&p, end, &name)) {
		t->nr_strange++;
		return 0;
	}
	if (call)
		return gputrace__text_call(t, kind == RECORD_DRIVER, start_ns, end_ns, name, p,
					   end);
	w.kind = kind == RECORD_KERNEL ? WORK_KERNEL :
		 kind == RECORD_MEMCPY ? WORK_MEMCPY : WORK_MEMSET;
	w.w.start_ns = start_ns;
	w.w.bytes = kind == RECORD_KERNEL ? 0 : number_after(p, end, "size ");
	w.w.correlation_id = number_after(p, end, "correlationId ") ?:
			     number_after(p, end, " correlation ");
	text__continue(&w, p, end);
	return gputrace__add_work(t, &w, end_ns, name);
}

/*
 * Return: whether the text after the word that names a kind continues like a record of this kind.
 */
static bool text__begins(enum record_kind kind, const char *p, const char *end)
{
	if (p == end)
		return false;
	if (kind == RECORD_MEMCPY && isupper((unsigned char)*p))	/* HtoD [ start - end ] */
		return memmem(p, min_t(size_t, end - p, 8), " [ ", 3);
	return *p == '[' || *p == '"' || (end - p > 5 && !memcmp(p, "cbid=", 5));
}

static int gputrace__text_line(struct gputrace *t, const char *s, size_t len, bool *continues)
{
	static const struct {
		const char *word;
		enum record_kind kind;
	} words[] = {	/* a word that ends with another word comes after that word */
		{ "RUNTIME ", RECORD_RUNTIME }, { "DRIVER ", RECORD_DRIVER },
		{ "CONCURRENT_KERNEL ", RECORD_KERNEL }, { "KERNEL ", RECORD_KERNEL },
		{ "MEMCPY ", RECORD_MEMCPY }, { "MEMCPY2 ", RECORD_MEMCPY },
		{ "MEMSET ", RECORD_MEMSET },
	};
	const char *end = s + len, *p;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(words); i++) {
		p = memmem(s, len, words[i].word, strlen(words[i].word));
		if (!p || (p > s && (isalnum((unsigned char)p[-1]) || p[-1] == '_')))
			continue;
		p += strlen(words[i].word);
		if (!text__begins(words[i].kind, p, end))
			continue;
		*continues = words[i].kind >= RECORD_KERNEL;
		return gputrace__text_record(t, words[i].kind, p, end);
	}
	if (*continues && t->works.nr && isblank((unsigned char)*s)) {
		if (memmem(s, len, "deviceId ", 9))
			text__continue(&t->works.v[t->works.nr - 1], s, end);
		return 0;
	}
	*continues = false;
	/* Records of other kinds have the same form; all other lines are a program's output. */
	if (memmem(s, len, " [ ", 3))
		t->nr_other++;
	else
		t->nr_strange++;
	return 0;
}

static int gputrace__read_lines(struct gputrace *t, const char *buf, size_t size)
{
	const char *end = buf + size, *p, *eol;
	bool continues = false;
	int err = 0;

	for (p = buf; p < end && !err; p = eol + 1) {
		size_t len;

		input_file__release(t->input, p);
		eol = memchr(p, '\n', end - p) ?: end;
		len = eol - p;
		if (len && p[len - 1] == '\r')
			len--;
		if (!len)
			continue;
		if (*p == '{')
			err = gputrace__json_line(t, p, len);
		else
			err = gputrace__text_line(t, p, len, &continues);
	}
	return err;
}

/* Return: whether the first line is a JSON object with a type. */
static bool is_json_line(const char *buf, size_t size)
{
	const char *eol = memchr(buf, '\n', size);
	struct span key;
	struct json j;
	bool typed = false;

	json__init(&j, buf, eol ? (size_t)(eol - buf) : size);
	if (!json__enter(&j, '{'))
		return false;
	while (!typed && json__next_key(&j, &key)) {
		if (span__is(key, "traceEvents"))
			return false;
		typed = span__is(key, "type");
		json__skip(&j);
	}
	return typed;
}

/*
 * Return: whether the text may be Chrome JSON. If not, the text consists of lines, which may also
 * begin with [ or {.
 */
static bool is_chrome(const char *p, const char *end)
{
	if (p == end || *p == '{')
		return p < end && !is_json_line(p, end - p);
	if (*p++ != '[')
		return false;
	while (p < end && isspace((unsigned char)*p))
		p++;
	return p == end || *p == '{' || *p == ']';
}

/* Separates calls and works with equal ids, where correlation ids begin again in the file. */
static int gputrace__renumber(struct gputrace *t)
{
	struct epoch_call *calls = calloc(t->calls.nr + 1, sizeof(*calls));
	struct epoch_work *works = calloc(t->works.nr + 1, sizeof(*works));
	int err = calls && works ? 0 : -ENOMEM;
	size_t i;

	for (i = 0; i < t->calls.nr && !err; i++) {
		const struct gpu_call *c = &t->calls.v[i];

		calls[i] = (struct epoch_call){
			.start_ns = c->start_ns, .end_ns = c->end_ns, .tid = c->tid, .proc = c->pid,
			.id = c->correlation_id, .driver = c->driver,
			.works = call_kind__works(c->kind, c->name),
		};
	}
	for (i = 0; i < t->works.nr && !err; i++)
		works[i] = (struct epoch_work){
			.start_ns = t->works.v[i].w.start_ns, .proc = t->works.v[i].pid,
			.id = t->works.v[i].w.correlation_id,
			.kernel = t->works.v[i].kind == WORK_KERNEL,
		};
	if (!err)
		err = epochs__renumber(&t->epochs, calls, t->calls.nr, works, t->works.nr);
	/* Once ids have begun again, the calls of waits' records and of memory are unknown. */
	if (t->epochs.nr_restarts) {
		t->syncs.nr = 0;
		for (i = 0; i < t->memory.nr; i++)
			t->memory.v[i].correlation_id = 0;
	}
	for (i = 0; i < t->calls.nr && !err; i++)
		t->calls.v[i].correlation_id = calls[i].id;
	for (i = 0; i < t->works.nr && !err; i++)
		t->works.v[i].w.correlation_id = works[i].id;
	free(works);
	free(calls);
	return err;
}

int gputrace__read(struct gputrace *t, const char *path, struct input_file *in)
{
	const char *p = span__text(in->buf, in->size).s, *end = in->buf + in->size;
	int err;

	memset(t, 0, sizeof(*t));
	t->input = in;
	while (p < end && isspace((unsigned char)*p))
		p++;
	t->format = rocpd__is(in->buf, in->size) ? GPU_DATABASE :
		    is_chrome(p, end) ? GPU_CHROME : GPU_LINES;
	if (t->format == GPU_LINES && rocprof_csv__is(p, end - p))
		return gputrace__read_rocprof_csv(t, path, p, end - p) ?: gputrace__renumber(t);
	err = t->format == GPU_DATABASE ? gputrace__read_rocpd(t, in->buf, in->size) :
	      t->format == GPU_CHROME ? gputrace__read_chrome(t, p, end - p) :
					gputrace__read_lines(t, p, end - p);
	return err || t->linked ? err : gputrace__renumber(t);
}

void gputrace__complain_unread(const struct gputrace *t, const char *name, struct msgs *msgs)
{
	static const char *const what[NR_UNREAD][2] = {
		[UNREAD_COUNTERS] = { "counter value is", "counter values are" },
		[UNREAD_PC_SAMPLES] = { "PC sample is", "PC samples are" },
		[UNREAD_SCRATCH] = { "event of scratch memory is", "events of scratch memory are" },
	};
	int i;

	for (i = 0; i < NR_UNREAD; i++)
		if (t->nr_unread[i])
			msgs__add(msgs, "%s: %" PRIu64 " %s not read: recordings have no place for "
				  "them", name, t->nr_unread[i], what[i][t->nr_unread[i] != 1]);
}

void gputrace__complain(const struct gputrace *t, const char *name, struct msgs *msgs)
{
	if (t->nr_strange)
		msgs__add(msgs, "%s: %" PRIu64 " %s could not be read: ignored", name,
			  t->nr_strange,
			  t->format == GPU_LINES ? PLURAL(t->nr_strange, "line", "lines") :
						   PLURAL(t->nr_strange, "event", "events"));
	if (t->nr_begins)
		msgs__add(msgs, "%s: %" PRIu64 " %s and never end%s: ignored", name, t->nr_begins,
			  PLURAL(t->nr_begins, "event begins", "events begin"),
			  PLURAL(t->nr_begins, "s", ""));
	if (t->nr_ends)
		msgs__add(msgs, "%s: %" PRIu64 " %s and never begin%s: ignored", name, t->nr_ends,
			  PLURAL(t->nr_ends, "event ends", "events end"),
			  PLURAL(t->nr_ends, "s", ""));
	if (t->nr_not_finite)
		msgs__add(msgs, "%s: %" PRIu64 " %s NaN or Infinity, which JSON does not have: "
			  "ignored", name, t->nr_not_finite,
			  PLURAL(t->nr_not_finite, "number is", "numbers are"));
	epochs__complain(&t->epochs, name, msgs);
	if (t->damage && t->format != GPU_CHROME)
		msgs__add(msgs, "%s: damaged: %s; the rest is used", name, t->damage);
	else if (t->damage)
		msgs__add(msgs, "%s: damaged at offset %" PRIu64 ": %s; used up to there", name,
			  t->damage_offset, t->damage);
}

void gputrace__complain_empty(const struct gputrace *t, const char *name, struct msgs *msgs)
{
	if (!t->damage)
		msgs__add(msgs, "%s: cannot find GPU events: expected Chrome JSON, JSON lines, the "
			  "text of CUPTI's samples, or rocprofv3's JSON, CSV or rocpd", name);
	else if (t->format != GPU_CHROME)
		msgs__add(msgs, "%s: cannot find GPU events: %s", name, t->damage);
	else
		msgs__add(msgs, "%s: cannot find GPU events: %s at offset %" PRIu64, name,
			  t->damage, t->damage_offset);
}

int call_index__add(struct call_index *x, const struct gpu_call *c, uint32_t call, uint32_t *first)
{
	uint64_t key = ID_KEY(c->pid, c->correlation_id);
	uint32_t *only;
	int err = idmap__add(&x->pid_ids, c->pid, x->pids.nr);

	*first = NO_INDEX;
	if (err > 0)
		err = array_push(&x->pids, c->pid);
	if (err || !c->correlation_id || idmap__get(&x->calls, key, first))
		return err;
	only = idmap__find(&x->only, c->correlation_id);
	if (only)
		*only = NO_INDEX;
	else
		err = idmap__put(&x->only, c->correlation_id, call);
	return err ?: idmap__put(&x->calls, key, call) ?: 1;
}

uint32_t call_index__find(const struct call_index *x, uint32_t pid, uint32_t correlation_id)
{
	uint32_t call = NO_INDEX;

	if (pid)
		idmap__get(&x->calls, ID_KEY(pid, correlation_id), &call);
	else
		idmap__get(&x->only, correlation_id, &call);
	return call;
}

void call_index__free(struct call_index *x)
{
	idmap__free(&x->calls);
	idmap__free(&x->only);
	idmap__free(&x->pid_ids);
	array_free(&x->pids);
}

void gputrace__exit(struct gputrace *t)
{
	array_free(&t->devices);
	array_free(&t->thread_names);
	array_free(&t->memory);
	array_free(&t->syncs);
	array_free(&t->ops);
	strpool__free(&t->names);
	array_free(&t->works);
	array_free(&t->calls);
	array_free(&t->kinds);
	arena__free(&t->arena);
	strpool__free(&t->strings);
}
