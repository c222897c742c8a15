/* SPDX-License-Identifier: MIT */
/*
 * memory_limit.h - limits the memory of a program
 *
 * Linux enforces the limit, so the limit includes libraries. Beyond it every allocation fails, and
 * our functions return -ENOMEM.
 */
#ifndef LIB_MEMORY_LIMIT_H
#define LIB_MEMORY_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

struct memory_limit {
	uint64_t bytes;			/* UINT64_MAX: no limit */
	bool by_default;		/* the limit is half of the free memory */
	bool by_ulimit;			/* a ulimit made the limit lower than requested */
	char text[160];			/* written by memory_limit__why() */
};

/**
 * memory_limit__available - how much memory this process may take
 * @root: prefix for paths in /proc and /sys; "" except in tests
 *
 * Return: the least of these amounts: the memory free in the machine, the memory free in each of
 * the process's control groups (cached files count as free), and the rest under ulimit -v and -d.
 */
uint64_t memory_limit__available(const char *root);

/*
 * Sets the limit to @bytes or, if @bytes is 0, to half of the free memory. Sanitizers reserve more
 * memory than any machine has, so a build with a sanitizer sets no limit.
 */
void memory_limit__set(struct memory_limit *l, uint64_t bytes);

/*
 * Makes the C library map each large block separately, so that a freed block goes back to Linux,
 * and a growing block is not copied. By default, glibc stops mapping blocks that are not larger
 * than the largest block freed so far.
 */
void memory_limit__map_large(void);

/*
 * Return: the text of the negative errno @err. For -ENOMEM this lifts the limit, so that there is
 * memory to print the message and to clean up.
 */
const char *memory_limit__why(struct memory_limit *l, int err);

#endif /* LIB_MEMORY_LIMIT_H */
