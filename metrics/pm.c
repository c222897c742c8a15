// SPDX-License-Identifier: MIT
#include "pm.h"

#if __has_include(<cupti_pmsampling.h>) && __has_include(<cupti_profiler_host.h>)

#include <cupti.h>
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_result.h>
#include <cupti_target.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libraries.h"
#include "metrics_clock.h"
#include "util.h"

#define HARDWARE_BYTES	(64u << 20)
#define CYCLES_PER_NS	1.4		/* roughly, for GPUs that cannot sample by time */

#define PERCENT		".avg.pct_of_peak_sustained_elapsed"
#define PEAK		".peak_sustained"
#define CYCLES		"gpc__cycles_elapsed.max"

/*
 * The default metrics fit into one pass on every GPU that has them. A GPU may lack some of them.
 * CUPTI's own percentage of an SM metric would need one more counter in each SM, for cycles;
 * PM_OF_PEAK uses the cycles of the SMs' common clock.
 */
static const struct {
	const char *name;
	enum pm_column column;
	double factor;
	struct metric metric;
} defaults[] = {
	{ "gr__cycles_active" PERCENT, PM_VALUE, 1, { "GR active", "%", XPU_METRIC_MEAN } },
	{ "sm__cycles_active.sum", PM_OF_PEAK, 100, { "SM active", "%", XPU_METRIC_MEAN } },
	{ "sm__inst_executed_realtime.sum", PM_OF_PEAK, 100, { "SM issue", "%", XPU_METRIC_MEAN } },
	{ "sm__pipe_tensor_cycles_active_realtime.sum", PM_OF_PEAK, 100,
	  { "tensor", "%", XPU_METRIC_MEAN } },
	{ "dram__read_throughput" PERCENT, PM_VALUE, 1, { "DRAM read", "%", XPU_METRIC_MEAN } },
	{ "dram__write_throughput" PERCENT, PM_VALUE, 1, { "DRAM write", "%", XPU_METRIC_MEAN } },
	{ "pcie__read_bytes.sum", PM_PER_NS, 1, { "PCIe in", "GB/s", XPU_METRIC_MEAN } },
	{ "pcie__write_bytes.sum", PM_PER_NS, 1, { "PCIe out", "GB/s", XPU_METRIC_MEAN } },
	{ "nvlrx__bytes.sum", PM_PER_NS, 1, { "NVLink in", "GB/s", XPU_METRIC_MEAN } },
	{ "nvltx__bytes.sum", PM_PER_NS, 1, { "NVLink out", "GB/s", XPU_METRIC_MEAN } },
	{ CYCLES, PM_PER_NS, 1e3, { "GPC clock", "MHz", XPU_METRIC_MEAN } },
};

#define FUNCTIONS(X)								\
	X(cuptiProfilerInitialize) X(cuptiDeviceGetChipName)			\
	X(cuptiProfilerHostInitialize) X(cuptiProfilerHostDeinitialize)		\
	X(cuptiProfilerHostGetMetricProperties) X(cuptiProfilerHostConfigAddMetrics) \
	X(cuptiProfilerHostGetConfigImageSize) X(cuptiProfilerHostGetConfigImage) \
	X(cuptiProfilerHostGetNumOfPasses) X(cuptiProfilerHostEvaluateToGpuValues) \
	X(cuptiPmSamplingGetCounterAvailability) X(cuptiPmSamplingEnable)	\
	X(cuptiPmSamplingDisable) X(cuptiPmSamplingSetConfig)			\
	X(cuptiPmSamplingGetCounterDataSize) X(cuptiPmSamplingCounterDataImageInitialize) \
	X(cuptiPmSamplingStart) X(cuptiPmSamplingStop) X(cuptiPmSamplingDecodeData) \
	X(cuptiPmSamplingGetCounterDataInfo) X(cuptiPmSamplingCounterDataGetSampleInfo) \
	X(cuptiGetTimestamp) X(cuptiGetResultString)

