// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/leaf.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xpu_record.h"

const char *memcpy_kind__name(uint32_t kind)
{
	static const char *const names[NR_MEMCPY_KINDS] = {	/* in the order of
								 * CUpti_ActivityMemcpyKind */
		"unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH",
		"PtoP",
	};

	return kind < NR_MEMCPY_KINDS ? names[kind] : names[0];
}

const char *leaf_kind__name(enum leaf_kind kind)
{
	static const char *const names[NR_LEAF_KINDS] = {
		[LEAF_KERNEL] = "kernel",
		[LEAF_MEMCPY] = "memcpy",
		[LEAF_MEMSET] = "memset",
		[LEAF_PENDING] = "pending",
		[LEAF_CPU] = "cpu",
		[LEAF_OFF_CPU] = "off_cpu",
		[LEAF_GPU_WAIT] = "gpu_wait",
		[LEAF_MEMORY] = "memory",
	};

	return names[kind];
}

const char *leaf_kind__prefix(enum leaf_kind kind)
{
	return kind == LEAF_MEMCPY ? "memcpy " : kind == LEAF_MEMSET ? "memset" : "";
}

const char *off_kind__name(uint32_t kind)
{
	static const char *const names[XPU_OFF_NR] = {
		[XPU_OFF_LOCK] = "lock",
		[XPU_OFF_IO] = "io",
		[XPU_OFF_SLEEP] = "sleep",
		[XPU_OFF_POLL] = "poll",
		[XPU_OFF_CHILD] = "child",
		[XPU_OFF_OTHER] = "other",
		[XPU_OFF_RUNNABLE] = "runnable",
		[XPU_OFF_CALL] = "CUDA call",
	};

	return kind < XPU_OFF_NR ? names[kind] : NULL;
}

void leaf__label(const struct gpus *gpus, const struct leaf *leaf, bool numbered, char *buf)
{
	static const char *const kinds[NR_LEAF_KINDS] = {
		[LEAF_KERNEL] = "Kernel",
		[LEAF_MEMCPY] = "Memcpy",
		[LEAF_MEMSET] = "Memset",
		[LEAF_PENDING] = "[GPU_Launch_Pending]",
		[LEAF_CPU] = "",
		[LEAF_OFF_CPU] = "[Off_CPU]",
		[LEAF_GPU_WAIT] = "[GPU_Wait]",
		[LEAF_MEMORY] = "Memory",
	};

	if (leaf->kind == LEAF_MEMORY && leaf->gpu == NO_INDEX)
		snprintf(buf, LEAF_LABEL_MAX, "[Host_Memory]");
	else if (!leaf_kind__is_device(leaf->kind) && leaf->kind != LEAF_MEMORY)
		snprintf(buf, LEAF_LABEL_MAX, "%s", kinds[leaf->kind]);
	else if (numbered)
		snprintf(buf, LEAF_LABEL_MAX, "[GPU%" PRIu32 "_%s]",
			 gpus->list.v[leaf->gpu].number, kinds[leaf->kind]);
	else
		snprintf(buf, LEAF_LABEL_MAX, "[GPU_%s]", kinds[leaf->kind]);
}

void leaves__init(struct leaves *l, struct strpool *strings)
{
	memset(l, 0, sizeof(*l));
	l->strings = strings;
	l->secret = secret();
}

void leaves__exit(struct leaves *l)
{
	hashes__free(&l->by_key);
	idmap__free(&l->by_part);
	array_free(&l->parts);
	array_free(&l->waits);
	array_free(l);
}

int leaves__add(struct leaves *l, const struct leaf *leaf, bool split, uint32_t *idx)
{
	uint32_t hash, i;
	int err;

	if (!leaf->name)
		return -ENOMEM;
	hash = hash__mix((uintptr_t)leaf->name, ID_KEY(leaf->kind, leaf->gpu),
			 l->secret + (split ? leaf->shape : 0));
	err = hashes_get(&l->by_key, hash, l, i,
			 l->v[i].kind == leaf->kind && l->v[i].gpu == leaf->gpu &&
			 l->v[i].name == leaf->name && (!split || l->v[i].shape == leaf->shape),
			 *leaf);
	if (err)
		return err;
	l->v[i].shape = shape__common(l->v[i].shape, leaf->shape);
	*idx = i;
	return 0;
}

int leaves__kernel(struct leaves *l, uint32_t gpu, const char *name, uint32_t shape, bool split,
		   uint32_t *idx)
{
	const char *interned = strpool__intern(l->strings, name, strlen(name));

	return leaves__add(l, &(struct leaf){
		.kind = LEAF_KERNEL, .gpu = gpu, .name = interned, .shape = shape, .part = NO_INDEX,
	}, split, idx);
}

char *leaf_place__frame(const char **at)
{
	size_t len = *at ? strcspn(*at, ";") : 0;
	char *frame = *at && **at ? strndup(*at, len) : NULL;

	if (frame)
		*at += len + ((*at)[len] == ';');
	else if (*at && !**at)
		*at = NULL;
	return frame;
}

int leaves__part(struct leaves *l, uint32_t kernel, const struct leaf_place *place, uint32_t *idx)
{
	struct leaf leaf = l->v[kernel];
	uint64_t key = ID_KEY(kernel, place->id);
	int err;

	if (idmap__get(&l->by_part, key, idx))
		return 0;
	leaf.part = l->parts.nr;
	*idx = l->nr;
	/* Reserve both entries first: the map must not have a part that the arrays lack. */
	err = array_reserve(l, l->nr + 1) ?: array_reserve(&l->parts, l->parts.nr + 1) ?:
	      idmap__put(&l->by_part, key, *idx);
	if (err)
		return err;
	l->parts.v[l->parts.nr++] = (struct leaf_part){ place, kernel };
	l->v[l->nr++] = leaf;
	return 0;
}

int leaves__get(struct leaves *l, enum leaf_kind kind, uint32_t gpu, const char *name,
		uint32_t *idx)
{
	const char *interned = strpool__intern(l->strings, name, strlen(name));

	return leaves__add(l, &(struct leaf){
		.kind = kind, .gpu = gpu, .name = interned, .shape = NO_INDEX, .part = NO_INDEX,
	}, false, idx);
}

int leaves__wait(struct leaves *l, uint32_t leaf, uint32_t *idx)
{
	const char *name;
	int err = 0;

	if (leaf == WAIT_LEAF_IDLE || leaf == WAIT_LEAF_OTHER)
		return leaves__get(l, LEAF_GPU_WAIT, NO_INDEX,
				   leaf == WAIT_LEAF_IDLE ? "(idle)" : "(other streams)", idx);
	while (!err && l->waits.nr <= leaf)
		err = array_push(&l->waits, NO_INDEX);
	if (err)
		return err;
	if (l->waits.v[leaf] == NO_INDEX) {
		name = l->v[leaf].name;
		if (*leaf_kind__prefix(l->v[leaf].kind))
			name = strpool__internf(l->strings, "%s%s",
						leaf_kind__prefix(l->v[leaf].kind), name);
		err = leaves__add(l, &(struct leaf){
			.kind = LEAF_GPU_WAIT, .gpu = NO_INDEX, .name = name, .shape = NO_INDEX,
			.part = NO_INDEX,
		}, false, &l->waits.v[leaf]);
	}
	*idx = l->waits.v[leaf];
	return err;
}
