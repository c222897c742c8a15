/* SPDX-License-Identifier: MIT */
/*
 * levels.h - asks CUDA how much memory CUDA takes on its own
 *
 * On devices where the program has pools or graphs that allocate, the shim's thread asks a few
 * times a second for the unused part of the pools and for the memory of graphs. At this program's
 * first allocation on a device, the shim asks for the total memory that all programs use there.
 * Later, it asks at most once a second, after calls that take memory from the system. A changed
 * value is sent as an event XPU_ALLOC_LEVEL.
 */
#ifndef XPU_PRELOAD_LEVELS_H
#define XPU_PRELOAD_LEVELS_H

#include <stdbool.h>
#include <stdint.h>

#include <cuda.h>

/* Reports that @bytes are in use in @space. With XPU_SPACE_REST, @total is the device's size. */
typedef void (*levels_tell_t)(uint16_t device, uint8_t space, uint64_t bytes, uint64_t total);

/* Finds the driver's functions. @cuda: the driver's handle, from dlopen() */
void levels__start(void *cuda, levels_tell_t tell);

/*
 * Marks all values as unreported, for a new listener. @late: the program may already have pools and
 * nodes.
 */
void levels__repeat(bool late);

/* Notes that the program uses pools of @device, or has graph nodes that allocate there. */
void levels__has_pool(uint16_t device);
void levels__has_node(uint16_t device);

/* Note a pool that was made, and a pool that is about to be destroyed. */
void levels__add_pool(CUmemoryPool pool, uint16_t device);
void levels__remove_pool(CUmemoryPool pool);

/* Asks for the values of pools and graphs, and reports values that have changed. */
void levels__look(void);

/*
 * Reports how much memory of @device is in use: the first time, and then at most once a second.
 * @system: the call that has just ended took memory from the system, so that a report is due.
 * Called after a call has allocated memory on @device, whose context is current.
 */
void levels__see_device(uint16_t device, bool system);

/*
 * Reports how much memory of @device is in use. A context of @device must be current. Return: the
 * free bytes, or UINT64_MAX.
 */
uint64_t levels__tell_device(uint16_t device);

#endif /* XPU_PRELOAD_LEVELS_H */
