/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * blocks.h - reads a recording that consists of blocks, block by block
 *
 * A thread unpacks the next blocks while the caller reads the records of one block. Damage loses
 * only the records of the damaged blocks, and is reported.
 */
#ifndef MERGE_BLOCKS_H
#define MERGE_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util.h"
#include "xpu_record.h"

#define DAMAGES_MAX	16		/* most damages that are reported one by one */

/* A damaged part of the file. */
struct damage {
	uint64_t offset, bytes;		/* where the damage is in the file; bytes 0: blocks are
					 * missing there */
	uint64_t nr_blocks;		/* number of lost blocks, as far as known */
	uint64_t nr_launches;		/* number of launches in the lost blocks */
	const char *what;
};

/* The damage that the walk has met so far. */
struct damages {
	struct damage v[DAMAGES_MAX];	/* the first damages */
	uint64_t nr;
	uint64_t bytes, nr_blocks, nr_launches;		/* totals over all damages */
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
 * @mapped: whether memory that the walk has passed may be given back to Linux
 *
 * Return: NULL if memory is short.
 */
struct blocks *blocks__new(const uint8_t *base, size_t size, bool mapped);
void blocks__free(struct blocks *b);

/* Starts (again) with the block at @offset, and clears the list of damages. */
void blocks__start(struct blocks *b, uint64_t offset);

/**
 * blocks__next - continue to the next undamaged block
 * @block: set to the block
 *
 * Return: 1, 0 at the end, or -ENOMEM.
 */
int blocks__next(struct blocks *b, struct block *block);

/*
 * Return: the offset where the walk ended: the end of the file, or the beginning of an incomplete
 * block.
 */
uint64_t blocks__end(const struct blocks *b);
/* Whether the bytes at blocks__end() begin a block that was cut off. */
bool blocks__is_cut(const struct blocks *b);

/*
 * Return: where the last whole block of the file ends, by the headers of blocks, whose first is at
 * @offset. Sets *@nr_blocks and *@nr_launches to the numbers of blocks and of their launches. Does
 * not change the walk.
 */
uint64_t blocks__whole(const struct blocks *b, uint64_t offset, uint64_t *nr_blocks,
		       uint64_t *nr_launches);

uint64_t blocks__size(const struct blocks *b);		/* Return: the size of the file. */

/*
 * Reports damage to the records of the block that was returned last: not all of its records were
 * used.
 */
void blocks__damaged_inside(struct blocks *b, const char *what);

const struct damages *blocks__damages(const struct blocks *b);

/*
 * Return: a copy of @part, or NULL. The copy of blocks__keep() is valid as long as @b; the copy of
 * blocks__hold(), until blocks__let_go().
 */
const void *blocks__keep(struct blocks *b, const void *part, size_t bytes);
const void *blocks__hold(struct blocks *b, const void *part, size_t bytes);

/* Frees a walk's memory and the copies of blocks__hold(), after the walk. */
void blocks__let_go(struct blocks *b);

#endif /* MERGE_BLOCKS_H */
