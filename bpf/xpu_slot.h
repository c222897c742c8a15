/* SPDX-License-Identifier: MIT */
/*
 * xpu_slot.h - the contract between the shim and the BPF programs
 *
 * A thread that launches owns one struct xpu_slot. Before a launch, and when a CUDA graph gets a
 * new node, the shim fills it and calls the probe site xpu_launch(slot); the BPF program on that
 * site reads it at that instant, on that thread. Finished device work goes out through the probe
 * site xpu_batch(records, bytes), with records as xpu_record.h has them.
 *
 * With XPUSHIM_PROBE=path that is done for the first launch of each call path, whose number
 * slot.path_id then is. Further launches from it go into the thread's struct xpu_log by that
 * number, and what the log holds goes out through the probe site xpu_log(log, end) when it is full,
 * and now and then; what a thread leaves that is killed is sent by the BPF programs on its end.
 * What a number stands for is told again through xpu_path(slot), which is no launch, for listeners
 * that have come late or lost it.
 *
 * Each site has a semaphore beside it, 16 bits that the kernel raises from 0 to 1 while a uprobe is
 * there (its ref_ctr_offset), however many are attached. Zero: nobody listens, do no work.
 */
#ifndef XPU_SLOT_H
#define XPU_SLOT_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

struct xpu_slot {
	__u32	size;			/* sizeof(struct xpu_slot): what the shim knows of */
	__u32	correlation_id;		/* CUPTI's, of the launch that is about to happen */
	__u32	cbid;			/* CUPTI callback id of the API call; 0: nothing happens,
					 * this thread says where its slot is ... */
	__u16	domain;			/* ... in this CUpti_CallbackDomain */
	__u16	flags;			/* XPU_CHAIN_* of frames */
	__u64	time_ns;		/* CLOCK_MONOTONIC; 0: the BPF program takes the time */
	__u32	path_id;		/* not 0: the number of this call path in logs */
	__u32	nr_frames;		/* 0: the BPF program walks the stack */
	__u64	frames;			/* address of nr_frames return addresses, innermost first;
					 * where a signal struck, that address plus one */
	__u64	graph_node_id;		/* not 0: no launch, but this graph node was made here, by
					 * the captured launch correlation_id, or explicitly if 0 */
	/* A call that waited for the device is over; wait_ns is not 0, and this is no launch. */
	__u64	wait_start_ns;		/* CLOCK_MONOTONIC */
	__u64	wait_ns;
	__u32	wait_context;		/* what it waited for: CUPTI's ids ... */
	__u32	wait_stream;
	__u32	wait_flags;		/* ... and XPU_WAIT_* */
	__u32	in_call;		/* of the slot at home: not 0 while its thread is in a call
					 * that may wait; to be read at any time */
	__u64	home;			/* address of the slot that its thread keeps, perhaps
					 * this */
	__u64	log;			/* address of the thread's struct xpu_log; 0: it has none */
	__u32	range_id;		/* the innermost NVTX range that is open on this thread, an
					 * XPU_RECORD_RANGE's id; 0: none */
	__u32	reserved;
};

/* The CPU's tick counter and CLOCK_MONOTONIC at the same instant. */
struct xpu_clock {
	__u64	ticks;
	__u64	ns;
	__u64	rate;			/* ns a tick, times 2^XPU_CLOCK_SHIFT; 0: never read */
};

#define XPU_CLOCK_SHIFT	40

/* One launch, from a call path that was told of; or an event of the thread's NVTX ranges. */
struct xpu_log_entry {
	__u64	time;			/* CLOCK_MONOTONIC, ns; with XPU_LOG_TICKS, ticks */
	__u32	correlation_id;		/* a range's id, with XPU_LOG_RANGE */
	__u32	path_id;		/* of a slot of the same process; or XPU_LOG_RANGE and what
					 * struct xpu_range_event has to say of it */
};

#define XPU_LOG_TICKS	(1ull << 63)

#define XPU_LOG_RANGE		(1u << 31)
#define XPU_LOG_RANGE_WHAT(path_id)	((__u16)((path_id) & 0xff))
#define XPU_LOG_RANGE_PLACE(path_id)	((__u16)((path_id) >> 8 & 0xff))

#define XPU_LOG_ENTRIES	128		/* a power of two */

/*
 * Launches of one thread, not yet sent: those from tail on, before head. Entry number n is in
 * entries[n % XPU_LOG_ENTRIES], and all that are there at a time are in one piece.
 */
struct xpu_log {
	__u32	size;			/* XPU_LOG_BYTES */
	__u32	tid;			/* the thread's, as gettid() says there */
	__u32	id;			/* unique in the process */
	__u32	clock;			/* which of the clocks turns ticks into ns: the other one
					 * may be changing */
	__u64	head;			/* written by the thread, after the entry */
	__u64	tail;			/* written after they were sent */
	__u32	range_id;		/* as in the slot, before the entry at tail */
	__u32	reserved;
	struct xpu_clock clocks[2];
	struct xpu_log_entry entries[];
};

