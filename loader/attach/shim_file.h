/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * shim_file.h - our libxpushim.so, and the copies that processes have mapped
 *
 * xpuload parses its own file only. A process may have any file of that name, so the file that it
 * has mapped must equal ours byte for byte; xpuload holds it open from then on, so that probes go
 * into no other file.
 */
#ifndef XPU_LOADER_SHIM_FILE_H
#define XPU_LOADER_SHIM_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define MAX_SITES	2		/* that a program watches: the run site and the live site */

/* In the order of attaching: a listener to launches must already listen to their device work. */
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

/* The place of the kernel's breakpoint and of the counter beside it, as offsets into the file. */
struct site {
	uint64_t func, semaphore;
};

struct sites {
	struct site at[NR_SITE_KINDS][MAX_SITES];
	size_t nr[NR_SITE_KINDS];
};

/**
 * shim_file__open - open a shim and find its probe sites
 * @path: path of our own shim
 * @why: on failure, one line; @len bytes
 *
 * Return: a descriptor, so that probes go into the very file that was parsed, or a negative errno.
 */
int shim_file__open(const char *path, struct sites *sites, char *why, size_t len);

/**
 * shim_file__open_mapped - the shim that a process has mapped
 * @ours: path of our shim, which it must equal
 *
 * Return: a descriptor (O_PATH), -ENOENT if the process has mapped none, -ESTALE if its file
 * differs from ours, or another negative errno.
 */
int shim_file__open_mapped(pid_t pid, const char *ours);

#endif /* XPU_LOADER_SHIM_FILE_H */
