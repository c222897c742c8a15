// SPDX-License-Identifier: GPL-3.0-or-later
#include "attach/permit.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "attach/caps.h"

/*
 * Follows a link in /proc, which makes Linux and its security modules check PTRACE_MODE_READ. Other
 * checks are unsuitable: in newer kernels, CAP_PERFMON suffices to open the files that show a
 * process's mappings, and containers' system call filters forbid kcmp().
 */
int permit__check(pid_t pid)
{
	char path[64], to[1];
	int err;

	snprintf(path, sizeof(path), "/proc/%d/root", pid);
	caps__raise();		/* the process may have capabilities itself */
	err = readlink(path, to, sizeof(to)) < 0 ? errno : 0;
	caps__lower();
	switch (err) {
	case EPERM:
		return -EACCES;
	case ENOENT:
		return -ESRCH;
	}
	return -err;
}

/* Return: the real user id of @pid, or -1. */
static uid_t user_of(pid_t pid)
{
	char path[64], line[256];
	unsigned int uid = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Uid: %u", &uid) == 1)
			break;
	if (f)
		fclose(f);
	return uid;
}

void permit__explain(pid_t pid, char *buf, size_t size)
{
	uid_t uid = user_of(pid);

	if (!getuid())
		snprintf(buf, size, "root needs cap_sys_ptrace for that (docker run --cap-add "
			 "SYS_PTRACE)");
	else if (uid != getuid())
		snprintf(buf, size,
			 "it belongs to user %d, you are user %d: run xpuload as that user, "
			 "or as root",
			 uid, getuid());
	else
		snprintf(buf, size, "it has or had privileges or another group, is outside of your "
				    "user namespace, or forbids reading it: run xpuload as root");
}
