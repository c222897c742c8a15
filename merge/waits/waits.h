/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * waits.h - finds what the device did while threads waited for it
 *
 *	waits__add(&w, ...);		every wait, then
 *	waits__ready(&w);
 *	waits__work(&w, ...);		every piece of device work, in any order, then
 *	waits__share(&w, ...);		divides the time of each wait
 *
 * Waits are matched with work by time, not by correlation ID. The process, the context and usually
 * the stream of a wait are known, and the wait was for the work that ran there during the wait.
 * Pieces of work that run at the same instant get equal shares of that instant. The shares of a
 * wait add up exactly to its duration. Only device work that overlaps a wait is kept.
 *
 * A call that does more than wait, XPU_WAIT_WORK, counts completely as a wait if the device worked
 * for it at least half of the time, and otherwise not at all.
 */
#ifndef MERGE_WAITS_H
#define MERGE_WAITS_H

#include <stdbool.h>
#include <stdint.h>

#include "model/filter.h"
#include "model/api.h"
#include "model/leaf.h"
#include "xpu_record.h"
#include "util.h"

struct wait {
	const struct xpu_record_wait *rec;	/* the record; must stay valid */
	uint64_t start_ns;		/* on the common clock, like the work's times */
	uint32_t proc;
	uint32_t group;
	uint32_t stream;		/* CUPTI's id; NO_INDEX: unknown */
	bool counts;			/* set by waits__share(): whether the call counts as a
					 * wait */
};

struct wait_group;

struct waits {
	ARRAY(struct wait) list;	/* in order of group and start, once ready */
	ARRAY(struct wait_group) groups;	/* one for each context that was waited for */
	struct idmap group_of;		/* maps (scope, context) to an index in groups */
	struct idmap launches;		/* maps (scope, correlation id) to an index in the list, for
					 * launches that wait */
	ARRAY(uint32_t) by_thread;	/* indices in the list, in order of thread id and start */
	uint64_t nr_crowded;		/* number of waits and pieces of work that waits__share()
					 * left out */
};

void waits__init(struct waits *w);
void waits__exit(struct waits *w);

/* Adds a wait. Return: 0, -EINVAL if its times are impossible, or -ENOMEM. */
int waits__add(struct waits *w, uint32_t proc, uint64_t start_ns,
	       const struct xpu_record_wait *rec);

/* Groups the waits, when all have been added. Return: 0 or -ENOMEM. */
int waits__ready(struct waits *w);

struct wait_work {			/* one piece of device work */
	uint64_t start_ns, end_ns;
	uint32_t scope;			/* see api.h */
	uint32_t context, stream;	/* the API's ids */
	uint32_t correlation_id;
	uint32_t leaf;			/* the caller's number for the work; not one of
					 * WAIT_LEAF_* */
	bool kernel;			/* the work is a kernel. A kernel's launch does not wait for
					 * the kernel; a copy's call may wait for the copy */
};

/* Takes a piece of device work. Return: 0 or -ENOMEM. */
int waits__work(struct waits *w, const struct wait_work *work);

/* Return: the wait that the thread with recorded id @thread_id was in at @time_ns, or NULL. */
const struct wait *waits__at(const struct waits *w, uint32_t thread_id, uint64_t time_ns);

/* Takes the results of waits__share(). The functions return 0, or -errno to stop waits__share(). */
struct waits_listener {
	const struct filter *filter;	/* may be NULL */
	uint64_t start_ns;		/* the filter's times are counted from this time */
	/*
	 * Called once for each leaf that has a share of a wait. @part_ns: the share's part that
	 * passes the filter.
	 */
	int (*share)(void *ctx, const struct wait *wait, uint32_t leaf, uint64_t ns,
		     uint64_t part_ns);
	/* Called for each span of time of a share, before share(); may be NULL. */
	int (*when)(void *ctx, const struct wait *wait, uint32_t leaf, const struct filter_span *s);
	void *ctx;
};

/* Divides the time of all waits. Return: 0, -ENOMEM or the error of a function of @listener. */
int waits__share(struct waits *w, const struct waits_listener *listener);

#endif /* MERGE_WAITS_H */
