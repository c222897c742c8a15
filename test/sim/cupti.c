// SPDX-License-Identifier: MIT
/*
 * cupti.c - libcupti.so.N: the subscriber and its callbacks, ids, versions
 *
 * This library may be opened late, with RTLD_LOCAL, and from inside cuInit. Like NVIDIA's library,
 * it finds libcuda.so.1 by name and gets its function table from there.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler.h"
#include "cbid_names.inc"	/* made by cbid_names.sh */

#if SIM_CUDA_MAJOR >= 13
#define DEFAULT_VERSION	CUPTI_API_VERSION
#elif SIM_CUDA_MAJOR == 12
#define DEFAULT_VERSION	24	/* CUDA 12.6 */
#else
#define DEFAULT_VERSION	18	/* CUDA 11.8 */
#endif

struct CUpti_Subscriber_st {
	CUpti_CallbackFunc callback;	/* NULL once the client has unsubscribed */
	void *userdata;
	char name[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN];
	struct CUpti_Subscriber_st *before;
	unsigned int client;
};

const struct sim_core *core;

static pthread_once_t load_once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;	/* guards subscribing, not
								 * callbacks */
static struct CUpti_Subscriber_st *current[NR_CLIENTS];	/* NULL: no such client */
static struct CUpti_Subscriber_st *subscribers;		/* all clients so far, the latest first */
static bool late_callbacks;
static uint8_t enabled[CUPTI_CB_DOMAIN_SIZE][NR_CBIDS];	/* bit masks of clients */
static uint8_t singled_out[CUPTI_CB_DOMAIN_SIZE][NR_CBIDS];	/* bit masks of clients that have
								 * disabled the callback
								 * individually */
static uint32_t version;
/* Not in dynamic TLS: LeakSanitizer would mistake the bytes in front of it for a header. */
static __thread CUptiResult last_error __attribute__((tls_model("initial-exec")));

/*
 * ---- what libcuda reports ----------------------------------------------------------------------
 */

static bool is_set(uint8_t map[][NR_CBIDS], uint32_t domain, uint32_t cbid, unsigned int client)
{
	return cbid < NR_CBIDS &&
	       __atomic_load_n(&map[domain][cbid], __ATOMIC_RELAXED) & 1u << client;
}

static bool client_wants(unsigned int client, uint32_t domain, uint32_t cbid)
{
	return __atomic_load_n(&current[client], __ATOMIC_ACQUIRE) &&
	       is_set(enabled, domain, cbid, client);
}

/* Sometimes delays a thread before a callback: XPU_SIM_LATE_CALLBACKS. */
static void hold_up(void)
{
	static const struct timespec pause = { 0, 3000000 };
	static __thread unsigned int nr;

	if (nr++ % 8 == 0)
		nanosleep(&pause, NULL);
}

/*
 * Calls the client's callback. CUDA calls that the callback makes have no callbacks. CUPTI 13.0
 * frees a subscriber while other threads are about to call its callback, and those threads use the
 * freed memory. Here such a thread aborts with a message.
 */
static __attribute__((noinline)) void call_back_client(unsigned int client, uint32_t domain,
							uint32_t cbid, const void *data)
{
	struct CUpti_Subscriber_st *s = __atomic_load_n(&current[client], __ATOMIC_ACQUIRE);
	CUpti_CallbackFunc callback;
	bool was;

	if (!s)
		return;
	if (__atomic_load_n(&late_callbacks, __ATOMIC_RELAXED))
		hold_up();
	callback = __atomic_load_n(&s->callback, __ATOMIC_RELAXED);
	if (!callback) {
		fprintf(stderr, "cupti: a thread calls back a subscriber that is freed\n");
		abort();
	}
	was = core->in_callback(true);
	callback(s->userdata, (CUpti_CallbackDomain)domain, cbid, data);
	core->in_callback(was);
}

/* Calls the callbacks of all clients that want this callback. */
static void call_back(uint32_t domain, uint32_t cbid, const void *data)
{
	for (unsigned int i = 0; i < NR_CLIENTS; i++)
		if (client_wants(i, domain, cbid))
			call_back_client(i, domain, cbid, data);
}

