// SPDX-License-Identifier: GPL-3.0-or-later
#include "datafile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/host_clock.h"
#include "invoker.h"
#include "target/keeper.h"
#include "base/msg.h"
#include "options.h"
#include "safefile.h"
#include "splitter.h"
#include "version.h"
#include "record/writer.h"

#define OLD_SUFFIX	".old"

/* Prints that an action failed. @what: the action, such as "write FILE" */
static void complain(const char *what, const char *path, int err)
{
	bool denied = err == -EACCES || err == -EPERM || err == -EROFS;

	if (!invoker__is_other())
		msg__error("cannot %s %s: %s", what, path, safefile__strerror(err));
	else
		msg__error("cannot %s %s as uid %u, who called xpuload: %s%s", what, path,
			   (unsigned int)invoker__uid(), safefile__strerror(err),
			   denied ? ": with -o, name a file that this user may write" : "");
}

/*
 * Gives the recording its name, and keeps an older recording of that name as FILE.old. Prints a
 * message on failure.
 */
static int take_name(const struct options *opts, struct safefile *f)
{
	int err = safefile__keep_old(f, OLD_SUFFIX);

	if (err < 0) {
		complain("rename the old", opts->data, err);
		return err;
	}
	if (err) {
		err = keeper__rename(f->dir_fd, f->name, OLD_SUFFIX);
		if (err)
			msg__warn("the files kept for the old recording stay in %s"
				  XPU_KEPT_SUFFIX ": %s", opts->data, safefile__strerror(err));
	}
	err = safefile__commit(f);
	if (err)
		complain("write", opts->merge ? opts->output : opts->data, err);
	return err;
}

static void write_info(struct writer *w, enum xpu_info_key key, const char *data, size_t bytes)
{
	size_t size = (sizeof(struct xpu_record_info) + bytes + 7) & ~(size_t)7;
	struct xpu_record_info *r = writer__reserve(w, size);

	if (!r)
		return;
	memset(r, 0, size);
	r->hdr.type = XPU_RECORD_INFO;
	r->hdr.size = size;
	r->key = key;
	r->bytes = bytes;
	memcpy(r->data, data, bytes);
}

static void write_text_info(struct writer *w, enum xpu_info_key key, const char *text)
{
	write_info(w, key, text, strlen(text) + 1);
}

static void write_argv_info(struct writer *w, enum xpu_info_key key, char *const argv[], int argc)
{
	size_t bytes = 0, at = 0;
	char *data;
	int i;

	for (i = 0; i < argc && argv[i]; i++)
		bytes += strlen(argv[i]) + 1;
	data = malloc(bytes ?: 1);
	if (!data)
		return;
	for (i = 0; i < argc && argv[i]; i++)
		at = stpcpy(data + at, argv[i]) + 1 - data;
	write_info(w, key, data, bytes);
	free(data);
}

static void write_cmdline_info(struct writer *w, pid_t pid)
{
	char path[64], data[4096];
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	f = fopen(path, "re");
	if (!f)
		return;
	n = fread(data, 1, sizeof(data), f);
	fclose(f);
	write_info(w, XPU_INFO_CMDLINE, data, n);
}

static void write_infos(struct writer *w, const struct options *opts)
{
	struct utsname u;
	char ns[24];

	write_text_info(w, XPU_INFO_VERSION, XPU_VERSION);
	if (!uname(&u)) {
		write_text_info(w, XPU_INFO_HOSTNAME, u.nodename);
		write_text_info(w, XPU_INFO_OS_RELEASE, u.release);
		write_text_info(w, XPU_INFO_ARCH, u.machine);
	}
	if (opts->mode == PROBES_RUN)
		write_argv_info(w, XPU_INFO_CMDLINE, opts->argv, INT_MAX);
	else if (opts->mode == PROBES_PID)
		write_cmdline_info(w, opts->pids[0]);
	write_argv_info(w, XPU_INFO_OPTIONS, opts->own_argv, opts->own_argc);
	if (!opts->gpu_only) {
		snprintf(ns, sizeof(ns), "%llu", (unsigned long long)options__period_ns(opts));
		write_text_info(w, XPU_INFO_SAMPLE_NS, ns);
	}
}

/*
 * Opens the writer with the invoker's rights, which the writer's thread inherits: the file must not
 * take disk space that is reserved for root, or exceed a quota that root may exceed.
 */
static int open_writer(int fd, const struct xpu_file_header *hdr, struct writer **w)
{
	int err = invoker__enter();

	if (err)
		return err;
	err = writer__open(fd, hdr, w);
	invoker__leave();
	return err;
}

/* Begins to write to the file or pipe @fd. On failure prints a message and closes @fd. */
static int start_writer(const struct options *opts, int fd, int level, struct writer **w)
{
	struct xpu_file_header hdr = {
		.magic = XPU_FILE_MAGIC,
		.endian = XPU_FILE_ENDIAN,
		.version_major = XPU_VERSION_MAJOR,
		.version_minor = XPU_VERSION_MINOR,
		.header_bytes = sizeof(hdr),
		.clockid = CLOCK_MONOTONIC,
		.start_mono_ns = clock__now(),
		.start_real_ns = now_ns(CLOCK_REALTIME),
		.nr_cpus = sysconf(_SC_NPROCESSORS_CONF),
	};
	int err = open_writer(fd, &hdr, w);

	if (err) {
		complain("write", opts->merge ? opts->output : opts->data, err);
		close(fd);
		return err;
	}
	err = writer__set_level(*w, level);
	if (!err)
		return 0;
	complain("write", opts->merge ? opts->output : opts->data, err);
	writer__close(*w, NULL, NULL);
	*w = NULL;
	return err;
}

static int create_row(const struct options *opts, struct writer **w, struct splitter **splitter)
{
	int fd, err = splitter__start(opts, &fd, splitter);

	/* Level 0, because compressing data for a pipe wastes time. */
	err = err ?: start_writer(opts, fd, 0, w);
	if (!err)
		write_infos(*w, opts);
	return err;
}

int datafile__create(const struct options *opts, struct safefile *f, struct writer **w,
		     struct splitter **splitter)
{
	int err;

	*splitter = NULL;
	if (opts->every_ns)
		return create_row(opts, w, splitter);
	/*
	 * Do not wait for a FIFO's reader: signals are blocked here, so nothing could interrupt the
	 * wait.
	 */
	err = safefile__open(f, AT_FDCWD, opts->data, SAFEFILE_PRIVATE | SAFEFILE_NO_WAIT);
	if (err) {
		complain("write", opts->merge ? opts->output : opts->data, err);
		return err;
	}
	err = start_writer(opts, f->fd, opts->level, w);
	if (err)
		goto close_file;
	err = take_name(opts, f);
	if (err)
		goto close_writer;
	write_infos(*w, opts);
	return 0;

close_writer:
	writer__close(*w, NULL, NULL);
	*w = NULL;
close_file:
	safefile__close(f);
	return err;
}

void datafile__end(struct writer *w, int wait_status)
{
	struct xpu_record_end *r = writer__reserve(w, sizeof(*r));

	if (r)
		*r = (struct xpu_record_end){
			.hdr = { XPU_RECORD_END, 0, sizeof(*r) },
			.time_ns = clock__now(),
			.wait_status = wait_status,
		};
}
