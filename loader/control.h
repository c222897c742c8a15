/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * control.h - recordings that begin and end by a clock or by commands
 *
 * With --capture after:S,for:S and --control the target runs with its shim asleep, as if it waited
 * to be attached to. For each window a child of this process attaches to the target, records, and
 * ends. So each window is a recording of its own.
 */
#ifndef XPU_LOADER_CONTROL_H
#define XPU_LOADER_CONTROL_H

struct options;

/*
 * Records windows until the target, the clock or a command ends that. Return: the status to exit
 * with; if 0, xpuload has to end as the target did, by *@wait_status.
 */
int control__run(struct options *opts, int *wait_status);

#endif /* XPU_LOADER_CONTROL_H */
