// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Part of xpu.bpf.c: decides which running processes the loader's user wants to record.
 * permit.bpf.c decides which processes the user may record.
 */

#define MAX_CGROUP_LEVELS	64
#define MAX_SUBSYSTEMS		32	/* more than any Linux has */

/*
 * Whether the chosen processes are recorded with all their descendants, even if the chosen
 * processes launch nothing.
 */
static __always_inline bool has_roots(void)
{
	return attach_wanted || (attach_all && (filter_comm[0] || filter_cgroup));
}

/* Return: the cgroup of @task in the filter's hierarchy, or NULL. */
static __always_inline struct cgroup *cgroup_of(struct task_struct *task)
{
	struct css_set *set = BPF_CORE_READ(task, cgroups);
	struct cgroup_subsys_state *css;
	struct cgroup *cgroup;
	__u32 i;

	if (!filter_hierarchy)
		return BPF_CORE_READ(set, dfl_cgrp);
	for (i = 0; i < MAX_SUBSYSTEMS; i++) {
		if (i >= sizeof(set->subsys) / sizeof(set->subsys[0]))
			break;
		bpf_core_read(&css, sizeof(css), &set->subsys[i]);
		cgroup = css ? BPF_CORE_READ(css, cgroup) : NULL;
		if (cgroup && BPF_CORE_READ(cgroup, root, hierarchy_id) == (int)filter_hierarchy)
			return cgroup;
	}
	return NULL;
}

static __noinline bool is_in_cgroup(struct task_struct *task)
{
	struct cgroup_subsys_state *parent;
	struct cgroup *cgroup;
	int i;

	if (!filter_cgroup)
		return true;
	cgroup = cgroup_of(task);
	for (i = 0; i < MAX_CGROUP_LEVELS && cgroup; i++) {
		if (BPF_CORE_READ(cgroup, kn, id) == filter_cgroup)
			return true;
		parent = BPF_CORE_READ(cgroup, self.parent);
		cgroup = parent ? BPF_CORE_READ(parent, cgroup) : NULL;
	}
	return false;
}

/* Whether the process of @task has the name in the filter. */
static __noinline bool has_comm(struct task_struct *task)
{
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);
	char comm[XPU_COMM_LEN] = "";
	__u32 i;

	if (!filter_comm[0])
		return true;
	bpf_core_read_str(comm, sizeof(comm), &leader->comm);
	for (i = 0; i < sizeof(comm); i++) {
		if (comm[i] != filter_comm[i])
			return false;
		if (!comm[i])
			break;
	}
	return true;
}

/* Whether to begin to record the process of @task. */
static __noinline bool is_wanted(struct task_struct *task)
{
	__u32 pid = task_pid(task);

	if (!pid)				/* the idle task, or outside of the loader's pid
						 * namespace */
		return false;
	if (attach_wanted && bpf_map_lookup_elem(&wanted, &pid))
		return true;
	return attach_all && has_comm(task) && is_in_cgroup(task);
}

/*
 * Counts @child, whose parent may not be recorded. Puts @child into the map "wanted", because
 * @child may execute a program that may be recorded.
 */
static __always_inline void leave_child_alone(struct task_struct *child)
{
	__u32 pid = task_pid(child), how = XPU_WANTED_DENIED;

	leave_alone(child);
	if (attach_wanted && pid && bpf_map_update_elem(&wanted, &pid, &how, BPF_ANY))
		drop(XPU_LOST_PROCESS);
}
