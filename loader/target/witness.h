/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * witness.h - distinguishes signals to the whole process group from signals to xpuload alone
 *
 * The witness is a process of our group that does nothing but take signals: a signal that reaches
 * it has also reached the target. The BPF programs report more precisely, if they are used.
 */
#ifndef XPU_LOADER_WITNESS_H
#define XPU_LOADER_WITNESS_H

#include <linux/types.h>

#include "xpu_record.h"
#include "xpu_time.h"
#include "xpu.h"

struct witness;

/* Makes a witness. Must be called with the relevant signals blocked. Return: NULL on failure. */
struct witness *witness__new(void);
void witness__free(struct witness *w);

/* Sets *@s to the last signal @sig that the group got; all 0 if it got none. */
void witness__signal(struct witness *w, int sig, struct xpu_signal *s);

#endif /* XPU_LOADER_WITNESS_H */
