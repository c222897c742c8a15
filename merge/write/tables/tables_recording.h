/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tables_recording.h - data that all rows of one recording share: ids, clocks, partitions */
#ifndef MERGE_TABLES_TABLES_RECORDING_H
#define MERGE_TABLES_TABLES_RECORDING_H

#include "join/session.h"
#include "write/tables/partition.h"

/* values for the rows of a process */
struct row_process {
	int64_t id;
	uint32_t partition;
};

/* the cells of a row for the NVTX ranges that were open */
struct row_ranges {
	const char *text;		/* the ranges as --by nvtx shows them; NULL: none */
	int64_t communicator, message_bytes;	/* values from the innermost NCCL range, or null */
};

struct tables_recording {
	struct partitions partitions;
	uint32_t nr;			/* index of the recording in model.inputs; NO_INDEX: none
					 * yet */
	uint64_t hash;			/* hash of the properties that identify the recording; also
					 * partitions.recording */
	uint64_t shift_ns;		/* number of ns that were added to its timestamps */
	uint32_t first_chain;
	uint32_t first_proc;
	ARRAY(struct row_process) procs;	/* the processes, at index process - first_proc */
	struct strpool strings;
	ARRAY(struct row_ranges) nvtx;	/* for each range: its cells; an entry without text is not
					 * made yet */
};

/* Begins the recording that is input @nr of @m. Return: 0 or -ENOMEM. */
int tables_recording__begin(struct tables_recording *r, const struct model *m, uint32_t nr);

/* Ends the recording's files, after all rows were put. Return: 0 or -errno. */
int tables_recording__commit(struct tables_recording *r, const struct model *m);

void tables_recording__exit(struct tables_recording *r);

/* Return: the rank of a recording's processes; TABLES_NO_RANK if they have none, or several. */
int64_t tables_recording__rank(const struct tables_recording *r, const struct model *m);

/* Return: a hash of 63 bits. */
uint64_t tables_recording__hash(uint64_t seed, const void *v, size_t nr);

/* Return: the process_id of the recording's process @proc_id. */
int64_t tables_recording__process_id(const struct tables_recording *r, uint32_t proc_id);

/* Finds the process of a row. Return: 0 or -ENOMEM. */
int tables_recording__process(struct tables_recording *r, const struct model *m, uint32_t proc,
			      struct row_process *p);

/* Finds the cells of a row for @range and the ranges around it. Return: 0 or -ENOMEM. */
int tables_recording__range_names(struct tables_recording *r, const struct model *m, uint32_t range,
			   struct row_ranges *of);

/* Return: a timestamp by the recording's own clock, as a cell. */
static inline int64_t tables_recording__time(const struct tables_recording *r, uint64_t ns)
{
	ns -= r->shift_ns;
	return ns && ns <= INT64_MAX ? (int64_t)ns : PARQUET_NULL;
}

/* Return: the thread, as a cell. */
static inline int64_t thread__cell(const struct model *m, uint32_t thread)
{
	return thread == NO_INDEX ? PARQUET_NULL : (int64_t)m->threads.v[thread].tid;
}

/* Return: the index of the chain with the call path of @chain, but without NVTX ranges. */
static inline uint32_t chain__path(const struct model *m, uint32_t chain)
{
	const struct chain *c = &m->chains.v[chain];

	return c->range != NO_RANGE && c->launched == NO_INDEX ? c->in_range : chain;
}

/* Return: the path_id of a chain. */
static inline int64_t tables_recording__path(const struct tables_recording *r,
					     const struct model *m, uint32_t chain)
{
	return (int64_t)chain__path(m, chain) - r->first_chain;
}

#endif /* MERGE_TABLES_TABLES_RECORDING_H */
