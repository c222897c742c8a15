/* SPDX-License-Identifier: MIT */
/*
 * torch.h - blocks of PyTorch's caching allocator
 *
 * PyTorch cuts blocks from memory that it has of CUDA, and reports each to
 * c10::reportMemoryUsageToProfiler() whether a profiler listens or not: a call of one library to another,
 * which the dynamic loader binds. The shim, being preloaded, has a function of that name, to which the call
 * comes, and which calls on. The mangled name has the types of all parameters, so it is the check of the
 * ABI: a version of PyTorch with other parameters has another name, and is left alone. While nobody asks for
 * memory, that costs a load and a jump for each block.
 */
#ifndef XPU_PRELOAD_TORCH_H
#define XPU_PRELOAD_TORCH_H

#include <stdbool.h>

/* Begins or ends to record blocks. */
void torch__watch(bool on);

/*
 * Looks whether PyTorch is there and reports blocks in a way that is not known. Return: one line for the
 * user, once, or NULL.
 */
const char *torch__message(void);

#endif /* XPU_PRELOAD_TORCH_H */
