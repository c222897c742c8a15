// SPDX-License-Identifier: MIT
#include "life/states.h"

#include <stdint.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/environment.h"
#include "base/launcher_labels.h"
#include "launch/capture_window.h"
#include "launch/launcher.h"
#include "launch/paths.h"
#include "launch/ranges.h"
#include "launch/unwind.h"
#include "launch/wait.h"
#include "life/drain.h"
#include "life/inherit.h"
#include "life/runs.h"
#include "life/sharing.h"
#include "life/vendor_windows.h"
#include "life/wants.h"
#include "nvtx/capture.h"
#include "nvtx/nvtx_injection.h"
#include "python/python.h"
#include "wire/probe.h"
#include "wire/sender.h"
#include "wire/wire.h"
#include "xpu_record.h"

#define HELLO_NS	100000000ull	/* time between repetitions of definitions for a new
					 * listener */

bool states__over;

bool states__is_awake(const struct vendor *vendor)
{
	struct run *run = runs__of(vendor);

	return run && run->state == GPU_AWAKE;
}

void states__drain_last(const struct vendor *vendor)
{
	bool last = !runs__any_awake(runs__of(vendor));

	if (last)
		launcher__enable(false);
	life__drain(last);
}

/*
 * Reports environment variables whose values no launcher sets: the program may use these names
 * itself.
 */
static void tell_of_labels(void)
{
	const struct launcher_labels *labels = environment__labels();
	char text[256];

	if (!labels->nr_refused)
		return;
	snprintf(text, sizeof(text), "the environment variable %s has a value that no launcher "
				     "sets: it is not recorded as a label%s", labels->refused,
		 labels->nr_refused > 1 ? ", and neither are others" : "");
	sender__message(XPU_MESSAGE_INFO, text);
}

/* Prepares the recording of launches, for the first vendor that is awake. */
static void prepare(void)
{
	const char *why;
	int level;

	unwind__init();
	why = unwind__message(&level);
	if (why)
		sender__message(level, why);
	why = nvtx__message();
	if (why)
		sender__message(XPU_MESSAGE_WARNING, why);
	tell_of_labels();
	paths__init();
	python__look(unwinder__bytes());
	clock__init();
	wait__start();
	launcher__discard();
}

/* Says once that the windows of --capture need memory. */
static void tell_no_memory(void)
{
	static bool said;

	if (!said)
		sender__message(XPU_MESSAGE_WARNING,
				"no memory for the marks of --capture (4 MiB): nothing is recorded "
				"until it can be mapped");
	said = true;
}

static void wake(struct run *run)
{
	const struct vendor *vendor = run->vendor;
	const struct gpu_wants wants = {
		.windows = capture__is_armed(),
		.only_memory = wants__only_memory(),
	};
	bool first = !runs__any_heard(NULL);

	if (wants.windows && !capture_window__start(vendor->api)) {
		tell_no_memory();	/* there may be enough memory the next time */
		return;
	}
	if (first)
		wire__counters.hdr.misc = 0;	/* the last batch may have said that recording had
						 * stopped */
	run__set_state(run, vendor->open(&wants));
	if (run->state != GPU_AWAKE)
		return;
	run->unheard = run->late = run->stays = false;
	if (first) {
		windows.watches = wants.windows;
		windows.late = false;
		prepare();
	}
	if (!windows.watches) {
		if (!wants.only_memory)
			run__want_calls(run, wants__calls());
		if (first)
			launcher__enable(true);
	}
	if (vendor->begin)
		vendor->begin();
	if (!windows.watches) {
		ranges__set_mode(RANGES_RECORD);
		if (wants.windows && vendor->open_window)
			vendor->open_window();	/* another vendor's begin() has opened the window */
		if (vendor->listened)
			vendor->listened();
	} else if (capture__watch()) {
		windows__begin();
	} else {
		ranges__set_mode(RANGES_OFF);
	}
	life__repeat_definitions();
	wants__follow_memory(run, true);
	python__tell(false);
	if (vendor->has_begun)
		vendor->has_begun();
}

void states__wake(const struct vendor *vendor)
{
	struct run *run = runs__of(vendor);

	if (run && run->state == GPU_DORMANT && probe__is_heard())
		wake(run);
}

static void doze(struct run *run)
{
	bool last = !runs__any_awake(run);

	if (last) {
		launcher__close();
		ranges__set_mode(RANGES_OFF);
	}
	run__want_calls(run, CALLS_NONE);
	run->vendor->stop();
	life__drain(last);
	wants__follow_memory(run, false);	/* called last, because stop() may have brought
						 * migrations */
	run->vendor->close();
	run__set_state(run, GPU_DORMANT);
}

void states__doze(const struct vendor *vendor)
{
	struct run *run = runs__of(vendor);

	if (run && run->state == GPU_AWAKE)
		doze(run);
}

/*
 * Ends a recording whose xpuload has ended, because another listener may be waiting for
 * definitions.
 */
static void follow_shared_memory(void)
{
	struct run *run;

	if (!sharing__follow() || !probe__is_heard())
		return;
	for_each_awake(run)
		if (!run->vendor->may_close || run->vendor->may_close())
			doze(run);
}

/*
 * Follows the listeners of a vendor that records nothing, but stays awake, while nobody listens.
 */
static void follow_beside(struct run *run, bool heard)
{
	if (heard == !run->unheard)
		return;
	run->unheard = !heard;
	if (heard && !runs__any_heard(run))
		launcher__discard();
	launcher__enable(heard && !windows.watches);
	ranges__set_mode(heard && !windows.watches ? RANGES_RECORD : RANGES_OFF);
	if (heard) {
		life__repeat_definitions();
		python__tell(false);
	} else if (run->vendor->unheard && run->vendor->unheard()) {
		states__drain_last(run->vendor);
	}
}

static void follow_dormant(struct run *run, bool heard)
{
	const struct vendor *vendor = run->vendor;

	if (heard && (!vendor->may_open || vendor->may_open()))
		wake(run);
	else if (!heard && vendor->forget_said)
		vendor->forget_said();	/* what was said must be said to the next listener, too */
}

static void follow_awake(struct run *run, bool heard)
{
	const struct vendor *vendor = run->vendor;

	if (!heard && (!vendor->may_close || vendor->may_close())) {
		doze(run);
		return;
	}
	follow_beside(run, heard);
	wants__follow_memory(run, heard);
	if (!windows.watches && !wants__only_memory())
		run__want_calls(run, heard ? wants__calls() : CALLS_NONE);
	if (heard && !windows.watches && vendor->listened)
		vendor->listened();
}

void states__follow(void)
{
	static uint64_t hello_ns;	/* when to repeat the definitions */
	struct run *run;
	bool heard;

	if (states__over)
		return;
	follow_shared_memory();
	inherit__look();
	heard = probe__is_heard();
	for_each_run(run) {
		switch (run->state) {
		case GPU_DORMANT:
			follow_dormant(run, heard);
			break;
		case GPU_AWAKE:
			follow_awake(run, heard);
			break;
		case GPU_FAILED:
			if (!heard)
				run__set_state(run, GPU_DORMANT);
			break;
		}
	}
	if (runs__any_awake(NULL) && probe__hello() && clock__ns() >= hello_ns) {
		life__repeat_definitions();
		python__tell(false);
		hello_ns = clock__ns() + HELLO_NS;
	}
}
