/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * writer.h - xpu.data on its way to the disk
 *
 * Records are appended to memory; a thread packs them into blocks and writes these, so that the one
 * who drains the ring never waits for the disk. The file ends with a whole block, unless xpuload is
 * killed in the middle of a write.
 */
#ifndef XPU_LOADER_WRITER_H
#define XPU_LOADER_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xpu_record.h"

struct writer;

/**
 * writer__open - begin to write to a file and start the thread that does
 * @fd: an empty file; writer__close() closes it, and nobody does if this fails
 * @hdr: written at once, so that a full disk is known before anything is recorded
 * @w: the writer, for writer__close()
 *
 * Return: 0 or a negative errno.
 */
int writer__open(int fd, const struct xpu_file_header *hdr, struct writer **w);

/**
 * writer__set_level - how much to compress; to be called before there are records
 * @level: Zstandard's, 1 (unless told) to BLOCK_LEVEL_MAX; 0: not at all
 *
 * Return: 0 or -ENOMEM.
 */
int writer__set_level(struct writer *w, int level);

/**
 * writer__reserve - room for one record
 * @size: bytes; a multiple of 8, XPU_BLOCK_MAX at most
 *
 * Never waits. Return: uninitialized memory to fill before the next call, or NULL when memory is
 * short or the disk failed; the record is counted as lost then.
 */
void *writer__reserve(struct writer *w, size_t size);

/* writer__reserve() and a copy of the record. */
void writer__append(struct writer *w, const struct xpu_record *r);

/* Hands what is there to the thread if it has waited long enough: a second, or less at first. */
void writer__flush(struct writer *w);

/* Whether the disk is far behind: leave the data where it is for now. */
bool writer__is_behind(struct writer *w);

/*
 * The errno that stopped the writing, or 0. ENOLINK: the file was removed or replaced while it was
 * written, and ENODATA: it was made shorter.
 */
int writer__error(struct writer *w);

/**
 * writer__close - write what is left and close
 * @bytes: the file's length, if not NULL
 * @lost_bytes: of records that did not get there, if not NULL
 *
 * Return: 0 or the negative errno that stopped the writing.
 */
int writer__close(struct writer *w, uint64_t *bytes, uint64_t *lost_bytes);

#endif /* XPU_LOADER_WRITER_H */
