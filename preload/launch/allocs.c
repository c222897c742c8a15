// SPDX-License-Identifier: MIT
#include "launch/allocs.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include <cuda.h>

#include "base/clock.h"
#include "base/cupti_lib.h"
#include "wire/probe.h"
#include "xpu_record.h"

#define MAX_CBID	4096

/* How a call says what it makes or frees. */
enum kind {
	NOTHING,
	MAKES_LINEAR,			/* CUdeviceptr *, bytes: cuMemAlloc, AllocAsync, AllocManaged, ... */
	MAKES_PITCH,
	MAKES_HOST,			/* void **, bytes */
	REGISTERS,			/* void *, bytes */
	MAKES_PHYSICAL,
	IMPORTS_PHYSICAL,
	RETAINS,
	MAPS,
	MAKES_ARRAY,
	MAKES_ARRAY_3D,
	MAKES_MIPMAPS,
	OPENS,				/* another process's memory */
	IMPORTS,			/* of another API */
	FREES,				/* from here on calls that free: their first parameter says what */
	UNMAPS,
};

static const struct call_row {
	const char *name;
	uint8_t kind, space;
} rows[] = {
	{ "cuMemAlloc_v2", MAKES_LINEAR, XPU_SPACE_DEVICE },
	{ "cuMemAllocPitch_v2", MAKES_PITCH, XPU_SPACE_DEVICE },
	{ "cuMemAllocManaged", MAKES_LINEAR, XPU_SPACE_MANAGED },
	{ "cuMemAllocAsync", MAKES_LINEAR, XPU_SPACE_POOL },
	{ "cuMemAllocAsync_ptsz", MAKES_LINEAR, XPU_SPACE_POOL },
	{ "cuMemAllocFromPoolAsync", MAKES_LINEAR, XPU_SPACE_POOL },
	{ "cuMemAllocFromPoolAsync_ptsz", MAKES_LINEAR, XPU_SPACE_POOL },
	{ "cuMemAllocHost_v2", MAKES_HOST, XPU_SPACE_PINNED },
	{ "cuMemHostAlloc", MAKES_HOST, XPU_SPACE_PINNED },
	{ "cuMemHostRegister", REGISTERS, XPU_SPACE_REGISTERED },
	{ "cuMemHostRegister_v2", REGISTERS, XPU_SPACE_REGISTERED },
	{ "cuMemCreate", MAKES_PHYSICAL, XPU_SPACE_PHYSICAL },
	{ "cuMemImportFromShareableHandle", IMPORTS_PHYSICAL, XPU_SPACE_IMPORTED },
	{ "cuMemRetainAllocationHandle", RETAINS, XPU_SPACE_PHYSICAL },
	{ "cuMemMap", MAPS, XPU_SPACE_MAPPING },
	{ "cuArrayCreate_v2", MAKES_ARRAY, XPU_SPACE_ARRAY },
	{ "cuArray3DCreate_v2", MAKES_ARRAY_3D, XPU_SPACE_ARRAY },
	{ "cuMipmappedArrayCreate", MAKES_MIPMAPS, XPU_SPACE_ARRAY },
	{ "cuIpcOpenMemHandle", OPENS, XPU_SPACE_IMPORTED },
	{ "cuIpcOpenMemHandle_v2", OPENS, XPU_SPACE_IMPORTED },
	{ "cuImportExternalMemory", IMPORTS, XPU_SPACE_IMPORTED },
	{ "cuMemFree_v2", FREES, XPU_SPACE_DEVICE },
	{ "cuMemFreeAsync", FREES, XPU_SPACE_DEVICE },
	{ "cuMemFreeAsync_ptsz", FREES, XPU_SPACE_DEVICE },
	{ "cuMemFreeHost", FREES, XPU_SPACE_PINNED },
	{ "cuMemHostUnregister", FREES, XPU_SPACE_REGISTERED },
	{ "cuMemRelease", FREES, XPU_SPACE_PHYSICAL },
	{ "cuMemUnmap", UNMAPS, XPU_SPACE_MAPPING },
	{ "cuArrayDestroy", FREES, XPU_SPACE_ARRAY },
	{ "cuMipmappedArrayDestroy", FREES, XPU_SPACE_ARRAY },
	{ "cuIpcCloseMemHandle", FREES, XPU_SPACE_IMPORTED },
	{ "cuDestroyExternalMemory", FREES, XPU_SPACE_IMPORTED },
};

