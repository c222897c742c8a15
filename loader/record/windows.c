// SPDX-License-Identifier: GPL-3.0-or-later
#include "record/windows.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/entry_table.h"
#include "xpu_record.h"

#define MAX_KEPT	64	/* windows of an image, more than open between two drains */

struct capture_window {
	uint64_t open_ns, close_ns;	/* close_ns 0: the window is open */
};

struct image_windows {
	UT_hash_handle hh;
	uint32_t proc_id;
	uint32_t nr;			/* all windows; window n is in kept[n % MAX_KEPT] */
	struct capture_window kept[MAX_KEPT];
};

struct windows {
	struct image_windows *of_images;
	uint32_t last;			/* the largest window number */
	bool no_memory;			/* windows of some images are unknown */
};

struct windows *windows__new(void)
{
	return calloc(1, sizeof(struct windows));
}

void windows__free(struct windows *w)
{
	if (!w)
		return;
	table_free(w->of_images, table_free_nothing);
	free(w);
}

void windows__take(struct windows *w, const void *record, size_t size)
{
	const struct xpu_record_batch *batch = record;
	const struct xpu_record_window *r;
	struct image_windows *e;

	if (size < sizeof(*batch) || batch->hdr.type != XPU_RECORD_BATCH ||
	    batch->bytes != sizeof(struct xpu_record_counters) + sizeof(*r) ||
	    size - sizeof(*batch) < batch->bytes)
		return;
	r = (const void *)(batch->records + sizeof(struct xpu_record_counters));
	if (r->hdr.type != XPU_RECORD_WINDOW)
		return;
	if (r->number > w->last)
		w->last = r->number;
	table_get(w->of_images, proc_id, batch->proc_id, e);
	w->no_memory |= !e;
	if (!e)
		return;
	if (r->hdr.misc == XPU_MISC_WINDOW_OPEN || !e->nr)
		e->kept[e->nr++ % MAX_KEPT] = (struct capture_window){ r->open_ns, 0 };
	if (r->hdr.misc != XPU_MISC_WINDOW_OPEN)
		e->kept[(e->nr - 1) % MAX_KEPT].close_ns = r->time_ns;
}

uint32_t windows__last(const struct windows *w)
{
	return w->last;
}

enum windows_place windows__place(const struct windows *w, uint32_t proc_id, uint64_t time_ns)
{
	const struct capture_window *c;
	struct image_windows *e;
	uint32_t i;

	table_find(w->of_images, proc_id, proc_id, e);
	if (!e)
		return w->no_memory ? WINDOWS_UNKNOWN : WINDOWS_OUTSIDE;
	for (i = 1; i <= e->nr && i <= MAX_KEPT; i++) {
		c = &e->kept[(e->nr - i) % MAX_KEPT];
		if (time_ns >= c->open_ns)
			return !c->close_ns || time_ns <= c->close_ns ? WINDOWS_INSIDE :
									WINDOWS_OUTSIDE;
	}
	return e->nr > MAX_KEPT ? WINDOWS_UNKNOWN : WINDOWS_OUTSIDE;
}
