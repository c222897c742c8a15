/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * rests.h - the rest of a device, for several recordings
 *
 * The rest is unrecorded memory that is in use on a device. In one recording, the rest leaves out
 * only the recording's own memory. If recordings of one device overlap in time, the rest of each
 * recording includes the memory of the other recordings. Memory that no recording has, such as
 * contexts, is part of all rests. The common rest is CUDA's last answer to any of the recordings,
 * minus the memory of all recordings.
 */
#ifndef MERGE_RESTS_H
#define MERGE_RESTS_H

struct memory_state;

/*
 * Called after all inputs were read: finds the devices' common rests at each moment. Return: 0 or
 * -ENOMEM.
 */
int rests__settle(struct memory_state *s);

#endif /* MERGE_RESTS_H */
