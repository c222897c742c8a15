// SPDX-License-Identifier: MIT
/*
 * live.cu - launches on command, for tests that attach and detach while it runs
 *
 *	live [-t THREADS] [-g DEVICES] [-s SECONDS] [-i]
 *
 * Reads commands from stdin, one per line, and answers each on stdout when it is done:
 *
 *	burst N		the threads make N launches, each thread from four sites in turn; then data
 *			is copied to the device, on the device and back, and compared: "burst N"
 *	on, off		a separate thread launches from site_bg every 100 us or so; "on"
 *	rss		prints resident memory in KiB: "rss N"
 *	env NAME	prints the value of an environment variable: "env VALUE"
 *	subscribe	subscribes to CUPTI, as a profiler in the program does: "subscribe ERROR"
 *	unsubscribe	"unsubscribe ERROR"
 *	quit		ends, as at the end of stdin
 *
 * At its end it prints what it launched: "live: launches N copies N sum X", where X depends on all
 * copied data. -s ends it after SECONDS in any case; -i makes it launch nothing and call nothing in
 * CUDA until the first burst.
 *
 * kernel_NN is launched only by site_NN, and kernel_bg only by site_bg.
 */
#include <cupti.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kernels.h"

#define MAX_THREADS	64
#define MAX_GPUS	8
#define COPY_BYTES	4096

struct worker {
	pthread_t thread;
	int nr;
	long nr_launches;		/* number of launches to make */
	bool has_stream;
	cudaStream_t stream;
};

