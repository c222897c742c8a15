// SPDX-License-Identifier: MIT
/*
 * A launch's callback finds out which call launches, and ends with a jump to launch__entered() or
 * launch__left(). The callback needs no stack frame, because it also jumps to the functions for all
 * other calls. For the names of kernels in programs that unload modules, see names.h.
 */
#include "gpu/cupti/callback.h"

#include <stdbool.h>
#include <stdint.h>

#include "base/hot.h"
#include "gpu/cupti/cumem.h"
#include "gpu/cupti/cupti_lib.h"
#include "gpu/cupti/kinds.h"
#include "gpu/cupti/names.h"
#include "gpu/cupti/stalls.h"
#include "gpu/cupti/turns.h"
#include "launch/clones.h"
#include "launch/launch.h"
#include "nvtx/capture.h"
#include "wire/probe.h"
#include "xpu_record.h"

#define DRIVER	CUPTI_CB_DOMAIN_DRIVER_API

const struct cupti *callback__cupti;

/* ---- graphs, modules and contexts ------------------------------------------------------------ */

static __attribute__((noinline, cold)) void graph_node_created(const CUpti_GraphData *graph)
{
	uint64_t node;

	if (!callback__cupti->get_graph_node_id ||
	    callback__cupti->get_graph_node_id(graph->node, &node) != CUPTI_SUCCESS)
		return;
	if (names__wanted())
		names__captured(node, launch__current(XPU_API_CUDA));
	launch__node_made(node, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED);
}

static __attribute__((noinline, cold)) void graph_node_cloned(const CUpti_GraphData *graph)
{
	uint64_t node, original;

	if (!callback__cupti->get_graph_node_id ||
	    callback__cupti->get_graph_node_id(graph->node, &node) != CUPTI_SUCCESS ||
	    callback__cupti->get_graph_node_id(graph->originalNode, &original) != CUPTI_SUCCESS)
		return;
	if (names__wanted())
		names__cloned(node, original);
	clones__add(XPU_API_CUDA, node, original);
}

static __attribute__((noinline, cold)) void on_resource(CUpti_CallbackId cbid,
							const CUpti_ResourceData *resource)
{
	const CUpti_ModuleResourceData *module = resource->resourceDescriptor;

	/*
	 * Do this between windows, too, and even while nobody listens, because samples are always
	 * read.
	 */
	if (cbid == CUPTI_CBID_RESOURCE_CONTEXT_CREATED)
		stalls__add_context(resource->context);
	if (cbid == CUPTI_CBID_RESOURCE_MODULE_LOADED && probe__launch_attached())
		stalls__add_module(module->pCubin, module->cubinSize);
	if (cbid == CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING)
		stalls__end_module();	/* the names of its functions are lost afterwards */
	if (cbid == CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING) {
		stalls__remove_context(resource->context);
		cumem__end_context(resource->context);
	}
	if (!launch__is_on())
		return;
	switch (cbid) {
	case CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED:
		graph_node_created(resource->resourceDescriptor);
		break;
	case CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED:
		graph_node_cloned(resource->resourceDescriptor);
		break;
	case CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING:
		names__start();
		break;
	case CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING:
		names__start();
		callback__cupti->activity_flush_all(0);	/* before the context's records are lost */
		break;
	}
}

/* ---- calls that wait ------------------------------------------------------------------------- */

static __attribute__((noinline, cold)) void waited(CUpti_CallbackId cbid,
						   const CUpti_CallbackData *d)
{
	struct gpu_wait w;

	if (!launch__is_on() || !wait__measure(&w, *d->correlationData))
		return;
	kinds__describe(&w, cbid, d);
	launch__waited(DRIVER, cbid, &w);
}

/*
 * Handles a call that does not launch: a call that waits, that allocates or frees memory, or that
 * records an event for which another call may wait.
 */
