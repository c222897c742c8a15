// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/chain.h"

#include <stdlib.h>
#include <string.h>

#include "model/range_names.h"

static const char *const no_launch_labels[NR_LABELS] = {
	[LABEL_NO_LAUNCH] = "[no launch]",
	[LABEL_BEFORE] = "[before attach]",
	[LABEL_AFTER] = "[after detach]",
	[LABEL_NO_STACK] = "[no stack]",
	[LABEL_NO_SAMPLE] = "[CPU, no sample]",
	[LABEL_GRAPHS] = "[CUDA graphs]",
	[LABEL_UNUSED] = "[CUDA's pools]",
	[LABEL_REST] = "[contexts, modules, other processes]",
	[LABEL_REST_LATE] = "[before attach, contexts, modules, other processes]",
};

void chains__exit(struct chains *c)
{
	array_free(c);
	array_free(&c->labels);
	idmap__free(&c->by_epoch);
	idmap__free(&c->joined);
	idmap__free(&c->in_ranges);
}

static int chains__add(struct chains *c, const struct chain *chain, uint32_t *idx)
{
	*idx = c->nr;
	return array_push(c, *chain);
}

int chains__of_path(struct chains *c, struct path *path, uint32_t path_idx, uint64_t time_ns,
		    uint32_t *idx)
{
	struct chain chain = {
		.proc = path->proc, .path = path_idx, .launched = NO_INDEX, .captured = NO_INDEX,
	};
	int err;

	if (path->image && path->image->epochs.nr)
		chain.epoch = image__epoch(path->image, time_ns);
	if (!chain.epoch) {
		if (path->chain == NO_INDEX) {
			err = chains__add(c, &chain, &path->chain);
			if (err)
				return err;
		}
		*idx = path->chain;
		return 0;
	}
	if (idmap__get(&c->by_epoch, ID_KEY(path_idx, chain.epoch), idx))
		return 0;
	err = chains__add(c, &chain, idx);
	return err ?: idmap__put(&c->by_epoch, ID_KEY(path_idx, chain.epoch), *idx);
}

int chains__of_label(struct chains *c, uint32_t proc, enum label label, uint32_t *idx)
{
	struct label_chains none;
	struct chain chain = {
		.proc = proc, .path = NO_INDEX, .no_launch = no_launch_labels[label],
		.launched = NO_INDEX, .captured = NO_INDEX,
	};
	uint32_t *known;
	int err = 0;

	memset(&none, 0xff, sizeof(none));	/* NO_INDEX */
	while (!err && c->labels.nr <= proc)
		err = array_push(&c->labels, none);
	if (err)
		return err;
	known = &c->labels.v[proc].idx[label];
	err = *known == NO_INDEX ? chains__add(c, &chain, known) : 0;
	*idx = *known;
	return err;
}

int chains__joined(struct chains *c, uint32_t launched, uint32_t captured, uint32_t *idx)
{
	struct chain chain = {
		.proc = c->v[launched].proc, .path = NO_INDEX, .launched = launched,
		.captured = captured, .range = c->v[launched].range,
	};
	uint64_t key = ID_KEY(launched, captured);
	int err;

	if (idmap__get(&c->joined, key, idx))
		return 0;
	err = chains__add(c, &chain, idx);
	return err ?: idmap__put(&c->joined, key, *idx);
}

int chains__in_range(struct chains *c, uint32_t range, uint32_t *idx)
{
	uint64_t key = ID_KEY(*idx, range);
	struct chain chain;
	uint32_t known;
	int err;

	if (range == NO_RANGE)
		return 0;
	if (idmap__get(&c->in_ranges, key, &known)) {
		*idx = known;
		return 0;
	}
	chain = c->v[*idx];
	chain.range = range;
	chain.in_range = *idx;
	chain.nr_launches = chain.nr_makers = chain.nr_pending = chain.nr_samples = 0;
	err = chains__add(c, &chain, idx);
	return err ?: idmap__put(&c->in_ranges, key, *idx);
}
