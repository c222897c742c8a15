// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Part of xpu.bpf.c: decides which processes the loader's invoker may record.
 *
 * BPF programs may read every process. If the invoker has no CAP_SYS_PTRACE, the loader sets
 * "restricted", and a process is recorded only while Linux would let the invoker read it. The rules
 * are the same as in ptrace_may_access(PTRACE_MODE_READ_REALCREDS), which perf_event_open() applies
 * to ordinary users. They are checked at each event of a process, so that no event gets into the
 * ring after the process has executed a set-user-ID program, for example. A process whose recording
 * was stopped is not recorded again.
 */

#define MAX_USER_NS	33		/* Linux's limit of nested user namespaces */
#define HIDDEN_KERNEL	(~0ull << 12)	/* an address that no function of Linux has */
#define DUMPABLE_MASK	3		/* in mm_struct.flags */
#define DUMPABLE_USER	1		/* SUID_DUMP_USER: not only root may dump the process */

const volatile bool restricted = false;
const volatile bool hide_kernel = false;	/* hide the addresses of Linux's functions */

/* The user that the loader runs for; set by identify(). */
struct {
	__u32 uid, gid, euid;
	__u32 knows_dumpable;		/* the layout of this Linux's mm_struct is known */
	__u64 caps;			/* capabilities, except those that the loader's file
					 * grants */
	__u64 user_ns;
} invoker = {};

__u64 nr_stopped = 0;
__u64 nr_left_alone = 0;

/* Linux 6.18 changed the type of the flags. */
struct mm_struct___word {
	unsigned long flags;
} __attribute__((preserve_access_index));

struct mm_struct___bitmap {
	struct {
		unsigned long __mm_flags[1];
	} flags;
} __attribute__((preserve_access_index));

/*
 * Replaces the @bytes of kernel frames by a single frame if the invoker may not know kernel
 * addresses. Return: the new number of bytes.
 */
static __always_inline long kernel_frames(__u64 *frames, long bytes)
{
	if (!hide_kernel || bytes <= 0)
		return bytes;
	frames[0] = HIDDEN_KERNEL;
	return sizeof(frames[0]);
}

static __always_inline bool knows_dumpable(void)
{
	return bpf_core_field_exists(((struct mm_struct___word *)0)->flags) ||
	       bpf_core_field_exists(((struct mm_struct___bitmap *)0)->flags);
}

static __always_inline bool is_dumpable(struct mm_struct *mm)
{
	unsigned long flags = 0;

	if (bpf_core_field_exists(((struct mm_struct___word *)0)->flags))
		flags = BPF_CORE_READ((struct mm_struct___word *)mm, flags);
	else if (bpf_core_field_exists(((struct mm_struct___bitmap *)0)->flags))
		flags = BPF_CORE_READ((struct mm_struct___bitmap *)mm, flags.__mm_flags[0]);
	return (flags & DUMPABLE_MASK) == DUMPABLE_USER;
}

/* Before Linux 6.3, a set of capabilities is two words; later, one word with the same bytes. */
#define READ_CAPS(cred, field)							\
({										\
	__u64 _caps = ~0ull;							\
										\
	bpf_probe_read_kernel(&_caps, sizeof(_caps),				\
			      (void *)(cred) + bpf_core_field_offset(struct cred, field)); \
	_caps;									\
})

/*
 * Stores the invoker's identity; called by identify(). Without file capabilities, an ordinary
 * user's program has only ambient capabilities.
 */
static __always_inline void identify_invoker(struct task_struct *task)
{
	const struct cred *cred = BPF_CORE_READ(task, real_cred);

	invoker.uid = BPF_CORE_READ(cred, uid.val);
	invoker.gid = BPF_CORE_READ(cred, gid.val);
	invoker.euid = BPF_CORE_READ(cred, euid.val);
	invoker.user_ns = (__u64)BPF_CORE_READ(cred, user_ns);
	invoker.caps = invoker.uid ? READ_CAPS(cred, cap_ambient) : READ_CAPS(cred, cap_permitted);
	invoker.knows_dumpable = knows_dumpable();
}

/*
 * Whether the invoker has every capability in @ns, because it made @ns or a namespace that contains
 * @ns.
 */
