// SPDX-License-Identifier: MIT
/*
 * The shim's states: dormant, awake, dormant again. Then another subscriber, the end of a thread
 * and of a forked child, a missing CUPTI, and a shim thread that cannot be started.
 */
#include <cuda.h>
#include <cupti.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device.h"
#include "listener.h"
#include "launch/ranges.h"
#include "tap.h"

static CUcontext context;
static CUfunction function;
static CUstream stream;

static void launch(int nr)
{
	while (nr--)
		device__launch(function, stream, 1);
	cuStreamSynchronize(stream);
}

#define NESTED_ID	0x7ffffff0

/* Makes a launch in the middle of another launch. */
static void launch_nested(void)
{
	device__call_back(NESTED_ID);
}

static void *cupti(void)
{
	return dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
}

static void CUPTIAPI nothing(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
			     const void *data)
{
	(void)userdata;
	(void)domain;
	(void)cbid;
	(void)data;
}

/* The shim sends the logs at least twice in this time. */
#define SENT_MS	250

/* Launches until a launch is tagged, which shows that the shim is awake. */
static bool wait_awake(void)
{
	uint32_t before = heard(nr_launches);
	int i;

	for (i = 0; i < 200; i++) {
		launch(1);
		if (heard(nr_launches) != before)
			break;
		pause_ms(20);
	}
	pause_ms(SENT_MS);
	return i < 200;
}

/* ---- a thread that takes long to end --------------------------------------------------------- */

static pthread_key_t key;
static sem_t is_ending, may_end;
static uint64_t started;		/* id of this thread's range */

static void take_long(void *arg)
{
	(void)arg;
	sem_post(&is_ending);
	sem_wait(&may_end);
	launch(1);			/* the thread's destructor launches, too */
}

static void *ending_thread(void *arg)
{
	struct range range = { .name = "left open" };

	cuCtxSetCurrent(context);
	pthread_setspecific(key, arg);
	launch(1);
	started = ranges__start(&range);
	return NULL;
}

static void test_ending_thread(void)
{
	uint32_t before = heard(nr_launches);
	pthread_t thread;

	/*
	 * Destructors run in the order in which the keys were created, and the shim's key is older.
	 */
	pthread_key_create(&key, take_long);
	sem_init(&is_ending, 0, 0);
	sem_init(&may_end, 0, 0);
	pthread_create(&thread, NULL, ending_thread, &key);
	sem_wait(&is_ending);
	pause_ms(SENT_MS);		/* the shim has freed the thread's data now */
	ranges__end(started);
	sem_post(&may_end);
	pthread_join(thread, NULL);
	is_int(heard(nr_launches) - before, 2,
	       "both launches of a thread that is ending are received");
}

/* ---- CUPTI is missing ------------------------------------------------------------------------ */

/*
 * Tests that each listener gets the message that CUPTI is missing. Also tests the environment of
 * the program's first CUDA call.
 */
static int tell_each_listener(void)
{
	int i;

	clearenv();
	for (i = 0; i < 3; i++) {
		listener__attach();
		if (!listener__wait(&listener.nr_messages, i + 1))
			return 1;
		launch(1);
		listener__detach();
		pause_ms(SENT_MS);
	}
	return !strstr(listener.message, "libm.so.6 has no cupti") || heard(nr_launches) ||
		heard(nr_bad);
}

/* ---- no thread can be started ---------------------------------------------------------------- */

static bool no_thread;