atomic_bool allocs__on;

static uint8_t row_of[MAX_CBID];		/* number in rows, from 1 */
static atomic_uint_fast64_t last_order;
static atomic_bool is_late, is_exiting;
static const struct cupti *cupti;
static CUresult (*get_info)(size_t *, size_t *);

uint64_t allocs__order(unsigned int nr)
{
	return atomic_fetch_add_explicit(&last_order, nr, memory_order_relaxed) + 1;
}

bool allocs__watch(uint32_t cbid, const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]) && cbid < MAX_CBID; i++) {
		if (strcmp(name, rows[i].name))
			continue;
		__atomic_store_n(&row_of[cbid], i + 1, __ATOMIC_RELAXED);
		return true;
	}
	return false;
}

/* Sends an event by itself: the shim's own, or one that no log has room for. */
static void tell_start(void)
{
	struct xpu_record_alloc r = {
		.hdr = { XPU_RECORD_ALLOC, 0, sizeof(r) },
		.time_ns = clock__ns(),
		.order = atomic_load(&last_order) + 1,
		.event = {
			.what = XPU_ALLOC_START,
			.device = XPU_ALLOC_NO_DEVICE,
			.bytes = atomic_load(&is_late),
		},
	};

	probe__batch(&r, sizeof(r));
}

void allocs__start(const struct cupti *c, bool late)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);

	cupti = c;
	if (cuda) {
		*(void **)&get_info = dlsym(cuda, "cuMemGetInfo_v2");
		dlclose(cuda);
	}
	atomic_store(&is_late, late);
	tell_start();
	atomic_store(&allocs__on, true);
}

void allocs__stop(void)
{
	atomic_store(&allocs__on, false);
}

void allocs__repeat(void)
{
	if (!allocs__are_on())
		return;
	/* Whoever listens from here on has not heard of earlier events. */
	if (atomic_load(&last_order))
		atomic_store(&is_late, true);
	tell_start();
}

void allocs__exiting(void)
{
	atomic_store(&is_exiting, true);
}

/* Return: the ordinal of the context's device, which the thread remembers. */
static uint16_t device_of(struct alloc_call *call, CUcontext context)
{
	uint32_t device;

	if (!context || !cupti || !cupti->get_device_id)
		return XPU_ALLOC_NO_DEVICE;
	if (call->context == context)
		return call->device;
	if (cupti->get_device_id(context, &device) != CUPTI_SUCCESS || device >= XPU_ALLOC_NO_DEVICE)
		return XPU_ALLOC_NO_DEVICE;
	call->context = context;
	call->device = device;
	return device;
}

static uint16_t device_at(const CUmemLocation *at)
{
	return at->type == CU_MEM_LOCATION_TYPE_DEVICE && at->id >= 0 && at->id < XPU_ALLOC_NO_DEVICE ?
	       at->id : XPU_ALLOC_NO_DEVICE;
}

/* ---- what a call has made -------------------------------------------------------------------- */

static uint64_t format_bytes(CUarray_format format)
{
	switch (format) {
	case CU_AD_FORMAT_UNSIGNED_INT16:
	case CU_AD_FORMAT_SIGNED_INT16:
	case CU_AD_FORMAT_HALF:
		return 2;
	case CU_AD_FORMAT_UNSIGNED_INT32:
	case CU_AD_FORMAT_SIGNED_INT32:
	case CU_AD_FORMAT_FLOAT:
		return 4;
	default:
		return 1;
	}
}

/* @levels: of mipmaps, each half as wide, high and deep as the one before */
static uint64_t array_bytes(const CUDA_ARRAY3D_DESCRIPTOR *a, unsigned int levels)
{
	uint64_t width = a->Width, height = a->Height ?: 1, depth = a->Depth ?: 1, bytes = 0;
	bool layered = a->Flags & CUDA_ARRAY3D_LAYERED;

	do {
		bytes += width * height * depth * a->NumChannels * format_bytes(a->Format);
		width = width / 2 ?: 1;
		height = height / 2 ?: 1;
		if (!layered)
			depth = depth / 2 ?: 1;
	} while (levels && --levels);
	return bytes;
}

#define PARAMS(fn, d)	((const fn##_params *)(d)->functionParams)

static uint64_t pointed(const void *where)
{
	return where ? *(const uint64_t *)where : 0;
}

