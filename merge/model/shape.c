// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/shape.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void shapes__init(struct shapes *s)
{
	memset(s, 0, sizeof(*s));
	s->secret = secret();
}

void shapes__exit(struct shapes *s)
{
	hashes__free(&s->by_value);
	array_free(s);
}

int shapes__get(struct shapes *s, const struct xpu_shape *shape, uint32_t *idx)
{
	uint32_t words[sizeof(*shape) / sizeof(uint32_t)], hash = 0, i;

	memcpy(words, shape, sizeof(words));
	for (i = 0; i < ARRAY_SIZE(words); i++)
		hash = hash__mix(hash, words[i], s->secret);
	return hashes_get(&s->by_value, hash, s, *idx,
			  !memcmp(&s->v[*idx], shape, sizeof(*shape)), *shape);
}

const struct xpu_shape *shapes__at(const struct shapes *s, uint32_t idx)
{
	return idx < s->nr ? &s->v[idx] : NULL;
}

uint32_t shape__common(uint32_t a, uint32_t b)
{
	return a == b ? a : SHAPE_SEVERAL;
}

void shape__size(const uint32_t dim[3], char buf[SHAPE_SIZE_MAX])
{
	int nr = dim[2] > 1 ? 3 : dim[1] > 1 ? 2 : 1, i, len;

	len = snprintf(buf, SHAPE_SIZE_MAX, "%" PRIu32, dim[0]);
	for (i = 1; i < nr; i++)
		len += snprintf(buf + len, SHAPE_SIZE_MAX - len, "x%" PRIu32, dim[i]);
}

void shape__text(const struct xpu_shape *shape, char buf[SHAPE_TEXT_MAX])
{
	char grid[SHAPE_SIZE_MAX], block[SHAPE_SIZE_MAX], cluster[SHAPE_SIZE_MAX];
	int len;

	shape__size(shape->grid, grid);
	shape__size(shape->block, block);
	len = snprintf(buf, SHAPE_TEXT_MAX, "<<<%s, %s", grid, block);
	if (shape->dynamic_bytes)
		len += snprintf(buf + len, SHAPE_TEXT_MAX - len, ", %" PRIu32 " B",
				shape->dynamic_bytes);
	if (shape->cluster[0]) {
		shape__size(shape->cluster, cluster);
		len += snprintf(buf + len, SHAPE_TEXT_MAX - len, ", cluster %s", cluster);
	}
	snprintf(buf + len, SHAPE_TEXT_MAX - len, ">>>");
}

/* ---- occupancy ------------------------------------------------------------------------------- */

#define REGISTER_UNIT		256	/* registers are allocated to warps in units of this size */

static uint64_t round_up(uint64_t n, uint64_t unit)
{
	return (n + unit - 1) / unit * unit;
}

/* Return: the unit, in bytes, in which shared memory is allocated. */
static uint32_t shared_unit(uint32_t capability)
{
	return capability >= 80 ? 128 : 256;
}

/* Return: how many parts a multiprocessor has, each with registers of its own. */
static uint32_t nr_partitions(uint32_t capability)
{
	return capability == 60 ? 2 : 4;
}

/* Return: how many blocks can have all their registers at once. */
static uint64_t blocks_by_registers(const struct xpu_shape *shape, uint64_t nr_warps,
				    const struct xpu_device_limits *limits)
{
	uint32_t parts = nr_partitions(limits->capability);
	uint64_t of_warp =
		round_up((uint64_t)shape->registers * limits->warp_threads, REGISTER_UNIT);

	if (!shape->registers)
		return UINT64_MAX;
	if (limits->block_registers &&
	    round_up(nr_warps, parts) * of_warp > limits->block_registers)
		return 0;
	return limits->registers / parts / of_warp * parts / nr_warps;
}

static uint64_t blocks_by_shared(const struct xpu_shape *shape,
				 const struct xpu_device_limits *limits)
{
	uint64_t bytes = (uint64_t)shape->static_bytes + shape->dynamic_bytes +
			 limits->block_reserved_bytes;

	if (!bytes)
		return UINT64_MAX;
	return limits->shared_bytes / round_up(bytes, shared_unit(limits->capability));
}

double shape__occupancy(const struct xpu_shape *shape, const struct xpu_device_limits *limits)
{
	uint64_t threads, nr_warps, max_warps, nr;

	if (!limits->warp_threads || limits->max_threads < limits->warp_threads ||
	    !limits->max_blocks || !limits->registers || limits->capability < 50 ||
	    __builtin_mul_overflow((uint64_t)shape->block[0] * shape->block[1], shape->block[2],
				   &threads) ||
	    !threads)
		return -1;
	nr_warps = threads / limits->warp_threads + !!(threads % limits->warp_threads);
	max_warps = limits->max_threads / limits->warp_threads;
	nr = limits->max_blocks;
	nr = min_t(uint64_t, nr, max_warps / nr_warps);
	nr = min_t(uint64_t, nr, nr ? blocks_by_registers(shape, nr_warps, limits) : 0);
	nr = min_t(uint64_t, nr, blocks_by_shared(shape, limits));
	return (double)(nr * nr_warps) / max_warps;
}

char *shape__describe(const struct xpu_shape *shape, const struct xpu_device_limits *limits)
{
	uint64_t shared = (uint64_t)shape->static_bytes + shape->dynamic_bytes;
	double share = shape__occupancy(shape, limits);
	char text[SHAPE_TEXT_MAX], occupancy[32] = "", *all;

	shape__text(shape, text);
	if (share >= 0)
		snprintf(occupancy, sizeof(occupancy), ", occupancy %.0f %%", 100 * share);
	if (asprintf(&all, "%s, %" PRIu32 " registers, %" PRIu64 " B shared, %" PRIu32 " B local%s",
		     text, shape->registers, shared, shape->local_bytes, occupancy) < 0)
		return NULL;
	return all;
}
