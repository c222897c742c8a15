// SPDX-License-Identifier: MIT
/*
 * floor.c - the least that anybody who wants kernel times from CUPTI must pay
 *
 * An injection library (CUDA_INJECTION64_PATH) that enables kernel activity records with buffers of
 * the usual size, counts them and throws them away. No callbacks, no stacks, nothing written.
 */
#include <cupti.h>
#include <stdio.h>
#include <stdlib.h>

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

static void at_exit(void)
{
	cuptiActivityFlushAll(1);
}

int InitializeInjection(void)
{
	cuptiActivityRegisterCallbacks(requested, completed);
	cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	atexit(at_exit);
	return 1;
}
