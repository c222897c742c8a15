/* SPDX-License-Identifier: MIT */
/*
 * payload.h - NVTX's extended payloads, in which NCCL describes its operations
 *
 * A module registers schemas, which give the layout of payloads; a range then has a schema's number
 * and the bytes of a payload. The shim reads the fields that NCCL names. "NCCL communicator ID" is
 * the same number on all ranks of a communicator, which identifies an operation across processes.
 * Payloads without a communicator are not recorded: programs may fill them with numbers that never
 * repeat, and each number would make a new path.
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
 * @domain: the handle of the schema's domain
 *
 * If two modules of a domain give the same number to different schemas, payloads with that number
 * are ignored.
 *
 * Return: the schema's number, which is new if the schema had none; 0 if the schema was not kept.
 */
uint64_t payload__register(const void *domain, const struct nvtx_schema_attributes *attr);

/**
 * payload__read - read the known fields of payloads
 * @data: @nr payloads
 * @out: set if true is returned
 * @name: if not NULL, set to the event message if an entry has one; valid only until the call of
 *	the event returns
 *
 * Takes no lock and allocates nothing. Return: whether the payloads have a communicator.
 */
bool payload__read(const void *domain, const struct nvtx_payload_data *data, size_t nr,
		   struct xpu_range_payload *out, const char **name);

#endif /* XPU_PRELOAD_PAYLOAD_H */
