// SPDX-License-Identifier: MIT
/*
 * shares.cu - threads that spend known times in known ways, and measure these times
 *
 *	shares [-t THREADS] [-s SCALE] [-w WAIT] [-r ROUNDS]
 *
 * Each thread, named shares-N, computes for 300 ms, sleeps 200 ms, waits 150 ms for a mutex, 100 ms
 * in read() of an empty pipe, and 250 ms for the device, each in its own function: phase_spin,
 * phase_sleep, phase_lock, phase_read, phase_gpu. The device's 250 ms are ROUNDS (1) kernels
 * k_workN, launched by workN, in the thread's own stream. All times are multiplied by SCALE (1).
 *
 * WAIT is the call in which the thread waits for the device: stream, context, event, copy (a
 * blocking copy after the kernels), or queue (launches short kernels until the queue is full, and
 * beyond; use ROUNDS well above 1024).
 *
 * With WAIT context, all threads begin phase_gpu together.
 *
 * At the end it prints one line for each thread, all times in ns:
 *
 *	shares-N TID spin WALL CPU BLOCKED sleep WALL CPU BLOCKED ... gpu WALL CPU BLOCKED
 *	         launch WALL CPU BLOCKED life WALL CPU BLOCKED whole WALL 0 0
 *
 * "launch" is the part of phase_gpu before the waiting call. "whole" lasts from before the thread
 * is made until it is joined. BLOCKED is the time in which the thread neither ran nor waited for a
 * CPU, as the kernel reports it.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "blocked.h"
#include "kernels.h"

#define MAX_THREADS	8

enum { SPIN, SLEEP, LOCK, READ, GPU, LAUNCH_GPU, NR_PHASES };

static const char *const names[NR_PHASES] = { "spin", "sleep", "lock", "read", "gpu", "launch" };
static const long ms[] = { 300, 200, 150, 100, 250 };

struct worker {
	pthread_t thread, partner;
	int nr, tid;
	sem_t go, held;
	pthread_mutex_t mutex;
	int pipe[2];
	cudaStream_t stream;
	cudaEvent_t event;
	char *device;
	struct thread_times phases[NR_PHASES], life, whole;
};

static struct worker workers[MAX_THREADS];
static pthread_barrier_t start, together;
static const char *wait_in = "stream";
static double scale = 1;
static long rounds = 1;
static volatile unsigned long sink;

#define WORK(n)									\
	KERNEL(k_work##n)							\
	extern "C" NOINLINE void work##n(cudaStream_t s, unsigned long long ns)	\
	{									\
		LAUNCH(k_work##n, s, ns);					\
		NO_TAIL_CALL();							\
	}

WORK(0)
WORK(1)
WORK(2)
WORK(3)
WORK(4)
WORK(5)
WORK(6)
WORK(7)

static void (*const works[MAX_THREADS])(cudaStream_t s, unsigned long long ns) = {
	work0, work1, work2, work3, work4, work5, work6, work7,
};

static uint64_t phase_ns(int phase)
{
	return (uint64_t)((double)ms[phase] * 1e6 * scale);
}

static void add(struct thread_times *to, struct thread_times from)
{
	struct thread_times now = thread_times_now();

	to->wall_ns += now.wall_ns - from.wall_ns;
	to->cpu_ns += now.cpu_ns - from.cpu_ns;
	to->blocked_ns += now.blocked_ns - from.blocked_ns;
}

static void nap(uint64_t ns)
{
	struct timespec ts = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };

	clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL);
}

extern "C" NOINLINE void phase_spin(struct worker *w)
{
	uint64_t end_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) + phase_ns(SPIN);
	unsigned long n = (unsigned long)w->nr;

	do {
		for (int i = 0; i < 10000; i++)
			n = n * 6364136223846793005ul + 1442695040888963407ul;
		sink = n;
	} while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end_ns);
	NO_TAIL_CALL();
}

extern "C" NOINLINE void phase_sleep(void)
{
	nap(phase_ns(SLEEP));
	NO_TAIL_CALL();
}

extern "C" NOINLINE void phase_lock(struct worker *w)
{
	pthread_mutex_lock(&w->mutex);
	pthread_mutex_unlock(&w->mutex);
	NO_TAIL_CALL();
}

extern "C" NOINLINE void phase_read(struct worker *w)
{
	char c;

	if (read(w->pipe[0], &c, 1) != 1)
		abort();
	NO_TAIL_CALL();
}

extern "C" NOINLINE void phase_gpu(struct worker *w)
{
	struct thread_times t = thread_times_now();
	char host[64];

	for (long i = 0; i < rounds; i++)
		works[w->nr](w->stream, phase_ns(GPU) / (uint64_t)rounds);
	if (!strcmp(wait_in, "event"))
		CHECK(cudaEventRecord(w->event, w->stream));
	add(&w->phases[LAUNCH_GPU], t);
	/* Includes the time that reading the kernel's figures takes. */
	w->phases[LAUNCH_GPU].wall_ns = clock_ns(CLOCK_MONOTONIC) - t.wall_ns;
	if (!strcmp(wait_in, "context")) {
		CHECK(cudaDeviceSynchronize());
	} else if (!strcmp(wait_in, "event")) {
		CHECK(cudaEventSynchronize(w->event));
	} else if (!strcmp(wait_in, "copy")) {
		CHECK(cudaMemcpy(host, w->device, sizeof(host), cudaMemcpyDeviceToHost));
	}
	CHECK(cudaStreamSynchronize(w->stream));
	NO_TAIL_CALL();
}

