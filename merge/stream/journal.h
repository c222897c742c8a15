/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * journal.h - saves the definitions of a splitting program, so that another program can continue
 * after a kill
 *
 * When a program is killed, the records that it has read are no longer in the pipe, but all later
 * files need the definitions in these records. The program therefore saves the definitions in a
 * memory file, which outlives the program. At the start of each file, carry__save() writes all
 * definitions; each new definition is then appended. The memory file also contains the part of the
 * current block that was read, so that the next program has the whole block.
 */
#ifndef MERGE_JOURNAL_H
#define MERGE_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "block.h"
#include "split_journal.h"
#include "stream/carry.h"
#include "stream/kept.h"
#include "stream/outfile.h"

#define JOURNAL_BLOCK	(sizeof(struct xpu_record_block) + 2 * XPU_BLOCK_MAX)	/* a packed block */

#define JOURNAL_FILES	16		/* number of latest files in the journal; profiles of some
					 * files may still be missing */

/*
 * journal__commit() changes these members together, because a kill may come between any two
 * instructions.
 */
struct journal_state {
	uint64_t saved_at, end;		/* range of the definitions in the journal; 0: empty */
	/* The current file, and its size up to the last counted record. */
	uint64_t file_dev, file_ino, file_bytes, file_blocks, file_launches, file_end_ns;
	uint64_t since_bytes;		/* bytes of records after the last counted record */
	uint64_t nr_blocks;		/* number of finished blocks of the recording */
};

/* A file that split has written. Its members are explained at split_opts.whole. */
struct journal_file {
	uint64_t number, start_ns, duration_ns, waits;
};

/* The start of the journal. */
struct journal_head {
	struct split_journal told;
	struct journal_state states[2];
	uint32_t current;		/* index in states */
	uint32_t nr_begun;		/* number of programs that began to process the block */
	uint64_t nr_blocks;		/* number of earlier blocks in the recording */
	uint64_t place;			/* JOURNAL_PLACE() */
	struct journal_file files[JOURNAL_FILES];
	uint8_t block[JOURNAL_BLOCK];
};

/*
 * The number of bytes of the block that were read, and the number of bytes that are about to be
 * read from the pipe. The block in the journal already includes a copy of these unread bytes.
 */
#define JOURNAL_PLACE(nr, nr_copied)	((nr) | (uint64_t)(nr_copied) << 32)

struct journal {
	struct journal_head *head;	/* mapped */
	struct journal_state state;	/* the state that the next journal__commit() writes */
	int fd;				/* -1: there is no journal, so no program can continue */
	struct outfile outfile;		/* receives the definitions; not open if @fd is -1 */
	uint64_t base;			/* offset of @outfile in the journal */
	uint64_t saved_bytes;		/* bytes written by the last journal__save() */
};

/*
 * Opens the journal. @fd: an empty memory file, or the journal of an earlier program; -1: there is
 * no journal
 * Return: 0 or a negative errno.
 */
int journal__open(struct journal *j, int fd);
/* Closes the journal. @stays: keep the head mapped, because it is in use until the program ends */
void journal__close(struct journal *j, bool stays);

/**
 * journal__recall - read the definitions of an earlier program
 * @hdr: set to the recording's header
 * @records: XPU_BLOCK_MAX bytes; filled with @bytes of records before each call of @take
 *
 * Return: 1; 0 if the journal has no definitions; or a negative errno.
 */
int journal__recall(struct journal *j, struct xpu_file_header *hdr, struct block_unpacker *unpacker,
		    uint8_t *records, int (*take)(void *ctx, size_t bytes), void *ctx);

/* Saves all of @c and @k, and drops the older contents. @number: number of the current file */
int journal__save(struct journal *j, const struct xpu_file_header *hdr, struct carry *c,
		  struct kept *k, uint64_t number, uint64_t time_ns);

/* Adds a top-level definition, or a definition from a batch of @proc_id. */
void journal__add(struct journal *j, const struct xpu_record *rec);
void journal__add_nested(struct journal *j, uint32_t proc_id, const struct xpu_record *rec);

/* Makes the added definitions and j->state visible to journal__recall(). */
void journal__commit(struct journal *j);

/* Return: whether the journal is so long that journal__save() should shorten it. */
bool journal__is_long(const struct journal *j);

#endif /* MERGE_JOURNAL_H */
