/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * recorder.h - turns the ring's records into those of xpu.data
 *
 * Interns threads and call chains, so that a launch is 16 bytes on disk, passes batches on, and
 * keeps the accounts that xpuload prints at the end.
 */
#ifndef XPU_LOADER_RECORDER_H
#define XPU_LOADER_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/recorder_stats.h"
#include "xpu_record.h"
#include "xpu_time.h"
#include "xpu.h"

struct recorder;
struct writer;

/* Functions that the recorder calls as records come by; each may be NULL. */
struct recorder_listener {
	/* A process image begins to be recorded; a process ends. */
	void (*process)(void *ctx, const struct xpu_record_process *r);
	void (*process_exit)(void *ctx, const struct xpu_record_process_exit *r);
	/* An image reports where its interpreter is. */
	void (*python)(void *ctx, uint32_t proc_id, const struct xpu_python *python);
	/* Asks what could not be sent of an image; *@loss is all 0 before. */
	void (*loss)(void *ctx, uint32_t proc_id, struct xpu_loss *loss);
	void *ctx;
};

/*
 * @sample_period_ns: the time that each CPU sample stands for; @ranges, @memory: NVTX
 * ranges and events of memory are recorded
 */
struct recorder *recorder__new(struct writer *w, uint32_t sample_period_ns, bool ranges, bool memory,
			       const struct recorder_listener *listener);
void recorder__free(struct recorder *rec);

/*
 * Launches are recorded until the first probe is detached; those of processes that ran before the
 * recording, from when all probes were attached. Logs also hold earlier and later launches. A
 * process that ends after the detach counts as alive at the detach.
 */
void recorder__attached(struct recorder *rec, uint64_t time_ns);
void recorder__detaching(struct recorder *rec, uint64_t time_ns);

/**
 * recorder__record - take one record from the ring
 * @data, @size: as the ring gave them; from our own programs, but checked
 */
void recorder__record(struct recorder *rec, const void *data, size_t size);

/*
 * @pid has mapped an interpreter at @time_ns. Its image, or the image that begins then, may not be
 * reported yet.
 */
void recorder__found_python(struct recorder *rec, uint32_t pid, uint64_t time_ns,
			    const struct xpu_python *python);

/*
 * The kernel has told that a thread has ended; all its records have been taken, but what the shim sends for
 * it. Programs that start a thread for each request have many: what is kept for one goes with it.
 */
void recorder__thread_exit(struct recorder *rec, uint32_t pid, uint32_t tid, uint64_t time_ns);

/* Writes a text that the recorder knows of a process, other than from the process itself. */
void recorder__label(struct recorder *rec, uint32_t proc_id, enum xpu_label label, const char *text);

/* Writes the launches and samples taken so far as records; after every round of draining. */
void recorder__flush(struct recorder *rec);

/*
 * All records that were in the rings at the last call have been taken: frees the tables of
 * processes that ended long before. @now_ns: CLOCK_MONOTONIC
 */
void recorder__drained(struct recorder *rec, uint64_t now_ns);

/* Writes the records that have waited for the end. */
void recorder__finish(struct recorder *rec);

/*
 * Ends a file of several: what comes from here on is for the next one, and refers to no record before
 * but to definitions. All that was in the rings at @time_ns has been taken.
 */
void recorder__cut(struct recorder *rec, uint64_t time_ns);

/* Return: how many launches have a call path that is not defined so far. */
uint64_t recorder__nr_untold(const struct recorder *rec);

/*
 * Closes, at @end_ns, the account of a thread that lives on; at the end, when no more records come.
 */
void recorder__living_thread(struct recorder *rec, const struct xpu_thread_state *t,
			     uint64_t end_ns);

/*
 * Writes a LOST record for what @kind has lost since the last call: @total is absolute.
 * recorder__flush() writes XPU_LOST_MALFORMED, which the recorder counts itself. Return: whether it has
 * lost more.
 */
bool recorder__lost(struct recorder *rec, enum xpu_lost_kind kind, uint64_t total);

/* The ends of processes may have been lost: looks which are gone. */
void recorder__look_for_ends(struct recorder *rec);

/*
 * Return: how many processes may still send device work: their shims have not said that all is
 * sent.
 */
unsigned int recorder__nr_awake(const struct recorder *rec);

/* Return: how many launches have been received; looks at every process. */
uint64_t recorder__nr_launches(struct recorder *rec);

/* Computes the statistics from the shims' last counters. To be called once, at the end. */
void recorder__stats(struct recorder *rec, struct recorder_stats *stats);

#endif /* XPU_LOADER_RECORDER_H */
