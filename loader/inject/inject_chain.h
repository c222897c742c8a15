/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * inject_chain.h - says where a stopped thread is, from its registers and its stack
 *
 * The process's files may be hostile, so a child without privileges reads them.
 */
#ifndef XPU_LOADER_INJECT_CHAIN_H
#define XPU_LOADER_INJECT_CHAIN_H

#include <stdint.h>
#include <sys/types.h>

#include "inject/inject_arch.h"
#include "inject/inject_process.h"

#define CHAIN_STACK	(256u << 10)	/* most bytes of a stack that are looked at */

/* Shared with the child, which may write anything into it. */
struct chain_shared {
	struct modules modules;
	uint64_t regs[ARCH_NR_REGS];
	uint64_t stack_at;
	uint32_t stack_bytes;
	uint8_t stack[CHAIN_STACK];
};

struct chain;

/*
 * Starts the child. @pid: whose files are opened for it; @modules: they must live as long.
 * Return: NULL if that fails.
 */
struct chain *chain__new(pid_t pid, const struct modules *modules);
void chain__free(struct chain *c);

/* Return: where the caller writes registers and a stack. */
struct chain_shared *chain__shared(struct chain *c);

/*
 * Finds the C library's functions, each inside one of its modules. Return: 0 or a negative errno
 * and @why.
 */
int chain__find(struct chain *c, uint64_t fn[NR_FUNCTIONS], uint64_t *restorer, char *why);

/*
 * Whether the thread may be borrowed: it waits in a function of the C library that holds no lock
 * meanwhile, and none of its callers is in the C library, the loader, the driver or an allocator.
 * *@bytes: the part of the stack that was looked at. Return: 0, -EAGAIN and @why if it may not, or
 * another negative errno.
 */
int chain__check(struct chain *c, uint32_t *bytes, char *why);

#endif /* XPU_LOADER_INJECT_CHAIN_H */
