// SPDX-License-Identifier: MIT
/*
 * The life of the shim in a process:
 *
 *   loaded     the constructor makes the CUDA driver call InitializeInjection() at cuInit
 *   dormant    the process uses CUDA, but nobody listens, and CUPTI is not even opened
 *   awake      somebody listens; launches are tagged, and device work is collected
 *   failed     the shim could not become awake, for a reason that is reported once
 *
 * The shim's own thread moves it between the last three states and sends the device records.
 * Nothing in this file exits, aborts, prints or waits without a limit.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "gpu/cupti/activity.h"
#include "gpu/cupti/buffers.h"
#include "nvtx/capture.h"
#include "launch/notes.h"
#include "base/clock.h"
#include "base/cupti_lib.h"
#include "base/hot.h"
#include "launch/allocs.h"
#include "launch/calls.h"
#include "launch/launch.h"
#include "launch/maps.h"
#include "launch/torch.h"
#include "base/libc.h"
#include "base/lock.h"
#include "launch/names.h"
#include "nvtx/nvtx.h"
#include "base/environment.h"
#include "base/labels.h"
#include "launch/paths.h"
#include "launch/stalls.h"
#include "wire/probe.h"
#include "wire/shm.h"
#include "wire/wire.h"
#include "python/python.h"
#include "nvtx/ranges.h"
#include "base/life.h"
#include "launch/unwind.h"
#include "launch/wait.h"
#include "launch/window.h"
#include "gpu/cupti/share.h"
#include "gpu/cupti/stalls.h"
#include "gpu/cupti/yield.h"
#include "xpu_record.h"
#include "xpu_shm.h"

#define EXPORT __attribute__((visibility("default")))

#define INHERITED_NS	2000000000ll	/* how soon a listener attaches to a child of its target */
#define POLL_NS		100000000ll	/* how soon an attaching or leaving listener is noticed */
#define FLUSH_NS	200000000ll	/* between flushes of finished device work */
#define SETTLE_NS	20000000ll	/* between flushes after a window has ended */
#define RETRY_NS	1000000000ll	/* between attempts to subscribe while another tool is
					 * subscribed */
#define MAX_WAITS	5		/* attempts, while CUPTI still has the program's buffers */
/* Time limits of the shim's thread for a wait in which no buffer comes back and none is packed: */
#define EXIT_WAIT_S	5		/* when the process ends */
#define YIELD_WAIT_S	5		/* when the program wants CUPTI for itself */
#define END_WAIT_S	1		/* when the process ends without exit handlers */
#define TELL_NS		900000000ull	/* part of END_WAIT_S: to hand over shared memory */
#define MAX_WAIT_S	60		/* in total, while the process ends */
#define TURN_WAIT_S	1		/* for a launch's turn, while kernels run one at a time */
#define MAX_TURN_WAITS	30		/* if other turns end meanwhile */

#define MAX_WATCHED	512		/* driver calls to watch; CUDA 13 has about 150 */
#define MAX_CBID	4096		/* twice as many as CUDA 13 has; CUPTI refuses the rest */

enum state { DORMANT, AWAKE, FAILED, OFF };

static struct {
	enum state state;		/* owned by the shim's thread while it runs; before and
					 * after, by the thread that starts and joins it */
	struct cupti cupti;
	CUpti_SubscriberHandle subscriber;
	atomic_bool heard_at_fork;
	uint64_t inherited_until_ns;	/* when probe__inherited ends */
	uint64_t hello_ns;		/* when to repeat the definitions for a new listener */
	bool watches;			/* awake, but records nothing until the next window */
	bool settling;			/* device work of the last window may still arrive */
	uint64_t nr_before;		/* launches before the current window */
	bool stays;			/* CUPTI records device work outside of windows, too */
	uint32_t nr_windows;
	uint64_t window_ns;		/* when the current window opened */
	uint16_t cbids[MAX_WATCHED];	/* driver calls that have a callback */
	bool may_wait[MAX_WATCHED];	/* by index in cbids: the call may wait for the device */
	unsigned int nr_cbids;
	bool unheard;			/* awake although nobody listens; see follow_beside() */
	bool has_stalls;		/* PC samples are wanted */
	bool has_memory;		/* events of memory are wanted */
	bool begins;			/* in cuInit: the program has no GPU memory yet */
	bool told_busy;
	int busy_level;			/* XPU_MESSAGE_* of the message that was sent */
	uint64_t retry_ns;		/* when to try to subscribe again */
	unsigned int nr_waits;		/* retries while CUPTI still held buffers of the program */

	pthread_t thread;
	bool have_thread;
	bool alone;			/* the shim's thread could not be started */
	sem_t over;			/* the thread has ended, or is about to */
	atomic_bool stop;
	atomic_bool forked;

	pid_t pid;
	atomic_bool awake;		/* state == AWAKE, for other threads */
	atomic_uint nr_ends_wanted;	/* shim__before_end() calls */
	unsigned int nr_ends_done;
	sem_t end_done;
	_Atomic(const char *) yield_to;	/* the function of CUPTI that the program wants to call */
	atomic_bool joining;		/* ... to subscribe alongside others */
	uint64_t left_ns;		/* when the shim made room for the program; 0: it did not */
	atomic_uint nr_yields_wanted;	/* shim__yield() calls */
	unsigned int nr_yields_done;
	sem_t yield_done;
	atomic_uint nr_joins_wanted;	/* shim__join() calls */
	unsigned int nr_joins_done;
	sem_t join_done;

	sem_t turn;			/* held during a launch, while kernels run one at a time */
	atomic_uint nr_turns;		/* that are over */

	pthread_key_t thread_key;	/* to notice the ends of threads */
	bool have_thread_key;
} shim;

