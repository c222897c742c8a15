/* SPDX-License-Identifier: MIT */
/*
 * torch.h - blocks of PyTorch's caching allocator
 *
 * PyTorch cuts blocks from memory that it got from CUDA, and reports each block to
 * c10::reportMemoryUsageToProfiler(), with or without a profiler. This is a call from one library
 * to another, so the dynamic loader binds it to the function of that name in the preloaded shim,
 * which then calls PyTorch's own function. The mangled name encodes the types of all parameters and
 * so checks the ABI: a version of PyTorch with other parameters has another name, and is not
 * recorded. While nobody wants memory events, this costs a load and a jump for each block.
 */
#ifndef XPU_PRELOAD_TORCH_H
#define XPU_PRELOAD_TORCH_H

#include <stdbool.h>

/* Starts or stops recording blocks. */
void torch__watch(bool on);

/*
 * Checks whether the process has a PyTorch that reports blocks in an unknown way. Return: one line
 * for the user if so, but only once; otherwise NULL.
 */
const char *torch__message(void);

#endif /* XPU_PRELOAD_TORCH_H */
