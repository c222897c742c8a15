// SPDX-License-Identifier: MIT
/*
 * runtime.c - libcudart.so.N: the runtime API, and the functions that code from nvcc calls
 *
 * Like NVIDIA's library, this one opens libcuda.so.1 at the first call that needs it, and works
 * through driver calls: a launch's stack is cudaLaunchKernel, some frames of this library, and
 * cuLaunchKernel.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>
#include <cupti.h>

#include "sim.h"

#define RUNTIME_VERSION		(SIM_CUDA_MAJOR * 1000)
#define MAX_PUSHED		16	/* largest depth of <<<>>> within the arguments of <<<>>> */

/* ---- the driver ------------------------------------------------------------------------------ */

/* Selects the older of two names of one function. */
#undef cuDevicePrimaryCtxReset
CUresult CUDAAPI cuDevicePrimaryCtxReset(CUdevice dev);

#define DRIVER_FUNCTIONS(X)							\
	X(cuInit) X(cuDriverGetVersion) X(cuDeviceGetCount) X(cuDeviceGetName)	\
	X(cuDeviceGetUuid_v2) X(cuDeviceTotalMem_v2) X(cuDeviceGetAttribute)	\
	X(cuDeviceGet) X(cuDevicePrimaryCtxRetain) X(cuDevicePrimaryCtxReset)	\
	X(cuCtxGetCurrent) X(cuCtxSetCurrent) X(cuCtxGetDevice_v2)		\
	X(cuProfilerStart) X(cuProfilerStop)					\
	X(cuCtxGetApiVersion) X(cuCtxSynchronize_v2) X(cuModuleGetLoadingMode)	\
	X(cuLibraryLoadData) X(cuLibraryUnload) X(cuLibraryGetKernel)		\
	X(cuKernelGetFunction) X(cuKernelGetName)				\
	X(cuCtxGetStreamPriorityRange) X(cuFuncGetAttribute) X(cuFuncSetAttribute)	\
	X(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)			\
	X(cuLaunchKernel) X(cuLaunchKernelEx) X(cuLaunchCooperativeKernel)	\
	X(cuLaunchHostFunc) X(cuMemAlloc_v2) X(cuMemFree_v2) X(cuMemFreeHost)	\
	X(cuMemHostAlloc) X(cuMemHostRegister_v2) X(cuMemHostUnregister)	\
	X(cuMemAllocManaged) X(cuMemGetInfo_v2) X(cuMemAllocAsync)		\
	X(cuMemFreeAsync) X(cuPointerGetAttribute) X(cuMemcpy) X(cuMemcpyHtoD_v2)	\
	X(cuMemcpyDtoH_v2) X(cuMemcpyDtoD_v2) X(cuMemcpyAsync)			\
	X(cuMemcpyHtoDAsync_v2) X(cuMemcpyDtoHAsync_v2) X(cuMemcpyDtoDAsync_v2)	\
	X(cuMemcpyPeer) X(cuMemcpyPeerAsync)					\
	X(cuMemsetD8_v2) X(cuMemsetD8Async) X(cuStreamCreate)			\
	X(cuStreamCreateWithPriority) X(cuStreamDestroy_v2)			\
	X(cuStreamSynchronize) X(cuStreamQuery) X(cuStreamGetFlags)		\
	X(cuStreamGetPriority) X(cuStreamGetId) X(cuStreamWaitEvent) X(cuEventCreate)	\
	X(cuEventDestroy_v2) X(cuEventRecord) X(cuEventRecordWithFlags)		\
	X(cuEventQuery) X(cuEventSynchronize) X(cuEventElapsedTime_v2)		\
	X(cuGraphCreate) X(cuGraphDestroy) X(cuGraphClone) X(cuGraphGetNodes)	\
	X(cuGraphAddKernelNode_v2) X(cuGraphAddMemcpyNode)			\
	X(cuGraphAddMemsetNode) X(cuGraphAddEmptyNode) X(cuGraphAddHostNode)	\
	X(cuGraphInstantiateWithFlags) X(cuGraphInstantiateWithParams)		\
	X(cuGraphAddChildGraphNode) X(cuGraphExecUpdate_v2)			\
	X(cuGraphExecKernelNodeSetParams_v2)					\
	X(cuGraphExecDestroy) X(cuGraphLaunch) X(cuGraphUpload)			\
	X(cuStreamBeginCapture_v2) X(cuStreamEndCapture) X(cuStreamIsCapturing)	\
	X(cuStreamGetCaptureInfo_v3) X(cuThreadExchangeStreamCaptureMode)	\
	X(cuGetProcAddress_v2)

/* Driver functions with a second form for the per-thread default stream. */
#define DRIVER_FUNCTIONS_PT(X)							\
	X(cuLaunchKernel, _ptsz) X(cuLaunchKernelEx, _ptsz)			\
	X(cuLaunchCooperativeKernel, _ptsz) X(cuLaunchHostFunc, _ptsz)		\
	X(cuMemAllocAsync, _ptsz) X(cuMemFreeAsync, _ptsz) X(cuMemcpy, _ptds)	\
	X(cuMemcpyHtoD_v2, _ptds) X(cuMemcpyDtoH_v2, _ptds)			\
	X(cuMemcpyDtoD_v2, _ptds) X(cuMemcpyAsync, _ptsz)			\
	X(cuMemcpyHtoDAsync_v2, _ptsz) X(cuMemcpyDtoHAsync_v2, _ptsz)		\
	X(cuMemcpyDtoDAsync_v2, _ptsz) X(cuMemsetD8_v2, _ptds)			\
	X(cuMemsetD8Async, _ptsz) X(cuStreamSynchronize, _ptsz)			\
	X(cuStreamQuery, _ptsz) X(cuStreamGetFlags, _ptsz)			\
	X(cuStreamGetPriority, _ptsz) X(cuStreamGetId, _ptsz)			\
	X(cuStreamWaitEvent, _ptsz) X(cuEventRecord, _ptsz)			\
	X(cuEventRecordWithFlags, _ptsz) X(cuGraphInstantiateWithParams, _ptsz)	\
	X(cuGraphLaunch, _ptsz) X(cuGraphUpload, _ptsz)				\
	X(cuStreamBeginCapture_v2, _ptsz) X(cuStreamEndCapture, _ptsz)		\
	X(cuStreamIsCapturing, _ptsz) X(cuStreamGetCaptureInfo_v3, _ptsz)

static struct {
#define X(fn) __typeof__(&fn) fn;
	DRIVER_FUNCTIONS(X)
#undef X
#define X(fn, sfx) __typeof__(&fn) fn##sfx;
	DRIVER_FUNCTIONS_PT(X)
#undef X
} driver;

/* driver.fn, or driver.fn_ptsz if the caller has a default stream for each thread */
#define PTSZ(fn)	(per_thread ? driver.fn##_ptsz : driver.fn)
#define PTDS(fn)	(per_thread ? driver.fn##_ptds : driver.fn)

#define MAX_DEVICES	8

static const struct sim_core *core;
static CUcontext primary[MAX_DEVICES];	/* the contexts that this library has retained */
static cudaError_t load_error;
static pthread_once_t load_once = PTHREAD_ONCE_INIT;
static __thread cudaError_t last_error;
static __thread int current_device;

static void driver__load(void)
{
	const struct sim_core *(*get_core)(uint32_t);
	void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
	bool complete = true;

	load_error = cudaErrorInsufficientDriver;
	if (!lib)
		return;
	*(void **)&get_core = dlsym(lib, "sim_core");
	if (!get_core || !get_core(SIM_ABI)) {
		fputs("sim: libcuda.so.1 is not the one this libcudart belongs to\n", stderr);
		return;
	}
#define X(fn) *(void **)&driver.fn = dlsym(lib, #fn); complete = complete && driver.fn;
	DRIVER_FUNCTIONS(X)
#undef X
#define X(fn, sfx)								\
	*(void **)&driver.fn##sfx = dlsym(lib, #fn #sfx);			\
	complete = complete && driver.fn##sfx;
	DRIVER_FUNCTIONS_PT(X)
#undef X
	if (!complete)
		return;
	__atomic_store_n(&core, get_core(SIM_ABI), __ATOMIC_RELEASE);
	load_error = cudaSuccess;
}

/* Both enumerations have the same numbers. */
static cudaError_t to_error(CUresult err)
{
	return (cudaError_t)err;
}

