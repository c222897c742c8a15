// SPDX-License-Identifier: MIT
/*
 * Calls that put work on a device, and calls that wait. Each passes the program's own arguments on,
 * but always asks the driver for an event. The completion of the event reports the work.
 */
#include "gpu/opencl/enqueue.h"

#include "gpu/opencl/calls.h"
#include "gpu/opencl/kernel_names.h"
#include "gpu/opencl/objects.h"
#include "nvtx/capture.h"

/* Kinds of copies, in CUPTI's numbers. */
enum { UNKNOWN, HTOD, DTOH, DTOD = 8 };

/* ---- what every call does -------------------------------------------------------------------- */

/* Counts the launch, if windows open at launch numbers. Return: whether the launch is recorded. */
static bool is_wanted(struct enqueue *e)
{
	if (!capture__by_launches())
		return true;
	e->is_counted = true;
	return capture__launch_begins();
}

/* Return: the struct for the launch, with its queue set; NULL if the launch is not recorded. */
static inline struct work *new_work(struct enqueue *e, cl_command_queue queue)
{
	const struct clqueue *q;
	struct work *w;

	if (!is_wanted(e) || !launch__is_on())
		return NULL;
	q = queue__of(queue);
	w = q ? work__new() : NULL;
	e->is_lost = !q;
	if (!w)
		return NULL;
	w->device = q->device;
	w->queue = q->number;
	w->context = q->context;
	w->block[0] = 0;
	return w;
}

/* Return: where the driver must put the event. */
__attribute__((noinline)) cl_event *enqueue__prepare(struct enqueue *e, unsigned int call,
						     cl_command_queue queue, cl_event *event)
{
	e->is_counted = e->is_lost = false;
	e->event = NULL;
	e->wait_start = 0;
	e->timed_id = 0;
	e->work = new_work(e, queue);
	if (opencl_calls__are_timed(call))
		e->timed_id = opencl_calls__begin(call, e->work ? e->work->id : 0, e);
	return e->work ? &e->event : event;
}

/* Handles a successful call that may have waited. */
static __attribute__((noinline, cold)) void waited(const struct work *w, unsigned int call,
						   uint64_t start)
{
	struct gpu_wait wait;

	if (launch__is_inside() || !wait__measure(&wait, start))
		return;
	wait.context = w->context;
	wait.stream = w->queue;
	wait.flags = XPU_WAIT_STREAM;
	wait.correlation_id = w->id;
	launch__waited(OPENCL_DOMAIN, call, &wait);
}

__attribute__((noinline)) void enqueue__finish(struct enqueue *e, unsigned int call, bool blocks,
					       cl_event *event, cl_int err)
{
	struct work *w = e->work;

	if (__builtin_expect(e->timed_id, 0))
		opencl_calls__end(call, e->timed_id);
	if (w) {
		w->at.end_ns = clock__ns();
		if (capture_window__are_used)
			launch__forget_start(&e->wait_start);
		if (err) {
			launch__refused(OPENCL_DOMAIN, w->id, err);
			work__cancel(w);
		} else {
			launch__left();
			if (blocks && e->wait_start && wait__is_long(e->wait_start))
				waited(w, call, e->wait_start);
			if (event) {
				*event = e->event;
				if (e->event && opencl.clRetainEvent(e->event))
					e->event = NULL;
			}
			work__watch(w, e->event);
		}
	} else if (e->is_lost && !err) {
		work__lost();
	}
	if (e->is_counted)
		capture__launch_ends();
}

static inline __attribute__((always_inline)) cl_event *
begin(struct enqueue *e, unsigned int call, cl_command_queue queue, cl_event *event)
{
	e->is_watched = opencl__is_on();
	if (!e->is_watched) {
		e->work = NULL;
		return event;
	}
	return enqueue__prepare(e, call, queue, event);
}

static inline __attribute__((always_inline)) void
copies(struct enqueue *e, unsigned int call, uint8_t kind, uint64_t bytes, bool blocks)
{
	struct work *w = e->work;

	w->type = XPU_RECORD_MEMCPY;
	w->copy_kind = kind;
	w->bytes = bytes;
	w->is_async = !blocks;
	enqueue__enter(e, call, blocks);
}

