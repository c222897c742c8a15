/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * session.h - one recording, or several, read, joined and summed up
 *
 *	session__init(&s, &opts);
 *	session__process(&s, &reader, 1);	two or three passes over the records
 *	folded__write(&s, ...);			any number of writers
 *	session__exit(&s);
 *
 * The first pass collects what others refer to: processes, maps, call paths, names. What it finds
 * out, struct found, is const from then on. The second streams launches and device records through
 * the join and sums what comes out, by (call path, thread name, device work), in struct sums. The
 * third is there only when records wait for a launch that was forgotten (see join.h). What both
 * tell of is struct model.
 *
 * Several recordings are read one after the other; each has a struct found of its own, and all sums
 * and the model are of all of them. The writers then see sums; whoever wants the single events (the
 * timeline) gets them as they are joined, through struct session_sink.
 *
 * Where to look, in the order in which a record meets them:
 *
 *	session.c		several recordings, their clocks; the order of the passes
 *	read/collect.c		first pass
 *	read/resolve.c		what ids mean, resolved before the second
 *	second_pass.h		the second pass, and its files
 *	place.c			what the join has found goes under its call path
 *	losses.c		afterwards: what was sent and has not arrived
 *	stacks.c		afterwards: names for the frames
 */
#ifndef MERGE_SESSION_H
#define MERGE_SESSION_H

#include <stdbool.h>
#include <stdio.h>

#include "join/join.h"
#include "join/opts.h"
#include "join/sums.h"
#include "model/model.h"
#include "read/pass.h"
#include "read/reader.h"
#include "symbols/callchain.h"
#include "symbols/dso.h"
#include "symbols/jitmap.h"
#include "symbols/copied_stacks.h"

struct session {
	struct session_opts opts;
	struct model model;
	struct sums sums;
	struct join join;		/* of the recording that was read last */
	struct dsos dsos;
	struct callchains callchains;
	struct copied_stacks unwind;
	struct jitmaps jitmaps;		/* of the recording that is being read */
	struct passes passes;
	struct msgs msgs;		/* for the user, about the input and the files it names */
	bool ended;			/* an END record was there, in each of them */
	int status;			/* -EBADMSG: the recording is damaged; else 0 */
};

int session__init(struct session *s, const struct session_opts *opts);
void session__exit(struct session *s);

/**
 * session__process - read, join and sum up recordings
 * @s: initialized, and not used before
 * @r: @nr open readers, which must outlive @s
 *
 * A recording that is cut or damaged is used up to there; s->sums.loss and s->msgs say so, and
 * s->status is -EBADMSG for a damaged one.
 *
 * Recordings of one host and boot have CLOCK_MONOTONIC in common. Other times are brought together
 * by CLOCK_REALTIME, which each recording tells for its start.
 *
 * Return: 0, or -ENOMEM or what a sink returned: then nothing must be written from @s.
 */
int session__process(struct session *s, const struct reader *r, size_t nr);

/*
 * Prints the account: of all, and of each recording that is not clean if there are several; and
 * what the filter left out.
 */
void session__print_loss(const struct session *s, FILE *f);

#endif /* MERGE_SESSION_H */
