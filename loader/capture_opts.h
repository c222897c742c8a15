/* SPDX-License-Identifier: GPL-3.0-or-later */
/* capture_opts.h - --capture: which parts of a program's life are recorded */
#ifndef XPU_LOADER_CAPTURE_OPTS_H
#define XPU_LOADER_CAPTURE_OPTS_H

#include <stdbool.h>
#include <stdint.h>

struct capture_opts {
	const char *what;		/* the event that opens windows, or NULL */
	uint32_t most;			/* record at most this many windows; 0: all */
	bool each;			/* make results for each window */
	uint64_t after_ns;		/* when the clock opens a window; UINT64_MAX: never */
	uint64_t for_ns;		/* how long the clock's window stays open; 0: until the
					 * end */
};

/* Takes --capture's argument, or prints what is wrong with it. Return: 0 or -EINVAL. */
int capture_opts__parse(struct capture_opts *c, const char *arg);

/* Like capture_opts__parse(), for --capture-end. */
int capture_opts__parse_end(struct capture_opts *c, const char *arg);

/* Sets XPU_CAPTURE_ENV, which the target's shim reads. Return: 0 or -ENOMEM. */
int capture_opts__set_environment(const struct capture_opts *c);

#endif /* XPU_LOADER_CAPTURE_OPTS_H */
