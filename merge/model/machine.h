/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * machine.h - processes, their names and their executable mappings over time
 *
 * The loader hands on perf's sideband events (mmap, comm, fork, exit), keyed by pid and time and
 * only roughly in order. They are collected with machine__add_event(), sorted once by
 * machine__finish(), and then asked about.
 *
 * A struct image is the address space of one process from its fork or exec on. What an address
 * means in it may change: after dlclose and dlopen another file may lie there. Each time a new
 * mapping covers a different older one begins a new remap epoch of the image; within an epoch an
 * address means one thing. So (image, epoch, address) names a place exactly, and nearly every
 * image has one epoch only.
 */
#ifndef MERGE_MACHINE_H
#define MERGE_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "xpu_record.h"
#include "model/maps.h"
#include "util.h"

struct image {
	uint32_t pid;
	uint32_t depth;				/* forks since the last exec */
	uint64_t time_ns;			/* of its fork or exec */
	struct image *parent;			/* what it inherited maps from, or NULL */
	uint32_t parent_epoch;			/* ... as of this epoch */
	struct maps live;
	ARRAY(struct map) dead;			/* replaced ones, by epoch_to */
	ARRAY(uint64_t) epochs;			/* when epochs 1, 2, ... began */
};

/* One process image as the BPF side names it. */
struct proc {
	uint32_t proc_id;
	uint32_t pid;				/* 0: no PROCESS record was seen */
	uint32_t parent_proc_id;
	uint16_t how;				/* XPU_MISC_PROCESS_* */
	bool exited;
	uint32_t exit_code;			/* as wait(2) encodes it */
	uint64_t time_ns;
	uint64_t exit_ns;
	uint64_t seen_ns;			/* the last time it launched or sent something */
	const char *comm;			/* at its start; interned */
	const char *name;			/* its last; machine__next() keeps it */
	uint32_t recording;			/* which one it is of */
};

struct machine_task;
struct machine_pid;

struct machine {
	struct strpool *strings;		/* the caller's */
	ARRAY(struct proc) procs;
	struct idmap procs_by_id;		/* those of this recording */
	uint32_t recording;

	struct machine_event {
		uint64_t time_ns;
		uint64_t seq;
		const struct xpu_record *rec;
	} *events;
	size_t nr_events, cap_events;

	uint64_t nr_crowded;			/* replaced maps beyond what an image keeps */

	struct machine_task *tasks;		/* threads by (pid, tid) */
	struct machine_pid *pids;
	struct arena arena;
};

void machine__init(struct machine *m, struct strpool *strings);
void machine__exit(struct machine *m);

/*
 * Goes on with another recording, whose ids and pids mean others: forgets names, images and what
 * proc_ids mean, but keeps @m->procs.
 */
void machine__next(struct machine *m);

/* Takes a MMAP, COMM, FORK or EXIT record, which must stay valid. Return: 0 or -ENOMEM. */
int machine__add_event(struct machine *m, const struct xpu_record *rec);
int machine__add_process(struct machine *m, const struct xpu_record_process *rec);
int machine__add_process_exit(struct machine *m, const struct xpu_record_process_exit *rec);

/* Puts the events in order and builds images and names from them. Return: 0 or -ENOMEM. */
int machine__finish(struct machine *m);

/**
 * machine__proc - the process that a record means
 * @m: the machine
 * @proc_id: as recorded
 * @idx: index in @m->procs
 *
 * A proc_id without PROCESS record gets a process of pid 0, of which nothing is known.
 *
 * Return: 0 or -ENOMEM.
 */
int machine__proc(struct machine *m, uint32_t proc_id, uint32_t *idx);

/* Return: the image of @pid at @time_ns, the earliest if that is before all of them, or NULL. */
struct image *machine__image(struct machine *m, uint32_t pid, uint64_t time_ns);

/**
 * machine__comm - the name of a thread at a time
 * @m: the machine
 * @pid: process
 * @tid: thread
 * @time_ns: CLOCK_MONOTONIC
 * @from, @to: the span of time, [from, to), in which the answer is the same
 *
 * Return: an interned name, or NULL if no event told it.
 */
const char *machine__comm(const struct machine *m, uint32_t pid, uint32_t tid, uint64_t time_ns,
			  uint64_t *from, uint64_t *to);

/* Return: the remap epoch of @image at @time_ns. */
uint32_t image__epoch(const struct image *image, uint64_t time_ns);

/* Return: the mapping of @addr in that epoch, inherited ones included, or NULL. */
struct map *image__find_map(struct image *image, uint32_t epoch, uint64_t addr);

#endif /* MERGE_MACHINE_H */
