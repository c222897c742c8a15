// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * The CPU side, part of xpu.bpf.c: a perf event on each CPU calls on_sample() as often as the loader
 * has set it to; what it interrupts of the recorded process tree becomes a sample.
 *
 * Samples have a ring of their own, so that no launch is lost for want of room, or waits for a lock
 * that a sampler holds.
 */

#define STACK_BYTES	(XPU_DEFAULT_FRAMES * sizeof(__u64))	/* of frames: bpf_get_stack's limit */

const volatile __u64 sample_wakeup_bytes = 0;

__u64 nr_samples = 0;			/* taken, lost ones included */

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 16 * 1024 * 1024);	/* the loader sets it */
} sample_ring SEC(".maps");

const volatile __u32 sample_stack_bytes = 0;	/* of the stack to copy; 0: follow frame pointers */

#define PAGE_BYTES	4096
#define REGS_BYTES	(XPU_NR_REGS * sizeof(__u64))

/*
 * A sampler is never interrupted by another one, so there is one of these for each CPU. The last page
 * is for the verifier, which does not see that the end of a copy depends on its start.
 */
struct sample_scratch {
	__u8 record[sizeof(struct xpu_ring_sample) + STACK_BYTES + REGS_BYTES + XPU_STACK_MAX +
		    PAGE_BYTES] __attribute__((aligned(8)));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);			/* the loader sets it: CPUs */
	__type(key, __u32);
	__type(value, struct sample_scratch);
} sample_scratches SEC(".maps");

/* The image that @task runs, if it is to be sampled. Everything that runs comes by here. */
static __always_inline struct xpu_proc *sampled_process(struct task_struct *task)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32;
	struct xpu_proc *proc = bpf_map_lookup_elem(&procs, &tgid);

	if (!proc && attach_pid && task_pid(task) == attach_pid) {
		new_process(task, XPU_MISC_PROCESS_ATTACH, NULL);
		proc = bpf_map_lookup_elem(&procs, &tgid);
	}
	return proc && !proc->unsampled ? proc : NULL;
}

/* The registers with which @task will go on in its program. */
static __always_inline struct pt_regs *user_regs(struct task_struct *task)
{
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		return (struct pt_regs *)bpf_task_pt_regs(task);
	/* Before Linux 5.15. */
	return (struct pt_regs *)(BPF_CORE_READ(task, stack) + 16384) - 1;
}

/* Copies the registers of @task, the current one, to @r. Return: 0, or -1 if this is no 64-bit program. */
static __always_inline int copy_regs(struct task_struct *task, __u64 *r)
{
	struct pt_regs regs = {};

	if (bpf_probe_read_kernel(&regs, sizeof(regs), user_regs(task)) || regs.cs == 0x23)
		return -1;
	r[XPU_REG_AX] = regs.ax;
	r[XPU_REG_DX] = regs.dx;
	r[XPU_REG_CX] = regs.cx;
	r[XPU_REG_BX] = regs.bx;
	r[XPU_REG_SI] = regs.si;
	r[XPU_REG_DI] = regs.di;
	r[XPU_REG_BP] = regs.bp;
	r[XPU_REG_SP] = regs.sp;
	r[XPU_REG_R8] = regs.r8;
	r[XPU_REG_R9] = regs.r9;
	r[XPU_REG_R10] = regs.r10;
	r[XPU_REG_R11] = regs.r11;
	r[XPU_REG_R12] = regs.r12;
	r[XPU_REG_R13] = regs.r13;
	r[XPU_REG_R14] = regs.r14;
	r[XPU_REG_R15] = regs.r15;
	r[XPU_REG_IP] = regs.ip;
	return 0;
}

/**
 * copy_stack - take the registers and the top of the stack, for somebody else to unwind
 * @task: the current one
 * @to: room for REGS_BYTES and XPU_STACK_MAX, and a page
 *
 * Return: bytes of the stack, 0 if it cannot be read, or -1 if this is no 64-bit program.
 */
static __always_inline long copy_stack(struct task_struct *task, void *to)
{
	__u64 *r = to, sp;
	__u32 bytes = 0, n, i;

	if (copy_regs(task, r))
		return -1;
	sp = r[XPU_REG_SP];
	to += REGS_BYTES;
	/* By pages, for the stack ends before one that cannot be read. */
	for (i = 0; i <= XPU_STACK_MAX / PAGE_BYTES + 1; i++) {
		BOUND(bytes, XPU_STACK_MAX);
		if (bytes >= sample_stack_bytes)
			break;
		n = PAGE_BYTES - ((sp + bytes) & (PAGE_BYTES - 1));
		if (n > sample_stack_bytes - bytes)
			n = sample_stack_bytes - bytes;
		BOUND(n, PAGE_BYTES);
		if (bpf_probe_read_user(to + bytes, n, (void *)sp + bytes))
			break;
		bytes += n;
	}
	return bytes & ~7u;
}

SEC("perf_event")
int on_sample(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 cpu = bpf_get_smp_processor_id();
	long kernel_bytes = 0, user_bytes = 0, stack_bytes = -1;
	struct xpu_ring_sample *r;
	struct xpu_proc *proc;
	__u64 flags = BPF_RB_NO_WAKEUP;
	__u32 bytes, i;
	long err = -1;

	proc = sampled_process(task);
	if (!proc)
		return 0;
	__sync_fetch_and_add(&nr_samples, 1);
	r = bpf_map_lookup_elem(&sample_scratches, &cpu);
	if (!r) {
		drop(XPU_LOST_SAMPLE);
		return 0;
	}
	r->flags = XPU_CHAIN_CPU;
	/* The context is read by whole words only, whatever type cs has in this kernel. */
	if (!(*(volatile __u64 *)&ctx->regs.cs & 3)) {
		kernel_bytes = bpf_get_stack(ctx, r->frames, STACK_BYTES, 0);
		if (kernel_bytes < 0)
			kernel_bytes = 0;
	}
	BOUND(kernel_bytes, (long)STACK_BYTES);
	if (sample_stack_bytes && BPF_CORE_READ(task, mm))
		stack_bytes = copy_stack(task, (void *)r->frames + kernel_bytes);
	if (stack_bytes >= 0) {
		r->flags |= XPU_CHAIN_STACK;
		bytes = kernel_bytes + REGS_BYTES + stack_bytes;
		BOUND(bytes, STACK_BYTES + REGS_BYTES + XPU_STACK_MAX);
	} else {
		stack_bytes = 0;
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

	r->hdr.type = XPU_RECORD_SAMPLE;
	r->hdr.misc = 0;
	r->hdr.size = sizeof(*r) + bytes;
	r->time_ns = bpf_ktime_get_ns();
	r->proc_id = proc->proc_id;
	r->tid = task_tid(task);
	r->cpu = cpu;
	r->nr_frames = (kernel_bytes + user_bytes) / sizeof(__u64);
	r->stack_bytes = stack_bytes;
	r->reserved = 0;

	if (bpf_ringbuf_query(&sample_ring, BPF_RB_AVAIL_DATA) >= sample_wakeup_bytes)
		flags = BPF_RB_FORCE_WAKEUP;
	/* In an NMI the ring's lock is only tried, before Linux 6.15. */
	for (i = 0; i < 4 && err; i++)
		err = bpf_ringbuf_output(&sample_ring, r, sizeof(*r) + bytes, flags);
	if (err)
		drop(XPU_LOST_SAMPLE);
	return 0;
}
