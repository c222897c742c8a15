/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * caps.h - the capabilities of xpuload, and when they are effective
 *
 * setcap gives the file xpuload its capabilities with "=p". They are always permitted, but are
 * effective only between caps__raise() and caps__lower(), around the calls that need them. So the
 * program also runs without some of them, can say which are missing, and does everything else with
 * the user's own rights.
 */
#ifndef XPU_LOADER_CAPS_H
#define XPU_LOADER_CAPS_H

#include <stdbool.h>
#include <stddef.h>

/**
 * caps__init - prepare the capabilities, before anything is opened
 *
 * For root, and for a user with CAP_SYS_PTRACE, all capabilities stay effective.
 *
 * Return: 0, or -EPERM if this program is set-user-ID or set-group-ID, which it must not be.
 */
int caps__init(void);

/* Whether the permitted capabilities of this program include @cap, a CAP_* number. */
bool caps__have(int cap);

/*
 * Whether xpuload has no CAP_SYS_PTRACE, and so may record only processes that its invoker may
 * read.
 */
bool caps__restricted(void);

/*
 * Whether this program got its capabilities from its file. If so, the user must not choose the
 * files that the program trusts.
 */
bool caps__from_file(void);

/* These functions raise and lower only the calling thread's capabilities. Calls may be nested. */
void caps__raise(void);
void caps__lower(void);

/*
 * Drops for good the capabilities that are not needed once everything is open. @attach: programs
 * will be attached to more processes later.
 */
void caps__settle(bool attach);

/* Writes to @buf which of cap_bpf and cap_perfmon are missing. Return: how many are missing. */
int caps__missing(char *buf, size_t size);

/* Whether this process could ever get @cap. A container may forbid that. */
bool caps__allowed(int cap);

#endif /* XPU_LOADER_CAPS_H */
