// SPDX-License-Identifier: GPL-3.0-or-later
#include "nvtx/nvtx.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define UNKNOWN_RANGE	"[unknown NVTX range]"

void nvtx__exit(struct nvtx *n)
{
	size_t i;

	for (i = 0; i < n->threads.nr; i++) {
		array_free(&n->threads.v[i].open);
		array_free(&n->threads.v[i].changes);
	}
	for (i = 0; i < n->names.nr; i++)
		stats__free(&n->names.v[i].ns);
	array_free(&n->threads);
	array_free(&n->names);
	array_free(&n->works);
	array_free(&n->records);
	idmap__free(&n->by_id);
}

struct nvtx_name *nvtx__name(struct nvtx *n, uint32_t name)
{
	static const struct nvtx_name none;

	while (n->names.nr <= name)
		if (array_push(&n->names, none))
			return NULL;
	return &n->names.v[name];
}

struct nvtx_work *nvtx__work(struct nvtx *n, uint32_t range)
{
	while (n->works.nr <= range)
		if (array_push(&n->works, ((struct nvtx_work){ 0 })))
			return NULL;
	return &n->works.v[range];
}

uint32_t nvtx__at(const struct nvtx *n, uint32_t thread, uint64_t time_ns)
{
	const struct nvtx_thread *t;
	size_t low = 0, high, mid;

	if (thread >= n->threads.nr)
		return NO_RANGE;
	t = &n->threads.v[thread];
	high = t->changes.nr;
	while (low < high) {
		mid = low + (high - low) / 2;
		if (t->changes.v[mid].time_ns <= time_ns)
			low = mid + 1;
		else
			high = mid;
	}
	return low ? t->changes.v[low - 1].range : NO_RANGE;
}

/* Finds or makes the index of a name, "domain:name". Return: 0 or -ENOMEM. */
static int model__range_name(struct model *m, const char *domain, const char *name, uint32_t *idx)
{
	return ranges__name_idx(&m->ranges, *domain ?
				strpool__internf(&m->strings, "%s:%s", domain, name) :
				strpool__intern(&m->strings, name, strlen(name)), idx);
}

static int nvtx__add(struct nvtx *n, struct model *m, const struct range *range, uint32_t id)
{
	int err = ranges__begin(&m->ranges);

	err = err ?: idmap__put(&n->by_id, ID_KEY(range->proc, id), m->ranges.list.nr);
	return err ?: array_push(&m->ranges.list, *range);
}

int nvtx__define(struct nvtx *n, struct model *m, uint32_t proc,
		 const struct xpu_record_range *rec)
{
	struct range range = { .rec = rec, .proc = proc };
	uint32_t idx;
	int err;

	if (!rec->id || idmap__get(&n->by_id, ID_KEY(proc, rec->id), &idx))
		return 0;
	err = model__range_name(m, rec->data + rec->name_bytes, rec->data, &range.name);
	return err ?: nvtx__add(n, m, &range, rec->id);
}

int nvtx__range(struct nvtx *n, struct model *m, uint32_t proc, uint32_t id, uint32_t *idx)
{
	struct range unknown = { .proc = proc };
	int err;

	*idx = NO_RANGE;
	if (!id || idmap__get(&n->by_id, ID_KEY(proc, id), idx))
		return 0;
	err = model__range_name(m, "", UNKNOWN_RANGE, &unknown.name);
	err = err ?: nvtx__add(n, m, &unknown, id);
	*idx = m->ranges.list.nr - 1;
	return err ?: 1;
}

/* A path has a higher number than its parent, so the loop ends. */
int64_t nvtx__resolve_parents(struct nvtx *n, struct model *m)
{
	struct ranges *ranges = &m->ranges;
	size_t i, nr = ranges->list.nr;
	int64_t nr_bad = 0;
	uint32_t parent;
	int err;

	for (i = ranges->first; i < nr; i++) {
		const struct xpu_record_range *rec = ranges->list.v[i].rec;

		if (!rec)
			continue;
		if (rec->parent >= rec->id) {
			nr_bad++;
			continue;
		}
		err = nvtx__range(n, m, ranges->list.v[i].proc, rec->parent, &parent);
		if (err < 0)
			return err;
		nr_bad += err;
		ranges->list.v[i].parent = parent;
	}
	return nr_bad;
}
