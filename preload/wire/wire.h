/* SPDX-License-Identifier: MIT */
/*
 * wire.h - packs records and sends them out of the process
 *
 * Packs records into a batch, interns the strings and streams that they refer to, and hands full
 * batches to the probe site. Not thread-safe: the caller holds the lock of sender.h.
 */
#ifndef XPU_PRELOAD_WIRE_H
#define XPU_PRELOAD_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "xpu_record.h"

/* Running totals of this process: the body of every COUNTERS record. */
extern struct xpu_record_counters wire__counters;

/**
 * wire__reserve - make room for one record at the end of the batch
 * @type: XPU_RECORD_*
 * @misc: the header's misc
 * @size: bytes, header included; rounded up to 8; the body is zeroed
 *
 * Return: the record with its header filled in; valid until the next call into this file.
 */
void *wire__reserve(uint16_t type, uint16_t misc, uint32_t size);

/*
 * Return: the id of @name, which is defined on its first use. 0 if @name is NULL or memory is
 * short.
 */
uint32_t wire__string(const char *name);

/*
 * Return: the id of the string for a kernel's name and its launch's shape; the id of the name alone
 * if the program uses more shapes than are remembered; 0 if @name is NULL or memory is short.
 */
uint32_t wire__kernel(const char *name, const struct xpu_shape *shape);

/*
 * Defines a device of @api, before its streams. The header and the id of the name in @device are
 * ignored.
 */
void wire__device(unsigned int api, const struct xpu_record_device *device, const char *name);

/* Return: the id of a stream of @api, which is defined on its first use. 0 if memory is short. */
uint32_t wire__stream(unsigned int api, uint32_t device, uint32_t context, uint32_t stream);

/* Defines the name and class of a function, once for each (domain, number). */
void wire__api(uint32_t domain, uint32_t cbid, enum xpu_call_class class, const char *name);

/* Sends that graph node @node_id of @api is a copy of @original_id. */
void wire__graph_clone(unsigned int api, uint64_t node_id, uint64_t original_id);

/*
 * Defines the name, file and first line of Python code object @id. The strings must never be freed.
 */
void wire__pycode(uint32_t id, const char *name, const char *filename, uint32_t first_line);

struct launcher_labels;

/* Defines the labels of this process. They are sent only when definitions are repeated. */
void wire__labels(const struct launcher_labels *labels);

/* Sends a line for the user at once. @level: XPU_MESSAGE_* */
void wire__message(uint16_t level, const char *text);

/* Sends @window at once, in a batch of its own. */
void wire__window(const struct xpu_record_window *window);

/* Sends the records that are packed so far. */
void wire__flush(void);

/* Packs every definition again, so that all are sent with the next flush. */
void wire__repeat_definitions(void);

#endif /* XPU_PRELOAD_WIRE_H */
