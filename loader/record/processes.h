/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * processes.h - process images, what their shims say of themselves, and what is known of each
 *
 * All tables that grow with what a process does are its own: they are bounded (bounds.h) and go when
 * it has gone. So what one process does costs the others nothing.
 */
#ifndef XPU_LOADER_PROCESSES_H
#define XPU_LOADER_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/bounds.h"
#include "base/map.h"
#include "base/table.h"
#include "xpu_record.h"
#include "xpu_time.h"
#include "xpu.h"

struct processes;
struct recorder_stats;
struct writer;

enum process_map {
#define LIMIT_NAME(name, process, all, floor)	MAP_##name,
	LIMIT_ROWS(LIMIT_NAME)
#undef LIMIT_NAME
	NR_MAPS
};

struct process {
	UT_hash_handle hh;
	uint32_t proc_id, pid;
	char comm[XPU_COMM_LEN];
	struct process *python_from;	/* NULL, or the image that it has its interpreter from */
	uint32_t nr_python_to;		/* images that have it from this one */
	bool has_python;
	struct xpu_python python;
	struct map maps[NR_MAPS];
	uint32_t other_threads;		/* the id of those beyond the limit; 0: none were */
	bool forked;			/* not an exec of one that is counted already */
	bool attached;			/* ran before: its counters began before the recording */
	bool failed;			/* said that it cannot be recorded */
	bool gone;			/* exited, or another image is in its place */
	bool ended;			/* the same, before the detach */
	bool settled;			/* gone for so long that nothing more comes of it */
	bool dropped;			/* there for nr_python_to only */
	uint64_t gone_ns, gone_round;
	struct process *next_gone;
	uint64_t stopped_ns;		/* 0, or when it was recorded no further */
	uint64_t nr_launches;		/* received */
	uint64_t nr_ranges;		/* events of them */
	uint64_t nr_batches;
	uint64_t nr_untold;		/* launches whose call path is not told of so far */
	uint64_t nr_malformed;		/* entries that no shim makes */
	uint64_t nr_beyond;		/* launches and others beyond a limit */
	uint64_t nr_no_memory;		/* launches dropped for want of memory */
	uint64_t nr_messages;
	uint64_t chain_bytes, code_bytes;	/* written */
	struct xpu_record_counters first, counters;
};

/* Fills *@loss with what the BPF programs could not send of an image; it may be NULL. */
typedef void (*processes_loss_fn)(void *ctx, uint32_t proc_id, struct xpu_loss *loss);

/* Return: NULL without memory. */
struct processes *processes__new(struct writer *w, processes_loss_fn loss, void *ctx);
void processes__free(struct processes *ps);

/* See recorder__attached() and recorder__detaching(). */
void processes__attached(struct processes *ps, uint64_t time_ns);
void processes__detaching(struct processes *ps, uint64_t time_ns);

/* Return: the image, new if it was not met; NULL without memory. */
struct process *processes__get(struct processes *ps, uint32_t proc_id);

/* Return: the latest image of @pid that is not gone, or NULL. */
struct process *processes__living(const struct processes *ps, pid_t pid);

/* An image begins, or ends. */
void processes__start(struct processes *ps, const struct xpu_record_process *r);
void processes__exit(struct processes *ps, const struct xpu_record_process_exit *r);

/**
 * processes__drained - all that was in the rings when this was called last is here
 * @now_ns: CLOCK_MONOTONIC
 * @keep_threads: threads and stacks of those who are gone are still needed
 *
 * Frees what belongs to processes that have been gone for so long that nothing more comes of them.
 */
void processes__drained(struct processes *ps, uint64_t now_ns, bool keep_threads);

/* Ends of processes were lost: looks which of them are there no more. */
void processes__look_for_ends(struct processes *ps, uint64_t now_ns);

/* A batch has come: looks at the shim's counters, and passes on what it has to say to the user. */
void processes__batch(struct processes *ps, const struct xpu_record_batch *batch);

/* Whether what was logged in @p at @time_ns is for the recording. */
bool processes__is_after_attach(const struct processes *ps, const struct process *p,
				uint64_t time_ns);
bool processes__is_before_detach(const struct processes *ps, uint64_t time_ns);

/* How many have device work in hand that they have not said is all. */
unsigned int processes__nr_awake(const struct processes *ps);

/* What they have said last, and what has come of it. */
void processes__stats(struct processes *ps, struct recorder_stats *stats);

/* Entries that no shim makes, of all processes so far. */
uint64_t processes__nr_malformed(const struct processes *ps);
void processes__add_malformed(struct processes *ps, struct process *p, uint64_t nr);

/* ---- what is known of one -------------------------------------------------------------------- */

/* Return: where the value is, until the next processes__add(); NULL if there is none. */
static inline uint64_t *process__find(const struct process *p, enum process_map map,
				      struct map_key key)
{
	return map__find(&p->maps[map], key);
}

/* Adds @key, which must not be there; @value is not 0. Return: 0, -ENOSPC beyond a limit, -ENOMEM. */
int processes__add(struct processes *ps, struct process *p, enum process_map map,
		   struct map_key key, uint64_t value);

/* Forgets all of it. */
void processes__forget(struct processes *ps, struct process *p, enum process_map map);

#endif /* XPU_LOADER_PROCESSES_H */
