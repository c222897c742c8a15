// SPDX-License-Identifier: MIT
/*
 * The life of the shim in a process:
 *
 *   loaded     the constructor makes runtimes call the shim when they are first used
 *   dormant    the process uses a GPU, but nobody listens, and the vendor's library is not opened
 *   awake      somebody listens; launches are tagged, and device work is collected
 *   failed     the vendor could not become awake, for a reason that is reported once
 *
 * Each vendor is in one of the last three states. The shim's own thread moves it between them and
 * sends the device records. Nothing in this folder exits, aborts, prints or waits without a limit.
 */
#include "life/life.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/call.h"
#include "base/clock.h"
#include "base/environment.h"
#include "base/launcher_labels.h"
#include "base/libc.h"
#include "base/lock.h"
#include "gpu/vendor.h"
#include "launch/allocs.h"
#include "launch/calls.h"
#include "launch/capture_window.h"
#include "launch/launcher.h"
#include "launch/own_maps.h"
#include "launch/paths.h"
#include "launch/ranges.h"
#include "launch/torch.h"
#include "launch/unwind.h"
#include "launch/wait.h"
#include "life/drain.h"
#include "life/inherit.h"
#include "life/requests.h"
#include "nvtx/capture.h"
#include "nvtx/nvtx_injection.h"
#include "python/python.h"
#include "wire/probe.h"
#include "wire/sender.h"
#include "wire/shm.h"
#include "wire/wire.h"
#include "xpu_record.h"
#include "xpu_shm.h"

#define POLL_NS		100000000ll	/* how soon an attaching or leaving listener is noticed */
#define FLUSH_NS	200000000ll	/* between flushes of finished device work */
#define SETTLE_NS	20000000ll	/* between flushes after a window has ended */
/* Time limits of the shim's thread for a wait in which no work arrives and none is packed: */
#define EXIT_WAIT_S	5		/* when the process ends: to leave its loop */
#define LAST_WAIT_S	30		/* after that: to send everything */
#define END_WAIT_S	1		/* the wait if the process ends without exit handlers */
#define TELL_NS		900000000ull	/* share of END_WAIT_S for handing over shared memory */

/* A vendor and its state. */
struct run {
	const struct vendor *vendor;
	enum gpu_state state;		/* owned by the shim's thread while it runs; before and
					 * after, by the thread that starts and joins it */
	bool unheard;			/* awake although nobody listens; see follow_beside() */
	bool has_memory;		/* events of memory are wanted */
	bool begins;			/* in life__used(), when the program has no GPU memory
					 * yet */
	bool stays;			/* device work is recorded outside of windows, too */
};

static struct {
	struct run runs[MAX_VENDORS];
	atomic_uint nr_runs;
	bool over;			/* the process ends, or this is a forked child */
	uint64_t hello_ns;		/* when to repeat the definitions for a new listener */
	bool watches;			/* nothing is recorded until the next window */
	bool unheard;			/* the thread has the name XPU_SHM_UNHEARD */
	bool settling;			/* device work of the last window may still arrive */
	uint64_t nr_before;		/* launches before the current window */
	uint32_t nr_windows;
	uint64_t window_ns;		/* when the current window opened */

	pthread_t thread;
	bool have_thread;
	bool alone;			/* the shim's thread could not be started */
	sem_t ended;			/* the thread has ended, or is about to */
	atomic_bool stop;
	atomic_bool forked;

	pid_t pid;
	atomic_bool awake;		/* whether any vendor is awake, for other threads */
	struct request end;		/* request of shim__before_end() */
	struct request come;		/* request of life__used(), if the thread runs already */
	struct request *requests;
} life;

#define for_each_run(run)	\
	for ((run) = life.runs; (run) < life.runs + life.nr_runs; (run)++)

#define for_each_awake(run)	\
	for_each_run(run)	\
		if ((run)->state != GPU_AWAKE) continue; else

static struct run *run_of(const struct vendor *vendor)
{
	struct run *run;

	for_each_run(run)
		if (run->vendor == vendor)
			return run;
	return NULL;
}

/* Whether any vendor other than @but is awake. */
static bool any_awake(const struct run *but)
{
	struct run *run;

	for_each_awake(run)
		if (run != but)
			return true;
	return false;
}

/* Whether launches of any vendor other than @but are recorded. */
static bool any_heard(const struct run *but)
{
	struct run *run;

	for_each_awake(run)
		if (run != but && !run->unheard)
			return true;
	return false;
}

