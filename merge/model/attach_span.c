// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/attach_span.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct attach_span *attach_span__new(uint32_t nr_threads)
{
	struct attach_span *w = calloc(1, sizeof(*w));

	if (w)
		w->nr_threads = nr_threads ? min_t(uint32_t, nr_threads, ATTACH_MAX_THREADS) : 1;
	return w;
}

void attach_span__free(struct attach_span *w)
{
	struct attach_span *next;

	for (; w; w = next) {
		next = w->next;
		idmap__free(&w->first_of);
		array_free(&w->low);
		array_free(&w->high);
		array_free(&w->firsts);
		array_free(&w->late);
		free(w);
	}
}

struct attach_span *attach_span__of(struct attach_span *w, uint32_t api)
{
	for (; w->api != api; w = w->next) {
		if (w->next)
			continue;
		w->next = attach_span__new(w->nr_threads);
		if (!w->next)
			return NULL;
		w->next->api = api;
	}
	return w;
}

int attach_span__note_thread(struct attach_span *w, uint32_t thread, uint32_t id)
{
	uint32_t *first = idmap__find(&w->first_of, thread);

	if (!first)
		return idmap__put(&w->first_of, thread, id);
	*first = min_t(uint32_t, *first, id);
	return 0;
}

int attach_span__see(struct attach_span *w, uint32_t id)
{
	size_t i;
	int err;

	if (w->low.nr < w->nr_threads) {
		err = array_push(&w->low, UINT32_MAX);
		err = err ?: array_push(&w->high, 0);
		if (err)
			return err;
	}
	if (id < w->low.v[w->low.nr - 1]) {
		for (i = w->low.nr - 1; i && w->low.v[i - 1] > id; i--)
			w->low.v[i] = w->low.v[i - 1];
		w->low.v[i] = id;
	}
	if (id > w->high.v[w->high.nr - 1]) {
		for (i = w->high.nr - 1; i && w->high.v[i - 1] < id; i--)
			w->high.v[i] = w->high.v[i - 1];
		w->high.v[i] = id;
	}
	return 0;
}

enum attach_place attach_span__place(const struct attach_span *w, uint32_t id)
{
	if (!id)
		return ATTACH_INSIDE;
	if (w->low.nr < w->nr_threads || id < w->low.v[w->low.nr - 1])
		return ATTACH_BEFORE;
	return id > w->high.v[w->high.nr - 1] ? ATTACH_AFTER : ATTACH_INSIDE;
}

int attach_span__first(struct attach_span *w, uint32_t id)
{
	size_t i;
	int err = w->firsts.nr < ATTACH_MAX_THREADS ? array_push(&w->firsts, 0) : 1;

	if (err)
		return min_t(int, err, 0);
	for (i = w->firsts.nr - 1; i && w->firsts.v[i - 1] < id; i--)
		w->firsts.v[i] = w->firsts.v[i - 1];
	w->firsts.v[i] = id;
	return 0;
}

int attach_span__is_late(struct attach_span *w, uint32_t id)
{
	size_t i, k;

	for (i = 0; i < w->late.nr && w->late.v[i] > id; i++)
		;
	if (i < w->late.nr && w->late.v[i] == id)	/* already noted: a graph launch has many
							 * records */
		return 1;
	/*
	 * Each late launch needs a thread of its own: the launch with the largest id gets the
	 * thread whose first launch has the largest id, and so on.
	 */
	if (w->late.nr >= w->firsts.nr || id >= w->firsts.v[i])
		return 0;
	for (k = i; k < w->late.nr; k++)
		if (w->late.v[k] >= w->firsts.v[k + 1])
			return 0;
	if (array_push(&w->late, 0))
		return -ENOMEM;
	for (k = w->late.nr - 1; k > i; k--)
		w->late.v[k] = w->late.v[k - 1];
	w->late.v[i] = id;
	return 1;
}
