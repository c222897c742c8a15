/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sideband.h - mmap, comm, fork and exit events of the target's process tree
 *
 * They come from the kernel's own perf events, inherited from parent to child, as perf record's do.
 */
#ifndef XPU_LOADER_SIDEBAND_H
#define XPU_LOADER_SIDEBAND_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct keeper;
struct pyfind;
struct sideband;
struct writer;

/**
 * sideband__open - follow @pid and all that it forks from now on
 * @pid: the root process, or -1: the processes given to sideband__adopt(), and all that they fork
 *
 * Return: 0 or a negative errno; -EACCES or -EPERM without CAP_PERFMON.
 */
int sideband__open(pid_t pid, struct sideband **s);

/*
 * As sideband__open(), without reports of the kernel's programs about whose processes these are: the
 * kernel ends the events of a process that gains privileges. Needs none, unless perf_event_paranoid is 3 or
 * more.
 */
int sideband__open_own(pid_t pid, struct sideband **s);

/* Follows nothing, if that is not allowed, either: see sideband__look(). */
int sideband__open_blind(struct sideband **s);
void sideband__close(struct sideband *s);

/*
 * Calls @fn for each fork of a process, exec of a process, and end of a thread. @other: the parent of a fork,
 * the thread that has ended.
 */
enum sideband_task { SIDEBAND_FORK, SIDEBAND_EXEC, SIDEBAND_EXIT };
typedef void (*sideband_task_fn)(void *ctx, enum sideband_task what, pid_t pid, pid_t other,
				 uint64_t time_ns);
void sideband__set_task(struct sideband *s, sideband_task_fn fn, void *ctx);

/*
 * Writes from /proc the mappings of a process that is not followed, and the names of its threads,
 * as far as they are new, as if all had happened at @time_ns. @is_new: it is the first time for the
 * image that it runs. sideband__unlook() forgets the process. Return: whether it was looked at; not if
 * that was lately and takes long.
 */
bool sideband__look(struct sideband *s, pid_t pid, bool is_new, uint64_t time_ns,
		    struct writer *w);
void sideband__unlook(struct sideband *s, pid_t pid);

/**
 * sideband__adopt - take up a process that runs already
 * @since_ns: a time at which it was known to run
 *
 * Writes its mappings, its name and the names of its threads from /proc, or, if it has ended, from
 * its last events; writes nothing of a process that permit__check() refuses.
 */
void sideband__adopt(struct sideband *s, pid_t pid, uint64_t since_ns, struct writer *w);

/*
 * Does so before the kernel's programs have reported anything of the process. If it has ended, it
 * need not have done anything that is recorded, and is not adopted.
 */
void sideband__adopt_idle(struct sideband *s, pid_t pid, struct writer *w);

/* Whether children of adopted processes are adopted, too; they are if this is not called. */
void sideband__set_children(struct sideband *s, bool adopted);

/* Adopts the process that sideband__open() was given, which has nothing to report yet. */
void sideband__follow(struct sideband *s, pid_t pid);

/*
 * Takes a report of the programs in the kernel about a process: the invoker may read its new image;
 * the invoker may no longer read it; it has ended. If xpuload is restricted, the mappings of a new
 * image are written only after such a report.
 */
enum sideband_word { SIDEBAND_ALLOWED, SIDEBAND_STOPPED, SIDEBAND_ENDED };
void sideband__hear(struct sideband *s, pid_t pid, enum sideband_word word, uint64_t time_ns);

/* Passes each executable mapping to @k, which must outlive @s or be NULL. */
void sideband__set_keeper(struct sideband *s, struct keeper *k);

/* Passes each executable mapping to @f, which must outlive @s or be NULL. */
void sideband__set_pyfind(struct sideband *s, struct pyfind *f);

/* Return: a file descriptor that polls readable when events wait; owned by @s. */
int sideband__fd(const struct sideband *s);

/*
 * Turns the events before @until_ns into records. All earlier reports of the kernel's programs must
 * have been given to sideband__hear().
 */
void sideband__drain(struct sideband *s, uint64_t until_ns, struct writer *w);

/* Turns all events that are left into records: nothing waits for a report any more. */
void sideband__finish(struct sideband *s, struct writer *w);

/*
 * Whether events wait for a report of the kernel's programs, so that polling for more events is no
 * use.
 */
bool sideband__waits(const struct sideband *s);

/*
 * Return: how many events the kernel could not deliver so far, and how many processes had ended
 * before their mappings were read.
 */
uint64_t sideband__nr_lost(const struct sideband *s);

#endif /* XPU_LOADER_SIDEBAND_H */
