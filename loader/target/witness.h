/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * witness.h - distinguishes signals to the whole process group from signals to xpuload alone
 *
 * The witness is a process in our group that only receives signals: a signal to the group reaches
 * both the witness and the target. If BPF programs are used, they report signals more precisely.
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
