// SPDX-License-Identifier: MIT
/*
 * busy.cu - threads that do everything that loading a library into the program could disturb
 *
 *	busy [-t THREADS] [-m MS] [-k KINDS] [-g]
 *
 * Runs THREADS threads for MS ms, or until the end of stdin. KINDS has a letter for each kind of
 * thread; threads get these kinds in turn:
 *
 *	a	allocates and frees
 *	d	loads and unloads libraries
 *	t	throws
 *	r	computes in registers
 *	f	causes SIGSEGV, handles it and repairs its cause
 *	p	forks, which causes SIGCHLD
 *	w	waits in system calls with time limits
 *	l	launches from site_busy
 *
 * SIGPROF arrives all the time. Each thread checks its results. -g: CUDA is not used.
 *
 * Prints "busy: ready" when all threads run, and "busy: rounds N launches N wrong N" at the end.
 * The exit status is 1 if something was wrong.
 */
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kernels.h"

#define MAX_THREADS	64

KERNEL(kernel_busy)
extern "C" NOINLINE void site_busy(cudaStream_t s)
{
	LAUNCH(kernel_busy, s, 3000);
	NO_TAIL_CALL();
}

static const char *kinds = "adtrfpwl";
static volatile bool over;
static long nr_rounds, nr_launches, nr_wrong, nr_prof, nr_ready;
static __thread char *fault_page;

static void wrong(const char *what)
{
	fprintf(stderr, "busy: wrong: %s (errno %d)\n", what, errno);
	__atomic_add_fetch(&nr_wrong, 1, __ATOMIC_RELAXED);
}

static void on_prof(int)
{
	int saved = errno;

	__atomic_add_fetch(&nr_prof, 1, __ATOMIC_RELAXED);
	errno = saved;
}

static void on_child(int)
{
}

static void on_fault(int, siginfo_t *info, void *)
{
	if (!fault_page || info->si_addr != fault_page)
		_exit(3);
	mprotect(fault_page, 4096, PROT_READ | PROT_WRITE);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static void do_allocate(unsigned int *seed)
{
	void *blocks[64];
	int i;

	for (i = 0; i < 64; i++) {
		blocks[i] = malloc(1 + rand_r(seed) % 70000);
		if (!blocks[i])
			return wrong("malloc");
		*(volatile char *)blocks[i] = i;
	}
	for (i = 0; i < 64; i++)
		free(blocks[i]);
}

static void do_load(void)
{
	void *handle = dlopen("libBrokenLocale.so.1", RTLD_NOW);

	if (!handle)
		return wrong("dlopen");
	dlclose(handle);
}

static NOINLINE int thrower(int depth)
{
	if (!depth)
		throw 7;
	return thrower(depth - 1) + 1;
}

static void do_throw(void)
{
	try {
		thrower(20);
		wrong("no exception");
	} catch (int value) {
		if (value != 7)
			wrong("exception");
	}
}

static void do_compute(void)
{
	double a = 1, b = 1, c = 1, d = 1;
	uint64_t x = 88172645463325252ull, none = 0, bits;
	static uint64_t first;
	int i;

	for (i = 0; i < 20000; i++) {
		a = a * 1.0000001 + 0.5;
		b = b * 1.0000003 + 0.25;
		c = c * 1.0000005 + 0.125;
		d = d * 1.0000007 + a / b;
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
	}
	a += b + c + d;
	memcpy(&bits, &a, sizeof(bits));
	bits ^= x;
	if (!__atomic_compare_exchange_n(&first, &none, bits, 0, __ATOMIC_SEQ_CST,
					 __ATOMIC_SEQ_CST) && none != bits)
		wrong("sum");
}

static void do_fault(void)
{
	if (!fault_page)
		fault_page = (char *)mmap(NULL, 4096, PROT_READ | PROT_WRITE,
					  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mprotect(fault_page, 4096, PROT_NONE);
	*(volatile char *)fault_page = 1;
	if (*(volatile char *)fault_page != 1)
		wrong("page");
}

static void do_fork(void)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(5);
	if (pid < 0)
		return wrong("fork");
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return wrong("waitpid");
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 5)
		wrong("status of a child");
}