HOT_DATA uint8_t probe__way = PROBE_RUN;
HOT_DATA atomic_bool probe__inherited;

EXPORT int InitializeInjection(void);

/* Return: whether @sem was posted before @seconds were over. */
static bool wait_seconds(sem_t *sem, int seconds)
{
	struct timespec deadline;

	clock_gettime(CLOCK_MONOTONIC, &deadline);
	deadline.tv_sec += seconds;
	while (libc__wait_until(sem, &deadline))
		if (errno != EINTR)
			return false;
	return true;
}

/*
 * Return: whether the shim's thread posted @sem. Gives up after @seconds without progress, in which
 * CUPTI gave back no buffer and none was packed: on a busy machine a flush may produce thousands of
 * buffers. Gives up after MAX_WAIT_S in any case, since other threads of the program may make CUPTI
 * give back buffers all the time.
 */
static bool wait_for(sem_t *sem, int seconds)
{
	unsigned int seen, progress = activity__progress();
	int waited = 0;

	do {
		if (wait_seconds(sem, seconds))
			return true;
		seen = progress;
		progress = activity__progress();
		waited += seconds;
	} while (progress != seen && waited < MAX_WAIT_S);
	return false;
}

/* ---- awake and dormant ----------------------------------------------------------------------- */

/*
 * Return: whether it is this launch's turn. It goes on without one if no turn ends for a while: the
 * program may make launches wait for each other.
 */
static bool take_turn(void)
{
	unsigned int seen;
	int i;

	for (i = 0; i < MAX_TURN_WAITS; i++) {
		seen = atomic_load(&shim.nr_turns);
		if (wait_seconds(&shim.turn, TURN_WAIT_S))
			return true;
		if (atomic_load(&shim.nr_turns) == seen)
			break;
	}
	return false;
}

/*
 * While kernels run one at a time, a launch returns when its kernel has ended, with its samples
 * ready. Launches take turns, since CUPTI attributes samples to the launch that any thread began
 * last.
 */
static void CUPTIAPI serial_callback(void *userdata, CUpti_CallbackDomain domain,
				     CUpti_CallbackId cbid, const void *data)
{
	static __thread unsigned int depth __attribute__((tls_model("initial-exec")));
	static __thread bool has_turn __attribute__((tls_model("initial-exec")));
	const CUpti_CallbackData *d = data;
	static atomic_uint nr_without_turn;
	bool launches = domain == CUPTI_CB_DOMAIN_DRIVER_API && wait__call(cbid) < WAIT_STREAM;

	if (launches && d->callbackSite == CUPTI_API_ENTER && !depth++) {
		has_turn = take_turn();
		atomic_fetch_add(&nr_without_turn, !has_turn);
		stalls__set_launch(has_turn ? d->correlationId : 0);
		if (atomic_load(&nr_without_turn))
			stalls__set_launch(0);
	}
	(capture__is_armed() ? launch__callback_in_windows : launch__callback)(userdata, domain,
									       cbid, data);
	if (!launches || d->callbackSite != CUPTI_API_EXIT || !depth || --depth)
		return;
	stalls__drain();
	atomic_fetch_sub(&nr_without_turn, !has_turn);
	if (!has_turn)
		return;
	atomic_fetch_add(&shim.nr_turns, 1);
	sem_post(&shim.turn);
}

static CUpti_CallbackFunc inner_callback(void)
{
	const char *stalls = environment__get(XPU_STALLS_ENV);

	if (stalls && strstr(stalls, XPU_STALLS_EXACT))
		return serial_callback;
	if (capture__is_armed())
		return launch__callback_in_windows;
	return share__is_wanted() ? share__callback : launch__callback;
}

static CUpti_CallbackFunc callback(void)
{
	return capture__is_armed() ? capture__callback : inner_callback();
}

static CUptiResult subscribe(char *holder, size_t len)
{
	struct cupti *c = &shim.cupti;
	CUpti_SubscriberParams params = {
		.structSize = CUpti_SubscriberParams_STRUCT_SIZE,
		.subscriberName = "xpuload",
		.oldSubscriberName = holder,
		.oldSubscriberSize = len,
	};

	holder[0] = '\0';
	if (c->subscribe_v2)
		return c->subscribe_v2(&shim.subscriber, callback(), NULL, &params);
	return c->subscribe(&shim.subscriber, callback(), NULL);
}

/*
 * Enables the resource callbacks. Older versions of CUPTI lack some of them, since they know no
 * graphs: errors are ignored.
 */
static void enable_resource_callbacks(void)
{
	static const CUpti_CallbackId cbids[] = {
		CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED,
		CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED,
		CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING,
		CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING,
	};
	size_t i;

	launch__cupti = &shim.cupti;
	for (i = 0; i < sizeof(cbids) / sizeof(cbids[0]); i++) {
		share__own_callback(CUPTI_CB_DOMAIN_RESOURCE, cbids[i]);
		shim.cupti.enable_callback(1, shim.subscriber, CUPTI_CB_DOMAIN_RESOURCE, cbids[i]);
	}
}

/*
 * Whether a driver call may wait for the device: its callback stays enabled from window to window,
 * as calls__want() explains. Callbacks of launches can be disabled.
 */
static bool may_wait(const char *name)
{
	return strncmp(name, "cuLaunch", strlen("cuLaunch")) &&
	       strncmp(name, "cuGraphLaunch", strlen("cuGraphLaunch")) && !strstr(name, "Async");
}

/*
 * Switches the callbacks of launches and graph nodes, which are needed only while launches are
 * recorded. @all: the callbacks of calls that wait, too
 */
