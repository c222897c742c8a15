/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * session.h - reads one or several recordings, joins them and sums them up
 *
 *	session__init(&s, &opts);
 *	session__process(&s, &reader, 1);	two or three passes over the records
 *	folded__write(&s, ...);			any number of writers
 *	session__exit(&s);
 *
 * The first pass collects the things that records refer to: processes, maps, call paths, names. Its
 * result, struct found, is const afterwards. The second pass streams launches and device records
 * through the join and sums up the matches, by (call path, thread name, device work), in struct
 * sums. A third pass is made only if records wait for a launch that was forgotten (see join.h).
 * struct model has the things that the results refer to.
 *
 * Each recording has a struct read_job, with a struct found, and perhaps a model and sums of its
 * own, which are later added to the session: see turns.h. The session's sums and model cover all
 * recordings. The writers then read the sums. A writer of single events, such as a timeline, gets
 * them while they are joined, through struct session_sink.
 *
 * The files, in the order in which a record passes through them:
 *
 *	process.c		several recordings, their clocks
 *	turns.c			reads several of them at a time
 *	read_job.c		one recording: the order of the passes
 *	read/collect.c		first pass
 *	read/resolve.c		resolves ids, before the second pass
 *	second_pass.h		the second pass, and its files
 *	place.c			puts the join's matches under their call paths
 *	losses.c		afterwards: counts records that were sent but did not arrive
 *	frames.c		afterwards: names for the frames
 *	absorb.c		adds the sums of a recording to the session
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
	struct join join;		/* the join of the recording that was read last */
	struct dsos dsos;
	struct callchains callchains;
	struct copied_stacks unwind;
	struct passes passes;
	struct msgs msgs;		/* messages for the user about the input and the files that
					 * it names */
	bool keeps_works;		/* a feature needs the device work of all recordings */
	bool ended;			/* each recording has an END record */
	int status;			/* -EBADMSG: the recording is damaged; otherwise 0 */
};

/* Return: the CLOCK_REALTIME at which the recording's clock was 0; 0 if unknown. */
uint64_t input__boot_ns(const struct input *in);

int session__init(struct session *s, const struct session_opts *opts);
void session__exit(struct session *s);

/**
 * session__process - read, join and sum up recordings
 * @s: initialized and unused
 * @r: @nr open readers, which must outlive @s
 *
 * If a recording is cut or damaged, its readable records are used. s->sums.loss and s->msgs report
 * the damage, and s->status is -EBADMSG if a recording is damaged.
 *
 * Recordings of one host and boot share CLOCK_MONOTONIC. The times of other recordings are aligned
 * by CLOCK_REALTIME, which each recording gives for its start.
 *
 * Return: 0, -ENOMEM or the sink's error. After an error, nothing may be written from @s.
 */
int session__process(struct session *s, const struct reader *r, size_t nr);

/**
 * session__add - read, join and sum up one more recording, of the same host and boot
 * @s: initialized, and never passed to session__process()
 * @r: must outlive @s
 *
 * s->sums.loss has only the losses of @r. Samples that the GPUs took are left out. Return: 0 or
 * -ENOMEM.
 */
int session__add(struct session *s, const struct reader *r);

/**
 * session__look_up - only look up the names of a recording; replaces session__process()
 * @s: initialized and unused
 * @r: must outlive @s
 * @k: keeps the names that @r does not have yet, and writes records of them
 *
 * Return: 0, -ENOMEM or the error of @k->write().
 */
int session__look_up(struct session *s, const struct reader *r, struct name_keeper *k);

/*
 * Return: whether xpuload was given @option for all recordings. An abbreviation of @least or more
 * characters suffices.
 */
bool session__was_given(const struct session *s, const char *option, size_t least);

/*
 * Prints the account of all recordings, or only the account of samples if no recording has
 * launches. Then prints what the filter left out and, for several recordings, the account of each
 * recording that has losses.
 */
void session__print_loss(const struct session *s, FILE *f);

#endif /* MERGE_SESSION_H */
