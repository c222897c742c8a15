// SPDX-License-Identifier: MIT
/*
 * cpu MS STEP... - uses CPU time in known functions, for MS at each step
 *
 *	user		in burn_user(), called by call_user()
 *	kernel		in the kernel, by read()s from /dev/zero that burn_kernel() makes
 *	clock		in the vdso, by clock_gettime() in burn_clock()
 *	threads=N	N threads at a time, named "burner", each in burn_thread()
 *	late		in burn_late(), in a thread that starts half a second later
 *	rename		in burn_renamed(), under the name "renamed"
 *	fork		in burn_child(), in a child
 *	exec		executes itself with the remaining steps
 *	deep=N		in burn_deep(), N recursive calls deep, with some 250 bytes of stack each
 *	naps		no CPU time, but 20 times 3 ms of sleep below nap_one(), and 6 ms below
 *			the similar nap_two(), in this thread and in another one; each thread prints
 *			for how many ns it was blocked there, and for how many it did not run:
 *			"napped main one BLOCKED OFF two BLOCKED OFF"
 *	vfork		no CPU time: waits 60 ms for a vfork child in wait_vfork()
 *	context		in burn_context(), on a stack from makecontext()
 *	wait		no CPU time: waits for a line, or the end, of standard input
 *	memory=MB	no own CPU time: touches MB megabytes, which the kernel frees at the end
 *
 * At the end it prints its CPU time in us, with the CPU time of its children and of the programs
 * before its execs.
 */
#include <err.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "blocked.h"

#define BURNER __attribute__((noinline, noclone))

static uint64_t burn_ns;
static volatile uint64_t sink;

static uint64_t cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/*
 * Reads the clock rarely, so that nearly all time is spent in this function and not in the vDSO.
 * The salt makes the functions different, so that the compiler does not merge them.
 */
#define BURN(salt)						\
	do {							\
		uint64_t end_ns = cpu_ns() + burn_ns, i;	\
								\
		do						\
			for (i = 0; i < 200000; i++)		\
				sink += i * (salt);		\
		while (cpu_ns() < end_ns);			\
	} while (0)

static BURNER void burn_user(void)
{
	BURN(3);
}

static BURNER void call_user(void)
{
	burn_user();
	sink++;
}

static BURNER void burn_renamed(void)
{
	BURN(5);
}

static BURNER void burn_child(void)
{
	BURN(7);
}

static BURNER void burn_clock(void)
{
	uint64_t end_ns = cpu_ns() + burn_ns;
	struct timespec ts;
	int i;

	while (cpu_ns() < end_ns)
		for (i = 0; i < 10000; i++)
			clock_gettime(CLOCK_MONOTONIC, &ts);
}

static BURNER void burn_kernel(void)
{
	static char buf[1 << 20];
	uint64_t end_ns = cpu_ns() + burn_ns;
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	while (cpu_ns() < end_ns)
		if (read(fd, buf, sizeof(buf)) < 0)
			err(1, "/dev/zero");
	close(fd);
}

static BURNER void burn_deep(unsigned int depth)
{
	volatile char here[200];

	here[0] = depth;
	if (depth)
		burn_deep(depth - 1);
	else
		BURN(9);
	sink += here[0];
}

static BURNER void nap(unsigned int us)
{
	usleep(us);
	sink++;
}

static BURNER void nap_one(void)
{
	nap(3000);
	sink += 1;
}

static BURNER void nap_two(void)
{
	nap(6000);
	sink += 2;
}

/* Adds how long the calling thread has been blocked since @from, and how long it has not run. */
static void add_off(int64_t off_ns[2], struct thread_times from)
{
	struct thread_times now = thread_times_now();

	off_ns[0] += now.blocked_ns - from.blocked_ns;
	off_ns[1] += (now.wall_ns - now.cpu_ns) - (from.wall_ns - from.cpu_ns);
}

static BURNER void *naps(void *arg)
{
	int64_t one_ns[2] = { 0 }, two_ns[2] = { 0 };
	struct thread_times from;
	int i;

	for (i = 0; i < 20; i++) {
		from = thread_times_now();
		nap_one();
		add_off(one_ns, from);
		from = thread_times_now();
		nap_two();
		add_off(two_ns, from);
	}
	printf("napped %s one %" PRId64 " %" PRId64 " two %" PRId64 " %" PRId64 "\n",
	       (const char *)arg, one_ns[0], one_ns[1], two_ns[0], two_ns[1]);
	return arg;
}

