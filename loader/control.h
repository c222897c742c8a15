/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * control.h - recordings that begin and end when a clock or somebody else says so
 *
 * With --capture after:S,for:S and --control the target runs with its shim asleep, as one that waits to be
 * attached to. For each window a child of this process attaches to it, records, and ends: so each window is a
 * recording of its own.
 */
#ifndef XPU_LOADER_CONTROL_H
#define XPU_LOADER_CONTROL_H

struct options;

/*
 * Records in windows until the target, the clock or the one in control ends that. Return: the status to exit
 * with; if 0, xpuload ends as the target did: *@wait_status.
 */
int control__run(struct options *opts, int *wait_status);

#endif /* XPU_LOADER_CONTROL_H */
