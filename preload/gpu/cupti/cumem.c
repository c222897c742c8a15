// SPDX-License-Identifier: MIT
#include "gpu/cupti/cumem.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include <cuda.h>

#include "base/clock.h"
#include "base/environment.h"
#include "base/hot.h"
#include "gpu/cupti/cupti_lib.h"
#include "gpu/cupti/levels.h"
#include "gpu/cupti/migrations.h"
#include "launch/launch.h"
#include "xpu_record.h"
#include "xpu_slot.h"

#define MAX_CBID	4096

/* How a call identifies the memory that it makes or frees. */
enum kind {
	NOTHING,
	MAKES_LINEAR,			/* parameters CUdeviceptr *, bytes */
	MAKES_PITCH,
	MAKES_HOST,			/* parameters void **, bytes */
	REGISTERS,			/* parameters void *, bytes */
	MAKES_PHYSICAL,
	IMPORTS_PHYSICAL,
	RETAINS,
	MAPS,
	MAKES_ARRAY,
	MAKES_ARRAY_3D,
	MAKES_MIPMAPS,
	OPENS,				/* opens memory of another process */
	IMPORTS,			/* imports memory of another API */
	ADDS_ALLOC_NODE,		/* adds an allocation node to a graph */
	ADDS_NODE,			/* adds a node of any type, described by the fifth parameter
					 * ... */
	ADDS_NODE_V2,			/* ... or by the sixth parameter */
	BEGINS_CAPTURE,
	ENDS_CAPTURE,
	MAKES_POOL,
	ENDS_POOL,
	TRIMS,				/* makes CUDA give unused memory back to the system */
	FREES,				/* this kind and the kinds after it free what their first
					 * parameter names */
	UNMAPS,
};

