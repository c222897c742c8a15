// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/format.h"
#include "write/pprof.h"

static int write_session(const struct session *s, FILE *f, const struct write_opts *o, void *events,
			 struct folded_result *result)
{
	(void)o, (void)events, (void)result;
	return pprof__write(s, f);
}

/*
 * In the manual:
 * A profile for
 * .Li "go tool pprof"
 * and the servers that take its format, gzipped; see
 * .Sx PROFILE .
 */
const struct format pprof_format = {
	.help = "a profile for go tool pprof, Pyroscope...",
	.binary = true,
	.with_made = true,
	.options = FORMAT_MERGED | FORMAT_BY,
	.by = BY_OF_PROCESSES | 1u << BY_RANGE | 1u << BY_SHAPE,
	.by_thread = true,
	.by_stream = true,
	.write = write_session,
};
