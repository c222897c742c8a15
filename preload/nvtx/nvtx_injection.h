/* SPDX-License-Identifier: MIT */
/*
 * nvtx_injection.h - the shim as NVTX's injection library, named by NVTX_INJECTION64_PATH
 *
 * Each module of a program that uses NVTX has its own table of function pointers, which
 * InitializeInjectionNvtx2() fills when the module makes its first call. While nobody listens to
 * ranges, each later call costs a load and a branch.
 */
#ifndef XPU_PRELOAD_NVTX_INJECTION_H
#define XPU_PRELOAD_NVTX_INJECTION_H

#include <stdbool.h>

#include "nvtx/nvtx_abi.h"

/*
 * Fill the function table of a module's NVTX, or of its payload extension. Must be called after
 * shim__load(). Return: 1; 0 if the table is not as expected.
 */
int nvtx__fill(nvtx_get_export_table_fn get);
int nvtx__fill_extension(const struct nvtx_ext_module *module);

/*
 * Makes NVTX find the shim, if ranges are wanted or may be wanted later; called when the shim is
 * loaded. If the program or user has chosen another library, nothing is changed.
 * @path: the shim's path
 * @may_set: whether the environment may be changed
 */
void nvtx__init(const char *path, bool may_set);

/* Return: a message for the user that says why requested ranges will be missing, or NULL. */
const char *nvtx__message(void);

#endif /* XPU_PRELOAD_NVTX_INJECTION_H */
