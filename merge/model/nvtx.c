// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/nvtx.h"

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
	array_free(&n->ranges);
	idmap__free(&n->by_id);
	idmap__free(&n->by_name);
}

uint32_t nvtx__path(const struct nvtx *n, uint32_t range, uint32_t path[NVTX_MAX_PATH])
{
	uint32_t nr = 0, i;

	for (; range != NVTX_NO_RANGE && nr < NVTX_MAX_PATH; range = n->ranges.v[range].parent)
		path[nr++] = range;
	for (i = 0; i < nr / 2; i++) {
		uint32_t tmp = path[i];

		path[i] = path[nr - 1 - i];
		path[nr - 1 - i] = tmp;
	}
	return nr;
}

uint32_t nvtx__at(const struct nvtx *n, uint32_t thread, uint64_t time_ns)
{
	const struct nvtx_thread *t;
	size_t low = 0, high, mid;

	if (thread >= n->threads.nr)
		return NVTX_NO_RANGE;
	t = &n->threads.v[thread];
	high = t->changes.nr;
	while (low < high) {
		mid = low + (high - low) / 2;
		if (t->changes.v[mid].time_ns <= time_ns)
			low = mid + 1;
		else
			high = mid;
	}
	return low ? t->changes.v[low - 1].range : NVTX_NO_RANGE;
}

const struct xpu_range_payload *range__payload(const struct xpu_record_range *rec)
{
	size_t names = sizeof(*rec) + rec->name_bytes + rec->domain_bytes;

	if (rec->payload_bytes < sizeof(struct xpu_range_payload))
		return NULL;
	return (const void *)((const char *)rec + ((names + 7) & ~(size_t)7));
}

int nvtx__name_idx(struct nvtx *n, const char *name, uint32_t *idx)
{
	int err;

	if (!name)
		return -ENOMEM;
	if (idmap__get(&n->by_name, (uintptr_t)name, idx))
		return 0;
	*idx = n->names.nr;
	err = idmap__put(&n->by_name, (uintptr_t)name, *idx);
	return err ?: array_push(&n->names, ((struct nvtx_name){ .name = name, .wanted = -1 }));
}

/* Finds or makes the index of a name, "domain:name". Return: 0 or -ENOMEM. */
static int nvtx__named(struct nvtx *n, struct strpool *strings, const char *domain,
		       const char *name, uint32_t *idx)
{
	return nvtx__name_idx(n, *domain ? strpool__internf(strings, "%s:%s", domain, name) :
				 strpool__intern(strings, name, strlen(name)), idx);
}

static int nvtx__add(struct nvtx *n, const struct nvtx_range *range, uint32_t id)
{
	static const struct nvtx_range none;
	int err = 0;

	if (!n->ranges.nr) {
		err = array_push(&n->ranges, none);
		n->first_range = 1;
	}
	if (!err)
		err = idmap__put(&n->by_id, ID_KEY(range->proc, id), n->ranges.nr);
	return err ?: array_push(&n->ranges, *range);
}

int nvtx__define(struct nvtx *n, struct strpool *strings, uint32_t proc,
		 const struct xpu_record_range *rec)
{
	struct nvtx_range range = { .rec = rec, .proc = proc };
	uint32_t idx;
	int err;

	if (!rec->id || idmap__get(&n->by_id, ID_KEY(proc, rec->id), &idx))
		return 0;
	err = nvtx__named(n, strings, rec->data + rec->name_bytes, rec->data, &range.name);
	return err ?: nvtx__add(n, &range, rec->id);
}

int nvtx__range(struct nvtx *n, struct strpool *strings, uint32_t proc, uint32_t id, uint32_t *idx)
{
	struct nvtx_range unknown = { .proc = proc };
	int err;

	*idx = NVTX_NO_RANGE;
	if (!id || idmap__get(&n->by_id, ID_KEY(proc, id), idx))
		return 0;
	err = nvtx__named(n, strings, "", UNKNOWN_RANGE, &unknown.name);
	if (!err)
		err = nvtx__add(n, &unknown, id);
	*idx = n->ranges.nr - 1;
	return err ?: 1;
}

/* A path has a higher number than its parent, so the loop ends. */
int64_t nvtx__resolve_parents(struct nvtx *n, struct strpool *strings)
{
	size_t i, nr = n->ranges.nr;
	int64_t nr_bad = 0;
	uint32_t parent;
	int err;

	for (i = n->first_range; i < nr; i++) {
		const struct xpu_record_range *rec = n->ranges.v[i].rec;

		if (!rec)
			continue;
		if (rec->parent >= rec->id) {
			nr_bad++;
			continue;
		}
		err = nvtx__range(n, strings, n->ranges.v[i].proc, rec->parent, &parent);
		if (err < 0)
			return err;
		nr_bad += err;
		n->ranges.v[i].parent = parent;
	}
	return nr_bad;
}
