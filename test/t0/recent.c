// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The latest events of processes that are not recorded: which events are kept, and the limit on
 * their number.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"
#include "target/recent.h"

#define SECOND	1000000000ull

struct event {
	struct perf_event_header hdr;
	uint32_t nr;
	char padding[4096];
};

static struct recent *r;
static uint64_t now_ns = SECOND;
static uint32_t taken[64], nr_taken;

static void add(pid_t pid, bool begins, uint32_t nr, uint16_t bytes)
{
	struct event e = { .hdr = { .type = PERF_RECORD_MMAP2, .size = bytes }, .nr = nr };

	recent__add(r, pid, begins, now_ns++, &e.hdr);
}

static void on_event(void *ctx, const struct perf_event_header *hdr)
{
	(void)ctx;
	if (nr_taken < 64)
		taken[nr_taken] = ((const struct event *)hdr)->nr;
	nr_taken++;
}

static uint32_t take(pid_t pid)
{
	nr_taken = 0;
	recent__take(r, pid, on_event, NULL);
	return nr_taken;
}

int main(void)
{
	const uint16_t small = offsetof(struct event, padding);
	int i;

	r = recent__new();
	add(1, false, 1, small);
	is_int(take(1), 0, "events of a process are kept only after its exec");

	add(1, true, 1, small);
	add(2, true, 2, small);
	add(1, false, 3, small);
	ok(take(1) == 2 && taken[0] == 1 && taken[1] == 3,
	   "events of one process are kept, in their order");
	is_int(take(1), 0, "events that were taken are not taken again");
	ok(take(2) == 1 && taken[0] == 2, "events of the other process are kept");

	add(1, true, 1, small);
	add(1, true, 2, small);
	ok(take(1) == 1 && taken[0] == 2, "an exec removes the events of the earlier image");

	add(1, true, 1, small);
	recent__forget(r, 1);
	add(1, false, 2, small);
	is_int(take(1), 0, "events of an ended process are removed");

	add(1, true, 1, small);
	now_ns += 20 * SECOND;
	add(1, false, 2, small);
	add(2, true, 3, small);
	now_ns += 20 * SECOND;
	add(2, false, 4, small);
	is_int(take(1), 0,
	       "if the oldest event of a process is too old, none of its events are taken");
	is_int(take(2), 2, "events of other processes are kept");

	add(2, true, 1, small);
	add(1, true, 1, small);
	for (i = 0; i < 300; i++)
		add(1, false, 2, sizeof(struct event));
	is_int(take(1), 0, "of a process with too many events none are taken");
	is_int(take(2), 1, "events of other processes are kept");

	for (i = 0; i < 10000; i++)
		add(1000 + i, true, i, sizeof(struct event));
	is_int(take(1000), 0,
	       "when all processes have too many events, the oldest events are dropped");
	ok(take(10999) == 1 && taken[0] == 9999, "the latest events are kept");
	for (i = 0, nr_taken = 0; i < 10000; i++)
		recent__take(r, 1000 + i, on_event, NULL);
	ok(nr_taken > 3000 && nr_taken < 5000, "16 MB of events are kept: %u", nr_taken);
	recent__free(r);
	return done_testing();
}
