// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * names [-i] FILE [DEBUG_DIRS] - prints xpumerge's names for addresses of a file
 *
 * Reads file-relative addresses, in hexadecimal, one per line. Prints one line for each address:
 * its name, or "??" if it has none. With -i it prints what addr2line -afi prints: the address, then
 * two lines for each inlined function and for the function that contains it, innermost first.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/dso.h"
#include "gen.h"
#include "symbols/srcline.h"

/* Return: the file offset of the code at @vaddr, or UINT64_MAX if the file has no such code. */
static uint64_t offset_of(const struct dso *dso, uint64_t vaddr)
{
	size_t i;

	for (i = 0; i < dso->nr_segments; i++) {
		const struct dso_segment *s = &dso->segments[i];

		if (vaddr >= s->vaddr && vaddr - s->vaddr < s->end - s->offset)
			return vaddr - s->vaddr + s->offset;
	}
	return UINT64_MAX;
}

static void print_lines(struct srclines *lines, struct dso *dso, uint64_t vaddr)
{
	struct srcline v[SRCLINE_MAX];
	int nr = srclines__find(lines, dso, vaddr, v), i;

	printf("0x%016" PRIx64 "\n", vaddr);
	for (i = 0; i < nr; i++) {
		printf("%s\n%s:", v[i].function ?: "??", v[i].file ?: "??");
		printf(v[i].line ? "%" PRIu32 "\n" : "?\n", v[i].line);
	}
	if (!nr)
		puts("??\n??:0");
}

int main(int argc, char **argv)
{
	struct strpool strings = { 0 };
	struct srclines lines;
	struct dso_symbol *sym;
	bool with_lines = argc > 1 && !strcmp(argv[1], "-i");
	struct dsos dsos;
	struct gen g = { 0 };
	struct dso *dso;
	uint64_t vaddr, at;
	char line[64], path[PATH_MAX];

	if (with_lines) {
		argv++;
		argc--;
	}
	/* Mappings have absolute paths. */
	if (argc < 2 || !realpath(argv[1], path)) {
		fprintf(stderr, "names: which file?\n");
		return 2;
	}
	gen__mmap(&g, 1, 1, 0, 0, 0, path, NULL, 0);
	dsos__init(&dsos, &strings);
	dsos.paths.debug_dirs = argv[2];
	dso = dsos__get(&dsos, (const void *)g.v);
	if (!dso)
		return 1;
	dsos__find_symbol(&dsos, dso, 0, &vaddr);
	if (dso->state != DSO_LOADED) {
		fprintf(stderr, "names: %s%s\n", argv[1], dso->why ?: "");
		return 1;
	}
	srclines__init(&lines, &strings);
	while (fgets(line, sizeof(line), stdin)) {
		at = strtoull(line, NULL, 16);
		if (with_lines) {
			print_lines(&lines, dso, at);
			continue;
		}
		sym = dsos__find_symbol(&dsos, dso, offset_of(dso, at), &vaddr);
		puts(sym ? dsos__symbol_name(&dsos, sym) ?: "" : "??");
	}
	srclines__exit(&lines);
	if (dso->no_lines)
		fprintf(stderr, "names: %s: %s\n", path, dso->no_lines);
	dsos__exit(&dsos);
	strpool__free(&strings);
	gen__free(&g);
	return fflush(stdout) ? 1 : 0;
}
