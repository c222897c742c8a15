// SPDX-License-Identifier: MIT
#include "life/wants.h"

#include <stddef.h>
#include <string.h>

#include "base/environment.h"
#include "launch/allocs.h"
#include "launch/torch.h"
#include "life/runs.h"
#include "wire/probe.h"
#include "wire/sender.h"
#include "xpu_record.h"
#include "xpu_slot.h"

enum calls_wanted wants__calls(void)
{
	static int told = -1;
	const char *env;

	if (told < 0) {
		env = environment__get(XPU_API_ENV);
		told = !env ? CALLS_NONE : !strcmp(env, "all") ? CALLS_ALL : CALLS_TIMED;
	}
	if (probe__live())
		return !probe__live_api() ? CALLS_NONE :
		       told == CALLS_ALL ? CALLS_ALL : CALLS_TIMED;
	return told;
}

void run__want_calls(struct run *run, enum calls_wanted wanted)
{
	if (run->vendor->want_calls)
		run->vendor->want_calls(wanted);
}

/* Like wants__calls(), for memory events. */
static bool memory_is_wanted(void)
{
	const char *env;

	if (probe__live())
		return probe__live_memory();
	env = environment__get(XPU_MEMORY_ENV);
	return env && (!strcmp(env, "on") || !strcmp(env, XPU_MEMORY_ONLY));
}

bool wants__only_memory(void)
{
	const char *env = probe__live() ? NULL : environment__get(XPU_MEMORY_ENV);

	return env && !strcmp(env, XPU_MEMORY_ONLY);
}

void wants__follow_memory(struct run *run, bool heard)
{
	bool want = heard && memory_is_wanted(), any = want;
	struct run *other;
	const char *why;

	if (want != run->has_memory) {
		run->has_memory = want;
		for_each_run(other)
			any |= other->has_memory;
		torch__watch(any);	/* must be called before a record says that memory events
					 * start */
		if (run->vendor->want_memory)
			run->vendor->want_memory(want, !run->begins);
		if (want)
			sender__name_api(XPU_DOMAIN_ALLOCATORS, XPU_ALLOCATOR_TORCH,
					 XPU_CALL_IS_ALLOCATION, "[PyTorch's allocator]");
		if (want && !allocs__are_on())
			allocs__start(!run->begins);
		if (!any)
			allocs__stop();
	}
	why = want ? torch__message() : NULL;
	if (why)
		sender__message(XPU_MESSAGE_WARNING, why);
}
