// SPDX-License-Identifier: MIT
/*
 * Windows of a recording, including impossible ones: which window contains a moment, and how long
 * the windows are in total.
 */
#include "model/captured.h"
#include "tap.h"
#include "xpu_record.h"

static int take(struct captured *c, uint32_t proc, uint32_t number, uint64_t open_ns,
		uint64_t close_ns)
{
	struct xpu_record_window r = {
		.hdr = { XPU_RECORD_WINDOW, close_ns ? 0 : XPU_MISC_WINDOW_OPEN, sizeof(r) },
		.time_ns = close_ns ?: open_ns + 1, .open_ns = open_ns, .number = number,
		.nr_launches = close_ns ? number * 10 : 0,
	};

	return captured__take(c, proc, &r, 0);
}

static uint32_t at(const struct captured *c, uint32_t proc, uint64_t time_ns)
{
	const struct captured_window *w = captured__at(c, proc, time_ns);

	return w ? w->number : 0;
}

static void two_processes(void)
{
	struct captured c = { 0 };
	struct filter f = { 0 };
	struct busy recorded = { 0 };
	char why[128];
	size_t nr;

	take(&c, 1, 1, 100, 0);
	take(&c, 0, 1, 150, 0);
	take(&c, 1, 1, 100, 200);
	take(&c, 0, 1, 150, 250);
	take(&c, 1, 2, 300, 0);
	take(&c, 1, 2, 300, 400);
	take(&c, 0, 2, 1000, 0);	/* killed */
	captured__sort(&c);
	is_int(c.windows.nr, 4, "two processes have four windows");
	is_int(at(&c, 1, 99), 0, "a time before the first window is in no window");
	is_int(at(&c, 1, 100), 1, "a window contains the moment when it opens");
	is_int(at(&c, 1, 200), 1, "a window contains the moment when it closes");
	is_int(at(&c, 1, 201), 0, "a time after a window is in no window");
	is_int(at(&c, 1, 350), 2, "a time in the second window is found in that window");
	is_int(at(&c, 0, 350), 0, "the other process's windows do not count");
	is_int(at(&c, 0, 1u << 30), 2, "a window without an end is open forever");
	is_int(at(&c, 2, 150), 0, "in a process without windows no time is in a window");
	is_int(captured__at(&c, 1, 350)->nr_launches, 20, "a window has its launches");

	captured_window__extend(captured__at(&c, 1, 350), 500);
	captured_window__extend(captured__at(&c, 0, 2000), 1500);
	captured__collect(&c, NULL, 0, &nr, &recorded);
	is_int(nr, 4, "four windows are summed up");
	is_int(busy__ns(&recorded), 150 + 200 + 500,
	       "windows last until their device work ends; their sum counts overlaps once");
	is_int(filter__set(&f, FILTER_WINDOW, "2-7", why), 0, "--window 2-7 is accepted");
	busy__free(&recorded);
	memset(&recorded, 0, sizeof(recorded));
	captured__collect(&c, &f, 0, &nr, &recorded);
	is_int(nr, 2, "--window 2-7 selects the second windows");
	is_int(busy__ns(&recorded), 200 + 500, "only the selected windows are in the sum");
	busy__free(&recorded);
	filter__free(&f);
	captured__free(&c);
}

static void strange_records(void)
{
	struct captured c = { 0 };

	take(&c, 0, 1, 100, 50);	/* closes before it opens */
	is_int(c.windows.nr, 0, "a window that closes before it opens is left out");
	take(&c, 0, 1, 100, 0);
	take(&c, 0, 1, 100, 0);		/* opens twice */
	take(&c, 0, 2, 300, 0);		/* the end of the first window was lost */
	take(&c, 0, 1, 100, 200);	/* arrives late, although records should be in order */
	take(&c, 0, 2, 310, 400);	/* the end of another window */
	take(&c, 0, 3, 250, 0);		/* goes back in time */
	captured__sort(&c);
	is_int(c.windows.nr, 2, "a window that opens twice or goes back in time is left out");
	is_int(c.windows.v[0].close_ns, 300,
	       "a window without an end ends when the next window opens");
	is_int(c.windows.v[1].close_ns, UINT64_MAX,
	       "the end of a window with another number is not used");
	is_int(take(&c, 0, 4, UINT64_MAX - 5, 0), 0, "a window at the end of time is accepted");
	captured__free(&c);
}

int main(void)
{
	two_processes();
	strange_records();
	return done_testing();
}
