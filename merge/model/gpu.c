// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/gpu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define UUID_BYTES	16
#define DEVICE_KEY(proc, ordinal)	((uint64_t)(proc) << 32 | (ordinal))

void gpus__init(struct gpus *g, struct strpool *strings)
{
	memset(g, 0, sizeof(*g));
	g->strings = strings;
}

void gpus__exit(struct gpus *g)
{
	array_free(&g->list);
	idmap__free(&g->by_device);
	idmap__free(&g->by_uuid);
	idmap__free(&g->by_number);
	idmap__free(&g->by_ordinal);
}

/* @ordinal: NO_INDEX if no process has a number for it */
static int gpus__new(struct gpus *g, uint32_t ordinal, uint32_t *idx)
{
	struct gpu gpu = { .number = ordinal == NO_INDEX ? g->next_number : ordinal, .host = g->host };
	uint64_t key = DEVICE_KEY(g->host, ordinal);
	uint32_t taken;
	int err;

	while (idmap__get(&g->by_number, gpu.number, &taken))
		gpu.number = g->next_number++;
	*idx = g->list.nr;
	err = idmap__put(&g->by_number, gpu.number, *idx);
	if (!err && ordinal != NO_INDEX && !idmap__get(&g->by_ordinal, key, &taken))
		err = idmap__put(&g->by_ordinal, key, *idx);
	return err ?: array_push(&g->list, gpu);
}

int gpus__get(struct gpus *g, uint32_t proc, uint32_t ordinal, uint32_t *idx)
{
	int err = 0;

	if (idmap__get(&g->by_device, DEVICE_KEY(proc, ordinal), idx))
		return 0;
	/* Take the GPU that is shown under that number, unless it is another host's. */
	if ((!idmap__get(&g->by_number, ordinal, idx) || g->list.v[*idx].host != g->host) &&
	    !idmap__get(&g->by_ordinal, DEVICE_KEY(g->host, ordinal), idx))
		err = gpus__new(g, ordinal, idx);
	return err ?: idmap__put(&g->by_device, DEVICE_KEY(proc, ordinal), *idx);
}

static int gpus__find_uuid(struct gpus *g, const uint8_t *uuid, uint32_t ordinal, uint32_t *idx)
{
	const char *interned = strpool__intern(g->strings, (const char *)uuid, UUID_BYTES);
	int err = 0;

	if (!interned)
		return -ENOMEM;
	if (!idmap__get(&g->by_uuid, (uintptr_t)interned, idx))
		err = gpus__new(g, ordinal, idx) ?: idmap__put(&g->by_uuid, (uintptr_t)interned, *idx);
	return err;
}

int gpus__of_uuid(struct gpus *g, const uint8_t uuid[16], uint32_t *idx)
{
	return gpus__find_uuid(g, uuid, NO_INDEX, idx);
}

int gpus__define(struct gpus *g, uint32_t proc, uint32_t ordinal, const uint8_t *uuid,
		 const char *name, const struct xpu_device_limits *limits)
{
	static const uint8_t unknown[UUID_BYTES];
	uint32_t idx;
	int err;

	if (idmap__get(&g->by_device, DEVICE_KEY(proc, ordinal), &idx))
		return 0;
	if (memcmp(uuid, unknown, UUID_BYTES))
		err = gpus__find_uuid(g, uuid, ordinal, &idx) ?:
		      idmap__put(&g->by_device, DEVICE_KEY(proc, ordinal), idx);
	else
		err = gpus__get(g, proc, ordinal, &idx);
	if (!err && !g->list.v[idx].name && name) {
		g->list.v[idx].name = strpool__intern(g->strings, name, strlen(name));
		err = g->list.v[idx].name ? 0 : -ENOMEM;
	}
	if (!err && limits && !g->list.v[idx].limits.capability)
		g->list.v[idx].limits = *limits;
	return err;
}

uint32_t gpus__nr_used(const struct gpus *g)
{
	uint32_t nr = 0;
	size_t i;

	for (i = 0; i < g->list.nr; i++)
		nr += g->list.v[i].used;
	return nr;
}
