// SPDX-License-Identifier: MIT
/*
 * own_profiles.cc - a program that profiles itself again and again while its threads launch;
 * written in C
 *
 *	own_profiles late|kineto|stranger [THREADS]
 *
 * Three times, it makes 100 memsets that nobody collects, then a profile of 100 memsets.
 *
 *	late		collects without subscribing, disables, and flushes only 1.5 s later
 *	kineto		like PyTorch's profiler: once, it subscribes and registers a clock, which
 *			its records must use. Each time, it registers its callbacks, enables,
 *			disables and flushes. It knows only its own buffers, and reads them after
 *			the flush. While CUPTI holds none of its buffers, it neither flushes nor
 *			reads, as PyTorch 2.11 does
 *	stranger	finds CUPTI's functions with dlsym(), and frees CUPTI's buffers
 *
 * THREADS other threads make smaller memsets all the time. Prints how many of the 100 memsets each
 * profile has.
 */
#include <cuda_runtime_api.h>
#include <cupti.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BUFFER_BYTES	(256 * 1024)
#define NR_PROFILES	3
#define NR_SETS		100
#define SET_BYTES	4096		/* the other threads' sets have OTHER_BYTES */
#define OTHER_BYTES	64
#define MAX_BUFFERS	4096
#define SLACK_NS	10000

#define CHECK_CUPTI(call)							\
	do {									\
		CUptiResult err_ = (call);					\
		if (err_ != CUPTI_SUCCESS) {					\
			printf("own_profiles: %s: error %d\n", #call, err_);	\
			exit(1);						\
		}								\
	} while (0)

#define CHECK_CUDA(call)							\
	do {									\
		if ((call) != cudaSuccess)					\
			exit(1);						\
	} while (0)

/* CUPTI's functions, found by the linker or by dlsym(). */
static struct {
	__typeof__(&cuptiActivityRegisterCallbacks) register_callbacks;
	__typeof__(&cuptiActivityEnable) enable;
	__typeof__(&cuptiActivityDisable) disable;
	__typeof__(&cuptiActivityFlushAll) flush_all;
	__typeof__(&cuptiActivityGetNextRecord) get_next_record;
} cupti;

static const CUpti_ActivityKind kinetos_kinds[] = {
	CUPTI_ACTIVITY_KIND_MEMCPY,
	CUPTI_ACTIVITY_KIND_MEMSET,
	CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
	CUPTI_ACTIVITY_KIND_RUNTIME,
};

static bool knows_buffers;
static atomic_int nr_sets, nr_calls, nr_unknown;
static atomic_bool over;
static atomic_uint_fast64_t begun_ns;	/* when the profile began; 0 except with kineto */
static uint64_t CUPTIAPI odd_ns(void);
static void *memory;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint8_t *buffers[MAX_BUFFERS];
static struct { uint8_t *data; size_t valid_bytes; } ready[MAX_BUFFERS];
static int nr_ready;

static void CUPTIAPI on_call(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
			     const void *data)
{
	const CUpti_CallbackData *d = data;

	(void)userdata;
	(void)cbid;
	if (domain == CUPTI_CB_DOMAIN_RUNTIME_API && d->callbackSite == CUPTI_API_ENTER)
		atomic_fetch_add(&nr_calls, 1);
}

/* Replaces @from by @to. Return: whether @from was found. */
static bool change(uint8_t *from, uint8_t *to)
{
	size_t i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < MAX_BUFFERS && buffers[i] != from; i++)
		;
	if (i < MAX_BUFFERS)
		buffers[i] = to;
	pthread_mutex_unlock(&lock);
	return i < MAX_BUFFERS;
}

static void CUPTIAPI requested(uint8_t **buffer, size_t *bytes, size_t *max_records)
{
	*buffer = malloc(BUFFER_BYTES);
	if (!*buffer || !change(NULL, *buffer))
		exit(1);
	memset(*buffer, 0xa5, BUFFER_BYTES);
	*bytes = BUFFER_BYTES;
	*max_records = 0;
}

static void read_buffer(uint8_t *buffer, size_t valid_bytes)
{
	CUpti_Activity *record = NULL;

	while (cupti.get_next_record(buffer, valid_bytes, &record) == CUPTI_SUCCESS) {
		const CUpti_ActivityMemset4 *set = (const void *)record;

		if (begun_ns && (set->start + SLACK_NS < begun_ns || set->end < set->start ||
				    set->end > odd_ns() + SLACK_NS))
			continue;		/* the record is from another profile or clock */
		if (record->kind == CUPTI_ACTIVITY_KIND_MEMSET && set->bytes == SET_BYTES)
			atomic_fetch_add(&nr_sets, 1);
	}
	free(buffer);
}

static void CUPTIAPI completed(CUcontext context, uint32_t stream, uint8_t *buffer, size_t bytes,
			       size_t valid_bytes)
{
	(void)context;
	(void)stream;
	(void)bytes;
	if (!change(buffer, NULL) && knows_buffers) {
		atomic_fetch_add(&nr_unknown, 1);
		return;
	}
	if (!knows_buffers) {
		read_buffer(buffer, valid_bytes);
		return;
	}
	pthread_mutex_lock(&lock);
	if (nr_ready < MAX_BUFFERS) {
		ready[nr_ready].data = buffer;
		ready[nr_ready++].valid_bytes = valid_bytes;
	}
	pthread_mutex_unlock(&lock);
}

