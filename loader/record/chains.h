/* SPDX-License-Identifier: GPL-3.0-or-later */
/* chains.h - call chains: each is written once, and later records refer to its id */
#ifndef XPU_LOADER_CHAINS_H
#define XPU_LOADER_CHAINS_H

#include <stdbool.h>
#include <stdint.h>

#include "xpu_record.h"

struct chains;
struct process;
struct processes;
struct writer;

/* The properties by which call chains with equal frames may differ. */
struct chain {
	uint32_t proc_id;
	uint32_t cbid;
	uint16_t domain;
	uint16_t flags;			/* XPU_CHAIN_* */
	uint32_t nr_frames;
};

/* Makes an empty set of chains. Return: NULL if memory runs out. */
struct chains *chains__new(struct writer *w, struct processes *ps);
void chains__free(struct chains *c);

/**
 * chains__id - find or make the id of a call chain
 * @p: the chain's process
 * @frames: @chain->nr_frames, at most XPU_MAX_FRAMES
 * @time_ns: when the chain occurred; written when the chain gets its id
 * @launch: whether the chain belongs to a launch
 *
 * Chains are distinguished by a hash of 128 bits: see numbers__hash(). Beyond LIMIT_CHAIN_BYTES,
 * returns the result of chains__unknown(), and counts the call in @p->nr_beyond.
 *
 * Return: the id, or 0 if memory runs out.
 */
uint32_t chains__id(struct chains *c, struct process *p, const struct chain *chain,
		    const __u64 *frames, uint64_t time_ns, bool launch);

/*
 * Return: the id of a chain without frames, which stands for all unknown chains with the properties
 * of @chain.
 */
uint32_t chains__unknown(struct chains *c, struct process *p, const struct chain *chain,
			 uint64_t time_ns, bool launch);

/*
 * Adds @chain without searching for an equal chain, because @chain is new, or differs in something
 * other than its frames. Return: the new id, or 0 if memory runs out.
 */
uint32_t chains__add(struct chains *c, struct process *p, const struct chain *chain,
		     const __u64 *frames, uint64_t time_ns, bool launch);

/* Return: an id for a launch's chain that chains__tell() will define later. */
uint32_t chains__promise(struct chains *c);
void chains__tell(struct chains *c, struct process *p, const struct chain *chain,
		  const __u64 *frames, uint64_t time_ns, uint32_t path_id);

/* Return: the number of chains of launches. */
uint32_t chains__nr_launching(const struct chains *c);

/* Writes the names of kernel functions that were not written yet. */
void chains__finish(struct chains *c);

#endif /* XPU_LOADER_CHAINS_H */
