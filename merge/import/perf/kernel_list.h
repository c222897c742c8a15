/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kernel_list.h - names of Linux kernel functions, for a recording that has only addresses */
#ifndef MERGE_KERNEL_LIST_H
#define MERGE_KERNEL_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "import/span.h"
#include "util.h"

struct ksym {
	uint64_t address;
	struct span name;		/* the symbol's name, in the text of the list */
};

/* Linux kernel functions, sorted by address. Each ends where the next begins. Starts zeroed. */
struct kernel_list {
	char *text;
	ARRAY(struct ksym) syms;
};

/**
 * kernel_list__load - read a list in the form of /proc/kallsyms
 * @symbol, @address: the list must contain this symbol at this address, because kernel addresses
 * change at each boot
 *
 * Return: 1; 0 if the list is missing or unsuitable; or -ENOMEM.
 */
int kernel_list__load(struct kernel_list *k, const char *path, const char *symbol,
		      uint64_t address);
void kernel_list__free(struct kernel_list *k);

/* Return: the function that contains @address, or NULL. *@end: set to the end of the function */
const struct ksym *kernel_list__find(const struct kernel_list *k, uint64_t address, uint64_t *end);

#endif /* MERGE_KERNEL_LIST_H */
