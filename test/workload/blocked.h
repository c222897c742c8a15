/* SPDX-License-Identifier: MIT */
/*
 * blocked.h - how long a thread was blocked, which means that it neither ran nor waited for a CPU;
 * computed from the kernel's figures
 *
 * With these figures, programs that measure their own times do not need an idle machine.
 */
#ifndef WORKLOAD_BLOCKED_H
#define WORKLOAD_BLOCKED_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

struct thread_times {
	uint64_t wall_ns, cpu_ns;
	int64_t blocked_ns;		/* the rest of the time; negative if clocks disagree */
};

/*
 * Reads how long the calling thread has waited for a CPU, and how often it got one; both are 0 if
 * unknown.
 */
static inline void read_schedstat(uint64_t *delay_ns, uint64_t *nr)
{
	FILE *f = fopen("/proc/thread-self/schedstat", "r");

	if (!f || fscanf(f, "%*u %" SCNu64 " %" SCNu64, delay_ns, nr) != 2)
		*delay_ns = *nr = 0;
	if (f)
		fclose(f);
}

static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/*
 * Return: the calling thread's times up to now. Only the difference of two results is meaningful.
 */
static inline struct thread_times thread_times_now(void)
{
	uint64_t delay_ns, nr, delay_after_ns, nr_after;
	struct thread_times t;

	do {				/* until no switch happened during the reads */
		read_schedstat(&delay_ns, &nr);
		t.wall_ns = clock_ns(CLOCK_MONOTONIC);
		t.cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		read_schedstat(&delay_after_ns, &nr_after);
	} while (nr != nr_after);
	t.blocked_ns = (int64_t)(t.wall_ns - t.cpu_ns - delay_ns);
	return t;
}

#endif /* WORKLOAD_BLOCKED_H */