static __attribute__((noinline)) void on_wait_call(CUpti_CallbackId cbid,
						   const CUpti_CallbackData *d)
{
	uint8_t call = kind__call(cbid) & ~KIND_NO_LAUNCH;
	bool record = (call & ~KIND_ALLOC) >= KIND_RECORD;

	if (call & KIND_ALLOC && allocs__are_on())
		cumem__call(cbid, d);
	if ((call & ~KIND_ALLOC) < KIND_STREAM)
		return;
	if (d->callbackSite != CUPTI_API_ENTER) {
		launch__wait_left();
		if (!record && wait__is_long(*d->correlationData))
			waited(cbid, d);
	} else if (!record) {
		launch__wait_entered(d->correlationData);
	} else {
		*d->correlationData = 0;
		if (launch__is_on())
			kinds__event_recorded(cbid, d);
	}
}

/* ---- launches, copies and sets --------------------------------------------------------------- */

/* Handles the end of a launch that took so long that it may have waited for the device. */
static __attribute__((noinline, cold)) void left_late(CUpti_CallbackId cbid,
						      const CUpti_CallbackData *d, uint32_t refused)
{
	if (refused)
		launch__refused(DRIVER, d->correlationId, refused);
	else
		launch__left();
	if (!launch__is_inside())
		waited(cbid, d);
}

static inline __attribute__((always_inline)) void left(CUpti_CallbackId cbid,
						       const CUpti_CallbackData *d)
{
	const CUresult *result = d->functionReturnValue;
	uint32_t refused = result ? *result : CUDA_SUCCESS;

	if (__builtin_expect(!refused, 1) && kind__has_no_bytes(cbid, d))
		refused = XPU_REFUSED_NO_BYTES;
	if (kind__call(cbid) && __builtin_expect(wait__is_long(*d->correlationData), 0))
		left_late(cbid, d, refused);
	else if (__builtin_expect(refused, 0))
		launch__refused(DRIVER, d->correlationId, refused);
	else
		launch__left();
}

static __attribute__((noinline, cold)) void entered_with_name(CUpti_CallbackId cbid,
							      const CUpti_CallbackData *d,
							      bool windows)
{
	if (launch__is_on())
		names__launch(cbid, d);
	(windows ? launch__entered_in_windows : launch__entered)(
		DRIVER, cbid, d->correlationId, d->correlationData, kind__call(cbid));
}

/*
 * Handles the callback of a launch. @windows: whether launches are recorded only in windows; must
 * be a constant
 */
static inline __attribute__((always_inline)) void on_launch_call(CUpti_CallbackId cbid,
								 const CUpti_CallbackData *d,
								 bool windows)
{
	if (d->callbackSite != CUPTI_API_ENTER) {
		if (windows)
			launch__forget_start(d->correlationData);
		left(cbid, d);
	} else if (__builtin_expect(names__wanted(), 0)) {
		entered_with_name(cbid, d, windows);
	} else {
		(windows ? launch__entered_in_windows : launch__entered)(
			DRIVER, cbid, d->correlationId, d->correlationData, kind__call(cbid));
	}
}

/* Handles a runtime call. Its callback is enabled only so that the call can be logged. */
static HOT_CODE __attribute__((noinline)) void on_runtime_call(CUpti_CallbackId cbid,
							       const CUpti_CallbackData *d)
{
	if (d->callbackSite != CUPTI_API_ENTER)
		launch__call_left(cbid | XPU_CALL_RUNTIME, d->correlationId);
	else
		launch__call_entered(cbid | XPU_CALL_RUNTIME, d->correlationId,
				     __builtin_frame_address(0));
}

/* Does the work of on_call() for driver calls that launch nothing or are logged as API calls. */
static inline __attribute__((always_inline)) void
on_other(CUpti_CallbackId cbid, const CUpti_CallbackData *d, bool windows)
{
	if (kind__flags(cbid) & KIND_TIMED) {
		if (d->callbackSite != CUPTI_API_ENTER)
			launch__call_left(cbid, d->correlationId);
		else
			launch__call_entered(cbid, d->correlationId, __builtin_frame_address(0));
	}
	if (kind__call(cbid) < KIND_STREAM)
		on_launch_call(cbid, d, windows);
	else
		on_wait_call(cbid, d);
}

