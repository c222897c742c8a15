// SPDX-License-Identifier: MIT
#include "gpu/opencl/objects.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/lock.h"
#include "base/number.h"
#include "wire/wire.h"

#define NR_QUEUES	65536		/* a power of two, like the next number */
#define NR_CONTEXTS	4096
#define MAX_PROBES	64
#define MAX_PROPERTIES	64
#define MAX_NAME	256

/* From cl_khr_device_uuid, which older headers lack. */
#define DEVICE_UUID	0x106A

struct device {
	cl_device_id handle;
	char name[MAX_NAME];
	uint8_t uuid[CL_UUID_SIZE_KHR];
	uint32_t nr_units;
	unsigned int can;		/* enum device_can */
};

static struct clqueue clqueues[NR_QUEUES];	/* pages get memory when they are used */
static struct clcontext clcontexts[NR_CONTEXTS];
static struct clqueue other_clqueues = { .number = UINT32_MAX };
static struct clcontext other_clcontexts = { .number = UINT32_MAX };
static struct device devices[OPENCL_MAX_DEVICES];
static atomic_uint nr_devices, nr_refused;
static unsigned int nr_defined, last_queue, last_context;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;	/* held while the tables change; see
								 * lock.h */

static size_t place_of(const void *handle)
{
	return (uint64_t)(uintptr_t)handle * 0x9e3779b97f4a7c15ull >> 32;
}

/*
 * Return: the entry of @handle, or NULL. With @add, the entry is added if necessary. The caller
 * of @add must hold the lock. If the table is full, all further handles share one entry.
 */
#define FIND(type)									\
static struct type *type##__find(void *handle, bool add)				\
{											\
	size_t at = place_of(handle), i;						\
	struct type *e;									\
	void *h;									\
											\
	for (i = 0; i < MAX_PROBES; i++) {						\
		e = &type##s[(at + i) % (sizeof(type##s) / sizeof(*e))];		\
		h = atomic_load_explicit(&e->handle, memory_order_acquire);		\
		if (h == handle)							\
			return e;							\
		if (h)									\
			continue;							\
		if (!add)								\
			return NULL;							\
		atomic_store(&e->handle, handle);					\
		return e;								\
	}										\
	return &other_##type##s;							\
}
FIND(clqueue)
FIND(clcontext)

/* ---- devices --------------------------------------------------------------------------------- */

static unsigned int device__find(cl_device_id handle)
{
	unsigned int nr = atomic_load(&nr_devices), i;

	for (i = nr; i--;)
		if (devices[i].handle == handle)
			return i;
	return nr;
}

/*
 * Return: what the driver of @handle can do, as enum device_can bits. Each OpenCL object begins
 * with the address of the driver's function table; the driver's version says how long the table is.
 */
static unsigned int device__can(cl_device_id handle)
{
	const cl_icd_dispatch *table = *(const cl_icd_dispatch *const *)handle;
	static const char begin[] = "OpenCL ";
	unsigned int major, minor, can = 0;
	char version[256] = "";
	const char *at = version + sizeof(begin) - 1;

	if (opencl.clGetDeviceInfo(handle, CL_DEVICE_VERSION, sizeof(version) - 1, version, NULL) ||
	    strncmp(version, begin, sizeof(begin) - 1) || !number__read(&at, &major) ||
	    *at++ != '.' || !number__read(&at, &minor))
		return 0;
	minor += 100 * major;
	if (minor >= 101 && table->clSetEventCallback)
		can |= DEVICE_CALLS_BACK;
	if (minor >= 101 && table->clSetMemObjectDestructorCallback)
		can |= DEVICE_TELLS_FREED;
	if (minor >= 201 && table->clGetDeviceAndHostTimer)
		can |= DEVICE_HAS_TIMER;
	return can;
}

/* Asks the driver for the name and other properties of a device. */
static void device__describe(struct device *d, cl_device_id handle)
{
	cl_device_id parent = NULL;
	size_t len;

	memset(d, 0, sizeof(*d));
	d->handle = handle;
	d->can = device__can(handle);
	if (opencl.clGetDeviceInfo(handle, CL_DEVICE_NAME, sizeof(d->name) - 1, d->name, NULL))
		snprintf(d->name, sizeof(d->name), "OpenCL device");
	if (opencl.clGetDeviceInfo(handle, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(d->nr_units),
				   &d->nr_units, NULL))
		d->nr_units = 0;
	if (!opencl.clGetDeviceInfo(handle, CL_DEVICE_PARENT_DEVICE, sizeof(parent), &parent,
				    NULL) && parent) {
		len = strlen(d->name);
		snprintf(d->name + len, sizeof(d->name) - len, " (sub-device of %u units)",
			 d->nr_units);
	} else if (opencl.clGetDeviceInfo(handle, DEVICE_UUID, sizeof(d->uuid), d->uuid, NULL)) {
		memset(d->uuid, 0, sizeof(d->uuid));
	}
}

