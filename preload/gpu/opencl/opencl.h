/* SPDX-License-Identifier: MIT */
/*
 * opencl.h - the next layer's functions, and the numbers of the functions that the shim watches
 *
 * The shim is a layer: the OpenCL loader opens it because of OPENCL_LAYERS, and gives it the
 * function table of the layer below; the lowest layer consists of the drivers. Programs then call
 * the shim's functions.
 */
#ifndef XPU_PRELOAD_OPENCL_H
#define XPU_PRELOAD_OPENCL_H

#include <stdatomic.h>
#include <stdbool.h>

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_USE_DEPRECATED_OPENCL_2_1_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS
#include <CL/cl.h>
#include <CL/cl_icd.h>

#include "base/hot.h"
#include "xpu_record.h"

#define OPENCL_DOMAIN	XPU_WITH_API(XPU_API_OPENCL, 1)

/* CALL(name, class): a function whose calls are recorded. */
#define OPENCL_CALLS(CALL)						\
	CALL(clEnqueueNDRangeKernel, LAUNCH)				\
	CALL(clEnqueueTask, LAUNCH)					\
	CALL(clEnqueueCommandBufferKHR, LAUNCHES)			\
	CALL(clEnqueueReadBuffer, COPY)					\
	CALL(clEnqueueWriteBuffer, COPY)				\
	CALL(clEnqueueCopyBuffer, COPY)					\
	CALL(clEnqueueFillBuffer, COPY)					\
	CALL(clEnqueueReadBufferRect, COPY)				\
	CALL(clEnqueueWriteBufferRect, COPY)				\
	CALL(clEnqueueCopyBufferRect, COPY)				\
	CALL(clEnqueueReadImage, COPY)					\
	CALL(clEnqueueWriteImage, COPY)					\
	CALL(clEnqueueCopyImage, COPY)					\
	CALL(clEnqueueFillImage, COPY)					\
	CALL(clEnqueueCopyImageToBuffer, COPY)				\
	CALL(clEnqueueCopyBufferToImage, COPY)				\
	CALL(clEnqueueMapBuffer, COPY)					\
	CALL(clEnqueueMapImage, COPY)					\
	CALL(clEnqueueUnmapMemObject, COPY)				\
	CALL(clEnqueueSVMMemcpy, COPY)					\
	CALL(clEnqueueSVMMemFill, COPY)					\
	CALL(clEnqueueSVMMap, COPY)					\
	CALL(clEnqueueSVMUnmap, COPY)					\
	CALL(clEnqueueMigrateMemObjects, COPY)				\
	CALL(clEnqueueSVMMigrateMem, COPY)				\
	CALL(clFinish, WAIT)						\
	CALL(clWaitForEvents, WAIT)					\
	CALL(clCreateBuffer, ALLOCATION)				\
	CALL(clCreateBufferWithProperties, ALLOCATION)			\
	CALL(clCreateImage, ALLOCATION)					\
	CALL(clCreateImageWithProperties, ALLOCATION)			\
	CALL(clCreateImage2D, ALLOCATION)				\
	CALL(clCreateImage3D, ALLOCATION)				\
	CALL(clCreatePipe, ALLOCATION)					\
	CALL(clReleaseMemObject, ALLOCATION)				\
	CALL(clSVMAlloc, ALLOCATION)					\
	CALL(clSVMFree, ALLOCATION)

enum opencl_call {
	OPENCL_NO_CALL,
#define OPENCL_NUMBER(name, class) CALL_##name,
	OPENCL_CALLS(OPENCL_NUMBER)
#undef OPENCL_NUMBER
	OPENCL_NR_CALLS,
};

/* The functions of the layers below; NULL for each function that they lack. */
extern cl_icd_dispatch opencl HIDDEN;

/* Whether launches and waits are recorded. Read at any time, on any thread. */
extern atomic_bool opencl__on HIDDEN;

static inline bool opencl__is_on(void)
{
	return __builtin_expect(atomic_load_explicit(&opencl__on, memory_order_relaxed), 0);
}

/* Starts the shim at the first call. Called when the program creates a context of OpenCL. */
void opencl__used(void);

/* Put the shim's functions into @table, except functions that the layers below lack. */
void enqueue__fill(cl_icd_dispatch *table);
void objects__fill(cl_icd_dispatch *table);
void clmem__fill(cl_icd_dispatch *table);
void extensions__fill(cl_icd_dispatch *table);

/* Return: a message about command buffers that are not recorded; NULL: none */
const char *extensions__message(void);

void calls__fill(cl_icd_dispatch *table);	/* called last, since it wraps functions that the
						 * other calls have set */

/* Replaces a function of @table, if the layers below have it. */
#define OPENCL_WATCH(table, name)		\
	do {					\
		if (opencl.name)		\
			(table)->name = on_##name; \
	} while (0)

#endif /* XPU_PRELOAD_OPENCL_H */
