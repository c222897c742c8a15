// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Part of xpu.bpf.c: measures the CPU time of threads. It uses Linux's own counters, which
 * CLOCK_THREAD_CPUTIME_ID reads. A CPU sample stands for the time that its thread ran since the
 * last sample of that thread, not for the time between two ticks of the sampler. For a thread that
 * ends or execs, the time since its last sample is sent. So the times in a thread's records add up
 * to its CPU clock.
 *
 * The kernel updates its counters at its own ticks and at switches. The time since the last tick or
 * switch is computed from the scheduler's clock, which the sampling event reads just before it
 * calls on_sample(). If the hypervisor has just stopped the CPU, this time is too long, since the
 * kernel subtracts stolen time only at its next tick. So at most one tick of this time is counted.
 * If that was too little, the rest is counted with the thread's next sample, or at its end.
 */

const volatile __u64 sample_period_ns = 0;	/* 0: no CPU samples are taken */
const volatile __u64 tick_ns = 10000000;	/* time between the kernel's ticks */

/* The scheduler's clock minus CLOCK_MONOTONIC, read at the last sample; 0: no sample so far. */
__s64 sched_clock_ahead_ns = 0;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 15);	/* the loader sets the number of threads */
	__type(key, __u64);		/* address of the thread's struct task_struct */
	__type(value, struct xpu_cpu_time);
} cpu_times SEC(".maps");

/* Return: the CPU time of @task, the current task, since its birth, up to @now_ns. */
static __always_inline __u64 exec_time(struct task_struct *task, __u64 now_ns)
{
	__u64 exec_ns, start_ns, late_ns;
	__s64 more_ns;
	struct rq *rq;

	exec_ns = task->se.sum_exec_runtime;
	if (!sched_clock_ahead_ns || !bpf_core_field_exists(task->se.cfs_rq))
		return exec_ns;
	start_ns = task->se.exec_start;
	rq = task->se.cfs_rq->rq;
	/*
	 * If Linux measures the time of interrupts and the time stolen by the hypervisor, both are
	 * left out of a thread's time.
	 */
	late_ns = rq->clock - rq->clock_task;
	more_ns = now_ns + sched_clock_ahead_ns - late_ns - start_ns;
	asm volatile("" : : : "memory");
	if (exec_ns != task->se.sum_exec_runtime)
		return task->se.sum_exec_runtime;	/* a tick has happened meanwhile */
	if (more_ns > (__s64)tick_ns)
		more_ns = tick_ns;
	return more_ns > 0 ? exec_ns + more_ns : exec_ns;
}

/*
 * Return: the account of a thread, or NULL. On a busy machine, Linux 6.18 does not call on_free()
 * for one of 300 processes. A later thread with the same address then finds the earlier thread's
 * account, and removes that account.
 */
static __always_inline struct xpu_cpu_time *lookup_time(const struct task_struct *task)
{
	__u64 key = (__u64)task;
	struct xpu_cpu_time *t = bpf_map_lookup_elem(&cpu_times, &key);

	if (!t || t->pid == (__u32)task->pid)
		return t;
	/* A thread that execs gets the tid of its process's first thread. */
	if (task->pid == task->tgid && t->tgid == (__u32)task->tgid) {
		t->pid = task->pid;
		return t;
	}
	bpf_map_delete_elem(&cpu_times, &key);
	return NULL;
}

static __always_inline void forget_time(const struct task_struct *task)
{
	__u64 key = (__u64)task;

	bpf_map_delete_elem(&cpu_times, &key);
}

/*
 * Opens the account of the current thread in the image @proc. The records up to @told_ns contain
 * the thread's first @exec_ns of CPU time. @flags: BPF_ANY, or BPF_NOEXIST to keep an account that
 * a sample has just opened. Return: the account, or NULL, which is counted, if the map is full.
 */
static __always_inline struct xpu_cpu_time *
open_time(struct task_struct *task, const struct xpu_proc *proc, __u64 exec_ns, __u64 told_ns,
	  __u64 flags)
{
	struct xpu_cpu_time new = {
		.exec_ns = exec_ns, .told_ns = told_ns, .proc_id = proc->proc_id,
		.tid = task_tid(task), .pid = task->pid, .tgid = task->tgid,
	};
	__u64 key = (__u64)task;
	struct xpu_cpu_time *t;

	bpf_map_update_elem(&cpu_times, &key, &new, flags);
	t = bpf_map_lookup_elem(&cpu_times, &key);
	if (!t)
		drop(XPU_LOST_ACCOUNT);
	return t;
}

/*
 * Return: the account of the current thread; NULL if the map is full. At @now_ns, the thread has
 * run for @exec_ns since its birth. If a thread began before the recording of its image, its CPU
 * time before its first sample is unknown, and at most one period is counted.
 */
static __always_inline struct xpu_cpu_time *
find_time(struct task_struct *task, const struct xpu_proc *proc, __u64 exec_ns, __u64 now_ns)
{
	struct xpu_cpu_time *t = lookup_time(task);

	if (t) {
		t->outside = false;
		return t;
	}
	if (task->start_time >= proc->begin_ns)
		return open_time(task, proc, 0, task->start_time, BPF_NOEXIST);
	return open_time(task, proc, exec_ns > sample_period_ns ? exec_ns - sample_period_ns : 0,
			 now_ns, BPF_NOEXIST);
}

/*
 * Return: how much of the thread's CPU time is in no record yet at @now_ns. @exec_ns: its CPU time
 * since birth. With windows, the time before @proc's window opened is left out.
 */