static struct {
#define MEMBER(fn)	__typeof__(&fn) fn;
	FUNCTIONS(MEMBER)
#undef MEMBER
} cupti;

#define PARAMS(type, ...)	(&(type){ .structSize = type##_STRUCT_SIZE, __VA_ARGS__ })

static const char *text_of(CUptiResult err)
{
	const char *text = NULL;

	cupti.cuptiGetResultString(err, &text);
	return text ?: "unknown error";
}

static const char *reason_of(CUptiResult err)
{
	switch (err) {
	case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
		return ": the driver reserves them for root (NVreg_RestrictProfilingToAdminUsers)";
	case CUPTI_ERROR_HARDWARE_BUSY:
		return ": another program samples them";
	default:
		return "";
	}
}

bool pm__open(int major)
{
	static const struct function functions[] = {
#define ENTRY(fn)	{ &cupti.fn, #fn, false },
		FUNCTIONS(ENTRY)
#undef ENTRY
	};
	void *library = library__open_cupti(major);
	const char *missing = library ?
			      library__functions(library, functions, ARRAY_SIZE(functions)) : NULL;
	CUptiResult err;

	if (!library || missing) {
		sink__message(XPU_MESSAGE_WARNING, missing ?
			      "no GPU metrics by CUPTI: it is older than 12.6 (no %s)" :
			      "no GPU metrics by CUPTI: libcupti is missing%s", missing ?: "");
		return false;
	}
	err = cupti.cuptiProfilerInitialize(PARAMS(CUpti_Profiler_Initialize_Params));
	if (err != CUPTI_SUCCESS)
		sink__message(XPU_MESSAGE_WARNING, "no GPU metrics by CUPTI: %s", text_of(err));
	return err == CUPTI_SUCCESS;
}

/* ---- choosing -------------------------------------------------------------------------------- */

/* Reads which counters the GPU has. */
static CUptiResult read_available(struct pm_gpu *g, unsigned int index)
{
	CUpti_Device_GetChipName_Params *chip =
		PARAMS(CUpti_Device_GetChipName_Params, .deviceIndex = index);
	CUpti_PmSampling_GetCounterAvailability_Params *counters =
		PARAMS(CUpti_PmSampling_GetCounterAvailability_Params, .deviceIndex = index);
	CUptiResult err;

	err = cupti.cuptiDeviceGetChipName(chip) ?:
	      cupti.cuptiPmSamplingGetCounterAvailability(counters);
	if (err)
		return err;
	g->chip = chip->pChipName;
	g->available = calloc(1, counters->counterAvailabilityImageSize);
	counters->pCounterAvailabilityImage = g->available;
	return g->available ? cupti.cuptiPmSamplingGetCounterAvailability(counters) :
			      CUPTI_ERROR_OUT_OF_MEMORY;
}

static CUptiResult open_host(const struct pm_gpu *g, CUpti_Profiler_Host_Object **host)
{
	CUpti_Profiler_Host_Initialize_Params *p =
		PARAMS(CUpti_Profiler_Host_Initialize_Params,
		       .profilerType = CUPTI_PROFILER_TYPE_PM_SAMPLING, .pChipName = g->chip,
		       .pCounterAvailabilityImage = g->available);
	CUptiResult err = cupti.cuptiProfilerHostInitialize(p);

	*host = p->pHostObject;
	return err;
}

static void close_host(CUpti_Profiler_Host_Object *host)
{
	cupti.cuptiProfilerHostDeinitialize(PARAMS(CUpti_Profiler_Host_Deinitialize_Params,
						   .pHostObject = host));
}

static CUptiResult add_metrics(CUpti_Profiler_Host_Object *host, const char **names, size_t nr)
{
	return cupti.cuptiProfilerHostConfigAddMetrics(
		PARAMS(CUpti_Profiler_Host_ConfigAddMetrics_Params, .pHostObject = host,
		       .ppMetricNames = names, .numMetrics = nr));
}

