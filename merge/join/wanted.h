/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * wanted.h - asks the filter, in the terms of the model
 *
 * Return values: 1 if the event passes the filter, or if there is no filter; 0 if not; or -ENOMEM.
 */
#ifndef MERGE_WANTED_H
#define MERGE_WANTED_H

#include <stdbool.h>
#include <stdint.h>

#include "join/join.h"
#include "model/filter.h"
#include "model/model.h"

/* Like wanted__work(), but there must be a filter. */
int wanted__ask_work(struct filter *f, struct model *m, uint32_t chain, uint32_t thread,
		     const char *comm, uint64_t time_ns, const struct work *w);

/* @w: device work; NULL for a launch, or for something that a thread did. */
static inline int wanted__work(struct filter *f, struct model *m, uint32_t chain, uint32_t thread,
			       const char *comm, uint64_t time_ns, const struct work *w)
{
	return filter__active(f) ? wanted__ask_work(f, m, chain, thread, comm, time_ns, w) : 1;
}

/*
 * Cuts a span of time of @ns and @nr events, on the common clock, at the times that the filter has. Return:
 * whether anything is left.
 */
static inline bool wanted__cut(const struct filter *f, const struct model *m, struct filter_span *s)
{
	return filter__cut(f, m->start_ns, s);
}

/* Return: a time that FILTER_FROM and FILTER_TO let pass: to ask of work that is cut at these times. */
static inline uint64_t wanted__within(const struct filter *f, const struct model *m)
{
	return max_t(uint64_t, m->start_ns, filter__begin_ns(f, m->start_ns)) ?: 1;
}

/* Whether something that a thread did, or was in, passes. */
int wanted__call(struct filter *f, const struct model *m, uint32_t thread, const char *comm,
		 uint64_t time_ns);

/* Whether memory passes; @gpu: an index in gpus.list, or NO_INDEX. */
int wanted__memory(struct filter *f, struct model *m, uint32_t chain, uint32_t thread, const char *comm,
		   uint64_t time_ns, uint32_t gpu);

/* Whether a thread's whole life passes, which has no time, range, window and device. */
int wanted__thread(struct filter *f, const struct model *m, uint32_t thread_idx, const char *comm);

/* Whether what a process did or caused at a time passes, by the window that it was in. */
int wanted__at(const struct filter *f, const struct model *m, uint32_t proc, uint64_t time_ns);

/* Whether work in an NVTX range passes. */
int wanted__range(struct filter *f, struct model *m, uint32_t range);

#endif /* MERGE_WANTED_H */
