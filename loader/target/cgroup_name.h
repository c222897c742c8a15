/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * cgroup_name.h - what the names of cgroups say: the container, the pod and Slurm's job of a process
 *
 * Container runtimes, the kubelet and Slurm name the cgroups that they make. Who may make cgroups may
 * name them so, too: the names are bounded and checked, and no more than labels.
 */
#ifndef XPU_LOADER_CGROUP_NAME_H
#define XPU_LOADER_CGROUP_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "xpu_record.h"

#define CONTAINER_ID_LEN	64	/* hexadecimal digits */

/* A part of a path. */
struct cgroup_part {
	const char *s;
	size_t len;
};

/**
 * cgroup_name__container - which container's cgroup that is
 * @dir: the cgroup's name
 * @parent: the name of the cgroup that it is in
 * @is_id: set to whether the container is named by its id, not by a name
 *
 * Return: its id or name, a part of @dir; .len is 0 if it is none.
 */
struct cgroup_part cgroup_name__container(struct cgroup_part dir, struct cgroup_part parent, bool *is_id);

/* Empty texts are not known. */
struct cgroup_labels {
	char container[XPU_LABEL_TEXT_MAX];
	char pod_uid[64];
	char job[32], step[32];		/* Slurm's */
};

/* Adds what a line of /proc/PID/cgroup says; without its end. */
void cgroup_labels__add_line(struct cgroup_labels *l, const char *line);

/* Reads /proc/PID/cgroup. Return: 0, or a negative errno: the process has gone. */
int cgroup_labels__read(struct cgroup_labels *l, pid_t pid);

#endif /* XPU_LOADER_CGROUP_NAME_H */
