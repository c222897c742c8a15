/* SPDX-License-Identifier: GPL-3.0-or-later */
/* borrow.h - borrows a waiting thread of a process: it starts a thread that loads the shim */
#ifndef XPU_LOADER_INJECT_BORROW_H
#define XPU_LOADER_INJECT_BORROW_H

#include <sys/types.h>

#include "inject/result.h"

/*
 * Does the work of inject__into() in the calling process, which has no other thread and ends soon
 * afterwards: a thread that does not stop in time is let go then. @shim: NULL to do nothing, but
 * to check whether it could be done.
 */
int borrow__run(pid_t pid, const char *shim, struct inject_result *result);

#endif /* XPU_LOADER_INJECT_BORROW_H */