/* Queries the devices for the library itself, before the program's calls. */
static cudaError_t runtime__look_at_devices(void)
{
	CUmoduleLoadingMode mode;
	char name[64];
	size_t bytes;
	CUdevice dev;
	int nr, value;
	CUresult err;

	driver.cuModuleGetLoadingMode(&mode);
	err = driver.cuDeviceGetCount(&nr);
	for (int i = 0; i < nr && !err; i++) {
		err = driver.cuDeviceGet(&dev, i);
		if (!err)
			err = driver.cuDeviceGetName(name, sizeof(name), dev);
		if (!err)
			err = driver.cuDeviceTotalMem_v2(&bytes, dev);
		for (int a = 1; a < 20 && !err; a++)
			err = driver.cuDeviceGetAttribute(&value, (CUdevice_attribute)a, dev);
	}
	return to_error(err);
}

/*
 * Not part of load_once(), because the injected library runs inside cuInit and may call this
 * function again.
 */
static cudaError_t runtime__init(void)
{
	static bool initialized;
	cudaError_t err;

	pthread_once(&load_once, driver__load);
	if (load_error)
		return load_error;
	if (__atomic_load_n(&initialized, __ATOMIC_ACQUIRE))
		return to_error(core->check());
	err = to_error(driver.cuInit(0));
	if (!err)
		err = to_error(core->check());
	if (!err && !__atomic_exchange_n(&initialized, true, __ATOMIC_ACQ_REL))
		err = runtime__look_at_devices();
	return err;
}

/*
 * Makes the device's primary context current. The context is retained once, and once more after a
 * reset.
 */
static cudaError_t runtime__use_device(int device)
{
	CUcontext ctx, old;
	uint32_t id, ordinal;
	CUresult err;

	if (device < 0 || device >= MAX_DEVICES)
		return cudaErrorInvalidDevice;
	old = __atomic_load_n(&primary[device], __ATOMIC_ACQUIRE);
	ctx = old;
	if (!core->context_id(ctx, &id, &ordinal)) {
		driver.cuCtxGetCurrent(&ctx);
		err = driver.cuDevicePrimaryCtxRetain(&ctx, device);
		if (err)
			return to_error(err);
		__atomic_store_n(&primary[device], ctx, __ATOMIC_RELEASE);
	}
	return to_error(driver.cuCtxSetCurrent(ctx));
}

static cudaError_t runtime__context(void)
{
	if (core->current())
		return cudaSuccess;
	return runtime__use_device(current_device);
}

static bool runtime__observed(void)
{
	const struct sim_core *c = __atomic_load_n(&core, __ATOMIC_ACQUIRE);

	return c && __atomic_load_n(c->active, __ATOMIC_ACQUIRE);
}

static void runtime__enter(struct sim_call *call)
{
	if (runtime__observed())
		core->call_enter(call);
}

static void runtime__exit(struct sim_call *call)
{
	if (call->live)
		core->call_exit(call);
}

static cudaError_t runtime__result(cudaError_t err)
{
	if (err != cudaSuccess && err != cudaErrorNotReady)
		last_error = err;
	return err;
}

/* ---- how an exported function is made -------------------------------------------------------- */

#define UNPACK(...)	__VA_ARGS__

#define RUNTIME_CALL(fn, id, params_ptr, kernel_symbol, init, expression)	\
	cudaError_t result = (init);						\
	struct sim_call call = {						\
		.domain = CUPTI_CB_DOMAIN_RUNTIME_API,				\
		.cbid = CUPTI_RUNTIME_TRACE_CBID_##id,				\
		.name = #fn,							\
		.params = (params_ptr),						\
		.symbol = runtime__observed() ? (kernel_symbol) : NULL,		\
		.result = &result,						\
	};									\
										\
	runtime__enter(&call);							\
	if (!result)								\
		result = (expression);						\
	runtime__exit(&call);							\
	return runtime__result(result)

/* @id: name and version as in NVIDIA's headers: cudaMalloc_v3020 */
#define RUNTIME_API_AS(fn, id, pt, proto, args, symbol, expression)		\
	SIM_EXPORT cudaError_t CUDARTAPI fn proto;				\
	SIM_EXPORT cudaError_t CUDARTAPI fn proto				\
	{									\
		const bool per_thread __attribute__((unused)) = pt;		\
		id##_params params = { UNPACK args };				\
										\
		RUNTIME_CALL(fn, id, &params, symbol, runtime__init(), expression);	\
	}