/*
 * Return: the ordinal of @handle. @made: the device was just made, and its handle may have belonged
 * to an older device.
 */
static uint16_t device__ordinal(cl_device_id handle, bool made)
{
	struct device d;
	unsigned int i, nr;
	sigset_t old;

	i = device__find(handle);
	if (!made && i < atomic_load(&nr_devices))
		return i;
	device__describe(&d, handle);
	lock__take(&lock, &old);
	i = device__find(handle);
	nr = atomic_load(&nr_devices);
	if ((made || i == nr) && nr < OPENCL_MAX_DEVICES) {
		i = nr;
		devices[i] = d;
		atomic_store(&nr_devices, nr + 1);
	}
	lock__give(&lock, &old);
	return i < OPENCL_MAX_DEVICES ? i : OPENCL_MAX_DEVICES - 1;
}

void objects__define_devices(void)
{
	struct xpu_record_device r;
	struct device *d;

	while (nr_defined < atomic_load(&nr_devices)) {
		d = &devices[nr_defined];
		memset(&r, 0, sizeof(r));
		r.device = nr_defined++;
		r.limits.nr_multiprocessors = d->nr_units;
		_Static_assert(sizeof(r.uuid) == sizeof(d->uuid), "a UUID is 16 bytes");
		memcpy(r.uuid, d->uuid, sizeof(r.uuid));
		wire__device(XPU_API_OPENCL, &r, d->name);
	}
}

const char *objects__device_name(uint16_t ordinal)
{
	return ordinal < atomic_load(&nr_devices) ? devices[ordinal].name : "";
}

cl_device_id objects__device(uint16_t ordinal)
{
	return ordinal < atomic_load(&nr_devices) ? devices[ordinal].handle : NULL;
}

bool objects__device_can(uint16_t ordinal, enum device_can what)
{
	return ordinal < atomic_load_explicit(&nr_devices, memory_order_acquire) &&
	       devices[ordinal].can & what;
}

unsigned int objects__nr_devices(void)
{
	return atomic_load(&nr_devices);
}

static cl_int CL_API_CALL on_clCreateSubDevices(cl_device_id device,
						const cl_device_partition_property *how,
						cl_uint room, cl_device_id *out, cl_uint *nr)
{
	cl_uint made = 0, i;
	cl_int err = opencl.clCreateSubDevices(device, how, room, out, &made);

	if (nr)
		*nr = made;
	for (i = 0; !err && out && i < made && i < room; i++)
		device__ordinal(out[i], true);
	return err;
}

/* ---- contexts -------------------------------------------------------------------------------- */

static struct clcontext *context__add(cl_context handle, bool made)
{
	cl_device_id first[OPENCL_MAX_DEVICES] = { NULL };
	uint16_t device = 0;
	struct clcontext *c;
	sigset_t old;

	if (opencl.clGetContextInfo(handle, CL_CONTEXT_DEVICES, sizeof(first), first, NULL))
		return NULL;
	if (first[0])
		device = device__ordinal(first[0], false);
	lock__take(&lock, &old);
	c = clcontext__find(handle, true);
	if (c != &other_clcontexts && (made || !atomic_load(&c->number))) {
		c->device = device;
		atomic_store(&c->number, ++last_context);
	}
	lock__give(&lock, &old);
	return c;
}

const struct clcontext *context__of(cl_context handle)
{
	struct clcontext *c = handle ? clcontext__find(handle, false) : NULL;

	if (c && atomic_load_explicit(&c->number, memory_order_acquire))
		return c;
	return handle ? context__add(handle, false) : NULL;
}

typedef void(CL_CALLBACK *context_fn)(const char *, const void *, size_t, void *);

static cl_context CL_API_CALL on_clCreateContext(const cl_context_properties *properties,
						 cl_uint nr, const cl_device_id *list,
						 context_fn notify, void *data, cl_int *err)
{
	cl_context c;

	opencl__used();
	c = opencl.clCreateContext(properties, nr, list, notify, data, err);
	if (c)
		context__add(c, true);
	return c;
}

static cl_context CL_API_CALL on_clCreateContextFromType(const cl_context_properties *properties,
							 cl_device_type type, context_fn notify,
							 void *data, cl_int *err)
{
	cl_context c;

	opencl__used();
	c = opencl.clCreateContextFromType(properties, type, notify, data, err);
	if (c)
		context__add(c, true);
	return c;
}