static const struct call_row {
	const char *name;
	uint8_t kind, space;
	uint8_t stream;			/* index of the parameter with the stream; 0: none */
	bool per_thread;		/* a NULL stream means the per-thread stream */
} rows[] = {
	{ "cuMemAlloc_v2", MAKES_LINEAR, XPU_SPACE_DEVICE, 0, false },
	{ "cuMemAllocPitch_v2", MAKES_PITCH, XPU_SPACE_DEVICE, 0, false },
	{ "cuMemAllocManaged", MAKES_LINEAR, XPU_SPACE_MANAGED, 0, false },
	{ "cuMemAllocAsync", MAKES_LINEAR, XPU_SPACE_POOL, 2, false },
	{ "cuMemAllocAsync_ptsz", MAKES_LINEAR, XPU_SPACE_POOL, 2, true },
	{ "cuMemAllocFromPoolAsync", MAKES_LINEAR, XPU_SPACE_POOL, 3, false },
	{ "cuMemAllocFromPoolAsync_ptsz", MAKES_LINEAR, XPU_SPACE_POOL, 3, true },
	{ "cuMemAllocHost_v2", MAKES_HOST, XPU_SPACE_PINNED, 0, false },
	{ "cuMemHostAlloc", MAKES_HOST, XPU_SPACE_PINNED, 0, false },
	{ "cuMemHostRegister", REGISTERS, XPU_SPACE_REGISTERED, 0, false },
	{ "cuMemHostRegister_v2", REGISTERS, XPU_SPACE_REGISTERED, 0, false },
	{ "cuMemCreate", MAKES_PHYSICAL, XPU_SPACE_PHYSICAL, 0, false },
	{ "cuMemImportFromShareableHandle", IMPORTS_PHYSICAL, XPU_SPACE_IMPORTED, 0, false },
	{ "cuMemRetainAllocationHandle", RETAINS, XPU_SPACE_PHYSICAL, 0, false },
	{ "cuMemMap", MAPS, XPU_SPACE_MAPPING, 0, false },
	{ "cuArrayCreate_v2", MAKES_ARRAY, XPU_SPACE_ARRAY, 0, false },
	{ "cuArray3DCreate_v2", MAKES_ARRAY_3D, XPU_SPACE_ARRAY, 0, false },
	{ "cuMipmappedArrayCreate", MAKES_MIPMAPS, XPU_SPACE_ARRAY, 0, false },
	{ "cuIpcOpenMemHandle", OPENS, XPU_SPACE_IMPORTED, 0, false },
	{ "cuIpcOpenMemHandle_v2", OPENS, XPU_SPACE_IMPORTED, 0, false },
	{ "cuImportExternalMemory", IMPORTS, XPU_SPACE_IMPORTED, 0, false },
	{ "cuGraphAddMemAllocNode", ADDS_ALLOC_NODE, XPU_SPACE_GRAPHS, 0, false },
	{ "cuGraphAddNode", ADDS_NODE, XPU_SPACE_GRAPHS, 0, false },
	{ "cuGraphAddNode_v2", ADDS_NODE_V2, XPU_SPACE_GRAPHS, 0, false },
	{ "cuStreamBeginCapture", BEGINS_CAPTURE, 0, 0, false },
	{ "cuStreamBeginCapture_ptsz", BEGINS_CAPTURE, 0, 0, false },
	{ "cuStreamBeginCapture_v2", BEGINS_CAPTURE, 0, 0, false },
	{ "cuStreamBeginCapture_v2_ptsz", BEGINS_CAPTURE, 0, 0, false },
	{ "cuStreamBeginCaptureToGraph", BEGINS_CAPTURE, 0, 0, false },
	{ "cuStreamBeginCaptureToGraph_ptsz", BEGINS_CAPTURE, 0, 0, false },
	{ "cuStreamEndCapture", ENDS_CAPTURE, 0, 0, false },
	{ "cuStreamEndCapture_ptsz", ENDS_CAPTURE, 0, 0, false },
	{ "cuMemPoolCreate", MAKES_POOL, 0, 0, false },
	{ "cuMemPoolDestroy", ENDS_POOL, 0, 0, false },
	{ "cuMemPoolTrimTo", TRIMS, 0, 0, false },
	{ "cuDeviceGraphMemTrim", TRIMS, 0, 0, false },
	{ "cuMemFree_v2", FREES, XPU_SPACE_DEVICE, 0, false },
	{ "cuMemFreeAsync", FREES, XPU_SPACE_DEVICE, 1, false },
	{ "cuMemFreeAsync_ptsz", FREES, XPU_SPACE_DEVICE, 1, true },
	{ "cuMemFreeHost", FREES, XPU_SPACE_PINNED, 0, false },
	{ "cuMemHostUnregister", FREES, XPU_SPACE_REGISTERED, 0, false },
	{ "cuMemRelease", FREES, XPU_SPACE_PHYSICAL, 0, false },
	{ "cuMemUnmap", UNMAPS, XPU_SPACE_MAPPING, 0, false },
	{ "cuArrayDestroy", FREES, XPU_SPACE_ARRAY, 0, false },
	{ "cuMipmappedArrayDestroy", FREES, XPU_SPACE_ARRAY, 0, false },
	{ "cuIpcCloseMemHandle", FREES, XPU_SPACE_IMPORTED, 0, false },
	{ "cuDestroyExternalMemory", FREES, XPU_SPACE_IMPORTED, 0, false },
};

static uint8_t row_of[MAX_CBID];		/* 1 + the index in rows; 0: not watched */

static atomic_bool is_exiting;
static const struct cupti *cupti;
static CUresult (*is_capturing)(CUstream, CUstreamCaptureStatus *);
static atomic_uint nr_captures;			/* number of captures in progress */

bool cumem__watch(uint32_t cbid, const char *name)
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

/*
 * Whether a capture is in progress. While the program captures a graph, CUDA may forbid other
 * calls, so the shim must make none.
 */
static bool is_capture_going_on(void)
{
	return atomic_load_explicit(&nr_captures, memory_order_relaxed) != 0;
}

void cumem__look(void)
{
	if (allocs__are_on() && !is_capture_going_on())
		levels__look();
}

