// SPDX-License-Identifier: MIT
/*
 * The life of the shim in a process. The constructor, in load.c, arranges that runtimes call the
 * shim when they are first used. From then to the process's end, the shim's own thread moves each
 * vendor between the states of states.h, and sends the device records. Nothing in this folder
 * exits, aborts, prints or waits without a limit.
 */
#include "life/life.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/call.h"
#include "base/clock.h"
#include "base/environment.h"
#include "base/libc.h"
#include "base/lock.h"
#include "gpu/vendor.h"
#include "launch/allocs.h"
#include "launch/calls.h"
#include "launch/launcher.h"
#include "launch/own_maps.h"
#include "launch/ranges.h"
#include "launch/torch.h"
#include "launch/unwind.h"
#include "life/drain.h"
#include "life/requests.h"
#include "life/runs.h"
#include "life/sharing.h"
#include "life/states.h"
#include "life/vendor_windows.h"
#include "nvtx/capture.h"
#include "python/python.h"
#include "wire/probe.h"
#include "wire/sender.h"
#include "wire/shm.h"
#include "wire/wire.h"
#include "xpu_record.h"
#include "xpu_shm.h"

#define MIN_STACK	(1u << 20)	/* minimum size of the stack of the shim's thread */
#define POLL_NS		100000000ll	/* longest time until an attaching or leaving listener is
					 * noticed */
#define FLUSH_NS	200000000ll	/* time between flushes of finished device work */
#define SETTLE_NS	20000000ll	/* time between flushes after a window has ended */
/* How long to wait for the shim's thread while no work arrives or is packed: */
#define EXIT_WAIT_S	5		/* when the process ends: until the thread leaves its
					 * loop */
#define LAST_WAIT_S	30		/* after the thread's loop: until it has sent everything */
#define END_WAIT_S	1		/* if the process ends without exit handlers */
#define TELL_NS		900000000ull	/* part of END_WAIT_S, for handing over shared memory */

static struct {
	pthread_t thread;
	bool have_thread;
	bool alone;			/* the shim's thread could not be started */
	sem_t ended;			/* the thread has ended, or is about to */
	atomic_bool stop;
	atomic_bool forked;
	bool unheard;			/* the thread has the name XPU_SHM_UNHEARD */

	pid_t pid;
	struct request end;		/* request of shim__before_end() */
	struct request come;		/* request of life__used(), if the thread runs already */
	struct request *requests;
	struct request share;		/* request of shim__share() */
	char where[XPU_SHM_ENV_BYTES];	/* argument of shim__share(); "": the recording ends */
	int answer;			/* an enum sharing_answer */
} life;

/* Held while a vendor is added, and while the address of xpuload changes. */
static pthread_mutex_t coming = PTHREAD_MUTEX_INITIALIZER;

/* Whether the shim is awake in this process. A window may open before the shim is awake. */
static bool is_ready(void)
{
	return atomic_load(&runs.awake) && !atomic_load(&life.stop) && getpid() == life.pid;
}

static void window_opens(void)
{
	int saved_errno = errno;

	if (is_ready() && windows.watches)
		windows__begin();
	errno = saved_errno;
}

static void window_closes(void)
{
	int saved_errno = errno;

	if (is_ready() && !windows.watches)
		windows__end();
	errno = saved_errno;
}

static bool is_shims_thread(void)
{
	return life.have_thread && pthread_equal(pthread_self(), life.thread);
}

/*
 * If shared memory is used, reports new mappings. If xpuload does not have the memory yet, also
 * tries to hand over the memory; until that succeeds, the launches so far count as lost. @wait_ns:
 * how long to try when the process ends; 0: the process continues
 */
static void tell_recorder(uint64_t wait_ns)
{
	if (!probe__shares_memory())
		return;
	own_maps__hand_over(wait_ns != 0);
	if (!shm__is_told())
		shm__tell(launcher__nr(), wait_ns);
	if (!life.unheard && !probe__live() && shm__is_unheard() && is_shims_thread()) {
		life.unheard = true;
		CALL(prctl, PR_SET_NAME, XPU_SHM_UNHEARD, 0, 0, 0);
	}
}

/* ---- the shim's thread ----------------------------------------------------------------------- */

/* Sends everything that is available. More may follow if an exec fails. */
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

/* Return: an enum sharing_answer */
static int follow_result(void)
{
	return !probe__is_heard() ? SHARING_LATER :
	       atomic_load(&runs.awake) ? SHARING_AWAKE : SHARING_NO_GPU;
}

int shim__follow(void)
{
	if (life__may_ask() != LIFE_ASK)
		return 0;
	request__ask(&life.come, END_WAIT_S);
	return follow_result();
}

/* Serves shim__share(). */
static void share(void)
{
	enum sharing_answer answer = SHARING_LATER;

	if (*life.where)
		answer = sharing__start(life.where);
	else
		sharing__stop();
	if (runs.nr)
		states__follow();
	life.answer = answer != SHARING_LATER || !*life.where ? answer : follow_result();
}

