/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * wanted.h - checks whether events, threads and ranges of the model pass the filter
 *
 * Return values: 1 if they pass the filter, or if there is no filter; 0 if not; or -ENOMEM.
 */
#ifndef MERGE_WANTED_H
#define MERGE_WANTED_H

#include <stdbool.h>
#include <stdint.h>

#include "join/join.h"
#include "model/filter.h"
#include "model/model.h"

/* Like wanted__work(), but requires a filter. */
int wanted__ask_work(struct filter *f, struct model *m, uint32_t chain, uint32_t thread,
		     const char *comm, uint64_t time_ns, const struct work *w);

/* Whether work passes the filter. @w: device work; NULL for a launch or an activity of a thread */
static inline int wanted__work(struct filter *f, struct model *m, uint32_t chain, uint32_t thread,
			       const char *comm, uint64_t time_ns, const struct work *w)
{
	return filter__active(f) ? wanted__ask_work(f, m, chain, thread, comm, time_ns, w) : 1;
}

/*
 * Cuts a span, on the common clock, at the times of the filter. Return: whether anything is left.
 */
static inline bool wanted__cut(const struct filter *f, const struct model *m, struct filter_span *s)
{
	return filter__cut(f, m->start_ns, s);
}

/*
 * Like wanted__work(), for device work whose time is cut anyway: ignores FILTER_FROM and FILTER_TO.
 */
static inline int wanted__cut_work(struct filter *f, struct model *m, uint32_t chain,
				   uint32_t thread, const char *comm, const struct work *w)
{
	uint64_t within_ns = 0;

	if (!filter__active(f))
		return 1;
	if (w->start_ns)
		within_ns = max_t(uint64_t, m->start_ns, filter__begin_ns(f, m->start_ns)) ?: 1;
	return wanted__ask_work(f, m, chain, thread, comm, within_ns, w);
}

/* Whether the filter passes an API call, a range or another activity of a thread. */
int wanted__call(struct filter *f, const struct model *m, uint32_t thread, const char *comm,
		 uint64_t time_ns);

/*
 * Whether a memory event or page migration passes, regardless of FILTER_FROM and FILTER_TO. @gpu:
 * an index or NO_INDEX
 */
int wanted__memory(struct filter *f, struct model *m, uint32_t chain, uint32_t thread,
		   const char *comm, uint64_t time_ns, uint32_t gpu);

/*
 * Whether the filter keeps the sums of a thread's whole lifetime, which have no single time, range,
 * window or device.
 */
int wanted__thread(struct filter *f, const struct model *m, uint32_t thread_idx, const char *comm);

/*
 * Whether activities of a process at @time_ns pass. If the filter has capture windows, one of the
 * windows must contain @time_ns.
 */
int wanted__at(const struct filter *f, const struct model *m, uint32_t proc, uint64_t time_ns);

/* Whether work in the NVTX range @range passes the filter. */
int wanted__range(struct filter *f, struct model *m, uint32_t range);

#endif /* MERGE_WANTED_H */
