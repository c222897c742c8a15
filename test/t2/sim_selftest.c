// SPDX-License-Identifier: MIT
/*
 * sim_selftest.c - checks that the simulated device keeps CUPTI's contracts
 *
 * This is a small CUPTI client that runs one scenario per process. The test runs itself with a
 * scenario's name and environment, and reads the results of its checks from a pipe. If it is built
 * with nvcc (-x cu), the scenarios that use no options of the simulated device check the real
 * CUPTI. "sim_selftest dump" makes many calls and prints everything that CUPTI reports, so that the
 * simulated and the real CUPTI can be compared by eye.
 */
#include <cuda.h>
#include <cupti.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../lib/tap.h"
#include "../sim/sim.h"
#include "../workload/kernels.h"

#define US		1000ull
#define MS		1000000ull
#define MAX_EVENTS	400000
#define MAX_RECORDS	400000
#define BUFFER_BYTES	(256 * 1024)

KERNEL(k_short)
KERNEL(k_long)
KERNEL(k_first)
KERNEL(k_second)

/* ---- results, which the scenario sends to the test through stdout ---------------------------- */

static __attribute__((format(printf, 2, 3))) bool check(bool cond, const char *fmt, ...)
{
	va_list args;

	printf("%d ", cond);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
	return cond;
}

static __attribute__((format(printf, 1, 2))) void remark(const char *fmt, ...)
{
	va_list args;

	fputs("# ", stdout);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
}

/* ---- the CUPTI client ------------------------------------------------------------------------ */

struct event {
	uint32_t domain;
	uint32_t cbid;
	uint32_t site;			/* CUpti_ApiCallbackSite */
	uint32_t correlation_id;
	uint64_t time_ns;
	pthread_t thread;
	char symbol[16];
	uint64_t node;			/* id in graph node callbacks */
	uint64_t original;
	bool data_kept;			/* correlationData kept the value from the entry */
};

struct seen {				/* one activity record */
	uint32_t kind;
	uint32_t correlation_id;
	uint32_t stream;
	uint32_t context;
	uint32_t device;
	uint32_t graph;
	uint64_t start;
	uint64_t end;
	uint64_t node;
	uint64_t bytes;
	uint8_t copy_kind;
	char name[16];
};

static struct event *events;
static size_t nr_events;
static struct seen *records;
static size_t nr_records;
static size_t nr_requests;
static size_t nr_buffers;		/* number of buffers delivered */
static size_t nr_other_thread;		/* buffers delivered on a thread that did not flush */
static pthread_t main_thread;
static CUpti_SubscriberHandle subscriber;
static pthread_mutex_t records_lock = PTHREAD_MUTEX_INITIALIZER;
static size_t buffer_bytes = BUFFER_BYTES;
static size_t buffer_max_records;
static bool refuse_buffers;
static bool dirty_buffers;

static uint64_t mono_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

static void must(CUptiResult err, const char *what)
{
	const char *text = "";

	if (err == CUPTI_SUCCESS)
		return;
	cuptiGetResultString(err, &text);
	check(false, "%s: %s", what, text);
	exit(1);
}

#define MUST(call) must(call, #call)

static void copy_name(char *to, const char *from)
{
	snprintf(to, 16, "%s", from ? from : "");
}

/* Return: whether symbolName is valid. Only launches set it; for other calls it may be anything. */
static bool has_symbol(CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
	if (domain == CUPTI_CB_DOMAIN_RUNTIME_API)
		return cbid == CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000 ||
		       cbid == CUPTI_RUNTIME_TRACE_CBID___cudaLaunchKernel_v13000;
	return cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel ||
	       cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz ||
	       cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx ||
	       cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel;
}

static void on_event(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
		     const void *cbdata)
{
	size_t i = __atomic_fetch_add(&nr_events, 1, __ATOMIC_RELAXED);
	struct event *e = &events[i];

	(void)userdata;
	if (i >= MAX_EVENTS)
		abort();
	e->domain = domain;
	e->cbid = cbid;
	e->time_ns = mono_ns();
	e->thread = pthread_self();
	if (domain == CUPTI_CB_DOMAIN_DRIVER_API || domain == CUPTI_CB_DOMAIN_RUNTIME_API) {
		const CUpti_CallbackData *d = (const CUpti_CallbackData *)cbdata;

		e->site = d->callbackSite;
		e->correlation_id = d->correlationId;
		if (has_symbol(domain, cbid))
			copy_name(e->symbol, d->symbolName);
		if (d->callbackSite == CUPTI_API_ENTER)
			*d->correlationData = 0x1234567800000000ull | cbid;
		else
			e->data_kept = *d->correlationData == (0x1234567800000000ull | cbid);
	} else if (domain == CUPTI_CB_DOMAIN_RESOURCE && cbdata) {
		/* CU_INIT_FINISHED has no data. */
		const CUpti_ResourceData *d = (const CUpti_ResourceData *)cbdata;
		const CUpti_GraphData *g = (const CUpti_GraphData *)d->resourceDescriptor;

		if (cbid == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED ||
		    cbid == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED)
			MUST(cuptiGetGraphNodeId(g->node, &e->node));
		if (cbid == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED)
			MUST(cuptiGetGraphNodeId(g->originalNode, &e->original));
	}
}

static void on_request(uint8_t **buffer, size_t *size, size_t *max_records)
{
	void *data = NULL;

	__atomic_fetch_add(&nr_requests, 1, __ATOMIC_RELAXED);
	*buffer = NULL;
	*size = 0;
	*max_records = 0;
	if (refuse_buffers || posix_memalign(&data, 8, buffer_bytes))
		return;
	memset(data, dirty_buffers ? 0xff : 0, buffer_bytes);
	*buffer = (uint8_t *)data;
	*size = buffer_bytes;
	*max_records = buffer_max_records;
}

static void see(const CUpti_Activity *record)
{
	struct seen *s = &records[nr_records];

	if (nr_records >= MAX_RECORDS)
		abort();
	memset(s, 0, sizeof(*s));
	s->kind = record->kind;
	switch (record->kind) {
	case CUPTI_ACTIVITY_KIND_KERNEL:
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
		const CUpti_ActivityKernel4 *k = (const CUpti_ActivityKernel4 *)record;

		s->correlation_id = k->correlationId;
		s->stream = k->streamId;
		s->device = k->deviceId;
		s->start = k->start;
		s->end = k->end;
		copy_name(s->name, k->name);
		s->context = k->contextId;
		s->node = ((const CUpti_ActivityKernel5 *)record)->graphNodeId;
		s->graph = ((const CUpti_ActivityKernel6 *)record)->graphId;
		break;
	}
	case CUPTI_ACTIVITY_KIND_MEMCPY: {
		const CUpti_ActivityMemcpy4 *m = (const CUpti_ActivityMemcpy4 *)record;

		s->correlation_id = m->correlationId;
		s->stream = m->streamId;
		s->device = m->deviceId;
		s->start = m->start;
		s->end = m->end;
		s->bytes = m->bytes;
		s->copy_kind = m->copyKind;
		s->context = m->contextId;
		s->node = m->graphNodeId;
		s->graph = m->graphId;
		break;
	}
	case CUPTI_ACTIVITY_KIND_MEMSET: {
		const CUpti_ActivityMemset3 *m = (const CUpti_ActivityMemset3 *)record;

		s->correlation_id = m->correlationId;
		s->stream = m->streamId;
		s->device = m->deviceId;
		s->start = m->start;
		s->end = m->end;
		s->bytes = m->bytes;
		s->context = m->contextId;
		s->node = m->graphNodeId;
		s->graph = m->graphId;
		break;
	}
	case CUPTI_ACTIVITY_KIND_RUNTIME:
	case CUPTI_ACTIVITY_KIND_DRIVER: {
		const CUpti_ActivityAPI *a = (const CUpti_ActivityAPI *)record;

		s->correlation_id = a->correlationId;
		s->start = a->start;
		s->end = a->end;
		s->bytes = a->cbid;
		break;
	}
	default:
		break;
	}
	nr_records++;
}

static void on_complete(CUcontext ctx, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	CUpti_Activity *record = NULL;

	(void)ctx, (void)stream, (void)size;
	pthread_mutex_lock(&records_lock);
	nr_buffers++;
	if (!pthread_equal(pthread_self(), main_thread))
		nr_other_thread++;
	while (valid && !cuptiActivityGetNextRecord(buffer, valid, &record))
		see(record);
	pthread_mutex_unlock(&records_lock);
	free(buffer);
}

