/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * writer.h - xpu.data on its way to the disk
 *
 * Records are appended to memory and written by a thread, so that the one who drains the ring
 * never waits for the disk. The file holds whole records only, whatever happens.
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
 * writer__reserve - room for one record
 * @size: bytes; a multiple of 8
 *
 * Never waits. Return: uninitialized memory to fill before the next call, or NULL when memory is
 * short or the disk failed; the record is counted as lost then.
 */
void *writer__reserve(struct writer *w, size_t size);

/* writer__reserve() and a copy of the record. */
void writer__append(struct writer *w, const struct xpu_record *r);

/* Hands what is there to the thread. */
void writer__flush(struct writer *w);

/* Whether the disk is far behind: leave the data where it is for now. */
bool writer__is_behind(struct writer *w);

/* The errno that stopped the writing, or 0. */
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
