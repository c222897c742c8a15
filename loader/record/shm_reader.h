/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * shm_reader.h - reads what one process writes into memory that it shares with xpuload
 *
 * The process may write anything at any time. So every index and size is checked, on a copy; what
 * is wrong ends the reading of this process, and costs no other.
 */
#ifndef XPU_LOADER_SHM_READER_H
#define XPU_LOADER_SHM_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xpu_record.h"
#include "xpu_shm.h"

struct shm_reader;

/* Takes a copy of a record; @size is hdr.size, its type is one that a process may write. */
typedef void (*shm_record_fn)(void *ctx, struct xpu_record *record, size_t size);

/* Return: the size of a ring of @bytes at least: a power of two. */
uint64_t shm_reader__ring_bytes(uint64_t bytes);

/**
 * shm_reader__new - map the memory that a process has made
 * @memory: the descriptor that it sent, of a file of any kind; the caller closes it
 * @ring_bytes: as shm_reader__ring_bytes() returned it; the file must be of that size
 *
 * The file's size must be sealed, so no process can make reading it fail. Return: 0, -EPROTO if it is
 * not such a file, or another negative errno.
 */
int shm_reader__new(int memory, uint64_t ring_bytes, struct shm_reader **reader);
void shm_reader__free(struct shm_reader *r);

/*
 * Takes the records that are complete, and at most a ringful. Return: whether nothing was left that
 * had been written before the call.
 */
bool shm_reader__drain(struct shm_reader *r, shm_record_fn fn, void *ctx);

/*
 * The process has ended, or runs another program: takes all that is complete, counts the rest as
 * lost, and takes what is left in the logs of threads.
 */
void shm_reader__finish(struct shm_reader *r, shm_record_fn fn, void *ctx);

/* Tells the process how far the recording is. */
void shm_reader__set_state(struct shm_reader *r, enum xpu_shm_state state);

/* Return: how many of @kind were lost so far. */
uint64_t shm_reader__nr_lost(const struct shm_reader *r, enum xpu_lost_kind kind);

/* Whether the process has written what no shim writes, so that nothing more is read. */
bool shm_reader__is_broken(const struct shm_reader *r);

/* Return: the part of the ring that waits to be read, 0 to 1. */
double shm_reader__fullness(const struct shm_reader *r);

#endif /* XPU_LOADER_SHM_READER_H */
