// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/gpu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define UUID_BYTES	16
#define DEVICE_KEY(scope, ordinal)	((uint64_t)(scope) << 32 | (ordinal))

void gpus__init(struct gpus *g, struct strpool *strings)
{
	memset(g, 0, sizeof(*g));
	g->strings = strings;
}

void gpus__exit(struct gpus *g)
{
	array_free(&g->list);
	array_free(&g->uses);
	idmap__free(&g->by_device);
	idmap__free(&g->by_uuid);
	idmap__free(&g->by_number);
	idmap__free(&g->by_ordinal);
}

/* Makes a GPU. @ordinal: NO_INDEX if no process has numbered the GPU */
static int gpus__new(struct gpus *g, uint32_t api, uint32_t ordinal, uint32_t *idx)
{
	struct gpu gpu = { .number = ordinal == NO_INDEX ? g->next_number : ordinal,
			   .host = g->host, .api = api };
	uint64_t key = DEVICE_KEY(SCOPE(g->host, api), ordinal);
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

static int gpus__keep_use(struct gpus *g, const struct gpu_use *use)
{
	return g->keeps_uses ? array_push(&g->uses, *use) : 0;
}

/* Finds or makes the GPU of an ordinal that has no definition. Return: 0 or -ENOMEM. */
static int gpus__of_ordinal(struct gpus *g, uint32_t scope, uint32_t ordinal, uint32_t *idx)
{
	uint32_t api = SCOPE_API(scope);
	int err = 0;

	/* Use the GPU whose shown number is the ordinal, unless the GPU has another host or API. */
	if ((!idmap__get(&g->by_number, ordinal, idx) || g->list.v[*idx].host != g->host ||
	     g->list.v[*idx].api != api) &&
	    !idmap__get(&g->by_ordinal, DEVICE_KEY(SCOPE(g->host, api), ordinal), idx))
		err = gpus__new(g, api, ordinal, idx);
	return err ?: idmap__put(&g->by_device, DEVICE_KEY(scope, ordinal), *idx);
}

int gpus__get(struct gpus *g, uint32_t scope, uint32_t ordinal, uint32_t *idx)
{
	if (idmap__get(&g->by_device, DEVICE_KEY(scope, ordinal), idx))
		return 0;
	return gpus__of_ordinal(g, scope, ordinal, idx) ?: gpus__keep_use(g, &(struct gpu_use){
		.scope = scope, .ordinal = ordinal, .idx = *idx, .kind = GPU_USED,
	});
}

static int gpus__find_uuid(struct gpus *g, const uint8_t *uuid, uint32_t api, uint32_t ordinal,
			   uint32_t *idx)
{
	const char *interned = strpool__intern(g->strings, (const char *)uuid, UUID_BYTES);
	int err = 0;

	if (!interned)
		return -ENOMEM;
	if (!idmap__get(&g->by_uuid, (uintptr_t)interned, idx))
		err = gpus__new(g, api, ordinal, idx) ?:
		      idmap__put(&g->by_uuid, (uintptr_t)interned, *idx);
	return err;
}

int gpus__of_uuid(struct gpus *g, const uint8_t uuid[16], uint32_t *idx)
{
	struct gpu_use use = { .scope = NO_INDEX, .kind = GPU_NAMED };
	int err = gpus__find_uuid(g, uuid, XPU_API_CUDA, NO_INDEX, idx);

	use.idx = *idx;
	memcpy(use.uuid, uuid, UUID_BYTES);
	return err ?: gpus__keep_use(g, &use);
}

int gpus__define(struct gpus *g, uint32_t scope, uint32_t ordinal, const uint8_t *uuid,
		 const char *name, const struct xpu_device_limits *limits)
{
	static const uint8_t unknown[UUID_BYTES];
	struct gpu_use use = {
		.scope = scope, .ordinal = ordinal, .kind = GPU_DEFINED, .name = name,
		.limits = limits,
	};
	uint32_t idx;
	int err;

	if (idmap__get(&g->by_device, DEVICE_KEY(scope, ordinal), &idx))
		return 0;
	if (memcmp(uuid, unknown, UUID_BYTES))
		err = gpus__find_uuid(g, uuid, SCOPE_API(scope), ordinal, &idx) ?:
		      idmap__put(&g->by_device, DEVICE_KEY(scope, ordinal), idx);
	else
		err = gpus__of_ordinal(g, scope, ordinal, &idx);
	if (!err && !g->list.v[idx].name && name) {
		g->list.v[idx].name = strpool__intern(g->strings, name, strlen(name));
		err = g->list.v[idx].name ? 0 : -ENOMEM;
	}
	if (!err && limits && !g->list.v[idx].limits.capability)
		g->list.v[idx].limits = *limits;
	use.idx = idx;
	memcpy(use.uuid, uuid, UUID_BYTES);
	return err ?: gpus__keep_use(g, &use);
}

/*
 * Repeats a recorded use of a GPU. @first_proc: number to add to the process's index. Return: 0 or
 * -ENOMEM.
 */
static int gpus__use_again(struct gpus *g, const struct gpu_use *use, uint32_t first_proc,
			   uint32_t *idx)
{
	uint32_t scope = use->scope + first_proc;

	switch (use->kind) {
	case GPU_NAMED:
		return gpus__of_uuid(g, use->uuid, idx);
	case GPU_DEFINED:
		return gpus__define(g, scope, use->ordinal, use->uuid, use->name, use->limits) ?:
		       gpus__get(g, scope, use->ordinal, idx);
	case GPU_USED:
		break;
	}
	return gpus__get(g, scope, use->ordinal, idx);
}

/* Return: whether another GPU is already mapped to @idx. */
static bool is_taken(const uint32_t *map, size_t nr, uint32_t idx)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (map[i] == idx)
			return true;
	return false;
}

