// SPDX-License-Identifier: MIT
/*
 * driver.c - the driver API of libcuda.so.1, without graphs (graph.c)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "uuid.h"

#define DRIVER_VERSION		(SIM_CUDA_MAJOR * 1000)
#define NR_MULTIPROCESSORS	132

struct CUmod_st {
	uint32_t magic;
	struct CUmod_st *next;
	struct CUfunc_st *functions;	/* owned */
};

/* Guarded by the registry lock. */
static struct CUmod_st *modules;
static struct CUfunc_st *unused;	/* functions of unloaded modules, whose handles are
					 * reused */

/* ---- init, devices, contexts ----------------------------------------------------------------- */

SIM_EXPORT CUresult CUDAAPI cuInit(unsigned int flags)
{
	cuInit_params params = { flags };

	/*
	 * The injected library subscribes inside cuInit, so its callbacks begin with the next call.
	 */
	DRIVER_CALL(cuInit, &params, NULL, CUDA_SUCCESS, core__init());
}

static CUresult driver_version(int *version)
{
	if (!version)
		return CUDA_ERROR_INVALID_VALUE;
	*version = DRIVER_VERSION;
	return CUDA_SUCCESS;
}

/* This call works before cuInit. */
SIM_EXPORT CUresult CUDAAPI cuDriverGetVersion(int *version)
{
	cuDriverGetVersion_params params = { version };

	DRIVER_CALL(cuDriverGetVersion, &params, NULL, CUDA_SUCCESS, driver_version(version));
}

static CUresult device_get(CUdevice *out, int ordinal)
{
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device__get(ordinal))
		return CUDA_ERROR_INVALID_DEVICE;
	*out = ordinal;
	return CUDA_SUCCESS;
}

DRIVER_API(cuDeviceGet, (CUdevice *device, int ordinal), (device, ordinal), NULL,
	   device_get(device, ordinal))

static CUresult device_count(int *out)
{
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	*out = (int)devices__nr();
	return CUDA_SUCCESS;
}

DRIVER_API(cuDeviceGetCount, (int *nr), (nr), NULL, device_count(nr))

