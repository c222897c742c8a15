/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * control.h - recordings that begin and end by a clock or by commands
 *
 * With --capture after:S,for:S or --control, the target starts with a sleeping shim. For each
 * window, a child of this process attaches to the target, records, and ends. So each window is a
 * separate recording.
 */
#ifndef XPU_LOADER_CONTROL_H
#define XPU_LOADER_CONTROL_H

struct options;

/*
 * Records windows until the target ends, or until the clock or a command ends the recording.
 * Return: the status to exit with. If the status is 0, xpuload must end in the same way as the
 * target: see *@wait_status.
 */
int control__run(struct options *opts, int *wait_status);

#endif /* XPU_LOADER_CONTROL_H */
