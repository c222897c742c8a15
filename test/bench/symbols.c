// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * symbols FILE... - measures the cost of naming addresses
 *
 * It reads all files, finds the names of 100,000 distinct addresses in these files, and then finds
 * the same names again. The goal is at most one second for the 100,000 addresses.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "symbols/dso.h"
#include "gen.h"

#define NR_ADDRESSES	100000

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e3 + ts.tv_nsec / 1e6;
}

struct place {
	struct dso *dso;
	uint64_t offset;
};

/* Return: how many of the places have a name. */
static size_t name_all(struct dsos *dsos, const struct place *places)
{
	struct dso_symbol *sym;
	size_t i, named = 0;
	uint64_t vaddr;

	for (i = 0; i < NR_ADDRESSES; i++) {
		sym = dsos__find_symbol(dsos, places[i].dso, places[i].offset, &vaddr);
		named += sym && dsos__symbol_name(dsos, sym);
		if (!sym)
			dso__function(places[i].dso, vaddr);
	}
	return named;
}

int main(int argc, char **argv)
{
	struct place *places = calloc(NR_ADDRESSES, sizeof(*places));
	struct strpool strings = { 0 };
	uint64_t total = 0, at, vaddr, step;
	double start, first, again;
	struct dsos dsos;
	size_t nr = 0, i, named;
	int arg;

	if (argc < 2 || !places)
		return 2;
	dsos__init(&dsos, &strings);
	for (arg = 1; arg < argc; arg++) {
		struct gen g = { 0 };
		struct dso *dso;

		gen__mmap(&g, 1, 1, 0, 0, 0, argv[arg], NULL, 0);
		dso = dsos__get(&dsos, (const void *)g.v);
		start = now_ms();
		dsos__find_symbol(&dsos, dso, 0, &vaddr);
		printf("  %-44.44s %7zu symbols  %8.1f ms\n", dso->name, dso->symtab.symbols.nr,
		       now_ms() - start);
		if (dso->nr_segments)
			total += dso->segments[0].end - dso->segments[0].offset;
		gen__free(&g);
	}
	/* The first segment is the executable one. */
	step = total / NR_ADDRESSES;
	for (arg = 1; arg < argc && step; arg++) {
		struct gen g = { 0 };
		struct dso *dso;

		gen__mmap(&g, 1, 1, 0, 0, 0, argv[arg], NULL, 0);
		dso = dsos__get(&dsos, (const void *)g.v);
		gen__free(&g);
		for (at = dso->nr_segments ? dso->segments[0].offset : 0;
		     dso->nr_segments && at < dso->segments[0].end && nr < NR_ADDRESSES; at += step)
			places[nr++] = (struct place){ dso, at };
	}
	if (nr < NR_ADDRESSES) {
		fprintf(stderr, "symbols: too little code in these files\n");
		return 2;
	}
	/* Looks the places up in random order, so that no cache helps. */
	srand(1);
	for (i = nr - 1; i > 0; i--) {
		size_t k = ((size_t)rand() << 15 ^ rand()) % (i + 1);
		struct place tmp = places[i];

		places[i] = places[k];
		places[k] = tmp;
	}
	start = now_ms();
	named = name_all(&dsos, places);
	first = now_ms() - start;
	start = now_ms();
	name_all(&dsos, places);
	again = now_ms() - start;
	printf("  %d distinct addresses, %zu with a name: %.1f ms, once more %.1f ms\n",
	       NR_ADDRESSES, named, first, again);
	dsos__exit(&dsos);
	strpool__free(&strings);
	free(places);
	return first > 1000;
}