/* Return: an allocated copy of CUPTI's @unit, with short words for percent and seconds; or NULL. */
static char *unit_of(const char *unit)
{
	char *text = strdup(!unit || !strcmp(unit, "percent") ? "%" : unit);
	char *second = text ? strstr(text, "/second") : NULL;

	if (second)
		strcpy(second, "/s");
	return text;
}

/*
 * Whether the GPU has a metric. It may lack a metric, such as NVLink traffic, that other GPUs with
 * this chip have. Adding a missing metric fails and makes the host object useless, so each metric
 * is tried with a new object. @unit, if not NULL, is set to an allocated copy of the metric's unit,
 * because CUPTI's own text ends with the object.
 */
static bool has_metric(const struct pm_gpu *g, const char *name, char **unit)
{
	CUpti_Profiler_Host_GetMetricProperties_Params *p;
	CUpti_Profiler_Host_Object *host;
	CUptiResult err = open_host(g, &host);

	if (err)
		return false;
	p = PARAMS(CUpti_Profiler_Host_GetMetricProperties_Params, .pHostObject = host,
		   .pMetricName = name);
	err = cupti.cuptiProfilerHostGetMetricProperties(p) ?: add_metrics(host, &name, 1);
	if (!err && unit)
		*unit = unit_of(p->pDimUnit);
	close_host(host);
	return !err;
}

static void add_column(struct pm_gpu *g, const char *name, enum pm_column column, double factor)
{
	g->names[g->nr] = name;
	g->columns[g->nr] = column;
	g->factors[g->nr++] = factor;
}

/*
 * Chooses the default metrics that the GPU has. A metric that is a share of a peak also needs the
 * peak, which is read once, and the cycles of each sample.
 */
static bool choose_defaults(struct pm_gpu *g, struct metric *metrics)
{
	size_t i, len;
	char *peak;
	bool has_cycles = has_metric(g, CYCLES, NULL);

	for (i = 0; i < ARRAY_SIZE(defaults); i++) {
		if (!has_metric(g, defaults[i].name, NULL) ||
		    (defaults[i].column == PM_OF_PEAK && !has_cycles))
			continue;
		metrics[g->nr] = defaults[i].metric;
		add_column(g, defaults[i].name, defaults[i].column, defaults[i].factor);
	}
	for (i = 0; i < g->nr; i++) {
		g->cycles = strcmp(g->names[i], CYCLES) ? g->cycles : i;
		len = strlen(g->names[i]) + sizeof(PEAK);
		if (g->columns[i] != PM_OF_PEAK)
			continue;
		peak = malloc(len);
		if (!peak)
			return false;
		snprintf(peak, len, "%s" PEAK, g->names[i]);
		g->names[g->nr + g->nr_peaks++] = peak;
	}
	if (!g->nr)
		sink__message(XPU_MESSAGE_WARNING,
			      "no GPU metrics by CUPTI: %s has none of the default "
			      "metrics", g->chip);
	return g->nr;
}

static bool choose(struct pm_gpu *g, const char *const *names, struct metric *metrics)
{
	char *unit;

	if (!names)
		return choose_defaults(g, metrics);
	for (; *names && g->nr < XPU_MAX_METRICS; names++) {
		if (!has_metric(g, *names, &unit)) {
			sink__message(XPU_MESSAGE_WARNING,
				      "no GPU metrics by CUPTI: this GPU has no %s", *names);
			return false;
		}
		metrics[g->nr] = (struct metric){ *names, unit ?: "", XPU_METRIC_MEAN };
		add_column(g, *names, PM_VALUE, 1);
	}
	return true;
}

