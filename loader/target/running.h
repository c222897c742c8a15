/* SPDX-License-Identifier: GPL-3.0-or-later */
/* running.h - the processes that run now, and whose children they are */
#ifndef XPU_LOADER_RUNNING_H
#define XPU_LOADER_RUNNING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "xpu_record.h"

struct running_process {
	pid_t pid, ppid;
	uint64_t start;			/* tells processes apart that have the same pid in turn */
	char comm[XPU_COMM_LEN];
	bool ended;			/* nobody has waited for it yet */
	bool kernel;			/* a thread of the kernel */
	bool chosen;
};

struct running {
	struct running_process *all;	/* by pid */
	size_t nr;
};

/**
 * running__read - read /proc
 * @r: for running__free(), also after a failure
 *
 * Return: 0 or a negative errno.
 */
int running__read(struct running *r);
void running__free(struct running *r);

/* Return: the process, or NULL. */
struct running_process *running__find(const struct running *r, pid_t pid);

/* Chooses all descendants of processes that are chosen; but not @except and its descendants. */
void running__choose_children(struct running *r, pid_t except);

bool running__is_kernel_thread(pid_t pid);

/* Whether @p still runs: its pid has not been given to another process. */
bool running__is_there(const struct running_process *p);

#endif /* XPU_LOADER_RUNNING_H */
