/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ranks.h - the command "ranks": which rank made the others wait in collectives, and why it was late
 *
 * A rank is a process that used a GPU. Between two collectives of a rank lies a window. Where ranks
 * waited for one that came last, that rank's window before the collective is compared with the same
 * window of the others: work of its devices by call path and kernel, and the time of its threads by
 * call path. A path counts as late by as much as it took longer than the median of the other ranks.
 *
 * A thread's time before a launch counts only if that thread makes the process's next launch: it led
 * to it, and other threads waited or did something else. Off-CPU time and CPU samples say where it
 * went; time that neither tells stands before the call path of the launch. Time that a thread waited
 * for a device is left out, because the device's work says why.
 */
#ifndef MERGE_RANKS_H
#define MERGE_RANKS_H

#include <stdint.h>
#include <stdio.h>

#include "join/session.h"
#include "write/table.h"

/* The kinds of time that make a rank late. */
enum late_kind {
	LATE_DEVICE,			/* a kernel, copy or set */
	LATE_NCCL,			/* an operation of NCCL, waits included */
	LATE_CPU,			/* a thread ran */
	LATE_OFF_CPU,			/* a thread was blocked */
	LATE_HOST,			/* a thread did what nothing tells, before a launch */
};

struct rank {
	uint32_t proc;
	uint32_t number;		/* to show; see ranks.numbers */
	uint64_t first_unit_ns;		/* the launch of the first operation */
	uint64_t nr_launches, nr_works;
	uint64_t busy_ns;		/* at least one of its works ran */
	uint64_t own_ns;		/* sum of the works that are not NCCL's */
	uint64_t wait_ns, transfer_ns;	/* sums of NCCL's works in paired operations ... */
	uint64_t unpaired_ns;		/* ... and in others */
	uint64_t gpu_wait_ns;		/* its threads waited for a device */
	uint64_t nr_ops, nr_paired;
	uint64_t nr_last;		/* operations in which others waited for it */
	uint64_t caused_ns;		/* those waits; of all ranks: wait_ns - start_wait_ns */
	uint64_t start_wait_ns;		/* of wait_ns: while ranks start, blamed on nobody */
};

/* Where the ranks have their numbers from. */
enum rank_numbers {
	RANKS_BY_LABEL,			/* as the launcher told them: RANK, SLURM_PROCID and so on */
	RANKS_BY_COMM,			/* as in their largest communicator */
	RANKS_BY_ORDER,			/* by recording and process */
};

/* Time on a path that made a rank late. */
struct late_path {
	uint32_t rank;			/* index in ranks */
	enum late_kind kind;
	const char *path;		/* frames, root first, with ';' between them */
	const char *leaf;		/* "[GPU_Kernel]name", "[Off_CPU]sleep", "" */
	uint32_t leaf_idx;		/* that in the model, or an equal one; NO_INDEX: none */
	uint64_t ns, median_ns;		/* of this rank, and of the others */
};

/* The paths of that many ranks are compared with the others', those that caused the longest waits. */
#define RANKS_MAX_CULPRITS	64

/* The operations of one name in one communicator; sends and receives together. */
struct rank_collective {
	uint64_t comm;
	const char *name;
	uint32_t nr_ranks;
	uint64_t nr, bytes;		/* of one rank; of sends and receives all sends */
	uint64_t wait_ns, transfer_ns, longest_wait_ns;
};

/* A wait of one rank for another. */
struct rank_wait {
	uint64_t begin_ns, ns;		/* aligned */
	uint32_t rank;
	uint32_t culprit;		/* the rank that came last; NO_INDEX: ranks start */
	uint32_t collective;		/* index in collectives */
};

/* Kernels of communication libraries that no operation is known of. */
struct other_kernel {
	uint32_t rank, leaf;
	const char *library;
	uint64_t nr, ns;
};