/* Makes CUPTI's image of the counters to collect. Return: 0 or CUPTI's error. */
static CUptiResult make_config(struct pm_gpu *g, size_t *nr_passes)
{
	CUpti_Profiler_Host_GetConfigImageSize_Params *size =
		PARAMS(CUpti_Profiler_Host_GetConfigImageSize_Params, .pHostObject = g->host);
	CUpti_Profiler_Host_GetNumOfPasses_Params *passes;
	CUptiResult err;

	err = add_metrics(g->host, g->names, g->nr + g->nr_peaks) ?:
	      cupti.cuptiProfilerHostGetConfigImageSize(size);
	if (err)
		return err;
	g->config_bytes = size->configImageSize;
	g->config = calloc(1, g->config_bytes);
	if (!g->config)
		return CUPTI_ERROR_OUT_OF_MEMORY;
	err = cupti.cuptiProfilerHostGetConfigImage(
		PARAMS(CUpti_Profiler_Host_GetConfigImage_Params, .pHostObject = g->host,
		       .configImageSize = g->config_bytes, .pConfigImage = g->config));
	passes = PARAMS(CUpti_Profiler_Host_GetNumOfPasses_Params,
			.configImageSize = g->config_bytes, .pConfigImage = g->config);
	err = err ?: cupti.cuptiProfilerHostGetNumOfPasses(passes);
	*nr_passes = passes->numOfPasses;
	return err;
}

/* ---- starting -------------------------------------------------------------------------------- */

/*
 * Makes g->data ready for max_samples samples. It is called each time after CUPTI has filled
 * g->data.
 */
static CUptiResult empty_data(struct pm_gpu *g)
{
	return cupti.cuptiPmSamplingCounterDataImageInitialize(
		PARAMS(CUpti_PmSampling_CounterDataImage_Initialize_Params,
		       .pPmSamplingObject = g->sampling, .counterDataSize = g->data_bytes,
		       .pCounterData = g->data));
}

static CUptiResult set_config(struct pm_gpu *g, CUpti_PmSampling_TriggerMode trigger,
			      uint64_t interval)
{
	return cupti.cuptiPmSamplingSetConfig(PARAMS(
		CUpti_PmSampling_SetConfig_Params, .pPmSamplingObject = g->sampling,
		.configSize = g->config_bytes, .pConfig = g->config,
		.hardwareBufferSize = HARDWARE_BYTES, .samplingInterval = interval,
		.triggerMode = trigger,
		.hwBufferAppendMode = CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_OLDEST));
}

static CUptiResult enable_sampling(struct pm_gpu *g, unsigned int index, const char **what)
{
	CUpti_PmSampling_Enable_Params *enable =
		PARAMS(CUpti_PmSampling_Enable_Params, .deviceIndex = index);
	CUpti_PmSampling_GetCounterDataSize_Params *size;
	CUptiResult err = cupti.cuptiPmSamplingEnable(enable);

	*what = "cuptiPmSamplingEnable: ";
	if (err)
		return err;
	g->sampling = enable->pPmSamplingObject;
	*what = "cuptiPmSamplingSetConfig: ";
	err = set_config(g, CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL, g->interval_ns);
	if (err)
		err = set_config(g, CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_SYSCLK_INTERVAL,
				 g->interval_ns * CYCLES_PER_NS);
	size = PARAMS(CUpti_PmSampling_GetCounterDataSize_Params, .pPmSamplingObject = g->sampling,
		      .pMetricNames = g->names, .numMetrics = g->nr + g->nr_peaks,
		      .maxSamples = g->max_samples);
	if (!err)
		*what = "cuptiPmSamplingGetCounterDataSize: ";
	err = err ?: cupti.cuptiPmSamplingGetCounterDataSize(size);
	if (err)
		return err;
	g->data_bytes = size->counterDataSize;
	g->data = calloc(1, g->data_bytes);
	return g->data ? empty_data(g) : CUPTI_ERROR_OUT_OF_MEMORY;
}

static void refuse(unsigned int index, const char *what, CUptiResult err)
{
	sink__message(XPU_MESSAGE_WARNING, "no GPU metrics by CUPTI: GPU %u: %s%s%s", index, what,
		      text_of(err), reason_of(err));
}