static inline __attribute__((always_inline)) void fills(struct enqueue *e, unsigned int call,
							uint64_t bytes)
{
	struct work *w = e->work;

	w->type = XPU_RECORD_MEMSET;
	w->copy_kind = UNKNOWN;
	w->bytes = bytes;
	w->is_async = true;
	enqueue__enter(e, call, false);
}

static inline __attribute__((always_inline)) cl_int end(struct enqueue *e, unsigned int call,
							bool blocks, cl_event *event, cl_int err)
{
	if (e->is_watched)
		enqueue__finish(e, call, blocks, event, err);
	return err;
}

static uint64_t volume(const size_t *region)
{
	return region ? (uint64_t)region[0] * region[1] * region[2] : 0;
}

static uint64_t image_bytes(cl_mem image, const size_t *region)
{
	size_t bytes = 0;

	if (!region || opencl.clGetImageInfo(image, CL_IMAGE_ELEMENT_SIZE, sizeof(bytes), &bytes,
					     NULL))
		return 0;
	return volume(region) * bytes;
}

/* ---- kernels --------------------------------------------------------------------------------- */

static void set_shape(struct work *w, cl_uint nr, const size_t *global, const size_t *local)
{
	cl_uint i;

	if (!global || !local || !nr || nr > 3)
		return;			/* unknown: the driver chooses the size of work-groups */
	for (i = 0; i < 3; i++) {
		w->block[i] = i < nr ? local[i] : 1;
		w->grid[i] = i < nr && local[i] ? (global[i] + local[i] - 1) / local[i] : 1;
	}
}

static inline __attribute__((always_inline)) void runs(struct enqueue *e, unsigned int call,
						       cl_kernel kernel)
{
	e->work->type = XPU_RECORD_KERNEL;
	e->work->name = kernel_names__of(kernel);
	enqueue__enter(e, call, false);
}

static HOT_CODE cl_int CL_API_CALL
on_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint nr,
			  const size_t *offset, const size_t *global, const size_t *local,
			  cl_uint nr_waits, const cl_event *waits, cl_event *event)
{
	struct enqueue e;
	cl_event *to = begin(&e, CALL_clEnqueueNDRangeKernel, queue, event);
	cl_int err;

	if (e.work) {
		set_shape(e.work, nr, global, local);
		runs(&e, CALL_clEnqueueNDRangeKernel, kernel);
	}
	err = opencl.clEnqueueNDRangeKernel(queue, kernel, nr, offset, global, local, nr_waits,
					    waits, to);
	return end(&e, CALL_clEnqueueNDRangeKernel, false, event, err);
}

static cl_int CL_API_CALL on_clEnqueueTask(cl_command_queue queue, cl_kernel kernel,
					   cl_uint nr_waits, const cl_event *waits, cl_event *event)
{
	static const size_t one[] = { 1 };
	struct enqueue e;
	cl_event *to = begin(&e, CALL_clEnqueueTask, queue, event);
	cl_int err;

	if (e.work) {
		set_shape(e.work, 1, one, one);
		runs(&e, CALL_clEnqueueTask, kernel);
	}
	err = opencl.clEnqueueTask(queue, kernel, nr_waits, waits, to);
	return end(&e, CALL_clEnqueueTask, false, event, err);
}

/* ---- copies and fills ------------------------------------------------------------------------ */

/*
 * Defines on_NAME(). @blocks: whether the call returns only when the work has ended. @parameters:
 * the parameters before the wait list. The last arguments are the names of @parameters.
 */
