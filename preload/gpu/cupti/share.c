// SPDX-License-Identifier: MIT
/*
 * The shim stays CUPTI's only subscriber, and passes callbacks and copies of records on to the
 * program's profiler: see doc/beside.md. Off unless XPU_CUPTI_ENV is "share".
 *
 * A call that cannot be served makes the shim let go of CUPTI: the program's own subscription and
 * activity kinds are then registered with CUPTI, and calls with the program's handle use the real
 * handle.
 *
 * The program may call CUPTI from inside a callback, where CUPTI or the driver may hold locks.
 * Therefore this file uses no lock. A thread that gives CUPTI to the program waits, for a limited
 * time, until no call is being served.
 */
#include "gpu/cupti/share.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "gpu/cupti/cupti_lib.h"
#include "gpu/cupti/cupti_real.h"
#include "base/environment.h"
#include "base/libc.h"
#include "base/lock.h"
#include "base/all_threads.h"
#include "gpu/cupti/buffers.h"
#include "gpu/cupti/copies.h"
#include "gpu/cupti/program.h"
#include "gpu/cupti/callback.h"
#include "gpu/cupti/way.h"
#include "launch/capture_window.h"
#include "life/drain.h"
#include "xpu_slot.h"

#define EXPORT		__attribute__((visibility("default")))
#define NR_DOMAINS	16
#define NR_CBIDS	4096
#define DEPTH		8
#define NR_FLUSHES	10
#define FLUSH_PAUSE_NS	1000000
#define LOOK_PAUSE_NS	200000
#define MOVED_WAIT_NS	2000000000ull	/* time for threads to leave the program's callback */
#define BUFFER_WAIT_NS	100000000ull	/* time for the program's callback to give a buffer */
#define CALLS_WAIT_NS	2000000000ull	/* how long to wait until served calls end */
#define CHANGE_WAIT_NS	10000000000ull	/* time for another thread to give CUPTI back */
#define SEVERAL_SUBSCRIBERS 130300	/* first CUPTI version that allows several subscribers */

typedef _Atomic uint8_t bitmap[NR_DOMAINS][NR_CBIDS / 8];

/* A subscription of the program, never freed because its address is the program's handle. */
struct client {
	struct client *before;
	CUpti_CallbackFunc callback;
	void *userdata;
};

static const struct cupti *cupti;
static CUpti_SubscriberHandle own_subscriber;
static bitmap own;				/* callbacks that the shim wants */
static bitmap programs;				/* callbacks that the program wants */
static _Atomic(struct client *) client, clients;	/* the current client; list of all clients
							 * ever made */
static _Atomic(CUpti_SubscriberHandle) real_subscriber;	/* the handle that CUPTI gave for the
							 * program, if the program has CUPTI for
							 * itself */

enum state {
	OFF,
	SERVING,
	CHANGING,		/* the shim is about to let go of CUPTI, and serves no call */
};

static _Atomic(enum state) state;
static atomic_int nr_calls;		/* number of calls that are being served */
static atomic_bool over;		/* the program was served, and now the process ends */

static __thread struct {
	/* The words that the program keeps in *correlationData from a call's entry to its exit. */
	struct { const void *call; uint64_t data; } calls[DEPTH];
	unsigned int nr;
	unsigned int nr_callbacks;	/* how many of the program's callbacks the thread is in */
} kept __attribute__((tls_model("initial-exec")));

bool share__is_asked_for(void)
{
	const char *env = environment__get(XPU_CUPTI_ENV);

	return env && !strcmp(env, "share");
}

bool share__is_wanted(void)
{
	const char *api = environment__get(XPU_API_ENV);

	return share__is_asked_for() && !api && !capture_window__are_used;
}

static bool has(bitmap map, uint32_t domain, uint32_t cbid)
{
	return domain < NR_DOMAINS && cbid < NR_CBIDS &&
	       atomic_load_explicit(&map[domain][cbid / 8], memory_order_relaxed) & 1u << cbid % 8;
}

