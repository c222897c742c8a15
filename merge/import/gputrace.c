// SPDX-License-Identifier: GPL-3.0-or-later
#include "import/gputrace.h"

#include <ctype.h>
#include <errno.h>
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

static bool has_suffix(const char *s, size_t len, const char *suffix)
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
	/* CUPTI's and the libraries' names have versions: cudaLaunchKernel_ptsz_v7000. */
	for (left = n; left && isdigit((unsigned char)s[left - 1]); left--)
		;
	if (left < n && left > 2 && s[left - 1] == 'v' && s[left - 2] == '_')
		n = left - 2;
	if (has_suffix(s, n, "_ptsz") || has_suffix(s, n, "_ptds"))
		n -= 5;
	*name = s;
	*name_len = n;
	return true;
}

enum call_kind cuda_api__kind(const char *name, size_t len)
{
	if (memmem(name, len, "GraphLaunch", 11))
		return CALL_GRAPH;
	if (memmem(name, len, "Launch", 6) &&
	    (memmem(name, len, "Kernel", 6) || memmem(name, len, "cuLaunch", 8)))
		return CALL_KERNEL;
	if (memmem(name, len, "Memcpy", 6))
		return CALL_MEMCPY;
	if (memmem(name, len, "Memset", 6))
		return CALL_MEMSET;
	return CALL_OTHER;
}

/* Adds a call. Readers of its name will cut it at a NUL. */
static int gputrace__add_call(struct gputrace *t, struct gpu_call *c, struct span s)
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

static int gputrace__add_work(struct gputrace *t, struct gpu_work *w, uint64_t end_ns,
			      struct span s)
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
	w->name = (struct span){ s.s, strnlen(s.s, s.len) };
	/* A start of 0 means that there are no times. */
	if (end_ns < w->w.start_ns)
		w->w.start_ns = 0;
	w->w.duration_ns = w->w.start_ns ? end_ns - w->w.start_ns : 0;
	return array_push(&t->works, *w);
}

/* ---- events with fields: shared by Chrome JSON and JSON lines ------------------------- */

/* The fields of an event that are used; raw, and not checked. */
struct event {
	struct span name, category, type, ts, dur, start, end, pid, tid;
	struct span process, thread, correlation, device, context, stream, bytes, copy_kind;
};

static void json__scalar(struct json *j, struct span *out)
{
	char c = json__peek(j);

	if (c == '"')
		json__string(j, out);
	else if (c == '-' || (c >= '0' && c <= '9'))
		json__number(j, out);
	else
		json__skip(j);
}

#define FIELD(name, member)	{ { (name), sizeof(name) - 1 }, offsetof(struct event, member) }

/* Return: where the value of a key goes, or NULL if it is not used. */
static struct span *event__field(struct event *e, struct span key, bool args)
{
	static const struct {
		struct span key;
		size_t offset;
	} fields[] = {
		FIELD("name", name), FIELD("cat", category), FIELD("type", type), FIELD("ts", ts),
		FIELD("dur", dur), FIELD("start", start), FIELD("end", end), FIELD("pid", pid),
		FIELD("tid", tid), FIELD("processId", process), FIELD("threadId", thread),
		FIELD("correlationId", correlation), FIELD("correlation", correlation),
		FIELD("deviceId", device), FIELD("device", device), FIELD("contextId", context),
		FIELD("context", context), FIELD("streamId", stream), FIELD("stream", stream),
		FIELD("size", bytes), FIELD("bytes", bytes), FIELD("copyKind", copy_kind),
	};
	struct span *out;
	size_t i;

