// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/twofiles.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "escape.h"
#include "json_out.h"
#include "util.h"

struct launch_event {
	struct launch launch;
	uint64_t key;
};

struct work_event {
	struct work work;
	uint64_t key;
};

struct twofiles_out {
	struct session_sink sink;
	ARRAY(struct launch_event) launches;
	ARRAY(struct work_event) works;
};

/* ---- collecting ------------------------------------------------------------------------------ */

static int twofiles_out__launch(void *ctx, const struct model *m, uint64_t key,
				const struct launch *l)
{
	struct twofiles_out *t = ctx;

	(void)m;
	return array_push(&t->launches, ((struct launch_event){ *l, key }));
}

static int twofiles_out__work(void *ctx, const struct model *m, uint64_t key, const struct work *w,
			      const struct launch *l, uint32_t made, bool first)
{
	struct twofiles_out *t = ctx;

	(void)m, (void)l, (void)made, (void)first;
	return array_push(&t->works, ((struct work_event){ *w, key }));
}

void *twofiles_out__listen(struct session_sink **sink)
{
	struct twofiles_out *t = calloc(1, sizeof(*t));

	*sink = t ? &t->sink : NULL;
	if (t)
		t->sink = (struct session_sink){
			.ctx = t, .launch = twofiles_out__launch, .work = twofiles_out__work,
		};
	return t;
}

void twofiles_out__drop(void *events)
{
	struct twofiles_out *t = events;

	array_free(&t->works);
	array_free(&t->launches);
	free(t);
}

static int launch_event__compare(const void *a, const void *b, void *ctx __attribute__((unused)))
{
	const struct launch_event *x = a, *y = b;

	return cmp3(x->launch.time_ns, y->launch.time_ns) ?: cmp3(x->key, y->key) ?:
	       cmp3(x->launch.thread, y->launch.thread) ?: cmp3(x->launch.chain, y->launch.chain);
}

static int work_event__compare(const void *a, const void *b, void *ctx __attribute__((unused)))
{
	const struct work_event *x = a, *y = b;

	return cmp3(x->work.start_ns, y->work.start_ns) ?: cmp3(x->key, y->key) ?:
	       cmp3(x->work.leaf, y->work.leaf) ?: cmp3(x->work.duration_ns, y->work.duration_ns);
}

/*
 * Sorts launches and drops duplicates: with a filter, a launch arrives once for each of its
 * records.
 */
static void twofiles_out__sort(struct twofiles_out *t)
{
	size_t i, nr = 0;

	array__sort(t->launches.v, t->launches.nr, sizeof(*t->launches.v), launch_event__compare,
		    NULL);
	for (i = 0; i < t->launches.nr; i++)
		if (!nr || launch_event__compare(&t->launches.v[nr - 1], &t->launches.v[i], NULL))
			t->launches.v[nr++] = t->launches.v[i];
	t->launches.nr = nr;
}

static uint32_t session__pid(const struct session *s, uint64_t key)
{
	return s->model.machine.procs.v[JOIN_KEY_PROC(key)].pid;
}

/* Return: the tid, or, if the thread is unknown, the pid, which is the tid of the first thread. */
static uint32_t session__tid(const struct session *s, const struct launch_event *e)
{
	return e->launch.thread != NO_INDEX ? s->model.threads.v[e->launch.thread].tid :
	       session__pid(s, e->key);
}

/* ---- stacks ---------------------------------------------------------------------------------- */

/* Prints a name as one word, because scripts split a line at its blanks. */
static void print_comm(FILE *f, const char *comm)
{
	char out[ESCAPE_MAX];
	size_t len;

	if (!*comm)
		fputs("[unknown]", f);
	while ((len = escape__next(&comm, ESCAPE_FOLDED, out)))
		if (*out == ' ')
			fputc('_', f);
		else
			fwrite(out, 1, len, f);
}

int twofiles_out__write_stacks(struct twofiles_out *t, const struct session *s, FILE *f)
{
	const struct launch_event *e;
	const struct stack *stack;
	uint32_t i;

	twofiles_out__sort(t);
	for (e = t->launches.v; e < t->launches.v + t->launches.nr; e++) {
		stack = s->model.chains.v[e->launch.chain].stack;
		fprintf(f, "%" PRIu64 " ", e->launch.time_ns);
		print_comm(f, e->launch.comm);
		/* A recording does not say on which CPU a launch ran. */
		fprintf(f, " %" PRIu32 " %" PRIu32 " 0 ", session__pid(s, e->key),
			session__tid(s, e));
		for (i = 0; i < stack->nr; i++) {
			if (i)
				fputc(';', f);
			escape__print(f, stack->frames[i]->name, ESCAPE_FOLDED);
		}
		fputc('\n', f);
	}
	return 0;
}

/* ---- calls and device work ------------------------------------------------------------------- */

