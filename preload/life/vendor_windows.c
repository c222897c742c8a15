// SPDX-License-Identifier: MIT
#include "life/vendor_windows.h"

#include "base/clock.h"
#include "launch/launcher.h"
#include "launch/ranges.h"
#include "life/drain.h"
#include "life/runs.h"
#include "life/wants.h"
#include "nvtx/capture.h"
#include "wire/sender.h"
#include "wire/wire.h"
#include "xpu_record.h"

#define LATE_NS	10000000000ull	/* how long launches may continue after their window has closed */

struct windows windows;

static void pack_window(void *window)
{
	wire__window(window);
}

static void send_window(uint16_t misc, uint64_t nr_launches)
{
	struct xpu_record_window r = {
		.hdr = { XPU_RECORD_WINDOW, misc, sizeof(r) },
		.time_ns = clock__ns(),
		.open_ns = windows.open_ns,
		.number = windows.nr,
		.nr_launches = nr_launches,
	};

	sender__pack(pack_window, &r);
}

void windows__begin(void)
{
	struct run *run;

	windows.watches = false;
	for_each_awake(run) {
		if (run->vendor->open_window && !run->late)
			run->vendor->open_window();
		run->late = run->stays = false;
		run__want_calls(run, wants__calls());
		if (run->vendor->listened)
			run->vendor->listened();
	}
	windows.late = false;
	windows.nr++;
	windows.nr_before = launcher__nr();
	windows.open_ns = clock__ns();
	send_window(XPU_MISC_WINDOW_OPEN, 0);
	launcher__enable(true);
	ranges__set_mode(RANGES_RECORD);
}

/* Makes the vendors stop recording device work until the next window. */
static void close_vendors(void)
{
	struct run *run;

	windows.late = windows.settling = false;
	for_each_awake(run) {
		run->late = false;
		run->stays = run->vendor->close_window && run->vendor->close_window();
		windows.settling |= !run->stays;
	}
}

void windows__end(void)
{
	struct run *run;

	windows.settling = windows.late = !launcher__close();
	windows.late_end_ns = clock__ns() + LATE_NS;
	ranges__set_mode(RANGES_OFF);
	for_each_awake(run) {
		run->late = windows.late;
		run__want_calls(run, CALLS_NONE);
	}
	if (!windows.late)
		close_vendors();
	send_window(0, launcher__nr() - windows.nr_before);
	windows.watches = true;
	sender__wake();
}

static bool work_is_coming(void)
{
	struct run *run;

	for_each_awake(run)
		if (!run->stays && run->vendor->has_more())
			return true;
	return false;
}

/*
 * When a window closes, some of its launches may not have returned yet. Makes the vendors stop
 * recording such a window if the launches have returned by now or the time limit is over. Return:
 * whether no such window is being recorded.
 */
static bool close_late(void)
{
	bool late;

	capture__lock();
	if (windows.late && windows.watches &&
	    (!launcher__any_in_launch() || clock__ns() >= windows.late_end_ns))
		close_vendors();
	late = windows.late;
	capture__unlock();
	return !late;
}

void windows__settle(void)
{
	struct run *run;

	if (windows.late && !close_late())
		return;
	for_each_awake(run)
		run->vendor->flush();
	if (work_is_coming())
		return;
	capture__lock();
	if (windows.watches && !windows.late && !work_is_coming()) {
		life__drain(false);
		for_each_awake(run)
			if (run->vendor->window_is_over)
				run->vendor->window_is_over();
		windows.settling = false;
	}
	capture__unlock();
}

void windows__close_at_exit(void)
{
	if (!capture__is_armed() || windows.watches)
		return;
	launcher__close();
	send_window(0, launcher__nr() - windows.nr_before);
}
