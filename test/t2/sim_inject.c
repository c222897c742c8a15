// SPDX-License-Identifier: MIT
/*
 * sim_inject.c - a library that cuInit loads in sim_selftest; SIM_INJECTED in the environment is
 * the number of calls of InitializeInjection()
 *
 * With SIM_INJECT_CALLS_CUDA it also calls cuInit, which an injected library must not do.
 */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

int InitializeInjection(void);

int InitializeInjection(void)
{
	static int nr_calls;
	char text[16];

	snprintf(text, sizeof(text), "%d", ++nr_calls);
	setenv("SIM_INJECTED", text, 1);
	if (getenv("SIM_INJECT_CALLS_CUDA"))
		cuInit(0);
	return 1;
}
