// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/perfscript.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "escape.h"
#include "util.h"

struct event {
	uint64_t time_ns;
	uint64_t duration_ns;
	const char *comm;
	uint32_t chain;
	uint32_t leaf;
	uint32_t thread;
};

/* a text that many samples share, made once */
struct text {
	char *v;
	size_t len;
};

struct perfscript {
	struct session_sink sink;
	ARRAY(struct event) events;
	struct text *stacks;		/* for each chain: its stack */
	struct text *leaves;		/* for each leaf: its frame */
};

static int perfscript__placed(void *ctx, const struct model *m, const struct placed *placed)
{
	struct perfscript *p = ctx;

	(void)m;
	return array_push(&p->events, ((struct event){
		.time_ns = placed->time_ns,
		.duration_ns = placed->duration_ns,
		.comm = placed->comm,
		.chain = placed->chain,
		.leaf = placed->leaf,
		.thread = placed->thread,
	}));
}

struct perfscript *perfscript__new(void)
{
	struct perfscript *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->sink.ctx = p;
	p->sink.placed = perfscript__placed;
	return p;
}

void perfscript__free(struct perfscript *p)
{
	if (!p)
		return;
	array_free(&p->events);
	free(p);
}

struct session_sink *perfscript__sink(struct perfscript *p)
{
	return &p->sink;
}

static int event__cmp(const void *va, const void *vb)
{
	const struct event *a = va, *b = vb;

	return cmp3(a->time_ns, b->time_ns) ?: cmp3(a->chain, b->chain) ?:
	       cmp3(a->thread, b->thread) ?: cmp3(a->leaf, b->leaf) ?:
	       cmp3(a->duration_ns, b->duration_ns);
}

/* ---- names ---------------------------------------------------------------------------------- */

/* Return: whether any reader treats @out as a blank; Unicode has many kinds of blanks. */
static bool is_blank(const char *out)
{
	return *out == ' ' || !strncmp(out, "\xe2\x80", 2) || !strcmp(out, "\xe2\x81\x9f") ||
	       !strcmp(out, "\xe3\x80\x80") || !strcmp(out, "\xc2\xa0") ||
	       !strcmp(out, "\xe1\x9a\x80") || !strcmp(out, "\xef\xbb\xbf");
}

/* Prints @s; each blank, and each character that is in @not, becomes '_'. */
static void print_word(FILE *f, const char *s, const char *not)
{
	char out[ESCAPE_MAX];
	size_t len;

	while ((len = escape__next(&s, ESCAPE_TEXT, out))) {
		if (is_blank(out) || (len == 1 && strchr(not, *out)))
			fputc('_', f);
		else
			fwrite(out, 1, len, f);
	}
}

/* Readers treat a line that begins with # as a comment, and a line that begins with { as JSON. */
static void print_comm(FILE *f, const char *comm)
{
	if (*comm == '#' || *comm == '{') {
		fputc('_', f);
		comm++;
	} else if (!*comm) {
		comm = "[unknown]";
	}
	print_word(f, comm, "");
}

/* Prints the name of a function. @nr: bytes of @name; @first: the name begins the line. */
static void print_function(FILE *f, const char *name, size_t nr, bool first)
{
	bool inside = first && nr && *name == '(';
	const char *end = name + nr;
	char out[ESCAPE_MAX];
	size_t len;

	if (first && !nr)
		fputs("[unknown]", f);
	if (inside) {
		name++;
		fputc('{', f);
	}
	while (name < end && (len = escape__next(&name, ESCAPE_TEXT, out))) {
		if (inside && *out == ')') {
			*out = '}';
			inside = false;
		}
		fwrite(out, 1, len, f);
	}
}

/* Return: whether the frame is a function of Linux: callchain.h adds _[k] to its name. */
static bool frame__is_kernel(const struct frame *frame)
{
	size_t len = strlen(frame->name);

	return !frame->dso && len > 4 && !strcmp(frame->name + len - 4, "_[k]");
}

static void print_frame(FILE *f, const struct frame *frame)
{
	const char *plus = frame->symbolized ? NULL : strrchr(frame->name, '+');
	bool kernel = frame__is_kernel(frame);
	uint64_t address = 0;

	if (plus)
		address = strtoull(plus + 1, NULL, 16);
	fprintf(f, "\t%" PRIx64 " ", address);
	if (plus)
		fputs("[unknown]", f);
	else
		print_function(f, frame->name, strlen(frame->name) - (kernel ? 4 : 0), true);
	fputs(" (", f);
	if (kernel)
		fputs("[kernel.kallsyms]", f);
	else
		print_word(f, frame->dso ? frame->dso->path : "[unknown]", "()");
	fputs(")\n", f);
}

