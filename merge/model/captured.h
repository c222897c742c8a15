/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * captured.h - capture windows: a process with windows was recorded only while a window was open
 *
 * Each process has windows of its own, one at a time. Device work of a launch may end after the
 * launch's window. Times are on the common clock of all recordings.
 */
#ifndef MERGE_CAPTURED_H
#define MERGE_CAPTURED_H

#include <stdbool.h>
#include <stdint.h>

#include "model/busy.h"
#include "model/filter.h"
#include "util.h"
#include "xpu_record.h"

struct captured_window {
	uint32_t proc;			/* index in machine.procs */
	uint32_t number;		/* number among the windows of its process, counted from
					 * 1 */
	uint64_t open_ns;
	uint64_t close_ns;		/* UINT64_MAX: not recorded, because the process was
					 * killed */
	uint64_t end_ns;		/* when the last recorded event of the window ended, or when
					 * the window closed, whichever is later */
	uint64_t nr_launches;
};

/* Zero the struct before use. */
struct captured {
	ARRAY(struct captured_window) windows;	/* after captured__sort(): in order of process and
						 * time */
	struct idmap last;		/* maps a process to its latest window, before
					 * captured__sort() */
};

void captured__free(struct captured *c);

/* Takes a record. Return: 0; 1 if its times are impossible, so that it is left out; or -ENOMEM. */
int captured__take(struct captured *c, uint32_t proc, const struct xpu_record_window *rec,
		   uint64_t shift_ns);

/*
 * Removes those windows of @first_proc and later processes that are not wholly within [@from_ns,
 * @to_ns]. Return: how many were removed.
 */
size_t captured__leave_out(struct captured *c, uint32_t first_proc, uint64_t from_ns,
			   uint64_t to_ns);

/* Call this when all windows of a recording have been taken, and before the functions below. */
void captured__sort(struct captured *c);

/*
 * Return: the window that a process had open at @time_ns, valid until the next captured__sort(); or
 * NULL.
 */
struct captured_window *captured__at(const struct captured *c, uint32_t proc, uint64_t time_ns);

/* Notes that a launch in the window, or its device work, lasted until @end_ns. */
static inline void captured_window__extend(struct captured_window *w, uint64_t end_ns)
{
	if (w && end_ns > w->end_ns)
		w->end_ns = end_ns;
}

/* Return: when the window was closed; if unknown, when its last recorded event ended. */
static inline uint64_t captured_window__close(const struct captured_window *w)
{
	return w->close_ns != UINT64_MAX ? w->close_ns : w->end_ns;
}

/* Return: whether the window passes a filter; true if @f is NULL. */
static inline bool captured_window__passes(const struct captured_window *w, const struct filter *f)
{
	return !f || filter__has_number(f, FILTER_WINDOW, w->number);
}

/*
 * Counts the windows that pass a filter (NULL: all), and collects the time in which one of these
 * windows was open, or its recorded device work still ran. This time is cut at the times of the
 * filter, which are counted from @start_ns.
 * @recorded: zeroed; the caller frees it. Return: 0 or -ENOMEM.
 */
int captured__collect(const struct captured *c, const struct filter *f, uint64_t start_ns,
		      size_t *nr, struct busy *recorded);

#endif /* MERGE_CAPTURED_H */