void cumem__start(const struct cupti *c, bool late)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);

	cupti = c;
	if (cuda) {
		*(void **)&is_capturing = dlsym(cuda, "cuStreamIsCapturing");
		levels__start(cuda, allocs__tell_level);
		dlclose(cuda);
	}
	levels__repeat(late);
	allocs__start(late);
	if (environment__get(XPU_MIGRATIONS_ENV))
		migrations__start(c, late);
}

void cumem__repeat(void)
{
	if (allocs__are_on())
		levels__repeat(allocs__are_late());
}

void cumem__exiting(void)
{
	atomic_store(&is_exiting, true);
}

/* Return: the ordinal of the context's device, which the thread remembers. */
static uint16_t device_of(struct alloc_call *call, const CUpti_CallbackData *d)
{
	uint64_t known;
	uint32_t device;

	if (!d->context || !cupti || !cupti->get_device_id)
		return XPU_ALLOC_NO_DEVICE;
	known = call->device;
	if (known >> 16 == d->contextUid)
		return known;
	if (cupti->get_device_id(d->context, &device) != CUPTI_SUCCESS ||
	    device >= XPU_ALLOC_NO_DEVICE)
		return XPU_ALLOC_NO_DEVICE;
	call->device = (uint64_t)d->contextUid << 16 | device;
	return device;
}

