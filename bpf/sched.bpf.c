// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Part of xpu.bpf.c: accounts for the time in which threads do not run. For every thread of the
 * recorded process tree it measures how long the thread ran, was runnable, and was blocked, by kind
 * and by place.
 *
 * A thread is in one of three states. Every switch and wakeup changes the state, and adds the time
 * since the last change to the old state's sum, so a thread's sums add up to its life exactly.
 * Blocked and runnable time is summed up here, by thread, stack and kind, so that most switches
 * make no record. A sum covers only a short span of time, so that xpumerge can cut out a window of
 * time. Long intervals are sent one by one. A stack is sent through the ring when it is first met,
 * and later referred to by a hash of 128 bits: among a million stacks, two have the same hash with
 * odds of 1 in 10^27.
 *
 * sched_switch runs with interrupts off, and nothing here may sleep: all maps are preallocated.
 */

#define OFF_STACK_BYTES	(XPU_FP_FRAMES * sizeof(__u64))
#define OFF_COPY_BYTES	1024	/* bytes of stack to copy in addition to a frame-pointer chain */
#define OFF_STACK_WORDS	(2 * XPU_FP_FRAMES)

#define OFF_LONG_NS	1000000		/* an interval of at least this length gets a record */
#define OFF_SPAN_NS	10000000	/* all intervals of a sum begin within this time ... */
#define OFF_GAP_NS	2000000		/* ... and the gaps between them are shorter than this */

const volatile __u64 off_min_ns = 0;		/* no sum includes shorter intervals */

static const volatile struct xpu_thread_state new_thread;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 15);
	__type(key, __u32);			/* the thread's pid in the initial namespace */
	__type(value, struct xpu_thread_state);
} thread_states SEC(".maps");

/* Stacks that have been sent, by process and hash. */
struct off_stack {
	__u32 proc_id;
	__u32 reserved;
	__u64 hash[2];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 16);
	__type(key, struct off_stack);
	__type(value, __u8);
} off_stacks SEC(".maps");

/*
 * Each CPU has one struct off_scratch. Samples have their own scratch memory, because a sample may
 * interrupt a task switch.
 */
struct off_scratch {
	__u8 record[sizeof(struct xpu_ring_off_stack) + 2 * OFF_STACK_BYTES + PYTHON_BYTES +
		    REGS_BYTES + XPU_STACK_MAX + PAGE_BYTES] __attribute__((aligned(8)));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);			/* the loader sets the number of CPUs */
	__type(key, __u32);
	__type(value, struct off_scratch);
} off_scratches SEC(".maps");

/* Return: the image of @task, or NULL if its time is not accounted for. */
static __always_inline struct xpu_proc *accounted_process(struct task_struct *task)
{
	__u32 tgid = task->tgid;
	struct xpu_proc *proc = bpf_map_lookup_elem(&procs, &tgid);

	return proc && !proc->unsampled && proc->stop == XPU_STOP_NONE ? proc : NULL;
}

static __always_inline void note_slot(struct task_struct *task, __u64 home)
{
	__u32 pid = task->pid;
	struct xpu_thread_state *t = bpf_map_lookup_elem(&thread_states, &pid);

	if (t)
		t->slot = home;
}

/* Opens the account of @task in the image @proc. */
static __always_inline void open_account(struct task_struct *task, const struct xpu_proc *proc,
					 __u32 state, __u64 now_ns)
{
	struct xpu_thread_state *t;
	__u32 pid = task->pid;

	/* Copy the constant new_thread: the state does not fit on the stack of a BPF program. */
	bpf_map_update_elem(&thread_states, &pid, (const void *)&new_thread, BPF_ANY);
	t = bpf_map_lookup_elem(&thread_states, &pid);
	if (!t) {
		drop(XPU_LOST_ACCOUNT);
		return;
	}
	t->proc_id = proc->proc_id;
	t->tid = task_tid(task);
	t->start_ns = t->since_ns = now_ns;
	t->state = state;
	t->exec_ns = BPF_CORE_READ(task, se.sum_exec_runtime);
}

/* Linux before 5.14 declares task_struct like this. */
struct task_struct___old {
	long state;
} __attribute__((preserve_access_index));

static __always_inline unsigned int task_state(struct task_struct *task)
{
	if (bpf_core_field_exists(task->__state))
		return BPF_CORE_READ(task, __state);
	return BPF_CORE_READ((struct task_struct___old *)task, state);
}

