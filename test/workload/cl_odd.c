// SPDX-License-Identifier: MIT
/*
 * cl_odd CASE - uses OpenCL in odd ways, and prints results, which a recorder must not change
 *
 * The last line says how many launches, copies and fills succeeded, and how many were refused.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cl.h"

#define MAX_BUFFERS	4200

static long nr_done, nr_refused;
static cl_command_queue queue;
static cl_mem buffer;
static cl_kernel kernel;
static const size_t one[] = { 1 };

/* Counts a call that enqueues device work, and prints its error. */
static cl_int count(cl_int err)
{
	if (err) {
		nr_refused++;
		printf("error %d\n", err);
	} else {
		nr_done++;
	}
	return err;
}

static cl_int launch(cl_command_queue q, cl_uint nr, const cl_event *waits, cl_event *event)
{
	return count(clEnqueueNDRangeKernel(q, kernel, 1, NULL, one, one, nr, waits, event));
}

static void nulls(void)
{
	const size_t many[] = { 1, 1, 1, 1 };
	cl_int err;

	launch(queue, 0, NULL, NULL);
	printf("no queue %d\n", clEnqueueNDRangeKernel(NULL, kernel, 1, NULL, one, one, 0, NULL,
						       NULL));
	count(clEnqueueNDRangeKernel(queue, kernel, 0, NULL, one, one, 0, NULL, NULL));
	count(clEnqueueNDRangeKernel(queue, kernel, 4, NULL, many, many, 0, NULL, NULL));
	count(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, one, NULL, 0, NULL, NULL));
	count(clEnqueueReadBuffer(queue, NULL, CL_TRUE, 0, 4, &err, 0, NULL, NULL));
	count(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 1 << 20, 4, &err, 0, NULL, NULL));
	printf("no map %d\n", !clEnqueueMapBuffer(queue, NULL, CL_TRUE, CL_MAP_READ, 0, 4, 0, NULL,
						  NULL, &err));
	count(err);
	printf("no queues %d %d\n", clFinish(NULL), clWaitForEvents(0, NULL));
	printf("no buffer %d\n", !clCreateBuffer(cl_ctx, CL_MEM_READ_WRITE, 0, NULL, &err));
	printf("error %d\n", err);
	printf("no context %d\n", !clCreateCommandQueue(NULL, cl_device, 0, &err));
	printf("error %d\n", err);
	printf("no context, no error %d\n", !clCreateCommandQueue(NULL, cl_device, 0, NULL));
	CHECK(clFinish(queue));
}

/* Uses events that the program releases early, keeps, or queries late. */
static void events(void)
{
	cl_event e, kept[100];
	cl_ulong start, end;
	cl_uint refs;
	int i;

	for (i = 0; i < 1000; i++) {
		launch(queue, 0, NULL, &e);
		CHECK(clReleaseEvent(e));
	}
	for (i = 0; i < 100; i++) {
		launch(queue, 0, NULL, &kept[i]);
		CHECK(clRetainEvent(kept[i]));
	}
	CHECK(clFinish(queue));
	for (i = 0; i < 100; i++) {
		CHECK(clGetEventProfilingInfo(kept[i], CL_PROFILING_COMMAND_START, sizeof(start),
					      &start, NULL));
		CHECK(clGetEventProfilingInfo(kept[i], CL_PROFILING_COMMAND_END, sizeof(end), &end,
					      NULL));
		if (!start || end < start)
			printf("a time is missing\n");
		CHECK(clReleaseEvent(kept[i]));
		CHECK(clGetEventInfo(kept[i], CL_EVENT_REFERENCE_COUNT, sizeof(refs), &refs, NULL));
		CHECK(clReleaseEvent(kept[i]));
	}
}

static void queues(int nr)
{
	cl_command_queue q;
	int i;

	for (i = 0; i < nr; i++) {
		q = cl_make_queue(i % 2 ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0);
		launch(q, 0, NULL, NULL);
		if (i % 3)
			CHECK(clFinish(q));
		CHECK(clReleaseCommandQueue(q));
	}
}

/* Releases everything while kernels wait for a user event. */
static void released(void)
{
	cl_int err;
	cl_event gate = clCreateUserEvent(cl_ctx, &err), last;

	CHECK(err);
	CHECK(launch(queue, 1, &gate, NULL));
	CHECK(launch(queue, 0, NULL, &last));
	CHECK(clFlush(queue));
	CHECK(clReleaseCommandQueue(queue));
	CHECK(clReleaseKernel(kernel));
	CHECK(clReleaseMemObject(buffer));
	CHECK(clReleaseProgram(cl_prog));
	CHECK(clReleaseContext(cl_ctx));
	CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
	CHECK(clWaitForEvents(1, &last));
	CHECK(clReleaseEvent(last));
	CHECK(clReleaseEvent(gate));
}