/* Fills in address, size and device of what a call was asked for. Return: false if it made nothing. */
static bool describe(struct alloc *a, enum kind kind, const CUpti_CallbackData *d, bool made)
{
	const void *out = NULL;

	switch (kind) {
	case MAKES_LINEAR:		/* the first two of all of these */
		out = PARAMS(cuMemAlloc_v2, d)->dptr;
		a->bytes = PARAMS(cuMemAlloc_v2, d)->bytesize;
		break;
	case MAKES_PITCH:
		out = PARAMS(cuMemAllocPitch_v2, d)->dptr;
		a->bytes = PARAMS(cuMemAllocPitch_v2, d)->WidthInBytes;
		if (made && PARAMS(cuMemAllocPitch_v2, d)->pPitch)
			a->bytes = *PARAMS(cuMemAllocPitch_v2, d)->pPitch;
		a->bytes *= PARAMS(cuMemAllocPitch_v2, d)->Height;
		break;
	case MAKES_HOST:
		out = PARAMS(cuMemAllocHost_v2, d)->pp;
		a->bytes = PARAMS(cuMemAllocHost_v2, d)->bytesize;
		a->device = XPU_ALLOC_NO_DEVICE;
		break;
	case REGISTERS:
		a->address = (uintptr_t)PARAMS(cuMemHostRegister_v2, d)->p;
		a->bytes = PARAMS(cuMemHostRegister_v2, d)->bytesize;
		a->device = XPU_ALLOC_NO_DEVICE;
		return true;
	case MAKES_PHYSICAL:
		out = PARAMS(cuMemCreate, d)->handle;
		a->bytes = PARAMS(cuMemCreate, d)->size;
		a->extra = 0;
		if (PARAMS(cuMemCreate, d)->prop)
			a->device = device_at(&PARAMS(cuMemCreate, d)->prop->location);
		break;
	case IMPORTS_PHYSICAL:
		out = PARAMS(cuMemImportFromShareableHandle, d)->handle;
		a->extra = 0;
		break;
	case RETAINS:
		a->what = made ? XPU_ALLOC_RETAINED : a->what;
		out = PARAMS(cuMemRetainAllocationHandle, d)->handle;
		a->extra = 0;
		break;
	case MAPS:
		a->address = PARAMS(cuMemMap, d)->ptr;
		a->bytes = PARAMS(cuMemMap, d)->size;
		a->extra = 0;
		return true;
	case MAKES_ARRAY: {
		const CUDA_ARRAY_DESCRIPTOR *desc = PARAMS(cuArrayCreate_v2, d)->pAllocateArray;
		CUDA_ARRAY3D_DESCRIPTOR array = { 0 };

		out = PARAMS(cuArrayCreate_v2, d)->pHandle;
		if (desc) {
			array.Width = desc->Width;
			array.Height = desc->Height;
			array.Format = desc->Format;
			array.NumChannels = desc->NumChannels;
			a->bytes = array_bytes(&array, 1);
		}
		break;
	}
	case MAKES_ARRAY_3D:
		out = PARAMS(cuArray3DCreate_v2, d)->pHandle;
		if (PARAMS(cuArray3DCreate_v2, d)->pAllocateArray)
			a->bytes = array_bytes(PARAMS(cuArray3DCreate_v2, d)->pAllocateArray, 1);
		break;
	case MAKES_MIPMAPS:
		out = PARAMS(cuMipmappedArrayCreate, d)->pHandle;
		if (PARAMS(cuMipmappedArrayCreate, d)->pMipmappedArrayDesc)
			a->bytes = array_bytes(PARAMS(cuMipmappedArrayCreate, d)->pMipmappedArrayDesc,
					       PARAMS(cuMipmappedArrayCreate, d)->numMipmapLevels);
		break;
	case OPENS:
		out = PARAMS(cuIpcOpenMemHandle_v2, d)->pdptr;
		break;
	case IMPORTS:
		out = PARAMS(cuImportExternalMemory, d)->extMem_out;
		if (PARAMS(cuImportExternalMemory, d)->memHandleDesc)
			a->bytes = PARAMS(cuImportExternalMemory, d)->memHandleDesc->size;
		break;
	default:
		return false;
	}
	if (made)
		a->address = pointed(out);
	return a->address || !made;
}