/* A time of a device or thread. */
struct ranks_event {
	uint64_t start_ns, ns;
	uint32_t proc;
	uint32_t thread;		/* NO_INDEX: of a device */
	uint32_t chain, leaf;
	uint32_t nccl;			/* index in nccl.kernels, or NO_INDEX */
	bool point;			/* a sample: all of its time counts at its start */
};

/* A launch, and the time of the process before it. */
struct ranks_launch {
	uint64_t time_ns;
	uint64_t told_ns;		/* of the time before it: what events tell */
	uint32_t proc, thread, chain;
	uint32_t blamed;		/* the rank that was waited for in the next operation, or NO_INDEX */
};

struct ranks {
	struct session_sink sink;
	const struct session *s;	/* after ranks__finish() */
	ARRAY(struct rank) ranks;	/* in order of their numbers */
	enum rank_numbers numbers;
	ARRAY(struct late_path) compared;	/* all paths before these waits, the worst first */
	ARRAY(struct late_path) late;	/* of these: longer than the median */
	ARRAY(uint32_t) stragglers;	/* ranks, the worst first */
	ARRAY(struct rank_collective) collectives;	/* the longest waits first */
	ARRAY(struct rank_wait) waits;	/* each; together the ranks' wait_ns */
	ARRAY(struct other_kernel) others;
	uint64_t caused_ns, start_wait_ns;	/* of all ranks; together their wait_ns */

	/* The rest is for ranks.c. */
	ARRAY(uint32_t) by_name;	/* of collectives: by communicator and name */
	ARRAY(struct ranks_event) events;
	ARRAY(struct ranks_launch) launches;
	uint32_t *by_proc;		/* by process: index in ranks, or NO_INDEX */
	size_t nr_nccl;			/* kernels of NCCL so far */
	struct strpool strings;
	struct idmap paths;
	ARRAY(const char *) path_texts;
};

/* Return: empty, or NULL. Its sink gets the events of a session. */
struct ranks *ranks__new(void);
void ranks__free(struct ranks *r);

/* Finds the late ranks, after session__process(). Return: 0 or -ENOMEM. */
int ranks__finish(struct ranks *r, const struct session *s);

/*
 * For ranks__finish(): sets @r->late and @r->stragglers, when the ranks are summed up. Return: 0 or
 * -ENOMEM.
 */
int ranks__find_late(struct ranks *r, const struct model *m);

/* Return: what the operations of a unit are called in the list of collectives. */
const char *ranks__unit_name(const struct model *m, const struct nccl_unit *u);

/* Return: index of the operations of a unit in collectives, or NO_INDEX. */
uint32_t ranks__collective(const struct ranks *r, const struct model *m, const struct nccl_unit *u);

struct ranks_opts {
	enum unit unit;			/* UNIT_NS, UNIT_US or UNIT_MS */
	bool human;			/* each time in the unit that fits it, in place of @unit */
	uint32_t max_rows;		/* of each table; 0: all */
	enum table_format format;
	unsigned int width;		/* of the terminal; 0: nothing is left out or cut */
	bool color;
	const char *sort;		/* of each table that has such a column; NULL: as they come */
};

/* Prints the account of operations and waits, in lines for people. */
void ranks__print_account(const struct ranks *r, FILE *f);

/*
 * Writes the page; @unit: as html_opts.unit. Return: 0 or -ENOMEM; an error of @f stays in its error flag.
 */
int ranks__write_html(const struct ranks *r, FILE *f, const char *unit);

/* Return: how the ranks are numbered, in words. */
const char *ranks__numbered(const struct ranks *r);

/* Return: 0 or -ENOMEM; an error of @f stays in its error flag. */
int ranks__write_text(const struct ranks *r, FILE *f, const struct ranks_opts *opts);

/* Return: "on the GPU", "off the CPU", ...: the kind in words. */
const char *late_kind__name(enum late_kind kind);

#endif /* MERGE_RANKS_H */
