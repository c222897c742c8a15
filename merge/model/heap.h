/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * heap.h - who holds memory: the allocations that are live, and sums by call path at moments
 *
 * Allocations come in the order of their numbers; each is kept while it is live, and no longer. Sums are
 * kept by holder: a call path, a thread and a kind of memory on a device. A moment, such as the peak, is
 * a copy of all sums that is made a holder at a time: when a holder changes for the first time after the
 * moment, it notes its sum of before. So the peak costs no search, and a new one only makes a number rise.
 *
 * Memory that CUDA gave to the process is reserved. A framework's allocator cuts blocks from some of it,
 * its segments. Struct heap_parts has the parts of all memory and the names of their sums. An allocation is
 * known as a segment only when a block is found in it, so a heap is filled twice: HEAP_FIND notes the call
 * paths that asked CUDA for segments, and HEAP_SUM knows them from the beginning, and those in which no
 * block ever was. HEAP_KEEP knows of what is live, and of those call paths.
 */
#ifndef MERGE_HEAP_H
#define MERGE_HEAP_H

#include <stdbool.h>
#include <stdint.h>

#include "model/addresses.h"
#include "util.h"
#include "xpu_record.h"

#define HEAP_PARTS	16		/* of a process's events, as many in each, to see what grows */

enum heap_pass { HEAP_FIND, HEAP_SUM, HEAP_KEEP };

/* Moments at which sums are kept. */
enum heap_moment {
	HEAP_PEAK,			/* most is used on all devices together */
	HEAP_DEVICE_PEAK,		/* on the holder's device */
	HEAP_ASKED,			/* heap.at_ns, or the last failure */
	HEAP_NR_MOMENTS
};

struct heap_sum {
	uint64_t bytes;
	int64_t nr;
};

/* The kinds of memory, each the name of a leaf. */
enum heap_kind {
	HEAP_DEVICE, HEAP_MANAGED, HEAP_POOL, HEAP_PINNED, HEAP_REGISTERED, HEAP_PHYSICAL,
	HEAP_ARRAY, HEAP_BLOCK, HEAP_FRAGMENTATION, HEAP_BEFORE, HEAP_GRAPHS, HEAP_UNUSED, HEAP_REST,
	HEAP_FAILED,
	HEAP_NR_KINDS
};

/*
 * The parts of a place's memory. Each kind of memory that is held belongs to one part, so the call paths of a
 * moment sum to heap_parts__held(). Every output names these parts and sums in this way.
 */
struct heap_parts {
	uint64_t blocks;		/* that allocators cut from their segments */
	uint64_t outside;		/* of allocators: other memory, asked for or graphs' */
	uint64_t fragmentation;		/* what no block has of allocators' segments */
	uint64_t unused;		/* what CUDA's pools have reserved and do not use */
	uint64_t rest;			/* all else that anybody has of the device */
};

/* Adds bytes, modulo 2^64, to the part that has that kind of memory. */
void heap_parts__add(struct heap_parts *p, enum heap_kind kind, uint64_t bytes);

/* Return: blocks and memory outside of allocators. */
uint64_t heap_parts__used(const struct heap_parts *p);

/* Return: what CUDA has given to the processes: used, fragmentation and unused. */
uint64_t heap_parts__reserved(const struct heap_parts *p);

/* Return: all that has a call path, or a name in its place: reserved, and the rest. */
uint64_t heap_parts__held(const struct heap_parts *p);

/* Return: "block", "fragmentation", ... */
const char *heap_kind__name(enum heap_kind kind);

/* Whether the program has asked for memory of that kind, and can free it. */
bool heap_kind__is_programs(enum heap_kind kind);

/* Whether memory of that space is held by handles and mappings, and freed with the last of them. */
bool heap_space__is_counted(uint8_t space);

struct holder_key {
	uint32_t chain, thread;
	const char *comm;
	uint32_t place;			/* index in heap.places */
	uint32_t kind;			/* enum heap_kind */
};

struct holder {
	struct holder_key key;
	struct heap_sum live;
	struct heap_sum made;		/* in all */
	struct heap_sum never_freed;	/* at the end of its process */
	struct heap_sum unfinished;	/* of these: the process went on behind the recording */
	uint64_t nr_freed, lived_ns;	/* of those that were freed */
	uint32_t version[HEAP_NR_MOMENTS];
	struct heap_sum at[HEAP_NR_MOMENTS];
	uint64_t first_ns, last_ns;	/* when the first and the last of these were made */
	uint64_t low[HEAP_PARTS];	/* the least that was live in each part, up to part */
	uint8_t part;
};

struct heap_level {
	uint64_t now, peak, peak_ns;
};

/* The levels of a place from a time on; where events are many, the highest of a short while. */
struct heap_point {
	uint64_t time_ns, used, reserved;
};

/* CUDA said how much of a device is used, by anybody: so much more than the processes had reserved of it. */
struct heap_asked {
	uint64_t time_ns, rest;
};

