/* SPDX-License-Identifier: MIT */
/*
 * xpu_time.h - how far apart two times are
 *
 * Timestamps are unsigned. The earlier of two events may have the later timestamp: the clocks of
 * two CPUs differ, and so do the clocks of a device and its host. A plain subtraction of the two
 * timestamps would then give 584 years.
 */
#ifndef XPU_TIME_H
#define XPU_TIME_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

#define XPU_INLINE	static inline __attribute__((always_inline))

/* Return: the time from @from_ns to @to_ns; 0 if @to_ns is earlier. */
XPU_INLINE __u64 xpu_ns_between(__u64 from_ns, __u64 to_ns)
{
	return to_ns > from_ns ? to_ns - from_ns : 0;
}

/* Return: the time between @a_ns and @b_ns, in either order. */
XPU_INLINE __u64 xpu_ns_apart(__u64 a_ns, __u64 b_ns)
{
	return a_ns > b_ns ? a_ns - b_ns : b_ns - a_ns;
}

XPU_INLINE __u64 xpu_ns_later(__u64 a_ns, __u64 b_ns)
{
	return a_ns > b_ns ? a_ns : b_ns;
}

#endif /* XPU_TIME_H */