#define XPU_LOG_BYTES	(sizeof(struct xpu_log) + XPU_LOG_ENTRIES * sizeof(struct xpu_log_entry))

#ifndef __VMLINUX_H__
/* The time at @ticks, before @clock was read or after. */
static inline __u64 xpu_clock__ns(const struct xpu_clock *clock, __u64 ticks)
{
	return clock->ns + (__u64)((__int128)(__s64)(ticks - clock->ticks) * clock->rate >>
				   XPU_CLOCK_SHIFT);
}

/* The time of an entry of a log with that clock, in ns. */
static inline __u64 xpu_log__ns(const struct xpu_clock *clock, __u64 time)
{
	return time & XPU_LOG_TICKS ? xpu_clock__ns(clock, time & ~XPU_LOG_TICKS) : time;
}
#endif

/* Paths have numbers from 1, and a process never uses one twice. */
#define XPU_MAX_PATHS	(1u << 22)

_Static_assert(sizeof(struct xpu_slot) == 104, "xpu_slot is an ABI");
_Static_assert(sizeof(struct xpu_log_entry) == 16, "xpu_log is an ABI");
_Static_assert(sizeof(struct xpu_log) == 88, "xpu_log is an ABI");

/*
 * Symbols that the shim exports for the loader: probe sites and their semaphores. There are two
 * sets: one for processes that xpuload started, which XPU_RUN_ENV in their environment tells, and
 * one for those that were started with the shim preloaded and wait to be attached to. So a session
 * that starts its target does not wake the others on the machine.
 */
#define XPU_SITE_LAUNCH		"xpu_launch"
#define XPU_SITE_BATCH		"xpu_batch"
#define XPU_SITE_LOG		"xpu_log"
#define XPU_SITE_PATH		"xpu_path"
#define XPU_SITE_LIVE_LAUNCH	"xpu_live_launch"
#define XPU_SITE_LIVE_BATCH	"xpu_live_batch"
#define XPU_SITE_LIVE_LOG	"xpu_live_log"
#define XPU_SITE_LIVE_PATH	"xpu_live_path"
#define XPU_SEMAPHORE_SUFFIX	"_semaphore"

/*
 * As XPU_SITE_BATCH, for one XPU_RECORD_RANGE. While nobody is attached here, NVTX ranges are not
 * looked at.
 */
#define XPU_SITE_RANGE		"xpu_range"
#define XPU_SITE_LIVE_RANGE	"xpu_live_range"

/*
 * The same as XPU_SITE_BATCH, in processes that xpuload started and that have not called CUDA yet:
 * they may fork children that will. A child whose parent was at any of the sites above must not go
 * there, since the kernel may have made them calls to a page that is not copied to it.
 */
#define XPU_SITE_EARLY		"xpu_early"

/*
 * A loader that attaches to running processes also attaches here for XPU_HELLO_NS. A shim that
 * another one keeps awake cannot see it come, so while it is here it repeats its definitions.
 */
#define XPU_SITE_HELLO		"xpu_hello"
#define XPU_HELLO_NS		500000000ull

/* The same, for who wants the calls of CUDA's API, too, as long as it is here. */
#define XPU_SITE_LIVE_API	"xpu_live_api"

#define XPU_RUN_ENV		"XPUSHIM_RUN"

/* By this the CUDA driver finds the shim; and what the user had there, which is called, too. */
#define XPU_INJECTION_ENV	"CUDA_INJECTION64_PATH"
#define XPU_CHAIN_ENV		"XPUSHIM_CHAIN_INJECTION"

/* How the shim makes call chains: "auto", "fp" or "dwarf", and of how many frames at most. */
#define XPU_CALL_GRAPH_ENV	"XPUSHIM_CALL_GRAPH"
#define XPU_MAX_FRAMES_ENV	"XPUSHIM_MAX_FRAMES"

/* Whether the BPF program is called for each "launch", or for each new "path" and for logs. */
#define XPU_PROBE_ENV		"XPUSHIM_PROBE"

/* Whether they hold Python's frames: "on", "off", or "only" those. */
#define XPU_PYTHON_ENV		"XPUSHIM_PYTHON"

/* There are CPU samples that want Python's frames, too: tell where the interpreter is. */
#define XPU_SAMPLES_ENV		"XPUSHIM_SAMPLES"

/* "off": calls that wait are not told of. */
#define XPU_WAITS_ENV		"XPUSHIM_WAITS"

/* "on": the calls of CUDA's API are wanted, in processes that xpuload started. */
#define XPU_API_ENV		"XPUSHIM_API"

#endif /* XPU_SLOT_H */
