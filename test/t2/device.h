/* SPDX-License-Identifier: MIT */
/* device.h - a program's first calls: the driver finds the shim, and there is a kernel to launch */
#ifndef TEST_T2_DEVICE_H
#define TEST_T2_DEVICE_H

#include <cuda.h>

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

#endif /* TEST_T2_DEVICE_H */
