/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * msg.h - prints xpuload's messages to stderr, a line at a time; stdout belongs to the target
 *
 * Control characters and bytes that are not UTF-8 are made harmless: see escape.h.
 */
#ifndef XPU_LOADER_MSG_H
#define XPU_LOADER_MSG_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

extern bool msg__quiet;		/* -q: msg__info() prints nothing */
extern int msg__verbosity;	/* -v: msg__debug() prints */

#define MSG_FORMAT __attribute__((format(printf, 1, 2)))

/* Return: -EINVAL, which callers return when they refuse something. */
MSG_FORMAT int msg__error(const char *fmt, ...);
MSG_FORMAT void msg__warn(const char *fmt, ...);
MSG_FORMAT void msg__info(const char *fmt, ...);
MSG_FORMAT void msg__debug(const char *fmt, ...);

/*
 * Shows a line on the terminal at standard error, replacing the previous status line. The cursor
 * stays at the start of the line, so that the next message replaces the line. "" removes the line.
 */
void msg__status(const char *line);

/* Prints a line that process @pid sent: at most 1023 of @len bytes, up to a NUL. */
void msg__from_target(pid_t pid, bool warning, const char *text, size_t len);

#endif /* XPU_LOADER_MSG_H */
