// SPDX-License-Identifier: MIT
/* The shim's use of CUPTI: implements struct vendor. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/environment.h"
#include "gpu/cupti/activity.h"
#include "gpu/cupti/callback.h"
#include "gpu/cupti/cumem.h"
#include "gpu/cupti/cupti_lib.h"
#include "gpu/cupti/device.h"
#include "gpu/cupti/kinds.h"
#include "gpu/cupti/names.h"
#include "gpu/cupti/share.h"
#include "gpu/cupti/stalls.h"
#include "gpu/cupti/turns.h"
#include "gpu/cupti/watch.h"
#include "gpu/cupti/way.h"
#include "gpu/cupti/yield.h"
#include "gpu/vendor.h"
#include "life/drain.h"
#include "life/life.h"
#include "life/states.h"
#include "life/load.h"
#include "nvtx/capture.h"
#include "wire/probe.h"
#include "wire/sender.h"
#include "wire/wire.h"
#include "xpu_record.h"
#include "xpu_slot.h"

#define EXPORT __attribute__((visibility("default")))

#define RETRY_NS	1000000000ll	/* time between attempts to subscribe while another tool is
					 * subscribed */
#define MAX_WAITS	5		/* maximum number of retries while CUPTI still has the
					 * program's buffers */

static struct {
	struct cupti cupti;
	CUpti_SubscriberHandle subscriber;
	bool has_begun;			/* begin() was called since open() */
	bool closes;			/* may_close() has ended the service for the program's
					 * profiler */
	bool has_stalls;		/* PC samples are wanted */
	bool stays;			/* CUPTI records device work outside of windows, too */
	bool told_busy;
	int busy_level;			/* XPU_MESSAGE_* of the message that was sent */
	uint64_t retry_ns;		/* when to try to subscribe again */
	unsigned int nr_waits;		/* number of retries while CUPTI still held the program's
					 * buffers */

	uint64_t left_ns;		/* when the shim left CUPTI to the program; 0: it did not */
} session;

static const struct vendor cupti;

EXPORT int InitializeInjection(void);

/* ---- subscribing ----------------------------------------------------------------------------- */

static CUpti_CallbackFunc inner_callback(void)
{
	const char *stalls = environment__get(XPU_STALLS_ENV);

	if (stalls && strstr(stalls, XPU_STALLS_EXACT))
		return callback__call_in_turn;
	if (capture__is_armed())
		return callback__call_in_windows;
	return share__is_wanted() ? share__callback : callback__call;
}

static CUpti_CallbackFunc callback(void)
{
	return capture__is_armed() ? callback__count_windows : inner_callback();
}

static CUptiResult subscribe(char *holder, size_t len)
{
	struct cupti *c = &session.cupti;
	CUpti_SubscriberParams params = {
		.structSize = CUpti_SubscriberParams_STRUCT_SIZE,
		.subscriberName = "xpuload",
		.oldSubscriberName = holder,
		.oldSubscriberSize = len,
	};

	holder[0] = '\0';
	if (c->subscribe_v2)
		return c->subscribe_v2(&session.subscriber, callback(), NULL, &params);
	return c->subscribe(&session.subscriber, callback(), NULL);
}

static void unsubscribe(void)
{
	stalls__give_up();
	session.cupti.unsubscribe(session.subscriber);
	session.cupti.among = NULL;
}

static enum gpu_state fail(const char *text)
{
	sender__message(XPU_MESSAGE_ERROR, text);
	return GPU_FAILED;
}

static enum gpu_state busy(const char *holder)
{
	char text[512];

	if (!session.told_busy) {
		snprintf(text, sizeof(text), "CUPTI is in use by %s: nothing is recorded until it "
					     "releases CUPTI", holder);
		session.busy_level = XPU_MESSAGE_ERROR;
		sender__message(session.busy_level, text);
		session.told_busy = true;
	}
	session.retry_ns = clock__ns() + RETRY_NS;
	return GPU_DORMANT;
}

static void count_taken(void *nr)
{
	wire__counters.nr_taken += *(uint64_t *)nr;
}

/*
 * Reports how many device records CUPTI gave to the program and not to the shim. Device work that
 * neither the shim nor the program collected cannot be counted.
 */
