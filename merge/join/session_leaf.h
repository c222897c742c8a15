/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * session_leaf.h - what ran, or what a thread did: one index in s->leaves for each
 */
#ifndef MERGE_SESSION_LEAF_H
#define MERGE_SESSION_LEAF_H

#include <stdint.h>

#include "join/session.h"

/**
 * session__leaf - the leaf of that kind, device and name
 * @gpu: index in s->gpus.list, or NO_INDEX
 * @name: interned; NULL is taken for want of memory
 *
 * Return: 0 or -ENOMEM.
 */
int session__leaf(struct session *s, enum leaf_kind kind, uint32_t gpu, const char *name,
		  uint32_t *idx);

/* The leaf of a kernel, by the id of its mangled name. Return: 0 or -ENOMEM. */
int session__kernel_leaf(struct session *s, uint32_t proc, uint32_t gpu, uint32_t name,
			 uint32_t *idx);

/*
 * The leaf of waiting for @leaf, which is one of the device's or WAIT_LEAF_*. Return: 0 or -ENOMEM.
 */
int session__wait_leaf(struct session *s, uint32_t leaf, uint32_t *idx);

/* Frees what finds them again; s->leaves stays. */
void session__free_leaves(struct session *s);

#endif /* MERGE_SESSION_LEAF_H */
