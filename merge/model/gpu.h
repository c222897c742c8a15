/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * gpu.h - which GPU is which
 *
 * Each process numbers the GPUs that it sees from 0 (CUDA_VISIBLE_DEVICES), so that one number may
 * mean several GPUs in a recording, and one GPU have several numbers. Their UUIDs tell.
 */
#ifndef MERGE_GPU_H
#define MERGE_GPU_H

#include <stdbool.h>
#include <stdint.h>

#include "util.h"

struct gpu {
	uint32_t number;		/* to show: as its first process has it, if that is free */
	const char *name;		/* NULL if not told */
	uint32_t host;
	bool used;			/* any record is of it */
	uint64_t busy_ns;		/* sum of those that were wanted, overlaps counted twice */
	uint64_t nr_works;
};

struct gpus {
	struct strpool *strings;	/* the caller's */
	ARRAY(struct gpu) list;
	struct idmap by_device;		/* (process, its ordinal) to index in list */
	struct idmap by_uuid;		/* address of the interned UUID to index in list */
	struct idmap by_number;
	struct idmap by_ordinal;	/* (host, number there) to index in list */
	uint32_t host;			/* of what comes next: numbers mean the same on one host */
	uint32_t next_number;
};

void gpus__init(struct gpus *g, struct strpool *strings);
void gpus__exit(struct gpus *g);

/**
 * gpus__define - a process told what its ordinal means
 * @g: all GPUs
 * @proc: index of the process
 * @ordinal: what it calls the GPU
 * @uuid: 16 bytes, all 0 if it does not know
 * @name: kept, or NULL
 *
 * Return: 0 or -ENOMEM.
 */
int gpus__define(struct gpus *g, uint32_t proc, uint32_t ordinal, const uint8_t *uuid,
		 const char *name);

/*
 * The index in g->list of what @proc calls @ordinal; what it did not define is taken for the GPU of
 * that number. Return: 0 or -ENOMEM.
 */
int gpus__get(struct gpus *g, uint32_t proc, uint32_t ordinal, uint32_t *idx);

/* Return: how many ran any work. */
uint32_t gpus__nr_used(const struct gpus *g);

#endif /* MERGE_GPU_H */
