/* SPDX-License-Identifier: MIT */
/* yield.h - gives CUPTI to the program if the program uses it: see yield.c */
#ifndef XPU_PRELOAD_YIELD_H
#define XPU_PRELOAD_YIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cupti.h>

/*
 * Whether the program collects activity records, or is in a call that sets CUPTI up, or has just
 * left such a call.
 */
bool yield__is_taken(void);

/* Whether the program has enabled kinds of activity. */
bool yield__is_collecting(void);

/* Whether CUPTI holds buffers of the program. */
bool yield__buffers_are_out(void);

/* Return: how many records of device work the program got from CUPTI since the last call. */
uint64_t yield__take_nr_records(void);

/*
 * Asks the program for a buffer, through its callback. Return: whether the program has registered
 * callbacks.
 */
bool yield__request(uint8_t **data, size_t *bytes, size_t *max_records);

/*
 * Passes a full buffer of the program to the program's callback. Return: whether the program has
 * registered callbacks.
 */
bool yield__complete(CUcontext context, uint32_t stream_id, uint8_t *data, size_t bytes,
		     size_t valid_bytes);

/*
 * Passes a copy of one of the shim's buffers to the program. Return: whether the program got the
 * records.
 */
bool yield__copy(CUcontext context, uint32_t stream_id, const uint8_t *data, size_t valid_bytes);

#endif /* XPU_PRELOAD_YIELD_H */
