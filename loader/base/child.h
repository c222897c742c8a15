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
 * In a new process: keeps @fd alone, as CHILD_FD, blocks all signals, and ends when @parent does. Held
 * open here, xpuload's pipes would not end for those who read from them.
 * Return: 0 or a negative errno.
 */
int child__settle(int fd, pid_t parent, const char *name);

/*
 * With these, root makes files in the directories of other users, and replaces files of other users in
 * directories such as /tmp.
 */
#define CHILD_FILE_CAPS	(CAP_BIT(CAP_DAC_OVERRIDE) | CAP_BIT(CAP_FOWNER))

/*
 * In a new process, before another program is executed: becomes the invoker for good, without capabilities.
 * If root has no other invoker, the capabilities @keep stay. Return: 0 or a negative errno.
 */
int child__become_invoker(uint64_t keep);

#endif /* XPU_LOADER_CHILD_H */