static void set(bitmap map, uint32_t domain, uint32_t cbid, bool on)
{
	if (on)
		atomic_fetch_or(&map[domain][cbid / 8], 1u << cbid % 8);
	else
		atomic_fetch_and(&map[domain][cbid / 8], ~(1u << cbid % 8));
}

void share__own_callback(uint32_t domain, uint32_t cbid)
{
	set(own, domain, cbid, true);
}

/* ---- who has CUPTI --------------------------------------------------------------------------- */

static void pause_a_little(void)
{
	const struct timespec pause = { 0, LOOK_PAUSE_NS };

	nanosleep(&pause, NULL);
}

static bool begins_at_once(void)
{
	if (atomic_load(&state) != SERVING)
		return false;
	atomic_fetch_add(&nr_calls, 1);
	if (atomic_load(&state) == SERVING)
		return true;
	atomic_fetch_sub(&nr_calls, 1);
	return false;
}

bool share__begins(void)
{
	uint64_t end;

	if (atomic_load(&state) == OFF)
		return false;
	for (end = clock__ns() + CHANGE_WAIT_NS; !begins_at_once(); pause_a_little())
		if (atomic_load(&state) == OFF || clock__ns() > end)
			return false;
	return true;
}

void share__ends(void)
{
	atomic_fetch_sub(&nr_calls, 1);
}

/*
 * Begins to give CUPTI to the program, and waits until no call is being served. Return: false if
 * another thread is doing so already, or the program is not served.
 */
static bool begin_change(void)
{
	uint64_t end = clock__ns() + CALLS_WAIT_NS;
	enum state was = SERVING;

	if (!atomic_compare_exchange_strong(&state, &was, CHANGING))
		return false;
	while (atomic_load(&nr_calls) && clock__ns() < end)
		pause_a_little();
	return true;
}

bool share__serves(void)
{
	return atomic_load(&state) != OFF;
}

static bool is_used(void)
{
	return atomic_load(&client) || copies__kinds();
}

bool share__may_stop(void)
{
	if (!share__serves())
		return true;
	if (is_used() || !begin_change())
		return false;
	if (!is_used() && !atomic_load(&nr_calls))
		return true;
	atomic_store(&state, SERVING);
	return false;
}

void share__stop(void)
{
	atomic_store(&state, OFF);
}

void share__end(void)
{
	if (atomic_exchange(&state, OFF) != OFF)
		atomic_store(&over, true);
}

void share__forked(void)
{
	share__end();
	atomic_store(&nr_calls, 0);
	copies__forked();
}

/* ---- callbacks ------------------------------------------------------------------------------- */

/*
 * Return: the address of the program's own word for the call; NULL at the exit of a call whose
 * entry the program did not see. The shim uses CUPTI's word for the call, and the address of
 * CUPTI's word identifies the call. A signal handler's calls are nested, so they end first. If the
 * program did not see the exit of a call, later calls push the call's word out.
 */
static uint64_t *word_of(const CUpti_CallbackData *d)
{
	unsigned int at = kept.nr;

	if (d->callbackSite == CUPTI_API_ENTER) {
		if (at == DEPTH)
			memmove(&kept.calls[0], &kept.calls[1], --at * sizeof(kept.calls[0]));
		kept.nr = at + 1;
		__asm__ volatile("" ::: "memory");
		kept.calls[at].call = d->correlationData;
		kept.calls[at].data = 0;
		return &kept.calls[at].data;
	}
	while (at--)
		if (kept.calls[at].call == d->correlationData) {
			kept.nr = at;
			return &kept.calls[at].data;
		}
	return NULL;
}

static __attribute__((noinline, cold)) void call_program(const struct client *c,
							 CUpti_CallbackDomain domain,
							 CUpti_CallbackId cbid, const void *data)
{
	CUpti_CallbackData d;

	if (domain == CUPTI_CB_DOMAIN_DRIVER_API && has(own, domain, cbid)) {
		memcpy(&d, data, sizeof(d));
		d.correlationData = word_of(&d);
		if (!d.correlationData)
			return;
		data = &d;
	}
	kept.nr_callbacks++;
	c->callback(c->userdata, domain, cbid, data);
	kept.nr_callbacks--;
}

