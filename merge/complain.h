/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * complain.h - what xpumerge, the program, says on stderr
 */
#ifndef MERGE_COMPLAIN_H
#define MERGE_COMPLAIN_H

#include "util.h"

/* One line, with the program's name before it. */
void complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The same of each line that was kept. */
void complain_msgs(const struct msgs *msgs);

#endif /* MERGE_COMPLAIN_H */
