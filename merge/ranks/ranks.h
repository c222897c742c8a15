/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ranks.h - the command "ranks": which rank made the others wait in collectives, and why it was
 * late
 *
 * A rank is a process that used a GPU. The time between two collectives of a rank is a lap. Where
 * ranks waited for the last rank, the last rank's lap before the collective is compared with the
 * same lap of the other ranks: device work by call path and kernel, and time of threads by call
 * path. The lateness of a path is its time minus the median time of the other ranks.
 *
 * A thread's time before a launch counts only if this thread makes the process's next launch: then
 * the time led to the launch, while other threads waited or did something else. Off-CPU time and
 * CPU samples show where the time went; unexplained time is shown at the call path of the launch.
 * Time in which a thread waited for a device is left out, because the device work explains it.
 */
#ifndef MERGE_RANKS_H
#define MERGE_RANKS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "join/session.h"
#include "ranks/nccl.h"
#include "write/table.h"

/* The kinds of time that make a rank late. */
enum late_kind {
	LATE_DEVICE,			/* a kernel, copy or memset ran */
	LATE_NCCL,			/* an NCCL operation, including waits */
	LATE_CPU,			/* a thread ran */
	LATE_OFF_CPU,			/* a thread was blocked */
	LATE_HOST,			/* a thread's unexplained time before a launch */
};

struct rank {
	uint32_t proc;
	uint32_t number;		/* the number that is shown for the rank; see
					 * ranks.numbers */
	uint64_t first_unit_ns;		/* time of the launch of the first operation */
	uint64_t nr_launches, nr_works;
	uint64_t busy_ns;		/* time in which at least one piece of its work ran */
	uint64_t own_ns;		/* total time of work outside of NCCL */
	uint64_t wait_ns, transfer_ns;	/* totals of NCCL's work in paired operations ... */
	uint64_t unpaired_ns;		/* ... and in other operations */
	uint64_t gpu_wait_ns;		/* time in which the rank's threads waited for a device */
	uint64_t nr_ops, nr_paired;
	uint64_t nr_last;		/* number of operations in which other ranks waited for
					 * this rank */
	uint64_t caused_ns;		/* total of these waits; the sum over all ranks is wait_ns -
					 * start_wait_ns */
	uint64_t start_wait_ns;		/* the part of wait_ns in which ranks were still starting;
					 * no rank is blamed for it */
};

/* the origin of the ranks' numbers */
enum rank_numbers {
	RANKS_BY_LABEL,			/* from the launcher: RANK, SLURM_PROCID and so on */
	RANKS_BY_COMM,			/* from the process's rank in its largest
					 * communicator */
	RANKS_BY_ORDER,			/* from the order of recordings and processes */
};

/* time on a path that made a rank late */
struct late_path {
	uint32_t rank;			/* index in ranks */
	enum late_kind kind;
	const char *path;		/* frames, root first, with ';' between them */
	const char *leaf;		/* "[GPU_Kernel]name", "[Off_CPU]sleep", "" */
	uint32_t leaf_idx;		/* index of one of the model's leaves with this text;
					 * NO_INDEX: no leaf has it */
	uint64_t ns, median_ns;		/* time of this rank; median time of the other ranks */
};

/* Paths are compared only for the ranks that caused the longest waits: at most this many ranks. */
#define RANKS_MAX_CULPRITS	64

/* the operations with one name in one communicator; all sends and receives are one entry */
struct rank_collective {
	uint64_t comm;
	const char *name;
	uint32_t nr_ranks;
	uint64_t nr, bytes;		/* totals of one rank; for sends and receives: totals of all
					 * sends */
	uint64_t wait_ns, transfer_ns, longest_wait_ns;
};

/* a wait of one rank for another */
struct rank_wait {
	uint64_t begin_ns, ns;		/* by the aligned clock */
	uint32_t rank;
	uint32_t culprit;		/* the rank that began last; NO_INDEX: the ranks were still
					 * starting */
	uint32_t collective;		/* index in collectives */
};

/* kernels of communication libraries whose operations are unknown */
struct other_kernel {
	uint32_t rank, leaf;
	const char *library;
	uint64_t nr, ns;
};

