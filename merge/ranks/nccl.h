/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * nccl.h - matches the NCCL operations of all ranks, and finds which ranks waited in an operation,
 * and for which rank
 *
 * NCCL opens an NVTX range around each call. The range has the communicator's id, which is the same
 * number on all ranks of the communicator. A communicator's operations have the same order on each
 * rank, so the n-th operation is the same on all ranks. Operations are matched by communicator and
 * n, never by time.
 *
 * A call outside of ncclGroupStart() and ncclGroupEnd() launches its kernel before it returns,
 * inside its own range. The calls of a group launch in the outermost ncclGroupEnd(), on the same
 * thread. The group's operations of one communicator are one unit, which owns their kernels. If a
 * group has several communicators, a kernel belongs to the communicator that also uses the kernel's
 * stream outside of the group. If no communicator does so, or several do, the kernel belongs to no
 * unit, and is counted. Calls that are captured into a CUDA graph run once for each launch of the
 * graph, at the launch's place in the order.
 *
 *	nccl__open(), nccl__close(), nccl__mark()	each event of a range, thread by thread
 *	nccl__launch()					each launch in a range
 *	nccl__call(), nccl__kernel()			each piece of device work of a launch
 *	nccl__finish()					at the end: pairs operations, finds waits
 *
 * If xpuload attached to a rank after a communicator was made, the rank's first operations are
 * unknown, so operations cannot be counted from the start. If all recorded ranks of the
 * communicator recorded its ncclCommDestroy(), which comes after the last operation on each rank,
 * operations are counted backwards from this call. Otherwise they are not paired.
 *
 * ncclCommSplit() reports a key, and the rank in the communicator that is split: the new
 * communicator orders its ranks by key, then by old rank. So the new ranks are known if all ranks
 * of the old communicator are recorded.
 *
 * A communicator that does not block (ncclConfig_t.blocking 0) launches each call or group on a
 * thread of NCCL, outside of the call's range, and takes the next call when that thread is done. If
 * a process has only one such communicator, with as many kernels as calls, the kernels are matched
 * with the calls in order, and the output says so.
 *
 * NCCL before 2.25 reports no communicators. In processes without any operation, the n-th NCCL
 * kernel in a stream is assumed to match the n-th NCCL kernel in the same stream of other ranks, if
 * the kernels' names are equal. Streams are numbered in the order of their first NCCL launch. This
 * matching is not exact, and the output says so.
 *
 * Times are on the common clock of all recordings, and aligned further only in nccl_unit.shift_ns.
 */
#ifndef MERGE_NCCL_H
#define MERGE_NCCL_H

#include <stdbool.h>
#include <stdint.h>

#include "model/range_names.h"
#include "ranks/nccl_clock.h"
#include "util.h"

enum nccl_kind {
	NCCL_UNKNOWN,			/* not examined yet */
	NCCL_NONE,			/* not an NCCL range */
	NCCL_COLLECTIVE,
	NCCL_SEND,
	NCCL_RECV,
	NCCL_GROUP_START,
	NCCL_GROUP_END,
	NCCL_INIT,			/* makes a communicator, and reports the rank in it */
	NCCL_DESTROY,
	NCCL_OTHER,			/* an NCCL range that launches nothing of interest */
};

static inline bool nccl_kind__is_op(enum nccl_kind kind)
{
	return kind >= NCCL_COLLECTIVE && kind <= NCCL_RECV;
}

/* an NCCL call on a thread */
struct nccl_call {
	uint64_t start_ns, end_ns;	/* end_ns UINT64_MAX: the call is still open */
	uint32_t range;			/* index in ranges.list */
	uint32_t unit;			/* the call's unit; for ncclGroupEnd(): the first unit of
					 * its group */
	uint32_t nr_units;
};

struct nccl_op {
	uint32_t range;			/* the range whose payload describes the operation */
	uint32_t unit;
};

/*
 * The operations of one communicator that one rank launched together; usually this is a single
 * operation.
 */
