/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * losses.h - what each process says it sent against what has arrived
 */
#ifndef MERGE_LOSSES_H
#define MERGE_LOSSES_H

#include "join/second_pass.h"

/* After the last pass: p->sums->loss becomes complete. */
void losses__settle(struct second_pass *p);

#endif /* MERGE_LOSSES_H */