/* Holds the mutex while the worker wants it, and writes the data that the worker reads. */
static void *partner(void *arg)
{
	struct worker *w = (struct worker *)arg;

	pthread_setname_np(pthread_self(), "partner");
	sem_wait(&w->go);
	pthread_mutex_lock(&w->mutex);
	sem_post(&w->held);
	nap(phase_ns(LOCK));
	pthread_mutex_unlock(&w->mutex);
	sem_wait(&w->go);
	nap(phase_ns(READ));
	if (write(w->pipe[1], "x", 1) != 1)
		abort();
	return NULL;
}

extern "C" NOINLINE void *worker(void *arg)
{
	struct thread_times t, born = thread_times_now();
	struct worker *w = (struct worker *)arg;
	char name[16];

	snprintf(name, sizeof(name), "shares-%d", w->nr);
	pthread_setname_np(pthread_self(), name);
	w->tid = (int)syscall(SYS_gettid);
	pthread_barrier_wait(&start);

	t = thread_times_now();
	phase_spin(w);
	add(&w->phases[SPIN], t);

	t = thread_times_now();
	phase_sleep();
	add(&w->phases[SLEEP], t);

	sem_post(&w->go);
	sem_wait(&w->held);
	t = thread_times_now();
	phase_lock(w);
	add(&w->phases[LOCK], t);

	sem_post(&w->go);
	t = thread_times_now();
	phase_read(w);
	add(&w->phases[READ], t);

	if (!strcmp(wait_in, "context"))
		pthread_barrier_wait(&together);
	t = thread_times_now();
	phase_gpu(w);
	add(&w->phases[GPU], t);
	add(&w->life, born);
	return NULL;
}

static void print_times(const char *name, const struct thread_times *t)
{
	printf(" %s %" PRIu64 " %" PRIu64 " %" PRId64, name, t->wall_ns, t->cpu_ns, t->blocked_ns);
}

int main(int argc, char **argv)
{
	/*
	 * A copy from the NULL stream waits for this stream's kernels, unless the flag forbids
	 * that.
	 */
	unsigned int flags = cudaStreamNonBlocking;
	int nr_threads = 4, opt;

	while ((opt = getopt(argc, argv, "t:s:w:r:")) != -1) {
		if (opt == 't')
			nr_threads = atoi(optarg);
		else if (opt == 's')
			scale = atof(optarg);
		else if (opt == 'w')
			wait_in = optarg;
		else if (opt == 'r')
			rounds = atol(optarg);
		else
			return 2;
	}
	if (nr_threads < 1 || nr_threads > MAX_THREADS || rounds < 1)
		return 2;
	if (!strcmp(wait_in, "copy"))
		flags = cudaStreamDefault;
	pthread_barrier_init(&start, NULL, (unsigned int)nr_threads);
	pthread_barrier_init(&together, NULL, (unsigned int)nr_threads);
	for (int i = 0; i < nr_threads; i++) {
		struct worker *w = &workers[i];

		w->nr = i;
		sem_init(&w->go, 0, 0);
		sem_init(&w->held, 0, 0);
		pthread_mutex_init(&w->mutex, NULL);
		if (pipe(w->pipe))
			return 1;
		CHECK(cudaStreamCreateWithFlags(&w->stream, flags));
		CHECK(cudaEventCreateWithFlags(&w->event, cudaEventDisableTiming));
		CHECK(cudaMalloc((void **)&w->device, 64));
		works[i](w->stream, 1000);	/* loads the module now, not in the measured
						 * phase */
		CHECK(cudaStreamSynchronize(w->stream));
	}
	for (int i = 0; i < nr_threads; i++) {
		workers[i].whole.wall_ns = clock_ns(CLOCK_MONOTONIC);
		if (pthread_create(&workers[i].partner, NULL, partner, &workers[i]) ||
		    pthread_create(&workers[i].thread, NULL, worker, &workers[i]))
			return 1;
	}
	for (int i = 0; i < nr_threads; i++) {
		struct worker *w = &workers[i];

		pthread_join(w->thread, NULL);
		w->whole.wall_ns = clock_ns(CLOCK_MONOTONIC) - w->whole.wall_ns;
		pthread_join(w->partner, NULL);
		printf("shares-%d %d", w->nr, w->tid);
		for (int p = 0; p < NR_PHASES; p++)
			print_times(names[p], &w->phases[p]);
		print_times("life", &w->life);
		print_times("whole", &w->whole);
		printf("\n");
	}
	return 0;
}
