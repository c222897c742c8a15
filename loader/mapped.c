// SPDX-License-Identifier: GPL-3.0-or-later
#include "mapped.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

int mapped__open_in_root(pid_t pid, const char *path, int flags)
{
	struct open_how how = { .flags = flags | O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT };
	char root[64];
	int root_fd, fd;

	snprintf(root, sizeof(root), "/proc/%d/root", pid);
	root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		return -1;
	fd = syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
	close(root_fd);
	return fd;
}

int mapped__open(pid_t pid, uint64_t start, uint64_t len, const char *path)
{
	char file[96];
	int fd;

	snprintf(file, sizeof(file), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, pid,
		 start, start + len);
	fd = open(file, O_PATH | O_CLOEXEC);
	return fd >= 0 ? fd : mapped__open_in_root(pid, path, 0);
}
