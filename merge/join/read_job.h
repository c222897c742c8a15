/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * read_job.h - one recording that is being read: its found data, its join, and its results
 *
 *	read_job__init(&p, s, nr);	the results go into the session's model and sums
 *	read_job__init_apart(&p, s, nr);	or into a model and sums of its own
 *	read_job__read(&p);		all passes
 *	read_job__take(&p);		names the frames with the session's files, and adds
 *					separate results to the results of the session
 *	read_job__exit(&p);
 *
 * A recording that is read separately uses nothing of the session that changes before
 * read_job__take(), so several threads can read recordings at the same time. read_job__take() is
 * called for one recording after another, in the order of the recordings.
 */
#ifndef MERGE_READ_JOB_H
#define MERGE_READ_JOB_H

#include "join/second_pass.h"
#include "join/session.h"
#include "model/remap.h"
#include "read/found.h"

/* the results of a recording that is read separately */
struct read_job_results {
	struct model model;
	struct sums sums;
	struct msgs msgs;
	struct filter filter;		/* the session's filter, with a cache of its own */
};

struct read_job {
	struct session *s;
	size_t nr;			/* number of the input */
	struct session_opts opts;
	struct passes *passes;
	struct read_job_results *apart;	/* NULL: the following members point to the session's own
					 * results */
	struct model *model;
	struct sums *sums;
	struct msgs *msgs;
	int status;			/* -EBADMSG: the recording is damaged */
	bool waits;			/* only the first pass is possible before
					 * read_job__take() */
	bool again;			/* the recording cannot be read separately, and must be read
					 * again with the session's model */
	/*
	 * Called when the GPUs of a recording that is read separately are known; may be NULL.
	 * Return: 0, 1 if the recording must be read again, or -errno.
	 */
	int (*meet)(void *ctx, struct read_job *p);
	void *meet_ctx;
	struct remap remap;		/* for a recording that is read separately: maps its indices
					 * to the session's indices */

	struct found found;
	struct join join;
	struct jitmaps jitmaps;
	struct second_pass pass;
	/*
	 * First and last time of the sums of earlier recordings. While this recording is read,
	 * sums.first_ns and sums.last_ns cover only this recording.
	 */
	uint64_t first_ns, last_ns;
};

/*
 * Both functions report the progress to @passes. Return: 0; or -ENOMEM, and then nothing has to be
 * freed.
 */
int read_job__init(struct read_job *p, struct session *s, size_t nr, struct passes *passes);
int read_job__init_apart(struct read_job *p, struct session *s, size_t nr, struct passes *passes);
void read_job__exit(struct read_job *p);

/* Reads the recording. Return: 0, perhaps with @p->again set; -ENOMEM; or the sink's error. */
int read_job__read(struct read_job *p);
int read_job__take(struct read_job *p);

/*
 * Looks up the names of all call paths and keeps them in the session's keeper. Replaces
 * read_job__read() and read_job__take() if no join and no sums are needed. Return: 0 or -ENOMEM.
 */
int read_job__look_up(struct read_job *p);

#endif /* MERGE_READ_JOB_H */
