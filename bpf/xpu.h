/* SPDX-License-Identifier: MIT */
/*
 * xpu.h - types that the BPF programs share with their loader, beside the wire format. Include
 * xpu_record.h and xpu_time.h before it
 */
#ifndef XPU_H
#define XPU_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

#define XPU_SIGNALS		65	/* 1..64 */

/* The last signal that reached the root process, by number: see loader/target/target.c. */
struct xpu_signal {
	__u64	time_ns;
	__u32	sender_pid;		/* si_pid, as the receiver's namespace numbers it */
	__u32	nr;			/* how many so far */
};

enum xpu_stop {
	XPU_STOP_NONE,			/* the process is recorded */
	XPU_STOP_UNTOLD,		/* no longer recorded; the ring had no room to say so */
	XPU_STOP_TOLD,
	XPU_STOP_LEFT_ALONE,		/* it never was recorded: it is another user's */
};

/* A process that is to be recorded as soon as it does something. */
enum xpu_wanted {
	XPU_WANTED = 1,
	XPU_WANTED_DENIED,		/* another user's so far, and counted */
};

/* One process image being recorded; the key is its tgid in the initial pid namespace. */
struct xpu_proc {
	__u32	proc_id;
	__u32	pid;			/* as the loader's pid namespace numbers it */
	__u32	unsampled;		/* still runs the loader's code, before the target's exec */
	__u32	python_from;		/* 0, or the image whose interpreter it has, by a fork */
	__u32	stop;			/* enum xpu_stop */
	__u32	execs;			/* another image is replacing it */
	__u64	ok_ns;			/* the last time that the invoker might record it */
	__u64	stop_ns;		/* the recording has nothing later than this */
	__u64	in_window;		/* with windows: one is open */
};

/* Counts what could not be sent of a process image; the key is its proc_id. */
struct xpu_loss {
	__u64	nr_launches;		/* the ring was full, or there was no scratch memory */
	__u64	nr_ranges;		/* events of NVTX ranges, lost for the same reasons */
	__u64	nr_unread;		/* slots, log entries and batches that could not be read, or
					 * have an unknown version */
	__u64	nr_batches;		/* the ring was full */
	__u64	nr_waits;		/* waits for the device: the ring was full */
	__u64	nr_allocs;		/* events of memory: the ring was full */
};

enum {
	XPU_THREAD_RUNNING,
	XPU_THREAD_RUNNABLE,
	XPU_THREAD_BLOCKED,
};

/*
 * The sum of a thread's times off the CPU with one stack and of one kind, which lie close together in
 * time: see add_off() in sched.bpf.c. Without any, nr is 0.
 */
struct xpu_off_sum {
	__u64	hash[2];		/* of the stack */
	__u64	first_ns;		/* when the first interval began */
	__u64	last_ns;		/* when the last interval began ... */
	__u64	end_ns;			/* ... and ended */
	__u64	sum_ns;
	__u64	max_ns;
	__u32	kind;
	__u32	nr;
};

#define XPU_OFF_SUMS	8		/* a thread alternates between few places where it blocks */

/* The account of a thread so far; the key is its pid in the initial pid namespace. */
struct xpu_thread_state {
	__u64	start_ns;
	__u64	since_ns;		/* when the present state began */
	__u64	wake_ns;		/* in state BLOCKED: when it was woken, or 0 */
	__u64	exec_ns;		/* the kernel's sum of its running time, when it last
					 * stopped */
	__u64	slot;			/* address of its struct xpu_slot, or 0 */
	__u64	tstate;			/* address of its PyThreadState, or 0 */
	__u64	hash[2];		/* hash of the stack with which it stopped */
	__u32	proc_id;
	__u32	tid;
	__u32	state;			/* XPU_THREAD_* */
	__u32	kind;			/* enum xpu_off_kind, unless it runs */
	struct xpu_thread_time time;
	volatile __u32 sum, oldest;	/* scratch of add_off() */
	struct xpu_off_sum sums[XPU_OFF_SUMS];
};

/*
 * The times of a thread never go back, so they add up to its life. A time that is earlier than the
 * one before it counts as that one. Such times occur: the clock of one CPU says when a thread is
 * woken, and the clock of another CPU says when it begins to run; and if nobody saw it begin to
 * run, that time is computed from how long the kernel says that the thread ran.
 */

/* A thread that did not run: blocked until woken_ns, then runnable. */
struct xpu_off_time {
	__u64	start_ns;
	__u64	woken_ns;
	__u64	end_ns;
};

/* Return: the times of @t, which is not running, from when it stopped up to @now_ns. */
XPU_INLINE struct xpu_off_time xpu_thread__off(const struct xpu_thread_state *t, __u64 now_ns)
{
	struct xpu_off_time off = { .start_ns = t->since_ns };

	off.end_ns = xpu_ns_later(now_ns, t->since_ns);
	if (t->state == XPU_THREAD_RUNNABLE)
		off.woken_ns = t->since_ns;
	else
		off.woken_ns = t->wake_ns ? xpu_ns_later(t->wake_ns, t->since_ns) : off.end_ns;
	off.end_ns = xpu_ns_later(off.end_ns, off.woken_ns);
	return off;
}

/* @t, which was not running, begins to run at @now_ns. Return: its times until then. */
XPU_INLINE struct xpu_off_time xpu_thread__begin(struct xpu_thread_state *t, __u64 now_ns)
{
	struct xpu_off_time off = xpu_thread__off(t, now_ns);
	__u32 kind = t->kind;

	if (kind == XPU_OFF_CALL) {
		t->time.off_ns[XPU_OFF_CALL] += off.end_ns - off.start_ns;
	} else {
		if (kind < XPU_OFF_NR)
			t->time.off_ns[kind] += off.woken_ns - off.start_ns;
		t->time.off_ns[XPU_OFF_RUNNABLE] += off.end_ns - off.woken_ns;
	}
	t->state = XPU_THREAD_RUNNING;
	t->since_ns = off.end_ns;
	return off;
}

/*
 * Return: when @t began to run, which nobody saw. At @now_ns the kernel says that @t has run for
 * @exec_ns in all.
 */
XPU_INLINE __u64 xpu_thread__unseen_begin(const struct xpu_thread_state *t, __u64 exec_ns,
					  __u64 now_ns)
{
	__u64 ran_ns = xpu_ns_between(t->exec_ns, exec_ns);
	__u64 off_ns = xpu_ns_between(t->since_ns, now_ns);

	return now_ns - (ran_ns < off_ns ? ran_ns : off_ns);
}

/* @t has run up to @now_ns. */
XPU_INLINE void xpu_thread__ran(struct xpu_thread_state *t, __u64 now_ns)
{
	t->time.run_ns += xpu_ns_between(t->since_ns, now_ns);
	t->since_ns = xpu_ns_later(t->since_ns, now_ns);
}

#endif /* XPU_H */