void CUPTIAPI share__callback(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
			      const void *data)
{
	const struct client *c = atomic_load_explicit(&client, memory_order_acquire);

	if (domain == CUPTI_CB_DOMAIN_DRIVER_API || domain == CUPTI_CB_DOMAIN_RUNTIME_API)
		copies__note_id(((const CUpti_CallbackData *)data)->correlationId);
	if (__builtin_expect(c && has(programs, domain, cbid), 0))
		call_program(c, domain, cbid, data);
	if (has(own, domain, cbid))
		callback__call(userdata, domain, cbid, data);
}

/* ---- the program's subscription -------------------------------------------------------------- */

CUptiResult share__subscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
			     void *userdata)
{
	struct client *c, *none = NULL;

	if (!subscriber || !callback)
		return CUPTI_ERROR_INVALID_PARAMETER;
	c = malloc(sizeof(*c));
	if (!c)
		return CUPTI_ERROR_OUT_OF_MEMORY;
	*c = (struct client){ NULL, callback, userdata };
	if (!atomic_compare_exchange_strong(&client, &none, c)) {
		free(c);
		return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	}
	c->before = atomic_load(&clients);
	while (!atomic_compare_exchange_weak(&clients, &c->before, c))
		;
	*subscriber = (CUpti_SubscriberHandle)c;
	return CUPTI_SUCCESS;
}

/* Return: whether the shim has ever made this handle. */
static bool is_ours(CUpti_SubscriberHandle subscriber)
{
	const struct client *c = atomic_load(&clients);

	while (c && (const void *)c != (const void *)subscriber)
		c = c->before;
	return c;
}

static bool is_there(CUpti_SubscriberHandle subscriber)
{
	return (void *)atomic_load(&client) == (void *)subscriber;
}

/*
 * Whether the domain has callbacks at the entry and exit of calls. A thread may be inside a call,
 * so the shim does not disable these callbacks while it records; watch__calls() explains why. It
 * only stops passing them on to the program.
 */
static bool is_of_call(uint32_t domain)
{
	return domain == CUPTI_CB_DOMAIN_DRIVER_API || domain == CUPTI_CB_DOMAIN_RUNTIME_API;
}

/*
 * Tells CUPTI whether the program has enabled the callback. Does nothing while the shim is giving
 * CUPTI back, because subscribe_program() then enables all of the program's callbacks.
 */
static CUptiResult tell(uint32_t domain, uint32_t cbid)
{
	CUptiResult err = CUPTI_SUCCESS;
	CUpti_SubscriberHandle real;

	if (begins_at_once()) {
		if (!has(own, domain, cbid) && (has(programs, domain, cbid) || !is_of_call(domain)))
			err = cupti->enable_callback(has(programs, domain, cbid), own_subscriber,
						     domain, cbid);
		share__ends();
		return err;
	}
	real = atomic_load(&real_subscriber);
	return real ? cupti->enable_callback(has(programs, domain, cbid), real, domain, cbid) : err;
}

static CUptiResult enable(CUpti_SubscriberHandle subscriber, uint32_t on, uint32_t domain,
			  uint32_t cbid)
{
	CUptiResult err;

	if (!is_there(subscriber) || domain >= NR_DOMAINS || cbid >= NR_CBIDS)
		return CUPTI_ERROR_INVALID_PARAMETER;
	set(programs, domain, cbid, on);
	err = tell(domain, cbid);
	if (err != CUPTI_SUCCESS)
		set(programs, domain, cbid, false);
	return err;
}

/*
 * CUPTI's own function for whole domains is used only while the program has CUPTI for itself,
 * because that function would also disable the shim's callbacks.
 */
