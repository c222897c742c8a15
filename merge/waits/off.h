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
 * Called before the pass: collects all waits, because they must be known before any device work is
 * read.
 */
int off__open_waits(struct waits_state *s, struct second_pass *p);

int off__sum(struct waits_state *s, struct second_pass *p, const struct xpu_record_off_cpu *rec);
int off__span(struct waits_state *s, struct second_pass *p, const struct xpu_record_off *rec);

/*
 * Called after the pass: divides the time of waits, then adds the lifetimes of threads and the idle
 * gaps of devices.
 */
int off__share_waits(struct waits_state *s, struct second_pass *p);
int off__finish(struct waits_state *s, struct second_pass *p);

#endif /* MERGE_WAITS_OFF_H */
