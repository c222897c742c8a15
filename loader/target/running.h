/* SPDX-License-Identifier: GPL-3.0-or-later */
/* running.h - the running processes and their parents */
#ifndef XPU_LOADER_RUNNING_H
#define XPU_LOADER_RUNNING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "xpu_record.h"

struct running_process {
	pid_t pid, ppid;
	uint64_t start;			/* start time; differs if the pid was reused */
	char comm[XPU_COMM_LEN];
	bool ended;			/* a zombie */
	bool kernel;			/* the process is a kernel thread */
	bool chosen;
};

struct running {
	struct running_process *all;	/* sorted by pid */
	size_t nr;
};

/**
 * running__read - read /proc
 * @r: to be freed by running__free(), even after a failure
 *
 * Return: 0 or a negative errno.
 */
int running__read(struct running *r);
void running__free(struct running *r);

/* Return: the process, or NULL. */
struct running_process *running__find(const struct running *r, pid_t pid);

/* Chooses all descendants of chosen processes, except @except and its descendants. */
void running__choose_children(struct running *r, pid_t except);

bool running__is_kernel_thread(pid_t pid);

/* Return: @comm, set to the name of a running process, or to "?". */
const char *running__comm(pid_t pid, char comm[XPU_COMM_LEN]);

/* Reads one process. Return: whether it exists. */
bool running__look(struct running_process *p, pid_t pid);

/*
 * Whether a process has a library, such as "/libcuda.so", at the same address as its parent, which
 * means that it inherited the library when it was forked.
 */
bool running__inherits(pid_t pid, const char *library);

/* Whether @p still runs. If its pid was reused, it does not. */
bool running__is_there(const struct running_process *p);

#endif /* XPU_LOADER_RUNNING_H */
