// SPDX-License-Identifier: MIT
/*
 * cl_module - a module that is linked with OpenCL's loader
 *
 * cl_unload opens it late, with RTLD_LOCAL, and closes it while the module's kernels may still run.
 */
#include "cl.h"

/* Launches @nr kernels, waits for them if @waits, and releases everything. */
void use_opencl(int nr, int waits)
{
	const size_t one[] = { 1 };
	cl_command_queue queue;
	cl_kernel kernel;
	cl_mem buffer;
	int i;

	cl_begin();
	buffer = cl_make_buffer(64);
	queue = cl_make_queue(0);
	kernel = cl_make_kernel("plain", buffer);
	for (i = 0; i < nr; i++)
		CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, one, one, 0, NULL, NULL));
	CHECK(waits ? clFinish(queue) : clFlush(queue));
	CHECK(clReleaseKernel(kernel));
	CHECK(clReleaseMemObject(buffer));
	CHECK(clReleaseCommandQueue(queue));
	CHECK(clReleaseProgram(cl_prog));
	CHECK(clReleaseContext(cl_ctx));
}
