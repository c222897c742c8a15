/* SPDX-License-Identifier: GPL-3.0-or-later */
/* outfile.h - writes one of the files of a recording */
#ifndef MERGE_OUTFILE_H
#define MERGE_OUTFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "block.h"
#include "safefile.h"
#include "xpu_record.h"

struct outfile {
	struct safefile file;
	struct block_packer *packer;	/* NULL: the file is not open */
	uint8_t *records;		/* records of the next block */
	size_t used;
	int err;			/* the first negative errno; later data is not written */
	uint64_t written;		/* size of the file */
	uint64_t safe;			/* size of the file at the last outfile__checkpoint() */
	uint64_t since;			/* size of the records since the last checkpoint */
	uint64_t nr_lost;		/* size of the records that could not be written */
	uint64_t nr_blocks, nr_launches;	/* number of blocks and launches in the file */
};

/**
 * outfile__open - create a file, which gets its name immediately
 * @p: must not be open
 * @level: the compression level for block_packer__new()
 *
 * Return: 0; or a negative errno, in which case @p is not open.
 */
int outfile__open(struct outfile *p, const char *path, const struct xpu_file_header *hdr,
		  int level);

/*
 * Return: space for a record of @size bytes, to be filled before the next call; NULL if the file
 * cannot be written: outfile__close() then returns the error.
 */
void *outfile__reserve(struct outfile *p, size_t size);
void outfile__append(struct outfile *p, const struct xpu_record *rec);

/* Writes the collected records as a block. */
void outfile__flush(struct outfile *p);

/* Starts a file at the end of @fd, which outfile__close() closes. Return: as outfile__open(). */
int outfile__begin(struct outfile *p, int fd, const struct xpu_file_header *hdr, int level);

/*
 * Continues a file of another program after the first @bytes bytes, which contain @nr_blocks blocks
 * and @nr_launches launches.
 */
int outfile__resume(struct outfile *p, int fd, uint64_t bytes, uint64_t nr_blocks,
		    uint64_t nr_launches);

/*
 * Writes the collected records. Return: 0 if no later error can lose these records, or a negative
 * errno.
 */
int outfile__checkpoint(struct outfile *p);

/*
 * Ends the file. If the file could not be written completely, truncates it to its last checkpoint,
 * and sets p->nr_lost to the size of the records after this checkpoint.
 * Return: 0 or the negative errno that stopped the writing.
 */
int outfile__close(struct outfile *p);

#endif /* MERGE_OUTFILE_H */
