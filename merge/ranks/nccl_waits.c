// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <stdlib.h>

#include "join/session.h"
#include "ranks/state.h"

/* how long an aggregate of NCCL kernels waited */
struct nccl_wait {
	uint64_t ns;
	uint32_t at;			/* index of the wait's aggregate */
};

/* Return: whether the wait of a kernel passes the filter. *@wait: the part of it that passes */
static bool nccl_wait__cut(const struct nccl_kernel *k, const struct model *m,
			   const struct filter *filter, struct filter_span *wait)
{
	/* The wait is at the beginning of the kernel. */
	*wait = (struct filter_span){
		.from_ns = k->start_ns, .to_ns = k->start_ns + k->wait_ns, .ns = k->wait_ns,
	};
	return filter__cut(filter, m->start_ns, wait);
}

int nccl_waits__split(const struct nccl *n, struct session *session)
{
	const struct filter *filter = session->opts.filter;
	struct model *m = &session->model;
	struct sums *s = &session->sums;
	static const struct leaf_place place = {
		.label = "[NCCL_Wait]", .place = "", .reason = "", .id = NO_INDEX,
	};
	struct aggregate whole, wait;
	size_t i, nr = s->aggregates.nr;
	struct filter_span span;
	struct nccl_wait *waits;
	int err = 0;

	if (!n->counts.wait_ns)
		return 0;
	waits = calloc(nr + 1, sizeof(*waits));
	if (!waits)
		return -ENOMEM;
	array_each(&n->kernels, k) {
		if (k->aggregate < nr && nccl_wait__cut(k, m, filter, &span))
			waits[k->aggregate].ns += span.ns;
	}
	for (i = 0; i < nr && !err; i++) {
		if (!waits[i].ns)
			continue;
		wait = whole = s->aggregates.v[i];
		wait.sum_ns = min_t(uint64_t, waits[i].ns, wait.sum_ns);
		wait.nr = 0;		/* the other part counts the kernels */
		err = leaves__part(&m->leaves, wait.leaf, &place, &wait.leaf);
		s->aggregates.v[i].sum_ns -= wait.sum_ns;
		waits[i].at = s->aggregates.nr;
		/* The shortest and longest time still are times of whole kernels. */
		if (!err)
			err = sums__split_spread(s, &whole, &wait) ?:
			      sums__split_spread(s, &whole, &s->aggregates.v[i]) ?:
			      array_push(&s->aggregates, wait);
	}
	for (i = 0; i < n->kernels.nr && s->times.wanted && !err; i++) {
		const struct nccl_kernel *k = &n->kernels.v[i];

		if (k->aggregate < nr && k->start_ns && nccl_wait__cut(k, m, filter, &span))
			err = bins__move(&s->times.sums, k->aggregate, waits[k->aggregate].at,
					 span.from_ns, span.to_ns);
	}
	free(waits);
	return err;
}