	/* In args, only fields that cannot be the event's own. */
	for (i = args ? 5 : 0; i < ARRAY_SIZE(fields); i++) {
		if (key.len != fields[i].key.len || *key.s != *fields[i].key.s ||
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
		if (out)
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

/* Return: the number behind a word, as in "GPU0_Stream7". */
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

enum record_kind {
	RECORD_OTHER,
	RECORD_RUNTIME,
	RECORD_DRIVER,
	RECORD_KERNEL,
	RECORD_MEMCPY,
	RECORD_MEMSET,
};

/* Return: the kind of record, by its category or by CUPTI's name of the activity kind. */
static enum record_kind record__kind(struct span s)
{
	static const struct {
		const char *name;
		enum record_kind kind;
	} kinds[] = {
		{ "CUDA_Runtime", RECORD_RUNTIME }, { "cuda_runtime", RECORD_RUNTIME },
		{ "RUNTIME", RECORD_RUNTIME },
		{ "CUDA_Driver", RECORD_DRIVER }, { "cuda_driver", RECORD_DRIVER },
		{ "DRIVER", RECORD_DRIVER },
		{ "GPU_Kernel", RECORD_KERNEL }, { "kernel", RECORD_KERNEL },
		{ "CONCURRENT_KERNEL", RECORD_KERNEL }, { "KERNEL", RECORD_KERNEL },
		{ "MemCopy", RECORD_MEMCPY }, { "GPU_Memcpy", RECORD_MEMCPY },
		{ "gpu_memcpy", RECORD_MEMCPY }, { "MEMCPY", RECORD_MEMCPY },
		{ "MEMCPY2", RECORD_MEMCPY },
		{ "MemSet", RECORD_MEMSET }, { "GPU_Memset", RECORD_MEMSET },
		{ "gpu_memset", RECORD_MEMSET }, { "MEMSET", RECORD_MEMSET },
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

static int gputrace__event_work(struct gputrace *t, const struct event *e, enum record_kind kind,
				uint64_t start_ns, uint64_t end_ns, struct span name)
{
	struct gpu_work w = {
		.kind = kind == RECORD_KERNEL ? WORK_KERNEL :
			kind == RECORD_MEMCPY ? WORK_MEMCPY : WORK_MEMSET,
		.w = { .start_ns = start_ns, .correlation_id = span__u32(e->correlation) },
		.pid = span__u32(e->process),
		.device = e->device.s ? span__u32(e->device) : span__number_after(e->pid, "Device"),
		.context = span__u32(e->context),
		.stream = e->stream.s ? span__u32(e->stream) : span__number_after(e->tid, "Stream"),
	};

	span__u64(e->bytes, 0, &w.w.bytes);
	if (e->copy_kind.s)
		w.w.copy_kind = import__copy_kind(e->copy_kind.s, e->copy_kind.len);
	return gputrace__add_work(t, &w, end_ns, name);
}

static int gputrace__add_event(struct gputrace *t, const struct event *e, enum record_kind kind,
			       uint64_t start_ns, uint64_t end_ns)
{
	struct span name = e->name.s ? e->name : span__of("");
	char *decoded;

	if (memchr(name.s, '\\', name.len)) {
		decoded = arena__alloc(&t->arena, name.len + 1);
		if (!decoded)
			return -ENOMEM;
		name = (struct span){ decoded, json_string__decode(name, decoded) };
	}
	if (kind == RECORD_RUNTIME || kind == RECORD_DRIVER)
		return gputrace__event_call(t, e, kind == RECORD_DRIVER, start_ns, end_ns, name);
	return gputrace__event_work(t, e, kind, start_ns, end_ns, name);
}

/* ---- Chrome JSON ------------------------------------------------------------------------------ */

static int gputrace__chrome_event(struct gputrace *t, const struct event *e)
{
	enum record_kind kind = record__kind(e->category);
	uint64_t start_ns, duration_ns;

	/* Some files have no category on their kernels. */
	if (kind == RECORD_OTHER && e->name.len > 8 && !memcmp(e->name.s, "Kernel: ", 8))
		kind = RECORD_KERNEL;
	if (kind == RECORD_OTHER) {
		t->nr_other++;
		return 0;
	}
	if (!span__u64(e->ts, 3, &start_ns)) {
		t->nr_strange++;
		return 0;
	}
	if (!span__u64(e->dur, 3, &duration_ns) ||
	    __builtin_add_overflow(start_ns, duration_ns, &duration_ns))
		duration_ns = start_ns;
	return gputrace__add_event(t, e, kind, start_ns, duration_ns);
}

static int gputrace__read_chrome(struct gputrace *t, const char *buf, size_t size)
{
	struct json j;
	struct span key;
	bool found = false;
	int err = 0;

	json__init(&j, buf, size);
	if (json__peek(&j) == '{') {
		json__enter(&j, '{');
		while (!found && json__next_key(&j, &key)) {
			found = span__is(key, "traceEvents");
			if (!found)
				json__skip(&j);
		}
		if (!found && !j.what)
			j.what = "no traceEvents";
	}
	if (!j.what && json__enter(&j, '['))
		while (!err && json__next_item(&j)) {
			struct event e;

			if (json__peek(&j) != '{') {
				json__skip(&j);
				continue;
			}
			memset(&e, 0, sizeof(e));
			event__read(&e, &j, false);
			if (!j.what)
				err = gputrace__chrome_event(t, &e);
		}
	t->damage = j.what;
	t->damage_offset = j.p - buf;
	return err;
}

/* ---- lines ------------------------------------------------------------------------------------ */

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

/* Reads a decimal number at *@p and moves *@p behind it. */
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

/* Return: the number behind the first @word in [@p, @end), or 0. */
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

/* Reads the times of "KIND [ start, end ] duration N, "name", ..." and moves *@p behind them. */
static bool text__head(const char **p, const char *end, uint64_t *start_ns, uint64_t *end_ns)
{
	const char *q = *p;

	if (end - q < 2 || memcmp(q, "[ ", 2))
		return false;
	q += 2;
	if (!read_number(&q, end, start_ns) || end - q < 2 || memcmp(q, ", ", 2))
		return false;
	q += 2;
	if (!read_number(&q, end, end_ns) || end - q < 2 || memcmp(q, " ]", 2))
		return false;
	*p = q + 2;
	return true;
}

/* Reads the second or third line of a record, which belongs to the work before it. */
static void text__continue(struct gpu_work *w, const char *p, const char *end)
{
	w->device = number_after(p, end, "deviceId ");
	w->context = number_after(p, end, "contextId ");
	w->stream = number_after(p, end, "streamId ");
}

static int gputrace__text_record(struct gputrace *t, enum record_kind kind, const char *p,
				 const char *end)
{
	struct gpu_work w = { 0 };
	struct gpu_call c = { .driver = kind == RECORD_DRIVER };
	const char *name = "", *name_end = name;
	uint64_t start_ns, end_ns;

	if (kind == RECORD_MEMCPY && *p == '"') {
		name = ++p;
		while (p < end && *p != '"')
			p++;
		name_end = p;
		p += end - p > 2 ? 2 : 0;
	}
	if (!text__head(&p, end, &start_ns, &end_ns)) {
		t->nr_strange++;
		return 0;
	}
	if (kind == RECORD_RUNTIME || kind == RECORD_DRIVER || kind == RECORD_KERNEL) {
		name = memmem(p, end - p, ", \"", 3);
		/* A name may contain quotes: it ends where the next field begins. */
		name_end = name ? last_of(name + 3, end, "\", c") : NULL;
		if (!name_end) {
			t->nr_strange++;
			return 0;
		}
		name += 3;
		p = name_end;
	}
	if (kind == RECORD_RUNTIME || kind == RECORD_DRIVER) {
		c.start_ns = start_ns;
		c.end_ns = end_ns;
		c.pid = number_after(p, end, "processId ");
		c.tid = number_after(p, end, "threadId ");
		c.correlation_id = number_after(p, end, "correlationId ");
		return gputrace__add_call(t, &c, (struct span){ name, name_end - name });
	}
	w.kind = kind == RECORD_KERNEL ? WORK_KERNEL :
		 kind == RECORD_MEMCPY ? WORK_MEMCPY : WORK_MEMSET;
	w.w.start_ns = start_ns;
	w.w.bytes = kind == RECORD_KERNEL ? 0 : number_after(p, end, "size ");
	w.w.correlation_id = number_after(p, end, "correlationId ");
	text__continue(&w, p, end);
	return gputrace__add_work(t, &w, end_ns, (struct span){ name, name_end - name });
}

static int gputrace__text_line(struct gputrace *t, const char *s, size_t len, bool *continues)
{
	static const struct {
		const char *word;
		enum record_kind kind;
	} words[] = {	/* a word that ends another word comes behind that one */
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
		if (p == end || (*p != '[' && *p != '"'))
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
	/* Other records have the same form; the remaining lines are a program's output. */
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
 * Return: whether the text may be Chrome JSON rather than lines, some of which begin with [ or {,
 * too.
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

int gputrace__read(struct gputrace *t, const char *buf, size_t size)
{
	const char *p = buf, *end = buf + size;

	memset(t, 0, sizeof(*t));
	if (size >= 3 && !memcmp(p, "\xef\xbb\xbf", 3))
		p += 3;
	while (p < end && isspace((unsigned char)*p))
		p++;
	t->format = is_chrome(p, end) ? GPU_CHROME : GPU_LINES;
	return t->format == GPU_CHROME ? gputrace__read_chrome(t, p, end - p) :
					 gputrace__read_lines(t, p, end - p);
}

void gputrace__exit(struct gputrace *t)
{
	array_free(&t->works);
	array_free(&t->calls);
	array_free(&t->kinds);
	arena__free(&t->arena);
	strpool__free(&t->strings);
}
