/* SPDX-License-Identifier: GPL-3.0-or-later */
/* absorb.h - adds the sums of a recording that was read separately to the sums of all recordings */
#ifndef MERGE_ABSORB_H
#define MERGE_ABSORB_H

#include "join/sums.h"
#include "model/remap.h"

/**
 * sums__absorb - add sums whose model has been absorbed
 * @s: the sums of all recordings
 * @from: the sums to add; their contents may be moved to @s
 * @r: from model__absorb()
 *
 * @from->loss is not added. Each call path belongs to one recording, so no two aggregates become
 * one: the aggregates of @from are appended to the aggregates of @s.
 *
 * Return: 0 or -ENOMEM.
 */
int sums__absorb(struct sums *s, struct sums *from, struct remap *r);

#endif /* MERGE_ABSORB_H */
