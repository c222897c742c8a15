// SPDX-License-Identifier: MIT
#include "launch/capture_window.h"

#include "base/memory.h"

bool capture_window__are_used;
uint8_t *capture_window__marks[XPU_APIS];	/* pages get memory when they are used */

bool capture_window__start(unsigned int api)
{
	if (!capture_window__marks[api])
		capture_window__marks[api] = memory__map(CAPTURE_MARKS);
	return capture_window__marks[api];
}
