/* SPDX-License-Identifier: MIT */
/* yield.h - CUPTI belongs to the program, if it wants it: see yield.c */
#ifndef XPU_PRELOAD_YIELD_H
#define XPU_PRELOAD_YIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cupti.h>

/*
 * Whether the program collects activity records, or is in a call that says what it wants, or was in
 * one just now.
 */
bool yield__is_taken(void);

/* Whether it has enabled kinds of activity. */
bool yield__is_collecting(void);

/* Whether CUPTI has buffers of the program's. */
bool yield__buffers_are_out(void);

/* Records of device work that the program got from CUPTI since this was asked for last. */
uint64_t yield__take_nr_records(void);

/* Has the program give CUPTI a buffer. Return: whether it has registered callbacks. */
bool yield__request(uint8_t **data, size_t *bytes, size_t *max_records);

/* Gives the program a buffer of its own. Return: whether it has registered callbacks. */
bool yield__complete(CUcontext context, uint32_t stream_id, uint8_t *data, size_t bytes,
		     size_t valid_bytes);

/* Gives the program a copy of a buffer that is not its own. Return: whether it has the records. */
bool yield__copy(CUcontext context, uint32_t stream_id, const uint8_t *data, size_t valid_bytes);

/* The clock that the program has registered, or NULL. */
CUpti_TimestampCallbackFunc yield__clock(void);

#endif /* XPU_PRELOAD_YIELD_H */