static void tell_of_programs_records(void)
{
	const char *until = session.told_busy ? "CUPTI stayed in use until the end: " : "";
	uint64_t nr = yield__take_nr_records();
	char text[256];

	if (!nr)
		return;
	snprintf(text, sizeof(text), "%sthe program collected %llu device records itself, which "
		 "are not in the recording", until, (unsigned long long)nr);
	sender__pack(count_taken, &nr);	/* sent together with the message */
	/* The level of the last message decides whether the process counts as recorded. */
	sender__message(session.told_busy ? session.busy_level : XPU_MESSAGE_WARNING, text);
}

/*
 * Subscribes to CUPTI. Return: GPU_AWAKE; after a failure, reports the reason and returns the state
 * to enter instead.
 */
static enum gpu_state take_cupti(struct cupti *c)
{
	char text[sizeof(session.cupti.path) + 512], holder[256];
	CUptiResult err;

	if (!c->handle && cupti__open(c, text, sizeof(text)))
		return fail(text);

	err = subscribe(holder, sizeof(holder));
	/* The first subscriber decides: if it allows other subscribers, the shim joins it. */
	if (err == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED &&
	    cupti__join(c, &session.subscriber, callback()) == CUPTI_SUCCESS)
		return GPU_AWAKE;
	if (err == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
		if (!holder[0] || strstr(holder, "<not provided>"))	/* "<not provided>" is
									 * CUPTI's own text */
			return busy("another tool (Nsight, torch.profiler, ...)");
		return busy(holder);
	}
	if (err != CUPTI_SUCCESS) {
		snprintf(text, sizeof(text), "cuptiSubscribe failed: %s (error %d, %s)",
			 cupti__strerror(c, err), err, c->path);
		return fail(text);
	}
	if (session.nr_waits < MAX_WAITS && !activity__is_free(c)) {
		session.nr_waits++;
		c->unsubscribe(session.subscriber);
		return busy("the program itself");
	}
	return GPU_AWAKE;
}

/* Return: the options for PC samples; NULL: none are wanted. */
static const char *stalls_wanted(void)
{
	const char *env = environment__get(XPU_STALLS_ENV);

	return env || !probe__live() || !probe__live_stalls() ? env : XPU_STALLS_PERIOD;
}

/* Begins PC sampling, if it is wanted. */
static void start_stalls(void)
{
	const char *how = stalls_wanted();

	if (how && !session.has_stalls) {
		stalls__start(&session.cupti, how);
		watch__modules();
		stalls__find_contexts();
	}
	session.has_stalls = how;
}

/* Ends PC sampling, since nobody listens any more. */
static void end_stalls(void)
{
	stalls__drain();
	stalls__listen(false);
	session.has_stalls = false;
}

/*
 * Makes CUPTI report device work and launches. Return: like take_cupti(), with the shim
 * unsubscribed after a failure.
 */
static enum gpu_state start_cupti(struct cupti *c, const struct gpu_wants *wants)
{
	bool waits = wants->windows || wants->only_memory;
	char text[sizeof(session.cupti.path) + 512];
	const char *what = "";
	CUptiResult err;

	device__find_driver();
	watch__start(c, session.subscriber);
	err = activity__start(c, !waits, &what);
	if (err != CUPTI_SUCCESS) {
		snprintf(text, sizeof(text), "%s failed: %s (error %d, %s)", what,
			 cupti__strerror(c, err), err, c->path);
		unsubscribe();
		return fail(text);
	}
	if (!waits)
		start_stalls();
	if (!watch__launches()) {
		snprintf(text, sizeof(text), "%s has no callbacks for launches", c->path);
		watch__nothing();
		activity__stop();
		unsubscribe();
		return fail(text);
	}
	if (waits)
		watch__switch(wants->windows && capture__counts_launches(), wants->only_memory);
	kinds__start(c);
	return GPU_AWAKE;
}

static enum gpu_state session__open(const struct gpu_wants *wants)
{
	enum gpu_state state = take_cupti(&session.cupti);

	if (state == GPU_AWAKE)
		state = start_cupti(&session.cupti, wants);
	if (state != GPU_AWAKE)
		return state;
	if (session.told_busy) {
		sender__message(XPU_MESSAGE_INFO, "CUPTI is free again: recording");
		session.told_busy = false;
	}
	session.nr_waits = 0;
	session.has_begun = false;
	tell_of_programs_records();
	return GPU_AWAKE;
}