#define ENQUEUES(name, what, blocks, parameters, ...)					\
static cl_int CL_API_CALL on_##name parameters						\
{											\
	struct enqueue e;								\
	cl_event *to = begin(&e, CALL_##name, queue, event);				\
											\
	if (e.work)									\
		what;									\
	return end(&e, CALL_##name, blocks, event,					\
		   opencl.name(__VA_ARGS__, nr_waits, waits, to));			\
}

#define WAITS	cl_uint nr_waits, const cl_event *waits, cl_event *event

ENQUEUES(clEnqueueReadBuffer, copies(&e, CALL_clEnqueueReadBuffer, DTOH, bytes, blocks), blocks,
	 (cl_command_queue queue, cl_mem buffer, cl_bool blocks, size_t offset, size_t bytes,
	  void *host, WAITS),
	 queue, buffer, blocks, offset, bytes, host)

ENQUEUES(clEnqueueWriteBuffer, copies(&e, CALL_clEnqueueWriteBuffer, HTOD, bytes, blocks), blocks,
	 (cl_command_queue queue, cl_mem buffer, cl_bool blocks, size_t offset, size_t bytes,
	  const void *host, WAITS),
	 queue, buffer, blocks, offset, bytes, host)

ENQUEUES(clEnqueueCopyBuffer, copies(&e, CALL_clEnqueueCopyBuffer, DTOD, bytes, false), false,
	 (cl_command_queue queue, cl_mem from, cl_mem to_buffer, size_t from_offset,
	  size_t to_offset, size_t bytes, WAITS),
	 queue, from, to_buffer, from_offset, to_offset, bytes)

ENQUEUES(clEnqueueFillBuffer, fills(&e, CALL_clEnqueueFillBuffer, bytes), false,
	 (cl_command_queue queue, cl_mem buffer, const void *pattern, size_t pattern_bytes,
	  size_t offset, size_t bytes, WAITS),
	 queue, buffer, pattern, pattern_bytes, offset, bytes)

ENQUEUES(clEnqueueReadBufferRect,
	 copies(&e, CALL_clEnqueueReadBufferRect, DTOH, volume(region), blocks), blocks,
	 (cl_command_queue queue, cl_mem buffer, cl_bool blocks, const size_t *origin,
	  const size_t *host_origin, const size_t *region, size_t row, size_t slice,
	  size_t host_row, size_t host_slice, void *host, WAITS),
	 queue, buffer, blocks, origin, host_origin, region, row, slice, host_row, host_slice,
	 host)

ENQUEUES(clEnqueueWriteBufferRect,
	 copies(&e, CALL_clEnqueueWriteBufferRect, HTOD, volume(region), blocks), blocks,
	 (cl_command_queue queue, cl_mem buffer, cl_bool blocks, const size_t *origin,
	  const size_t *host_origin, const size_t *region, size_t row, size_t slice,
	  size_t host_row, size_t host_slice, const void *host, WAITS),
	 queue, buffer, blocks, origin, host_origin, region, row, slice, host_row, host_slice,
	 host)

ENQUEUES(clEnqueueCopyBufferRect,
	 copies(&e, CALL_clEnqueueCopyBufferRect, DTOD, volume(region), false), false,
	 (cl_command_queue queue, cl_mem from, cl_mem to_buffer, const size_t *from_origin,
	  const size_t *to_origin, const size_t *region, size_t from_row, size_t from_slice,
	  size_t to_row, size_t to_slice, WAITS),
	 queue, from, to_buffer, from_origin, to_origin, region, from_row, from_slice, to_row,
	 to_slice)

ENQUEUES(clEnqueueReadImage,
	 copies(&e, CALL_clEnqueueReadImage, DTOH, image_bytes(image, region), blocks), blocks,
	 (cl_command_queue queue, cl_mem image, cl_bool blocks, const size_t *origin,
	  const size_t *region, size_t row, size_t slice, void *host, WAITS),
	 queue, image, blocks, origin, region, row, slice, host)

ENQUEUES(clEnqueueWriteImage,
	 copies(&e, CALL_clEnqueueWriteImage, HTOD, image_bytes(image, region), blocks), blocks,
	 (cl_command_queue queue, cl_mem image, cl_bool blocks, const size_t *origin,
	  const size_t *region, size_t row, size_t slice, const void *host, WAITS),
	 queue, image, blocks, origin, region, row, slice, host)

ENQUEUES(clEnqueueCopyImage,
	 copies(&e, CALL_clEnqueueCopyImage, DTOD, image_bytes(from, region), false), false,
	 (cl_command_queue queue, cl_mem from, cl_mem to_image, const size_t *from_origin,
	  const size_t *to_origin, const size_t *region, WAITS),
	 queue, from, to_image, from_origin, to_origin, region)

ENQUEUES(clEnqueueFillImage, fills(&e, CALL_clEnqueueFillImage, image_bytes(image, region)), false,
	 (cl_command_queue queue, cl_mem image, const void *colour, const size_t *origin,
	  const size_t *region, WAITS),
	 queue, image, colour, origin, region)

ENQUEUES(clEnqueueCopyImageToBuffer,
	 copies(&e, CALL_clEnqueueCopyImageToBuffer, DTOD, image_bytes(from, region), false), false,
	 (cl_command_queue queue, cl_mem from, cl_mem to_buffer, const size_t *origin,
	  const size_t *region, size_t offset, WAITS),
	 queue, from, to_buffer, origin, region, offset)

ENQUEUES(clEnqueueCopyBufferToImage,
	 copies(&e, CALL_clEnqueueCopyBufferToImage, DTOD, image_bytes(to_image, region), false),
	 false,
	 (cl_command_queue queue, cl_mem from, cl_mem to_image, size_t offset,
	  const size_t *origin, const size_t *region, WAITS),
	 queue, from, to_image, offset, origin, region)

ENQUEUES(clEnqueueUnmapMemObject, copies(&e, CALL_clEnqueueUnmapMemObject, HTOD, 0, false), false,
	 (cl_command_queue queue, cl_mem object, void *mapped, WAITS),
	 queue, object, mapped)

ENQUEUES(clEnqueueSVMMemcpy, copies(&e, CALL_clEnqueueSVMMemcpy, UNKNOWN, bytes, blocks), blocks,
	 (cl_command_queue queue, cl_bool blocks, void *to_memory, const void *from, size_t bytes,
	  WAITS),
	 queue, blocks, to_memory, from, bytes)

ENQUEUES(clEnqueueSVMMemFill, fills(&e, CALL_clEnqueueSVMMemFill, bytes), false,
	 (cl_command_queue queue, void *memory, const void *pattern, size_t pattern_bytes,
	  size_t bytes, WAITS),
	 queue, memory, pattern, pattern_bytes, bytes)

ENQUEUES(clEnqueueSVMMap, copies(&e, CALL_clEnqueueSVMMap, DTOH, bytes, blocks), blocks,
	 (cl_command_queue queue, cl_bool blocks, cl_map_flags flags, void *memory, size_t bytes,
	  WAITS),
	 queue, blocks, flags, memory, bytes)

ENQUEUES(clEnqueueSVMUnmap, copies(&e, CALL_clEnqueueSVMUnmap, HTOD, 0, false), false,
	 (cl_command_queue queue, void *memory, WAITS),
	 queue, memory)

/*
 * The driver moves only objects that are not at their destination yet, so the number of bytes is
 * unknown.
 */
#define MIGRATES(name)	\
	copies(&e, CALL_##name, flags & CL_MIGRATE_MEM_OBJECT_HOST ? DTOH : UNKNOWN, 0, false)

ENQUEUES(clEnqueueMigrateMemObjects, MIGRATES(clEnqueueMigrateMemObjects), false,
	 (cl_command_queue queue, cl_uint nr, const cl_mem *objects, cl_mem_migration_flags flags,
	  WAITS),
	 queue, nr, objects, flags)

ENQUEUES(clEnqueueSVMMigrateMem, MIGRATES(clEnqueueSVMMigrateMem), false,
	 (cl_command_queue queue, cl_uint nr, const void **memory, const size_t *bytes,
	  cl_mem_migration_flags flags, WAITS),
	 queue, nr, memory, bytes, flags)

static void *CL_API_CALL on_clEnqueueMapBuffer(cl_command_queue queue, cl_mem buffer,
					       cl_bool blocks, cl_map_flags flags, size_t offset,
					       size_t bytes, WAITS, cl_int *err)
{
	struct enqueue e;
	cl_event *to = begin(&e, CALL_clEnqueueMapBuffer, queue, event);
	cl_int own = CL_SUCCESS;
	void *mapped;

	if (e.work)
		copies(&e, CALL_clEnqueueMapBuffer, DTOH, bytes, blocks);
	mapped = opencl.clEnqueueMapBuffer(queue, buffer, blocks, flags, offset, bytes, nr_waits,
					   waits, to, &own);
	end(&e, CALL_clEnqueueMapBuffer, blocks, event, own);
	if (err)
		*err = own;
	return mapped;
}

static void *CL_API_CALL on_clEnqueueMapImage(cl_command_queue queue, cl_mem image,
					      cl_bool blocks, cl_map_flags flags,
					      const size_t *origin, const size_t *region,
					      size_t *row, size_t *slice, WAITS, cl_int *err)
{
	struct enqueue e;
	cl_event *to = begin(&e, CALL_clEnqueueMapImage, queue, event);
	cl_int own = CL_SUCCESS;
	void *mapped;

	if (e.work)
		copies(&e, CALL_clEnqueueMapImage, DTOH, image_bytes(image, region), blocks);
	mapped = opencl.clEnqueueMapImage(queue, image, blocks, flags, origin, region, row, slice,
					  nr_waits, waits, to, &own);
	end(&e, CALL_clEnqueueMapImage, blocks, event, own);
	if (err)
		*err = own;
	return mapped;
}

/* ---- calls that wait ------------------------------------------------------------------------- */

/*
 * Reports that the call, which began at @start, has waited for @queue, or for several queues if
 * @queue is NULL.
 */
static __attribute__((noinline, cold)) void has_waited(unsigned int call, uint64_t start,
							cl_command_queue queue)
{
	const struct clqueue *q = queue ? queue__of(queue) : NULL;
	struct gpu_wait w;

	if (!wait__measure(&w, start))
		return;
	if (q) {
		w.context = q->context;
		w.stream = q->number;
		w.flags = XPU_WAIT_STREAM;
	}
	launch__waited(OPENCL_DOMAIN, call, &w);
}

static cl_int CL_API_CALL on_clFinish(cl_command_queue queue)
{
	uint64_t start;
	cl_int err;

	if (!opencl__is_on())
		return opencl.clFinish(queue);
	launch__wait_entered(&start);
	err = opencl.clFinish(queue);
	launch__wait_left();
	if (!err && start && wait__is_long(start))
		has_waited(CALL_clFinish, start, queue);
	return err;
}

/*
 * Return: the queue that all events belong to; NULL if they belong to several queues, or if one is
 * a user event.
 */
static cl_command_queue queue_of(cl_uint nr, const cl_event *events)
{
	cl_command_queue first = NULL, queue;
	cl_uint i;

	for (i = 0; i < nr; i++) {
		queue = NULL;
		if (opencl.clGetEventInfo(events[i], CL_EVENT_COMMAND_QUEUE, sizeof(queue), &queue,
					  NULL) || !queue || (first && queue != first))
			return NULL;
		first = queue;
	}
	return first;
}

static cl_int CL_API_CALL on_clWaitForEvents(cl_uint nr, const cl_event *events)
{
	uint64_t start;
	cl_int err;

	if (!opencl__is_on())
		return opencl.clWaitForEvents(nr, events);
	launch__wait_entered(&start);
	err = opencl.clWaitForEvents(nr, events);
	launch__wait_left();
	if (!err && start && wait__is_long(start))
		has_waited(CALL_clWaitForEvents, start, queue_of(nr, events));
	return err;
}

void enqueue__fill(cl_icd_dispatch *table)
{
	OPENCL_WATCH(table, clEnqueueNDRangeKernel);
	OPENCL_WATCH(table, clEnqueueTask);
	OPENCL_WATCH(table, clEnqueueReadBuffer);
	OPENCL_WATCH(table, clEnqueueWriteBuffer);
	OPENCL_WATCH(table, clEnqueueCopyBuffer);
	OPENCL_WATCH(table, clEnqueueFillBuffer);
	OPENCL_WATCH(table, clEnqueueReadBufferRect);
	OPENCL_WATCH(table, clEnqueueWriteBufferRect);
	OPENCL_WATCH(table, clEnqueueCopyBufferRect);
	OPENCL_WATCH(table, clEnqueueReadImage);
	OPENCL_WATCH(table, clEnqueueWriteImage);
	OPENCL_WATCH(table, clEnqueueCopyImage);
	OPENCL_WATCH(table, clEnqueueFillImage);
	OPENCL_WATCH(table, clEnqueueCopyImageToBuffer);
	OPENCL_WATCH(table, clEnqueueCopyBufferToImage);
	OPENCL_WATCH(table, clEnqueueMapBuffer);
	OPENCL_WATCH(table, clEnqueueMapImage);
	OPENCL_WATCH(table, clEnqueueUnmapMemObject);
	OPENCL_WATCH(table, clEnqueueSVMMemcpy);
	OPENCL_WATCH(table, clEnqueueSVMMemFill);
	OPENCL_WATCH(table, clEnqueueSVMMap);
	OPENCL_WATCH(table, clEnqueueSVMUnmap);
	OPENCL_WATCH(table, clEnqueueMigrateMemObjects);
	OPENCL_WATCH(table, clEnqueueSVMMigrateMem);
	OPENCL_WATCH(table, clFinish);
	OPENCL_WATCH(table, clWaitForEvents);
}
