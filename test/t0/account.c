// SPDX-License-Identifier: GPL-3.0-or-later
/* The account of a thread: its times add up to its lifetime, whatever the clocks say. */
#include <stdint.h>
#include <stdlib.h>

#include "tap.h"
#include "xpu_record.h"
#include "xpu_time.h"
#include "xpu.h"

#define US	1000ull
#define MS	1000000ull

/* Return: a thread that started at 1 ms and went off the CPU at 10 ms, for the reason @kind. */
static struct xpu_thread_state stopped(uint32_t state, uint32_t kind, uint64_t wake_ns)
{
	return (struct xpu_thread_state){
		.start_ns = 1 * MS, .since_ns = 10 * MS, .wake_ns = wake_ns, .exec_ns = 9 * MS,
		.state = state, .kind = kind, .time = { .run_ns = 9 * MS },
	};
}

static uint64_t sum(const struct xpu_thread_state *t)
{
	uint64_t ns = t->time.run_ns;
	int kind;

	for (kind = 0; kind < XPU_OFF_NR; kind++)
		ns += t->time.off_ns[kind];
	return ns;
}

static void is_whole(const struct xpu_thread_state *t, const char *name)
{
	is_int(sum(t), t->since_ns - t->start_ns, "%s: the times add up to the lifetime", name);
}

static void test_differences(void)
{
	is_int(xpu_ns_between(5, 7), 2,
	       "xpu_ns_between() is the difference if the second time is later");
	is_int(xpu_ns_between(7, 5), 0, "xpu_ns_between() is 0 if the second time is earlier");
	is_int(xpu_ns_between(0, UINT64_MAX) == UINT64_MAX, 1,
	       "xpu_ns_between() of 0 and the largest time is the largest time");
	is_int(xpu_ns_apart(5, 7), 2, "xpu_ns_apart() is the difference");
	is_int(xpu_ns_apart(7, 5), 2, "xpu_ns_apart() is the difference in the other order, too");
}

static void test_begin(void)
{
	struct xpu_thread_state t = stopped(XPU_THREAD_BLOCKED, XPU_OFF_LOCK, 14 * MS);
	struct xpu_off_time off = xpu_thread__begin(&t, 15 * MS);

	is_int(off.woken_ns - off.start_ns, 4 * MS, "the thread was blocked until it was woken");
	is_int(off.end_ns - off.woken_ns, 1 * MS, "the thread was runnable after it was woken");
	is_int(t.time.off_ns[XPU_OFF_LOCK], 4 * MS, "blocked time is summed up");
	is_int(t.time.off_ns[XPU_OFF_RUNNABLE], 1 * MS, "runnable time is summed up");
	is_int(t.state, XPU_THREAD_RUNNING, "the thread is running again");
	is_whole(&t, "blocked, then runnable, then running");

	t = stopped(XPU_THREAD_BLOCKED, XPU_OFF_IO, 0);
	xpu_thread__begin(&t, 15 * MS);
	is_int(t.time.off_ns[XPU_OFF_IO], 5 * MS,
	       "waking not seen: all time off the CPU is blocked");
	is_whole(&t, "waking not seen");

	t = stopped(XPU_THREAD_RUNNABLE, XPU_OFF_RUNNABLE, 0);
	xpu_thread__begin(&t, 15 * MS);
	is_int(t.time.off_ns[XPU_OFF_RUNNABLE], 5 * MS,
	       "preempted: all time off the CPU is runnable");
	is_whole(&t, "preempted");

	t = stopped(XPU_THREAD_BLOCKED, XPU_OFF_CALL, 14 * MS);
	xpu_thread__begin(&t, 15 * MS);
	is_int(t.time.off_ns[XPU_OFF_CALL], 5 * MS,
	       "in a call that waits: all time off the CPU belongs to the call");
	is_whole(&t, "in a call that waits");
}

/* Tests a later event whose timestamp is some us too early. */
static void test_clocks(void)
{
	struct xpu_thread_state t = stopped(XPU_THREAD_BLOCKED, XPU_OFF_SLEEP, 15 * MS + 27081);
	struct xpu_off_time off = xpu_thread__begin(&t, 15 * MS);

	is_int(off.end_ns - off.woken_ns, 0, "woken after it began to run: runnable for 0 ns");
	is_int(t.time.off_ns[XPU_OFF_RUNNABLE], 0,
	       "woken after it began to run: no runnable time is summed up");
	is_int(t.time.off_ns[XPU_OFF_SLEEP], 5 * MS + 27081,
	       "woken after it began to run: asleep until it began to run");
	is_whole(&t, "woken after it began to run");
	xpu_thread__ran(&t, 15 * MS + 20000);
	is_int(t.time.run_ns, 9 * MS, "stopped before it was woken: it ran for 0 ns");
	is_whole(&t, "stopped before it was woken");
	xpu_thread__ran(&t, 15 * MS + 30000);
	is_int(t.time.run_ns, 9 * MS + 2919,
	       "stopped before it was woken: its running time counts from the later time");
	is_whole(&t, "running since the later time");

	t = stopped(XPU_THREAD_BLOCKED, XPU_OFF_SLEEP, 10 * MS - 50 * US);
	off = xpu_thread__begin(&t, 10 * MS + 50 * US);
	is_int(off.woken_ns - off.start_ns, 0, "woken before it stopped: blocked for 0 ns");
	is_int(off.end_ns - off.woken_ns, 50 * US,
	       "woken before it stopped: runnable since it stopped");
	is_whole(&t, "woken before it stopped");

	t = stopped(XPU_THREAD_RUNNABLE, XPU_OFF_RUNNABLE, 0);
	off = xpu_thread__begin(&t, 10 * MS - 132172);
	is_int(off.end_ns - off.start_ns, 0, "ran again before it stopped: off the CPU for 0 ns");
	is_whole(&t, "ran again before it stopped");
}

