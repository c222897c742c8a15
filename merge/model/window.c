// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/window.h"

#include <stdlib.h>
#include <string.h>

void window__open(struct window *w, uint32_t nr_threads)
{
	w->nr_threads = nr_threads ? min_t(uint32_t, nr_threads, WINDOW_MAX_THREADS) : 1;
}

void window__exit(struct window *w)
{
	array_free(&w->low);
	array_free(&w->high);
}

int window__see(struct window *w, uint32_t id)
{
	size_t i;
	int err;

	if (w->low.nr < w->nr_threads) {
		err = array_push(&w->low, UINT32_MAX);
		if (!err)
			err = array_push(&w->high, 0);
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

enum window_place window__place(const struct window *w, uint32_t id)
{
	if (!w->nr_threads || !id)
		return WINDOW_INSIDE;
	if (w->low.nr < w->nr_threads || id < w->low.v[w->low.nr - 1])
		return WINDOW_BEFORE;
	return id > w->high.v[w->high.nr - 1] ? WINDOW_AFTER : WINDOW_INSIDE;
}
