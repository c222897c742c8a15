// SPDX-License-Identifier: MIT
/*
 * Measures how long each OpenCL call takes, if that is wanted. The functions of enqueue.h log their
 * calls themselves, because these calls have launch ids. This file has the wrappers of all other
 * functions.
 *
 * A wrapper passes its arguments on without knowing their types. All of OpenCL's parameters and
 * results are integers or pointers of 64 bits at most, and the calling conventions of x86-64 and
 * AArch64 give each a whole register or 8 bytes of the stack. The parameters are counted at compile
 * time.
 */
#include "gpu/opencl/calls.h"

#include <string.h>

#include "gpu/opencl/work.h"
#include "launch/calls.h"
#include "launch/launch.h"

/* CALL(name, number of parameters): the functions that have numbers in opencl.h. */
#define OWN_CALLS(CALL)							\
	CALL(clCreateBuffer, 5)						\
	CALL(clCreateImage2D, 8)					\
	CALL(clCreateImage3D, 10)					\
	CALL(clReleaseMemObject, 1)					\
	CALL(clWaitForEvents, 2)					\
	CALL(clFinish, 1)						\
	CALL(clCreateImage, 6)						\
	CALL(clCreatePipe, 6)						\
	CALL(clSVMAlloc, 4)						\
	CALL(clSVMFree, 2)						\
	CALL(clCreateBufferWithProperties, 6)				\
	CALL(clCreateImageWithProperties, 7)

/*
 * Functions whose calls are only recorded as API calls. Functions for Direct3D do not exist here.
 */