static uint64_t on_timestamp(void)
{
	return mono_ns();
}

enum {
	CLIENT_CALLBACKS	= 1,
	CLIENT_KERNELS		= 2,
	CLIENT_COPIES		= 4,
	CLIENT_MONOTONIC	= 8,
};

static void client_start(int what)
{
	main_thread = pthread_self();
	events = (struct event *)calloc(MAX_EVENTS, sizeof(*events));
	records = (struct seen *)calloc(MAX_RECORDS, sizeof(*records));
	if (!events || !records)
		exit(1);
	MUST(cuptiSubscribe(&subscriber, on_event, NULL));
	if (what & CLIENT_MONOTONIC)
		MUST(cuptiActivityRegisterTimestampCallback(on_timestamp));
	MUST(cuptiActivityRegisterCallbacks(on_request, on_complete));
	if (what & CLIENT_CALLBACKS) {
		MUST(cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API));
		MUST(cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API));
		MUST(cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE));
	}
	if (what & CLIENT_KERNELS)
		MUST(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
	if (what & CLIENT_COPIES) {
		MUST(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY));
		MUST(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET));
	}
}

/* Frees memory that leak checkers would report. */
static void client_free(void)
{
	free(events);
	free(records);
	events = NULL;
	records = NULL;
}

static void forget(void)
{
	pthread_mutex_lock(&records_lock);
	nr_records = 0;
	pthread_mutex_unlock(&records_lock);
	__atomic_store_n(&nr_events, 0, __ATOMIC_RELAXED);
}

static bool is_launch(const struct event *e)
{
	return e->domain == CUPTI_CB_DOMAIN_DRIVER_API &&
	       has_symbol(CUPTI_CB_DOMAIN_DRIVER_API, e->cbid);
}

/* Reads a counter of the simulated device. Return: false on a real device. */
static bool sim_counter(enum sim_stat stat, uint64_t *value)
{
	uint64_t (*read_stat)(enum sim_stat);

	*(void **)&read_stat = dlsym(RTLD_DEFAULT, "sim_stat");
	if (!read_stat) {
		void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);

		if (lib)
			*(void **)&read_stat = dlsym(lib, "sim_stat");
	}
	if (read_stat)
		*value = read_stat(stat);
	return read_stat;
}

/* The first launch of a kernel also loads the kernel, which causes further events. */
static void warm_up(void)
{
	LAUNCH(k_short, 0, US);
	LAUNCH(k_long, 0, US);
	LAUNCH(k_first, 0, US);
	LAUNCH(k_second, 0, US);
	CHECK(cudaDeviceSynchronize());
}

/* ---- scenarios ------------------------------------------------------------------------------- */

/*
 * Keeps only the calls with the launch's ID, because cudart also asks for the kernel's name, and
 * CUPTI also reports the module. Return: the number of events left.
 */
static size_t keep_launch(void)
{
	uint32_t id = 0;
	size_t nr = 0;

	for (size_t i = 0; i < nr_events; i++)
		if (is_launch(&events[i]))
			id = events[i].correlation_id;
	for (size_t i = 0; i < nr_events; i++)
		if (events[i].domain != CUPTI_CB_DOMAIN_RESOURCE && events[i].correlation_id == id)
			events[nr++] = events[i];
	return nr;
}

static void scenario_callbacks(void)
{
	static const uint32_t domains[] = {
		CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_CB_DOMAIN_DRIVER_API,
		CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_CB_DOMAIN_RUNTIME_API,
	};
	static const uint32_t sites[] = {
		CUPTI_API_ENTER, CUPTI_API_ENTER, CUPTI_API_EXIT, CUPTI_API_EXIT,
	};
	bool order = true, symbol = true, kept = true, thread = true;
	uint32_t first;
	size_t nr;
	const char *name;
	char *dev;

	client_start(CLIENT_CALLBACKS);
	CHECK(cudaMalloc((void **)&dev, 4096));
	warm_up();
	check(nr_events > 0, "callbacks come from the first launch on");

	forget();
	LAUNCH(k_first, 0, US);
	nr = keep_launch();
	if (!check(nr == 4, "a launch has four callbacks with one correlation id (%zu)", nr))
		return;
	for (int i = 0; i < 4; i++) {
		order = order && events[i].domain == domains[i] && events[i].site == sites[i];
		symbol = symbol && !strcmp(events[i].symbol, "k_first");
		kept = kept && (sites[i] == CUPTI_API_ENTER || events[i].data_kept);
		thread = thread && pthread_equal(events[i].thread, pthread_self());
	}
	check(order,
	      "the callbacks' order: runtime enters, driver enters, driver exits, runtime exits");
	check(events[0].correlation_id, "the correlation id of a launch is not 0");
	check(symbol, "a launch's callbacks have the kernel's name");
	check(kept, "correlationData that is set at the entry is there at the exit");
	check(thread, "callbacks are called on the launching thread");
	check(is_launch(&events[1]),
	      "the driver's callback is that of a launch, cbid %u", events[1].cbid);
	MUST(cuptiGetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API, events[1].cbid, &name));
	check(!strcmp(name, "cuLaunchKernel") || !strcmp(name, "cuLaunchKernelEx"),
	      "the driver's callback is named %s", name);
	MUST(cuptiGetCallbackName(CUPTI_CB_DOMAIN_RUNTIME_API, events[0].cbid, &name));
	check(strstr(name, "cudaLaunchKernel"), "the runtime's callback is named %s", name);

	first = events[0].correlation_id;
	forget();
	cudaPeekAtLastError();
	cudaGetLastError();
	LAUNCH(k_second, 0, US);
	check(nr_events >= 4 && events[nr_events - 1].correlation_id > first,
	      "correlation ids increase on one thread");
	check(events[nr_events - 1].correlation_id > first + 1,
	      "calls that launch nothing take correlation ids, too");

	forget();
	CHECK(cudaMemset(dev, 1, 4096));
	check(nr_events >= 4 && events[0].correlation_id == events[1].correlation_id,
	      "a memset and the driver call inside it have the same correlation id");

	MUST(cuptiEnableDomain(0, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API));
	MUST(cuptiEnableDomain(0, subscriber, CUPTI_CB_DOMAIN_DRIVER_API));
	MUST(cuptiEnableDomain(0, subscriber, CUPTI_CB_DOMAIN_RESOURCE));
	MUST(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
				 CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel));
	forget();
	CHECK(cudaMemset(dev, 1, 4096));
	LAUNCH(k_first, 0, US);
	check(nr_events == 2 && is_launch(&events[0]) && is_launch(&events[1]),
	      "with one callback enabled only that one is called");
	MUST(cuptiUnsubscribe(subscriber));
	forget();
	LAUNCH(k_first, 0, US);
	check(!nr_events, "after cuptiUnsubscribe no callback is called");
	MUST(cuptiSubscribe(&subscriber, on_event, NULL));
	LAUNCH(k_first, 0, US);
	check(!nr_events, "after subscribing again no callback is called until one is enabled");
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaFree(dev));
}

#define NR_THREADS	6
#define NR_LAUNCHES	4000		/* launches by one thread */
#define NR_STREAMS	4

static void *many_main(void *arg)
{
	cudaStream_t streams[NR_STREAMS];
	unsigned int r = (unsigned int)(uintptr_t)arg * 2654435761u + 1;

	for (int i = 0; i < NR_STREAMS; i++)
		CHECK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
	for (int i = 0; i < NR_LAUNCHES; i++) {
		r = r * 1664525 + 1013904223;
		if (r >> 31)
			LAUNCH(k_first, streams[(r >> 20) % NR_STREAMS], 2 * US);
		else
			LAUNCH(k_second, streams[(r >> 20) % NR_STREAMS], 9 * US);
	}
	for (int i = 0; i < NR_STREAMS; i++)
		CHECK(cudaStreamSynchronize(streams[i]));
	for (int i = 0; i < NR_STREAMS; i++)
		CHECK(cudaStreamDestroy(streams[i]));
	return NULL;
}

static int by_stream(const void *pa, const void *pb)
{
	const struct seen *a = (const struct seen *)pa, *b = (const struct seen *)pb;

	if (a->stream != b->stream)
		return a->stream < b->stream ? -1 : 1;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return 0;
}

