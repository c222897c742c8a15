/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * cgroup_name.h - finds a process's container, pod and Slurm job in the names of its cgroups
 *
 * Container runtimes, the kubelet and Slurm name the cgroups that they make. Anybody who may make
 * cgroups can use such names, too. So the names are bounded and checked, and used only as labels.
 */
#ifndef XPU_LOADER_CGROUP_NAME_H
#define XPU_LOADER_CGROUP_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "xpu_record.h"

#define CONTAINER_ID_LEN	64	/* hexadecimal digits */

/* A part of a path, not terminated. */
struct cgroup_part {
	const char *s;
	size_t len;
};

/**
 * cgroup_name__container - find the container that a cgroup belongs to
 * @dir: the cgroup's name
 * @parent: the name of the enclosing cgroup
 * @is_id: set to whether the result is an id, not a name
 *
 * Return: the container's id or name, a part of @dir; .len is 0 without a container.
 */
struct cgroup_part cgroup_name__container(struct cgroup_part dir, struct cgroup_part parent,
					  bool *is_id);

/* The labels of a process; empty texts are unknown. */
struct cgroup_labels {
	char container[XPU_LABEL_TEXT_MAX];
	char pod_uid[64];
	char job[32], step[32];		/* of Slurm */
};

/* Adds the labels in a line of /proc/PID/cgroup, given without its newline. */
void cgroup_labels__add_line(struct cgroup_labels *l, const char *line);

/* Reads /proc/PID/cgroup. Return: 0, or a negative errno if the process has gone. */
int cgroup_labels__read(struct cgroup_labels *l, pid_t pid);

#endif /* XPU_LOADER_CGROUP_NAME_H */
