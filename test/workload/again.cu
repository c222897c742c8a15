// SPDX-License-Identifier: MIT
/*
 * again.cu - threads that are nearly always inside a call that waits for the device, for tests that
 * attach many times
 *
 *	again [-s SECONDS] [-t THREADS] [-w MS] [-k KIND]
 *
 * Starts THREADS threads of each KIND. Each thread calls a function for its KIND, which launches
 * some short kernels and then a kernel of at most MS ms. Then the thread waits for the last kernel,
 * in a call for its KIND.
 */
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kernels.h"

#define NR_SHORT	20

static unsigned long long wait_ns = 200000000;
static volatile bool over;
static long nr_launches;
static int nr_ready;		/* threads whose first wait is over */
static int (*ctx_synchronize)(void);	/* the driver's function */

#define SITE(name)								\
	KERNEL(kernel_##name)							\
	static NOINLINE void site_##name(cudaStream_t stream, unsigned long long ns)	\
	{									\
		LAUNCH(kernel_##name, stream, ns);				\
		NO_TAIL_CALL();							\
	}

SITE(stream)
SITE(event)
SITE(device)
SITE(context)
SITE(copy)
SITE(free)
SITE(none)

struct own {
	cudaStream_t stream;
	cudaEvent_t event;
	void *device, *host;
};

static void wait_stream(struct own *o)
{
	CHECK(cudaStreamSynchronize(o->stream));
}

static void wait_event(struct own *o)
{
	CHECK(cudaEventRecord(o->event, o->stream));
	CHECK(cudaEventSynchronize(o->event));
}

static void wait_device(struct own *o)
{
	(void)o;
	CHECK(cudaDeviceSynchronize());
}

static void wait_context(struct own *o)
{
	(void)o;
	if (ctx_synchronize())
		exit(1);
}

static void wait_copy(struct own *o)
{
	CHECK(cudaMemcpy(o->host, o->device, 1 << 20, cudaMemcpyDeviceToHost));
}

static void wait_free(struct own *o)
{
	void *p;

	(void)o;
	CHECK(cudaMalloc(&p, 1 << 20));
	CHECK(cudaFree(p));
}

/* Waits by polling the stream. */
static void wait_none(struct own *o)
{
	while (cudaStreamQuery(o->stream) == cudaErrorNotReady)
		usleep(1000);
}

static const struct kind {
	const char *name;
	void (*site)(cudaStream_t stream, unsigned long long ns);
	void (*wait)(struct own *o);
	bool by_default;	/* uses the default stream */
} kinds[] = {
	{ "stream", site_stream, wait_stream, false },
	{ "event", site_event, wait_event, false },
	{ "device", site_device, wait_device, false },
	{ "context", site_context, wait_context, false },
	{ "copy", site_copy, wait_copy, true },
	{ "free", site_free, wait_free, false },
	{ "none", site_none, wait_none, false },
};

#define NR_KINDS	(sizeof(kinds) / sizeof(kinds[0]))

static void *work(void *arg)
{
	const struct kind *k = (const struct kind *)arg;
	unsigned int seed = (unsigned int)(uintptr_t)&k ^ (unsigned int)time(NULL);
	struct own o = {};
	long nr = 0;
	int i;

	if (!k->by_default)
		CHECK(cudaStreamCreateWithFlags(&o.stream, cudaStreamNonBlocking));
	CHECK(cudaEventCreateWithFlags(&o.event, cudaEventDisableTiming | cudaEventBlockingSync));
	CHECK(cudaMalloc(&o.device, 1 << 20));
	o.host = malloc(1 << 20);
	while (!over) {
		for (i = 0; i < NR_SHORT; i++)
			k->site(o.stream, 2000ull);
		k->site(o.stream, wait_ns / 4 + rand_r(&seed) % (wait_ns * 3 / 4));
		nr += NR_SHORT + 1;
		k->wait(&o);
		if (nr == NR_SHORT + 1)
			__atomic_fetch_add(&nr_ready, 1, __ATOMIC_RELEASE);
	}
	CHECK(cudaStreamSynchronize(o.stream));
	__atomic_fetch_add(&nr_launches, nr, __ATOMIC_RELAXED);
	free(o.host);
	return NULL;
}

int main(int argc, char **argv)
{
	const char *only = NULL;
	pthread_t threads[256];
	int seconds = 5, per_kind = 2, nr = 0, opt;

	while ((opt = getopt(argc, argv, "s:t:w:k:")) != -1) {
		switch (opt) {
		case 's':
			seconds = atoi(optarg);
			break;
		case 't':
			per_kind = atoi(optarg);
			break;
		case 'w':
			wait_ns = strtoull(optarg, NULL, 0) * 1000000;
			break;
		case 'k':
			only = optarg;
			break;
		default:
			return 2;
		}
	}
	if (per_kind < 1 || per_kind > 32 || !wait_ns)
		return 2;
	CHECK(cudaFree(NULL));
	*(void **)&ctx_synchronize = dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuCtxSynchronize");
	if (!ctx_synchronize)
		return 1;
	for (size_t k = 0; k < NR_KINDS; k++)
		for (int i = 0; i < per_kind && (!only || !strcmp(only, kinds[k].name)); i++)
			if (pthread_create(&threads[nr++], NULL, work, (void *)&kinds[k]))
				return 1;
	while (__atomic_load_n(&nr_ready, __ATOMIC_ACQUIRE) < nr)
		usleep(1000);
	puts("again: ready");
	fflush(stdout);
	sleep((unsigned int)seconds);
	over = true;
	for (int i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
	printf("again: %ld launches on %d threads\n", nr_launches, nr);
	return 0;
}