bool pm_gpu__prepare(struct pm_gpu *g, unsigned int index, const uint8_t uuid[16],
		     uint64_t interval_ns, unsigned int max_samples, const char *const *names)
{
	CUpti_Profiler_Host_Object *host = NULL;
	struct metric metrics[XPU_MAX_METRICS];
	const char *what = "";
	size_t nr_passes = 0;
	CUptiResult err;

	*g = (struct pm_gpu){ .interval_ns = interval_ns, .max_samples = max_samples };
	err = read_available(g, index) ?: open_host(g, &host);
	g->host = host;
	if (!err && !choose(g, names, metrics))
		return false;
	err = err ?: make_config(g, &nr_passes);
	if (!err && nr_passes != 1) {
		sink__message(XPU_MESSAGE_WARNING,
			      "no GPU metrics by CUPTI: these take %zu passes, but only 1 is "
			      "possible: name fewer metrics",
			      nr_passes);
		return false;
	}
	err = err ?: enable_sampling(g, index, &what);
	if (err) {
		refuse(index, what, err);
		return false;
	}
	set__define(&g->set, uuid, metrics, g->nr, interval_ns);
	g->ready = true;
	return true;
}

void pm_gpu__start(struct pm_gpu *g, unsigned int index)
{
	CUptiResult err;

	if (!g->ready)
		return;
	err = cupti.cuptiPmSamplingStart(PARAMS(CUpti_PmSampling_Start_Params,
						.pPmSamplingObject = g->sampling));
	if (err)
		refuse(index, "cuptiPmSamplingStart: ", err);
	g->running = !err;
}

/* ---- sampling -------------------------------------------------------------------------------- */

/*
 * Return: how many ns to add to a CUPTI timestamp to get CLOCK_MONOTONIC. The clocks drift, so read
 * this often.
 */
static int64_t read_clocks(void)
{
	uint64_t before_ns = clock__now(), ns = 0;

	cupti.cuptiGetTimestamp(&ns);
	return before_ns + (clock__now() - before_ns) / 2 - ns;
}

static bool evaluate(struct pm_gpu *g, size_t i, const char **names, size_t nr, double *values)
{
	return !cupti.cuptiProfilerHostEvaluateToGpuValues(
		PARAMS(CUpti_Profiler_Host_EvaluateToGpuValues_Params, .pHostObject = g->host,
		       .pCounterDataImage = g->data, .counterDataImageSize = g->data_bytes,
		       .rangeIndex = i, .ppMetricNames = names, .numMetrics = nr,
		       .pMetricValues = values));
}

static void forget_peaks(struct pm_gpu *g)
{
	while (g->nr_peaks)
		free((char *)g->names[g->nr + --g->nr_peaks]);
}

/* Read peaks only from the first sample, since they are the same in all samples. */
static bool read_peaks(struct pm_gpu *g, size_t i)
{
	double values[XPU_MAX_METRICS];
	unsigned int m, peak = 0;

	if (!g->nr_peaks)
		return true;
	if (!evaluate(g, i, g->names + g->nr, g->nr_peaks, values))
		return false;
	for (m = 0; m < g->nr; m++)
		if (g->columns[m] == PM_OF_PEAK)
			g->factors[m] /= values[peak++];
	forget_peaks(g);
	return true;
}

static double column_of(const struct pm_gpu *g, unsigned int m, const double *values, double ns)
{
	switch (g->columns[m]) {
	case PM_OF_PEAK:
		return values[m] * g->factors[m] / values[g->cycles];
	case PM_PER_NS:
		return values[m] * g->factors[m] / ns;
	default:
		return values[m] * g->factors[m];
	}
}