/* Makes kernels wait for user events, of which one completes and one fails. */
static void user(void)
{
	cl_command_queue q = cl_make_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	cl_event gate, failed, e[2];
	cl_int err, status;

	gate = clCreateUserEvent(cl_ctx, &err);
	CHECK(err);
	failed = clCreateUserEvent(cl_ctx, &err);
	CHECK(err);
	launch(q, 1, &gate, &e[0]);
	launch(q, 1, &failed, &e[1]);
	launch(q, 0, NULL, NULL);
	CHECK(clFlush(q));
	usleep(20000);
	CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
	CHECK(clWaitForEvents(1, &e[0]));
	CHECK(clSetUserEventStatus(failed, -77));
	printf("wait %d\n", clWaitForEvents(1, &e[1]));
	CHECK(clGetEventInfo(e[1], CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status,
			     NULL));
	printf("status is an error %d\n", status < 0);
}

/* Each launch waits for the previously enqueued one, in an out-of-order queue. */
static void order(void)
{
	cl_command_queue q = cl_make_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	cl_event e[200];
	int i;

	for (i = 0; i < 200; i++)
		launch(q, i ? 1 : 0, i ? &e[i - 1] : NULL, &e[i]);
	CHECK(clWaitForEvents(200, e));
	for (i = 0; i < 200; i++)
		CHECK(clReleaseEvent(e[i]));
}

/* Exits while a kernel still waits for an event that never comes. */
static void never(void)
{
	cl_int err;
	cl_event gate = clCreateUserEvent(cl_ctx, &err);

	CHECK(err);
	launch(queue, 0, NULL, NULL);
	CHECK(clFinish(queue));
	launch(queue, 1, &gate, NULL);
	CHECK(clFlush(queue));
	printf("launches %ld refused %ld\n", nr_done, nr_refused);
	fflush(stdout);
	_exit(0);
}

/* Makes a copy or fill of each kind. */
static void copies(void)
{
	const size_t origin[3] = { 0, 0, 0 }, region[3] = { 16, 4, 1 };
	const cl_image_format format = { CL_RGBA, CL_UNSIGNED_INT8 };
	const cl_image_desc desc = { .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 16,
				     .image_height = 4 };
	static unsigned char host[4096];
	const cl_uint colour[4] = { 1, 2, 3, 4 };
	cl_mem other = cl_make_buffer(4096), image, image2;
	size_t row, slice;
	cl_int err, zero = 0;
	void *p, *svm;

	image = clCreateImage(cl_ctx, CL_MEM_READ_WRITE, &format, &desc, NULL, &err);
	CHECK(err);
	image2 = clCreateImage(cl_ctx, CL_MEM_READ_WRITE, &format, &desc, NULL, &err);
	CHECK(err);
	count(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, 1000, host, 0, NULL, NULL));
	count(clEnqueueReadBuffer(queue, buffer, CL_FALSE, 0, 1001, host, 0, NULL, NULL));
	count(clEnqueueCopyBuffer(queue, buffer, other, 0, 0, 1002, 0, NULL, NULL));
	count(clEnqueueFillBuffer(queue, buffer, &zero, 4, 0, 1024, 0, NULL, NULL));
	count(clEnqueueReadBufferRect(queue, buffer, CL_TRUE, origin, origin, region, 0, 0, 0, 0,
				      host, 0, NULL, NULL));
	count(clEnqueueWriteBufferRect(queue, buffer, CL_TRUE, origin, origin, region, 0, 0, 0, 0,
				       host, 0, NULL, NULL));
	count(clEnqueueCopyBufferRect(queue, buffer, other, origin, origin, region, 0, 0, 0, 0, 0,
				      NULL, NULL));
	count(clEnqueueWriteImage(queue, image, CL_TRUE, origin, region, 0, 0, host, 0, NULL,
				  NULL));
	count(clEnqueueReadImage(queue, image, CL_TRUE, origin, region, 0, 0, host, 0, NULL, NULL));
	count(clEnqueueCopyImage(queue, image, image2, origin, origin, region, 0, NULL, NULL));
	count(clEnqueueFillImage(queue, image, colour, origin, region, 0, NULL, NULL));
	count(clEnqueueCopyImageToBuffer(queue, image, buffer, origin, region, 0, 0, NULL, NULL));
	count(clEnqueueCopyBufferToImage(queue, buffer, image, 0, origin, region, 0, NULL, NULL));
	p = clEnqueueMapBuffer(queue, buffer, CL_TRUE, CL_MAP_READ, 0, 1003, 0, NULL, NULL, &err);
	count(err);
	count(clEnqueueUnmapMemObject(queue, buffer, p, 0, NULL, NULL));
	p = clEnqueueMapImage(queue, image, CL_TRUE, CL_MAP_WRITE, origin, region, &row, &slice, 0,
			      NULL, NULL, &err);
	count(err);
	count(clEnqueueUnmapMemObject(queue, image, p, 0, NULL, NULL));
	count(clEnqueueMigrateMemObjects(queue, 1, &buffer, CL_MIGRATE_MEM_OBJECT_HOST, 0, NULL,
					 NULL));
	count(clEnqueueMigrateMemObjects(queue, 1, &buffer, 0, 0, NULL, NULL));
	svm = clSVMAlloc(cl_ctx, CL_MEM_READ_WRITE, 4096, 0);
	if (svm) {
		count(clEnqueueSVMMigrateMem(queue, 1, (const void **)&svm, NULL, 0, 0, NULL,
					     NULL));
		count(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_WRITE, svm, 4096, 0, NULL, NULL));
		count(clEnqueueSVMUnmap(queue, svm, 0, NULL, NULL));
		count(clEnqueueSVMMemFill(queue, svm, &zero, 4, 1024, 0, NULL, NULL));
		count(clEnqueueSVMMemcpy(queue, CL_TRUE, host, svm, 1004, 0, NULL, NULL));
	}
	CHECK(clFinish(queue));
	clSVMFree(cl_ctx, svm);
	CHECK(clReleaseMemObject(image));
	CHECK(clReleaseMemObject(image2));
	CHECK(clReleaseMemObject(other));
}