#define RUNTIME_API(fn, ver, proto, args, symbol, expression)			\
	RUNTIME_API_AS(fn, fn##_##ver, false, proto, args, symbol, expression)

#define RUNTIME_API_PT(fn, ver, sfx, pt_ver, proto, args, symbol, expression)	\
	RUNTIME_API_AS(fn, fn##_##ver, false, proto, args, symbol, expression)	\
	RUNTIME_API_AS(fn##sfx, fn##sfx##_##pt_ver, true, proto, args, symbol, expression)

#define RUNTIME_API_VOID(fn, ver, expression)					\
	SIM_EXPORT cudaError_t CUDARTAPI fn(void);				\
	SIM_EXPORT cudaError_t CUDARTAPI fn(void)				\
	{									\
		RUNTIME_CALL(fn, fn##_##ver, NULL, NULL, runtime__init(), expression);	\
	}

/* Makes a context if the thread has none: the first call that needs a context makes it. */
static cudaError_t with_context(void)
{
	return runtime__context();
}

#define IN_CONTEXT(expression)	({						\
	cudaError_t err_ = with_context();					\
	err_ ? err_ : (expression);						\
})
#define DRIVER_CALL(expression)	to_error(expression)
#define CALL(expression)	IN_CONTEXT(to_error(expression))

/* ---- kernels and variables, for the code that nvcc generates --------------------------------- */

struct fat_binary {
	struct fat_binary *self;	/* a handle is a void **: it points to itself */
	struct fat_binary *next;
	CUlibrary library;		/* loaded with its first kernel; NULL: not loaded yet */
};

struct symbol {
	const void *host;		/* stub or shadow variable; NULL: free */
	struct fat_binary *owner;	/* NULL: deleted */
	char *name;
	CUfunction kernel;		/* made at the first launch */
	int cost_arg;			/* index of the argument with the kernel's duration; -1:
					 * unknown */
	size_t bytes;			/* size of a variable */
	CUdeviceptr address;		/* address of a variable, allocated at its first use */
};

static struct {
	pthread_rwlock_t lock;
	struct symbol *table;		/* open addressing; size is a power of two */
	size_t size;
	size_t nr;
	struct fat_binary *binaries;
} symbols = { .lock = PTHREAD_RWLOCK_INITIALIZER };

static size_t symbol__slot(const void *host)
{
	uintptr_t h = (uintptr_t)host;

	h ^= h >> 33;
	h *= 0xff51afd7ed558ccdull;
	h ^= h >> 33;
	return (size_t)h & (symbols.size - 1);
}

/* Caller holds the lock. */
static struct symbol *symbol__lookup(const void *host)
{
	if (!host || !symbols.size)
		return NULL;
	for (size_t i = symbol__slot(host); symbols.table[i].host;
	     i = (i + 1) & (symbols.size - 1))
		if (symbols.table[i].host == host && symbols.table[i].owner)
			return &symbols.table[i];
	return NULL;
}

/* Caller holds the lock for writing. */
static bool symbols__grow(void)
{
	size_t old_size = symbols.size;
	struct symbol *old = symbols.table;
	size_t size = old_size ? old_size * 2 : 256;
	struct symbol *table = calloc(size, sizeof(*table));

	if (!table)
		return false;
	symbols.table = table;
	symbols.size = size;
	symbols.nr = 0;
	for (size_t i = 0; i < old_size; i++) {
		size_t to;

		if (!old[i].host || !old[i].owner)
			continue;
		to = symbol__slot(old[i].host);
		while (table[to].host)
			to = (to + 1) & (size - 1);
		table[to] = old[i];
		symbols.nr++;
	}
	free(old);
	return true;
}

static void symbol__register(void **handle, const void *host, const char *name, size_t bytes)
{
	struct symbol *sym;
	size_t i;

	pthread_rwlock_wrlock(&symbols.lock);
	sym = symbol__lookup(host);
	if (sym || ((symbols.nr + 1) * 2 > symbols.size && !symbols__grow()))
		goto out;
	i = symbol__slot(host);
	while (symbols.table[i].host)
		i = (i + 1) & (symbols.size - 1);
	sym = &symbols.table[i];
	memset(sym, 0, sizeof(*sym));
	sym->name = strdup(name);
	if (!sym->name)
		goto out;
	sym->host = host;
	sym->owner = (struct fat_binary *)handle;
	sym->cost_arg = -1;
	sym->bytes = bytes;
	symbols.nr++;
out:
	pthread_rwlock_unlock(&symbols.lock);
}

/*
 * Loads a kernel, unless another thread has loaded it. The driver makes callbacks, so the lock of
 * the symbols is not held.
 */
static CUfunction symbol__load_locked(const void *host, struct fat_binary *owner, const char *name)
{
	CUfunction kernel = NULL;
	struct symbol *sym;
	CUkernel handle;

	pthread_rwlock_rdlock(&symbols.lock);
	sym = symbol__lookup(host);
	if (sym)
		kernel = sym->kernel;
	pthread_rwlock_unlock(&symbols.lock);
	if (kernel)
		return kernel;
	if (!owner->library &&
	    driver.cuLibraryLoadData(&owner->library, owner, NULL, NULL, 0, NULL, NULL, 0))
		return NULL;
	if (driver.cuLibraryGetKernel(&handle, owner->library, name))
		return NULL;
	kernel = (CUfunction)handle;
	pthread_rwlock_wrlock(&symbols.lock);
	sym = symbol__lookup(host);
	if (sym) {
		sym->kernel = kernel;
		if (sym->cost_arg >= 0)
			core->kernel_cost_arg(kernel, (unsigned int)sym->cost_arg);
	}
	pthread_rwlock_unlock(&symbols.lock);
	return kernel;
}

/*
 * Runs at a kernel's first use. As in NVIDIA's library, each library and each kernel is loaded
 * once.
 */
static CUfunction symbol__load(const void *host, struct fat_binary *owner, const char *name)
{
	static pthread_mutex_t loading = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
	CUfunction kernel;

	if (runtime__context())
		return NULL;
	pthread_mutex_lock(&loading);
	kernel = symbol__load_locked(host, owner, name);
	pthread_mutex_unlock(&loading);
	return kernel;
}

static CUfunction symbol__kernel(const void *host)
{
	struct fat_binary *owner = NULL;
	CUfunction kernel = NULL;
	const char *name = NULL;
	struct symbol *sym;

	pthread_rwlock_rdlock(&symbols.lock);
	sym = symbol__lookup(host);
	if (sym && !sym->bytes) {
		kernel = sym->kernel;
		owner = sym->owner;
		name = sym->name;
	}
	pthread_rwlock_unlock(&symbols.lock);
	return kernel || !name ? kernel : symbol__load(host, owner, name);
}

static const char *kernel_name(CUfunction kernel)
{
	const char *name = NULL;

	if (kernel)
		driver.cuKernelGetName(&name, (CUkernel)kernel);
	return name;
}

/* Return: the name of a symbol; does not call the driver */
static const char *symbol__name(const void *host)
{
	const char *name = NULL;
	struct symbol *sym;

	if (!symbol__kernel(host))
		return NULL;
	pthread_rwlock_rdlock(&symbols.lock);
	sym = symbol__lookup(host);
	if (sym)
		name = sym->name;
	pthread_rwlock_unlock(&symbols.lock);
	return name;
}

SIM_EXPORT void sim_kernel_cost_arg(const void *func, unsigned int arg)
{
	struct symbol *sym;

	pthread_rwlock_wrlock(&symbols.lock);
	sym = symbol__lookup(func);
	if (sym) {
		sym->cost_arg = (int)arg;
		if (sym->kernel)
			core->kernel_cost_arg(sym->kernel, arg);
	}
	pthread_rwlock_unlock(&symbols.lock);
}

static cudaError_t symbol__address(const void *host, CUdeviceptr *out, size_t *bytes)
{
	cudaError_t err = cudaErrorInvalidSymbol;
	struct symbol *sym;

	pthread_rwlock_wrlock(&symbols.lock);
	sym = symbol__lookup(host);
	if (sym && sym->bytes) {
		err = cudaSuccess;
		if (!sym->address) {
			err = to_error(driver.cuMemAlloc_v2(&sym->address, sym->bytes));
			if (!err)
				memset((void *)sym->address, 0, sym->bytes);
		}
		*out = sym->address;
		if (bytes)
			*bytes = sym->bytes;
	}
	pthread_rwlock_unlock(&symbols.lock);
	return err;
}

void **__cudaRegisterFatBinary(void *fat_cubin);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host_fun, char *device_fun,
			    const char *device_name, int thread_limit, uint3 *tid, uint3 *bid,
			    dim3 *block, dim3 *grid, int *warp_size);
void __cudaRegisterVar(void **handle, char *host_var, char *device_address,
		       const char *device_name, int ext, size_t size, int constant, int global);
char __cudaInitModule(void **handle);
unsigned int __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared,
					 struct CUstream_st *stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *func);

SIM_EXPORT void **__cudaRegisterFatBinary(void *fat_cubin)
{
	struct fat_binary *binary = calloc(1, sizeof(*binary));

	(void)fat_cubin;	/* compiled for a device that does not exist here */
	if (!binary)
		return NULL;
	binary->self = binary;
	pthread_rwlock_wrlock(&symbols.lock);
	binary->next = symbols.binaries;
	symbols.binaries = binary;
	pthread_rwlock_unlock(&symbols.lock);
	return (void **)binary;
}

SIM_EXPORT void __cudaRegisterFatBinaryEnd(void **handle)
{
	(void)handle;
}

SIM_EXPORT void __cudaUnregisterFatBinary(void **handle)
{
	struct fat_binary *binary = (struct fat_binary *)handle;
	struct fat_binary **p = &symbols.binaries;

	pthread_rwlock_wrlock(&symbols.lock);
	for (size_t i = 0; i < symbols.size; i++) {
		if (!symbols.table[i].host || symbols.table[i].owner != binary)
			continue;
		free(symbols.table[i].name);
		symbols.table[i].name = NULL;
		symbols.table[i].owner = NULL;
	}
	while (*p && *p != binary)
		p = &(*p)->next;
	if (*p)
		*p = binary->next;
	pthread_rwlock_unlock(&symbols.lock);
	if (binary && binary->library && !core->check())
		driver.cuLibraryUnload(binary->library);
	free(binary);
}

SIM_EXPORT void __cudaRegisterFunction(void **handle, const char *host_fun, char *device_fun,
				       const char *device_name, int thread_limit, uint3 *tid,
				       uint3 *bid, dim3 *block, dim3 *grid, int *warp_size)
{
	(void)device_fun, (void)thread_limit, (void)tid, (void)bid;
	(void)block, (void)grid, (void)warp_size;
	symbol__register(handle, host_fun, device_name, 0);
}

SIM_EXPORT void __cudaRegisterVar(void **handle, char *host_var, char *device_address,
				  const char *device_name, int ext, size_t size, int constant,
				  int global)
{
	(void)device_address, (void)ext, (void)constant, (void)global;
	symbol__register(handle, host_var, device_name, size);
}

SIM_EXPORT char __cudaInitModule(void **handle)
{
	return handle != NULL;
}

static __thread struct {
	dim3 grid;
	dim3 block;
	size_t shared;
	cudaStream_t stream;
} pushed[MAX_PUSHED];
static __thread unsigned int nr_pushed;

SIM_EXPORT unsigned int __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared,
						    struct CUstream_st *stream)
{
	if (nr_pushed == MAX_PUSHED)
		return 1;
	pushed[nr_pushed].grid = grid;
	pushed[nr_pushed].block = block;
	pushed[nr_pushed].shared = shared;
	pushed[nr_pushed].stream = stream;
	nr_pushed++;
	return 0;
}

SIM_EXPORT cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared,
						  void *stream)
{
	if (!nr_pushed)
		return runtime__result(cudaErrorMissingConfiguration);
	nr_pushed--;
	*grid = pushed[nr_pushed].grid;
	*block = pushed[nr_pushed].block;
	*shared = pushed[nr_pushed].shared;
	memcpy(stream, &pushed[nr_pushed].stream, sizeof(cudaStream_t));
	return cudaSuccess;
}

static cudaError_t get_kernel(cudaKernel_t *kernel, const void *func)
{
	if (!kernel)
		return cudaErrorInvalidValue;
	*kernel = (cudaKernel_t)symbol__kernel(func);
	return *kernel ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}

SIM_EXPORT cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *func)
{
	cudaError_t err = runtime__init();

	return runtime__result(err ? err : get_kernel(kernel, func));
}

RUNTIME_API(cudaGetKernel, v12000, (cudaKernel_t *kernel, const void *func), (kernel, func), NULL,
	    get_kernel(kernel, func))

