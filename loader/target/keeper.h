/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * keeper.h - keeps copies of files that will not be found at their recorded paths
 *
 * If a process in a container maps a file, the file's path may not exist here, or another file may
 * have this path here. A plug-in may be unlinked as soon as it is loaded. xpumerge needs these
 * files later, for the names of functions. So each mapped file is opened at once, through
 * /proc/PID. If another file or no file is at its path here, now or at the end, the mapped file is
 * copied to FILE.files/.build-id/xx/yyyy/elf, next to the recording FILE. /tmp/perf-PID.map, which
 * has the names of generated code, is copied at the end if the process has its own /tmp.
 *
 * A thread with the invoker's rights reads and writes the files, so no file is copied that the
 * invoker (lib/invoker.h) may not read. Only the invoker can read the copies. The keeper makes and
 * removes nothing below FILE.files if that is a link or belongs to another user. bounds.h limits
 * the copies, since a target may map anything. Nobody waits for a file system that does not answer:
 * the target itself may run it.
 */
#ifndef XPU_LOADER_KEEPER_H
#define XPU_LOADER_KEEPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "xpu_record.h"

struct keeper;

struct keeper_stats {
	uint64_t nr_files, bytes;	/* of the copied files */
	uint64_t nr_refused;		/* number of files not copied because of a limit in
					 * bounds.h, or because the wait was stopped */
	uint64_t nr_failed;		/* number of files that could not be copied */
	int error;			/* errno of the first failure */
};

/* Makes a keeper, *@k, for the recording at @path. Return: 0 or a negative errno. */
int keeper__new(const char *path, struct keeper **k);

/* Must be called for each executable mapping, as soon as possible. */
void keeper__mmap(struct keeper *k, const struct xpu_record_mmap *r);

/* Notes the end of a process. */
void keeper__process_exit(struct keeper *k, pid_t pid);

/* Returns whether the keeper should stop copying. */
typedef bool (*keeper_stop_fn)(void *ctx);

/* Waits until everything is copied, @stopped() returns true, or LIMIT_KEEPING_NS have passed. */
void keeper__finish(struct keeper *k, struct keeper_stats *stats, keeper_stop_fn stopped,
		    void *ctx);

/* Removes the copies, because the recording is not kept either. */
void keeper__remove(struct keeper *k);

void keeper__free(struct keeper *k);

/*
 * Adds @suffix to the name of the directory for the copies, after the caller has added it to the
 * name of the recording @name in @dir_fd. Replaces the directory of an older recording. Fails if
 * the older directory has files that the keeper did not make. Return: 0, even if nothing was kept,
 * or a negative errno for safefile__strerror().
 */
int keeper__rename(int dir_fd, const char *name, const char *suffix);

#endif /* XPU_LOADER_KEEPER_H */
