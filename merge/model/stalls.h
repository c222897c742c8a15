/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * stalls.h - where in kernels warps stood still, and why: PC samples recorded with --stalls
 *
 * A sample knows its function, its place in it and a reason, and no launch, but with --stalls=exact.
 */
#ifndef MERGE_STALLS_H
#define MERGE_STALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "util.h"
#include "xpu_record.h"

#define STALL_LABEL	"[stall]"	/* before a reason */

/* A sample's place and reason; both are shown as frames. */
struct stall_place {
	const char *label;		/* before the reason: STALL_LABEL, or "[NCCL_Wait]" alone */
	const char *place;		/* interned: "+0x1a0", or frames: "a.cu:9;f(int) at b.h:3" */
	const char *reason;		/* interned: "long_scoreboard" */
	uint32_t id;			/* its index */
};

#define STALL_MAX_FRAMES	64	/* of a place: functions that are inlined deeper are left out */

struct stall_count {
	uint32_t place;			/* index in places */
	uint64_t samples;
	uint64_t not_issued;		/* of these: nothing was issued then */
};

/* Samples of a function that were read at a time, or those of one launch. */
struct stall_window {
	uint64_t begin_ns, end_ns;	/* they were taken in that time, as a rule */
	uint32_t function;		/* index in functions */
	uint32_t correlation_id;	/* of the launch; 0: not known */
	size_t first, nr;		/* in counts */
	uint64_t samples;
};

/* A kernel of one process's context. */
struct stall_function {
	uint32_t proc, context;
	const char *name;		/* of kernels' leaves; interned */
};

/* Between, samples of all kernels of a context are there. */
struct stall_span {
	uint32_t proc, context;
	uint64_t begin_ns, end_ns;
};

struct stalls {
	ARRAY(struct stall_place) places;
	ARRAY(struct stall_count) counts;
	ARRAY(struct stall_window) windows;
	ARRAY(struct stall_function) functions;
	struct hashes by_place, by_function;
	ARRAY(struct stall_span) spans;	/* in no order; they may overlap */
	bool knows_spans;		/* recordings of earlier formats have none */
	uint64_t secret;
	/* CUPTI's counts, of all contexts. */
	uint64_t total, others, dropped, nr_full, recorded;
};

void stalls__init(struct stalls *s);
void stalls__exit(struct stalls *s);

/* Find or add. Return: 0 or -ENOMEM. */
int stalls__function(struct stalls *s, uint32_t proc, uint32_t context, const char *name, uint32_t *idx);
int stalls__place(struct stalls *s, const char *place, const char *reason, uint32_t *idx);

/*
 * Goes on to the next frame of a place, the outermost first. *@at: the place, then what is left of it.
 * Return: a copy for the caller to free(), or NULL with *@at NULL at the end, else for want of memory.
 */
char *stall_place__frame(const char **at);

#endif /* MERGE_STALLS_H */
