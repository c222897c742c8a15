// SPDX-License-Identifier: MIT
/*
 * capture.cu - launches inside and outside of capture windows, for tests of xpuload --capture
 *
 *	capture [-t THREADS] [-w WINDOWS] [-n LAUNCHES] [-r RACERS] [-m HOW] [-d] [-f] [-e] [-p MS]
 *
 * In each of WINDOWS rounds, each of THREADS threads makes LAUNCHES launches outside of the window,
 * from site_out. Then the main thread opens the window, the threads make as many launches from
 * site_in, and it closes the window while the device is still busy. HOW is profiler (with
 * cudaProfilerStart() and Stop()), push (pushes an NVTX range "window"), start (starts a range that
 * another thread ends), domain (uses a range of the domain "test"), or none. RACERS threads launch
 * all the time from site_any, inside and outside. -f: a child, forked before CUDA is used, does all
 * this, and the parent launches only from site_out. -e: nothing is launched in every second window.
 * -p: all threads pause for MS after each window. -d: each round uses a further device. HOW random:
 * each of THREADS threads, in WINDOWS steps, opens and closes windows and launches from site_any,
 * at random.
 */
#include <cuda_profiler_api.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define HAVE_NVTX 1
#endif

#include "kernels.h"

#define MAX_THREADS	64