static void set_state(struct run *run, enum gpu_state state)
{
	run->state = state;
	atomic_store(&life.awake, any_awake(NULL));
}

bool life__is_awake(const struct vendor *vendor)
{
	struct run *run = run_of(vendor);

	return run && run->state == GPU_AWAKE;
}

void life__drain_last(const struct vendor *vendor)
{
	life__drain(!any_awake(run_of(vendor)));
}

/* ---- what is wanted -------------------------------------------------------------------------- */

/*
 * Return: which calls of the API to record. The environment says none, all or some; where a
 * listener is attached, the listener decides whether calls are recorded at all.
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
		return !probe__live_api() ? CALLS_NONE :
		       told == CALLS_ALL ? CALLS_ALL : CALLS_TIMED;
	return told;
}

static void want_calls(struct run *run, enum calls_wanted wanted)
{
	if (run->vendor->want_calls)
		run->vendor->want_calls(wanted);
}

/* Does the work of calls_are_wanted() for memory events. */
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

/* Starts and stops memory events as listeners want them or no longer do. */
static void follow_memory(struct run *run, bool heard)
{
	bool want = heard && memory_is_wanted(), any = want;
	struct run *other;
	const char *why;

	if (want != run->has_memory) {
		run->has_memory = want;
		for_each_run(other)
			any |= other->has_memory;
		torch__watch(any);	/* before the start of memory events is sent */
		if (run->vendor->want_memory)
			run->vendor->want_memory(want, !run->begins);
		if (want)
			sender__name_api(XPU_DOMAIN_ALLOCATORS, XPU_ALLOCATOR_TORCH,
					 XPU_CALL_IS_ALLOCATION, "[PyTorch's allocator]");
		if (want && !allocs__are_on())
			allocs__start(!run->begins);
		if (!any)
			allocs__stop();
	}
	why = want ? torch__message() : NULL;
	if (why)
		sender__message(XPU_MESSAGE_WARNING, why);
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
		.open_ns = life.window_ns,
		.number = life.nr_windows,
		.nr_launches = nr_launches,
	};

	sender__pack(pack_window, &r);
}

static void begin_window(void)
{
	struct run *run;

	life.watches = false;
	for_each_awake(run) {
		if (run->vendor->open_window)
			run->vendor->open_window();
		run->stays = false;
		want_calls(run, calls_are_wanted());
		if (run->vendor->listened)
			run->vendor->listened();
	}
	life.nr_windows++;
	life.nr_before = launcher__nr();
	life.window_ns = clock__ns();
	send_window(XPU_MISC_WINDOW_OPEN, 0);
	launcher__enable(true);
	ranges__set_mode(RANGES_RECORD);
}

static void end_window(void)
{
	struct run *run;

	launcher__close();
	ranges__set_mode(RANGES_OFF);
	life.settling = false;
	for_each_awake(run) {
		run->stays = run->vendor->close_window && run->vendor->close_window();
		life.settling |= !run->stays;
		want_calls(run, CALLS_NONE);
	}
	send_window(0, launcher__nr() - life.nr_before);
	life.watches = true;
	sender__wake();
}

/* Whether the shim is awake in this process. The program may open a window before that. */
static bool is_ready(void)
{
	return atomic_load(&life.awake) && !atomic_load(&life.stop) && getpid() == life.pid;
}

static void window_opens(void)
{
	int saved_errno = errno;

	if (is_ready() && life.watches)
		begin_window();
	errno = saved_errno;
}

static void window_closes(void)
{
	int saved_errno = errno;

	if (is_ready() && !life.watches)
		end_window();
	errno = saved_errno;
}

static bool work_is_coming(void)
{
	struct run *run;

	for_each_awake(run)
		if (!run->stays && run->vendor->has_more())
			return true;
	return false;
}

/*
 * Runs on the shim's thread: collects the device work of the last window. Once all of it has
 * arrived, the vendors stay unused until the next window.
 */
static void settle(void)
{
	struct run *run;

	for_each_awake(run)
		run->vendor->flush();
	if (work_is_coming())
		return;
	capture__lock();
	if (life.watches && !work_is_coming()) {
		life__drain(false);
		for_each_awake(run)
			if (run->vendor->window_is_over)
				run->vendor->window_is_over();
		life.settling = false;
	}
	capture__unlock();
}

/* Closes the window that the program has left open; called at exit. */
static void close_at_exit(void)
{
	if (!capture__is_armed() || life.watches)
		return;
	launcher__close();
	send_window(0, launcher__nr() - life.nr_before);
}

