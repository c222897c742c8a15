// SPDX-License-Identifier: MIT
/*
 * The shim stays CUPTI's one subscriber, and gives the program's profiler the callbacks and copies of
 * the records that it asked for: see doc/beside.md. Off, unless XPU_CUPTI_ENV is "share".
 *
 * A call that cannot be served makes the shim let go: the program's own subscription and kinds become
 * CUPTI's, and its handle stands for CUPTI's from then on.
 */
#include "device/share.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/cupti_lib.h"
#include "base/environment.h"
#include "base/life.h"
#include "base/lock.h"
#include "base/threads.h"
#include "device/buffers.h"
#include "device/copies.h"
#include "device/program.h"
#include "launch/launch.h"
#include "xpu_slot.h"

#define EXPORT		__attribute__((visibility("default")))
#define NR_DOMAINS	16
#define NR_CBIDS	4096
#define DEPTH		8
#define NR_FLUSHES	10
#define FLUSH_PAUSE_NS	1000000
#define MOVED_WAIT_NS	2000000000ull
#define SEVERAL_SUBSCRIBERS 130300	/* CUPTI's version from which on it has several itself */

typedef _Atomic uint8_t bitmap[NR_DOMAINS][NR_CBIDS / 8];

/* A subscription of the program's, which is never freed: its address is the program's handle. */
struct client {
	struct client *before;
	CUpti_CallbackFunc callback;
	void *userdata;
};

static const struct cupti *cupti;
static CUpti_SubscriberHandle own_subscriber;
static bitmap own, theirs;
static _Atomic(struct client *) client, clients;	/* the one there is; all that were */
static atomic_bool serves, over;

/* Of the program's calls that set CUPTI up. It is not held where the program is called. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static CUpti_SubscriberHandle real_subscriber;	/* the program's own, or NULL */

/* The words of the program in correlationData, between a call's entry and its exit. */
static __thread struct {
	struct { const void *call; uint64_t data; } calls[DEPTH];
	unsigned int nr;
} kept __attribute__((tls_model("initial-exec")));

bool share__is_asked_for(void)
{
	const char *env = environment__get(XPU_CUPTI_ENV);

	return env && !strcmp(env, "share");
}

