/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * held.h - holds launches until their device work arrives, and device work until its launch arrives
 *
 * This puts a launch and its device work into the same file, wherever the recording is cut. If a
 * later file has more device records of the launch, it repeats the launch, marked EARLIER.
 */
#ifndef MERGE_HELD_H
#define MERGE_HELD_H

#include <stdbool.h>
#include <stdint.h>

#include "stream/outfile.h"
#include "xpu_record.h"

/*
 * Maximum number of entries: held launches and records, and written launches that may get more
 * device work. Beyond this limit, held entries are written early, oldest first.
 */
#define HELD_MAX	(1u << 20)

struct carry;
struct held;

/* Return: a new struct, or NULL if memory is short. @c: the processes and their counts */
struct held *held__new(struct carry *c);
void held__free(struct held *h);

/* Takes launches, and writes those that already have device work to @p. Return: 0 or -ENOMEM. */
int held__launches(struct held *h, struct outfile *p, const struct xpu_record_launches *rec);

/**
 * held__work - take a device record, or the record of a failed launch
 * @batch: the batch of the record
 *
 * Return: 1 if the record's launch is in this file, so that the caller may write the record to this
 * file, too; 0 if the record is held; or -ENOMEM.
 */
int held__work(struct held *h, struct outfile *p, const struct xpu_record_batch *batch,
	       const struct xpu_record *rec);

/*
 * Takes the launch of @rec. It was captured into a graph, so it never gets device work.
 * Return: 0 or -ENOMEM.
 */
int held__captured(struct held *h, struct outfile *p, const struct xpu_record_graph_node *rec);

/* Writes the collected launches and device records, even if they do not fill a record. */
void held__flush(struct held *h, struct outfile *p);

/* Calls carry__keep_thread() for the threads whose launches are still to be written. */
void held__keep_threads(const struct held *h);

/**
 * held__next - at the start of a file, write launches whose process has ended, and records without
 * a launch
 * @time_ns: start time of the file
 *
 * The kernels of a graph launch may run while several files are written, so the entry of the launch
 * stays for a minute after the last device record. A device record waits ten seconds for its
 * launch, regardless of the length of the files.
 * Return: 0 or -ENOMEM.
 */
int held__next(struct held *h, struct outfile *p, uint64_t time_ns);

/* Writes all held launches and records at the end. */
void held__finish(struct held *h, struct outfile *p);

/* Return: the number of launches and records that were written early because of HELD_MAX. */
uint64_t held__nr_forced(const struct held *h);

#endif /* MERGE_HELD_H */
