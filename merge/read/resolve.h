/* SPDX-License-Identifier: GPL-3.0-or-later */
/* resolve.h - resolves ids between the passes, after all definitions have been read */
#ifndef MERGE_RESOLVE_H
#define MERGE_RESOLVE_H

#include "read/found.h"

/* Resolves the ids in @f, which does not change afterwards. Return: 0 or -ENOMEM. */
int found__resolve(struct found *f, struct model *m);

#endif /* MERGE_RESOLVE_H */
