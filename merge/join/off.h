/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * off.h - threads that did not run: off-CPU time, waits for the device, accounts of lifetimes
 *
 * Return values: 0, -ENOMEM or the sink's error.
 */
#ifndef MERGE_OFF_H
#define MERGE_OFF_H

#include "join/second_pass.h"

/*
 * Collects the waits before the pass: they must be known before the work that they were for is
 * read.
 */
int off__open_waits(struct second_pass *p);

int off__sum(struct second_pass *p, const struct xpu_record_off_cpu *rec);
int off__span(struct second_pass *p, const struct xpu_record_off *rec);

/* After the pass: divides the time of waits, then completes the accounts of threads and devices. */
int off__share_waits(struct second_pass *p);
int off__finish(struct second_pass *p);

#endif /* MERGE_OFF_H */
