/* SPDX-License-Identifier: MIT */
/*
 * objects.h - contexts, queues and devices of OpenCL, with numbers of their own
 *
 * Handles are addresses, which the drivers use again. A number is never used again: the functions
 * that make a context, a queue or a sub-device give its handle a new number.
 */
#ifndef XPU_PRELOAD_OPENCL_OBJECTS_H
#define XPU_PRELOAD_OPENCL_OBJECTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "gpu/opencl/opencl.h"

struct clqueue {
	_Atomic(void *) handle;
	atomic_uint number;		/* 0: unknown so far; it is set after the members below */
	uint32_t context;		/* its number */
	uint16_t device;		/* its ordinal */
};

/*
 * Return: what is known of @handle, which stays known; NULL if it is no queue. Takes no lock if the
 * queue is known, as all queues are that clCreateCommandQueue() and
 * clCreateCommandQueueWithProperties() make.
 */
const struct clqueue *queue__of(cl_command_queue handle);

struct clcontext {
	_Atomic(void *) handle;
	atomic_uint number;		/* as in struct clqueue */
	uint16_t device;		/* ordinal of the context's first device */
};

/* Return: the context of @handle, like queue__of(). */
const struct clcontext *context__of(cl_context handle);

/* Defines the devices that are new, under the lock of sender.h. */
void objects__define_devices(void);

/* Return: the name of device @ordinal; empty if it is not known. */
const char *objects__device_name(uint16_t ordinal);

/* Return: the handle of device @ordinal. */
cl_device_id objects__device(uint16_t ordinal);

/* Functions that drivers of old versions lack: calling one of them may crash the program. */
enum device_can {
	DEVICE_CALLS_BACK = 1,		/* clSetEventCallback() */
	DEVICE_TELLS_FREED = 2,		/* clSetMemObjectDestructorCallback() */
	DEVICE_HAS_TIMER = 4,		/* clGetDeviceAndHostTimer() */
};

bool objects__device_can(uint16_t ordinal, enum device_can what);

/* Return: how many devices have ordinals. */
unsigned int objects__nr_devices(void);

#define OPENCL_MAX_DEVICES	64

/* Return: how many queues refused to measure times. */
unsigned int objects__nr_refused(void);

#endif /* XPU_PRELOAD_OPENCL_OBJECTS_H */