static void run_naps(void)
{
	pthread_t other;

	if (pthread_create(&other, NULL, naps, (void *)"other"))
		errx(1, "no thread");
	naps((void *)"main");
	pthread_join(other, NULL);
}

static BURNER void wait_vfork(void)
{
	const struct timespec ts = { .tv_nsec = 60000000 };
	pid_t pid = vfork();

	if (!pid) {
		nanosleep(&ts, NULL);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	sink++;
}

static BURNER void burn_context(void)
{
	BURN(15);
}

static void run_context(void)
{
	static ucontext_t here, there;

	getcontext(&there);
	there.uc_stack.ss_size = 1 << 20;
	there.uc_stack.ss_sp = malloc(there.uc_stack.ss_size);
	there.uc_link = &here;
	makecontext(&there, burn_context, 0);
	swapcontext(&here, &there);
	free(there.uc_stack.ss_sp);
}

static BURNER void burn_thread(void)
{
	BURN(11);
}

static BURNER void burn_late(void)
{
	BURN(13);
}

static void *thread(void *arg)
{
	prctl(PR_SET_NAME, "burner");
	if (arg)
		burn_late();
	else
		burn_thread();
	return NULL;
}

static void run_threads(unsigned int nr, void *late)
{
	pthread_t *threads = calloc(nr, sizeof(*threads));
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (pthread_create(&threads[i], NULL, thread, late))
			errx(1, "no thread");
	for (i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
	free(threads);
}

static void touch_memory(size_t mb)
{
	char *data = malloc(mb << 20);

	if (!data)
		errx(1, "no %zu MB", mb);
	memset(data, 1, mb << 20);
	sink += data[sink % (mb << 20)];
}

static void step(const char *arg)
{
	if (!strcmp(arg, "user")) {
		call_user();
	} else if (!strcmp(arg, "kernel")) {
		burn_kernel();
	} else if (!strcmp(arg, "clock")) {
		burn_clock();
	} else if (!strncmp(arg, "threads=", 8)) {
		run_threads(atoi(arg + 8), NULL);
	} else if (!strcmp(arg, "late")) {
		usleep(500000);
		run_threads(1, &burn_ns);
	} else if (!strcmp(arg, "rename")) {
		prctl(PR_SET_NAME, "renamed");
		burn_renamed();
	} else if (!strcmp(arg, "fork")) {
		if (!fork()) {
			burn_child();
			_exit(0);
		}
		wait(NULL);
	} else if (!strcmp(arg, "naps")) {
		run_naps();
	} else if (!strcmp(arg, "vfork")) {
		wait_vfork();
	} else if (!strcmp(arg, "context")) {
		run_context();
	} else if (!strcmp(arg, "wait")) {
		getchar();
	} else if (!strncmp(arg, "memory=", 7)) {
		touch_memory(atoi(arg + 7));
	} else if (!strncmp(arg, "deep=", 5)) {
		burn_deep(atoi(arg + 5));
	} else {
		errx(2, "what is '%s'?", arg);
	}
}

int main(int argc, char **argv)
{
	struct rusage self, children;
	int i;

	if (argc < 2 || atoi(argv[1]) <= 0)
		errx(2, "usage: cpu MS STEP...");
	burn_ns = atoi(argv[1]) * 1000000ull;
	for (i = 2; i < argc; i++) {
		if (!strcmp(argv[i], "exec")) {
			/* Runs this program again with MS and the remaining steps. */
			argv[i] = argv[1];
			argv[--i] = argv[0];
			execv("/proc/self/exe", argv + i);
			err(1, "exec");
		}
		step(argv[i]);
	}
	getrusage(RUSAGE_SELF, &self);
	getrusage(RUSAGE_CHILDREN, &children);
	printf("%lu\n", (self.ru_utime.tv_sec + self.ru_stime.tv_sec + children.ru_utime.tv_sec +
			 children.ru_stime.tv_sec) * 1000000 + self.ru_utime.tv_usec +
			self.ru_stime.tv_usec + children.ru_utime.tv_usec +
			children.ru_stime.tv_usec);
	return 0;
}