static CUptiResult enable_domain(CUpti_SubscriberHandle subscriber, uint32_t on, uint32_t domain)
{
	CUpti_SubscriberHandle real;
	uint32_t cbid;

	if (!is_there(subscriber) || !domain || domain >= CUPTI_CB_DOMAIN_SIZE)
		return CUPTI_ERROR_INVALID_PARAMETER;
	real = share__serves() ? NULL : atomic_load(&real_subscriber);
	for (cbid = 1; cbid < NR_CBIDS; cbid++) {
		if (on == has(programs, domain, cbid))
			continue;
		set(programs, domain, cbid, on);
		if (!real)
			tell(domain, cbid);	/* CUPTI refuses ids that it lacks: ignore that */
	}
	return real ? cupti->enable_domain(on, real, domain) : CUPTI_SUCCESS;
}

static CUptiResult enable_domains(CUpti_SubscriberHandle subscriber, uint32_t on)
{
	CUptiResult err = CUPTI_SUCCESS;
	uint32_t domain;

	for (domain = 1; domain < CUPTI_CB_DOMAIN_SIZE && err == CUPTI_SUCCESS; domain++)
		err = enable_domain(subscriber, on, domain);
	return err;
}

static CUptiResult state_of(CUpti_SubscriberHandle subscriber, uint32_t *on, uint32_t domain,
			    uint32_t cbid)
{
	if (!is_there(subscriber) || !on || !domain || domain >= CUPTI_CB_DOMAIN_SIZE ||
	    cbid >= NR_CBIDS)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*on = has(programs, domain, cbid);
	return CUPTI_SUCCESS;
}

static CUptiResult unsubscribe(CUpti_SubscriberHandle subscriber)
{
	struct client *c = (struct client *)subscriber;
	CUpti_SubscriberHandle real;
	bool served = share__begins();

	enable_domains(subscriber, 0);
	real = atomic_exchange(&real_subscriber, NULL);
	if (!atomic_compare_exchange_strong(&client, &c, NULL))
		c = NULL;
	if (served)
		share__ends();
	if (!c)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (real)
		return cupti->unsubscribe(real);
	all_threads__wait_moved(MOVED_WAIT_NS);	/* now no thread runs the program's callback */
	return CUPTI_SUCCESS;
}

#define REAL(fn)	CUPTI_REAL(fn, fn)

EXPORT CUptiResult CUPTIAPI cuptiEnableCallback(uint32_t on, CUpti_SubscriberHandle subscriber,
						CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
	REAL(cuptiEnableCallback);
	if (is_ours(subscriber))
		return enable(subscriber, on, domain, cbid);
	return real_cuptiEnableCallback(on, subscriber, domain, cbid);
}

EXPORT CUptiResult CUPTIAPI cuptiEnableDomain(uint32_t on, CUpti_SubscriberHandle subscriber,
					      CUpti_CallbackDomain domain)
{
	REAL(cuptiEnableDomain);
	if (is_ours(subscriber))
		return enable_domain(subscriber, on, domain);
	return real_cuptiEnableDomain(on, subscriber, domain);
}

EXPORT CUptiResult CUPTIAPI cuptiEnableAllDomains(uint32_t on, CUpti_SubscriberHandle subscriber)
{
	REAL(cuptiEnableAllDomains);
	if (is_ours(subscriber))
		return enable_domains(subscriber, on);
	return real_cuptiEnableAllDomains(on, subscriber);
}

EXPORT CUptiResult CUPTIAPI cuptiGetCallbackState(uint32_t *on, CUpti_SubscriberHandle subscriber,
						  CUpti_CallbackDomain domain,
						  CUpti_CallbackId cbid)
{
	REAL(cuptiGetCallbackState);
	if (is_ours(subscriber))
		return state_of(subscriber, on, domain, cbid);
	return real_cuptiGetCallbackState(on, subscriber, domain, cbid);
}

EXPORT CUptiResult CUPTIAPI cuptiUnsubscribe(CUpti_SubscriberHandle subscriber)
{
	REAL(cuptiUnsubscribe);
	if (is_ours(subscriber))
		return unsubscribe(subscriber);
	return real_cuptiUnsubscribe(subscriber);
}

