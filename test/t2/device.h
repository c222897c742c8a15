/* SPDX-License-Identifier: MIT */
/* device.h - a program's first CUDA calls, at which the driver loads the shim; and launches */
#ifndef TEST_T2_DEVICE_H
#define TEST_T2_DEVICE_H

#include <cuda.h>
#include <cupti.h>
#include <stdint.h>

#include "gpu/cupti/callback.h"

int InitializeInjection(void);

static inline void device__start(CUcontext *context, CUmodule *module, CUfunction *kernel)
{
	CUdevice device;

	cuInit(0);
	InitializeInjection();
	cuDeviceGet(&device, 0);
	cuDevicePrimaryCtxRetain(context, device);
	cuCtxSetCurrent(*context);
	cuModuleLoadData(module, "image");
	cuModuleGetFunction(kernel, *module, "kernel");
}

/* Launches a kernel that runs for @ns. */
static inline void device__launch(CUfunction kernel, CUstream stream, uint64_t ns)
{
	void *args[] = { &ns };

	cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, args, NULL);
}

/* Makes both callbacks of one launch, as CUPTI does. */
static inline void device__call_back(uint32_t correlation_id)
{
	CUresult result = CUDA_SUCCESS;
	uint64_t between = 0;
	CUpti_CallbackData d = {
		.callbackSite = CUPTI_API_ENTER,
		.correlationId = correlation_id,
		.correlationData = &between,
		.functionReturnValue = &result,
	};

	callback__call(NULL, CUPTI_CB_DOMAIN_DRIVER_API, 1, &d);
	d.callbackSite = CUPTI_API_EXIT;
	callback__call(NULL, CUPTI_CB_DOMAIN_DRIVER_API, 1, &d);
}

#endif /* TEST_T2_DEVICE_H */
