/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * shim_file.h - libxpushim.so, ours and as processes have it
 *
 * Only ours is looked into. A process may have any file under that name, so what it has mapped must
 * be the same, byte for byte, and is held from then on, for the probes to be put into nothing else.
 */
#ifndef XPU_LOADER_SHIM_FILE_H
#define XPU_LOADER_SHIM_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define MAX_SITES	2		/* a program watches; the run site and the live one */

/* In the order of attaching: who hears of launches must hear of what becomes of them. */
enum site_kind {
	SITE_EARLY,
	SITE_API,
	SITE_BATCH,
	SITE_LOG,
	SITE_PATH,
	SITE_RANGE,
	SITE_LAUNCH,
	SITE_HELLO,
	NR_SITE_KINDS
};

/* Where the kernel puts a breakpoint, and the counter beside it: offsets into the file. */
struct site {
	uint64_t func, semaphore;
};

struct sites {
	struct site at[NR_SITE_KINDS][MAX_SITES];
	size_t nr[NR_SITE_KINDS];
};

/**
 * shim_file__open - open it and find its probe sites
 * @path: of ours
 * @why: on failure, one line; @len bytes
 *
 * Return: a descriptor, so that probes go into the file that was looked at, or a negative errno.
 */
int shim_file__open(const char *path, struct sites *sites, char *why, size_t len);

/**
 * shim_file__open_mapped - the shim that a process has mapped
 * @ours: path of the one that it must be the same as
 *
 * Return: a descriptor (O_PATH), -ENOENT if it has mapped none, -ESTALE if it is another version,
 * or another negative errno.
 */
int shim_file__open_mapped(pid_t pid, const char *ours);

#endif /* XPU_LOADER_SHIM_FILE_H */
