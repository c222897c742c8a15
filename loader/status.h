/* SPDX-License-Identifier: GPL-3.0-or-later */
/* status.h - a line on the terminal with the progress of a recording */
#ifndef XPU_LOADER_STATUS_H
#define XPU_LOADER_STATUS_H

#include <stdbool.h>
#include <stdint.h>

struct options;

struct status {
	bool wanted;
	uint64_t start_ns, shown_ns;
	uint64_t nr_launches;		/* number of launches at the last display */
};

/*
 * Prepares a line, which is shown if standard error is a terminal and probably has no other output:
 * not with -q, and with a COMMAND only if the command's output goes elsewhere.
 */
void status__init(struct status *s, const struct options *opts, uint64_t now_ns);

/* Return: whether the line is wanted, and was last shown at least a second ago. */
bool status__is_due(const struct status *s, uint64_t now_ns);

/* Shows the line. @bytes: the size of the recording */
void status__show(struct status *s, uint64_t now_ns, uint64_t nr_launches, uint64_t bytes,
		  uint64_t nr_lost);

void status__clear(struct status *s);

#endif /* XPU_LOADER_STATUS_H */
