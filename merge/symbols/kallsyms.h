/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kallsyms.h - the names of kernel functions in a recording */
#ifndef MERGE_KALLSYMS_H
#define MERGE_KALLSYMS_H

#include <stdint.h>

#include "xpu_record.h"
#include "util.h"

struct kallsyms {
	ARRAY(const struct xpu_record_ksym *) syms;
};

/* Takes a record, which must stay valid. Return: 0 or -ENOMEM. */
int kallsyms__add(struct kallsyms *k, const struct xpu_record_ksym *rec);
void kallsyms__free(struct kallsyms *k);

/* Sorts the records; call it before the first kallsyms__find(). */
void kallsyms__finish(struct kallsyms *k);

/*
 * Return: the name of the function that contains @addr, owned by the recording; or NULL if unknown.
 */
const char *kallsyms__find(const struct kallsyms *k, uint64_t addr);

#endif /* MERGE_KALLSYMS_H */
