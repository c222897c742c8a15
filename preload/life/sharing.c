// SPDX-License-Identifier: MIT
#include "life/sharing.h"

#include <stddef.h>

#include "launch/launcher.h"
#include "launch/own_maps.h"
#include "wire/probe.h"
#include "wire/shm.h"
#include "xpu_shm.h"

static enum shm_state counted = SHM_NONE;	/* the state at the last call of count() */
static bool wants;				/* the last call of want() was want(true) */

/* Adds or removes xpuload as a listener to the optional records that it wants. */
static void want(bool more)
{
	if (wants == more)
		return;
	wants = more;
	if (shm__wants(XPU_SHM_WANTS_RANGES))
		probe__count(probe__live() ? &xpu_live_range_semaphore : &xpu_range_semaphore,
			     more);
	if (!probe__live())
		return;			/* the environment says what else is wanted */
	if (shm__wants(XPU_SHM_WANTS_API))
		probe__count(&xpu_live_api_semaphore, more);
	if (shm__wants(XPU_SHM_WANTS_MEMORY))
		probe__count(&xpu_live_memory_semaphore, more);
	if (shm__wants(XPU_SHM_WANTS_STALLS))
		probe__count(&xpu_live_stalls_semaphore, more);
}

void sharing__want(void)
{
	want(true);
}

static void count(enum shm_state now)
{
	bool launches = counted == SHM_OPEN, all = launches || counted == SHM_LEAVING;

	counted = now;
	if (launches != (now == SHM_OPEN))
		probe__count(probe__live() ? &xpu_live_launch_semaphore : &xpu_launch_semaphore,
			     !launches);
	if (launches)
		want(false);
	if (all != (now == SHM_OPEN || now == SHM_LEAVING))
		probe__count(probe__live() ? &xpu_live_batch_semaphore : &xpu_batch_semaphore,
			     !all);
}

bool sharing__follow(void)
{
	enum shm_state now;

	if (!probe__shares_memory())
		return false;
	now = shm__state();
	if (now != counted)
		count(now);
	if (now != SHM_GONE || !probe__live())
		return false;
	sharing__stop();
	return true;
}

static void set_way(enum probe_way way)
{
	__atomic_store_n(&probe__way, way, __ATOMIC_RELEASE);
}

enum sharing_answer sharing__start(const char *where)
{
	if (probe__way == PROBE_LIVE_SHM && shm__is_started(where))
		return SHARING_LATER;	/* this call repeats an earlier call */
	sharing__stop();
	if (!probe__live() || probe__is_heard())
		return SHARING_TAKEN;
	if (shm__start_again(where, launcher__nr()))
		return SHARING_NO_MEMORY;
	own_maps__forget();
	counted = SHM_NONE;
	set_way(PROBE_LIVE_SHM);
	want(true);
	return SHARING_LATER;
}

void sharing__stop(void)
{
	if (probe__way != PROBE_LIVE_SHM)
		return;
	shm__stop();
	count(SHM_GONE);
	want(false);
	set_way(PROBE_LIVE);
}