/* CUDA refused: tells what was free on the device. That is no call of the program's. */
static void describe_failure(struct alloc *a, CUresult result)
{
	size_t free_bytes, total_bytes;

	a->what = XPU_ALLOC_FAILED;
	a->extra = result;
	a->address = UINT64_MAX;
	if (result == CUDA_ERROR_OUT_OF_MEMORY && get_info &&
	    get_info(&free_bytes, &total_bytes) == CUDA_SUCCESS)
		a->address = free_bytes;
}

/* A mapping is of a part of physical memory, which an event of its own names. */
static void tell_mapping(struct alloc *a, const CUpti_CallbackData *d, CUpti_CallbackId cbid)
{
	struct alloc handle = {
		.what = XPU_ALLOC_HANDLE,
		.space = XPU_SPACE_MAPPING,
		.device = a->device,
		.address = PARAMS(cuMemMap, d)->handle,
		.bytes = PARAMS(cuMemMap, d)->offset,
		.order = allocs__order(2),
	};

	a->order = handle.order + 1;
	launch__tell_alloc(&handle, CUPTI_CB_DOMAIN_DRIVER_API, cbid);
	launch__tell_alloc(a, CUPTI_CB_DOMAIN_DRIVER_API, cbid);
}

static void has_made(const struct call_row *row, struct alloc_call *call, CUpti_CallbackId cbid,
		     const CUpti_CallbackData *d)
{
	const CUresult *result = d->functionReturnValue;
	CUresult err = result ? *result : CUDA_SUCCESS;
	struct alloc a = {
		.what = XPU_ALLOC_MADE,
		.space = row->space,
		.device = device_of(call, d->context),
		.extra = d->contextUid,
	};

	if (!describe(&a, row->kind, d, !err))
		return;
	if (err)
		describe_failure(&a, err);
	if (row->kind == MAPS && !err) {
		tell_mapping(&a, d, cbid);
		return;
	}
	a.order = allocs__order(1);
	launch__tell_alloc(&a, CUPTI_CB_DOMAIN_DRIVER_API, cbid);
}

/* ---- what a call frees ----------------------------------------------------------------------- */

/* The parameters of all of them begin with an address or a handle, of 64 bits. */
static void has_freed(const struct call_row *row, struct alloc_call *call, CUpti_CallbackId cbid,
		      const CUpti_CallbackData *d)
{
	const CUresult *result = d->functionReturnValue;
	struct alloc a = {
		.what = XPU_ALLOC_FREED,
		.space = row->space,
		.device = row->space == XPU_SPACE_PINNED || row->space == XPU_SPACE_REGISTERED ?
			  XPU_ALLOC_NO_DEVICE : device_of(call, d->context),
		.address = pointed(d->functionParams),
		.order = call->order,
	};

	call->order = 0;
	if (row->kind == UNMAPS)
		a.bytes = PARAMS(cuMemUnmap, d)->size;
	if (result && *result) {
		a.what = XPU_ALLOC_NOT_FREED;
		a.extra = *result;
	}
	launch__tell_alloc(&a, CUPTI_CB_DOMAIN_DRIVER_API, cbid);
}

void allocs__call(CUpti_CallbackId cbid, const CUpti_CallbackData *d)
{
	uint8_t number = cbid < MAX_CBID ? __atomic_load_n(&row_of[cbid], __ATOMIC_RELAXED) : 0;
	bool enters = d->callbackSite == CUPTI_API_ENTER;
	const struct call_row *row;
	struct alloc_call *call;

	if (!number || !d->functionParams)
		return;
	row = &rows[number - 1];
	if (row->kind < FREES && enters)
		return;
	call = launch__alloc_call();
	if (!call)
		return;
	if (row->kind < FREES)
		has_made(row, call, cbid, d);
	else if (!enters && call->order)
		has_freed(row, call, cbid, d);
	else if (enters && pointed(d->functionParams) && !call->order)	/* to free NULL frees nothing */
		call->order = allocs__order(1);
}

void allocs__end_context(CUcontext context)
{
	struct alloc a = {
		.what = XPU_ALLOC_CONTEXT_END,
		.device = XPU_ALLOC_NO_DEVICE,
	};

	if (!allocs__are_on() || atomic_load(&is_exiting) || !cupti->get_context_id ||
	    cupti->get_context_id(context, &a.extra) != CUPTI_SUCCESS)
		return;
	a.order = allocs__order(1);
	launch__tell_alloc(&a, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING);
}