static void enable_callbacks(bool on, bool all)
{
	static const CUpti_CallbackId nodes[] = {
		CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED,
	};
	struct cupti *c = &shim.cupti;
	unsigned int i;

	for (i = 0; i < shim.nr_cbids; i++)
		if (all || !shim.may_wait[i])
			c->enable_callback(on, shim.subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
					   shim.cbids[i]);
	for (i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++)
		c->enable_callback(on, shim.subscriber, CUPTI_CB_DOMAIN_RESOURCE, nodes[i]);
}

/*
 * Enables callbacks for every driver call that launches or waits. Calls are found by name: the
 * numbers differ between versions, the names do not.
 */
static unsigned int enable_launch_callbacks(void)
{
	struct cupti *c = &shim.cupti;
	unsigned int nr_enabled = 0;
	bool launches, waits;
	const char *name;
	uint32_t cbid;

	shim.nr_cbids = 0;

	for (cbid = 1; cbid < MAX_CBID; cbid++) {
		name = NULL;
		if (c->get_callback_name(CUPTI_CB_DOMAIN_DRIVER_API, cbid, &name) !=
		    CUPTI_SUCCESS || !name)
			continue;
		launches = launch__is_launch(name);
		waits = wait__watch(cbid, name);
		if (!launches && !waits)
			continue;
		if (c->enable_callback(1, shim.subscriber, CUPTI_CB_DOMAIN_DRIVER_API, cbid) !=
		    CUPTI_SUCCESS)
			continue;
		if (shim.nr_cbids < MAX_WATCHED) {
			shim.may_wait[shim.nr_cbids] = may_wait(name);
			shim.cbids[shim.nr_cbids++] = cbid;
		}
		share__own_callback(CUPTI_CB_DOMAIN_DRIVER_API, cbid);
		activity__name_api(CUPTI_CB_DOMAIN_DRIVER_API, cbid, name);
		nr_enabled += launches;
	}
	return nr_enabled;
}

/*
 * Which calls of CUDA's API to record. The environment says none, all or some; where a listener is
 * attached, the listener decides whether calls are recorded at all.
 */
static enum calls_wanted calls_are_wanted(void)
{
	static int told = -1;
	const char *env;

	if (told < 0) {
		env = environment__get(XPU_API_ENV);
		told = !env ? CALLS_NONE : !strcmp(env, "all") ? CALLS_ALL : CALLS_TIMED;
	}
	if (probe__live())
		return !probe__live_api() ? CALLS_NONE : told == CALLS_ALL ? CALLS_ALL :
		       CALLS_TIMED;
	return told;
}

/* Whether more than the recording of API calls needs the driver function's callback. */
static bool is_watched(uint32_t cbid, const char *name)
{
	return launch__is_launch(name) || (wait__call(cbid) & ~WAIT_NO_LAUNCH) >= WAIT_STREAM ||
	       (capture__is_armed() && !strncmp(name, "cuProfiler", strlen("cuProfiler")));
}

static void want_calls(enum calls_wanted want)
{
	if (!calls__want(&shim.cupti, shim.subscriber, want, is_watched))
		activity__message(XPU_MESSAGE_WARNING,
				  "no API calls are recorded: CUPTI has no callbacks for them");
}

/* As calls_are_wanted(), for memory events. */
static bool memory_is_wanted(void)
{
	const char *env;

	if (probe__live())
		return probe__live_memory();
	env = environment__get(XPU_MEMORY_ENV);
	return env && (!strcmp(env, "on") || !strcmp(env, XPU_MEMORY_ONLY));
}

/* Whether memory events are all that is wanted: no launches, no device work. */
static bool memory_is_all(void)
{
	const char *env = probe__live() ? NULL : environment__get(XPU_MEMORY_ENV);

	return env && !strcmp(env, XPU_MEMORY_ONLY);
}

/* Has CUPTI call back at each driver call that makes or frees memory. */
static void watch_allocs(void)
{
	struct cupti *c = &shim.cupti;
	const char *name;
	uint32_t cbid;

	for (cbid = 1; cbid < MAX_CBID; cbid++) {
		name = NULL;
		if (c->get_callback_name(CUPTI_CB_DOMAIN_DRIVER_API, cbid, &name) !=
			    CUPTI_SUCCESS ||
		    !name || !allocs__watch(cbid, name))
			continue;
		wait__watch_alloc(cbid);
		if (c->enable_callback(1, shim.subscriber, CUPTI_CB_DOMAIN_DRIVER_API, cbid) !=
		    CUPTI_SUCCESS)
			continue;
		share__own_callback(CUPTI_CB_DOMAIN_DRIVER_API, cbid);
		activity__name_api(CUPTI_CB_DOMAIN_DRIVER_API, cbid, name);
	}
	activity__name_api(XPU_DOMAIN_ALLOCATORS, XPU_ALLOCATOR_TORCH, "[PyTorch's allocator]");
}

/* Starts and stops memory events as listeners want them or no longer do. */
static void follow_memory(bool heard)
{
	bool want = heard && memory_is_wanted();
	const char *why;

	if (want != shim.has_memory) {
		shim.has_memory = want;
		if (want) {
			watch_allocs();
			allocs__start(&shim.cupti, !shim.begins);
		} else {
			allocs__stop();
		}
		torch__watch(want);
	}
	why = want ? torch__message() : NULL;
	if (why)
		activity__message(XPU_MESSAGE_WARNING, why);
}

/* How PC samples are wanted; NULL: they are not. */
static const char *stalls_wanted(void)
{
	const char *env = environment__get(XPU_STALLS_ENV);

	return env || !probe__live() || !probe__live_stalls() ? env : XPU_STALLS_PERIOD;
}

