// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/host_clock.h"

#include "timens.h"

int64_t clock__ahead_ns;

/*
 * Finds out how far the time namespace's clock is ahead. Runs as a constructor, before anybody
 * reads the clock.
 */
static __attribute__((constructor)) void find_namespace(void)
{
	clock__ahead_ns = timens__offset_ns();
}