/* Makes @nr command buffers of @nr_kernels kernels, and then enqueues each of them @nr_times. */
static void buffers(int nr, int nr_kernels, int nr_times)
{
#ifdef cl_khr_command_buffer
	clCreateCommandBufferKHR_fn create;
	clCommandNDRangeKernelKHR_fn add;
	clFinalizeCommandBufferKHR_fn finalize;
	clEnqueueCommandBufferKHR_fn enqueue;
	clReleaseCommandBufferKHR_fn release;
	static cl_command_buffer_khr b[MAX_BUFFERS];
	cl_int err;
	int i, k;

#define FIND(name) clGetExtensionFunctionAddressForPlatform(cl_platform, name)
	*(void **)&create = FIND("clCreateCommandBufferKHR");
	*(void **)&add = FIND("clCommandNDRangeKernelKHR");
	*(void **)&finalize = FIND("clFinalizeCommandBufferKHR");
	*(void **)&enqueue = FIND("clEnqueueCommandBufferKHR");
	*(void **)&release = FIND("clReleaseCommandBufferKHR");
	if (!create || !add || !finalize || !enqueue || !release) {
		printf("no command buffers\n");
		return;
	}
	for (i = 0; i < nr; i++) {
		b[i] = create(1, &queue, NULL, &err);
		CHECK(err);
		for (k = 0; k < nr_kernels; k++)
			CHECK(add(b[i], NULL, NULL, kernel, 1, NULL, one, one, 0, NULL, NULL,
				  NULL));
		CHECK(finalize(b[i]));
	}
	for (i = 0; i < nr * nr_times; i++) {
		count(enqueue(0, NULL, b[i % nr], 0, NULL, NULL));
		CHECK(clFinish(queue));
	}
	for (i = 0; i < nr; i++)
		CHECK(release(b[i]));
#else
	printf("no command buffers\n");
#endif
}

static void few_buffers(void)
{
	buffers(1, 10, 5);
}

/* More command buffers exist at once than the shim knows. */
static void many_buffers(void)
{
	buffers(MAX_BUFFERS, 1, 1);
}

static void *short_lived(void *arg)
{
	int *err = arg;

	*err = clEnqueueNDRangeKernel(queue, kernel, 1, NULL, one, one, 0, NULL, NULL);
	return NULL;
}

