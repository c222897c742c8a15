// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/feature.h"

#include <stdlib.h>
#include <string.h>

#include "memory/allocs.h"
#include "memory/results.h"
#include "memory/state.h"
#include "write/section.h"

static void *memory__new(struct model *m)
{
	(void)m;
	return calloc(1, sizeof(struct memory_state));
}

static void memory__free(void *state)
{
	allocs__exit(state);
	free(state);
}

/* ---- records --------------------------------------------------------------------------------- */

static int take_allocs(void *state, struct collect *c, uint32_t proc, const struct xpu_record *rec)
{
	struct memory_state *s = state;

	(void)proc;
	return allocs__take(&s->records, c, (const void *)rec);
}

static const struct feature_record records[] = {
	{ XPU_RECORD_ALLOCS, false, take_allocs },
	{ 0 },
};

static int memory__open(void *state, struct second_pass *p, struct passes *passes)
{
	struct memory_state *s = state;
	int err = allocs__open(p, passes);

	memset(&s->records, 0, sizeof(s->records));
	return err;
}

static int memory__record(void *state, struct second_pass *p, const struct xpu_record *rec)
{
	(void)state;
	return rec->type == XPU_RECORD_ALLOCS ? allocs__read(p, (const void *)rec) : 0;
}

static int memory__close(void *state, struct second_pass *p)
{
	(void)state;
	return allocs__finish(p);
}

/* ---- all recordings -------------------------------------------------------------------------- */

/* The heaps are in the sums, which absorb them. */
static int memory__absorb(void *state, void *from, struct remap *r)
{
	(void)state, (void)from, (void)r;
	return 0;
}

static int memory__finish(void *state, struct session *s)
{
	(void)state;
	return allocs__settle(s);
}

static const struct section *const sections[] = {
	&section_memory_devices,
	&section_memory_moments,
	&section_memory_holders,
	&section_memory_leaks,
	&section_memory_churn,
	&section_memory_failures,
	NULL
};

const struct feature memory_feature = {
	.name = "memory",
	.new = memory__new,
	.free = memory__free,
	.records = records,
	.open = memory__open,
	.record = memory__record,
	.close = memory__close,
	.absorb = memory__absorb,
	.finish = memory__finish,
	.summary = memory__summary,
	.sections = sections,
	.page_head = memory__page_head,
};
