// SPDX-License-Identifier: MIT
/*
 * mute DIR SECONDS - mounts a file system at DIR that never answers reads, and starts a process
 * that has mapped a file from it
 *
 * The file system (FUSE) has one file, DIR/file. It answers lookups and opens of the file, but
 * never reads. A child maps the file executable and prints "ready PID". Both processes end after
 * SECONDS, or when they are killed; then processes that wait for the file continue.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define FILE_INO	2
#define FILE_BYTES	65536

static void answer(int fd, uint64_t unique, int error, const void *body, size_t size)
{
	struct fuse_out_header head = {
		.len = sizeof(head) + size, .error = error, .unique = unique,
	};
	struct iovec iov[2] = { { &head, sizeof(head) }, { (void *)body, size } };

	if (writev(fd, iov, 2) < 0 && errno != ENOENT)	/* the requesting process has exited */
		err(1, "fuse: write");
}

static struct fuse_attr attr_of(uint64_t ino)
{
	return (struct fuse_attr){
		.ino = ino, .nlink = 1, .blksize = 4096,
		.size = ino == FILE_INO ? FILE_BYTES : 0,
		.mode = ino == FILE_INO ? S_IFREG | 0755 : S_IFDIR | 0755,
	};
}

/* Return: whether the request is of a kind that is never answered */
static bool serve_one(int fd, const struct fuse_in_header *in)
{
	const char *name = (const char *)(in + 1);
	struct fuse_init_out init = {
		.major = FUSE_KERNEL_VERSION, .minor = FUSE_KERNEL_MINOR_VERSION, .max_write = 4096,
	};
	struct fuse_entry_out entry = {
		.nodeid = FILE_INO, .entry_valid = 60, .attr_valid = 60, .attr = attr_of(FILE_INO),
	};
	struct fuse_attr_out attr = { .attr_valid = 60, .attr = attr_of(in->nodeid) };
	struct fuse_open_out opened = { .fh = 1 };

	switch (in->opcode) {
	case FUSE_INIT:
		answer(fd, in->unique, 0, &init, sizeof(init));
		return false;
	case FUSE_LOOKUP:
		if (strcmp(name, "file"))
			answer(fd, in->unique, -ENOENT, NULL, 0);
		else
			answer(fd, in->unique, 0, &entry, sizeof(entry));
		return false;
	case FUSE_GETATTR:
		answer(fd, in->unique, 0, &attr, sizeof(attr));
		return false;
	case FUSE_OPEN:
		answer(fd, in->unique, 0, &opened, sizeof(opened));
		return false;
	case FUSE_READ:
		return true;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		return false;
	default:
		answer(fd, in->unique, -ENOSYS, NULL, 0);
		return false;
	}
}

static void map_file(const char *dir)
{
	char path[4096];
	int fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(path, sizeof(path), "%s/file", dir);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		err(1, "%s", path);
	if (mmap(NULL, FILE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		err(1, "%s: mmap", path);
	printf("ready %d\n", getpid());
	fflush(stdout);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	static char request[1 << 20] __attribute__((aligned(8)));
	char options[64];
	ssize_t n;
	int fd;

	if (argc != 3)
		errx(2, "usage: mute DIR SECONDS");
	fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		err(1, "/dev/fuse");
	snprintf(options, sizeof(options), "fd=%d,rootmode=40755,user_id=0,group_id=0", fd);
	if (mount("mute", argv[1], "fuse", MS_NOSUID | MS_NODEV, options))
		err(1, "%s: mount", argv[1]);
	alarm(atoi(argv[2]));
	if (!fork()) {
		close(fd);
		map_file(argv[1]);
	}
	while ((n = read(fd, request, sizeof(request))) > 0 || errno == EINTR || errno == ENOENT)
		if (n > 0 && serve_one(fd, (void *)request)) {
			puts("asked");
			fflush(stdout);
		}
	return 0;
}