static __attribute__((noinline)) void call_back_api(unsigned int client, struct sim_call *call,
						    CUpti_ApiCallbackSite site)
{
	CUcontext ctx = core->current();
	uint32_t uid = 0, device;
	CUpti_CallbackData data = {
		.callbackSite = site,
		.functionName = call->name,
		.functionParams = call->params,
		.functionReturnValue = site == CUPTI_API_EXIT ? call->result : NULL,
		.symbolName = call->symbol,
		.context = ctx,
		.correlationData = &call->correlation_data[client],
		.correlationId = call->correlation_id,
	};

	if (ctx && core->context_id(ctx, &uid, &device))
		data.contextUid = uid;
	call_back_client(client, call->domain, call->cbid, &data);
}

/*
 * CUPTI leaves a client's correlation data undefined at a call's entry. Here they are the data from
 * the thread's last call.
 */
static __thread uint64_t old_data[NR_CLIENTS] __attribute__((tls_model("initial-exec")));

static void tool_api_enter(struct sim_call *call)
{
	memcpy(call->correlation_data, old_data, sizeof(old_data));
	if (activity__wants_call(call))
		call->start_ns = activity__now();
	pc__begins(call->correlation_id);
	for (unsigned int i = 0; i < NR_CLIENTS; i++) {
		if (!client_wants(i, call->domain, call->cbid))
			continue;
		call->entered |= (uint8_t)(1u << i);
		call_back_api(i, call, CUPTI_API_ENTER);
	}
}

/*
 * Return: whether CUPTI 13.0 loses count of the thread's calls if the call's callback is disabled
 * while the thread is inside the call. CUPTI does so for all driver calls except launches, copies
 * and sets, which it tracks itself.
 */
static bool loses_count(const struct sim_call *call)
{
	static const char *const followed[] = { "cuLaunch", "cuGraphLaunch", "cuMemcpy",
						"cuMemset" };

	for (size_t i = 0; i < sizeof(followed) / sizeof(followed[0]); i++)
		if (!strncmp(call->name, followed[i], strlen(followed[i])))
			return false;
	return call->domain == CUPTI_CB_DOMAIN_DRIVER_API;
}

/*
 * A client that subscribes during the call gets no exit callback, because it got no entry callback.
 * If the callback was disabled individually during the call, all later calls of the thread get this
 * call's correlation ID, also for later subscribers. Disabling the whole domain, or unsubscribing,
 * does not have this effect.
 */
static void tool_api_exit(struct sim_call *call)
{
	pc__ends(call->correlation_id);
	for (unsigned int i = 0; i < NR_CLIENTS; i++) {
		if (!(call->entered & 1u << i))
			continue;
		if (client_wants(i, call->domain, call->cbid))
			call_back_api(i, call, CUPTI_API_EXIT);
		else if (is_set(singled_out, call->domain, call->cbid, i) && loses_count(call))
			call->sticks = true;
	}
	memcpy(old_data, call->correlation_data, sizeof(old_data));
	if (call->start_ns)
		activity__call(call);
}

static void tool_resource(uint32_t cbid, CUcontext ctx, CUstream stream, void *descriptor)
{
	CUpti_ResourceData data = {
		.context = ctx,
		.resourceHandle.stream = stream,
		.resourceDescriptor = descriptor,
	};

	call_back(CUPTI_CB_DOMAIN_RESOURCE, cbid, &data);
}

static void tool_synchronized(uint32_t cbid, CUcontext ctx, CUstream stream)
{
	CUpti_SynchronizeData data = { .context = ctx, .stream = stream };

	call_back(CUPTI_CB_DOMAIN_SYNCHRONIZE, cbid, &data);
}

static void tool_initialized(void)
{
	/* CU_INIT_FINISHED is the only resource callback without data. */
	call_back(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CU_INIT_FINISHED, NULL);
	activity__devices();
}

static const struct sim_tool the_tool = {
	.api_enter = tool_api_enter,
	.api_exit = tool_api_exit,
	.resource = tool_resource,
	.synchronized = tool_synchronized,
	.initialized = tool_initialized,
	.reserve = activity__reserve,
	.complete = activity__complete,
	.abandon = activity__abandon,
	.migrate = activity__migrate,
	.thread_exit = activity__thread_exit,
};

/* ---- shared with activity.c ------------------------------------------------------------------ */

uint64_t profiler__env(const char *name)
{
	const char *s = getenv(name);

	return s ? strtoull(s, NULL, 0) : 0;
}