/* Begins PC sampling, if it is wanted. */
static void start_stalls(void)
{
	static const CUpti_CallbackId cbids[] = {
		CUPTI_CBID_RESOURCE_CONTEXT_CREATED, CUPTI_CBID_RESOURCE_MODULE_LOADED,
	};
	const char *how = stalls_wanted();
	size_t i;

	if (how && !shim.has_stalls) {
		stalls__start(&shim.cupti, how);
		for (i = 0; i < sizeof(cbids) / sizeof(cbids[0]); i++)
			shim.cupti.enable_callback(1, shim.subscriber, CUPTI_CB_DOMAIN_RESOURCE,
						   cbids[i]);
		stalls__find_contexts();
	}
	shim.has_stalls = how;
}

static void follow_stalls(void)
{
	start_stalls();
	stalls__listen(shim.has_stalls);
}

/* Ends PC sampling, since nobody listens any more. */
static void end_stalls(void)
{
	stalls__drain();
	stalls__listen(false);
	shim.has_stalls = false;
}

/*
 * Disables the callbacks, well before cuptiUnsubscribe(): CUPTI frees a subscriber at once, and a
 * thread that was preempted just before its callback would use the freed memory (seen with 13.0: it
 * jumped to an invalid address). activity__stop() waits for such threads. Disables whole domains,
 * not single callbacks: calls__want() explains why.
 */
static void disable_callbacks(void)
{
	shim.cupti.enable_domain(0, shim.subscriber, CUPTI_CB_DOMAIN_DRIVER_API);
	shim.cupti.enable_domain(0, shim.subscriber, CUPTI_CB_DOMAIN_RUNTIME_API);
	shim.cupti.enable_domain(0, shim.subscriber, CUPTI_CB_DOMAIN_RESOURCE);
	calls__disabled();
}

static void unsubscribe(void)
{
	stalls__give_up();
	shim.cupti.unsubscribe(shim.subscriber);
	shim.cupti.among = NULL;
}

static enum state fail(const char *text)
{
	activity__message(XPU_MESSAGE_ERROR, text);
	return FAILED;
}

static enum state busy(const char *holder)
{
	char text[512];

	if (!shim.told_busy) {
		snprintf(text, sizeof(text), "CUPTI is in use by %s: nothing is recorded until it "
			 "lets go", holder);
		shim.busy_level = XPU_MESSAGE_ERROR;
		activity__message(shim.busy_level, text);
		shim.told_busy = true;
	}
	shim.retry_ns = clock__ns() + RETRY_NS;
	return DORMANT;
}

/*
 * Reports how many device records went to the program's own CUPTI code and not to the shim. Device
 * work that the program did not collect either cannot be counted.
 */
static void tell_of_programs_records(void)
{
	const char *until = shim.told_busy ? "CUPTI was not free again until the end: " : "";
	uint64_t nr = yield__take_nr_records();
	char text[256];

	if (!nr)
		return;
	snprintf(text, sizeof(text), "%sthe program collected %llu device records itself, which "
		 "are not in the recording", until, (unsigned long long)nr);
	activity__count_taken(nr);	/* sent together with the message */
	/* The level of the last message decides whether the process counts as recorded. */
	activity__message(shim.told_busy ? shim.busy_level : XPU_MESSAGE_WARNING, text);
}

/*
 * Subscribes to CUPTI. Return: AWAKE, or the state to enter instead, after the reason was reported.
 */
static enum state take_cupti(struct cupti *c)
{
	char text[sizeof(shim.cupti.path) + 512], holder[256];
	CUptiResult err;

	if (!c->handle && cupti__open(c, text, sizeof(text)))
		return fail(text);

	err = subscribe(holder, sizeof(holder));
	/* The first subscriber decides: if it allows others, the shim joins it. */
	if (err == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED &&
	    cupti__join(c, &shim.subscriber, callback()) == CUPTI_SUCCESS)
		return AWAKE;
	if (err == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
		if (!holder[0] || strstr(holder, "<not provided>"))	/* CUPTI's own words */
			return busy("another tool (Nsight, torch.profiler, ...)");
		return busy(holder);
	}
	if (err != CUPTI_SUCCESS) {
		snprintf(text, sizeof(text), "cuptiSubscribe failed: %s (error %d, %s)",
			 cupti__strerror(c, err), err, c->path);
		return fail(text);
	}
	if (shim.nr_waits < MAX_WAITS && !activity__is_free(c)) {
		shim.nr_waits++;
		c->unsubscribe(shim.subscriber);
		return busy("the program itself");
	}
	return AWAKE;
}

/*
 * Makes CUPTI report device work and launches. Return: as take_cupti(), with the shim unsubscribed
 * after a failure.
 */
static enum state start_cupti(struct cupti *c)
{
	char text[sizeof(shim.cupti.path) + 512];
	const char *what = "";
	CUptiResult err;

	shim.watches = capture__is_armed();
	err = activity__start(c, !shim.watches && !memory_is_all(), &what);
	if (err != CUPTI_SUCCESS) {
		snprintf(text, sizeof(text), "%s failed: %s (error %d, %s)", what,
			 cupti__strerror(c, err), err, c->path);
		unsubscribe();
		return fail(text);
	}
	if (!shim.watches && !memory_is_all())
		start_stalls();
	enable_resource_callbacks();
	if (!enable_launch_callbacks()) {
		snprintf(text, sizeof(text), "%s knows no launch callback", c->path);
		disable_callbacks();
		activity__stop();
		unsubscribe();
		return fail(text);
	}
	if (shim.watches || memory_is_all())
		enable_callbacks(shim.watches && capture__counts_launches(), memory_is_all());
	return AWAKE;
}

/*
 * Reports that the shim is one subscriber of several; launches during the change are not even
 * counted.
 */
