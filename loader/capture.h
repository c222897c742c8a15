/* SPDX-License-Identifier: GPL-3.0-or-later */
/* capture.h - --capture: which parts of a program's life are recorded */
#ifndef XPU_LOADER_CAPTURE_H
#define XPU_LOADER_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

struct capture {
	const char *what;		/* what opens windows, as in XPU_CAPTURE_ENV; or NULL */
	uint32_t most;			/* record only so many windows; 0: all */
	bool each;			/* make results for each window */
	uint64_t after_ns;		/* a clock opens one then; UINT64_MAX: no clock */
	uint64_t for_ns;		/* ... and closes it after so long; 0: never */
};

/* Takes --capture's argument, or prints what is wrong with it. Return: 0 or -EINVAL. */
int capture__parse(struct capture *c, const char *arg);

/* Like capture__parse(), for --capture-end. */
int capture__parse_end(struct capture *c, const char *arg);

/* Sets the environment variable that tells the target's shim. Return: 0 or -ENOMEM. */
int capture__set_environment(const struct capture *c);

#endif /* XPU_LOADER_CAPTURE_H */
