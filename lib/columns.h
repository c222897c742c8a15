/* SPDX-License-Identifier: MIT */
/*
 * columns.h - records stored column by column, see struct xpu_columns in xpu_record.h
 *
 * Launches and device records are most of a recording. Column by column they are small, since most
 * words differ little from the one above, and what is left is quickly compressed.
 */
#ifndef XPU_COLUMNS_H
#define XPU_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

struct columns;			/* the memory that packing needs, for use again and again */

struct columns *columns__new(void);
void columns__free(struct columns *c);

/**
 * columns__pack - store records column by column
 * @records: whole ones, aligned to 8; @bytes of them, XPU_BLOCK_MAX at most
 * @packed: set to the bytes of the result
 *
 * Return: the bytes, which stay valid until the next call, or NULL: no memory.
 */
const void *columns__pack(struct columns *c, const void *records, size_t bytes, size_t *packed);

/**
 * columns__unpack - the records again
 * @packed: any bytes, aligned to 8
 * @records: room for @bytes, aligned to 8, which the result must have
 *
 * Return: 0 or -EBADMSG, with anything in @records.
 */
int columns__unpack(const void *packed, size_t packed_bytes, void *records, size_t bytes);

#endif /* XPU_COLUMNS_H */