/* Starts and ends threads, ten at a time. */
static void threads(void)
{
	pthread_t t[10];
	int err[10], i, k;

	for (i = 0; i < 100; i++) {
		for (k = 0; k < 10; k++)
			pthread_create(&t[k], NULL, short_lived, &err[k]);
		for (k = 0; k < 10; k++) {
			pthread_join(t[k], NULL);
			count(err[k]);
		}
	}
	CHECK(clFinish(queue));
}

/* Forks a child that does not use OpenCL, and runs a program that ends at once. */
static void forks(void)
{
	int status;
	pid_t pid;

	launch(queue, 0, NULL, NULL);
	CHECK(clFinish(queue));
	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(7);
	waitpid(pid, &status, 0);
	printf("child %d\n", WEXITSTATUS(status));
	launch(queue, 0, NULL, NULL);
	CHECK(clFinish(queue));
}

/* Uses sub-devices, each with a context and a queue. */
static void subdevices(void)
{
	const cl_device_partition_property how[] = { CL_DEVICE_PARTITION_EQUALLY, 1, 0 };
	cl_command_queue q;
	cl_device_id *d;
	cl_context c;
	cl_uint nr = 0, i;
	cl_program p;
	cl_kernel k;
	cl_int err;

	err = clCreateSubDevices(cl_device, how, 0, NULL, &nr);
	d = err ? NULL : calloc(nr, sizeof(*d));
	if (!d) {
		printf("no sub-devices\n");
		return;
	}
	CHECK(clCreateSubDevices(cl_device, how, nr, d, NULL));
	for (i = 0; i < nr && i < 2; i++) {
		const char *source = "__kernel void on_part(void) {}";

		c = clCreateContext(NULL, 1, &d[i], NULL, NULL, &err);
		CHECK(err);
		p = clCreateProgramWithSource(c, 1, &source, NULL, &err);
		CHECK(err);
		CHECK(clBuildProgram(p, 1, &d[i], "", NULL, NULL));
		k = clCreateKernel(p, "on_part", &err);
		CHECK(err);
		q = clCreateCommandQueue(c, d[i], 0, &err);
		CHECK(err);
		count(clEnqueueNDRangeKernel(q, k, 1, NULL, one, one, 0, NULL, NULL));
		CHECK(clFinish(q));
		CHECK(clReleaseCommandQueue(q));
		CHECK(clReleaseContext(c));
	}
	free(d);
}

static uint64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000ull + t.tv_nsec / 1000;
}

#define WAITS(name, call)							\
static __attribute__((noinline)) void name(cl_kernel slow, cl_event *event)	\
{										\
	uint64_t start;								\
	cl_int value;								\
										\
	(void)value;								\
	count(clEnqueueNDRangeKernel(queue, slow, 1, NULL, one, one, 0, NULL, event)); \
	start = now_us();							\
	CHECK(call);								\
	printf(#name " %lu\n", (unsigned long)(now_us() - start));		\
}
WAITS(wait_finish, clFinish(queue))
WAITS(wait_events, clWaitForEvents(1, event))
WAITS(wait_read, count(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, 4, &value, 0, NULL, NULL)))

/* Waits in each way for a kernel of some 50 ms; prints how long each wait took, in us. */
static void waits(void)
{
	const char *source = "__kernel void slow(__global volatile int *p)\n"
			     "{ for (int i = 0; i < 20000000; i++) p[0] += i; }";
	cl_program p;
	cl_event e;
	cl_kernel k;
	cl_int err;

	p = clCreateProgramWithSource(cl_ctx, 1, &source, NULL, &err);
	CHECK(err);
	CHECK(clBuildProgram(p, 1, &cl_device, "", NULL, NULL));
	k = clCreateKernel(p, "slow", &err);
	CHECK(err);
	CHECK(clSetKernelArg(k, 0, sizeof(buffer), &buffer));
	wait_finish(k, NULL);
	wait_events(k, &e);
	wait_read(k, NULL);
}

/* Allocates memory of each kind: at most 1 MiB + 2 MiB + 64 KiB are live at any moment. */
static __attribute__((noinline)) cl_mem make_one(void)
{
	return cl_make_buffer(1 << 20);
}

static __attribute__((noinline)) cl_mem make_two(void)
{
	return cl_make_buffer(2 << 20);
}

