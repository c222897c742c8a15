/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * witness.h - tells signals to the whole process group from those to xpuload alone
 *
 * A process of our group that does nothing but take signals: what it gets, the target has got, too.
 * The kernel's programs know better, where there are any.
 */
#ifndef XPU_LOADER_WITNESS_H
#define XPU_LOADER_WITNESS_H

#include <linux/types.h>

#include "xpu_record.h"
#include "xpu_time.h"
#include "xpu.h"

struct witness;

/* To be called with the signals blocked that matter. Return: NULL if there can be none. */
struct witness *witness__new(void);
void witness__free(struct witness *w);

/* The last signal @sig that the group has got; all 0 if there was none. */
void witness__signal(struct witness *w, int sig, struct xpu_signal *s);

#endif /* XPU_LOADER_WITNESS_H */
