/* SPDX-License-Identifier: GPL-3.0-or-later */
/* msg.h - what xpuload says, on stderr, a line at a time; stdout is the target's */
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

/* A line that came from inside process @pid; control characters are made harmless. */
void msg__from_target(pid_t pid, bool warning, const char *text, size_t len);

#endif /* XPU_LOADER_MSG_H */
