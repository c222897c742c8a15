/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * known_code.h - finds out whether all addresses in the call chains of a process lie in known
 * mappings
 */
#ifndef XPU_LOADER_KNOWN_CODE_H
#define XPU_LOADER_KNOWN_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/types.h>

#include "base/numbers.h"
#include "util.h"

struct code_range {
	uint64_t start, end;
};

/* Starts zeroed. */
struct known_code {
	ARRAY(struct code_range) ranges;	/* the mappings, sorted, without overlaps */
	struct numbers unknown;			/* addresses that no known mapping contained when
						 * known_code__meet() took them */
	bool beyond;				/* further addresses did not fit into @unknown */
};

/* Adds an executable mapping. The mapping stays known after the process has removed it. */
void known_code__map(struct known_code *k, uint64_t start, uint64_t end);

/* Takes the @nr frames of a call chain. Their mappings may be added later. */
void known_code__meet(struct known_code *k, const __u64 *frames, size_t nr);

/* Return: whether some frame lies in none of the mappings that were added so far. */
bool known_code__lacks(struct known_code *k);

/* Frees the memory, and forgets everything. */
void known_code__free(struct known_code *k);

#endif /* XPU_LOADER_KNOWN_CODE_H */
