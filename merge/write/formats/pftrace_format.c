// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/format.h"
#include "write/pftrace.h"

static int write_session(const struct session *s, FILE *f, const struct write_opts *o, void *events,
			 struct folded_result *result)
{
	(void)o, (void)result;
	return pftrace__write(events, s, f);
}

/*
 * In the manual:
 * A timeline in Perfetto's own format, for large recordings: the file is a quarter of the size of
 * .Cm chrome .
 */
const struct format pftrace_format = {
	.times_only = true,
	.help = "the same timeline, a quarter of the size",
	.binary = true,
	.options = FORMAT_MERGED,
	.with_shapes = true,
	.listen = timeline__listen,
	.free = timeline__drop,
	.write = write_session,
};
