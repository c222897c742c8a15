/* SPDX-License-Identifier: MIT */
/*
 * xpu_slot.h - the contract between the shim and the BPF programs
 *
 * A thread that launches owns one struct xpu_slot. Before each launch, and when a CUDA graph gets a
 * new node, the shim fills it and calls the probe site xpu_launch(slot); the BPF program on that site reads it at that instant, on that
 * thread. Finished device work goes out through the probe site xpu_batch(records, bytes), with
 * records as xpu_record.h has them.
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
	__u32	cbid;			/* CUPTI callback id of the API call; 0: nothing happens, this
					 * thread says where its slot is ... */
	__u16	domain;			/* ... in this CUpti_CallbackDomain */
	__u16	flags;			/* XPU_CHAIN_* of frames */
	__u64	time_ns;		/* CLOCK_MONOTONIC; 0: the BPF program takes the time */
	__u32	path_id;		/* reserved for interned paths; 0 */
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
	__u32	in_call;		/* of the slot at home: not 0 while its thread is in a call that
					 * may wait; to be read at any time */
	__u64	home;			/* address of the slot that its thread keeps, perhaps this */
};

_Static_assert(sizeof(struct xpu_slot) == 88, "xpu_slot is an ABI");

/*
 * Symbols that the shim exports for the loader: probe sites and their semaphores. There are two
 * pairs: one for processes that xpuload started, which XPU_RUN_ENV in their environment tells, and
 * one for those that were started with the shim preloaded and wait to be attached to. So a session
 * that starts its target does not wake the others on the machine.
 */
#define XPU_SITE_LAUNCH		"xpu_launch"
#define XPU_SITE_BATCH		"xpu_batch"
#define XPU_SITE_LIVE_LAUNCH	"xpu_live_launch"
#define XPU_SITE_LIVE_BATCH	"xpu_live_batch"
#define XPU_SEMAPHORE_SUFFIX	"_semaphore"

/*
 * A loader that attaches to running processes also attaches here for XPU_HELLO_NS. A shim that
 * another one keeps awake cannot see it come, so while it is here it repeats its definitions.
 */
#define XPU_SITE_HELLO		"xpu_hello"
#define XPU_HELLO_NS		500000000ull

#define XPU_RUN_ENV		"XPUSHIM_RUN"

/* How the shim makes call chains: "auto", "fp" or "dwarf", and of how many frames at most. */
#define XPU_CALL_GRAPH_ENV	"XPUSHIM_CALL_GRAPH"
#define XPU_MAX_FRAMES_ENV	"XPUSHIM_MAX_FRAMES"

/* Whether they hold Python's frames: "on", "off", or "only" those. */
#define XPU_PYTHON_ENV		"XPUSHIM_PYTHON"

/* "off": calls that wait are not told of. */
#define XPU_WAITS_ENV		"XPUSHIM_WAITS"

#endif /* XPU_SLOT_H */
