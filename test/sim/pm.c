// SPDX-License-Identifier: MIT
/*
 * pm.c - PM sampling and its host functions, in libcupti.so, for separate sampler processes
 *
 * A sample's metrics depend on its start n = begin / interval, by CUPTI's clock. Each metric is (7
 * * n + 13 * m) % 101 percent of some peak, where m is its line below or, if it has none, its index
 * in the list. A cycle takes 2/3 ns. XPU_SIM_PM imitates known behavior of CUPTI:
 *
 *	privilege	cuptiPmSamplingEnable fails
 *	busy		another program samples the GPU: cuptiPmSamplingGetCounterAvailability fails
 *	overflow	the hardware buffer holds 20 samples
 *	lacks		the GPU has no NVLink: adding an NVLink metric fails, and spoils the object
 *	passes		more than two metrics take two passes
 *	slow		cuptiPmSamplingEnable takes so long that other GPUs lose samples
 *
 * Samples that do not fit into an image are dropped, as in NVIDIA's library. If the sampler was
 * late because other programs had the CPUs, these samples come in the next image instead, so that a
 * busy machine loses no samples. The host object reads the image of available counters throughout
 * its life.
 */
#include "sim.h"

#if SIM_CUDA_MAJOR >= 13 && __has_include(<cupti_pmsampling.h>)

#include <cupti.h>
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_target.h>
#include <stdio.h>
#include <stdlib.h>

#define IMAGE_MAGIC	0x656c62616c696176ull
#define IMAGE_BYTES	64
#define MAX_NAMES	64
#define SMALL_MEMORY	20

#define CYCLES		1.5		/* per ns */
#define PEAK		528		/* per cycle */

static const char *const known[] = {
	"gr__cycles_active", "sm__cycles_active", "sm__inst_executed_realtime",
	"sm__pipe_tensor_cycles_active_realtime", "dram__read_throughput", "dram__write_throughput",
	"pcie__read_bytes", "pcie__write_bytes", "nvlrx__bytes", "nvltx__bytes",
};

struct CUpti_Profiler_Host_Object {
	const uint8_t *available;
	size_t nr;
	bool spoiled;
	char unit[16];			/* of the metric that was asked for last */
};

struct CUpti_PmSampling_Object {
	uint64_t interval_ns, next_ns;
	uint64_t starved_ns;		/* how long the thread had waited for a CPU at the time when
					 * it had read all samples */
	unsigned int nr_enables;	/* the global nr_enables at the same time */
	bool runs;
};

struct image {
	uint64_t max, nr, interval_ns;
	uint64_t begins[];
};

static unsigned int nr_enables;

static bool is_asked_for(const char *what)
{
	const char *env = getenv("XPU_SIM_PM");

	return env && !strcmp(env, what);
}

static uint64_t now(void)
{
	uint64_t ns = 0;

	cuptiGetTimestamp(&ns);
	return ns;
}

/*
 * Return: how long this thread has waited for a CPU so far, or 0 if the kernel does not count that
 */
static uint64_t starved(void)
{
	FILE *f = fopen("/proc/thread-self/schedstat", "r");
	unsigned long long ns = 0;

	if (f) {
		if (fscanf(f, "%*u %llu", &ns) != 1)
			ns = 0;
		fclose(f);
	}
	return ns;
}

