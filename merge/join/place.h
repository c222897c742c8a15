/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * place.h - the second pass: what the join has found goes under its call path
 */
#ifndef MERGE_PLACE_H
#define MERGE_PLACE_H

#include "join/second_pass.h"

/* Return: 0, or -ENOMEM or what a sink returned. */
int place__match(struct second_pass *p, const struct match *match);

#endif /* MERGE_PLACE_H */
