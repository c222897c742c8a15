/* SPDX-License-Identifier: MIT */
/*
 * nvtx.h - the shim as what NVTX looks for in NVTX_INJECTION64_PATH
 *
 * Each module of a program that uses NVTX has a table of function pointers of its own, which
 * InitializeInjectionNvtx2() fills, when the module makes its first call. With nobody listening to
 * ranges a call is a load and a branch here.
 */
#ifndef XPU_PRELOAD_NVTX_H
#define XPU_PRELOAD_NVTX_H

#include <stdbool.h>

/*
 * When the shim is loaded: NVTX shall find it, if ranges are wanted or may be later. @path: of the
 * shim; @may_set: the environment may be changed. A program or user who has chosen another library
 * keeps it.
 */
void nvtx__init(const char *path, bool may_set);

/* Return: why ranges that are wanted will be missing, in words for the user, or NULL. */
const char *nvtx__message(void);

#endif /* XPU_PRELOAD_NVTX_H */
