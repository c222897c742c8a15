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
	uint64_t nr_lost;		/* bytes of records that were not written */
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

/* Return: 0 or the negative errno that stopped the writing. */
int part__close(struct part *p);

#endif /* MERGE_PART_H */
