/* SPDX-License-Identifier: GPL-3.0-or-later */
/* shape.h - how kernels were launched: grid, block, registers and memory */
#ifndef MERGE_SHAPE_H
#define MERGE_SHAPE_H

#include <stddef.h>
#include <stdint.h>

#include "util.h"
#include "xpu_record.h"

#define SHAPE_SEVERAL	(NO_INDEX - 1)	/* used instead of an index, if launches have different
					 * shapes */

/* all shapes, each once */
struct shapes {
	struct xpu_shape *v;
	size_t nr, cap;
	struct hashes by_value;
	uint64_t secret;
};

void shapes__init(struct shapes *s);
void shapes__exit(struct shapes *s);

/* Finds or makes a shape. Return: 0 or -ENOMEM. */
int shapes__get(struct shapes *s, const struct xpu_shape *shape, uint32_t *idx);

/* Return: the shape with that index; NULL if the shape is unknown, or for SHAPE_SEVERAL. */
const struct xpu_shape *shapes__at(const struct shapes *s, uint32_t idx);

/* Return: the index if @a and @b are equal, otherwise SHAPE_SEVERAL. */
uint32_t shape__common(uint32_t a, uint32_t b);

/* Formats three dimensions as "64", "64x2" or "64x2x8". */
#define SHAPE_SIZE_MAX	36
void shape__size(const uint32_t dim[3], char buf[SHAPE_SIZE_MAX]);

/* Formats "<<<64x2, 256>>>", with the bytes of dynamic shared memory and the cluster, if any. */
#define SHAPE_TEXT_MAX	192
void shape__text(const struct xpu_shape *shape, char buf[SHAPE_TEXT_MAX]);

/*
 * Return: the whole shape as text: "<<<64, 256>>>, 32 registers, 1024 B shared, 16 B local,
 * occupancy 75 %". The caller frees it. NULL if memory is short.
 */
char *shape__describe(const struct xpu_shape *shape, const struct xpu_device_limits *limits);

/**
 * shape__occupancy - find how many of a multiprocessor's warps can run at once
 * @limits: all 0 if unknown
 *
 * Computes what NVIDIA's occupancy calculator shows, with the largest shared memory that a
 * multiprocessor can have. Ignores clusters, which may leave multiprocessors empty.
 *
 * Return: the share of all warps, 0 to 1; less than 0 if unknown.
 */
double shape__occupancy(const struct xpu_shape *shape, const struct xpu_device_limits *limits);

#endif /* MERGE_SHAPE_H */
