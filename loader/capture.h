/* SPDX-License-Identifier: GPL-3.0-or-later */
/* capture.h - --capture: which windows of a program's life are recorded */
#ifndef XPU_LOADER_CAPTURE_H
#define XPU_LOADER_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

struct capture {
	const char *what;		/* the program opens windows: as in XPU_CAPTURE_ENV; or NULL */
	uint32_t most;			/* its first windows, so many; 0: all */
	bool each;			/* each window has results of its own */
	uint64_t after_ns;		/* the clock opens one; UINT64_MAX: it does not */
	uint64_t for_ns;		/* and closes it; 0: it does not */
};

/* Takes --capture's argument, or says what is wrong with it. Return: 0 or -EINVAL. */
int capture__parse(struct capture *c, const char *arg);

/* As capture__parse(), of --capture-end's argument. */
int capture__parse_end(struct capture *c, const char *arg);

/* Sets the variable by which the target's shim knows. Return: 0 or -ENOMEM. */
int capture__set_environment(const struct capture *c);

#endif /* XPU_LOADER_CAPTURE_H */
