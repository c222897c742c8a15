/* SPDX-License-Identifier: GPL-3.0-or-later */
/* recording.h - one recording, from its options to its report */
#ifndef XPU_LOADER_RECORDING_H
#define XPU_LOADER_RECORDING_H

#include <stdbool.h>

#include "safefile.h"
#include "target/target.h"

struct recording {
	const struct options *opts;
	struct target target;		/* PROBES_RUN */
	struct probes *probes;		/* NULL: records come through shared memory */
	struct shared *shared;		/* NULL: they come from the probes */
	struct witness *witness;	/* NULL: the probes tell of signals */
	bool blind;			/* @sideband sees no events */
	struct sampler *sampler;	/* NULL: no CPU samples by the probes */
	struct own_sampler *own_sampler;	/* NULL: none beside shared memory, either */
	uint64_t nr_strangers;		/* samples of processes that were not reported */
	struct sideband *sideband;
	struct keeper *keeper;		/* NULL: no mapped files are kept */
	struct pyfind *pyfind;		/* NULL: no search for Python */
	struct safefile file;		/* the file that @writer writes to */
	struct writer *writer;
	struct recorder *recorder;
	int signal_fd;
	int shim_fd;			/* PROBES_PID: its shim; else -1 */
	int pid_fd;			/* PROBES_PID: readable when it ends; else -1 */
	bool stop;			/* attached: a signal says so */
	bool told_disk;
	unsigned int nr_not_followed;	/* children that could not be attached to */
	bool sampled;			/* there was a sampler */
};

#define RECORDING_INIT(options)	{ .opts = (options), .signal_fd = -1, .shim_fd = -1, \
				  .pid_fd = -1, .file.dir_fd = -1 }

/**
 * recording__start - arm the probes, and start the target or attach to running processes
 *
 * Return: 0, or the status to exit with, with a message printed.
 */
int recording__start(struct recording *r);

/* Takes perf's events and samples before @until_ns: all there are of a process that has ended. */
void recording__take_events(struct recording *r, uint64_t until_ns);

/* Records until the target ends; when attached, until a signal or the time limit. */
void recording__run(struct recording *r);

/**
 * recording__finish - write the remaining records and print what was recorded
 *
 * Return: 0, or STATUS_FAILED if the recording lacks something that was asked for.
 */
int recording__finish(struct recording *r);

/* Frees all but the file, which stays. */
void recording__free(struct recording *r);

#endif /* XPU_LOADER_RECORDING_H */
