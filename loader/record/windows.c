// SPDX-License-Identifier: GPL-3.0-or-later
#include "record/windows.h"

#include <stdlib.h>

#include "base/entry_table.h"
#include "xpu_record.h"

struct capture_window {
	UT_hash_handle hh;
	uint32_t proc_id;
	uint64_t open_ns, close_ns;	/* close_ns 0: the window is open */
	uint64_t old_close_ns;		/* the end of the previous window */
	uint64_t old_open_ns;
};

struct windows {
	struct capture_window *of_images;
	uint32_t last;			/* the largest window number */
};

struct windows *windows__new(void)
{
	return calloc(1, sizeof(struct windows));
}

void windows__free(struct windows *w)
{
	struct capture_window *e, *next;

	if (!w)
		return;
	HASH_ITER(hh, w->of_images, e, next) {
		HASH_DEL(w->of_images, e);
		free(e);
	}
	free(w);
}

void windows__take(struct windows *w, const void *record, size_t size)
{
	const struct xpu_record_batch *batch = record;
	const struct xpu_record_window *r;
	struct capture_window *e;

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
	if (!e)
		return;			/* memory ran out: samples of the image are dropped */
	if (r->hdr.misc == XPU_MISC_WINDOW_OPEN) {
		e->old_open_ns = e->open_ns;
		e->old_close_ns = e->close_ns;
		e->open_ns = r->open_ns;
		e->close_ns = 0;
	} else {
		e->close_ns = r->time_ns;
	}
}

uint32_t windows__last(const struct windows *w)
{
	return w->last;
}

bool windows__has(const struct windows *w, uint32_t proc_id, uint64_t time_ns)
{
	struct capture_window *e;

	table_find(w->of_images, proc_id, proc_id, e);
	if (!e)
		return false;
	if (time_ns >= e->open_ns)
		return !e->close_ns || time_ns <= e->close_ns;
	return time_ns >= e->old_open_ns && time_ns <= e->old_close_ns;
}
