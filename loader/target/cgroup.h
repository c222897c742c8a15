/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cgroup.h - finds a cgroup by its path, or a container's by the container's name or id */
#ifndef XPU_LOADER_CGROUP_H
#define XPU_LOADER_CGROUP_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct cgroup {
	char path[PATH_MAX];		/* of its directory */
	uint64_t id;			/* the directory's inode */
	uint32_t hierarchy;		/* as /proc/PID/cgroup numbers it; 0: cgroup v2 */
};

/**
 * cgroup__find - find a cgroup by its path
 * @path: of a directory; or as /proc/PID/cgroup has it, below one of the mounted hierarchies: that of
 *	cgroup v2, if the path is there
 * @why: on failure, what is wrong; @len bytes
 *
 * Return: 0 or a negative errno.
 */
int cgroup__find(struct cgroup *c, const char *path, char *why, size_t len);

/**
 * cgroup__find_container - find the cgroup that a container's runtime has made
 * @name: of the container, where the runtime puts that into the cgroup's name (LXC, systemd-nspawn);
 *	else its id or the beginning of that (Docker, Podman, containerd, CRI-O)
 *
 * The rest as for cgroup__find().
 */
int cgroup__find_container(struct cgroup *c, const char *name, char *why, size_t len);

/* Calls @fn for each process in @c and in the cgroups below it. Return: 0 or a negative errno. */
int cgroup__each_process(const struct cgroup *c, void (*fn)(void *ctx, pid_t pid), void *ctx);

#endif /* XPU_LOADER_CGROUP_H */
