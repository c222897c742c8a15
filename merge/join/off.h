/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * off.h - threads that did not run: off-CPU time, waits for the device, accounts of lives
 *
 * Each returns 0, or -ENOMEM or what a sink returned.
 */
#ifndef MERGE_OFF_H
#define MERGE_OFF_H

#include "join/second_pass.h"

/* Before the pass: waits are known before the work that they waited for comes by. */
int off__open_waits(struct second_pass *p);

int off__sum(struct second_pass *p, const struct xpu_record_off_cpu *rec);
int off__span(struct second_pass *p, const struct xpu_record_off *rec);

/* After it: for what the waits waited; then what the accounts of threads and devices need. */
int off__share_waits(struct second_pass *p);
int off__finish(struct second_pass *p);

#endif /* MERGE_OFF_H */
