// SPDX-License-Identifier: MIT
/*
 * Entry points of the shim that other code calls. Vendors have their own entry points. life/ends.c,
 * launch/torch.c and wire/probe.S export more functions, which programs or Linux look for.
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
 * Fills NVTX's function table. Each module's copy of NVTX calls this, possibly on several threads
 * at once. Return: 1 for success.
 */
int InitializeInjectionNvtx2(nvtx_get_export_table_fn get)
{
	shim__load();
	return nvtx__fill(get);
}

/*
 * Fills the function table of an NVTX extension. Each module's copy of the extension calls this,
 * after InitializeInjectionNvtx2(). Return: 1 for success: NVTX then ignores calls of functions
 * that were not filled in.
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
 * A program that records itself calls this to record through shared memory. @where: the value of
 * XPU_SHM_ENV, which says where xpuload waits; NULL when the recording has ended. Return: an enum
 * sharing_answer
 */
int xpuload_share(const char *where)
{
	return shim__share(where);
}

static __attribute__((constructor)) void loaded(void)
{
	shim__load();
}
