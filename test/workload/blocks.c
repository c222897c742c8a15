// SPDX-License-Identifier: MIT
/*
 * blocks.c - threads that block all the time, and print when they were blocked
 *
 *	blocks SECONDS		prints a line for each wait, in ns: NAME BEGIN END CPU
 *
 * BEGIN and END are CLOCK_MONOTONIC; CPU is the thread's own CPU time between them. Each thread is
 * named after its waits: sleeps of 0.2, 1 and 20 ms and of 3 s, sleeps of 0.2 ms in bursts, rare
 * sleeps of 0.2 ms, sleeps in 24 functions in turn, and waits for a lock that another thread holds.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#define MAX_SPANS	200000
#define NR_PLACES	24

struct span {
	uint64_t begin_ns, end_ns, cpu_ns;
};

struct blocker {
	const char *name;
	void (*wait)(uint64_t nr);
	struct span *spans;
	size_t nr;
	pthread_t thread;
};

static uint64_t end_ns;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static void pause_us(uint64_t us)
{
	nanosleep(&(struct timespec){ us / 1000000, us % 1000000 * 1000 }, NULL);
}

static void wait_short(uint64_t nr)
{
	(void)nr;
	pause_us(200);
}

static void wait_1ms(uint64_t nr)
{
	(void)nr;
	pause_us(1000);
}

static void wait_20ms(uint64_t nr)
{
	(void)nr;
	pause_us(20000);
}

static void wait_long(uint64_t nr)
{
	(void)nr;
	pause_us(3000000);
}

static void wait_bursts(uint64_t nr)
{
	pause_us(nr % 800 ? 200 : 600000);
}

static void wait_seldom(uint64_t nr)
{
	pause_us(nr % 2 ? 200 : 150000);
}

static __attribute__((noinline)) void wait_deep(uint64_t depth)
{
	if (depth)
		wait_deep(depth - 1);
	else
		pause_us(200);
	__asm__ volatile("");
}

static void wait_places(uint64_t nr)
{
	wait_deep(nr % NR_PLACES);
}

static void wait_lock(uint64_t nr)
{
	(void)nr;
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	pause_us(100);
}

static void hold_lock(uint64_t nr)
{
	(void)nr;
	pthread_mutex_lock(&lock);
	pause_us(700);
	pthread_mutex_unlock(&lock);
	pause_us(300);
}

static struct blocker blockers[] = {
	{ .name = "short", .wait = wait_short }, { .name = "1ms", .wait = wait_1ms },
	{ .name = "20ms", .wait = wait_20ms }, { .name = "long", .wait = wait_long },
	{ .name = "bursts", .wait = wait_bursts }, { .name = "seldom", .wait = wait_seldom },
	{ .name = "places", .wait = wait_places }, { .name = "lock", .wait = wait_lock },
	{ .name = "holder", .wait = hold_lock },
};

#define NR_BLOCKERS	(sizeof(blockers) / sizeof(blockers[0]))

static void *blocker__run(void *arg)
{
	struct blocker *b = arg;
	struct span *span;

	prctl(PR_SET_NAME, b->name);
	do {
		span = &b->spans[b->nr];
		span->begin_ns = now(CLOCK_MONOTONIC);
		span->cpu_ns = -now(CLOCK_THREAD_CPUTIME_ID);
		b->wait(b->nr++);
		span->cpu_ns += now(CLOCK_THREAD_CPUTIME_ID);
		span->end_ns = now(CLOCK_MONOTONIC);
	} while (span->end_ns < end_ns && b->nr < MAX_SPANS);
	return NULL;
}

int main(int argc, char **argv)
{
	size_t i, k;

	end_ns = now(CLOCK_MONOTONIC) + (argc > 1 ? atof(argv[1]) : 1) * 1e9;
	for (i = 0; i < NR_BLOCKERS; i++) {
		blockers[i].spans = calloc(MAX_SPANS, sizeof(struct span));
		if (!blockers[i].spans ||
		    pthread_create(&blockers[i].thread, NULL, blocker__run, &blockers[i]))
			return 1;
	}
	for (i = 0; i < NR_BLOCKERS; i++) {
		pthread_join(blockers[i].thread, NULL);
		for (k = 0; k < blockers[i].nr; k++)
			printf("%s %llu %llu %llu\n", blockers[i].name,
			       (unsigned long long)blockers[i].spans[k].begin_ns,
			       (unsigned long long)blockers[i].spans[k].end_ns,
			       (unsigned long long)blockers[i].spans[k].cpu_ns);
	}
	return 0;
}