bool share__is_wanted(void)
{
	const char *api = environment__get(XPU_API_ENV);

	return share__is_asked_for() && !(api && !strcmp(api, "on"));
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

void share__start(const struct cupti *c, CUpti_SubscriberHandle subscriber)
{
	cupti = c;
	own_subscriber = subscriber;
	atomic_store(&serves, share__is_wanted() && c->version < SEVERAL_SUBSCRIBERS);
}

void share__stop(void)
{
	atomic_store(&serves, false);
}

void share__end(void)
{
	atomic_store(&over, share__serves());
	atomic_store(&serves, false);
}

bool share__serves(void)
{
	return atomic_load(&serves);
}

bool share__is_used(void)
{
	return share__serves() && (atomic_load(&client) || copies__kinds());
}

/* ---- callbacks ------------------------------------------------------------------------------- */

/*
 * Return: where the program keeps its word of the call; NULL at the end of a call whose begin it did
 * not see. CUPTI's own word, whose address tells calls apart, is the shim's. A signal handler's calls
 * are inside of the thread's, so they end first. Calls whose end the program did not see are pushed
 * out.
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
	c->callback(c->userdata, domain, cbid, data);
}

void CUPTIAPI share__callback(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
			      const void *data)
{
	const struct client *c = atomic_load_explicit(&client, memory_order_acquire);

	if (domain == CUPTI_CB_DOMAIN_DRIVER_API || domain == CUPTI_CB_DOMAIN_RUNTIME_API)
		copies__note_id(((const CUpti_CallbackData *)data)->correlationId);
	if (__builtin_expect(c && has(theirs, domain, cbid), 0))
		call_program(c, domain, cbid, data);
	if (has(own, domain, cbid))
		launch__callback(userdata, domain, cbid, data);
}

CUptiResult share__subscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
			     void *userdata)
{
	CUptiResult err = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	struct client *c;
	sigset_t old;

	if (!subscriber || !callback)
		return CUPTI_ERROR_INVALID_PARAMETER;
	c = malloc(sizeof(*c));
	if (!c)
		return CUPTI_ERROR_OUT_OF_MEMORY;
	lock__take(&lock, &old);
	if (!atomic_load(&client)) {
		*c = (struct client){ atomic_load(&clients), callback, userdata };
		atomic_store(&clients, c);
		memset((void *)theirs, 0, sizeof(theirs));
		atomic_store(&client, c);
		*subscriber = (CUpti_SubscriberHandle)c;
		c = NULL;
		err = CUPTI_SUCCESS;
	}
	lock__give(&lock, &old);
	free(c);
	return err;
}

static bool is_served(CUpti_SubscriberHandle subscriber)
{
	return (share__serves() || atomic_load(&over)) &&
	       (void *)subscriber == (void *)atomic_load(&client) && subscriber;
}

/* Return: what CUPTI knows @subscriber as; NULL, which it refuses, for a handle that is no more. */
static CUpti_SubscriberHandle real_handle(CUpti_SubscriberHandle subscriber)
{
	const struct client *c;

	for (c = atomic_load(&clients); c; c = c->before)
		if ((const void *)c == (const void *)subscriber)
			return c == atomic_load(&client) ? real_subscriber : NULL;
	return subscriber;
}

static CUptiResult enable(uint32_t on, uint32_t domain, uint32_t cbid)
{
	CUptiResult err = CUPTI_SUCCESS;

	if (domain >= NR_DOMAINS || cbid >= NR_CBIDS)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (!has(own, domain, cbid) && !atomic_load(&over))
		err = cupti->enable_callback(on, own_subscriber, domain, cbid);
	if (err == CUPTI_SUCCESS)
		set(theirs, domain, cbid, on);
	return err;
}

/* CUPTI's own function for a whole domain would disable the shim's callbacks, too. */
static CUptiResult enable_domain(uint32_t on, uint32_t domain)
{
	CUptiResult err = CUPTI_SUCCESS;
	uint32_t cbid;

	if (domain >= NR_DOMAINS)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (on && !atomic_load(&over))
		err = cupti->enable_domain(1, own_subscriber, domain);
	if (err != CUPTI_SUCCESS)
		return err;
	for (cbid = 1; cbid < NR_CBIDS; cbid++)
		if (on)
			set(theirs, domain, cbid, true);
		else if (has(theirs, domain, cbid) && enable(0, domain, cbid) != CUPTI_SUCCESS)
			set(theirs, domain, cbid, false);	/* CUPTI has no such callback */
	return CUPTI_SUCCESS;
}

#define CUPTIS(fn)								\
	__typeof__(&fn) real_##fn;						\
										\
	*(void **)&real_##fn = cupti__real(#fn);				\
	if (!real_##fn)								\
		return CUPTI_ERROR_NOT_INITIALIZED

/* Returns what @call, made under the lock, returns; what CUPTI says, if the program is not served. */
#define SERVE(subscriber, call, otherwise)					\
do {										\
	CUptiResult err_;							\
	sigset_t old_;								\
										\
	lock__take(&lock, &old_);						\
	if (!is_served(subscriber)) {						\
		subscriber = real_handle(subscriber);				\
		lock__give(&lock, &old_);					\
		return otherwise;						\
	}									\
	err_ = call;								\
	lock__give(&lock, &old_);						\
	return err_;								\
} while (0)

EXPORT CUptiResult CUPTIAPI cuptiEnableCallback(uint32_t on, CUpti_SubscriberHandle subscriber,
						CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
	CUPTIS(cuptiEnableCallback);
	SERVE(subscriber, enable(on, domain, cbid),
	      real_cuptiEnableCallback(on, subscriber, domain, cbid));
}

EXPORT CUptiResult CUPTIAPI cuptiEnableDomain(uint32_t on, CUpti_SubscriberHandle subscriber,
					      CUpti_CallbackDomain domain)
{
	CUPTIS(cuptiEnableDomain);
	SERVE(subscriber, enable_domain(on, domain),
	      real_cuptiEnableDomain(on, subscriber, domain));
}

static CUptiResult enable_domains(uint32_t on)
{
	uint32_t domain;

	for (domain = 1; domain < CUPTI_CB_DOMAIN_SIZE; domain++)
		enable_domain(on, domain);	/* CUPTI may lack one of the headers' */
	return CUPTI_SUCCESS;
}

EXPORT CUptiResult CUPTIAPI cuptiEnableAllDomains(uint32_t on, CUpti_SubscriberHandle subscriber)
{
	CUPTIS(cuptiEnableAllDomains);
	SERVE(subscriber, enable_domains(on), real_cuptiEnableAllDomains(on, subscriber));
}

static CUptiResult state_of(uint32_t *on, uint32_t domain, uint32_t cbid)
{
	if (!on || !domain || domain >= CUPTI_CB_DOMAIN_SIZE || cbid >= NR_CBIDS)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*on = has(theirs, domain, cbid);
	return CUPTI_SUCCESS;
}

EXPORT CUptiResult CUPTIAPI cuptiGetCallbackState(uint32_t *on, CUpti_SubscriberHandle subscriber,
						  CUpti_CallbackDomain domain,
						  CUpti_CallbackId cbid)
{
	CUPTIS(cuptiGetCallbackState);
	SERVE(subscriber, state_of(on, domain, cbid),
	      real_cuptiGetCallbackState(on, subscriber, domain, cbid));
}

/* Return: CUPTI's handle of a subscription that is the program's own by now, or NULL. */
static CUptiResult unsubscribe(CUpti_SubscriberHandle *subscriber, bool *was_served)
{
	sigset_t old;

	lock__take(&lock, &old);
	*was_served = is_served(*subscriber);
	if (*was_served)
		enable_domains(0);
	else
		*subscriber = real_handle(*subscriber);
	if (*was_served || (*subscriber && *subscriber == real_subscriber)) {
		atomic_store(&client, NULL);
		real_subscriber = NULL;
	}
	lock__give(&lock, &old);
	return CUPTI_SUCCESS;
}

EXPORT CUptiResult CUPTIAPI cuptiUnsubscribe(CUpti_SubscriberHandle subscriber)
{
	bool was_served;

	CUPTIS(cuptiUnsubscribe);
	unsubscribe(&subscriber, &was_served);
	if (!was_served)
		return real_cuptiUnsubscribe(subscriber);
	threads__wait_moved(MOVED_WAIT_NS);	/* none calls the program after this */
	return CUPTI_SUCCESS;
}

/* ---- records --------------------------------------------------------------------------------- */

/*
 * CUPTI hands unfinished records out if it is forced to. Work that is about to end gets the time to,
 * so that neither side has records without an end.
 */
static void flush(bool forced)
{
	const struct timespec pause = { 0, FLUSH_PAUSE_NS };
	int i;

	if (share__serves()) {
		for (i = 0; i < NR_FLUSHES; i++) {
			cupti->activity_flush_all(0);
			activity__drain(false);
			if (!forced || !activity__has_buffers_out())
				break;
			nanosleep(&pause, NULL);
		}
		if (forced && activity__has_buffers_out())
			activity__flush_for_program();
		activity__drain(false);
	}
	copies__deliver(true);
}

EXPORT CUptiResult CUPTIAPI cuptiActivityFlushAll(uint32_t flag)
{
	CUPTIS(cuptiActivityFlushAll);
	if (!share__serves() && !atomic_load(&over))
		return real_cuptiActivityFlushAll(flag);
	flush(flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	return CUPTI_SUCCESS;
}

EXPORT CUptiResult CUPTIAPI cuptiActivityFlush(CUcontext context, uint32_t stream, uint32_t flag)
{
	CUPTIS(cuptiActivityFlush);
	if (!share__serves() && !atomic_load(&over))
		return real_cuptiActivityFlush(context, stream, flag);
	flush(flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	return CUPTI_SUCCESS;
}

EXPORT CUptiResult CUPTIAPI cuptiActivitySetAttribute(CUpti_ActivityAttribute attribute,
						      size_t *bytes, void *value)
{
	CUPTIS(cuptiActivitySetAttribute);
	/* This one says whether buffers are zeroed: CUPTI has the shim's, which are. */
	if (share__serves() && attribute == CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER)
		return CUPTI_SUCCESS;
	if (attribute == CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER)
		share__cannot_serve("cuptiActivitySetAttribute");
	return real_cuptiActivitySetAttribute(attribute, bytes, value);
}

EXPORT CUptiResult CUPTIAPI cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream,
							      size_t *dropped)
{
	CUPTIS(cuptiActivityGetNumDroppedRecords);
	if (!share__serves() || !dropped)
		return real_cuptiActivityGetNumDroppedRecords(context, stream, dropped);
	*dropped = copies__take_nr_dropped();
	return CUPTI_SUCCESS;
}

EXPORT CUptiResult CUPTIAPI cuptiGetTimestamp(uint64_t *timestamp)
{
	CUPTIS(cuptiGetTimestamp);
	if (!share__serves() || !timestamp)
		return real_cuptiGetTimestamp(timestamp);
	*timestamp = copies__now();
	return CUPTI_SUCCESS;
}

/* ---- giving CUPTI back ----------------------------------------------------------------------- */

/* Subscribes the program for itself, with what it has enabled. */
static void subscribe_program(void)
{
	const struct client *c = atomic_load(&client);
	uint32_t domain, cbid;

	if (!c)
		return;
	if (cupti->subscribe(&real_subscriber, c->callback, c->userdata) != CUPTI_SUCCESS) {
		real_subscriber = NULL;
		return;
	}
	for (domain = 1; domain < CUPTI_CB_DOMAIN_SIZE; domain++)
		for (cbid = 1; cbid < NR_CBIDS; cbid++)
			if (has(theirs, domain, cbid))
				cupti->enable_callback(1, real_subscriber, domain, cbid);
}

bool share__give_back(const char *function)
{
	uint64_t kinds;
	uint32_t kind;
	bool does;
	sigset_t old;

	if (!share__serves())
		return false;
	lock__take(&lock, &old);
	does = share__serves();
	kinds = copies__kinds();
	if (does) {
		shim__yield(function);	/* which calls share__stop() behind the last record */
		atomic_store(&serves, false);
		subscribe_program();
		for (kind = 0; kind < CUPTI_ACTIVITY_KIND_COUNT; kind++)
			if (kinds & UINT64_C(1) << kind)
				copies__disable(kind);
	}
	lock__give(&lock, &old);
	copies__deliver(true);
	for (kind = 0; does && kind < CUPTI_ACTIVITY_KIND_COUNT; kind++)
		if (kinds & UINT64_C(1) << kind)
			cuptiActivityEnable(kind);
	return does;
}

void share__cannot_serve(const char *function)
{
	if (!share__serves())
		return;
	program__call_begins();
	share__give_back(function);
	program__call_ends();
}
