// SPDX-License-Identifier: MIT
/*
 * A trial of doc/beside.md, off unless XPUSHIM_CUPTI_SHARE=on: the shim stays CUPTI's one subscriber,
 * and gives the program's profiler the callbacks and copies of the records that it asked for.
 */
#include "device/share.h"

#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/environment.h"
#include "base/threads.h"
#include "base/cupti_lib.h"
#include "device/buffers.h"
#include "launch/launch.h"

#define EXPORT		__attribute__((visibility("default")))
#define NR_DOMAINS	16
#define NR_CBIDS	4096
#define DEPTH		8
#define NR_FLUSHES	3
#define FLUSH_PAUSE_NS	1000000
#define MOVED_WAIT_NS	2000000000ull

typedef _Atomic uint8_t bitmap[NR_DOMAINS][NR_CBIDS / 8];

static const struct cupti *cupti;
static CUpti_SubscriberHandle own_subscriber;
static atomic_bool serves;
static bitmap own, theirs;

static struct program {
	_Atomic(CUpti_CallbackFunc) callback;
	void *userdata;
	_Atomic(CUpti_BuffersCallbackRequestFunc) request;
	_Atomic(CUpti_BuffersCallbackCompleteFunc) complete;
	_Atomic(CUpti_TimestampCallbackFunc) clock;
	/* The latest window of each kind, by the shim's clock: [0] from, [1] to. */
	atomic_uint_fast64_t window[CUPTI_ACTIVITY_KIND_COUNT][2];
	atomic_uint_fast64_t nr_dropped;
	/* Of the packer, under its lock. */
	uint8_t *data;
	size_t bytes, used, nr, max_records;
	uint64_t mono[2], clocks[2];	/* the clocks' first and latest readings */
	CUpti_TimestampCallbackFunc read;
} program;

/* What the program keeps in correlationData between a call's entry and its exit. */
static __thread struct {
	uint64_t data[DEPTH];
	unsigned int nr;
} kept __attribute__((tls_model("initial-exec")));

bool share__is_wanted(void)
{
	const char *env = environment__get("XPUSHIM_CUPTI_SHARE");

	return env && !strcmp(env, "on");
}

static bool has(bitmap map, uint32_t domain, uint32_t cbid)
{
	return domain < NR_DOMAINS && cbid < NR_CBIDS &&
	       atomic_load_explicit(&map[domain][cbid / 8], memory_order_relaxed) & 1u << cbid % 8;
}

static void set(bitmap map, uint32_t domain, uint32_t cbid, bool on)
{
	if (domain >= NR_DOMAINS || cbid >= NR_CBIDS)
		return;
	if (on)
		atomic_fetch_or(&map[domain][cbid / 8], 1u << cbid % 8);
	else
		atomic_fetch_and(&map[domain][cbid / 8], ~(1u << cbid % 8));
}

void share__own_callback(uint32_t domain, uint32_t cbid)
{
	set(own, domain, cbid, true);
}

void share__start(const struct cupti *c, CUpti_SubscriberHandle subscriber)
{
	cupti = c;
	own_subscriber = subscriber;
	atomic_store(&serves, share__is_wanted());
}

void share__stop(void)
{
	atomic_store(&serves, false);
}

bool share__serves(void)
{
	return atomic_load(&serves);
}

bool share__is_used(void)
{
	return share__serves() && (atomic_load(&program.callback) || atomic_load(&program.request));
}

/* ---- callbacks ------------------------------------------------------------------------------- */

static __attribute__((noinline, cold)) void call_program(CUpti_CallbackFunc callback,
							 CUpti_CallbackDomain domain,
							 CUpti_CallbackId cbid, const void *data)
{
	CUpti_CallbackData d;
	unsigned int at;

	if (domain != CUPTI_CB_DOMAIN_DRIVER_API || !has(own, domain, cbid)) {
		callback(program.userdata, domain, cbid, data);
		return;
	}
	memcpy(&d, data, sizeof(d));
	at = d.callbackSite == CUPTI_API_ENTER ? kept.nr++ : kept.nr ? --kept.nr : 0;
	if (at < DEPTH) {
		if (d.callbackSite == CUPTI_API_ENTER)
			kept.data[at] = 0;
		d.correlationData = &kept.data[at];
	}
	callback(program.userdata, domain, cbid, &d);
}

void CUPTIAPI share__callback(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
			      const void *data)
{
	CUpti_CallbackFunc callback = atomic_load_explicit(&program.callback, memory_order_acquire);

	if (__builtin_expect(callback && has(theirs, domain, cbid), 0))
		call_program(callback, domain, cbid, data);
	if (has(own, domain, cbid))
		launch__callback(userdata, domain, cbid, data);
}

CUptiResult share__subscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
			     void *userdata)
{
	CUpti_CallbackFunc none = NULL;

	if (!subscriber || !callback)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (atomic_load(&program.callback))
		return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	program.userdata = userdata;
	if (!atomic_compare_exchange_strong(&program.callback, &none, callback))
		return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	*subscriber = (CUpti_SubscriberHandle)&program;
	return CUPTI_SUCCESS;
}

