// SPDX-License-Identifier: MIT
/*
 * ranges.cu - launches in NVTX ranges, on many threads; each kernel identifies its ranges
 *
 *	ranges [-t THREADS] [-n ROUNDS] [-m MODULE] [-u] [-f] [-b]
 *
 * Each thread does ROUNDS rounds. In a round it opens ranges and launches from them: kernel_00 in
 * none, kernel_01 in "one", kernel_02 in "one" and "two", kernel_03 in "three" of the domain
 * "other". kernel_04 is in "four", which is started, not pushed. Range "five", with kernel_05, is
 * opened inside "four" but ends after it. All of this is in "thread", which each thread opens
 * first; the main thread opens "main" before it has called CUDA.
 *
 *	-m	MODULE, a library with its own copy of NVTX, launches kernel_02, and opens the range
 *		"module" around the launch
 *	-u	each round is also in a range with its own name
 *	-f	another thread ends the started ranges
 *	-b	prints the time of a push and its pop, and does nothing else
 */
#if !__has_include(<nvtx3/nvToolsExt.h>)
int main()
{
	return 77;			/* skipped: the installed CUDA headers lack NVTX */
}
#else
#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <nvtx3/nvToolsExt.h>

#include "kernels.h"

typedef void (*module_fn)(void (*fn)(cudaStream_t), cudaStream_t stream);

static int nr_threads = 8;
static int nr_rounds = 200;
static bool unique, foreign;
static module_fn in_module;
static nvtxDomainHandle_t other;
static nvtxStringHandle_t three;

#define SITE(nn)								\
	KERNEL(kernel_##nn)							\
	static NOINLINE void site_##nn(cudaStream_t stream)			\
	{									\
		LAUNCH(kernel_##nn, stream, 1000ull);				\
		NO_TAIL_CALL();							\
	}

SITE(00)
SITE(01)
SITE(02)
SITE(03)
SITE(04)
SITE(05)

static nvtxEventAttributes_t attributes(void)
{
	nvtxEventAttributes_t a = {};

	a.version = NVTX_VERSION;
	a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
	a.colorType = NVTX_COLOR_ARGB;
	a.color = 0xff20a040;
	a.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
	a.payload.ullValue = 42;
	return a;
}

static void *end_range(void *id)
{
	nvtxRangeEnd((nvtxRangeId_t)(uintptr_t)id);
	return NULL;
}

/* Ends a range, possibly on another thread. */
static void end(nvtxRangeId_t id)
{
	pthread_t thread;

	if (!foreign) {
		nvtxRangeEnd(id);
		return;
	}
	pthread_create(&thread, NULL, end_range, (void *)(uintptr_t)id);
	pthread_join(thread, NULL);
}

static void pushed(cudaStream_t stream)
{
	nvtxRangePushA("one");
	site_01(stream);
	nvtxRangePushW(L"two");
	if (in_module)
		in_module(site_02, stream);
	else
		site_02(stream);
	nvtxRangePop();
	site_01(stream);
	nvtxRangePop();
}

static void in_domain(cudaStream_t stream)
{
	nvtxEventAttributes_t a = attributes();

	a.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	a.message.registered = three;
	nvtxDomainRangePushEx(other, &a);
	nvtxRangePop();			/* pops "thread", if this domain counted it */
	nvtxRangePushA("thread");
	site_03(stream);
	nvtxDomainRangePop(other);
	nvtxDomainRangePop(other);	/* one pop too many */
}

static void started(cudaStream_t stream)
{
	nvtxEventAttributes_t a = attributes();
	nvtxRangeId_t id;

	a.messageType = NVTX_MESSAGE_TYPE_ASCII;
	a.message.ascii = "four";
	id = nvtxRangeStartEx(&a);
	site_04(stream);
	nvtxRangePushA("five");
	end(id);
	site_05(stream);
	nvtxMarkA("mark");
	nvtxRangePop();
}

static void *work(void *arg)
{
	unsigned int nr = (uintptr_t)arg;
	cudaStream_t stream;
	char name[32];
	int i;

	cudaStreamCreate(&stream);
	nvtxRangePushA("thread");
	for (i = 0; i < nr_rounds; i++) {
		if (unique) {
			snprintf(name, sizeof(name), "round %u.%d", nr, i);
			nvtxRangePushA(name);
		}
		switch ((nr + i) % 3) {
		case 0:
			pushed(stream);
			/* fall through */
		case 1:
			if (!unique)
				in_domain(stream);
			/* fall through */
		default:
			started(stream);
		}
		site_00(stream);
		if (unique)
			nvtxRangePop();
	}
	cudaStreamSynchronize(stream);
	if (nr % 2)
		nvtxRangePop();		/* the other ranges end with their thread */
	return NULL;
}

static double now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e9 + ts.tv_nsec;
}

static int measure(void)
{
	const int nr = 10000, rounds = 200;
	double best = 1e9, ns;
	int i, round;

	CHECK(cudaFree(NULL));
	sleep(1);			/* time for the shim to measure its clock */
	for (round = 0; round < rounds; round++) {
		ns = now_ns();
		for (i = 0; i < nr; i++) {
			nvtxRangePushA(i % 2 ? "forward" : "backward");
			nvtxRangePop();
		}
		ns = (now_ns() - ns) / nr;
		best = ns < best ? ns : best;
	}
	printf("ranges: %.1f ns a push and its pop\n", best);
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t threads[64];
	void *module;
	int c, i;

	while ((c = getopt(argc, argv, "t:n:m:ufb")) != -1) {
		switch (c) {
		case 't':
			nr_threads = atoi(optarg);
			break;
		case 'n':
			nr_rounds = atoi(optarg);
			break;
		case 'm':
			module = dlopen(optarg, RTLD_NOW | RTLD_LOCAL);
			if (module)
				in_module = (module_fn)dlsym(module, "in_module");
			if (!in_module)
				return 2;
			break;
		case 'u':
			unique = true;
			break;
		case 'f':
			foreign = true;
			break;
		case 'b':
			return measure();
		default:
			return 2;
		}
	}
	nvtxRangePop();			/* pops no range */
	nvtxRangePushA("main");
	other = nvtxDomainCreateA("other");
	three = nvtxDomainRegisterStringA(other, "three");
	nvtxNameOsThreadA(getpid(), "named");
	nvtxNameCategoryA(1, "a category");
	site_00(0);
	if (nr_threads > 64)
		return 2;
	for (i = 0; i < nr_threads; i++)
		pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)i);
	for (i = 0; i < nr_threads; i++)
		pthread_join(threads[i], NULL);
	nvtxRangePop();
	site_00(0);
	CHECK(cudaDeviceSynchronize());
	puts("ranges: done");
	return 0;
}
#endif