/* ---- records --------------------------------------------------------------------------------- */

static sem_t deliver_wanted;

static void *deliver_thread(void *arg)
{
	struct timespec end;

	(void)arg;
	pthread_setname_np(pthread_self(), "xpushim-share");
	for (;;) {
		clock_gettime(CLOCK_MONOTONIC, &end);
		end.tv_sec += 3600;
		if (!libc__wait_until(&deliver_wanted, &end))
			copies__deliver(false);
	}
	return NULL;
}

static bool has_deliver_thread;

static void start_deliver_thread(void)
{
	pthread_t thread;
	sigset_t old;

	sem_init(&deliver_wanted, 0, 0);
	signals__block(&old);
	has_deliver_thread = !pthread_create(&thread, NULL, deliver_thread, NULL);
	signals__restore(&old);
}

/*
 * Runs the program's callbacks. As in CUPTI, they run on a thread that does nothing else: a
 * callback may wait for a lock of the program, whose owner may wait for the shim's thread.
 */
void share__deliver(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	if (!copies__are_waiting())
		return;
	pthread_once(&once, start_deliver_thread);
	if (has_deliver_thread)
		sem_post(&deliver_wanted);
	else
		copies__deliver(false);
}

void share__await_buffer(void)
{
	uint64_t end = clock__ns() + BUFFER_WAIT_NS;

	while (!kept.nr_callbacks && copies__want_buffer() && clock__ns() < end)
		pause_a_little();
}

/*
 * Collects records. @forced: also unfinished records. Before forcing CUPTI, waits a little for work
 * that is about to end, so that neither the shim nor the program gets records without an end.
 */
static void collect(bool forced)
{
	const struct timespec pause = { 0, FLUSH_PAUSE_NS };
	int i;

	for (i = 0; i < NR_FLUSHES; i++) {
		cupti->activity_flush_all(0);
		life__send();
		if (!forced || !activity__has_buffers_out())
			return;
		nanosleep(&pause, NULL);
	}
	activity__flush_for_program();
	life__send();
}

/* Return: false if the program is not served, so that CUPTI itself has to flush. */
static bool flush(uint32_t flag)
{
	bool serves = share__begins();

	if (serves) {
		/*
		 * In a callback nothing may wait for the lock that packing takes: leave packing to
		 * the shim's thread.
		 */
		if (kept.nr_callbacks)
			cupti->activity_flush_all(0);
		else
			collect(flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
		share__ends();
	}
	if (copies__are_wanted()) {	/* there may be copies from the time before CUPTI was given
					 * back */
		if (kept.nr_callbacks)
			copies__flush_later();
		else
			copies__deliver(true);
		share__deliver();
	}
	return serves || atomic_load(&over);
}

EXPORT CUptiResult CUPTIAPI cuptiActivityFlushAll(uint32_t flag)
{
	REAL(cuptiActivityFlushAll);
	return flush(flag) ? CUPTI_SUCCESS : real_cuptiActivityFlushAll(flag);
}

EXPORT CUptiResult CUPTIAPI cuptiActivityFlush(CUcontext context, uint32_t stream, uint32_t flag)
{
	REAL(cuptiActivityFlush);
	return flush(flag) ? CUPTI_SUCCESS : real_cuptiActivityFlush(context, stream, flag);
}

EXPORT CUptiResult CUPTIAPI cuptiActivitySetAttribute(CUpti_ActivityAttribute attribute,
						      size_t *bytes, void *value)
{
	REAL(cuptiActivitySetAttribute);
	/*
	 * Do not tell CUPTI whether the program zeroes its buffers: CUPTI has the shim's buffers,
	 * which are always zeroed.
	 */
	if (attribute == CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER && share__serves())
		return CUPTI_SUCCESS;
	/* Accepts only 0, the value that Kineto sets after each flush. */
	if (attribute == CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER && bytes && value &&
	    *bytes == sizeof(uint8_t) && *(const uint8_t *)value)
		share__cannot_serve("cuptiActivitySetAttribute");
	return real_cuptiActivitySetAttribute(attribute, bytes, value);
}

EXPORT CUptiResult CUPTIAPI cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream,
							      size_t *dropped)
{
	REAL(cuptiActivityGetNumDroppedRecords);
	if (!share__serves() || !dropped)
		return real_cuptiActivityGetNumDroppedRecords(context, stream, dropped);
	*dropped = copies__take_nr_dropped();
	return CUPTI_SUCCESS;
}