static __always_inline __u64 rest_time(struct xpu_cpu_time *t, const struct xpu_proc *proc,
				       __u64 exec_ns, __u64 now_ns)
{
	__u64 ns = exec_ns - t->exec_ns;

	if ((__s64)ns < 0)
		return 0;
	if (!only_windows || ns < now_ns - proc->in_window)
		return ns;
	ns = now_ns - proc->in_window;
	t->exec_ns = exec_ns - ns;
	return ns;
}

/*
 * Return: the time that a sample of @t stands for. Time that exceeds 32 bits is left for later
 * samples.
 */
static __always_inline __u32 ran_time(struct xpu_cpu_time *t, const struct xpu_proc *proc,
				      __u64 exec_ns, __u64 now_ns)
{
	__u64 ns = rest_time(t, proc, exec_ns, now_ns);

	return ns < 1ull << 32 ? ns ?: 1 : (__u32)-1;
}

/* Discards the current thread's time up to now, because no window of its process is open. */
static __always_inline void skip_time(struct task_struct *task, __u64 now_ns)
{
	struct xpu_cpu_time *t = lookup_time(task);

	if (t) {
		t->exec_ns = exec_time(task, now_ns);
		t->told_ns = now_ns;
		t->outside = true;
	}
}

static __always_inline void send_rest(__u32 proc_id, __u32 tid, __u64 from_ns, __u64 end_ns,
				      __s64 ns)
{
	struct xpu_ring_cpu_rest *r;

	if (ns <= 0)
		return;
	r = bpf_ringbuf_reserve(&ring, sizeof(*r), 0);
	if (!r) {
		drop(XPU_LOST_ACCOUNT);
		return;
	}
	r->hdr.type = XPU_RECORD_RING_CPU_REST;
	r->hdr.misc = 0;
	r->hdr.size = sizeof(*r);
	r->from_ns = from_ns;
	r->end_ns = end_ns;
	r->ns = ns;
	r->proc_id = proc_id;
	r->tid = tid;
	bpf_ringbuf_submit(r, ring_flags());
}

/*
 * Sends the current thread's CPU time since its last sample. Called when the thread ends, or is
 * about to replace its image @proc. @proc is NULL if another thread has already ended the process.
 */
static __always_inline void end_time(struct task_struct *task, const struct xpu_proc *proc)
{
	__u64 now_ns = bpf_ktime_get_ns(), exec_ns = exec_time(task, now_ns), ns;
	struct xpu_cpu_time *t;

	if (proc && (proc->unsampled || proc->stop != XPU_STOP_NONE ||
		     (only_windows && !proc->in_window))) {
		forget_time(task);
		return;
	}
	t = proc && task->start_time >= proc->begin_ns ? find_time(task, proc, exec_ns, now_ns) :
							 lookup_time(task);
	if (!t)
		return;
	if (!proc && t->outside) {
		forget_time(task);
		return;
	}
	if (only_windows && proc)
		rest_time(t, proc, exec_ns, now_ns);
	/* Update the account first, because a sample may be taken before the record is sent. */
	ns = exec_ns - __sync_lock_test_and_set(&t->exec_ns, exec_ns);
	if ((__s64)ns < 0)
		__sync_fetch_and_add(&t->exec_ns, -ns);	/* samples have counted too much:
							 * see on_free() */
	send_rest(t->proc_id, t->tid, t->told_ns, now_ns, ns);
	t->told_ns = t->end_ns = now_ns;
}

/*
 * Notes that the current thread has replaced the image @old by @new. @new is NULL if the map is
 * full. The CPU time of the exec is added to the new image; before Linux 6.10, it is added to the
 * old image.
 */
static __always_inline void change_time(struct task_struct *task, const struct xpu_proc *old,
					const struct xpu_proc *new)
{
	__u64 told_ns = bpf_ktime_get_ns(), exec_ns = exec_time(task, told_ns);
	struct xpu_cpu_time *t;

	if (!old->execs)
		end_time(task, old);
	t = lookup_time(task);
	if (t) {
		exec_ns = t->exec_ns;
		told_ns = t->told_ns;
	}
	t = new ? open_time(task, new, exec_ns, told_ns, BPF_ANY) : NULL;
	if (t)
		t->outside = only_windows;
}

#define LATE_SPAN_NS	1000000000
#define LATE_MIN_NS	1000000

/*
 * Called after a thread has ended. Linux frees the thread's memory after on_exit(). A short process
 * spends a tenth of its time on that, so this time is sent, too. It is summed up by process,
 * because the thread's name is gone. If nobody waits for the process, or if the machine is busy,
 * Linux frees the memory later. The time is then left out if the process has ended, because its
 * recording is complete.
 */
SEC("tp_btf/sched_process_free")
int BPF_PROG(on_free, struct task_struct *task)
{
	struct xpu_cpu_time *t = lookup_time(task);
	__u32 tgid = task->tgid;
	struct xpu_proc *proc;
	__u64 end_ns;
	__s64 ns;

	if (!t)
		return 0;
	/*
	 * The difference is negative if end_time() or samples counted stolen time as time of the
	 * thread. Later threads of the process make up for that.
	 */
	ns = task->se.sum_exec_runtime - t->exec_ns;
	end_ns = t->end_ns;
	proc = bpf_map_lookup_elem(&procs, &tgid);
	if (end_ns && proc && proc->proc_id == t->proc_id) {
		if (__sync_fetch_and_add(&proc->late_ns, ns) + ns >= LATE_MIN_NS)
			send_rest(t->proc_id, 0, end_ns, end_ns,
				  __sync_lock_test_and_set(&proc->late_ns, 0));
	} else if (end_ns && bpf_ktime_get_ns() - end_ns <= LATE_SPAN_NS) {
		send_rest(t->proc_id, 0, end_ns, end_ns, ns);
	}
	forget_time(task);
	return 0;
}
