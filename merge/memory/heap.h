/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * heap.h - who holds memory: live allocations, and sums by call path at certain moments
 *
 * Allocations come in the order of their numbers; each is kept while it is live. Sums are kept by
 * holder: a call path, a thread and a kind of memory on a device. A moment, such as the peak, is a
 * copy of all sums, made lazily: when a holder first changes after the moment, it saves its old
 * sum. So the peak costs no search, and a new peak only increments a number.
 *
 * Memory that CUDA gave to the process is called reserved. A framework's allocator cuts blocks from
 * some of this memory, its segments. struct heap_parts has the parts of all memory and the names of
 * their sums. An allocation is known to be a segment only when a block is found in it, so a heap is
 * filled twice. HEAP_FIND notes the call paths that allocate segments. HEAP_SUM then knows all
 * segments from the beginning, even segments that never have a block. HEAP_KEEP keeps only live
 * allocations and the call paths that allocate segments.
 */
#ifndef MERGE_HEAP_H
#define MERGE_HEAP_H

#include <stdbool.h>
#include <stdint.h>

#include "model/addresses.h"
#include "util.h"
#include "xpu_record.h"

#define HEAP_PARTS	16		/* a process's events are divided into this many equal
					 * parts, to see what grows */

enum heap_pass { HEAP_FIND, HEAP_SUM, HEAP_KEEP };

/* Moments at which sums are kept. */
enum heap_moment {
	HEAP_PEAK,			/* all devices together use the most memory at this
					 * moment */
	HEAP_DEVICE_PEAK,		/* the holder's device uses the most memory at this
					 * moment */
	HEAP_ASKED,			/* the last moment in heap.at_ns, or the last failure */
	HEAP_NR_MOMENTS
};

struct heap_sum {
	uint64_t bytes;
	int64_t nr;
};

/* The kinds of memory, each the name of a leaf. */
enum heap_kind {
	HEAP_DEVICE, HEAP_MANAGED, HEAP_POOL, HEAP_PINNED, HEAP_REGISTERED, HEAP_PHYSICAL,
	HEAP_ARRAY, HEAP_BLOCK, HEAP_FRAGMENTATION, HEAP_BEFORE, HEAP_GRAPHS, HEAP_UNUSED,
	HEAP_REST, HEAP_FAILED,
	HEAP_NR_KINDS
};

/*
 * A place's memory is divided into these parts. Each kind of held memory belongs to one part, so
 * the bytes of all call paths at a moment add up to heap_parts__held(). Every output uses these
 * names for parts and sums.
 */
struct heap_parts {
	uint64_t blocks;		/* blocks that allocators cut from their segments */
	uint64_t outside;		/* memory outside of allocators: allocated by the program,
					 * or held by graphs */
	uint64_t fragmentation;		/* parts of allocators' segments that no block uses */
	uint64_t unused;		/* memory that CUDA's pools reserved but do not use */
	uint64_t rest;			/* all other memory in use on the device */
};

/* Adds bytes, modulo 2^64, to the part that contains that kind of memory. */
void heap_parts__add(struct heap_parts *p, enum heap_kind kind, uint64_t bytes);

/* Return: blocks and memory outside of allocators. */
uint64_t heap_parts__used(const struct heap_parts *p);

/* Return: all memory that CUDA gave to the processes: used, unused, and lost to fragmentation. */
uint64_t heap_parts__reserved(const struct heap_parts *p);

/* Return: all memory that has a call path or a name: heap_parts__reserved() plus @p->rest. */
uint64_t heap_parts__held(const struct heap_parts *p);

/* Return: "block", "fragmentation", ... */
const char *heap_kind__name(enum heap_kind kind);

/* Whether the program itself allocates and frees memory of that kind. */
bool heap_kind__is_programs(enum heap_kind kind);

/* Whether memory in @space stays alive until its last handle or mapping is gone. */
bool heap_space__is_counted(uint8_t space);

struct holder_key {
	uint32_t chain, thread;
	const char *comm;
	uint32_t place;			/* index in heap.places */
	uint32_t kind;			/* enum heap_kind */
	bool elsewhen;			/* the allocation is outside of heap.begin_ns to end_ns:
					 * only the sums at moments include it */
};