static cudaError_t get_func(cudaFunction_t *out, const void *func)
{
	CUfunction kernel = symbol__kernel(func);

	if (!out)
		return cudaErrorInvalidValue;
	if (!kernel)
		return cudaErrorInvalidDeviceFunction;
	return to_error(driver.cuKernelGetFunction((CUfunction *)out, (CUkernel)kernel));
}

RUNTIME_API(cudaGetFuncBySymbol, v11000, (cudaFunction_t *out, const void *func), (out, func), NULL,
	    get_func(out, func))

static cudaError_t func_name(const char **name, const void *func)
{
	if (!name)
		return cudaErrorInvalidValue;
	*name = symbol__name(func);
	return *name ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}

RUNTIME_API(cudaFuncGetName, v12030, (const char **name, const void *func), (name, func), NULL,
	    func_name(name, func))

static cudaError_t func_attributes(struct cudaFuncAttributes *attr, const void *func)
{
	if (!attr)
		return cudaErrorInvalidValue;
	if (!symbol__kernel(func))
		return cudaErrorInvalidDeviceFunction;
	memset(attr, 0, sizeof(*attr));
	attr->maxThreadsPerBlock = 1024;
	attr->numRegs = 16;
	attr->binaryVersion = 90;
	attr->ptxVersion = 90;
	return cudaSuccess;
}

RUNTIME_API(cudaFuncGetAttributes, v3020, (struct cudaFuncAttributes *attr, const void *func),
	    (attr, func), NULL, func_attributes(attr, func))
RUNTIME_API(cudaFuncSetAttribute, v9000, (const void *func, enum cudaFuncAttribute attr, int value),
	    (func, attr, value), NULL,
	    symbol__kernel(func) ? cudaSuccess : cudaErrorInvalidDeviceFunction)
RUNTIME_API(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, v7000,
	    (int *nr, const void *func, int block, size_t shared, unsigned int flags),
	    (nr, func, block, shared, flags), NULL,
	    CALL(driver.cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
		    nr, symbol__kernel(func), block, shared, flags)))

/* ---- launches -------------------------------------------------------------------------------- */

/*
 * These two functions are frames between the exported function and the driver, as in NVIDIA's
 * library.
 */
static __attribute__((noinline)) cudaError_t launch_in_context(CUfunction kernel, dim3 grid,
							       dim3 block, void **args,
							       size_t shared, cudaStream_t stream,
							       bool per_thread)
{
	return to_error(PTSZ(cuLaunchKernel)(kernel, grid.x, grid.y, grid.z, block.x, block.y,
					     block.z, (unsigned int)shared, stream, args, NULL));
}

static __attribute__((noinline)) cudaError_t launch(CUfunction kernel, dim3 grid, dim3 block,
						    void **args, size_t shared,
						    cudaStream_t stream, bool per_thread)
{
	cudaError_t err;

	if (!kernel)
		return cudaErrorInvalidDeviceFunction;
	err = runtime__context();
	if (!err)
		err = launch_in_context(kernel, grid, block, args, shared, stream, per_thread);
	return err;
}

static __attribute__((noinline)) cudaError_t launch_cooperative(CUfunction kernel, dim3 grid,
								dim3 block, void **args,
								size_t shared,
								cudaStream_t stream,
								bool per_thread)
{
	cudaError_t err;

	if (!kernel)
		return cudaErrorInvalidDeviceFunction;
	err = runtime__context();
	if (err)
		return err;
	return to_error(PTSZ(cuLaunchCooperativeKernel)(kernel, grid.x, grid.y, grid.z, block.x,
							block.y, block.z, (unsigned int)shared,
							stream, args));
}

static __attribute__((noinline)) cudaError_t launch_config(const cudaLaunchConfig_t *config,
							   CUfunction kernel, void **args,
							   bool per_thread)
{
	CUlaunchConfig cu = { 0 };
	cudaError_t err;

	if (!config)
		return cudaErrorInvalidValue;
	if (!kernel)
		return cudaErrorInvalidDeviceFunction;
	err = runtime__context();
	if (err)
		return err;
	cu.gridDimX = config->gridDim.x;
	cu.gridDimY = config->gridDim.y;
	cu.gridDimZ = config->gridDim.z;
	cu.blockDimX = config->blockDim.x;
	cu.blockDimY = config->blockDim.y;
	cu.blockDimZ = config->blockDim.z;
	cu.sharedMemBytes = (unsigned int)config->dynamicSmemBytes;
	cu.hStream = config->stream;
	cu.attrs = (CUlaunchAttribute *)config->attrs;
	cu.numAttrs = config->numAttrs;
	return to_error(PTSZ(cuLaunchKernelEx)(&cu, kernel, args, NULL));
}

_Static_assert(sizeof(cudaLaunchAttribute) == sizeof(CUlaunchAttribute), "cast above");

#define LAUNCH_PROTO								\
	(const void *func, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t s)
#define KERNEL_PROTO								\
	(cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t s)

RUNTIME_API_PT(cudaLaunchKernel, v7000, _ptsz, v7000, LAUNCH_PROTO,
	       (func, grid, block, args, shared, s), symbol__name(func),
	       launch(symbol__kernel(func), grid, block, args, shared, s, per_thread))

/* The function that <<<>>> calls since CUDA 13; CUPTI 13.0 reports it as cudaLaunchKernel. */
#define LAUNCH_HANDLE(fn, name, id, pt)						\
	SIM_EXPORT cudaError_t CUDARTAPI fn KERNEL_PROTO;			\
	SIM_EXPORT cudaError_t CUDARTAPI fn KERNEL_PROTO			\
	{									\
		CUfunction func = (CUfunction)kernel;				\
		id##_params params = { kernel, grid, block, args, shared, s };	\
										\
		RUNTIME_CALL(name, id, &params, kernel_name(func), runtime__init(),	\
			     launch(func, grid, block, args, shared, s, pt));	\
	}

LAUNCH_HANDLE(__cudaLaunchKernel, cudaLaunchKernel, cudaLaunchKernel_v7000, false)
LAUNCH_HANDLE(__cudaLaunchKernel_ptsz, cudaLaunchKernel_ptsz, cudaLaunchKernel_ptsz_v7000, true)

RUNTIME_API_PT(cudaLaunchCooperativeKernel, v9000, _ptsz, v9000, LAUNCH_PROTO,
	       (func, grid, block, args, shared, s), symbol__name(func),
	       launch_cooperative(symbol__kernel(func), grid, block, args, shared, s, per_thread))
RUNTIME_API_PT(cudaLaunchKernelExC, v11060, _ptsz, v11060,
	       (const cudaLaunchConfig_t *config, const void *func, void **args),
	       (config, func, args), symbol__name(func),
	       launch_config(config, symbol__kernel(func), args, per_thread))
RUNTIME_API_PT(cudaLaunchHostFunc, v10000, _ptsz, v10000,
	       (cudaStream_t s, cudaHostFn_t fn, void *data), (s, fn, data), NULL,
	       CALL(PTSZ(cuLaunchHostFunc)(s, fn, data)))

/* ---- devices --------------------------------------------------------------------------------- */

static cudaError_t set_device(int device)
{
	cudaError_t err = runtime__use_device(device);

	if (!err)
		current_device = device;
	return err;
}

static cudaError_t get_device(int *device)
{
	if (!device)
		return cudaErrorInvalidValue;
	*device = current_device;
	return cudaSuccess;
}

static cudaError_t runtime_version(int *version)
{
	if (!version)
		return cudaErrorInvalidValue;
	*version = RUNTIME_VERSION;
	return cudaSuccess;
}

static int attribute(CUdevice_attribute attr, int device)
{
	int value = 0;

	driver.cuDeviceGetAttribute(&value, attr, device);
	return value;
}

static cudaError_t device_properties(struct cudaDeviceProp *prop, int device)
{
	CUresult err;

	if (!prop)
		return cudaErrorInvalidValue;
	memset(prop, 0, sizeof(*prop));
	err = driver.cuDeviceGetName(prop->name, sizeof(prop->name), device);
	if (!err)
		err = driver.cuDeviceTotalMem_v2(&prop->totalGlobalMem, device);
	if (!err)
		err = driver.cuDeviceGetUuid_v2((CUuuid *)&prop->uuid, device);
	prop->major = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
	prop->minor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
	prop->warpSize = attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE, device);
	prop->maxThreadsPerBlock = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, device);
	prop->maxThreadsDim[0] = attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, device);
	prop->maxThreadsDim[1] = attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, device);
	prop->maxThreadsDim[2] = attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, device);
	prop->maxGridSize[0] = attribute(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, device);
	prop->maxGridSize[1] = attribute(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, device);
	prop->maxGridSize[2] = attribute(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, device);
	prop->sharedMemPerBlock =
		(size_t)attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, device);
	prop->multiProcessorCount = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
	prop->concurrentKernels = 1;
	prop->unifiedAddressing = 1;
	prop->cooperativeLaunch = 1;
	prop->asyncEngineCount = attribute(CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, device);
	return to_error(err);
}

