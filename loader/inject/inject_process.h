/* SPDX-License-Identifier: GPL-3.0-or-later */
/* inject_process.h - finds out from /proc whether a process can get the shim */
#ifndef XPU_LOADER_INJECT_PROCESS_H
#define XPU_LOADER_INJECT_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define MAX_MODULES	8192

enum module_kind {
	MODULE_OTHER,
	MODULE_LIBC,			/* libc, and libpthread and libdl before glibc 2.34 */
	MODULE_LOADER,			/* ld.so */
	MODULE_DRIVER,			/* CUDA's driver and its libraries */
	MODULE_NAMELESS,		/* generated code, vdso */
};

struct module {				/* an executable mapping */
	uint64_t start, end, pgoff;
	uint8_t kind;
	bool is_program;		/* the module is the program itself, not a library */
	const char *path, *name;	/* @name: the last part of the path */
};

struct modules {
	bool filtered;			/* seccomp filters the process's system calls */
	uint32_t nr;
	struct module all[MAX_MODULES];
};

/**
 * process__look - check everything that can be checked without touching the process
 * @modules: filled in with the executable mappings, which are never freed
 * @why: INJECT_WHY bytes: the reason, after an error
 *
 * Return: 0 if the shim may be put into the process, or an error as from inject__check().
 */
int process__look(pid_t pid, struct modules *modules, char *why);

/* Return: the seccomp mode of a thread, or -1. 0: no seccomp. Each thread has its own mode. */
int process__seccomp(pid_t pid, pid_t tid);

/* Return: the number of a thread in its own pid namespace. */
uint32_t process__inner_tid(pid_t pid, pid_t tid);

/* Return: the thread whose number in its own pid namespace is @inner, or 0. */
pid_t process__find_thread(pid_t pid, uint32_t inner);

/* Whether two threads of the process have the same user, groups, capabilities and filters. */
bool process__same_rights(pid_t pid, pid_t a, pid_t b);

/* Return: the module that contains @addr, or NULL. */
const struct module *modules__find(const struct modules *m, uint64_t addr);

/*
 * Return: the lowest address of the readable and writable mapping that contains @addr, or 0. Sets
 * *@end to the mapping's end.
 */
uint64_t process__stack(pid_t pid, uint64_t addr, uint64_t *end);

/* Opens the file of a module with O_PATH. Return: the descriptor, or -1. */
int module__open(pid_t pid, const struct module *m);

#endif /* XPU_LOADER_INJECT_PROCESS_H */
