/* SPDX-License-Identifier: GPL-3.0-or-later */
/* chains.h - call chains, each written once, and known by its id from then on */
#ifndef XPU_LOADER_CHAINS_H
#define XPU_LOADER_CHAINS_H

#include <stdbool.h>
#include <stdint.h>

#include "xpu_record.h"

struct chains;
struct process;
struct processes;
struct writer;

/* What makes a call chain the same one, beside its frames. */
struct chain {
	uint32_t proc_id;
	uint32_t cbid;
	uint16_t domain;
	uint16_t flags;			/* XPU_CHAIN_* */
	uint32_t nr_frames;
};

/* Return: NULL without memory. */
struct chains *chains__new(struct writer *w, struct processes *ps);
void chains__free(struct chains *c);

/**
 * chains__id - the id of a call chain
 * @p: its process
 * @frames: @chain->nr_frames, at most XPU_MAX_FRAMES
 * @time_ns: when it was met; the file has that of the first time
 * @launch: something was launched from there
 *
 * Chains are told apart by a hash of 128 bits: see map__hash(). Beyond LIMIT_CHAIN_BYTES it is that
 * of chains__unknown(), and @p->nr_beyond counts it.
 *
 * Return: 0 without memory.
 */
uint32_t chains__id(struct chains *c, struct process *p, const struct chain *chain,
		    const __u64 *frames, uint64_t time_ns, bool launch);

/* The id of a chain without frames that stands for one like @chain that is not known. */
uint32_t chains__unknown(struct chains *c, struct process *p, const struct chain *chain,
			 uint64_t time_ns, bool launch);

/* The same of a new one, or of one that something else tells from those that are equal. */
uint32_t chains__add(struct chains *c, struct process *p, const struct chain *chain,
		     const __u64 *frames, uint64_t time_ns, bool launch);

/* An id for a chain of launches that will be told of later, by chains__tell(). */
uint32_t chains__promise(struct chains *c);
void chains__tell(struct chains *c, struct process *p, const struct chain *chain,
		  const __u64 *frames, uint64_t time_ns, uint32_t path_id);

/* How many there are that something was launched from. */
uint32_t chains__nr_launching(const struct chains *c);

/* Writes what has waited for the end: names of the kernel's functions. */
void chains__finish(struct chains *c);

#endif /* XPU_LOADER_CHAINS_H */