/* A device, or the host's pinned memory. */
struct heap_place {
	uint32_t gpu;			/* index in gpus.list; NO_INDEX: the host */
	struct heap_parts parts;	/* now */
	struct heap_level used, reserved, blocks, segments;
	uint32_t version[HEAP_NR_MOMENTS];
	uint32_t rest;			/* holder of all that is used of it and not recorded; or NO_INDEX */
	ARRAY(struct heap_asked) asked;	/* by time */
	bool has_peak;			/* as the heap's own, of the place */
	ARRAY(struct heap_point) track;	/* by time */
	struct heap_point skipped;	/* after the last one of track */
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
	uint64_t free_bytes;		/* UINT64_MAX: not known */
	uint64_t used, reserved;	/* of its place */
	uint32_t result;
	struct holder_key key;
};

/* An event, with its ids resolved. */
struct heap_event {
	uint64_t order, time_ns;	/* on the common clock */
	uint64_t address, bytes;
	uint32_t proc;
	uint32_t path_id;		/* the recording's */
	uint32_t extra;
	uint32_t thread_id, range_id;	/* the recording's, too */
	uint16_t device;
	uint8_t what, space;
	bool carried;			/* it was made before the recording, and its path is known */
	struct holder_key key;		/* its kind is set by the heap */
};

/* One that is live: memory of CUDA, a mapping of it, or a block. */
struct heap_alloc {
	uint64_t address, bytes, order, time_ns;
	uint64_t used;			/* of a segment: what blocks have of it */
	uint32_t proc, place, holder;	/* holder: NO_INDEX: its memory is not its own */
	uint32_t path_id, thread_id, range_id;
	uint32_t target;		/* of a mapping: the physical memory, or NO_INDEX; of one that is
					 * not used: the next of these */
	uint32_t nr_refs, nr_handles;	/* of counted memory: handles plus mappings; handles only */
	uint32_t owner, next, prev;	/* the context that has it, and the others that this one has */
	uint32_t hash, context;
	uint16_t device;
	uint8_t space;
	bool live, findable, is_segment;
	bool is_apart;			/* a block whose segments are not looked for */
	bool carried;
};

/* All that is live of a process and of one of its contexts, or of none. */
struct heap_owner {
	uint32_t first;			/* index in allocs */
	uint32_t next;			/* of the process's others */
};

/* An allocator's part of a device, in one process. */
struct heap_allocator {
	uint32_t place;
	uint64_t blocks, segments;
	uint64_t uncovered;		/* bytes of blocks that are in no known segment */
	uint64_t blocks_before, segments_before;	/* of the attach */
	uint64_t fragmentation_before;	/* what no block has of the segments of before the attach */
	/* Holders of these blocks and of that fragmentation, if it has totals and is late. */
	uint32_t before, before_fragmentation;
	bool has_totals, has_before;
};

/* Memory that CUDA has for a process on a device without a call for each piece, as it was last asked. */
struct heap_cuda {
	uint32_t place, holder;
	uint64_t bytes;
	uint8_t space;
};

struct heap_proc {
	uint32_t first_owner;		/* of them all */
	uint32_t context, owner;	/* that was looked for last; NO_INDEX: none was */
	struct addresses segments;	/* and what may be one: indices in allocs */
	ARRAY(struct heap_allocator) allocators;
	ARRAY(struct heap_cuda) cuda;
	uint64_t handle, handle_order;	/* of the next mapping */
	uint64_t until_ns;		/* its memory at later moments is the next file's; 0: there is none */
	uint64_t nr_expected, nr_events;
	bool late;
	bool ended;
};

struct heap {
	enum heap_pass pass;
	ARRAY(struct heap_alloc) allocs;
	uint32_t free_alloc;
	uint32_t *slots;		/* of live allocations, by address */
	size_t nr_slots, nr_live;
	uint64_t secret;
	ARRAY(struct heap_owner) owners;
	struct idmap by_context;	/* of owners: process and context */
	ARRAY(struct heap_proc) procs;	/* by process, from first_proc on */
	uint32_t first_proc;
	ARRAY(struct holder) holders;
	struct hashes by_key;
	ARRAY(struct heap_place) places;
	struct idmap by_gpu;
	struct idmap segment_paths;	/* ids of the call paths that asked for segments */
	struct heap_level used;		/* of all devices */
	uint32_t version[HEAP_NR_MOMENTS];
	ARRAY(struct heap_failure) failures;	/* the last HEAP_MAX_FAILURES at most */
	uint64_t nr_failures, failed_ns;	/* when the last one was */
	bool has_asked, asked_is_failure;
	uint64_t start_ns;		/* moments are counted from here */
	const uint64_t *at_ns;		/* rising; the last is HEAP_ASKED */
	size_t nr_at, next_at;
	ARRAY(struct heap_instant) instants;	/* every place, at each moment */
	uint64_t from_ns, to_ns;	/* of all events */
	unsigned int part;		/* in which the process of the current event is */
	bool at_end;			/* a process ends: its frees are none of the program's */
	bool at_finish;			/* it goes on behind the recording */
	uint64_t recording;		/* those with one number are of files of one recording ... */
	uint64_t file;			/* ... in this order */
	bool is_last, has_peak;		/* among them */
	uint64_t until_ns;		/* the last of these of its processes; UINT64_MAX: no file follows */
	uint64_t nr_events, nr_before, nr_unknown, nr_bad;
	uint64_t nr_looked_at, nr_crowded;	/* segments for blocks; blocks with too many of them */
	uint64_t made_bytes, refused_bytes;	/* in all: INT64_MAX at most */
	uint64_t nr_totals, nr_wrong_totals;	/* compared with allocators' own totals */
	uint64_t nr_wrong_reserved;
};

