// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * The BPF programs on the shim's probe sites read the exact correlation ids and the finished device
 * work. Other programs in this file follow the target's process tree. The other *.bpf.c files have
 * the programs for CPU samples and off-CPU time.
 *
 * A uprobe program can be preempted by another task that enters the same program on the same CPU,
 * so a per-CPU scratch area would mix two launches. Scratch memory is per task here.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "xpu_record.h"
#include "xpu_slot.h"
#include "xpu_time.h"
#include "xpu.h"
#include "xpu_arch.h"

#define SIGKILL	9
#define EEXIST	17

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Set by the loader before the programs are loaded. */
const volatile __u64 ring_wakeup_bytes = 0;
const volatile bool want_waits = true;
const volatile bool want_accounts = false;
const volatile bool only_windows = false;	/* sample only while a process's window is open */
const volatile __u32 max_frames = XPU_MAX_FRAMES;	/* limit of each call chain made here */

/* Set by identify(), which the loader runs in its own context. */
__u32 loader_tgid = 0;
__u32 loader_pidns_level = 0;
__u64 loader_pidns = 0;			/* kernel address of the loader's pid namespace */

/*
 * Which running processes to record. attach_wanted selects the processes in the map "wanted";
 * attach_all selects every process that passes the filter. Recording begins when such a process
 * calls a probe site, is sampled, or forks.
 */
bool attach_wanted = false;
bool attach_all = false;
bool sample_all = false;		/* with attach_all: include processes without the shim */
bool no_children = false;		/* do not record children of recorded processes */

/*
 * attach_all is limited to processes with this name and in this cgroup. An empty name matches all.
 */
const volatile char filter_comm[XPU_COMM_LEN] = "";
const volatile __u64 filter_cgroup = 0;		/* the inode of the cgroup's directory; 0: any */
const volatile __u32 filter_hierarchy = 0;	/* number of the cgroup's hierarchy; 0: cgroup v2 */

/* Number of children that called CUDA before the loader had raised their shim's semaphores. */
__u64 nr_late = 0;

/* While set, the loader's next child becomes the root of the recorded tree. */
bool adopt_child = false;
__u32 root_tgid = 0;

__u32 last_proc_id = 0;
__u64 dropped[XPU_LOST_NR] = {};
struct xpu_signal root_signals[XPU_SIGNALS] = {};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 * 1024 * 1024);	/* the loader sets the size */
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 18);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct xpu_proc);
} procs SEC(".maps");

/* The keys are process ids in the loader's pid namespace. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 18);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, __u32);
} wanted SEC(".maps");

/*
 * The losses of each process, so that a broken or hostile process does not make others look lossy.
 * A process without losses has no entry. If the map is full, the least recently used entry is
 * dropped; its losses then remain only in the total.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1 << 14);
	__type(key, __u32);
	__type(value, struct xpu_loss);
} losses SEC(".maps");

#define FRAMES_BYTES	(XPU_MAX_FRAMES * sizeof(__u64))
#define LAUNCH_BYTES	(sizeof(struct xpu_ring_launch) + FRAMES_BYTES)
#define LOG_BYTES	(sizeof(struct xpu_ring_log) + \
			 XPU_LOG_ENTRIES * sizeof(struct xpu_log_entry))

/* Holds a struct xpu_ring_launch with its frames, or a struct xpu_ring_log with its entries. */
struct scratch {
	__u8 record[LAUNCH_BYTES > LOG_BYTES ? LAUNCH_BYTES : LOG_BYTES]
		__attribute__((aligned(8)));
	__u64 log;			/* address of the task's struct xpu_log, or 0 */
	__u32 proc_id;			/* the process image that the log belongs to */
	__u32 reserved;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct scratch);
} scratches SEC(".maps");

/* A bound on @n that the compiler cannot optimize away before the verifier has seen it. */
#define BOUND(n, max)				\
({						\
	asm volatile("" : "+r"(n));		\
	if (n > (max))				\
		n = (max);			\
})

