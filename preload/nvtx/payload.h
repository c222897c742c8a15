/* SPDX-License-Identifier: MIT */
/*
 * payload.h - NVTX's extended payloads: what NCCL tells of its operations
 *
 * A module registers schemas, which say what is where in a payload; a range then has the number of a
 * schema and the bytes. The shim reads the fields that NCCL names: "NCCL communicator ID" is one
 * number on all ranks of a communicator, so that an operation has an identity across processes.
 * Payloads without a communicator are not recorded: programs put numbers there that never repeat.
 *
 * Source: nvToolsExtPayload.h of NVTX 3; nvtx_payload_schemas.h of NCCL.
 */
#ifndef XPU_PRELOAD_PAYLOAD_H
#define XPU_PRELOAD_PAYLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nvtx/nvtx_abi.h"
#include "xpu_record.h"

/**
 * payload__register - keep a schema; it is never freed
 * @domain: the handle of its domain
 *
 * Two modules of one domain may give one number to different schemas: payloads of that number are
 * ignored from then on.
 *
 * Return: the schema's number, a new one if it has none yet; 0: it is not kept.
 */
uint64_t payload__register(const void *domain, const struct nvtx_schema_attributes *attr);

/**
 * payload__read - read what is known of payloads
 * @data: @nr of them
 * @out: set if true is returned
 * @name: set to the text of the entry that is the event's message, else left; it must outlive the
 *	  event's call only; may be NULL
 *
 * Takes no lock and allocates nothing. Return: whether they have a communicator.
 */
bool payload__read(const void *domain, const struct nvtx_payload_data *data, size_t nr,
		   struct xpu_range_payload *out, const char **name);

#endif /* XPU_PRELOAD_PAYLOAD_H */
