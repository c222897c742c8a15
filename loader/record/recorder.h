/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * recorder.h - from the ring's records to those of xpu.data
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

/* What is told of as it comes by; each may be NULL. */
struct recorder_listener {
	/* A process image begins to be recorded; a process ends. */
	void (*process)(void *ctx, const struct xpu_record_process *r);
	void (*process_exit)(void *ctx, const struct xpu_record_process_exit *r);
	/* Where the interpreter of an image is. */
	void (*python)(void *ctx, uint32_t proc_id, const struct xpu_python *python);
	/* Asks what could not be sent of an image; *@loss is all 0 before. */
	void (*loss)(void *ctx, uint32_t proc_id, struct xpu_loss *loss);
	void *ctx;
};

/* @sample_period_ns: what each CPU sample stands for; @ranges: those of NVTX are recorded */
struct recorder *recorder__new(struct writer *w, uint32_t sample_period_ns, bool ranges,
			       const struct recorder_listener *listener);
void recorder__free(struct recorder *rec);

/*
 * Launches are recorded up to when the first probe goes, and those of processes that ran before
 * from when all probes were there. Logs hold some of before, and of after. What ends after the
 * detach was there at the detach, for the recording.
 */
void recorder__attached(struct recorder *rec, uint64_t time_ns);
void recorder__detaching(struct recorder *rec, uint64_t time_ns);

/**
 * recorder__record - take one record from the ring
 * @data, @size: as the ring gave them; ours, but checked
 */
void recorder__record(struct recorder *rec, const void *data, size_t size);

/*
 * @pid has mapped an interpreter at @time_ns; its image, or that which begins then, is not told of
 * yet.
 */
void recorder__found_python(struct recorder *rec, uint32_t pid, uint64_t time_ns,
			    const struct xpu_python *python);

/* Writes the launches and samples taken so far as records; after every round of draining. */
void recorder__flush(struct recorder *rec);

/*
 * All that was in the rings when this was called last is here: what belongs to processes that ended
 * long before is freed. @now_ns: CLOCK_MONOTONIC
 */
void recorder__drained(struct recorder *rec, uint64_t now_ns);

/* Writes what has waited for the end. */
void recorder__finish(struct recorder *rec);

/* At the end, when nothing more comes: time off the CPU as the kernel has summed it up. */
void recorder__off_sum(struct recorder *rec, const struct xpu_off_key *key,
		       const struct xpu_off_sum *sum);

/* The same: a thread that lives on after @end_ns, where its account is closed. */
void recorder__living_thread(struct recorder *rec, const struct xpu_thread_state *t,
			     uint64_t end_ns);

/*
 * Writes a LOST record for what @kind has lost since the last call: @total is absolute. What the
 * recorder itself knows of, XPU_LOST_MALFORMED, comes with recorder__flush().
 */
void recorder__lost(struct recorder *rec, enum xpu_lost_kind kind, uint64_t total);

/* How many processes have device work in hand that they have not said is all. */
unsigned int recorder__nr_awake(const struct recorder *rec);

/* Computed from what the shims said last. At the end, once. */
void recorder__stats(struct recorder *rec, struct recorder_stats *stats);

#endif /* XPU_LOADER_RECORDER_H */
