/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * carry.h - the definitions that the next file of a recording must repeat
 *
 * Most definitions belong to a process, and are removed with it. A process stays for two files
 * after its end, because its records may still arrive; the second file compares its counters
 * (XPU_MISC_CARRIED_FINAL). Threads also stay for two files, or longer if their launches or memory
 * events are still to be written.
 */
#ifndef MERGE_CARRY_H
#define MERGE_CARRY_H

#include <stdbool.h>
#include <stdint.h>

#include "stream/outfile.h"
#include "xpu_record.h"

#define CARRY_MAX_BYTES	(256u << 20)	/* maximum size of the definitions of one process */
#define CARRY_MAX_MAPS	8192		/* maximum number of mappings of one program image */

struct carry;
struct carried_process;

/* Return: an empty state, or NULL if memory is short. */
struct carry *carry__new(void);
void carry__free(struct carry *c);

/* Processes a top-level record of a known type. Return: 0 or -ENOMEM. */
int carry__record(struct carry *c, const struct xpu_record *rec);

/* Processes a record from a batch of @proc_id. Return: 0 or -ENOMEM. */
int carry__nested(struct carry *c, uint32_t proc_id, const struct xpu_record *rec);

/* Count a batch that was read, or launches, device records and memory events that were written. */
int carry__count_batch(struct carry *c, const struct xpu_record_batch *batch);
void carry__count_works(struct carry *c, uint32_t proc_id, uint64_t nr);
void carry__count_launch(struct carry *c, uint32_t proc_id);
void carry__count_alloc(struct carry *c, uint32_t proc_id);

/*
 * Return: the process of the thread; if the thread is not defined, the process of the call path;
 * otherwise 0.
 */
uint32_t carry__proc_of(const struct carry *c, uint32_t thread_id, uint32_t path_id);

/* Return: the API of a call path; XPU_API_CUDA if the path is unknown. */
uint32_t carry__api_of(const struct carry *c, uint32_t path_id);

/* Writes the INFO records, which come first in a file. */
void carry__write_infos(const struct carry *c, struct outfile *p);

/**
 * carry__next - begin the next file: remove definitions that it does not need, and write the
 * remaining definitions to it
 * @number: the next file's number, at least 2
 * @time_ns: start time of the next file
 */
void carry__next(struct carry *c, struct outfile *p, uint64_t number, uint64_t time_ns);

/*
 * Settles the records counted since the last call. If @written, these records are in files.
 * Otherwise they are lost with the current file, and later files do not count them. Return: the
 * number of lost launches.
 */
uint64_t carry__settle(struct carry *c, bool written);

/*
 * Ends the restoring of data that an earlier program saved. Records that the earlier program did
 * not mark as written are lost.
 */
void carry__recalled(struct carry *c);

/*
 * Writes the records that carry__next() would write, but removes nothing. To continue, another
 * program passes these records, including CARRIED records, to carry__record() and carry__nested().
 */
void carry__save(struct carry *c, struct outfile *p, uint64_t time_ns);

/*
 * Writes the counts of each process whose number of records in files has changed since the last
 * save.
 */
void carry__save_counts(struct carry *c, struct outfile *p);

/*
 * Keeps a thread, even after its end, because its launches or memory events are still to be
 * written.
 */
void carry__keep_thread(struct carry *c, uint32_t thread_id);

/* Return: whether a process is unknown, or has ended by an exit or an exec. */
bool carry__has_ended(const struct carry *c, uint32_t proc_id);

/* Return: whether no file after the current file gets records of @proc_id. */
bool carry__is_final(const struct carry *c, uint32_t proc_id);

/* Return: the number of definitions that were dropped because of the limits above. */
uint64_t carry__nr_beyond(const struct carry *c);

#endif /* MERGE_CARRY_H */
