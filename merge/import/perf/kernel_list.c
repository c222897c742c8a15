// SPDX-License-Identifier: GPL-3.0-or-later
#include "import/perf/kernel_list.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "import/import.h"

#define MAX_BYTES	(1u << 20)	/* largest size of a function */

static int ksym__compare(const void *a, const void *b, void *ctx __attribute__((unused)))
{
	const struct ksym *x = a, *y = b;

	return cmp3(x->address, y->address);
}

/* Parses a line such as "ffffffff81000000 T _text" or "... t name [module]". */
static bool ksym__read(struct ksym *s, const char *p, const char *end, char *type)
{
	size_t n = 0;

	s->address = 0;
	while (p + n < end && isxdigit((unsigned char)p[n]) && n <= 16) {
		int c = tolower((unsigned char)p[n++]);

		s->address = s->address << 4 | (isdigit(c) ? c - '0' : c - 'a' + 10);
	}
	if (!n || n > 16 || end - p < (ptrdiff_t)n + 4 || p[n] != ' ' || p[n + 2] != ' ')
		return false;
	*type = tolower((unsigned char)p[n + 1]);
	s->name.s = p + n + 3;
	for (s->name.len = 0; s->name.s + s->name.len < end; s->name.len++)
		if (isspace((unsigned char)s->name.s[s->name.len]))
			break;
	return s->name.len;
}

int kernel_list__load(struct kernel_list *k, const char *path, const char *symbol, uint64_t address)
{
	const char *p, *end, *eol;
	bool found = false;
	struct ksym s;
	size_t size;
	char type;
	int err = import__load(path, &k->text, &size);

	if (err)
		return err == -ENOMEM ? err : 0;
	end = k->text + size;
	for (p = k->text; p < end && !err; p = eol + 1) {
		eol = memchr(p, '\n', end - p) ?: end;
		if (!ksym__read(&s, p, eol, &type))
			continue;
		found |= s.address == address && span__is(s.name, symbol);
		if (type == 't' || type == 'w')
			err = array_push(&k->syms, s);
	}
	if (err || !found) {
		kernel_list__free(k);
		return err;
	}
	array__sort(k->syms.v, k->syms.nr, sizeof(*k->syms.v), ksym__compare, NULL);
	return 1;
}

void kernel_list__free(struct kernel_list *k)
{
	array_free(&k->syms);
	free(k->text);
	k->text = NULL;
}

const struct ksym *kernel_list__find(const struct kernel_list *k, uint64_t address, uint64_t *end)
{
	size_t lo, next;

	lo = sorted_count(k->syms.nr, i, k->syms.v[i].address <= address);
	/* The end of the last function is unknown. */
	if (!lo || lo == k->syms.nr)
		return NULL;
	*end = k->syms.v[lo].address;
	/*
	 * A large gap separates two parts of the kernel. It does not belong to the last function
	 * before the gap.
	 */
	if (*end - k->syms.v[lo - 1].address > MAX_BYTES)
		return NULL;
	/* If one address has several names, take the first. */
	for (next = lo - 1; next && k->syms.v[next - 1].address == k->syms.v[next].address; next--)
		;
	return &k->syms.v[next];
}
