/* SPDX-License-Identifier: MIT */
/* enqueue.h - the steps of each call that puts work on a device */
#ifndef XPU_PRELOAD_OPENCL_ENQUEUE_H
#define XPU_PRELOAD_OPENCL_ENQUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "gpu/opencl/opencl.h"
#include "gpu/opencl/work.h"
#include "launch/launch.h"
#include "launch/capture_window.h"

/* A call in progress. */
struct enqueue {
	struct work *work;		/* NULL: the call is not recorded */
	cl_event event;			/* the event that the driver has made */
	uint64_t wait_start;		/* launch.h stores the launch's start here */
	uint32_t timed_id;		/* the call's id; 0: it is not recorded as a call */
	bool is_watched;
	bool is_counted;		/* capture__launch_ends() must follow */
	bool is_lost;			/* not recorded, because its queue is unknown */
};

/*
 * Begins @call on @queue. Sets @e->work, and in it the queue, context and device. Return: where the
 * driver must put the event. If the call is not recorded, this is @event, the program's own
 * pointer.
 */
cl_event *enqueue__prepare(struct enqueue *e, unsigned int call, cl_command_queue queue,
			   cl_event *event);

/* Records the launch. Inlined, since its own frame would be one more to unwind. */
static inline __attribute__((always_inline)) void enqueue__enter(struct enqueue *e,
								 unsigned int call, bool blocks)
{
	struct work *w = e->work;

	if (__builtin_expect(capture_window__are_used, 0))
		launch__entered_in_windows(OPENCL_DOMAIN, call, w->id, &e->wait_start, blocks);
	else
		launch__entered(OPENCL_DOMAIN, call, w->id, &e->wait_start, blocks);
	w->at.begin_ns = clock__ns();
	clocks__read(w->device, w->at.begin_ns);
}

/*
 * Completes a call that has returned @err. @event: where to store the event for the program; may be
 * NULL
 */
void enqueue__finish(struct enqueue *e, unsigned int call, bool blocks, cl_event *event,
		     cl_int err);

#endif /* XPU_PRELOAD_OPENCL_ENQUEUE_H */
