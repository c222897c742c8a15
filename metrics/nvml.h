/* SPDX-License-Identifier: MIT */
/*
 * nvml.h - a GPU's power, energy and clocks, from NVIDIA's management library
 *
 * NVML's header is missing where only the driver is installed. Therefore nvml.c itself declares the
 * few functions that it needs, as in NVML's reference.
 */
#ifndef METRICS_NVML_H
#define METRICS_NVML_H

#include <stdbool.h>
#include <stdint.h>

#include "sink.h"

#define NVML_INTERVAL_NS	100000000ull	/* NVML updates its values 11 times a second */

#define NVML_MAX_ROWS		50		/* maximum rows before the energy is read, which
						 * takes a few ms */

struct nvml_row {
	uint64_t begin_ns, end_ns;
	float watts, sm_mhz, memory_mhz;	/* the values of the row; NaN if unknown */
};

struct nvml_gpu {
	void *device;			/* NVML's handle; NULL if NVML does not know the GPU */
	struct set set;
	uint64_t last_ns;		/* the end of the latest row */
	struct nvml_row rows[NVML_MAX_ROWS];
	unsigned int nr_rows;
	uint64_t last_mj;		/* the energy used before the waiting rows, in mJ */
	void *gpm[2];			/* two NVML samples; NULL: unused */
	struct set gpm_set;
	uint64_t gpm_ns;		/* when gpm[0] was taken; 0: not taken yet */
};

/* Opens NVML. Return: false, after a message, if there is no NVML. */
bool nvml__open(void);

/*
 * Defines the metrics of the GPU with @uuid and begins the first row. @gpm: also sample the
 * counters that NVML averages over 100 ms. Return: whether these counters are sampled.
 */
bool nvml_gpu__start(struct nvml_gpu *g, const uint8_t uuid[16], bool gpm);

/*
 * Takes a sample, which ends a row. Reading the energy takes some 4 ms of CPU time, so the energy
 * is read once for many rows, and divided among the rows by power and time. The rows are sent only
 * after the energy was divided.
 */
void nvml_gpu__sample(struct nvml_gpu *g);
void nvml_gpu__end(struct nvml_gpu *g);

#endif /* METRICS_NVML_H */
