/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * reader.h - reads xpu.data, record by record
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
 * An iterator checks the records that it returns: each has all fixed fields of its type, every
 * count fits the record's size, and every string ends inside the record. Records are aligned to 8.
 * Records of unknown types, and records in a wrong place, are skipped. With @unknown_too these
 * records are returned, but only their headers are checked.
 *
 * If the recording consists of blocks, a record is valid only until the next record is requested;
 * reader__keep() returns a copy that stays valid longer. In a recording of blocks, a new walk ends
 * the previous walk. Damaged blocks do not end a walk; reader__damages() reports them.
 */
#ifndef MERGE_READER_H
#define MERGE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "read/blocks.h"
#include "xpu_record.h"

struct reader {
	const char *name;		/* name for messages, owned by the caller */
	const uint8_t *base;		/* the whole file, aligned to 8 */
	size_t size;
	bool mapped;			/* reader__close() unmaps @base */
	uint8_t *copy;			/* NULL, or the same as @base; reader__close() frees it */
	bool bad_header;		/* the header's CRC is wrong; its times may be wrong, too */
	struct blocks *blocks;		/* NULL: the records directly follow the header */
	struct xpu_file_header header;	/* fields beyond header_bytes are 0 */
	char error[256];		/* one line: why opening failed, without the file's name */
};

enum records_end {
	RECORDS_MORE,			/* the walk is not at the end yet */
	RECORDS_WHOLE,			/* the walk ended after the last record */
	RECORDS_CUT,			/* the walk ended inside a record: the writer was stopped */
	RECORDS_CORRUPT,		/* the walk ended at data that is not a record */
	RECORDS_NO_MEMORY,		/* the walk stopped because memory is short */
};

/*
 * Iterates over one run of records: the records of a file without blocks, of a block, or of a
 * batch. After a block, it continues with the next block.
 */
struct record_iter {
	const uint8_t *base;
	uint64_t offset;		/* offset of the next record, or of the data that stopped
					 * the walk */
	uint64_t size;			/* end of the run */
	uint64_t file_offset;		/* file offset of @base; in a block: offset of the block */
	struct blocks *blocks;		/* the file's blocks, each with one run of records; or
					 * NULL */
	uint64_t passed;		/* size of all earlier blocks */
	uint64_t nr_damages;		/* number of damaged ranges before the current record */
	bool nested;			/* inside a batch */
	bool in_block;
	bool unknown_too;		/* set by the caller: return unknown records, too */
	bool known;			/* the last record has a known type, and was checked */
	enum records_end end;
	const char *what;		/* for RECORDS_CUT and RECORDS_CORRUPT: the reason */
	uint64_t nr_skipped;		/* number of skipped records of unknown types */
	uint64_t released;		/* bytes that reader__release() has released */
};

/**
 * reader__open - map a recording and check its header
 * @r: filled in; after a failure, r->error is the reason
 * @path: a regular file
 *
 * If another program truncates the file while it is mapped, reading raises SIGBUS, which the caller
 * must handle.
 *
 * Return: 0, -EINVAL if the file is not a recording, -EPROTO if its major version is newer or its
 * endianness differs, or -errno of the failed system call.
 */
int reader__open(struct reader *r, const char *path);

/*
 * Opens a recording in memory: @size bytes at @buf. The buffer is aligned to 8, belongs to the
 * caller, and must outlive @r.
 */
int reader__open_mem(struct reader *r, const void *buf, size_t size, const char *name);
void reader__close(struct reader *r);

/* Starts, or restarts, at the first record. */
void reader__rewind(const struct reader *r, struct record_iter *it);

#define READER_HOST_MAX	256

/* Return: whether the first records of the recording include a record of the type. */
bool reader__begins_with(const struct reader *r, uint16_t type);

/*
 * Copies the host name, which is in the first records, without a NUL.
 * Return: the length of the name; 0 if the recording does not contain it.
 */
size_t reader__hostname(const struct reader *r, char host[READER_HOST_MAX]);

/*
 * Return: the name of the recording's first file, without a directory, if this is a later file;
 * otherwise NULL.
 */
const char *reader__first_name(const struct reader *r);

/*
 * Return: the number of the file in its recording, starting at 1. Sets *@recording_ns to the start
 * time of the first file.
 */
uint64_t reader__file_number(const struct reader *r, uint64_t *recording_ns);

/*
 * Return: the end of the last complete record or block of the recording; a truncated record or
 * block may follow. Sets *@nr_blocks and *@nr_launches to the number of blocks and launches.
 */
uint64_t reader__whole(const struct reader *r, uint64_t *nr_blocks, uint64_t *nr_launches);

/* Return: the damage found by the walk so far; NULL for a recording without blocks. */
const struct damages *reader__damages(const struct reader *r);

/*
 * Return: @part or a copy of it, valid until reader__close(); NULL if memory is short. @part: a
 * record or a part of a record
 */
const void *reader__keep(const struct reader *r, const void *part, size_t bytes);

/*
 * Makes the kernel read the file, or its first part, ahead of time, while another file is in use.
 */
void reader__read_ahead(const struct reader *r);

/* Like reader__keep(), but the copy is valid only until reader__let_go(). */
const void *reader__hold(const struct reader *r, const void *part, size_t bytes);

/*
 * After a walk, frees the copies made by reader__hold(), and releases the file's pages. Another
 * walk may follow.
 */
void reader__let_go(const struct reader *r);

/*
 * Releases the pages before the position of @it. Pointers into these pages stay valid. Memory use
 * therefore depends on the launches in flight, not on the size of the file.
 */
void reader__release(const struct reader *r, struct record_iter *it);

/*
 * Return: the next record, which has a known type unless unknown_too is set; NULL at the end, with
 * @it->end set.
 */
const struct xpu_record *record_iter__next(struct record_iter *it);

/* Starts with the records inside @batch, which @outer returned last. */
void record_iter__enter(struct record_iter *it, const struct record_iter *outer,
			const struct xpu_record_batch *batch);

/*
 * Return: the offset in the file of the next record, or of the data that stopped the walk; in a
 * recording of blocks, the offset of the block.
 */
static inline uint64_t record_iter__file_offset(const struct record_iter *it)
{
	return it->in_block ? it->file_offset : it->file_offset + it->offset;
}

/*
 * Return: a number, never 0, for the current place of the walk. The number changes with each
 * record, and is the same in every walk.
 */
static inline uint64_t record_iter__place(const struct record_iter *it)
{
	return it->passed + it->offset;
}

/*
 * Return: whether the shim counts the batch. A batch that a thread sends on its own contains no
 * COUNTERS, and is not counted.
 */
static inline bool batch__is_counted(const struct xpu_record_batch *batch)
{
	const struct xpu_record *first = (const void *)batch->records;

	return batch->bytes < sizeof(*first) ||
	       (first->type != XPU_RECORD_RANGE && first->type != XPU_RECORD_CALLS &&
		first->type != XPU_RECORD_API);
}

#endif /* MERGE_READER_H */