static cudaError_t device_synchronize(void)
{
	CUcontext ctx;
	CUresult err = driver.cuCtxGetCurrent(&ctx);

	return to_error(err ? err : driver.cuCtxSynchronize_v2(ctx));
}

static cudaError_t device_reset(void)
{
	unsigned int version;
	CUcontext ctx;
	CUresult err = driver.cuCtxGetCurrent(&ctx);

	if (!err && ctx)
		err = driver.cuCtxGetApiVersion(ctx, &version);
	return to_error(err ? err : driver.cuDevicePrimaryCtxReset(current_device));
}

RUNTIME_API(cudaDriverGetVersion, v3020, (int *version), (version), NULL,
	    DRIVER_CALL(driver.cuDriverGetVersion(version)))
RUNTIME_API(cudaRuntimeGetVersion, v3020, (int *version), (version), NULL,
	    runtime_version(version))
RUNTIME_API(cudaGetDeviceCount, v3020, (int *nr), (nr), NULL,
	    DRIVER_CALL(driver.cuDeviceGetCount(nr)))
RUNTIME_API(cudaSetDevice, v3020, (int device), (device), NULL, set_device(device))
RUNTIME_API(cudaInitDevice, v12000, (int device, unsigned int device_flags, unsigned int flags),
	    (device, device_flags, flags), NULL, runtime__use_device(device))
RUNTIME_API(cudaGetDevice, v3020, (int *device), (device), NULL, get_device(device))
RUNTIME_API(cudaSetDeviceFlags, v3020, (unsigned int flags), (flags), NULL, cudaSuccess)
RUNTIME_API(cudaGetDeviceProperties, v12000, (struct cudaDeviceProp *prop, int device),
	    (prop, device), NULL, device_properties(prop, device))
RUNTIME_API(cudaDeviceGetAttribute, v5000, (int *value, enum cudaDeviceAttr attr, int device),
	    (value, attr, device), NULL,
	    DRIVER_CALL(driver.cuDeviceGetAttribute(value, (CUdevice_attribute)attr, device)))
RUNTIME_API(cudaDeviceGetStreamPriorityRange, v5050, (int *least, int *greatest), (least, greatest),
	    NULL, CALL(driver.cuCtxGetStreamPriorityRange(least, greatest)))
RUNTIME_API_VOID(cudaDeviceSynchronize, v3020, IN_CONTEXT(device_synchronize()))
RUNTIME_API_VOID(cudaDeviceReset, v3020, device_reset())
RUNTIME_API_VOID(cudaProfilerStart, v4000, DRIVER_CALL(driver.cuProfilerStart()))
RUNTIME_API_VOID(cudaProfilerStop, v4000, DRIVER_CALL(driver.cuProfilerStop()))

/* The name of this function in CUDA 12's headers. */
SIM_EXPORT cudaError_t cudaGetDeviceProperties_v2(struct cudaDeviceProp *prop, int device)
	__attribute__((alias("cudaGetDeviceProperties")));

/* ---- errors ---------------------------------------------------------------------------------- */

static const struct {
	cudaError_t code;
	const char *name;
	const char *text;
} errors[] = {
	{ cudaSuccess, "cudaSuccess", "no error" },
	{ cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument" },
	{ cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory" },
	{ cudaErrorInitializationError, "cudaErrorInitializationError", "initialization error" },
	{ cudaErrorCudartUnloading, "cudaErrorCudartUnloading", "driver shutting down" },
	{ cudaErrorInvalidSymbol, "cudaErrorInvalidSymbol", "invalid device symbol" },
	{ cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
	  "CUDA driver version is insufficient for CUDA runtime version" },
	{ cudaErrorMissingConfiguration, "cudaErrorMissingConfiguration",
	  "__global__ function call is not configured" },
	{ cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction",
	  "invalid device function" },
	{ cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected" },
	{ cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal" },
	{ cudaErrorDeviceUninitialized, "cudaErrorDeviceUninitialized", "invalid device context" },
	{ cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle",
	  "invalid resource handle" },
	{ cudaErrorSymbolNotFound, "cudaErrorSymbolNotFound", "named symbol not found" },
	{ cudaErrorNotReady, "cudaErrorNotReady", "device not ready" },
	{ cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported" },
	{ cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported",
	  "operation not permitted when stream is capturing" },
	{ cudaErrorIllegalState, "cudaErrorIllegalState",
	  "the operation cannot be performed in the present state" },
};

static const char *error_text(cudaError_t code, bool name)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i].code == code)
			return name ? errors[i].name : errors[i].text;
	return name ? "cudaErrorUnknown" : "unknown error";
}

SIM_EXPORT const char *cudaGetErrorString(cudaError_t code)
{
	return error_text(code, false);
}

SIM_EXPORT const char *cudaGetErrorName(cudaError_t code)
{
	return error_text(code, true);
}

/*
 * Calls that return the last error have IDs and callbacks like all other calls, but must not change
 * the error that they return.
 */
static cudaError_t last_error_call(uint32_t cbid, const char *name, bool reset)
{
	cudaError_t result = last_error;
	struct sim_call call = {
		.domain = CUPTI_CB_DOMAIN_RUNTIME_API,
		.cbid = cbid,
		.name = name,
		.result = &result,
	};

	runtime__enter(&call);
	if (reset)
		last_error = cudaSuccess;
	runtime__exit(&call);
	return result;
}

SIM_EXPORT cudaError_t cudaGetLastError(void)
{
	return last_error_call(CUPTI_RUNTIME_TRACE_CBID_cudaGetLastError_v3020,
			       "cudaGetLastError", true);
}

SIM_EXPORT cudaError_t cudaPeekAtLastError(void)
{
	return last_error_call(CUPTI_RUNTIME_TRACE_CBID_cudaPeekAtLastError_v3020,
			       "cudaPeekAtLastError", false);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static cudaError_t alloc(void **out, size_t bytes)
{
	CUdeviceptr ptr = 0;
	cudaError_t err;

	if (!out)
		return cudaErrorInvalidValue;
	if (!bytes) {
		*out = NULL;
		return cudaSuccess;
	}
	err = to_error(driver.cuMemAlloc_v2(&ptr, bytes));
	*out = (void *)ptr;
	return err;
}

static cudaError_t alloc_async(void **out, size_t bytes, cudaStream_t s, bool per_thread)
{
	CUdeviceptr ptr = 0;
	cudaError_t err;

	if (!out)
		return cudaErrorInvalidValue;
	err = to_error(PTSZ(cuMemAllocAsync)(&ptr, bytes, s));
	*out = (void *)ptr;
	return err;
}

static cudaError_t alloc_managed(void **out, size_t bytes, unsigned int flags)
{
	CUdeviceptr ptr = 0;
	cudaError_t err;

	if (!out)
		return cudaErrorInvalidValue;
	err = to_error(driver.cuMemAllocManaged(&ptr, bytes, flags));
	*out = (void *)ptr;
	return err;
}

static cudaError_t free_host(void *ptr)
{
	return ptr ? to_error(driver.cuMemFreeHost(ptr)) : cudaSuccess;
}

static cudaError_t host_device_pointer(void **out, void *ptr)
{
	if (!out || !ptr)
		return cudaErrorInvalidValue;
	*out = ptr;
	return cudaSuccess;
}

static cudaError_t pointer_attributes(struct cudaPointerAttributes *attr, const void *ptr)
{
	CUmemorytype type;
	int device = 0;

	if (!attr)
		return cudaErrorInvalidValue;
	memset(attr, 0, sizeof(*attr));
	attr->type = cudaMemoryTypeUnregistered;
	attr->device = -2;
	if (driver.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)ptr))
		return cudaSuccess;
	driver.cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
				     (CUdeviceptr)ptr);
	attr->type = type == CU_MEMORYTYPE_HOST ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
	attr->device = device;
	attr->devicePointer = (void *)ptr;
	attr->hostPointer = type == CU_MEMORYTYPE_HOST ? (void *)ptr : NULL;
	return cudaSuccess;
}

RUNTIME_API(cudaMalloc, v3020, (void **out, size_t bytes), (out, bytes), NULL,
	    IN_CONTEXT(alloc(out, bytes)))
