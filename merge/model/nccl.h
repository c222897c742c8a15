/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * nccl.h - NCCL's operations on all ranks: which belong together, who waited in them, and for whom
 *
 * NCCL opens an NVTX range around each call, with the communicator's id, which is one number on all of
 * its ranks. A communicator's operations have the same order on each rank, so the n-th one is the same
 * operation everywhere: ranks are joined by (communicator, n), never by time.
 *
 * A call outside of ncclGroupStart() and ncclGroupEnd() launches its kernel before it returns, inside
 * its own range. The calls of a group launch in the outermost ncclGroupEnd(), on the same thread: the
 * group's operations of one communicator are one unit, and its kernels are theirs together. Where a
 * group has several communicators, a kernel belongs to the communicator that uses its stream
 * elsewhere; if none or several do, the kernel belongs to no unit, and is counted. Calls that are
 * captured into a CUDA graph run once for each launch of the graph, at its place in the order.
 *
 *	nccl__open(), nccl__close(), nccl__mark()	each event of a range, thread by thread
 *	nccl__launch()					each launch in such a range
 *	nccl__kernel()					each device work of these launches
 *	nccl__finish()					at the end: the rest of this structure
 *
 * Where a rank was attached to after a communicator was made, its first operations are not known, and it
 * cannot be counted from there. If all of its recorded ranks recorded ncclCommDestroy() of it, which comes
 * after the last operation on each rank, they are counted from that end; else they are not paired.
 *
 * ncclCommSplit() tells the rank in the communicator that is split, and the key: ranks of the new one are in
 * the order of keys, then of these ranks. That is known where all ranks of the parent are recorded.
 *
 * A communicator that does not block (ncclConfig_t.blocking 0) launches on a thread of NCCL's own for
 * each call or group, outside of its range, and takes the next call when that thread is done. Where it
 * is the only such one of a process, and has as many kernels as calls, they belong together in their
 * order; it is said.
 *
 * An NCCL older than 2.25 tells no communicator. In processes without any operation, the n-th kernel of
 * NCCL in a stream is taken for the n-th one in that stream of other ranks, if it has their name; streams
 * count in the order in which their first such kernels are launched. This is no identity, and it is said.
 *
 * Times are on the common clock of all recordings, and aligned further only in nccl_unit.shift_ns.
 */
#ifndef MERGE_NCCL_H
#define MERGE_NCCL_H

#include <stdbool.h>
#include <stdint.h>

#include "model/nccl_clock.h"
#include "model/nvtx.h"
#include "util.h"

enum nccl_kind {
	NCCL_UNKNOWN,			/* not looked at yet */
	NCCL_NONE,			/* no range of NCCL */
	NCCL_COLLECTIVE,
	NCCL_SEND,
	NCCL_RECV,
	NCCL_GROUP_START,
	NCCL_GROUP_END,
	NCCL_INIT,			/* makes a communicator; has its rank */
	NCCL_DESTROY,
	NCCL_OTHER,			/* a range of NCCL that launches nothing of interest */
};

static inline bool nccl_kind__is_op(enum nccl_kind kind)
{
	return kind >= NCCL_COLLECTIVE && kind <= NCCL_RECV;
}

/* A call of NCCL on a thread. */
struct nccl_call {
	uint64_t start_ns, end_ns;	/* end_ns UINT64_MAX: it is open */
	uint32_t range;			/* index in nvtx.ranges */
	uint32_t unit;			/* of an operation; of ncclGroupEnd(): the first one of its group */
	uint32_t nr_units;
};

struct nccl_op {
	uint32_t range;			/* has its payload */
	uint32_t unit;
};

