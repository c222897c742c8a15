/* SPDX-License-Identifier: MIT */
/* uuid.h - the UUIDs of simulated GPUs, shared by all libraries */
#ifndef TEST_SIM_UUID_H
#define TEST_SIM_UUID_H

#include <stdlib.h>
#include <string.h>

static inline void sim_uuid(char bytes[16], int ordinal)
{
	const char *machine = getenv("XPU_SIM_MACHINE");

	memcpy(bytes, "simulated gpu   ", 16);
	if (machine)
		memcpy(bytes + 7, machine, strnlen(machine, 8));
	bytes[15] = (char)('0' + ordinal);
}

#endif /* TEST_SIM_UUID_H */