static __always_inline void drop_many(__u32 kind, __u64 nr)
{
	__sync_fetch_and_add(&dropped[kind], nr);
}

static __always_inline void drop(__u32 kind)
{
	drop_many(kind, 1);
}

/* Counts @nr losses of @kind, in total and for the process image @proc_id. */
static __noinline int drop_of(__u32 proc_id, __u32 kind, __u64 nr)
{
	struct xpu_loss *loss, none = {};

	if (!nr || kind >= XPU_LOST_NR)
		return 0;
	drop_many(kind, nr);
	loss = bpf_map_lookup_elem(&losses, &proc_id);
	if (!loss) {
		bpf_map_update_elem(&losses, &proc_id, &none, BPF_NOEXIST);
		loss = bpf_map_lookup_elem(&losses, &proc_id);
		if (!loss)
			return 0;
	}
	if (kind == XPU_LOST_READ)
		__sync_fetch_and_add(&loss->nr_unread, nr);
	else if (kind == XPU_LOST_RANGE)
		__sync_fetch_and_add(&loss->nr_ranges, nr);
	else if (kind == XPU_LOST_BATCH)
		__sync_fetch_and_add(&loss->nr_batches, nr);
	else if (kind == XPU_LOST_WAIT)
		__sync_fetch_and_add(&loss->nr_waits, nr);
	else if (kind == XPU_LOST_ALLOC)
		__sync_fetch_and_add(&loss->nr_allocs, nr);
	else if (kind == XPU_LOST_LAUNCH || kind == XPU_LOST_SCRATCH)
		__sync_fetch_and_add(&loss->nr_launches, nr);
	return 0;
}

static __always_inline __u64 ring_flags(void)
{
	/*
	 * Wake the reader only when there is enough to read; the reader also looks at the ring now
	 * and then.
	 */
	if (bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) >= ring_wakeup_bytes)
		return BPF_RB_FORCE_WAKEUP;
	return BPF_RB_NO_WAKEUP;
}

/* Return: @pid's number in its pid namespace at @level. */
static __always_inline struct upid pid_at(struct pid *pid, __u32 level)
{
	void *numbers = (void *)pid + bpf_core_field_offset(struct pid, numbers);
	struct upid upid = {};

	bpf_core_read(&upid, sizeof(upid), numbers + level * bpf_core_type_size(struct upid));
	return upid;
}

/* Return: the number of @pid in the loader's pid namespace; 0 if it has none there. */
static __always_inline __u32 pid_in_loader_ns(struct pid *pid)
{
	struct upid upid;

	if (BPF_CORE_READ(pid, level) < loader_pidns_level)
		return 0;
	upid = pid_at(pid, loader_pidns_level);
	return (__u64)upid.ns == loader_pidns ? upid.nr : 0;
}

/* Return: the number of @pid in its own namespace. */
static __always_inline __u32 pid_in_own_ns(struct pid *pid)
{
	return pid_at(pid, BPF_CORE_READ(pid, level)).nr;
}

static __always_inline __u32 task_tid(struct task_struct *task)
{
	if (!loader_pidns_level)
		return BPF_CORE_READ(task, pid);
	return pid_in_loader_ns(BPF_CORE_READ(task, thread_pid));
}

static __always_inline __u32 task_pid(struct task_struct *task)
{
	if (!loader_pidns_level)
		return BPF_CORE_READ(task, tgid);
	return pid_in_loader_ns(BPF_CORE_READ(task, group_leader, thread_pid));
}

#include "permit.bpf.c"
#include "select.bpf.c"
#include "cputime.bpf.c"

/**
 * new_process - give a process image an id and tell the loader
 * @task: a task of the process
 * @how: XPU_MISC_PROCESS_*
 * @parent: the image that the new image was made from, or NULL
 */
