/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * shim_file.h - our libxpushim.so, and the copies that processes have mapped
 *
 * xpuload parses only its own file. A process may have mapped any file with that name, so the
 * mapped file must equal ours byte for byte. xpuload then keeps it open, so that probes go into no
 * other file.
 */
#ifndef XPU_LOADER_SHIM_FILE_H
#define XPU_LOADER_SHIM_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Groups of sites, in the order of attaching: the reception of device work must begin before the
 * reception of launches. Each group has one program.
 */
enum site_group {
	SITES_BATCH,
	SITES_LOG,
	SITES_PATH,
	SITES_INIT,
	SITES_LAUNCH,
	NR_SITES,
	SWITCHES = NR_SITES,		/* all switches except the launch switches */
	SWITCHES_LAUNCH,
	SWITCHES_HELLO,
	NR_SITE_GROUPS
};

#define MAX_SITES	8		/* maximum number of sites in a group */

/* Which recordings need a site. */
enum site_use {
	SITE_ALWAYS,
	SITE_EARLY,
	SITE_RANGE,
	SITE_API,
	SITE_STALLS,
	SITE_MEMORY,
};

/* File offsets of a site: where Linux puts its breakpoint, and where the semaphore is. */
struct site {
	uint64_t at, semaphore;		/* .semaphore is 0 if the site has none */
	enum site_use use;
	bool live;			/* the site is for processes that xpuload has not started */
};

struct sites {
	struct site site[NR_SITE_GROUPS][MAX_SITES];
	size_t nr[NR_SITE_GROUPS];
};

/**
 * shim_file__open - open a shim and find its probe sites
 * @path: path of our own shim
 * @why: on failure, one line; @len bytes
 *
 * Return: a descriptor of the file that was parsed, so that probes go into this file and no other;
 * or a negative errno.
 */
int shim_file__open(const char *path, struct sites *sites, char *why, size_t len);

/**
 * shim_file__open_mapped - open the shim that a process has mapped
 * @ours: path of our shim, which the file must equal
 *
 * Return: a descriptor (O_PATH), -ENOENT if the process has not mapped a shim, -ESTALE if the
 * mapped shim differs from our shim, or another negative errno.
 */
int shim_file__open_mapped(pid_t pid, const char *ours);

#endif /* XPU_LOADER_SHIM_FILE_H */