static __always_inline bool is_iowait(struct task_struct *task)
{
	return BPF_CORE_READ_BITFIELD_PROBED(task, in_iowait);
}

/*
 * Return: what kind of event a thread waits for when it stops running in @state, judged by its
 * system call.
 */
static __always_inline __u32 off_kind(struct task_struct *task, unsigned int state)
{
	unsigned long nr = -1;

	if (is_iowait(task))
		return XPU_OFF_IO;
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs)) {
		struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);

		nr = arch_syscall(regs);
	}
	if (nr < sizeof(kind_of_call) && kind_of_call[nr])
		return kind_of_call[nr] - 1;
	/*
	 * The thread is in a page fault, a driver or a lock of Linux, and usually waits for the
	 * disk.
	 */
	return state & 2 ? XPU_OFF_IO : XPU_OFF_OTHER;	/* TASK_UNINTERRUPTIBLE */
}

/*
 * Reads Linux's frames. With @user, also walks the user's frame pointers, and puts the user's
 * frames after Linux's frames. Return: the number of bytes of all frames.
 */
static __always_inline __u32 read_frames(void *ctx, struct xpu_ring_off_stack *r, bool user,
					 long *user_bytes)
{
	long n = sizeof(r->frames[0]), m = 0;
	__u32 bytes;

	/* Walking Linux's frames takes longest, about 2 us: skip that if nobody may see them. */
	if (!hide_kernel)
		n = bpf_get_stack(ctx, r->frames, OFF_STACK_BYTES, 0);
	n = kernel_frames(r->frames, n);
	if (n < 0)
		n = 0;
	BOUND(n, (long)OFF_STACK_BYTES);
	if (user)
		m = bpf_get_stack(ctx, (void *)r->frames + n, OFF_STACK_BYTES, BPF_F_USER_STACK);
	if (m >= (long)OFF_STACK_BYTES)
		r->flags |= XPU_CHAIN_TRUNCATED;
	if (m < 0)
		m = 0;
	BOUND(m, (long)OFF_STACK_BYTES);
	*user_bytes = m;
	bytes = n + m;
	BOUND(bytes, 2 * OFF_STACK_BYTES);
	if (!bytes)
		r->flags |= XPU_CHAIN_FAILED;
	return bytes;
}

/*
 * Sends a new stack of the current task. @r has @bytes of frames, and then Python's frames. With
 * @copy or @user, also sends as much of the stack as fits. @user: some frames were found by frame
 * pointers. Return: whether the stack was sent.
 */
static __always_inline bool send_stack(struct task_struct *task, struct xpu_ring_off_stack *r,
				       __u32 bytes, bool copy, bool user)
{
	__u32 copy_bytes = OFF_COPY_BYTES, python_bytes, stack_bytes;

	r->nr_frames = bytes / sizeof(__u64);
	/*
	 * The C library's functions for system calls usually have no frame pointer, so the caller
	 * is missing in a chain along frame pointers; the registers and the top of the stack
	 * identify the caller. Half of the ring is reserved for launches.
	 */
	python_bytes = r->nr_python * sizeof(struct xpu_python_frame);
	BOUND(python_bytes, PYTHON_BYTES);
	if (copy &&
	    bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) < 4 * ring_wakeup_bytes)
		copy_bytes = stack_room(&ring, sample_stack_bytes);
	if ((user || copy) &&
	    copy_stack(task, (void *)r->frames + bytes + python_bytes, &r->stack_bytes,
		       copy_bytes)) {
		r->flags |= XPU_CHAIN_STACK;
		stack_bytes = r->stack_bytes;
		BOUND(stack_bytes, XPU_STACK_MAX);
		bytes += python_bytes + REGS_BYTES + stack_bytes;
	} else {
		r->nr_python = 0;
	}
	BOUND(bytes, 2 * OFF_STACK_BYTES + PYTHON_BYTES + REGS_BYTES + XPU_STACK_MAX);
	r->hdr.type = XPU_RECORD_OFF_STACK;
	r->hdr.misc = 0;
	r->hdr.size = sizeof(*r) + bytes;
	return !bpf_ringbuf_output(&ring, r, sizeof(*r) + bytes, ring_flags());
}

/*
 * Reads the stack of the current task, which is about to stop running, and puts the stack's hash
 * into @t->hash. Sends a new stack: Linux's frames, Python's frames, and as large a copy of the
 * stack as a sample has. If a copy is unwanted or impossible, follows frame pointers instead.
 */