static __always_inline void new_process(struct task_struct *task, __u16 how,
					const struct xpu_proc *parent)
{
	struct xpu_record_process *r;
	struct task_struct *leader;
	struct xpu_proc proc = {};
	__u32 parent_id = parent ? parent->proc_id : 0;
	__u32 tgid = BPF_CORE_READ(task, tgid);
	long err;

	/*
	 * A process whose end has been reported still runs in Linux for a while: do not take it for
	 * a new image.
	 */
	if (how == XPU_MISC_PROCESS_ATTACH && BPF_CORE_READ(task, signal, live.counter) <= 0)
		return;
	proc.proc_id = __sync_fetch_and_add(&last_proc_id, 1) + 1;
	proc.pid = task_pid(task);
	proc.ok_ns = bpf_ktime_get_ns();
	if (how != XPU_MISC_PROCESS_FORK)
		proc.begin_ns = proc.ok_ns;
	proc.unsampled = how == XPU_MISC_PROCESS_ROOT;
	if (how == XPU_MISC_PROCESS_FORK && parent)
		proc.python_from = parent->python_from ?: parent->proc_id;
	err = bpf_map_update_elem(&procs, &tgid, &proc,
				  how == XPU_MISC_PROCESS_ATTACH ? BPF_NOEXIST : BPF_ANY);
	if (err == -EEXIST)			/* another thread has made the entry meanwhile */
		return;
	if (err) {
		drop(XPU_LOST_PROCESS);
		return;
	}
	if (how == XPU_MISC_PROCESS_ROOT)
		root_tgid = tgid;

	r = bpf_ringbuf_reserve(&ring, sizeof(*r), 0);
	if (!r) {
		drop(XPU_LOST_PROCESS);
		return;
	}
	r->hdr.type = XPU_RECORD_PROCESS;
	r->hdr.misc = how;
	r->hdr.size = sizeof(*r);
	r->time_ns = bpf_ktime_get_ns();
	r->proc_id = proc.proc_id;
	r->pid = proc.pid;
	r->parent_proc_id = parent_id;
	r->reserved = 0;
	/*
	 * Use the leader's name: in running processes, the first caller is usually the shim's own
	 * thread.
	 */
	leader = BPF_CORE_READ(task, group_leader);
	bpf_core_read_str(r->comm, sizeof(r->comm), &leader->comm);
	bpf_ringbuf_submit(r, BPF_RB_FORCE_WAKEUP);
}

/*
 * Begins to record a running process if the invoker may record it. Return: the process's entry, or
 * NULL.
 */
static __always_inline struct xpu_proc *take_up(struct task_struct *task)
{
	__u32 tgid = BPF_CORE_READ(task, tgid);

	if (!may_record(task)) {
		leave_alone(task);
		return NULL;
	}
	new_process(task, XPU_MISC_PROCESS_ATTACH, NULL);
	return bpf_map_lookup_elem(&procs, &tgid);
}

/*
 * Stores the loader's ids and namespace in the variables above. The loader runs this once, in its
 * own context. Programs of the type "syscall" exist since Linux 5.14 only.
 */
