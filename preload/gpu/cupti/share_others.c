// SPDX-License-Identifier: MIT
/*
 * CUPTI functions that the shim cannot serve. Before a served program calls such a function, the
 * shim gives CUPTI back. This file includes no CUPTI header. It only assumes that each parameter is
 * a number or a pointer, and that there are at most six parameters (four in CUDA 13.0), which fit
 * into registers.
 */
#include <stddef.h>

#include "gpu/cupti/cupti_real.h"

#define EXPORT		__attribute__((visibility("default")))

/* Declared here since share.h includes a header of CUPTI. */
void share__cannot_serve(const char *function);

typedef int cupti_function(long, long, long, long, long, long);

#define CANNOT_SERVE(fn)							\
EXPORT cupti_function fn;							\
EXPORT int fn(long a, long b, long c, long d, long e, long f)			\
{										\
	CUPTI_REAL(fn, cupti_function);						\
	share__cannot_serve(#fn);						\
	return real_##fn(a, b, c, d, e, f);					\
}

CANNOT_SERVE(cuptiActivityDisableContext)
CANNOT_SERVE(cuptiActivityConfigurePCSampling)
CANNOT_SERVE(cuptiActivityConfigureUnifiedMemoryCounter)
CANNOT_SERVE(cuptiActivityEnableLatencyTimestamps)
CANNOT_SERVE(cuptiActivityEnableHWTrace)
CANNOT_SERVE(cuptiActivityEnableCudaEventDeviceTimestamps)
CANNOT_SERVE(cuptiSetEventCollectionMode)
CANNOT_SERVE(cuptiEventGroupCreate)
CANNOT_SERVE(cuptiEventGroupSetsCreate)
CANNOT_SERVE(cuptiMetricCreateEventGroupSets)
CANNOT_SERVE(cuptiEnableKernelReplayMode)
CANNOT_SERVE(cuptiKernelReplaySubscribeUpdate)
CANNOT_SERVE(cuptiPCSamplingEnable)
CANNOT_SERVE(cuptiPCSamplingSetConfigurationAttribute)
CANNOT_SERVE(cuptiPCSamplingStart)
CANNOT_SERVE(cuptiPmSamplingEnable)
CANNOT_SERVE(cuptiProfilerBeginSession)
CANNOT_SERVE(cuptiProfilerEnableProfiling)
CANNOT_SERVE(cuptiProfilerSetConfig)
CANNOT_SERVE(cuptiRangeProfilerEnable)
CANNOT_SERVE(cuptiSassMetricsEnable)
CANNOT_SERVE(cuptiSassMetricsSetConfig)
CANNOT_SERVE(cuptiCheckpointSave)
CANNOT_SERVE(cuptiCheckpointRestore)