/* ---- awake and dormant ----------------------------------------------------------------------- */

/* Reports variables with values that no launcher sets: the program may use the names for itself. */
static void tell_of_labels(void)
{
	const struct launcher_labels *labels = environment__labels();
	char text[256];

	if (!labels->nr_refused)
		return;
	snprintf(text, sizeof(text), "the environment variable %s has a value that no launcher "
				     "sets: it is not recorded as a label%s", labels->refused,
		 labels->nr_refused > 1 ? ", and neither are others" : "");
	sender__message(XPU_MESSAGE_INFO, text);
}

/* Prepares the recording of launches, for the first vendor that is awake. */
static void prepare(void)
{
	const char *why;
	int level;

	unwind__init();
	why = unwind__message(&level);
	if (why)
		sender__message(level, why);
	why = nvtx__message();
	if (why)
		sender__message(XPU_MESSAGE_WARNING, why);
	tell_of_labels();
	paths__init();
	python__look(unwinder__bytes());
	clock__init();
	wait__start();
	launcher__discard();
}

static void wake(struct run *run)
{
	const struct vendor *vendor = run->vendor;
	const struct gpu_wants wants = {
		.windows = capture__is_armed(),
		.only_memory = memory_is_all(),
	};
	bool first = !any_heard(NULL);

	if (wants.windows && !capture_window__start(vendor->api))
		return;			/* memory may suffice the next time */
	if (first)
		wire__counters.hdr.misc = 0;	/* the last batch may say that recording has
						 * stopped */
	set_state(run, vendor->open(&wants));
	if (run->state != GPU_AWAKE)
		return;
	run->unheard = run->stays = false;
	if (first) {
		life.watches = wants.windows;
		prepare();
	}
	if (!life.watches) {
		if (!wants.only_memory)
			want_calls(run, calls_are_wanted());
		if (first)
			launcher__enable(true);
	}
	if (vendor->begin)
		vendor->begin();
	if (!life.watches) {
		ranges__set_mode(RANGES_RECORD);
		if (wants.windows && vendor->open_window)
			vendor->open_window();	/* another vendor's begin() has opened it */
		if (vendor->listened)
			vendor->listened();
	} else if (capture__watch()) {
		begin_window();
	} else {
		ranges__set_mode(RANGES_OFF);
	}
	life__repeat_definitions();
	follow_memory(run, true);
	python__tell(false);
	if (vendor->has_begun)
		vendor->has_begun();
}

void life__wake(const struct vendor *vendor)
{
	struct run *run = run_of(vendor);

	if (run && run->state == GPU_DORMANT && probe__is_heard())
		wake(run);
}

static void doze(struct run *run)
{
	bool last = !any_awake(run);

	if (last) {
		launcher__close();
		ranges__set_mode(RANGES_OFF);
	}
	follow_memory(run, false);
	want_calls(run, CALLS_NONE);
	run->vendor->stop();
	life__drain(last);
	run->vendor->close();
	set_state(run, GPU_DORMANT);
}

void life__doze(const struct vendor *vendor)
{
	struct run *run = run_of(vendor);

	if (run && run->state == GPU_AWAKE)
		doze(run);
}

/*
 * With shared memory Linux does not count listeners: counts xpuload in the semaphores as it comes
 * and goes.
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
	if (launches && shm__wants_ranges())
		probe__count(&xpu_range_semaphore, false);	/* counted since the shim was
								 * loaded */
	if (all != (now == SHM_OPEN || now == SHM_LEAVING))
		probe__count(&xpu_batch_semaphore, !all);
}

/*
 * Follows listeners for a vendor that stays awake while nobody listens, and then records nothing.
 */
static void follow_beside(struct run *run, bool heard)
{
	if (heard == !run->unheard)
		return;
	run->unheard = !heard;
	if (heard && !any_heard(run))
		launcher__discard();
	launcher__enable(heard && !life.watches);
	ranges__set_mode(heard && !life.watches ? RANGES_RECORD : RANGES_OFF);
	if (heard) {
		life__repeat_definitions();
		python__tell(false);
	} else if (run->vendor->unheard && run->vendor->unheard()) {
		life__drain_last(run->vendor);
	}
}

static void follow_dormant(struct run *run, bool heard)
{
	const struct vendor *vendor = run->vendor;

	if (heard && (!vendor->may_open || vendor->may_open()))
		wake(run);
	else if (!heard && vendor->forget_said)
		vendor->forget_said();	/* the next listener must be told, too */
}

