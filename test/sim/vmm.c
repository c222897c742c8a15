// SPDX-License-Identifier: MIT
/*
 * vmm.c - libcuda.so.1: virtual memory (physical memory, addresses, mappings), pools, arrays
 *
 * Physical memory exists while its handle or a mapping of it exists. Addresses are real addresses
 * of the process. Nothing backs them until they are mapped; after that they read as zeros.
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "call.h"

#define GRANULARITY	((size_t)2 << 20)

struct physical {
	size_t bytes;
	int device;
	unsigned int nr_refs;		/* 1 for the valid handle, plus 1 for each mapping */
	unsigned int nr_handles;	/* how often cuMemRelease may still be called */
};

struct mapping {
	struct mapping *next;
	CUdeviceptr at;
	size_t bytes;
	struct physical *memory;
};

struct CUmemPoolHandle_st {
	int device;
	bool is_default;
};

struct CUarray_st {
	int device;
	size_t bytes;
};

struct CUmipmappedArray_st {
	int device;
	size_t bytes;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct mapping *mappings;

static void physical__put(struct physical *m)
{
	if (--m->nr_refs)
		return;
	memory__give(m->device, m->bytes);
	free(m);
}

static CUresult mem_create(CUmemGenericAllocationHandle *out, size_t bytes,
			   const CUmemAllocationProp *prop)
{
	struct physical *m;

	if (!out || !prop || !bytes || bytes % GRANULARITY ||
	    prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE || !device__get(prop->location.id))
		return CUDA_ERROR_INVALID_VALUE;
	if (!memory__take(prop->location.id, bytes))
		return CUDA_ERROR_OUT_OF_MEMORY;
	m = calloc(1, sizeof(*m));
	if (!m) {
		memory__give(prop->location.id, bytes);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*m = (struct physical){ bytes, prop->location.id, 1, 1 };
	*out = (CUmemGenericAllocationHandle)m;
	return CUDA_SUCCESS;
}

static CUresult mem_release(CUmemGenericAllocationHandle handle)
{
	struct physical *m = (struct physical *)handle;

	if (!m)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	physical__put(m);
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}

static CUresult mem_map(CUdeviceptr at, size_t bytes, size_t offset,
			CUmemGenericAllocationHandle handle)
{
	struct mapping *m = calloc(1, sizeof(*m));

	if (!m)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (!handle || offset || !at) {
		free(m);
		return CUDA_ERROR_INVALID_VALUE;
	}
	*m = (struct mapping){ .at = at, .bytes = bytes, .memory = (struct physical *)handle };
	pthread_mutex_lock(&lock);
	m->memory->nr_refs++;
	m->next = mappings;
	mappings = m;
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}

static CUresult mem_unmap(CUdeviceptr at, size_t bytes)
{
	struct mapping **link, *m;
	size_t done = 0;

	pthread_mutex_lock(&lock);
	for (link = &mappings; (m = *link);) {
		if (m->at < at || m->at >= at + bytes) {
			link = &m->next;
			continue;
		}
		*link = m->next;
		done += m->bytes;
		physical__put(m->memory);
		free(m);
	}
	pthread_mutex_unlock(&lock);
	return done ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult mem_retain(CUmemGenericAllocationHandle *out, void *address)
{
	CUdeviceptr at = (CUdeviceptr)address;
	CUresult err = CUDA_ERROR_INVALID_VALUE;
	struct mapping *m;

	pthread_mutex_lock(&lock);
	for (m = mappings; m; m = m->next) {
		if (at < m->at || at >= m->at + m->bytes)
			continue;
		m->memory->nr_refs++;
		*out = (CUmemGenericAllocationHandle)m->memory;
		err = CUDA_SUCCESS;
		break;
	}
	pthread_mutex_unlock(&lock);
	return err;
}

static CUresult mem_reserve(CUdeviceptr *out, size_t bytes)
{
	void *at;

	if (!out || !bytes || bytes % GRANULARITY)
		return CUDA_ERROR_INVALID_VALUE;
	at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		  -1, 0);
	if (at == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*out = (CUdeviceptr)at;
	return CUDA_SUCCESS;
}

static CUresult granularity(size_t *out)
{
	*out = GRANULARITY;
	return CUDA_SUCCESS;
}

DRIVER_API(cuMemCreate,
	   (CUmemGenericAllocationHandle *out, size_t bytes, const CUmemAllocationProp *prop,
	    unsigned long long flags),
	   (out, bytes, prop, flags), NULL, mem_create(out, bytes, prop))
DRIVER_API(cuMemRelease, (CUmemGenericAllocationHandle handle), (handle), NULL, mem_release(handle))
DRIVER_API(cuMemMap,
	   (CUdeviceptr at, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
	    unsigned long long flags),
	   (at, bytes, offset, handle, flags), NULL, mem_map(at, bytes, offset, handle))
DRIVER_API(cuMemUnmap, (CUdeviceptr at, size_t bytes), (at, bytes), NULL, mem_unmap(at, bytes))
DRIVER_API(cuMemSetAccess, (CUdeviceptr at, size_t bytes, const CUmemAccessDesc *desc, size_t nr),
	   (at, bytes, desc, nr), NULL, CUDA_SUCCESS)
DRIVER_API(cuMemRetainAllocationHandle, (CUmemGenericAllocationHandle *out, void *address),
	   (out, address), NULL, mem_retain(out, address))
DRIVER_API(cuMemAddressReserve,
	   (CUdeviceptr * out, size_t bytes, size_t alignment, CUdeviceptr wish,
	    unsigned long long flags),
	   (out, bytes, alignment, wish, flags), NULL, mem_reserve(out, bytes))
DRIVER_API(cuMemAddressFree, (CUdeviceptr at, size_t bytes), (at, bytes), NULL,
	   munmap((void *)at, bytes) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS)
DRIVER_API(cuMemGetAllocationGranularity,
	   (size_t *out, const CUmemAllocationProp *prop, CUmemAllocationGranularity_flags option),
	   (out, prop, option), NULL, granularity(out))

/* ---- pools ----------------------------------------------------------------------------------- */

static CUresult pool_create(CUmemoryPool *out, const CUmemPoolProps *props)
{
	CUmemoryPool pool;

	if (!out || !props || !device__get(props->location.id))
		return CUDA_ERROR_INVALID_VALUE;
	pool = calloc(1, sizeof(*pool));
	if (!pool)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pool->device = props->location.id;
	*out = pool;
	return CUDA_SUCCESS;
}

static CUresult pool_alloc(CUdeviceptr *out, size_t bytes, CUmemoryPool pool)
{
	void *ptr;
	CUresult err;

	if (!out || !pool)
		return CUDA_ERROR_INVALID_VALUE;
	err = memory__alloc(bytes, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, pool->device, &ptr);
	if (!err)
		*out = (CUdeviceptr)ptr;
	return err;
}

static CUresult pool_destroy(CUmemoryPool pool)
{
	free(pool);
	return CUDA_SUCCESS;
}

static CUresult default_pool(CUmemoryPool *out, CUdevice dev)
{
	static struct CUmemPoolHandle_st default_pools[SIM_MAX_DEVICES];

	if (!out || !device__get(dev))
		return CUDA_ERROR_INVALID_VALUE;
	default_pools[dev].is_default = true;
	default_pools[dev].device = dev;
	*out = &default_pools[dev];
	return CUDA_SUCCESS;
}

static CUresult pool_attribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
	*(cuuint64_t *)value = pool->is_default &&
			       attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT ?
			       memory__pool(pool->device) : 0;
	return CUDA_SUCCESS;
}

DRIVER_API(cuDeviceGetDefaultMemPool, (CUmemoryPool *out, CUdevice dev), (out, dev), NULL,
	   default_pool(out, dev))
DRIVER_API(cuMemPoolGetAttribute, (CUmemoryPool pool, CUmemPool_attribute attribute, void *value),
	   (pool, attribute, value), NULL, pool_attribute(pool, attribute, value))
DRIVER_API(cuMemPoolTrimTo, (CUmemoryPool pool, size_t keep), (pool, keep), NULL, CUDA_SUCCESS)
DRIVER_API(cuMemPoolCreate, (CUmemoryPool *out, const CUmemPoolProps *props), (out, props), NULL,
	   pool_create(out, props))
DRIVER_API(cuMemPoolDestroy, (CUmemoryPool pool), (pool), NULL, pool_destroy(pool))
DRIVER_API_PTSZ(cuMemAllocFromPoolAsync,
		(CUdeviceptr * out, size_t bytes, CUmemoryPool pool, CUstream s),
		(out, bytes, pool, s), NULL, pool_alloc(out, bytes, pool))

/* ---- arrays ---------------------------------------------------------------------------------- */

static CUresult array_create(CUarray *out, const CUDA_ARRAY_DESCRIPTOR *desc)
{
	struct CUctx_st *ctx = ctx__current();
	size_t element;
	CUarray array;

	if (!ctx)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!out || !desc || !desc->Width)
		return CUDA_ERROR_INVALID_VALUE;
	element = desc->Format == CU_AD_FORMAT_FLOAT ? 4 : desc->Format == CU_AD_FORMAT_HALF ? 2 :
		  1;
	array = calloc(1, sizeof(*array));
	if (!array)
		return CUDA_ERROR_OUT_OF_MEMORY;
	array->device = device__ordinal(ctx->dev);
	array->bytes = desc->Width * (desc->Height ?: 1) * desc->NumChannels * element;
	if (!memory__take(array->device, array->bytes)) {
		free(array);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*out = array;
	return CUDA_SUCCESS;
}

static CUresult array_destroy(CUarray array)
{
	if (!array)
		return CUDA_ERROR_INVALID_HANDLE;
	memory__give(array->device, array->bytes);
	free(array);
	return CUDA_SUCCESS;
}

DRIVER_API(cuArrayCreate_v2, (CUarray *out, const CUDA_ARRAY_DESCRIPTOR *desc), (out, desc), NULL,
	   array_create(out, desc))
DRIVER_API(cuArrayDestroy, (CUarray array), (array), NULL, array_destroy(array))

/* As in CUDA, no level follows the level with a single element, even if @levels is larger. */
static CUresult mipmaps_create(CUmipmappedArray *out, const CUDA_ARRAY3D_DESCRIPTOR *desc,
			       unsigned int levels)
{
	struct CUctx_st *ctx = ctx__current();
	CUmipmappedArray array;
	size_t width, height;

	if (!ctx)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!out || !desc || !desc->Width || !desc->Height || desc->Depth || !levels ||
	    desc->Format != CU_AD_FORMAT_FLOAT)
		return CUDA_ERROR_INVALID_VALUE;
	array = calloc(1, sizeof(*array));
	if (!array)
		return CUDA_ERROR_OUT_OF_MEMORY;
	array->device = device__ordinal(ctx->dev);
	for (width = desc->Width, height = desc->Height; levels && (width || height);
	     width /= 2, height /= 2, levels--)
		array->bytes += (width ?: 1) * (height ?: 1) * desc->NumChannels * 4;
	if (!memory__take(array->device, array->bytes)) {
		free(array);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*out = array;
	return CUDA_SUCCESS;
}

static CUresult mipmaps_destroy(CUmipmappedArray array)
{
	if (!array)
		return CUDA_ERROR_INVALID_HANDLE;
	memory__give(array->device, array->bytes);
	free(array);
	return CUDA_SUCCESS;
}

DRIVER_API(cuMipmappedArrayCreate,
	   (CUmipmappedArray *out, const CUDA_ARRAY3D_DESCRIPTOR *desc, unsigned int levels),
	   (out, desc, levels), NULL, mipmaps_create(out, desc, levels))
DRIVER_API(cuMipmappedArrayDestroy, (CUmipmappedArray array), (array), NULL, mipmaps_destroy(array))
