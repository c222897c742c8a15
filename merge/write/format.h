/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * format.h - a format: its name, its options, and its writer
 *
 * To add a format, define its struct format in a file of formats/, and add its line to
 * lib/formats.h.
 */
#ifndef MERGE_FORMAT_H
#define MERGE_FORMAT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "formats.h"
#include "join/session.h"
#include "write/diff.h"
#include "write/folded.h"
#include "write/table.h"

/* options of the output */
struct write_opts {
	enum unit unit;
	bool unit_given;
	uint32_t freq_hz;		/* for UNIT_SAMPLES; 0: the recorded frequency, or 99 if
					 * none was recorded */
	struct by_list by;
	bool waits;			/* as in struct folded_opts */
	uint32_t max_rows;		/* maximum number of rows in each table; 0: all */
	enum table_format table_format;
	const char *table;		/* the only table to write; NULL: all */
	unsigned int width;		/* width of the terminal; 0: none */
	bool color;			/* use escapes for terminals */
	const char *sort;		/* the column by which tables that have it are sorted; NULL:
					 * tables are sorted by time */
};

/* Return: the unit that an html page shows initially, named as in the page's list of units. */
const char *write_opts__page_unit(const struct write_opts *o);

/* Groups of options; a format accepts the groups that mean something to it. */
#define FORMAT_MERGED	1u		/* options for joining, naming and filtering */
#define FORMAT_UNIT	2u
#define FORMAT_FREQ	4u
#define FORMAT_BY	8u
#define FORMAT_TABLES	16u		/* --csv, --json, --table, --limit */

#define UNITS_TIME	(1u << UNIT_NS | 1u << UNIT_US | 1u << UNIT_MS)
#define UNITS_SUMS	(UNITS_TIME | 1u << UNIT_COUNT | 1u << UNIT_BYTES)

struct format {
	const char *help;		/* text for --help; \n between lines */
	bool binary;			/* the format must not be shown on a terminal */
	bool imported;			/* the format is for imports only, which are written
					 * unchanged */
	bool times_only;		/* the format has only times, or single events */
	bool with_made;			/* the output has all allocated memory, in addition to the
					 * requested values */
	bool exports_events;		/* for --nsys: writes what Nsight Systems' own tool would
					 * write */
	const struct format *as;	/* if not NULL, this format is an alias of the format @as */
	enum table_format table_format;	/* the form of its tables */
	uint32_t options;		/* FORMAT_*, or'ed */
	uint32_t units, diff_units;	/* 1 << enum unit, or'ed; 0: the unit does not matter */
	uint32_t by;			/* values that --by may have: 1 << enum by, or'ed, or 0 for
					 * all */
	/* as in struct session_opts */
	bool by_thread, by_stream, by_range, by_time, with_shapes, stats;

	/*
	 * Makes a sink, to which the session passes each event. Only for formats that need single
	 * events.
	 * Return: the collected events, for write() and then free(); NULL if memory is short.
	 */
	void *(*listen)(struct session_sink **sink);
	void (*free)(void *events);

	/*
	 * Replaces listen() for formats that write a directory, @path, instead of a file. Events
	 * are written as they arrive. Return: 0, -ENOMEM, or another -errno, whose message
	 * error() returns. The caller passes *@events, which may be NULL, to free(), even after a
	 * failure.
	 */
	int (*open)(const char *path, const struct session_opts *opts, struct session_sink **sink,
		    void **events);
	const char *(*error)(int err);	/* Return: the message about an error of open() */
	/* Return: why a file could not be written; NULL: all were written. */
	const char *(*failed)(const void *events);

	/*
	 * write() and write_diff() return 0 or -ENOMEM; an error of @f stays in its error flag. In
	 * formats with open(), @f is NULL, and write() returns -errno if a file could not be
	 * written; failed() then says why.
	 */
	int (*write)(const struct session *s, FILE *f, const struct write_opts *opts, void *events,
		     struct folded_result *result);
	int (*write_diff)(const struct diff *d, FILE *f, const struct write_opts *opts,
			  struct folded_result *result);	/* NULL: diff does not accept the
								 * format */
};

#define DECLARE_FORMAT(id, name, suffix)	extern const struct format id##_format;
FORMATS(DECLARE_FORMAT)

/* a format and its name */
struct named_format {
	const char *name, *suffix;
	const struct format *format;
};

/* The formats of lib/formats.h, in the same order. The last entry has no name. */
extern const struct named_format formats[];

/* Return: the format called @name, or NULL. */
const struct named_format *format__find(const char *name);

/* Return: @format with its name. */
const struct named_format *format__named(const struct format *format);

/*
 * Return: the format whose suffix, perhaps followed by ".gz", ends @path; if several match, the one
 * with the longest suffix; NULL if none matches.
 */
const struct named_format *format__of_file(const char *path);

/*
 * Whether xpumerge compresses the file @path: its name ends with ".gz", which is not part of the
 * format's own suffix.
 */
bool format__compresses(const struct named_format *f, const char *path);

/* Return: the suffixes of all formats, ended by NULL. */
const char *const *format__suffixes(void);

#endif /* MERGE_FORMAT_H */
