// SPDX-License-Identifier: MIT
/*
 * cl_driver - an OpenCL driver, with one device that computes nothing, for tests
 *
 * Each queue has a thread, which runs kernels in order and takes some time for each. The device's
 * clock is 1000 s ahead. The words in CL_DRIVER choose what the driver cannot do:
 *	plain	refuses CL_QUEUE_PROFILING_ENABLE
 *	silent	refuses event callbacks
 *	old	is OpenCL 1.0, which has no event callbacks
 * With the word "timer" it has clGetDeviceAndHostTimer().
 */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_icd.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef void(CL_CALLBACK *callback_fn)(cl_event, cl_int, void *);
typedef void(CL_CALLBACK *context_fn)(const char *, const void *, size_t, void *);

/* The loader finds an object's functions through the object's first member. */
#define OBJECT const cl_icd_dispatch *dispatch; int nr_users

struct _cl_platform_id { OBJECT; };
struct _cl_device_id { OBJECT; };
struct _cl_context { OBJECT; };
struct _cl_program { OBJECT; };
struct _cl_mem { OBJECT; };
struct _cl_kernel { OBJECT; char name[64]; };
struct _cl_event {
	OBJECT;
	struct _cl_event *next;
	cl_command_queue queue;
	cl_ulong queued, start, end;
	callback_fn notify;
	void *arg;
	cl_int status;
};
struct _cl_command_queue {
	OBJECT;
	cl_command_queue_properties bits;
	pthread_t thread;
	struct _cl_event *first, **last;
	long nr_waiting;
};

static cl_icd_dispatch table;
static struct _cl_platform_id platform = { &table, 1 };
static struct _cl_device_id device = { &table, 1 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static bool is(const char *word)
{
	const char *words = getenv("CL_DRIVER");

	return words && strstr(words, word);
}

static cl_ulong now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (t.tv_sec + 1000) * 1000000000ull + t.tv_nsec;
}

#define NEW(type)	((type)make(sizeof(*(type)0)))

static void *make(size_t bytes)
{
	struct _cl_context *o = calloc(1, bytes);

	o->dispatch = &table;
	o->nr_users = 1;
	return o;
}

static cl_int give(void *object)
{
	struct _cl_context *o = object;

	if (!__atomic_sub_fetch(&o->nr_users, 1, __ATOMIC_ACQ_REL))
		free(o);
	return CL_SUCCESS;
}

static cl_int keep(void *object)
{
	__atomic_add_fetch(&((struct _cl_context *)object)->nr_users, 1, __ATOMIC_ACQ_REL);
	return CL_SUCCESS;
}

static cl_int answer(size_t room, void *value, size_t *bytes, const void *from, size_t size)
{
	if (value && room < size)
		return CL_INVALID_VALUE;
	if (value)
		memcpy(value, from, size);
	if (bytes)
		*bytes = size;
	return CL_SUCCESS;
}
#define ANSWER(x)	answer(room, value, bytes, &(x), sizeof(x))
#define TEXT(x)		answer(room, value, bytes, x, strlen(x) + 1)
#define QUESTION	size_t room, void *value, size_t *bytes

/* ---- platforms, devices, objects ------------------------------------------------------------- */

static cl_int platforms(cl_uint room, cl_platform_id *out, cl_uint *nr)
{
	if (out && room)
		*out = &platform;
	if (nr)
		*nr = 1;
	return CL_SUCCESS;
}

static cl_int platform_info(cl_platform_id p, cl_platform_info what, QUESTION)
{
	(void)p;
	switch (what) {
	case CL_PLATFORM_EXTENSIONS:
		return TEXT("cl_khr_icd");
	case 0x0920:			/* CL_PLATFORM_ICD_SUFFIX_KHR */
		return TEXT("TEST");
	case CL_PLATFORM_VERSION:
		return TEXT("OpenCL 3.0 test");
	default:
		return TEXT("test");
	}
}

static cl_int devices(cl_platform_id p, cl_device_type type, cl_uint room, cl_device_id *out,
		      cl_uint *nr)
{
	(void)p;
	(void)type;
	if (out && room)
		*out = &device;
	if (nr)
		*nr = 1;
	return CL_SUCCESS;
}

