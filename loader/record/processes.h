/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * processes.h - process images, their shims' counters, and the tables of each image
 *
 * Each process has its own tables for all data that grow with its activity. The tables are bounded
 * (bounds.h), and freed after the process has ended. So no process takes memory away from the
 * others.
 */
#ifndef XPU_LOADER_PROCESSES_H
#define XPU_LOADER_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/bounds.h"
#include "base/numbers.h"
#include "base/entry_table.h"
#include "base/shim_thread.h"
#include "util.h"
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

/* Ended threads whose last records may still come. */
struct threads_ended {
	ARRAY(struct { uint64_t time_ns; uint32_t id; }) latest;	/* sorted by time */
	uint32_t nr_settled;		/* number of threads that ended since the last sweep and
					 * will send no more records */
};

struct process {
	UT_hash_handle hh;
	uint32_t proc_id, pid;
	char comm[XPU_COMM_LEN];
	struct process *python_from;	/* the image whose interpreter this image uses, or NULL */
	uint32_t nr_python_to;		/* number of images that use this image's interpreter */
	bool has_python;
	struct xpu_python python;
	uint64_t start_ns;		/* when the image began */
	struct numbers maps[NR_MAPS];
	struct threads_ended threads_ended;	/* see threads__end() */
	uint32_t other_threads;		/* id shared by threads beyond the limit; 0: none */
	bool forked;			/* a new process, not a new image of a counted process */
	bool attached;			/* the process and its counters are older than the
					 * recording */
	bool failed;			/* the shim reported that it cannot record the process */
	bool gone;			/* exited, or replaced by another image of the process */
	bool ended;			/* ended before the detach */
	bool settled;			/* gone so long that no more records come */
	bool dropped;			/* freed, except the interpreter that nr_python_to images
					 * use */
	uint64_t gone_ns, gone_round;
	struct process *next_gone;
	uint64_t stopped_ns;		/* when the process's recording stopped; 0: it did not */
	uint64_t nr_launches;		/* number of received launches */
	uint64_t nr_ranges;		/* number of received events of NVTX ranges */
	uint64_t nr_allocs;		/* number of received memory events */
	uint64_t nr_batches;
	uint64_t nr_untold;		/* number of launches whose call path is still undefined */
	uint64_t nr_malformed;		/* number of entries that no shim writes */
	uint64_t nr_beyond;		/* number of launches and other items beyond a limit */
	uint64_t nr_no_memory;		/* number of launches dropped because memory ran out */
	uint64_t nr_messages;
	uint64_t chain_bytes, code_bytes;	/* bytes written so far */
	struct xpu_record_counters first, counters;
	struct shim_thread shim;	/* used only after the detach */
};

/*
 * Fills *@loss with the losses on the way from an image to the recorder. The function pointer may
 * be NULL.
 */
typedef void (*processes_loss_fn)(void *ctx, uint32_t proc_id, struct xpu_loss *loss);

/* Makes an empty set of processes. Return: NULL if memory runs out. */
struct processes *processes__new(struct writer *w, processes_loss_fn loss, void *ctx);
void processes__free(struct processes *ps);

/*
 * Set the times of attach and detach: see recorder__attached() and recorder__detaching().
 */
void processes__attached(struct processes *ps, uint64_t time_ns);
void processes__detaching(struct processes *ps, uint64_t time_ns);

/* Return: the image, added if it is new; NULL if memory runs out. */
struct process *processes__get(struct processes *ps, uint32_t proc_id);

/* Return: the latest image of @pid that is not gone, or NULL. */
struct process *processes__living(const struct processes *ps, pid_t pid);

/* Handle the beginning and the end of an image. */
void processes__start(struct processes *ps, const struct xpu_record_process *r);
void processes__exit(struct processes *ps, const struct xpu_record_process_exit *r);

/**
 * processes__drained - note that the rings have no more records from before the last call
 * @now_ns: CLOCK_MONOTONIC
 * @keep_threads: keep the threads and stacks of processes that have ended
 *
 * Frees the tables of processes that ended so long ago that their last records have arrived.
 */
void processes__drained(struct processes *ps, uint64_t now_ns, bool keep_threads);

/* Checks which processes no longer exist, after exit records were lost. */
void processes__look_for_ends(struct processes *ps, uint64_t now_ns);

/* Reads the shim's counters in a batch, and prints the batch's message to the user. */
void processes__batch(struct processes *ps, const struct xpu_record_batch *batch);

/* Whether an event that @p logged at @time_ns belongs to the recording. */
bool processes__is_after_attach(const struct processes *ps, const struct process *p,
				uint64_t time_ns);
bool processes__is_before_detach(const struct processes *ps, uint64_t time_ns);

/*
 * Return: how many processes may still send device work: their shims have not reported that
 * everything is sent.
 */
unsigned int processes__nr_awake(const struct processes *ps);

/*
 * Called repeatedly, for the first time right after the detach. Return: how many of the processes
 * that processes__nr_awake() counts have not had enough time since the first call to send their
 * last records. @tell: print a warning for each of these processes
 */
unsigned int processes__nr_late(struct processes *ps, uint64_t now_ns, bool tell);

/* Computes the statistics from the shims' last counters and the received records. */
void processes__stats(struct processes *ps, struct recorder_stats *stats);

/* Return: how many launches of living processes have a call path that is still undefined. */
uint64_t processes__nr_untold(const struct processes *ps);

/* Return: how many malformed entries, which no shim makes, all processes have sent so far. */
uint64_t processes__nr_malformed(const struct processes *ps);
void processes__add_malformed(struct processes *ps, struct process *p, uint64_t nr);

/* ---- tables of an image ---------------------------------------------------------------------- */

/* Return: the address of the value, valid until the next processes__add(), or NULL. */
static inline uint64_t *process__find(const struct process *p, enum process_map map,
				      struct numbers_key key)
{
	return numbers__find(&p->maps[map], key);
}

/* Adds @key, which must be new; @value: not 0. Return: 0, -ENOSPC beyond a limit, or -ENOMEM. */
int processes__add(struct processes *ps, struct process *p, enum process_map map,
		   struct numbers_key key, uint64_t value);

/*
 * processes__remove() removes @key, if it exists. processes__sift() removes the entries that @keep
 * refuses, or none if memory runs out.
 */
void processes__remove(struct processes *ps, struct process *p, enum process_map map,
		       struct numbers_key key);
void processes__sift(struct processes *ps, struct process *p, enum process_map map,
		     bool (*keep)(void *ctx, const struct numbers_slot *slot), void *ctx);

/* Empties one map of @p. */
void processes__forget(struct processes *ps, struct process *p, enum process_map map);

#endif /* XPU_LOADER_PROCESSES_H */
