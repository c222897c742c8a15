// SPDX-License-Identifier: GPL-3.0-or-later
#include "permit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/*
 * Opening these files is checked with PTRACE_MODE_READ, security modules included. (kcmp() is, too,
 * but filters of system calls in containers forbid it.)
 */
int permit__check(pid_t pid)
{
	char path[64];
	int fd, err;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	err = fd < 0 ? errno : 0;
	if (fd >= 0)
		close(fd);
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

	if (uid != getuid())
		snprintf(buf, size, "it is of user %d, you are user %d: run xpuload as that user, "
			 "or as root", uid, getuid());
	else
		snprintf(buf, size, "it has, or had, privileges, or runs a program that you may "
			 "not read: run xpuload as root");
}
