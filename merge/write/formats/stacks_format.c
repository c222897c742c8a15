// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/format.h"
#include "write/twofiles.h"

static int write_session(const struct session *s, FILE *f, const struct write_opts *o, void *events,
			 struct folded_result *result)
{
	(void)o, (void)result;
	return twofiles_out__write_stacks(events, s, f);
}

/*
 * In the manual:
 * The stack of each launch as a line
 * .Ql timestamp_ns comm pid tid cpu frame;frame;... ,
 * root first.
 * .Fl Fl cpu
 * takes such lines.
 * Tools that write such lines by a uprobe have scripts that take them, too.
 * Blanks in
 * .Em comm
 * become
 * .Sq _ ,
 * and
 * .Em cpu
 * is 0, because recordings do not have it.
 */
const struct format stacks_format = {
	.times_only = true,
	.help = "the stack of each launch, for --cpu",
	.options = FORMAT_MERGED,
	.listen = twofiles_out__listen,
	.free = twofiles_out__drop,
	.write = write_session,
};