static void tell_of_others(void)
{
	bool others = wire__counters.nr_slots > 1;
	char text[256] = "CUPTI has several subscribers here: this is recorded beside another one";
	size_t len = strlen(text);

	if (shim.left_ns)
		snprintf(text + len, sizeof(text) - len,
			 "; what other threads launched in the %.1f ms in "
			 "which it subscribed is not recorded",
			 (clock__ns() - shim.left_ns) / 1e6);
	activity__message(shim.left_ns && others ? XPU_MESSAGE_WARNING : XPU_MESSAGE_INFO, text);
	shim.left_ns = 0;
}

static void repeat_definitions(void)
{
	activity__repeat_definitions();
	stalls__repeat_definitions();
	allocs__repeat();
}

/* ---- windows: under capture__lock() ---------------------------------------------------------- */

static void pack_window(void *window)
{
	wire__window(window);
}

static void send_window(uint16_t misc, uint64_t nr_launches)
{
	struct xpu_record_window r = {
		.hdr = { XPU_RECORD_WINDOW, misc, sizeof(r) },
		.time_ns = clock__ns(),
		.open_ns = shim.window_ns,
		.number = shim.nr_windows,
		.nr_launches = nr_launches,
	};

	activity__pack(pack_window, &r);
}

static void begin_window(void)
{
	CUptiResult err;
	char text[256];

	shim.watches = false;
	enable_callbacks(true, false);
	err = shim.stays ? CUPTI_SUCCESS : activity__collect(true);
	shim.stays = false;
	if (err != CUPTI_SUCCESS) {
		snprintf(text, sizeof(text),
			 "cuptiActivityEnable failed: %s (error %d): launches have no "
			 "device work",
			 cupti__strerror(&shim.cupti, err), err);
		activity__message(XPU_MESSAGE_WARNING, text);
	}
	want_calls(calls_are_wanted());
	follow_stalls();
	shim.nr_windows++;
	shim.nr_before = launch__nr();
	shim.window_ns = clock__ns();
	send_window(XPU_MISC_WINDOW_OPEN, 0);
	launch__enable(true);
	ranges__set_mode(RANGES_RECORD);
}

static void end_window(void)
{
	launch__close();
	ranges__set_mode(RANGES_OFF);
	/*
	 * While PC sampling is on, CUPTI would not record device work again once that is disabled.
	 */
	shim.stays = stalls__are_on();
	if (!shim.stays)
		activity__collect(false);
	want_calls(CALLS_NONE);
	enable_callbacks(capture__counts_launches(), false);
	send_window(0, launch__nr() - shim.nr_before);
	shim.watches = true;
	shim.settling = !shim.stays;
	activity__wake();
}

/* After subscribing: begins the window that the program has already opened, or waits for one. */
static void watch(void)
{
	if (capture__watch(&shim.cupti, shim.subscriber, inner_callback()))
		begin_window();
	else
		ranges__set_mode(RANGES_OFF);
}

/* Whether the shim is awake, in this process: the program may open a window before that. */
static bool is_ready(void)
{
	return atomic_load(&shim.awake) && !atomic_load(&shim.stop) && getpid() == shim.pid;
}

void shim__open_window(void)
{
	int saved_errno = errno;

	if (is_ready() && shim.watches)
		begin_window();
	errno = saved_errno;
}

void shim__close_window(void)
{
	int saved_errno = errno;

	if (is_ready() && !shim.watches)
		end_window();
	errno = saved_errno;
}

/*
 * Runs on the shim's thread: collects the device work of the last window from CUPTI. Once all of it
 * has arrived, CUPTI stays unused until the next window.
 */
static void settle(void)
{
	activity__flush(false);
	if (activity__has_buffers_out())
		return;
	capture__lock();
	if (shim.watches && !activity__has_buffers_out()) {
		activity__drain(false);
		stalls__drain();
		stalls__listen(false);
		shim.settling = false;
	}
	capture__unlock();
}

/* At exit: closes the window that the program has left open. */
static void close_at_exit(void)
{
	if (!capture__is_armed() || shim.watches)
		return;
	launch__close();
	send_window(0, launch__nr() - shim.nr_before);
}

/* Reports variables with values that no launcher sets: the program may use the names for itself. */
static void tell_of_labels(void)
{
	const struct labels *labels = environment__labels();
	char text[256];

	if (!labels->nr_refused)
		return;
	snprintf(text, sizeof(text), "the value of %s is none that a launcher sets: it is not "
		 "recorded as a label%s", labels->refused,
		 labels->nr_refused > 1 ? ", nor those of others" : "");
	activity__message(XPU_MESSAGE_INFO, text);
}

static enum state wake(void)
{
	struct cupti *c = &shim.cupti;
	enum state state;
	const char *why;
	int level;

	state = take_cupti(c);
	if (state == AWAKE)
		state = start_cupti(c);
	if (state != AWAKE)
		return state;
	if (shim.told_busy) {
		activity__message(XPU_MESSAGE_INFO, "CUPTI is free again: recording");
		shim.told_busy = false;
	}
	shim.nr_waits = 0;
	shim.unheard = false;
	tell_of_programs_records();
	unwind__init();
	why = unwind__message(&level);
	if (why)
		activity__message(level, why);
	why = nvtx__message();
	if (why)
		activity__message(XPU_MESSAGE_WARNING, why);
	tell_of_labels();
	paths__init();
	python__look(unwinder__bytes());
	clock__init();
	wait__start(c);
	launch__discard();
	if (!shim.watches) {
		if (!memory_is_all() && !share__is_wanted())
			want_calls(calls_are_wanted());
		launch__enable(true);
	}
	if (c->among)
		tell_of_others();
	else
		share__start(c, shim.subscriber);
	if (shim.watches) {
		watch();
	} else {
		ranges__set_mode(RANGES_RECORD);
		follow_stalls();
	}
	repeat_definitions();
	follow_memory(true);
	python__tell(false);
	if (!c->among && !share__serves() && share__is_asked_for())
		activity__message(XPU_MESSAGE_WARNING, "a profiler in the program is not served "
				  "beside this: not together with all of the API's calls, and not "
				  "by this version of CUPTI");
	return AWAKE;
}

