// SPDX-License-Identifier: GPL-3.0-or-later
#include "join/session_pass.h"

#include <errno.h>

#include "join/session_tables.h"

static void session__progress(struct session *s, const struct record_iter *it, unsigned int from,
			      unsigned int to)
{
	unsigned int permille = from + (to - from) * (record_iter__file_offset(it) >> 10) /
					((s->reader->size >> 10) + 1);

	permille = (permille + 1000 * (s->machine.recording)) / s->inputs.nr;
	if (!s->opts.progress || permille == s->tables->permille)
		return;
	s->tables->permille = permille;
	s->opts.progress(s->opts.progress_ctx, permille);
}

int session__pass(struct session *s, session_record_fn record, unsigned int from, unsigned int to,
		  struct record_iter *it)
{
	const struct xpu_record *rec;
	int err = 0;

	reader__rewind(s->reader, it);
	while (!err && (rec = record_iter__next(it))) {
		err = record(s, it, rec);
		reader__release(s->reader, it);
		session__progress(s, it, from, to);
	}
	return err || it->end != RECORDS_NO_MEMORY ? err : -ENOMEM;
}
