/* SPDX-License-Identifier: MIT */
/*
 * nvml.h - a GPU's power, energy and clocks, by NVIDIA's management library
 *
 * NVML has no header where only a driver is installed: the few functions are declared in nvml.c, as
 * its reference describes them.
 */
#ifndef METRICS_NVML_H
#define METRICS_NVML_H

#include <stdbool.h>
#include <stdint.h>

#include "sink.h"

#define NVML_INTERVAL_NS	100000000ull	/* it changes its figures 11 times a second */

#define NVML_MAX_ROWS		50		/* that wait for one reading of the energy, which takes ms */

struct nvml_row {
	uint64_t begin_ns, end_ns;
	float watts, sm_mhz, memory_mhz;	/* NaN: the GPU does not tell */
};

struct nvml_gpu {
	void *device;			/* NULL: NVML does not know the GPU */
	struct set set;
	uint64_t last_ns;		/* when the latest row ended */
	struct nvml_row rows[NVML_MAX_ROWS];
	unsigned int nr_rows;
	uint64_t last_mj;		/* of energy, before the rows that wait */
	void *gpm[2];			/* samples; NULL: not in use */
	struct set gpm_set;
	uint64_t gpm_ns;		/* when gpm[0] was taken; 0: it was not */
};

/* Opens NVML. Return: false without, after a message. */
bool nvml__open(void);

/*
 * Defines the set of the GPU with @uuid, of what this GPU can tell. @gpm: also the counters that NVML
 * averages over 100 ms. Return: whether there are any of those.
 */
bool nvml_gpu__start(struct nvml_gpu *g, const uint8_t uuid[16], bool gpm);

/*
 * Takes a sample; the first only begins the first row. Rows are sent when energy has been read for all of
 * them, since a reading takes some 4 ms of CPU time: it is shared out by power and time.
 */
void nvml_gpu__sample(struct nvml_gpu *g);
void nvml_gpu__end(struct nvml_gpu *g);

#endif /* METRICS_NVML_H */