int shim__share(const char *where)
{
	size_t len = where ? strlen(where) : 0;
	int answer;
	sigset_t old;

	if (len >= sizeof(life.where))
		return SHARING_NO_MEMORY;
	lock__take(&coming, &old);
	memcpy(life.where, where ?: "", len + 1);
	life.answer = SHARING_BUSY;
	if (!runs.nr)
		share();
	else if (life__may_ask() == LIFE_ASK)
		request__ask(&life.share, END_WAIT_S);
	else
		life.answer = SHARING_NO_MEMORY;	/* the process is ending, or was forked */
	answer = life.answer;
	lock__give(&coming, &old);
	return answer;
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
	states__follow();
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
	if (windows.settling)
		windows__settle();
	if (clock__ns() >= *flush_ns) {
		for_each_awake(run)
			if (!windows.watches || windows.late || run->stays)
				run->vendor->look();
		*flush_ns = clock__ns() + FLUSH_NS;
	}
	life__drain(false);
	for_each_awake(run)
		if (run->vendor->after)
			run->vendor->after();
}

/*
 * Sends everything that is finished. Later launches, such as launches of later exit handlers, are
 * still recorded: the recorder takes the rest of a log when its thread ends. A signal handler that
 * interrupted malloc() may have ended the process. So the thread that ends the process must not
 * allocate memory; it waits while the shim's thread calls this.
 */
static void send_last(void)
{
	struct run *run;

	if (runs__any_awake(NULL)) {
		windows__close_at_exit();
		ranges__set_mode(RANGES_OFF);
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
		sender__wait(windows.settling ? SETTLE_NS : POLL_NS);
		if (atomic_load(&life.stop))
			break;
		follow();
		if (runs__any_awake(NULL))
			collect(&flush_ns);
	}
	sem_post(&life.ended);
	send_last();
	sem_post(&life.ended);
	return NULL;
}

/*
 * Starts the shim's thread. This thread needs some stack to call runtimes, even if the program's
 * threads have small stacks.
 */
static void start_thread(void)
{
	pthread_attr_t attr, *wanted = pthread_attr_init(&attr) ? NULL : &attr;
	size_t bytes;
	sigset_t old;

	if (wanted && !pthread_attr_getstacksize(wanted, &bytes) && bytes < MIN_STACK)
		pthread_attr_setstacksize(wanted, MIN_STACK);
	signals__block(&old);
	life.have_thread = !pthread_create(&life.thread, wanted, shim_thread, NULL);
	life.alone = !life.have_thread;
	signals__restore(&old);
	if (!life.have_thread && runs__any_awake(NULL))
		sender__message(XPU_MESSAGE_WARNING, "cannot create the shim's thread: device "
						     "records wait in memory, and are sent when "
						     "the program ends");
}

/* ---- the process's beginning and end --------------------------------------------------------- */

/*
 * Called at exit, while the runtimes still work. Does its work on the shim's thread, if there is
 * one.
 */
static void at_exit(void)
{
	struct run *run;

	/* A child made by a bare system call has run no fork handlers. */
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
	states__over = true;
	atomic_store(&runs.awake, false);
}

static void quickly_exiting(void *arg)
{
	(void)arg;
	at_exit();
}

/*
 * Stops recording in a forked child, where the runtimes are unusable and the shim's thread does not
 * exist.
 */
static void in_forked_child(void)
{
	struct run *run;

	atomic_store(&life.forked, true);
	states__over = true;
	atomic_store(&runs.awake, false);
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
	atomic_store(&ranges__mode, RANGES_OFF);
}

/* Prepares the process, which uses a GPU: the first vendor has called life__used(). */
static void begin(void)
{
	environment__read();
	__register_atfork(NULL, NULL, in_forked_child, &__dso_handle);
	sender__init();
	wire__labels(environment__labels());
	request__init(&life.end);
	life.end.fn = flush_all;
	life.come.fn = states__follow;
	life__add_request(&life.come);
	life.share.fn = share;
	life__add_request(&life.share);
	sem_init(&life.ended, 0, 0);
	life.pid = getpid();
	probe__init();
	capture__call_at_windows(window_opens, window_closes);
}

/* Starts the shim when the first vendor calls life__used(). */
static void begin_with(struct run *run)
{
	const char *why = capture__init();

	capture__lock();
	states__follow();		/* done here, so that the first launch is recorded, too */
	capture__unlock();
	own_maps__hand_over(false);	/* done here, because the process may be killed at any
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
	unsigned int nr;
	struct run *run;
	sigset_t old;

	lock__take(&coming, &old);
	nr = atomic_load(&runs.nr);
	if (!nr)
		begin();
	if (drain__add(vendor)) {
		run = &runs.v[nr];
		run->vendor = vendor;
		run->begins = true;
		atomic_store(&runs.nr, nr + 1);
		if (!nr)
			begin_with(run);
		else if (life__may_ask() == LIFE_ASK)
			request__ask(&life.come, END_WAIT_S);
		run->begins = false;
	}
	lock__give(&coming, &old);
}