static void send_sample(struct pm_gpu *g, size_t i, int64_t shift_ns)
{
	CUpti_PmSampling_CounterData_GetSampleInfo_Params *info =
		PARAMS(CUpti_PmSampling_CounterData_GetSampleInfo_Params,
		       .pPmSamplingObject = g->sampling, .pCounterDataImage = g->data,
		       .counterDataImageSize = g->data_bytes, .sampleIndex = i);
	double values[XPU_MAX_METRICS];
	float row[XPU_MAX_METRICS];
	unsigned int m;

	if (cupti.cuptiPmSamplingCounterDataGetSampleInfo(info) || !read_peaks(g, i) ||
	    !evaluate(g, i, g->names, g->nr, values))
		return;
	for (m = 0; m < g->nr; m++)
		row[m] = column_of(g, m, values, info->endTimestamp - info->startTimestamp);
	set__row(&g->set, info->startTimestamp + shift_ns, info->endTimestamp + shift_ns, row);
}

/* Drains the samples that CUPTI has now. Return: whether more samples may be waiting. */
static bool drain_once(struct pm_gpu *g)
{
	CUpti_PmSampling_DecodeData_Params *decode =
		PARAMS(CUpti_PmSampling_DecodeData_Params, .pPmSamplingObject = g->sampling,
		       .pCounterDataImage = g->data, .counterDataImageSize = g->data_bytes);
	CUpti_PmSampling_GetCounterDataInfo_Params *info =
		PARAMS(CUpti_PmSampling_GetCounterDataInfo_Params, .pCounterDataImage = g->data,
		       .counterDataImageSize = g->data_bytes);
	int64_t shift_ns = read_clocks();
	size_t i;
	CUptiResult err = cupti.cuptiPmSamplingDecodeData(decode);

	if (!err || err == CUPTI_ERROR_OUT_OF_MEMORY)
		g->set.account.nr_overflows += decode->overflow || err;
	err = err ?: cupti.cuptiPmSamplingGetCounterDataInfo(info);
	if (err)
		return false;
	for (i = 0; i < info->numCompletedSamples; i++)
		send_sample(g, i, shift_ns);
	return !empty_data(g) &&
	       decode->decodeStopReason == CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL;
}

void pm_gpu__drain(struct pm_gpu *g)
{
	while (g->running && drain_once(g))
		;
	if (g->running)
		set__flush(&g->set);
}

void pm_gpu__stop(struct pm_gpu *g)
{
	if (!g->running)
		return;
	cupti.cuptiPmSamplingStop(PARAMS(CUpti_PmSampling_Stop_Params,
					 .pPmSamplingObject = g->sampling));
	pm_gpu__drain(g);
	set__end(&g->set);
	g->running = false;
}

void pm_gpu__end(struct pm_gpu *g)
{
	pm_gpu__stop(g);
	if (g->sampling)
		cupti.cuptiPmSamplingDisable(PARAMS(CUpti_PmSampling_Disable_Params,
						    .pPmSamplingObject = g->sampling));
	if (g->host)
		close_host(g->host);
	forget_peaks(g);
	free(g->available);
	free(g->config);
	free(g->data);
	*g = (struct pm_gpu){ 0 };
}

#else /* CUPTI's headers before 12.6 */

bool pm__open(int major)
{
	(void)major;
	sink__message(XPU_MESSAGE_WARNING,
		      "no GPU metrics by CUPTI: xpuload was built without them");
	return false;
}

bool pm_gpu__prepare(struct pm_gpu *g, unsigned int index, const uint8_t uuid[16],
		     uint64_t interval_ns, unsigned int max_samples, const char *const *names)
{
	(void)g, (void)index, (void)uuid, (void)interval_ns, (void)max_samples, (void)names;
	return false;
}

void pm_gpu__start(struct pm_gpu *g, unsigned int index)
{
	(void)g, (void)index;
}

void pm_gpu__drain(struct pm_gpu *g)
{
	(void)g;
}

void pm_gpu__stop(struct pm_gpu *g)
{
	(void)g;
}

void pm_gpu__end(struct pm_gpu *g)
{
	(void)g;
}

#endif
