// SPDX-License-Identifier: GPL-3.0-or-later
#include "complain.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "escape.h"

int complain(const char *fmt, ...)
{
	va_list args;
	char *line;
	int len;

	va_start(args, fmt);
	len = vasprintf(&line, fmt, args);
	va_end(args);
	fputs("xpumerge: ", stderr);
	/* File names and texts from recordings may contain any bytes. */
	escape__print(stderr, len < 0 ? "out of memory" : line, ESCAPE_TEXT);
	fputc('\n', stderr);
	if (len >= 0)
		free(line);
	return -EINVAL;
}

int complain_error(struct memory_limit *memory, const char *file, int err)
{
	const char *why = memory_limit__why(memory, err);	/* this removes the memory limit, so
								 * that the line can be formatted */

	if (err)
		complain("%s: %s", file, why);
	return err;
}

void complain_msgs(const struct msgs *msgs)
{
	size_t i;

	for (i = 0; i < msgs->lines.nr; i++)
		complain("%s", msgs->lines.v[i]);
	if (msgs->nr_dropped)
		complain("%" PRIu64 " more messages like these", msgs->nr_dropped);
}
