/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * idle.h - when devices had nothing to do, and what those did who could have given them something
 *
 *	idles__work(&i, ...);			every piece of device work
 *	idles__did(&i, ...);			what threads were blocked on, or waited for
 *	idles__sample(&i, ...);			where they were on a CPU
 *	idles__finish(&i);			then i.rows and i.gpus are there
 *
 * A gap is laid at the door of the thread that launched what ended it. Its time is shared out among
 * what that thread did in it: the intervals in which it was off the CPU or waited, and for the rest
 * its CPU samples, in equal parts. A rest without a sample is told of as such.
 */
#ifndef MERGE_IDLE_H
#define MERGE_IDLE_H

#include <stdbool.h>
#include <stdint.h>

#include "util.h"

/* Shorter gaps are counted, and nobody's. */
#define IDLE_MIN_NS	10000

enum idle_doing {
	IDLE_OFF_CPU,			/* blocked, or runnable */
	IDLE_WAITED,			/* for a device */
	IDLE_ON_CPU,
	IDLE_UNSEEN,			/* nothing was seen of the thread: it ran, or slept for less
					 * than there are records of */
	IDLE_NOBODY,			/* nobody knows who ended the gap */
	IDLE_SHORT,			/* gaps shorter than IDLE_MIN_NS */
};

struct idle_row {
	uint32_t gpu;
	enum idle_doing doing;
	const char *kind;		/* of IDLE_OFF_CPU, interned; else "" */
	uint32_t thread;		/* NO_INDEX: IDLE_NOBODY, IDLE_SHORT */
	uint32_t chain;			/* where; NO_INDEX: not known */
	uint64_t ns;
	uint64_t nr_gaps;
};

struct idle_gpu {
	uint64_t from_ns, to_ns;	/* first to last work */
	uint64_t busy_ns;		/* at least one piece of work ran */
	uint64_t nr_gaps;		/* of IDLE_MIN_NS and more */
};

struct idle_span;
struct idle_deed;
struct idle_sample;
struct idle_spans;

struct idles {
	bool wanted;			/* the others do nothing without it */
	ARRAY(struct idle_row) rows;
	ARRAY(struct idle_gpu) gpus;	/* by index; busy_ns 0: not used */
	ARRAY(struct idle_spans) spans;	/* by GPU */
	ARRAY(struct idle_deed) deeds;
	ARRAY(struct idle_sample) samples;
};

void idles__init(struct idles *i);
void idles__exit(struct idles *i);

/* @thread: who launched it, NO_INDEX if that is not known. Each returns 0 or -ENOMEM. */
int idles__work(struct idles *i, uint32_t gpu, uint32_t thread, uint64_t start_ns, uint64_t end_ns);
int idles__did(struct idles *i, uint32_t thread, enum idle_doing doing, const char *kind,
	       uint32_t chain, uint64_t start_ns, uint64_t end_ns);
int idles__sample(struct idles *i, uint32_t thread, uint32_t chain, uint64_t time_ns);

/* Adds to the rows what was collected since the last time. */
int idles__finish(struct idles *i);

#endif /* MERGE_IDLE_H */