/* Flushes and reads CUPTI's buffers as Kineto does. */
static void collect(void)
{
	uint8_t value = 0;
	size_t bytes = sizeof(value), i;
	int nr_out = 0;

	pthread_mutex_lock(&lock);
	for (i = 0; i < MAX_BUFFERS; i++)
		nr_out += !!buffers[i];
	pthread_mutex_unlock(&lock);
	if (nr_out) {
		CHECK_CUPTI(cupti.flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
		CHECK_CUPTI(cuptiActivitySetAttribute(
			CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, &bytes, &value));
	}
	pthread_mutex_lock(&lock);
	for (; nr_ready; nr_ready--)
		if (nr_out)
			read_buffer(ready[nr_ready - 1].data, ready[nr_ready - 1].valid_bytes);
		else
			free(ready[nr_ready - 1].data);
	pthread_mutex_unlock(&lock);
}

/* A clock that neither the shim nor CUPTI uses. The simulated CUPTI supports only ns. */
static uint64_t CUPTIAPI odd_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (ts.tv_sec + 7200) * 1000000000ull + ts.tv_nsec;
}

static void pause_ms(long ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&ts, NULL);
}

static void *other_thread(void *arg)
{
	cudaStream_t stream;
	void *mine;

	(void)arg;
	CHECK_CUDA(cudaMalloc(&mine, OTHER_BYTES));
	CHECK_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	while (!atomic_load(&over)) {
		CHECK_CUDA(cudaMemsetAsync(mine, 1, OTHER_BYTES, stream));
		pause_ms(1);
	}
	CHECK_CUDA(cudaStreamSynchronize(stream));
	return NULL;
}

static __attribute__((noinline)) void set_all(cudaStream_t stream)
{
	int i;

	for (i = 0; i < NR_SETS; i++)
		CHECK_CUDA(cudaMemsetAsync(memory, i, SET_BYTES, stream));
	CHECK_CUDA(cudaStreamSynchronize(stream));
}

static __attribute__((noinline)) void between(cudaStream_t stream)
{
	set_all(stream);
	__asm__ volatile("");
}

static __attribute__((noinline)) void profiled(cudaStream_t stream)
{
	set_all(stream);
	__asm__ volatile("nop");	/* keeps the compiler from merging this function with
					 * between() */
}

static void *find(void *library, const char *name)
{
	void *fn = library ? dlsym(library, name) : NULL;

	if (!fn)
		exit(1);
	return fn;
}

static void find_cupti(bool stranger)
{
	void *library;

	cupti.register_callbacks = cuptiActivityRegisterCallbacks;
	cupti.enable = cuptiActivityEnable;
	cupti.disable = cuptiActivityDisable;
	cupti.flush_all = cuptiActivityFlushAll;
	cupti.get_next_record = cuptiActivityGetNextRecord;
	if (!stranger)
		return;
	library = dlopen("libcupti.so.13", RTLD_NOW);
	*(void **)&cupti.register_callbacks = find(library, "cuptiActivityRegisterCallbacks");
	*(void **)&cupti.enable = find(library, "cuptiActivityEnable");
	*(void **)&cupti.disable = find(library, "cuptiActivityDisable");
	*(void **)&cupti.flush_all = find(library, "cuptiActivityFlushAll");
}

static void profile(const char *how, cudaStream_t stream)
{
	const CUpti_ActivityKind set = CUPTI_ACTIVITY_KIND_MEMSET, *kinds = &set;
	size_t nr_kinds = 1, i;

	if (!strcmp(how, "kineto")) {
		kinds = kinetos_kinds;
		nr_kinds = sizeof(kinetos_kinds) / sizeof(kinetos_kinds[0]);
	}
	CHECK_CUPTI(cupti.register_callbacks(requested, completed));
	for (i = 0; i < nr_kinds; i++)
		CHECK_CUPTI(cupti.enable(kinds[i]));
	profiled(stream);
	for (i = 0; i < nr_kinds; i++)
		CHECK_CUPTI(cupti.disable(kinds[i]));
	if (!strcmp(how, "late"))
		pause_ms(1500);
	if (knows_buffers)
		collect();
	else
		CHECK_CUPTI(cupti.flush_all(0));
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	int nr_threads = argc > 2 ? atoi(argv[2]) : 0, i;
	bool kineto = !strcmp(how, "kineto"), stranger = !strcmp(how, "stranger");
	CUpti_SubscriberHandle subscriber;
	pthread_t threads[64];
	cudaStream_t stream;

	if ((!kineto && !stranger && strcmp(how, "late")) || nr_threads > 64) {
		fprintf(stderr, "usage: own_profiles late|kineto|stranger [THREADS]\n");
		return 2;
	}
	CHECK_CUDA(cudaMalloc(&memory, SET_BYTES));
	CHECK_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	find_cupti(stranger);
	knows_buffers = kineto;
	for (i = 0; i < nr_threads; i++)
		if (pthread_create(&threads[i], NULL, other_thread, NULL))
			return 1;
	for (i = 0; i < NR_PROFILES; i++) {
		between(stream);
		if (kineto && !i) {
			CHECK_CUPTI(cuptiSubscribe(&subscriber, on_call, NULL));
			CHECK_CUPTI(cuptiActivityRegisterTimestampCallback(odd_ns));
			CHECK_CUPTI(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API,
					CUPTI_RUNTIME_TRACE_CBID_cudaStreamCreate_v3020));
		}
		atomic_store(&nr_sets, 0);
		atomic_store(&begun_ns, kineto ? odd_ns() : 0);
		profile(how, stream);
		printf("own_profiles: profile %d: %d sets\n", i, atomic_load(&nr_sets));
	}
	atomic_store(&over, true);
	for (i = 0; i < nr_threads; i++)
		pthread_join(threads[i], NULL);
	between(stream);
	printf("own_profiles: %d calls, %d buffers of others\n", atomic_load(&nr_calls),
	       atomic_load(&nr_unknown));
	return 0;
}
