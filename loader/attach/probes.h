/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * probes.h - loads and attaches the BPF programs
 */
#ifndef XPU_LOADER_PROBES_H
#define XPU_LOADER_PROBES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sys/types.h>

#include "xpu_record.h"
#include "xpu_time.h"
#include "xpu.h"

struct probes;

enum probes_mode {
	PROBES_RUN,			/* our child, see probes__adopt_next_child() */
	PROBES_PID,			/* running processes, see probes__want(),
					 * probes__follow() */
	PROBES_ALL,			/* every process with the shim; every process if @shim is
					 * NULL */
};

/* A cgroup, identified as the BPF programs see it. */
struct probes_cgroup {
	uint64_t id;			/* the inode of the cgroup's directory; 0: any */
	uint32_t hierarchy;		/* hierarchy number in /proc/PID/cgroup; 0: cgroup v2 */
};

struct probes_options {
	const char *shim;		/* path of our libxpushim.so; NULL: no probe sites, only
					 * samples */
	enum probes_mode mode;
	const char *comm;		/* PROBES_ALL: only processes with this name; NULL: any */
	struct probes_cgroup cgroup;	/* PROBES_ALL: only processes in this cgroup and their
					 * descendants */
	bool no_children;		/* do not record children of recorded processes */
	uint64_t ring_bytes;		/* rounded up to a power of two of at least a page */
	unsigned int max_frames;	/* maximum number of frames in a call chain; 0: the
					 * default */
	bool ranges;			/* receive NVTX ranges */
	bool waits;			/* receive calls that wait for the device */
	bool api;			/* receive calls of CUDA's API; with PROBES_RUN, the
					 * target's environment must request them, too */
	bool stalls;			/* ask running programs for PC samples */
	bool windows;			/* sample only while a window of the process is open */
	bool memory;			/* ask running programs for memory events */
	bool off_cpu;			/* account for all the time of each thread */
	uint64_t off_min_ns;		/* shorter off-CPU intervals have no stack */
	bool sample;			/* load the sampling program, see probes__sample_fd() */
	uint64_t sample_period_ns;	/* time between two samples on a CPU */
	uint32_t stack_bytes;		/* bytes of the stack that a sample copies; 0: follow frame
					 * pointers */
	uint32_t blind_stack_bytes;	/* bytes to copy if the end of the stack is unknown */
};

typedef void (*probes_record_fn)(void *ctx, const void *data, size_t size);

/**
 * probes__open - load the programs and attach them to the shim's probe sites
 * @fn: called by probes__drain() for every record
 * @why: on failure, one line that says what failed and what to do; @len bytes
 *
 * Raises the semaphores of the shim. With PROBES_RUN, this wakes every process that any xpuload
 * started (the BPF programs decide which processes are recorded); with PROBES_ALL, it wakes every
 * process. With PROBES_PID, only probes__follow() raises semaphores.
 *
 * Return: 0 or a negative errno.
 */
int probes__open(const struct probes_options *opts, probes_record_fn fn, void *ctx,
		 struct probes **p, char *why, size_t len);
void probes__close(struct probes *p);

/**
 * probes__add_shim - attach to another file that equals our shim
 * @fd: from shim_file__open_mapped(); now owned by @p
 *
 * Return: 0, even if the file was added before; -E2BIG if there are too many; or another negative
 * errno.
 */
int probes__add_shim(struct probes *p, int fd);

/*
 * Makes the BPF programs record the running process @pid and the children that it forks, beginning
 * with the next event of @pid. Needs PROBES_PID or a filter. @denied: the invoker may not record
 * the process now. The caller counts denied processes, so the BPF programs do not count them.
 * Return: 0 or a negative errno.
 */
int probes__want(struct probes *p, pid_t pid, bool denied);
void probes__unwant(struct probes *p, pid_t pid);

/* Makes the BPF programs record the next child of this process, with all its descendants. */
void probes__adopt_next_child(struct probes *p);

/**
 * probes__follow - with PROBES_PID, raise the semaphores in a process
 * @hello: the shim may be awake already, so ask it to repeat its definitions
 *
 * A forked child inherits raised semaphores with its parent's memory; an exec resets them to 0.
 * Does nothing for a process that is already followed. Return: 0 or a negative errno.
 */
int probes__follow(struct probes *p, pid_t pid, bool hello);

/* Removes a followed process, which has ended. */
void probes__unfollow(struct probes *p, pid_t pid);

/*
 * If another loader keeps shims awake, tells these shims to stop repeating their definitions. Must
 * be called XPU_HELLO_NS after probes__open() with PROBES_PID or PROBES_ALL.
 */
void probes__end_hello(struct probes *p);

/*
 * Stops the BPF programs that follow processes and threads. Accounts of threads no longer change
 * then. Their last records are still in the ring.
 */
void probes__stop(struct probes *p);

/* Stops receiving launches, but not the device work of earlier launches. */
void probes__detach_launches(struct probes *p);

typedef void (*probes_thread_fn)(void *ctx, const struct xpu_thread_state *t);

/* With opts.off_cpu, at the end: calls @fn for each living thread. */
void probes__each_thread(const struct probes *p, probes_thread_fn fn, void *ctx);

typedef void (*probes_cpu_time_fn)(void *ctx, const struct xpu_cpu_time *t);

/* Calls @fn for each sampled thread that still exists. Used at the end; needs opts.sample. */
void probes__each_cpu_time(const struct probes *p, probes_cpu_time_fn fn, void *ctx);

/* Return: the descriptor of the program for sampler__open(); needs opts.sample. */
int probes__sample_fd(const struct probes *p);

/* With opts.sample: each sample of image @proc_id and its forks also has the Python frames. */
void probes__set_python(struct probes *p, uint32_t proc_id, const struct xpu_python *python);

/*
 * probes__nr_stopped() returns how often the recording of a process stopped because the invoker
 * could no longer read the process. probes__nr_left_alone() returns how many processes the invoker
 * could never read.
 */
uint64_t probes__nr_stopped(const struct probes *p);
uint64_t probes__nr_left_alone(const struct probes *p);

/* Return: how many children called CUDA before their semaphores were raised. */
uint64_t probes__nr_late(const struct probes *p);

/* Return: how many samples the sampling program took, lost ones included. */
uint64_t probes__nr_samples(const struct probes *p);

/* Return: a descriptor that polls readable when the ring is a quarter full; owned by @p. */
int probes__fd(const struct probes *p);

/*
 * Takes the records in the rings. Of the records that arrive meanwhile, takes only as many as fit
 * into a ring, because they may arrive faster than they are taken. Return: whether all were taken.
 */
bool probes__drain(struct probes *p);

/*
 * Sets *@loss to the losses of image @proc_id so far; does not change *@loss if nothing was
 * lost.
 */
void probes__loss(const struct probes *p, uint32_t proc_id, struct xpu_loss *loss);

/* Return: how many records of @kind were lost so far, in total. */
uint64_t probes__nr_lost(const struct probes *p, enum xpu_lost_kind kind);

/* Copies to *@s the last signal @sig that was sent to the root of the recorded tree. */
void probes__signal(const struct probes *p, int sig, struct xpu_signal *s);

/**
 * probes__check - load and attach the programs, then detach and unload them
 *
 * For xpuload --check. @why and @len: as for probes__open().
 */
int probes__check(const char *shim, char *why, size_t len);

#endif /* XPU_LOADER_PROBES_H */
