/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * part.h - one recording that is being read: its found data, its join, and its results
 *
 *	part__init(&p, s, nr);		the results go into the session's model and sums
 *	part__init_apart(&p, s, nr);	or into a model and sums of its own
 *	part__read(&p);			all passes
 *	part__take(&p);			names its frames by the session's files, and adds
 *					separate results to the session's
 *	part__exit(&p);
 *
 * A recording that is read separately uses nothing of the session that changes before part__take(),
 * so several threads can each read one. part__take() is called for one recording after the other,
 * in their order.
 */
#ifndef MERGE_PART_H
#define MERGE_PART_H

#include "join/second_pass.h"
#include "join/session.h"
#include "model/remap.h"
#include "read/found.h"

/* the results of a recording that is read separately */
struct part_results {
	struct model model;
	struct sums sums;
	struct msgs msgs;
	struct filter filter;		/* the session's filter, with a cache of its own */
};

struct part {
	struct session *s;
	size_t nr;			/* number of the input */
	struct session_opts opts;
	struct passes *passes;
	struct part_results *apart;	/* NULL: results are the session's own, like the following
					 * members */
	struct model *model;
	struct sums *sums;
	struct msgs *msgs;
	int status;			/* -EBADMSG: the recording is damaged */
	bool waits;			/* only the first pass is possible before part__take() */
	bool again;			/* it cannot be read separately, and must be read again with
					 * the session's model */
	/*
	 * If read separately: called when its GPUs are known; may be NULL. Return: 0, 1 to read it
	 * again, or -errno.
	 */
	int (*meet)(void *ctx, struct part *p);
	void *meet_ctx;
	struct remap remap;		/* if read separately: its indices in the session */

	struct found found;
	struct join join;
	struct jitmaps jitmaps;
	struct second_pass pass;
	/*
	 * These keep values of earlier recordings, while the originals are for this recording only.
	 */
	uint64_t first_ns, last_ns, last_range_ns;
};

/* For both, @passes reports the progress. Return: 0; or -ENOMEM, with nothing to exit. */
int part__init(struct part *p, struct session *s, size_t nr, struct passes *passes);
int part__init_apart(struct part *p, struct session *s, size_t nr, struct passes *passes);
void part__exit(struct part *p);

/* Return: 0, perhaps with @p->again set; or -ENOMEM, or the sink's error. */
int part__read(struct part *p);
int part__take(struct part *p);

#endif /* MERGE_PART_H */
