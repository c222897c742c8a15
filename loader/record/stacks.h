/* SPDX-License-Identifier: GPL-3.0-or-later */
/* stacks.h - writes copies of stacks: the parts that changed since the thread's last copy */
#ifndef XPU_LOADER_STACKS_H
#define XPU_LOADER_STACKS_H

#include <stdint.h>

#include "xpu_record.h"

struct stacks;
struct writer;

/* Return: NULL without memory. */
struct stacks *stacks__new(struct writer *w);
void stacks__free(struct stacks *s);

/* No more stacks of the thread come. */
void stacks__forget(struct stacks *s, uint32_t thread_id);

/* The next stack of each thread does not refer to its last one. */
void stacks__cut(struct stacks *s);

/**
 * stacks__write - write a STACK record
 * @what: the record without its header and data
 * @python: @what->nr_python words
 * @copy: @what->bytes of the stack, at most XPU_STACK_MAX
 */
void stacks__write(struct stacks *s, const struct xpu_record_stack *what, const uint64_t *python,
		   const void *copy);

#endif /* XPU_LOADER_STACKS_H */