struct nccl_unit {
	uint64_t comm;
	uint64_t start_ns;		/* time of the first call, or of the launch of its graph */
	uint32_t proc, thread;
	uint32_t first_op, nr_ops;	/* the unit's entries in ops */
	uint32_t nr_collectives;	/* number of collectives among these operations */
	bool captured;			/* the unit runs only when its graph is launched */
	bool by_stream;			/* the unit is a kernel without an operation; @comm is the
					 * number of the kernel's stream */
	/* nccl__finish() sets all members below. */
	uint32_t gpu;			/* index in gpus.list; NO_INDEX: unknown, or no kernels */
	uint32_t member;		/* index in members; NO_INDEX: the unit was captured */
	uint32_t seq;			/* how many collectives of the communicator come before the
					 * unit on its rank */
	uint32_t first_kernel, nr_kernels;	/* the unit's entries in kernels */
	uint64_t begin_ns, end_ns;	/* when its kernels began and ended, without shift_ns */
	uint64_t launch_ns;		/* time of the launch of its first kernel */
	int64_t shift_ns;		/* added to the unit's times to compare them with other
					 * units */
	uint64_t busy_ns;		/* total time of the unit's kernels: waiting and transfer */
	uint64_t wait_ns;
	uint64_t caused_ns;		/* how long other units waited for this unit */
	uint32_t waited_for;		/* the unit that this unit waited for; NO_INDEX: none */
	uint32_t meeting;		/* index in meetings; NO_INDEX: the unit is not paired */
	bool paired;			/* a unit of another rank matches this unit */
};

/* A kernel, copy or memset that NCCL launched. */
struct nccl_kernel {
	uint64_t start_ns, duration_ns;
	uint64_t launch_ns;
	uint64_t graph;			/* JOIN_KEY() of the launch of its graph; 0: no graph */
	uint64_t wait_ns;		/* set by nccl__finish() */
	uint32_t unit;			/* NO_INDEX: the kernel has no unit */
	uint32_t last_unit;		/* for nccl__finish(): the kernel's group has the units
					 * @unit to @last_unit */
	uint32_t proc, thread, gpu, stream, leaf;
	uint32_t aggregate;		/* index in sums.aggregates; NO_INDEX: the kernel is left
					 * out */
	bool kernel;			/* false: this is a copy or memset */
	bool loose;			/* known only by its name, because it was not launched in an
					 * NCCL range */
	bool collective;		/* a collective, judged by its name */
};

/* a rank of a communicator */
struct nccl_member {
	uint64_t comm;
	uint32_t epoch;			/* number of communicators with that id that the process
					 * destroyed earlier */
	uint32_t proc, gpu;
	int32_t rank, nr_ranks;		/* -1: unknown */
	bool whole;			/* all operations of the rank are recorded, starting with
					 * the first */
	bool ended;			/* the rank's operations are recorded up to its orderly
					 * end */
	uint32_t nr_units, nr_collectives;
};

/* the collectives with the same number in one communicator, on all recorded ranks */
struct nccl_meeting {
	uint32_t first, nr;		/* the meeting's entries in met */
	uint32_t last;			/* the unit that began last */
	uint64_t wait_ns;		/* total wait of its units */
	uint64_t begin_ns;		/* when the first unit began, on the aligned clock */
};

/* the creation or end of a communicator in a process */
struct nccl_life {
	uint64_t comm, time_ns;
	uint32_t proc;
	enum nccl_kind kind;
	bool own;			/* rank is the rank in this communicator, not in its
					 * parent */
	bool orderly;			/* this is an end, and comes after all operations on each
					 * rank */
	int32_t rank, nr_ranks;
	bool split;			/* own is false, but the following members are set: */
	uint64_t parent;
	int32_t key;
};

/* the call that made a launch */
struct nccl_placed {
	uint32_t thread, call;
};

struct nccl_thread {
	ARRAY(struct nccl_call) calls;	/* sorted by start */
	ARRAY(struct nccl_op) pending;	/* operations of the open group */
	uint32_t depth;			/* number of open groups, which are nested */
};

/* counts of operations and kernels that are left out, by reason */
struct nccl_counts {
	uint64_t nr_ops;		/* number of collectives, sends and receives that ran */
	uint64_t nr_paired;		/* how many of nr_ops are paired */
	uint64_t nr_alone;		/* number of operations in communicators with one rank, or
					 * with no other recorded rank */
	uint64_t nr_missing;		/* number of operations that no other rank has: the other
					 * ranks ended earlier, or their recordings are cut off */
	uint64_t nr_older;		/* number of operations whose communicator is older than the
					 * recording of one of its ranks, or has a rank that lost
					 * ranges */
	uint64_t nr_late;		/* number of operations that are counted from the end and
					 * ran before xpuload attached to another rank */
	uint64_t nr_from_end;		/* how many of nr_paired are counted from the end */
	uint64_t nr_disagree;		/* number of operations at or after the first operation
					 * about which the communicator's ranks disagree */
	uint64_t nr_no_rank;		/* number of sends and receives of a rank whose number is
					 * unknown */
	uint64_t nr_no_kernel;		/* how many of nr_paired have no kernel on this rank */
	uint64_t nr_captured;		/* number of calls that made nodes of graphs */
	uint64_t paired_ns;		/* time of kernels of paired operations: waits and
					 * transfers */
	uint64_t wait_ns;
	uint64_t unpaired_ns;		/* time of kernels of unpaired operations */
	uint64_t nr_by_stream;		/* number of kernels that are paired by their order in
					 * streams */
	uint64_t nr_own_threads;	/* number of kernels that NCCL's own threads launched, and
					 * that were matched with calls in order */
	uint64_t nr_setup;		/* number of copies and memsets in a unit with a kernel:
					 * they only connect ranks */
	uint64_t setup_ns;
	uint64_t nr_kernels_shared;	/* number of kernels of groups with several communicators,
					 * if the stream does not show the kernel's communicator */
	uint64_t shared_ns;
	uint64_t nr_launches_unplaced;	/* number of launches in NCCL ranges whose opening was not
					 * recorded */
};

