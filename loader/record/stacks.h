/* SPDX-License-Identifier: GPL-3.0-or-later */
/* stacks.h - writes the parts of stack copies that changed since the thread's last copy */
#ifndef XPU_LOADER_STACKS_H
#define XPU_LOADER_STACKS_H

#include <stdint.h>

#include "xpu_record.h"

struct stacks;
struct writer;

/* Makes an empty set of stacks. Return: NULL if memory runs out. */
struct stacks *stacks__new(struct writer *w);
void stacks__free(struct stacks *s);

/* Forgets a thread. Must be called when no more stacks of the thread come. */
void stacks__forget(struct stacks *s, uint32_t thread_id);

/* Makes each thread's next stack independent of its last stack. */
void stacks__cut(struct stacks *s);

/**
 * stacks__write - write a STACK record
 * @what: the record, without header and data
 * @python: @what->nr_python words
 * @copy: @what->bytes of the stack, XPU_STACK_MAX at most
 */
void stacks__write(struct stacks *s, const struct xpu_record_stack *what, const uint64_t *python,
		   const void *copy);

#endif /* XPU_LOADER_STACKS_H */
