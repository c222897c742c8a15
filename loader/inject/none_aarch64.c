// SPDX-License-Identifier: GPL-3.0-or-later
/* Replaces the other files of this folder on processors that have no arch_*.c here. */
#include "inject/inject.h"

#include <errno.h>
#include <stdio.h>

int inject__check(pid_t pid, char *why)
{
	(void)pid;
	snprintf(why, INJECT_WHY, "--inject is not made for this processor");
	return -ENOTSUP;
}

int inject__into(pid_t pid, const char *shim, struct inject_result *result)
{
	(void)shim;
	return inject__check(pid, result->why);
}
