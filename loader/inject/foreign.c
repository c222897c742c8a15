// SPDX-License-Identifier: GPL-3.0-or-later
#include "inject/foreign.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/permit.h"
#include "base/mapped.h"
#include "inject/result.h"

#define REFUSE(why, err, ...)	(snprintf((why), INJECT_WHY, __VA_ARGS__), (err))

/* Explains why Linux does not let this process trace @pid. */
static void explain(pid_t pid, char *why)
{
	FILE *f = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	int scope = 0;

	if (f && fscanf(f, "%d", &scope) != 1)
		scope = 0;
	if (f)
		fclose(f);
	if (!permit__check(pid) && scope)
		snprintf(why, INJECT_WHY, "kernel.yama.ptrace_scope is %d: %s", scope,
			 scope == 3 ? "nobody may trace a process" :
				      "only root may trace a process that it did not start");
	else
		permit__explain(pid, why, INJECT_WHY);
}

int foreign__open_memory(pid_t pid, char *why)
{
	char path[64];
	int fd, err;

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	err = -errno;
	if (err == -ENOENT || err == -ESRCH)
		return REFUSE(why, -ESRCH, "it has ended");
	if (err == -EACCES || err == -EPERM)
		explain(pid, why);
	else
		snprintf(why, INJECT_WHY, "its memory cannot be opened: %s", strerror(-err));
	return err;
}

/*
 * Whether the file is in memory only, as made by memfd_create(). Calls no file system, because the
 * process itself may run the file system.
 */
static bool is_memfd(int fd)
{
	int ours = memfd_create("", MFD_CLOEXEC);
	struct stat a, b;
	bool same;

	same = ours >= 0 && !mapped__stat(ours, &a) && !mapped__stat(fd, &b) &&
	       a.st_dev == b.st_dev;
	if (ours >= 0)
		close(ours);
	return same;
}

int foreign__open_file(pid_t pid, int number)
{
	struct stat st;
	char path[64], root[64];
	int fd, to = -1;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, number);
	fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	snprintf(root, sizeof(root), "/proc/%d", pid);
	/*
	 * The process's descriptor may refer to any file. So open the file with the rights of the
	 * process's user.
	 */
	if (is_memfd(fd) && !fstat(fd, &st) && S_ISREG(st.st_mode) &&
	    !st.st_nlink && !st.st_size && !stat(root, &st)) {
		setfsgid(st.st_gid);
		setfsuid(st.st_uid);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		to = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);	/* does not wait for a
									 * lease */
		setfsuid(geteuid());
		setfsgid(getegid());
	}
	close(fd);
	return to < 0 ? -EBADF : to;
}
