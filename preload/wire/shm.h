/* SPDX-License-Identifier: MIT */
/*
 * shm.h - sends records to xpuload through shared memory, where BPF is not allowed; see xpu_shm.h
 *
 * All functions except shm__start() and shm__start_again() are safe in signal handlers. They take
 * no lock. Only shm__tell() and shm__start_again() wait. If there is no room, records are dropped
 * and counted.
 */
#ifndef XPU_PRELOAD_SHM_H
#define XPU_PRELOAD_SHM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xpu_record.h"
#include "xpu_shm.h"
#include "xpu_slot.h"

/*
 * Reads @where, the value of XPU_SHM_ENV, which says where xpuload waits. Does nothing else.
 * Return: whether the value is valid.
 */
bool shm__start(const char *where);

/*
 * Like shm__start(), in a process that may have shared memory already: that memory is emptied, and
 * handed over again. Must be called while nothing is recorded, on the thread that calls
 * shm__state(). @nr_launches: number of launches of this process so far. Return: 0 or an error:
 * -EINVAL if @where is not valid, -EBUSY if a thread is still writing a record, -ESTALE if the
 * memory cannot be used again.
 */
int shm__start_again(const char *where, uint64_t nr_launches);

/*
 * Whether the last shm__start() or shm__start_again() had the same address as @where, the text
 * before its first ':', and shm__stop() was not called since.
 */
bool shm__is_started(const char *where);

/* Ends the recording of this process: no record is written any more. */
void shm__stop(void);

/*
 * Whether xpuload wants the records of the flag @wanted, which is an XPU_SHM_WANTS_*. Valid after
 * shm__start().
 */
bool shm__wants(unsigned int wanted);

enum shm_state {
	SHM_NONE,			/* there is no shared memory */
	SHM_OPEN,
	SHM_LEAVING,			/* xpuload wants no more launches */
	SHM_GONE,			/* xpuload wants nothing more, or has been killed */
};

/*
 * Called first in cuInit, then ten times a second by the shim's own thread. The first call makes
 * the memory, and tries to hand it over without waiting for xpuload.
 */
enum shm_state shm__state(void);

/*
 * Tries for @wait_ns to hand over the memory, if xpuload does not have it yet. Until that succeeds,
 * a page that xpuload reads counts this process's launches as lost. @nr_launches: the number of its
 * launches so far
 */
void shm__tell(uint64_t nr_launches, uint64_t wait_ns);

/* Whether shm__tell() has nothing left to do. */
bool shm__is_told(void);

/*
 * Whether this process could reach neither xpuload nor xpuload's counters, so that xpuload does not
 * know of this process. The shim's thread may then take the name XPU_SHM_UNHEARD, which Linux may
 * still report to xpuload.
 */
bool shm__is_unheard(void);

/*
 * Allocates the pages of the ring that are needed next, so that no launch has to wait for a page.
 * The shim's own thread calls this.
 */
void shm__populate(void);

/* Unmaps the memory in a forked child, because it belongs to the parent. */
void shm__forked(void);

/*
 * Replaces the zeroed XPU_SHM_THREAD_BYTES at @pages by pages of the shared memory, so that xpuload
 * can read the log in them after the process has ended. @log_at: the log's offset in the pages, the
 * same for all threads. *@taken: a number to pass to shm__give_pages() once nothing more is logged
 * there. If no shared pages are free, *@taken is 0, and the process keeps its own @pages. The
 * caller serializes all calls.
 *
 * Return: whether @pages are still mapped.
 */
bool shm__take_pages(void *pages, size_t log_at, unsigned int *taken);

/*
 * Replaces the shared pages at @pages by zeroed private memory. Return: whether this succeeded; if
 * not, @pages may be unmapped.
 */
bool shm__leave_pages(void *pages);

void shm__give_pages(unsigned int number);

/* Replace the probe sites of the same names if memory is shared: see xpu_slot.h. */
void shm__launch(const struct xpu_slot *slot);
void shm__batch(const void *records, size_t bytes);
void shm__log(const struct xpu_log *log, uint64_t end);

/* Whether xpuload wants mappings and names of threads, because it has no perf events. */
bool shm__wants_maps(void);

/* Writes an MMAP or COMM record. If there is no room, the record is counted as lost. */
void shm__map(const struct xpu_record *record);

/* Counts a mapping as lost. */
void shm__lose_map(void);

/*
 * Notes that code had been unloaded @nr_unloads times when the handed-over mappings were read. When
 * the process has ended, xpuload compares @nr_unloads with the highest number of unloads that a
 * launch has seen. shm__met_unloads() returns where that highest number is.
 */
void shm__told_maps(uint64_t nr_unloads, enum xpu_shm_maps maps);
uint64_t *shm__met_unloads(void);

/* Reads a thread's name from the file @path in /proc. Return: whether it could be read. */
bool shm__read_name(const char *path, char *name, size_t len);

#endif /* XPU_PRELOAD_SHM_H */