SEC("raw_tp")
int identify(void *ctx)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct pid *pid = BPF_CORE_READ(task, thread_pid);

	loader_tgid = bpf_get_current_pid_tgid() >> 32;
	loader_pidns_level = BPF_CORE_READ(pid, level);
	loader_pidns = (__u64)pid_at(pid, loader_pidns_level).ns;
	identify_invoker(task);
	return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	__u32 tgid = parent->tgid;
	struct xpu_proc *proc;

	if (child->tgid == tgid)		/* a thread */
		return 0;
	proc = bpf_map_lookup_elem(&procs, &tgid);
	if (!proc && has_roots() && is_wanted(parent)) {
		proc = take_up(parent);		/* the parent may never call a probe site */
		if (!proc)			/* find the parent's "left alone" entry */
			proc = bpf_map_lookup_elem(&procs, &tgid);
	}
	if (proc) {
		if (no_children)
			return 0;
		if (is_recorded(parent, proc))
			new_process(child, XPU_MISC_PROCESS_FORK, proc);
		else
			leave_child_alone(child);
	} else if (tgid == loader_tgid && adopt_child) {
		adopt_child = false;
		new_process(child, XPU_MISC_PROCESS_ROOT, NULL);
	}
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task)
{
	__u32 tgid = task->tgid;
	struct xpu_proc *proc = bpf_map_lookup_elem(&procs, &tgid);

	if (!proc) {
		/* If restricted, the loader waits for a report about the new image. */
		if (restricted && attach_wanted && is_wanted(task))
			take_up(task);
	} else if (proc->stop == XPU_STOP_LEFT_ALONE) {
		if (!may_record(task))
			return 0;
		bpf_map_delete_elem(&procs, &tgid);	/* the invoker may record the process now */
		if (attach_wanted && is_wanted(task))
			take_up(task);
	} else {
		struct xpu_proc old = *proc;

		proc->execs = true;
		proc->unsampled = false;
		if (!is_recorded(task, proc))
			return 0;
		new_process(task, XPU_MISC_PROCESS_EXEC, &old);
		if (sample_period_ns)
			change_time(task, &old, bpf_map_lookup_elem(&procs, &tgid));
	}
	return 0;
}

/* ---- launches that threads have logged ------------------------------------------------------- */

struct log_loss {
	const struct xpu_log_entry *entries;
	__u32 nr, nr_launches, nr_ranges, nr_allocs;
};

static long drop_entry(__u32 i, struct log_loss *l)
{
	__u32 id;

	if (i >= XPU_LOG_ENTRIES || i >= l->nr)
		return 1;
	id = l->entries[i].path_id;
	/* Use no branches, because the verifier would follow each of them. */
	l->nr_ranges += id >> 31;
	l->nr_allocs += (id >> 30 & ~id >> 31 & ~id >> 29) & 1;
	l->nr_launches -= (id >> 31 | id >> 30) & 1;
	return 0;
}

/* Counts the entries of a log as lost, because the ring is full. */
static __noinline int drop_log(const struct xpu_ring_log *r)
{
	struct log_loss l = {
		.entries = (const struct xpu_log_entry *)(r + 1), .nr = r->nr,
		.nr_launches = r->nr,
	};
	__u32 i;

	/* The verifier follows bpf_loop() once, and any other loop as often as it may run. */
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_loop))
		bpf_loop(XPU_LOG_ENTRIES, drop_entry, &l, 0);
	else
		for (i = 0; i < XPU_LOG_ENTRIES && !drop_entry(i, &l); i++)
			;
	drop_of(r->proc_id, XPU_LOST_RANGE, l.nr_ranges);
	drop_of(r->proc_id, XPU_LOST_ALLOC, l.nr_allocs);
	drop_of(r->proc_id, XPU_LOST_LAUNCH, l.nr_launches);
	return 0;
}

/**
 * send_log - put the launches in a thread's log into the ring
 * @task: the current task, which need not own the log
 * @proc_id: its image
 * @s: its scratch memory
 * @user_log: the address of the struct xpu_log
 * @end: stop before the entry with this number; 0: stop at the head
 * @own: send only if the log belongs to @task
 */