static int by_id(const void *pa, const void *pb)
{
	const struct seen *a = (const struct seen *)pa, *b = (const struct seen *)pb;

	return (a->correlation_id > b->correlation_id) - (a->correlation_id < b->correlation_id);
}

static int event_by_id(const void *pa, const void *pb)
{
	const struct event *a = (const struct event *)pa, *b = (const struct event *)pb;

	return (a->correlation_id > b->correlation_id) - (a->correlation_id < b->correlation_id);
}

static void scenario_many(void)
{
	pthread_t threads[NR_THREADS];
	size_t nr = 0, wrong = 0, early = 0, overlaps = 0, overtakes = 0, bad = 0, repeated = 0;
	uint64_t latest_end = 0;
	size_t dropped;

	buffer_bytes = 64 * 1024;
	client_start(CLIENT_CALLBACKS | CLIENT_KERNELS | CLIENT_MONOTONIC);
	CHECK(cudaFree(NULL));
	for (int i = 0; i < NR_THREADS; i++)
		if (pthread_create(&threads[i], NULL, many_main, (void *)(uintptr_t)(i + 1)))
			exit(1);
	for (int i = 0; i < NR_THREADS; i++)
		pthread_join(threads[i], NULL);
	MUST(cuptiActivityFlushAll(0));
	check(nr_records == NR_THREADS * NR_LAUNCHES, "%d launches have %zu records",
	      NR_THREADS * NR_LAUNCHES, nr_records);
	check(nr_other_thread == nr_buffers, "buffers come back on another thread than main");

	for (size_t i = 0; i < nr_events; i++)
		if (is_launch(&events[i]) && events[i].site == CUPTI_API_ENTER)
			events[nr++] = events[i];
	check(nr == nr_records, "%zu callbacks of launches, as many as records", nr);
	qsort(events, nr, sizeof(*events), event_by_id);
	qsort(records, nr_records, sizeof(*records), by_id);
	for (size_t i = 0; i < nr && i < nr_records; i++) {
		repeated += i && records[i].correlation_id == records[i - 1].correlation_id;
		wrong += records[i].correlation_id != events[i].correlation_id ||
			 strcmp(records[i].name, events[i].symbol);
		early += records[i].start + 20 * US < events[i].time_ns;
		bad += !records[i].start || records[i].end <= records[i].start;
		overtakes += records[i].end < latest_end;
		if (records[i].end > latest_end)
			latest_end = records[i].end;
	}
	check(!repeated, "correlation ids are unique (%zu are not)", repeated);
	check(!wrong, "each record has its launch's id and kernel (%zu do not)", wrong);
	check(!bad, "each record has possible times (%zu do not)", bad);
	check(!early, "no kernel starts before its launch (%zu do)", early);
	check(overtakes > 100, "work ends out of launch order (%zu times)", overtakes);
	qsort(records, nr_records, sizeof(*records), by_stream);
	for (size_t i = 1; i < nr_records; i++)
		overlaps += records[i].stream == records[i - 1].stream &&
			    records[i].start < records[i - 1].end;
	check(!overlaps, "work in a stream does not overlap (%zu do)", overlaps);
	MUST(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped));
	check(!dropped, "nothing is dropped (%zu are)", dropped);
}