EXPORT CUptiResult CUPTIAPI cuptiGetTimestamp(uint64_t *timestamp)
{
	REAL(cuptiGetTimestamp);
	if (!share__serves() || !timestamp)
		return real_cuptiGetTimestamp(timestamp);
	*timestamp = copies__now();
	return CUPTI_SUCCESS;
}

/* ---- starting, and giving CUPTI back --------------------------------------------------------- */

/* Tells CUPTI which callbacks the program has enabled. Other threads may change them meanwhile. */
static void tell_all(CUpti_SubscriberHandle subscriber)
{
	uint32_t domain, cbid;

	for (domain = 1; domain < CUPTI_CB_DOMAIN_SIZE; domain++)
		for (cbid = 1; cbid < NR_CBIDS; cbid++) {
			if (!has(programs, domain, cbid))
				continue;
			cupti->enable_callback(1, subscriber, domain, cbid);
			if (!has(programs, domain, cbid))
				cupti->enable_callback(0, subscriber, domain, cbid);
		}
}

void share__start(const struct cupti *c, CUpti_SubscriberHandle subscriber)
{
	cupti = c;
	own_subscriber = subscriber;
	if (!share__is_wanted() || c->version >= SEVERAL_SUBSCRIBERS)
		return;
	if (atomic_load(&client))
		tell_all(subscriber);
	atomic_store(&state, SERVING);
}

/* Gives the program its own subscription, with its enabled callbacks. */
static void subscribe_program(void)
{
	const struct client *c = atomic_load(&client);
	CUpti_SubscriberHandle real;

	if (!c || cupti->subscribe(&real, c->callback, c->userdata) != CUPTI_SUCCESS)
		return;
	atomic_store(&real_subscriber, real);
	tell_all(real);
}

bool share__give_back(const char *function)
{
	uint64_t kinds, end = clock__ns() + CHANGE_WAIT_NS;
	uint32_t kind;

	while (!begin_change()) {
		if (!share__serves() || clock__ns() > end)
			return false;
		pause_a_little();
	}
	way__yield(function);		/* after this the shim gets no more records */
	subscribe_program();
	kinds = copies__kinds();
	for (kind = 0; kind < CUPTI_ACTIVITY_KIND_COUNT; kind++) {
		if (!(kinds & UINT64_C(1) << kind))
			continue;
		copies__disable(kind);
		if (cupti->activity_enable(kind) == CUPTI_SUCCESS)
			program__note_kind(kind, true);
	}
	share__stop();
	copies__flush_later();
	share__deliver();		/* on another thread: the caller may hold a lock that its
					 * callbacks take */
	return true;
}

void share__cannot_serve(const char *function)
{
	if (!share__serves())
		return;
	program__call_begins();
	share__give_back(function);
	program__call_ends();
}

/* Makes CUPTI forget the program's subscription and everything that the program has enabled. */
EXPORT CUptiResult CUPTIAPI cuptiFinalize(void)
{
	uint32_t at;

	REAL(cuptiFinalize);
	share__cannot_serve("cuptiFinalize");
	if (!atomic_load(&clients))	/* the program was never served */
		return real_cuptiFinalize();
	atomic_store(&client, NULL);
	atomic_store(&real_subscriber, NULL);
	for (at = 0; at < NR_DOMAINS * NR_CBIDS; at++)
		set(programs, at / NR_CBIDS, at % NR_CBIDS, false);
	for (at = 0; at < CUPTI_ACTIVITY_KIND_COUNT; at++)
		program__note_kind(at, false);
	return real_cuptiFinalize();
}
