// SPDX-License-Identifier: MIT
/*
 * floor.c - measures the least cost of getting kernel times from CUPTI
 *
 * This injection library (CUDA_INJECTION64_PATH) enables kernel activity records with buffers of
 * the usual size and throws the records away. It has no callbacks, takes no stacks and writes
 * nothing. With FLOOR_CALLBACKS in the environment, it enables empty callbacks for the driver's
 * launches, copies and sets: the least cost of finding the caller of each launch. With
 * FLOOR_CALLS=runtime, all runtime calls have empty callbacks as well. With FLOOR_CALLS=both, all
 * driver calls have empty callbacks, too. With FLOOR_CALLS=records, all calls have activity records
 * instead. With FLOOR_COUNT, it prints at exit how often each function was called.
 */
#include <cupti.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUFFER_BYTES	(8 * 1024 * 1024)

int InitializeInjection(void);

static void CUPTIAPI requested(uint8_t **buffer, size_t *size, size_t *max_records)
{
	*size = BUFFER_BYTES;
	*buffer = aligned_alloc(8, BUFFER_BYTES);
	*max_records = 0;
}

static void CUPTIAPI completed(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
			       size_t valid)
{
	(void)context;
	(void)stream;
	(void)size;
	(void)valid;
	free(buffer);
}

#define MAX_CBID	4096

static unsigned long counts[2][MAX_CBID];	/* calls of driver and runtime functions */
static int is_counted;

static void CUPTIAPI nothing(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
			     const void *data)
{
	const CUpti_CallbackData *d = data;

	(void)userdata;
	if (is_counted && d->callbackSite == CUPTI_API_ENTER && cbid < MAX_CBID)
		__atomic_fetch_add(&counts[domain == CUPTI_CB_DOMAIN_RUNTIME_API][cbid], 1,
				   __ATOMIC_RELAXED);
}

static CUpti_SubscriberHandle subscriber;

static void subscribe(void)
{
	static const char *const prefixes[] = { "cuLaunch", "cuGraphLaunch", "cuMemcpy",
						"cuMemset" };
	const char *name;
	uint32_t cbid;
	size_t i;

	if (cuptiSubscribe(&subscriber, nothing, NULL) != CUPTI_SUCCESS)
		exit(1);
	for (cbid = 1; cbid < MAX_CBID; cbid++) {
		name = NULL;
		if (cuptiGetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API, cbid, &name) !=
			    CUPTI_SUCCESS ||
		    !name)
			continue;
		for (i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
			if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
				cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
						    cbid);
	}
}

static void enable_calls(const char *how)
{
	if (!strcmp(how, "records")) {
		cuptiActivityEnable(CUPTI_ACTIVITY_KIND_RUNTIME);
		cuptiActivityEnable(CUPTI_ACTIVITY_KIND_DRIVER);
		return;
	}
	cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API);
	if (!strcmp(how, "both"))
		cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API);
}

static void at_exit(void)
{
	const char *name;
	uint32_t i;

	cuptiActivityFlushAll(1);
	for (i = 0; is_counted && i < 2 * MAX_CBID; i++) {
		name = NULL;
		cuptiGetCallbackName(i / MAX_CBID ? CUPTI_CB_DOMAIN_RUNTIME_API :
				     CUPTI_CB_DOMAIN_DRIVER_API,
				     i % MAX_CBID, &name);
		if (counts[i / MAX_CBID][i % MAX_CBID])
			fprintf(stderr, "floor: %8lu %s\n", counts[i / MAX_CBID][i % MAX_CBID],
				name ? name : "?");
	}
}

int InitializeInjection(void)
{
	const char *calls = getenv("FLOOR_CALLS");

	is_counted = getenv("FLOOR_COUNT") != NULL;
	if (getenv("FLOOR_CALLBACKS") || calls)
		subscribe();
	cuptiActivityRegisterCallbacks(requested, completed);
	cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	if (calls)
		enable_calls(calls);
	atexit(at_exit);
	return 1;
}