static cl_int device_info(cl_device_id d, cl_device_info what, QUESTION)
{
	static const cl_uint units = 7;
	static const cl_platform_id of = &platform;

	(void)d;
	switch (what) {
	case CL_DEVICE_VERSION:
		return is("old") ? TEXT("OpenCL 1.0 test") :
		       is("timer") ? TEXT("OpenCL 3.0 test") : TEXT("OpenCL 1.2 test");
	case CL_DEVICE_NAME:
		return TEXT("test device");
	case CL_DEVICE_MAX_COMPUTE_UNITS:
		return ANSWER(units);
	case CL_DEVICE_PLATFORM:
		return ANSWER(of);
	default:
		return CL_INVALID_VALUE;
	}
}

static cl_context make_context(const cl_context_properties *properties, cl_uint nr,
			       const cl_device_id *list,
			       context_fn notify,
			       void *data, cl_int *err)
{
	(void)properties;
	(void)nr;
	(void)list;
	(void)notify;
	(void)data;
	*err = CL_SUCCESS;
	return NEW(cl_context);
}

static cl_int context_info(cl_context c, cl_context_info what, QUESTION)
{
	static const cl_device_id d = &device;

	(void)c;
	return what == CL_CONTEXT_DEVICES ? ANSWER(d) : CL_INVALID_VALUE;
}

static cl_program make_program(cl_context c, cl_uint nr, const char **texts, const size_t *lengths,
			       cl_int *err)
{
	(void)c;
	(void)nr;
	(void)texts;
	(void)lengths;
	*err = CL_SUCCESS;
	return NEW(cl_program);
}

static cl_int build(cl_program p, cl_uint nr, const cl_device_id *list, const char *options,
		    void(CL_CALLBACK *notify)(cl_program, void *), void *data)
{
	(void)p;
	(void)nr;
	(void)list;
	(void)options;
	(void)notify;
	(void)data;
	return CL_SUCCESS;
}

static cl_kernel make_kernel(cl_program p, const char *name, cl_int *err)
{
	cl_kernel k = NEW(cl_kernel);

	(void)p;
	strncpy(k->name, name, sizeof(k->name) - 1);
	*err = CL_SUCCESS;
	return k;
}

static cl_int kernel_info(cl_kernel k, cl_kernel_info what, QUESTION)
{
	return what == CL_KERNEL_FUNCTION_NAME ? TEXT(k->name) : CL_INVALID_VALUE;
}

static cl_int set_arg(cl_kernel k, cl_uint i, size_t bytes, const void *value)
{
	(void)k;
	(void)i;
	(void)bytes;
	(void)value;
	return CL_SUCCESS;
}

static cl_mem make_buffer(cl_context c, cl_mem_flags flags, size_t bytes, void *host, cl_int *err)
{
	(void)c;
	(void)flags;
	(void)bytes;
	(void)host;
	*err = CL_SUCCESS;
	return NEW(cl_mem);
}

/* ---- queues ---------------------------------------------------------------------------------- */

static void complete(struct _cl_event *e)
{
	callback_fn notify;

	pthread_mutex_lock(&lock);
	e->end = now();
	e->status = CL_COMPLETE;
	notify = e->notify;
	e->queue->nr_waiting--;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	if (notify)
		notify(e, CL_COMPLETE, e->arg);
	give(e);
}

static __attribute__((noreturn)) void *run(void *arg)
{
	struct _cl_command_queue *q = arg;
	struct _cl_event *e;

	pthread_mutex_lock(&lock);
	while (true) {
		e = q->first;
		if (!e) {
			pthread_cond_wait(&changed, &lock);
			continue;
		}
		q->first = e->next;
		if (!q->first)
			q->last = &q->first;
		e->start = now();
		pthread_mutex_unlock(&lock);
		while (now() < e->start + 1000)
			;
		complete(e);
		pthread_mutex_lock(&lock);
	}
}

static cl_command_queue make_queue(cl_context c, cl_device_id d,
				   const cl_queue_properties *properties, cl_int *err)
{
	cl_command_queue q;

	(void)c;
	(void)d;
	*err = CL_INVALID_QUEUE_PROPERTIES;
	if (properties && properties[0] && properties[1] & CL_QUEUE_PROFILING_ENABLE && is("plain"))
		return NULL;
	*err = CL_SUCCESS;
	q = NEW(cl_command_queue);
	q->bits = properties && properties[0] ? properties[1] : 0;
	q->last = &q->first;
	pthread_create(&q->thread, NULL, run, q);
	return q;
}