static void profiler__load(void)
{
	const struct sim_core *(*get_core)(uint32_t);
	void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!lib)
		return;
	*(void **)&get_core = dlsym(lib, "sim_core");
	if (!get_core || !get_core(SIM_ABI)) {
		fputs("sim: libcuda.so.1 is not the one this libcupti belongs to\n", stderr);
		return;
	}
	version = (uint32_t)profiler__env("XPU_SIM_CUPTI_VERSION");
	if (!version)
		version = DEFAULT_VERSION;
	core = get_core(SIM_ABI);
	activity__init_clock();
}

bool profiler__ready(void)
{
	pthread_once(&load_once, profiler__load);
	if (!core)
		return false;
	if (core->forked()) {
		core->count(SIM_STAT_CUPTI_AFTER_FORK, 1);
		fputs("sim: CUPTI called in a forked child\n", stderr);
		if (profiler__env("XPU_SIM_STRICT"))
			abort();
		return false;
	}
	return true;
}

CUptiResult profiler__result(CUptiResult err)
{
	if (err)
		last_error = err;
	return err;
}

uint32_t profiler__version(void)
{
	return version;
}

/*
 * Updates which events libcuda must report. They depend on the subscriptions and on the enabled
 * activity kinds.
 */
void profiler__update(void)
{
	bool active = __atomic_load_n(&current[0], __ATOMIC_RELAXED) || profiler__several() ||
		      activity__any_enabled();

	core->set_tool(&the_tool, active, activity__serializes());
}

/* ---- subscribing ----------------------------------------------------------------------------- */

bool profiler__several(void)
{
	for (unsigned int i = 1; i < NR_CLIENTS; i++)
		if (__atomic_load_n(&current[i], __ATOMIC_RELAXED))
			return true;
	return false;
}

unsigned int profiler__client(CUpti_SubscriberHandle subscriber)
{
	return subscriber && subscriber->callback ? subscriber->client : 0;
}

/*
 * Return: the number of a new client, or NR_CLIENTS if it is refused. @several: the client passes
 * its subscriber to each function
 */
static unsigned int new_client(bool several)
{
	unsigned int i;

	if (!several)
		return current[0] || profiler__several() ? NR_CLIENTS : 0;
	if (current[0] || activity__is_used_alone())
		return NR_CLIENTS;
	for (i = 1; i < NR_CLIENTS && current[i]; i++)
		;
	return i;
}

static const char *holder_name(void)
{
	for (unsigned int i = 0; i < NR_CLIENTS; i++)
		if (current[i])
			return current[i]->name;
	return "another tool";
}

static void forget_callbacks(unsigned int client)
{
	const uint8_t others = (uint8_t)(0xff - (1u << client));

	for (uint32_t d = 0; d < CUPTI_CB_DOMAIN_SIZE; d++)
		for (uint32_t i = 0; i < NR_CBIDS; i++)
			__atomic_fetch_and(&enabled[d][i], others, __ATOMIC_RELAXED);
}

static CUptiResult subscribe(CUpti_SubscriberHandle *out, CUpti_CallbackFunc callback,
			     void *userdata, const char *name, char *holder, size_t holder_bytes,
			     bool several)
{
	bool busy = profiler__env("XPU_SIM_CUPTI_BUSY");
	struct CUpti_Subscriber_st *s = NULL;
	CUptiResult err = CUPTI_SUCCESS;
	unsigned int client;

	pthread_mutex_lock(&lock);
	client = new_client(several);
	if (busy || client == NR_CLIENTS) {
		err = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
		if (holder && holder_bytes)
			snprintf(holder, holder_bytes, "CUPTI for %s",
				 busy ? "another tool" : holder_name());
	} else if (!(s = calloc(1, sizeof(*s)))) {
		err = CUPTI_ERROR_OUT_OF_MEMORY;
	} else {
		__atomic_store_n(&late_callbacks, profiler__env("XPU_SIM_LATE_CALLBACKS"),
				 __ATOMIC_RELAXED);
		forget_callbacks(client);
		s->callback = callback;
		s->userdata = userdata;
		s->client = client;
		snprintf(s->name, sizeof(s->name), "%s", name ? name : "<not provided>");
		s->before = subscribers;
		subscribers = s;
		__atomic_store_n(&current[client], s, __ATOMIC_RELEASE);
		profiler__update();
		*out = s;
	}
	pthread_mutex_unlock(&lock);
	return err;
}

