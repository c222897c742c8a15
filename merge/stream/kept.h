/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kept.h - records that features hold back or repeat while a recording is split into files */
#ifndef MERGE_KEPT_H
#define MERGE_KEPT_H

#include <stdbool.h>
#include <stdint.h>

#include "model/feature.h"

struct kept {
	void *states[NR_FEATURES];	/* NULL: the feature takes no part in splitting */
};

/* Makes the features' states. Return: 0 or -ENOMEM; the caller calls kept__exit() even then. */
int kept__init(struct kept *k, struct carry *c);
void kept__exit(struct kept *k);

/* Whether a feature takes records of that type. */
bool kept__takes(uint16_t type);

/*
 * Passes a record to the feature that takes it, or to no feature. @p: NULL to recall a record that
 * an earlier program saved or passed on. Return: 0 or -ENOMEM.
 */
int kept__record(struct kept *k, struct outfile *p, const struct xpu_record *rec);

/* Passes the number that a process uses for a GPU. Return: 0 or -ENOMEM. */
int kept__device(struct kept *k, uint32_t proc_id, const struct xpu_record_device *rec);

/* Return: 0 or -ENOMEM. */
int kept__step(struct kept *k, struct outfile *p, enum split_step step, uint64_t time_ns);

/* Return: how many things were dropped, because there were too many. */
uint64_t kept__nr_beyond(const struct kept *k);

#endif /* MERGE_KEPT_H */
