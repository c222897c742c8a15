// SPDX-License-Identifier: GPL-3.0-or-later
/* Idle gaps: their sum is exact, and each gap is attributed to the right thread and state. */
#include <stdlib.h>

#include "waits/idle.h"
#include "tap.h"

#define MS	1000000ull

static uint64_t row_ns(const struct idles *i, enum idle_doing doing, uint32_t thread,
		       uint32_t chain)
{
	uint64_t ns = 0;
	size_t k;

	for (k = 0; k < i->rows.nr; k++)
		if (i->rows.v[k].doing == doing && i->rows.v[k].thread == thread &&
		    i->rows.v[k].chain == chain)
			ns += i->rows.v[k].ns;
	return ns;
}

static void gaps(void)
{
	struct idles i;

	idles__init(&i);
	is_int(idles__work(&i, 0, 1, 1, 2), 0, "work is accepted if idle gaps are not wanted");
	is_int(i.spans.nr, 0, "nothing is kept if idle gaps are not wanted");
	i.wanted = true;
	/*
	 * Device work from 10 to 20 ms, with a short gap; from 30 to 40 ms, which contains other
	 * work; and from 60 to 70 ms. The work arrives out of order.
	 */
	idles__work(&i, 0, 3, 60 * MS, 70 * MS);
	idles__work(&i, 0, 1, 10 * MS, 15 * MS);
	idles__work(&i, 0, 2, 30 * MS, 40 * MS);
	idles__work(&i, 0, 9, 33 * MS, 34 * MS);
	idles__work(&i, 0, 9, 15 * MS + 5000, 20 * MS);
	idles__work(&i, 2, NO_INDEX, 80 * MS, 81 * MS);
	idles__work(&i, 2, NO_INDEX, 90 * MS, 91 * MS);
	/*
	 * Thread 2 from 20 to 30 ms: 4 ms of io, which began before 20 ms; 2 ms of waiting; the
	 * rest on a CPU, with two samples.
	 */
	idles__did(&i, 2, IDLE_OFF_CPU, "io", 7, 18 * MS, 24 * MS);
	idles__did(&i, 2, IDLE_WAITED, "", 8, 25 * MS, 27 * MS);
	idles__did(&i, 2, IDLE_OFF_CPU, "io", 7, 30 * MS, 31 * MS);
	idles__sample(&i, 2, 5, 24500000);
	idles__sample(&i, 2, 6, 28 * MS);
	idles__sample(&i, 2, 6, 31 * MS);
	idles__sample(&i, 1, 6, 29 * MS);
	/* Thread 3 from 40 to 60 ms: only 5 ms of sleep, which goes on after 60 ms. */
	idles__did(&i, 3, IDLE_OFF_CPU, "sleep", 9, 55 * MS, 75 * MS);
	is_int(idles__finish(&i), 0, "gaps are finished");

	is_int(i.gpus.v[0].busy_ns, 30 * MS - 5000,
	       "busy time counts overlaps once, and leaves out the short gap");
	is_int(i.gpus.v[0].to_ns - i.gpus.v[0].from_ns, 60 * MS,
	       "the GPU's time lasts from its first to its last work");
	is_int(i.gpus.v[0].nr_gaps, 2, "two gaps are counted");
	is_int(i.gpus.v[1].busy_ns, 0, "a device without work has no busy time");
	is_int(row_ns(&i, IDLE_OFF_CPU, 2, 7), 4 * MS,
	       "blocked time gets its part of the gap");
	is_int(row_ns(&i, IDLE_WAITED, 2, 8), 2 * MS, "waiting time gets its part of the gap");
	is_int(row_ns(&i, IDLE_ON_CPU, 2, 5), 2 * MS,
	       "half of the time on a CPU is attributed to the first path");
	is_int(row_ns(&i, IDLE_ON_CPU, 2, 6), 2 * MS,
	       "half of the time on a CPU is attributed to the second path");
	is_int(row_ns(&i, IDLE_OFF_CPU, 3, 9), 5 * MS,
	       "an interval that outlasts the gap gets its part of the gap");
	is_int(row_ns(&i, IDLE_UNSEEN, 3, NO_INDEX), 15 * MS,
	       "the rest of the gap counts as not seen");
	is_int(row_ns(&i, IDLE_SHORT, NO_INDEX, NO_INDEX), 5000, "short gaps are not attributed");
	is_int(row_ns(&i, IDLE_NOBODY, NO_INDEX, NO_INDEX), 9 * MS,
	       "gaps that no launch ends are not attributed");
	idles__exit(&i);
}

