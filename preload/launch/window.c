// SPDX-License-Identifier: MIT
#include "launch/window.h"

#include <stdatomic.h>
#include <string.h>

/*
 * Launches that found the gate closed while CUPTI's callbacks were on: those of other threads in the
 * moments of a beginning or an end. If there are more, their device work counts as work without a launch.
 */
#define NR_LEFT_OUT	65536u		/* a power of two */
#define MAX_LOOKS	64

/* Windows whose device work may come still. Of those before them nothing is left out. */
#define NR_WINDOWS	256u

struct window {
	atomic_uint first, last;	/* correlation ids; first is 0 before the first launch */
};

bool window__are_used;

static atomic_uint left_out[NR_LEFT_OUT];	/* a hash by id; 0: free */
static atomic_bool any_left_out;
static struct window windows[NR_WINDOWS];
static atomic_uint nr_windows;		/* the present one, if any, is the last */
static atomic_bool is_open;
static atomic_bool are_forgotten;	/* there were more than NR_WINDOWS */

/* Ids wrap around. */
static bool is_before(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

static uint32_t place_of(uint32_t id)
{
	return id * 0x9e3779b9u >> 16;
}

void window__begin(void)
{
	uint32_t nr = atomic_load(&nr_windows);
	struct window *w = &windows[nr % NR_WINDOWS];

	atomic_store(&w->first, 0);
	atomic_store(&w->last, 0);
	if (nr >= NR_WINDOWS)
		atomic_store(&are_forgotten, true);
	atomic_store(&is_open, true);
	atomic_store(&nr_windows, nr + 1);
}

void window__first(uint32_t id)
{
	struct window *w = &windows[(atomic_load(&nr_windows) - 1) % NR_WINDOWS];
	uint32_t old = atomic_load(&w->first);

	if (!window__are_used)
		return;
	while ((!old || is_before(id, old)) && !atomic_compare_exchange_weak(&w->first, &old, id))
		;
}

void window__leave_out(uint32_t id)
{
	uint32_t at = place_of(id), i, empty;

	if (!window__are_used || !id)
		return;
	atomic_store(&any_left_out, true);
	for (i = 0; i < MAX_LOOKS; i++) {
		empty = 0;
		if (atomic_compare_exchange_strong(&left_out[(at + i) % NR_LEFT_OUT], &empty, id) ||
		    empty == id)
			return;
	}
}

void window__end(uint32_t last, uint32_t *first)
{
	struct window *w = &windows[(atomic_load(&nr_windows) - 1) % NR_WINDOWS];

	*first = atomic_load(&w->first);
	atomic_store(&w->last, last);
	atomic_store(&is_open, false);
}

void window__forget(void)
{
	if (atomic_exchange(&any_left_out, false))
		memset(left_out, 0, sizeof(left_out));
	atomic_store(&nr_windows, 0);
	atomic_store(&are_forgotten, false);
}

static bool is_left_out(uint32_t id)
{
	uint32_t at = place_of(id), i, there;

	if (!atomic_load(&any_left_out))
		return false;
	for (i = 0; i < MAX_LOOKS; i++) {
		there = atomic_load(&left_out[(at + i) % NR_LEFT_OUT]);
		if (there == id)
			return true;
		if (!there)
			return false;
	}
	return false;
}

bool window__has(uint32_t id)
{
	uint32_t nr = atomic_load(&nr_windows), i, first = 0;
	bool open = atomic_load(&is_open);

	if (!window__are_used || !id)
		return true;
	if (is_left_out(id))
		return false;
	for (i = nr; i && nr - i < NR_WINDOWS; i--, open = false) {
		const struct window *w = &windows[(i - 1) % NR_WINDOWS];

		if (!atomic_load(&w->first))
			continue;
		first = atomic_load(&w->first);
		if (!is_before(id, first) && (open || !is_before(atomic_load(&w->last), id)))
			return true;
	}
	return atomic_load(&are_forgotten) && first && is_before(id, first);
}
