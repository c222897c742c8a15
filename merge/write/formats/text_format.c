// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/format.h"
#include "write/diff.h"
#include "write/text.h"

static int write_session(const struct session *s, FILE *f, const struct write_opts *o, void *events,
			 struct folded_result *result)
{
	const struct text_opts opts = {
		.unit = o->unit, .human = !o->unit_given, .max_rows = o->max_rows,
		.format = o->table_format, .table = o->table, .width = o->width, .color = o->color,
		.sort = o->sort, .by = o->by,
	};

	(void)events;
	return text__write(s, f, &opts, &result->no_rows);
}

static int write_diff(const struct diff *d, FILE *f, const struct write_opts *o,
		      struct folded_result *result)
{
	const struct diff_text text = { .human = !o->unit_given,
					.width = o->width,
					.color = o->color };

	(void)result;
	return diff__write_text(d, f, &text);
}

/*
 * In the manual:
 * A summary, the default.
 * It is as wide as the terminal; see
 * .Sx TABLES .
 */
const struct format text_format = {
	.help = "the summary (default)",
	.options = FORMAT_MERGED | FORMAT_UNIT | FORMAT_TABLES | FORMAT_BY,
	.by = BY_OF_PROCESSES | 1u << BY_SHAPE,
	.units = UNITS_TIME,
	.diff_units = UNITS_TIME,
	.by_range = true,
	.stats = true,
	.write = write_session,
	.write_diff = write_diff,
};
