/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * held.h - holds launches until their device work comes, and device work until its launch comes
 *
 * In this way a launch and its device work get into one file, wherever the recording is cut. A
 * later file that has more device records of a launch repeats the launch, marked EARLIER.
 */
#ifndef MERGE_HELD_H
#define MERGE_HELD_H

#include <stdbool.h>
#include <stdint.h>

#include "stream/outfile.h"
#include "xpu_record.h"

/*
 * Most entries: held launches and records, and written launches that may get more device work.
 * Beyond the limit, all held entries are written at once, oldest first.
 */
#define HELD_MAX	(1u << 20)

struct carry;
struct held;

/* Makes the struct. @c: has the processes and their counts. Return: NULL if memory is short. */
struct held *held__new(struct carry *c);
void held__free(struct held *h);

/* Takes launches, and writes those that have device work to @p. Return: 0 or -ENOMEM. */
int held__launches(struct held *h, struct outfile *p, const struct xpu_record_launches *rec);

/**
 * held__work - take a device record, or the record of a refused launch
 * @batch: the batch of the record
 *
 * Return: 1 if the record's launch is in this file, so that the record may be written there, too; 0
 * if the record is held; or -ENOMEM.
 */
int held__work(struct held *h, struct outfile *p, const struct xpu_record_batch *batch,
	       const struct xpu_record *rec);

/*
 * Takes the launch of @rec, which was captured into a graph, and so will never have device work.
 * Return: 0 or -ENOMEM.
 */
int held__captured(struct held *h, struct outfile *p, const struct xpu_record_graph_node *rec);

/* Writes the launches and device records that wait for a full record. */
void held__flush(struct held *h, struct outfile *p);

/* Calls carry__keep_thread() for the threads whose launches are still to be written. */
void held__keep_threads(const struct held *h);

/**
 * held__next - in a new file, let go of launches whose process has ended, and of records without a
 * launch
 * @time_ns: when the file begins
 *
 * The kernels of a graph launch may take longer than several files, so its entry stays for a minute
 * after its last device record. A device record waits ten seconds for its launch, however short the
 * files are.
 * Return: 0 or -ENOMEM.
 */
int held__next(struct held *h, struct outfile *p, uint64_t time_ns);

/* Called at the end: writes all held launches and records. */
void held__finish(struct held *h, struct outfile *p);

/* Return: how many launches and records were written early because of HELD_MAX. */
uint64_t held__nr_forced(const struct held *h);

#endif /* MERGE_HELD_H */
