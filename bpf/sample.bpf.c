// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Part of xpu.bpf.c: CPU samples. A perf event on each CPU calls on_sample() at the rate that the
 * loader has set. If the event interrupts a thread of the recorded process tree, on_sample()
 * sends a sample.
 *
 * Samples have their own ring, so that they never fill the launches' ring, and no launch waits for
 * a lock that a sampler holds.
 */

#define STACK_BYTES	(XPU_DEFAULT_FRAMES * sizeof(__u64))	/* the limit of bpf_get_stack() */

const volatile __u64 sample_wakeup_bytes = 0;

__u64 nr_samples = 0;			/* samples taken, including lost ones */

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 16 * 1024 * 1024);	/* the loader sets the size */
} sample_ring SEC(".maps");

/*
 * Samplers on one CPU never interrupt each other, so one struct sample_scratch for each CPU is
 * enough. Its last page is only for the verifier, which does not see that a copy is shorter if it
 * starts later.
 */
struct sample_scratch {
	__u8 record[sizeof(struct xpu_ring_sample) + STACK_BYTES + PYTHON_BYTES + REGS_BYTES +
		    XPU_STACK_MAX + PAGE_BYTES] __attribute__((aligned(8)));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);			/* the loader sets the number of CPUs */
	__type(key, __u32);
	__type(value, struct sample_scratch);
} sample_scratches SEC(".maps");

/*
 * Return: the image that @task runs, or NULL if the task should not be sampled. This runs for every
 * thread on the machine.
 */
static __always_inline struct xpu_proc *sampled_process(struct task_struct *task)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32;
	struct xpu_proc *proc = bpf_map_lookup_elem(&procs, &tgid);

	if (!proc && (sample_all || has_roots()) && is_wanted(task))
		proc = take_up(task);
	if (!proc || proc->unsampled || (only_windows && !proc->in_window))
		return NULL;
	return is_recorded(task, proc) ? proc : NULL;
}

/*
 * Puts the kernel frames into @r, then the Python frames and a copy of the stack. If the stack is
 * not copied, the frames along frame pointers follow the kernel frames instead. Return: the total
 * number of bytes.
 */
static __always_inline __u32 read_stacks(struct bpf_perf_event_data *ctx, struct task_struct *task,
					 struct xpu_proc *proc, struct xpu_ring_sample *r)
{
	long kernel_bytes = 0, user_bytes = 0;
	__u32 bytes, python_bytes = 0, stack_bytes;
	__u64 tstate = 0;

	r->flags = XPU_CHAIN_CPU;
	r->nr_python = r->stack_bytes = 0;
	if (!arch_in_user(ctx)) {
		kernel_bytes = kernel_frames(r->frames,
					     bpf_get_stack(ctx, r->frames, STACK_BYTES, 0));
		if (kernel_bytes < 0)
			kernel_bytes = 0;
	}
	BOUND(kernel_bytes, (long)STACK_BYTES);
	if (sample_stack_bytes && BPF_CORE_READ(task, mm)) {
		walk_python(task, proc, &r->nr_python, (void *)r->frames + kernel_bytes, NULL,
			    &tstate);
		python_bytes = r->nr_python * sizeof(struct xpu_python_frame);
		BOUND(python_bytes, PYTHON_BYTES);
		if (copy_stack(task, (void *)r->frames + kernel_bytes + python_bytes,
			       &r->stack_bytes, stack_room(&sample_ring, sample_stack_bytes)))
			r->flags |= XPU_CHAIN_STACK;
	}
	if (r->flags & XPU_CHAIN_STACK) {
		stack_bytes = r->stack_bytes;
		BOUND(stack_bytes, XPU_STACK_MAX);
		bytes = kernel_bytes + python_bytes + REGS_BYTES + stack_bytes;
		BOUND(bytes, STACK_BYTES + PYTHON_BYTES + REGS_BYTES + XPU_STACK_MAX);
	} else {
		r->stack_bytes = r->nr_python = 0;
		user_bytes = bpf_get_stack(ctx, (void *)r->frames + kernel_bytes, STACK_BYTES,
					   BPF_F_USER_STACK);
		if (user_bytes >= (long)STACK_BYTES)
			r->flags |= XPU_CHAIN_TRUNCATED;
		if (user_bytes < 0)
			user_bytes = 0;
		bytes = kernel_bytes + user_bytes;
		if (!bytes)
			r->flags |= XPU_CHAIN_FAILED;
		BOUND(bytes, 2 * STACK_BYTES);
	}
	r->nr_frames = (kernel_bytes + user_bytes) / sizeof(__u64);
	return bytes;
}

/*
 * Notes a value of the scheduler's clock for exec_time(): the value that the event of @ctx read
 * when the event's timer fired.
 * @now_ns: CLOCK_MONOTONIC
 */
static __always_inline void note_clock(struct bpf_perf_event_data *ctx, __u64 now_ns)
{
	struct perf_event *event = NULL;
	__u64 clock_ns = 0;

	bpf_core_read(&event, sizeof(event), &((struct bpf_perf_event_data_kern *)ctx)->event);
	bpf_core_read(&clock_ns, sizeof(clock_ns), &event->hw.prev_count);
	if (clock_ns)
		sched_clock_ahead_ns = clock_ns - now_ns;
}

SEC("perf_event")
int on_sample(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 cpu = bpf_get_smp_processor_id();
	__u64 flags = BPF_RB_NO_WAKEUP;
	__u64 now_ns = bpf_ktime_get_ns(), exec_ns;
	struct xpu_ring_sample *r;
	struct xpu_proc *proc;
	struct xpu_cpu_time *t;
	__u32 bytes, i;
	long err = -1;

	proc = sampled_process(task);
	if (proc || !sched_clock_ahead_ns)
		note_clock(ctx, now_ns);
	if (!proc) {
		if (only_windows)
			skip_time(task, now_ns);
		return 0;
	}
	exec_ns = exec_time(task, now_ns);
	t = find_time(task, proc, exec_ns, now_ns);
	__sync_fetch_and_add(&nr_samples, 1);
	r = bpf_map_lookup_elem(&sample_scratches, &cpu);
	if (!r) {
		drop(XPU_LOST_SAMPLE);
		return 0;
	}
	bytes = read_stacks(ctx, task, proc, r);

	r->hdr.type = XPU_RECORD_SAMPLE;
	r->hdr.misc = 0;
	r->hdr.size = sizeof(*r) + bytes;
	r->time_ns = now_ns;
	r->proc_id = proc->proc_id;
	r->tid = task_tid(task);
	r->cpu = cpu;
	r->reserved = 0;
	r->ran_ns = t ? ran_time(t, proc, exec_ns, now_ns) : sample_period_ns;

	if (bpf_ringbuf_query(&sample_ring, BPF_RB_AVAIL_DATA) >= sample_wakeup_bytes)
		flags = BPF_RB_FORCE_WAKEUP;
	/* Before Linux 6.15, an NMI only tries to take the ring's lock, so try up to four times. */
	for (i = 0; i < 4 && err; i++)
		err = bpf_ringbuf_output(&sample_ring, r, sizeof(*r) + bytes, flags);
	if (err) {
		drop(XPU_LOST_SAMPLE);		/* the next sample covers this time, too */
	} else if (t) {
		t->exec_ns += r->ran_ns;
		t->told_ns = now_ns;
	}
	return 0;
}
