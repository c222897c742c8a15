// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/mapped.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* Linux has this flag since 5.12, but the headers of some supported distributions lack it. */
#ifndef RESOLVE_CACHED
#define RESOLVE_CACHED	0x20
#endif

static int open_path(int dir_fd, const char *path, int flags, uint64_t resolve)
{
	struct open_how how = { .flags = flags | O_PATH | O_CLOEXEC, .resolve = resolve };
	int fd = syscall(SYS_openat2, dir_fd, path, &how, sizeof(how));

	if (fd >= 0 || errno != EINVAL || !(resolve & RESOLVE_CACHED))
		return fd;
	how.resolve &= ~(uint64_t)RESOLVE_CACHED;
	return syscall(SYS_openat2, dir_fd, path, &how, sizeof(how));
}

int mapped__open_in_root(pid_t pid, const char *path, int flags, bool cached)
{
	char root[64];
	int root_fd, fd, err;

	snprintf(root, sizeof(root), "/proc/%d/root", pid);
	root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		return -1;
	fd = open_path(root_fd, path, flags, RESOLVE_IN_ROOT | (cached ? RESOLVE_CACHED : 0));
	err = errno;
	close(root_fd);
	errno = err;
	return fd;
}

/* Opens a mapping's file by the link in /proc, even if the file has no path. */
static int open_map_file(pid_t pid, uint64_t start, uint64_t len)
{
	char file[96];

	snprintf(file, sizeof(file), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, pid,
		 start, start + len);
	return open(file, O_PATH | O_CLOEXEC);
}

int mapped__open(pid_t pid, uint64_t start, uint64_t len, const char *path, bool cached)
{
	int fd = open_map_file(pid, start, len);

	return fd >= 0 ? fd : mapped__open_in_root(pid, path, 0, cached);
}

int mapped__open_here(const char *path, bool cached)
{
	return open_path(AT_FDCWD, path, 0, cached ? RESOLVE_CACHED : 0);
}

int mapped__stat(int fd, struct stat *st)
{
	struct statx x;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO, &x))
		return -errno;
	*st = (struct stat){
		.st_mode = x.stx_mode,
		.st_ino = x.stx_ino,
		.st_dev = makedev(x.stx_dev_major, x.stx_dev_minor),
	};
	return 0;
}