static cl_int queue_info(cl_command_queue q, cl_command_queue_info what, QUESTION)
{
	static struct _cl_context any = { &table, 1 };
	static const cl_context context = &any;
	static const cl_device_id d = &device;

	(void)q;
	return what == CL_QUEUE_CONTEXT ? ANSWER(context) :
	       what == CL_QUEUE_DEVICE ? ANSWER(d) : CL_INVALID_VALUE;
}

static cl_int launch(cl_command_queue q, cl_kernel k, cl_uint nr, const size_t *offset,
		     const size_t *global, const size_t *local, cl_uint nr_waits,
		     const cl_event *waits, cl_event *event)
{
	cl_event e = NEW(cl_event);

	(void)k;
	(void)nr;
	(void)offset;
	(void)global;
	(void)local;
	(void)nr_waits;
	(void)waits;
	e->queue = q;
	e->status = CL_QUEUED;
	if (event) {
		e->nr_users = 2;
		*event = e;
	}
	pthread_mutex_lock(&lock);
	e->queued = now();
	*q->last = e;
	q->last = &e->next;
	q->nr_waiting++;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	return CL_SUCCESS;
}

static cl_int finish(cl_command_queue q)
{
	pthread_mutex_lock(&lock);
	while (q->nr_waiting)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	return CL_SUCCESS;
}

static cl_int profile(cl_event e, cl_profiling_info what, QUESTION)
{
	if (!(e->queue->bits & CL_QUEUE_PROFILING_ENABLE) || e->status)
		return CL_PROFILING_INFO_NOT_AVAILABLE;
	return what == CL_PROFILING_COMMAND_QUEUED ? ANSWER(e->queued) :
	       what == CL_PROFILING_COMMAND_START ? ANSWER(e->start) : ANSWER(e->end);
}

static cl_int call_back(cl_event e, cl_int status, callback_fn notify, void *arg)
{
	bool is_over;

	(void)status;
	if (is("silent"))
		return CL_OUT_OF_RESOURCES;
	pthread_mutex_lock(&lock);
	is_over = !e->status;
	e->notify = notify;
	e->arg = arg;
	pthread_mutex_unlock(&lock);
	if (is_over)
		notify(e, CL_COMPLETE, arg);
	return CL_SUCCESS;
}

static cl_int read_timer(cl_device_id d, cl_ulong *device_ns, cl_ulong *host_ns)
{
	(void)d;
	*device_ns = now();
	*host_ns = *device_ns - 1000000000000ull;
	return CL_SUCCESS;
}

/* ---- the loader ------------------------------------------------------------------------------ */

cl_int clIcdGetPlatformIDsKHR(cl_uint room, cl_platform_id *out, cl_uint *nr)
{
	return platforms(room, out, nr);
}

void *clGetExtensionFunctionAddress(const char *name)
{
	return !strcmp(name, "clIcdGetPlatformIDsKHR") ? (void *)clIcdGetPlatformIDsKHR : NULL;
}

cl_int clGetPlatformInfo(cl_platform_id p, cl_platform_info what, QUESTION)
{
	return platform_info(p, what, room, value, bytes);
}

static __attribute__((constructor)) void fill(void)
{
	table.clGetPlatformIDs = platforms;
	table.clGetPlatformInfo = platform_info;
	table.clGetDeviceIDs = devices;
	table.clGetDeviceInfo = device_info;
	table.clCreateContext = make_context;
	table.clGetContextInfo = context_info;
	table.clReleaseContext = (void *)give;
	table.clCreateProgramWithSource = make_program;
	table.clBuildProgram = build;
	table.clReleaseProgram = (void *)give;
	table.clCreateKernel = make_kernel;
	table.clGetKernelInfo = kernel_info;
	table.clSetKernelArg = set_arg;
	table.clReleaseKernel = (void *)give;
	table.clCreateBuffer = make_buffer;
	table.clReleaseMemObject = (void *)give;
	table.clCreateCommandQueueWithProperties = make_queue;
	table.clGetCommandQueueInfo = queue_info;
	table.clEnqueueNDRangeKernel = launch;
	table.clFinish = finish;
	table.clGetEventProfilingInfo = profile;
	if (!is("old"))
		table.clSetEventCallback = call_back;
	table.clRetainEvent = (void *)keep;
	table.clReleaseEvent = (void *)give;
	if (is("timer"))
		table.clGetDeviceAndHostTimer = read_timer;
}
