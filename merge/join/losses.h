/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * losses.h - compares the number of records that each process claims to have sent with the records
 * that arrived
 */
#ifndef MERGE_LOSSES_H
#define MERGE_LOSSES_H

#include "join/second_pass.h"

/* Completes p->sums->loss. Called after the last pass. */
void losses__settle(struct second_pass *p);

#endif /* MERGE_LOSSES_H */