static CUptiResult enable(uint32_t on, uint32_t domain, uint32_t cbid)
{
	CUptiResult err = CUPTI_SUCCESS;

	if (!has(own, domain, cbid))
		err = cupti->enable_callback(on, own_subscriber, domain, cbid);
	if (err == CUPTI_SUCCESS)
		set(theirs, domain, cbid, on);
	return err;
}

static bool is_program(CUpti_SubscriberHandle subscriber)
{
	return share__serves() && (void *)subscriber == (void *)&program;
}

#define CUPTIS(fn)								\
	__typeof__(&fn) real_##fn;						\
										\
	*(void **)&real_##fn = cupti__real(#fn);				\
	if (!real_##fn)								\
		return CUPTI_ERROR_NOT_INITIALIZED

EXPORT CUptiResult CUPTIAPI cuptiEnableCallback(uint32_t on, CUpti_SubscriberHandle subscriber,
						CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
	CUPTIS(cuptiEnableCallback);
	if (!is_program(subscriber))
		return real_cuptiEnableCallback(on, subscriber, domain, cbid);
	return enable(on, domain, cbid);
}

EXPORT CUptiResult CUPTIAPI cuptiEnableDomain(uint32_t on, CUpti_SubscriberHandle subscriber,
					      CUpti_CallbackDomain domain)
{
	uint32_t cbid;

	CUPTIS(cuptiEnableDomain);
	if (!is_program(subscriber))
		return real_cuptiEnableDomain(on, subscriber, domain);
	for (cbid = 1; cbid < NR_CBIDS; cbid++)
		enable(on, domain, cbid);	/* CUPTI refuses those that it does not have */
	return CUPTI_SUCCESS;
}

EXPORT CUptiResult CUPTIAPI cuptiUnsubscribe(CUpti_SubscriberHandle subscriber)
{
	uint32_t domain, cbid;

	CUPTIS(cuptiUnsubscribe);
	if (!is_program(subscriber))
		return real_cuptiUnsubscribe(subscriber);
	for (domain = 1; domain < NR_DOMAINS; domain++)
		for (cbid = 1; cbid < NR_CBIDS; cbid++)
			if (has(theirs, domain, cbid))
				enable(0, domain, cbid);
	atomic_store(&program.callback, NULL);
	threads__wait_moved(MOVED_WAIT_NS);
	return CUPTI_SUCCESS;
}

/* ---- records --------------------------------------------------------------------------------- */

void share__register(CUpti_BuffersCallbackRequestFunc request,
		     CUpti_BuffersCallbackCompleteFunc complete)
{
	atomic_store(&program.complete, complete);
	atomic_store(&program.request, request);
}

void share__register_clock(CUpti_TimestampCallbackFunc clock)
{
	atomic_store(&program.clock, clock);
}

static void flush(void)
{
	const struct timespec pause = { 0, FLUSH_PAUSE_NS };
	int i;

	/* Not forced, whatever the program asks for: that would hand out unfinished records. */
	for (i = 0; i < NR_FLUSHES; i++) {
		if (i)
			nanosleep(&pause, NULL);
		cupti->activity_flush_all(0);
	}
	activity__drain(false);
}

CUptiResult share__enable(CUpti_ActivityKind kind)
{
	CUptiResult err = CUPTI_SUCCESS;

	if (kind >= CUPTI_ACTIVITY_KIND_COUNT)
		return CUPTI_ERROR_INVALID_KIND;
	if (!activity__has_kind(kind))
		err = cupti->activity_enable(kind);
	if (err != CUPTI_SUCCESS)
		return err;
	atomic_store(&program.window[kind][1], UINT64_MAX);
	atomic_store(&program.window[kind][0], clock__ns());
	return err;
}

CUptiResult share__disable(CUpti_ActivityKind kind)
{
	if (kind >= CUPTI_ACTIVITY_KIND_COUNT)
		return CUPTI_ERROR_INVALID_KIND;
	if (atomic_load(&program.window[kind][1]) == UINT64_MAX)
		atomic_store(&program.window[kind][1], clock__ns());
	return activity__has_kind(kind) ? CUPTI_SUCCESS : cupti->activity_disable(kind);
}

EXPORT CUptiResult CUPTIAPI cuptiActivityFlushAll(uint32_t flag)
{
	CUPTIS(cuptiActivityFlushAll);
	if (!share__serves())
		return real_cuptiActivityFlushAll(flag);
	flush();
	return CUPTI_SUCCESS;
}

EXPORT CUptiResult CUPTIAPI cuptiActivitySetAttribute(CUpti_ActivityAttribute attribute,
						      size_t *bytes, void *value)
{
	CUPTIS(cuptiActivitySetAttribute);
	/* This one says whether buffers are zeroed: CUPTI has the shim's, which are. */
	if (share__serves() && attribute == CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER)
		return CUPTI_SUCCESS;
	return real_cuptiActivitySetAttribute(attribute, bytes, value);
}

EXPORT CUptiResult CUPTIAPI cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream,
							      size_t *dropped)
{
	CUPTIS(cuptiActivityGetNumDroppedRecords);
	if (!share__serves() || !dropped)
		return real_cuptiActivityGetNumDroppedRecords(context, stream, dropped);
	*dropped = atomic_exchange(&program.nr_dropped, 0);
	return CUPTI_SUCCESS;
}

