/* SPDX-License-Identifier: MIT */
/*
 * launcher_labels.h - this process's place in a job of many processes, read from the variables that
 * launchers set
 *
 * Anybody may have set these variables: numbers are checked against one another; texts must be
 * short and have no control characters. Values that fail a check are left out, and counted.
 */
#ifndef XPU_PRELOAD_LAUNCHER_LABELS_H
#define XPU_PRELOAD_LAUNCHER_LABELS_H

#include <stddef.h>
#include <stdint.h>

#include "xpu_record.h"

#define LABELS_MAX	16

struct label {
	uint16_t label;			/* enum xpu_label */
	uint16_t source;		/* enum xpu_label_source */
	uint32_t number;
	char text[XPU_LABEL_TEXT_MAX];
};

struct launcher_labels {
	struct label v[LABELS_MAX];
	size_t nr;
	size_t nr_refused;		/* number of variables with implausible values */
	const char *refused;		/* name of the first such variable */
};

/**
 * launcher_labels__read - read the environment
 * @get: getenv(), or a function like it
 *
 * Numbers come from the innermost launcher that gives a rank. From the inside out, launchers are:
 * torchrun or a program that sets its variables, JAX, Open MPI, MVAPICH, PMI (MPICH and Intel),
 * PMIx, Slurm. An outer launcher adds missing numbers only if it gives the same rank, since both
 * launchers then number the same processes.
 */
void launcher_labels__read(struct launcher_labels *all, char *(*get)(const char *name));

#endif /* XPU_PRELOAD_LAUNCHER_LABELS_H */
