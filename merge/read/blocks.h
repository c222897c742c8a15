/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * blocks.h - reads a recording block by block
 *
 * A thread unpacks the next blocks while the caller reads the records of one block. If blocks are
 * damaged, only their records are lost, and the damage is reported.
 */
#ifndef MERGE_BLOCKS_H
#define MERGE_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util.h"
#include "xpu_record.h"

#define DAMAGES_MAX	16		/* maximum number of damaged ranges to list */

/* A damaged part of the file. */
struct damage {
	uint64_t offset, bytes;		/* range of the damage in the file; bytes 0: blocks are
					 * missing at @offset */
	uint64_t nr_blocks;		/* minimum number of lost blocks */
	uint64_t nr_launches;		/* number of launches in the lost blocks */
	const char *what;
};

/* The damaged ranges found by the walk so far. */
struct damages {
	struct damage v[DAMAGES_MAX];	/* the first damaged ranges */
	uint64_t nr;
	uint64_t bytes, nr_blocks, nr_launches;		/* totals over all damaged ranges */
};

struct block {
	const uint8_t *records;		/* aligned to 8, valid until the next block is requested */
	size_t bytes;
	uint64_t offset;		/* offset of the block in the file */
};

struct blocks;

/**
 * blocks__new - make a reader for the blocks of one file
 * @base: the whole file of @size bytes, which must outlive the reader
 * @mapped: whether pages before the walk's position may be released
 *
 * Return: NULL if memory is short.
 */
struct blocks *blocks__new(const uint8_t *base, size_t size, bool mapped);
void blocks__free(struct blocks *b);

/* Starts, or restarts, with the block at @offset, and clears the list of damaged ranges. */
void blocks__start(struct blocks *b, uint64_t offset);

/**
 * blocks__next - advance to the next undamaged block
 * @block: set to the block
 *
 * Return: 1, 0 at the end, or -ENOMEM.
 */
int blocks__next(struct blocks *b, struct block *block);

/*
 * Return: the offset at which the walk ended: the end of the file, or the start of an incomplete
 * block.
 */
uint64_t blocks__end(const struct blocks *b);
/* Return: whether the bytes at blocks__end() are the start of a truncated block. */
bool blocks__is_cut(const struct blocks *b);

/*
 * Return: the end of the last complete block of the file, according to the block headers. The first
 * block is at @offset. Sets *@nr_blocks and *@nr_launches to the numbers of complete blocks and of
 * launches in these blocks. Does not change the walk.
 */
uint64_t blocks__whole(const struct blocks *b, uint64_t offset, uint64_t *nr_blocks,
		       uint64_t *nr_launches);

uint64_t blocks__size(const struct blocks *b);		/* Return: the size of the file. */

/*
 * Reports damage to records in the block that was returned last: some of its records were not used.
 */
void blocks__damaged_inside(struct blocks *b, const char *what);

const struct damages *blocks__damages(const struct blocks *b);

/*
 * Return: a copy of @part, or NULL. A copy made by blocks__keep() is valid until blocks__free(). A
 * copy made by blocks__hold() is valid until blocks__let_go().
 */
const void *blocks__keep(struct blocks *b, const void *part, size_t bytes);
const void *blocks__hold(struct blocks *b, const void *part, size_t bytes);

/* Frees the memory of a finished walk and the copies made by blocks__hold(). */
void blocks__let_go(struct blocks *b);

#endif /* MERGE_BLOCKS_H */
