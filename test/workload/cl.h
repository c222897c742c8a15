/* SPDX-License-Identifier: MIT */
/* cl.h - what the OpenCL workloads share: a device, a program with kernels, checks */
#ifndef TEST_WORKLOAD_CL_H
#define TEST_WORKLOAD_CL_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)								\
	do {									\
		cl_int err_ = (call);						\
		if (err_) {							\
			fprintf(stderr, "%s:%d: %s: error %d\n", __FILE__,	\
				__LINE__, #call, err_);				\
			exit(1);						\
		}								\
	} while (0)

#define CL_KERNELS(K)								\
	K(00) K(01) K(02) K(03) K(04) K(05) K(06) K(07)				\
	K(08) K(09) K(10) K(11) K(12) K(13) K(14) K(15)
#define CL_NR_KERNELS	16

static unsigned int cl_which;		/* the number of the platform */
static cl_platform_id cl_platform;
static cl_device_id cl_device;
static cl_context cl_ctx;
static cl_program cl_prog;

/*
 * Builds the kernels plain and kernel_00 to kernel_15. Each kernel adds a number to each element of
 * a buffer.
 */
static void cl_begin(void)
{
#define SOURCE(n) \
	"__kernel void kernel_" #n "(__global int *p) { p[get_global_id(0)] += 1" #n "; }\n"
	const char *source = CL_KERNELS(SOURCE)
		"__kernel void plain(__global int *p) { p[get_global_id(0)] += 1; }\n";
#undef SOURCE
	cl_platform_id all[8] = { NULL };
	cl_int err;

	CHECK(clGetPlatformIDs(8, all, NULL));
	cl_platform = all[cl_which % 8];
	CHECK(clGetDeviceIDs(cl_platform, CL_DEVICE_TYPE_ALL, 1, &cl_device, NULL));
	cl_ctx = clCreateContext(NULL, 1, &cl_device, NULL, NULL, &err);
	CHECK(err);
	cl_prog = clCreateProgramWithSource(cl_ctx, 1, &source, NULL, &err);
	CHECK(err);
	CHECK(clBuildProgram(cl_prog, 1, &cl_device, "", NULL, NULL));
}

/* Makes a kernel with @buffer as its argument. */
static cl_kernel cl_make_kernel(const char *name, cl_mem buffer)
{
	cl_kernel k;
	cl_int err;

	k = clCreateKernel(cl_prog, name, &err);
	CHECK(err);
	CHECK(clSetKernelArg(k, 0, sizeof(buffer), &buffer));
	return k;
}

static inline cl_kernel cl_numbered_kernel(int n, cl_mem buffer)
{
	char name[16];

	snprintf(name, sizeof(name), "kernel_%02d", n);
	return cl_make_kernel(name, buffer);
}

static inline cl_mem cl_make_buffer(size_t bytes)
{
	cl_int err;
	cl_mem b = clCreateBuffer(cl_ctx, CL_MEM_READ_WRITE, bytes, NULL, &err);

	CHECK(err);
	return b;
}

static inline cl_command_queue cl_make_queue(cl_command_queue_properties bits)
{
	const cl_queue_properties properties[] = { CL_QUEUE_PROPERTIES, bits, 0 };
	cl_int err;
	cl_command_queue q;

	q = clCreateCommandQueueWithProperties(cl_ctx, cl_device, properties, &err);
	CHECK(err);
	return q;
}

#endif /* TEST_WORKLOAD_CL_H */
