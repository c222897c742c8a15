/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * wanted.h - what the filter lets pass, in the terms of the model
 *
 * Each returns 1 if the filter lets it pass, or there is none; 0 if not, or -ENOMEM.
 */
#ifndef MERGE_WANTED_H
#define MERGE_WANTED_H

#include <stdint.h>

#include "join/join.h"
#include "model/filter.h"
#include "model/model.h"

/* As wanted__work(), where there is a filter. */
int wanted__ask_work(struct filter *f, struct model *m, uint32_t chain, uint32_t thread,
		     const char *comm, uint64_t time_ns, const struct work *w);

/* @w: device work; NULL for a launch, or what a thread did. */
static inline int wanted__work(struct filter *f, struct model *m, uint32_t chain, uint32_t thread,
			       const char *comm, uint64_t time_ns, const struct work *w)
{
	return filter__active(f) ? wanted__ask_work(f, m, chain, thread, comm, time_ns, w) : 1;
}

/* Something that a thread did or was in. */
int wanted__call(struct filter *f, const struct model *m, uint32_t thread, const char *comm,
		 uint64_t time_ns);

/* A thread's whole life, which is of no time and no device. */
int wanted__thread(struct filter *f, const struct model *m, uint32_t thread_idx, const char *comm);

/* What is in that NVTX range. */
int wanted__range(struct filter *f, struct model *m, uint32_t range);

#endif /* MERGE_WANTED_H */