static uint16_t device_at(const CUmemLocation *at)
{
	bool known = at->type == CU_MEM_LOCATION_TYPE_DEVICE && at->id >= 0 &&
		     at->id < XPU_ALLOC_NO_DEVICE;

	return known ? at->id : XPU_ALLOC_NO_DEVICE;
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

/*
 * Return: how many bytes an array takes. @levels: the number of mipmap levels, each half as wide,
 * high and deep as the level before. It may be any number: CUDA makes levels only down to a single
 * element.
 */
static uint64_t array_bytes(const CUDA_ARRAY3D_DESCRIPTOR *a, unsigned int levels)
{
	uint64_t width = a->Width, height = a->Height ?: 1, depth = a->Depth ?: 1, bytes = 0;
	bool layered = a->Flags & CUDA_ARRAY3D_LAYERED, is_last;

	do {
		is_last = width == 1 && height == 1 && (layered || depth == 1);
		bytes += width * height * depth * a->NumChannels * format_bytes(a->Format);
		width = width / 2 ?: 1;
		height = height / 2 ?: 1;
		if (!layered)
			depth = depth / 2 ?: 1;
	} while (!is_last && levels && --levels);
	return bytes;
}

#define PARAMS(fn, d)	((const fn##_params *)(d)->functionParams)

static uint64_t pointed(const void *where)
{
	return where ? *(const uint64_t *)where : 0;
}

/* The start of CUgraphNodeParams, which headers before CUDA 12.3 lack. */
struct graph_node {
	CUgraphNodeType type;
	int reserved[3];
	CUDA_MEM_ALLOC_NODE_PARAMS alloc;
};

/*
 * Fills in the address, size and device of the memory that a call made or tried to make. Return:
 * false if there is no such memory.
 */
static bool describe(struct alloc *a, enum kind kind, const CUpti_CallbackData *d, bool made)
{
	const struct graph_node *const *params, *node;
	const void *out = NULL;

	switch (kind) {
	case MAKES_LINEAR:		/* these calls all begin with the same two parameters */
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
			a->bytes =
				array_bytes(PARAMS(cuMipmappedArrayCreate, d)->pMipmappedArrayDesc,
					    PARAMS(cuMipmappedArrayCreate, d)->numMipmapLevels);
		break;
	case OPENS:
		out = PARAMS(cuIpcOpenMemHandle_v2, d)->pdptr;
		break;
	case ADDS_ALLOC_NODE:
		a->extra = 0;
		if (!PARAMS(cuGraphAddMemAllocNode, d)->nodeParams)
			return false;
		a->bytes = PARAMS(cuGraphAddMemAllocNode, d)->nodeParams->bytesize;
		a->device = device_at(
			&PARAMS(cuGraphAddMemAllocNode, d)->nodeParams->poolProps.location);
		out = &PARAMS(cuGraphAddMemAllocNode, d)->nodeParams->dptr;
		break;
	case ADDS_NODE:
	case ADDS_NODE_V2:
		params = d->functionParams;
		node = params[kind == ADDS_NODE ? 4 : 5];
		if (!node || node->type != CU_GRAPH_NODE_TYPE_MEM_ALLOC)
			return false;
		a->extra = 0;
		a->bytes = node->alloc.bytesize;
		a->device = device_at(&node->alloc.poolProps.location);
		out = &node->alloc.dptr;
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

/* Completes the event of a refused call with the number of bytes that are free on the device. */
static __attribute__((noinline, cold)) void describe_failure(struct alloc *a, CUresult result)
{
	a->what = XPU_ALLOC_FAILED;
	a->extra = result;
	a->address = UINT64_MAX;
	if (result != CUDA_ERROR_OUT_OF_MEMORY || is_capture_going_on())
		return;
	levels__look();			/* before the call failed, CUDA took back unused memory of
					 * pools */
	a->address = levels__tell_device(a->device);
}

/*
 * Records a mapping as two events. The first event says which part of which physical memory is
 * mapped.
 */
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

/*
 * Whether a stream-ordered call was captured, and has made a graph node instead of memory. Asks
 * CUDA only while a capture is in progress.
 */
static bool is_captured(const struct call_row *row, const CUpti_CallbackData *d)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	CUstream stream;

	if (__builtin_expect(!is_capture_going_on(), 1) || !row->stream || !is_capturing)
		return false;
	stream = ((const CUstream *)d->functionParams)[row->stream];
	if (!stream && row->per_thread)
		stream = CU_STREAM_PER_THREAD;
	return is_capturing(stream, &status) == CUDA_SUCCESS &&
	       status != CU_STREAM_CAPTURE_STATUS_NONE;
}

/* Asks CUDA about memory that CUDA takes on its own, if @a may have changed it: see levels.h. */
static void see_levels(const struct alloc *a)
{
	if (a->space == XPU_SPACE_POOL)
		levels__has_pool(a->device);
	if (a->space == XPU_SPACE_GRAPHS)
		levels__has_node(a->device);
	if (is_capture_going_on())
		return;
	if (a->space == XPU_SPACE_DEVICE || a->space == XPU_SPACE_POOL ||
	    a->space == XPU_SPACE_PHYSICAL)
		levels__see_device(a->device, a->space != XPU_SPACE_POOL);
}

static HOT_MEMORY void has_made(const struct call_row *row, struct alloc_call *call,
				CUpti_CallbackId cbid, const CUpti_CallbackData *d)
{
	const CUresult *result = d->functionReturnValue;
	CUresult err = result ? *result : CUDA_SUCCESS;
	struct alloc a = {
		.what = XPU_ALLOC_MADE,
		.space = row->space,
		.device = device_of(call, d),
		.extra = d->contextUid,
	};

	if (!describe(&a, row->kind, d, !err))
		return;
	if (err)
		describe_failure(&a, err);
	else if (a.space == XPU_SPACE_POOL && is_captured(row, d))
		a.space = XPU_SPACE_GRAPHS;
	if (row->kind == MAPS && !err) {
		tell_mapping(&a, d, cbid);
		return;
	}
	a.order = allocs__order(1);
	launch__tell_alloc(&a, CUPTI_CB_DOMAIN_DRIVER_API, cbid);
	if (!err)
		see_levels(&a);
	if (!err && a.space == XPU_SPACE_MANAGED)
		migrations__begin();
}

/* ---- what a call frees ----------------------------------------------------------------------- */

/*
 * Handles a call that frees memory. The call's first parameter, of 64 bits, is the address or the
 * handle of the memory.
 */
static HOT_MEMORY void has_freed(const struct call_row *row, struct alloc_call *call,
				 CUpti_CallbackId cbid, const CUpti_CallbackData *d)
{
	const CUresult *result = d->functionReturnValue;
	struct alloc a = {
		.what = XPU_ALLOC_FREED,
		.space = row->space,
		.device = row->space == XPU_SPACE_PINNED || row->space == XPU_SPACE_REGISTERED ?
			  XPU_ALLOC_NO_DEVICE : device_of(call, d),
		.address = pointed(d->functionParams),
		.order = alloc_call__end_free(call, d->correlationId),
	};

	if (!a.order)
		return;
	if (row->kind == UNMAPS)
		a.bytes = PARAMS(cuMemUnmap, d)->size;
	if (result && *result) {
		a.what = XPU_ALLOC_NOT_FREED;
		a.extra = *result;
	} else if (is_captured(row, d)) {
		a.what = XPU_ALLOC_NOT_FREED;
	}
	launch__tell_alloc(&a, CUPTI_CB_DOMAIN_DRIVER_API, cbid);
}

/* ---- captures and pools ---------------------------------------------------------------------- */

/*
 * Handles the end of a call that may have ended a capture. The count may be 0: captures that began
 * before the recording are not counted.
 */
static void capture_ended(CUresult result)
{
	unsigned int nr = atomic_load(&nr_captures);

	if (result && result != CUDA_ERROR_STREAM_CAPTURE_INVALIDATED &&
	    result != CUDA_ERROR_STREAM_CAPTURE_UNJOINED)
		return;			/* no capture has ended */
	while (nr && !atomic_compare_exchange_weak(&nr_captures, &nr, nr - 1))
		;
}

static void follow(const struct call_row *row, const CUpti_CallbackData *d)
{
	bool enters = d->callbackSite == CUPTI_API_ENTER;
	const CUresult *result = d->functionReturnValue;
	const cuMemPoolCreate_params *pool = d->functionParams;

	if (row->kind == ENDS_POOL && enters)
		levels__remove_pool(PARAMS(cuMemPoolDestroy, d)->pool);
	if (enters)
		return;
	if (row->kind == ENDS_CAPTURE)
		capture_ended(result ? *result : CUDA_SUCCESS);
	if (result && *result)
		return;
	if (row->kind == BEGINS_CAPTURE)
		atomic_fetch_add(&nr_captures, 1);
	else if (row->kind == MAKES_POOL && pool->pool && pool->poolProps)
		levels__add_pool(*pool->pool, device_at(&pool->poolProps->location));
	else if (row->kind == TRIMS)
		cumem__look();
}

HOT_MEMORY void cumem__call(CUpti_CallbackId cbid, const CUpti_CallbackData *d)
{
	uint8_t number = cbid < MAX_CBID ? __atomic_load_n(&row_of[cbid], __ATOMIC_RELAXED) : 0;
	bool enters = d->callbackSite == CUPTI_API_ENTER;
	const struct call_row *row;
	struct alloc_call *call;

	if (!number || !d->functionParams)
		return;
	row = &rows[number - 1];
	if (row->kind >= BEGINS_CAPTURE && row->kind < FREES) {
		follow(row, d);
		return;
	}
	if (row->kind < FREES && enters)
		return;
	call = launch__alloc_call();
	if (!call && (row->kind < FREES || (enters && pointed(d->functionParams))))
		launch__alloc_lost();
	if (!call)
		return;
	if (row->kind < FREES)
		has_made(row, call, cbid, d);
	else if (!enters)
		has_freed(row, call, cbid, d);
	else if (pointed(d->functionParams))	/* freeing NULL does nothing */
		alloc_call__begin_free(call, d->correlationId);
}

void cumem__end_context(CUcontext context)
{
	struct alloc a = {
		.what = XPU_ALLOC_CONTEXT_END,
		.device = XPU_ALLOC_NO_DEVICE,
	};

	if (!allocs__are_on() || atomic_load(&is_exiting) || !cupti->get_context_id ||
	    cupti->get_context_id(context, &a.extra) != CUPTI_SUCCESS)
		return;
	a.order = allocs__order(1);
	launch__tell_alloc(&a, CUPTI_CB_DOMAIN_RESOURCE,
			   CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING);
}