static __always_inline void send_log(struct task_struct *task, __u32 proc_id, struct scratch *s,
				     const void *user_log, __u64 end, bool own)
{
	struct xpu_ring_log *r = (struct xpu_ring_log *)s->record;
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	struct xpu_clock *clock;
	struct xpu_log log;
	__u32 bytes, nr, at, ns_tid = pid_in_own_ns(pid);

	if (bpf_probe_read_user(&log, sizeof(log), user_log)) {
		if (!own)
			drop_of(proc_id, XPU_LOST_READ, 1);
		return;
	}
	if (own && (log.size != XPU_LOG_BYTES || log.tid != ns_tid))
		return;			/* the memory of the log has been freed */
	if (!end)
		end = log.head;
	at = log.tail % XPU_LOG_ENTRIES;
	nr = end - log.tail;
	if (end <= log.tail || end - log.tail > XPU_LOG_ENTRIES - at)
		return;
	if (log.size != XPU_LOG_BYTES) {	/* the log has another version */
		drop_of(proc_id, XPU_LOST_READ, nr);
		return;
	}
	bytes = nr * sizeof(struct xpu_log_entry);
	BOUND(bytes, XPU_LOG_ENTRIES * sizeof(struct xpu_log_entry));
	if (bpf_probe_read_user(r->entries, bytes, user_log + sizeof(log) +
				at * sizeof(struct xpu_log_entry))) {
		drop_of(proc_id, XPU_LOST_READ, nr);
		return;
	}
	r->hdr.type = XPU_RECORD_LOG;
	r->hdr.misc = 0;
	r->hdr.size = sizeof(*r) + bytes;
	r->first = log.tail;
	clock = log.clock & 1 ? &log.clocks[1] : &log.clocks[0];
	r->clock_ticks = clock->ticks;
	r->clock_ns = clock->ns;
	r->clock_rate = clock->rate;
	r->proc_id = proc_id;
	r->tid = 0;
	if (log.tid == ns_tid)
		r->tid = task_tid(task);
	else if (BPF_CORE_READ(pid, level) == loader_pidns_level)
		r->tid = log.tid;
	r->ns_tid = log.tid;
	r->log_id = log.id;
	r->nr = nr;
	r->range_id = log.range_id;
	if (bpf_ringbuf_output(&ring, r, sizeof(*r) + bytes, ring_flags()))
		drop_log(r);
}

/*
 * Sends the last entries of the current task's log. The task ends or execs, so the shim cannot send
 * them.
 */
static __always_inline void send_last(struct task_struct *task)
{
	struct scratch *s = bpf_task_storage_get(&scratches, task, NULL, 0);
	__u32 tgid = task->tgid;
	struct xpu_proc *proc;

	if (!s || !s->log || !task->mm)
		return;
	if (restricted) {
		/*
		 * The process's entry is gone if another thread was mistaken for the last thread.
		 */
		proc = bpf_map_lookup_elem(&procs, &tgid);
		if (proc ? !is_recorded(task, proc) : !may_record(task))
			return;
	}
	send_log(task, s->proc_id, s, (const void *)s->log, 0, true);
}

static __always_inline void forget_log(struct task_struct *task)
{
	struct scratch *s = bpf_task_storage_get(&scratches, task, NULL, 0);

	if (s)
		s->log = 0;
}

/*
 * Sends logs before on_exit() does: before Linux 6.16, on_exit() runs after the thread's memory was
 * freed. When a process is killed, ends or execs, each of its threads gets a SIGKILL, except the
 * thread that caused the end or exec. Entries that are sent twice are recognized by their numbers.
 */
SEC("tp_btf/signal_deliver")
int BPF_PROG(on_deliver, int sig, struct kernel_siginfo *info, struct k_sigaction *action)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (sig != SIGKILL && action->sa.sa_handler)	/* not SIG_DFL */
		return 0;
	send_last(task);
	if (sig == SIGKILL)
		forget_log(task);
	return 0;
}

/*
 * Runs before the current task's memory is replaced. Linux 6.10 added this tracepoint. The program
 * is of type raw_tp, because older kernels load such a program, and fail only when it is attached.
 */
SEC("raw_tp/sched_prepare_exec")
int on_prepare_exec(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 tgid = task->tgid;
	struct xpu_proc *proc = bpf_map_lookup_elem(&procs, &tgid);

	send_last(task);
	forget_log(task);
	if (proc && is_recorded(task, proc)) {
		if (sample_period_ns)
			end_time(task, proc);
		proc->execs = true;
	}
	return 0;
}

