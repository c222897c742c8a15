// SPDX-License-Identifier: GPL-3.0-or-later
#include "import/gputrace.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "import/json.h"

/* The name must not contain a NUL, because readers would end the name there. */
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
	if (c->end_ns < c->start_ns) {
		t->nr_bad_calls++;
		c->end_ns = c->start_ns;
	}
	t->has_durations |= c->end_ns > c->start_ns;
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
	/* A start of 0 means that the file has no times: move a record at time 0 by 1 ns. */
	if (!w->w.start_ns && end_ns && end_ns < INT64_MAX) {
		w->w.start_ns++;
		end_ns++;
	}
	if (end_ns < w->w.start_ns)
		w->w.start_ns = 0;
	w->w.duration_ns = w->w.start_ns ? end_ns - w->w.start_ns : 0;
	return array_push(&t->works, *w);
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
 * Return: whether the text may be Chrome JSON. Otherwise it consists of lines, which may also begin
 * with [ or {.
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

/* Makes the ids of calls and device work unique, if correlation ids restart in the file. */
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
	err = err ?: epochs__renumber(&t->epochs, calls, t->calls.nr, works, t->works.nr);
	/* Once ids have restarted, the calls of wait records and memory records are unknown. */
	if (t->epochs.nr_restarts) {
		t->nr_unlinked = t->syncs.nr;
		t->syncs.nr = 0;
		for (i = 0; i < t->memory.nr; i++) {
			t->nr_unlinked += t->memory.v[i].correlation_id != 0;
			t->memory.v[i].correlation_id = 0;
		}
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

uint64_t gputrace__first_ns(const struct gputrace *t)
{
	uint64_t first_ns = UINT64_MAX;

	array_each(&t->calls, c)
		first_ns = min_t(uint64_t, first_ns, c->start_ns);
	array_each(&t->works, w)
		if (w->w.start_ns)
			first_ns = min_t(uint64_t, first_ns, w->w.start_ns);
	array_each(&t->ops, op)
		first_ns = min_t(uint64_t, first_ns, op->start_ns);
	return first_ns;
}

void gputrace__write_work(const struct gputrace *t, struct import *im, uint32_t proc,
			  const struct gpu_work *w)
{
	const struct gpu_pmc *pmc;
	uint32_t i;

	if (w->kind == WORK_KERNEL)
		import__kernel(im, proc, &w->w, w->name);
	else if (w->kind == WORK_MEMCPY)
		import__memcpy(im, proc, &w->w);
	else
		import__memset(im, proc, &w->w);
	for (i = 0; i < w->nr_pmcs; i++) {
		pmc = &t->pmcs.v[w->first_pmc + i];
		import__pmc(im, proc, &w->w, pmc->name, pmc->value);
	}
}

void gputrace__complain_unread(const struct gputrace *t, const char *name, struct msgs *msgs)
{
	static const char *const what[NR_UNREAD][2] = {
		[UNREAD_PMCS] = { "counter value is", "counter values are" },
		[UNREAD_PC_SAMPLES] = { "PC sample is", "PC samples are" },
		[UNREAD_SCRATCH] = { "event of scratch memory is", "events of scratch memory are" },
		[UNREAD_ROWS] = { "row is", "rows are" },
		[UNREAD_OTHER] = { "record of another kind is", "records of other kinds are" },
	};
	static const char no_place[] = "recordings have no place for them";
	static const char *const why[NR_UNREAD] = {
		[UNREAD_PMCS] = "no kernel in the file has their number",
		[UNREAD_PC_SAMPLES] = no_place, [UNREAD_SCRATCH] = no_place,
		[UNREAD_ROWS] = "no process in the file has their number",
		[UNREAD_OTHER] = no_place,
	};
	int i;

	for (i = 0; i < NR_UNREAD; i++)
		if (t->nr_unread[i])
			msgs__add(msgs, "%s: %" PRIu64 " %s not read: %s", name, t->nr_unread[i],
				  what[i][t->nr_unread[i] != 1], why[i]);
	if (t->unread_tables)
		msgs__add(msgs, "%s: the events of these tables are not read: %s", name,
			  t->unread_tables);
}

bool gputrace__is_odd(const struct gputrace *t)
{
	static const uint64_t none[NR_UNREAD];

	return t->nr_bad_ids || t->nr_bad_calls || t->nr_unlinked || t->nr_strange ||
	       t->nr_begins || t->nr_ends || t->nr_not_finite || t->nr_left_out ||
	       t->unread_tables || memcmp(t->nr_unread, none, sizeof(none));
}

void gputrace__complain(const struct gputrace *t, const char *name, struct msgs *msgs)
{
	if (t->nr_left_out)
		msgs__add(msgs, "%s: %" PRIu64 " %s of kinds that are not read, such as %.64s: "
			  "left out", name, t->nr_left_out,
			  t->format == GPU_LINES ? PLURAL(t->nr_left_out, "line", "lines") :
						   PLURAL(t->nr_left_out, "event", "events"),
			  t->left_out);
	if (t->nr_strange)
		msgs__add(msgs, "%s: %" PRIu64 " %s could not be read: ignored", name,
			  t->nr_strange,
			  t->format == GPU_LINES ? PLURAL(t->nr_strange, "line", "lines") :
						   PLURAL(t->nr_strange, "event", "events"));
	if (t->nr_bad_ids)
		msgs__add(msgs, "%s: %" PRIu64 " correlation %s of 32 bits, nor near the others: "
			  "not used", name, t->nr_bad_ids,
			  PLURAL(t->nr_bad_ids, "id is no number", "ids are no numbers"));
	if (t->nr_bad_calls)
		msgs__add(msgs, "%s: %" PRIu64 " %s before %s: counted, %s not", name,
			  t->nr_bad_calls,
			  PLURAL(t->nr_bad_calls, "API call ends", "API calls end"),
			  PLURAL(t->nr_bad_calls, "it begins", "they begin"),
			  PLURAL(t->nr_bad_calls, "its time is", "their time is"));
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
	if (t->nr_unlinked)
		msgs__add(msgs, "%s: %" PRIu64 " %s unknown calls, because correlation ids restart",
			  name, t->nr_unlinked,
			  PLURAL(t->nr_unlinked, "record of waits or memory is of",
				 "records of waits and memory are of"));
	if (t->damage && t->format != GPU_CHROME)
		msgs__add(msgs, "%s: damaged: %s; the rest is used", name, t->damage);
	else if (t->damage)
		msgs__add(msgs, "%s: damaged at offset %" PRIu64 ": %s; used up to there", name,
			  t->damage_offset, t->damage);
}

void gputrace__complain_empty(const struct gputrace *t, const char *name, struct msgs *msgs)
{
	if (!t->damage && t->rocprof)
		msgs__add(msgs, "%s: cannot find GPU events: a file of rocprof: only files "
			  "of rocprofv3 are read", name);
	else if (!t->damage && t->format == GPU_CHROME && t->nr_other)
		msgs__add(msgs, "%s: cannot find GPU events: none of its %" PRIu64 " %s is a "
			  "kernel, a copy or a call, as PyTorch, unitrace and onetrace write them",
			  name, t->nr_other, PLURAL(t->nr_other, "event", "events"));
	else if (!t->damage)
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
	array_free(&t->pmcs);
	array_free(&t->syncs);
	array_free(&t->ops);
	strpool__free(&t->names);
	array_free(&t->works);
	array_free(&t->calls);
	array_free(&t->kinds);
	arena__free(&t->arena);
	strpool__free(&t->strings);
}