int gpus__absorb(struct gpus *to, const struct gpus *from, uint32_t first_proc, uint32_t *map)
{
	bool differs = false;
	uint32_t idx;
	size_t i;
	int err = 0;

	for (i = 0; i < from->list.nr; i++)
		map[i] = NO_INDEX;
	array_each_while(&from->uses, use, !err) {
		err = gpus__use_again(to, use, first_proc, &idx);
		if (err)
			return err;
		if (map[use->idx] == NO_INDEX) {
			differs |= is_taken(map, from->list.nr, idx);
			map[use->idx] = idx;
		}
		differs |= map[use->idx] != idx;
	}
	for (i = 0; i < from->list.nr && from->numbered; i++)
		differs |=
			map[i] == NO_INDEX || to->list.v[map[i]].number != from->list.v[i].number;
	for (i = 0; i < from->list.nr && !differs; i++) {
		struct gpu *gpu = &to->list.v[map[i]];

		gpu->used |= from->list.v[i].used;
		gpu->busy_ns += from->list.v[i].busy_ns;
		gpu->nr_works += from->list.v[i].nr_works;
	}
	return differs;
}

int gpus__number(struct gpus *g, struct gpus *all, uint32_t first_proc)
{
	uint32_t *map = calloc(g->list.nr + 1, sizeof(*map));
	size_t i;
	int err = map ? 0 : -ENOMEM;

	all->host = g->host;
	err = err ?: gpus__absorb(all, g, first_proc, map);
	for (i = 0; i < g->list.nr && !err; i++) {
		const struct gpu *gpu = &all->list.v[map[i]];

		g->list.v[i].number = gpu->number;
		if (gpu->name)
			g->list.v[i].name =
				strpool__intern(g->strings, gpu->name, strlen(gpu->name));
		if (gpu->name && !g->list.v[i].name)
			err = -ENOMEM;
	}
	g->numbered = true;
	free(map);
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
