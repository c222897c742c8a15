/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * recorder.h - turns the ring's records into records of xpu.data
 *
 * It replaces threads and call chains by ids, so that a launch takes 16 bytes on disk. It also
 * passes batches on, and keeps the counts that xpuload prints at the end.
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

/* Functions that the recorder calls for some records; each may be NULL. */
struct recorder_listener {
	/* Called when a process image begins to be recorded, and when a process ends. */
	void (*process)(void *ctx, const struct xpu_record_process *r);
	void (*process_exit)(void *ctx, const struct xpu_record_process_exit *r);
	/* Called when an image reports where its interpreter is. */
	void (*python)(void *ctx, uint32_t proc_id, const struct xpu_python *python);
	/* Called to get the losses on the way from an image to the recorder; *@loss is zeroed. */
	void (*loss)(void *ctx, uint32_t proc_id, struct xpu_loss *loss);
	void *ctx;
};

/*
 * Makes a recorder. @sample_period_ns: the time that each CPU sample stands for; @ranges, @memory:
 * whether NVTX ranges and memory events are recorded
 */
struct recorder *recorder__new(struct writer *w, uint32_t sample_period_ns, bool ranges,
			       bool memory, const struct recorder_listener *listener);
void recorder__free(struct recorder *rec);

/*
 * Set the times of attach and detach. Logs also contain launches outside of the recording, which
 * are dropped. These are launches after the first probe was detached and, in processes that ran
 * before the recording, launches before all probes were attached. A process that ends after the
 * detach counts as alive at the detach.
 */
void recorder__attached(struct recorder *rec, uint64_t time_ns);
void recorder__detaching(struct recorder *rec, uint64_t time_ns);

/**
 * recorder__record - take one record from the ring
 * @data, @size: the record as in the ring. It comes from our own BPF programs, but is checked
 *	anyway
 */
void recorder__record(struct recorder *rec, const void *data, size_t size);

/*
 * Notes that @pid has mapped an interpreter at @time_ns. The process's image, or the image that
 * begins at that time, may not have been reported yet.
 */
void recorder__found_python(struct recorder *rec, uint32_t pid, uint64_t time_ns,
			    const struct xpu_python *python);

/*
 * Frees the data of a thread that has ended, because a program may start a thread for each request.
 * Must be called after Linux has reported the end, and after the recorder has taken all records
 * from the thread itself.
 */
void recorder__thread_exit(struct recorder *rec, uint32_t pid, uint32_t tid, uint64_t time_ns);

/* Writes a label of a process. The label does not come from the process itself. */
void recorder__label(struct recorder *rec, uint32_t proc_id, enum xpu_label label,
		     const char *text);

/*
 * Writes records of the launches and samples that were taken so far. Must be called after every
 * round of draining.
 */
void recorder__flush(struct recorder *rec);

/*
 * Frees the tables of processes that ended long ago. Must be called after all records that were in
 * the rings at the last call have been taken. @now_ns: CLOCK_MONOTONIC
 */
void recorder__drained(struct recorder *rec, uint64_t now_ns);

/* Writes the records that are written only at the end. */
void recorder__finish(struct recorder *rec);

/*
 * Ends one of several files. Later records belong to the next file, and refer to no earlier records
 * except definitions. The caller must have taken all records that were in the rings at @time_ns.
 */
void recorder__cut(struct recorder *rec, uint64_t time_ns);

/* Return: how many launches have a call path that is still undefined. */
uint64_t recorder__nr_untold(const struct recorder *rec);

/*
 * Closes the account of a living thread at @end_ns. Must be called at the end, when no more records
 * come.
 */
void recorder__living_thread(struct recorder *rec, const struct xpu_thread_state *t,
			     uint64_t end_ns);

/*
 * Writes a LOST record if more records of @kind were lost since the last call. @total: how many
 * were lost so far. XPU_LOST_MALFORMED is counted by the recorder itself and written by
 * recorder__flush(). Return: whether more was lost.
 */
bool recorder__lost(struct recorder *rec, enum xpu_lost_kind kind, uint64_t total);

/* Checks which processes no longer exist, because reports of their ends may have been lost. */
void recorder__look_for_ends(struct recorder *rec);

/*
 * Return: how many processes may still send device work: their shims have not reported that
 * everything is sent.
 */
unsigned int recorder__nr_awake(const struct recorder *rec);

/*
 * Return: how many of the processes that recorder__nr_awake() counts may still send their last
 * records: see processes__nr_late().
 */
unsigned int recorder__nr_late(struct recorder *rec, uint64_t now_ns, bool tell);

/* Return: how many launches have been received. Slow: looks at every process. */
uint64_t recorder__nr_launches(struct recorder *rec);

/* Computes the statistics from the shims' last counters. Must be called once, at the end. */
void recorder__stats(struct recorder *rec, struct recorder_stats *stats);

#endif /* XPU_LOADER_RECORDER_H */