RUNTIME_API(cudaFree, v3020, (void *ptr), (ptr), NULL,
	    CALL(driver.cuMemFree_v2((CUdeviceptr)ptr)))
RUNTIME_API(cudaMallocHost, v3020, (void **out, size_t bytes), (out, bytes), NULL,
	    CALL(driver.cuMemHostAlloc(out, bytes, 0)))
RUNTIME_API(cudaHostAlloc, v3020, (void **out, size_t bytes, unsigned int flags),
	    (out, bytes, flags), NULL, CALL(driver.cuMemHostAlloc(out, bytes, flags)))
RUNTIME_API(cudaFreeHost, v3020, (void *ptr), (ptr), NULL, IN_CONTEXT(free_host(ptr)))
RUNTIME_API(cudaHostRegister, v4000, (void *ptr, size_t bytes, unsigned int flags),
	    (ptr, bytes, flags), NULL, CALL(driver.cuMemHostRegister_v2(ptr, bytes, flags)))
RUNTIME_API(cudaHostUnregister, v4000, (void *ptr), (ptr), NULL,
	    CALL(driver.cuMemHostUnregister(ptr)))
RUNTIME_API(cudaHostGetDevicePointer, v3020, (void **out, void *ptr, unsigned int flags),
	    (out, ptr, flags), NULL, host_device_pointer(out, ptr))
RUNTIME_API(cudaMallocManaged, v6000, (void **out, size_t bytes, unsigned int flags),
	    (out, bytes, flags), NULL, IN_CONTEXT(alloc_managed(out, bytes, flags)))
RUNTIME_API(cudaMemGetInfo, v3020, (size_t *free_bytes, size_t *total), (free_bytes, total), NULL,
	    CALL(driver.cuMemGetInfo_v2(free_bytes, total)))
RUNTIME_API_PT(cudaMallocAsync, v11020, _ptsz, v11020,
	       (void **out, size_t bytes, cudaStream_t s), (out, bytes, s), NULL,
	       IN_CONTEXT(alloc_async(out, bytes, s, per_thread)))
RUNTIME_API_PT(cudaFreeAsync, v11020, _ptsz, v11020, (void *ptr, cudaStream_t s), (ptr, s), NULL,
	       CALL(PTSZ(cuMemFreeAsync)((CUdeviceptr)ptr, s)))
RUNTIME_API(cudaPointerGetAttributes, v4000,
	    (struct cudaPointerAttributes *attr, const void *ptr), (attr, ptr), NULL,
	    IN_CONTEXT(pointer_attributes(attr, ptr)))

/* ---- copies and sets ------------------------------------------------------------------------- */

static __attribute__((noinline)) cudaError_t copy(void *dst, const void *src, size_t bytes,
						  enum cudaMemcpyKind kind, bool per_thread)
{
	CUdeviceptr to = (CUdeviceptr)dst, from = (CUdeviceptr)src;

	switch (kind) {
	case cudaMemcpyHostToDevice:
		return to_error(PTDS(cuMemcpyHtoD_v2)(to, src, bytes));
	case cudaMemcpyDeviceToHost:
		return to_error(PTDS(cuMemcpyDtoH_v2)(dst, from, bytes));
	case cudaMemcpyDeviceToDevice:
		return to_error(PTDS(cuMemcpyDtoD_v2)(to, from, bytes));
	case cudaMemcpyHostToHost:
	case cudaMemcpyDefault:
		return to_error(PTDS(cuMemcpy)(to, from, bytes));
	}
	return cudaErrorInvalidMemcpyDirection;
}

static __attribute__((noinline)) cudaError_t copy_async(void *dst, const void *src, size_t bytes,
							enum cudaMemcpyKind kind, cudaStream_t s,
							bool per_thread)
{
	CUdeviceptr to = (CUdeviceptr)dst, from = (CUdeviceptr)src;

	switch (kind) {
	case cudaMemcpyHostToDevice:
		return to_error(PTSZ(cuMemcpyHtoDAsync_v2)(to, src, bytes, s));
	case cudaMemcpyDeviceToHost:
		return to_error(PTSZ(cuMemcpyDtoHAsync_v2)(dst, from, bytes, s));
	case cudaMemcpyDeviceToDevice:
		return to_error(PTSZ(cuMemcpyDtoDAsync_v2)(to, from, bytes, s));
	case cudaMemcpyHostToHost:
	case cudaMemcpyDefault:
		return to_error(PTSZ(cuMemcpyAsync)(to, from, bytes, s));
	}
	return cudaErrorInvalidMemcpyDirection;
}

static cudaError_t symbol_range(const void *symbol, size_t bytes, size_t offset, char **out)
{
	CUdeviceptr address;
	size_t size;
	cudaError_t err = symbol__address(symbol, &address, &size);

	if (err)
		return err;
	if (offset > size || bytes > size - offset)
		return cudaErrorInvalidValue;
	*out = (char *)address + offset;
	return cudaSuccess;
}

static cudaError_t copy_to_symbol(const void *symbol, const void *src, size_t bytes, size_t offset,
				  enum cudaMemcpyKind kind, bool per_thread)
{
	char *dst;
	cudaError_t err = symbol_range(symbol, bytes, offset, &dst);

	return err ? err : copy(dst, src, bytes, kind, per_thread);
}

static cudaError_t copy_from_symbol(void *dst, const void *symbol, size_t bytes, size_t offset,
				    enum cudaMemcpyKind kind, bool per_thread)
{
	char *src;
	cudaError_t err = symbol_range(symbol, bytes, offset, &src);

	return err ? err : copy(dst, src, bytes, kind, per_thread);
}

static cudaError_t symbol_address(void **out, const void *symbol)
{
	CUdeviceptr address = 0;
	cudaError_t err = symbol__address(symbol, &address, NULL);

	*out = (void *)address;
	return err;
}

RUNTIME_API_PT(cudaMemcpy, v3020, _ptds, v7000,
	       (void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind),
	       (dst, src, bytes, kind), NULL, IN_CONTEXT(copy(dst, src, bytes, kind, per_thread)))
RUNTIME_API_PT(cudaMemcpyAsync, v3020, _ptsz, v7000,
	       (void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t s),
	       (dst, src, bytes, kind, s), NULL,
	       IN_CONTEXT(copy_async(dst, src, bytes, kind, s, per_thread)))
RUNTIME_API_PT(cudaMemcpyToSymbol, v3020, _ptds, v7000,
	       (const void *symbol, const void *src, size_t bytes, size_t offset,
		enum cudaMemcpyKind kind),
	       (symbol, src, bytes, offset, kind), NULL,
	       IN_CONTEXT(copy_to_symbol(symbol, src, bytes, offset, kind, per_thread)))
RUNTIME_API_PT(cudaMemcpyFromSymbol, v3020, _ptds, v7000,
	       (void *dst, const void *symbol, size_t bytes, size_t offset,
		enum cudaMemcpyKind kind),
	       (dst, symbol, bytes, offset, kind), NULL,
	       IN_CONTEXT(copy_from_symbol(dst, symbol, bytes, offset, kind, per_thread)))
/*
 * Gets the primary contexts of both devices, and makes them if needed. The caller's context stays
 * current.
 */
static cudaError_t peers(int dst, int src, CUcontext *dst_ctx, CUcontext *src_ctx)
{
	CUcontext here = core->current();
	cudaError_t err = runtime__use_device(dst);

	*dst_ctx = core->current();
	if (!err)
		err = runtime__use_device(src);
	*src_ctx = core->current();
	driver.cuCtxSetCurrent(here);
	return err;
}

static __attribute__((noinline)) cudaError_t copy_peer(void *dst, int dst_device, const void *src,
						       int src_device, size_t bytes)
{
	CUcontext dst_ctx, src_ctx;
	cudaError_t err = peers(dst_device, src_device, &dst_ctx, &src_ctx);

	return err ? err : to_error(driver.cuMemcpyPeer((CUdeviceptr)dst, dst_ctx,
							(CUdeviceptr)src, src_ctx, bytes));
}

static __attribute__((noinline)) cudaError_t copy_peer_async(void *dst, int dst_device,
							     const void *src, int src_device,
							     size_t bytes, cudaStream_t s)
{
	CUcontext dst_ctx, src_ctx;
	cudaError_t err = peers(dst_device, src_device, &dst_ctx, &src_ctx);

	return err ? err : to_error(driver.cuMemcpyPeerAsync((CUdeviceptr)dst, dst_ctx,
							     (CUdeviceptr)src, src_ctx, bytes, s));
}