static void doze(void)
{
	launch__close();
	ranges__set_mode(RANGES_OFF);
	follow_memory(false);
	want_calls(CALLS_NONE);
	disable_callbacks();
	activity__stop();
	end_stalls();
	activity__drain(true);
	unsubscribe();
	names__start();			/* unloads go unreported until it subscribes again */
}

/* Gives CUPTI to the program, which wants it for itself. */
static void yield(void)
{
	char text[256];

	if (shim.state != AWAKE) {
		activity__yield();	/* it may still have buffers of an earlier listener */
		return;
	}
	doze();
	activity__yield();
	shim.nr_waits = 0;
	shim.state = DORMANT;
	atomic_store(&shim.awake, false);
	shim.left_ns = clock__ns();
	if (atomic_load(&shim.joining))
		return;			/* shim__join() wakes it again */
	shim.left_ns = 0;
	snprintf(text, sizeof(text), "the program uses CUPTI itself (%s): nothing is recorded "
		 "until it lets go", atomic_load(&shim.yield_to));
	shim.busy_level = XPU_MESSAGE_WARNING;
	activity__message(shim.busy_level, text);
	shim.told_busy = true;
	shim.retry_ns = clock__ns() + RETRY_NS;
}

/* Subscribes again, after the program has subscribed in a way that allows others, or failed to. */
static void join(void)
{
	atomic_store(&shim.joining, false);
	if (shim.state == DORMANT && probe__is_heard())
		shim.state = wake();
	atomic_store(&shim.awake, shim.state == AWAKE);
}

/*
 * With shared memory no kernel counts listeners: counts xpuload in the semaphores as it comes and
 * goes.
 */
static void follow_shared_memory(void)
{
	static enum shm_state before = SHM_NONE;
	enum shm_state now = shm__state();
	bool launches = before == SHM_OPEN, all = launches || before == SHM_LEAVING;

	if (now == before)
		return;
	before = now;
	if (launches != (now == SHM_OPEN))
		probe__count(&xpu_launch_semaphore, !launches);
	/* Ranges count since the shim was loaded. */
	if (launches && shm__wants_ranges())
		probe__count(&xpu_range_semaphore, false);
	if (all != (now == SHM_OPEN || now == SHM_LEAVING))
		probe__count(&xpu_batch_semaphore, !all);
}

/*
 * For a shim that stays awake while nobody listens, and records nothing then. It does so while it
 * serves the program's profiler, and after it has taken PC samples: PC sampling cannot be turned
 * off, and while it is on, CUPTI refuses to begin recording kernels again.
 */
static void follow_beside(bool heard)
{
	if (heard == !shim.unheard)
		return;
	shim.unheard = !heard;
	if (heard)
		launch__discard();
	launch__enable(heard && !shim.watches);
	ranges__set_mode(heard && !shim.watches ? RANGES_RECORD : RANGES_OFF);
	if (heard) {
		repeat_definitions();
		python__tell(false);
	} else if (stalls__are_on()) {
		activity__flush(false);
		end_stalls();
		activity__drain(true);
	}
}

/* Checks who listens, and changes the state accordingly. */
static void follow_listeners(void)
{
	bool heard;

	if (probe__way == PROBE_SHM)
		follow_shared_memory();
	if (atomic_load(&probe__inherited) && clock__ns() >= shim.inherited_until_ns)
		atomic_store(&probe__inherited, false);
	heard = probe__is_heard();
	switch (shim.state) {
	case DORMANT:
		if (atomic_load(&shim.joining))
			break;
		if (!heard) {
			shim.told_busy = false;	/* the next listener must be told, too */
			break;
		}
		if (yield__is_taken()) {
			if (!shim.told_busy)
				busy("the program itself");
		} else if (!shim.told_busy || clock__ns() >= shim.retry_ns) {
			shim.state = wake();
		}
		break;
	case AWAKE:
		if (!heard && !stalls__are_on() && share__may_stop()) {
			doze();
			share__stop();
			shim.state = DORMANT;
			break;
		}
		follow_beside(heard);
		follow_memory(heard);
		allocs__look();
		if (!shim.watches && !memory_is_all())
			want_calls(share__serves() || !heard ? CALLS_NONE : calls_are_wanted());
		if (heard && !shim.watches)
			follow_stalls();
		if (probe__hello() && clock__ns() >= shim.hello_ns) {
			repeat_definitions();
			python__tell(false);
			shim.hello_ns = clock__ns() + POLL_NS;
		}
		break;
	case FAILED:
		if (!heard)
			shim.state = DORMANT;	/* the next listener must be told, too */
		break;
	case OFF:
		break;
	}
	atomic_store(&shim.awake, shim.state == AWAKE);
}

/*
 * With shared memory: hands new mappings over, and the memory itself to xpuload, or reports its
 * contents, unless xpuload already has it. @wait_ns: 0: the process goes on
 */
static void tell_recorder(uint64_t wait_ns)
{
	if (probe__way != PROBE_SHM)
		return;
	maps__hand_over(wait_ns != 0);
	if (!shm__is_told())
		shm__tell(launch__nr(), wait_ns);
}

/* Sends everything that is available. More may follow, if an exec fails. */
static void flush_all(void)
{
	stalls__drain_all();
	activity__flush(true);
	activity__drain(false);
	repeat_definitions();
}

