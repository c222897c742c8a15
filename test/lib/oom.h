/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * oom.h - an allocator that fails on request; to be included by one file of a program
 *
 * Its functions replace glibc's allocator in the whole process, libraries included. A sanitizer has
 * its own allocator; then only OOM_CANNOT is defined.
 */
#ifndef XPU_TEST_OOM_H
#define XPU_TEST_OOM_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OOM_CANNOT
#else

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

/* glibc's own allocator. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t nr, size_t size);
void *__libc_realloc(void *p, size_t size);

static unsigned long nr_allocations;
static unsigned long fail_from, fail_to;	/* numbers of failing allocations, from 1 */

static bool fails(void)
{
	unsigned long nr = __atomic_add_fetch(&nr_allocations, 1, __ATOMIC_RELAXED);

	if (nr < fail_from || nr >= fail_to)
		return false;
	errno = ENOMEM;
	return true;
}

void *malloc(size_t size)
{
	return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t nr, size_t size)
{
	return fails() ? NULL : __libc_calloc(nr, size);
}

void *realloc(void *p, size_t size)
{
	return fails() ? NULL : __libc_realloc(p, size);
}

#endif
#endif /* XPU_TEST_OOM_H */