static __always_inline void take_stack(void *ctx, struct task_struct *task,
				       struct xpu_thread_state *t, __u64 now_ns)
{
	struct off_stack key = { .proc_id = t->proc_id };
	__u32 cpu = bpf_get_smp_processor_id(), tgid = task->tgid, bytes, i;
	struct xpu_ring_off_stack *r;
	struct xpu_proc *proc;
	long user_bytes;
	__u8 one = 1;
	bool copy;

	t->hash[0] = t->hash[1] = 0;
	r = bpf_map_lookup_elem(&off_scratches, &cpu);
	if (!r)
		return;
	r->flags = XPU_CHAIN_CPU | XPU_CHAIN_OFF;
	proc = sample_stack_bytes ? bpf_map_lookup_elem(&procs, &tgid) : NULL;
	copy = proc && BPF_CORE_READ(task, mm) && arch_is_64bit(user_regs(task)) &&
	       bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_loop);
	bytes = read_frames(ctx, r, !copy, &user_bytes);
	for (i = 0; i < OFF_STACK_WORDS; i++) {
		if (i >= bytes / sizeof(__u64))
			break;
		hash_word(key.hash, r->frames[i]);
	}
	hash_word(key.hash, bytes);

	r->nr_python = r->stack_bytes = 0;
	if (copy) {
		hash_place(task, t->proc_id, (void *)r->frames + 2 * OFF_STACK_BYTES,
			   t->kind != XPU_OFF_RUNNABLE, key.hash);
		walk_python(task, proc, &r->nr_python, (void *)r->frames + bytes, key.hash,
			    &t->tstate);
	}
	t->hash[0] = key.hash[0];
	t->hash[1] = key.hash[1];
	if (bpf_map_lookup_elem(&off_stacks, &key))
		return;

	r->time_ns = now_ns;
	r->proc_id = t->proc_id;
	r->tid = t->tid;
	r->hash[0] = key.hash[0];
	r->hash[1] = key.hash[1];
	/* If sending fails, the stack is sent when it appears again. */
	if (send_stack(task, r, bytes, copy, user_bytes))
		bpf_map_update_elem(&off_stacks, &key, &one, BPF_ANY);
	else
		drop(XPU_LOST_OFF_CPU);
}

/* Sends the sum @sum of @t, and clears it. */
static __always_inline void send_off(const struct xpu_thread_state *t, struct xpu_off_sum *sum)
{
	struct xpu_ring_off *r = bpf_ringbuf_reserve(&ring, sizeof(*r), 0);

	if (r) {
		r->hdr.type = XPU_RECORD_RING_OFF;
		r->hdr.misc = sum->kind;
		r->hdr.size = sizeof(*r);
		r->first_ns = sum->first_ns;
		r->last_ns = sum->last_ns;
		r->end_ns = sum->end_ns;
		r->nr = sum->nr;
		r->sum_ns = sum->sum_ns;
		r->max_ns = sum->max_ns;
		r->hash[0] = sum->hash[0];
		r->hash[1] = sum->hash[1];
		r->proc_id = t->proc_id;
		r->tid = t->tid;
		bpf_ringbuf_submit(r, ring_flags());
	} else {
		drop(XPU_LOST_OFF_CPU);
	}
	sum->nr = 0;
}

/*
 * Adds an interval: the thread was off the CPU from @start_ns to @end_ns, because of @kind. Sends a
 * long interval at once; others are summed up for a short time. If a thread blocks in more places
 * than it has sums, sends the oldest sum.
 */
