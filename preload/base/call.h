/* SPDX-License-Identifier: MIT */
/* call.h - system calls that bypass the C library's functions, which are cancellation points */
#ifndef XPU_PRELOAD_CALL_H
#define XPU_PRELOAD_CALL_H

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Return: Linux's result, which is a negative errno after a failure. */
static inline long call(long nr, long a, long b, long c, long d, long e)
{
	long ret = syscall(nr, a, b, c, d, e);

	return ret < 0 ? -errno : ret;
}

#define CALL(nr, a, b, c, d, e)	\
	call(SYS_##nr, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e))

#endif /* XPU_PRELOAD_CALL_H */
