// SPDX-License-Identifier: MIT
#include "life/inherit.h"

#include <stdatomic.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/libc.h"
#include "nvtx/capture.h"
#include "wire/probe.h"

#define INHERITED_NS	2000000000ll	/* how long a listener may take to attach to a child of its
					 * target */

static atomic_bool heard_at_fork;
static uint64_t inherited_until_ns;	/* when probe__inherited is cleared */

static void forking(void)
{
	atomic_store(&heard_at_fork, probe__way == PROBE_LIVE && probe__is_heard());
}

/* Runs in the child, which may use a GPU even though its parent never did. */
static void has_forked(void)
{
	atomic_store(&probe__inherited, atomic_load(&heard_at_fork));
	capture__has_forked();
	clock__find_namespace();
	inherited_until_ns = clock__ns() + INHERITED_NS;
}

void inherit__init(void)
{
	__register_atfork(forking, NULL, has_forked, &__dso_handle);
}

void inherit__look(void)
{
	if (atomic_load(&probe__inherited) && clock__ns() >= inherited_until_ns)
		atomic_store(&probe__inherited, false);
}
