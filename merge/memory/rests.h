/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * rests.h - the rest of a device, for several recordings
 *
 * The rest is the memory of a device that anybody uses and that is not recorded. Each recording's
 * rest excludes only its own memory. If recordings of one device overlap in time, the memory of
 * each is in the rests of the others, and memory that no recording has, such as contexts, is in all
 * rests. The common rest is the last answer of CUDA to any of them, minus the memory of all.
 */
#ifndef MERGE_RESTS_H
#define MERGE_RESTS_H

struct memory_state;

/* Makes one rest of several, at each moment, after all inputs. Return: 0 or -ENOMEM. */
int rests__settle(struct memory_state *s);

#endif /* MERGE_RESTS_H */
