// SPDX-License-Identifier: GPL-3.0-or-later
#include "msg.h"

#include <stdarg.h>
#include <stdio.h>

bool msg__quiet;
int msg__verbosity;

/* One write, so that the target's own lines do not end up in the middle. */
__attribute__((format(printf, 2, 0)))
static void say(const char *kind, const char *fmt, va_list args)
{
	char line[4096];
	int n;

	n = vsnprintf(line, sizeof(line), fmt, args);
	if (n >= 0)
		fprintf(stderr, "xpuload: %s%s\n", kind, line);
}

#define SAY(kind)			\
do {					\
	va_list args;			\
					\
	va_start(args, fmt);		\
	say(kind, fmt, args);		\
	va_end(args);			\
} while (0)

void msg__error(const char *fmt, ...)
{
	SAY("");
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
	size_t i;

	for (i = 0; i < len && i < sizeof(line) - 1 && text[i]; i++) {
		unsigned char c = text[i];

		line[i] = c < ' ' || c == 0x7f ? '?' : c;
	}
	line[i] = '\0';
	if (warning)
		msg__warn("pid %d: %s", pid, line);
	else
		msg__info("pid %d: %s", pid, line);
}