#define OTHER_CALLS(CALL)						\
	CALL(clGetPlatformIDs, 3)					\
	CALL(clGetPlatformInfo, 5)					\
	CALL(clGetDeviceIDs, 5)						\
	CALL(clGetDeviceInfo, 5)					\
	CALL(clCreateContext, 6)					\
	CALL(clCreateContextFromType, 5)				\
	CALL(clRetainContext, 1)					\
	CALL(clReleaseContext, 1)					\
	CALL(clGetContextInfo, 5)					\
	CALL(clCreateCommandQueue, 4)					\
	CALL(clRetainCommandQueue, 1)					\
	CALL(clReleaseCommandQueue, 1)					\
	CALL(clGetCommandQueueInfo, 5)					\
	CALL(clSetCommandQueueProperty, 4)				\
	CALL(clRetainMemObject, 1)					\
	CALL(clGetSupportedImageFormats, 6)				\
	CALL(clGetMemObjectInfo, 5)					\
	CALL(clGetImageInfo, 5)						\
	CALL(clCreateSampler, 5)					\
	CALL(clRetainSampler, 1)					\
	CALL(clReleaseSampler, 1)					\
	CALL(clGetSamplerInfo, 5)					\
	CALL(clCreateProgramWithSource, 5)				\
	CALL(clCreateProgramWithBinary, 7)				\
	CALL(clRetainProgram, 1)					\
	CALL(clReleaseProgram, 1)					\
	CALL(clBuildProgram, 6)						\
	CALL(clUnloadCompiler, 0)					\
	CALL(clGetProgramInfo, 5)					\
	CALL(clGetProgramBuildInfo, 6)					\
	CALL(clCreateKernel, 3)						\
	CALL(clCreateKernelsInProgram, 4)				\
	CALL(clRetainKernel, 1)						\
	CALL(clReleaseKernel, 1)					\
	CALL(clSetKernelArg, 4)						\
	CALL(clGetKernelInfo, 5)					\
	CALL(clGetKernelWorkGroupInfo, 6)				\
	CALL(clGetEventInfo, 5)						\
	CALL(clRetainEvent, 1)						\
	CALL(clReleaseEvent, 1)						\
	CALL(clGetEventProfilingInfo, 5)				\
	CALL(clFlush, 1)						\
	CALL(clEnqueueNativeKernel, 10)					\
	CALL(clEnqueueMarker, 2)					\
	CALL(clEnqueueWaitForEvents, 3)					\
	CALL(clEnqueueBarrier, 1)					\
	CALL(clGetExtensionFunctionAddress, 1)				\
	CALL(clCreateFromGLBuffer, 4)					\
	CALL(clCreateFromGLTexture2D, 6)				\
	CALL(clCreateFromGLTexture3D, 6)				\
	CALL(clCreateFromGLRenderbuffer, 4)				\
	CALL(clGetGLObjectInfo, 3)					\
	CALL(clGetGLTextureInfo, 5)					\
	CALL(clEnqueueAcquireGLObjects, 6)				\
	CALL(clEnqueueReleaseGLObjects, 6)				\
	CALL(clGetGLContextInfoKHR, 5)					\
	CALL(clSetEventCallback, 4)					\
	CALL(clCreateSubBuffer, 5)					\
	CALL(clSetMemObjectDestructorCallback, 3)			\
	CALL(clCreateUserEvent, 2)					\
	CALL(clSetUserEventStatus, 2)					\
	CALL(clCreateSubDevicesEXT, 5)					\
	CALL(clRetainDeviceEXT, 1)					\
	CALL(clReleaseDeviceEXT, 1)					\
	CALL(clCreateEventFromGLsyncKHR, 3)				\
	CALL(clCreateSubDevices, 5)					\
	CALL(clRetainDevice, 1)						\
	CALL(clReleaseDevice, 1)					\
	CALL(clCreateProgramWithBuiltInKernels, 5)			\
	CALL(clCompileProgram, 9)					\
	CALL(clLinkProgram, 9)						\
	CALL(clUnloadPlatformCompiler, 1)				\
	CALL(clGetKernelArgInfo, 6)					\
	CALL(clEnqueueMarkerWithWaitList, 4)				\
	CALL(clEnqueueBarrierWithWaitList, 4)				\
	CALL(clCreateFromGLTexture, 6)					\
	CALL(clCreateFromEGLImageKHR, 6)				\
	CALL(clEnqueueAcquireEGLObjectsKHR, 6)				\
	CALL(clEnqueueReleaseEGLObjectsKHR, 6)				\
	CALL(clCreateEventFromEGLSyncKHR, 4)				\
	CALL(clCreateCommandQueueWithProperties, 4)			\
	CALL(clGetPipeInfo, 5)						\
	CALL(clEnqueueSVMFree, 8)					\
	CALL(clCreateSamplerWithProperties, 3)				\
	CALL(clSetKernelArgSVMPointer, 3)				\
	CALL(clSetKernelExecInfo, 4)					\
	CALL(clGetKernelSubGroupInfoKHR, 8)				\
	CALL(clCloneKernel, 2)						\
	CALL(clCreateProgramWithIL, 4)					\
	CALL(clGetDeviceAndHostTimer, 3)				\
	CALL(clGetHostTimer, 2)						\
	CALL(clGetKernelSubGroupInfo, 8)				\
	CALL(clSetDefaultDeviceCommandQueue, 3)				\
	CALL(clSetProgramReleaseCallback, 3)				\
	CALL(clSetProgramSpecializationConstant, 4)			\
	CALL(clGetExtensionFunctionAddressForPlatform, 2)

enum other_call {
	BEFORE_OTHER_CALLS = OPENCL_NR_CALLS - 1,
#define OTHER_NUMBER(name, nr) CALL_##name,
	OTHER_CALLS(OTHER_NUMBER)
#undef OTHER_NUMBER
	NR_CALLS,
};

static const char *const names[NR_CALLS] = {
#define NAME(name, how) [CALL_##name] = #name,
	OPENCL_CALLS(NAME)
	OTHER_CALLS(NAME)
#undef NAME
};

static atomic_uchar timed[NR_CALLS];
static cl_icd_dispatch next;		/* the functions that the wrappers call */

_Static_assert(NR_CALLS <= XPU_CALL_NUMBER(UINT16_MAX), "each call has a number");

/* ---- calls in progress ----------------------------------------------------------------------- */

static uint16_t code_of(unsigned int call)
{
	return call | XPU_API_OPENCL << XPU_CALL_API_SHIFT;
}

bool opencl_calls__are_timed(unsigned int call)
{
	return __builtin_expect(atomic_load_explicit(&timed[call], memory_order_relaxed), 0);
}

uint32_t opencl_calls__begin(unsigned int call, uint32_t launch, const void *frame)
{
	uint32_t id = launch ? launch : work__next_id();

	launch__call_entered(code_of(call), id, frame);
	return id;
}

void opencl_calls__end(unsigned int call, uint32_t id)
{
	launch__call_left(code_of(call), id);
}

/* ---- which calls are wanted ------------------------------------------------------------------ */

