// SPDX-License-Identifier: MIT
#include "evaluate.h"

#if __has_include(<nvperf_cuda_host.h>)

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nvperf_host.h>
#include <nvperf_cuda_host.h>

#include "libraries.h"
#include "util.h"

#define FUNCTIONS(X)								\
	X(NVPW_InitializeHost)							\
	X(NVPW_CUDA_MetricsEvaluator_CalculateScratchBufferSize)		\
	X(NVPW_CUDA_MetricsEvaluator_Initialize)				\
	X(NVPW_MetricsEvaluator_Destroy)					\
	X(NVPW_MetricsEvaluator_ConvertMetricNameToMetricEvalRequest)		\
	X(NVPW_MetricsEvaluator_SetDeviceAttributes)				\
	X(NVPW_MetricsEvaluator_EvaluateToGpuValues)

static struct {
#define MEMBER(fn)	__typeof__(&fn) fn;
	FUNCTIONS(MEMBER)
#undef MEMBER
} nvperf;

#define PARAMS(type, ...)	(&(type){ .structSize = type##_STRUCT_SIZE, __VA_ARGS__ })

struct evaluator {
	void *scratch;
	NVPW_MetricsEvaluator *evaluator;
	NVPW_MetricEvalRequest *requests;
	size_t nr;
	const uint8_t *image;
	size_t image_bytes;
};

static bool open_library(const void *cupti_function)
{
	static const struct function functions[] = {
#define ENTRY(fn)	{ &nvperf.fn, #fn, false },
		FUNCTIONS(ENTRY)
#undef ENTRY
	};
	char path[4096] = "";
	void *library = NULL;
	const char *slash;
	Dl_info info;

	if (dladdr(cupti_function, &info) && info.dli_fname && (slash = strrchr(info.dli_fname, '/'))) {
		snprintf(path, sizeof(path), "%.*s/libnvperf_host.so", (int)(slash - info.dli_fname),
			 info.dli_fname);
		library = library__open(path);
	}
	return library && !library__functions(library, functions, ARRAY_SIZE(functions)) &&
	       !nvperf.NVPW_InitializeHost(PARAMS(NVPW_InitializeHost_Params));
}

static bool make_evaluator(struct evaluator *e, const char *chip, const uint8_t *available)
{
	NVPW_CUDA_MetricsEvaluator_CalculateScratchBufferSize_Params *size =
		PARAMS(NVPW_CUDA_MetricsEvaluator_CalculateScratchBufferSize_Params, .pChipName = chip,
		       .pCounterAvailabilityImage = available);
	NVPW_CUDA_MetricsEvaluator_Initialize_Params *init;

	if (nvperf.NVPW_CUDA_MetricsEvaluator_CalculateScratchBufferSize(size))
		return false;
	e->scratch = calloc(1, size->scratchBufferSize);
	if (!e->scratch)
		return false;
	init = PARAMS(NVPW_CUDA_MetricsEvaluator_Initialize_Params, .pScratchBuffer = e->scratch,
		      .scratchBufferSize = size->scratchBufferSize, .pChipName = chip,
		      .pCounterAvailabilityImage = available);
	if (nvperf.NVPW_CUDA_MetricsEvaluator_Initialize(init))
		return false;
	e->evaluator = init->pMetricsEvaluator;
	return !nvperf.NVPW_MetricsEvaluator_SetDeviceAttributes(
		PARAMS(NVPW_MetricsEvaluator_SetDeviceAttributes_Params, .pMetricsEvaluator = e->evaluator,
		       .pCounterDataImage = e->image, .counterDataImageSize = e->image_bytes));
}

static bool make_requests(struct evaluator *e, const char *const *names)
{
	size_t i;

	e->requests = calloc(e->nr, sizeof(*e->requests));
	if (!e->requests)
		return false;
	for (i = 0; i < e->nr; i++)
		if (nvperf.NVPW_MetricsEvaluator_ConvertMetricNameToMetricEvalRequest(
			    PARAMS(NVPW_MetricsEvaluator_ConvertMetricNameToMetricEvalRequest_Params,
				   .pMetricsEvaluator = e->evaluator, .pMetricName = names[i],
				   .pMetricEvalRequest = &e->requests[i],
				   .metricEvalRequestStructSize = NVPW_MetricEvalRequest_STRUCT_SIZE)))
			return false;
	return true;
}

struct evaluator *evaluator__new(const void *cupti_function, const char *chip, const uint8_t *available,
				 const char *const *names, size_t nr, const uint8_t *image,
				 size_t image_bytes)
{
	struct evaluator *e;

	if (!open_library(cupti_function))
		return NULL;
	e = calloc(1, sizeof(*e));
	if (!e)
		return NULL;
	*e = (struct evaluator){ .nr = nr, .image = image, .image_bytes = image_bytes };
	if (make_evaluator(e, chip, available) && make_requests(e, names))
		return e;
	evaluator__free(e);
	return NULL;
}

void evaluator__free(struct evaluator *e)
{
	if (!e)
		return;
	if (e->evaluator)
		nvperf.NVPW_MetricsEvaluator_Destroy(PARAMS(NVPW_MetricsEvaluator_Destroy_Params,
							    .pMetricsEvaluator = e->evaluator));
	free(e->requests);
	free(e->scratch);
	free(e);
}

bool evaluator__values(struct evaluator *e, size_t sample, double *values)
{
	return !nvperf.NVPW_MetricsEvaluator_EvaluateToGpuValues(
		PARAMS(NVPW_MetricsEvaluator_EvaluateToGpuValues_Params, .pMetricsEvaluator = e->evaluator,
		       .pMetricEvalRequests = e->requests, .numMetricEvalRequests = e->nr,
		       .metricEvalRequestStructSize = NVPW_MetricEvalRequest_STRUCT_SIZE,
		       .metricEvalRequestStrideSize = sizeof(NVPW_MetricEvalRequest),
		       .pCounterDataImage = e->image, .counterDataImageSize = e->image_bytes,
		       .rangeIndex = sample, .isolated = true, .pMetricValues = values));
}

#else /* without NVIDIA's headers */

struct evaluator *evaluator__new(const void *cupti_function, const char *chip, const uint8_t *available,
				 const char *const *names, size_t nr, const uint8_t *image,
				 size_t image_bytes)
{
	(void)cupti_function, (void)chip, (void)available, (void)names, (void)nr, (void)image;
	(void)image_bytes;
	return NULL;
}

void evaluator__free(struct evaluator *e)
{
	(void)e;
}

bool evaluator__values(struct evaluator *e, size_t sample, double *values)
{
	(void)e, (void)sample, (void)values;
	return false;
}

#endif
