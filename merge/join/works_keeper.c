// SPDX-License-Identifier: GPL-3.0-or-later
#include "join/works_keeper.h"

#include <errno.h>

static int works__take(void *state, struct second_pass *p, const struct placed_work *placed)
{
	const struct work *w = placed->work;
	struct works *works = &p->sums->works;
	struct kept_work kept = {
		.start_ns = w->start_ns,
		.end_ns = w->start_ns ? w->start_ns + w->duration_ns : 0,
		.gpu = p->model->streams.v[w->stream].gpu,
		.shape = w->shape,
		.leaf = NO_INDEX,
		.chain = NO_INDEX,
		.stream = w->stream,
		.kernel = p->model->leaves.v[w->leaf].kind == LEAF_KERNEL ? w->leaf : NO_INDEX,
		/* Only launches of CUDA have PC samples. */
		.correlation_id = JOIN_KEY_API(placed->key) == XPU_API_CUDA ?
				  JOIN_KEY_ID(placed->key) : 0,
	}, before = kept, within = kept, after = kept;

	(void)state;
	if (!placed->part)
		return works__add(works, &kept);
	before.end_ns = within.start_ns = placed->part->from_ns;
	within.end_ns = after.start_ns = placed->part->to_ns;
	within.leaf = w->leaf;
	within.chain = placed->chain;
	return works__add(works, &before) ?: works__add(works, &within) ?:
	       works__add(works, &after);
}

/* A feature with one hook and no state. */
static const struct feature works_keeper = { .name = "works", .work = works__take };

void works_keeper__add(struct second_pass *p)
{
	if (p->sums->works.wanted)
		p->work_hooks.v[p->work_hooks.nr++] = (struct hook){ &works_keeper, NULL };
}
