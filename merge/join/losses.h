/* SPDX-License-Identifier: GPL-3.0-or-later */
/* losses.h - compares what each process says it sent with what has arrived */
#ifndef MERGE_LOSSES_H
#define MERGE_LOSSES_H

#include "join/second_pass.h"

/* Completes p->sums->loss, after the last pass. */
void losses__settle(struct second_pass *p);

/*
 * Tells the operations of NCCL which processes' ranges are not whole. Return: 0 or -ENOMEM.
 */
int losses__nccl(struct second_pass *p);

#endif /* MERGE_LOSSES_H */
