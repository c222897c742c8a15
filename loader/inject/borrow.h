/* SPDX-License-Identifier: GPL-3.0-or-later */
/* borrow.h - borrows a waiting thread of a process, to start a thread that loads the shim */
#ifndef XPU_LOADER_INJECT_BORROW_H
#define XPU_LOADER_INJECT_BORROW_H

#include <sys/types.h>

#include "inject/result.h"

/*
 * Does the work of inject__into() in the calling process, which has no other thread and must end
 * soon afterwards: its end detaches a thread that did not stop in time. @shim: NULL to check only
 * whether the shim could be injected.
 */
int borrow__run(pid_t pid, const char *shim, struct inject_result *result);

#endif /* XPU_LOADER_INJECT_BORROW_H */