static __always_inline bool owns(struct user_namespace *ns)
{
	struct user_namespace *parent;
	int i;

	for (i = 0; i < MAX_USER_NS; i++) {
		if (!ns || (__u64)ns == invoker.user_ns)
			return false;
		parent = BPF_CORE_READ(ns, parent);
		if ((__u64)parent == invoker.user_ns &&
		    BPF_CORE_READ(ns, owner.val) == invoker.euid)
			return true;
		ns = parent;
	}
	return false;
}

/*
 * Whether Linux would let the invoker read @task. Each thread has its own credentials. They are
 * read without helpers, because this runs at each event.
 */
static __noinline bool may_record(struct task_struct *task)
{
	const struct cred *cred;
	struct mm_struct *mm;
	bool own;

	if (!restricted)
		return true;
	cred = task->real_cred;
	if ((__u64)cred->user_ns == invoker.user_ns)
		own = cred->uid.val == invoker.uid && cred->euid.val == invoker.uid &&
		      cred->suid.val == invoker.uid && cred->gid.val == invoker.gid &&
		      cred->egid.val == invoker.gid && cred->sgid.val == invoker.gid &&
		      !(READ_CAPS(cred, cap_permitted) & ~invoker.caps);
	else
		own = owns(cred->user_ns);	/* for example in a rootless container */
	if (!own)
		return false;
	mm = task->mm;
	return !mm || is_dumpable(mm) || owns(BPF_CORE_READ(mm, user_ns));
}

/*
 * Reports to the loader, once, that the recording of @proc was stopped. If the ring is full, a
 * later call reports it.
 */
static __always_inline void tell_stop(struct xpu_proc *proc)
{
	struct xpu_record_process_exit *r;

	if (__sync_val_compare_and_swap(&proc->stop, XPU_STOP_UNTOLD, XPU_STOP_TOLD) !=
	    XPU_STOP_UNTOLD)
		return;
	r = bpf_ringbuf_reserve(&ring, sizeof(*r), 0);
	if (!r) {
		proc->stop = XPU_STOP_UNTOLD;
		return;
	}
	r->hdr.type = XPU_RECORD_PROCESS_EXIT;
	r->hdr.misc = XPU_MISC_EXIT_STOPPED;
	r->hdr.size = sizeof(*r);
	r->time_ns = proc->stop_ns;
	r->proc_id = proc->proc_id;
	r->pid = proc->pid;
	r->exit_code = 0;
	r->reserved = 0;
	bpf_ringbuf_submit(r, BPF_RB_FORCE_WAKEUP);
}

/*
 * Whether to continue to record the process of @task, whose entry is @proc. If not, stops the
 * recording. If an exec is the reason, the recording stops at the current time. Otherwise it stops
 * at the time of the last check that the process passed, since it is unknown when the process
 * changed.
 */
static __noinline bool is_recorded(struct task_struct *task, struct xpu_proc *proc)
{
	__u64 now_ns;

	if (!restricted)
		return true;
	if (!proc)
		return false;
	/* Before its exec, the target's process has the capabilities of the loader's file. */
	if (proc->unsampled)
		return true;
	if (proc->stop == XPU_STOP_NONE) {
		now_ns = bpf_ktime_get_ns();
		if (may_record(task)) {
			proc->ok_ns = now_ns;
			return true;
		}
		if (!__sync_val_compare_and_swap(&proc->stop_ns, 0,
						 proc->execs ? now_ns : proc->ok_ns)) {
			__sync_fetch_and_add(&nr_stopped, 1);
			proc->stop = XPU_STOP_UNTOLD;
		}
	}
	tell_stop(proc);
	return false;
}

/*
 * Counts the process of @task as left alone, but only once. It would be recorded if it did not
 * belong to another user.
 */
static __noinline int leave_alone(struct task_struct *task)
{
	struct xpu_proc proc = { .stop = XPU_STOP_LEFT_ALONE };
	__u32 tgid = BPF_CORE_READ(task, tgid), pid = task_pid(task), *how;

	if (!BPF_CORE_READ(task, mm))		/* @task is a kernel thread */
		return 0;
	if (bpf_map_update_elem(&procs, &tgid, &proc, BPF_NOEXIST))
		return 0;
	how = bpf_map_lookup_elem(&wanted, &pid);
	if (!how || *how != XPU_WANTED_DENIED)
		__sync_fetch_and_add(&nr_left_alone, 1);
	return 0;
}