/* ---- queues ---------------------------------------------------------------------------------- */

static struct clqueue *queue__add(cl_command_queue handle, bool made)
{
	const struct clcontext *context;
	cl_context in = NULL;
	cl_device_id on = NULL;
	struct clqueue *q;
	uint16_t device;
	sigset_t old;

	if (opencl.clGetCommandQueueInfo(handle, CL_QUEUE_CONTEXT, sizeof(in), &in, NULL) ||
	    opencl.clGetCommandQueueInfo(handle, CL_QUEUE_DEVICE, sizeof(on), &on, NULL))
		return NULL;
	context = context__of(in);
	device = device__ordinal(on, false);
	lock__take(&lock, &old);
	q = clqueue__find(handle, true);
	if (q != &other_clqueues && (made || !atomic_load(&q->number))) {
		q->context = context ? context->number : 0;
		q->device = device;
		atomic_store(&q->number, ++last_queue);
	}
	lock__give(&lock, &old);
	return q;
}

const struct clqueue *queue__of(cl_command_queue handle)
{
	struct clqueue *q = handle ? clqueue__find(handle, false) : NULL;

	if (__builtin_expect(q && atomic_load_explicit(&q->number, memory_order_acquire), 1))
		return q;
	return handle ? queue__add(handle, false) : NULL;
}

static cl_command_queue queue__made(cl_command_queue queue, bool profiled, cl_int *err, cl_int e)
{
	if (err)
		*err = e;
	if (!queue)
		return NULL;
	if (!profiled)
		atomic_fetch_add(&nr_refused, 1);
	queue__add(queue, true);
	return queue;
}

unsigned int objects__nr_refused(void)
{
	return atomic_load(&nr_refused);
}

static cl_command_queue CL_API_CALL on_clCreateCommandQueue(cl_context context,
							    cl_device_id device,
							    cl_command_queue_properties bits,
							    cl_int *err)
{
	cl_command_queue queue;
	cl_int e = CL_SUCCESS;

	queue = opencl.clCreateCommandQueue(context, device, bits | CL_QUEUE_PROFILING_ENABLE, &e);
	if (queue || bits & CL_QUEUE_PROFILING_ENABLE)
		return queue__made(queue, true, err, e);
	queue = opencl.clCreateCommandQueue(context, device, bits, &e);
	return queue__made(queue, false, err, e);
}

/*
 * Copies @from to @to, and adds CL_QUEUE_PROFILING_ENABLE. @to has room for MAX_PROPERTIES entries.
 * Return: false if the program measures times itself, or passes too many properties.
 */
static bool add_profiling(cl_queue_properties *to, const cl_queue_properties *from)
{
	bool seen = false;
	size_t n = 0;

	for (; from && from[n]; n += 2) {
		if (n + 5 > MAX_PROPERTIES)
			return false;
		to[n] = from[n];
		to[n + 1] = from[n + 1];
		if (from[n] != CL_QUEUE_PROPERTIES)
			continue;
		if (from[n + 1] & (CL_QUEUE_PROFILING_ENABLE | CL_QUEUE_ON_DEVICE))
			return false;
		to[n + 1] |= CL_QUEUE_PROFILING_ENABLE;
		seen = true;
	}
	if (!seen) {
		to[n++] = CL_QUEUE_PROPERTIES;
		to[n++] = CL_QUEUE_PROFILING_ENABLE;
	}
	to[n] = 0;
	return true;
}

static cl_command_queue CL_API_CALL
on_clCreateCommandQueueWithProperties(cl_context context, cl_device_id device,
				      const cl_queue_properties *properties, cl_int *err)
{
	cl_queue_properties more[MAX_PROPERTIES];
	bool add = add_profiling(more, properties);
	cl_command_queue queue;
	cl_int e = CL_SUCCESS;

	queue = opencl.clCreateCommandQueueWithProperties(context, device,
							  add ? more : properties, &e);
	if (queue || !add)
		return queue__made(queue, true, err, e);
	queue = opencl.clCreateCommandQueueWithProperties(context, device, properties, &e);
	return queue__made(queue, false, err, e);
}

void objects__fill(cl_icd_dispatch *table)
{
	OPENCL_WATCH(table, clCreateContext);
	OPENCL_WATCH(table, clCreateContextFromType);
	OPENCL_WATCH(table, clCreateSubDevices);
	OPENCL_WATCH(table, clCreateCommandQueue);
	OPENCL_WATCH(table, clCreateCommandQueueWithProperties);
}
