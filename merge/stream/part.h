/* SPDX-License-Identifier: GPL-3.0-or-later */
/* part.h - writes one of several files of a recording */
#ifndef MERGE_PART_H
#define MERGE_PART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "block.h"
#include "safefile.h"
#include "xpu_record.h"

struct part {
	struct safefile file;
	struct block_packer *packer;	/* NULL: the part is not open */
	uint8_t *records;		/* records of the next block */
	size_t used;
	int err;			/* the first negative errno, after which nothing is
					 * written */
	uint64_t written;		/* bytes of the file */
	uint64_t safe;			/* bytes of the file at the last part__checkpoint() */
	uint64_t since;			/* bytes of records since the last checkpoint */
	uint64_t nr_lost;		/* bytes of records that could not be written */
	uint64_t nr_blocks, nr_launches;	/* number of blocks and launches in the file */
};

/**
 * part__open - begin a file, which gets its name at once
 * @p: not open
 * @level: the compression level for block_packer__new()
 *
 * Return: 0; on failure a negative errno, and @p is not open.
 */
int part__open(struct part *p, const char *path, const struct xpu_file_header *hdr, int level);

/*
 * Return: room for a record of @size bytes, to be filled before the next call; NULL if the file
 * could not be written: part__close() returns the error.
 */
void *part__reserve(struct part *p, size_t size);
void part__append(struct part *p, const struct xpu_record *rec);

/* Writes the collected records as a block. */
void part__flush(struct part *p);

/* Begins a file at the end of @fd, which part__close() closes. Return: like part__open() */
int part__begin(struct part *p, int fd, const struct xpu_file_header *hdr, int level);

/*
 * Continues a file after @bytes that another program wrote, with @nr_blocks and @nr_launches in
 * them.
 */
int part__resume(struct part *p, int fd, uint64_t bytes, uint64_t nr_blocks, uint64_t nr_launches);

/* Writes the collected records. Return: 0 if no later error can lose them, or a negative errno. */
int part__checkpoint(struct part *p);

/*
 * A file that could not be written completely ends at its last checkpoint; p->nr_lost counts the
 * bytes after that.
 * Return: 0 or the negative errno that stopped the writing.
 */
int part__close(struct part *p);

#endif /* MERGE_PART_H */