SIM_EXPORT CUptiResult CUPTIAPI cuptiProfilerInitialize(CUpti_Profiler_Initialize_Params *p)
{
	return p->structSize ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

SIM_EXPORT CUptiResult CUPTIAPI cuptiDeviceGetChipName(CUpti_Device_GetChipName_Params *p)
{
	p->pChipName = "SIM100";
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult CUPTIAPI
cuptiPmSamplingGetCounterAvailability(CUpti_PmSampling_GetCounterAvailability_Params *p)
{
	const uint64_t magic = IMAGE_MAGIC;

	if (is_asked_for("busy"))
		return CUPTI_ERROR_HARDWARE_BUSY;
	if (p->pCounterAvailabilityImage)
		memcpy(p->pCounterAvailabilityImage, &magic, sizeof(magic));
	p->counterAvailabilityImageSize = IMAGE_BYTES;
	return CUPTI_SUCCESS;
}

/* ---- the host's functions -------------------------------------------------------------------- */

SIM_EXPORT CUptiResult CUPTIAPI
cuptiProfilerHostInitialize(CUpti_Profiler_Host_Initialize_Params *p)
{
	if (p->profilerType != CUPTI_PROFILER_TYPE_PM_SAMPLING || strcmp(p->pChipName, "SIM100"))
		return CUPTI_ERROR_INVALID_PARAMETER;
	p->pHostObject = calloc(1, sizeof(*p->pHostObject));
	p->pHostObject->available = p->pCounterAvailabilityImage;
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult CUPTIAPI
cuptiProfilerHostDeinitialize(CUpti_Profiler_Host_Deinitialize_Params *p)
{
	memset(p->pHostObject, '#', sizeof(*p->pHostObject));	/* makes the unit's text invalid */
	free(p->pHostObject);
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult CUPTIAPI
cuptiProfilerHostGetMetricProperties(CUpti_Profiler_Host_GetMetricProperties_Params *p)
{
	if (!strstr(p->pMetricName, "__"))
		return CUPTI_ERROR_INVALID_METRIC_NAME;
	p->pDescription = "a metric";
	strcpy(p->pHostObject->unit, strstr(p->pMetricName, "bytes") ? "byte/second" :
	       "percent");
	p->pDimUnit = p->pHostObject->unit;
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult CUPTIAPI
cuptiProfilerHostConfigAddMetrics(CUpti_Profiler_Host_ConfigAddMetrics_Params *p)
{
	struct CUpti_Profiler_Host_Object *host = p->pHostObject;
	uint64_t magic;
	size_t i;

	memcpy(&magic, host->available, sizeof(magic));
	if (magic != IMAGE_MAGIC)
		abort();		/* the image was freed: NVIDIA's library crashes, too */
	for (i = 0; i < p->numMetrics; i++)
		host->spoiled |= is_asked_for("lacks") && !strncmp(p->ppMetricNames[i], "nvl", 3);
	host->nr += p->numMetrics;
	return host->spoiled ? CUPTI_ERROR_UNKNOWN : CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult CUPTIAPI
cuptiProfilerHostGetConfigImageSize(CUpti_Profiler_Host_GetConfigImageSize_Params *p)
{
	p->configImageSize = sizeof(uint64_t);
	return p->pHostObject->spoiled ? CUPTI_ERROR_UNKNOWN : CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult CUPTIAPI
cuptiProfilerHostGetConfigImage(CUpti_Profiler_Host_GetConfigImage_Params *p)
{
	uint64_t nr = p->pHostObject->nr;

	memcpy(p->pConfigImage, &nr, sizeof(nr));
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult CUPTIAPI
cuptiProfilerHostGetNumOfPasses(CUpti_Profiler_Host_GetNumOfPasses_Params *p)
{
	uint64_t nr;

	memcpy(&nr, p->pConfigImage, sizeof(nr));
	p->numOfPasses = is_asked_for("passes") && nr > 2 ? 2 : 1;
	return CUPTI_SUCCESS;
}

static double value_of(const char *name, size_t m, uint64_t n, double ns)
{
	const char *dot = strchr(name, '.');
	double share;
	size_t i;

	if (!strcmp(name, "gpc__cycles_elapsed.max"))
		return ns * CYCLES;
	if (dot && !strcmp(dot, ".sum.peak_sustained"))
		return PEAK;
	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (dot && strlen(known[i]) == (size_t)(dot - name) &&
		    !strncmp(known[i], name, dot - name))
			m = i;
	share = (7 * n + 13 * m) % 101;
	return dot && !strcmp(dot, ".sum") ? share / 100 * PEAK * ns * CYCLES : share;
}

SIM_EXPORT CUptiResult CUPTIAPI
cuptiProfilerHostEvaluateToGpuValues(CUpti_Profiler_Host_EvaluateToGpuValues_Params *p)
{
	const struct image *image = (const void *)p->pCounterDataImage;
	size_t m;

	if (p->rangeIndex >= image->nr || p->numMetrics > MAX_NAMES)
		return CUPTI_ERROR_INVALID_PARAMETER;
	for (m = 0; m < p->numMetrics; m++)
		p->pMetricValues[m] = value_of(p->ppMetricNames[m], m,
					       image->begins[p->rangeIndex] / image->interval_ns,
					       image->interval_ns);
	return CUPTI_SUCCESS;
}

/* ---- sampling -------------------------------------------------------------------------------- */

SIM_EXPORT CUptiResult CUPTIAPI cuptiPmSamplingEnable(CUpti_PmSampling_Enable_Params *p)
{
	if (is_asked_for("privilege"))
		return CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
	nr_enables++;
	p->pPmSamplingObject = calloc(1, sizeof(*p->pPmSamplingObject));
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult CUPTIAPI cuptiPmSamplingDisable(CUpti_PmSampling_Disable_Params *p)
{
	free(p->pPmSamplingObject);
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult CUPTIAPI cuptiPmSamplingSetConfig(CUpti_PmSampling_SetConfig_Params *p)
{
	if (p->triggerMode != CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL ||
	    !p->samplingInterval)
		return CUPTI_ERROR_NOT_SUPPORTED;
	p->pPmSamplingObject->interval_ns = p->samplingInterval;
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult CUPTIAPI
cuptiPmSamplingGetCounterDataSize(CUpti_PmSampling_GetCounterDataSize_Params *p)
{
	p->counterDataSize = sizeof(struct image) + p->maxSamples * sizeof(uint64_t);
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult CUPTIAPI
cuptiPmSamplingCounterDataImageInitialize(CUpti_PmSampling_CounterDataImage_Initialize_Params *p)
{
	struct image *image = (void *)p->pCounterData;

	*image = (struct image){
		.max = (p->counterDataSize - sizeof(*image)) / sizeof(uint64_t),
		.interval_ns = p->pPmSamplingObject->interval_ns,
	};
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult CUPTIAPI cuptiPmSamplingStart(CUpti_PmSampling_Start_Params *p)
{
	p->pPmSamplingObject->runs = true;
	p->pPmSamplingObject->starved_ns = starved();
	p->pPmSamplingObject->nr_enables = nr_enables;
	p->pPmSamplingObject->next_ns = now();
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult CUPTIAPI cuptiPmSamplingStop(CUpti_PmSampling_Stop_Params *p)
{
	p->pPmSamplingObject->runs = false;
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult CUPTIAPI cuptiPmSamplingDecodeData(CUpti_PmSampling_DecodeData_Params *p)
{
	struct CUpti_PmSampling_Object *o = p->pPmSamplingObject;
	struct image *image = (void *)p->pCounterDataImage;
	uint64_t end = now(), waited_ns = starved(), nr = 0;

	p->overflow = 0;
	p->decodeStopReason = CUPTI_PM_SAMPLING_DECODE_STOP_REASON_END_OF_RECORDS;
	if (is_asked_for("slow") && o->nr_enables != nr_enables) {
		p->overflow = 1;
		o->next_ns = end;
	}
	o->nr_enables = nr_enables;
	for (; o->next_ns + o->interval_ns <= end; o->next_ns += o->interval_ns) {
		if (image->nr == image->max) {
			p->decodeStopReason =
				CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL;
			if (is_asked_for("slow") || end - o->next_ns <= waited_ns - o->starved_ns)
				return CUPTI_SUCCESS;
			o->next_ns = end;
			break;
		}
		if (is_asked_for("overflow") && nr == SMALL_MEMORY) {
			p->overflow = 1;
			o->next_ns = end;
			break;
		}
		image->begins[image->nr++] = o->next_ns;
		nr++;
	}
	o->starved_ns = waited_ns;
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult CUPTIAPI
cuptiPmSamplingGetCounterDataInfo(CUpti_PmSampling_GetCounterDataInfo_Params *p)
{
	const struct image *image = (const void *)p->pCounterDataImage;

	p->numTotalSamples = image->max;
	p->numPopulatedSamples = p->numCompletedSamples = image->nr;
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult CUPTIAPI
cuptiPmSamplingCounterDataGetSampleInfo(CUpti_PmSampling_CounterData_GetSampleInfo_Params *p)
{
	const struct image *image = (const void *)p->pCounterDataImage;

	if (p->sampleIndex >= image->nr)
		return CUPTI_ERROR_INVALID_PARAMETER;
	p->startTimestamp = image->begins[p->sampleIndex];
	p->endTimestamp = p->startTimestamp + image->interval_ns;
	return CUPTI_SUCCESS;
}

#endif
