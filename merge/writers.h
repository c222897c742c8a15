/* SPDX-License-Identifier: GPL-3.0-or-later */
/* writers.h - writes merged, compared or imported data in the format that the user requested */
#ifndef MERGE_WRITERS_H
#define MERGE_WRITERS_H

#include "write/diff.h"
#include "write/dump.h"
#include "write/folded.h"
#include "write/gate.h"
#include "write/names.h"
#include "options.h"
#include "join/session.h"

/*
 * If the format needs single events, sets the sink and *@events; writers__close() takes *@events.
 * Call this function before the session begins. Return: 0, or -errno after a message, with nothing
 * to close.
 */
int writers__open(struct options *o, struct session_opts *opts, void **events);
void writers__close(struct options *o, void *events);

/*
 * Unless @err is 0, prints why the session of @input failed, or why files of the format could not
 * be written. Return: @err.
 */
int writers__error(struct options *o, const char *input, void *events, int err);

/*
 * Writes the output. Return: 0, or -errno after a message. A failure leaves all files unchanged,
 * but an output directory may already have some of the recordings.
 * @events: from writers__open()
 */
int writers__write(struct options *o, const struct session *s, void *events,
		   struct folded_result *result);
int writers__write_gate(struct options *o, const struct gate *g);
int writers__write_diff(struct options *o, const struct diff *d,
			struct folded_result *result);

/* Writes the results of a feature's command. */
int writers__write_command(struct options *o, const void *command);

/* Writes each record of @r as text. The caller calls dump_result__free(), even after a failure. */
int writers__write_dump(struct options *o, const struct reader *r, struct dump_result *result);

/* Writes the recording with the names of its call paths, for names__write(). */
int writers__write_names(struct options *o, const struct reader *r,
			 const struct session_opts *opts, struct names_result *result,
			 struct msgs *msgs);

/* Writes an import unchanged: the events of a Nsight Systems export, or a recording. */
int writers__write_import(struct options *o);

#endif /* MERGE_WRITERS_H */