/* Where a kind's records have their times; start is 0 if they have none that is known. */
static const struct { uint8_t start, end, completed; } places[CUPTI_ACTIVITY_KIND_COUNT] = {
#define TIMES(type)	{ offsetof(type, start), offsetof(type, end), 0 }
	[CUPTI_ACTIVITY_KIND_KERNEL] = { offsetof(CUpti_ActivityKernel10, start),
		offsetof(CUpti_ActivityKernel10, end), offsetof(CUpti_ActivityKernel10, completed) },
	[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL] = { offsetof(CUpti_ActivityKernel10, start),
		offsetof(CUpti_ActivityKernel10, end), offsetof(CUpti_ActivityKernel10, completed) },
	[CUPTI_ACTIVITY_KIND_MEMCPY] = TIMES(CUpti_ActivityMemcpy6),
	[CUPTI_ACTIVITY_KIND_MEMCPY2] = TIMES(CUpti_ActivityMemcpyPtoP4),
	[CUPTI_ACTIVITY_KIND_MEMSET] = TIMES(CUpti_ActivityMemset4),
	[CUPTI_ACTIVITY_KIND_RUNTIME] = TIMES(CUpti_ActivityAPI),
	[CUPTI_ACTIVITY_KIND_DRIVER] = TIMES(CUpti_ActivityAPI),
	[CUPTI_ACTIVITY_KIND_SYNCHRONIZATION] = TIMES(CUpti_ActivitySynchronization2),
	[CUPTI_ACTIVITY_KIND_OVERHEAD] = TIMES(CUpti_ActivityOverhead3),
#undef TIMES
};

static uint64_t read_clock(void)
{
	struct timespec ts;

	if (program.read)
		return program.read();
	clock_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

void share__begin_records(void)
{
	CUpti_TimestampCallbackFunc clock = atomic_load(&program.clock);
	int first;

	if (!share__serves() || !atomic_load(&program.request))
		return;
	first = !program.mono[0] || clock != program.read;
	program.read = clock;
	program.mono[1] = clock__ns();
	program.clocks[1] = read_clock();
	if (first) {
		program.mono[0] = program.mono[1] - 1;
		program.clocks[0] = program.clocks[1] - 1;
	}
}

static void map_time(uint8_t *at)
{
	uint64_t t;
	long double rate = (long double)(program.clocks[1] - program.clocks[0]) /
			   (program.mono[1] - program.mono[0]);

	memcpy(&t, at, sizeof(t));
	if (!t)
		return;
	t = program.clocks[1] - (int64_t)((int64_t)(program.mono[1] - t) * rate);
	memcpy(at, &t, sizeof(t));
}

static void complete(void)
{
	CUpti_BuffersCallbackCompleteFunc fn = atomic_load(&program.complete);
	uint8_t *data = program.data;

	program.data = NULL;
	if (data && fn)
		fn(NULL, 0, data, program.bytes, program.used);
}

static uint8_t *room(size_t bytes)
{
	CUpti_BuffersCallbackRequestFunc fn = atomic_load(&program.request);

	if (program.data && (program.used + bytes > program.bytes ||
			     (program.max_records && program.nr == program.max_records)))
		complete();
	if (!program.data) {
		program.used = program.nr = program.bytes = program.max_records = 0;
		fn(&program.data, &program.bytes, &program.max_records);
	}
	if (!program.data || program.bytes < bytes) {
		atomic_fetch_add(&program.nr_dropped, 1);
		return NULL;
	}
	program.used += bytes;
	program.nr++;
	return program.data + program.used - bytes;
}

void share__record(const CUpti_Activity *record, size_t bytes)
{
	uint32_t kind = record->kind;
	uint64_t start = 0, from;
	uint8_t *copy;

	if (!share__serves() || !atomic_load(&program.request) || kind >= CUPTI_ACTIVITY_KIND_COUNT)
		return;
	from = atomic_load(&program.window[kind][0]);
	if (places[kind].start)
		memcpy(&start, (const uint8_t *)record + places[kind].start, sizeof(start));
	if (!from || (start && (start < from || start > atomic_load(&program.window[kind][1]))))
		return;
	copy = room(bytes);
	if (!copy)
		return;
	memcpy(copy, record, bytes);
	if (!places[kind].start)
		return;
	map_time(copy + places[kind].start);
	map_time(copy + places[kind].end);
	if (places[kind].completed)
		map_time(copy + places[kind].completed);
}

void share__end_records(void)
{
	if (share__serves())
		complete();
}
