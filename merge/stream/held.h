/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * held.h - holds launches back until they have device work, and device work until it has its launch
 *
 * So both are in one file, however they are cut. A launch that the file of its first device record has
 * is told again, as EARLIER, to a later file that has more of its records.
 */
#ifndef MERGE_HELD_H
#define MERGE_HELD_H

#include <stdbool.h>
#include <stdint.h>

#include "stream/part.h"
#include "xpu_record.h"

/*
 * Launches and records that are held, and launches that are remembered: more of them are let go at
 * once, oldest first.
 */
#define HELD_MAX	(1u << 20)

struct carry;
struct held;

/* @c: counts and knows the processes. Return: NULL without memory. */
struct held *held__new(struct carry *c);
void held__free(struct held *h);

/* Takes launches. Those that have device work go to @p. Return: 0 or -ENOMEM. */
int held__launches(struct held *h, struct part *p, const struct xpu_record_launches *rec);

/**
 * held__work - take a device record, or that the launch was refused
 * @batch: that has it
 *
 * Return: 1: its launch is in this file, so the record may go there, too; 0: the record is held;
 * -ENOMEM.
 */
int held__work(struct held *h, struct part *p, const struct xpu_record_batch *batch,
	       const struct xpu_record *rec);

/* A launch was captured into a graph: it never has work. Return: 0 or -ENOMEM. */
int held__captured(struct held *h, struct part *p, uint32_t proc_id, uint32_t correlation_id);

/* Writes what waits for its record to become longer. */
void held__flush(struct held *h, struct part *p);

/* Tells of the threads whose launches are still to be written: see carry__keep_thread(). */
void held__keep_threads(const struct held *h);

/**
 * held__next - a file was begun: let go of launches whose process has ended, and of records without one
 * @time_ns: when
 *
 * A graph's launch may have kernels that take longer than several files. So it is remembered for a
 * minute since its last device record. A device record waits ten seconds for its launch, however short
 * files are.
 * Return: 0 or -ENOMEM.
 */
int held__next(struct held *h, struct part *p, uint64_t time_ns);

/* Lets go of all, at the end. */
void held__finish(struct held *h, struct part *p);

/* Return: launches and records that were let go because of HELD_MAX. */
uint64_t held__nr_forced(const struct held *h);

#endif /* MERGE_HELD_H */
