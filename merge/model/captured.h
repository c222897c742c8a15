/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * captured.h - the windows outside of which nothing of a process was recorded
 *
 * Each process has its own, and no two at a time. What a launch caused on a device may end after its window.
 * Times are on the common clock of all recordings.
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
	uint32_t number;		/* of those of its process, from 1 */
	uint64_t open_ns;
	uint64_t close_ns;		/* UINT64_MAX: not in the recording, since the process was killed */
	uint64_t end_ns;		/* of what happened in it, or the later close */
	uint64_t nr_launches;
};

/* Zero it to start. */
struct captured {
	ARRAY(struct captured_window) windows;	/* after captured__sort(): by process, time */
	struct idmap last;		/* process -> index of its latest one, before captured__sort() */
};

void captured__free(struct captured *c);

/* Takes a record; those that cannot be are left out. Return: 0 or -ENOMEM. */
int captured__take(struct captured *c, uint32_t proc, const struct xpu_record_window *rec, uint64_t shift_ns);

/*
 * Leaves out the windows of processes from @first_proc on that are not between two times. Return: how many.
 */
size_t captured__leave_out(struct captured *c, uint32_t first_proc, uint64_t from_ns, uint64_t to_ns);

/* To be called when all of a recording have been taken, before the functions below. */
void captured__sort(struct captured *c);

/* Return: the window of a process at some time, for the next call of captured__sort(); or NULL. */
struct captured_window *captured__at(const struct captured *c, uint32_t proc, uint64_t time_ns);

/* A launch in the window, or its work on a device, was going on until @end_ns. */
static inline void captured_window__extend(struct captured_window *w, uint64_t end_ns)
{
	if (w && end_ns > w->end_ns)
		w->end_ns = end_ns;
}

/* Return: when it was closed, or what is known of it ended. */
static inline uint64_t captured_window__close(const struct captured_window *w)
{
	return w->close_ns != UINT64_MAX ? w->close_ns : w->end_ns;
}

/* Return: whether a filter, or NULL, passes what is of the window. */
static inline bool captured_window__passes(const struct captured_window *w, const struct filter *f)
{
	return !f || filter__has_number(f, FILTER_WINDOW, w->number);
}

/*
 * Counts the windows that a filter, or NULL, passes, and collects the spans in which at least one of them was
 * open, or had something going on that it has recorded. @recorded: is zero; for the caller to free. Return:
 * 0 or -ENOMEM.
 */
int captured__collect(const struct captured *c, const struct filter *f, size_t *nr, struct busy *recorded);

#endif /* MERGE_CAPTURED_H */
