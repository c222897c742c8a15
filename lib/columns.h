/* SPDX-License-Identifier: MIT */
/*
 * columns.h - stores records column by column, see struct xpu_columns in xpu_record.h
 *
 * Most of a recording is launches and device records. In most columns, a word differs little from
 * the word above, so the columns are small and compress quickly.
 */
#ifndef XPU_COLUMNS_H
#define XPU_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

struct columns;			/* memory for packing, to be used repeatedly */

struct columns *columns__new(void);
void columns__free(struct columns *c);

/**
 * columns__pack - store records column by column
 * @records: @bytes of whole records, aligned to 8; at most XPU_BLOCK_MAX bytes
 * @packed: set to the size of the result
 *
 * Return: the result, valid until the next call; NULL if memory is short.
 */
const void *columns__pack(struct columns *c, const void *records, size_t bytes, size_t *packed);

/**
 * columns__unpack - restore the records
 * @packed: may be any bytes, aligned to 8
 * @records: room for @bytes, aligned to 8. The result must have exactly this size.
 *
 * Return: 0, or -EBADMSG with garbage in @records.
 */
int columns__unpack(const void *packed, size_t packed_bytes, void *records, size_t bytes);

#endif /* XPU_COLUMNS_H */
