// SPDX-License-Identifier: MIT
#include "gpu/cupti/watch.h"

#include <string.h>

#include "gpu/cupti/callback.h"
#include "gpu/cupti/cumem.h"
#include "gpu/cupti/kinds.h"
#include "gpu/cupti/share.h"
#include "nvtx/capture.h"
#include "wire/sender.h"
#include "xpu_record.h"

#define MAX_WATCHED	512		/* maximum number of driver calls to watch; CUDA 13 has
					 * about 150 */
#define MAX_CBID	KIND_MAX_CBID	/* CUPTI refuses ids that it lacks */

/*
 * libcudart calls this function before each launch, for callbacks that need the kernel's name. The
 * program itself does not make these calls, which are as numerous as its launches.
 */
static const char asked_for_tools[] = "cuKernelGetName";

static const struct cupti *cupti;
static CUpti_SubscriberHandle subscriber;
static uint16_t cbids[MAX_WATCHED];	/* ids of the driver calls that have a callback */
static bool may_wait[MAX_WATCHED];	/* by index in cbids: whether the call may wait for the
					 * device */
static unsigned int nr_cbids;

static const CUpti_CallbackDomain domains[] = { CUPTI_CB_DOMAIN_DRIVER_API,
						CUPTI_CB_DOMAIN_RUNTIME_API };
static enum calls_wanted have;		/* the calls whose callbacks are enabled */
static bool enabled[2][MAX_CBID];	/* callbacks enabled for calls, by domain */
static unsigned int nr_enabled;

void watch__start(const struct cupti *c, CUpti_SubscriberHandle handle)
{
	cupti = c;
	subscriber = handle;
}

/* Return: the function's name; NULL if CUPTI has no such function. May be called on any thread. */
static const char *name_of(CUpti_CallbackDomain domain, uint32_t cbid)
{
	const char *name = NULL;

	return cupti->get_callback_name(domain, cbid, &name) == CUPTI_SUCCESS ? name : NULL;
}

static bool enable(CUpti_CallbackDomain domain, uint32_t cbid, bool on)
{
	return cupti->enable_callback(on, subscriber, domain, cbid) == CUPTI_SUCCESS;
}

/* ---- launches and waits ---------------------------------------------------------------------- */

/*
 * Whether a driver call may wait for the device. Callbacks of these calls stay enabled between
 * windows, as watch__calls() explains. Callbacks of launches can be disabled.
 */
static bool is_wait(const char *name)
{
	return strncmp(name, "cuLaunch", strlen("cuLaunch")) &&
	       strncmp(name, "cuGraphLaunch", strlen("cuGraphLaunch")) && !strstr(name, "Async");
}

/*
 * Enables the callbacks of resources. Older versions of CUPTI know no graphs and refuse some of
 * these callbacks: errors are ignored.
 */
static void watch_resources(void)
{
	static const CUpti_CallbackId resources[] = {
		CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED,
		CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED,
		CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING,
		CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING,
	};
	size_t i;

	callback__cupti = cupti;
	for (i = 0; i < sizeof(resources) / sizeof(resources[0]); i++) {
		share__own_callback(CUPTI_CB_DOMAIN_RESOURCE, resources[i]);
		enable(CUPTI_CB_DOMAIN_RESOURCE, resources[i], true);
	}
}

/*
 * Enables the callbacks of launches and waits. Calls are found by name, because the numbers differ
 * between versions and the names do not.
 */
bool watch__launches(void)
{
	bool launches, waits, any = false;
	const char *name;
	uint32_t cbid;

	watch_resources();
	nr_cbids = 0;
	for (cbid = 1; cbid < MAX_CBID; cbid++) {
		name = name_of(CUPTI_CB_DOMAIN_DRIVER_API, cbid);
		if (!name)
			continue;
		launches = kinds__is_launch(name);
		waits = kinds__watch(cbid, name);
		if ((!launches && !waits) || !enable(CUPTI_CB_DOMAIN_DRIVER_API, cbid, true))
			continue;
		if (nr_cbids < MAX_WATCHED) {
			may_wait[nr_cbids] = is_wait(name);
			cbids[nr_cbids++] = cbid;
		}
		share__own_callback(CUPTI_CB_DOMAIN_DRIVER_API, cbid);
		sender__name_api(CUPTI_CB_DOMAIN_DRIVER_API, cbid, kinds__class(name), name);
		any |= launches;
	}
	return any;
}

void watch__switch(bool on, bool all)
{
	static const CUpti_CallbackId nodes[] = {
		CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED,
	};
	unsigned int i;

	for (i = 0; i < nr_cbids; i++)
		if (all || !may_wait[i])
			enable(CUPTI_CB_DOMAIN_DRIVER_API, cbids[i], on);
	for (i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++)
		enable(CUPTI_CB_DOMAIN_RESOURCE, nodes[i], on);
}

