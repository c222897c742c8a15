// SPDX-License-Identifier: MIT
#include "launch/wait.h"

/* One instant, read on two clocks. */
static uint64_t start_ticks, start_ns;

void wait__start(void)
{
	start_ns = clock__ns();
	start_ticks = clock__ticks();
}

bool wait__measure(struct gpu_wait *w, uint64_t ticks)
{
	uint64_t end_ticks = clock__ticks(), end_ns = clock__ns();

	*w = (struct gpu_wait){ .ns = 0 };
	if (ticks < start_ticks || ticks >= end_ticks || end_ns <= start_ns)
		return false;
	w->ns = (double)(end_ticks - ticks) * (end_ns - start_ns) / (end_ticks - start_ticks);
	w->start_ns = end_ns - w->ns;
	return w->ns;
}