static void follow_awake(struct run *run, bool heard)
{
	const struct vendor *vendor = run->vendor;

	if (!heard && (!vendor->may_close || vendor->may_close())) {
		doze(run);
		return;
	}
	follow_beside(run, heard);
	follow_memory(run, heard);
	if (!life.watches && !memory_is_all())
		want_calls(run, heard ? calls_are_wanted() : CALLS_NONE);
	if (heard && !life.watches && vendor->listened)
		vendor->listened();
}

/* Checks who listens, and changes the states accordingly. */
static void follow_listeners(void)
{
	struct run *run;
	bool heard;

	if (life.over)
		return;
	if (probe__way == PROBE_SHM)
		follow_shared_memory();
	inherit__look();
	heard = probe__is_heard();
	for_each_run(run) {
		switch (run->state) {
		case GPU_DORMANT:
			follow_dormant(run, heard);
			break;
		case GPU_AWAKE:
			follow_awake(run, heard);
			break;
		case GPU_FAILED:
			if (!heard)
				set_state(run, GPU_DORMANT);
			break;
		}
	}
	if (any_awake(NULL) && probe__hello() && clock__ns() >= life.hello_ns) {
		life__repeat_definitions();
		python__tell(false);
		life.hello_ns = clock__ns() + POLL_NS;
	}
}

static bool is_shims_thread(void)
{
	return life.have_thread && pthread_equal(pthread_self(), life.thread);
}

/*
 * With shared memory: hands new mappings over, and the memory itself to xpuload, or reports its
 * contents, unless xpuload already has it. @wait_ns: 0: the process continues
 */
static void tell_recorder(uint64_t wait_ns)
{
	if (probe__way != PROBE_SHM)
		return;
	own_maps__hand_over(wait_ns != 0);
	if (!shm__is_told())
		shm__tell(launcher__nr(), wait_ns);
	if (!life.unheard && shm__is_unheard() && is_shims_thread()) {
		life.unheard = true;
		CALL(prctl, PR_SET_NAME, XPU_SHM_UNHEARD, 0, 0, 0);
	}
}

/* ---- the shim's thread ----------------------------------------------------------------------- */

/* Sends everything that is available. More may follow, if an exec fails. */
static void flush_all(void)
{
	struct run *run;

	for_each_awake(run)
		run->vendor->flush_all();
	life__drain(false);
	life__repeat_definitions();
	tell_recorder(TELL_NS);
}

void shim__before_end(void)
{
	int saved_errno = errno;

	if (!is_ready() || is_shims_thread())
		return;
	request__ask(&life.end, END_WAIT_S);
	errno = saved_errno;
}

enum life_ask life__may_ask(void)
{
	if (atomic_load(&life.stop) || getpid() != life.pid)
		return LIFE_NO;
	if (life.alone)
		return LIFE_HERE;
	return life.have_thread && !is_shims_thread() ? LIFE_ASK : LIFE_NO;
}

void life__add_request(struct request *r)
{
	request__init(r);
	r->next = life.requests;
	life.requests = r;
}

static void follow(void)
{
	struct request *r;

	capture__lock();
	for (r = life.requests; r; r = r->next)
		request__serve(r);
	follow_listeners();
	capture__unlock();
	tell_recorder(0);
}

static void collect(uint64_t *flush_ns)
{
	struct run *run;

	shm__populate();
	clock__watch();
	python__look(unwinder__bytes());
	request__serve(&life.end);
	if (life.settling)
		settle();
	if (clock__ns() >= *flush_ns) {
		for_each_awake(run)
			if (!life.watches || run->stays)
				run->vendor->look();
		*flush_ns = clock__ns() + FLUSH_NS;
	}
	life__drain(false);
	for_each_awake(run)
		if (run->vendor->after)
			run->vendor->after();
}

/*
 * Sends everything that is finished. A handler that interrupted malloc() may have ended the
 * process: so the thread that ends it must not allocate, and waits while the shim's thread does
 * this.
 */
static void send_last(void)
{
	struct run *run;

	if (any_awake(NULL)) {
		close_at_exit();
		ranges__set_mode(RANGES_OFF);
		ranges__give_up();
		for_each_awake(run)
			run->vendor->flush_all();
		launcher__cut_calls();
		life__drain(true);
	}
	for_each_run(run)
		if (run->vendor->over)
			run->vendor->over(probe__is_heard());
	tell_recorder(TELL_NS);
}

