// SPDX-License-Identifier: GPL-3.0-or-later
#include "target/cgroup_name.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "util.h"

#define UID_MIN		32		/* length of a pod's uid: a UUID, or a static pod's hash */
#define UID_MAX		36
#define FILE_MAX	(16u << 10)	/* bytes to read of /proc/PID/cgroup: about 15 lines */

/* Text that runtimes put before and after a container's id or name. */
static const struct {
	const char *before, *behind;
	bool id;			/* an id, not a name */
} scopes[] = {
	{ "", "", true },				/* Docker, containerd, with cgroupfs */
	{ "docker-", ".scope", true },
	{ "libpod-", ".scope", true },
	{ "libpod-", "", true },
	{ "cri-containerd-", ".scope", true },
	{ "crio-", ".scope", true },
	{ "crio-", "", true },
	{ "nerdctl-", ".scope", true },
	{ "lxc.payload.", "", false },
	{ "machine-", ".scope", false },
	{ "systemd-nspawn@", ".service", false },
};

static bool part__is(struct cgroup_part p, const char *s)
{
	return p.len == strlen(s) && !memcmp(p.s, s, p.len);
}

/* Return: whether @p is not empty, and all its characters are in @accept. */
static bool part__has_only(struct cgroup_part p, const char *accept)
{
	size_t i;

	for (i = 0; i < p.len; i++)
		if (!strchr(accept, p.s[i]))
			return false;
	return p.len;
}

/* Return: the part of @p between @before and @behind; .len is 0 if @p lacks one of them. */
static struct cgroup_part part__between(struct cgroup_part p, const char *before,
					const char *behind)
{
	size_t head = strlen(before), tail = strlen(behind);

	if (p.len <= head + tail || memcmp(p.s, before, head) ||
	    memcmp(p.s + p.len - tail, behind, tail))
		return (struct cgroup_part){ p.s, 0 };
	return (struct cgroup_part){ p.s + head, p.len - head - tail };
}

struct cgroup_part cgroup_name__container(struct cgroup_part dir, struct cgroup_part parent,
					  bool *is_id)
{
	struct cgroup_part name;
	size_t i;

	*is_id = false;
	if (part__is(parent, "lxc"))
		return dir;
	for (i = 0; i < ARRAY_SIZE(scopes); i++) {
		name = part__between(dir, scopes[i].before, scopes[i].behind);
		if (!name.len || (scopes[i].id && (name.len != CONTAINER_ID_LEN ||
						   !part__has_only(name, "0123456789abcdef"))))
			continue;
		*is_id = scopes[i].id;
		return name;
	}
	return (struct cgroup_part){ dir.s, 0 };
}

/* ---- of a process ---------------------------------------------------------------------------- */

/* Copies a text if it fits and has no control characters. */
static void take(char *to, size_t size, struct cgroup_part from)
{
	size_t i;

	for (i = 0; i < from.len; i++)
		if ((unsigned char)from.s[i] < ' ' || from.s[i] == 127)
			return;
	if (!from.len || from.len >= size)
		return;
	memcpy(to, from.s, from.len);
	to[from.len] = '\0';
}

/*
 * Takes a pod's uid from the name that the kubelet gave to a cgroup: "pod0123-..." or, with
 * systemd, "kubepods-burstable-pod0123_....slice", where "_" replaces "-".
 */
static void take_pod(struct cgroup_labels *l, struct cgroup_part dir)
{
	struct cgroup_part slice = part__between(dir, "kubepods-", ".slice"), uid;
	size_t i;

	uid = part__between(dir, "pod", "");
	for (i = 0; i < slice.len && !uid.len; i++)
		if (!i || slice.s[i - 1] == '-')
			uid = part__between((struct cgroup_part){ slice.s + i, slice.len - i },
					    "pod", "");
	if (uid.len < UID_MIN || uid.len > UID_MAX || !part__has_only(uid, "0123456789abcdef-_"))
		return;
	take(l->pod_uid, sizeof(l->pod_uid), uid);
	for (i = 0; l->pod_uid[i]; i++)
		if (l->pod_uid[i] == '_')
			l->pod_uid[i] = '-';
}

/*
 * Takes the job and the step from Slurm's "job_12/step_0", which is below "slurm",
 * "slurmstepd.scope" or another name that begins with "slurm".
 */
static void take_job(struct cgroup_labels *l, struct cgroup_part dir, struct cgroup_part parent)
{
	struct cgroup_part job = part__between(dir, "job_", ""),
			   step = part__between(dir, "step_", "");

	if (part__has_only(job, "0123456789"))
		take(l->job, sizeof(l->job), job);
	if (step.len && part__between(parent, "job_", "").len)
		take(l->step, sizeof(l->step), step);
}

void cgroup_labels__add_line(struct cgroup_labels *l, const char *line)
{
	const char *at = strchr(line, ':');
	struct cgroup_part dir, parent = { "", 0 }, container;
	bool in_slurm = false, is_id;

	at = at ? strchr(at + 1, ':') : NULL;
	for (at = at ? at + 1 : ""; *at; at += dir.len) {
		at += strspn(at, "/");
		dir = (struct cgroup_part){ at, strcspn(at, "/") };
		if (!dir.len)
			break;
		/* Use the innermost container: the node of a cluster may itself be a container. */
		container = cgroup_name__container(dir, parent, &is_id);
		take(l->container, sizeof(l->container), container);
		take_pod(l, dir);
		in_slurm |= dir.len >= 5 && !memcmp(dir.s, "slurm", 5);
		if (in_slurm)
			take_job(l, dir, parent);
		parent = dir;
	}
}

int cgroup_labels__read(struct cgroup_labels *l, pid_t pid)
{
	char path[64], text[FILE_MAX], *line, *next;
	ssize_t nr;
	int fd;

	memset(l, 0, sizeof(*l));
	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	nr = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (nr < 0)
		return -errno;
	text[nr] = '\0';
	for (line = text; line && *line; line = next) {
		next = strchr(line, '\n');
		if (!next)
			break;		/* a truncated line could yield a wrong name */
		*next++ = '\0';
		cgroup_labels__add_line(l, line);
	}
	return 0;
}