static void scenario_flush(void)
{
	cudaStream_t a, b;
	uint64_t before;

	client_start(CLIENT_KERNELS);
	CHECK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
	LAUNCH(k_short, a, US);
	CHECK(cudaStreamSynchronize(a));
	MUST(cuptiActivityFlushAll(0));
	check(nr_records == 1, "a flush returns what has ended, in a buffer that is not full");

	forget();
	before = mono_ns();
	LAUNCH(k_long, a, 300 * MS);
	check(mono_ns() - before < 100 * MS, "a launch does not wait for its kernel");
	MUST(cuptiActivityFlushAll(0));
	check(!nr_records, "a flush does not return a kernel that runs");
	check(mono_ns() - before < 200 * MS, "a flush does not wait for a kernel that runs");
	CHECK(cudaStreamSynchronize(a));
	check(mono_ns() - before > 290 * MS, "cudaStreamSynchronize waits for a kernel that runs");
	MUST(cuptiActivityFlushAll(0));
	check(nr_records == 1 && records[0].end > records[0].start,
	      "a flush returns a kernel that has ended");
	check(nr_records == 1 && records[0].end - records[0].start >= 290 * MS,
	      "a kernel takes as long as it should");

	forget();
	LAUNCH(k_long, a, 300 * MS);
	LAUNCH(k_short, b, US);
	CHECK(cudaStreamSynchronize(b));
	check(cudaStreamQuery(a) == cudaErrorNotReady, "one stream overtakes another");
	MUST(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
	remark("forced flush: %zu records", nr_records);
	for (size_t i = 0; i < nr_records; i++)
		remark("%s %llu %llu", records[i].name, (unsigned long long)records[i].start,
		       (unsigned long long)records[i].end);
	check(nr_records == 2, "a forced flush returns a kernel that runs");
	if (nr_records == 2) {
		check(!strcmp(records[0].name, "k_long") && !records[0].end,
		      "a kernel that runs is returned without an end");
		check(records[1].end > records[1].start,
		      "a forced flush also returns what has ended");
	}
	forget();
	CHECK(cudaDeviceSynchronize());
	MUST(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
	check(!nr_records, "a kernel that was returned while it ran is not returned again");
	CHECK(cudaStreamDestroy(a));
	CHECK(cudaStreamDestroy(b));
}

#define NR_GRAPH_LAUNCHES 20

static void scenario_graph(void)
{
	uint64_t created[8], cloned[8], original[8];
	size_t nr_created = 0, nr_cloned = 0, inside = 0, wrong = 0, nodes = 0;
	uint32_t launch_ids[NR_GRAPH_LAUNCHES];
	char *dev, *host;
	cudaGraphExec_t exec;
	cudaStream_t s;
	cudaGraph_t graph;

	client_start(CLIENT_CALLBACKS | CLIENT_KERNELS | CLIENT_COPIES);
	CHECK(cudaMalloc((void **)&dev, 4096));
	CHECK(cudaMallocHost((void **)&host, 4096));
	CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	warm_up();
	MUST(cuptiActivityFlushAll(0));
	forget();

	CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
	LAUNCH(k_first, s, 3 * US);
	CHECK(cudaMemsetAsync(dev, 7, 4096, s));
	LAUNCH(k_second, s, 3 * US);
	CHECK(cudaMemcpyAsync(host, dev, 4096, cudaMemcpyDeviceToHost, s));
	CHECK(cudaStreamEndCapture(s, &graph));
	for (size_t i = 0; i < nr_events; i++) {
		struct event *e = &events[i];

		if (e->domain != CUPTI_CB_DOMAIN_RESOURCE ||
		    e->cbid != CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED)
			continue;
		if (nr_created < 8)
			created[nr_created++] = e->node;
		for (size_t j = i; j--;) {	/* the thread's previous call */
			if (events[j].domain == CUPTI_CB_DOMAIN_RESOURCE)
				continue;
			inside += events[j].site == CUPTI_API_ENTER &&
				  events[j].domain == CUPTI_CB_DOMAIN_DRIVER_API;
			break;
		}
	}
	check(nr_created == 4, "capturing four calls creates four nodes (%zu)", nr_created);
	check(inside == 4, "each node is created inside its driver call (%zu)", inside);
	forget();
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	for (size_t i = 0; i < nr_events; i++) {
		if (events[i].domain == CUPTI_CB_DOMAIN_RESOURCE &&
		    events[i].cbid == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED && nr_cloned < 8) {
			cloned[nr_cloned] = events[i].node;
			original[nr_cloned++] = events[i].original;
		}
	}
	check(nr_cloned == 4, "instantiating a graph clones its nodes (%zu)", nr_cloned);
	for (size_t i = 0; i < nr_cloned && i < nr_created; i++)
		wrong += original[i] != created[i] || cloned[i] == created[i];
	check(!wrong, "cloned nodes have new ids and name the original ids");
	MUST(cuptiActivityFlushAll(0));
	check(!nr_records, "a graph that is only instantiated has run nothing");

	for (int n = 0; n < NR_GRAPH_LAUNCHES; n++) {
		forget();
		CHECK(cudaGraphLaunch(exec, s));
		launch_ids[n] = nr_events ? events[nr_events - 1].correlation_id : 0;
	}
	forget();
	CHECK(cudaStreamSynchronize(s));
	MUST(cuptiActivityFlushAll(0));
	check(nr_records == 4 * NR_GRAPH_LAUNCHES, "%d launches of a graph have %zu records",
	      NR_GRAPH_LAUNCHES, nr_records);
	wrong = 0;
	for (size_t i = 0; i < nr_records; i++) {
		size_t n = 0, c = 0;

		while (n < NR_GRAPH_LAUNCHES && launch_ids[n] != records[i].correlation_id)
			n++;
		while (c < nr_cloned && cloned[c] != records[i].node)
			c++;
		wrong += n == NR_GRAPH_LAUNCHES || c == nr_cloned;
	}
	check(!wrong,
	      "each record has the ids of a launch and of a cloned node (%zu do not)", wrong);
	qsort(records, nr_records, sizeof(*records), by_id);
	for (size_t i = 0; i + 4 <= nr_records; i += 4) {
		for (size_t j = 1; j < 4; j++) {
			nodes += records[i].correlation_id == records[i + j].correlation_id;
			for (size_t k = 0; k < j; k++)
				wrong += records[i + j].node == records[i + k].node;
		}
	}
	check(nodes == 3 * NR_GRAPH_LAUNCHES && !wrong,
	      "each launch of the graph has records of its nodes");
	check(host[0] == 7 && host[4095] == 7, "a graph's copies copy the memory");
	CHECK(cudaGraphExecDestroy(exec));
	CHECK(cudaGraphDestroy(graph));
	CHECK(cudaStreamDestroy(s));
	CHECK(cudaFreeHost(host));
	CHECK(cudaFree(dev));
}

/* Return: whether the two branches of scenario_fork_join() ran at once. */
static bool at_once(void)
{
	const struct seen *first = NULL, *second = NULL;

	for (size_t i = 0; i < nr_records; i++) {
		if (!strcmp(records[i].name, "k_first"))
			first = &records[i];
		else if (!strcmp(records[i].name, "k_second"))
			second = &records[i];
	}
	return first && second && first->start < second->end && second->start < first->end;
}

static void scenario_fork_join(void)
{
	cudaEvent_t fork_event, join_event;
	cudaStream_t a, b;
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	size_t nr = 0;

	client_start(CLIENT_KERNELS | CLIENT_COPIES);
	CHECK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
	CHECK(cudaEventCreateWithFlags(&fork_event, cudaEventDisableTiming));
	CHECK(cudaEventCreateWithFlags(&join_event, cudaEventDisableTiming));
	CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
	LAUNCH(k_short, a, US);
	CHECK(cudaEventRecord(fork_event, a));
	CHECK(cudaStreamWaitEvent(b, fork_event, 0));
	LAUNCH(k_first, a, 50 * US);
	LAUNCH(k_second, b, 50 * US);
	CHECK(cudaEventRecord(join_event, b));
	CHECK(cudaStreamWaitEvent(a, join_event, 0));
	LAUNCH(k_long, a, US);
	CHECK(cudaStreamEndCapture(a, &graph));
	CHECK(cudaGraphGetNodes(graph, NULL, &nr));
	check(nr == 4, "two streams capture into one graph of %zu nodes", nr);
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	/* On a busy machine, one branch may end before the other branch gets a CPU. */
	for (int i = 0; i < 200 && !at_once(); i++) {
		forget();
		CHECK(cudaGraphLaunch(exec, a));
		CHECK(cudaStreamSynchronize(a));
		MUST(cuptiActivityFlushAll(0));
	}
	if (check(nr_records == 4,
		  "a launch of the graph of two streams has %zu records", nr_records)) {
		struct seen *first = NULL, *second = NULL, *before = NULL, *after = NULL;

		for (size_t i = 0; i < nr_records; i++) {
			if (!strcmp(records[i].name, "k_short"))
				before = &records[i];
			else if (!strcmp(records[i].name, "k_first"))
				first = &records[i];
			else if (!strcmp(records[i].name, "k_second"))
				second = &records[i];
			else
				after = &records[i];
		}
		check(first && second && before && after,
		      "the graph of two streams has one record of each node");
		if (first && second && before && after) {
			check(first->start >= before->end && second->start >= before->end &&
			      after->start >= first->end && after->start >= second->end,
			      "the nodes run in the order of their dependencies");
			check(at_once(), "both branches of a graph run at once");
		}
	}
	CHECK(cudaGraphExecDestroy(exec));
	CHECK(cudaGraphDestroy(graph));

	/* Stream b also waits for stream a outside of a capture. */
	forget();
	LAUNCH(k_first, a, 20 * MS);
	CHECK(cudaEventRecord(fork_event, a));
	CHECK(cudaStreamWaitEvent(b, fork_event, 0));
	LAUNCH(k_second, b, US);
	CHECK(cudaStreamSynchronize(b));
	check(cudaEventQuery(fork_event) == cudaSuccess, "an event has happened when it must have");
	MUST(cuptiActivityFlushAll(0));
	qsort(records, nr_records, sizeof(*records), by_id);
	check(nr_records == 2 && records[1].start >= records[0].end,
	      "work behind an event starts after it");
	CHECK(cudaEventDestroy(fork_event));
	CHECK(cudaEventDestroy(join_event));
	CHECK(cudaStreamDestroy(a));
	CHECK(cudaStreamDestroy(b));
}

static void scenario_copies(void)
{
	static const uint8_t kinds[] = {
		CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, CUPTI_ACTIVITY_MEMCPY_KIND_DTOD,
		CUPTI_ACTIVITY_MEMCPY_KIND_DTOH,
	};
	char *dev, *dev2, *host, pageable[4096];
	bool right = true;
	size_t nr = 0;
	cudaStream_t s;

	client_start(CLIENT_COPIES);
	CHECK(cudaMalloc((void **)&dev, 4096));
	CHECK(cudaMalloc((void **)&dev2, 4096));
	CHECK(cudaMallocHost((void **)&host, 4096));
	CHECK(cudaStreamCreate(&s));
	for (int i = 0; i < 4096; i++)
		host[i] = (char)(i * 7);
	memset(pageable, 0, sizeof(pageable));
	CHECK(cudaMemcpyAsync(dev, host, 4096, cudaMemcpyHostToDevice, s));
	CHECK(cudaMemcpyAsync(dev2, dev, 4096, cudaMemcpyDeviceToDevice, s));
	CHECK(cudaMemcpyAsync(pageable, dev2, 4096, cudaMemcpyDeviceToHost, s));
	CHECK(cudaStreamSynchronize(s));
	check(!memcmp(host, pageable, 4096), "data copied to the device and back are unchanged");
	memset(pageable, 1, sizeof(pageable));
	CHECK(cudaMemcpyAsync(dev, pageable, 4096, cudaMemcpyHostToDevice, s));
	memset(pageable, 2, sizeof(pageable));
	CHECK(cudaMemcpy(host, dev, 4096, cudaMemcpyDeviceToHost));
	check(host[0] == 1 && host[4095] == 1,
	      "a copy from pageable memory reads it during the call");
	CHECK(cudaMemset(dev, 9, 2048));
	CHECK(cudaMemcpy(host, dev, 4096, cudaMemcpyDefault));
	check(host[2047] == 9 && host[2048] == 1, "a memset sets the bytes that it should");
	MUST(cuptiActivityFlushAll(0));
	for (size_t i = 0; i < nr_records; i++) {
		if (records[i].kind != CUPTI_ACTIVITY_KIND_MEMCPY)
			continue;
		if (nr < 3)
			right = right && records[i].copy_kind == kinds[nr] &&
				records[i].bytes == 4096;
		nr++;
	}
	check(nr == 6 && right, "copies are recorded with kind and size (%zu)", nr);
	check(nr_records == 7, "the memset beside the copies is recorded (%zu)", nr_records);
	CHECK(cudaStreamDestroy(s));
	CHECK(cudaFreeHost(host));
	CHECK(cudaFree(dev2));
	CHECK(cudaFree(dev));
}

static void scenario_buffers(void)
{
	size_t dropped = 0;

	buffer_bytes = 8192;
	client_start(CLIENT_KERNELS);
	refuse_buffers = true;
	LAUNCH(k_short, 0, US);
	LAUNCH(k_short, 0, US);
	CHECK(cudaDeviceSynchronize());
	MUST(cuptiActivityFlushAll(0));
	MUST(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped));
	check(!nr_records && dropped == 2, "without a buffer records are dropped and counted (%zu)",
	      dropped);
	MUST(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped));
	check(!dropped, "once");
	refuse_buffers = false;
	for (int i = 0; i < 100; i++)
		LAUNCH(k_short, 0, US);
	CHECK(cudaDeviceSynchronize());
	MUST(cuptiActivityFlushAll(0));
	check(nr_records == 100, "small buffers lose nothing (%zu)", nr_records);
	check(nr_buffers > 2, "there are more buffers if they are small (%zu)", nr_buffers);
	forget();
	nr_buffers = 0;
	buffer_max_records = 5;
	for (int i = 0; i < 100; i++)
		LAUNCH(k_short, 0, US);
	CHECK(cudaDeviceSynchronize());
	MUST(cuptiActivityFlushAll(0));
	check(nr_records == 100 && nr_buffers >= 20,
	      "a client may limit the records in a buffer (%zu buffers)",
	      nr_buffers);
	MUST(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
}

static void scenario_api_records(void)
{
	uint32_t runtime = 0, kernel = 0;
	bool nested = false;

	client_start(CLIENT_KERNELS);
	warm_up();
	MUST(cuptiActivityFlushAll(0));
	forget();
	MUST(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_RUNTIME));
	MUST(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_DRIVER));
	LAUNCH(k_short, 0, US);
	MUST(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_RUNTIME));
	MUST(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_DRIVER));
	CHECK(cudaDeviceSynchronize());
	MUST(cuptiActivityFlushAll(0));
	for (size_t i = 0; i < nr_records; i++) {
		remark("kind %u id %u cbid %llu", records[i].kind, records[i].correlation_id,
		       (unsigned long long)records[i].bytes);
		if (records[i].kind == CUPTI_ACTIVITY_KIND_RUNTIME)
			runtime = records[i].correlation_id;
		if (records[i].kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
			kernel = records[i].correlation_id;
	}
	for (size_t i = 0; i < nr_records; i++)
		nested = nested || (records[i].kind == CUPTI_ACTIVITY_KIND_DRIVER &&
				    records[i].correlation_id == runtime);
	check(runtime && runtime == kernel,
	      "a kernel and its runtime call have the same correlation id");
	check(!nested, "the driver call in between has no record");

	/*
	 * Single calls of an enabled kind can be disabled, and single calls of a disabled kind can
	 * be enabled.
	 */
	forget();
	MUST(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_RUNTIME));
	MUST(cuptiActivityEnableRuntimeApi(CUPTI_RUNTIME_TRACE_CBID_cudaGetLastError_v3020, 0));
	CHECK(cudaGetLastError());
	CHECK(cudaPeekAtLastError());
	MUST(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_RUNTIME));
	MUST(cuptiActivityEnableRuntimeApi(CUPTI_RUNTIME_TRACE_CBID_cudaGetLastError_v3020, 1));
	CHECK(cudaGetLastError());
	CHECK(cudaPeekAtLastError());
	MUST(cuptiActivityEnableRuntimeApi(CUPTI_RUNTIME_TRACE_CBID_cudaGetLastError_v3020, 0));
	MUST(cuptiActivityFlushAll(0));
	check(nr_records == 2 &&
	      records[0].bytes == CUPTI_RUNTIME_TRACE_CBID_cudaPeekAtLastError_v3020 &&
	      records[1].bytes == CUPTI_RUNTIME_TRACE_CBID_cudaGetLastError_v3020,
	      "calls are enabled one by one, and a kind sets all of them");
}

