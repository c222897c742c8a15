// SPDX-License-Identifier: MIT
/*
 * calls.cu - each thread makes a known number of CUDA API calls, some of which are timed
 *
 *	calls [-t THREADS] [-n ROUNDS] [-u US]
 *
 * A round is a launch, a copy to the device and, every tenth time, a synchronization of the stream;
 * a kernel takes US microseconds. One more thread only queries errors, and launches nothing. At the
 * end it prints "calls NAME COUNT" for each function, "thread NAME TID COUNT" for each thread and
 * all of its calls, and "time NAME NS DELAYED_NS" for some functions: NS is the time around all
 * calls of the function, and DELAYED_NS the part in which the threads may have waited for a CPU.
 */
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kernels.h"

#define MAX_THREADS	64
#define COPY_BYTES	4096

struct worker {
	pthread_t thread;
	int nr;
	char name[16];
	pid_t tid;
	long nr_calls;
	unsigned long long sync_ns;
	unsigned long long delayed_ns;	/* ns in which the thread may have waited for a CPU */
};

KERNEL(kernel_round)

static struct worker workers[MAX_THREADS + 1];
static int nr_threads = 4;
static long nr_rounds = 100;
static unsigned long long kernel_ns = 20000;
static char host_data[MAX_THREADS][COPY_BYTES];

static unsigned long long now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

#define COUNTED(call)	do { CHECK(call); w->nr_calls++; } while (0)

/*
 * Return: how long the calling thread has waited for a CPU, as the kernel counts it; 0 if unknown
 */
static unsigned long long delayed_ns(void)
{
	unsigned long long ns = 0;
	FILE *f = fopen("/proc/thread-self/schedstat", "r");

	if (f) {
		if (fscanf(f, "%*u %llu", &ns) != 1)
			ns = 0;
		fclose(f);
	}
	return ns;
}

static void synchronize(struct worker *w, cudaStream_t stream)
{
	unsigned long long delayed = delayed_ns();
	unsigned long long begin = now_ns();

	COUNTED(cudaStreamSynchronize(stream));
	w->sync_ns += now_ns() - begin;
	w->delayed_ns += delayed_ns() - delayed;
}

extern "C" NOINLINE void site_round(struct worker *w, cudaStream_t stream, void *memory)
{
	void *args[] = { &kernel_ns };
	dim3 one(1, 1, 1);

	COUNTED(cudaLaunchKernel((const void *)kernel_round, one, one, args, 0, stream));
	COUNTED(cudaMemcpyAsync(memory, host_data[w->nr], COPY_BYTES, cudaMemcpyHostToDevice,
				stream));
	NO_TAIL_CALL();
}

static void introduce(struct worker *w)
{
	w->tid = gettid();
	pthread_setname_np(pthread_self(), w->name);
}

static void *work(void *arg)
{
	struct worker *w = (struct worker *)arg;
	cudaStream_t stream;
	void *memory;
	long i;

	snprintf(w->name, sizeof(w->name), "calls-%d", w->nr);
	introduce(w);
	COUNTED(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	COUNTED(cudaMalloc(&memory, COPY_BYTES));
	for (i = 0; i < nr_rounds; i++) {
		site_round(w, stream, memory);
		if (i % 10 == 9)
			synchronize(w, stream);
	}
	synchronize(w, stream);
	COUNTED(cudaFree(memory));
	COUNTED(cudaStreamDestroy(stream));
	return NULL;
}

static void *ask(void *arg)
{
	struct worker *w = (struct worker *)arg;
	long i;

	snprintf(w->name, sizeof(w->name), "calls-asks");
	introduce(w);
	for (i = 0; i < nr_rounds; i++)
		COUNTED(cudaPeekAtLastError());
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned long long sync_ns = 0, delayed_ns = 0;
	int c, i;

	while ((c = getopt(argc, argv, "t:n:u:")) != -1) {
		if (c == 't')
			nr_threads = atoi(optarg);
		else if (c == 'n')
			nr_rounds = atol(optarg);
		else if (c == 'u')
			kernel_ns = strtoull(optarg, NULL, 0) * 1000;
		else
			return 2;
	}
	if (nr_threads < 1 || nr_threads > MAX_THREADS || nr_rounds < 1)
		return 2;
	CHECK(cudaSetDevice(0));
	for (i = 0; i < nr_threads; i++) {
		workers[i].nr = i;
		pthread_create(&workers[i].thread, NULL, work, &workers[i]);
	}
	for (i = 0; i < nr_threads; i++) {
		pthread_join(workers[i].thread, NULL);
		sync_ns += workers[i].sync_ns;
		delayed_ns += workers[i].delayed_ns;
	}
	pthread_create(&workers[nr_threads].thread, NULL, ask, &workers[nr_threads]);
	pthread_join(workers[nr_threads].thread, NULL);

	printf("calls cudaLaunchKernel %ld\n", nr_threads * nr_rounds);
	printf("calls cudaMemcpyAsync %ld\n", nr_threads * nr_rounds);
	printf("calls cudaStreamSynchronize %ld\n", nr_threads * (nr_rounds / 10 + 1));
	printf("calls cudaStreamCreateWithFlags %d\ncalls cudaStreamDestroy %d\n", nr_threads,
	       nr_threads);
	printf("calls cudaMalloc %d\ncalls cudaFree %d\n", nr_threads, nr_threads);
	printf("calls cudaPeekAtLastError %ld\ncalls cudaSetDevice 1\n", nr_rounds);
	for (i = 0; i <= nr_threads; i++)
		printf("thread %s %d %ld\n", workers[i].name, (int)workers[i].tid,
		       workers[i].nr_calls);
	printf("time cudaStreamSynchronize %llu %llu\n", sync_ns, delayed_ns);
	return 0;
}