SIM_EXPORT CUptiResult CUPTIAPI cuptiSubscribe(CUpti_SubscriberHandle *subscriber,
					       CUpti_CallbackFunc callback, void *userdata)
{
	PROFILER_CHECK();
	PROFILER_CHECK_ARG(subscriber);
	return profiler__result(subscribe(subscriber, callback, userdata, NULL, NULL, 0, false));
}

#if SIM_CUDA_MAJOR >= 13
/* Since 13.3 these parameters have one more member. */
struct params_of_several {
	CUpti_SubscriberParams params;
	uint8_t allow_multiple, padding[7];
};

SIM_EXPORT CUptiResult CUPTIAPI cuptiSubscribe_v2(CUpti_SubscriberHandle *subscriber,
						  CUpti_CallbackFunc callback, void *userdata,
						  CUpti_SubscriberParams *params)
{
	bool several;

	PROFILER_CHECK();
	PROFILER_CHECK_ARG(subscriber && params);
	PROFILER_CHECK_ARG(params->structSize >= CUpti_SubscriberParams_STRUCT_SIZE);
	several = version >= SEVERAL_VERSION &&
		  params->structSize >= sizeof(struct params_of_several) &&
		  ((struct params_of_several *)params)->allow_multiple;
	return profiler__result(subscribe(subscriber, callback, userdata, params->subscriberName,
					  params->oldSubscriberName, params->oldSubscriberSize,
					  several));
}
#endif

static CUptiResult unsubscribe(CUpti_SubscriberHandle subscriber)
{
	CUptiResult err = CUPTI_ERROR_INVALID_PARAMETER;
	unsigned int client = 0;

	pthread_mutex_lock(&lock);
	if (subscriber && subscriber == current[subscriber->client]) {
		client = subscriber->client;
		__atomic_store_n(&current[client], NULL, __ATOMIC_RELEASE);
		__atomic_store_n(&subscriber->callback, NULL, __ATOMIC_RELAXED);
		profiler__update();
		err = CUPTI_SUCCESS;
	}
	pthread_mutex_unlock(&lock);
	if (client)
		activity__leave(client);
	return err;
}

SIM_EXPORT CUptiResult CUPTIAPI cuptiUnsubscribe(CUpti_SubscriberHandle subscriber)
{
	PROFILER_CHECK();
	return profiler__result(unsubscribe(subscriber));
}

static void set_bit(uint8_t *byte, uint8_t bit, bool on)
{
	if (on)
		__atomic_fetch_or(byte, bit, __ATOMIC_RELAXED);
	else
		__atomic_fetch_and(byte, (uint8_t)(0xff - bit), __ATOMIC_RELAXED);
}

static CUptiResult enable(uint32_t on, CUpti_SubscriberHandle subscriber, uint32_t domain,
			  uint32_t first, uint32_t last)
{
	CUptiResult err = CUPTI_ERROR_INVALID_PARAMETER;

	pthread_mutex_lock(&lock);
	if (subscriber && subscriber == current[subscriber->client] &&
	    domain > CUPTI_CB_DOMAIN_INVALID && domain < CUPTI_CB_DOMAIN_SIZE && last < NR_CBIDS) {
		uint8_t bit = (uint8_t)(1u << subscriber->client);

		for (uint32_t i = first; i <= last; i++) {
			if (on || (first == last && is_set(enabled, domain, i, subscriber->client)))
				set_bit(&singled_out[domain][i], bit, !on);
			set_bit(&enabled[domain][i], bit, on);
		}
		err = CUPTI_SUCCESS;
	}
	pthread_mutex_unlock(&lock);
	return err;
}

SIM_EXPORT CUptiResult CUPTIAPI cuptiEnableCallback(uint32_t on, CUpti_SubscriberHandle subscriber,
						    CUpti_CallbackDomain domain,
						    CUpti_CallbackId cbid)
{
	PROFILER_CHECK();
	return profiler__result(enable(on, subscriber, domain, cbid, cbid));
}

SIM_EXPORT CUptiResult CUPTIAPI cuptiEnableDomain(uint32_t on, CUpti_SubscriberHandle subscriber,
						  CUpti_CallbackDomain domain)
{
	PROFILER_CHECK();
	return profiler__result(enable(on, subscriber, domain, 1, NR_CBIDS - 1));
}

