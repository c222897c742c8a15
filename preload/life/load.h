/* SPDX-License-Identifier: MIT */
/* load.h - what the shim does when it is loaded, whether or not the process uses a GPU */
#ifndef XPU_PRELOAD_LOAD_H
#define XPU_PRELOAD_LOAD_H

#include <stdbool.h>

/*
 * Initializes the shim, only once and before anything else: chooses this process's probe sites, and
 * makes NVTX find the shim. Other libraries' constructors may call the shim before its own
 * constructor has run.
 */
void shim__load(void);

/*
 * Return: the shim's path, for the variables through which runtimes find the shim; NULL if unknown.
 * *@may_set: whether the environment may be changed, because no other thread can be reading it.
 */
const char *load__path(bool *may_set);

#endif /* XPU_PRELOAD_LOAD_H */
