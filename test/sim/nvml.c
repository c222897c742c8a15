// SPDX-License-Identifier: MIT
/*
 * nvml.c - libnvidia-ml.so.1 of the simulated GPUs
 *
 * Each GPU always draws 200 W, and its energy counter changes every 90 ms. GPM counters are
 * constant, but over an interval of less than 100 ms they are NaN. With XPU_SIM_NVML=old, the GPUs
 * do not support GPM.
 */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "uuid.h"

#define EXPORT		__attribute__((visibility("default")))
#define MAX_GPUS	8
#define WATTS		200
#define STEP_NS		90000000ull
#define SHORT_NS	100000000ull
#define NOT_SUPPORTED	3
#define INVALID		2

static char gpus[MAX_GPUS];

struct sample { uint64_t ns; };

struct metric {
	unsigned int id;
	int result;
	double value;
	struct { char *short_name, *long_name, *unit; } info;
};

struct get {
	unsigned int version, nr;
	struct sample *from, *to;
	struct metric metrics[];
};

int nvmlInit_v2(void);
int nvmlDeviceGetCount_v2(unsigned int *nr);
int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **device);
int nvmlDeviceGetUUID(const char *device, char *text, unsigned int bytes);
int nvmlDeviceGetPowerUsage(void *device, unsigned int *mw);
int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *mj);
int nvmlDeviceGetClockInfo(void *device, int which, unsigned int *mhz);
int nvmlGpmQueryDeviceSupport(void *device, unsigned int support[2]);
int nvmlGpmSampleAlloc(struct sample **sample);
int nvmlGpmSampleFree(struct sample *sample);
int nvmlGpmSampleGet(void *device, struct sample *sample);
int nvmlGpmMetricsGet(struct get *get);

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

EXPORT int nvmlInit_v2(void)
{
	return 0;
}

EXPORT int nvmlDeviceGetCount_v2(unsigned int *nr)
{
	*nr = MAX_GPUS;
	return 0;
}

EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **device)
{
	if (index >= MAX_GPUS)
		return INVALID;
	*device = &gpus[index];
	return 0;
}

EXPORT int nvmlDeviceGetUUID(const char *device, char *text, unsigned int bytes)
{
	char all[64] = "GPU-", uuid[16];
	int i;

	sim_uuid(uuid, (int)(device - gpus));
	for (i = 0; i < 16; i++)
		sprintf(all + strlen(all), "%s%02x",
			i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", (unsigned char)uuid[i]);
	snprintf(text, bytes, "%s", all);
	return 0;
}

EXPORT int nvmlDeviceGetPowerUsage(void *device, unsigned int *mw)
{
	(void)device;
	*mw = WATTS * 1000;
	return 0;
}

EXPORT int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *mj)
{
	(void)device;
	*mj = now_ns() / STEP_NS * (STEP_NS / 1000000 * WATTS);
	return 0;
}

EXPORT int nvmlDeviceGetClockInfo(void *device, int which, unsigned int *mhz)
{
	(void)device;
	*mhz = which == 1 ? 1755 : 2619;
	return which == 1 || which == 2 ? 0 : INVALID;
}

EXPORT int nvmlGpmQueryDeviceSupport(void *device, unsigned int support[2])
{
	const char *env = getenv("XPU_SIM_NVML");

	(void)device;
	support[1] = !env || strcmp(env, "old");
	return support[0] == 1 ? 0 : INVALID;
}

EXPORT int nvmlGpmSampleAlloc(struct sample **sample)
{
	*sample = calloc(1, sizeof(**sample));
	return 0;
}

EXPORT int nvmlGpmSampleFree(struct sample *sample)
{
	free(sample);
	return 0;
}

EXPORT int nvmlGpmSampleGet(void *device, struct sample *sample)
{
	(void)device;
	sample->ns = now_ns();
	return 0;
}

EXPORT int nvmlGpmMetricsGet(struct get *get)
{
	unsigned int i;

	if (get->version != 1)
		return INVALID;
	for (i = 0; i < get->nr; i++) {
		get->metrics[i].result = get->metrics[i].id < 60 ? 0 : NOT_SUPPORTED;
		get->metrics[i].value = get->to->ns - get->from->ns < SHORT_NS ?
					NAN : get->metrics[i].id;
	}
	return 0;
}
