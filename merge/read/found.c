// SPDX-License-Identifier: GPL-3.0-or-later
#include "read/found.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void found__init(struct found *f, struct model *m, const struct input *in)
{
	memset(f, 0, sizeof(*f));
	f->reader = in->reader;
	f->shift_ns = in->shift_ns;
	f->to_ns = UINT64_MAX;
	f->first_path = m->paths.nr;
	f->first_thread = m->threads.nr;
	f->first_chain = m->chains.nr;
	f->first_proc = m->machine.procs.nr;
	pysources__init(&f->pysources, &m->strings);
}

void found__exit(struct found *f)
{
	recorded_names__exit(&f->names);
	pysources__exit(&f->pysources);
	kallsyms__free(&f->kallsyms);
	array_free(&f->exits);
	array_free(&f->sent);
	arena__free(&f->counters);
	array_free(&f->stream_defs);
	array_free(&f->device_defs);
	array_free(&f->pycode_defs);
	array_free(&f->string_defs);
	idmap__free(&f->refused);
	idmap__free(&f->pycodes);
	idmap__free(&f->apis);
	idmap__free(&f->api_classes);
	idmap__free(&f->streams);
	ids__free(&f->shapes);
	ids__free(&f->strings);
	idmap__free(&f->ns_tids);
	idmap__free(&f->tids);
	idmap__free(&f->threads);
	idmap__free(&f->paths);
}

const struct xpu_record_counters counters__none;

static const struct sent sent__none = { .last = &counters__none, .first = &counters__none };

int found__keep_counters(struct found *f, const struct xpu_record_counters **to,
			 const struct xpu_record_counters *rec, size_t bytes)
{
	struct xpu_record_counters *own = (struct xpu_record_counters *)*to;

	if (own == &counters__none)
		own = arena__alloc(&f->counters, sizeof(*own));
	if (!own)
		return -ENOMEM;
	memset(own, 0, sizeof(*own));
	memcpy(own, rec, min_t(size_t, sizeof(*own), bytes));
	*to = own;
	return 0;
}

int found__add_sent(struct found *f, uint32_t proc, struct sent **sent)
{
	size_t i = proc - f->first_proc;
	int err = 0;

	while (!err && f->sent.nr <= i)
		err = array_push(&f->sent, sent__none);
	if (!err)
		*sent = &f->sent.v[i];
	return err;
}

const struct sent *found__sent(const struct found *f, uint32_t proc)
{
	size_t i = proc - f->first_proc;

	return i < f->sent.nr ? &f->sent.v[i] : &sent__none;
}

const char *found__string(const struct found *f, uint32_t proc, uint32_t id)
{
	uint32_t idx;

	return id && ids__get(&f->strings, proc, id, &idx) ? f->string_defs.v[idx] : NULL;
}

const char *found__api_name(const struct found *f, uint32_t proc, uint32_t domain, uint32_t cbid)
{
	uint32_t id;

	if (!API_KEY_FITS(domain, cbid) || !idmap__get(&f->apis, API_KEY(proc, domain, cbid), &id))
		return NULL;
	return found__string(f, proc, id);
}

enum xpu_call_class found__api_class(const struct found *f, uint32_t proc, uint32_t domain,
				     uint32_t cbid)
{
	uint32_t class;

	return API_KEY_FITS(domain, cbid) &&
	       idmap__get(&f->api_classes, API_KEY(proc, domain, cbid), &class) ?
	       class : XPU_CALL_IS_UNKNOWN;
}

static int exit_at__cmp(const void *va, const void *vb)
{
	const struct exit_at *a = va, *b = vb;

	return cmp3(a->pid, b->pid) ?: cmp3(a->exit_ns, b->exit_ns);
}

void found__sort_exits(struct found *f)
{
	array_qsort(&f->exits, exit_at__cmp);
}

uint64_t found__exit_ns(const struct found *f, uint32_t pid, uint64_t from_ns)
{
	const struct exit_at from = { pid, from_ns };
	size_t lo = sorted_count(f->exits.nr, i, exit_at__cmp(&f->exits.v[i], &from) < 0);

	return lo < f->exits.nr && f->exits.v[lo].pid == pid ? f->exits.v[lo].exit_ns : UINT64_MAX;
}
