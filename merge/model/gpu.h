/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * gpu.h - identifies GPUs
 *
 * Each process numbers the GPUs that it sees from 0 (CUDA_VISIBLE_DEVICES), so one number may mean
 * several GPUs in a recording, and one GPU may have several numbers. The UUIDs tell which GPU is
 * meant.
 */
#ifndef MERGE_GPU_H
#define MERGE_GPU_H

#include <stdbool.h>
#include <stdint.h>

#include "model/api.h"
#include "util.h"
#include "xpu_record.h"

struct gpu {
	uint32_t number;		/* the shown number: the GPU's ordinal in its first process,
					 * if that number is free */
	const char *name;		/* NULL if unknown */
	struct xpu_device_limits limits;	/* all 0 if unknown */
	uint32_t host;
	uint32_t api;			/* enum xpu_api of its first use */
	bool used;			/* the recording has work on the GPU */
	uint64_t busy_ns;		/* total time of the work that passed the filter; overlaps
					 * count twice */
	uint64_t nr_works;
};

/* Return: whether any work, or a part of its time, passed the filter. */
static inline bool gpu__has_work(const struct gpu *gpu)
{
	return gpu->nr_works || gpu->busy_ns;
}

/* The first use of a GPU by a process, or the first lookup of a UUID. */
struct gpu_use {
	uint32_t scope, ordinal;	/* scope: see api.h */
	uint32_t idx;			/* index in list */
	enum gpu_use_kind {
		GPU_DEFINED,		/* gpus__define() */
		GPU_USED,		/* gpus__get() */
		GPU_NAMED,		/* gpus__of_uuid(), which has no process */
	} kind;
	uint8_t uuid[16];
	const char *name;		/* this and the following members: arguments of
					 * gpus__define() */
	const struct xpu_device_limits *limits;
};

struct gpus {
	struct strpool *strings;	/* owned by the caller */
	ARRAY(struct gpu) list;
	struct idmap by_device;		/* maps (scope, ordinal) to an index in list */
	struct idmap by_uuid;		/* maps the address of an interned UUID to an index in
					 * list */
	struct idmap by_number;
	struct idmap by_ordinal;	/* maps (host, API, ordinal) to an index in list */
	uint32_t host;			/* the host of the next records: processes of one host
					 * number GPUs alike */
	uint32_t next_number;
	bool numbered;			/* gpus__number() has set the shown numbers; gpus__absorb()
					 * must get the same numbers */
	bool keeps_uses;		/* uses are recorded, for gpus__absorb() */
	ARRAY(struct gpu_use) uses;	/* in the order in which they occurred */
};

void gpus__init(struct gpus *g, struct strpool *strings);
void gpus__exit(struct gpus *g);

/**
 * gpus__define - define the GPU behind a process's ordinal
 * @g: all GPUs
 * @scope: the process, with the API
 * @ordinal: the number of the GPU in that scope
 * @uuid: 16 bytes, all 0 if unknown
 * @name: may be NULL
 * @limits: may be NULL
 *
 * Return: 0 or -ENOMEM.
 */
int gpus__define(struct gpus *g, uint32_t scope, uint32_t ordinal, const uint8_t *uuid,
		 const char *name, const struct xpu_device_limits *limits);

/* Finds or adds the GPU of a UUID; perhaps no process uses it. Return: 0 or -ENOMEM. */
int gpus__of_uuid(struct gpus *g, const uint8_t uuid[16], uint32_t *idx);

/*
 * Finds the index in g->list of the GPU that is @ordinal in @scope. If no record defines this
 * ordinal, finds the GPU whose shown number is @ordinal. Return: 0 or -ENOMEM.
 */
int gpus__get(struct gpus *g, uint32_t scope, uint32_t ordinal, uint32_t *idx);

/**
 * gpus__absorb - add the GPUs of a recording that was read separately, and their sums
 * @from: must have keeps_uses set
 * @first_proc: number to add to process indices of @from
 * @map: set, for each GPU of @from, to its index in @to
 *
 * The GPUs of @from are used in @to in the order in which they were first used in @from.
 *
 * Return: 0, 1 or -ENOMEM. 1: the recording must be read again, with @to, because two GPUs of @from
 * are one GPU in @to, one GPU of @from is several GPUs in @to, or a numbered GPU has another number
 * in @to. The recording alone does not show this.
 */
int gpus__absorb(struct gpus *to, const struct gpus *from, uint32_t first_proc, uint32_t *map);

/**
 * gpus__number - set the shown numbers and names of the GPUs of a recording that is read separately
 * @g: the recording's GPUs, with keeps_uses
 * @all: the GPUs of all recordings, without their sums
 * @first_proc: number to add to process indices of @g
 *
 * Return: like gpus__absorb().
 */
int gpus__number(struct gpus *g, struct gpus *all, uint32_t first_proc);

/* Return: how many GPUs ran any work. */
uint32_t gpus__nr_used(const struct gpus *g);

#endif /* MERGE_GPU_H */