/*
 * Reports that the shim is one of several subscribers. Launches that other threads made while the
 * program subscribed are neither recorded nor counted.
 */
static void tell_of_others(void)
{
	bool others = wire__counters.nr_slots > 1;
	char text[256] = "another profiler uses CUPTI in this program, too: both record";
	size_t len = strlen(text);

	if (session.left_ns)
		snprintf(text + len, sizeof(text) - len,
			 "; launches of other threads in the %.1f ms in which it subscribed are "
			 "not recorded",
			 (clock__ns() - session.left_ns) / 1e6);
	sender__message(session.left_ns && others ? XPU_MESSAGE_WARNING : XPU_MESSAGE_INFO, text);
	session.left_ns = 0;
}

static void session__begin(void)
{
	struct cupti *c = &session.cupti;

	if (c->among)
		tell_of_others();
	else
		share__start(c, session.subscriber);
	if (capture__is_armed())
		watch__profiler(inner_callback());
	session.has_begun = true;
}

static void session__has_begun(void)
{
	if (!session.cupti.among && !share__serves() && share__is_asked_for())
		sender__message(XPU_MESSAGE_WARNING, "--cupti share cannot serve a profiler in "
						     "this program: either all API calls are "
						     "recorded, or this version of CUPTI does not "
						     "allow it");
}

static bool session__may_open(void)
{
	if (way__is_joining())
		return false;
	if (yield__is_taken()) {
		if (!session.told_busy)
			busy("the program itself");
		return false;
	}
	return !session.told_busy || clock__ns() >= session.retry_ns;
}

static void session__forget_said(void)
{
	if (!way__is_joining())
		session.told_busy = false;
}

static bool session__may_close(void)
{
	session.closes = !stalls__are_on() && share__may_stop();
	return session.closes;
}

static void session__stop(void)
{
	watch__nothing();
	activity__stop();
	end_stalls();
}

static void session__close(void)
{
	unsubscribe();
	names__start();			/* module unloads are not reported to the shim until it
					 * subscribes again */
	if (session.closes)
		share__stop();
	session.closes = false;
}

/* ---- what is wanted -------------------------------------------------------------------------- */

static void session__want_calls(enum calls_wanted wanted)
{
	if (share__serves() || (share__is_wanted() && !session.has_begun))
		wanted = CALLS_NONE;
	if (!watch__calls(wanted))
		sender__message(XPU_MESSAGE_WARNING,
				"no API calls are recorded: CUPTI has no callbacks for them");
}

static void session__want_memory(bool on, bool late)
{
	if (!on)
		return;
	watch__memory();
	cumem__start(&session.cupti, late);
}

static void session__listened(void)
{
	start_stalls();
	stalls__listen(session.has_stalls);
}

/*
 * Ends PC sampling, because nobody listens any more. Return: whether to call states__drain_last().
 * The shim keeps CUPTI while the shim serves the program's profiler. The shim also keeps CUPTI
 * after PC samples were taken: PC sampling cannot be turned off, and while it is on, CUPTI refuses
 * to begin recording kernels again.
 */
static bool session__unheard(void)
{
	if (!stalls__are_on())
		return false;
	activity__flush(false);
	end_stalls();
	return true;
}

static void session__repeat_definitions(void)
{
	stalls__repeat_definitions();
	cumem__repeat();
}

static void session__open_window(void)
{
	CUptiResult err;
	char text[256];

	watch__switch(true, false);
	err = session.stays ? CUPTI_SUCCESS : activity__collect(true);
	session.stays = false;
	if (err == CUPTI_SUCCESS)
		return;
	snprintf(text, sizeof(text),
		 "cuptiActivityEnable failed: %s (error %d): launches have no device work",
		 cupti__strerror(&session.cupti, err), err);
	sender__message(XPU_MESSAGE_WARNING, text);
}

static bool session__close_window(void)
{
	/*
	 * While PC sampling is on, keep recording device work: CUPTI would not resume the recording
	 * later.
	 */
	session.stays = stalls__are_on();
	if (!session.stays)
		activity__collect(false);
	watch__switch(capture__counts_launches(), false);
	return session.stays;
}

static void session__window_is_over(void)
{
	stalls__drain();
	stalls__listen(false);
}

/* ---- device work ----------------------------------------------------------------------------- */

static void session__flush(void)
{
	activity__flush(false);
}

