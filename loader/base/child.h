/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * child.h - processes of our own that help the recorder
 */
#ifndef XPU_LOADER_CHILD_H
#define XPU_LOADER_CHILD_H

#include <linux/capability.h>
#include <stdint.h>
#include <sys/types.h>

#include "privileges.h"

#define CHILD_FD	3

/*
 * Prepares a new process: closes all descriptors except @fd, which becomes CHILD_FD, blocks all
 * signals, and makes the process end when @parent ends. If the process kept xpuload's pipes open,
 * readers of the pipes would never see end of file. Return: 0 or a negative errno.
 */
int child__settle(int fd, pid_t parent, const char *name);

/*
 * Capabilities with which root can make files in other users' directories, and replace other users'
 * files in directories such as /tmp.
 */
#define CHILD_FILE_CAPS	(CAP_BIT(CAP_DAC_OVERRIDE) | CAP_BIT(CAP_FOWNER))

/*
 * Makes a new process run as the invoker for good, without capabilities, before it executes another
 * program. If the invoker is root, the process keeps the capabilities @keep. Return: 0 or a
 * negative errno.
 */
int child__become_invoker(uint64_t keep);

#endif /* XPU_LOADER_CHILD_H */
