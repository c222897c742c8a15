// SPDX-License-Identifier: MIT
#include "device/calls.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/libc.h"
#include "wire/wire.h"

#define MAX_CALLS	1024		/* in one record */
#define MAX_CBID	4096		/* twice as many as CUDA 13 has */

_Static_assert(sizeof(CUpti_ActivityAPI) == 40, "API record");
_Static_assert(offsetof(CUpti_ActivityAPI, start) == 8, "API record");
_Static_assert(offsetof(CUpti_ActivityAPI, threadId) == 28, "API record");
_Static_assert(offsetof(CUpti_ActivityAPI, correlationId) == 32, "API record");

/* The driver calls inside a runtime call have no records: CUPTI records the outer call alone. */
static const CUpti_ActivityKind kinds[] = {
	CUPTI_ACTIVITY_KIND_RUNTIME,
	CUPTI_ACTIVITY_KIND_DRIVER,
};

#define NR_KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* A run of calls of one thread. CUPTI has a buffer for each thread, so runs are long. */
static struct {
	uint64_t time_ns;
	uint32_t tid;
	uint32_t nr;
	struct xpu_call calls[MAX_CALLS];
} run;

static atomic_int own_tid;

/*
 * Before each launch, libcudart asks the driver for the kernel's name, for callbacks that need it.
 * The program did not make these calls, and they would be as many as its launches.
 */
static const char asked_for_tools[] = "cuKernelGetName";
static uint32_t asked_for_tools_cbid;	/* 0: this driver does not have it */

static uint8_t named[NR_KINDS][MAX_CBID / 8];	/* bitmaps: wire.c has the name */

static bool leaves_out_trifles;		/* under the activity lock */
static uint8_t trifles[NR_KINDS][MAX_CBID / 8];	/* bitmaps, of the driver and of the runtime */

/* Whether @name has a word of @words: a part that begins with a capital. */
static bool has_word(const char *name, const char *const *words)
{
	const char *at;

	for (; *words; words++)
		for (at = name; (at = strstr(at, *words)); at++)
			if (at[strlen(*words)] < 'a' || at[strlen(*words)] > 'z')
				return true;
	return false;
}

/*
 * The rule, which the manual tells, too: a trifle has one of the first words in its name and none of the
 * second ones, which are of calls that may load code, take memory, or wait for a lock of the driver's.
 */
bool calls__is_trifle(const char *name)
{
	static const char *const trifling[] = {
		"Get", "Peek", "Is", "Query", "Push", "Pop", "Current", "Occupancy", NULL,
	};
	static const char *const timed[] = {
		"Count", "Func", "Function", "Graph", "Ipc", "Kernel", "Library", "Mem", "Module",
		"Properties", "Symbol", NULL,
	};

	return has_word(name, trifling) && !has_word(name, timed);
}

static void leave_out_trifles(const struct cupti *c)
{
	static const CUpti_CallbackDomain domains[NR_KINDS] = {
		CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_CB_DOMAIN_RUNTIME_API,
	};
	CUptiResult (*enable)(CUpti_CallbackId, uint8_t);
	const char *name;
	uint32_t cbid;
	size_t i;

	for (i = 0; i < NR_KINDS; i++) {
		enable = i ? c->activity_enable_runtime_api : c->activity_enable_driver_api;
		for (cbid = 1; cbid < MAX_CBID; cbid++) {
			name = NULL;
			if (c->get_callback_name(domains[i], cbid, &name) != CUPTI_SUCCESS || !name ||
			    !calls__is_trifle(name))
				continue;
			__atomic_fetch_or(&trifles[i][cbid / 8], 1u << cbid % 8, __ATOMIC_RELAXED);
			/* If CUPTI can, it does not measure them; otherwise they are dropped below. */
			if (enable)
				enable(cbid, 0);
		}
	}
}

static void leave_out_names(const struct cupti *c)
{
	const char *name;
	uint32_t cbid;

	for (cbid = 1; cbid < MAX_CBID && !asked_for_tools_cbid; cbid++) {
		name = NULL;
		if (c->get_callback_name(CUPTI_CB_DOMAIN_DRIVER_API, cbid, &name) ==
		    CUPTI_SUCCESS && name && !strcmp(name, asked_for_tools))
			asked_for_tools_cbid = cbid;
	}
	/* If CUPTI can, it does not measure these calls; otherwise they are dropped below. */
	if (asked_for_tools_cbid && c->activity_enable_driver_api)
		c->activity_enable_driver_api(asked_for_tools_cbid, 0);
}

