/* SPDX-License-Identifier: GPL-3.0-or-later */
/* chain.h - the call paths under which work and time are summed up */
#ifndef MERGE_CHAIN_H
#define MERGE_CHAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "model/machine.h"
#include "util.h"
#include "xpu_record.h"

struct stack;

/* The origin of a call path in a recording. */
enum path_how {
	PATH_NO_STACK,			/* no stack could be read */
	PATH_SHIM,			/* unwound by the shim */
	PATH_KERNEL,			/* unwound by Linux, along frame pointers */
	PATH_NAMED,			/* imported with names instead of addresses */
	PATH_NONE,			/* imported, without a stack */
};

/* A call path as recorded: addresses and the function called. */
struct path {
	const struct xpu_record_callchain *rec;	/* NULL after the recording was read */
	uint32_t path_id;		/* the path's id in the recording */
	uint32_t proc;
	struct image *image;		/* NULL: the process's maps are unknown */
	const char *api;		/* interned */
	enum path_how how;		/* valid once the frames have names */
	bool api_known;			/* the path's definition names the function that was
					 * called */
	uint8_t api_number;		/* enum xpu_api of that function */
	bool one_record;		/* the call has at most one device record */
	uint32_t chain;			/* the path's chain in remap epoch 0, NO_INDEX until used */
};

/* A call path in one remap epoch, or a label instead of a call path. */
struct chain {
	uint32_t proc;
	uint32_t path;			/* NO_INDEX: a launch without a call path, or no launch */
	uint32_t epoch;
	const char *no_launch;		/* a label such as "[no launch]"; NULL: the chain of a
					 * launch */
	uint32_t launched;		/* for chains__joined(): the chain whose stack comes first;
					 * otherwise NO_INDEX */
	uint32_t captured;		/* for chains__joined(): the chain whose stack follows
					 * "[captured at]"; otherwise NO_INDEX */
	uint32_t range;			/* with opts.by_range: index in ranges.list, or NO_RANGE */
	uint32_t in_range;		/* with opts.by_range: the chain of the same call path
					 * without ranges */
	uint64_t nr_launches;
	uint64_t nr_makers;		/* number of calls at this path that launched nothing, but
					 * made work for later launches */
	uint64_t nr_pending;
	uint64_t nr_samples;
	const struct stack *stack;
};

/* Labels that replace a call path or a launch. */
enum label {
	LABEL_NO_PATH,
	LABEL_NO_LAUNCH,
	LABEL_BEFORE,
	LABEL_AFTER,
	LABEL_NO_STACK,			/* a sample without a stack */
	LABEL_NO_SAMPLE,		/* CPU time without a sample */
	LABEL_GRAPHS,			/* memory that CUDA allocates for graphs, without a call */
	LABEL_UNUSED,
	LABEL_REST,
	LABEL_REST_LATE,		/* like LABEL_REST, plus memory that the process had before
					 * xpuload attached */
	NR_LABELS
};

struct label_chains {
	uint32_t idx[NR_LABELS];	/* NO_INDEX: not used yet */
};

/* All chains, and the maps to find one. Zero it to start. */
struct chains {
	struct chain *v;
	size_t nr, cap;
	struct idmap by_epoch;		/* maps (path, epoch) to a chain, for epochs after 0 */
	struct idmap joined;		/* maps (chain of the launch, chain of the capture) to a
					 * chain */
	struct idmap in_ranges;		/* maps (chain, range) to a chain */
	ARRAY(struct label_chains) labels;	/* index: process */
};

void chains__exit(struct chains *c);

/*
 * Finds or makes the chain of call path @path, whose index is @path_idx, at @time_ns. Return: 0 or
 * -ENOMEM.
 */
int chains__of_path(struct chains *c, struct path *path, uint32_t path_idx, uint64_t time_ns,
		    uint32_t *idx);

/* Finds or makes the chain of a label in a process. Return: 0 or -ENOMEM. */
int chains__of_label(struct chains *c, uint32_t proc, enum label label, uint32_t *idx);

/*
 * Finds or makes the chain of work that one call path launched and another call path captured.
 * Return: 0 or -ENOMEM.
 */
int chains__joined(struct chains *c, uint32_t launched, uint32_t captured, uint32_t *idx);

/*
 * Replaces the chain *@idx by the chain of the same call path in an NVTX range. Return: 0 or
 * -ENOMEM.
 */
int chains__in_range(struct chains *c, uint32_t range, uint32_t *idx);

#endif /* MERGE_CHAIN_H */
