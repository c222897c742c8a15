/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * inject_libc.h - finds what a bare thread needs in a process's C library
 *
 * The process's files may be hostile, so a child without privileges reads them.
 */
#ifndef XPU_LOADER_INJECT_LIBC_H
#define XPU_LOADER_INJECT_LIBC_H

#include <stdint.h>
#include <sys/types.h>

#include "inject/inject_arch.h"
#include "inject/inject_process.h"

/*
 * Layout of the spare memory: a stack for clone(), a signal frame, the bare thread's stack and
 * return address.
 */
#define SPARE_FRAME	64
#define SPARE_STACK	(SPARE_FRAME + FRAME_BYTES + 48)
#define SPARE_RETURN	(SPARE_STACK + 8)
#define SPARE_BYTES	(SPARE_STACK + 16)

/* Addresses in the process. */
struct libc_places {
	uint64_t fn[NR_FUNCTIONS];
	uint64_t restorer;		/* makes the system call rt_sigreturn */
	uint64_t end_thread;		/* makes the system call exit */
	uint64_t spare;			/* address of SPARE_BYTES that nobody uses, in the last data
					 * page of a library that is never unloaded */
	uint64_t tls_image, tls_bytes;	/* initial contents of the C library's thread-local data */
	uint64_t errno_at;		/* offset of errno in this data */
};

/*
 * Fills in *@p. Refuses a process with its own allocator, which may keep pointers to the
 * thread-local data of its callers. Return: 0, or a negative errno and @why.
 */
int libc__find(pid_t pid, const struct modules *modules, struct libc_places *p, char *why);

#endif /* XPU_LOADER_INJECT_LIBC_H */
