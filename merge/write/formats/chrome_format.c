// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/format.h"
#include "write/chrome.h"

static int write_session(const struct session *s, FILE *f, const struct write_opts *o, void *events,
			 struct folded_result *result)
{
	(void)o, (void)result;
	return chrome__write(events, s, f);
}

/*
 * In the manual:
 * A timeline in Chrome's JSON trace format, for Perfetto
 * .Pq Lk https://ui.perfetto.dev
 * or chrome://tracing; see
 * .Sx TIMELINE .
 */
const struct format chrome_format = {
	.times_only = true,
	.help = "a timeline for Perfetto, chrome://tracing",
	.exports_events = true,
	.options = FORMAT_MERGED,
	.with_shapes = true,
	.listen = timeline__listen,
	.free = timeline__drop,
	.write = write_session,
};
