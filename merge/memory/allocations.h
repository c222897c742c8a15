/* SPDX-License-Identifier: GPL-3.0-or-later */
/* allocations.h - writes the table of allocations: a row for each memory event */
#ifndef MERGE_ALLOCATIONS_H
#define MERGE_ALLOCATIONS_H

#include "join/opts.h"
#include "model/feature.h"

struct heap_event;

struct allocation {
	const struct heap_event *event;	/* event->key has the call path of an allocation or a
					 * failure */
	uint32_t gpu;			/* NO_INDEX: the host, or unknown */
};

extern const struct feature_table allocations_table;

/* a put_table_row for a struct allocation */
int allocations__put(struct tables_recording *r, const struct model *m, const void *row);

#endif /* MERGE_ALLOCATIONS_H */
