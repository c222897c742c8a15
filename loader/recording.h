/* SPDX-License-Identifier: GPL-3.0-or-later */
/* recording.h - one recording, from its options to its report */
#ifndef XPU_LOADER_RECORDING_H
#define XPU_LOADER_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/gpu_metrics.h"
#include "safefile.h"
#include "target/cgroup.h"
#include "target/target.h"

struct recording {
	struct options *opts;
	uint64_t attached_ns;		/* when the probes were attached */
	struct target target;		/* PROBES_RUN */
	struct cgroup cgroup;		/* PROBES_ALL: only processes in this cgroup; id 0: any */
	struct probes *probes;		/* NULL: shared memory is used */
	struct shared *shared;		/* NULL: probes are used */
	struct witness *witness;	/* NULL: the probes report signals */
	bool blind;			/* @sideband gets no events from Linux */
	struct sampler *sampler;	/* NULL: the probes take no samples */
	struct own_sampler *own_sampler;	/* NULL: perf events take no samples */
	struct windows *windows;	/* NULL: the recording has no windows */
	uint64_t nr_outside;		/* number of samples outside of windows */
	uint64_t nr_strangers;		/* number of samples from unreported processes, or of
					 * times whose windows are unknown */
	struct sideband *sideband;
	struct keeper *keeper;		/* NULL: mapped files are not kept */
	struct gpu_metrics *gpu_metrics;	/* NULL: not sampled */
	struct gpu_metrics_stats gpu_metrics_stats;
	struct pyfind *pyfind;		/* NULL: Python is not searched for */
	struct safefile file;		/* the file that @writer writes to */
	struct writer *writer;
	struct splitter *splitter;	/* the child that makes several files, or NULL */
	uint64_t cut_ns;		/* when the next file begins */
	struct recorder *recorder;
	int signal_fd;
	int ends_fd;			/* PROBES_PID: readable when a process ends; otherwise -1 */
	int *pid_fds;			/* PROBES_PID: a pidfd for each of opts->pids; -1: ended */
	size_t nr_running;		/* PROBES_PID: how many of opts->pids still run */
	bool stop;			/* the recording must end, for example because of a
					 * signal */
	int nice;			/* nice value before xpuload raises its priority */
	bool told_disk;
	uint64_t nr_not_followed;	/* number of processes that could not be attached to */
	uint64_t nr_unreached;		/* number of launches of processes that could not connect */
	uint64_t nr_late;		/* number of processes whose shim did not run after the
					 * detach */
	struct injections *injections;	/* processes that get the shim */
	uint64_t nr_denied;		/* number of running children that may not be recorded */
	bool attached;			/* the message about attaching has been printed */
	bool sampled;			/* CPUs were sampled */
};

#define RECORDING_INIT(options)	{ .opts = (options), .signal_fd = -1, .ends_fd = -1, \
				  .file.dir_fd = -1 }

/**
 * recording__start - attach the probes, and start the target or attach to running processes
 *
 * Return: 0; or the exit status, after printing a message.
 */
int recording__start(struct recording *r);

/*
 * Steps of recording__start(), in recording_attach.c. recording__find_processes() comes first,
 * since it is likely to fail; once everything is open, recording__take_processes() attaches to the
 * processes. Return: 0; or the exit status, after printing a message.
 */
int recording__find_processes(struct recording *r);
int recording__take_processes(struct recording *r);

/*
 * Opens a process to attach to, and checks that it may be recorded. *@pid_fd: -1, or a descriptor
 * for the caller to close(). Return: 0; or the exit status, after printing a message.
 */
int recording__open_process(pid_t pid, int *pid_fd);

bool recording__has_ended(int pid_fd);

/*
 * Sets the options of the target's shim in our environment, which the target inherits. @by_bpf:
 * record with BPF, not through shared memory
 */
void recording__set_environment(const struct options *opts, bool by_bpf);

/*
 * Makes one recording, including its report and its merged results. Return: the status to exit
 * with. If the status is 0, *@wait_status says how the target ended.
 */
int recording__whole(struct options *opts, int *wait_status);

/*
 * With PROBES_PID, raises the semaphores of @pid's shim. @ppid: the parent to name in a message, or
 * 0
 */
void recording__follow(struct recording *r, pid_t pid, pid_t ppid, bool hello);

/* Remembers a process that has loaded CUDA, if xpuload puts the shim into such processes. */
void recording__meet_cuda(struct recording *r, pid_t pid);

/*
 * Puts the shim into the next process, and attaches to a process that now has the shim. Waits for
 * @timeout_ms at most.
 */
void recording__inject(struct recording *r, int timeout_ms);

/* Handles signals to xpuload. */
void recording__take_signals(struct recording *r);

/* Notes which of opts->pids have ended. */
void recording__note_ends(struct recording *r);

/* Takes the available records and events. Return: whether all were taken. */
bool recording__drain(struct recording *r);

/* Takes perf's events and samples before @until_ns. */
void recording__take_events(struct recording *r, uint64_t until_ns);

/* Records until the target ends; when attached, until a signal or the time limit. */
void recording__run(struct recording *r);

/**
 * recording__finish - write the remaining records and print what was recorded
 *
 * Return: 0, or STATUS_FAILED if the recording lacks something that was requested.
 */
int recording__finish(struct recording *r);

/* Frees everything; the file stays. */
void recording__free(struct recording *r);

#endif /* XPU_LOADER_RECORDING_H */