struct holder {
	struct holder_key key;
	struct heap_sum live;
	struct heap_sum made;		/* all allocations, even if freed */
	struct heap_sum never_freed;	/* memory still live at the end of the process */
	struct heap_sum unfinished;	/* part of never_freed: the process ran on after the
					 * recording */
	uint64_t nr_freed, lived_ns;	/* number and total lifetime of freed allocations */
	uint32_t version[HEAP_NR_MOMENTS];
	struct heap_sum at[HEAP_NR_MOMENTS];
	uint64_t first_ns, last_ns;	/* when the first and the last never-freed allocation were
					 * made */
	uint64_t low[HEAP_PARTS];	/* the fewest live bytes during each part of the process's
					 * events, up to heap.part */
	uint8_t part;
	uint32_t last_step;		/* 1 + index of its last entry in heap.steps; 0: none */
};

struct heap_level {
	uint64_t now, peak, peak_ns;
};

/*
 * The levels of a place since time_ns. Where events are dense, a point has the highest levels of a
 * short interval.
 */
struct heap_point {
	uint64_t time_ns, used, reserved;
};

/*
 * How much of a device is in use, according to CUDA. The rest is the part that the processes have
 * not reserved.
 */
struct heap_asked {
	uint64_t time_ns, rest;
};

/* A holder's live bytes at the end of a step of time, if they changed in the step. */
struct heap_step {
	uint32_t holder;		/* index in heap.holders */
	uint32_t step;
	uint64_t bytes;
};

#define HEAP_STEPS	512		/* maximum number of steps from heap.from_ns to to_ns */

/* A device, or the host's pinned memory. */
struct heap_place {
	uint32_t gpu;			/* index in gpus.list; NO_INDEX: the host */
	struct heap_parts parts;	/* the current parts */
	struct heap_level used, reserved, blocks, segments;
	uint32_t version[HEAP_NR_MOMENTS];
	uint32_t rest;			/* holder of all memory that is in use on the place but not
					 * recorded; or NO_INDEX */
	ARRAY(struct heap_asked) asked;	/* in order of time */
	bool has_peak;			/* like heap.has_peak, for this place */
	ARRAY(struct heap_point) track;	/* in order of time */
	struct heap_point skipped;	/* the latest levels, which are not yet in track */
	bool has_skipped;
};

/* A place at a moment. */
struct heap_instant {
	size_t moment;			/* index in heap.at_ns */
	uint32_t place;
	struct heap_parts parts;
	uint64_t segments;
};

struct heap_failure {
	uint64_t time_ns, bytes;
	uint64_t free_bytes;		/* UINT64_MAX: unknown */
	uint64_t used, reserved;	/* the levels of the place */
	uint32_t result;
	struct holder_key key;
};

/* An event, with its ids resolved. */
struct heap_event {
	uint64_t order, time_ns;	/* order, and time on the common clock */
	uint64_t made_ns;		/* for carried memory: when it was allocated; otherwise
					 * time_ns */
	uint64_t address, bytes;
	uint32_t proc;
	uint32_t path_id;		/* id in the recording */
	uint32_t extra;
	uint32_t thread_id, range_id;	/* ids in the recording */
	uint16_t device;
	uint8_t what, space;
	bool carried;			/* the memory was allocated before the recording, and its
					 * path is known */
	struct holder_key key;		/* the heap sets key.kind */
};

/* A live allocation: memory from CUDA, a mapping of CUDA memory, or a block of an allocator. */
struct heap_alloc {
	uint64_t address, bytes, order, time_ns;
	uint64_t used;			/* for a segment: the bytes that blocks use */
	uint32_t proc, place, holder;	/* holder NO_INDEX: the allocation has no memory of its
					 * own */
	uint32_t path_id, thread_id, range_id;
	uint32_t target;		/* for a mapping: the physical memory, or NO_INDEX; for an
					 * unused entry: the next unused entry */
	uint32_t nr_refs, nr_handles;	/* for counted memory: nr_refs is the number of handles and
					 * mappings, nr_handles the number of handles */
	uint32_t owner, next, prev;	/* the context that owns the memory, and the neighbors in
					 * the owner's list */
	uint32_t hash, context;
	uint16_t device;
	uint8_t space;
	bool live, findable, is_segment;
	bool is_apart;			/* a block whose segments are not looked up, see
					 * nr_crowded */
	bool carried;
};

/* The live allocations of one context of a process, or all allocations without a context. */
struct heap_owner {
	uint32_t first;			/* index in allocs */
	uint32_t next;			/* the process's next owner */
};