void shim__before_end(void)
{
	int saved_errno = errno;

	if (!atomic_load(&shim.awake) || atomic_load(&shim.stop) || getpid() != shim.pid ||
	    pthread_equal(pthread_self(), shim.thread))
		return;
	atomic_fetch_add(&shim.nr_ends_wanted, 1);
	activity__wake();
	wait_for(&shim.end_done, END_WAIT_S);
	errno = saved_errno;
}

/* Gives CUPTI to the program if the shim has no thread. */
static void yield_here(const char *function)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	int saved_errno = errno;
	sigset_t old;

	lock__take(&lock, &old);
	atomic_store(&shim.yield_to, function);
	yield();
	lock__give(&lock, &old);
	errno = saved_errno;
}

void shim__yield(const char *function)
{
	int saved_errno = errno;

	if (atomic_load(&shim.stop) || getpid() != shim.pid)
		return;
	if (shim.alone) {
		yield_here(function);
		return;
	}
	if (!shim.have_thread || pthread_equal(pthread_self(), shim.thread))
		return;
	atomic_store(&shim.yield_to, function);
	atomic_fetch_add(&shim.nr_yields_wanted, 1);
	activity__wake();
	wait_for(&shim.yield_done, YIELD_WAIT_S);
	errno = saved_errno;
}

void shim__make_room(const char *function)
{
	/* The shim is one of several already, or will find the others when it subscribes. */
	if (activity__is_among() || !shim.have_thread || getpid() != shim.pid)
		return;
	atomic_store(&shim.joining, true);
	shim__yield(function);
}

void shim__join(void)
{
	int saved_errno = errno;

	if (!atomic_load(&shim.joining) || atomic_load(&shim.stop) || getpid() != shim.pid ||
	    !shim.have_thread || pthread_equal(pthread_self(), shim.thread))
		return;
	atomic_fetch_add(&shim.nr_joins_wanted, 1);
	activity__wake();
	wait_for(&shim.join_done, YIELD_WAIT_S);
	errno = saved_errno;
}

static void *shim_thread(void *arg)
{
	uint64_t flush_ns = 0;

	(void)arg;
	pthread_setname_np(pthread_self(), "xpushim");
	calls__leave_me_out();
	while (!atomic_load(&shim.stop)) {
		activity__wait(shim.settling ? SETTLE_NS : POLL_NS);
		if (atomic_load(&shim.stop))
			break;
		capture__lock();
		while (shim.nr_yields_done != atomic_load(&shim.nr_yields_wanted)) {
			yield();
			shim.nr_yields_done++;
			sem_post(&shim.yield_done);
		}
		while (shim.nr_joins_done != atomic_load(&shim.nr_joins_wanted)) {
			join();
			shim.nr_joins_done++;
			sem_post(&shim.join_done);
		}
		follow_listeners();
		capture__unlock();
		tell_recorder(0);
		if (shim.state != AWAKE)
			continue;
		shm__populate();
		clock__watch();
		python__look(unwinder__bytes());
		while (shim.nr_ends_done != atomic_load(&shim.nr_ends_wanted)) {
			flush_all();
			tell_recorder(TELL_NS);
			shim.nr_ends_done++;
			sem_post(&shim.end_done);
		}
		if (shim.settling)
			settle();
		if (clock__ns() >= flush_ns && (!shim.watches || shim.stays)) {
			if (!stalls__are_exact())
				stalls__drain();
			activity__flush_if_quiet();
			flush_ns = clock__ns() + FLUSH_NS;
		}
		activity__drain(false);
		share__deliver();
		activity__end_rest();
	}
	allocs__look();
	sem_post(&shim.over);
	return NULL;
}

/* ---- ends of threads ------------------------------------------------------------------------- */

/*
 * @arg: the process that the thread belonged to when it was first watched. A child made by a bare
 * system call ran no fork handlers, and has copies of the thread memory of its parent, some of it
 * shared: leave that alone.
 */
static void thread_ends(void *arg)
{
	if ((pid_t)(uintptr_t)arg != getpid())
		return;
	ranges__exit();
	launch__exit();
}

/*
 * Called early, to get one of the process's first keys: for a later key the C library allocates
 * memory when a thread first uses it, which a signal handler must not do.
 */
static void make_thread_key(void)
{
	shim.have_thread_key = !pthread_key_create(&shim.thread_key, thread_ends);
}

bool shim__watch_thread(void)
{
	void *process = (void *)(uintptr_t)getpid();

	return shim.have_thread_key && !pthread_setspecific(shim.thread_key, process);
}

/* ---- the process's ends ---------------------------------------------------------------------- */

/* At exit, while CUDA still works: sends everything that is finished. */
static void at_exit(void)
{
	/* A child may come from a bare system call, which runs no fork handlers. */
	if (atomic_load(&shim.forked) || getpid() != shim.pid)
		return;
	allocs__exiting();
	if (shim.have_thread) {
		atomic_store(&shim.stop, true);
		activity__wake();
		if (!wait_for(&shim.over, EXIT_WAIT_S))
			return;		/* the thread is stuck in CUPTI: leave it alone */
		pthread_join(shim.thread, NULL);
		shim.have_thread = false;
	}
	if (shim.state == AWAKE) {
		close_at_exit();
		ranges__set_mode(RANGES_OFF);
		ranges__give_up();
		stalls__drain_all();
		activity__flush(true);
		launch__cut_calls();
		activity__drain(true);
		share__end();
	}
	if (probe__is_heard())
		tell_of_programs_records();
	tell_recorder(TELL_NS);
	shim.state = OFF;
	atomic_store(&shim.awake, false);
}

static void quickly_exiting(void *arg)
{
	(void)arg;
	at_exit();
}

