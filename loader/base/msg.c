// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/msg.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "escape.h"

bool msg__quiet;
int msg__verbosity;

void msg__status(const char *line)
{
	struct winsize size = { 0 };
	static bool shown;

	/* Cut the line at the terminal's width: a wrapped line could not be removed again. */
	if (*line && !ioctl(STDERR_FILENO, TIOCGWINSZ, &size) && size.ws_col)
		fprintf(stderr, "%.*s\033[K\r", size.ws_col - 1, line);
	else if (*line)
		fprintf(stderr, "%s\033[K\r", line);
	else if (shown)
		fputs("\033[K", stderr);
	shown = *line;
}

/*
 * Prints a line so that it is safe for a terminal: many lines have names of files and processes,
 * which come from the target. Makes one write, so that the target's own output does not split the
 * line.
 */
__attribute__((format(printf, 2, 0)))
static void say(const char *kind, const char *fmt, va_list args)
{
	char line[4096], safe[2 * sizeof(line)];

	if (vsnprintf(line, sizeof(line), fmt, args) < 0)
		return;
	escape__line(safe, sizeof(safe), line, ESCAPE_TEXT);
	msg__status("");
	fprintf(stderr, "xpuload: %s%s\n", kind, safe);
}

#define SAY(kind)			\
do {					\
	va_list args;			\
					\
	va_start(args, fmt);		\
	say(kind, fmt, args);		\
	va_end(args);			\
} while (0)

int msg__error(const char *fmt, ...)
{
	SAY("");
	return -EINVAL;
}

void msg__warn(const char *fmt, ...)
{
	SAY("warning: ");
}

void msg__info(const char *fmt, ...)
{
	if (!msg__quiet)
		SAY("");
}

void msg__debug(const char *fmt, ...)
{
	if (msg__verbosity)
		SAY("");
}

void msg__from_target(pid_t pid, bool warning, const char *text, size_t len)
{
	char line[1024];

	snprintf(line, sizeof(line), "%.*s", (int)strnlen(text, len), text);
	if (warning)
		msg__warn("pid %d: %s", pid, line);
	else
		msg__info("pid %d: %s", pid, line);
}
