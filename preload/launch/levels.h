/* SPDX-License-Identifier: MIT */
/*
 * levels.h - memory that CUDA holds without a call for each piece: it is asked how much that is
 *
 * The pools' unused part and the memory of graphs' nodes are asked for by the shim's thread, a few times a
 * second, on devices where the program has pools or such nodes; beside that, all that is used of a device,
 * by anybody, with the program's first allocation there and at most once a second with calls that ask the
 * system for memory. Each is an event XPU_ALLOC_LEVEL, told when it has changed.
 */
#ifndef XPU_PRELOAD_LEVELS_H
#define XPU_PRELOAD_LEVELS_H

#include <stdbool.h>
#include <stdint.h>

#include <cuda.h>

/* Tells of so many bytes of a space; of XPU_SPACE_REST, @total is the size of the device. */
typedef void (*levels_tell_t)(uint16_t device, uint8_t space, uint64_t bytes, uint64_t total);

/* Finds the driver's functions. @cuda: its library, of dlopen() */
void levels__start(void *cuda, levels_tell_t tell);

/* Forgets what was told, for a new listener. @late: the program may have pools and nodes already. */
void levels__repeat(bool late);

/* The program uses pools of a device, or has nodes of graphs that allocate there. */
void levels__has_pool(uint16_t device);
void levels__has_node(uint16_t device);

/* A pool was made; a pool is about to end. */
void levels__add_pool(CUmemoryPool pool, uint16_t device);
void levels__remove_pool(CUmemoryPool pool);

/* Asks for all of them, and tells of those that have changed. */
void levels__look(void);

/*
 * A call has made memory of a device, whose context is current: tells what is used of the device if that was
 * not told before, or, of a call that asks the @system, not for a second.
 */
void levels__see_device(uint16_t device, bool system);

/* Tells what is used of the device whose context is current. Return: what is free, or UINT64_MAX. */
uint64_t levels__tell_device(uint16_t device);

#endif /* XPU_PRELOAD_LEVELS_H */
