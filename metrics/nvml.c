// SPDX-License-Identifier: MIT
#include "nvml.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libraries.h"
#include "metrics_clock.h"
#include "util.h"

#define CLOCK_SM	1
#define CLOCK_MEMORY	2
#define GPM_VERSION	1
#define UUID_TEXT	96

enum { POWER, ENERGY, SM_CLOCK, MEMORY_CLOCK, NR_FIGURES };

static const struct metric figures[] = {
	[POWER]	       = { "power", "W", XPU_METRIC_MEAN },
	[ENERGY]       = { "energy", "J", XPU_METRIC_SUM },
	[SM_CLOCK]     = { "SM clock", "MHz", XPU_METRIC_MEAN },
	[MEMORY_CLOCK] = { "mem clock", "MHz", XPU_METRIC_MEAN },
};

/* Metric ids of NVML's reference, and the factors that convert NVML's values to our units. */
static const struct {
	unsigned int id;
	double factor;
	struct metric metric;
} gpm_metrics[] = {
	{ 1, 1, { "GR active", "%", XPU_METRIC_MEAN } },
	{ 2, 1, { "SM active", "%", XPU_METRIC_MEAN } },
	{ 3, 1, { "occupancy", "%", XPU_METRIC_MEAN } },
	{ 5, 1, { "tensor", "%", XPU_METRIC_MEAN } },
	{ 10, 1, { "DRAM", "%", XPU_METRIC_MEAN } },
	{ 21, 1.048576e-3, { "PCIe in", "GB/s", XPU_METRIC_MEAN } },
	{ 20, 1.048576e-3, { "PCIe out", "GB/s", XPU_METRIC_MEAN } },
	{ 60, 1.048576e-3, { "NVLink in", "GB/s", XPU_METRIC_MEAN } },
	{ 61, 1.048576e-3, { "NVLink out", "GB/s", XPU_METRIC_MEAN } },
};

struct gpm_metric {
	unsigned int id;
	int result;
	double value;
	struct { char *short_name, *long_name, *unit; } info;
};

struct gpm_get {
	unsigned int version, nr;
	void *from, *to;
	struct gpm_metric metrics[ARRAY_SIZE(gpm_metrics)];
};

struct gpm_support { unsigned int version, is_supported; };

static struct {
	int (*init)(void);
	int (*count)(unsigned int *nr);
	int (*device)(unsigned int index, void **device);
	int (*uuid)(void *device, char *text, unsigned int bytes);
	int (*power)(void *device, unsigned int *mw);
	int (*energy)(void *device, unsigned long long *mj);
	int (*clock)(void *device, int which, unsigned int *mhz);
	int (*gpm_support)(void *device, struct gpm_support *support);
	int (*gpm_alloc)(void **sample);
	int (*gpm_free)(void *sample);
	int (*gpm_take)(void *device, void *sample);
	int (*gpm_get)(struct gpm_get *get);
} nvml;

bool nvml__open(void)
{
	static const struct function functions[] = {
		{ &nvml.init, "nvmlInit_v2", false },
		{ &nvml.count, "nvmlDeviceGetCount_v2", false },
		{ &nvml.device, "nvmlDeviceGetHandleByIndex_v2", false },
		{ &nvml.uuid, "nvmlDeviceGetUUID", false },
		{ &nvml.power, "nvmlDeviceGetPowerUsage", false },
		{ &nvml.energy, "nvmlDeviceGetTotalEnergyConsumption", false },
		{ &nvml.clock, "nvmlDeviceGetClockInfo", false },
		{ &nvml.gpm_support, "nvmlGpmQueryDeviceSupport", true },
		{ &nvml.gpm_alloc, "nvmlGpmSampleAlloc", true },
		{ &nvml.gpm_free, "nvmlGpmSampleFree", true },
		{ &nvml.gpm_take, "nvmlGpmSampleGet", true },
		{ &nvml.gpm_get, "nvmlGpmMetricsGet", true },
	};
	void *library = library__open("libnvidia-ml.so.1");
	const char *missing = library ?
			      library__functions(library, functions, ARRAY_SIZE(functions)) : NULL;
	int err;

	if (!library || missing) {
		sink__message(XPU_MESSAGE_WARNING, "no power and energy: %s", missing ?
			      "libnvidia-ml.so.1 is too old" : "libnvidia-ml.so.1 is missing");
		return false;
	}
	err = nvml.init();
	if (err)
		sink__message(XPU_MESSAGE_WARNING, "no power and energy: nvmlInit: error %d", err);
	return !err;
}

/* Return: whether NVML's text, "GPU-" and 32 hexadecimal digits with dashes, is this UUID. */
static bool is_uuid(const char *text, const uint8_t uuid[16])
{
	unsigned int byte, i;

	text += strncmp(text, "GPU-", 4) ? 0 : 4;
	for (i = 0; i < 16; i++) {
		text += *text == '-';
		if (sscanf(text, "%2x", &byte) != 1 || byte != uuid[i])
			return false;
		text += 2;
	}
	return true;
}

static void *find_device(const uint8_t uuid[16])
{
	char text[UUID_TEXT];
	unsigned int nr = 0, i;
	void *device;

	if (nvml.count(&nr))
		return NULL;
	for (i = 0; i < nr; i++)
		if (!nvml.device(i, &device) && !nvml.uuid(device, text, sizeof(text)) &&
		    is_uuid(text, uuid))
			return device;
	return NULL;
}

