/* SPDX-License-Identifier: MIT */
/*
 * objects.h - OpenCL's contexts, queues and devices, which the shim numbers
 *
 * Handles are addresses, which the drivers reuse. A number is never reused: the functions that make
 * a context, a queue or a sub-device give its handle a new number.
 */
#ifndef XPU_PRELOAD_OPENCL_OBJECTS_H
#define XPU_PRELOAD_OPENCL_OBJECTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "gpu/opencl/opencl.h"

struct clqueue {
	_Atomic(void *) handle;
	atomic_uint number;		/* 0: not known yet; set after the members below */
	uint32_t context;		/* the context's number */
	uint16_t device;		/* the device's ordinal */
};

/*
 * Return: the entry of @handle, which stays valid; NULL if @handle is not a queue. Takes no lock
 * for queues that were made by clCreateCommandQueue() or clCreateCommandQueueWithProperties(), or
 * were looked up before.
 */
const struct clqueue *queue__of(cl_command_queue handle);

struct clcontext {
	_Atomic(void *) handle;
	atomic_uint number;		/* as in struct clqueue */
	uint16_t device;		/* ordinal of the context's first device */
};

/* Like queue__of(), for a context. */
const struct clcontext *context__of(cl_context handle);

/* Defines new devices, under the lock of sender.h. */
void objects__define_devices(void);

/* Return: the name of device @ordinal; empty if it is unknown. */
const char *objects__device_name(uint16_t ordinal);

/* Return: the handle of device @ordinal. */
cl_device_id objects__device(uint16_t ordinal);

/* Functions that old drivers lack: calling a missing function may crash the program. */
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
