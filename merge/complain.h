/* SPDX-License-Identifier: GPL-3.0-or-later */
/* complain.h - prints the messages of the program xpumerge on stderr */
#ifndef MERGE_COMPLAIN_H
#define MERGE_COMPLAIN_H

#include "memory_limit.h"
#include "util.h"

/*
 * Prints one line, with the program's name before it. Return: -EINVAL, for callers that refuse an
 * argument.
 */
int complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * Prints why @file could not be processed, unless @err (0 or a negative errno) is 0. Return: @err.
 */
int complain_error(struct memory_limit *memory, const char *file, int err);

/* Prints each kept message as a line, with the program's name before it. */
void complain_msgs(const struct msgs *msgs);

#endif /* MERGE_COMPLAIN_H */
