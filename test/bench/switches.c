// SPDX-License-Identifier: MIT
/*
 * switches.c - measures a context switch: two threads on one CPU wake each other in turn
 *
 * switches N              makes N switches; prints the mean ns per switch
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static sem_t turns[2];
static long nr;

static void *player(void *arg)
{
	int me = arg != NULL;
	long i;

	for (i = 0; i < nr / 2; i++) {
		while (sem_wait(&turns[me]) && errno == EINTR)
			;
		sem_post(&turns[!me]);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct timespec a, b;
	pthread_t thread;
	cpu_set_t cpus;

	nr = argc > 1 ? atol(argv[1]) : 1000000;
	CPU_ZERO(&cpus);
	CPU_SET(sched_getcpu(), &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		return 1;
	sem_init(&turns[0], 0, 1);
	sem_init(&turns[1], 0, 0);
	clock_gettime(CLOCK_MONOTONIC, &a);
	if (pthread_create(&thread, NULL, player, turns))
		return 1;
	player(NULL);
	pthread_join(thread, NULL);
	clock_gettime(CLOCK_MONOTONIC, &b);
	printf("%.0f\n", ((b.tv_sec - a.tv_sec) * 1e9 + (b.tv_nsec - a.tv_nsec)) / nr);
	return 0;
}
