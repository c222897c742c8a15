/* SPDX-License-Identifier: MIT */
/*
 * work.h - device work of OpenCL, from its launch until its record is sent
 *
 * Each launch has a struct work. The launching thread takes it from its own pool and fills it.
 * With clSetEventCallback() it passes the struct on to the thread that completes the event, which
 * is a thread of the driver or the launching thread. There, the event's times are read, without any
 * lock. The shim's thread sends the work and gives the struct back to its pool.
 */
#ifndef XPU_PRELOAD_OPENCL_WORK_H
#define XPU_PRELOAD_OPENCL_WORK_H

#include <stdbool.h>
#include <stdint.h>

#include "gpu/opencl/clocks.h"
#include "gpu/opencl/opencl.h"

struct pool;

enum work_state {
	WORK_ELSEWHERE,			/* free, being made, or ended */
	WORK_IN_FLIGHT,
	WORK_LOOKED_AT,			/* work__find_failed() is looking at the work */
	WORK_COMPLETED,			/* the driver completed the work meanwhile */
};

struct work {
	struct work *next;
	cl_event event;			/* in flight: the shim holds a reference to it */
	atomic_uint state;		/* enum work_state */
	struct pool *pool;
	struct clock_times at;
	const char *name;		/* name of a kernel */
	uint64_t bytes;			/* bytes of a copy or set */
	uint32_t id, session;
	uint32_t context, queue;
	uint32_t grid[3], block[3];	/* all 0: unknown */
	uint16_t device, type;		/* type: XPU_RECORD_* */
	cl_int status;			/* status of its event */
	uint8_t copy_kind;		/* as in struct xpu_record_memory */
	bool is_async;
};

/*
 * Return: a struct for a launch of the calling thread, with its pool, id and session set; NULL if
 * memory is short, or if a signal handler interrupted this function and calls it again. NULL counts
 * as a lost launch. Takes no lock, and makes no system call while structs of earlier launches are
 * free.
 */
struct work *work__new(void);

/* Counts a launch that is not recorded as lost. */
void work__lost(void);

/* Return: the next id of launches and calls; never 0. */
uint32_t work__next_id(void);

/* Gives back the struct of a launch that has failed; called on the launching thread. */
void work__cancel(struct work *w);

/*
 * Watches the work of a launch that has succeeded and made @event. Takes over @w and a reference to
 * @event.
 */
void work__watch(struct work *w, cl_event event);

/* Begins a session, which lasts while somebody listens. Work of earlier sessions is not sent. */
void work__begin_session(void);

/* Functions for struct vendor: see vendor.h. */
void *work__take(void);
void work__pack(void *taken);
bool work__has_more(void);
unsigned int work__progress(void);

/*
 * Finds work in flight that has failed because of an event that it waits for, and reports it as
 * refused. Some drivers do not report such work.
 */
void work__find_failed(void);

#endif /* XPU_PRELOAD_OPENCL_WORK_H */