/* The operations of one communicator that one rank launched together; one, most often. */
struct nccl_unit {
	uint64_t comm;
	uint64_t start_ns;		/* the first call, or the launch of its graph */
	uint32_t proc, thread;
	uint32_t first_op, nr_ops;	/* in ops */
	uint32_t nr_collectives;	/* of these */
	bool captured;			/* not run by itself, but by launches of its graph */
	bool by_stream;			/* a kernel without an operation; comm is the stream's place */
	/* The rest is set by nccl__finish(). */
	uint32_t gpu;			/* index in gpus.list; NO_INDEX: no kernel tells */
	uint32_t member;		/* NO_INDEX: captured */
	uint32_t seq;			/* collectives of the communicator before it, on its rank */
	uint32_t first_kernel, nr_kernels;	/* in kernels */
	uint64_t begin_ns, end_ns;	/* of its kernels, on its own clock */
	uint64_t launch_ns;		/* the launch of its first kernel */
	int64_t shift_ns;		/* to be added to compare with other units */
	uint64_t busy_ns;		/* the kernels' time: wait_ns and transfer */
	uint64_t wait_ns;
	uint64_t caused_ns;		/* waits of other units for this one */
	uint32_t waited_for;		/* the unit that was waited for; NO_INDEX: none */
	uint32_t meeting;		/* NO_INDEX: not paired */
	bool paired;			/* there is a unit of another rank to it */
};

/* A kernel, copy or set that NCCL launched. */
struct nccl_kernel {
	uint64_t start_ns, duration_ns;
	uint64_t launch_ns;
	uint64_t graph;			/* JOIN_KEY() of the launch of its graph; 0: none */
	uint64_t wait_ns;		/* set by nccl__finish() */
	uint32_t unit;			/* NO_INDEX: of no unit */
	uint32_t last_unit;		/* the group's units are unit to last_unit, for nccl__finish() */
	uint32_t proc, thread, gpu, stream, leaf;
	uint32_t aggregate;		/* index in sums.aggregates; NO_INDEX: left out */
	bool kernel;			/* else a copy or set */
	bool loose;			/* of NCCL by its name alone: it was launched in no range of NCCL */
	bool collective;		/* by its name */
};

/* A rank of a communicator. */
struct nccl_member {
	uint64_t comm;
	uint32_t epoch;			/* how many communicators of that id it destroyed before */
	uint32_t proc, gpu;
	int32_t rank, nr_ranks;		/* -1: not told */
	bool whole;			/* all of its operations are recorded, from the first on */
	bool ended;			/* and up to its orderly end */
	uint32_t nr_units, nr_collectives;
};

/* Collectives of one communicator and number, on all recorded ranks. */
struct nccl_meeting {
	uint32_t first, nr;		/* in met */
	uint32_t last;			/* the unit that began last */
	uint64_t wait_ns;		/* of all its units */
	uint64_t begin_ns;		/* the first begin, aligned */
};

/* The making or end of a communicator in a process. */
struct nccl_life {
	uint64_t comm, time_ns;
	uint32_t proc;
	enum nccl_kind kind;
	bool own;			/* the rank is that in this communicator, not in its parent */
	bool orderly;			/* an end that comes after all operations, on each rank */
	int32_t rank, nr_ranks;
	bool split;			/* not own, but these are known: */
	uint64_t parent;
	int32_t key;
};

/* The call that a launch was made in. */
struct nccl_placed {
	uint32_t thread, call;
};

struct nccl_thread {
	ARRAY(struct nccl_call) calls;	/* by start */
	ARRAY(struct nccl_op) pending;	/* of the open group */
	uint32_t depth;			/* of groups */
};

/* Operations and kernels that are left out, and why. */
struct nccl_counts {
	uint64_t nr_ops;		/* collectives, sends and receives that ran */
	uint64_t nr_paired;		/* of these */
	uint64_t nr_alone;		/* of a communicator of which no other rank is recorded, or of one
					 * rank */
	uint64_t nr_missing;		/* no other rank has it: one ended earlier, or is cut off */
	uint64_t nr_older;		/* the communicator is older than the recording of a rank, or
					 * ranges of a rank are lost */
	uint64_t nr_late;		/* counted from the end: before another rank was attached to */
	uint64_t nr_from_end;		/* of those that are paired: counted from the end */
	uint64_t nr_disagree;		/* ranks have different operations of one number, or behind such */
	uint64_t nr_no_rank;		/* sends and receives of a rank whose number is not known */
	uint64_t nr_no_kernel;		/* of those that are paired: without a kernel on this rank */
	uint64_t nr_captured;		/* calls that made nodes of graphs */
	uint64_t paired_ns;		/* kernels of paired operations: waits and transfers */
	uint64_t wait_ns;
	uint64_t unpaired_ns;		/* kernels of other operations */
	uint64_t nr_by_stream;		/* kernels that are paired by their order in streams */
	uint64_t nr_own_threads;	/* kernels of NCCL's own threads, given to calls in order */
	uint64_t nr_setup;		/* copies and sets beside a kernel: NCCL connects ranks so */
	uint64_t setup_ns;
	uint64_t nr_kernels_shared;	/* in groups of several communicators that streams do not tell */
	uint64_t shared_ns;
	uint64_t nr_launches_unplaced;	/* in a range of NCCL that no event opened */
};

