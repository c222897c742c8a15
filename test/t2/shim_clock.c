// SPDX-License-Identifier: MIT
/*
 * The timestamp of a logged launch must lie between two clock readings around the launch: on all
 * CPUs, after sleep, after a stop, in forked children, and in the log of a killed thread.
 */
#include <cuda.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device.h"
#include "listener.h"
#include "tap.h"
#include "xpu_slot.h"

#define NEAR_NS		1000		/* "about a microsecond" */

static CUfunction function;
static CUstream stream;
static struct {
	uint64_t before, after;
} around[LISTENER_MAX];			/* timestamps, by index of the launch */
static uint32_t nr_made;

static __attribute__((noinline)) void launch(void)
{
	around[nr_made].before = now_ns(CLOCK_MONOTONIC);
	device__launch(function, stream, 1);
	around[nr_made++].after = now_ns(CLOCK_MONOTONIC);
}

static void launches(int nr, long apart_us)
{
	for (; nr--; launch())
		if (apart_us)
			usleep(apart_us);
}

static uint64_t off_by(uint64_t ns, uint32_t i)
{
	if (ns < around[i].before)
		return around[i].before - ns;
	return ns > around[i].after ? ns - around[i].after : 0;
}

static uint32_t nr_checked;

/* Checks the launches since the last check: each logged timestamp is right. */
static void check(const char *what)
{
	uint32_t i, nr_logged = 0, nr_by_ticks = 0, nr_off = 0;
	const struct listener_launch *l;
	uint64_t off, worst = 0;

	while (heard(nr_launches) < nr_made)
		pause_ms(10);
	listener__sort_launches(nr_checked);
	for (i = nr_checked; i < nr_made; i++) {
		l = &listener.launches[i];
		if (!l->time_ns)
			continue;	/* the launch called the probe: it is not logged */
		nr_logged++;
		nr_by_ticks += l->by_ticks;
		off = off_by(l->time_ns, i);
		nr_off += off > NEAR_NS;
		if (off > worst)
			worst = off;
	}
	nr_checked = nr_made;
	ok(nr_logged && !nr_off, "%s: %u launches, %u by the tick counter, %u not within %d ns",
	   what, nr_logged, nr_by_ticks, nr_off, NEAR_NS);
	if (worst)
		note("at most %llu ns", (unsigned long long)worst);
}

static int nr_cpus(cpu_set_t *all)
{
	sched_getaffinity(0, sizeof(*all), all);
	return CPU_COUNT(all);
}

static void on_all_cpus(void)
{
	cpu_set_t all, one;
	int nr = nr_cpus(&all), cpu, i;

	for (i = 0; i < 2000; i++) {
		for (cpu = i % nr; !CPU_ISSET(cpu % CPU_SETSIZE, &all); cpu++)
			;
		CPU_ZERO(&one);
		CPU_SET(cpu % CPU_SETSIZE, &one);
		sched_setaffinity(0, sizeof(one), &one);
		launch();
	}
	sched_setaffinity(0, sizeof(all), &all);
}

/* A child process stops this process, with all its threads, and continues it. */
static void be_stopped(long ms)
{
	pid_t pid, me = getpid();
	int status;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		kill(me, SIGSTOP);
		pause_ms(ms);
		kill(me, SIGCONT);
		_exit(0);
	}
	launches(1000, 100);
	waitpid(pid, &status, 0);
	launches(1000, 100);
}

/*
 * The kernel reads the log in one instant, but be_killed() does not. Of the two clocks in the log,
 * the shim meanwhile writes only the clock that be_killed() does not read. ThreadSanitizer may have
 * lost the reader's stack, so the suppression names the writer, too.
 */
__attribute__((visibility("default"))) const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
	return "race:be_killed\nrace:clock__next\n";
}

/* Reads this thread's log as the kernel would if the thread ended here. */
static void be_killed(const char *what)
{
	const struct xpu_log *log = listener.log;
	const struct xpu_clock *clock;
	uint64_t head, tail, ns;
	uint32_t nr_off = 0, nr = 0, i;

	for (i = 0; i < 20 && !nr; i++) {
		launches(100, 0);
		head = log->head;
		tail = __atomic_load_n(&log->tail, __ATOMIC_ACQUIRE);
		clock = &log->clocks[__atomic_load_n(&log->clock, __ATOMIC_ACQUIRE)];
		for (; tail < head; tail++, nr++) {
			ns = xpu_log__ns(clock, log->entries[tail % XPU_LOG_ENTRIES].time);
			nr_off += off_by(ns, nr_made - (head - tail)) > NEAR_NS;
		}
	}
	ok(nr && !nr_off, "%s: %u launches not sent, %u not within %d ns", what, nr, nr_off,
	   NEAR_NS);
}

int main(void)
{
	CUcontext context;
	CUmodule module;
	int status;
	pid_t pid;

	listener__attach();
	device__start(&context, &module, &function);
	cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);

	launches(2000, 200);
	check("since the start");
	launches(20000, 0);
	check("launches as fast as possible");
	on_all_cpus();
	check("launches on all CPUs in turns");
	pause_ms(2000);
	launches(20, 0);
	check("after two seconds of sleep");
	launches(20, 70000);
	check("launches with sleep between them");
	be_stopped(1500);
	check("while the process is stopped");
	be_killed("the log of a killed thread");
	check("all launches together");

	pid = listener__fork();
	if (!pid) {
		launches(10, 0);
		_exit(0);
	}
	launches(1000, 0);
	waitpid(pid, &status, 0);
	check("launches next to a child");
	is_int(status, 0, "the child exits with 0");
	is_int(heard(nr_bad), 0, "nothing ill-formed was sent");
	cuStreamSynchronize(stream);
	cuModuleUnload(module);
	return done_testing();
}
