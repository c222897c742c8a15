/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * twofiles.h - a recording as two files, for scripts of other tools
 *
 * One file has the stack of each launch, "timestamp_ns comm pid tid cpu frame;frame;...". The other
 * file has CUPTI's API calls and device work as Chrome JSON. import/twofile.h reads both.
 */
#ifndef MERGE_TWOFILES_H
#define MERGE_TWOFILES_H

#include <stdio.h>

#include "join/session.h"

struct twofiles_out;

/* Return: a collector of a session's events, or NULL if memory is short. */
void *twofiles_out__listen(struct session_sink **sink);
void twofiles_out__drop(void *events);

/*
 * Each of these functions writes one of the files. Return: 0 or -ENOMEM; an error of @f stays in
 * its error flag.
 */
int twofiles_out__write_stacks(struct twofiles_out *t, const struct session *s, FILE *f);
int twofiles_out__write_events(struct twofiles_out *t, const struct session *s, FILE *f);

#endif /* MERGE_TWOFILES_H */