#define SITE(name)								\
	KERNEL(kernel_##name)							\
	static NOINLINE void site_##name(cudaStream_t stream)			\
	{									\
		LAUNCH(kernel_##name, stream, 3000ull);				\
		NO_TAIL_CALL();							\
	}

SITE(in)
SITE(out)
SITE(any)

static unsigned int pause_ms;
static int nr_threads = 1, nr_windows = 1, nr_launches = 10, nr_racers;
static const char *how = "profiler";
static pthread_barrier_t barrier;
static volatile bool over;
static bool some_are_empty, each_device;
static long nr_raced;

#ifdef HAVE_NVTX
static nvtxDomainHandle_t domain;
static nvtxRangeId_t started;

static void *end_range(void *arg)
{
	nvtxRangeEnd(started);
	return arg;
}

static void push_in_domain(const char *name)
{
	nvtxEventAttributes_t a = {};

	a.version = NVTX_VERSION;
	a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
	a.messageType = NVTX_MESSAGE_TYPE_ASCII;
	a.message.ascii = name;
	nvtxDomainRangePushEx(domain, &a);
}

static bool nvtx_window(bool open)
{
	pthread_t other;

	if (!strcmp(how, "push") && open) {
		nvtxRangePushA("outer");
		nvtxRangePushA("window");
		nvtxRangePushA("window");	/* inside another range, so it opens no window */
		nvtxRangePop();
	} else if (!strcmp(how, "push")) {
		nvtxRangePop();
		nvtxRangePop();
	} else if (!strcmp(how, "domain") && open) {
		push_in_domain("window");
	} else if (!strcmp(how, "domain")) {
		nvtxDomainRangePop(domain);
	} else if (!strcmp(how, "start") && open) {
		started = nvtxRangeStartA("window");
	} else if (!strcmp(how, "start")) {
		if (pthread_create(&other, NULL, end_range, NULL) || pthread_join(other, NULL))
			exit(1);
	} else {
		return false;
	}
	return true;
}
#endif

static void set_window(bool open)
{
	if (!strcmp(how, "none"))
		return;
#ifdef HAVE_NVTX
	if (nvtx_window(open))
		return;
#endif
	CHECK(open ? cudaProfilerStart() : cudaProfilerStop());
}

static void *worker(void *arg)
{
	cudaStream_t stream;
	int round, i;

	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	for (round = 0; round < nr_windows; round++) {
		if (each_device) {
			CHECK(cudaSetDevice(round));
			CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
		}
		for (i = 0; i < nr_launches; i++)
			site_out(stream);
		pthread_barrier_wait(&barrier);	/* the window is opened */
		pthread_barrier_wait(&barrier);
		for (i = 0; i < nr_launches && !(some_are_empty && round % 2); i++)
			site_in(stream);
		pthread_barrier_wait(&barrier);	/* the window is closed */
		pthread_barrier_wait(&barrier);
	}
	for (i = 0; i < nr_launches; i++)
		site_out(stream);
	CHECK(cudaStreamSynchronize(stream));
	return arg;
}

/* Makes one random step of a thread. */
static void step(unsigned int *seed, cudaStream_t stream)
{
	switch (rand_r(seed) % 8) {
	case 0:
		CHECK(cudaProfilerStart());
		break;
	case 1:
		CHECK(cudaProfilerStop());
		break;
#ifdef HAVE_NVTX
	case 2:
		nvtxRangePushA(rand_r(seed) % 2 ? "window" : "other");
		break;
	case 3:
		nvtxRangePop();		/* often without an open range */
		break;
	case 4:
		nvtxRangeEnd(nvtxRangeStartA("window"));
		break;
	case 5:
		push_in_domain("window");
		nvtxDomainRangePop(domain);
		break;
#endif
	default:
		site_any(stream);
		__atomic_fetch_add(&nr_raced, 1, __ATOMIC_RELAXED);
		break;
	}
}

static void *stepper(void *arg)
{
	unsigned int seed = (unsigned int)(uintptr_t)arg;
	cudaStream_t stream;
	int i;

	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	for (i = 0; i < nr_windows; i++) {
		step(&seed, stream);
		if (i % 64 == 63)
			CHECK(cudaStreamSynchronize(stream));
	}
	CHECK(cudaStreamSynchronize(stream));
	return NULL;
}

static void *racer(void *arg)
{
	cudaStream_t stream;
	long nr = 0;

	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	while (!over) {
		site_any(stream);
		if (!(++nr % 64))
			CHECK(cudaStreamSynchronize(stream));
	}
	CHECK(cudaStreamSynchronize(stream));
	__atomic_fetch_add(&nr_raced, nr, __ATOMIC_RELAXED);
	return arg;
}

static void work(void)
{
	pthread_t workers[MAX_THREADS], racers[MAX_THREADS];
	int i, round;

#ifdef HAVE_NVTX
	domain = nvtxDomainCreateA("test");
#endif
	CHECK(cudaFree(NULL));
	if (!strcmp(how, "random")) {
		for (i = 0; i < nr_threads; i++)
			if (pthread_create(&workers[i], NULL, stepper, (void *)(uintptr_t)(i + 1)))
				exit(1);
		for (i = 0; i < nr_threads; i++)
			pthread_join(workers[i], NULL);
		CHECK(cudaDeviceSynchronize());
		return;
	}
	pthread_barrier_init(&barrier, NULL, (unsigned int)nr_threads + 1);
	for (i = 0; i < nr_racers; i++)
		if (pthread_create(&racers[i], NULL, racer, NULL))
			exit(1);
	for (i = 0; i < nr_threads; i++)
		if (pthread_create(&workers[i], NULL, worker, NULL))
			exit(1);
	for (round = 0; round < nr_windows; round++) {
		pthread_barrier_wait(&barrier);
		set_window(true);
		pthread_barrier_wait(&barrier);
		pthread_barrier_wait(&barrier);
		set_window(false);
		usleep(pause_ms * 1000);
		pthread_barrier_wait(&barrier);
	}
	for (i = 0; i < nr_threads; i++)
		pthread_join(workers[i], NULL);
	over = true;
	for (i = 0; i < nr_racers; i++)
		pthread_join(racers[i], NULL);
	CHECK(cudaDeviceSynchronize());
}

int main(int argc, char **argv)
{
	bool forks = false;
	int opt, status = 0;
	pid_t child;

	while ((opt = getopt(argc, argv, "t:w:n:r:m:defp:")) != -1) {
		switch (opt) {
		case 't':
			nr_threads = atoi(optarg);
			break;
		case 'w':
			nr_windows = atoi(optarg);
			break;
		case 'n':
			nr_launches = atoi(optarg);
			break;
		case 'r':
			nr_racers = atoi(optarg);
			break;
		case 'm':
			how = optarg;
			break;
		case 'p':
			pause_ms = (unsigned int)atoi(optarg);
			break;
		case 'd':
			each_device = true;
			break;
		case 'e':
			some_are_empty = true;
			break;
		case 'f':
			forks = true;
			break;
		default:
			return 2;
		}
	}
#ifndef HAVE_NVTX
	if (strcmp(how, "profiler") && strcmp(how, "none"))
		return 77;		/* skipped: the installed CUDA headers lack NVTX */
#endif
	if (nr_threads < 1 || nr_threads > MAX_THREADS || nr_racers < 0 || nr_racers > MAX_THREADS)
		return 2;
	child = forks ? fork() : -1;
	if (child > 0) {
		how = "none";
		nr_windows = 0;
	}
	work();
	if (child > 0 && waitpid(child, &status, 0) != child)
		return 1;
	printf("capture: in %d out %d any %ld\n",
	       nr_threads * (some_are_empty ? nr_windows - nr_windows / 2 : nr_windows) *
	       nr_launches,
	       nr_threads * (nr_windows + 1) * nr_launches, nr_raced);
	return status ? 1 : 0;
}
