// SPDX-License-Identifier: MIT
/*
 * sim_inject.c - what sim_selftest has cuInit load: counts its calls in the environment
 *
 * It calls back into the driver, as an injected tool does.
 */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

int InitializeInjection(void);

int InitializeInjection(void)
{
	static int nr_calls;
	char text[16];
	int version;

	cuInit(0);
	cuDriverGetVersion(&version);
	snprintf(text, sizeof(text), "%d", ++nr_calls);
	setenv("SIM_INJECTED", text, 1);
	return 1;
}