/* The memory that a process's allocator has on a device. */
struct heap_allocator {
	uint32_t place;
	uint64_t blocks, segments;
	uint64_t uncovered;		/* bytes of blocks outside of all known segments */
	uint64_t blocks_before, segments_before;	/* blocks and segments from before the
							 * attach */
	uint64_t fragmentation_before;	/* parts without a block, in segments from before the
					 * attach */
	/*
	 * The holders of blocks_before and fragmentation_before, if xpuload attached to the process
	 * and the allocator reported totals.
	 */
	uint32_t before, before_fragmentation;
	bool has_totals, has_before;
};

/*
 * Memory that no single call allocates, but that CUDA holds for a process on a device, as last
 * reported.
 */
struct heap_cuda {
	uint32_t place, holder;
	uint64_t bytes;
	uint8_t space;
};

struct heap_proc {
	uint32_t first_owner;		/* head of the list of the process's owners */
	uint32_t context, owner;	/* the context looked up last, and its owner or NO_INDEX */
	struct addresses segments;	/* segments and possible segments: indices in allocs */
	ARRAY(struct heap_allocator) allocators;
	ARRAY(struct heap_cuda) cuda;
	uint64_t handle, handle_order;	/* handle of the next mapping; order of the event with the
					 * handle */
	uint64_t until_ns;		/* the process's memory at later moments belongs to the next
					 * file; 0: no file follows */
	uint64_t nr_expected, nr_events;
	bool late;
	bool ended;
};

struct heap {
	enum heap_pass pass;
	ARRAY(struct heap_alloc) allocs;
	uint32_t free_alloc;
	uint32_t *slots;		/* a hash table of live allocations, by address */
	size_t nr_slots, nr_live;
	uint64_t secret;
	ARRAY(struct heap_owner) owners;
	struct idmap by_context;	/* maps (process, context) to an owner */
	ARRAY(struct heap_proc) procs;	/* for each process, by its index minus first_proc */
	uint32_t first_proc;
	ARRAY(struct holder) holders;
	struct hashes by_key;
	ARRAY(struct heap_place) places;
	struct idmap by_gpu;
	struct idmap segment_paths;	/* ids of the call paths that allocate segments */
	struct heap_level used;		/* memory used on all devices together */
	uint32_t version[HEAP_NR_MOMENTS];
	ARRAY(struct heap_failure) failures;	/* the first failures, HEAP_MAX_FAILURES at most */
	uint64_t nr_failures, failed_ns;	/* failed_ns: time of the last failure */
	bool has_asked, asked_is_failure;
	uint64_t start_ns;		/* the times in @at_ns are relative to this time */
	const uint64_t *at_ns;		/* requested moments, in rising order; the last moment is
					 * HEAP_ASKED */
	size_t nr_at, next_at;
	ARRAY(struct heap_instant) instants;	/* the state of each place at each moment */
	bool wants_steps;
	ARRAY(struct heap_step) steps;	/* in order of step */
	uint64_t step_ns;		/* length of a step */
	uint32_t step;			/* the current step */
	bool no_memory;			/* memory was short for a step */
	uint64_t from_ns, to_ns;	/* first and last time of all events */
	uint64_t begin_ns, end_ns;	/* a peak counts if begin_ns <= its time < end_ns */
	bool has_begun;			/* begin_ns has passed */
	unsigned int part;		/* the part of its process's events to which the current
					 * event belongs */
	bool at_end;			/* a process ends: memory is freed, but not by the
					 * program */
	bool at_finish;			/* the process runs on after the recording */
	uint64_t recording;		/* identifies the recording: all of its files have the same
					 * value */
	uint64_t file;			/* rises from file to file of a recording */
	bool is_last, has_peak;		/* is_last: this is the recording's last file */
	uint64_t until_ns;		/* the latest until_ns of the processes; UINT64_MAX: no file
					 * follows */
	uint64_t nr_events, nr_before, nr_unknown, nr_bad;
	uint64_t nr_looked_at, nr_crowded;	/* number of segments searched for blocks; number of
						 * blocks with too many segments */
	uint64_t made_bytes, refused_bytes;	/* totals, which are INT64_MAX at most */
	uint64_t nr_totals, nr_wrong_totals;	/* number of events that have the allocator's own
						 * total; number of these totals that differ
						 * from the heap's sum */
	uint64_t nr_wrong_reserved;
};

#define HEAP_MAX_FAILURES	1000

