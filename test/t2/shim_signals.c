// SPDX-License-Identifier: MIT
/*
 * A signal handler makes the first launch on a thread that holds one of the shim's locks: in
 * cuInit, while threads end, or when the program ends. In the last case the shim has no thread
 * that could do the work. Each signal arrives just before the thread unlocks a mutex, so this test
 * does not depend on chance.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "device.h"
#include "listener.h"
#include "launch/ranges.h"
#include "tap.h"

#define WAIT_MS		20000		/* limit for fast steps, also on slow machines */
#define FIRST_ID	0x70000000

/*
 * ThreadSanitizer calls this function. The listener allocates in signal handlers, but these never
 * interrupt malloc().
 */
__attribute__((visibility("default"))) const char *__tsan_default_options(void);

const char *__tsan_default_options(void)
{
	return "report_signal_unsafe=0";
}

static __thread bool armed, threadless;
static atomic_uint nr_handled;
static CUcontext context;
static CUfunction function;

static void handler(int sig)
{
	struct range range = { .name = "in a handler" };
	bool was_armed = armed;

	(void)sig;
	armed = false;
	ranges__push(&range);
	device__call_back(FIRST_ID + atomic_fetch_add(&nr_handled, 1));
	ranges__pop(NULL);
	armed = was_armed;
}

__attribute__((visibility("default"))) int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	static __typeof__(&pthread_mutex_unlock) real;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "pthread_mutex_unlock");
	if (armed && mutex != &listener__lock) {
		armed = false;		/* later steps lock mutexes, too */
		pthread_kill(pthread_self(), SIGUSR1);
		armed = true;
	}
	return real(mutex);
}

__attribute__((visibility("default"))) int pthread_create(pthread_t *thread,
		const pthread_attr_t *attr, void *(*fn)(void *), void *arg)
{
	static __typeof__(&pthread_create) real;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
	return threadless ? EAGAIN : real(thread, attr, fn, arg);
}

/* Makes the thread's first launch, in its first range. */
static void *new_thread(void *arg)
{
	struct range range = { .name = "left open" };

	(void)arg;
	cuCtxSetCurrent(context);
	armed = true;
	ranges__push(&range);
	device__launch(function, NULL, 1);
	armed = false;
	return NULL;
}

/* alarm() would not work: a thread that waits for its own lock may have blocked all signals. */
static void *watchdog(void *arg)
{
	(void)arg;
	pause_ms(WAIT_MS);
	syscall(SYS_exit_group, 4);
	return NULL;
}

static void at_end(void)
{
	if (!atomic_load(&nr_handled) || heard(nr_bad))
		_exit(3);
}

/* Runs in a child process, because a deadlock is possible. */
static int run(const char *when)
{
	bool at_start = !strcmp(when, "cuInit"), at_exit = !strcmp(when, "exit");
	uint32_t heard_before;
	pthread_t thread;
	CUmodule module;

	signal(SIGUSR1, handler);
	pthread_create(&thread, NULL, watchdog, NULL);
	listener__attach();
	listener__want_ranges(true);
	cuInit(0);
	atexit(at_end);			/* registered first, so it runs after the shim's handler */
	armed = at_start;
	threadless = at_exit;
	InitializeInjection();
	armed = threadless = false;
	device__start(&context, &module, &function);
	if (!at_start && !at_exit) {
		pthread_create(&thread, NULL, new_thread, NULL);
		pthread_join(thread, NULL);
	}
	/* This thread can launch unless the handler has broken it. */
	heard_before = heard(nr_launches);
	device__launch(function, NULL, 1);
	cuCtxSynchronize();
	if (!listener__wait(&listener.nr_launches, heard_before + 1) ||
	    (!at_exit && !listener__wait(&listener.nr_kernels, 1)))
		return 2;
	armed = at_exit;
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return run(argv[1]);
	is_int(listener__run(argv[0], "cuInit", "XPUSHIM_WAITS", "off"), 0,
	       "signals under every lock that cuInit takes do no harm");
	is_int(listener__run(argv[0], "thread", "XPUSHIM_WAITS", "off"), 0,
	       "signals under every lock that a new thread takes do no harm");
	is_int(listener__run(argv[0], "exit", "XPUSHIM_WAITS", "off"), 0,
	       "signals under every lock that is taken at the program's end do no harm");
	return done_testing();
}
