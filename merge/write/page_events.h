/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * page_events.h - the single events in the html page, for zooming in time
 *
 * The page's element "xpu-events" is the base64 text of a zlib stream. The stream begins with the
 * length of a JSON text, in four bytes, little endian, and this text:
 *
 *	{ "tracks": [ { "what": "work", "gpu": 0, "name": "stream 7", "lane": 0, ... },
 *		      { "what": "calls", "pid": N, "tid": N, "name": "python3", "depth": 0, ... },
 *		      { "what": "spent", "pid": N, "tid": N, "name": ..., "kind": index in kinds,
 *			"drawn": whether the time of its events fills their spans, ... } ],
 *	  "names": [ "cudaLaunchKernel", ... ],
 *	  "calls": { "name": [ index in names ], "node": [ index in nodes, or -1 ],
 *		     "path": [ frames of calls whose node is -1, separated by ";" ],
 *		     "nr": N, "bytes": [ ... ] },
 *	  "shapes": [ "<<<2x4, 128>>>, 40 registers, ...", ... ],
 *	  "meters": [ { "gpu": N, "name": "SM active %", "unit": "%", "step": least ns
 *			that a point represents, or 0, "at": [ ns, as differences ],
 *			"value": [ from that time ] } ],
 *	  "kept": N, "left_out": N, "untimed": N,
 *	  "holes": [ [ from_ns, to_ns, end of the last event from there, N events ] ],
 *	  "missing": [ [ cell, ns of its events in holes, number of these events ] ] }
 *
 * Each track has "nr", the number of its events, and "bytes", the length of each of its columns.
 * The events of a track are ordered by start. Tracks of calls have no columns of their own: the
 * calls of all threads, ordered by time, share the first columns, one of which names the track.
 * Columns follow the text, track by track. A column is an array of numbers in LEB128. A difference
 * is zigzag-coded, and relative to the previous event; for the first event it is relative to 0, or,
 * for a timestamp, to the recording's start. The columns are:
 *
 *	calls	difference of start; duration; index among the tracks of calls; index in calls;
 *		difference of correlation ID
 *	work	start, minus the end of the previous event or the start of the work's call,
 *		whichever is later; duration, minus the previous duration of the same cell in this
 *		track (at most UINT32_MAX, at first 0); (cell + 1) * 2, plus 1 if the work began
 *		before --from (instead, 0 if this track's previous work whose call has the same
 *		track and the same index in calls has the same sum); difference of the number of
 *		the work's call; for copies and sets only: bytes; for kernels only: 0 if the cell's
 *		previous kernel in this track had the same shape, otherwise 1 + the number of the
 *		shape (numbers begin at 1)
 *	spent	start, minus the end of the previous event; length; cell + 1; number of activities
 *		that began there; time minus length
 *
 * Calls are numbered from 1 in the order of their columns; 0 means no call. At most MAX_EVENTS
 * events are kept. If there are more, the intervals with most events become holes, for which the
 * page has only sums.
 */
#ifndef MERGE_PAGE_EVENTS_H
#define MERGE_PAGE_EVENTS_H

#include <stdbool.h>
#include <stdio.h>

#include "join/session.h"
#include "write/tree.h"

/* For struct format.listen(): collects events. */
void *page_events__listen(struct session_sink **sink);
void page_events__free(void *events);

/*
 * To be called once all events were read: drops events beyond the limit, and frees spare memory.
 * Return: 0 or -ENOMEM.
 */
int page_events__end(void *events);

/* Return: whether the page has all events, and each has a time. */
bool page_events__are_all(const void *events);

/**
 * page_events__write - write the content of the element
 * @events: from page_events__listen(), after page_events__end(); are sorted and changed here
 * @cell_of: for each aggregate: the index of its cell in @t->cells
 * @t: sorted
 *
 * Return: 0 or -ENOMEM; an error of @f stays in its error flag.
 */
int page_events__write(void *events, const struct session *s, const struct tree *t,
		       const uint32_t *cell_of, FILE *f);

#endif /* MERGE_PAGE_EVENTS_H */
