/* SPDX-License-Identifier: GPL-3.0-or-later */
/* shape.h - how kernels were launched: grid, block, registers and memory */
#ifndef MERGE_SHAPE_H
#define MERGE_SHAPE_H

#include <stddef.h>
#include <stdint.h>

#include "util.h"
#include "xpu_record.h"

#define SHAPE_SEVERAL	(NO_INDEX - 1)	/* in place of an index: it differs from launch to launch */

/* All shapes, each once. */
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

/* Return: the shape of that index; NULL if it is not known, or SHAPE_SEVERAL. */
const struct xpu_shape *shapes__at(const struct shapes *s, uint32_t idx);

/* Return: what @a and @b have in common: the same index, or SHAPE_SEVERAL. */
uint32_t shape__common(uint32_t a, uint32_t b);

/* Makes "64", "64x2" or "64x2x8" of three dimensions. */
#define SHAPE_SIZE_MAX	36
void shape__size(const uint32_t dim[3], char buf[SHAPE_SIZE_MAX]);

/* Makes "<<<64x2, 256>>>", with the bytes of dynamic shared memory and the cluster, if there are. */
#define SHAPE_TEXT_MAX	192
void shape__text(const struct xpu_shape *shape, char buf[SHAPE_TEXT_MAX]);

/*
 * Return: all of it for people, to be freed: "<<<64, 256>>>, 32 registers, 1024 B shared, 16 B local,
 * occupancy 75 %"; NULL for want of memory.
 */
char *shape__describe(const struct xpu_shape *shape, const struct xpu_device_limits *limits);

/**
 * shape__occupancy - how many of a multiprocessor's warps can run at a time
 * @limits: all 0 if not known
 *
 * As NVIDIA's occupancy calculator has it, with all of the shared memory that a multiprocessor can
 * have; clusters, which may leave multiprocessors empty, are not looked at.
 *
 * Return: the share of all warps, 0 to 1; less than 0 if it is not known.
 */
double shape__occupancy(const struct xpu_shape *shape, const struct xpu_device_limits *limits);

#endif /* MERGE_SHAPE_H */