static int text__close(FILE *f)
{
	/* A stream in memory fails only if memory is short. */
	int err = ferror(f) ? -ENOMEM : 0;

	return fclose(f) ? -ENOMEM : err;
}

static int text__stack(struct text *text, const struct stack *stack)
{
	FILE *f = open_memstream(&text->v, &text->len);
	uint32_t i;

	if (!f)
		return -ENOMEM;
	for (i = stack->nr; i--;)
		print_frame(f, stack->frames[i]);
	return text__close(f);
}

static int text__leaf(struct text *text, const struct session *s, const struct leaf *leaf,
		      bool numbered)
{
	FILE *f = open_memstream(&text->v, &text->len);
	char label[LEAF_LABEL_MAX];

	if (!f)
		return -ENOMEM;
	leaf__label(&s->model.gpus, leaf, numbered, label);
	if (*label) {
		fprintf(f, "\t0 %s", label);
		print_function(f, leaf->name, strlen(leaf->name), false);
		fputs(leaf_kind__is_device(leaf->kind) ? " ([gpu])\n" : " ([unknown])\n", f);
	}
	return text__close(f);
}

/* ---- samples -------------------------------------------------------------------------------- */

static int perfscript__write_event(struct perfscript *p, const struct session *s,
				   const struct event *e, bool numbered, FILE *f)
{
	static const char *const names[NR_LEAF_KINDS] = {
		[LEAF_KERNEL] = "gpu-time",
		[LEAF_MEMCPY] = "gpu-time",
		[LEAF_MEMSET] = "gpu-time",
		[LEAF_PENDING] = "gpu-time",
		[LEAF_CPU] = "cpu-clock",
		[LEAF_OFF_CPU] = "off-cpu",
		[LEAF_GPU_WAIT] = "gpu-wait",
	};
	struct text *stack = &p->stacks[e->chain], *leaf = &p->leaves[e->leaf];
	const struct proc *proc = &s->model.machine.procs.v[s->model.chains.v[e->chain].proc];
	int err = 0;

	if (!stack->v)
		err = text__stack(stack, s->model.chains.v[e->chain].stack);
	if (!err && !leaf->v)
		err = text__leaf(leaf, s, &s->model.leaves.v[e->leaf], numbered);
	if (err)
		return err;
	print_comm(f, e->comm);
	fprintf(f, "  %" PRIu32 "/%" PRIu32 "  %" PRIu64 ".%09u:  %" PRIu64 " %s:\n", proc->pid,
		e->thread != NO_INDEX ? s->model.threads.v[e->thread].tid : 0,
		e->time_ns / 1000000000, (unsigned int)(e->time_ns % 1000000000), e->duration_ns,
		names[s->model.leaves.v[e->leaf].kind]);
	fwrite_unlocked(leaf->v, 1, leaf->len, f);
	fwrite_unlocked(stack->v, 1, stack->len, f);
	fputc_unlocked('\n', f);
	return 0;
}

int perfscript__write(struct perfscript *p, const struct session *s, FILE *f)
{
	bool numbered = gpus__nr_used(&s->model.gpus) > 1;
	int err = -ENOMEM;
	size_t i;

	/* Allocate one element more than needed, because malloc(0) may return NULL. */
	p->stacks = calloc(s->model.chains.nr + 1, sizeof(*p->stacks));
	p->leaves = calloc(s->model.leaves.nr + 1, sizeof(*p->leaves));
	if (!p->stacks || !p->leaves)
		goto out;
	err = 0;
	array_qsort(&p->events, event__cmp);
	for (i = 0; i < p->events.nr && !err; i++)
		err = perfscript__write_event(p, s, &p->events.v[i], numbered, f);
out:
	for (i = 0; p->stacks && i < s->model.chains.nr; i++)
		free(p->stacks[i].v);
	for (i = 0; p->leaves && i < s->model.leaves.nr; i++)
		free(p->leaves[i].v);
	free(p->stacks);
	free(p->leaves);
	return err;
}
