// SPDX-License-Identifier: MIT
/*
 * floor.c - measures the least cost of getting kernel times from CUPTI
 *
 * An injection library (CUDA_INJECTION64_PATH) that enables kernel activity records with buffers of
 * the usual size and throws the records away. It has no callbacks, takes no stacks and writes
 * nothing. With FLOOR_CALLBACKS in the environment, callbacks that do nothing are enabled for the
 * driver's launches, copies and sets: the least cost of finding out what made each launch.
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

static void CUPTIAPI nothing(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
			     const void *data)
{
	(void)userdata;
	(void)domain;
	(void)cbid;
	(void)data;
}

static void subscribe(void)
{
	static const char *const prefixes[] = { "cuLaunch", "cuGraphLaunch", "cuMemcpy", "cuMemset" };
	CUpti_SubscriberHandle subscriber;
	const char *name;
	uint32_t cbid;
	size_t i;

	if (cuptiSubscribe(&subscriber, nothing, NULL) != CUPTI_SUCCESS)
		exit(1);
	for (cbid = 1; cbid < 4096; cbid++) {
		name = NULL;
		if (cuptiGetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API, cbid, &name) != CUPTI_SUCCESS ||
		    !name)
			continue;
		for (i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
			if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
				cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, cbid);
	}
}

static void at_exit(void)
{
	cuptiActivityFlushAll(1);
}

int InitializeInjection(void)
{
	if (getenv("FLOOR_CALLBACKS"))
		subscribe();
	cuptiActivityRegisterCallbacks(requested, completed);
	cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	atexit(at_exit);
	return 1;
}