static __noinline int add_off(struct xpu_thread_state *t, __u32 kind, __u64 start_ns, __u64 end_ns)
{
	struct xpu_off_sum *sum, one;
	__u64 ns = end_ns - start_ns;
	__u32 i;

	if (!ns || ns < off_min_ns)
		return 0;
	one = (struct xpu_off_sum){
		.hash = { t->hash[0], t->hash[1] }, .first_ns = start_ns, .last_ns = start_ns,
		.end_ns = end_ns, .sum_ns = ns, .max_ns = ns, .kind = kind, .nr = 1,
	};
	if (ns >= OFF_LONG_NS) {
		send_off(t, &one);
		return 0;
	}
	/*
	 * Keep the result of the search in memory: the verifier need not follow every path through
	 * the loop.
	 */
	t->sum = XPU_OFF_SUMS;
	t->oldest = 0;
	for (i = 0; i < XPU_OFF_SUMS; i++) {
		sum = &t->sums[i];
		if (sum->nr && sum->kind == kind && sum->hash[0] == t->hash[0] &&
		    sum->hash[1] == t->hash[1])
			t->sum = i;
		if (!sum->nr)
			sum->first_ns = 0;
		if (sum->first_ns < t->sums[t->oldest & (XPU_OFF_SUMS - 1)].first_ns)
			t->oldest = i;
	}
	i = t->sum;
	if (i >= XPU_OFF_SUMS)
		i = t->oldest;
	sum = &t->sums[i & (XPU_OFF_SUMS - 1)];
	if (t->sum < XPU_OFF_SUMS && start_ns - sum->first_ns < OFF_SPAN_NS &&
	    start_ns - sum->end_ns < OFF_GAP_NS) {
		sum->nr++;
		sum->sum_ns += ns;
		sum->last_ns = start_ns;
		sum->end_ns = end_ns;
		if (ns > sum->max_ns)
			sum->max_ns = ns;
		return 0;
	}
	if (sum->nr)
		send_off(t, sum);
	*sum = one;
	return 0;
}

/*
 * The next two functions are global, so that the verifier checks each function once, and not for
 * every path to each call. Before Linux 5.12 they cannot have pointer arguments.
 */

/* Adds the time in which thread @pid did not run: a blocked part and a runnable part. */
__noinline int add_off_times(__u32 pid, __u64 start_ns, __u64 woken_ns, __u64 end_ns, __u32 kind)
{
	struct xpu_thread_state *t = bpf_map_lookup_elem(&thread_states, &pid);

	if (!t)
		return 0;
	add_off(t, kind, start_ns, woken_ns);
	add_off(t, XPU_OFF_RUNNABLE, woken_ns, end_ns);
	return 0;
}

/* Sends the sums of thread @pid, which is ending. */
__noinline int send_sums(__u32 pid)
{
	struct xpu_thread_state *t = bpf_map_lookup_elem(&thread_states, &pid);
	__u32 i;

	for (i = 0; t && i < XPU_OFF_SUMS; i++)
		if (t->sums[i].nr)
			send_off(t, &t->sums[i]);
	return 0;
}

static __always_inline void begin_running(struct xpu_thread_state *t, __u32 pid, __u64 now_ns)
{
	struct xpu_off_time off;
	__u32 kind;

	if (!t || t->state == XPU_THREAD_RUNNING)
		return;
	kind = t->kind;
	off = xpu_thread__begin(t, now_ns);
	if (kind == XPU_OFF_CALL)
		return;
	add_off_times(pid, off.start_ns, off.woken_ns, off.end_ns, kind);
}

/*
 * Adds a running thread's time up to @now_ns to its account. @exec_ns: Linux's sum of the thread's
 * running time since its birth.
 */
static __always_inline void run_until(struct xpu_thread_state *t, __u32 pid, __u64 exec_ns,
				      __u64 now_ns)
{
	/* The switch to the thread may have been missed, which happens rarely. */
	if (t->state != XPU_THREAD_RUNNING)
		begin_running(t, pid, xpu_thread__unseen_begin(t, exec_ns, now_ns));
	t->exec_ns = exec_ns;
	xpu_thread__ran(t, now_ns);
}

/*
 * Closes the account of a thread that ends or execs. @task: the running thread; @pid: its pid
 * before the exec
 */
static __always_inline void close_account(struct task_struct *task, __u32 pid, __u64 now_ns)
{
	struct xpu_thread_state *t = bpf_map_lookup_elem(&thread_states, &pid);
	struct xpu_ring_account *r;

	if (!t)
		return;
	run_until(t, pid, BPF_CORE_READ(task, se.sum_exec_runtime), now_ns);
	send_sums(pid);
	r = bpf_ringbuf_reserve(&ring, sizeof(*r), 0);
	if (r) {
		r->hdr.type = XPU_RECORD_RING_ACCOUNT;
		r->hdr.misc = 0;
		r->hdr.size = sizeof(*r);
		r->start_ns = t->start_ns;
		r->end_ns = t->since_ns;
		r->proc_id = t->proc_id;
		r->tid = t->tid;
		r->time = t->time;
		bpf_ringbuf_submit(r, ring_flags());
	} else {
		drop(XPU_LOST_ACCOUNT);
	}
	bpf_map_delete_elem(&thread_states, &pid);
}

