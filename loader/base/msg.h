/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * msg.h - prints xpuload's messages to stderr, a line at a time; stdout is the target's
 *
 * Control characters and bytes that are not UTF-8 are made harmless: see escape.h.
 */
#ifndef XPU_LOADER_MSG_H
#define XPU_LOADER_MSG_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

extern bool msg__quiet;		/* -q: no msg__info() */
extern int msg__verbosity;	/* -v: msg__debug() */

#define MSG_FORMAT __attribute__((format(printf, 1, 2)))

MSG_FORMAT void msg__error(const char *fmt, ...);
MSG_FORMAT void msg__warn(const char *fmt, ...);
MSG_FORMAT void msg__info(const char *fmt, ...);
MSG_FORMAT void msg__debug(const char *fmt, ...);

/* Prints a line that process @pid sent: at most 1023 of @len bytes, up to a NUL. */
/*
 * Shows one line on the terminal that standard error is, in the place of the one before; the cursor stays
 * at its beginning, and the next message takes its place. "" takes it away.
 */
void msg__status(const char *line);

void msg__from_target(pid_t pid, bool warning, const char *text, size_t len);

#endif /* XPU_LOADER_MSG_H */
