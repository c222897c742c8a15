/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cgroup.h - finds a cgroup by its path, or by its container's name or id */
#ifndef XPU_LOADER_CGROUP_H
#define XPU_LOADER_CGROUP_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct cgroup {
	char path[PATH_MAX];		/* the cgroup's directory */
	uint64_t id;			/* the directory's inode */
	uint32_t hierarchy;		/* hierarchy number in /proc/PID/cgroup; 0: cgroup v2 */
};

/**
 * cgroup__find - find a cgroup by its path
 * @path: a directory, or a path as in /proc/PID/cgroup. Such a path is searched below each mounted
 *	hierarchy, cgroup v2 first
 * @why: on failure, what is wrong; @len bytes
 *
 * Return: 0 or a negative errno.
 */
int cgroup__find(struct cgroup *c, const char *path, char *why, size_t len);

/**
 * cgroup__find_container - find the cgroup that a container's runtime has made
 * @name: the container's name, if the runtime puts the name into the cgroup's name (LXC,
 *	systemd-nspawn); otherwise its id or the beginning of the id (Docker, Podman, containerd,
 *	CRI-O)
 *
 * The other parameters and the result are as for cgroup__find().
 */
int cgroup__find_container(struct cgroup *c, const char *name, char *why, size_t len);

/* Calls @fn for each process in @c and in the cgroups below @c. Return: 0 or a negative errno. */
int cgroup__each_process(const struct cgroup *c, void (*fn)(void *ctx, pid_t pid), void *ctx);

#endif /* XPU_LOADER_CGROUP_H */
