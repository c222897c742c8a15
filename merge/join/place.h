/* SPDX-License-Identifier: GPL-3.0-or-later */
/* place.h - the second pass: adds each match of the join to its call path */
#ifndef MERGE_PLACE_H
#define MERGE_PLACE_H

#include "join/second_pass.h"

/* Adds a match. Return: 0, -ENOMEM or the sink's error. */
int place__match(struct second_pass *p, const struct match *match);

#endif /* MERGE_PLACE_H */
