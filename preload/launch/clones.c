// SPDX-License-Identifier: MIT
#include "launch/clones.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "wire/wire.h"

struct clone {
	struct clone *next;
	uint64_t node_id, original_id;
	unsigned int api;
};

static struct clone *_Atomic clones;		/* latest first */
static atomic_uint_fast64_t nr_lost;

void clones__add(unsigned int api, uint64_t node_id, uint64_t original_id)
{
	int saved_errno = errno;
	struct clone *c = malloc(sizeof(*c));

	if (c) {
		c->api = api;
		c->node_id = node_id;
		c->original_id = original_id;
		c->next = atomic_load(&clones);
		while (!atomic_compare_exchange_weak(&clones, &c->next, c))
			;
	} else {
		atomic_fetch_add(&nr_lost, 1);
	}
	errno = saved_errno;
}

bool clones__drain(void)
{
	struct clone *c, *next, *all = atomic_exchange(&clones, NULL);

	for (c = all; c; c = next) {
		next = c->next;
		wire__graph_clone(c->api, c->node_id, c->original_id);
		free(c);
	}
	return all != NULL;
}

uint64_t clones__nr_lost(void)
{
	return atomic_load(&nr_lost);
}