static bool start_gpm(struct nvml_gpu *g, const uint8_t uuid[16])
{
	struct metric metrics[ARRAY_SIZE(gpm_metrics)];
	struct gpm_support support = { GPM_VERSION, 0 };
	size_t i;

	if (!nvml.gpm_support || !nvml.gpm_alloc || !nvml.gpm_free || !nvml.gpm_take ||
	    !nvml.gpm_get || nvml.gpm_support(g->device, &support) || !support.is_supported ||
	    nvml.gpm_alloc(&g->gpm[0]))
		return false;
	if (nvml.gpm_alloc(&g->gpm[1])) {
		nvml.gpm_free(g->gpm[0]);
		return false;
	}
	for (i = 0; i < ARRAY_SIZE(metrics); i++)
		metrics[i] = gpm_metrics[i].metric;
	set__define(&g->gpm_set, uuid, metrics, ARRAY_SIZE(metrics), NVML_INTERVAL_NS);
	return true;
}

bool nvml_gpu__start(struct nvml_gpu *g, const uint8_t uuid[16], bool gpm)
{
	unsigned long long mj;

	*g = (struct nvml_gpu){ .device = find_device(uuid) };
	if (!g->device)
		return false;
	if (!nvml.energy(g->device, &mj))
		g->last_mj = mj;
	set__define(&g->set, uuid, figures, NR_FIGURES, NVML_INTERVAL_NS);
	nvml_gpu__sample(g);
	return gpm && start_gpm(g, uuid);
}

static void sample_gpm(struct nvml_gpu *g)
{
	struct gpm_get get = { .version = GPM_VERSION, .nr = ARRAY_SIZE(gpm_metrics) };
	float values[ARRAY_SIZE(gpm_metrics)];
	uint64_t ns = clock__now();
	void *sample;
	size_t i;

	/* NVML returns no values for intervals below 100 ms. */
	if (g->gpm_ns && ns - g->gpm_ns < NVML_INTERVAL_NS)
		return;
	if (nvml.gpm_take(g->device, g->gpm[1]))
		return;
	get.from = g->gpm[0];
	get.to = g->gpm[1];
	for (i = 0; i < ARRAY_SIZE(gpm_metrics); i++)
		get.metrics[i].id = gpm_metrics[i].id;
	if (g->gpm_ns && !nvml.gpm_get(&get)) {
		for (i = 0; i < ARRAY_SIZE(gpm_metrics); i++)
			values[i] = get.metrics[i].result ? NAN :
				    get.metrics[i].value * gpm_metrics[i].factor;
		set__row(&g->gpm_set, g->gpm_ns, ns, values);
	}
	g->gpm_ns = ns;
	sample = g->gpm[0];
	g->gpm[0] = g->gpm[1];
	g->gpm[1] = sample;
}

static float clock_of(const struct nvml_gpu *g, int which)
{
	unsigned int mhz;

	return nvml.clock(g->device, which, &mhz) ? NAN : mhz;
}

static double weight_of(const struct nvml_row *row)
{
	return (row->end_ns - row->begin_ns) * (row->watts > 0 ? (double)row->watts : 1);
}

static void send_rows(struct nvml_gpu *g)
{
	double weights = 0, joules = NAN;
	float values[NR_FIGURES];
	unsigned long long mj;
	unsigned int i;

	for (i = 0; i < g->nr_rows; i++)
		weights += weight_of(&g->rows[i]);
	if (!nvml.energy(g->device, &mj)) {
		joules = mj > g->last_mj ? (mj - g->last_mj) / 1e3 : 0;
		g->last_mj = mj;
	}
	for (i = 0; i < g->nr_rows; i++) {
		values[POWER] = g->rows[i].watts;
		values[ENERGY] = joules * weight_of(&g->rows[i]) / weights;
		values[SM_CLOCK] = g->rows[i].sm_mhz;
		values[MEMORY_CLOCK] = g->rows[i].memory_mhz;
		set__row(&g->set, g->rows[i].begin_ns, g->rows[i].end_ns, values);
	}
	g->nr_rows = 0;
	set__flush(&g->set);
}

void nvml_gpu__sample(struct nvml_gpu *g)
{
	uint64_t ns = clock__now();
	unsigned int mw;

	if (!g->device)
		return;
	if (g->last_ns && ns > g->last_ns)
		g->rows[g->nr_rows++] = (struct nvml_row){
			.begin_ns = g->last_ns, .end_ns = ns,
			.watts = nvml.power(g->device, &mw) ? NAN : mw / 1e3f,
			.sm_mhz = clock_of(g, CLOCK_SM), .memory_mhz = clock_of(g, CLOCK_MEMORY),
		};
	g->last_ns = ns;
	if (g->nr_rows == NVML_MAX_ROWS)
		send_rows(g);
	if (g->gpm[0])
		sample_gpm(g);
	set__flush(&g->gpm_set);
}

void nvml_gpu__end(struct nvml_gpu *g)
{
	if (!g->device)
		return;
	nvml_gpu__sample(g);
	if (g->nr_rows)
		send_rows(g);
	set__end(&g->set);
	set__end(&g->gpm_set);
}
