/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * journal.h - all that a program which splits a recording knows, for another one that goes on in its place
 *
 * If the program is killed, what it has read of the recording is not in the pipe any more. Definitions of it
 * are needed in all later files. So it keeps them in a memory file, which outlives it: what carry__save()
 * writes when a file begins, then each definition that comes. The block that is being read lies there, too,
 * so none is read in part by one program and in part by the next.
 */
#ifndef MERGE_JOURNAL_H
#define MERGE_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "block.h"
#include "split_journal.h"
#include "stream/carry.h"
#include "stream/live.h"
#include "stream/part.h"

#define JOURNAL_BLOCK	(sizeof(struct xpu_record_block) + 2 * XPU_BLOCK_MAX)	/* as it comes */

#define JOURNAL_FILES	16		/* the last ones, of which some may wait for their profiles */

/* These change as one, by journal__commit(): a program may be killed between any two of its instructions. */
struct journal_state {
	uint64_t saved_at, end;		/* the definitions' place in the journal; 0: there are none */
	/* The file of the recording that is being written, up to where its records are counted. */
	uint64_t file_dev, file_ino, file_bytes, file_blocks, file_launches, file_end_ns;
	uint64_t since_bytes;		/* of records behind that */
	uint64_t nr_blocks;		/* of the recording, which were used */
};

/* A file of the recording, see split_opts.whole. */
struct journal_file {
	uint64_t number, start_ns, duration_ns, waits;
};

/* The beginning of the journal. */
struct journal_head {
	struct split_journal told;
	struct journal_state states[2];
	uint32_t current;		/* index in states */
	uint32_t nr_begun;		/* how often the block was begun to be used */
	uint64_t nr_blocks;		/* before the block */
	uint64_t place;			/* JOURNAL_PLACE() */
	struct journal_file files[JOURNAL_FILES];
	uint8_t block[JOURNAL_BLOCK];
};

/*
 * How many bytes of the block have come; and how many behind these are about to be taken from the pipe: the
 * block has a copy of them already.
 */
#define JOURNAL_PLACE(nr, nr_copied)	((nr) | (uint64_t)(nr_copied) << 32)

struct journal {
	struct journal_head *head;	/* mapped */
	struct journal_state state;	/* for the next journal__commit() */
	int fd;				/* -1: nobody goes on from it */
	struct part part;		/* the definitions; open if fd is */
	uint64_t base;			/* of @part in the file */
	uint64_t saved_bytes;		/* by the last journal__save() */
};

/* @fd: a memory file that is empty, or another's journal; or -1. Return: 0 or a negative errno */
int journal__open(struct journal *j, int fd);
/* @stays: its head is used up to the program's end */
void journal__close(struct journal *j, bool stays);

/**
 * journal__recall - read the definitions of another one
 * @hdr: set to the recording's header
 * @records: XPU_BLOCK_MAX bytes; filled with @bytes of records for each call of @take
 *
 * Return: 1, 0 if there are none, or a negative errno.
 */
int journal__recall(struct journal *j, struct xpu_file_header *hdr, struct block_unpacker *unpacker,
		    uint8_t *records, int (*take)(void *ctx, size_t bytes), void *ctx);

/* Saves all of @c and @l, in the place of all that is there. @number: of the file that is written */
int journal__save(struct journal *j, const struct xpu_file_header *hdr, struct carry *c, struct live *l,
		  uint64_t number, uint64_t time_ns);

/* Adds a definition, at the top level, or in a batch of a process. */
void journal__add(struct journal *j, const struct xpu_record *rec);
void journal__add_nested(struct journal *j, uint32_t proc_id, const struct xpu_record *rec);

/* Definitions that were added can be recalled now, and j->state holds. */
void journal__commit(struct journal *j);

/* Return: whether it is so long that it should be saved again. */
bool journal__is_long(const struct journal *j);

#endif /* MERGE_JOURNAL_H */
