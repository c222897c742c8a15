/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * filter.h - selects a part of a recording
 *
 * A filter is made from the command line's --pid, --rank, --tid, --comm, --device, --stream,
 * --kernel, --nvtx, --window, --from and --to; an event must pass each of the options that were
 * given. The session first joins all events, then applies the filter, then computes the sums. The
 * join and the account therefore cover the whole recording, and all formats show the same part of
 * the recording.
 */
#ifndef MERGE_FILTER_H
#define MERGE_FILTER_H

#include <regex.h>
#include <stdbool.h>
#include <stdint.h>

#include "util.h"

enum filter_kind {
	FILTER_PID,
	FILTER_RANK,
	FILTER_TID,
	FILTER_COMM,
	FILTER_DEVICE,
	FILTER_STREAM,
	FILTER_KERNEL,
	FILTER_RANGE,
	FILTER_WINDOW,
	FILTER_FROM,
	FILTER_TO,
	NR_FILTERS
};

struct filter_numbers {
	uint32_t first, last;
};

struct filter {
	bool given[NR_FILTERS];
	ARRAY(struct filter_numbers) numbers[NR_FILTERS];
	ARRAY(char *) comms;
	regex_t regex[NR_FILTERS];	/* for FILTER_KERNEL and FILTER_NVTX */
	struct idmap kernels;		/* maps the address of an interned name to whether it
					 * matches */
	uint64_t from_ns, to_ns;	/* counted from the recording's start */
	ARRAY(char) text;		/* the options as they were given */
};

/*
 * An event that was joined. A pointer is NULL if the event lacks the value; timed is false if the
 * event has no time.
 */
struct filter_event {
	uint32_t pid;
	uint32_t rank;			/* NO_INDEX: the rank is unknown */
	uint32_t tid;			/* NO_INDEX: the thread id is unknown */
	const char *comm;
	bool timed;
	uint64_t time_ns;		/* when the event began, counted from the recording's
					 * start */
	uint32_t device, stream;	/* NO_INDEX: the event has none, or it is unknown */
	const char *kernel;		/* interned; NULL: the event is no kernel */
};

/* Return: the option's name without its dashes, such as "pid". */
const char *filter_kind__name(enum filter_kind kind);

/* Frees the contents of a filter. Zero the filter before use. */
void filter__free(struct filter *f);

/*
 * Reads a time since the recording began: "1.5", "20ms". Return: 0; -EINVAL, with the reason in
 * @why.
 */
int filter__read_time(uint64_t *ns, const char *arg, char why[128]);

/**
 * filter__set - take one option of the command line
 * @f: the filter
 * @kind: the kind of the option; if an option with a list is given twice, the lists are combined
 * @arg: for KERNEL and NVTX, a POSIX extended regular expression; for FROM and TO, a time in
 *	seconds, or a number followed by ns, us, ms, s or m; for other kinds, a comma-separated list
 *	of names (COMM), or of numbers and ranges such as 4-7
 * @why: on -EINVAL, set to a description of the error in @arg
 *
 * Return: 0, -EINVAL or -ENOMEM.
 */
int filter__set(struct filter *f, enum filter_kind kind, const char *arg, char why[128]);

/* Return: whether any option was given; false for NULL. */
static inline bool filter__active(const struct filter *f)
{
	return f && f->text.nr;
}

static inline bool filter__given(const struct filter *f, enum filter_kind kind)
{
	return f && f->given[kind];
}

/* Return: whether all options that were given are FILTER_DEVICE, FILTER_FROM or FILTER_TO. */
bool filter__has_only_moments(const struct filter *f);

/* Return: whether @number is in the list of an option, or the option was not given. */
bool filter__has_number(const struct filter *f, enum filter_kind kind, uint32_t number);

/* Checks whether a name matches the expression of an option. Return: 1, 0 or -ENOMEM. */
int filter__matches(const struct filter *f, enum filter_kind kind, const char *name);

/* a span of time, with amounts that are spread over it */
struct filter_span {
	uint64_t from_ns, to_ns;
	uint64_t ns, nr;		/* spread evenly over the span; an nr of 1 is counted at the
					 * start */
};

/*
 * Return: the time of FILTER_FROM or FILTER_TO, which count from @start_ns; 0 or UINT64_MAX without
 * the option.
 */
uint64_t filter__begin_ns(const struct filter *f, uint64_t start_ns);
uint64_t filter__end_ns(const struct filter *f, uint64_t start_ns);

/* Return: whether FILTER_FROM or FILTER_TO was given. */
static inline bool filter__is_timed(const struct filter *f)
{
	return f && (f->given[FILTER_FROM] || f->given[FILTER_TO]);
}

/* Like filter__cut(), but requires a filter with a time. */
bool filter__cut_span(const struct filter *f, uint64_t start_ns, struct filter_span *s);

/*
 * Cuts @s at the times of FILTER_FROM and FILTER_TO, which are counted from @start_ns. If filters
 * with adjoining times cut a span into parts, the parts add up to the whole span. Return: whether
 * anything is left; true if @f is NULL.
 */
static inline bool filter__cut(const struct filter *f, uint64_t start_ns, struct filter_span *s)
{
	return !filter__is_timed(f) || filter__cut_span(f, start_ns, s);
}

/*
 * Checks all options except FILTER_RANGE and FILTER_WINDOW, which wanted__range() and wanted__at()
 * check.
 * Return: 1 if @e passes, 0 if not, or -ENOMEM.
 */
int filter__keeps(struct filter *f, const struct filter_event *e);

#endif /* MERGE_FILTER_H */