RUNTIME_API(cudaMemcpyPeer, v4000,
	    (void *dst, int dst_device, const void *src, int src_device, size_t bytes),
	    (dst, dst_device, src, src_device, bytes), NULL,
	    IN_CONTEXT(copy_peer(dst, dst_device, src, src_device, bytes)))
RUNTIME_API(cudaMemcpyPeerAsync, v4000,
	    (void *dst, int dst_device, const void *src, int src_device, size_t bytes,
	     cudaStream_t s),
	    (dst, dst_device, src, src_device, bytes, s), NULL,
	    IN_CONTEXT(copy_peer_async(dst, dst_device, src, src_device, bytes, s)))
RUNTIME_API(cudaGetSymbolAddress, v3020, (void **out, const void *symbol), (out, symbol), NULL,
	    IN_CONTEXT(symbol_address(out, symbol)))
RUNTIME_API_PT(cudaMemset, v3020, _ptds, v7000, (void *ptr, int value, size_t bytes),
	       (ptr, value, bytes), NULL,
	       CALL(PTDS(cuMemsetD8_v2)((CUdeviceptr)ptr, (unsigned char)value, bytes)))
RUNTIME_API_PT(cudaMemsetAsync, v3020, _ptsz, v7000,
	       (void *ptr, int value, size_t bytes, cudaStream_t s), (ptr, value, bytes, s), NULL,
	       CALL(PTSZ(cuMemsetD8Async)((CUdeviceptr)ptr, (unsigned char)value, bytes, s)))

/* ---- streams and events ---------------------------------------------------------------------- */

RUNTIME_API(cudaStreamCreate, v3020, (cudaStream_t *s), (s), NULL,
	    CALL(driver.cuStreamCreate(s, CU_STREAM_DEFAULT)))
RUNTIME_API(cudaStreamCreateWithFlags, v5000, (cudaStream_t *s, unsigned int flags), (s, flags),
	    NULL, CALL(driver.cuStreamCreate(s, flags)))
RUNTIME_API(cudaStreamCreateWithPriority, v5050, (cudaStream_t *s, unsigned int flags, int prio),
	    (s, flags, prio), NULL, CALL(driver.cuStreamCreateWithPriority(s, flags, prio)))
RUNTIME_API(cudaStreamDestroy, v5050, (cudaStream_t s), (s), NULL,
	    CALL(driver.cuStreamDestroy_v2(s)))
RUNTIME_API_PT(cudaStreamSynchronize, v3020, _ptsz, v7000, (cudaStream_t s), (s), NULL,
	       CALL(PTSZ(cuStreamSynchronize)(s)))
RUNTIME_API_PT(cudaStreamQuery, v3020, _ptsz, v7000, (cudaStream_t s), (s), NULL,
	       CALL(PTSZ(cuStreamQuery)(s)))
RUNTIME_API_PT(cudaStreamGetFlags, v5050, _ptsz, v7000, (cudaStream_t s, unsigned int *flags),
	       (s, flags), NULL, CALL(PTSZ(cuStreamGetFlags)(s, flags)))
RUNTIME_API_PT(cudaStreamGetPriority, v5050, _ptsz, v7000, (cudaStream_t s, int *priority),
	       (s, priority), NULL, CALL(PTSZ(cuStreamGetPriority)(s, priority)))
RUNTIME_API_PT(cudaStreamGetId, v12000, _ptsz, v12000, (cudaStream_t s, unsigned long long *id),
	       (s, id), NULL, CALL(PTSZ(cuStreamGetId)(s, id)))
RUNTIME_API_PT(cudaStreamWaitEvent, v3020, _ptsz, v7000,
	       (cudaStream_t s, cudaEvent_t event, unsigned int flags), (s, event, flags), NULL,
	       CALL(PTSZ(cuStreamWaitEvent)(s, event, flags)))
RUNTIME_API(cudaEventCreate, v3020, (cudaEvent_t *event), (event), NULL,
	    CALL(driver.cuEventCreate(event, CU_EVENT_DEFAULT)))
RUNTIME_API(cudaEventCreateWithFlags, v3020, (cudaEvent_t *event, unsigned int flags),
	    (event, flags), NULL, CALL(driver.cuEventCreate(event, flags)))
RUNTIME_API(cudaEventDestroy, v3020, (cudaEvent_t event), (event), NULL,
	    CALL(driver.cuEventDestroy_v2(event)))
RUNTIME_API_PT(cudaEventRecord, v3020, _ptsz, v7000, (cudaEvent_t event, cudaStream_t s),
	       (event, s), NULL, CALL(PTSZ(cuEventRecord)(event, s)))
RUNTIME_API_PT(cudaEventRecordWithFlags, v11010, _ptsz, v11010,
	       (cudaEvent_t event, cudaStream_t s, unsigned int flags), (event, s, flags), NULL,
	       CALL(PTSZ(cuEventRecordWithFlags)(event, s, flags)))
RUNTIME_API(cudaEventQuery, v3020, (cudaEvent_t event), (event), NULL,
	    CALL(driver.cuEventQuery(event)))
RUNTIME_API(cudaEventSynchronize, v3020, (cudaEvent_t event), (event), NULL,
	    CALL(driver.cuEventSynchronize(event)))
RUNTIME_API(cudaEventElapsedTime, v12080, (float *ms, cudaEvent_t start, cudaEvent_t end),
	    (ms, start, end), NULL, CALL(driver.cuEventElapsedTime_v2(ms, start, end)))

/* ---- graphs ---------------------------------------------------------------------------------- */

static cudaError_t kernel_params(CUDA_KERNEL_NODE_PARAMS *out,
				 const struct cudaKernelNodeParams *p)
{
	CUDA_KERNEL_NODE_PARAMS cu = { 0 };

	if (!p)
		return cudaErrorInvalidValue;
	cu.func = symbol__kernel(p->func);
	if (!cu.func)
		return cudaErrorInvalidDeviceFunction;
	cu.gridDimX = p->gridDim.x;
	cu.gridDimY = p->gridDim.y;
	cu.gridDimZ = p->gridDim.z;
	cu.blockDimX = p->blockDim.x;
	cu.blockDimY = p->blockDim.y;
	cu.blockDimZ = p->blockDim.z;
	cu.sharedMemBytes = p->sharedMemBytes;
	cu.kernelParams = p->kernelParams;
	cu.extra = p->extra;
	*out = cu;
	return cudaSuccess;
}

static cudaError_t add_kernel_node(cudaGraphNode_t *node, cudaGraph_t graph,
				   const cudaGraphNode_t *deps, size_t nr_deps,
				   const struct cudaKernelNodeParams *p)
{
	CUDA_KERNEL_NODE_PARAMS cu;
	cudaError_t err = kernel_params(&cu, p);

	return err ? err : to_error(driver.cuGraphAddKernelNode_v2(node, graph, deps, nr_deps,
								   &cu));
}

static cudaError_t set_kernel_node(cudaGraphExec_t exec, cudaGraphNode_t node,
				   const struct cudaKernelNodeParams *p)
{
	CUDA_KERNEL_NODE_PARAMS cu;
	cudaError_t err = kernel_params(&cu, p);

	return err ? err : to_error(driver.cuGraphExecKernelNodeSetParams_v2(exec, node, &cu));
}

static cudaError_t add_memcpy_node(cudaGraphNode_t *node, cudaGraph_t graph,
				   const cudaGraphNode_t *deps, size_t nr_deps, void *dst,
				   const void *src, size_t bytes, enum cudaMemcpyKind kind)
{
	CUDA_MEMCPY3D cu = {
		.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
		.dstMemoryType = CU_MEMORYTYPE_UNIFIED,
		.srcDevice = (CUdeviceptr)src,
		.dstDevice = (CUdeviceptr)dst,
		.WidthInBytes = bytes,
		.Height = 1,
		.Depth = 1,
	};

	(void)kind;	/* the addresses determine the kind */
	return to_error(driver.cuGraphAddMemcpyNode(node, graph, deps, nr_deps, &cu,
						    core->current()));
}

static cudaError_t add_memset_node(cudaGraphNode_t *node, cudaGraph_t graph,
				   const cudaGraphNode_t *deps, size_t nr_deps,
				   const struct cudaMemsetParams *p)
{
	CUDA_MEMSET_NODE_PARAMS cu = { 0 };

	if (!p)
		return cudaErrorInvalidValue;
	cu.dst = (CUdeviceptr)p->dst;
	cu.pitch = p->pitch;
	cu.value = p->value;
	cu.elementSize = p->elementSize;
	cu.width = p->width;
	cu.height = p->height;
	return to_error(driver.cuGraphAddMemsetNode(node, graph, deps, nr_deps, &cu,
						    core->current()));
}

