/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * waits.h - finds what the device did while threads waited for it
 *
 *	waits__add(&w, ...);		every wait, then
 *	waits__ready(&w);
 *	waits__work(&w, ...);		every piece of device work, in any order, then
 *	waits__share(&w, fn, ctx);	shares out the time of each wait
 *
 * This weighs by time, it does not join: a wait belongs to a process, a context and mostly a stream
 * by identity, and it waited for the work that ran there meanwhile. Pieces of work that run at the
 * same instant get equal shares of that instant; the shares of a wait add up to its time to the
 * nanosecond. Only device work that overlaps a wait is kept.
 *
 * A call that has other things to do than to wait, XPU_WAIT_WORK, counts as a wait as a whole when
 * the device worked for it half of the time, and not at all otherwise.
 */
#ifndef MERGE_WAITS_H
#define MERGE_WAITS_H

#include <stdbool.h>
#include <stdint.h>

#include "xpu_record.h"
#include "util.h"

/* In place of a leaf, for shares without device work. */
enum {
	WAIT_LEAF_IDLE	= NO_INDEX - 1,	/* the device did nothing in that context */
	WAIT_LEAF_OTHER	= NO_INDEX - 2,	/* it worked, but not in the stream that was waited for */
};

struct wait {
	const struct xpu_record_wait *rec;	/* must stay valid */
	uint64_t start_ns;		/* on the common clock, as the work's times */
	uint32_t proc;
	uint32_t group;
	uint32_t stream;		/* CUPTI's id; NO_INDEX: not known */
	bool counts;			/* after waits__share(): it counted as a wait */
};

struct wait_group;

struct waits {
	ARRAY(struct wait) list;	/* by group, then start, once ready */
	ARRAY(struct wait_group) groups;	/* one for each context that was waited for */
	struct idmap group_of;		/* (process, context) */
	struct idmap launches;		/* (process, correlation id): waits in launches */
	ARRAY(uint32_t) by_thread;	/* indices in the list, by thread id, then start */
	uint64_t nr_crowded;		/* waits and works that waits__share() left out */
};

void waits__init(struct waits *w);
void waits__exit(struct waits *w);

/* Adds a wait. Return: 0, -EINVAL if its times are impossible, or -ENOMEM. */
int waits__add(struct waits *w, uint32_t proc, uint64_t start_ns,
	       const struct xpu_record_wait *rec);

/* To be called when all waits have been added. Return: 0 or -ENOMEM. */
int waits__ready(struct waits *w);

struct wait_work {			/* one piece of device work */
	uint64_t start_ns, end_ns;
	uint32_t proc;
	uint32_t context, stream;	/* CUPTI's ids */
	uint32_t correlation_id;
	uint32_t leaf;			/* for the caller; not one of WAIT_LEAF_* */
	bool kernel;			/* a kernel's launch does not wait for it, a copy's call may */
};

/* Return: 0 or -ENOMEM. */
int waits__work(struct waits *w, const struct wait_work *work);

/* Return: the wait that recorded thread @thread_id was in at a time, or NULL. */
const struct wait *waits__at(const struct waits *w, uint32_t thread_id, uint64_t time_ns);

/* Called once for each leaf that has a share of a wait. Return: 0, or -errno to stop. */
typedef int (*wait_share_fn)(void *ctx, const struct wait *wait, uint32_t leaf, uint64_t ns);

/* Return: 0, -ENOMEM or what @fn returned. */
int waits__share(struct waits *w, wait_share_fn fn, void *ctx);

#endif /* MERGE_WAITS_H */
