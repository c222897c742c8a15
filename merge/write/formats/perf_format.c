// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/format.h"
#include "write/perfscript.h"

static void *listen(struct session_sink **sink)
{
	struct perfscript *p = perfscript__new();

	*sink = p ? perfscript__sink(p) : NULL;
	return p;
}

static void drop(void *events)
{
	perfscript__free(events);
}

static int write_session(const struct session *s, FILE *f, const struct write_opts *o, void *events,
			 struct folded_result *result)
{
	(void)o, (void)result;
	return perfscript__write(events, s, f);
}

/*
 * In the manual:
 * Each device record, CPU sample, wait and time off the CPU as a sample that
 * .Li "perf script"
 * would print, for tools that read its output:
 * .Pa stackcollapse-perf.pl ,
 * speedscope, the Firefox Profiler; see
 * .Sx PERF SCRIPT .
 */
const struct format perf_format = {
	.times_only = true,
	.help = "events as perf script prints samples",
	.options = FORMAT_MERGED,
	.listen = listen,
	.free = drop,
	.write = write_session,
};
