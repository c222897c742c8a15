// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/format.h"
#include "write/diff.h"
#include "write/html.h"
#include "write/page_events.h"

static int write_session(const struct session *s, FILE *f, const struct write_opts *o, void *events,
			 struct folded_result *result)
{
	const struct html_opts opts = {
		.unit = write_opts__page_unit(o), .normalize = "", .by = o->by,
		.events = events,
	};

	(void)result;
	return html__write(f, &(struct html_side){ s, 1 }, 1, &opts);
}

static int write_diff(const struct diff *d, FILE *f, const struct write_opts *o,
		      struct folded_result *result)
{
	(void)result;
	return diff__write_html(d, f, write_opts__page_unit(o));
}

/*
 * In the manual:
 * An interactive flame graph for a browser, in one file that needs no network; see
 * .Sx PAGE .
 */
const struct format html_format = {
	.help = "a page with flame graph, tables, timeline",
	.options = FORMAT_MERGED | FORMAT_UNIT | FORMAT_BY,
	.by_thread = true,
	.by_range = true,
	.by_time = true,
	.units = UNITS_SUMS,
	.diff_units = UNITS_SUMS,
	.listen = page_events__listen,
	.free = page_events__free,
	.write = write_session,
	.write_diff = write_diff,
};