void heap__init(struct heap *h, uint32_t first_proc);
void heap__exit(struct heap *h);

/* Begins the next pass over the events. */
void heap__start(struct heap *h, enum heap_pass pass);

/* Finds or adds the place of @gpu, which is an index in gpus.list, or NO_INDEX for the host. */
int heap__place(struct heap *h, uint32_t gpu, uint32_t *place);

/* Says in advance roughly how many events of @proc will be counted. Return: 0 or -ENOMEM. */
int heap__expect(struct heap *h, uint32_t proc, uint64_t nr);

/* Announces another file, which has the process's memory after @time_ns. Return: 0 or -ENOMEM. */
int heap__until(struct heap *h, uint32_t proc, uint64_t time_ns);

/*
 * Counts an event of @proc. heap__event() takes it later, unless options leave it out. Return: 0 or
 * -ENOMEM.
 */
int heap__count(struct heap *h, uint32_t proc);

/*
 * Renumbers the GPUs of all places. @gpus: the new index, for each old index. Return: 0 or -ENOMEM.
 */
int heap__move_places(struct heap *h, const uint32_t *gpus);

/* Takes the next event of a process. Return: 0 or -ENOMEM. */
int heap__event(struct heap *h, const struct heap_event *e);

/*
 * Ends a process: notes all memory that the process has not freed, and then removes this memory.
 * Return: 0 or -ENOMEM.
 */
int heap__end_process(struct heap *h, uint32_t proc, uint64_t time_ns);

/*
 * Drops all data of a process, whose number may be reused; only in HEAP_KEEP. Return: 0 or -ENOMEM.
 */
int heap__forget_process(struct heap *h, uint32_t proc);

/* Return: whether the call path allocates segments in @space. */
bool heap__has_segments_of(const struct heap *h, uint8_t space, uint32_t path_id);

/* Looks at one allocation. @idx: index in heap.allocs. Return: 0 to continue */
typedef int (*heap_alloc_fn)(void *ctx, const struct heap_alloc *a, uint32_t idx);

/*
 * Calls @fn for all live allocations of a process, in no order. Return: 0, or the first result of
 * @fn that is not 0.
 */
int heap__each(const struct heap *h, uint32_t proc, heap_alloc_fn fn, void *ctx);

/*
 * Ends the pass: notes memory of processes that still run when the recording ends. Return: 0 or
 * -ENOMEM.
 */
int heap__finish(struct heap *h, uint64_t time_ns);

/* Return: whether the moment was reached. Sets *@time_ns to its time, which may differ by place. */
bool heap__moment(const struct heap *h, const struct heap_place *p, enum heap_moment moment,
		  uint64_t *time_ns);

/* Adds each holder's memory at a moment to the element of @parts for the holder's place. */
void heap__parts_at(const struct heap *h, enum heap_moment moment, struct heap_parts *parts);

/*
 * Return: the index in p->track of the point with the levels at h->begin_ns, or of the first point.
 */
size_t heap_place__first_point(const struct heap *h, const struct heap_place *p);

/*
 * Return: how much of the place the processes had reserved at @time_ns; approximate where events
 * are dense.
 */
uint64_t heap__reserved_at(const struct heap *h, const struct heap_place *p, uint64_t time_ns);

/* Sets the sum of a holder at a moment. */
void holder__set(const struct heap *h, struct holder *holder, enum heap_moment moment,
		 struct heap_sum sum);

/* Return: the sum of a holder at a moment. */
struct heap_sum holder__at(const struct heap *h, const struct holder *holder,
			   enum heap_moment moment);

/* How a sum of holders has grown in the second half of the events. */
struct heap_growth {
	unsigned int nr_parts;		/* number of parts of the second half that left memory
					 * allocated, HEAP_GROWTH_PARTS at most */
	uint64_t bytes;			/* sum of the bytes that these parts left allocated, without
					 * the part that left most */
};

#define HEAP_GROWTH_PARTS	(HEAP_PARTS / 2 - 1)

/**
 * heap_growth__of - how steadily memory has grown
 * @low: for each part, the fewest bytes that were live in it; for several holders, the sum
 *
 * Memory counts as staying if it, or as much other memory, is held until the last part begins. The
 * first half, in which programs fill their caches, is left out. The last part, in which programs
 * free memory as they end, is left out, too.
 */
struct heap_growth heap_growth__of(const uint64_t low[HEAP_PARTS]);

#endif /* MERGE_HEAP_H */
