// SPDX-License-Identifier: MIT
/*
 * The shim's launch timestamps from the tick counter, on a simulated machine: when the shim uses
 * the counter, how close the result is to the clock, and what happens when the two disagree.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "arch/this_arch.h"
#include "tap.h"

/*
 * The simulated machine: the true time, and how the counter and the clock deviate from this time.
 */
static double true_ns, clock_ppm, counter_ghz = 2.9, clock_off_ns, counter_off;
static double reading_ns = 15;		/* the least time between two reads */

static double counter, monotonic;

static void pass(double ns)
{
	true_ns += ns;
	counter += ns * counter_ghz;
	monotonic += ns * (1 + clock_ppm / 1e6);
}

static uint64_t fake_ticks(void)
{
	pass(reading_ns + rand() % 20);
	return (uint64_t)(1e12 + counter + counter_off);
}

static uint64_t fake_ns(void)
{
	pass(reading_ns + rand() % 20);
	return (uint64_t)(1e15 + monotonic + clock_off_ns);
}

static int fake_clock_gettime(clockid_t id, struct timespec *ts)
{
	uint64_t ns = fake_ns();

	(void)id;
	*ts = (struct timespec){ .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };
	return 0;
}

#define arch__ticks fake_ticks
#define arch__ticks_at_3ghz(ticks) (ticks)
#define clock_gettime fake_clock_gettime
#include "base/clock.c"

/* ---- a log, as in paths.c -------------------------------------------------------------------- */

#define MS		1e6
#define NR_ENTRIES	128

static struct xpu_clock last;
static bool by_ticks;
static struct {
	uint64_t time, ns;
} entries[NR_ENTRIES];
static int nr_entries;

static double worst_ns;			/* largest error of an entry's timestamp since begin() */
static int nr_by_ticks;

static void convert(void)
{
	double off;

	while (nr_entries--) {
		off = (double)(int64_t)(xpu_log__ns(&last, entries[nr_entries].time) -
					entries[nr_entries].ns);
		if (off < 0)
			off = -off;
		if (off > worst_ns)
			worst_ns = off;
	}
	nr_entries = 0;
}

static void send(void)
{
	struct xpu_clock next;

	by_ticks = clock__next(&last, &next, by_ticks);
	last = next;
	convert();
}

static void launch(void)
{
	if (nr_entries == NR_ENTRIES)
		send();
	entries[nr_entries].time = by_ticks ? clock__ticks() | XPU_LOG_TICKS : clock__ns();
	entries[nr_entries++].ns = (uint64_t)(1e15 + monotonic + clock_off_ns);
	nr_by_ticks += by_ticks;
}

/* Makes @nr launches, @apart ns from each other; the shim's thread wakes every 100 ms. */
static void run(int nr, double apart)
{
	double left, step;
	static double watch_at;

	for (; nr--; launch()) {
		for (left = apart; left > 0; left -= step) {
			step = left < 100 * MS ? left : 100 * MS;
			pass(step);
			if (true_ns < watch_at)
				continue;
			clock__watch();
			send();
			watch_at = true_ns + 100 * MS;
		}
	}
}

static void begin(void)
{
	send();
	worst_ns = 0;
	nr_by_ticks = 0;
}

int main(void)
{
	int nr;

	srand(1);
	clock__init();
	usable = true;			/* does not depend on the real machine */
	begin();
	run(10, 1 * MS);
	is_int(nr_by_ticks, 0, "at first the clock is read");
	run(500, 1 * MS);
	begin();
	run(10000, 0.3 * MS);
	is_int(nr_by_ticks, 10000, "later times come from the counter alone");
	ok(worst_ns < 100, "a steady counter: times are right within 100 ns (%.0f)", worst_ns);

	begin();
	run(100, 5000 * MS);
	ok(worst_ns < 100 && nr_by_ticks == 100,
	   "5 s between launches: times are right within 100 ns (%.0f)", worst_ns);

	begin();
	run(10, 5 * MS);
	pass(3600e9);			/* the program is stopped, and so is the shim's thread */
	run(10, 5 * MS);
	send();
	ok(worst_ns < 200 && nr_by_ticks == 20,
	   "stopped for an hour between launches: times are right within 200 ns (%.0f)",
	   worst_ns);

	/*
	 * If the process is killed, entries logged after the last reading get their timestamps from
	 * that reading.
	 */
	run(200, 1 * MS);
	begin();
	while (nr_entries < 100) {
		pass(1 * MS);
		launch();
	}
	convert();
	ok(worst_ns < 200,
	   "with the last reading alone, 0.1 s old: times are right within 200 ns "
	   "(%.0f)", worst_ns);

	begin();
	clock_ppm = 20;
	run(2000, 0.5 * MS);
	ok(worst_ns < 2000,
	   "a clock that runs 20 us a second faster: times are right within 2 us (%.0f)",
	   worst_ns);
	begin();
	run(2000, 0.5 * MS);
	ok(worst_ns < 100, "after the change times are right within 100 ns again (%.0f)", worst_ns);
	ok(nr_by_ticks == 2000, "after the change times still come from the counter");

	begin();
	clock_ppm = 500;
	run(1000, 0.5 * MS);
	ok(worst_ns < 55000,
	   "500 us a second faster: times are wrong by at most 0.1 s of drift (%.0f)",
	   worst_ns);
	run(1000, 0.5 * MS);
	begin();
	run(1000, 0.5 * MS);
	ok(worst_ns < 100 && nr_by_ticks == 1000,
	   "500 us a second faster: times are soon right within 100 ns again (%.0f)", worst_ns);

	/* A suspended machine: the counter went on, the clock did not. */
	begin();
	counter_off += 1e9;
	send();
	run(100, 0.5 * MS);
	is_int(nr_by_ticks, 0, "the counter jumps: the clock is read again");
	ok(worst_ns < 100, "the counter jumps: times come from the clock (%.0f)", worst_ns);
	run(2000, 0.5 * MS);
	begin();
	run(1000, 0.5 * MS);
	ok(nr_by_ticks == 1000 && worst_ns < 100,
	   "the counter jumps: it is used again when it agrees with the clock (%.0f)", worst_ns);
	counter_off = -2e9;
	run(2000, 0.5 * MS);
	begin();
	run(1000, 0.5 * MS);
	ok(nr_by_ticks == 1000 && worst_ns < 100,
	   "a counter that jumped backwards is used again when it agrees with the clock (%.0f)",
	   worst_ns);

	/*
	 * Each reading is interrupted: all readings are rejected, and the last good reading stays
	 * valid.
	 */
	begin();
	reading_ns = 5000;
	run(100, 0.5 * MS);
	ok(worst_ns < 20000 && nr_by_ticks == 100, "readings that took too long are not used");
	reading_ns = 15;
	run(1000, 0.5 * MS);

	/* The counter's speed changes now and then. */
	run(2000, 0.5 * MS);
	for (nr = 0; nr < 20; nr++) {
		counter_ghz = nr % 2 ? 2.9 : 1.2;
		run(300, 0.5 * MS);
	}
	begin();
	for (nr = 0; nr < 20; nr++) {
		counter_ghz = nr % 2 ? 2.9 : 1.2;
		run(300, 0.5 * MS);
	}
	is_int(nr_by_ticks, 0, "a counter with a changing rate is not used");
	is_int((int)worst_ns, 0, "a counter with a changing rate makes no time wrong");
	return done_testing();
}