/* Tests a thread whose start was not seen: Linux reports how long the thread has run. */
static void test_unseen(void)
{
	struct xpu_thread_state t = stopped(XPU_THREAD_BLOCKED, XPU_OFF_IO, 14 * MS);

	xpu_thread__begin(&t, xpu_thread__unseen_begin(&t, 9 * MS + 300 * US, 15 * MS));
	xpu_thread__ran(&t, 15 * MS);
	is_int(t.time.off_ns[XPU_OFF_IO], 4 * MS, "start not seen: blocked until it was woken");
	is_int(t.time.off_ns[XPU_OFF_RUNNABLE], 700 * US,
	       "start not seen: runnable since it was woken");
	is_int(t.time.run_ns, 9 * MS + 300 * US,
	       "start not seen: it ran as long as the kernel reports");
	is_whole(&t, "beginning not seen");

	t = stopped(XPU_THREAD_BLOCKED, XPU_OFF_IO, 14 * MS);
	xpu_thread__begin(&t, xpu_thread__unseen_begin(&t, 9 * MS + 1 * MS + 27081, 15 * MS));
	xpu_thread__ran(&t, 15 * MS);
	is_int(t.time.off_ns[XPU_OFF_RUNNABLE], 0,
	       "running since before it was woken: runnable for 0 ns");
	is_int(t.time.run_ns, 10 * MS,
	       "running since before it was woken: all time is running time");
	is_whole(&t, "running since before it was woken");

	t = stopped(XPU_THREAD_RUNNABLE, XPU_OFF_RUNNABLE, 0);
	is_int(xpu_thread__unseen_begin(&t, 90 * MS, 15 * MS), 10 * MS,
	       "start not seen: a run begins no earlier than the thread's last stop");
	is_int(xpu_thread__unseen_begin(&t, 1 * MS, 15 * MS), 15 * MS,
	       "start not seen: a running time below 0 counts as 0");
	is_int(xpu_thread__unseen_begin(&t, 90 * MS, 9 * MS), 9 * MS,
	       "start not seen: a clock that goes backwards is accepted");
}

/* Tests many thread lifetimes with clocks that differ by up to 200 us. */
static void test_lives(void)
{
	uint64_t nr_bad_sums = 0, nr_long = 0, now_ns = 0, exec_ns = 0, i;
	struct xpu_thread_state t = { 0 };
	struct xpu_off_time off;

	srand(1);
#define CLOCK()	(now_ns += rand() % 30000, now_ns + rand() % 200000)
	for (i = 0; i < 100000; i++) {
		if (i % 100 == 0) {
			now_ns = 10 * MS + rand() % MS;
			exec_ns = 0;
			t = (struct xpu_thread_state){ .state = XPU_THREAD_RUNNABLE };
			t.start_ns = t.since_ns = CLOCK();
		}
		if (t.state != XPU_THREAD_RUNNING) {
			if (t.state == XPU_THREAD_BLOCKED && rand() % 8)
				t.wake_ns = CLOCK();
			exec_ns += rand() % 30000;
			off = xpu_thread__begin(&t, rand() % 4 ? CLOCK() :
						xpu_thread__unseen_begin(&t, exec_ns, CLOCK()));
			nr_long += off.end_ns - off.start_ns > 500 * US ||
				   off.woken_ns - off.start_ns > 500 * US ||
				   off.end_ns - off.woken_ns > 500 * US;
		} else {
			xpu_thread__ran(&t, CLOCK());
			t.exec_ns = exec_ns;
			t.wake_ns = 0;
			t.state = rand() % 2 ? XPU_THREAD_RUNNABLE : XPU_THREAD_BLOCKED;
			t.kind = t.state == XPU_THREAD_RUNNABLE ? XPU_OFF_RUNNABLE :
				 rand() % XPU_OFF_NR;
		}
		nr_bad_sums += sum(&t) != t.since_ns - t.start_ns;
	}
#undef CLOCK
	is_int(nr_bad_sums, 0, "many lifetimes: the times of each lifetime add up at each step");
	is_int(nr_long, 0, "many lifetimes: no time is longer than the clocks and the steps allow");
}

int main(void)
{
	test_differences();
	test_begin();
	test_clocks();
	test_unseen();
	test_lives();
	return done_testing();
}
