/* SPDX-License-Identifier: GPL-3.0-or-later */
/* part.h - writes one file of a recording that has several */
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
	struct block_packer *packer;	/* NULL: it is not open */
	uint8_t *records;		/* of the next block */
	size_t used;
	int err;			/* the first negative errno: nothing is written from then on */
	uint64_t written;		/* bytes of the file */
	uint64_t safe;			/* of these, up to the last part__checkpoint() */
	uint64_t since;			/* bytes of records behind it */
	uint64_t nr_lost;		/* bytes of records that were not written */
	uint64_t nr_blocks, nr_launches;	/* in the file */
};

/**
 * part__open - begin a file, which takes its name at once
 * @p: not open
 * @level: of compression, as block_packer__new() has it
 *
 * Return: 0 or a negative errno; then it is not open.
 */
int part__open(struct part *p, const char *path, const struct xpu_file_header *hdr, int level);

/*
 * Return: room for a record of @size bytes, to be filled before the next call; NULL if the file could
 * not be written, which part__close() returns.
 */
void *part__reserve(struct part *p, size_t size);
void part__append(struct part *p, const struct xpu_record *rec);

/* Writes the records so far as a block. */
void part__flush(struct part *p);

/* Begins a file at the end of @fd, which becomes the part's own. Return: as part__open() */
int part__begin(struct part *p, int fd, const struct xpu_file_header *hdr, int level);

/* Goes on behind @bytes of a file that another program began, with so many blocks and launches in it. */
int part__resume(struct part *p, int fd, uint64_t bytes, uint64_t nr_blocks, uint64_t nr_launches);

/* Writes the records so far. Return: 0, and then they stay whatever follows; or a negative errno. */
int part__checkpoint(struct part *p);

/*
 * A file that could not be written ends at its last checkpoint; the records behind it are in p->nr_lost.
 * Return: 0 or the negative errno that stopped the writing.
 */
int part__close(struct part *p);

#endif /* MERGE_PART_H */
