// SPDX-License-Identifier: MIT
/*
 * Command buffers, an extension whose functions the program gets from its platform. A command
 * buffer counts as a launch with one piece of device work, because a single event has the times for
 * all commands of the buffer.
 */
#include <pthread.h>
#include <string.h>

#include "base/lock.h"
#include "gpu/opencl/enqueue.h"

#ifdef cl_khr_command_buffer

#define NR_BUFFERS	4096		/* maximum number of command buffers; a power of two */
#define MAX_PROBES	64

/* Each platform has its own functions. */
struct platform {
	cl_platform_id id;
	clCreateCommandBufferKHR_fn create;
	clEnqueueCommandBufferKHR_fn enqueue;
};

/*
 * The first queue of a command buffer. It is noted when the buffer is made, since PoCL 3.1 returns
 * another pointer for CL_COMMAND_BUFFER_QUEUES_KHR. An entry stays until a new buffer gets the same
 * handle.
 */
struct buffer {
	_Atomic(cl_command_buffer_khr) handle;
	_Atomic(cl_command_queue) queue;
};

static struct platform platforms[4];	/* command buffers of further platforms are not recorded */
static atomic_bool has_further;
static struct buffer buffers[NR_BUFFERS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;	/* held while entries change; see
								 * lock.h */

static struct buffer *buffer__find(cl_command_buffer_khr handle, bool add)
{
	size_t at = (uint64_t)(uintptr_t)handle * 0x9e3779b97f4a7c15ull >> 32, i;
	cl_command_buffer_khr h;
	struct buffer *b;

	for (i = 0; i < MAX_PROBES; i++) {
		b = &buffers[(at + i) % NR_BUFFERS];
		h = atomic_load(&b->handle);
		if (h == handle)
			return b;
		if (!h && add)
			atomic_store(&b->handle, handle);
		if (!h)
			return add ? b : NULL;
	}
	return NULL;
}

static cl_command_buffer_khr create(const struct platform *p, cl_uint nr,
				    const cl_command_queue *queues,
				    const cl_command_buffer_properties_khr *properties, cl_int *err)
{
	cl_command_buffer_khr handle = p->create(nr, queues, properties, err);
	struct buffer *b;
	sigset_t old;

	if (!handle || !nr || !queues)
		return handle;
	lock__take(&lock, &old);
	b = buffer__find(handle, true);
	if (b)
		atomic_store(&b->queue, queues[0]);
	lock__give(&lock, &old);
	return handle;
}

/* Return: the queue that the call uses; NULL: unknown. */
static cl_command_queue queue_of(cl_uint nr, cl_command_queue *queues, cl_command_buffer_khr handle)
{
	const struct buffer *b;

	if (nr && queues)
		return queues[0];
	b = handle ? buffer__find(handle, false) : NULL;
	return b ? atomic_load(&b->queue) : NULL;
}

static inline __attribute__((always_inline)) cl_int
enqueue(const struct platform *p, cl_uint nr, cl_command_queue *queues,
	cl_command_buffer_khr buffer, cl_uint nr_waits, const cl_event *waits, cl_event *event)
{
	const unsigned int call = CALL_clEnqueueCommandBufferKHR;
	struct enqueue e;
	cl_event *to;
	cl_int err;

	if (!opencl__is_on())
		return p->enqueue(nr, queues, buffer, nr_waits, waits, event);
	to = enqueue__prepare(&e, call, queue_of(nr, queues, buffer), event);
	if (e.work) {
		e.work->type = XPU_RECORD_KERNEL;
		e.work->name = "[command buffer]";
		enqueue__enter(&e, call, false);
	}
	err = p->enqueue(nr, queues, buffer, nr_waits, waits, to);
	enqueue__finish(&e, call, false, event, err);
	return err;
}

#define OF_PLATFORM(i)									\
static cl_command_buffer_khr CL_API_CALL						\
create_##i(cl_uint nr, const cl_command_queue *queues,					\
	   const cl_command_buffer_properties_khr *properties, cl_int *err)		\
{											\
	return create(&platforms[i], nr, queues, properties, err);			\
}											\
											\
static cl_int CL_API_CALL enqueue_##i(cl_uint nr, cl_command_queue *queues,		\
				      cl_command_buffer_khr buffer, cl_uint nr_waits,	\
				      const cl_event *waits, cl_event *event)		\
{											\
	return enqueue(&platforms[i], nr, queues, buffer, nr_waits, waits, event);	\
}
OF_PLATFORM(0)
OF_PLATFORM(1)
OF_PLATFORM(2)
OF_PLATFORM(3)

/* The shim's functions for the platform that has the same index in platforms[]. */
static const struct platform own[] = {
	{ .create = create_0, .enqueue = enqueue_0 },
	{ .create = create_1, .enqueue = enqueue_1 },
	{ .create = create_2, .enqueue = enqueue_2 },
	{ .create = create_3, .enqueue = enqueue_3 },
};

/* Return: the entry of platform @id, made if necessary; NULL if all entries are taken. */
static struct platform *platform__get(cl_platform_id id)
{
	struct platform *p;

	for (p = platforms; p < platforms + sizeof(platforms) / sizeof(*p); p++) {
		if (p->id == id)
			return p;
		if (!p->id) {
			p->id = id;
			return p;
		}
	}
	return NULL;
}

static void *CL_API_CALL on_clGetExtensionFunctionAddressForPlatform(cl_platform_id id,
								     const char *name)
{
	void *function = opencl.clGetExtensionFunctionAddressForPlatform(id, name);
	const struct platform *shims;
	struct platform *p;
	sigset_t old;
	bool creates;

	if (!function || !id || !name)
		return function;
	creates = !strcmp(name, "clCreateCommandBufferKHR");
	if (!creates && strcmp(name, "clEnqueueCommandBufferKHR"))
		return function;
	lock__take(&lock, &old);
	p = platform__get(id);
	if (!p) {
		atomic_store(&has_further, true);
	} else {
		shims = &own[p - platforms];
		*(creates ? (void **)&p->create : (void **)&p->enqueue) = function;
		function = creates ? (void *)shims->create : (void *)shims->enqueue;
	}
	lock__give(&lock, &old);
	return function;
}

const char *extensions__message(void)
{
	return !atomic_load(&has_further) ? NULL :
	       "OpenCL: the program uses command buffers of more than 4 platforms: the shim "
	       "records command buffers of the first 4 platforms only";
}

void extensions__fill(cl_icd_dispatch *table)
{
	OPENCL_WATCH(table, clGetExtensionFunctionAddressForPlatform);
}

#else

const char *extensions__message(void)
{
	return NULL;
}

void extensions__fill(cl_icd_dispatch *table)
{
	(void)table;
}

#endif