struct nccl {
	ARRAY(uint8_t) kinds;		/* for each range: enum nccl_kind */
	ARRAY(struct nccl_thread) threads;
	ARRAY(struct nccl_op) ops;
	ARRAY(struct nccl_unit) units;
	ARRAY(struct nccl_kernel) kernels;
	ARRAY(struct nccl_life) lives;
	ARRAY(struct nccl_member) members;
	ARRAY(struct nccl_meeting) meetings;
	ARRAY(uint32_t) met;		/* the units of all meetings */
	struct idmap launches;		/* maps JOIN_KEY() of a launch to an index in placed */
	ARRAY(struct nccl_placed) placed;
	ARRAY(bool) incomplete;		/* for each process: whether it lost ranges */
	struct nccl_clocks clocks;
	struct nccl_counts counts;
	bool wanted;			/* operations have been seen */
	bool loose;			/* kernels without operations have been seen */
};

struct model;

void nccl__exit(struct nccl *n);

/* Return: whether NCCL made an NVTX range. @rec: the range's definition, or NULL */
bool nccl__is_range(const struct xpu_record_range *rec);

/* Return: the kind of an NVTX range; NCCL_NONE if memory is short. */
enum nccl_kind nccl__kind(struct nccl *n, const struct ranges *ranges, uint32_t range);

/*
 * These functions handle the events of a range: its opening, its closing, or a mark. Return: 0 or
 * -ENOMEM.
 */
int nccl__open(struct nccl *n, const struct ranges *ranges, uint32_t proc, uint32_t thread,
	       uint32_t range, uint64_t time_ns);
void nccl__close(struct nccl *n, const struct ranges *ranges, uint32_t thread, uint32_t range,
		 uint64_t time_ns);
int nccl__mark(struct nccl *n, const struct ranges *ranges, uint32_t proc, uint32_t range,
	       uint64_t time_ns);

/**
 * nccl__launch - take a launch that was made in a range
 * @key: JOIN_KEY() of the launch
 * @range: the innermost range that was open, as the process recorded it
 * @time_ns: time of the launch, by the clock of nccl__open(); selects the thread's call
 *
 * Return: 0 or -ENOMEM.
 */
int nccl__launch(struct nccl *n, const struct ranges *ranges, uint64_t key, uint32_t thread,
		 uint32_t range, uint64_t time_ns);

/*
 * Return: the NCCL call that made the launch @key and has operations; NULL if there is no such
 * call. For a graph's device work, @key is the launch that made the graph node.
 */
const struct nccl_call *nccl__call(const struct nccl *n, uint64_t key);

/* Takes device work of a launch that @call made. Return: 0 or -ENOMEM. */
int nccl__kernel(struct nccl *n, const struct nccl_call *call, const struct nccl_kernel *kernel);

/*
 * Takes an NCCL kernel that is known only by its name, and whose operation is unknown. Return: 0 or
 * -ENOMEM.
 */
int nccl__loose_kernel(struct nccl *n, const struct nccl_kernel *kernel);

/* Return: whether a kernel belongs to NCCL, by its name. */
static inline bool nccl__is_kernel(const char *name)
{
	return *name == 'n' && !strncmp(name, "nccl", 4) &&
	       (!strncmp(name + 4, "DevKernel_", 10) || !strncmp(name + 4, "Kernel_", 7));
}

/*
 * Notes that a process lost ranges, so that its operations cannot be numbered. Return: 0 or
 * -ENOMEM.
 */
int nccl__lose(struct nccl *n, uint32_t proc);

/* Pairs the operations of all recordings. Return: 0 or -ENOMEM. */
int nccl__finish(struct nccl *n, const struct model *m);

/* Return: the payload of an operation. */
const struct xpu_range_payload *nccl_op__payload(const struct ranges *ranges,
						 const struct nccl_op *op);

#endif /* MERGE_NCCL_H */