static void scenario_clock(void)
{
	struct timespec ts;
	uint64_t before, after, stamp;

	client_start(CLIENT_KERNELS);
	clock_gettime(CLOCK_REALTIME, &ts);
	before = (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
	LAUNCH(k_short, 0, 100 * US);
	CHECK(cudaDeviceSynchronize());
	clock_gettime(CLOCK_REALTIME, &ts);
	after = (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
	MUST(cuptiActivityFlushAll(0));
	check(nr_records == 1 && records[0].start + 50 * US > before &&
	      records[0].end < after + 50 * US, "times are CLOCK_REALTIME by default");
	MUST(cuptiGetTimestamp(&stamp));
	check(stamp >= after && stamp < after + 1000 * MS,
	      "cuptiGetTimestamp returns CLOCK_REALTIME by default");
}

static void scenario_subscribers(void)
{
	char holder[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN] = "";
	CUpti_SubscriberParams params;
	CUpti_SubscriberHandle second;
	CUptiResult err;

	client_start(0);
	check(cuptiSubscribe(&second, on_event, NULL) ==
	      CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, "a second subscriber is refused");
	memset(&params, 0, sizeof(params));
	params.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
	params.subscriberName = "second";
	params.oldSubscriberName = holder;
	params.oldSubscriberSize = sizeof(holder);
	check(cuptiSubscribe_v2(&second, on_event, NULL, &params) ==
	      CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED,
	"a second subscriber is refused by cuptiSubscribe_v2, too");
	remark("holder: '%s'", holder);
	MUST(cuptiUnsubscribe(subscriber));
	MUST(cuptiSubscribe_v2(&second, on_event, NULL, &params));
	MUST(cuptiUnsubscribe(second));
	check(true, "another client may subscribe when the first has unsubscribed");
	err = cuptiActivityEnable((CUpti_ActivityKind)9999);
	check(err, "unknown kinds are refused (%d)", (int)err);
}

static void scenario_finalize(void)
{
	client_start(CLIENT_CALLBACKS | CLIENT_KERNELS);
	LAUNCH(k_short, 0, US);
	CHECK(cudaDeviceSynchronize());
	MUST(cuptiActivityFlushAll(0));
	check(nr_records == 1, "before cuptiFinalize there is a record");
	MUST(cuptiFinalize());
	forget();
	LAUNCH(k_short, 0, US);
	CHECK(cudaDeviceSynchronize());
	check(!nr_events && !nr_records,
	      "after cuptiFinalize there are neither callbacks nor records");
	client_free();
	client_start(CLIENT_CALLBACKS | CLIENT_KERNELS);
	LAUNCH(k_short, 0, US);
	CHECK(cudaDeviceSynchronize());
	MUST(cuptiActivityFlushAll(0));
	check(nr_events && nr_records == 1,
	      "after subscribing again there are callbacks and records");
}

/* Makes @nr launches. @nr_records then counts their records. */
static void launch_some(int nr)
{
	for (int i = 0; i < nr; i++)
		LAUNCH(k_short, 0, US);
	CHECK(cudaDeviceSynchronize());
	MUST(cuptiActivityFlushAll(0));
}

static void scenario_knob_drop(void)
{
	size_t dropped;

	client_start(CLIENT_KERNELS);
	launch_some(100);
	MUST(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped));
	check(nr_records == 90 && dropped == 10,
	      "XPU_SIM_DROP=10 drops every tenth record: %zu come, %zu are dropped",
	      nr_records, dropped);
}

static void scenario_knob_zero_times(void)
{
	size_t zero = 0;

	client_start(CLIENT_KERNELS);
	launch_some(100);
	for (size_t i = 0; i < nr_records; i++)
		zero += !records[i].start && !records[i].end;
	check(nr_records == 100 && zero == 20,
	      "XPU_SIM_ZERO_TIMES=5 makes every fifth record one without times: %zu of %zu", zero,
	      nr_records);
}

static void scenario_knob_busy(void)
{
	CUpti_SubscriberHandle handle;

	check(cuptiSubscribe(&handle, on_event, NULL) ==
	      CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED,
	"XPU_SIM_CUPTI_BUSY=1: cuptiSubscribe fails with error 39");
}

static void scenario_knob_version(void)
{
	uint32_t version;
	size_t wrong = 0;
	char *dev;

	client_start(CLIENT_KERNELS | CLIENT_COPIES);
	MUST(cuptiGetVersion(&version));
	check(version == (uint32_t)atoi(getenv("XPU_SIM_CUPTI_VERSION")),
	      "cuptiGetVersion returns the requested version, %u", version);
	CHECK(cudaMalloc((void **)&dev, 64));
	for (int i = 0; i < 20; i++) {
		LAUNCH(k_first, 0, US);
		CHECK(cudaMemset(dev, 0, 64));
		CHECK(cudaMemcpy(dev, &i, sizeof(i), cudaMemcpyHostToDevice));
	}
	CHECK(cudaDeviceSynchronize());
	MUST(cuptiActivityFlushAll(0));
	for (size_t i = 0; i < nr_records; i++)
		wrong += records[i].end <= records[i].start || !records[i].correlation_id ||
			 (records[i].kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL &&
			  strcmp(records[i].name, "k_first"));
	check(nr_records == 60 && !wrong,
	      "cuptiActivityGetNextRecord goes through records of that version (%zu, %zu wrong)",
	      nr_records, wrong);
	CHECK(cudaFree(dev));
}

static void scenario_knob_kernel_ns(void)
{
	uint64_t shortest = UINT64_MAX, longest = 0;
	CUfunction func;
	CUmodule mod;

	client_start(CLIENT_KERNELS);
	CHECK(cudaFree(NULL));
	check(!cuModuleLoadData(&mod, "image"), "a module loads");
	check(!cuModuleGetFunction(&func, mod, "some_kernel"), "a module has a kernel of any name");
	for (int i = 0; i < 10; i++)
		cuLaunchKernel(func, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
	check(!cuCtxSynchronize(), "a kernel of a module can be launched");
	MUST(cuptiActivityFlushAll(0));
	for (size_t i = 0; i < nr_records; i++) {
		uint64_t ns = records[i].end - records[i].start;

		shortest = ns < shortest ? ns : shortest;
		longest = ns > longest ? ns : longest;
	}
	check(nr_records == 10 && shortest == 77777 && longest == 77777,
	      "XPU_SIM_KERNEL_NS=77777 sets the length of kernels, in %zu records", nr_records);
	check(!strcmp(records[0].name, "some_kernel"),
	      "the records have the name of the module's kernel");
	check(!cuModuleUnload(mod), "a module unloads");
}

static void scenario_knob_devices(void)
{
	size_t on[2] = { 0, 0 };
	int nr = 0;

	client_start(CLIENT_KERNELS);
	CHECK(cudaGetDeviceCount(&nr));
	check(nr == 2, "XPU_SIM_DEVICES=2 makes %d devices", nr);
	for (int i = 0; i < 10; i++) {
		CHECK(cudaSetDevice(i & 1));
		LAUNCH(k_short, 0, US);
	}
	for (int i = 0; i < 2; i++) {
		CHECK(cudaSetDevice(i));
		CHECK(cudaDeviceSynchronize());
	}
	MUST(cuptiActivityFlushAll(0));
	for (size_t i = 0; i < nr_records; i++)
		on[records[i].device & 1]++;
	check(on[0] == 5 && on[1] == 5, "work runs on the current device (%zu, %zu)", on[0], on[1]);
	check(cudaSetDevice(2) == cudaErrorInvalidDevice, "there is no third device");
	cudaGetLastError();
}

static void scenario_knob_zeroed(void)
{
	uint64_t dirty = 99;
	uint8_t on = 1;
	size_t bytes = sizeof(on);

	client_start(CLIENT_KERNELS);
	MUST(cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &bytes,
				       &on));
	launch_some(10);
	check(sim_counter(SIM_STAT_BUFFERS_DIRTY, &dirty) && !dirty,
	      "buffers that the client promised to have zeroed are zero");
	check(nr_records == 10,
		"buffers that the client promised to have zeroed are used (%zu)", nr_records);
	dirty_buffers = true;
	if (!freopen("/dev/null", "w", stderr))	/* the message goes to stderr */
		exit(1);
	launch_some(10);
	check(sim_counter(SIM_STAT_BUFFERS_DIRTY, &dirty) && dirty == 1,
	      "a buffer that is not zero in spite of the promise is counted");
}

/* The trace, which XPU_SIM_TRACE in the environment turns on, must agree with the records. */
static void scenario_knob_trace(void)
{
	FILE *f;
	char line[512], kind[16], name[64];
	unsigned int pid, id, device, context, stream;
	unsigned long long start, end, node;
	size_t nr = 0, wrong = 0;

	client_start(CLIENT_CALLBACKS | CLIENT_KERNELS | CLIENT_MONOTONIC);
	CHECK(cudaFree(NULL));
	many_main((void *)1);
	MUST(cuptiActivityFlushAll(0));
	usleep(20000);		/* the trace is written when the device becomes idle */
	f = fopen(getenv("XPU_SIM_TRACE"), "r");
	if (!check(f, "the simulator writes a trace"))
		return;
	qsort(records, nr_records, sizeof(*records), by_id);
	while (fgets(line, sizeof(line), f)) {
		struct seen key, *s;

		if (line[0] == '#')
			continue;
		if (sscanf(line, "%u %u %15s %63s %llu %llu %u %u %u %llu", &pid, &id, kind, name,
			   &start, &end, &device, &context, &stream, &node) != 10)
			wrong++;
		nr++;
		memset(&key, 0, sizeof(key));
		key.correlation_id = id;
		s = (struct seen *)bsearch(&key, records, nr_records, sizeof(*records), by_id);
		wrong += !s || s->start != start || s->end != end || s->stream != stream ||
			 strcmp(s->name, name);
	}
	fclose(f);
	check(nr == nr_records && nr == NR_LAUNCHES,
	      "the trace has a line for each record (%zu, %zu)", nr,
	      nr_records);
	check(!wrong, "each line of the trace says the same as its record (%zu do not)", wrong);
}

static void scenario_fork(void)
{
	uint64_t after_fork = 0;
	int status = -1;
	pid_t pid;

	client_start(CLIENT_CALLBACKS | CLIENT_KERNELS);
	LAUNCH(k_short, 0, 50 * MS);
	pid = fork();
	if (!pid) {
		int nr;

		_exit(cudaGetDeviceCount(&nr) == cudaErrorInitializationError ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	check(!status, "a forked child cannot use CUDA, and can end (%#x)", status);
	pid = fork();
	if (!pid)
		exit(0);
	waitpid(pid, &status, 0);
	check(!status, "a forked child can end by exit() (%#x)", status);
	CHECK(cudaDeviceSynchronize());
	MUST(cuptiActivityFlushAll(0));
	check(nr_records == 1, "after the children's end the parent still has its record");
	check(!sim_counter(SIM_STAT_CUPTI_AFTER_FORK, &after_fork) || !after_fork,
	      "no CUPTI call came from a child");
}

static void flush_at_exit(void)
{
	CUptiResult err = cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);

	check(!err, "a flush from an atexit handler works");
	check(nr_records >= 1, "a flush from an atexit handler returns records (%zu)", nr_records);
	for (size_t i = 0; i < nr_records; i++)
		remark("%s %llu %llu", records[i].name, (unsigned long long)records[i].start,
		       (unsigned long long)records[i].end);
}

/* Registered before CUDA's own exit handlers, so it runs after them. */
static void scenario_exit_late(void)
{
	atexit(flush_at_exit);
	client_start(CLIENT_KERNELS);
	LAUNCH(k_short, 0, US);
	CHECK(cudaDeviceSynchronize());
	LAUNCH(k_long, 0, 10000 * MS);
}

static void scenario_exit_early(void)
{
	client_start(CLIENT_KERNELS);
	LAUNCH(k_short, 0, US);
	CHECK(cudaDeviceSynchronize());
	LAUNCH(k_long, 0, 10000 * MS);
	atexit(flush_at_exit);
}

static void *launch_forever(void *arg)
{
	for (;;)
		LAUNCH(k_short, 0, 20 * US);
	return arg;
}

static void scenario_exit_busy(void)
{
	pthread_t thread;

	client_start(CLIENT_KERNELS);
	CHECK(cudaFree(NULL));
	for (int i = 0; i < 3; i++)
		if (pthread_create(&thread, NULL, launch_forever, NULL))
			exit(1);
	usleep(30000);
	check(true, "exit() is called while threads launch");
}

static void scenario_injection(void)
{
	const char *seen = getenv("SIM_INJECTED");

	unsetenv("SIM_INJECTED");
	CHECK(cudaFree(NULL));
	seen = getenv("SIM_INJECTED");
	check(seen && !strcmp(seen, "1"), "cuInit calls the injected library once (%s)",
	      seen ? seen : "not at all");
	CHECK(cudaFree(NULL));
	cuInit(0);
	seen = getenv("SIM_INJECTED");
	check(seen && !strcmp(seen, "1"), "cuInit does not call the library again");
}

/* Tests a cuInit inside cuInit: the inner call succeeds, and breaks the outer call. */
static void scenario_injected_cuinit(void)
{
	setenv("SIM_INJECT_CALLS_CUDA", "init", 1);
	check(cudaFree(NULL) == cudaErrorInitializationError,
	      "if the injected library calls cuInit, CUDA fails");
	check(cudaFree(NULL) == cudaErrorInitializationError,
	      "after the library called cuInit CUDA stays unusable");
}

static void scenario_per_thread(void)
{
	CUfunction func = NULL;
	size_t streams = 0;

	client_start(CLIENT_KERNELS);
	CHECK(cudaFree(NULL));
	CHECK(cudaGetFuncBySymbol((cudaFunction_t *)&func, (const void *)k_short));
	for (int i = 0; i < 3; i++) {
		LAUNCH(k_short, cudaStreamPerThread, US);
		LAUNCH(k_short, cudaStreamLegacy, US);
	}
	CHECK(cudaStreamSynchronize(cudaStreamPerThread));
	CHECK(cudaDeviceSynchronize());
	MUST(cuptiActivityFlushAll(0));
	for (size_t i = 1; i < nr_records; i++)
		streams += records[i].stream != records[i - 1].stream;
	check(nr_records == 6 && streams == 5,
	      "the two kinds of default streams have ids of their own");
	qsort(records, nr_records, sizeof(*records), by_id);
	for (size_t i = 1; i < nr_records; i++)
		streams -= records[i].start >= records[i - 1].end;
	check(!streams, "the default streams wait for each other");
}

/* ---- dump ------------------------------------------------------------------------------------ */

static pthread_mutex_t dump_lock = PTHREAD_MUTEX_INITIALIZER;

static const char *dump_thread(void)
{
	return pthread_equal(pthread_self(), main_thread) ? "main" : "other";
}

static void dump_event(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
		       const void *cbdata)
{
	static int depth;
	const char *name = "?";

	(void)userdata;
	pthread_mutex_lock(&dump_lock);
	if (domain == CUPTI_CB_DOMAIN_DRIVER_API || domain == CUPTI_CB_DOMAIN_RUNTIME_API) {
		const CUpti_CallbackData *d = (const CUpti_CallbackData *)cbdata;

		cuptiGetCallbackName(domain, cbid, &name);
		if (d->callbackSite == CUPTI_API_EXIT)
			depth--;
		printf("  %*s%s %s id %u cbid %u %s (%s) symbol %s context %u %s\n", 2 * depth, "",
		       d->callbackSite == CUPTI_API_EXIT ? "exit " : "enter",
		       domain == CUPTI_CB_DOMAIN_DRIVER_API ? "driver" : "runtime",
		       d->correlationId, cbid, d->functionName, name,
		       strstr(name, "Launch") && d->symbolName ? d->symbolName : "-",
		       d->contextUid, dump_thread());
		if (d->callbackSite == CUPTI_API_ENTER)
			depth++;
	} else if (domain == CUPTI_CB_DOMAIN_RESOURCE && cbdata) {
		const CUpti_ResourceData *d = (const CUpti_ResourceData *)cbdata;
		const CUpti_GraphData *g = (const CUpti_GraphData *)d->resourceDescriptor;
		uint64_t node = 0, original = 0;
		uint32_t graph = 0, stream = 0;

		switch (cbid) {	/* other members of the data may contain anything */
		case CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED:
			cuptiGetGraphNodeId(g->originalNode, &original);
			/* fall through */
		case CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED:
			cuptiGetGraphNodeId(g->node, &node);
			/* fall through */
		case CUPTI_CBID_RESOURCE_GRAPH_CREATED:
		case CUPTI_CBID_RESOURCE_GRAPH_CLONED:
			cuptiGetGraphId(g->graph, &graph);
			break;
		case CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED:
			cuptiGetGraphExecId(g->graphExec, &graph);
			break;
		case CUPTI_CBID_RESOURCE_STREAM_CREATED:
			cuptiGetStreamIdEx(d->context, d->resourceHandle.stream, 0, &stream);
			break;
		default:
			break;
		}
		printf("  %*sresource %u graph %u node %#llx original %#llx stream %u %s\n",
		       2 * depth, "", cbid, graph, (unsigned long long)node,
		       (unsigned long long)original, stream, dump_thread());
	} else {
		printf("  %*sdomain %u cbid %u %s\n", 2 * depth, "", domain, cbid, dump_thread());
	}
	pthread_mutex_unlock(&dump_lock);
}

static void dump_request(uint8_t **buffer, size_t *size, size_t *max_records)
{
	printf("  bufferRequested %s\n", dump_thread());
	on_request(buffer, size, max_records);
}

static void dump_complete(CUcontext ctx, uint32_t stream, uint8_t *buffer, size_t size,
			  size_t valid)
{
	size_t first = nr_records;

	printf("  bufferCompleted %s valid %zu\n", dump_thread(), valid);
	on_complete(ctx, stream, buffer, size, valid);
	for (size_t i = first; i < nr_records; i++)
		printf("    kind %u id %u device %u context %u stream %u %s bytes %llu graph %u "
		       "node %#llx start %llu ns %lld\n", records[i].kind,
		       records[i].correlation_id, records[i].device, records[i].context,
		       records[i].stream, records[i].name, (unsigned long long)records[i].bytes,
		       records[i].graph, (unsigned long long)records[i].node,
		       (unsigned long long)records[i].start,
		       (long long)(records[i].end - records[i].start));
}

#define DUMP(...)								\
	do {									\
		printf("== %s\n", #__VA_ARGS__);				\
		__VA_ARGS__;							\
	} while (0)

static void scenario_dump(void)
{
	void *args[1];
	unsigned long long ns = US;
	char *dev, *dev2, *host, pageable[4096];
	cudaStream_t s, s2;
	cudaEvent_t event;
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	cudaLaunchConfig_t config;
	CUfunction func;
	dim3 one;

	one.x = one.y = one.z = 1;
	args[0] = &ns;
	memset(pageable, 0, sizeof(pageable));
	memset(&config, 0, sizeof(config));
	config.gridDim = one;
	config.blockDim = one;
	main_thread = pthread_self();
	setvbuf(stdout, NULL, _IOLBF, 0);
	records = (struct seen *)calloc(MAX_RECORDS, sizeof(*records));
	MUST(cuptiSubscribe(&subscriber, dump_event, NULL));
	MUST(cuptiActivityRegisterTimestampCallback(on_timestamp));
	MUST(cuptiActivityRegisterCallbacks(dump_request, dump_complete));
	MUST(cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API));
	MUST(cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API));
	MUST(cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE));
	MUST(cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_SYNCHRONIZE));
	MUST(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
	MUST(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY));
	MUST(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET));
	DUMP(cudaGetDeviceCount((int *)&one.x));
	one.x = 1;
	DUMP(cudaFree(NULL));
	DUMP(cudaMalloc((void **)&dev, 4096));
	DUMP(cudaMalloc((void **)&dev2, 4096));
	DUMP(cudaMallocHost((void **)&host, 4096));
	DUMP(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	DUMP(cudaStreamCreate(&s2));
	DUMP(cudaEventCreate(&event));
	DUMP(LAUNCH(k_first, s, US));
	DUMP(LAUNCH(k_first, s, US));
	DUMP(cudaLaunchKernel((const void *)k_second, one, one, args, 0, s));
	config.stream = s;
	DUMP(cudaLaunchKernelExC(&config, (const void *)k_second, args));
	DUMP(cudaLaunchCooperativeKernel((const void *)k_second, one, one, args, 0, s));
	DUMP(LAUNCH(k_first, cudaStreamPerThread, US));
	DUMP(cudaGetFuncBySymbol((cudaFunction_t *)&func, (const void *)k_first));
	DUMP(cuLaunchKernel(func, 1, 1, 1, 1, 1, 1, 0, s2, args, NULL));
	DUMP(cudaMemcpy(dev, pageable, 4096, cudaMemcpyHostToDevice));
	DUMP(cudaMemcpy(pageable, dev, 4096, cudaMemcpyDeviceToHost));
	DUMP(cudaMemcpy(dev2, dev, 4096, cudaMemcpyDeviceToDevice));
	DUMP(cudaMemcpyAsync(dev, host, 4096, cudaMemcpyHostToDevice, s));
	DUMP(cudaMemcpyAsync(host, dev, 4096, cudaMemcpyDeviceToHost, s));
	DUMP(cudaMemcpyAsync(dev2, dev, 4096, cudaMemcpyDeviceToDevice, s));
	DUMP(cudaMemcpyAsync(dev2, dev, 4096, cudaMemcpyDefault, s));
	DUMP(cudaMemset(dev, 1, 4096));
	DUMP(cudaMemsetAsync(dev, 1, 4096, s));
	DUMP(cudaEventRecord(event, s));
	DUMP(cudaStreamWaitEvent(s2, event, 0));
	DUMP(cudaEventSynchronize(event));
	DUMP(cudaEventQuery(event));
	DUMP(cudaStreamSynchronize(s));
	DUMP(cudaStreamQuery(s));
	DUMP(cudaDeviceSynchronize());
	DUMP(cudaGetLastError());
	DUMP(cuptiActivityFlushAll(0));
	DUMP(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
	DUMP(LAUNCH(k_first, s, US));
	DUMP(cudaMemsetAsync(dev, 1, 4096, s));
	DUMP(cudaMemcpyAsync(host, dev, 4096, cudaMemcpyDeviceToHost, s));
	DUMP(LAUNCH(k_second, s, US));
	DUMP(cudaStreamEndCapture(s, &graph));
	DUMP(cudaGraphInstantiate(&exec, graph, 0));
	DUMP(cudaGraphLaunch(exec, s));
	DUMP(cudaGraphLaunch(exec, s));
	DUMP(cudaStreamSynchronize(s));
	DUMP(cuptiActivityFlushAll(0));
	DUMP(cudaGraphExecDestroy(exec));
	DUMP(cudaGraphDestroy(graph));
	DUMP(LAUNCH(k_long, s, 200 * MS));
	DUMP(LAUNCH(k_short, s2, US));
	DUMP(cudaStreamSynchronize(s2));
	DUMP(cuptiActivityFlushAll(0));
	DUMP(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
	DUMP(cudaDeviceSynchronize());
	DUMP(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
	DUMP(cudaEventDestroy(event));
	DUMP(cudaStreamDestroy(s));
	DUMP(cudaFree(dev));
	DUMP(cudaFreeHost(host));
	DUMP(cudaSetDevice(0));
	DUMP(cudaDeviceReset());
	DUMP(cudaFree(NULL));
	DUMP(LAUNCH(k_short, 0, US));
	DUMP(cudaDeviceSynchronize());
	DUMP(cuptiActivityFlushAll(0));
	DUMP(cuptiFinalize());
}

/* ---- running the scenarios ------------------------------------------------------------------- */

static const struct scenario {
	const char *name;
	void (*run)(void);
	const char *env;		/* NAME=VALUE; needs the simulated device */
	bool sim_only;
} scenarios[] = {
	{ "callbacks", scenario_callbacks, NULL, false },
	{ "many", scenario_many, NULL, false },
	{ "flush", scenario_flush, NULL, false },
	{ "graph", scenario_graph, NULL, false },
	{ "fork_join", scenario_fork_join, NULL, false },
	{ "copies", scenario_copies, NULL, false },
	{ "buffers", scenario_buffers, NULL, false },
	{ "api_records", scenario_api_records, NULL, false },
	{ "clock", scenario_clock, NULL, false },
	{ "subscribers", scenario_subscribers, NULL, false },
	{ "finalize", scenario_finalize, NULL, false },
	{ "per_thread", scenario_per_thread, NULL, false },
	{ "fork", scenario_fork, NULL, true },
	{ "exit_late", scenario_exit_late, NULL, false },
	{ "exit_early", scenario_exit_early, NULL, false },
	{ "exit_busy", scenario_exit_busy, NULL, true },
	{ "drop", scenario_knob_drop, "XPU_SIM_DROP=10", true },
	{ "zero_times", scenario_knob_zero_times, "XPU_SIM_ZERO_TIMES=5", true },
	{ "busy", scenario_knob_busy, "XPU_SIM_CUPTI_BUSY=1", true },
	{ "version_11.0", scenario_knob_version, "XPU_SIM_CUPTI_VERSION=13", true },
	{ "version_11.8", scenario_knob_version, "XPU_SIM_CUPTI_VERSION=18", true },
	{ "version_12.6", scenario_knob_version, "XPU_SIM_CUPTI_VERSION=24", true },
	{ "version_13.0", scenario_knob_version, "XPU_SIM_CUPTI_VERSION=130000", true },
	{ "kernel_ns", scenario_knob_kernel_ns, "XPU_SIM_KERNEL_NS=77777", true },
	{ "devices", scenario_knob_devices, "XPU_SIM_DEVICES=2", true },
	{ "zeroed", scenario_knob_zeroed, NULL, true },
	{ "trace", scenario_knob_trace, "XPU_SIM_TRACE=sim_selftest.trace", true },
	{ "injection", scenario_injection, "CUDA_INJECTION64_PATH=", false },
	{ "injected_cuinit", scenario_injected_cuinit, "CUDA_INJECTION64_PATH=", false },
};

#define NR_SCENARIOS (sizeof(scenarios) / sizeof(scenarios[0]))

/* Frees the client's data, except in scenarios "exit...", whose exit handlers may need the data. */
static int run_scenario(const char *name)
{
	for (size_t i = 0; i < NR_SCENARIOS; i++) {
		if (strcmp(scenarios[i].name, name))
			continue;
		scenarios[i].run();
		if (strncmp(name, "exit", 4))
			client_free();
		return 0;
	}
	fprintf(stderr, "no scenario %s\n", name);
	return 2;
}

/* Return: whether this is the simulated device. This check must not initialize CUDA. */
static bool on_sim(void)
{
	return dlsym(RTLD_DEFAULT, "sim_kernel_cost_arg");
}

static void child(const struct scenario *s, const char *self, int fd)
{
	char *injection;

	dup2(fd, STDOUT_FILENO);
	close(fd);
	if (s->env && !strcmp(s->env, "CUDA_INJECTION64_PATH=")) {
		if (asprintf(&injection, "%.*s/sim_inject.so",
			     (int)(strrchr(self, '/') - self), self) < 0)
			_exit(1);
		setenv("CUDA_INJECTION64_PATH", injection, 1);
	} else if (s->env) {
		putenv((char *)s->env);
	}
	execl("/proc/self/exe", self, s->name, (char *)NULL);
	_exit(127);
}

static void run(const struct scenario *s, const char *self)
{
	uint64_t began = mono_ns();
	char line[1024];
	size_t nr = 0;
	int fds[2];
	int status;
	FILE *f;
	pid_t pid;

	if (s->sim_only && !on_sim()) {
		skip(1, "%s: needs the simulated device", s->name);
		return;
	}
	fflush(stdout);
	if (pipe(fds))
		bail("pipe: %s", strerror(errno));
	pid = fork();
	if (!pid) {
		close(fds[0]);
		child(s, self, fds[1]);
	}
	close(fds[1]);
	f = fdopen(fds[0], "r");
	if (pid < 0 || !f)
		bail("fork: %s", strerror(errno));
	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		if (line[0] == '#') {
			note("%s: %s", s->name, line + 2);
			continue;
		}
		ok(line[0] == '1', "%s: %s", s->name, line + 2);
		nr++;
	}
	fclose(f);
	waitpid(pid, &status, 0);
	ok(nr && WIFEXITED(status) && !WEXITSTATUS(status),
	   "%s: the process ends well, status %#x, %llu ms",
	   s->name, (unsigned int)status, (unsigned long long)((mono_ns() - began) / MS));
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "dump")) {
		scenario_dump();
		return 0;
	}
	if (argc > 1)
		return run_scenario(argv[1]);
	unlink("sim_selftest.trace");
	for (size_t i = 0; i < NR_SCENARIOS; i++)
		run(&scenarios[i], argv[0]);
	unlink("sim_selftest.trace");
	return done_testing();
}