static CUresult device_name(char *name, int len, CUdevice dev)
{
	if (!name || len <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device__get(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	snprintf(name, (size_t)len, "Simulated GPU %d", dev);
	return CUDA_SUCCESS;
}

DRIVER_API(cuDeviceGetName, (char *name, int len, CUdevice dev), (name, len, dev), NULL,
	   device_name(name, len, dev))

static CUresult device_uuid(CUuuid *uuid, CUdevice dev)
{
	if (!uuid)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device__get(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	sim_uuid(uuid->bytes, dev);
	return CUDA_SUCCESS;
}

DRIVER_API(cuDeviceGetUuid_v2, (CUuuid *uuid, CUdevice dev), (uuid, dev), NULL,
	   device_uuid(uuid, dev))

static CUresult device_memory(size_t *bytes, CUdevice dev)
{
	size_t free_bytes;

	if (!bytes)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device__get(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	memory__info(dev, &free_bytes, bytes);
	return CUDA_SUCCESS;
}

DRIVER_API(cuDeviceTotalMem_v2, (size_t *bytes, CUdevice dev), (bytes, dev), NULL,
	   device_memory(bytes, dev))

static CUresult device_attribute(int *value, CUdevice_attribute attrib, CUdevice dev)
{
	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device__get(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	switch (attrib) {
	case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
	case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
	case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y:
		*value = 1024;
		break;
	case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z:
		*value = 64;
		break;
	case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X:
		*value = 0x7fffffff;
		break;
	case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
	case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z:
		*value = 65535;
		break;
	case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
		*value = 32;
		break;
	case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
		*value = NR_MULTIPROCESSORS;
		break;
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
		*value = 9;
		break;
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
		*value = 0;
		break;
	case CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS:
		*value = !getenv("XPU_SIM_NO_MIGRATIONS");
		break;
	case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
		*value = 49152;
		break;
	case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
		*value = 2048;
		break;
	case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR:
		*value = 32;
		break;
	case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR:
	case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK:
		*value = 65536;
		break;
	case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
		*value = 233472;
		break;
	case CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK:
		*value = 1024;
		break;
	case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
		*value = 1980000;
		break;
	case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
	case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
	case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH:
	case CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED:
		*value = 1;
		break;
	case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT:
		*value = 3;
		break;
	default:
		*value = 0;
		break;
	}
	return CUDA_SUCCESS;
}

DRIVER_API(cuDeviceGetAttribute, (int *pi, CUdevice_attribute attrib, CUdevice dev),
	   (pi, attrib, dev), NULL, device_attribute(pi, attrib, dev))

static CUresult primary_retain(CUcontext *out, CUdevice dev)
{
	CUresult err;

	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device__get(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	*out = device__primary_retain(device__get(dev), &err);
	return err;
}

DRIVER_API(cuDevicePrimaryCtxRetain, (CUcontext *ctx, CUdevice dev), (ctx, dev), NULL,
	   primary_retain(ctx, dev))
DRIVER_API(cuDevicePrimaryCtxRelease_v2, (CUdevice dev), (dev), NULL,
	   device__get(dev) ? device__primary_release(device__get(dev)) :
			      CUDA_ERROR_INVALID_DEVICE)

static CUresult primary_reset(CUdevice dev)
{
	if (!device__get(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	return device__primary_reset(device__get(dev));
}

/* Both names are the same function; cudart calls the older name. */
#undef cuDevicePrimaryCtxReset
DRIVER_API(cuDevicePrimaryCtxReset, (CUdevice dev), (dev), NULL, primary_reset(dev))
DRIVER_API(cuDevicePrimaryCtxReset_v2, (CUdevice dev), (dev), NULL, primary_reset(dev))

static CUresult primary_state(CUdevice dev, unsigned int *flags, int *active)
{
	if (!device__get(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	*flags = 0;
	*active = device__primary_active(device__get(dev));
	return CUDA_SUCCESS;
}

DRIVER_API(cuDevicePrimaryCtxGetState, (CUdevice dev, unsigned int *flags, int *active),
	   (dev, flags, active), NULL, primary_state(dev, flags, active))

static CUresult ctx_push(CUcontext ctx)
{
	struct thread *t = thread__self();

	if (!ctx__is_valid(ctx))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (t->nr_contexts == SIM_MAX_CONTEXTS)
		return CUDA_ERROR_OUT_OF_MEMORY;
	t->contexts[t->nr_contexts++] = ctx;
	return CUDA_SUCCESS;
}

static CUresult ctx_pop(CUcontext *out)
{
	struct thread *t = thread__self();

	if (!t->nr_contexts)
		return CUDA_ERROR_INVALID_CONTEXT;
	t->nr_contexts--;
	if (out)
		*out = t->contexts[t->nr_contexts];
	return CUDA_SUCCESS;
}

static CUresult ctx_set_current(CUcontext ctx)
{
	struct thread *t = thread__self();

	if (ctx && !ctx__is_valid(ctx))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!ctx) {
		if (t->nr_contexts)
			t->nr_contexts--;
		return CUDA_SUCCESS;
	}
	if (!t->nr_contexts)
		t->nr_contexts = 1;
	t->contexts[t->nr_contexts - 1] = ctx;
	return CUDA_SUCCESS;
}

static CUresult ctx_get_current(CUcontext *out)
{
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	*out = ctx__current();
	return CUDA_SUCCESS;
}

static CUresult ctx_get_device(CUdevice *out, CUcontext ctx)
{
	if (!ctx)
		ctx = ctx__current();
	if (!ctx__is_valid(ctx))
		return CUDA_ERROR_INVALID_CONTEXT;
	*out = device__ordinal(ctx->dev);
	return CUDA_SUCCESS;
}

static CUresult ctx_create(CUcontext *out, unsigned int flags, CUdevice dev)
{
	struct CUctx_st *ctx;

	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device__get(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	ctx = ctx__new(device__get(dev), flags);
	if (!ctx)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*out = ctx;
	return ctx_push(ctx);
}

static CUresult ctx_destroy(CUcontext ctx)
{
	if (!ctx__is_valid(ctx))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (ctx__current() == ctx)
		ctx_pop(NULL);
	return ctx__destroy(ctx);
}

static CUresult ctx_synchronize(CUcontext ctx)
{
	if (!ctx)
		ctx = ctx__current();
	return ctx__is_valid(ctx) ? ctx__synchronize(ctx) : CUDA_ERROR_INVALID_CONTEXT;
}

static CUresult ctx_version(unsigned int *version)
{
	*version = 3020;
	return CUDA_SUCCESS;
}

static CUresult ctx_priority_range(int *least, int *greatest)
{
	if (least)
		*least = 0;
	if (greatest)
		*greatest = -5;
	return CUDA_SUCCESS;
}

DRIVER_API(cuCtxCreate_v2, (CUcontext *ctx, unsigned int flags, CUdevice dev), (ctx, flags, dev),
	   NULL, ctx_create(ctx, flags, dev))
DRIVER_API(cuCtxCreate_v4,
	   (CUcontext *ctx, CUctxCreateParams *extra, unsigned int flags, CUdevice dev),
	   (ctx, extra, flags, dev), NULL, ctx_create(ctx, flags, dev))
DRIVER_API(cuCtxDestroy_v2, (CUcontext ctx), (ctx), NULL, ctx_destroy(ctx))
DRIVER_API(cuCtxPushCurrent_v2, (CUcontext ctx), (ctx), NULL, ctx_push(ctx))
DRIVER_API(cuCtxPopCurrent_v2, (CUcontext *ctx), (ctx), NULL, ctx_pop(ctx))
DRIVER_API(cuCtxSetCurrent, (CUcontext ctx), (ctx), NULL, ctx_set_current(ctx))
DRIVER_API(cuCtxGetCurrent, (CUcontext *ctx), (ctx), NULL, ctx_get_current(ctx))
DRIVER_API(cuCtxGetDevice, (CUdevice *dev), (dev), NULL, ctx_get_device(dev, NULL))
DRIVER_API(cuCtxGetDevice_v2, (CUdevice *dev, CUcontext ctx), (dev, ctx), NULL,
	   ctx_get_device(dev, ctx))
DRIVER_API_VOID(cuCtxSynchronize, ctx_synchronize(NULL))
DRIVER_API(cuCtxSynchronize_v2, (CUcontext ctx), (ctx), NULL, ctx_synchronize(ctx))
DRIVER_API(cuCtxGetApiVersion, (CUcontext ctx, unsigned int *version), (ctx, version), NULL,
	   ctx_version(version))
DRIVER_API(cuCtxGetStreamPriorityRange, (int *least, int *greatest), (least, greatest), NULL,
	   ctx_priority_range(least, greatest))

/* These calls have no effect on the device, but profilers see them. */
DRIVER_API_VOID(cuProfilerStart, CUDA_SUCCESS)
DRIVER_API_VOID(cuProfilerStop, CUDA_SUCCESS)

/* ---- modules and kernels --------------------------------------------------------------------- */

static CUresult module_load(CUmodule *out)
{
	struct CUmod_st *mod;

	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	if (!ctx__current())
		return CUDA_ERROR_INVALID_CONTEXT;
	mod = calloc(1, sizeof(*mod));
	if (!mod)
		return CUDA_ERROR_OUT_OF_MEMORY;
	mod->magic = SIM_MAGIC_MODULE;
	registry__lock();
	mod->next = modules;
	modules = mod;
	registry__unlock();
	*out = mod;
	return CUDA_SUCCESS;
}

static CUresult module_unload(CUmodule mod)
{
	struct CUctx_st *ctx = ctx__current();
	struct CUmod_st **p = &modules;
	struct CUfunc_st *func;

	if (!mod || mod->magic != SIM_MAGIC_MODULE)
		return CUDA_ERROR_INVALID_HANDLE;
	if (ctx)
		ctx__tell_module(ctx, CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING);
	registry__lock();
	while (*p && *p != mod)
		p = &(*p)->next;
	if (*p)
		*p = mod->next;
	while ((func = mod->functions)) {
		mod->functions = func->next;
		func->magic = 0;
		func->next = unused;
		unused = func;
	}
	registry__unlock();
	free(mod);
	return CUDA_SUCCESS;
}

/* Kernels have no body, so a module has every kernel that a program looks up. */
static CUresult module_function(CUfunction *out, CUmodule mod, const char *name)
{
	struct CUfunc_st *func;

	if (!out || !name || !*name)
		return CUDA_ERROR_INVALID_VALUE;
	if (!mod || mod->magic != SIM_MAGIC_MODULE)
		return CUDA_ERROR_INVALID_HANDLE;
	registry__lock();
	for (func = mod->functions; func; func = func->next)
		if (!strcmp(func->name, name))
			goto out;
	func = unused;
	if (func)
		unused = func->next;
	else
		func = calloc(1, sizeof(*func));
	if (!func)
		goto out;
	func->magic = SIM_MAGIC_KERNEL;
	func->cost_arg = -1;
	func->name = kernel__name(name);
	func->next = mod->functions;
	mod->functions = func;
out:
	registry__unlock();
	*out = func;
	return func && func->name ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

DRIVER_API(cuModuleLoad, (CUmodule *mod, const char *path), (mod, path), NULL, module_load(mod))
DRIVER_API(cuModuleLoadData, (CUmodule *mod, const void *image), (mod, image), NULL,
	   module_load(mod))
DRIVER_API(cuModuleLoadDataEx,
	   (CUmodule *mod, const void *image, unsigned int nr, CUjit_option *options,
	    void **values),
	   (mod, image, nr, options, values), NULL, module_load(mod))
DRIVER_API(cuModuleUnload, (CUmodule mod), (mod), NULL, module_unload(mod))
DRIVER_API(cuModuleGetFunction, (CUfunction *func, CUmodule mod, const char *name),
	   (func, mod, name), NULL, module_function(func, mod, name))

static CUresult loading_mode(CUmoduleLoadingMode *mode)
{
	*mode = CU_MODULE_LAZY_LOADING;
	return CUDA_SUCCESS;
}

DRIVER_API(cuModuleGetLoadingMode, (CUmoduleLoadingMode *mode), (mode), NULL, loading_mode(mode))

/* Here a library is a module, and a kernel handle is a function handle. */
static CUresult library_load(CUlibrary *out)
{
	CUmodule mod;
	CUresult err = out ? module_load(&mod) : CUDA_ERROR_INVALID_VALUE;

	if (!err)
		*out = (CUlibrary)mod;
	return err;
}

static CUresult library_kernel(CUkernel *out, CUlibrary lib, const char *name)
{
	CUfunction func;
	CUresult err = out ? module_function(&func, (CUmodule)lib, name) : CUDA_ERROR_INVALID_VALUE;

	if (!err)
		*out = (CUkernel)func;
	return err;
}

DRIVER_API(cuLibraryLoadData,
	   (CUlibrary *lib, const void *code, CUjit_option *jit_options, void **jit_values,
	    unsigned int nr_jit, CUlibraryOption *options, void **values, unsigned int nr),
	   (lib, code, jit_options, jit_values, nr_jit, options, values, nr), NULL,
	   library_load(lib))
DRIVER_API(cuLibraryUnload, (CUlibrary lib), (lib), NULL, module_unload((CUmodule)lib))
DRIVER_API(cuLibraryGetKernel, (CUkernel *kernel, CUlibrary lib, const char *name),
	   (kernel, lib, name), NULL, library_kernel(kernel, lib, name))

static CUresult kernel_function(CUfunction *out, CUkernel kernel)
{
	if (!out || !kernel)
		return CUDA_ERROR_INVALID_VALUE;
	*out = (CUfunction)kernel;
	return CUDA_SUCCESS;
}

DRIVER_API(cuKernelGetFunction, (CUfunction *func, CUkernel kernel), (func, kernel), NULL,
	   kernel_function(func, kernel))

static CUresult func_name(const char **name, CUfunction func)
{
	if (!name || !func || func->magic != SIM_MAGIC_KERNEL)
		return CUDA_ERROR_INVALID_VALUE;
	*name = func->name;
	return CUDA_SUCCESS;
}

DRIVER_API(cuFuncGetName, (const char **name, CUfunction func), (name, func), NULL,
	   func_name(name, func))
DRIVER_API(cuKernelGetName, (const char **name, CUkernel kernel), (name, kernel), NULL,
	   func_name(name, (CUfunction)kernel))

static CUresult func_attribute(int *value, CUfunction_attribute attrib)
{
	*value = attrib == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024 : 0;
	return CUDA_SUCCESS;
}

DRIVER_API(cuFuncGetAttribute, (int *pi, CUfunction_attribute attrib, CUfunction func),
	   (pi, attrib, func), NULL, func_attribute(pi, attrib))
DRIVER_API(cuFuncSetAttribute, (CUfunction func, CUfunction_attribute attrib, int value),
	   (func, attrib, value), NULL, CUDA_SUCCESS)

static CUresult occupancy(int *nr_blocks)
{
	*nr_blocks = 8;
	return CUDA_SUCCESS;
}

DRIVER_API(cuOccupancyMaxActiveBlocksPerMultiprocessor,
	   (int *nr, CUfunction func, int block, size_t shared), (nr, func, block, shared), NULL,
	   occupancy(nr))
DRIVER_API(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
	   (int *nr, CUfunction func, int block, size_t shared, unsigned int flags),
	   (nr, func, block, shared, flags), NULL, occupancy(nr))

/* ---- launches -------------------------------------------------------------------------------- */

struct launch {
	CUfunction func;
	unsigned int grid[3];
	unsigned int block[3];
	unsigned int cluster[3];
	unsigned int shared_bytes;
	CUstream stream;
	void **params;
	bool per_thread;
	bool cooperative;
};

static const char *symbol_of(CUfunction func)
{
	return func && func->magic == SIM_MAGIC_KERNEL ? func->name : NULL;
}

static CUresult launch_check(const struct launch *l)
{
	uint64_t nr_threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];

	if (!symbol_of(l->func))
		return CUDA_ERROR_INVALID_HANDLE;
	if (!nr_threads || nr_threads > 1024 || !l->grid[0] || !l->grid[1] || !l->grid[2])
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

static CUresult launch_kernel(const struct launch *l)
{
	static uint64_t last_grid_id;
	struct CUstream_st *stream;
	struct work *work;
	CUresult err = launch_check(l);

	if (!err)
		err = stream__resolve(l->stream, l->per_thread, &stream);
	if (err)
		return err;
	work = work__new(stream, SIM_KERNEL);
	if (!work)
		return CUDA_ERROR_OUT_OF_MEMORY;
	work->duration_ns = kernel__duration(l->func, l->params);
	work->act.name = l->func->name;
	work->act.told = kernel__told(l->func);
	work->act.cooperative = l->cooperative;
	work->act.shared_bytes = l->shared_bytes;
	memcpy(work->act.grid, l->grid, sizeof(work->act.grid));
	memcpy(work->act.block, l->block, sizeof(work->act.block));
	memcpy(work->act.cluster, l->cluster, sizeof(work->act.cluster));
	if (stream__is_capturing(stream))
		return capture__add(stream, work);
	work->act.grid_id = __atomic_add_fetch(&last_grid_id, 1, __ATOMIC_RELAXED);
	ctx__tell_module(stream->ctx, CUPTI_CBID_RESOURCE_MODULE_PROFILED);
	work__reserve(work);
	return work__submit(work);
}

/* Return: the value of an attribute, or zeros if it is missing */
static CUlaunchAttributeValue config_value(const CUlaunchConfig *config, CUlaunchAttributeID id)
{
	for (unsigned int i = 0; i < config->numAttrs; i++)
		if (config->attrs[i].id == id)
			return config->attrs[i].value;
	return (CUlaunchAttributeValue){ 0 };
}

static CUresult launch_config(const CUlaunchConfig *config, CUfunction func, void **params,
			      bool per_thread)
{
	CUlaunchAttributeValue cluster;

	if (!config)
		return CUDA_ERROR_INVALID_VALUE;
	cluster = config_value(config, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
	return launch_kernel(&(struct launch){
		.func = func,
		.cluster = { cluster.clusterDim.x, cluster.clusterDim.y, cluster.clusterDim.z },
		.grid = { config->gridDimX, config->gridDimY, config->gridDimZ },
		.block = { config->blockDimX, config->blockDimY, config->blockDimZ },
		.shared_bytes = config->sharedMemBytes,
		.stream = config->hStream,
		.params = params,
		.per_thread = per_thread,
		.cooperative = config_value(config, CU_LAUNCH_ATTRIBUTE_COOPERATIVE).cooperative,
	});
}

#define LAUNCH_PROTO								\
	(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz,	\
	 unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared,\
	 CUstream s, void **params_, void **extra)
#define COOPERATIVE_PROTO							\
	(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz,	\
	 unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared,\
	 CUstream s, void **params_)
#define LAUNCH(is_cooperative)							\
	launch_kernel(&(struct launch){						\
		.func = f,							\
		.grid = { gx, gy, gz },						\
		.block = { bx, by, bz },					\
		.shared_bytes = shared,						\
		.stream = s,							\
		.params = params_,						\
		.per_thread = per_thread,					\
		.cooperative = is_cooperative,					\
	})

DRIVER_API_PTSZ(cuLaunchKernel, LAUNCH_PROTO,
		(f, gx, gy, gz, bx, by, bz, shared, s, params_, extra), symbol_of(f),
		LAUNCH(false))
DRIVER_API_PTSZ(cuLaunchCooperativeKernel, COOPERATIVE_PROTO,
		(f, gx, gy, gz, bx, by, bz, shared, s, params_), symbol_of(f), LAUNCH(true))
DRIVER_API_PTSZ(cuLaunchKernelEx,
		(const CUlaunchConfig *config, CUfunction f, void **params_, void **extra),
		(config, f, params_, extra), symbol_of(f),
		launch_config(config, f, params_, per_thread))

static CUresult launch_host(CUstream handle, CUhostFn fn, void *data, bool per_thread)
{
	struct CUstream_st *stream;
	struct work *work;
	CUresult err = stream__resolve(handle, per_thread, &stream);

	if (err)
		return err;
	if (!fn)
		return CUDA_ERROR_INVALID_VALUE;
	work = work__new(stream, SIM_HOST);
	if (!work)
		return CUDA_ERROR_OUT_OF_MEMORY;
	work->duration_ns = 1000;
	work->host_fn = fn;
	work->host_data = data;
	if (stream__is_capturing(stream))
		return capture__add(stream, work);
	work__reserve(work);
	return work__submit(work);
}

DRIVER_API_PTSZ(cuLaunchHostFunc, (CUstream s, CUhostFn fn, void *data), (s, fn, data), NULL,
		launch_host(s, fn, data, per_thread))

/* ---- memory ---------------------------------------------------------------------------------- */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned int nr;		/* threads that free memory and wait for the device */
} freeing = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0 };

static void count_freeing(unsigned int change)
{
	pthread_mutex_lock(&freeing.lock);
	freeing.nr += change;
	pthread_cond_broadcast(&freeing.changed);
	pthread_mutex_unlock(&freeing.lock);
}

/*
 * As in the driver, an allocation waits for a thread that is freeing memory, but here at most 0.1
 * s.
 */
static void wait_for_frees(void)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_nsec += 100000000;
	end.tv_sec += end.tv_nsec / 1000000000;
	end.tv_nsec %= 1000000000;
	pthread_mutex_lock(&freeing.lock);
	while (freeing.nr && !pthread_cond_timedwait(&freeing.changed, &freeing.lock, &end))
		;
	pthread_mutex_unlock(&freeing.lock);
}

static CUresult mem_alloc(CUdeviceptr *out, size_t bytes)
{
	struct CUctx_st *ctx = ctx__current();
	void *ptr = NULL;
	CUresult err;

	if (!ctx)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	err = memory__alloc(bytes, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, device__ordinal(ctx->dev),
			    &ptr);
	if (!err)
		*out = (CUdeviceptr)ptr;
	return err;
}

static CUresult mem_alloc_now(CUdeviceptr *out, size_t bytes)
{
	wait_for_frees();
	return mem_alloc(out, bytes);
}

static CUresult mem_free(CUdeviceptr ptr)
{
	struct CUctx_st *ctx = ctx__current();

	if (!ptr)
		return CUDA_SUCCESS;
	/* As in the driver, waits until no work uses the memory. */
	if (ctx) {
		count_freeing(1);
		ctx__wait(ctx);
		count_freeing(-1u);
	}
	return memory__free((void *)ptr, 0);
}

static CUresult mem_host_alloc(void **out, size_t bytes)
{
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	return memory__alloc(bytes, CUPTI_ACTIVITY_MEMORY_KIND_PINNED, 0, out);
}

static CUresult mem_host_free(void *ptr)
{
	struct CUctx_st *ctx = ctx__current();

	if (ctx)
		ctx__wait(ctx);
	return memory__free(ptr, CUPTI_ACTIVITY_MEMORY_KIND_PINNED);
}

static CUresult mem_managed(CUdeviceptr *out, size_t bytes)
{
	void *ptr = NULL;
	CUresult err;

	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	err = memory__alloc(bytes, CUPTI_ACTIVITY_MEMORY_KIND_MANAGED, 0, &ptr);
	if (!err)
		*out = (CUdeviceptr)ptr;
	return err;
}

static CUresult mem_info(size_t *free_bytes, size_t *total)
{
	struct CUctx_st *ctx = ctx__current();

	if (!ctx)
		return CUDA_ERROR_INVALID_CONTEXT;
	memory__info(device__ordinal(ctx->dev), free_bytes, total);
	return CUDA_SUCCESS;
}

static CUresult mem_free_async(CUdeviceptr ptr, CUstream handle, bool per_thread)
{
	struct CUstream_st *stream;
	CUresult err = stream__resolve(handle, per_thread, &stream);

	if (err)
		return err;
	if (stream->branch)		/* a graph node's memory, which stays allocated */
		return CUDA_SUCCESS;
	device__wait(stream->ctx->dev, stream__tail(stream));
	return memory__free((void *)ptr, 0);
}

static CUresult mem_range(CUdeviceptr *base, size_t *bytes, CUdeviceptr ptr)
{
	void *found;
	size_t size;
	uint8_t kind;
	int device;

	if (!memory__find((void *)ptr, &kind, &device, &found, &size))
		return CUDA_ERROR_NOT_FOUND;
	if (base)
		*base = (CUdeviceptr)found;
	if (bytes)
		*bytes = size;
	return CUDA_SUCCESS;
}

static CUresult pointer_attribute(void *out, CUpointer_attribute attrib, CUdeviceptr ptr)
{
	CUmemorytype type;
	uint8_t kind;
	size_t bytes;
	void *base;
	int device;

	if (!memory__find((void *)ptr, &kind, &device, &base, &bytes))
		return CUDA_ERROR_INVALID_VALUE;
	switch (attrib) {
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		type = kind == CUPTI_ACTIVITY_MEMORY_KIND_PINNED ? CU_MEMORYTYPE_HOST :
								   CU_MEMORYTYPE_DEVICE;
		memcpy(out, &type, sizeof(type));
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		memcpy(out, &device, sizeof(device));
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		memcpy(out, &ptr, sizeof(ptr));
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
}

DRIVER_API(cuMemAlloc_v2, (CUdeviceptr *out, size_t bytes), (out, bytes), NULL,
	   mem_alloc_now(out, bytes))
DRIVER_API(cuMemFree_v2, (CUdeviceptr ptr), (ptr), NULL, mem_free(ptr))
DRIVER_API(cuMemAllocHost_v2, (void **out, size_t bytes), (out, bytes), NULL,
	   mem_host_alloc(out, bytes))
DRIVER_API(cuMemFreeHost, (void *ptr), (ptr), NULL, mem_host_free(ptr))
DRIVER_API(cuMemHostAlloc, (void **out, size_t bytes, unsigned int flags), (out, bytes, flags),
	   NULL, mem_host_alloc(out, bytes))
DRIVER_API(cuMemHostRegister_v2, (void *ptr, size_t bytes, unsigned int flags),
	   (ptr, bytes, flags), NULL, memory__register(ptr, bytes))
DRIVER_API(cuMemHostUnregister, (void *ptr), (ptr), NULL, memory__unregister(ptr))
DRIVER_API(cuMemAllocManaged, (CUdeviceptr *out, size_t bytes, unsigned int flags),
	   (out, bytes, flags), NULL, mem_managed(out, bytes))
DRIVER_API(cuMemGetInfo_v2, (size_t *free_bytes, size_t *total), (free_bytes, total), NULL,
	   mem_info(free_bytes, total))
DRIVER_API_PTSZ(cuMemAllocAsync, (CUdeviceptr *out, size_t bytes, CUstream s), (out, bytes, s),
		NULL, mem_alloc(out, bytes))
DRIVER_API_PTSZ(cuMemFreeAsync, (CUdeviceptr ptr, CUstream s), (ptr, s), NULL,
		mem_free_async(ptr, s, per_thread))
DRIVER_API(cuMemGetAddressRange_v2, (CUdeviceptr *base, size_t *bytes, CUdeviceptr ptr),
	   (base, bytes, ptr), NULL, mem_range(base, bytes, ptr))
DRIVER_API(cuPointerGetAttribute, (void *data, CUpointer_attribute attrib, CUdeviceptr ptr),
	   (data, attrib, ptr), NULL, pointer_attribute(data, attrib, ptr))

/* ---- copies and sets ------------------------------------------------------------------------- */

static bool is_device_kind(uint8_t kind)
{
	return kind == CUPTI_ACTIVITY_MEMORY_KIND_DEVICE ||
	       kind == CUPTI_ACTIVITY_MEMORY_KIND_MANAGED;
}

static uint8_t copy_kind(uint8_t src_kind, uint8_t dst_kind)
{
	if (is_device_kind(src_kind))
		return is_device_kind(dst_kind) ? CUPTI_ACTIVITY_MEMCPY_KIND_DTOD :
						  CUPTI_ACTIVITY_MEMCPY_KIND_DTOH;
	return is_device_kind(dst_kind) ? CUPTI_ACTIVITY_MEMCPY_KIND_HTOD :
					  CUPTI_ACTIVITY_MEMCPY_KIND_HTOH;
}

/*
 * Copies memory. An asynchronous copy from pageable memory takes its data at the call. A copy to
 * pageable memory has ended when the call returns. See the CUDA documentation, "API synchronization
 * behavior".
 */
static CUresult copy_between(void *dst, CUcontext dst_ctx, const void *src, CUcontext src_ctx,
			     size_t bytes, CUstream handle, bool per_thread, bool is_async)
{
	struct CUstream_st *stream;
	struct device *dev;
	struct work *work;
	bool wait;
	CUresult err = stream__resolve(handle, per_thread, &stream);

	if (err || !bytes)
		return err;
	if (!dst || !src)
		return CUDA_ERROR_INVALID_VALUE;
	work = work__new(stream, SIM_MEMCPY);
	if (!work)
		return CUDA_ERROR_OUT_OF_MEMORY;
	dev = stream->ctx->dev;
	work->dst = dst;
	work->src = src;
	work->duration_ns = copy__duration(bytes);
	work->act.bytes = bytes;
	work->act.src_kind = memory__kind(src);
	work->act.dst_kind = memory__kind(dst);
	work->act.copy_kind = copy_kind(work->act.src_kind, work->act.dst_kind);
	work->act.is_async = is_async;
	if (dst_ctx) {
		work->act.is_peer = true;
		work->act.copy_kind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
		work->act.src_context = src_ctx->uid;
		work->act.src_device = (uint32_t)device__ordinal(src_ctx->dev);
		work->act.dst_context = dst_ctx->uid;
		work->act.dst_device = (uint32_t)device__ordinal(dst_ctx->dev);
	}
	if (stream__is_capturing(stream))
		return capture__add(stream, work);
	wait = !is_async || work->act.dst_kind == CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE;
	if (!wait && work->act.src_kind == CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE) {
		work->staging = malloc(bytes);
		if (!work->staging) {
			work__free(work);
			return CUDA_ERROR_OUT_OF_MEMORY;
		}
		memcpy(work->staging, src, bytes);
	}
	work__reserve(work);
	err = work__submit(work);
	if (!err && wait) {
		device__wait(dev, stream__tail(stream));
		err = core__check();
	}
	return err;
}

static CUresult copy(void *dst, const void *src, size_t bytes, CUstream handle, bool per_thread,
		     bool is_async)
{
	return copy_between(dst, NULL, src, NULL, bytes, handle, per_thread, is_async);
}

/* Copies between two contexts. The stream belongs to one of them. */
static CUresult copy_peer(CUdeviceptr dst, CUcontext dst_ctx, CUdeviceptr src, CUcontext src_ctx,
			  size_t bytes, CUstream handle, bool per_thread, bool is_async)
{
	if (!ctx__is_valid(dst_ctx) || !ctx__is_valid(src_ctx))
		return CUDA_ERROR_INVALID_CONTEXT;
	return copy_between((void *)dst, dst_ctx, (const void *)src, src_ctx, bytes, handle,
			    per_thread, is_async);
}

static CUresult set(CUdeviceptr dst, uint32_t value, uint8_t unit, size_t nr, CUstream handle,
		    bool per_thread, bool is_async)
{
	struct CUstream_st *stream;
	struct work *work;
	CUresult err = stream__resolve(handle, per_thread, &stream);

	if (err || !nr)
		return err;
	if (!dst || nr > SIZE_MAX / unit)
		return CUDA_ERROR_INVALID_VALUE;
	work = work__new(stream, SIM_MEMSET);
	if (!work)
		return CUDA_ERROR_OUT_OF_MEMORY;
	work->dst = (void *)dst;
	work->unit = unit;
	work->duration_ns = 1000 + nr * unit / 1000;
	work->act.bytes = nr * unit;
	work->act.value = value;
	work->act.src_kind = memory__kind((void *)dst);
	work->act.is_async = is_async;
	if (stream__is_capturing(stream))
		return capture__add(stream, work);
	work__reserve(work);
	return work__submit(work);
}

#define HOST(ptr)	((void *)(ptr))

DRIVER_API_PTDS(cuMemcpy, (CUdeviceptr dst, CUdeviceptr src, size_t bytes), (dst, src, bytes),
		NULL, copy(HOST(dst), HOST(src), bytes, NULL, per_thread, false))
DRIVER_API_PTDS(cuMemcpyHtoD_v2, (CUdeviceptr dst, const void *src, size_t bytes),
		(dst, src, bytes), NULL, copy(HOST(dst), src, bytes, NULL, per_thread, false))
DRIVER_API_PTDS(cuMemcpyDtoH_v2, (void *dst, CUdeviceptr src, size_t bytes), (dst, src, bytes),
		NULL, copy(dst, HOST(src), bytes, NULL, per_thread, false))
DRIVER_API_PTDS(cuMemcpyDtoD_v2, (CUdeviceptr dst, CUdeviceptr src, size_t bytes),
		(dst, src, bytes), NULL, copy(HOST(dst), HOST(src), bytes, NULL, per_thread, false))
DRIVER_API_PTSZ(cuMemcpyAsync, (CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream s),
		(dst, src, bytes, s), NULL, copy(HOST(dst), HOST(src), bytes, s, per_thread, true))
DRIVER_API_PTSZ(cuMemcpyHtoDAsync_v2,
		(CUdeviceptr dst, const void *src, size_t bytes, CUstream s),
		(dst, src, bytes, s), NULL, copy(HOST(dst), src, bytes, s, per_thread, true))
DRIVER_API_PTSZ(cuMemcpyDtoHAsync_v2, (void *dst, CUdeviceptr src, size_t bytes, CUstream s),
		(dst, src, bytes, s), NULL, copy(dst, HOST(src), bytes, s, per_thread, true))
DRIVER_API_PTSZ(cuMemcpyDtoDAsync_v2,
		(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream s),
		(dst, src, bytes, s), NULL, copy(HOST(dst), HOST(src), bytes, s, per_thread, true))

#define PEER_PROTO								\
	(CUdeviceptr dst, CUcontext dst_ctx, CUdeviceptr src, CUcontext src_ctx, size_t bytes)
#define PEER_ASYNC_PROTO							\
	(CUdeviceptr dst, CUcontext dst_ctx, CUdeviceptr src, CUcontext src_ctx,	\
	 size_t bytes, CUstream s)

DRIVER_API_PTDS(cuMemcpyPeer, PEER_PROTO, (dst, dst_ctx, src, src_ctx, bytes), NULL,
		copy_peer(dst, dst_ctx, src, src_ctx, bytes, NULL, per_thread, false))
DRIVER_API_PTSZ(cuMemcpyPeerAsync, PEER_ASYNC_PROTO, (dst, dst_ctx, src, src_ctx, bytes, s), NULL,
		copy_peer(dst, dst_ctx, src, src_ctx, bytes, s, per_thread, true))

DRIVER_API_PTDS(cuMemsetD8_v2, (CUdeviceptr dst, unsigned char value, size_t nr),
		(dst, value, nr), NULL, set(dst, value, 1, nr, NULL, per_thread, false))
DRIVER_API_PTDS(cuMemsetD16_v2, (CUdeviceptr dst, unsigned short value, size_t nr),
		(dst, value, nr), NULL, set(dst, value, 2, nr, NULL, per_thread, false))
DRIVER_API_PTDS(cuMemsetD32_v2, (CUdeviceptr dst, unsigned int value, size_t nr),
		(dst, value, nr), NULL, set(dst, value, 4, nr, NULL, per_thread, false))
DRIVER_API_PTSZ(cuMemsetD8Async, (CUdeviceptr dst, unsigned char value, size_t nr, CUstream s),
		(dst, value, nr, s), NULL, set(dst, value, 1, nr, s, per_thread, true))
DRIVER_API_PTSZ(cuMemsetD16Async, (CUdeviceptr dst, unsigned short value, size_t nr, CUstream s),
		(dst, value, nr, s), NULL, set(dst, value, 2, nr, s, per_thread, true))
DRIVER_API_PTSZ(cuMemsetD32Async, (CUdeviceptr dst, unsigned int value, size_t nr, CUstream s),
		(dst, value, nr, s), NULL, set(dst, value, 4, nr, s, per_thread, true))

/* ---- streams --------------------------------------------------------------------------------- */

static CUresult stream_create(CUstream *out, unsigned int flags, int priority)
{
	struct CUctx_st *ctx = ctx__current();

	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	if (!ctx)
		return CUDA_ERROR_INVALID_CONTEXT;
	*out = stream__new(ctx, flags, priority);
	if (!*out)
		return CUDA_ERROR_OUT_OF_MEMORY;
	(*out)->is_users = true;
	tool__resource(CUPTI_CBID_RESOURCE_STREAM_CREATED, ctx, *out, NULL);
	return CUDA_SUCCESS;
}

static CUresult stream_destroy(CUstream handle)
{
	struct CUstream_st *stream;
	CUresult err;

	if (!handle || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD)
		return CUDA_ERROR_INVALID_HANDLE;
	err = stream__resolve(handle, false, &stream);
	return err ? err : stream__destroy(stream);
}

static CUresult stream_synchronize(CUstream handle, bool per_thread)
{
	struct CUstream_st *stream;
	CUresult err = stream__resolve(handle, per_thread, &stream);

	if (err)
		return err;
	if (stream__is_capturing(stream))
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	return stream__synchronize(stream);
}

static CUresult stream_query(CUstream handle, bool per_thread)
{
	struct CUstream_st *stream;
	CUresult err = stream__resolve(handle, per_thread, &stream);

	if (err)
		return err;
	if (stream__is_capturing(stream))
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (!device__is_done(stream->ctx->dev, stream__tail(stream)))
		return CUDA_ERROR_NOT_READY;
	tool__synchronized(CUPTI_CBID_SYNCHRONIZE_STREAM_SYNCHRONIZED, stream->ctx, stream);
	return CUDA_SUCCESS;
}

static CUresult stream_flags(CUstream handle, unsigned int *flags, bool per_thread)
{
	struct CUstream_st *stream;
	CUresult err = stream__resolve(handle, per_thread, &stream);

	if (!err)
		*flags = stream->flags;
	return err;
}

static CUresult stream_priority(CUstream handle, int *priority, bool per_thread)
{
	struct CUstream_st *stream;
	CUresult err = stream__resolve(handle, per_thread, &stream);

	if (!err)
		*priority = stream->priority;
	return err;
}

static CUresult stream_ctx(CUstream handle, CUcontext *ctx, bool per_thread)
{
	struct CUstream_st *stream;
	CUresult err = stream__resolve(handle, per_thread, &stream);

	if (!err)
		*ctx = stream->ctx;
	return err;
}

static CUresult stream_id(CUstream handle, unsigned long long *id, bool per_thread)
{
	struct CUstream_st *stream;
	CUresult err = stream__resolve(handle, per_thread, &stream);

	if (!err)
		*id = stream->id;
	return err;
}

DRIVER_API(cuStreamCreate, (CUstream *s, unsigned int flags), (s, flags), NULL,
	   stream_create(s, flags, 0))
DRIVER_API(cuStreamCreateWithPriority, (CUstream *s, unsigned int flags, int priority),
	   (s, flags, priority), NULL, stream_create(s, flags, priority))
DRIVER_API(cuStreamDestroy_v2, (CUstream s), (s), NULL, stream_destroy(s))
DRIVER_API_PTSZ(cuStreamSynchronize, (CUstream s), (s), NULL, stream_synchronize(s, per_thread))
DRIVER_API_PTSZ(cuStreamQuery, (CUstream s), (s), NULL, stream_query(s, per_thread))
DRIVER_API_PTSZ(cuStreamGetFlags, (CUstream s, unsigned int *flags), (s, flags), NULL,
		stream_flags(s, flags, per_thread))
DRIVER_API_PTSZ(cuStreamGetPriority, (CUstream s, int *priority), (s, priority), NULL,
		stream_priority(s, priority, per_thread))
DRIVER_API_PTSZ(cuStreamGetCtx, (CUstream s, CUcontext *ctx), (s, ctx), NULL,
		stream_ctx(s, ctx, per_thread))
DRIVER_API_PTSZ(cuStreamGetId, (CUstream s, unsigned long long *id), (s, id), NULL,
		stream_id(s, id, per_thread))

/* ---- events ---------------------------------------------------------------------------------- */

static bool event_is_valid(CUevent event)
{
	return event && __atomic_load_n(&event->magic, __ATOMIC_RELAXED) == SIM_MAGIC_EVENT;
}

static CUresult event_create(CUevent *out, unsigned int flags)
{
	struct CUevent_st *event;

	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	if (!ctx__current())
		return CUDA_ERROR_INVALID_CONTEXT;
	event = calloc(1, sizeof(*event));
	if (!event)
		return CUDA_ERROR_OUT_OF_MEMORY;
	event->magic = SIM_MAGIC_EVENT;
	event->flags = flags;
	*out = event;
	return CUDA_SUCCESS;
}

static CUresult event_destroy(CUevent event)
{
	if (!event_is_valid(event))
		return CUDA_ERROR_INVALID_HANDLE;
	event->magic = 0;
	branch__free(event->branch);
	free(event);
	return CUDA_SUCCESS;
}

static CUresult event_record(CUevent event, CUstream handle, bool per_thread)
{
	struct CUstream_st *stream;
	CUresult err = stream__resolve(handle, per_thread, &stream);

	if (err)
		return err;
	if (!event_is_valid(event))
		return CUDA_ERROR_INVALID_HANDLE;
	if (stream__is_capturing(stream))
		return capture__record_event(stream, event);
	branch__free(event->branch);
	event->branch = NULL;
	event->dev = stream->ctx->dev;
	event->behind_ns = stream__tail(stream);
	event->time_ns = now_ns();
	if (event->time_ns < event->behind_ns)
		event->time_ns = event->behind_ns;
	return CUDA_SUCCESS;
}

static CUresult event_query(CUevent event)
{
	if (!event_is_valid(event))
		return CUDA_ERROR_INVALID_HANDLE;
	if (!event->dev || device__is_done(event->dev, event->behind_ns))
		return CUDA_SUCCESS;
	return CUDA_ERROR_NOT_READY;
}

static CUresult event_synchronize(CUevent event)
{
	if (!event_is_valid(event))
		return CUDA_ERROR_INVALID_HANDLE;
	if (event->dev)
		device__wait(event->dev, event->behind_ns);
	return core__check();
}

static CUresult event_elapsed(float *ms, CUevent start, CUevent end)
{
	CUresult err;

	if (!ms || !event_is_valid(start) || !event_is_valid(end) || !start->dev || !end->dev)
		return CUDA_ERROR_INVALID_HANDLE;
	err = event_query(start);
	if (!err)
		err = event_query(end);
	if (!err)
		*ms = (float)((double)(int64_t)(end->time_ns - start->time_ns) * 1e-6);
	return err;
}

static CUresult stream_wait_event(CUstream handle, CUevent event, bool per_thread)
{
	struct CUstream_st *stream;
	CUresult err = stream__resolve(handle, per_thread, &stream);

	if (err)
		return err;
	if (!event_is_valid(event))
		return CUDA_ERROR_INVALID_HANDLE;
	if (event->branch || stream__is_capturing(stream))
		return capture__wait_event(stream, event);
	if (event->dev)
		stream__wait_until(stream, event->behind_ns);
	return CUDA_SUCCESS;
}

DRIVER_API(cuEventCreate, (CUevent *event, unsigned int flags), (event, flags), NULL,
	   event_create(event, flags))
DRIVER_API(cuEventDestroy_v2, (CUevent event), (event), NULL, event_destroy(event))
DRIVER_API_PTSZ(cuEventRecord, (CUevent event, CUstream s), (event, s), NULL,
		event_record(event, s, per_thread))
DRIVER_API_PTSZ(cuEventRecordWithFlags, (CUevent event, CUstream s, unsigned int flags),
		(event, s, flags), NULL, event_record(event, s, per_thread))
DRIVER_API(cuEventQuery, (CUevent event), (event), NULL, event_query(event))
DRIVER_API(cuEventSynchronize, (CUevent event), (event), NULL, event_synchronize(event))
DRIVER_API(cuEventElapsedTime_v2, (float *ms, CUevent start, CUevent end), (ms, start, end), NULL,
	   event_elapsed(ms, start, end))
DRIVER_API_PTSZ(cuStreamWaitEvent, (CUstream s, CUevent event, unsigned int flags),
		(s, event, flags), NULL, stream_wait_event(s, event, per_thread))

/* ---- errors ---------------------------------------------------------------------------------- */

static const struct {
	CUresult code;
	const char *name;
	const char *text;
} errors[] = {
	{ CUDA_SUCCESS, "CUDA_SUCCESS", "no error" },
	{ CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument" },
	{ CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory" },
	{ CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error" },
	{ CUDA_ERROR_DEINITIALIZED, "CUDA_ERROR_DEINITIALIZED", "driver shutting down" },
	{ CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected" },
	{ CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal" },
	{ CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context" },
	{ CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle" },
	{ CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found" },
	{ CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready" },
	{ CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported" },
	{ CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
	  "operation not permitted when stream is capturing" },
	{ CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED",
	  "capture was not initiated in this stream" },
	{ CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED",
	  "capturing stream has unjoined work" },
	{ CUDA_ERROR_STREAM_CAPTURE_ISOLATION, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION",
	  "dependency created on uncaptured work in another stream" },
	{ CUDA_ERROR_ILLEGAL_STATE, "CUDA_ERROR_ILLEGAL_STATE",
	  "the operation cannot be performed in the present state" },
};

static CUresult error_text(CUresult code, const char **out, bool name)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		if (errors[i].code == code) {
			*out = name ? errors[i].name : errors[i].text;
			return CUDA_SUCCESS;
		}
	}
	*out = NULL;
	return CUDA_ERROR_INVALID_VALUE;
}

SIM_EXPORT CUresult CUDAAPI cuGetErrorName(CUresult error, const char **out)
{
	return error_text(error, out, true);
}

SIM_EXPORT CUresult CUDAAPI cuGetErrorString(CUresult error, const char **out)
{
	return error_text(error, out, false);
}

/* ---- entry points by name -------------------------------------------------------------------- */

#define ENTRY(name, since, fn)		{ name, since, (void *)fn, (void *)fn },
#define ENTRY_PT(name, since, fn, sfx)	{ name, since, (void *)fn, (void *)fn##sfx },

/*
 * Declares functions that cuda.h shows only under CUDA_API_PER_THREAD_DEFAULT_STREAM, or that
 * graph.c defines.
 */
#define PTSZ(fn) extern __typeof__(fn) fn##_ptsz;
#define PTDS(fn) extern __typeof__(fn) fn##_ptds;

PTSZ(cuGraphLaunch)
PTSZ(cuGraphUpload)
PTSZ(cuGraphInstantiateWithParams)
PTSZ(cuStreamBeginCapture_v2)
PTSZ(cuStreamEndCapture)
PTSZ(cuStreamIsCapturing)
PTSZ(cuStreamGetCaptureInfo_v3)

static const struct entry {
	const char *name;
	int since;			/* the first version with this form; an older caller expects
					 * another form */
	void *fn;
	void *per_thread_fn;
} entries[] = {
	ENTRY("cuInit", 2000, cuInit)
	ENTRY("cuDriverGetVersion", 2020, cuDriverGetVersion)
	ENTRY("cuDeviceGet", 2000, cuDeviceGet)
	ENTRY("cuDeviceGetCount", 2000, cuDeviceGetCount)
	ENTRY("cuDeviceGetName", 2000, cuDeviceGetName)
	ENTRY("cuDeviceGetUuid", 11040, cuDeviceGetUuid_v2)
	ENTRY("cuDeviceTotalMem", 3020, cuDeviceTotalMem_v2)
	ENTRY("cuDeviceGetAttribute", 2000, cuDeviceGetAttribute)
	ENTRY("cuDevicePrimaryCtxRetain", 7000, cuDevicePrimaryCtxRetain)
	ENTRY("cuDevicePrimaryCtxRelease", 11000, cuDevicePrimaryCtxRelease_v2)
	ENTRY("cuDevicePrimaryCtxReset", 11000, cuDevicePrimaryCtxReset_v2)
	ENTRY("cuDevicePrimaryCtxGetState", 7000, cuDevicePrimaryCtxGetState)
	ENTRY("cuCtxCreate", 13000, cuCtxCreate_v4)
	ENTRY("cuCtxCreate", 3020, cuCtxCreate_v2)
	ENTRY("cuCtxDestroy", 4000, cuCtxDestroy_v2)
	ENTRY("cuCtxPushCurrent", 4000, cuCtxPushCurrent_v2)
	ENTRY("cuCtxPopCurrent", 4000, cuCtxPopCurrent_v2)
	ENTRY("cuCtxSetCurrent", 4000, cuCtxSetCurrent)
	ENTRY("cuCtxGetCurrent", 4000, cuCtxGetCurrent)
	ENTRY("cuCtxGetDevice", 2000, cuCtxGetDevice)
	ENTRY("cuCtxGetDevice_v2", 13000, cuCtxGetDevice_v2)
	ENTRY("cuProfilerStart", 4000, cuProfilerStart)
	ENTRY("cuProfilerStop", 4000, cuProfilerStop)
	ENTRY("cuCtxSynchronize", 2000, cuCtxSynchronize)
	ENTRY("cuCtxSynchronize_v2", 13000, cuCtxSynchronize_v2)
	ENTRY("cuCtxGetApiVersion", 3020, cuCtxGetApiVersion)
	ENTRY("cuCtxGetStreamPriorityRange", 5050, cuCtxGetStreamPriorityRange)
	ENTRY("cuModuleLoad", 2000, cuModuleLoad)
	ENTRY("cuModuleLoadData", 2000, cuModuleLoadData)
	ENTRY("cuModuleLoadDataEx", 2010, cuModuleLoadDataEx)
	ENTRY("cuModuleUnload", 2000, cuModuleUnload)
	ENTRY("cuModuleGetFunction", 2000, cuModuleGetFunction)
	ENTRY("cuModuleGetLoadingMode", 11070, cuModuleGetLoadingMode)
	ENTRY("cuLibraryLoadData", 12000, cuLibraryLoadData)
	ENTRY("cuLibraryUnload", 12000, cuLibraryUnload)
	ENTRY("cuLibraryGetKernel", 12000, cuLibraryGetKernel)
	ENTRY("cuKernelGetFunction", 12000, cuKernelGetFunction)
	ENTRY("cuKernelGetName", 12030, cuKernelGetName)
	ENTRY("cuFuncGetName", 12030, cuFuncGetName)
	ENTRY("cuFuncGetAttribute", 2020, cuFuncGetAttribute)
	ENTRY("cuFuncSetAttribute", 9000, cuFuncSetAttribute)
	ENTRY("cuOccupancyMaxActiveBlocksPerMultiprocessor", 6050,
	      cuOccupancyMaxActiveBlocksPerMultiprocessor)
	ENTRY("cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", 7000,
	      cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)
	ENTRY_PT("cuLaunchKernel", 4000, cuLaunchKernel, _ptsz)
	ENTRY_PT("cuLaunchKernelEx", 11060, cuLaunchKernelEx, _ptsz)
	ENTRY_PT("cuLaunchCooperativeKernel", 9000, cuLaunchCooperativeKernel, _ptsz)
	ENTRY_PT("cuLaunchHostFunc", 10000, cuLaunchHostFunc, _ptsz)
	ENTRY("cuMemAlloc", 3020, cuMemAlloc_v2)
	ENTRY("cuMemFree", 3020, cuMemFree_v2)
	ENTRY("cuMemAllocHost", 3020, cuMemAllocHost_v2)
	ENTRY("cuMemFreeHost", 2000, cuMemFreeHost)
	ENTRY("cuMemHostAlloc", 2020, cuMemHostAlloc)
	ENTRY("cuMemHostRegister", 6050, cuMemHostRegister_v2)
	ENTRY("cuMemHostUnregister", 4000, cuMemHostUnregister)
	ENTRY("cuMemAllocManaged", 6000, cuMemAllocManaged)
	ENTRY("cuMemGetInfo", 3020, cuMemGetInfo_v2)
	ENTRY_PT("cuMemAllocAsync", 11020, cuMemAllocAsync, _ptsz)
	ENTRY_PT("cuMemFreeAsync", 11020, cuMemFreeAsync, _ptsz)
	ENTRY("cuMemGetAddressRange", 3020, cuMemGetAddressRange_v2)
	ENTRY("cuPointerGetAttribute", 4000, cuPointerGetAttribute)
	ENTRY_PT("cuMemcpy", 4000, cuMemcpy, _ptds)
	ENTRY_PT("cuMemcpyHtoD", 3020, cuMemcpyHtoD_v2, _ptds)
	ENTRY_PT("cuMemcpyDtoH", 3020, cuMemcpyDtoH_v2, _ptds)
	ENTRY_PT("cuMemcpyDtoD", 3020, cuMemcpyDtoD_v2, _ptds)
	ENTRY_PT("cuMemcpyAsync", 4000, cuMemcpyAsync, _ptsz)
	ENTRY_PT("cuMemcpyHtoDAsync", 3020, cuMemcpyHtoDAsync_v2, _ptsz)
	ENTRY_PT("cuMemcpyDtoHAsync", 3020, cuMemcpyDtoHAsync_v2, _ptsz)
	ENTRY_PT("cuMemcpyDtoDAsync", 3020, cuMemcpyDtoDAsync_v2, _ptsz)
	ENTRY_PT("cuMemcpyPeer", 4000, cuMemcpyPeer, _ptds)
	ENTRY_PT("cuMemcpyPeerAsync", 4000, cuMemcpyPeerAsync, _ptsz)
	ENTRY_PT("cuMemsetD8", 3020, cuMemsetD8_v2, _ptds)
	ENTRY_PT("cuMemsetD16", 3020, cuMemsetD16_v2, _ptds)
	ENTRY_PT("cuMemsetD32", 3020, cuMemsetD32_v2, _ptds)
	ENTRY_PT("cuMemsetD8Async", 3020, cuMemsetD8Async, _ptsz)
	ENTRY_PT("cuMemsetD16Async", 3020, cuMemsetD16Async, _ptsz)
	ENTRY_PT("cuMemsetD32Async", 3020, cuMemsetD32Async, _ptsz)
	ENTRY("cuStreamCreate", 2000, cuStreamCreate)
	ENTRY("cuStreamCreateWithPriority", 5050, cuStreamCreateWithPriority)
	ENTRY("cuStreamDestroy", 4000, cuStreamDestroy_v2)
	ENTRY_PT("cuStreamSynchronize", 2000, cuStreamSynchronize, _ptsz)
	ENTRY_PT("cuStreamQuery", 2000, cuStreamQuery, _ptsz)
	ENTRY_PT("cuStreamGetFlags", 5050, cuStreamGetFlags, _ptsz)
	ENTRY_PT("cuStreamGetPriority", 5050, cuStreamGetPriority, _ptsz)
	ENTRY_PT("cuStreamGetCtx", 9020, cuStreamGetCtx, _ptsz)
	ENTRY_PT("cuStreamGetId", 12000, cuStreamGetId, _ptsz)
	ENTRY_PT("cuStreamWaitEvent", 3020, cuStreamWaitEvent, _ptsz)
	ENTRY("cuEventCreate", 2000, cuEventCreate)
	ENTRY("cuEventDestroy", 4000, cuEventDestroy_v2)
	ENTRY_PT("cuEventRecord", 2000, cuEventRecord, _ptsz)
	ENTRY_PT("cuEventRecordWithFlags", 11010, cuEventRecordWithFlags, _ptsz)
	ENTRY("cuEventQuery", 2000, cuEventQuery)
	ENTRY("cuEventSynchronize", 2000, cuEventSynchronize)
	ENTRY("cuEventElapsedTime", 2000, cuEventElapsedTime_v2)
	ENTRY("cuGraphCreate", 10000, cuGraphCreate)
	ENTRY("cuGraphDestroy", 10000, cuGraphDestroy)
	ENTRY("cuGraphClone", 10000, cuGraphClone)
	ENTRY("cuGraphGetNodes", 10000, cuGraphGetNodes)
	ENTRY("cuGraphAddKernelNode", 12000, cuGraphAddKernelNode_v2)
	ENTRY("cuGraphAddMemcpyNode", 10000, cuGraphAddMemcpyNode)
	ENTRY("cuGraphAddMemsetNode", 10000, cuGraphAddMemsetNode)
	ENTRY("cuGraphAddEmptyNode", 10000, cuGraphAddEmptyNode)
	ENTRY("cuGraphAddHostNode", 10000, cuGraphAddHostNode)
	ENTRY("cuGraphInstantiate", 12000, cuGraphInstantiateWithFlags)
	ENTRY("cuGraphInstantiateWithFlags", 11040, cuGraphInstantiateWithFlags)
	ENTRY_PT("cuGraphInstantiateWithParams", 12000, cuGraphInstantiateWithParams, _ptsz)
	ENTRY("cuGraphAddChildGraphNode", 10000, cuGraphAddChildGraphNode)
	ENTRY("cuGraphExecUpdate", 12000, cuGraphExecUpdate_v2)
	ENTRY("cuGraphExecKernelNodeSetParams", 12000, cuGraphExecKernelNodeSetParams_v2)
	ENTRY("cuGraphExecDestroy", 10000, cuGraphExecDestroy)
	ENTRY_PT("cuGraphLaunch", 10000, cuGraphLaunch, _ptsz)
	ENTRY_PT("cuGraphUpload", 11010, cuGraphUpload, _ptsz)
	ENTRY_PT("cuStreamBeginCapture", 10010, cuStreamBeginCapture_v2, _ptsz)
	ENTRY_PT("cuStreamEndCapture", 10000, cuStreamEndCapture, _ptsz)
	ENTRY_PT("cuStreamIsCapturing", 10000, cuStreamIsCapturing, _ptsz)
	ENTRY_PT("cuStreamGetCaptureInfo", 13000, cuStreamGetCaptureInfo_v3, _ptsz)
	ENTRY("cuThreadExchangeStreamCaptureMode", 10010, cuThreadExchangeStreamCaptureMode)
	ENTRY("cuGetErrorName", 6000, cuGetErrorName)
	ENTRY("cuGetErrorString", 6000, cuGetErrorString)
	ENTRY("cuGetProcAddress", 12000, cuGetProcAddress_v2)
};

/*
 * Finds a function. *pfn is NULL if no function has that name, or if all functions of that name are
 * newer than cuda_version.
 */
SIM_EXPORT CUresult CUDAAPI cuGetProcAddress_v2(const char *symbol, void **pfn, int cuda_version,
						cuuint64_t flags,
						CUdriverProcAddressQueryResult *status)
{
	const struct entry *best = NULL;
	bool known = false;

	if (!symbol || !pfn)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		const struct entry *e = &entries[i];

		if (strcmp(e->name, symbol))
			continue;
		known = true;
		if (e->since <= cuda_version && (!best || e->since > best->since))
			best = e;
	}
	if (status)
		*status = best ? CU_GET_PROC_ADDRESS_SUCCESS :
			  known ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT :
				  CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	if (best)
		*pfn = flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM ?
			       best->per_thread_fn : best->fn;
	else
		*pfn = NULL;
	return best || known ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
