/* SPDX-License-Identifier: MIT */
/*
 * xpu.h - what the BPF programs and their loader share beside the wire format
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
	__u32	reserved;
};

#endif /* XPU_H */
