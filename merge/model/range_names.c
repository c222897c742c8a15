// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/range_names.h"

#include <errno.h>
#include <stdlib.h>

void ranges__exit(struct ranges *r)
{
	array_free(&r->names);
	array_free(&r->list);
	idmap__free(&r->by_name);
}

int ranges__name_idx(struct ranges *r, const char *name, uint32_t *idx)
{
	int err;

	if (!name)
		return -ENOMEM;
	if (idmap__get(&r->by_name, (uintptr_t)name, idx))
		return 0;
	*idx = r->names.nr;
	err = idmap__put(&r->by_name, (uintptr_t)name, *idx);
	return err ?: array_push(&r->names, ((struct range_name){ .name = name, .wanted = -1 }));
}

int ranges__begin(struct ranges *r)
{
	static const struct range none;

	if (r->list.nr)
		return 0;
	r->first = 1;
	return array_push(&r->list, none);
}

uint32_t ranges__path(const struct ranges *r, uint32_t range, uint32_t path[MAX_RANGES])
{
	uint32_t nr = 0, i;

	for (; range != NO_RANGE && nr < MAX_RANGES; range = r->list.v[range].parent)
		path[nr++] = range;
	for (i = 0; i < nr / 2; i++) {
		uint32_t tmp = path[i];

		path[i] = path[nr - 1 - i];
		path[nr - 1 - i] = tmp;
	}
	return nr;
}

const struct xpu_range_payload *range__payload(const struct xpu_record_range *rec)
{
	size_t names = sizeof(*rec) + rec->name_bytes + rec->domain_bytes;

	if (rec->payload_bytes < sizeof(struct xpu_range_payload))
		return NULL;
	return (const void *)((const char *)rec + ((names + 7) & ~(size_t)7));
}
