// SPDX-License-Identifier: GPL-3.0-or-later
#include "namer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/host_clock.h"
#include "base/msg.h"
#include "own_files.h"
#include "block.h"
#include "invoker.h"
#include "merger.h"
#include "options.h"
#include "safefile.h"
#include "target/target.h"

/* The child has LOOK_UP_MS to look up names, and until END_NS to write them. */
#define LOOK_UP_MS	700u
#define END_NS		950000000ull
#define STOP_NS		1000000000ull	/* time after Ctrl-C to write the names found so far */
#define POLL_US		2000
#define NAMES_LEFT	1		/* the child's exit status if some functions have no name
					 * yet */
#define MOST_BYTES	(96u << 20)	/* maximum size: 64 MiB of names, plus room for block
					 * headers */

bool namer__wanted(const struct options *opts)
{
	if (opts->top || opts->every_ns || (opts->names && !strcmp(opts->names, "later")))
		return false;
	/* A recording that is removed after one result needs no names. */
	return !opts->merge || merger__nr_results(opts) > 1;
}

static _Noreturn void run_child(const struct options *opts, const char *path, int fd,
				const char *ms, int nice)
{
	struct rlimit size = { MOST_BYTES, MOST_BYTES };

	/* If root runs xpuload, the child may read all programs' symbols. */
	if (child__become_invoker(CAP_BIT(CAP_DAC_READ_SEARCH)) || dup2(fd, STDOUT_FILENO) < 0 ||
	    setrlimit(RLIMIT_FSIZE, &size))
		_exit(STATUS_FAILED);
	target__restore();
	setpriority(PRIO_PROCESS, 0, nice);
	execl(path, path, "names", ms, opts->data, NULL);
	_exit(STATUS_FAILED);
}

/* Waits for the child, and stops it at Ctrl-C or at @end_ns. */
static void wait_for(pid_t pid, const char *data, uint64_t end_ns,
		     bool (*is_interrupted)(void *ctx), void *ctx)
{
	bool stopped = false, killed = false;
	int status;
	pid_t ended;

	while (!(ended = waitpid(pid, &status, WNOHANG)) || (ended < 0 && errno == EINTR)) {
		if (!stopped && is_interrupted(ctx)) {
			stopped = true;
			end_ns = clock__now() + STOP_NS;
			kill(pid, SIGINT);
		}
		if (!killed && clock__now() >= end_ns) {
			killed = true;
			kill(pid, SIGKILL);
		}
		usleep(POLL_US);
	}
	if (ended == pid && !killed && WIFSIGNALED(status))
		msg__warn("xpumerge names, which looks up the names of call paths, was ended by "
			  "signal %d (%s): the names so far are added", WTERMSIG(status),
			  strsignal(WTERMSIG(status)));
	else if (ended == pid && !killed && WEXITSTATUS(status) == STATUS_FAILED)
		msg__warn("xpumerge names, which looks up the names of call paths, cannot be run");
	else if (ended == pid && (killed || WEXITSTATUS(status) == NAMES_LEFT))
		msg__info("some functions in %s have no name yet: xpumerge looks them up later on "
			  "this machine; --names=all waits for all names", data);
}

/* Return: how many bytes at the beginning of @data are whole blocks. */
static size_t whole_blocks(const uint8_t *data, size_t bytes)
{
	struct xpu_record_block header;
	size_t at = 0;

	while (at < bytes && block__header(data + at, bytes - at, &header) &&
	       header.hdr.size <= bytes - at)
		at += header.hdr.size;
	return at;
}

static int write_all(int fd, const uint8_t *data, size_t bytes)
{
	ssize_t nr;

	for (; bytes; data += nr, bytes -= nr) {
		nr = write(fd, data, bytes);
		if (nr < 0 && errno == EINTR)
			nr = 0;
		else if (nr <= 0)
			return nr ? -errno : -EIO;
	}
	return 0;
}

/* Appends the blocks, or nothing. Return: 0 or a negative errno. */
static int append(const struct safefile *file, off_t at, const uint8_t *data, size_t bytes)
{
	int fd, err = invoker__enter();

	if (err)
		return err;
	fd = safefile__shorten(file, at);
	err = fd < 0 ? fd : write_all(fd, data, bytes);
	if (err && fd >= 0 && ftruncate(fd, at))
		err = -errno;
	if (fd >= 0)
		close(fd);
	invoker__leave();
	return err;
}

static void say_why(const struct options *opts, int err)
{
	msg__warn("%s: the names of call paths cannot be added: %s. The recording is as it was",
		  opts->data, safefile__strerror(-err));
}

static void take(const struct options *opts, const struct safefile *file, uint64_t *bytes, int fd)
{
	uint8_t *data;
	struct stat st;
	size_t whole;
	int err;

	/*
	 * Seal the memory: a process that the child has left behind must not change it while it is
	 * read here.
	 */
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) || fstat(fd, &st)) {
		say_why(opts, errno);
		return;
	}
	if (!st.st_size || st.st_size > MOST_BYTES)
		return;
	data = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED) {
		say_why(opts, errno);
		return;
	}
	whole = whole_blocks(data, st.st_size);
	err = whole ? append(file, *bytes, data, whole) : 0;
	if (!err)
		*bytes += whole;
	else
		say_why(opts, -err);
	munmap(data, st.st_size);
}

void namer__run(const struct options *opts, const struct safefile *file, uint64_t *bytes, int nice,
		bool (*is_interrupted)(void *ctx), void *ctx)
{
	bool all = opts->merge || (opts->names && !strcmp(opts->names, "all"));
	uint64_t start_ns = clock__now();
	char path[PATH_MAX], ms[16];
	int fd;
	pid_t pid;

	if (!file->name || own_files__find("xpumerge", path, sizeof(path)))
		return;
	fd = memfd_create("xpuload-names", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0) {
		say_why(opts, errno);
		return;
	}
	snprintf(ms, sizeof(ms), "%u", all ? 0 : LOOK_UP_MS);
	fflush(NULL);
	pid = fork();
	if (!pid)
		run_child(opts, path, fd, ms, nice);
	if (pid < 0) {
		say_why(opts, errno);
	} else {
		wait_for(pid, opts->data, all ? UINT64_MAX : start_ns + END_NS, is_interrupted,
			 ctx);
		take(opts, file, bytes, fd);
	}
	close(fd);
}
