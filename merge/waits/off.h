/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * off.h - threads that did not run: off-CPU time, waits for the device, accounts of lifetimes
 *
 * Return values: 0, -ENOMEM or the sink's error.
 */
#ifndef MERGE_WAITS_OFF_H
#define MERGE_WAITS_OFF_H

#include "join/second_pass.h"
#include "waits/state.h"

/*
 * Called before the pass: collects the waits, which must be known before the work that they were
 * for is read.
 */
int off__open_waits(struct waits_state *s, struct second_pass *p);

int off__sum(struct waits_state *s, struct second_pass *p, const struct xpu_record_off_cpu *rec);
int off__span(struct waits_state *s, struct second_pass *p, const struct xpu_record_off *rec);

/*
 * Called after the pass: divides the time of waits, then completes the accounts of threads and
 * devices.
 */
int off__share_waits(struct waits_state *s, struct second_pass *p);
int off__finish(struct waits_state *s, struct second_pass *p);

#endif /* MERGE_WAITS_OFF_H */
