/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * machine.h - processes, their names and their executable mappings over time
 *
 * The loader passes on perf's sideband events (mmap, comm, fork, exit). They have a pid and a
 * timestamp, and are only roughly in order. machine__add_event() collects the events, and
 * machine__finish() sorts them once. Then the other functions can be used.
 *
 * A struct image is the address space of one process since its fork or exec. The meaning of an
 * address in it may change: after dlclose and dlopen, another file may be mapped there. A remap
 * epoch of the image begins each time that a new mapping covers an older mapping with another
 * meaning. Within an epoch an address has one meaning, so (image, epoch, address) names a place
 * exactly. Nearly every image has only one epoch.
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
	uint64_t time_ns;			/* time of the image's fork or exec */
	struct image *parent;			/* the image from which this image inherited maps,
						 * or NULL */
	uint32_t parent_epoch;			/* the maps of this epoch of the parent were
						 * inherited */
	struct maps live;
	ARRAY(struct map) dead;			/* replaced maps, in order of epoch_to */
	ARRAY(uint64_t) epochs;			/* when epochs 1, 2, ... began */
};

/* A process image, with its number from the BPF programs. */
struct proc {
	uint32_t proc_id;
	uint32_t pid;				/* 0: no PROCESS record was seen */
	uint32_t parent_proc_id;
	uint16_t how;				/* XPU_MISC_PROCESS_* */
	uint16_t apis;				/* a bit for each API that the process uses */
	bool exited;
	uint32_t exit_code;			/* exit status, as wait(2) encodes it */
	uint64_t time_ns;
	uint64_t exit_ns;
	uint64_t seen_ns;			/* the last time the process launched or sent
						 * something */
	const char *comm;			/* name at the process's start; interned */
	const char *name;			/* last name of the process; valid even after
						 * machine__next() */
	uint32_t recording;			/* number of the process's recording */
};

struct machine_task;
struct machine_pid;

struct machine {
	struct strpool *strings;		/* owned by the caller */
	ARRAY(struct proc) procs;
	struct idmap procs_by_id;		/* maps a proc_id of this recording to an index in
						 * procs */
	uint32_t recording;

	struct machine_event {
		uint64_t time_ns;
		uint64_t seq;
		const struct xpu_record *rec;
	} *events;
	size_t nr_events, cap_events;

	uint64_t nr_crowded;			/* number of replaced maps beyond IMAGE_MAX_DEAD */

	ARRAY(struct machine_task) tasks;
	struct idmap tasks_by_id;		/* maps (pid, tid) to an index in tasks */
	struct machine_pid *pids;
	struct arena arena;
};

void machine__init(struct machine *m, struct strpool *strings);
void machine__exit(struct machine *m);

/*
 * Prepares for another recording, whose ids and pids have other meanings: forgets names, images and
 * proc_ids, but keeps @m->procs.
 */
void machine__next(struct machine *m);

/* Takes a MMAP, COMM, FORK or EXIT record, which must stay valid. Return: 0 or -ENOMEM. */
int machine__add_event(struct machine *m, const struct xpu_record *rec);
int machine__add_process(struct machine *m, const struct xpu_record_process *rec);
int machine__add_process_exit(struct machine *m, const struct xpu_record_process_exit *rec);

/* Puts the events in order and builds images and names from them. Return: 0 or -ENOMEM. */
int machine__finish(struct machine *m);

/**
 * machine__proc - find the process of a record
 * @m: the machine
 * @proc_id: as in the record
 * @idx: index in @m->procs
 *
 * A proc_id without a PROCESS record gets a process of pid 0, without any data.
 *
 * Return: 0 or -ENOMEM.
 */
int machine__proc(struct machine *m, uint32_t proc_id, uint32_t *idx);

/*
 * Return: the image of @pid at @time_ns; the earliest image if the time is before all images; or
 * NULL.
 */
struct image *machine__image(struct machine *m, uint32_t pid, uint64_t time_ns);

/**
 * machine__comm - find the name that a thread had at @time_ns
 * @m: the machine
 * @pid: process
 * @tid: thread
 * @time_ns: CLOCK_MONOTONIC
 * @from, @to: set to the span of time, [from, to), for which the answer holds
 *
 * Return: an interned name; NULL if no event names the thread.
 */
const char *machine__comm(const struct machine *m, uint32_t pid, uint32_t tid, uint64_t time_ns,
			  uint64_t *from, uint64_t *to);

/* Return: the remap epoch of @image at @time_ns. */
uint32_t image__epoch(const struct image *image, uint64_t time_ns);

/* Return: the image's own or inherited mapping of @addr in @epoch, or NULL. */
struct map *image__find_map(struct image *image, uint32_t epoch, uint64_t addr);

#endif /* MERGE_MACHINE_H */
