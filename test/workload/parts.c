// SPDX-License-Identifier: MIT
/*
 * parts - does the same work in each run, in functions that have known shares of the work; prints
 * the program's CPU time in us
 *
 * It has twenty functions; the n-th runs n times as long as the first. Each is called many times,
 * so that no sampling clock is in phase with it. Part of the work is system calls.
 */
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#define WORKER __attribute__((noinline, noclone))
#define ROUNDS	300

static volatile uint64_t sink;

#define WORK(n)						\
static WORKER void work_##n(void)			\
{							\
	uint64_t i;					\
							\
	for (i = 0; i < (n) * 8000ull; i++)		\
		sink += i * (n);			\
}

WORK(1) WORK(2) WORK(3) WORK(4) WORK(5) WORK(6) WORK(7) WORK(8) WORK(9) WORK(10)
WORK(11) WORK(12) WORK(13) WORK(14) WORK(15) WORK(16) WORK(17) WORK(18) WORK(19) WORK(20)

static WORKER void call_kernel(void)
{
	int i;

	for (i = 0; i < 500; i++)
		sink += getppid();
}

int main(void)
{
	struct rusage r;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		work_1(); work_2(); work_3(); work_4(); work_5(); work_6(); work_7(); work_8();
		work_9(); work_10(); work_11(); work_12(); work_13(); work_14(); work_15();
		work_16(); work_17(); work_18(); work_19(); work_20();
		call_kernel();
	}
	getrusage(RUSAGE_SELF, &r);
	printf("%lu\n", (r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1000000 + r.ru_utime.tv_usec +
			r.ru_stime.tv_usec);
	return 0;
}
