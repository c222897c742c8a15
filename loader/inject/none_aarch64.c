// SPDX-License-Identifier: GPL-3.0-or-later
/* Replaces the other files of this folder on processors that have no arch_*.c here. */
#include "inject/inject.h"

#include <errno.h>
#include <stdio.h>

int inject__check(pid_t pid, char *why)
{
	(void)pid;
	snprintf(why, INJECT_WHY, "xpuload cannot do this on this processor");
	return -ENOTSUP;
}

void inject__begin(struct injection *i, pid_t pid, const char *shim)
{
	(void)shim;
	*i = (struct injection){ .pid = pid, .child = -1, .fd = -1 };
}

bool inject__is_over(const struct injection *i, int timeout_ms)
{
	(void)i;
	(void)timeout_ms;
	return true;
}

int inject__end(struct injection *i, struct inject_result *result)
{
	return inject__check(i->pid, result->why);
}
