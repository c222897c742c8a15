/* SPDX-License-Identifier: MIT */
/*
 * xpu.h - types, outside of the wire format, that the BPF programs share with their loader. Include
 * xpu_record.h and xpu_time.h before it
 */
#ifndef XPU_H
#define XPU_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

#define XPU_SIGNALS		65	/* 1..64 */

/*
 * For each signal number: the last signal with this number that reached the root process. See
 * loader/target/target.c.
 */
struct xpu_signal {
	__u64	time_ns;
	__u32	sender_pid;		/* si_pid, in the receiver's pid namespace */
	__u32	nr;			/* how many such signals were sent so far */
};

enum xpu_stop {
	XPU_STOP_NONE,			/* the process is recorded */
	XPU_STOP_UNTOLD,		/* no longer recorded, but the loader does not know yet */
	XPU_STOP_TOLD,
	XPU_STOP_LEFT_ALONE,		/* never recorded: the image belongs to another user */
};

/* Why a process is in the map "wanted". */
enum xpu_wanted {
	XPU_WANTED = 1,
	XPU_WANTED_DENIED,		/* belonged to another user when last checked; counted
					 * already */
};

/* A recorded process image; the key is its tgid in the initial pid namespace. */
struct xpu_proc {
	__u32	proc_id;
	__u32	pid;			/* in the loader's pid namespace */
	__u32	unsampled;		/* still the loader's image, before the target's exec */
	__u32	python_from;		/* the image from which this image inherited its
					 * interpreter, or 0 */
	__u32	stop;			/* enum xpu_stop */
	__u32	execs;			/* an exec is replacing the image */
	__u64	ok_ns;			/* when the process last passed the permission check */
	__u64	stop_ns;		/* events after this time are not recorded */
	__u64	in_window;		/* when the current window opened; 0: no window is open */
	__s64	late_ns;		/* CPU time of ended threads that is not sent yet */
	__u64	begin_ns;		/* a thread that began before this time may have run
					 * before the recording */
};

/* Counts the losses of a process image; the key is its proc_id. */
struct xpu_loss {
	__u64	nr_launches;		/* lost launches: the ring was full, or memory was short */
	__u64	nr_ranges;		/* NVTX range events, lost for the same reasons */
	__u64	nr_unread;		/* slots, log entries and batches that were unreadable, or
					 * of an unknown version */
	__u64	nr_batches;		/* lost batches: the ring was full */
	__u64	nr_waits;		/* lost waits for the device: the ring was full */
	__u64	nr_allocs;		/* lost memory events: the ring was full */
};

/* How much of a thread's CPU time is in records. */
struct xpu_cpu_time {
	__u64	exec_ns;		/* CPU time from the thread's birth to the last record */
	__u64	told_ns;		/* timestamp of the last record */
	__u64	end_ns;			/* when the thread ended, or 0 */
	__u32	proc_id;
	__u32	tid;
	__u32	pid, tgid;		/* in the initial pid namespace */
	__u64	outside;		/* 1: no window of the process was open when the thread
					 * was last looked at */
};

enum {
	XPU_THREAD_RUNNING,
	XPU_THREAD_RUNNABLE,
	XPU_THREAD_BLOCKED,
};

/*
 * The sum of a thread's off-CPU intervals that have the same stack and kind and are close together
 * in time: see add_off() in sched.bpf.c. nr is 0 if the sum is empty.
 */
struct xpu_off_sum {
	__u64	hash[2];		/* hash of the stack */
	__u64	first_ns;		/* when the first interval began */
	__u64	last_ns;		/* when the last interval began ... */
	__u64	end_ns;			/* ... and ended */
	__u64	sum_ns;
	__u64	max_ns;
	__u32	kind;
	__u32	nr;
};

#define XPU_OFF_SUMS	8		/* a thread usually blocks in a few places */

/* The account of a thread so far; the key is its pid in the initial pid namespace. */
struct xpu_thread_state {
	__u64	start_ns;
	__u64	since_ns;		/* when the current state began */
	__u64	wake_ns;		/* BLOCKED: when the thread was woken, or 0 */
	__u64	exec_ns;		/* the thread's running time when it last stopped */
	__u64	slot;			/* address of the thread's struct xpu_slot, or 0 */
	__u64	tstate;			/* address of the thread's PyThreadState, or 0 */
	__u64	hash[2];		/* hash of the stack at the last stop */
	__u32	proc_id;
	__u32	tid;
	__u32	state;			/* XPU_THREAD_* */
	__u32	kind;			/* enum xpu_off_kind, unless RUNNING */
	struct xpu_thread_time time;
	volatile __u32 sum, oldest;	/* used only inside add_off() */
	struct xpu_off_sum sums[XPU_OFF_SUMS];
};

/*
 * A timestamp that is earlier than the thread's previous timestamp counts as equal to the previous
 * timestamp, so the thread's times add up to its life. Earlier timestamps occur because one CPU's
 * clock times the wakeup, and another CPU's clock times the start of running. If the BPF
 * program missed the switch to a thread, the time of the switch is computed from the kernel's sum
 * of the thread's running time.
 */

/* An interval in which a thread did not run. It was blocked until woken_ns, then runnable. */
struct xpu_off_time {
	__u64	start_ns;
	__u64	woken_ns;
	__u64	end_ns;
};

/*
 * Return: the blocked and the runnable time of @t from its last stop to @now_ns. @t must not be
 * running.
 */
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

/* Notes that @t begins to run at @now_ns. Return: its blocked and runnable time before that. */
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
 * Return: the time at which @t began to run, if the switch to @t was missed. @exec_ns: the running
 * time of @t up to @now_ns, as summed up by Linux
 */
XPU_INLINE __u64 xpu_thread__unseen_begin(const struct xpu_thread_state *t, __u64 exec_ns,
					  __u64 now_ns)
{
	__u64 ran_ns = xpu_ns_between(t->exec_ns, exec_ns);
	__u64 off_ns = xpu_ns_between(t->since_ns, now_ns);

	return now_ns - (ran_ns < off_ns ? ran_ns : off_ns);
}

/* Notes that @t has run up to @now_ns. */
XPU_INLINE void xpu_thread__ran(struct xpu_thread_state *t, __u64 now_ns)
{
	t->time.run_ns += xpu_ns_between(t->since_ns, now_ns);
	t->since_ns = xpu_ns_later(t->since_ns, now_ns);
}

#endif /* XPU_H */
