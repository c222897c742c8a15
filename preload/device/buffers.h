/* SPDX-License-Identifier: MIT */
/*
 * buffers.h - CUPTI's buffers, which yield.c shares between the shim (activity.c) and the program
 */
#ifndef XPU_PRELOAD_BUFFERS_H
#define XPU_PRELOAD_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cupti.h>

/*
 * CUPTI's callbacks, for the shim and for the program: see yield.c. They take no lock and, for the
 * shim, never wait.
 */
void CUPTIAPI activity__requested(uint8_t **data, size_t *size, size_t *max_records);
void CUPTIAPI activity__completed(CUcontext context, uint32_t stream_id, uint8_t *data, size_t size,
				  size_t valid_bytes);

/* Whether CUPTI collects for the shim. */
bool activity__collects(void);

/* Whether the shim collects records of @kind. */
bool activity__has_kind(CUpti_ActivityKind kind);

/* Whether CUPTI has buffers of the shim's. */
bool activity__has_buffers_out(void);

/* Makes CUPTI hand out unfinished records, too, as the program asks. */
void activity__flush_for_program(void);

/* Takes the buffers of such flushes into use again, once no thread can write to them. May wait. */
void activity__end_rest(void);

/**
 * activity__drain - pack and send every buffer that came back
 * @last: no launch is recorded after this for now: mark this in the records, repeat every
 *	  definition next time, give back the memory of the buffers
 */
void activity__drain(bool last);

/* Packs what came back in a flush of the program's, which other threads' flushes may be beside. */
void activity__drain_for_program(void);

#endif /* XPU_PRELOAD_BUFFERS_H */
