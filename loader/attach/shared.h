/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * shared.h - recording through shared memory instead of BPF programs
 *
 * Each process of the recorded tree sends memory of its own through a socket, and writes to this
 * memory the records that the BPF programs would have made: see xpu_shm.h. Processes are reported
 * by their connections and by the sideband (sideband.h), not by BPF programs.
 */
#ifndef XPU_LOADER_SHARED_H
#define XPU_LOADER_SHARED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "xpu_record.h"
#include "xpu_shm.h"
#include "xpu_time.h"
#include "xpu.h"

struct shared;

struct shared_options {
	uint64_t ring_bytes;		/* size of each process's ring */
	unsigned int max_frames;	/* maximum number of frames in a call chain along frame
					 * pointers; 0: the default */
	unsigned int wants;		/* XPU_SHM_WANTS_*, sent with the socket's address */
};

struct shared_listener {
	void (*record)(void *ctx, const void *data, size_t size);
	/*
	 * Called before the first records of a process: must call shared__report() for all events
	 * up to @until_ns.
	 */
	void (*settle)(void *ctx, uint64_t until_ns);
	/*
	 * Called when a process has launched from new call paths since @time_ns. Return: false to
	 * be called again later.
	 */
	bool (*paths)(void *ctx, pid_t pid, uint64_t time_ns);
	/*
	 * Called for an MMAP or COMM record about the image of a process. The image began at
	 * @begin_ns. The record's pid and size are checked, and everything else is as the process
	 * wrote it.
	 */
	void (*mapped)(void *ctx, struct xpu_record *record, size_t size, uint64_t begin_ns);
	/* Called for the @nr frames of each call path of a process. */
	void (*frames)(void *ctx, pid_t pid, const __u64 *frames, size_t nr);
	/*
	 * Called after the last record of an image. @unseen: paths() should have been called again;
	 * @maps: the mappings that the process has sent
	 */
	void (*left)(void *ctx, pid_t pid, bool unseen, enum xpu_shm_maps maps);
	void *ctx;
};

/* Opens the socket for processes that share memory. Return: 0 or a negative errno. */
int shared__open(const struct shared_options *opts, const struct shared_listener *listener,
		 struct shared **sp);
void shared__close(struct shared *s);

/* Return: the value of XPU_SHM_ENV in the target's environment. */
const char *shared__env(const struct shared *s);

/*
 * Makes @pid the root of the recorded tree. @attached: @pid is not our child, but a running process
 * that knows shared__env(). @reports: whether shared__report() will be called for forks, execs and
 * ends; if not, the processes are asked for their mappings
 */
void shared__start(struct shared *s, pid_t pid, bool attached, bool reports);

enum shared_report { SHARED_FORK, SHARED_EXEC, SHARED_EXIT, SHARED_UNHEARD };

/*
 * Reports one of these events: @parent forked @pid, @pid runs another program, a thread of @pid has
 * ended, or @pid uses CUDA but can reach neither xpuload nor xpuload's counters.
 */
void shared__report(struct shared *s, enum shared_report what, pid_t pid, pid_t parent,
		    uint64_t time_ns);

/* Return: the current image of @pid; 0 if it is not recorded. */
uint32_t shared__proc_id(const struct shared *s, pid_t pid);

/* Return: a descriptor that polls readable when a process connects or ends. */
int shared__fd(const struct shared *s);

/*
 * Takes connections, ends of processes, and the available records. Return: whether nothing is left
 * to take.
 */
bool shared__drain(struct shared *s);

/*
 * Return: the time after which shared__drain() must be called again. No process wakes us when its
 * ring fills up.
 */
int shared__pause_ms(const struct shared *s);

/* Return: how many processes with mapped memory have not sent their last batch. */
unsigned int shared__nr_awake(const struct shared *s);

/* Tells all processes that launches are no longer recorded. */
void shared__leave(struct shared *s);

/*
 * Counts the processes that could not connect, and their launches, as lost. Must be called after
 * the last shared__drain(). Return: the number of these launches.
 */
uint64_t shared__finish(struct shared *s);

/* Like probes__loss() and probes__nr_lost(). */
void shared__loss(const struct shared *s, uint32_t proc_id, struct xpu_loss *loss);
uint64_t shared__nr_lost(const struct shared *s, enum xpu_lost_kind kind);

#endif /* XPU_LOADER_SHARED_H */
