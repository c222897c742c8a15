// SPDX-License-Identifier: GPL-3.0-or-later
#include "symbols/kallsyms.h"

#include <stdlib.h>

int kallsyms__add(struct kallsyms *k, const struct xpu_record_ksym *rec)
{
	return array_push(&k->syms, rec);
}

void kallsyms__free(struct kallsyms *k)
{
	array_free(&k->syms);
}

static int ksym__cmp(const void *va, const void *vb)
{
	const struct xpu_record_ksym *a = *(const struct xpu_record_ksym *const *)va;
	const struct xpu_record_ksym *b = *(const struct xpu_record_ksym *const *)vb;

	/* If records have the same start, kallsyms__find() uses the first of them in the file. */
	return cmp3(a->start, b->start) ?: cmp3(b, a);
}

void kallsyms__finish(struct kallsyms *k)
{
	array_qsort(&k->syms, ksym__cmp);
}

const char *kallsyms__find(const struct kallsyms *k, uint64_t addr)
{
	size_t lo = sorted_count(k->syms.nr, i, k->syms.v[i]->start <= addr);

	return lo && addr < k->syms.v[lo - 1]->end ? k->syms.v[lo - 1]->name : NULL;
}
