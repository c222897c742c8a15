/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * reader.h - xpu.data, record by record
 *
 *	struct reader r;
 *	struct record_iter it;
 *	const struct xpu_record *rec;
 *
 *	if (reader__open(&r, "xpu.data"))
 *		complain(r.error);
 *	reader__rewind(&r, &it);
 *	while ((rec = record_iter__next(&it)))
 *		switch (rec->type) { ... }
 *	if (it.end != RECORDS_WHOLE)
 *		complain(it.what, it.offset);
 *	reader__close(&r);
 *
 * What an iterator returns has been checked: the fixed part of its type is there, every count fits
 * the record's size and every string ends inside it, so that users may follow them blindly. It is
 * aligned to 8. Types that the iterator does not know, or that do not belong where they stand, are
 * skipped; with unknown_too they are returned, and only their header has been checked.
 *
 * The records of a recording that consists of blocks are there only until the next is asked for:
 * reader__keep() keeps one. Such a recording has one walk at a time: a new one ends the one before.
 * Damaged blocks end no walk; reader__damages() tells of them.
 */
#ifndef MERGE_READER_H
#define MERGE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "read/blocks.h"
#include "xpu_record.h"

struct reader {
	const char *name;		/* for messages, owned by the caller */
	const uint8_t *base;		/* the whole file, aligned to 8 */
	size_t size;
	bool mapped;			/* base is ours to unmap */
	bool bad_header;		/* its CRC is wrong: its times may be, too */
	struct blocks *blocks;		/* NULL: the records follow the header */
	struct xpu_file_header header;	/* fields beyond header_bytes are 0 */
	char error[256];		/* why opening failed, one line without the name */
};

enum records_end {
	RECORDS_MORE,			/* not at the end yet */
	RECORDS_WHOLE,			/* ended with its last record */
	RECORDS_CUT,			/* ended inside a record: the writer was stopped */
	RECORDS_CORRUPT,		/* ended at something that is no record */
	RECORDS_NO_MEMORY,		/* there may be more */
};

/* A walk over one run of records: the file's, those of one block after the other, or of a batch. */
struct record_iter {
	const uint8_t *base;
	uint64_t offset;		/* of the next record, or of what stopped the walk */
	uint64_t size;			/* where the run ends */
	uint64_t file_offset;		/* of base; of the block that the run is in */
	struct blocks *blocks;		/* where the next run comes from, or NULL */
	uint64_t passed;		/* bytes of the blocks before */
	uint64_t nr_damages;		/* in the file before the record */
	bool nested;			/* inside a batch */
	bool in_block;
	bool unknown_too;		/* set by the caller: nothing is skipped, see known */
	bool known;			/* the record returned last is of a known type, and checked */
	enum records_end end;
	const char *what;		/* RECORDS_CUT, RECORDS_CORRUPT: what is wrong */
	uint64_t nr_skipped;		/* records of unknown types */
	uint64_t released;		/* reader__release(): bytes already given back */
};

/**
 * reader__open - map a recording and check its header
 * @r: filled in; r->error says why when this fails
 * @path: a regular file
 *
 * A file that another program cuts short while it is mapped raises SIGBUS; the caller handles it.
 *
 * Return: 0, or -errno of the failing call, -EINVAL for something that is no recording, -EPROTO
 * for one of a newer major version or of another endianness.
 */
int reader__open(struct reader *r, const char *path);

/* The same for @size bytes at @buf, aligned to 8, which stay the caller's and must outlive @r. */
int reader__open_mem(struct reader *r, const void *buf, size_t size, const char *name);
void reader__close(struct reader *r);

/* Starts (again) at the first record. */
void reader__rewind(const struct reader *r, struct record_iter *it);

/* What the walk of a recording of blocks has met so far; NULL if the recording has none. */
const struct damages *reader__damages(const struct reader *r);

/* Return: @rec, of the file and not of a batch, or a copy, valid until reader__close(); or NULL. */
const void *reader__keep(const struct reader *r, const void *rec);

/*
 * Gives the pages behind @it back to the kernel. Pointers into them stay valid; memory use follows
 * what is in flight and not the size of the file.
 */
void reader__release(const struct reader *r, struct record_iter *it);

/* Return: the next record, of a known type unless unknown_too, or NULL at the end, with @it->end set. */
const struct xpu_record *record_iter__next(struct record_iter *it);

/* Starts on the records inside @batch, which @outer returned last. */
void record_iter__enter(struct record_iter *it, const struct record_iter *outer,
			const struct xpu_record_batch *batch);

/* Return: where in the file the next record is, or what stopped the walk; or their block. */
static inline uint64_t record_iter__file_offset(const struct record_iter *it)
{
	return it->in_block ? it->file_offset : it->file_offset + it->offset;
}

/* Return: a number that each walk has after the same record, and after no other. Never 0. */
static inline uint64_t record_iter__place(const struct record_iter *it)
{
	return it->passed + it->offset;
}

#endif /* MERGE_READER_H */
