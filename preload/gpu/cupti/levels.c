// SPDX-License-Identifier: MIT
#include "gpu/cupti/levels.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "base/clock.h"
#include "base/lock.h"
#include "xpu_record.h"

#define MAX_DEVICES	64
#define MAX_POOLS	256		/* maximum number of explicit pools that are looked at */
#define DEVICE_NS	1000000000ull

static levels_tell_t tell;

static struct {
	CUresult (*get_info)(size_t *, size_t *);
	CUresult (*device_get)(CUdevice *, int);
	CUresult (*default_pool)(CUmemoryPool *, CUdevice);
	CUresult (*pool_attribute)(CUmemoryPool, CUmemPool_attribute, void *);
	CUresult (*graph_attribute)(CUdevice, CUgraphMem_attribute, void *);
} cu;

static struct device {
	atomic_bool has_pool, has_node;
	atomic_uint_fast64_t asked_ns;	/* when CUDA was asked for the memory in use; 0: never */
	uint64_t unused, graphs;	/* as last reported */
} devices[MAX_DEVICES];

static struct {
	CUmemoryPool pool;		/* NULL: none */
	uint16_t device;
} pools[MAX_POOLS];

/* Held while CUDA is asked about a pool, so that the pool is not destroyed meanwhile. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void levels__start(void *cuda, levels_tell_t fn)
{
	tell = fn;
	*(void **)&cu.get_info = dlsym(cuda, "cuMemGetInfo_v2");
	*(void **)&cu.device_get = dlsym(cuda, "cuDeviceGet");
	*(void **)&cu.default_pool = dlsym(cuda, "cuDeviceGetDefaultMemPool");
	*(void **)&cu.pool_attribute = dlsym(cuda, "cuMemPoolGetAttribute");
	*(void **)&cu.graph_attribute = dlsym(cuda, "cuDeviceGetGraphMemAttribute");
}

void levels__repeat(bool late)
{
	CUdevice device;
	sigset_t old;
	size_t i;

	lock__take(&lock, &old);
	for (i = 0; i < MAX_DEVICES; i++) {
		devices[i].unused = devices[i].graphs = 0;
		atomic_store(&devices[i].asked_ns, 0);
		if (!late || !cu.device_get || cu.device_get(&device, i) != CUDA_SUCCESS)
			continue;
		atomic_store(&devices[i].has_pool, true);
		atomic_store(&devices[i].has_node, true);
	}
	lock__give(&lock, &old);
}

static void note(atomic_bool *flag)
{
	if (!atomic_load_explicit(flag, memory_order_relaxed))
		atomic_store(flag, true);
}

void levels__has_pool(uint16_t device)
{
	if (device < MAX_DEVICES)
		note(&devices[device].has_pool);
}

void levels__has_node(uint16_t device)
{
	if (device < MAX_DEVICES)
		note(&devices[device].has_node);
}

void levels__add_pool(CUmemoryPool pool, uint16_t device)
{
	sigset_t old;
	size_t i;

	if (!pool || device >= MAX_DEVICES)
		return;
	lock__take(&lock, &old);
	for (i = 0; i < MAX_POOLS && pools[i].pool; i++)
		;
	if (i < MAX_POOLS) {
		pools[i].pool = pool;
		pools[i].device = device;
	}
	lock__give(&lock, &old);
	levels__has_pool(device);
}

void levels__remove_pool(CUmemoryPool pool)
{
	sigset_t old;
	size_t i;

	lock__take(&lock, &old);
	for (i = 0; i < MAX_POOLS; i++)
		if (pools[i].pool == pool)
			pools[i].pool = NULL;
	lock__give(&lock, &old);
}

/* Return: how many bytes a pool has reserved but does not use. */
static uint64_t unused_of(CUmemoryPool pool)
{
	cuuint64_t reserved = 0, used = 0;

	if (cu.pool_attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved) !=
		    CUDA_SUCCESS ||
	    cu.pool_attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used) != CUDA_SUCCESS)
		return 0;
	return reserved > used ? reserved - used : 0;
}

static void look_at(uint16_t number)
{
	struct device *d = &devices[number];
	CUmemoryPool pool;
	CUdevice device;
	cuuint64_t graphs = 0;
	uint64_t unused = 0;
	size_t i;

	if (cu.device_get(&device, number) != CUDA_SUCCESS)
		return;
	if (atomic_load(&d->has_pool) && cu.default_pool && cu.pool_attribute) {
		if (cu.default_pool(&pool, device) == CUDA_SUCCESS)
			unused = unused_of(pool);
		for (i = 0; i < MAX_POOLS; i++)
			if (pools[i].pool && pools[i].device == number)
				unused += unused_of(pools[i].pool);
	}
	if (atomic_load(&d->has_node) && cu.graph_attribute &&
	    cu.graph_attribute(device, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &graphs) !=
		    CUDA_SUCCESS)
		graphs = 0;
	if (unused != d->unused)
		tell(number, XPU_SPACE_UNUSED, unused, 0);
	if (graphs != d->graphs)
		tell(number, XPU_SPACE_GRAPHS, graphs, 0);
	d->unused = unused;
	d->graphs = graphs;
}

void levels__look(void)
{
	sigset_t old;
	uint16_t i;

	if (!cu.device_get)
		return;
	lock__take(&lock, &old);
	for (i = 0; i < MAX_DEVICES; i++)
		if (atomic_load(&devices[i].has_pool) || atomic_load(&devices[i].has_node))
			look_at(i);
	lock__give(&lock, &old);
}

uint64_t levels__tell_device(uint16_t device)
{
	size_t free_bytes, total;

	if (!cu.get_info || cu.get_info(&free_bytes, &total) != CUDA_SUCCESS || free_bytes > total)
		return UINT64_MAX;
	if (device < MAX_DEVICES) {
		atomic_store(&devices[device].asked_ns, clock__ns());
		tell(device, XPU_SPACE_REST, total - free_bytes, total);
	}
	return free_bytes;
}

void levels__see_device(uint16_t device, bool system)
{
	uint64_t asked_ns;

	if (device >= MAX_DEVICES)
		return;
	asked_ns = atomic_load_explicit(&devices[device].asked_ns, memory_order_relaxed);
	if (!asked_ns || (system && clock__ns() - asked_ns > DEVICE_NS))
		levels__tell_device(device);
}