__attribute__((visibility("default"))) int pthread_create(pthread_t *thread,
							  const pthread_attr_t *attr,
							  void *(*fn)(void *), void *arg)
{
	__typeof__(&pthread_create) real;

	if (no_thread)
		return EAGAIN;
	*(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
	return real(thread, attr, fn, arg);
}

#define NR_WITHOUT	100
#define LATE_ID		0x7ffffffe

static void at_end(void)
{
	if (heard(nr_launches) != NR_WITHOUT || heard(nr_kernels) != NR_WITHOUT || heard(nr_bad))
		_exit(2);
	device__call_back(LATE_ID);
	if (heard(nr_launches) != NR_WITHOUT + 1)
		_exit(3);
}

/*
 * Tests that the shim notices the end of the program, and sends everything then. The exit handler
 * launches after that.
 */
static int without_thread(void)
{
	CUmodule module;

	atexit(at_end);			/* registered first, so it runs after the shim's handler */
	listener__attach();
	cuInit(0);
	no_thread = true;
	InitializeInjection();
	no_thread = false;
	if (heard(nr_messages) != 1 || !strstr(listener.message, "create the shim's thread") ||
	    listener.message_level != XPU_MESSAGE_WARNING)
		return 1;
	device__start(&context, &module, &function);
	launch(NR_WITHOUT);
	return heard(nr_kernels) != 0;
}

/*
 * Runs in a forked child. The test does what the kernel does: it subtracts the semaphore counts
 * that fork() copied, as when a listener leaves a process. No listener is attached to this process
 * yet. Return: bits of the checks that passed.
 */
static int inherited(bool listened)
{
	CUmodule module;
	int right, i;
	uint32_t nr;

	listener__detach();
	device__start(&context, &module, &function);
	cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
	launch(100);
	if (!listened) {
		pause_ms(SENT_MS);
		return !heard(nr_launches);
	}
	right = listener__wait(&listener.nr_launches, 100) && heard(nr_launches) == 100;
	right |= listener__wait(&listener.nr_kernels, 100) << 1;
	for (i = 0; i < 20 && right < 4; i++) {
		pause_ms(500);
		nr = heard(nr_launches);
		launch(10);
		pause_ms(SENT_MS);
		right |= (heard(nr_launches) == nr) << 2;
	}
	return right;
}

static int status_of_child(bool listened)
{
	int status = -1;
	pid_t pid;

	if (listened)
		listener__attach();
	pid = listener__fork();
	if (!pid)
		_exit(inherited(listened));
	listener__detach();
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(int argc, char **argv)
{
	CUptiResult (*subscribe)(CUpti_SubscriberHandle *, CUpti_CallbackFunc, void *);
	CUptiResult (*unsubscribe)(CUpti_SubscriberHandle);
	CUpti_SubscriberHandle handle;
	uint32_t before, kernels;
	int i, status, missed = 0;
	CUmodule module;
	pid_t pid;

	if (argc > 1 && !strcmp(argv[1], "no thread"))
		return without_thread();
	if (argc == 1)
		is_int(status_of_child(true), 7,
		       "the child of a target records from its first launch, and stops when nobody "
		       "attaches for seconds");
	if (argc == 1)
		is_int(status_of_child(false), 1, "the child of a dormant program is dormant");
	device__start(&context, &module, &function);
	if (argc > 1)
		return tell_each_listener();
	cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);

	launch(100);
	pause_ms(300);
	ok(!cupti(), "dormant: CUPTI is not loaded");
	is_int(heard(nr_launches), 0, "dormant: no launch is tagged");

	listener__attach();
	ok(wait_awake(), "attached: launches are tagged");
	before = heard(nr_launches);
	kernels = heard(nr_kernels);
	launch(1000);
	listener__wait(&listener.nr_launches, before + 1000);
	is_int(heard(nr_launches) - before, 1000, "attached: every launch is tagged");
	ok(listener__wait(&listener.nr_kernels, kernels + 1000), "attached: kernels are sent");

	listener__want_ranges(true);
	pause_ms(SENT_MS);
	test_ending_thread();
	listener__want_ranges(false);

	before = heard(nr_launches);
	listener__interrupt = launch_nested;
	launch(1);
	is_int(heard(nr_launches) - before, 2,
	       "a launch that interrupts another launch: both are tagged");
	is_int(listener.launches[before].correlation_id, NESTED_ID,
	       "a launch that interrupts another launch: the inner launch has its own id");
	ok(listener.launches[before + 1].correlation_id != 0 &&
	   listener.launches[before + 1].correlation_id != NESTED_ID,
	   "a launch that interrupts another launch: the outer launch has another id");

	listener__detach();
	pause_ms(500);
	before = heard(nr_launches);
	launch(100);
	is_int(heard(nr_launches) - before, 0, "detached: no launch is tagged");
	*(void **)&subscribe = dlsym(cupti(), "cuptiSubscribe");
	*(void **)&unsubscribe = dlsym(cupti(), "cuptiUnsubscribe");
	is_int(subscribe(&handle, nothing, NULL), CUPTI_SUCCESS,
	       "detached: another tool can subscribe");

	listener__attach();
	ok(listener__wait(&listener.nr_messages, 1),
	   "another tool has CUPTI: the shim sends a message");
	is_int(listener.message_level, XPU_MESSAGE_ERROR,
	       "another tool has CUPTI: the message is an error");
	ok(strstr(listener.message, "CUPTI is in use") != NULL,
	   "another tool has CUPTI: the message is: %s", listener.message);
	launch(100);
	is_int(heard(nr_launches) - before, 0, "another tool has CUPTI: no launch is tagged");
	unsubscribe(handle);
	ok(wait_awake(), "recording begins when the other tool leaves");
	is_int(heard(nr_messages), 2, "a message says that recording begins");

	for (i = 0; i < 10; i++) {
		listener__detach();
		pause_ms(250);
		listener__attach();
		missed += !wait_awake();
	}
	is_int(missed, 0, "the shim goes dormant and wakes ten times");

	before = heard(nr_string_records);
	listener__hello(true);
	ok(listener__wait(&listener.nr_string_records, before + 1),
	   "a second listener gets the string definitions, too");
	listener__hello(false);
	pause_ms(200);
	before = heard(nr_string_records);
	pause_ms(300);
	is_int(heard(nr_string_records) - before, 0,
	       "without a further listener the string definitions are not sent again");

	pid = listener__fork();
	if (!pid)
		exit(heard(nr_bad) ? 1 : 5);	/* runs every exit handler */
	is_int(waitpid(pid, &status, 0), pid, "a forked child ends");
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 5,
	   "a forked child ends with its own exit status");
	ok(wait_awake(), "after the child's end the parent still records");
	is_int(listener__run(argv[0], "without", "XPUSHIM_CUPTI", "libm.so.6"), 0,
	       "without CUPTI each listener gets a message");
	is_int(listener__run(argv[0], "no thread", "XPUSHIM_WAITS", "off"), 0,
	       "the shim's thread cannot start: a message says so; all records are sent at exit, "
	       "and also a launch of a later exit handler");
	cuModuleUnload(module);
	is_int(heard(nr_bad), 0, "nothing ill-formed was sent");
	return done_testing();
}