/* Return: the name of a call. This function is a calls_name_fn. */
static const char *call_name(uint16_t call, uint32_t *domain, uint32_t *number)
{
	*domain = OPENCL_DOMAIN;
	*number = XPU_CALL_NUMBER(call);
	return *number < NR_CALLS ? names[*number] : NULL;
}

static bool begins(const char *name, const char *with)
{
	return !strncmp(name, with, strlen(with));
}

/* Whether the function @name only reads a known value, adds a reference, or sets an argument. */
static bool is_trivial(const char *name)
{
	return (begins(name, "clGet") && !strstr(name, "IDs")) || begins(name, "clRetain") ||
	       begins(name, "clSetKernel");
}

void opencl_calls__want(enum calls_wanted wanted)
{
	static enum calls_wanted have;
	unsigned int i;

	for (i = 0; i < NR_CALLS && wanted != have; i++)
		atomic_store(&timed[i], names[i] && wanted != CALLS_NONE &&
			     (wanted == CALLS_ALL || !is_trivial(names[i])));
	have = wanted;
	if (wanted == CALLS_NONE)
		calls__close(XPU_API_OPENCL);
	else
		calls__open(XPU_API_OPENCL, call_name);
}

/* ---- the wrappers ---------------------------------------------------------------------------- */

/*
 * TAKE_n: a function's n parameters. PASS_n: the arguments to pass on. TRY_n: dummy arguments,
 * which check the number of parameters.
 */
#define TAKE_0	void
#define TAKE_1	uintptr_t a
#define TAKE_2	TAKE_1, uintptr_t b
#define TAKE_3	TAKE_2, uintptr_t c
#define TAKE_4	TAKE_3, uintptr_t d
#define TAKE_5	TAKE_4, uintptr_t e
#define TAKE_6	TAKE_5, uintptr_t f
#define TAKE_7	TAKE_6, uintptr_t g
#define TAKE_8	TAKE_7, uintptr_t h
#define TAKE_9	TAKE_8, uintptr_t i
#define TAKE_10	TAKE_9, uintptr_t j
#define PASS_0
#define PASS_1	a
#define PASS_2	PASS_1, b
#define PASS_3	PASS_2, c
#define PASS_4	PASS_3, d
#define PASS_5	PASS_4, e
#define PASS_6	PASS_5, f
#define PASS_7	PASS_6, g
#define PASS_8	PASS_7, h
#define PASS_9	PASS_8, i
#define PASS_10	PASS_9, j
#define TRY_0
#define TRY_1	0
#define TRY_2	TRY_1, 0
#define TRY_3	TRY_2, 0
#define TRY_4	TRY_3, 0
#define TRY_5	TRY_4, 0
#define TRY_6	TRY_5, 0
#define TRY_7	TRY_6, 0
#define TRY_8	TRY_7, 0
#define TRY_9	TRY_8, 0
#define TRY_10	TRY_9, 0

/* A call that is not timed needs no stack frame: the compiler makes it a jump. */
#define TIMES(name, nr)								\
static uintptr_t CL_API_CALL on_##name(TAKE_##nr)				\
{										\
	uintptr_t (*function)(TAKE_##nr) = (void *)next.name, result;		\
	uint32_t id;								\
										\
	if (!opencl_calls__are_timed(CALL_##name))				\
		return function(PASS_##nr);					\
	id = opencl_calls__begin(CALL_##name, 0, __builtin_frame_address(0));	\
	result = function(PASS_##nr);						\
	opencl_calls__end(CALL_##name, id);					\
	return result;								\
}
OWN_CALLS(TIMES)
OTHER_CALLS(TIMES)

/* Some headers declare functions of later versions as void pointers. */
#define COUNTS(name, nr)							\
	(void)sizeof(__builtin_choose_expr(					\
		__builtin_types_compatible_p(__typeof__(next.name), void *),	\
		(int (*)(TAKE_##nr))0, next.name)(TRY_##nr));

void calls__fill(cl_icd_dispatch *table)
{
	OWN_CALLS(COUNTS)
	OTHER_CALLS(COUNTS)
	next = *table;
#define FILL(name, nr)								\
	if (next.name)								\
		table->name = (void *)on_##name;
	OWN_CALLS(FILL)
	OTHER_CALLS(FILL)
#undef FILL
}
