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
 * shim's buffers, never wait.
 */
void CUPTIAPI activity__requested(uint8_t **data, size_t *size, size_t *max_records);
void CUPTIAPI activity__completed(CUcontext context, uint32_t stream_id, uint8_t *data, size_t size,
				  size_t valid_bytes);

/* Whether the shim collects as one of several subscribers. */
bool activity__is_among(void);

/* Whether CUPTI collects for the shim. */
bool activity__collects(void);

/* Whether the shim collects records of @kind. */
bool activity__has_kind(CUpti_ActivityKind kind);

/* Whether a record is about device work, which has a launch. */
bool activity__is_work(const CUpti_Activity *record);

/* Whether CUPTI holds buffers of the shim. */
bool activity__has_buffers_out(void);

/* Forces CUPTI to hand out unfinished records, too, because the program asks for that. */
void activity__flush_for_program(void);

/*
 * Recycles the buffers that activity__flush_for_program() got, once no thread can write to them.
 * May wait.
 */
void activity__end_rest(void);

#endif /* XPU_PRELOAD_BUFFERS_H */