/* ---- ends ------------------------------------------------------------------------------------ */

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	__u32 tgid = task->tgid, pid;
	struct xpu_record_process_exit *r;
	struct xpu_proc *proc, gone;
	__u64 now_ns;

	/* Send first, using only the task's own data: the process's entry may be gone already. */
	send_last(task);
	proc = bpf_map_lookup_elem(&procs, &tgid);
	if (sample_period_ns && (!proc || is_recorded(task, proc)))
		end_time(task, proc);
	if (BPF_CORE_READ(task, signal, live.counter) > 0)
		return 0;
	if (attach_wanted) {
		pid = task_pid(task);		/* remove the pid, which may be reused */
		bpf_map_delete_elem(&wanted, &pid);
	}
	if (!proc)
		return 0;
	gone = *proc;
	if (bpf_map_delete_elem(&procs, &tgid))
		return 0;			/* another thread has removed it meanwhile */
	if (gone.stop != XPU_STOP_NONE) {
		tell_stop(&gone);
		return 0;
	}
	now_ns = bpf_ktime_get_ns();
	send_rest(gone.proc_id, 0, now_ns, now_ns, gone.late_ns);

	r = bpf_ringbuf_reserve(&ring, sizeof(*r), 0);
	if (r) {
		r->hdr.type = XPU_RECORD_PROCESS_EXIT;
		r->hdr.misc = 0;
		r->hdr.size = sizeof(*r);
		r->time_ns = now_ns;
		r->proc_id = gone.proc_id;
		r->pid = gone.pid;
		r->exit_code = BPF_CORE_READ(task, signal, group_exit_code) ?: task->exit_code;
		r->reserved = 0;
		bpf_ringbuf_submit(r, BPF_RB_FORCE_WAKEUP);
	} else {
		drop(XPU_LOST_PROCESS);
	}
	return 0;
}

/*
 * Notes each signal that is sent to the root process. A signal to the whole foreground group
 * reaches the target without the loader's help; a signal to the loader alone does not. The note
 * shows the loader whether a signal went to the group or to the loader alone.
 */
SEC("tp_btf/signal_generate")
int BPF_PROG(on_signal, int sig, struct kernel_siginfo *info, struct task_struct *task)
{
	__u32 i = sig;

	if (!root_tgid || (__u32)task->tgid != root_tgid || i >= XPU_SIGNALS)
		return 0;
	root_signals[i].sender_pid = 0;
	if ((unsigned long)info > 2)		/* neither SEND_SIG_NOINFO nor SEND_SIG_PRIV */
		root_signals[i].sender_pid = BPF_CORE_READ(info, _sifields._kill._pid);
	root_signals[i].time_ns = bpf_ktime_get_ns();
	__sync_fetch_and_add(&root_signals[i].nr, 1);
	return 0;
}

/* Return: the image of the current task, or NULL if it is not recorded. */
static __always_inline struct xpu_proc *current_process(struct task_struct *task)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32;
	struct xpu_proc *proc = bpf_map_lookup_elem(&procs, &tgid);

	if (proc)
		return is_recorded(task, proc) ? proc : NULL;
	return is_wanted(task) ? take_up(task) : NULL;
}

/* Defined in sched.bpf.c. A thread's slot says whether the thread is in a call that may wait. */
static __always_inline void note_slot(struct task_struct *task, __u64 home);

/*
 * Puts the call chain of a launch and the flags of the chain into @r. The shim has made the chain,
 * or the chain follows frame pointers. Return: the size of the chain in bytes.
 */