/* In the child CUDA and CUPTI are unusable, and the shim's thread does not exist. */
static void in_forked_child(void)
{
	atomic_store(&shim.forked, true);
	shim.state = OFF;
	atomic_store(&shim.awake, false);
	capture__forked();
	share__forked();
	allocs__stop();
	torch__watch(false);
	calls__forked();
	launch__forked();
	maps__forked();
	shm__forked();
	ranges__set_mode(RANGES_OFF);
}

static void forking(void)
{
	atomic_store(&shim.heard_at_fork, probe__live() && probe__is_heard());
}

/* In the child, which may use CUDA even though its parent never did. */
static void has_forked(void)
{
	atomic_store(&probe__inherited, atomic_load(&shim.heard_at_fork));
	capture__has_forked();
	clock__find_namespace();
	shim.inherited_until_ns = clock__ns() + INHERITED_NS;
}

static void start_thread(void)
{
	sigset_t old;

	signals__block(&old);
	shim.have_thread = !pthread_create(&shim.thread, NULL, shim_thread, NULL);
	shim.alone = !shim.have_thread;
	signals__restore(&old);
	if (!shim.have_thread && shim.state == AWAKE)
		activity__message(XPU_MESSAGE_WARNING, "no thread can be made for the shim: what "
				  "devices do is sent when the program ends, until memory is full");
}

static void chain_injection(void)
{
	const char *path = getenv(XPU_CHAIN_ENV);
	int (*initialize)(void);
	void *handle;

	if (!path || !path[0])
		return;
	handle = dlopen(path, RTLD_NOW);
	if (!handle)
		return;			/* as the driver does */
	*(void **)&initialize = dlsym(handle, "InitializeInjection");
	if (initialize && initialize != InitializeInjection)
		initialize();
}

static void initialize(void)
{
	const char *why;

	environment__read();
	chain_injection();
	__register_atfork(NULL, NULL, in_forked_child, &__dso_handle);
	activity__init();
	sem_init(&shim.end_done, 0, 0);
	sem_init(&shim.yield_done, 0, 0);
	sem_init(&shim.join_done, 0, 0);
	sem_init(&shim.over, 0, 0);
	sem_init(&shim.turn, 0, 1);
	shim.pid = getpid();
	probe__init();
	why = capture__init();
	capture__lock();
	shim.begins = true;
	follow_listeners();		/* now, so that the first launch is recorded, too */
	shim.begins = false;
	capture__unlock();
	maps__hand_over(false);		/* now, because the process may be killed at any time */
	if (why && shim.state == AWAKE)
		activity__message(XPU_MESSAGE_WARNING, why);
	if (shim.state != AWAKE)
		ranges__set_mode(RANGES_OFF);
	atexit(at_exit);
	__cxa_at_quick_exit(quickly_exiting, &__dso_handle);
	start_thread();
}

/*
 * Whether no other thread can be reading the environment: setenv() may move it and free the old
 * copy. glibc 2.32 and later know that. Otherwise the number of links of /proc/self/task is the
 * number of threads plus two.
 */
static bool is_single_threaded(void)
{
	const char *known = dlsym(RTLD_DEFAULT, "__libc_single_threaded");
	struct stat tasks;

	dlerror();
	if (known)
		return *known;
	/* glibc has had stat() as a function only since 2.33. */
	return !syscall(SYS_newfstatat, AT_FDCWD, "/proc/self/task", &tasks, 0) &&
	       tasks.st_nlink == 3;
}

/*
 * Decides where records go. Called at load, since NVTX ranges may open before the process uses CUDA
 * and connects to xpuload.
 */
static void choose_way(void)
{
	const char *where = getenv(XPU_SHM_ENV);

	probe__way = getenv(XPU_RUN_ENV) ? PROBE_RUN : PROBE_LIVE;
	if (probe__way != PROBE_RUN || !where || !shm__start(where))
		return;
	probe__way = PROBE_SHM;
	if (shm__wants_ranges())
		probe__count(&xpu_range_semaphore, true);
}

/*
 * Makes the driver call InitializeInjection() in this process and in programs that it executes, by
 * an environment variable. The variable is already set if xpuload started the process or the driver
 * found the shim by it. It is set here for programs that have the shim preloaded, before they have
 * threads. Children inherit the environment, and with it the shim.
 */
static void load(void)
{
	const char *users = getenv(XPU_INJECTION_ENV);
	char path[PATH_MAX];
	bool may_set;
	Dl_info self;

	ends__init();
	if (!libc__is_glibc())
		return;
	libc__init();
	clock__find_namespace();
	make_thread_key();
	choose_way();
	__register_atfork(forking, NULL, has_forked, &__dso_handle);
	if (dladdr((const void *)&xpu_launch_semaphore, &self) && realpath(self.dli_fname, path)) {
		may_set = is_single_threaded();
		if (may_set && (!users || strcmp(users, path))) {
			if (users && users[0])
				setenv(XPU_CHAIN_ENV, users, 1);
			setenv(XPU_INJECTION_ENV, path, 1);
		}
		nvtx__init(path, may_set);
	}
	capture__init();		/* programs may open ranges before they use CUDA */
	if (probe__way == PROBE_RUN)
		python__tell(true);
}

void shim__load(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int saved_errno = errno;
	sigset_t old;

	signals__block(&old);		/* a handler might call this again, and wait forever */
	pthread_once(&once, load);
	signals__restore(&old);
	errno = saved_errno;
}

/*
 * The CUDA driver calls this in cuInit. 1 is success. The call may come before the constructor
 * below, because constructors of the program's own libraries run earlier and may use CUDA.
 */
int InitializeInjection(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	shim__load();
	pthread_once(&once, initialize);
	return 1;
}

static __attribute__((constructor)) void loaded(void)
{
	shim__load();
}