/* This thread blocks all signals, so none of its system calls may fail with EINTR. */
static void do_wait(int *fds)
{
	struct timespec nap = { 0, 3000000 };
	struct pollfd p = { fds[0], POLLIN, 0 };
	struct timeval tv = { 0, 3000 };
	uint64_t begin = now_ns();
	fd_set set;

	if (nanosleep(&nap, NULL))
		wrong("nanosleep");
	if (now_ns() - begin < 3000000)
		wrong("nanosleep was too short");
	begin = now_ns();
	if (poll(&p, 1, 3))
		wrong("poll");
	if (now_ns() - begin < 2900000)
		wrong("poll was too short");
	FD_ZERO(&set);
	FD_SET(fds[0], &set);
	if (select(fds[0] + 1, &set, NULL, NULL, &tv))
		wrong("select");
}

static void do_launch(void)
{
	int i;

	for (i = 0; i < 10; i++)
		site_busy(NULL);
	__atomic_add_fetch(&nr_launches, 10, __ATOMIC_RELAXED);
	usleep(500);
}

static void *run(void *arg)
{
	char kind = kinds[(long)arg % strlen(kinds)];
	unsigned int seed = (long)arg;
	sigset_t all;
	int fds[2];

	sigfillset(&all);
	sigdelset(&all, SIGSEGV);
	if (kind == 'w')
		pthread_sigmask(SIG_SETMASK, &all, NULL);
	if (pipe(fds))
		wrong("pipe");
	__atomic_add_fetch(&nr_ready, 1, __ATOMIC_RELAXED);
	while (!over) {
		switch (kind) {
		case 'a': do_allocate(&seed); break;
		case 'd': do_load(); break;
		case 't': do_throw(); break;
		case 'r': do_compute(); break;
		case 'f': do_fault(); break;
		case 'p': do_fork(); break;
		case 'w': do_wait(fds); break;
		case 'l': do_launch(); break;
		}
		__atomic_add_fetch(&nr_rounds, 1, __ATOMIC_RELAXED);
	}
	close(fds[0]);
	close(fds[1]);
	return NULL;
}

int main(int argc, char **argv)
{
	struct itimerval timer = { { 0, 2000 }, { 0, 2000 } };
	struct sigaction fault = {}, prof = {}, child = {};
	pthread_t threads[MAX_THREADS];
	bool gpu = true;
	long nr = 8, ms = 0, i;
	char byte;
	int opt;

	while ((opt = getopt(argc, argv, "t:m:k:g")) != -1)
		switch (opt) {
		case 't': nr = atol(optarg); break;
		case 'm': ms = atol(optarg); break;
		case 'k': kinds = optarg; break;
		case 'g': gpu = false; break;
		default: return 2;
		}
	if (nr > MAX_THREADS)
		return 2;
	fault.sa_sigaction = on_fault;
	fault.sa_flags = SA_SIGINFO | SA_RESTART;
	sigaction(SIGSEGV, &fault, NULL);
	prof.sa_handler = on_prof;
	prof.sa_flags = SA_RESTART;
	sigaction(SIGPROF, &prof, NULL);
	child.sa_handler = on_child;
	child.sa_flags = SA_RESTART;
	sigaction(SIGCHLD, &child, NULL);
	if (gpu)
		CHECK(cudaFree(NULL));
	for (i = 0; i < nr; i++)
		if (pthread_create(&threads[i], NULL, run, (void *)i))
			return 2;
	setitimer(ITIMER_PROF, &timer, NULL);
	while (__atomic_load_n(&nr_ready, __ATOMIC_RELAXED) < nr)
		usleep(100);
	printf("busy: ready\n");
	fflush(stdout);
	uint64_t end_ns = now_ns() + ms * 1000000;
	if (ms)
		while (now_ns() < end_ns)
			usleep(1000);	/* signals interrupt usleep() */
	else
		while (read(0, &byte, 1) > 0)
			;
	over = true;
	for (i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
	if (gpu)
		CHECK(cudaDeviceSynchronize());
	printf("busy: rounds %ld launches %ld wrong %ld\n", nr_rounds, nr_launches, nr_wrong);
	return nr_wrong != 0;
}
