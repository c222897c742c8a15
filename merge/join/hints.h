/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hints.h - how to start a program so that more of its code has names */
#ifndef MERGE_HINTS_H
#define MERGE_HINTS_H

#include "model/model.h"

/*
 * Adds a message for each kind of program that spends much of its time in generated code without
 * names.
 */
void hints__generated_code(const struct model *m, struct msgs *msgs);

#endif /* MERGE_HINTS_H */
