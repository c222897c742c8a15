/* SPDX-License-Identifier: MIT */
/* calls.h - how long each OpenCL call takes: see launch/calls.h */
#ifndef XPU_PRELOAD_OPENCL_CALLS_H
#define XPU_PRELOAD_OPENCL_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "gpu/opencl/opencl.h"
#include "launch/calls.h"

/* Implements want_calls() of struct vendor. */
void opencl_calls__want(enum calls_wanted wanted);

/* Whether calls of the function @call are recorded now. */
bool opencl_calls__are_timed(unsigned int call);

/*
 * Notes that a call begins. @launch: the id of the launch that it makes, or 0. @frame: an address
 * in the wrapper's stack frame. Return: the id of the call, for opencl_calls__end().
 */
uint32_t opencl_calls__begin(unsigned int call, uint32_t launch, const void *frame);
void opencl_calls__end(unsigned int call, uint32_t id);

#endif /* XPU_PRELOAD_OPENCL_CALLS_H */
