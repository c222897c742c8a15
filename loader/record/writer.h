/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * writer.h - writes xpu.data to the disk
 *
 * Records are collected in memory. A thread packs them into blocks and writes the blocks, so that
 * the thread that drains the ring never waits for the disk. The file ends with a whole block,
 * unless xpuload is killed in the middle of a write.
 */
#ifndef XPU_LOADER_WRITER_H
#define XPU_LOADER_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xpu_record.h"

struct writer;

/**
 * writer__open - begin to write to a file, and start the thread that writes
 * @fd: an empty file; writer__close() closes it; if writer__open() fails, it stays open
 * @hdr: written at once, so that a full disk is noticed before anything is recorded
 * @w: the writer, for writer__close()
 *
 * Return: 0 or a negative errno.
 */
int writer__open(int fd, const struct xpu_file_header *hdr, struct writer **w);

/**
 * writer__set_level - set the compression level, before the first record
 * @level: Zstandard's level, 1 (the default) to BLOCK_LEVEL_MAX; 0: no compression
 *
 * Return: 0 or -ENOMEM.
 */
int writer__set_level(struct writer *w, int level);

/**
 * writer__reserve - make room for a record
 * @size: bytes; a multiple of 8, XPU_BLOCK_MAX at most
 *
 * Never waits. Return: uninitialized memory, to be filled before the next call; NULL if memory is
 * short or the disk failed, with the record counted as lost.
 */
void *writer__reserve(struct writer *w, size_t size);

/* Appends a copy of a record, by writer__reserve(). */
void writer__append(struct writer *w, const struct xpu_record *r);

/*
 * Hands the records to the thread if they have waited long enough: a second, less at the beginning.
 */
void writer__flush(struct writer *w);

/* Hands the records to the thread at once. */
void writer__push(struct writer *w);

/* Return: whether the disk is so slow that data should stay in the ring for now. */
bool writer__is_behind(struct writer *w);

/*
 * Return: the errno that stopped the writing, or 0. ENOLINK means that the file was removed or
 * replaced while it was written, ENODATA that it was shortened.
 */
int writer__error(struct writer *w);

/*
 * Return: the errno that currently prevents all writing, or 0. Records wait in memory until writing
 * succeeds again or the recording ends.
 */
int writer__waits(struct writer *w);

/*
 * Ends writing. No more records may come. Return: whether all records are written or lost. Never
 * waits.
 */
bool writer__end(struct writer *w);

/**
 * writer__close - write the remaining records and close the file
 * @bytes: the file's length, if not NULL
 * @lost_bytes: set to the bytes of records that were not written, if not NULL
 *
 * Return: 0 or the negative errno that stopped the writing.
 */
int writer__close(struct writer *w, uint64_t *bytes, uint64_t *lost_bytes);

#endif /* XPU_LOADER_WRITER_H */
