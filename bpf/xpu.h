/* SPDX-License-Identifier: MIT */
/*
 * xpu.h - what the BPF programs and their loader share beside the wire format; xpu_record.h goes
 * before it
 */
#ifndef XPU_H
#define XPU_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

#define XPU_SIGNALS		65	/* 1..64 */

/* The last signal that reached the root process, by number: see loader/target.c. */
struct xpu_signal {
	__u64	time_ns;
	__u32	sender_pid;		/* si_pid, as the receiver's namespace numbers it */
	__u32	nr;			/* how many so far */
};

/* One process image being recorded; the key is its tgid in the initial pid namespace. */
struct xpu_proc {
	__u32	proc_id;
	__u32	pid;			/* as the loader's pid namespace numbers it */
	__u32	unsampled;		/* the loader's own code still, before the target's exec */
	__u32	python_from;		/* 0, or by a fork it has the interpreter of that image */
};

/* What could not be sent of a process image; the key is its proc_id. */
struct xpu_loss {
	__u64	nr_launches;		/* the ring was full, or there was no scratch memory */
	__u64	nr_ranges;		/* the same of events of NVTX ranges */
	__u64	nr_unread;		/* slots, entries of logs, and batches that could not be
					 * read, or are of no version that is known here */
};

enum {
	XPU_THREAD_RUNNING,
	XPU_THREAD_RUNNABLE,
	XPU_THREAD_BLOCKED,
};

/* The account of a thread so far; the key is its pid in the initial pid namespace. */
struct xpu_thread_state {
	__u64	start_ns;
	__u64	since_ns;		/* in this state */
	__u64	wake_ns;		/* BLOCKED: 0, or when it was woken */
	__u64	exec_ns;		/* what the kernel says it ran, when it last stopped */
	__u64	slot;			/* address of the shim's for it, or 0 */
	__u64	tstate;			/* address of Python's for it, or 0 */
	__u64	hash[2];		/* of the stack where it stopped */
	__u32	proc_id;
	__u32	tid;
	__u32	state;			/* XPU_THREAD_* */
	__u32	kind;			/* enum xpu_off_kind, unless it runs */
	struct xpu_thread_time time;
};

/* Time off the CPU, by thread, stack and kind. */
struct xpu_off_key {
	__u32	proc_id;
	__u32	tid;
	__u64	hash[2];
	__u32	kind;
	__u32	reserved;
};

struct xpu_off_sum {
	__u64	nr;
	__u64	sum_ns;
	__u64	max_ns;
	__u64	last_ns;		/* when the last of them began */
};

#endif /* XPU_H */
