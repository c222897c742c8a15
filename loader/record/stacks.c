// SPDX-License-Identifier: GPL-3.0-or-later
#include "record/stacks.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "record/writer.h"

#define NR_STACKS	256		/* maximum number of threads whose last stack is kept */
#define BLOCKS_BYTES	(XPU_STACK_MAX + 2 * XPU_STACK_BLOCK)
#define MASK_WORDS	(BLOCKS_BYTES / XPU_STACK_BLOCK / 64 + 1)

/* A stack in whole blocks. The bytes of its blocks before and after the stack are 0. */
struct stack {
	uint32_t thread_id;		/* 0: empty */
	uint64_t start, end;		/* multiples of XPU_STACK_BLOCK */
	uint8_t blocks[BLOCKS_BYTES];
};

struct stacks {
	struct writer *writer;
	struct stack *last[NR_STACKS];	/* by thread_id modulo NR_STACKS; allocated when needed */
	struct stack now;
};

struct stacks *stacks__new(struct writer *w)
{
	struct stacks *s = calloc(1, sizeof(*s));

	if (s)
		s->writer = w;
	return s;
}

void stacks__free(struct stacks *s)
{
	size_t i;

	for (i = 0; s && i < NR_STACKS; i++)
		free(s->last[i]);
	free(s);
}

void stacks__forget(struct stacks *s, uint32_t thread_id)
{
	struct stack **slot = &s->last[thread_id % NR_STACKS];

	if (!*slot || (*slot)->thread_id != thread_id)
		return;
	free(*slot);
	*slot = NULL;
}

void stacks__cut(struct stacks *s)
{
	size_t i;

	for (i = 0; i < NR_STACKS; i++)
		if (s->last[i])
			s->last[i]->thread_id = 0;
}

static void stack__set(struct stack *s, uint32_t thread_id, uint64_t sp, const void *copy,
		       size_t bytes)
{
	uint8_t *to, *rest;

	s->thread_id = thread_id;
	s->start = s->end = sp & -(uint64_t)XPU_STACK_BLOCK;
	if (!bytes)
		return;
	s->end = (sp + bytes + XPU_STACK_BLOCK - 1) & -(uint64_t)XPU_STACK_BLOCK;
	to = s->blocks + (sp - s->start);
	rest = to + bytes;
	memset(s->blocks, 0, to - s->blocks);
	memcpy(to, copy, bytes);
	memset(rest, 0, s->blocks + (s->end - s->start) - rest);
}

static size_t stack__nr_blocks(const struct stack *s)
{
	return (s->end - s->start) / XPU_STACK_BLOCK;
}

/*
 * Sets a bit in @mask for each block in which @s differs from @old, which may be NULL. Return: the
 * number of these blocks.
 */
static size_t stack__diff(const struct stack *s, const struct stack *old, uint64_t *mask)
{
	size_t i, nr = 0;
	uint64_t at;

	for (i = 0, at = s->start; i < stack__nr_blocks(s); i++, at += XPU_STACK_BLOCK) {
		if (old && old->start <= at && at < old->end &&
		    !memcmp(old->blocks + (at - old->start), s->blocks + (at - s->start),
			    XPU_STACK_BLOCK))
			continue;
		mask[i / 64] |= 1ull << i % 64;
		nr++;
	}
	return nr;
}

/*
 * Return: the entry for the thread's last stack, which may hold another thread's stack; NULL if
 * memory runs out.
 */
static struct stack *stacks__last(struct stacks *s, uint32_t thread_id)
{
	struct stack **slot = &s->last[thread_id % NR_STACKS];

	if (!*slot) {
		*slot = malloc(sizeof(**slot));
		if (*slot)
			(*slot)->thread_id = 0;
	}
	return *slot;
}

void stacks__write(struct stacks *s, const struct xpu_record_stack *what, const uint64_t *python,
		   const void *copy)
{
	struct stack *now = &s->now, *last = stacks__last(s, what->thread_id);
	bool delta = last && last->thread_id == what->thread_id;
	size_t nr, nr_words, i, size;
	uint64_t mask[MASK_WORDS] = { 0 };
	struct xpu_record_stack *r;
	uint8_t *to;

	stack__set(now, what->thread_id, what->regs[XPU_REG_SP], copy, what->bytes);
	nr = stack__diff(now, delta ? last : NULL, mask);
	nr_words = (stack__nr_blocks(now) + 63) / 64;
	size = sizeof(*r) + (what->nr_python + nr_words) * sizeof(mask[0]) + nr * XPU_STACK_BLOCK;
	r = writer__reserve(s->writer, size);
	if (!r) {
		if (last)
			last->thread_id = 0;	/* the next stack must not refer to this one */
		return;
	}
	*r = *what;
	r->hdr = (struct xpu_record){ XPU_RECORD_STACK, delta ? XPU_MISC_STACK_DELTA : 0, size };
	memcpy(r->data, python, what->nr_python * sizeof(r->data[0]));
	memcpy(r->data + what->nr_python, mask, nr_words * sizeof(mask[0]));
	to = (uint8_t *)(r->data + what->nr_python + nr_words);
	for (i = 0; i < stack__nr_blocks(now); i++) {
		if (!(mask[i / 64] & 1ull << i % 64))
			continue;
		memcpy(to, now->blocks + i * XPU_STACK_BLOCK, XPU_STACK_BLOCK);
		to += XPU_STACK_BLOCK;
	}
	if (!last)
		return;
	last->thread_id = now->thread_id;
	last->start = now->start;
	last->end = now->end;
	memcpy(last->blocks, now->blocks, now->end - now->start);
}
