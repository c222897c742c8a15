/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sideband.h - mmap, comm, fork and exit events of the target's process tree
 *
 * The events are perf events, which children inherit from their parents, as with perf record.
 */
#ifndef XPU_LOADER_SIDEBAND_H
#define XPU_LOADER_SIDEBAND_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "xpu_shm.h"

struct keeper;
struct pyfind;
struct sideband;
struct writer;
struct xpu_record;
struct xpu_record_mmap;

/**
 * sideband__open - follow @pid and its future descendants
 * @pid: the root process; -1: processes given to sideband__adopt(), and their descendants
 *
 * Return: 0 or a negative errno; -EACCES or -EPERM without CAP_PERFMON.
 */
int sideband__open(pid_t pid, struct sideband **s);

/*
 * Like sideband__open(), but expects no reports from the BPF programs: Linux itself stops the
 * events of a process that gains privileges. Needs no privileges, unless perf_event_paranoid is 3
 * or more.
 */
int sideband__open_own(pid_t pid, struct sideband **s);

/* Follows nothing, for systems that allow no perf events: see sideband__look(). */
int sideband__open_blind(struct sideband **s);
void sideband__close(struct sideband *s);

/*
 * Sets @fn, which is called for each fork and exec of a process, each end of a thread, and each
 * process that reports XPU_SHM_UNHEARD. @other: the parent after a fork, or the ended thread.
 */
enum sideband_task { SIDEBAND_FORK, SIDEBAND_EXEC, SIDEBAND_EXIT, SIDEBAND_UNHEARD };
typedef void (*sideband_task_fn)(void *ctx, enum sideband_task what, pid_t pid, pid_t other,
				 uint64_t time_ns);
void sideband__set_task(struct sideband *s, sideband_task_fn fn, void *ctx);

/*
 * For a process that is not followed: reads its new mappings and thread names from /proc, and
 * writes them as events at @time_ns. @comm: in the first call for an image, the image's name; NULL
 * in later calls, after launches from new call paths. sideband__unlook() forgets the process.
 * Return: false if nothing was read, because the last read was recent and took long.
 */
bool sideband__look(struct sideband *s, pid_t pid, const char *comm, uint64_t time_ns,
		    struct writer *w);

/*
 * Writes an MMAP or COMM record of a process that is not followed. The process itself has made the
 * record, about its image that began at @begin_ns. Trusts only the record's pid and tid. Counts
 * impossible records, and records beyond a limit, as lost.
 */
void sideband__take(struct sideband *s, const struct xpu_record *record, size_t size,
		    uint64_t begin_ns, struct writer *w);

/* Takes @nr frames of a call chain of a process that is not followed. */
void sideband__meet(struct sideband *s, pid_t pid, const __u64 *frames, size_t nr);

/*
 * Ends the image of a process that is not followed. Counts one mapping as lost if some frame lies
 * in no known mapping, or if a known mapping may have been replaced. @unseen: the process has
 * launched from new call paths after the last sideband__look(). @maps: which mappings the process
 * itself has sent.
 */
void sideband__leave_image(struct sideband *s, pid_t pid, bool unseen, enum xpu_shm_maps maps);
void sideband__unlook(struct sideband *s, pid_t pid);

/**
 * sideband__adopt - begin to record a running process
 * @since_ns: a time when the process was running
 *
 * Writes its mappings, its name and the names of its threads from /proc, or, if it has ended, from
 * its last events. Writes nothing about a process that permit__check() refuses.
 */
void sideband__adopt(struct sideband *s, pid_t pid, uint64_t since_ns, struct writer *w);

/*
 * Adopts a process before the BPF programs have reported it. Does not adopt a process that has
 * ended, since it may have done nothing that is recorded.
 */
void sideband__adopt_idle(struct sideband *s, pid_t pid, struct writer *w);

/* Sets whether children of adopted processes are adopted, too. The default is true. */
void sideband__set_children(struct sideband *s, bool adopted);

/* Adopts @pid, the process given to sideband__open(). The process has done nothing yet. */
void sideband__follow(struct sideband *s, pid_t pid);

/*
 * Takes a report from the BPF programs about a process: the invoker may read its new image, the
 * invoker may no longer read the process, or the process has ended. If xpuload is restricted, the
 * mappings of a new image are written only after such a report.
 */
enum sideband_word { SIDEBAND_ALLOWED, SIDEBAND_STOPPED, SIDEBAND_ENDED };
void sideband__hear(struct sideband *s, pid_t pid, enum sideband_word word, uint64_t time_ns);

/* Sets @fn, which is called for each executable mapping. */
typedef void (*sideband_mmap_fn)(void *ctx, const struct xpu_record_mmap *r);
void sideband__set_mmap(struct sideband *s, sideband_mmap_fn fn, void *ctx);

/* Passes each executable mapping to @k, which must outlive @s or be NULL. */
void sideband__set_keeper(struct sideband *s, struct keeper *k);

/* Passes each executable mapping to @f, which must outlive @s or be NULL. */
void sideband__set_pyfind(struct sideband *s, struct pyfind *f);

/* Return: a file descriptor that polls readable when events wait; owned by @s. */
int sideband__fd(const struct sideband *s);

/*
 * Turns the events before @until_ns into records. All earlier reports from the BPF programs must
 * have been passed to sideband__hear().
 */
void sideband__drain(struct sideband *s, uint64_t until_ns, struct writer *w);

/* Turns all remaining events into records, since no report will come any more. */
void sideband__finish(struct sideband *s, struct writer *w);

/*
 * Whether events wait for a report from the BPF programs, so that polling for more events is
 * useless.
 */
bool sideband__waits(const struct sideband *s);

/*
 * Return: how many events Linux could not deliver so far, plus the missing events of ended
 * processes.
 */
uint64_t sideband__nr_lost(const struct sideband *s);

#endif /* XPU_LOADER_SIDEBAND_H */