static void session__flush_all(void)
{
	cumem__look();
	stalls__drain_all();
	activity__flush(true);
}

static void session__look(void)
{
	if (!stalls__are_exact())
		stalls__drain();
	activity__flush_if_quiet();
}

static void session__after(void)
{
	cumem__look();
	share__deliver();
	activity__end_rest();
}

static void session__over(bool heard)
{
	share__end();
	if (heard)
		tell_of_programs_records();
}

static void session__forked(void)
{
	share__forked();
}

static const struct vendor cupti = {
	.name = "cupti",
	.api = XPU_API_CUDA,
	.may_open = session__may_open,
	.forget_said = session__forget_said,
	.open = session__open,
	.begin = session__begin,
	.has_begun = session__has_begun,
	.may_close = session__may_close,
	.stop = session__stop,
	.close = session__close,
	.forked = session__forked,
	.want_calls = session__want_calls,
	.want_memory = session__want_memory,
	.listened = session__listened,
	.unheard = session__unheard,
	.repeat_definitions = session__repeat_definitions,
	.open_window = session__open_window,
	.close_window = session__close_window,
	.window_is_over = session__window_is_over,
	.flush = session__flush,
	.flush_all = session__flush_all,
	.look = session__look,
	.take = activity__take,
	.pack = activity__pack,
	.drained = activity__drained,
	.after = session__after,
	.has_more = activity__has_buffers_out,
	.progress = activity__progress,
	.exiting = cumem__exiting,
	.over = session__over,
};

/* ---- giving way to the program --------------------------------------------------------------- */

static void leave(void)
{
	if (activity__yield())
		states__drain_last(&cupti);
}

/* Gives CUPTI to the program, which wants it for itself. */
static void yield(void)
{
	char text[256];

	if (!states__is_awake(&cupti)) {
		leave();		/* CUPTI may still hold buffers from the time of an earlier
					 * listener */
		return;
	}
	states__doze(&cupti);
	leave();
	session.nr_waits = 0;
	session.left_ns = clock__ns();
	if (way__is_joining())
		return;			/* way__join() wakes the shim again */
	session.left_ns = 0;
	snprintf(text, sizeof(text), "the program uses CUPTI itself (%s): nothing is recorded "
				     "until it releases CUPTI", way__function());
	session.busy_level = XPU_MESSAGE_WARNING;
	sender__message(session.busy_level, text);
	session.told_busy = true;
	session.retry_ns = clock__ns() + RETRY_NS;
}

/*
 * Subscribes again, after the program has subscribed in a way that allows others, or has failed to
 * subscribe.
 */
static void join(void)
{
	way__has_joined();
	states__wake(&cupti);
}

/* ---- being found by the driver --------------------------------------------------------------- */

static void chain_injection(void)
{
	const char *path = getenv(XPU_CHAIN_ENV);
	int (*initialize)(void);
	void *handle;

	if (!path || !path[0])
		return;
	handle = dlopen(path, RTLD_NOW);
	if (!handle)
		return;			/* the driver ignores this error, too */
	*(void **)&initialize = dlsym(handle, "InitializeInjection");
	if (initialize && initialize != InitializeInjection)
		initialize();
}

static void initialize(void)
{
	chain_injection();
	turns__init();
	way__init(yield, join);
	life__used(&cupti);
}

/*
 * The CUDA driver calls this function in cuInit, to start the shim. Return: 1, which means success.
 * The driver may call the function before the constructor below has run, because constructors of
 * the program's own libraries run earlier and may use CUDA.
 */
int InitializeInjection(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	shim__load();
	pthread_once(&once, initialize);
	return 1;
}

/*
 * Makes the driver call InitializeInjection() in this process and in programs that it executes,
 * through an environment variable. The variable is already set if xpuload started the process or
 * the driver found the shim through the variable. It is set here for programs that have the shim
 * preloaded, before they have threads. Children inherit the environment, and with it the shim.
 */
static __attribute__((constructor)) void loaded(void)
{
	const char *users = getenv(XPU_INJECTION_ENV), *path;
	bool may_set;

	shim__load();
	path = load__path(&may_set);
	if (!path || !may_set || (users && !strcmp(users, path)))
		return;
	if (users && users[0])
		setenv(XPU_CHAIN_ENV, users, 1);
	setenv(XPU_INJECTION_ENV, path, 1);
}
