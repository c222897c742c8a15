/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * part.h - one recording, being read: what it has found, its join, and where its results go
 *
 *	part__init(&p, s, nr);		the results go into the session's model and sums
 *	part__init_apart(&p, s, nr);	or into a model and sums of its own
 *	part__read(&p);			all passes
 *	part__take(&p);			names its frames by the session's files; apart: adds its results
 *					to the session's
 *	part__exit(&p);
 *
 * A recording that is read apart uses nothing of the session that changes until part__take(), so several
 * threads can each read one. part__take() is called for one after the other, in their order.
 */
#ifndef MERGE_PART_H
#define MERGE_PART_H

#include "join/second_pass.h"
#include "join/session.h"
#include "model/remap.h"
#include "read/found.h"

/* The results of a recording that is read apart. */
struct part_results {
	struct model model;
	struct sums sums;
	struct msgs msgs;
	struct filter filter;		/* the session's, but for what it remembers */
};

struct part {
	struct session *s;
	size_t nr;			/* of the input */
	struct session_opts opts;
	struct passes *passes;
	struct part_results *apart;	/* NULL: the session's own, as all that follows */
	struct model *model;
	struct sums *sums;
	struct msgs *msgs;
	int status;			/* -EBADMSG: the recording is damaged */
	bool waits;			/* only the first pass can be made before part__take() */
	bool again;			/* it cannot be read apart: to be read again, with the session's */
	/* Apart: called when its GPUs are known; NULL: not. Return: 0, 1 to read it again, or -errno. */
	int (*meet)(void *ctx, struct part *p);
	void *meet_ctx;
	struct remap remap;		/* apart: what its indices are for the session */

	struct found found;
	struct join join;
	struct jitmaps jitmaps;
	struct second_pass pass;
	/* Of what the recordings before it have: kept while they are this recording's alone. */
	uint64_t first_ns, last_ns, last_range_ns;
	bool nccl_wanted;
};

/* Both: @passes: to tell the progress. Return: 0 or -ENOMEM; then there is nothing to exit. */
int part__init(struct part *p, struct session *s, size_t nr, struct passes *passes);
int part__init_apart(struct part *p, struct session *s, size_t nr, struct passes *passes);
void part__exit(struct part *p);

/* Return: 0, perhaps with @p->again set; -ENOMEM or the sink's error. */
int part__read(struct part *p);
int part__take(struct part *p);

#endif /* MERGE_PART_H */
