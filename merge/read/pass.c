// SPDX-License-Identifier: GPL-3.0-or-later
#include "read/pass.h"

#include <errno.h>

static void passes__tell(struct passes *p, const struct reader *r,
			 const struct record_iter *it, unsigned int from, unsigned int to)
{
	unsigned int permille = from + (to - from) * (record_iter__file_offset(it) >> 10) /
					((r->size >> 10) + 1);

	permille = (permille + 1000 * p->input) / p->nr_inputs;
	if (!p->tell || permille == p->permille)
		return;
	p->permille = permille;
	p->tell(p->ctx, permille);
}

int pass__run(const struct reader *r, struct passes *passes, pass_fn record, void *ctx,
	      unsigned int from, unsigned int to, struct record_iter *it)
{
	const struct xpu_record *rec;
	int err = 0;

	reader__rewind(r, it);
	while (!err && (rec = record_iter__next(it))) {
		err = record(ctx, it, rec);
		reader__release(r, it);
		passes__tell(passes, r, it, from, to);
	}
	return err || it->end != RECORDS_NO_MEMORY ? err : -ENOMEM;
}
