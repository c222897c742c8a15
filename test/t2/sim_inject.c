// SPDX-License-Identifier: MIT
/*
 * sim_inject.c - what sim_selftest has cuInit load: counts its calls in the environment
 *
 * With SIM_INJECT_CALLS_CUDA it also calls CUDA, which an injected library must not do there.
 */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

int InitializeInjection(void);

int InitializeInjection(void)
{
	static int nr_calls;
	const char *calls = getenv("SIM_INJECT_CALLS_CUDA");
	int version = 0;
	char text[16];

	snprintf(text, sizeof(text), "%d", ++nr_calls);
	setenv("SIM_INJECTED", text, 1);
	if (calls && *calls == 'v')
		fprintf(stderr, "cuDriverGetVersion: %d\n", (int)cuDriverGetVersion(&version));
	if (calls && *calls == 'i')
		fprintf(stderr, "cuInit: %d\n", (int)cuInit(0));
	if (calls && *calls == 'c')
		fprintf(stderr, "cuDeviceGetCount: %d\n", (int)cuDeviceGetCount(&version));
	return calls && *calls == '0' ? 0 : 1;
}
