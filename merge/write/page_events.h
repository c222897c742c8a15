/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * page_events.h - the single events in the html page, for zooming in time
 *
 * The element "xpu-events" of the page has them, as base64 of a zlib stream. The stream begins with
 * the length of a JSON text, in four bytes, the lowest first, and the text:
 *
 *	{ "tracks": [ { "what": "work", "gpu": 0, "name": "stream 7", "lane": 0, ... },
 *		      { "what": "calls", "pid": N, "tid": N, "name": "python3", "depth": 0, ... },
 *		      { "what": "spent", "pid": N, "tid": N, "name": ..., "kind": index in kinds,
 *			"drawn": whether its events have all of their time, ... } ],
 *	  "names": [ "cudaLaunchKernel", ... ],
 *	  "calls": { "name": [ index in names ], "node": [ index in nodes, or -1 ],
 *		     "path": [ frames of calls whose node is -1, separated by ";" ],
 *		     "nr": N, "bytes": [ ... ] },
 *	  "shapes": [ "<<<2x4, 128>>>, 40 registers, ...", ... ],
 *	  "meters": [ { "gpu": N, "name": "SM active %", "unit": "%", "step": ns that a point
 *			stands for at least, or 0, "at": [ ns, as differences ],
 *			"value": [ since then ] } ],
 *	  "kept": N, "left_out": N, "untimed": N,
 *	  "holes": [ [ from_ns, to_ns, ns of the end of the last event from there, N events ] ],
 *	  "missing": [ [ cell, ns, number: of its events in holes ] ] }
 *
 * Each track has "nr", the number of its events, in the order of their begins, and "bytes": the
 * length of each of its columns. Tracks of calls have no columns of their own: the calls of all
 * threads stand together, ordered by time, and come first; a column names their tracks. Columns
 * follow the text, track by track. A column is an array of numbers in LEB128; differences are
 * zigzag-coded, to the event before, or to the recording's start, if nothing else is said:
 *
 *	calls	begin, as the difference; length; index of the track, where tracks of other kinds do
 *		not count; index in calls; correlation id, as the difference
 *	work	begin minus the end of the event before, or minus the begin of its call if that is
 *		later; length, as the difference to the last work of its cell in this track, or to
 *		UINT32_MAX if that is longer, at first to 0; (cell + 1) * 2, plus 1 if it began
 *		before --from, or 0: as the work before it in this track whose call has the same
 *		track and the same index in calls; number of its call, as the difference; bytes of
 *		copies and sets, for these only; of kernels only: number of the shape, from 1, plus
 *		1, or 0: as its cell had before in this track, at first none
 *	spent	begin minus the end of the event before; length; cell + 1; how many began there;
 *		time minus length
 *
 * Calls are numbered from 1 in their order; 0 means no call. At most MAX_EVENTS events are kept.
 * If there are more, the stretches with most events are holes: the page has only their sums.
 */
#ifndef MERGE_PAGE_EVENTS_H
#define MERGE_PAGE_EVENTS_H

#include <stdbool.h>
#include <stdio.h>

#include "join/session.h"
#include "write/tree.h"

/* For struct format: collects events. */
void *page_events__listen(struct session_sink **sink);
void page_events__free(void *events);

/*
 * Leaves out events beyond the limit, when all were read, and frees spare memory. Return: 0 or
 * -ENOMEM.
 */
int page_events__end(void *events);

/* Return: whether the page has all events, and each has a time. */
bool page_events__are_all(const void *events);

/**
 * page_events__write - write the content of the element
 * @events: from page_events__listen(), ended; is sorted and changed
 * @cell_of: by aggregate: its index in @t->cells
 * @t: sorted
 *
 * Return: 0 or -ENOMEM; an error of @f stays in its error flag.
 */
int page_events__write(void *events, const struct session *s, const struct tree *t,
		       const uint32_t *cell_of, FILE *f);

#endif /* MERGE_PAGE_EVENTS_H */