void watch__modules(void)
{
	enable(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_CREATED, true);
	enable(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_MODULE_LOADED, true);
}

/* ---- memory ---------------------------------------------------------------------------------- */

void watch__memory(void)
{
	const char *name;
	uint32_t cbid;

	for (cbid = 1; cbid < MAX_CBID; cbid++) {
		name = name_of(CUPTI_CB_DOMAIN_DRIVER_API, cbid);
		if (!name || !cumem__watch(cbid, name))
			continue;
		kinds__watch_alloc(cbid);
		if (!enable(CUPTI_CB_DOMAIN_DRIVER_API, cbid, true))
			continue;
		share__own_callback(CUPTI_CB_DOMAIN_DRIVER_API, cbid);
		sender__name_api(CUPTI_CB_DOMAIN_DRIVER_API, cbid, kinds__class(name), name);
	}
}

/* ---- calls of the API ------------------------------------------------------------------------ */

/* Return: the name of a call. This function is a calls_name_fn. */
static const char *call_name(uint16_t call, uint32_t *domain, uint32_t *number)
{
	*domain = call & XPU_CALL_RUNTIME ? CUPTI_CB_DOMAIN_RUNTIME_API :
					    CUPTI_CB_DOMAIN_DRIVER_API;
	*number = call & ~XPU_CALL_RUNTIME;
	return name_of(*domain, *number);
}

/*
 * Whether the driver function's callback has another use, in addition to the recording of API
 * calls.
 */
static bool is_used(uint32_t cbid, const char *name)
{
	return kinds__is_launch(name) || (kind__call(cbid) & ~KIND_NO_LAUNCH) >= KIND_STREAM ||
	       (capture__is_armed() && !strncmp(name, "cuProfiler", strlen("cuProfiler")));
}

static void watch_call(unsigned int i, uint32_t cbid, enum calls_wanted wanted)
{
	const char *name = enabled[i][cbid] ? NULL : name_of(domains[i], cbid);
	bool is_driver = domains[i] == CUPTI_CB_DOMAIN_DRIVER_API;

	if (!name || !strcmp(name, asked_for_tools) || !calls__is_wanted(wanted, name))
		return;
	/* Set the flag first: without it the callback would treat the call as a launch. */
	if (is_driver)
		kinds__time(cbid, true, !is_used(cbid, name));
	enabled[i][cbid] = (is_driver && is_used(cbid, name)) || enable(domains[i], cbid, true);
	nr_enabled += enabled[i][cbid];
}

bool watch__calls(enum calls_wanted wanted)
{
	unsigned int i;
	uint32_t cbid;

	if (wanted == CALLS_NONE) {
		calls__close(XPU_API_CUDA);
		return true;
	}
	for (i = 0; i < 2 && wanted > have; i++)
		for (cbid = 1; cbid < MAX_CBID; cbid++)
			watch_call(i, cbid, wanted);
	if (wanted > have)
		have = wanted;
	calls__open(XPU_API_CUDA, call_name);
	return nr_enabled;
}

/* ---- windows --------------------------------------------------------------------------------- */

static uint32_t find_cbid(const char *wanted)
{
	const char *name;
	uint32_t cbid;

	for (cbid = 1; cbid < MAX_CBID; cbid++) {
		name = name_of(CUPTI_CB_DOMAIN_DRIVER_API, cbid);
		if (name && !strcmp(name, wanted))
			return cbid;
	}
	return 0;
}

void watch__profiler(CUpti_CallbackFunc inner)
{
	bool by_calls = capture__by_profiler();
	uint32_t start = by_calls ? find_cbid("cuProfilerStart") : 0;
	uint32_t stop = by_calls ? find_cbid("cuProfilerStop") : 0;

	callback__watch_windows(inner, start, stop);
	if (!by_calls)
		return;
	enable(CUPTI_CB_DOMAIN_DRIVER_API, start, true);
	enable(CUPTI_CB_DOMAIN_DRIVER_API, stop, true);
}

void watch__nothing(void)
{
	uint32_t cbid;

	cupti->enable_domain(0, subscriber, CUPTI_CB_DOMAIN_DRIVER_API);
	cupti->enable_domain(0, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API);
	cupti->enable_domain(0, subscriber, CUPTI_CB_DOMAIN_RESOURCE);
	for (cbid = 1; cbid < MAX_CBID; cbid++)
		if (enabled[0][cbid])
			kinds__time(cbid, false, false);
	memset(enabled, 0, sizeof(enabled));
	nr_enabled = 0;
	have = CALLS_NONE;
}
