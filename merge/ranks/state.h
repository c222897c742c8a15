/* SPDX-License-Identifier: GPL-3.0-or-later */
/* state.h - the state of the feature "ranks", which has all communicating ranks */
#ifndef MERGE_RANKS_STATE_H
#define MERGE_RANKS_STATE_H

#include "model/model.h"
#include "ranks/nccl.h"

struct session;

struct ranks_state {
	struct nccl nccl;
	bool wanted_before;		/* operations had been seen in earlier recordings */
	size_t absorbed;		/* index of the first kernel of the recording that was added
					 * last */
};

/* Return: the state, which is empty while the feature sleeps. */
const struct ranks_state *ranks_state__of(const struct model *m);

static inline const struct nccl *nccl__of(const struct model *m)
{
	return &ranks_state__of(m)->nccl;
}

/*
 * nccl_waits.c: splits the aggregates of NCCL kernels. The part of the kernels' waits that passes
 * the filter gets an aggregate of its own. Return: 0 or -ENOMEM.
 */
int nccl_waits__split(const struct nccl *n, struct session *s);

#endif /* MERGE_RANKS_STATE_H */
