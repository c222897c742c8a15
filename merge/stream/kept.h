/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kept.h - records that features hold back or repeat when a recording is split into files */
#ifndef MERGE_KEPT_H
#define MERGE_KEPT_H

#include <stdbool.h>
#include <stdint.h>

#include "model/feature.h"

struct kept {
	void *states[NR_FEATURES];	/* NULL: the feature is not involved in splitting */
};

/*
 * Makes the features' states. Return: 0 or -ENOMEM. The caller must call kept__exit() even after a
 * failure.
 */
int kept__init(struct kept *k, struct carry *c);
void kept__exit(struct kept *k);

/* Return: whether a feature takes records of that type. */
bool kept__takes(uint16_t type);

/*
 * Passes a record to the feature that takes its type, if any. @p: NULL to restore a record that an
 * earlier program saved or passed on. Return: 0 or -ENOMEM.
 */
int kept__record(struct kept *k, struct outfile *p, const struct xpu_record *rec);

/* Tells the features which number a process uses for a GPU. Return: 0 or -ENOMEM. */
int kept__device(struct kept *k, uint32_t proc_id, const struct xpu_record_device *rec);

/* Passes a step of the splitting to the features. Return: 0 or -ENOMEM. */
int kept__step(struct kept *k, struct outfile *p, enum split_step step, uint64_t time_ns);

/* Return: the number of items that were dropped because of limits. */
uint64_t kept__nr_beyond(const struct kept *k);

#endif /* MERGE_KEPT_H */