static void memory(void)
{
	cl_mem a = make_one(), b = make_two(), c;
	void *svm = clSVMAlloc(cl_ctx, CL_MEM_READ_WRITE, 65536, 0);

	CHECK(clRetainMemObject(a));
	CHECK(clReleaseMemObject(a));	/* still live */
	clSVMFree(cl_ctx, svm);
	CHECK(clReleaseMemObject(b));
	c = make_one();
	CHECK(clReleaseMemObject(c));
	CHECK(clReleaseMemObject(a));
}

static void thousand_queues(void)
{
	queues(1000);
}

/* Makes many queues that exist at the same time, and uses each queue twice. */
static void many_queues(void)
{
	static cl_command_queue q[10000];
	int i, turn;

	for (i = 0; i < 10000; i++)
		q[i] = cl_make_queue(0);
	for (turn = 0; turn < 2; turn++)
		for (i = 0; i < 10000; i++)
			launch(q[i], 0, NULL, NULL);
	for (i = 0; i < 10000; i++) {
		CHECK(clFinish(q[i]));
		CHECK(clReleaseCommandQueue(q[i]));
	}
}

#define TIMES(name, nr, call)							\
	do {									\
		uint64_t start = now_us();					\
										\
		for (int i_ = 0; i_ < (nr); i_++)				\
			CHECK(call);						\
		printf("calls %s %d %lu\n", name, nr,				\
		       (unsigned long)(now_us() - start));			\
	} while (0)

static void CL_CALLBACK finds_status(cl_event event, cl_int status, void *data)
{
	(void)status;
	(void)data;
	clReleaseEvent(event);
}

/* Prints the name, the number and the time in us of API calls. */
static void calls(void)
{
	static char host[4096];
	cl_event e;
	cl_uint refs;
	cl_int err;
	cl_mem b;

	TIMES("clGetKernelInfo", 100, clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof(refs),
						      &refs, NULL));
	TIMES("clEnqueueNDRangeKernel", 50, launch(queue, 0, NULL, NULL));
	TIMES("clFinish", 5, clFinish(queue));
	TIMES("clEnqueueWriteBuffer", 7,
	      count(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, 4096, host, 0, NULL, NULL)));
	TIMES("clFlush", 11, clFlush(queue));
	e = clCreateUserEvent(cl_ctx, &err);
	CHECK(err);
	TIMES("clGetEventInfo", 13, clGetEventInfo(e, CL_EVENT_REFERENCE_COUNT, sizeof(refs),
						   &refs, NULL));
	/* Calls that the program makes inside a call are part of the outer call. */
	CHECK(clRetainEvent(e));
	CHECK(clSetEventCallback(e, CL_COMPLETE, finds_status, NULL));
	TIMES("clSetUserEventStatus", 1, clSetUserEventStatus(e, CL_COMPLETE));
	TIMES("clReleaseEvent", 1, clReleaseEvent(e));
	b = cl_make_buffer(4096);
	TIMES("clReleaseMemObject", 1, clReleaseMemObject(b));
}

static __attribute__((noinline)) void inside(void)
{
	launch(queue, 0, NULL, NULL);
	CHECK(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, 4, &(cl_int){ 0 }, 0, NULL, NULL));
	nr_done++;
}

/* Keeps one buffer for 3 s, and allocates and releases a further buffer every 100 ms. */
static void steady(void)
{
	cl_mem kept = make_two();
	int i;

	for (i = 0; i < 30; i++) {
		cl_mem b = make_one();

		inside();
		usleep(100000);
		CHECK(clReleaseMemObject(b));
	}
	CHECK(clReleaseMemObject(kept));
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = {
		{ "nulls", nulls }, { "events", events }, { "queues", thousand_queues },
		{ "released", released }, { "user", user }, { "order", order }, { "never", never },
		{ "copies", copies }, { "buffers", few_buffers },
		{ "many_buffers", many_buffers }, { "threads", threads }, { "forks", forks },
		{ "waits", waits }, { "memory", memory }, { "subdevices", subdevices },
		{ "many_queues", many_queues }, { "calls", calls },
		{ "steady", steady },
	};
	size_t i;

	if (argc != 2)
		return 2;
	cl_begin();
	queue = cl_make_queue(strcmp(argv[1], "events") ? 0 : CL_QUEUE_PROFILING_ENABLE);
	buffer = cl_make_buffer(4096);
	kernel = cl_make_kernel("plain", buffer);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (strcmp(argv[1], cases[i].name))
			continue;
		cases[i].run();
		printf("launches %ld refused %ld\n", nr_done, nr_refused);
		return 0;
	}
	return 2;
}