/*
 * Prints {"name":"Kernel: k","ph":"X","ts":1.000,"dur":2.000,"cat":"GPU_Kernel" and leaves the
 * object open.
 */
static void put_event(struct json_out *j, const char *prefix, const char *name,
		      const char *category, uint64_t start_ns, uint64_t duration_ns)
{
	json_out__line(j, 0);
	json_out__open(j, '{');
	json_out__key(j, "name");
	json_out__open_string(j);
	json_out__add(j, prefix);
	json_out__add(j, name);
	json_out__close_string(j);
	json_out__key(j, "ph");
	json_out__word(j, "X");
	json_out__key(j, "ts");
	json_out__thousandths(j, start_ns);
	json_out__key(j, "dur");
	json_out__thousandths(j, duration_ns);
	json_out__key(j, "cat");
	json_out__word(j, category);
}

static void put_number(struct json_out *j, const char *key, uint64_t value)
{
	json_out__key(j, key);
	json_out__u64(j, value);
}

/* Return: the function that was called. */
static const char *session__api(const struct session *s, const struct launch_event *e)
{
	const struct chain *chain = &s->model.chains.v[e->launch.chain];

	if (s->opts.trim && chain->stack->nr)
		return chain->stack->frames[chain->stack->nr - 1]->name;
	return chain->path != NO_INDEX ? s->model.paths.v[chain->path].api ?: UNKNOWN : UNKNOWN;
}

static void put_launch(struct json_out *j, const struct session *s, const struct launch_event *e)
{
	/* Not every launch has a duration, so print 0 for each launch. */
	put_event(j, "Runtime: ", session__api(s, e), "CUDA_Runtime", e->launch.time_ns, 0);
	put_number(j, "tid", session__tid(s, e));
	put_number(j, "pid", session__pid(s, e->key));
	json_out__key(j, "args");
	json_out__open(j, '{');
	put_number(j, "correlationId", JOIN_KEY_ID(e->key));
	json_out__close(j, '}');
	json_out__close(j, '}');
}

static void put_work(struct json_out *j, const struct session *s, const struct work_event *e)
{
	static const struct {
		const char *prefix, *category;
	} kinds[] = {
		[LEAF_KERNEL] = { "Kernel: ", "GPU_Kernel" },
		[LEAF_MEMCPY] = { "MemCopy: ", "MemCopy" },
		[LEAF_MEMSET] = { "MemSet: ", "MemSet" },
	};
	const struct leaf *leaf = &s->model.leaves.v[e->work.leaf];
	const struct stream *stream = &s->model.streams.v[e->work.stream];
	uint32_t device = s->model.gpus.list.v[leaf->gpu].number;

	put_event(j, kinds[leaf->kind].prefix, leaf->name, kinds[leaf->kind].category,
		  e->work.start_ns, e->work.duration_ns);
	json_out__key(j, "tid");
	json_out__open_string(j);
	json_out__add(j, "GPU");
	json_out__add_u64(j, device);
	json_out__add(j, "_Stream");
	json_out__add_u64(j, stream->stream);
	json_out__close_string(j);
	json_out__key(j, "pid");
	json_out__open_string(j);
	json_out__add(j, "Device_");
	json_out__add_u64(j, device);
	json_out__close_string(j);
	json_out__key(j, "args");
	json_out__open(j, '{');
	put_number(j, "correlationId", JOIN_KEY_ID(e->key));
	put_number(j, "processId", session__pid(s, e->key));
	put_number(j, "deviceId", device);
	put_number(j, "contextId", stream->context);
	put_number(j, "streamId", stream->stream);
	if (leaf->kind != LEAF_KERNEL)
		put_number(j, "size", e->work.began_before ? 0 : e->work.bytes);
	if (leaf->kind == LEAF_MEMCPY) {
		json_out__key(j, "copyKind");
		json_out__string(j, leaf->name);
	}
	json_out__close(j, '}');
	json_out__close(j, '}');
}

int twofiles_out__write_events(struct twofiles_out *t, const struct session *s, FILE *f)
{
	struct json_out j;
	size_t i;
	int err = json_out__init(&j, f, ESCAPE_JSON);

	if (err)
		return err;
	twofiles_out__sort(t);
	array__sort(t->works.v, t->works.nr, sizeof(*t->works.v), work_event__compare, NULL);
	json_out__open(&j, '{');
	json_out__key(&j, "traceEvents");
	json_out__open(&j, '[');
	for (i = 0; i < t->launches.nr; i++)
		put_launch(&j, s, &t->launches.v[i]);
	for (i = 0; i < t->works.nr; i++)
		put_work(&j, s, &t->works.v[i]);
	json_out__close(&j, ']');
	json_out__close(&j, '}');
	json_out__end_line(&j);
	json_out__exit(&j);
	return 0;
}