static __always_inline __u32 read_chain(void *ctx, struct xpu_ring_launch *r, struct xpu_slot *slot)
{
	__u32 bytes;
	long err;

	r->flags = slot->flags;
	if (slot->nr_frames) {
		r->flags |= XPU_CHAIN_SHIM;
		/* The shim's own frames are within the limit, but Python's frames add to them. */
		if (slot->nr_frames > XPU_MAX_FRAMES)
			r->flags |= XPU_CHAIN_TRUNCATED;
		BOUND(slot->nr_frames, XPU_MAX_FRAMES);
		bytes = slot->nr_frames * sizeof(__u64);
		if (bpf_probe_read_user(r->frames, bytes, (void *)slot->frames)) {
			r->flags |= XPU_CHAIN_FAILED;
			bytes = 0;
		}
		return bytes;
	}
	bytes = max_frames * sizeof(__u64);
	BOUND(bytes, XPU_FP_FRAMES * sizeof(__u64));
	err = bpf_get_stack(ctx, r->frames, bytes, BPF_F_USER_STACK);
	if (err >= bytes)
		r->flags |= XPU_CHAIN_TRUNCATED;
	if (err <= 0)
		r->flags |= XPU_CHAIN_FAILED;
	return err <= 0 ? 0 : err;
}

SEC("uprobe")
int BPF_KPROBE(on_launch, const struct xpu_slot *user_slot)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct xpu_ring_launch *r;
	struct xpu_slot slot = {};
	struct xpu_proc *proc;
	struct scratch *s;
	__u32 bytes;

	proc = current_process(task);
	if (!proc)
		return 0;
	if (bpf_probe_read_user(&slot, sizeof(slot), user_slot) || slot.size != sizeof(slot)) {
		drop_of(proc->proc_id, XPU_LOST_READ, 1);
		return 0;
	}
	if (want_accounts && slot.home)
		note_slot(task, slot.home);
	if (!slot.cbid || (slot.wait_ns && !want_waits))
		return 0;
	s = bpf_task_storage_get(&scratches, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!s) {
		drop_of(proc->proc_id, XPU_LOST_SCRATCH, 1);
		return 0;
	}

	r = (struct xpu_ring_launch *)s->record;
	bytes = read_chain(ctx, r, &slot);
	BOUND(bytes, FRAMES_BYTES);

	r->hdr.type = slot.wait_ns ? XPU_RECORD_LAUNCH_WAIT : XPU_RECORD_LAUNCH;
	r->hdr.misc = slot.wait_flags;
	r->hdr.size = sizeof(*r) + bytes;
	r->time_ns = slot.wait_ns ? slot.wait_start_ns : slot.time_ns ?: bpf_ktime_get_ns();
	r->proc_id = proc->proc_id;
	r->tid = task_tid(task);
	r->correlation_id = slot.correlation_id;
	r->cbid = slot.cbid;
	r->domain = slot.domain;
	r->graph_node_id = slot.graph_node_id;
	r->wait_ns = slot.wait_ns;
	r->wait_context = slot.wait_context;
	r->wait_stream = slot.wait_stream;
	r->path_id = slot.path_id;
	r->ns_tid = pid_in_own_ns(BPF_CORE_READ(task, thread_pid));
	r->range_id = slot.range_id;
	r->reserved = 0;
	if (slot.log) {
		s->log = slot.log;
		s->proc_id = proc->proc_id;
	}
	r->nr_frames = bytes / sizeof(__u64);
	if (bpf_ringbuf_output(&ring, r, sizeof(*r) + bytes, ring_flags()) &&
	    !(slot.flags & XPU_CHAIN_NO_LAUNCH))
		drop_of(proc->proc_id, slot.wait_ns ? XPU_LOST_WAIT : XPU_LOST_LAUNCH, 1);
	return 0;
}

SEC("uprobe")
int BPF_KPROBE(on_log, const void *user_log, unsigned long end)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct xpu_proc *proc = current_process(task);
	struct scratch *s;

	if (!proc)
		return 0;
	s = bpf_task_storage_get(&scratches, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (s)
		send_log(task, proc->proc_id, s, user_log, end, false);
	else
		drop_of(proc->proc_id, XPU_LOST_SCRATCH, 1);
	return 0;
}

