/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * resolve.h - between the passes, when all definitions are there: ids become things
 */
#ifndef MERGE_RESOLVE_H
#define MERGE_RESOLVE_H

#include "read/found.h"

/* Nothing of @f changes afterwards. Return: 0 or -ENOMEM. */
int found__resolve(struct found *f, struct model *m);

#endif /* MERGE_RESOLVE_H */