SIM_EXPORT CUptiResult CUPTIAPI cuptiEnableAllDomains(uint32_t on,
						      CUpti_SubscriberHandle subscriber)
{
	CUptiResult err = CUPTI_SUCCESS;

	PROFILER_CHECK();
	for (uint32_t d = CUPTI_CB_DOMAIN_INVALID + 1; d < CUPTI_CB_DOMAIN_SIZE && !err; d++)
		err = enable(on, subscriber, d, 1, NR_CBIDS - 1);
	return profiler__result(err);
}

SIM_EXPORT CUptiResult CUPTIAPI cuptiGetCallbackState(uint32_t *on,
						      CUpti_SubscriberHandle subscriber,
						      CUpti_CallbackDomain domain,
						      CUpti_CallbackId cbid)
{
	PROFILER_CHECK();
	PROFILER_CHECK_ARG(on && subscriber && subscriber == current[subscriber->client] &&
			   cbid < NR_CBIDS);
	PROFILER_CHECK_ARG(domain > CUPTI_CB_DOMAIN_INVALID && domain < CUPTI_CB_DOMAIN_SIZE);
	*on = __atomic_load_n(&enabled[domain][cbid], __ATOMIC_RELAXED) >> subscriber->client & 1;
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult CUPTIAPI cuptiSupportedDomains(size_t *nr, CUpti_DomainTable *table)
{
	static CUpti_CallbackDomain domains[] = {
		CUPTI_CB_DOMAIN_DRIVER_API,
		CUPTI_CB_DOMAIN_RUNTIME_API,
		CUPTI_CB_DOMAIN_RESOURCE,
		CUPTI_CB_DOMAIN_SYNCHRONIZE,
		CUPTI_CB_DOMAIN_NVTX,
		CUPTI_CB_DOMAIN_STATE,
	};

	PROFILER_CHECK_ARG(nr && table);
	*nr = sizeof(domains) / sizeof(domains[0]);
	*table = domains;
	return CUPTI_SUCCESS;
}

static const char *callback_name(uint32_t domain, uint32_t cbid)
{
#define NAME_IN(names) (cbid < sizeof(names) / sizeof(names[0]) ? names[cbid] : NULL)
	switch (domain) {
	case CUPTI_CB_DOMAIN_DRIVER_API:
		return NAME_IN(driver_names);
	case CUPTI_CB_DOMAIN_RUNTIME_API:
		return NAME_IN(runtime_names);
	default:
		return NULL;
	}
#undef NAME_IN
}

SIM_EXPORT CUptiResult CUPTIAPI cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t cbid,
						     const char **name)
{
	PROFILER_CHECK_ARG(name);
	*name = callback_name(domain, cbid);
	PROFILER_CHECK_ARG(*name);
	return CUPTI_SUCCESS;
}

/* ---- ids, versions, errors ------------------------------------------------------------------- */

