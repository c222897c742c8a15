/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * writers.h - what was merged, compared or imported, as the command line wants it written
 */
#ifndef MERGE_WRITERS_H
#define MERGE_WRITERS_H

#include "write/diff.h"
#include "write/dump.h"
#include "write/folded.h"
#include "options.h"
#include "join/session.h"

/*
 * Each returns 0, or -errno with all said; then nothing is there that was not before.
 * @events: of struct format.listen(), or NULL
 */
int writers__write(struct options *o, const struct session *s, void *events,
		   struct folded_result *result);
int writers__write_diff(struct options *o, const struct diff *d,
			struct folded_result *result);

/* Writes each record of @r as text. dump_result__free() is due in any case. */
int writers__write_dump(struct options *o, const struct reader *r, struct dump_result *result);

/* What was imported, as it is: the events of an export of Nsight Systems, or a recording. */
int writers__write_import(struct options *o);

#endif /* MERGE_WRITERS_H */