CUptiResult calls__enable(const struct cupti *c, enum calls_wanted wanted, const char **what)
{
	CUptiResult err = CUPTI_ERROR_NOT_SUPPORTED;
	bool on = wanted != CALLS_NONE;
	size_t i;

	/* Set before any record is made: pthread_self() means nothing outside of the process. */
	*what = "cuptiSetThreadIdType";
	if (on && c->set_thread_id_type)
		err = c->set_thread_id_type(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
	if (on && err != CUPTI_SUCCESS)
		return err;
	*what = on ? "cuptiActivityEnable" : "cuptiActivityDisable";
	for (i = 0; i < NR_KINDS; i++) {
		err = on ? c->activity_enable(kinds[i]) : c->activity_disable(kinds[i]);
		if (on && err != CUPTI_SUCCESS)
			goto disable;
	}
	if (on)
		leave_out_names(c);
	__atomic_store_n(&leaves_out_trifles, wanted == CALLS_TIMED, __ATOMIC_RELAXED);
	if (wanted == CALLS_TIMED)
		leave_out_trifles(c);
	if (!on && c->set_thread_id_type)
		c->set_thread_id_type(CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT);
	return CUPTI_SUCCESS;

disable:
	while (i--)
		c->activity_disable(kinds[i]);
	return err;
}

void calls__leave_me_out(void)
{
	atomic_store(&own_tid, libc__tid());
}

static void name_call(const struct cupti *c, bool runtime, uint32_t cbid)
{
	uint32_t domain = runtime ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API;
	const char *name = NULL;

	if (named[runtime][cbid / 8] & 1u << cbid % 8)
		return;
	named[runtime][cbid / 8] |= 1u << cbid % 8;
	if (c->get_callback_name(domain, cbid, &name) == CUPTI_SUCCESS && name)
		wire__api(domain, cbid, name);
}

void calls__pack(const struct cupti *c, const CUpti_ActivityAPI *call)
{
	bool runtime = call->kind == CUPTI_ACTIVITY_KIND_RUNTIME;
	int64_t delta = call->start - run.time_ns;
	uint64_t duration_ns = call->end - call->start;

	if (call->threadId == (uint32_t)atomic_load_explicit(&own_tid, memory_order_relaxed) ||
	    (!runtime && call->cbid == asked_for_tools_cbid))
		return;
	if (__atomic_load_n(&leaves_out_trifles, __ATOMIC_RELAXED) && call->cbid < MAX_CBID &&
	    trifles[runtime][call->cbid / 8] & 1u << call->cbid % 8)
		return;
	/* A call that was not over when CUPTI handed it out has no end. */
	if (!call->start || call->end < call->start || duration_ns > XPU_CALL_MAX_NS ||
	    call->cbid >= MAX_CBID) {
		wire__counters.nr_bad_calls++;
		return;
	}
	if (run.nr == MAX_CALLS || run.tid != call->threadId || delta != (int32_t)delta)
		calls__flush();
	name_call(c, runtime, call->cbid);
	if (!run.nr) {
		run.time_ns = call->start;
		run.tid = call->threadId;
		delta = 0;
	}
	run.calls[run.nr++] = (struct xpu_call){
		.delta_ns = delta,
		.correlation_id = call->correlationId,
		.duration_ns = duration_ns,
		.duration_high = duration_ns >> 32,
		.cbid = call->cbid | (runtime ? XPU_CALL_RUNTIME : 0),
	};
}

void calls__flush(void)
{
	size_t bytes = run.nr * sizeof(run.calls[0]);
	struct xpu_record_calls *r;

	if (!run.nr)
		return;
	r = wire__reserve(XPU_RECORD_CALLS, 0, sizeof(*r) + bytes);
	r->time_ns = run.time_ns;
	r->tid = run.tid;
	r->nr = run.nr;
	memcpy(r->calls, run.calls, bytes);
	wire__counters.nr_calls += run.nr;
	run.nr = 0;
}
