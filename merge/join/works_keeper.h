/* SPDX-License-Identifier: GPL-3.0-or-later */
/* works_keeper.h - keeps device work for works.h, if features need it */
#ifndef MERGE_WORKS_KEEPER_H
#define MERGE_WORKS_KEEPER_H

#include "join/second_pass.h"

/* Adds a hook for device work, if features need the work. Call it after begin() of all features. */
void works_keeper__add(struct second_pass *p);

#endif /* MERGE_WORKS_KEEPER_H */