#define SITE(name, cost)							\
	KERNEL(kernel_##name)							\
	extern "C" NOINLINE void site_##name(cudaStream_t s)			\
	{									\
		LAUNCH(kernel_##name, s, cost);					\
		NO_TAIL_CALL();							\
	}

SITE(00, 2000)
SITE(01, 3000)
SITE(02, 5000)
SITE(03, 7000)
SITE(bg, 4000)

static void (*const sites[])(cudaStream_t s) = { site_00, site_01, site_02, site_03 };

static struct worker workers[MAX_THREADS];
static int nr_threads = 1, nr_gpus = 1;
static long nr_launches, nr_copies, nr_background;
static unsigned long sum;
static volatile bool background;
static pthread_t background_thread;

extern "C" NOINLINE void site_h2d(char *dst, const char *src)
{
	CHECK(cudaMemcpy(dst, src, COPY_BYTES, cudaMemcpyHostToDevice));
	NO_TAIL_CALL();
}

extern "C" NOINLINE void site_d2d(char *dst, const char *src)
{
	CHECK(cudaMemcpy(dst, src, COPY_BYTES, cudaMemcpyDeviceToDevice));
	NO_TAIL_CALL();
}

extern "C" NOINLINE void site_d2h(char *dst, const char *src)
{
	CHECK(cudaMemcpy(dst, src, COPY_BYTES, cudaMemcpyDeviceToHost));
	NO_TAIL_CALL();
}

static void *worker_main(void *arg)
{
	struct worker *w = (struct worker *)arg;

	CHECK(cudaSetDevice(w->nr % nr_gpus));
	if (!w->has_stream)
		CHECK(cudaStreamCreateWithFlags(&w->stream, cudaStreamNonBlocking));
	w->has_stream = true;
	for (long i = 0; i < w->nr_launches; i++)
		sites[(i + w->nr) & 3](w->stream);
	CHECK(cudaGetLastError());
	CHECK(cudaStreamSynchronize(w->stream));
	return NULL;
}

static void *background_main(void *arg)
{
	struct timespec pause = { 0, 50000 };
	cudaStream_t s;

	CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	while (background) {
		site_bg(s);
		nr_background++;
		nanosleep(&pause, NULL);
	}
	CHECK(cudaStreamSynchronize(s));
	CHECK(cudaStreamDestroy(s));
	return arg;
}

static void copy(void)
{
	static char *device;
	char here[COPY_BYTES], back[COPY_BYTES];

	if (!device)
		CHECK(cudaMalloc((void **)&device, 2 * COPY_BYTES));
	for (int i = 0; i < COPY_BYTES; i++)
		here[i] = (char)(i * 7 + nr_copies);
	site_h2d(device, here);
	site_d2d(device + COPY_BYTES, device);
	site_d2h(back, device + COPY_BYTES);
	if (memcmp(here, back, COPY_BYTES)) {
		fputs("live: the copies do not agree\n", stderr);
		exit(1);
	}
	for (int i = 0; i < COPY_BYTES; i++)
		sum = sum * 31 + (unsigned char)back[i];
	nr_copies += 3;
}

static void burst(long nr)
{
	for (int i = 0; i < nr_threads; i++) {
		workers[i].nr = i;
		workers[i].nr_launches = nr / nr_threads + (i < nr % nr_threads);
		if (pthread_create(&workers[i].thread, NULL, worker_main, &workers[i])) {
			fputs("live: pthread_create failed\n", stderr);
			exit(1);
		}
	}
	for (int i = 0; i < nr_threads; i++)
		pthread_join(workers[i].thread, NULL);
	nr_launches += nr;
	copy();
}

static void set_background(bool on)
{
	if (on == background)
		return;
	background = on;
	if (!on)
		pthread_join(background_thread, NULL);
	else if (pthread_create(&background_thread, NULL, background_main, NULL))
		exit(1);
}

static long rss_kib(void)
{
	long kib = -1;
	char line[256];
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "VmRSS: %ld", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib;
}

static void CUPTIAPI callback(void *, CUpti_CallbackDomain, CUpti_CallbackId, const void *)
{
}

/*
 * Finds CUPTI's functions by name, because the program is linked without CUPTI. Return: CUPTI's
 * error, or -1 if there is no CUPTI.
 */
static int subscribe(bool on)
{
	static CUpti_SubscriberHandle handle;
	CUpti_SubscriberParams params = {};
	__typeof__(&cuptiSubscribe_v2) subscribe_v2;
	__typeof__(&cuptiUnsubscribe) unsubscribe;
	void *cupti = dlopen("libcupti.so.13", RTLD_NOW);

	if (!cupti)
		return -1;
	*(void **)&subscribe_v2 = dlsym(cupti, "cuptiSubscribe_v2");
	*(void **)&unsubscribe = dlsym(cupti, "cuptiUnsubscribe");
	if (!subscribe_v2 || !unsubscribe)
		return -1;
	params.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
	params.subscriberName = "profiler-in-the-program";
	return on ? subscribe_v2(&handle, callback, NULL, &params) : unsubscribe(handle);
}

static bool obey(const char *line)
{
	char name[64];
	long nr;

	if (sscanf(line, "burst %ld", &nr) == 1) {
		burst(nr);
		printf("burst %ld\n", nr);
	} else if (!strcmp(line, "on\n") || !strcmp(line, "off\n")) {
		set_background(line[1] == 'n');
		fputs(line, stdout);
	} else if (!strcmp(line, "rss\n")) {
		printf("rss %ld\n", rss_kib());
	} else if (sscanf(line, "env %63s", name) == 1) {
		printf("env %s\n", getenv(name) ? getenv(name) : "(unset)");
	} else if (!strcmp(line, "subscribe\n") || !strcmp(line, "unsubscribe\n")) {
		printf("%.*s %d\n", (int)strcspn(line, "\n"), line, subscribe(line[0] == 's'));
	} else if (!strcmp(line, "quit\n")) {
		return false;
	} else {
		fprintf(stderr, "live: what is %s", line);
		exit(2);
	}
	return true;
}

int main(int argc, char **argv)
{
	bool idle = false;
	char line[256];
	int opt;

	while ((opt = getopt(argc, argv, "t:g:s:i")) != -1) {
		switch (opt) {
		case 't':
			nr_threads = atoi(optarg);
			break;
		case 'g':
			nr_gpus = atoi(optarg);
			break;
		case 's':
			alarm((unsigned int)atoi(optarg));
			break;
		case 'i':
			idle = true;
			break;
		default:
			fputs("usage: live [-t THREADS] [-g DEVICES] [-s SECONDS] [-i]\n", stderr);
			return 2;
		}
	}
	if (nr_threads < 1 || nr_threads > MAX_THREADS || nr_gpus < 1 || nr_gpus > MAX_GPUS)
		return 2;
	setlinebuf(stdout);
	if (!idle)
		CHECK(cudaFree(NULL));
	puts("ready");
	while (fgets(line, sizeof(line), stdin) && obey(line))
		;
	set_background(false);
	CHECK(cudaDeviceSynchronize());
	printf("live: launches %ld copies %ld sum %lx\n", nr_launches, nr_copies, sum);
	return 0;
}
