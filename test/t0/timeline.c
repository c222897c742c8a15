// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Events on a thread's track: they are in order and nested, each launch appears once, and each
 * slice is as long as its call.
 */
#include <stdlib.h>

#include "write/timeline.h"
#include "tap.h"

static struct session session;

static void add_proc(uint32_t pid)
{
	if (array_push(&session.model.machine.procs, ((struct proc){ .pid = pid })))
		bail("out of memory");
}

static void launch(struct timeline *t, uint32_t proc, uint32_t id, uint32_t thread,
		   uint64_t time_ns)
{
	struct launch l = { .time_ns = time_ns, .thread = thread, .chain = 100 + id };

	is_int(t->sink.launch(t->sink.ctx, &session.model, JOIN_KEY(proc, id), &l), 0, "launch %u",
	       id);
}

static void add_slice(struct timeline *t, uint32_t proc, uint32_t id, uint32_t thread,
		      uint64_t start_ns, uint64_t end_ns, const char *name, bool launch_only)
{
	const struct slice s = {
		.start_ns = start_ns, .end_ns = end_ns, .key = JOIN_KEY(proc, id), .name = name,
		.thread = thread, .chain = NO_INDEX, .kind = SLICE_API, .launch_only = launch_only,
	};

	is_int(t->sink.slice(t->sink.ctx, &session.model, &s), 0, "slice %s", name);
}

/*
 * Return: the track as text: "+10 name" begins a slice, "-20" ends a slice, "!15" is a launch
 * outside of all calls.
 */
static const char *walk(const struct timeline *t, size_t track)
{
	struct track_walk w = { .t = t, .track = &t->tracks.v[track] };
	static char text[1000];
	size_t nr = 0;
	int step;

	text[0] = '\0';
	while ((step = track_walk__next(&w)) != TRACK_DONE && nr < sizeof(text) - 100) {
		nr += snprintf(text + nr, sizeof(text) - nr, "%s%c%d%s%s", nr ? " " : "",
			       step == TRACK_END ? '-' : step == TRACK_SAMPLE ? '.' :
			       w.slice ? '+' : '!', (int)w.time_ns, step == TRACK_BEGIN && w.slice ?
			       w.slice->name : "", step == TRACK_BEGIN && w.slice &&
			       w.slice->chain != NO_INDEX ? "*" : "");
	}
	track_walk__exit(&w);
	return text;
}

static void nesting(void)
{
	struct timeline *t = timeline__new();

	/*
	 * Slices in random order. Thread 1: a is inside b, and c directly follows b; d overlaps c,
	 * which is impossible. e has length zero.
	 */
	add_slice(t, 0, 0, 1, 20, 30, "c", false);
	add_slice(t, 0, 0, 1, 12, 20, "a", false);
	add_slice(t, 0, 0, 1, 10, 20, "b", false);
	add_slice(t, 0, 0, 1, 25, 40, "d", false);
	add_slice(t, 0, 0, 1, 50, 50, "e", false);
	add_slice(t, 1, 0, 1, 5, 6, "other", false);
	launch(t, 0, 7, 1, 13);
	launch(t, 0, 8, 1, 45);
	launch(t, 0, 9, 0, 44);
	session.sums.first_ns = 13;
	is_int(timeline__prepare(t, &session), 0, "the timeline is prepared");
	is_int(t->first_ns, 5, "the earliest event is a slice");
	is_int(t->tracks.nr, 3, "two threads with slices and one with a launch have three tracks");
	is_int(t->pids[0], 42, "the first process keeps its pid");
	is_int(t->pids[1], PID_REUSED + 1,
	       "the second process, which has a slice only, gets another pid");
	is_str(walk(t, 0), "!44 -1044", "a launch outside of calls gets a visible length");
	is_str(walk(t, 1), "+10b +12a !13 -20 -20 -20 +20c +25d -30 -30 !45 -50 +50e -50",
	       "slices nest, overlaps are cut, and a launch ends where the next event begins");
	is_str(walk(t, 2), "+5other -6", "the other process has its own track");
	timeline__free(t);
}

static void calls(void)
{
	const struct work w = { .start_ns = 500, .duration_ns = 10 };
	struct launch l = { .time_ns = 150, .thread = 1 };
	struct timeline *t = timeline__new();

	/*
	 * The thread of launch 7 is unknown, launch 8 belongs to another process, and the filter
	 * drops launches 9 and 10.
	 */
	add_slice(t, 0, 7, NO_INDEX, 100, 200, "seven", false);
	add_slice(t, 1, 8, 1, 100, 200, "eight", false);
	add_slice(t, 0, 9, 1, 300, 400, "nine", true);
	add_slice(t, 0, 10, 1, 400, 410, "ten", true);
	add_slice(t, 0, 11, 1, 410, 420, "eleven", false);
	launch(t, 0, 7, 1, 150);
	launch(t, 0, 8, 1, 150);
	launch(t, 0, 9, 1, 350);
	is_int(t->sink.work(t->sink.ctx, &session.model, JOIN_KEY(0, 7), &w, &l, NO_INDEX, true), 0,
	       "work is added");
	session.sums.first_ns = 95;
	is_int(timeline__prepare(t, &session), 0, "the timeline is prepared again");
	is_int(t->tracks.nr, 2, "two threads with work have two tracks");
	is_str(walk(t, 0), "+100seven* !150 -200 -200 +300nine* -400 +410eleven -420",
	       "a launch is shown as its call; a dropped call is shown only if it launched");
	is_str(walk(t, 1), "+100eight -200", "the other process has its own call");
	is_int(t->device.v[0].launch_ns, 100, "the arrow to the work begins where the call begins");
	is_str(slice__category(&t->slices.v[0]), "launch",
	       "a call that is a launch has the category launch");
	is_int(t->slices.v[0].chain, 107, "a call that is a launch has its call path");
	is_str(slice__category(&t->slices.v[2]), "api", "other calls have the category api");
	timeline__free(t);
}

int main(void)
{
	add_proc(42);
	add_proc(42);
	if (array_push(&session.model.streams, ((struct stream){ .proc = 0 })))
		bail("out of memory");
	nesting();
	calls();
	array_free(&session.model.streams);
	array_free(&session.model.machine.procs);
	return done_testing();
}
