// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/feature.h"

#include <errno.h>
#include <stdlib.h>

#include "cmdline.h"
#include "join/second_pass.h"
#include "model/remap.h"
#include "nvtx/nvtx.h"
#include "nvtx/range_events.h"
#include "read/collect.h"
#include "read/reader.h"
#include "write/format.h"

const struct nvtx *nvtx__of(const struct model *m)
{
	static const struct nvtx none;

	return m->features[FEATURE_nvtx] ?: &none;
}

static void *state__new(struct model *m)
{
	(void)m;
	return calloc(1, sizeof(struct nvtx));
}

static void state__free(void *state)
{
	nvtx__exit(state);
	free(state);
}

/* ---- records --------------------------------------------------------------------------------- */

static int take_range(void *state, struct collect *c, uint32_t proc, const struct xpu_record *r)
{
	const void *rec = reader__keep(c->found->reader, r, r->size);

	return rec ? nvtx__define(state, c->model, proc, rec) : -ENOMEM;
}

static int take_ranges(void *state, struct collect *c, uint32_t proc, const struct xpu_record *rec)
{
	struct nvtx *n = state;

	(void)c, (void)proc;
	return array_push(&n->records, (const void *)rec);
}

static const struct feature_record records[] = {
	{ XPU_RECORD_RANGE, false, take_range },
	{ XPU_RECORD_RANGES, true, take_ranges },
	{ 0 },
};

/* ---- a recording ----------------------------------------------------------------------------- */

static int nvtx__open(void *state, struct second_pass *p, struct passes *passes)
{
	struct nvtx *n = state;
	int err;

	(void)passes;
	n->last_ns = 0;
	err = range_events__open(n, p);
	array_free(&n->records);
	return err;
}

static int nvtx__find_range(void *state, struct model *m, uint32_t proc, uint32_t id,
			    uint32_t *range)
{
	return nvtx__range(state, m, proc, id, range);
}

static uint32_t nvtx__range_at(void *state, uint32_t thread, uint64_t time_ns)
{
	return nvtx__at(state, thread, time_ns);
}

static int nvtx__placed(void *state, struct second_pass *p, const struct placed_work *placed)
{
	struct nvtx_work *work;
	uint32_t range;

	if (!placed->part)
		return 0;
	range = p->model->chains.v[placed->chain].range;
	if (range == NO_RANGE)
		return 0;
	work = nvtx__work(state, range);
	if (!work)
		return -ENOMEM;
	work->nr += placed->part->nr;
	work->ns += placed->part->ns;
	return 0;
}

static int nvtx__close(void *state, struct second_pass *p)
{
	return range_events__close(state, p);
}

/* ---- all recordings -------------------------------------------------------------------------- */

static int nvtx__absorb(void *state, void *from_state, struct remap *r)
{
	const struct nvtx *from = from_state;
	struct nvtx *n = state;
	struct nvtx_name *name;
	struct nvtx_work *work;
	size_t i;
	int err = 0;

	for (i = 0; i < from->names.nr && !err; i++) {
		name = nvtx__name(n, r->range_names[i]);
		if (!name)
			return -ENOMEM;
		name->nr_unclosed += from->names.v[i].nr_unclosed;
		name->nr_before += from->names.v[i].nr_before;
		name->nr_after += from->names.v[i].nr_after;
		err = stats__merge(&name->ns, &from->names.v[i].ns);
	}
	for (i = 1; i < from->works.nr && !err; i++) {
		work = nvtx__work(n, remap__range(r, i));
		if (!work)
			return -ENOMEM;
		work->nr += from->works.v[i].nr;
		work->ns += from->works.v[i].ns;
	}
	return err;
}

static const struct section *const sections[] = { &section_nvtx_ranges, NULL };

static const struct cmdline_option rows[] = {
	{ "nvtx", 0, "REGEX", .value = FILTER_RANGE, .many = true, .group = FORMAT_MERGED,
	  .help = "keep only launches inside an NVTX range whose name matches" },
};

static const struct feature_options options = {
	.rows = rows, .nr = ARRAY_SIZE(rows), .after = "kernel",
};

const struct feature nvtx_feature = {
	.name = "nvtx",
	.new = state__new,
	.free = state__free,
	.records = records,
	.open = nvtx__open,
	.find_range = nvtx__find_range,
	.range_at = nvtx__range_at,
	.work = nvtx__placed,
	.close = nvtx__close,
	.absorb = nvtx__absorb,
	.sections = sections,
	.options = &options,
};