static cudaError_t add_host_node(cudaGraphNode_t *node, cudaGraph_t graph,
				 const cudaGraphNode_t *deps, size_t nr_deps,
				 const struct cudaHostNodeParams *p)
{
	CUDA_HOST_NODE_PARAMS cu = { 0 };

	if (!p)
		return cudaErrorInvalidValue;
	cu.fn = p->fn;
	cu.userData = p->userData;
	return to_error(driver.cuGraphAddHostNode(node, graph, deps, nr_deps, &cu));
}

#define NODE_PROTO(type)							\
	(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *deps, size_t nr_deps,	\
	 const struct type *p)

RUNTIME_API(cudaGraphCreate, v10000, (cudaGraph_t *graph, unsigned int flags), (graph, flags), NULL,
	    CALL(driver.cuGraphCreate(graph, flags)))
RUNTIME_API(cudaGraphDestroy, v10000, (cudaGraph_t graph), (graph), NULL,
	    CALL(driver.cuGraphDestroy(graph)))
RUNTIME_API(cudaGraphClone, v10000, (cudaGraph_t *clone, cudaGraph_t graph), (clone, graph), NULL,
	    CALL(driver.cuGraphClone(clone, graph)))
RUNTIME_API(cudaGraphGetNodes, v10000, (cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *nr),
	    (graph, nodes, nr), NULL, CALL(driver.cuGraphGetNodes(graph, nodes, nr)))
RUNTIME_API(cudaGraphAddKernelNode, v10000, NODE_PROTO(cudaKernelNodeParams),
	    (node, graph, deps, nr_deps, p), NULL,
	    IN_CONTEXT(add_kernel_node(node, graph, deps, nr_deps, p)))
RUNTIME_API(cudaGraphAddMemcpyNode1D, v11010,
	    (cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *deps, size_t nr_deps,
	     void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind),
	    (node, graph, deps, nr_deps, dst, src, bytes, kind), NULL,
	    IN_CONTEXT(add_memcpy_node(node, graph, deps, nr_deps, dst, src, bytes, kind)))
RUNTIME_API(cudaGraphAddMemsetNode, v10000, NODE_PROTO(cudaMemsetParams),
	    (node, graph, deps, nr_deps, p), NULL,
	    IN_CONTEXT(add_memset_node(node, graph, deps, nr_deps, p)))
RUNTIME_API(cudaGraphAddHostNode, v10000, NODE_PROTO(cudaHostNodeParams),
	    (node, graph, deps, nr_deps, p), NULL,
	    IN_CONTEXT(add_host_node(node, graph, deps, nr_deps, p)))
RUNTIME_API(cudaGraphAddEmptyNode, v10000,
	    (cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *deps,
	     size_t nr_deps),
	    (node, graph, deps, nr_deps), NULL,
	    CALL(driver.cuGraphAddEmptyNode(node, graph, deps, nr_deps)))
RUNTIME_API(cudaGraphInstantiate, v12000,
	    (cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags),
	    (exec, graph, flags), NULL,
	    CALL(driver.cuGraphInstantiateWithFlags(exec, graph, flags)))
RUNTIME_API(cudaGraphInstantiateWithFlags, v11040,
	    (cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags),
	    (exec, graph, flags), NULL,
	    CALL(driver.cuGraphInstantiateWithFlags(exec, graph, flags)))
RUNTIME_API_PT(cudaGraphInstantiateWithParams, v12000, _ptsz, v12000,
	       (cudaGraphExec_t *exec, cudaGraph_t graph, cudaGraphInstantiateParams *p),
	       (exec, graph, p), NULL,
	       CALL(PTSZ(cuGraphInstantiateWithParams)(exec, graph,
						       (CUDA_GRAPH_INSTANTIATE_PARAMS *)p)))
RUNTIME_API(cudaGraphAddChildGraphNode, v10000,
	    (cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *deps, size_t nr_deps,
	     cudaGraph_t child),
	    (node, graph, deps, nr_deps, child), NULL,
	    CALL(driver.cuGraphAddChildGraphNode(node, graph, deps, nr_deps, child)))
RUNTIME_API(cudaGraphExecUpdate, v10020,
	    (cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo *info),
	    (exec, graph, info), NULL,
	    CALL(driver.cuGraphExecUpdate_v2(exec, graph, (CUgraphExecUpdateResultInfo *)info)))
RUNTIME_API(cudaGraphExecKernelNodeSetParams, v10010,
	    (cudaGraphExec_t exec, cudaGraphNode_t node, const struct cudaKernelNodeParams *p),
	    (exec, node, p), NULL, IN_CONTEXT(set_kernel_node(exec, node, p)))
RUNTIME_API(cudaGraphExecDestroy, v10000, (cudaGraphExec_t exec), (exec), NULL,
	    CALL(driver.cuGraphExecDestroy(exec)))
RUNTIME_API_PT(cudaGraphLaunch, v10000, _ptsz, v10000, (cudaGraphExec_t exec, cudaStream_t s),
	       (exec, s), NULL, CALL(PTSZ(cuGraphLaunch)(exec, s)))
RUNTIME_API_PT(cudaGraphUpload, v10000, _ptsz, v10000, (cudaGraphExec_t exec, cudaStream_t s),
	       (exec, s), NULL, CALL(PTSZ(cuGraphUpload)(exec, s)))
RUNTIME_API_PT(cudaStreamBeginCapture, v10000, _ptsz, v10000,
	       (cudaStream_t s, enum cudaStreamCaptureMode mode), (s, mode), NULL,
	       CALL(PTSZ(cuStreamBeginCapture_v2)(s, (CUstreamCaptureMode)mode)))
RUNTIME_API_PT(cudaStreamEndCapture, v10000, _ptsz, v10000, (cudaStream_t s, cudaGraph_t *graph),
	       (s, graph), NULL, CALL(PTSZ(cuStreamEndCapture)(s, graph)))
RUNTIME_API_PT(cudaStreamIsCapturing, v10000, _ptsz, v10000,
	       (cudaStream_t s, enum cudaStreamCaptureStatus *status), (s, status), NULL,
	       CALL(PTSZ(cuStreamIsCapturing)(s, (CUstreamCaptureStatus *)status)))
RUNTIME_API_PT(cudaStreamGetCaptureInfo, v12030, _ptsz, v12030,
	       (cudaStream_t s, enum cudaStreamCaptureStatus *status, unsigned long long *id,
		cudaGraph_t *graph, const cudaGraphNode_t **nodes, const cudaGraphEdgeData **edges,
		size_t *nr_nodes),
	       (s, status, id, graph, nodes, edges, nr_nodes), NULL,
	       CALL(PTSZ(cuStreamGetCaptureInfo_v3)(s, (CUstreamCaptureStatus *)status,
						    (cuuint64_t *)id, graph, nodes,
						    (const CUgraphEdgeData **)edges, nr_nodes)))
RUNTIME_API(cudaThreadExchangeStreamCaptureMode, v10010, (enum cudaStreamCaptureMode *mode), (mode),
	    NULL, CALL(driver.cuThreadExchangeStreamCaptureMode((CUstreamCaptureMode *)mode)))

/* ---- driver entry points --------------------------------------------------------------------- */

static cudaError_t entry_point(const char *symbol, void **fn, unsigned int version,
			       unsigned long long flags,
			       enum cudaDriverEntryPointQueryResult *status, bool per_thread)
{
	CUdriverProcAddressQueryResult query = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	CUresult err;

	if (per_thread)
		flags |= CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
	err = driver.cuGetProcAddress_v2(symbol, fn, (int)version, flags, &query);
	if (status)
		*status = (enum cudaDriverEntryPointQueryResult)query;
	return err == CUDA_ERROR_NOT_FOUND ? cudaSuccess : to_error(err);
}

RUNTIME_API_PT(cudaGetDriverEntryPointByVersion, v12050, _ptsz, v12050,
	       (const char *symbol, void **fn, unsigned int version, unsigned long long flags,
		enum cudaDriverEntryPointQueryResult *status),
	       (symbol, fn, version, flags, status), NULL,
	       entry_point(symbol, fn, version, flags, status, per_thread))
RUNTIME_API_PT(cudaGetDriverEntryPoint, v11030, _ptsz, v11030,
	       (const char *symbol, void **fn, unsigned long long flags,
		enum cudaDriverEntryPointQueryResult *status),
	       (symbol, fn, flags, status), NULL,
	       entry_point(symbol, fn, RUNTIME_VERSION, flags, status, per_thread))
