// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/host_clock.h"

#include "timens.h"

int64_t clock__ahead_ns;

/* Sets clock__ahead_ns. Runs as a constructor, before anybody reads the clock. */
static __attribute__((constructor)) void find_namespace(void)
{
	clock__ahead_ns = timens__offset_ns();
}
