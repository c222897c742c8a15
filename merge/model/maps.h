/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * maps.h - executable mappings by address
 *
 * The maps are in a skip list, because they come in any order and in large numbers: Linux chooses
 * descending addresses, a JIT compiler may choose any address, and a process may run for days.
 */
#ifndef MERGE_MAPS_H
#define MERGE_MAPS_H

#include <stdint.h>

#include "xpu_record.h"
#include "util.h"

#define MAPS_LEVELS	16

struct dso;

/* A piece of an executable mapping. */
struct map {
	uint64_t start, end;
	uint64_t pgoff;				/* offset of start in the file, in bytes */
	const struct xpu_record_mmap *rec;	/* the record that names the file */
	uint32_t epoch_from, epoch_to;		/* inclusive */
	struct dso *dso;			/* set by the symbolizer; may be NULL */
};

struct map_node {
	struct map map;
	uint32_t nr_levels;
	struct map_node *next[];		/* nr_levels links; [0] goes through all nodes in
						 * order of address */
};

/* Disjoint maps. Starts zeroed. The nodes belong to an arena. */
struct maps {
	struct map_node *first[MAPS_LEVELS];
	uint32_t random;
};

/* Return: the first map that ends after @addr, or NULL. */
struct map_node *maps__first_after(const struct maps *m, uint64_t addr);

/* Adds a map, which must not overlap another map. Return: 0 or -ENOMEM. */
int maps__insert(struct maps *m, struct arena *arena, const struct map *map);
void maps__remove(struct maps *m, const struct map_node *node);

#endif /* MERGE_MAPS_H */