/* a time span of a device or thread */
struct ranks_event {
	uint64_t start_ns, ns;
	uint32_t proc;
	uint32_t thread;		/* NO_INDEX: the span belongs to a device */
	uint32_t chain, leaf;
	uint32_t nccl;			/* index in nccl.kernels, or NO_INDEX */
	bool point;			/* a sample: all of its time is counted at its start */
};

/* a launch, and the process's time before it */
struct ranks_launch {
	uint64_t time_ns;
	uint64_t told_ns;		/* how much of the time before the launch is explained by
					 * events */
	uint32_t proc, thread, chain;
	uint32_t blamed;		/* the rank for which others waited in the next operation,
					 * or NO_INDEX */
};

struct ranks {
	struct session_sink sink;
	const struct session *s;	/* valid after ranks__finish() */
	ARRAY(struct rank) ranks;	/* in order of their numbers */
	enum rank_numbers numbers;
	ARRAY(struct late_path) compared;	/* all compared paths, the worst first */
	ARRAY(struct late_path) late;	/* the paths in @compared that exceed the median */
	ARRAY(uint32_t) stragglers;	/* indices of ranks, the worst first */
	ARRAY(struct rank_collective) collectives;	/* all collectives, the longest waits
							 * first */
	ARRAY(struct rank_wait) waits;	/* all waits, which sum up to the ranks' wait_ns */
	ARRAY(struct other_kernel) others;
	uint64_t caused_ns, start_wait_ns;	/* sums over all ranks; both together are the ranks'
						 * wait_ns */

	/* Only ranks.c uses the members below. */
	ARRAY(uint32_t) by_name;	/* indices of collectives, by communicator and name */
	ARRAY(struct ranks_event) events;
	ARRAY(struct ranks_launch) launches;
	uint32_t *by_proc;		/* for each process: index in ranks, or NO_INDEX */
	size_t nr_nccl;			/* number of NCCL kernels so far */
	struct strpool strings;
	struct idmap paths;
	ARRAY(const char *) path_texts;
};

/* Return: an empty collection, or NULL. Its sink takes the events of a session. */
struct ranks *ranks__new(void);
void ranks__free(struct ranks *r);

/* Finds the late ranks, after session__process(). Return: 0 or -ENOMEM. */
int ranks__finish(struct ranks *r, const struct session *s);

/*
 * Sets @r->late and @r->stragglers after the ranks were summed up, for ranks__finish(). Return: 0
 * or -ENOMEM.
 */
int ranks__find_late(struct ranks *r, const struct model *m);

/* Return: whether any rank communicated, by NCCL or by other kernels. */
bool ranks__have_nccl(const struct ranks *r);

/* Return: the name that the operations of a unit have in the list of collectives. */
const char *ranks__unit_name(const struct model *m, const struct nccl_unit *u);

/* Return: the index of the unit's operations in @r->collectives, or NO_INDEX. */
uint32_t ranks__collective(const struct ranks *r, const struct model *m, const struct nccl_unit *u);

struct ranks_opts {
	enum unit unit;			/* one of UNIT_NS, UNIT_US and UNIT_MS */
	bool human;			/* show each time in the unit that fits it, instead of
					 * @unit */
	uint32_t max_rows;		/* maximum number of rows in each table; 0: all */
	enum table_format format;
	unsigned int width;		/* width of the terminal; 0: nothing is left out or cut */
	bool color;
	const char *sort;		/* tables that have this column are sorted by it; NULL:
					 * unsorted */
};

/* Prints the account of operations and waits, in lines for people. */
void ranks__print_account(const struct ranks *r, FILE *f);

/*
 * Writes the page; @unit: as html_opts.unit. Return: 0 or -ENOMEM; a write error only sets the
 * error flag of @f.
 */
int ranks__write_html(const struct ranks *r, FILE *f, const char *unit);

/* Return: how the ranks are numbered, in words. */
const char *ranks__numbered(const struct ranks *r);

/*
 * Writes the results as text. Return: 0 or -ENOMEM; a write error only sets the error flag of @f.
 */
int ranks__write_text(const struct ranks *r, FILE *f, const struct ranks_opts *opts);

/* Return: the kind in words, such as "on the GPU" or "off the CPU". */
const char *late_kind__name(enum late_kind kind);

#endif /* MERGE_RANKS_H */
