/* SPDX-License-Identifier: MIT */
/*
 * listener.h - replaces the kernel's probes, for tests of the shim without privileges
 *
 * A test is linked with listener.c and the shim's own objects. Here xpu_launch() and xpu_batch()
 * are ordinary functions that keep the data that they receive, as the BPF programs do.
 */
#ifndef TEST_T2_LISTENER_H
#define TEST_T2_LISTENER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "now.h"
#include "xpu_record.h"

#define LISTENER_MAX	(1 << 20)
#define LISTENER_PATHS	(1 << 18)
#define LISTENER_RANGES	(1 << 16)

struct listener_launch {
	pid_t tid;
	uint32_t correlation_id;
	uint32_t cbid;
	uint16_t flags;
	uint32_t nr_frames;
	const uint64_t *frames;		/* only with listener.keep_frames */
	uint32_t path_id;		/* 0: the launch did not come from a log */
	bool by_ticks;			/* the log had this launch's time in ticks */
	uint64_t time_ns;		/* only for launches with a path_id */
	uint32_t range_id;
};

struct listener_range {
	uint32_t parent;
	const char *name, *domain;
	struct xpu_range_payload payload;	/* all bytes 0: no payload */
};

struct listener_range_event {
	uint64_t time_ns;
	uint32_t range_id;
	uint16_t what, place;		/* enum xpu_range_what */
	pid_t tid;
};

struct listener_path {
	uint32_t cbid, nr_frames;
	uint16_t flags;
	const uint64_t *frames;
};

struct listener_kernel {
	uint64_t start_ns, duration_ns;
	uint32_t correlation_id;
	uint32_t name;
	uint32_t stream;
};

/*
 * The events that were received. Read counters with heard(), since the shim's thread may change
 * them. Read everything else only when no thread launches and all work has ended.
 */
#define heard(counter)	__atomic_load_n(&listener.counter, __ATOMIC_SEQ_CST)

struct listener_wait {
	uint64_t start_ns, wait_ns;
	uint32_t cbid, context, stream, flags;
};

struct listener_call {
	uint64_t start_ns, duration_ns;
	uint32_t correlation_id;
	uint32_t cbid;			/* includes XPU_CALL_RUNTIME */
	pid_t tid;
};

struct listener_alloc {
	uint32_t path_id;		/* 0: no path */
	uint8_t what, space;
	uint16_t device;
	uint32_t extra;
	uint64_t address, bytes, order;
};

struct listener {
	uint32_t nr_introduced, nr_waits, nr_launches, nr_kernels, nr_memcpys, nr_memsets;
	uint32_t nr_batches, nr_bad;
	struct listener_launch launches[LISTENER_MAX];
	struct listener_wait waits[4096];
	struct listener_kernel kernels[LISTENER_MAX];
	struct listener_path paths[LISTENER_PATHS];	/* by id */
	uint32_t nr_paths, nr_repeated_paths, nr_logs;
	const struct xpu_log *log;	/* the log of the thread that launched last */
	struct listener_range ranges[LISTENER_RANGES];	/* by id */
	struct listener_range_event range_events[LISTENER_MAX];
	uint32_t nr_ranges, nr_repeated_ranges, nr_range_events;
	bool keep_frames;
	const char *strings[3 * 4096];	/* by id; function names are last */
	struct {
		uint32_t name, filename;	/* string ids */
	} pycodes[4096];		/* by id */
	uint32_t nr_string_records;	/* string definitions, including repeated ones */
	uint32_t nr_streams, nr_apis, nr_devices, nr_shapes;
	uint32_t api_names[2][4096];	/* string ids of function names of the driver and the
					 * runtime, by cbid */
	struct listener_call calls[1 << 17];
	uint32_t nr_calls;
	struct listener_alloc allocs[1 << 17];
	uint32_t nr_allocs, nr_migrations;
	uint64_t sampled[64];		/* launches whose PC samples arrived, with --stalls=exact */
	uint32_t nr_sampled;
	struct xpu_record_counters counters;
	uint32_t nr_messages;
	uint16_t message_level;
	char message[1024];		/* the last message */
};

extern struct listener listener;

/* Called once, at the next launch, before its slot is read. It acts as a signal handler. */
extern void (*listener__interrupt)(void);

/* Called when a log is sent, before it is read. */
extern void (*listener__interrupt_log)(void);

/* The time that each batch takes, in ms. Tests set it while threads send. */
extern atomic_uint listener__batch_ms;

/* Held while a probe runs. */
extern pthread_mutex_t listener__lock;

/* Attaches or detaches a listener, as a loader does. */
void listener__attach(void);
void listener__detach(void);

/* Attaches or detaches another listener, which the kernel counts in xpu_hello_semaphore. */
void listener__hello(bool on);

/* Attaches or detaches a listener that wants CUDA API calls. */
void listener__want_calls(bool on);

/* Attaches or detaches a listener that wants NVTX ranges. */
void listener__want_ranges(bool on);

/* Attaches or detaches a listener that wants memory events. */
void listener__want_memory(bool on);

/* Waits until *@counter is at least @nr, for at most ten seconds. */
bool listener__wait(const volatile uint32_t *counter, uint32_t nr);

/*
 * Waits until nothing arrives for five rounds of the shim, or for fewer rounds on a busy machine.
 * Return: nr_launches.
 */
uint32_t listener__settle(void);

/*
 * Sorts the launches from number @from on by their correlation IDs, which increase. A launch that
 * calls the probe may arrive before earlier launches, which wait in the log. Return: the number of
 * launches.
 */
uint32_t listener__sort_launches(uint32_t from);

/* For listener__interrupt_log: holds the thread that is sending a log. */
void listener__hold(void);
void listener__wait_held(void);
void listener__let_go(void);

/*
 * Calls fork(). In the child, LeakSanitizer ignores the memory of threads that the child does not
 * have.
 */
pid_t listener__fork(void);

/* Runs @program with @arg and one added environment variable. Return: its exit status, or -1. */
int listener__run(const char *program, const char *arg, const char *name, const char *value);

static inline void pause_ms(long ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&ts, NULL);
}

#endif /* TEST_T2_LISTENER_H */