/*
 * Called at the first CUDA call of a program that xpuload did not start. Counts the program as late
 * if nobody listened yet. @heard: whether the program's shim knows that somebody listens
 */
SEC("uprobe")
int BPF_KPROBE(on_init, unsigned long heard)
{
	if (!heard && current_process(bpf_get_current_task_btf()))
		__sync_fetch_and_add(&nr_late, 1);
	return 0;
}

/*
 * Copies a batch straight into the ring. bpf_ringbuf_reserve() takes only a constant size, so the
 * smallest of four sizes that holds the batch is used.
 */
#define BATCH_RECORD(total)						\
({									\
	struct xpu_record_batch *r;					\
	const __u32 room = (total) - sizeof(*r);			\
	bool done = false;						\
									\
	r = bpf_ringbuf_reserve(&ring, total, 0);			\
	if (r) {							\
		__u32 n = bytes;					\
									\
		BOUND(n, room);						\
		r->hdr.type = XPU_RECORD_BATCH;				\
		r->hdr.misc = 0;					\
		r->hdr.size = sizeof(*r) + n;				\
		r->time_ns = bpf_ktime_get_ns();			\
		r->proc_id = proc->proc_id;				\
		r->tid = task_tid(task);				\
		r->bytes = n;						\
		r->ns_tid = pid_in_own_ns(BPF_CORE_READ(task, thread_pid));	\
		if (bpf_probe_read_user(r->records, n, records)) {	\
			bpf_ringbuf_discard(r, 0);			\
			drop_of(proc->proc_id, XPU_LOST_READ, 1);	\
		} else {						\
			/* CPU samples wait for this record. */		\
			bpf_ringbuf_submit(r, n == sizeof(struct xpu_record_python) ? \
					   BPF_RB_FORCE_WAKEUP : ring_flags()); \
		}							\
		done = true;						\
	}								\
	done;								\
})

static __always_inline void note_window(struct xpu_proc *proc, const void *records)
{
	struct xpu_record hdr = {};

	if (!bpf_probe_read_user(&hdr, sizeof(hdr), records + sizeof(struct xpu_record_counters)) &&
	    hdr.type == XPU_RECORD_WINDOW)
		proc->in_window = hdr.misc == XPU_MISC_WINDOW_OPEN ? bpf_ktime_get_ns() : 0;
}

SEC("uprobe")
int BPF_KPROBE(on_batch, const void *records, unsigned long size)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct xpu_proc *proc = current_process(task);
	__u32 bytes = size;
	bool sent;

	if (!proc)
		return 0;
	if (size > XPU_BATCH_MAX || size % 8) {
		drop_of(proc->proc_id, XPU_LOST_READ, 1);
		return 0;
	}
	if (only_windows &&
	    bytes == sizeof(struct xpu_record_counters) + sizeof(struct xpu_record_window))
		note_window(proc, records);
	if (bytes <= 1024 - sizeof(struct xpu_record_batch))
		sent = BATCH_RECORD(1024);
	else if (bytes <= 4 * 1024 - sizeof(struct xpu_record_batch))	/* an API log */
		sent = BATCH_RECORD(4 * 1024);
	else if (bytes <= 16 * 1024 - sizeof(struct xpu_record_batch))
		sent = BATCH_RECORD(16 * 1024);
	else
		sent = BATCH_RECORD(XPU_BATCH_MAX + sizeof(struct xpu_record_batch));
	if (!sent)
		drop_of(proc->proc_id, XPU_LOST_BATCH, 1);
	return 0;
}

#include "stack.bpf.c"
#include "sample.bpf.c"
#include "place.bpf.c"
#include "sched.bpf.c"