#define HEAP_MAX_FAILURES	1000

void heap__init(struct heap *h, uint32_t first_proc);
void heap__exit(struct heap *h);

/* Begins with the next pass. */
void heap__start(struct heap *h, enum heap_pass pass);

/* Finds or makes the place of a GPU, an index in gpus.list, or of the host, NO_INDEX. */
int heap__place(struct heap *h, uint32_t gpu, uint32_t *place);

/* So many events of a process will be counted, about. Return: 0 or -ENOMEM. */
int heap__expect(struct heap *h, uint32_t proc, uint64_t nr);

/* Another file follows, which has the process's memory from there on. Return: 0 or -ENOMEM. */
int heap__until(struct heap *h, uint32_t proc, uint64_t time_ns);

/* Counts an event of a process, for heap__event() to take unless it is left out. Return: 0 or -ENOMEM. */
int heap__count(struct heap *h, uint32_t proc);

/* Gives each place the GPU that its own has become: @gpus, by index. Return: 0 or -ENOMEM. */
int heap__move_places(struct heap *h, const uint32_t *gpus);

/* Takes the next event of a process. Return: 0 or -ENOMEM. */
int heap__event(struct heap *h, const struct heap_event *e);

/* A process has ended: all that it has not freed is noted, and gone. Return: 0 or -ENOMEM. */
int heap__end_process(struct heap *h, uint32_t proc, uint64_t time_ns);

/* In HEAP_KEEP: nothing of the process is kept, and its number may be another one's. Return: 0 or -ENOMEM. */
int heap__forget_process(struct heap *h, uint32_t proc);

/* Whether memory of that space which was asked for from there has been seen to be segments. */
bool heap__has_segments_of(const struct heap *h, uint8_t space, uint32_t path_id);

/* @idx: in heap.allocs. Return: 0 to go on */
typedef int (*heap_alloc_fn)(void *ctx, const struct heap_alloc *a, uint32_t idx);

/* Calls @fn for all that is live of a process, in no order. Return: 0, or the other result of @fn. */
int heap__each(const struct heap *h, uint32_t proc, heap_alloc_fn fn, void *ctx);

/* All has been taken: notes what processes that go on have not freed, and hold on. Return: 0 or -ENOMEM. */
int heap__finish(struct heap *h, uint64_t time_ns);

/* Return: whether the moment has come; sets *@time_ns to when that was, for holders of the place. */
bool heap__moment(const struct heap *h, const struct heap_place *p, enum heap_moment moment,
		  uint64_t *time_ns);

/* Sums what all holders have at a moment: into @parts, by place. */
void heap__parts_at(const struct heap *h, enum heap_moment moment, struct heap_parts *parts);

/* Return: what the processes had reserved of the place then; about that where events are many. */
uint64_t heap__reserved_at(const struct heap *h, const struct heap_place *p, uint64_t time_ns);

/* Makes that the sum of a holder at a moment. */
void holder__set(const struct heap *h, struct holder *holder, enum heap_moment moment, struct heap_sum sum);

/* Return: the sum of a holder at a moment. */
struct heap_sum holder__at(const struct heap *h, const struct holder *holder, enum heap_moment moment);

/* How a sum of holders has grown in the second half of the events. */
struct heap_growth {
	unsigned int nr_parts;		/* HEAP_GROWTH_PARTS at most: in which some came to stay */
	uint64_t bytes;			/* that came to stay in these, without the part in which most did */
};

#define HEAP_GROWTH_PARTS	(HEAP_PARTS / 2 - 1)

/**
 * heap_growth__of - how steadily memory has grown
 * @low: of each part, the least that was live in it, in bytes; of several holders: the sum of theirs
 *
 * Memory stays if it is held, or as much in its place, from a part on until the last part begins. The first
 * half is left out, in which programs fill their caches, and the last part, in which they free as they end.
 */
struct heap_growth heap_growth__of(const uint64_t low[HEAP_PARTS]);

#endif /* MERGE_HEAP_H */
