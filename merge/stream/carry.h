/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * carry.h - the definitions that the next file of a recording must have, too
 *
 * Each process has its own, which go with it. A process stays for two files after its end, since
 * records of it may still come: in the second one its counters are compared (XPU_MISC_CARRIED_FINAL).
 * So do threads, as long as no launch of theirs is held.
 */
#ifndef MERGE_CARRY_H
#define MERGE_CARRY_H

#include <stdbool.h>
#include <stdint.h>

#include "stream/part.h"
#include "xpu_record.h"

#define CARRY_MAX_BYTES	(256u << 20)	/* of definitions of one process */
#define CARRY_MAX_MAPS	8192		/* mappings of one program image */

struct carry;
struct carried_process;

/* Return: NULL without memory. */
struct carry *carry__new(void);
void carry__free(struct carry *c);

/* Takes a record of the top level, of a known type. Return: 0 or -ENOMEM. */
int carry__record(struct carry *c, const struct xpu_record *rec);

/* Takes a record of a batch of @proc_id. Return: 0 or -ENOMEM. */
int carry__nested(struct carry *c, uint32_t proc_id, const struct xpu_record *rec);

/* Counts a batch that has come, device records or launches that were written. */
int carry__count_batch(struct carry *c, const struct xpu_record_batch *batch);
void carry__count_works(struct carry *c, uint32_t proc_id, uint64_t nr);
void carry__count_launch(struct carry *c, uint32_t proc_id);
void carry__count_alloc(struct carry *c, uint32_t proc_id);

/* Return: the process of a thread or else of a call path; 0: neither is defined. */
uint32_t carry__proc_of(const struct carry *c, uint32_t thread_id, uint32_t path_id);

/* Writes the INFO records, which come first in a file. */
void carry__write_infos(const struct carry *c, struct part *p);

/**
 * carry__next - a file has ended: forget what no later one needs, and write all else to the next
 * @number: of the next file, from 2
 * @time_ns: when it begins
 */
void carry__next(struct carry *c, struct part *p, uint64_t number, uint64_t time_ns);

/*
 * Notes that all which was counted is in files; or, if not @written, that what was counted since that was
 * noted is not.
 */
void carry__settle(struct carry *c, bool written);

/* All is taken that another program has saved: what it had not noted as written is lost. */
void carry__recalled(struct carry *c);

/*
 * Writes all that carry__next() writes, and changes nothing, so that another program can go on from it: it
 * gives carry__record() and carry__nested() these records, with CARRIED ones.
 */
void carry__save(struct carry *c, struct part *p, uint64_t time_ns);

/* Writes how much of each process is in files, where that has changed. */
void carry__save_counts(struct carry *c, struct part *p);

/* A launch of the thread, which may have ended, is still to be written. */
void carry__keep_thread(struct carry *c, uint32_t thread_id);

/* Whether a process has ended: an exec ends one, too. One that is not known has. */
bool carry__has_ended(const struct carry *c, uint32_t proc_id);

/* Whether the file that was begun last is to have the last records of @proc_id. */
bool carry__is_final(const struct carry *c, uint32_t proc_id);

/* Return: how many definitions were not kept, because of the limits above. */
uint64_t carry__nr_beyond(const struct carry *c);

#endif /* MERGE_CARRY_H */
