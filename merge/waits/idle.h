/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * idle.h - the gaps in which devices had no work, and what threads did instead of launching work
 *
 *	idles__work(&i, ...);			every piece of device work
 *	idles__did(&i, ...);			intervals in which a thread was blocked or waited
 *	idles__sample(&i, ...);			every CPU sample
 *	idles__finish(&i);			sets i.rows and i.gpus
 *
 * A gap is attributed to the thread that launched the work after the gap. The gap's time is
 * attributed first to the intervals in which this thread was off the CPU or waited. The rest is
 * divided equally among the thread's CPU samples in the gap. Without a sample, the rest gets a row
 * of its own.
 */
#ifndef MERGE_IDLE_H
#define MERGE_IDLE_H

#include <stdbool.h>
#include <stdint.h>

#include "util.h"

/* Shorter gaps are counted, but attributed to no thread. */
#define IDLE_MIN_NS	10000

enum idle_doing {
	IDLE_OFF_CPU,			/* the thread was blocked, or runnable */
	IDLE_WAITED,			/* the thread waited for a device */
	IDLE_ON_CPU,
	IDLE_UNSEEN,			/* no record says what the thread did: it ran, or slept too
					 * briefly to be recorded */
	IDLE_NOBODY,			/* the thread that ended the gap is unknown */
	IDLE_SHORT,			/* gaps shorter than IDLE_MIN_NS */
};

struct idle_row {
	uint32_t gpu;
	enum idle_doing doing;
	const char *kind;		/* kind of the off-CPU time, interned, for IDLE_OFF_CPU;
					 * otherwise "" */
	uint32_t thread;		/* NO_INDEX for IDLE_NOBODY and IDLE_SHORT */
	uint32_t chain;			/* where the thread was; NO_INDEX: unknown */
	uint64_t ns;
	uint64_t nr_gaps;
};

struct idle_gpu {
	uint64_t from_ns, to_ns;	/* from the beginning of the first work to the end of the
					 * last work, cut at idles.begin_ns and end_ns */
	uint64_t busy_ns;		/* time in which at least one piece of work ran */
	uint64_t nr_gaps;		/* number of gaps of IDLE_MIN_NS or more that began between
					 * from_ns and to_ns */
};

struct idle_span;
struct idle_deed;
struct idle_sample;
struct idle_spans;

struct idles {
	bool wanted;			/* if not set, the functions do nothing */
	uint64_t begin_ns, end_ns;	/* gaps are cut at these times */
	ARRAY(struct idle_row) rows;
	ARRAY(struct idle_gpu) gpus;	/* by GPU index; a GPU with busy_ns 0 was not used */
	ARRAY(struct idle_spans) spans;	/* index: GPU */
	ARRAY(struct idle_deed) deeds;
	ARRAY(struct idle_sample) samples;
};

void idles__init(struct idles *i);
void idles__exit(struct idles *i);

/*
 * Adds work of a GPU, or an activity of a thread. @thread: the thread that launched the work, or
 * was active; NO_INDEX if unknown. Return: 0 or -ENOMEM.
 */
int idles__work(struct idles *i, uint32_t gpu, uint32_t thread, uint64_t start_ns, uint64_t end_ns);
int idles__did(struct idles *i, uint32_t thread, enum idle_doing doing, const char *kind,
	       uint32_t chain, uint64_t start_ns, uint64_t end_ns);
int idles__sample(struct idles *i, uint32_t thread, uint32_t chain, uint64_t time_ns);

struct remap;

/* Adds the rows and GPUs of @from, for which idles__finish() was called. Return: 0 or -ENOMEM. */
int idles__absorb(struct idles *i, const struct idles *from, struct remap *r);

/* Adds everything collected since the last call to the rows. */
int idles__finish(struct idles *i);

#endif /* MERGE_IDLE_H */
