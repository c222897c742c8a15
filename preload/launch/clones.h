/* SPDX-License-Identifier: MIT */
/* clones.h - keeps notes of graph nodes that are copies of other nodes, until the notes are sent */
#ifndef XPU_PRELOAD_CLONES_H
#define XPU_PRELOAD_CLONES_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Notes that graph node @node_id of @api is a copy of @original_id. May be called on any thread,
 * and never waits: the vendor may hold locks of its driver that packing takes, too.
 */
void clones__add(unsigned int api, uint64_t node_id, uint64_t original_id);

/* Packs the notes, under the lock of wire.h. Return: whether there were any. */
bool clones__drain(void);

/* Return: how many notes of copied nodes were lost because memory was short. */
uint64_t clones__nr_lost(void);

#endif /* XPU_PRELOAD_CLONES_H */
