// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/format.h"
#include "write/diff.h"
#include "write/folded.h"

static int write_session(const struct session *s, FILE *f, const struct write_opts *o, void *events,
			 struct folded_result *result)
{
	const struct folded_opts opts = {
		.unit = o->unit, .freq_hz = o->freq_hz, .by = o->by, .waits = o->waits,
	};

	(void)events;
	return folded__write(s, f, &opts, result);
}

static int write_diff(const struct diff *d, FILE *f, const struct write_opts *o,
		      struct folded_result *result)
{
	return diff__write_folded(d, f, o->waits, result);
}

/*
 * In the manual:
 * A line for each call path, as
 * .Pa flamegraph.pl
 * wants it; see
 * .Sx FOLDED STACKS .
 */
const struct format folded_format = {
	.help = "one line per call path, for flame graphs",
	.options = FORMAT_MERGED | FORMAT_UNIT | FORMAT_FREQ | FORMAT_BY,
	.units = UNITS_SUMS | 1u << UNIT_SAMPLES,
	.diff_units = UNITS_SUMS,
	.write = write_session,
	.write_diff = write_diff,
};