struct nccl {
	ARRAY(uint8_t) kinds;		/* by range: enum nccl_kind */
	ARRAY(struct nccl_thread) threads;
	ARRAY(struct nccl_op) ops;
	ARRAY(struct nccl_unit) units;
	ARRAY(struct nccl_kernel) kernels;
	ARRAY(struct nccl_life) lives;
	ARRAY(struct nccl_member) members;
	ARRAY(struct nccl_meeting) meetings;
	ARRAY(uint32_t) met;		/* units of meetings */
	struct idmap launches;		/* JOIN_KEY() of a launch: index in placed */
	ARRAY(struct nccl_placed) placed;
	ARRAY(bool) incomplete;		/* by process: ranges of it are lost */
	struct nccl_clocks clocks;
	struct nccl_counts counts;
	bool wanted;			/* there are operations */
	bool loose;			/* there are kernels without */
};

struct model;

void nccl__exit(struct nccl *n);

/* Return: the kind of a range of NVTX; NCCL_NONE without memory. */
enum nccl_kind nccl__kind(struct nccl *n, const struct nvtx *nvtx, uint32_t range);

/* A range of a thread opens, or closes, or is a mark. Return: 0 or -ENOMEM. */
int nccl__open(struct nccl *n, const struct nvtx *nvtx, uint32_t proc, uint32_t thread, uint32_t range,
	       uint64_t time_ns);
void nccl__close(struct nccl *n, const struct nvtx *nvtx, uint32_t thread, uint32_t range,
		 uint64_t time_ns);
int nccl__mark(struct nccl *n, const struct nvtx *nvtx, uint32_t proc, uint32_t range, uint64_t time_ns);

/**
 * nccl__launch - take a launch that was made in a range
 * @key: JOIN_KEY() of the launch
 * @range: the innermost range that was open, as the process recorded it
 * @time_ns: tells which call of that range on that thread it was; both are by that thread's clock
 *
 * Return: 0 or -ENOMEM.
 */
int nccl__launch(struct nccl *n, const struct nvtx *nvtx, uint64_t key, uint32_t thread,
		 uint32_t range, uint64_t time_ns);

/*
 * Takes device work of the launch @key, or of the graph node that the launch @key made: then
 * @kernel->graph is set. Work of other launches is ignored. Return: 0 or -ENOMEM.
 */
int nccl__kernel(struct nccl *n, uint64_t key, const struct nccl_kernel *kernel);

/* Takes a kernel of NCCL by its name, of which no operation is known. Return: 0 or -ENOMEM. */
int nccl__loose_kernel(struct nccl *n, const struct nccl_kernel *kernel);

/* Return: whether a kernel is NCCL's, by its name. */
bool nccl__is_kernel(const char *name);

/* Ranges of a process are lost: its operations cannot be numbered. Return: 0 or -ENOMEM. */
int nccl__lose(struct nccl *n, uint32_t proc);

/* Pairs what all recordings have. Return: 0 or -ENOMEM. */
int nccl__finish(struct nccl *n, const struct model *m);

/* Return: the payload of an operation. */
const struct xpu_range_payload *nccl_op__payload(const struct nvtx *nvtx, const struct nccl_op *op);

#endif /* MERGE_NCCL_H */
