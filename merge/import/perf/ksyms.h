/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ksyms.h - names of the kernel's functions, for a recording that has addresses only */
#ifndef MERGE_PERF_KSYMS_H
#define MERGE_PERF_KSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "import/span.h"
#include "util.h"

struct ksym {
	uint64_t address;
	struct span name;		/* its name, in text */
};

/* Functions in order of address; each ends where the next one begins. Zero it to start. */
struct ksyms {
	char *text;
	ARRAY(struct ksym) syms;
};

/**
 * ksyms__load - read a list in the form of /proc/kallsyms
 * @symbol, @address: the list must contain this symbol at this address, because the kernel's
 * addresses change at each boot
 *
 * Return: 1; 0 if there is no such list; or -ENOMEM.
 */
int ksyms__load(struct ksyms *k, const char *path, const char *symbol, uint64_t address);
void ksyms__free(struct ksyms *k);

/* Return: the function that contains @address, or NULL. *@end: where the function ends */
const struct ksym *ksyms__find(const struct ksyms *k, uint64_t address, uint64_t *end);

#endif /* MERGE_PERF_KSYMS_H */
