/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * rests.h - the rest of a device, of several recordings
 *
 * The rest is all that is used of a device, by anybody, and not recorded. Each recording has it less its own
 * memory. Where recordings were made at a time on one device, the memory of each is in the rests of the
 * others, and what nobody has recorded, such as contexts, in all of them. Together there is one rest: what
 * CUDA said last, to any of them, less the memory of all.
 */
#ifndef MERGE_RESTS_H
#define MERGE_RESTS_H

struct sums;

/* After all inputs: makes one rest of several, at each moment. Return: 0 or -ENOMEM. */
int rests__settle(struct sums *s);

#endif /* MERGE_RESTS_H */