static void *shim_thread(void *arg)
{
	uint64_t flush_ns = 0;

	(void)arg;
	pthread_setname_np(pthread_self(), "xpushim");
	calls__leave_me_out();
	while (!atomic_load(&life.stop)) {
		sender__wait(life.settling ? SETTLE_NS : POLL_NS);
		if (atomic_load(&life.stop))
			break;
		follow();
		if (any_awake(NULL))
			collect(&flush_ns);
	}
	sem_post(&life.ended);
	send_last();
	sem_post(&life.ended);
	return NULL;
}

static void start_thread(void)
{
	sigset_t old;

	signals__block(&old);
	life.have_thread = !pthread_create(&life.thread, NULL, shim_thread, NULL);
	life.alone = !life.have_thread;
	signals__restore(&old);
	if (!life.have_thread && any_awake(NULL))
		sender__message(XPU_MESSAGE_WARNING, "cannot create the shim's thread: device "
						     "records wait in memory, and are sent when "
						     "the program ends");
}

/* ---- the process's beginning and end --------------------------------------------------------- */

/* Runs at exit, while the runtimes still work: on the shim's thread, if it has one. */
static void at_exit(void)
{
	struct run *run;

	/* A child may come from a bare system call, which runs no fork handlers. */
	if (atomic_load(&life.forked) || getpid() != life.pid)
		return;
	for_each_run(run)
		if (run->vendor->exiting)
			run->vendor->exiting();
	if (life.have_thread) {
		atomic_store(&life.stop, true);
		sender__wake();
		if (!requests__wait(&life.ended, EXIT_WAIT_S) ||
		    !requests__wait(&life.ended, LAST_WAIT_S))
			return;		/* the thread is stuck in a runtime: leave it alone */
		pthread_join(life.thread, NULL);
		life.have_thread = false;
	} else {
		send_last();
	}
	life.over = true;
	atomic_store(&life.awake, false);
}

static void quickly_exiting(void *arg)
{
	(void)arg;
	at_exit();
}

/* Runs in a forked child, where the runtimes are unusable and the shim's thread does not exist. */
static void in_forked_child(void)
{
	struct run *run;

	atomic_store(&life.forked, true);
	life.over = true;
	atomic_store(&life.awake, false);
	capture__forked();
	for_each_run(run) {
		if (run->vendor->forked)
			run->vendor->forked();
		calls__close(run->vendor->api);
	}
	allocs__stop();
	torch__watch(false);
	launcher__forked();
	own_maps__forked();
	shm__forked();
	ranges__set_mode(RANGES_OFF);
}

/* Prepares the process when the first vendor comes: it uses a GPU. */
static void begin(void)
{
	environment__read();
	__register_atfork(NULL, NULL, in_forked_child, &__dso_handle);
	sender__init();
	wire__labels(environment__labels());
	request__init(&life.end);
	life.end.fn = flush_all;
	life.come.fn = follow_listeners;
	life__add_request(&life.come);
	sem_init(&life.ended, 0, 0);
	life.pid = getpid();
	probe__init();
	capture__call_at_windows(window_opens, window_closes);
}

/* Begins with the first vendor, when nothing of the shim runs yet. */
static void begin_with(struct run *run)
{
	const char *why = capture__init();

	capture__lock();
	follow_listeners();		/* done now, so that the first launch is recorded, too */
	capture__unlock();
	own_maps__hand_over(false);	/* done now, because the process may be killed at any
					 * time */
	if (why && run->state == GPU_AWAKE)
		sender__message(XPU_MESSAGE_WARNING, why);
	if (run->state != GPU_AWAKE)
		ranges__set_mode(RANGES_OFF);
	atexit(at_exit);
	__cxa_at_quick_exit(quickly_exiting, &__dso_handle);
	start_thread();
}

void life__used(const struct vendor *vendor)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	unsigned int nr;
	struct run *run;
	sigset_t old;

	lock__take(&lock, &old);
	nr = atomic_load(&life.nr_runs);
	if (!nr)
		begin();
	if (drain__add(vendor)) {
		run = &life.runs[nr];
		run->vendor = vendor;
		run->begins = true;
		atomic_store(&life.nr_runs, nr + 1);
		if (!nr)
			begin_with(run);
		else if (life__may_ask() == LIFE_ASK)
			request__ask(&life.come, END_WAIT_S);
		run->begins = false;
	}
	lock__give(&lock, &old);
}