SIM_EXPORT CUptiResult CUPTIAPI cuptiGetContextId(CUcontext ctx, uint32_t *id)
{
	uint32_t device;

	PROFILER_CHECK();
	PROFILER_CHECK_ARG(id);
	if (!core->context_id(ctx, id, &device))
		return profiler__result(CUPTI_ERROR_INVALID_CONTEXT);
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult CUPTIAPI cuptiGetDeviceId(CUcontext ctx, uint32_t *device)
{
	uint32_t id;

	PROFILER_CHECK();
	PROFILER_CHECK_ARG(device);
	if (!core->context_id(ctx ? ctx : core->current(), &id, device))
		return profiler__result(CUPTI_ERROR_INVALID_DEVICE);
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult CUPTIAPI cuptiGetStreamIdEx(CUcontext ctx, CUstream stream,
						   uint8_t per_thread, uint32_t *id)
{
	PROFILER_CHECK();
	PROFILER_CHECK_ARG(id);
	if (!core->stream_id(ctx, stream, per_thread, id))
		return profiler__result(CUPTI_ERROR_INVALID_STREAM);
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult CUPTIAPI cuptiGetStreamId(CUcontext ctx, CUstream stream, uint32_t *id)
{
	return cuptiGetStreamIdEx(ctx, stream, 0, id);
}

SIM_EXPORT CUptiResult CUPTIAPI cuptiGetGraphId(CUgraph graph, uint32_t *id)
{
	PROFILER_CHECK();
	PROFILER_CHECK_ARG(id && core->graph_id(graph, id));
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult CUPTIAPI cuptiGetGraphExecId(CUgraphExec exec, uint32_t *id)
{
	PROFILER_CHECK();
	PROFILER_CHECK_ARG(id && core->graph_exec_id(exec, id));
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult CUPTIAPI cuptiGetGraphNodeId(CUgraphNode node, uint64_t *id)
{
	PROFILER_CHECK();
	PROFILER_CHECK_ARG(id && core->graph_node_id(node, id));
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult CUPTIAPI cuptiGetVersion(uint32_t *out)
{
	PROFILER_CHECK();
	PROFILER_CHECK_ARG(out);
	*out = version;
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult CUPTIAPI cuptiDeviceSupported(CUdevice dev, int *support)
{
	PROFILER_CHECK();
	PROFILER_CHECK_ARG(support);
	if (dev < 0 || (uint32_t)dev >= core->nr_devices())
		return profiler__result(CUPTI_ERROR_INVALID_DEVICE);
	*support = 1;
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult CUPTIAPI cuptiGetLastError(void)
{
	CUptiResult err = last_error;

	last_error = CUPTI_SUCCESS;
	return err;
}

SIM_EXPORT CUptiResult CUPTIAPI cuptiGetResultString(CUptiResult result, const char **out)
{
	static const struct {
		CUptiResult code;
		const char *name;
	} names[] = {
#define NAME(code) { code, #code }
		NAME(CUPTI_SUCCESS),
		NAME(CUPTI_ERROR_INVALID_PARAMETER),
		NAME(CUPTI_ERROR_INVALID_DEVICE),
		NAME(CUPTI_ERROR_INVALID_CONTEXT),
		NAME(CUPTI_ERROR_INVALID_OPERATION),
		NAME(CUPTI_ERROR_OUT_OF_MEMORY),
		NAME(CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT),
		NAME(CUPTI_ERROR_API_NOT_IMPLEMENTED),
		NAME(CUPTI_ERROR_MAX_LIMIT_REACHED),
		NAME(CUPTI_ERROR_NOT_READY),
		NAME(CUPTI_ERROR_NOT_COMPATIBLE),
		NAME(CUPTI_ERROR_NOT_INITIALIZED),
		NAME(CUPTI_ERROR_INVALID_STREAM),
		NAME(CUPTI_ERROR_INVALID_KIND),
		NAME(CUPTI_ERROR_NOT_SUPPORTED),
		NAME(CUPTI_ERROR_INSUFFICIENT_PRIVILEGES),
		NAME(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED),
		NAME(CUPTI_ERROR_HARDWARE_BUSY),
		NAME(CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED),
		NAME(CUPTI_ERROR_UNKNOWN),
#undef NAME
	};

	PROFILER_CHECK_ARG(out);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (names[i].code == result) {
			*out = names[i].name;
			return CUPTI_SUCCESS;
		}
	}
	return profiler__result(CUPTI_ERROR_INVALID_PARAMETER);
}

SIM_EXPORT CUptiResult CUPTIAPI cuptiGetErrorMessage(CUptiResult result, const char **out)
{
	return cuptiGetResultString(result, out);
}

/*
 * The simulator has no events. A valid call returns the IDs that it was given, so that a test can
 * check them.
 */
SIM_EXPORT CUptiResult CUPTIAPI cuptiEventGroupSetsCreate(CUcontext ctx, size_t bytes,
							  CUpti_EventID *ids,
							  CUpti_EventGroupSets **sets)
{
	PROFILER_CHECK();
	PROFILER_CHECK_ARG(sets && ids && bytes == sizeof(*ids) && ctx == core->current());
	*sets = (CUpti_EventGroupSets *)ids;
	return CUPTI_SUCCESS;
}

/*
 * Resets the library to its state before the first call. Buffers go back to the client, which owns
 * them.
 */
SIM_EXPORT CUptiResult CUPTIAPI cuptiFinalize(void)
{
	PROFILER_CHECK();
	if (profiler__several())
		return CUPTI_SUCCESS;	/* no client may detach other clients */
	unsubscribe(current[0]);
	activity__reset();
	profiler__update();
	return CUPTI_SUCCESS;
}
