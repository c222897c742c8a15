// SPDX-License-Identifier: MIT
/*
 * Memory that the program gets from OpenCL. OpenCL does not show the addresses of objects, so the
 * handle is recorded as the address. OpenCL frees an object when nobody uses it any more, which may
 * be long after the program's last clReleaseMemObject(). A callback then reports the end of the
 * object, on any thread.
 */
#include <string.h>

#include "gpu/opencl/objects.h"
#include "launch/launch.h"

/* ---- events ---------------------------------------------------------------------------------- */

static uint16_t device_of(cl_context handle)
{
	const struct clcontext *c = context__of(handle);

	return c ? c->device : XPU_ALLOC_NO_DEVICE;
}

static void tell_made(unsigned int call, uint8_t space, cl_context context, const void *address,
		      uint64_t bytes)
{
	struct alloc a = {
		.what = XPU_ALLOC_MADE,
		.space = space,
		.device = space == XPU_SPACE_PINNED || space == XPU_SPACE_REGISTERED ?
			  XPU_ALLOC_NO_DEVICE : device_of(context),
		.api = XPU_API_OPENCL,
		.address = (uintptr_t)address,
		.bytes = bytes,
		.order = allocs__order(1),
	};

	launch__tell_alloc(&a, OPENCL_DOMAIN, call);
}

static void tell_freed(unsigned int call, uint8_t space, const void *address, uint64_t order)
{
	struct alloc a = {
		.what = XPU_ALLOC_FREED,
		.space = space,
		.device = XPU_ALLOC_NO_DEVICE,
		.api = XPU_API_OPENCL,
		.address = (uintptr_t)address,
		.order = order,
	};

	launch__tell_alloc(&a, OPENCL_DOMAIN, call);
}

/* ---- objects --------------------------------------------------------------------------------- */

static void CL_CALLBACK ends(cl_mem object, void *space)
{
	if (allocs__are_on())
		tell_freed(CALL_clReleaseMemObject, (uintptr_t)space, object, allocs__order(1));
}

static uint8_t space_of(cl_mem_flags flags, bool image)
{
	if (flags & CL_MEM_USE_HOST_PTR)
		return XPU_SPACE_REGISTERED;
	if (flags & CL_MEM_ALLOC_HOST_PTR)
		return XPU_SPACE_PINNED;
	return image ? XPU_SPACE_ARRAY : XPU_SPACE_DEVICE;
}

/* Return: @object, which was made by the call. */
static cl_mem made(unsigned int call, cl_context context, cl_mem object, cl_mem_flags flags,
		   bool image)
{
	uint8_t space = space_of(flags, image);
	size_t bytes = 0;

	if (!allocs__are_on() || !object ||
	    !objects__device_can(device_of(context), DEVICE_TELLS_FREED))
		return object;
	if (opencl.clGetMemObjectInfo(object, CL_MEM_SIZE, sizeof(bytes), &bytes, NULL) ||
	    opencl.clSetMemObjectDestructorCallback(object, ends, (void *)(uintptr_t)space)) {
		launch__alloc_lost();
		return object;
	}
	tell_made(call, space, context, object, bytes);
	return object;
}

/* Defines on_NAME(), which makes an object. The last arguments name the function's @parameters. */
#define MAKES(name, image, parameters, ...)						\
static cl_mem CL_API_CALL on_##name parameters						\
{											\
	return made(CALL_##name, context, opencl.name(__VA_ARGS__), flags, image);	\
}

MAKES(clCreateBuffer, false,
      (cl_context context, cl_mem_flags flags, size_t bytes, void *host, cl_int *err),
      context, flags, bytes, host, err)
MAKES(clCreateBufferWithProperties, false,
      (cl_context context, const cl_mem_properties *properties, cl_mem_flags flags, size_t bytes,
       void *host, cl_int *err),
      context, properties, flags, bytes, host, err)
MAKES(clCreateImage, true,
      (cl_context context, cl_mem_flags flags, const cl_image_format *format,
       const cl_image_desc *what, void *host, cl_int *err),
      context, flags, format, what, host, err)
MAKES(clCreateImageWithProperties, true,
      (cl_context context, const cl_mem_properties *properties, cl_mem_flags flags,
       const cl_image_format *format, const cl_image_desc *what, void *host, cl_int *err),
      context, properties, flags, format, what, host, err)
MAKES(clCreateImage2D, true,
      (cl_context context, cl_mem_flags flags, const cl_image_format *format, size_t width,
       size_t height, size_t row, void *host, cl_int *err),
      context, flags, format, width, height, row, host, err)
MAKES(clCreateImage3D, true,
      (cl_context context, cl_mem_flags flags, const cl_image_format *format, size_t width,
       size_t height, size_t depth, size_t row, size_t slice, void *host, cl_int *err),
      context, flags, format, width, height, depth, row, slice, host, err)
MAKES(clCreatePipe, false,
      (cl_context context, cl_mem_flags flags, cl_uint packet_bytes, cl_uint nr,
       const cl_pipe_properties *properties, cl_int *err),
      context, flags, packet_bytes, nr, properties, err)

/* ---- shared virtual memory ------------------------------------------------------------------- */

static void *CL_API_CALL on_clSVMAlloc(cl_context context, cl_svm_mem_flags flags, size_t bytes,
				       cl_uint alignment)
{
	void *memory = opencl.clSVMAlloc(context, flags, bytes, alignment);

	if (memory && allocs__are_on())
		tell_made(CALL_clSVMAlloc, XPU_SPACE_MANAGED, context, memory, bytes);
	return memory;
}

static void CL_API_CALL on_clSVMFree(cl_context context, void *memory)
{
	uint64_t order = memory && allocs__are_on() ? allocs__order(1) : 0;

	opencl.clSVMFree(context, memory);
	if (order)
		tell_freed(CALL_clSVMFree, XPU_SPACE_MANAGED, memory, order);
}

void clmem__fill(cl_icd_dispatch *table)
{
	OPENCL_WATCH(table, clCreateBuffer);
	OPENCL_WATCH(table, clCreateBufferWithProperties);
	OPENCL_WATCH(table, clCreateImage);
	OPENCL_WATCH(table, clCreateImageWithProperties);
	OPENCL_WATCH(table, clCreateImage2D);
	OPENCL_WATCH(table, clCreateImage3D);
	OPENCL_WATCH(table, clCreatePipe);
	OPENCL_WATCH(table, clSVMAlloc);
	OPENCL_WATCH(table, clSVMFree);
}