/*
 * Tests much work in random order: rows and busy time add up to the whole time, to the nanosecond.
 */
static void sums(void)
{
	uint64_t sum = 0, at, start = 0;
	unsigned int seed = 1, k;
	struct idles i;
	size_t r;

	idles__init(&i);
	i.wanted = true;
	for (k = 0; k < 1200000; k++) {
		at = (uint64_t)rand_r(&seed) << 8 | (k & 255);
		if (idles__work(&i, 0, k % 5, at, at + rand_r(&seed) % 100000))
			bail("out of memory");
		if (k % 10)
			continue;
		start += 100000 + rand_r(&seed) % 50000;
		idles__did(&i, k / 10 % 5, IDLE_OFF_CPU, "", k % 50, start, start + 100000);
	}
	is_int(idles__finish(&i), 0, "gaps are finished");
	for (r = 0; r < i.rows.nr; r++)
		sum += i.rows.v[r].ns;
	is_int(sum + i.gpus.v[0].busy_ns, i.gpus.v[0].to_ns - i.gpus.v[0].from_ns,
	       "idle and busy time add up to all time");
	ok(i.gpus.v[0].nr_gaps > 1000,
	   "there are many gaps: %llu", (unsigned long long)i.gpus.v[0].nr_gaps);
	idles__exit(&i);
}

/* Gaps are cut at window boundaries: the parts in adjacent windows add up. */
static void windows(void)
{
	static const uint64_t edges[] = { 0, 12 * MS, 15 * MS + 1000, 26 * MS, 29 * MS, 64 * MS,
					  UINT64_MAX };
	uint64_t busy_ns = 0, gaps_ns = 0, blocked_ns = 0, short_ns = 0, nr_gaps = 0;
	struct idles i;
	size_t k, row;

	for (k = 0; k + 1 < sizeof(edges) / sizeof(edges[0]); k++) {
		idles__init(&i);
		i.wanted = true;
		i.begin_ns = edges[k];
		i.end_ns = edges[k + 1];
		idles__work(&i, 0, 3, 60 * MS, 70 * MS);
		idles__work(&i, 0, 1, 10 * MS, 15 * MS);
		idles__work(&i, 0, 2, 30 * MS, 40 * MS);
		idles__work(&i, 0, 9, 15 * MS + 5000, 20 * MS);
		idles__did(&i, 2, IDLE_OFF_CPU, "io", 7, 18 * MS, 28 * MS);
		is_int(idles__finish(&i), 0, "window %zu: gaps are finished", k);
		busy_ns += i.gpus.v[0].busy_ns;
		nr_gaps += i.gpus.v[0].nr_gaps;
		blocked_ns += row_ns(&i, IDLE_OFF_CPU, 2, 7);
		short_ns += row_ns(&i, IDLE_SHORT, NO_INDEX, NO_INDEX);
		for (row = 0; row < i.rows.nr; row++)
			gaps_ns += i.rows.v[row].ns;
		is_int(i.gpus.v[0].to_ns - i.gpus.v[0].from_ns,
		       (edges[k + 1] > 70 * MS ? 70 * MS : edges[k + 1]) - (k ? edges[k] : 10 * MS),
		       "window %zu: the device is covered up to the edges", k);
		idles__exit(&i);
	}
	is_int(busy_ns, 30 * MS - 5000,
	       "all windows together have the busy time of one large window");
	is_int(gaps_ns, 30 * MS + 5000,
	       "all windows together have the idle time of one large window");
	is_int(nr_gaps, 2, "all windows together count each gap once");
	is_int(blocked_ns, 8 * MS,
	       "all windows together have the blocked time of one large window");
	is_int(short_ns, 5000, "all windows together have the short gaps of one large window");
}

int main(void)
{
	gaps();
	windows();
	sums();
	return done_testing();
}
