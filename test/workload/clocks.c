// SPDX-License-Identifier: MIT
/*
 * clocks.c - threads and processes that use the CPU in several ways, and print their CPU time
 *
 *	clocks WAY...		prints a line for each way: WAY NS CHILDREN_NS GROUP_NS
 *
 * Each way has its own process. NS is this process's CPU time by its clock, CHILDREN_NS the CPU
 * time of its children. Both lack the last moments of each ended thread or child, because the
 * kernel adds up the time before the end. GROUP_NS, the CPU time of a control group from the
 * process's start to its end, is complete. CLOCKS_GROUP is the directory of the process's control
 * group; without this variable, GROUP_NS is 0. The ways:
 *
 *	spin		two seconds in a loop
 *	hour		an hour in a loop
 *	bursts		2,000 bursts of 50 us, each after a sleep of 200 us
 *	beat		as bursts, but a burst and its sleep together last 1 ms
 *	threads		100 threads at a time, 10 ms each
 *	short		2,000 threads one after the other, 100 us each
 *	blocks		two threads that wake each other, 20,000 times
 *	forks		300 children one after the other, 1 ms each
 *	shell COMMAND	sh -c COMMAND; the last way
 */
#include <err.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile uint64_t sink;
static sem_t sems[2];

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static void burn(uint64_t us)
{
	uint64_t end_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) + us * 1000;
	int i;

	do
		for (i = 0; i < 2000; i++)
			sink += i;
	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end_ns);
}

static void *thread(void *us)
{
	burn((uintptr_t)us);
	return NULL;
}

static void spin(void)
{
	burn(2000000);
}

static void hour(void)
{
	burn(3600000000);
}

static void burst(int nr, uint64_t us, uint64_t sleep_us)
{
	while (nr--) {
		burn(us);
		nanosleep(&(struct timespec){ 0, sleep_us * 1000 }, NULL);
	}
}

static void bursts(void)
{
	burst(2000, 50, 200);
}

static void beat(void)
{
	uint64_t at_ns = clock_ns(CLOCK_MONOTONIC);
	struct timespec t;
	int i;

	for (i = 0; i < 2000; i++) {
		at_ns += 1000000;
		t = (struct timespec){ at_ns / 1000000000, at_ns % 1000000000 };
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
		burn(50);
	}
}

static void run(int nr, int at_a_time, uint64_t us)
{
	pthread_t threads[100];
	int i;

	for (; nr > 0; nr -= at_a_time) {
		for (i = 0; i < at_a_time; i++)
			if (pthread_create(&threads[i], NULL, thread, (void *)(uintptr_t)us))
				errx(1, "cannot make a thread");
		for (i = 0; i < at_a_time; i++)
			pthread_join(threads[i], NULL);
	}
}

static void threads(void)
{
	run(100, 100, 10000);
}

static void short_threads(void)
{
	run(2000, 1, 100);
}

static void *other(void *unused)
{
	int i;

	for (i = 0; i < 20000; i++) {
		sem_wait(&sems[0]);
		sem_post(&sems[1]);
	}
	return unused;
}

static void blocks(void)
{
	pthread_t t;
	int i;

	sem_init(&sems[0], 0, 0);
	sem_init(&sems[1], 0, 0);
	if (pthread_create(&t, NULL, other, NULL))
		errx(1, "cannot make a thread");
	for (i = 0; i < 20000; i++) {
		sem_post(&sems[0]);
		sem_wait(&sems[1]);
	}
	pthread_join(t, NULL);
}

/* Runs a child: @command in a shell, or a loop of one ms. */
static void child(const char *command)
{
	int status;
	pid_t pid = fork();

	if (pid < 0)
		err(1, "fork");
	if (!pid && command) {
		execl("/bin/sh", "sh", "-c", command, NULL);
		err(1, "sh");
	}
	if (!pid) {
		burn(1000);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		errx(1, "a child failed");
}

static void forks(void)
{
	int i;

	for (i = 0; i < 300; i++)
		child(NULL);
}

/* The kernel rounds these times to us. */
static uint64_t children_ns(void)
{
	struct rusage u;

	getrusage(RUSAGE_CHILDREN, &u);
	return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000000ull +
	       (u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000ull;
}

/* Return: the number after @key in a file of the control group; 0 if it cannot be read. */
static uint64_t group_number(const char *group, const char *file, const char *key)
{
	unsigned long long number = 0;
	char path[256], line[128];
	size_t len = strlen(key);
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", group, file);
	f = fopen(path, "re");
	while (f && !number && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, len))
			number = strtoull(line + len, NULL, 10);
	if (f)
		fclose(f);
	return number;
}

static uint64_t group_ns(void)
{
	const char *group = getenv("CLOCKS_GROUP");

	if (!group)
		return 0;
	/* Threads and children still run in the kernel for a moment after they were waited for. */
	usleep(50000);
	clock_ns(CLOCK_PROCESS_CPUTIME_ID);	/* updates this thread's time */
	return group_number(group, "cpuacct.usage", "") ?:
	       group_number(group, "cpu.stat", "usage_usec ") * 1000;
}

/* Runs @way, and prints the beginning of its line. */
static void do_way(const char *way, const char *command)
{
	static const struct {
		const char *name;
		void (*fn)(void);
	} ways[] = {
		{ "spin", spin }, { "hour", hour }, { "bursts", bursts }, { "beat", beat },
		{ "threads", threads }, { "short", short_threads }, { "blocks", blocks },
		{ "forks", forks },
	};
	uint64_t begin_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	uint64_t children_begin_ns = children_ns();
	size_t k;

	prctl(PR_SET_NAME, way);	/* children and threads inherit the name */
	if (!strcmp(way, "shell"))
		child(command);
	for (k = 0; k < sizeof(ways) / sizeof(ways[0]); k++)
		if (!strcmp(way, ways[k].name))
			ways[k].fn();
	printf("%s %llu %llu ", way,
	       (unsigned long long)(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begin_ns),
	       (unsigned long long)(children_ns() - children_begin_ns));
}

int main(int argc, char **argv)
{
	uint64_t begin_ns;
	int i, status;
	pid_t pid;

	for (i = 1; i < argc; i++) {
		begin_ns = group_ns();
		fflush(stdout);
		pid = fork();
		if (pid < 0)
			err(1, "fork");
		if (!pid) {
			do_way(argv[i], argv[i + 1]);
			exit(0);
		}
		if (waitpid(pid, &status, 0) != pid || status)
			errx(1, "%s failed", argv[i]);
		printf("%llu\n", (unsigned long long)(group_ns() - begin_ns));
		if (!strcmp(argv[i], "shell"))
			break;
	}
	return 0;
}
