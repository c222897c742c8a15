// SPDX-License-Identifier: MIT
/*
 * Entry points of the shim, which the outside calls. Vendors have entries of their own, and
 * life/ends.c, launch/torch.c and wire/probe.S export functions that programs or Linux look for.
 */
#include "life/life.h"
#include "life/load.h"
#include "nvtx/nvtx_abi.h"
#include "nvtx/nvtx_injection.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT int xpuload_follow(void);
EXPORT int xpuload_share(const char *where);
EXPORT int InitializeInjectionNvtx2(nvtx_get_export_table_fn get);
EXPORT int InitializeInjectionNvtxExtension(const struct nvtx_ext_module *module);

/*
 * Gives NVTX's functions to the shim. Each module's copy of NVTX calls it, perhaps on several
 * threads at a time. Return: 1 for success.
 */
int InitializeInjectionNvtx2(nvtx_get_export_table_fn get)
{
	shim__load();
	return nvtx__fill(get);
}

/*
 * Gives an extension's functions to the shim. Each module's copy of the extension calls it, after
 * InitializeInjectionNvtx2(). Return: 1 for success: NVTX then does nothing in the functions that
 * were not filled in.
 */
int InitializeInjectionNvtxExtension(const struct nvtx_ext_module *module)
{
	shim__load();
	return nvtx__fill_extension(module);
}

/*
 * A program that records itself, as the Python package does, calls this when xpuload has attached,
 * or is about to detach. Return: see shim__follow()
 */
int xpuload_follow(void)
{
	return shim__follow();
}

/*
 * A program that records itself calls this to record through shared memory: with @where, the value
 * of XPU_SHM_ENV by which xpuload waits for it, and, when the recording has ended, with NULL.
 * Return: an enum sharing_answer
 */
int xpuload_share(const char *where)
{
	return shim__share(where);
}

static __attribute__((constructor)) void loaded(void)
{
	shim__load();
}
