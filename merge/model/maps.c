// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/maps.h"

#include <errno.h>

struct map_node *maps__first_after(const struct maps *m, uint64_t addr)
{
	struct map_node *const *next = m->first;
	uint32_t level;

	for (level = MAPS_LEVELS; level--;)
		while (next[level] && next[level]->map.end <= addr)
			next = next[level]->next;
	return next[0];
}

/*
 * Finds, for each level, the link that crosses @addr: it leads to the node that maps__first_after()
 * finds, or to a later node.
 */
static void maps__links(struct maps *m, uint64_t addr, struct map_node **links[MAPS_LEVELS])
{
	struct map_node **next = m->first;
	uint32_t level;

	for (level = MAPS_LEVELS; level--;) {
		while (next[level] && next[level]->map.end <= addr)
			next = next[level]->next;
		links[level] = &next[level];
	}
}

/*
 * Return: the number of levels of a new node. Half of the nodes have at least 2 levels, a quarter
 * of the nodes have at least 3 levels, and so on.
 */
static uint32_t maps__nr_levels(struct maps *m)
{
	m->random = m->random * 1664525 + 1013904223;
	return 1 + __builtin_ctz(m->random >> 16 | 1u << (MAPS_LEVELS - 1));
}

int maps__insert(struct maps *m, struct arena *arena, const struct map *map)
{
	uint32_t nr_levels = maps__nr_levels(m), level;
	struct map_node **links[MAPS_LEVELS], *node;

	node = arena__alloc(arena, sizeof(*node) + nr_levels * sizeof(node->next[0]));
	if (!node)
		return -ENOMEM;
	node->map = *map;
	node->nr_levels = nr_levels;
	maps__links(m, map->start, links);
	for (level = 0; level < nr_levels; level++) {
		node->next[level] = *links[level];
		*links[level] = node;
	}
	return 0;
}

void maps__remove(struct maps *m, const struct map_node *node)
{
	struct map_node **links[MAPS_LEVELS];
	uint32_t level;

	maps__links(m, node->map.start, links);
	for (level = 0; level < node->nr_levels; level++)
		*links[level] = node->next[level];
}
