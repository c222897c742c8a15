/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * place_samples.h - the second pass for CPU samples, and for stacks that xpumerge unwinds
 */
#ifndef MERGE_PLACE_SAMPLES_H
#define MERGE_PLACE_SAMPLES_H

#include "join/second_pass.h"

/* Reads samples. Return: 0, -ENOMEM or the sink's error. */
int samples__read(struct second_pass *p, const struct xpu_record_samples *rec);
int samples__rest(struct second_pass *p, const struct xpu_record_cpu_rest *rec);
int samples__stack(struct second_pass *p, const struct xpu_record_stack *rec);

/* Adds samples in calls that turned out not to be waits, after the waits are known. */
int samples__finish(struct second_pass *p);

/* Frees p->samples. */
void samples__exit(struct second_pass *p);

#endif /* MERGE_PLACE_SAMPLES_H */
