/* SPDX-License-Identifier: GPL-3.0-or-later */
/* complain.h - prints the messages of the program xpumerge on stderr */
#ifndef MERGE_COMPLAIN_H
#define MERGE_COMPLAIN_H

#include "util.h"

/* Prints one line, with the program's name before it. */
void complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Prints each kept message as a line, with the program's name before it. */
void complain_msgs(const struct msgs *msgs);

#endif /* MERGE_COMPLAIN_H */
