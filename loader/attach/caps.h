/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * caps.h - the power that xpuload has, and when it uses it
 *
 * Its file is given capabilities "=p": permitted, and effective only between caps__raise() and
 * caps__lower(), around the calls that want them. So the program runs, and can say what is missing,
 * where some of them cannot be had; and whatever else it does, it does with its user's own rights.
 */
#ifndef XPU_LOADER_CAPS_H
#define XPU_LOADER_CAPS_H

#include <stdbool.h>
#include <stddef.h>

/**
 * caps__init - first of all, before anything is opened
 *
 * Of root, and of who has CAP_SYS_PTRACE, all stays effective.
 *
 * Return: 0, or -EPERM in a program that is set-user-ID or set-group-ID, which this must not be.
 */
int caps__init(void);

/* Whether there is that capability, CAP_*; it need not be effective. */
bool caps__have(int cap);

/* Whether only what its invoker may read may be recorded: there is no CAP_SYS_PTRACE. */
bool caps__restricted(void);

/* Whether the file gave capabilities: its user must not choose what it trusts. */
bool caps__from_file(void);

/* For this thread; they may be nested. */
void caps__raise(void);
void caps__lower(void);

/*
 * All that is needed is open: gives up, for good, what is not needed any more. @attach: programs are
 * attached to processes later on.
 */
void caps__settle(bool attach);

/* Names, to @buf, those of cap_bpf and cap_perfmon that are not there. Return: how many. */
int caps__missing(char *buf, size_t size);

/* Whether this process could ever have @cap: in a container it may be forbidden. */
bool caps__allowed(int cap);

#endif /* XPU_LOADER_CAPS_H */
