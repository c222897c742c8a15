/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * perf_records.h - adds the contents of perf.data to an import
 */
#ifndef MERGE_PERF_PERF_RECORDS_H
#define MERGE_PERF_PERF_RECORDS_H

#include "import/import.h"
#include "import/perf/perf_data.h"

struct perf_told {
	uint64_t nr_samples;
	uint64_t samples_ns;		/* total time that the samples stand for */
	uint64_t first_ns, last_ns;
	uint32_t nr_threads;
};

/**
 * perf_data__tell - add mappings, names and samples to an import whose processes already exist
 * @d: the caller must have called perf_data__read(), and perf_events__settle() for its events
 * @shift_ns: added to all times
 * @buildid_dir: perf's build-id cache; NULL: the default directory
 * @told: filled in
 *
 * Return: 0 or -ENOMEM.
 */
int perf_data__tell(struct perf_data *d, struct import *im, uint64_t shift_ns,
		    const char *buildid_dir, struct perf_told *told);

#endif /* MERGE_PERF_PERF_RECORDS_H */