static HOT_CODE __attribute__((noinline)) void on_other_call(CUpti_CallbackId cbid,
							     const CUpti_CallbackData *d)
{
	on_other(cbid, d, false);
}

static __attribute__((noinline)) void on_other_call_in_windows(CUpti_CallbackId cbid,
							       const CUpti_CallbackData *d)
{
	on_other(cbid, d, true);
}

static inline __attribute__((always_inline)) void
on_call(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void *data, bool windows)
{
	if (__builtin_expect(domain != DRIVER, 0)) {
		if (domain == CUPTI_CB_DOMAIN_RUNTIME_API)
			on_runtime_call(cbid, data);
		else if (domain == CUPTI_CB_DOMAIN_RESOURCE)
			on_resource(cbid, data);
		return;
	}
	if (__builtin_expect(kind__flags(cbid) < KIND_STREAM, 1))
		on_launch_call(cbid, data, windows);
	else if (windows)
		on_other_call_in_windows(cbid, data);
	else
		on_other_call(cbid, data);
}

HOT_CODE void CUPTIAPI callback__call(void *userdata, CUpti_CallbackDomain domain,
				      CUpti_CallbackId cbid, const void *data)
{
	(void)userdata;
	on_call(domain, cbid, data, false);
}

void CUPTIAPI callback__call_in_windows(void *userdata, CUpti_CallbackDomain domain,
					CUpti_CallbackId cbid, const void *data)
{
	(void)userdata;
	on_call(domain, cbid, data, true);
}

static bool is_launch(CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
	return domain == DRIVER && kind__call(cbid) < KIND_STREAM;
}

/*
 * Makes launches take turns: a launch returns only when its kernel has ended and the kernel's
 * samples can be read.
 */
void CUPTIAPI callback__call_in_turn(void *userdata, CUpti_CallbackDomain domain,
				     CUpti_CallbackId cbid, const void *data)
{
	const CUpti_CallbackData *d = data;
	bool launches = is_launch(domain, cbid);

	if (launches && d->callbackSite == CUPTI_API_ENTER)
		turns__enter(d->correlationId);
	(capture__is_armed() ? callback__call_in_windows : callback__call)(userdata, domain, cbid,
									   data);
	if (launches && d->callbackSite == CUPTI_API_EXIT)
		turns__leave();
}

/* ---- windows --------------------------------------------------------------------------------- */

static CUpti_CallbackFunc inner;
static CUpti_CallbackId start_cbid, stop_cbid;

void callback__watch_windows(CUpti_CallbackFunc function, CUpti_CallbackId start,
			     CUpti_CallbackId stop)
{
	inner = function;
	start_cbid = start;
	stop_cbid = stop;
}

/*
 * Opens the window when cuProfilerStart() returns, and closes it when cuProfilerStop() begins, as
 * NVIDIA's own tools do.
 */
static void profiler_call(bool start, const CUpti_CallbackData *d)
{
	if (start == (d->callbackSite == CUPTI_API_EXIT))
		capture__profiler(start);
}

void CUPTIAPI callback__count_windows(void *userdata, CUpti_CallbackDomain domain,
				      CUpti_CallbackId cbid, const void *data)
{
	const CUpti_CallbackData *d = data;
	bool ends, is_inside;

	if (domain == DRIVER && cbid && (cbid == start_cbid || cbid == stop_cbid)) {
		profiler_call(cbid == start_cbid, d);
		return;
	}
	if (!capture__by_launches() || !is_launch(domain, cbid)) {
		inner(userdata, domain, cbid, data);
		return;
	}
	ends = d->callbackSite != CUPTI_API_ENTER;
	is_inside = ends ? capture__launch_is_inside() : capture__launch_begins();
	if (is_inside)
		inner(userdata, domain, cbid, data);
	else
		*d->correlationData = 0;
	if (ends)
		capture__launch_ends();
}
