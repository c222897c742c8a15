/* SPDX-License-Identifier: MIT */
/*
 * memory.h - a limit to the memory that a program takes
 *
 * The kernel keeps the limit, so it holds for libraries, too: beyond it every allocation fails, and
 * a function of ours returns -ENOMEM.
 */
#ifndef LIB_MEMORY_H
#define LIB_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

struct memory_limit {
	uint64_t bytes;			/* UINT64_MAX: none */
	bool by_default;		/* it is half of what was free */
	bool by_ulimit;			/* it is less than was asked for, because a ulimit is */
	char text[160];			/* made by memory_limit__why() */
};

/**
 * memory__free - how much memory there is for this process to take
 * @root: before the paths of files in /proc and /sys: "", but for tests
 *
 * Return: the least of what is free in the machine, in each of the process's control groups, where
 * the cache of files counts as free, and within its limits (ulimit -v and -d).
 */
uint64_t memory__free(const char *root);

/*
 * Sets the limit: @bytes or, if that is 0, half of the free memory. Sanitizers reserve more memory
 * than any machine has, so with them there is no limit.
 */
void memory_limit__set(struct memory_limit *l, uint64_t bytes);

/*
 * Return: the text of an error, a negative errno. -ENOMEM lifts the limit, so that the message can
 * be printed and everything cleaned up.
 */
const char *memory_limit__why(struct memory_limit *l, int err);

#endif /* LIB_MEMORY_H */
