// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/captured.h"

#include <stdlib.h>

void captured__free(struct captured *c)
{
	array_free(&c->windows);
	idmap__free(&c->last);
}

int captured__take(struct captured *c, uint32_t proc, const struct xpu_record_window *rec,
		   uint64_t shift_ns)
{
	struct captured_window *last, w = {
		.proc = proc, .number = rec->number, .close_ns = UINT64_MAX,
		.nr_launches = rec->nr_launches,
	};
	uint32_t *idx = idmap__find(&c->last, proc);
	uint64_t now_ns;

	if (rec->time_ns < rec->open_ns ||
	    __builtin_add_overflow(rec->open_ns, shift_ns, &w.open_ns) ||
	    __builtin_add_overflow(rec->time_ns, shift_ns, &now_ns))
		return 1;
	w.end_ns = now_ns;
	if (rec->hdr.misc != XPU_MISC_WINDOW_OPEN)
		w.close_ns = now_ns;
	last = idx ? &c->windows.v[*idx] : NULL;
	if (!last || (last->number < w.number && last->open_ns <= w.open_ns)) {
		/* If the record that closes the previous window was lost, that window ends here. */
		if (last && last->close_ns > w.open_ns)
			last->close_ns = w.open_ns;
		if (idx)
			*idx = c->windows.nr;
		return (idx ? 0 : idmap__put(&c->last, proc, c->windows.nr)) ?:
		       array_push(&c->windows, w);
	}
	if (last->number == w.number && last->open_ns == w.open_ns && w.close_ns != UINT64_MAX)
		*last = w;
	return 0;
}

size_t captured__leave_out(struct captured *c, uint32_t first_proc, uint64_t from_ns,
			   uint64_t to_ns)
{
	size_t i, nr = 0, all = c->windows.nr;

	for (i = 0; i < all; i++) {
		const struct captured_window *w = &c->windows.v[i];

		if (w->proc < first_proc || (w->open_ns >= from_ns && w->end_ns <= to_ns))
			c->windows.v[nr++] = *w;
	}
	c->windows.nr = nr;
	return all - nr;
}

static int captured_window__cmp(const void *va, const void *vb)
{
	const struct captured_window *a = va, *b = vb;

	return cmp3(a->proc, b->proc) ?: cmp3(a->open_ns, b->open_ns);
}

void captured__sort(struct captured *c)
{
	array_qsort(&c->windows, captured_window__cmp);
}

struct captured_window *captured__at(const struct captured *c, uint32_t proc, uint64_t time_ns)
{
	size_t low = 0, high = c->windows.nr, mid;
	struct captured_window *w;

	while (low < high) {
		mid = low + (high - low) / 2;
		w = &c->windows.v[mid];
		if (w->proc > proc || (w->proc == proc && w->open_ns > time_ns))
			high = mid;
		else
			low = mid + 1;
	}
	w = low ? &c->windows.v[low - 1] : NULL;
	return w && w->proc == proc && time_ns <= w->close_ns ? w : NULL;
}

int captured__collect(const struct captured *c, const struct filter *f, uint64_t start_ns,
		      size_t *nr, struct busy *recorded)
{
	int err = 0;

	*nr = 0;
	array_each_while(&c->windows, w, !err) {
		struct filter_span part = { .from_ns = w->open_ns, .to_ns = w->end_ns };

		if (!captured_window__passes(w, f) || !filter__cut(f, start_ns, &part))
			continue;
		++*nr;
		err = busy__add(recorded, part.from_ns, part.to_ns);
	}
	return err ?: busy__finish(recorded);
}