/* Closes the account of @task. The recording of its process stopped at @stop_ns. */
static __always_inline void stop_account(struct task_struct *task, __u64 stop_ns)
{
	__u32 pid = task->pid;
	struct xpu_thread_state *t = bpf_map_lookup_elem(&thread_states, &pid);

	/* The account of a thread that is not running ends with its last run. */
	if (t)
		close_account(task, pid, t->state == XPU_THREAD_RUNNING && stop_ns > t->since_ns ?
			      stop_ns : t->since_ns);
}

/* Whether the recording of @task's process has stopped. If so, closes the account of @task. */
static __always_inline bool is_stopped(struct task_struct *task, bool current)
{
	__u32 tgid = task->tgid;
	struct xpu_proc *proc;

	if (!restricted)
		return false;
	proc = bpf_map_lookup_elem(&procs, &tgid);
	if (!proc || proc->unsampled ||
	    (current ? is_recorded(task, proc) : proc->stop == XPU_STOP_NONE))
		return false;
	stop_account(task, proc->stop_ns);
	return true;
}

static __always_inline void switch_out(void *ctx, struct task_struct *task, bool runnable,
				       unsigned int state, __u64 now_ns)
{
	__u32 pid = task->pid, in_call = 0;
	struct xpu_thread_state *t;

	if (is_stopped(task, true))
		return;
	t = bpf_map_lookup_elem(&thread_states, &pid);
	if (!t) {
		struct xpu_proc *proc = sampled_process(task);

		if (!proc || BPF_CORE_READ(task, flags) & 4)	/* PF_EXITING */
			return;
		open_account(task, proc, XPU_THREAD_RUNNING, now_ns);
		t = bpf_map_lookup_elem(&thread_states, &pid);
		if (!t)
			return;
	}
	run_until(t, pid, BPF_CORE_READ(task, se.sum_exec_runtime), now_ns);
	t->time.nr_switches++;
	t->wake_ns = 0;
	t->state = runnable ? XPU_THREAD_RUNNABLE : XPU_THREAD_BLOCKED;
	t->kind = runnable ? XPU_OFF_RUNNABLE : off_kind(task, state);
	/* The shim records calls that wait for the device, so no stack is needed. */
	if (t->slot && !bpf_probe_read_user(&in_call, sizeof(in_call), (void *)t->slot +
					    offsetof(struct xpu_slot, in_call)) && in_call) {
		t->kind = XPU_OFF_CALL;
		return;
	}
	take_stack(ctx, task, t, now_ns);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	__u64 now_ns = bpf_ktime_get_ns();
	struct xpu_thread_state *t;
	__u32 pid;

	if (prev->pid) {
		unsigned int state = task_state(prev);

		switch_out(ctx, prev, preempt || !state, state, now_ns);
	}
	pid = next->pid;
	if (pid && !is_stopped(next, false)) {
		t = bpf_map_lookup_elem(&thread_states, &pid);
		if (t)
			begin_running(t, pid, now_ns);
	}
	return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(on_wakeup, struct task_struct *task)
{
	__u32 pid = task->pid;
	struct xpu_thread_state *t = bpf_map_lookup_elem(&thread_states, &pid);

	if (t && t->state == XPU_THREAD_BLOCKED && !t->wake_ns)
		t->wake_ns = bpf_ktime_get_ns();
	return 0;
}

/*
 * The next three programs run after the programs in xpu.bpf.c for the same events, so that they see
 * the new image. on_thread_start() is called for a new thread of a recorded image; the thread is
 * runnable.
 */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_thread_start, struct task_struct *parent, struct task_struct *child)
{
	struct xpu_proc *proc = accounted_process(child);
	__u64 now_ns = bpf_ktime_get_ns();

	if (proc)
		open_account(child, proc, XPU_THREAD_RUNNABLE, now_ns);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_thread_exec, struct task_struct *task, pid_t old_pid)
{
	__u64 now_ns = bpf_ktime_get_ns();
	struct xpu_proc *proc;

	if (!is_stopped(task, true))
		close_account(task, old_pid, now_ns);
	proc = accounted_process(task);
	if (proc)
		open_account(task, proc, XPU_THREAD_RUNNING, now_ns);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_thread_exit, struct task_struct *task)
{
	if (!is_stopped(task, true))
		close_account(task, task->pid, bpf_ktime_get_ns());
	return 0;
}
