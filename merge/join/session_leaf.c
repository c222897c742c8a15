// SPDX-License-Identifier: GPL-3.0-or-later
#include "join/session_leaf.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/demangle.h"
#include "hash.h"
#include "join/session_tables.h"

struct leaf_entry {
	struct leaf_key {
		uint32_t kind;
		uint32_t gpu;
		const char *name;
	} key;
	uint32_t leaf;
	UT_hash_handle hh;
};

const char *memcpy_kind__name(uint8_t kind)
{
	static const char *const names[] = {	/* by CUpti_ActivityMemcpyKind */
		"unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH",
		"PtoP",
	};

	return kind < ARRAY_SIZE(names) ? names[kind] : names[0];
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

void leaf__label(const struct session *s, const struct leaf *leaf, bool numbered, char *buf)
{
	static const char *const kinds[NR_LEAF_KINDS] = {
		[LEAF_KERNEL] = "Kernel",
		[LEAF_MEMCPY] = "Memcpy",
		[LEAF_MEMSET] = "Memset",
		[LEAF_PENDING] = "[GPU_Launch_Pending]",
		[LEAF_CPU] = "",
		[LEAF_OFF_CPU] = "[Off_CPU]",
		[LEAF_GPU_WAIT] = "[GPU_Wait]",
	};

	if (!leaf_kind__is_device(leaf->kind))
		snprintf(buf, LEAF_LABEL_MAX, "%s", kinds[leaf->kind]);
	else if (numbered)
		snprintf(buf, LEAF_LABEL_MAX, "[GPU%" PRIu32 "_%s]",
			 s->gpus.list.v[leaf->gpu].number, kinds[leaf->kind]);
	else
		snprintf(buf, LEAF_LABEL_MAX, "[GPU_%s]", kinds[leaf->kind]);
}

int session__leaf(struct session *s, enum leaf_kind kind, uint32_t gpu, const char *name,
		  uint32_t *idx)
{
	struct leaf leaf = { kind, gpu, name };
	struct leaf_key key = { kind, gpu, name };
	struct leaf_entry *e;
	bool oom = false;
	int err;

	if (!name)
		return -ENOMEM;
	HASH_FIND(hh, s->tables->leaves, &key, sizeof(key), e);
	if (e) {
		*idx = e->leaf;
		return 0;
	}
	e = arena__alloc(&s->tables->arena, sizeof(*e));
	if (!e)
		return -ENOMEM;
	e->key = key;
	*idx = e->leaf = s->leaves.nr;
	err = array_push(&s->leaves, leaf);
	if (err)
		return err;
	HASH_ADD(hh, s->tables->leaves, key, sizeof(key), e);
	return oom ? -ENOMEM : 0;
}

int session__kernel_leaf(struct session *s, uint32_t proc, uint32_t gpu, uint32_t name,
			 uint32_t *idx)
{
	struct string_def *def;
	const char *interned;
	uint32_t string;
	char *pretty;
	int err;

	if (!name || !idmap__get(&s->tables->strings, ID_KEY(proc, name), &string)) {
		s->loss.bad_refs++;
		return session__leaf(s, LEAF_KERNEL, gpu,
				     strpool__intern(&s->strings, UNKNOWN, strlen(UNKNOWN)), idx);
	}
	def = &s->tables->string_defs.v[string];
	if (def->leaf == NO_INDEX || def->leaf_gpu != gpu) {
		pretty = demangle(def->s);
		interned = strpool__intern(&s->strings, pretty ? pretty : def->s,
					   strlen(pretty ? pretty : def->s));
		free(pretty);
		err = session__leaf(s, LEAF_KERNEL, gpu, interned, &def->leaf);
		if (err)
			return err;
		def->leaf_gpu = gpu;
	}
	*idx = def->leaf;
	return 0;
}

int session__wait_leaf(struct session *s, uint32_t leaf, uint32_t *idx)
{
	struct session_tables *t = s->tables;
	const char *name;
	int err = 0;

	if (leaf == WAIT_LEAF_IDLE || leaf == WAIT_LEAF_OTHER) {
		name = leaf == WAIT_LEAF_IDLE ? "(idle)" : "(other streams)";
		return session__leaf(s, LEAF_GPU_WAIT, NO_INDEX,
				     strpool__intern(&s->strings, name, strlen(name)), idx);
	}
	while (!err && t->wait_leaves.nr <= leaf)
		err = array_push(&t->wait_leaves, NO_INDEX);
	if (err)
		return err;
	if (t->wait_leaves.v[leaf] == NO_INDEX) {
		name = s->leaves.v[leaf].name;
		if (s->leaves.v[leaf].kind == LEAF_MEMCPY)
			name = strpool__internf(&s->strings, "memcpy %s", name);
		else if (s->leaves.v[leaf].kind == LEAF_MEMSET)
			name = strpool__intern(&s->strings, "memset", strlen("memset"));
		err = session__leaf(s, LEAF_GPU_WAIT, NO_INDEX, name, &t->wait_leaves.v[leaf]);
	}
	*idx = t->wait_leaves.v[leaf];
	return err;
}

void session__free_leaves(struct session *s)
{
	HASH_CLEAR(hh, s->tables->leaves);
}
