/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * text.h - the summary for people
 */
#ifndef MERGE_TEXT_H
#define MERGE_TEXT_H

#include <stdint.h>
#include <stdio.h>

#include "folded.h"
#include "session.h"

struct text_opts {
	enum unit unit;			/* UNIT_NS, UNIT_US or UNIT_MS */
	uint32_t max_rows;		/* of each table; 0: all */
};

/* Writes all of @s. Return: 0 or -ENOMEM; an error of @f stays in its error flag. */
int text__write(const struct session *s, FILE *f, const struct text_opts *opts);

#endif /* MERGE_TEXT_H */
