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
 * An iterator checks the records that it returns: the fixed part of the type is there, every count
 * fits the record's size, and every string ends inside it, so users may rely on them. Records are
 * aligned to 8. Unknown types, and types that do not belong in their place, are skipped; with
 * unknown_too they are returned, and only their header has been checked.
 *
 * If the recording consists of blocks, a record is valid only until the next one is asked for:
 * reader__keep() keeps it. Such a recording has one walk at a time: a new walk ends the one before.
 * Damaged blocks do not end a walk; reader__damages() reports them.
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
	uint8_t *copy;			/* or to free, if it is this */
	bool bad_header;		/* the header's CRC is wrong; its times may be, too */
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

/*
 * A walk over one run of records: those of the file, of one block after the other, or of a batch.
 */
struct record_iter {
	const uint8_t *base;
	uint64_t offset;		/* of the next record, or of the place that stopped the walk */
	uint64_t size;			/* where the run ends */
	uint64_t file_offset;		/* of base in the file; or of the run's block */
	struct blocks *blocks;		/* the source of the next run, or NULL */
	uint64_t passed;		/* bytes of the blocks before */
	uint64_t nr_damages;		/* in the file before the record */
	bool nested;			/* inside a batch */
	bool in_block;
	bool unknown_too;		/* set by the caller: skip nothing, see known */
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
 * Return: 0; -errno of the failing call; -EINVAL if the file is not a recording; -EPROTO if its
 * major version is newer or its endianness differs.
 */
int reader__open(struct reader *r, const char *path);

/*
 * Opens a recording in memory: @size bytes at @buf, aligned to 8, owned by the caller, which must
 * outlive @r.
 */
int reader__open_mem(struct reader *r, const void *buf, size_t size, const char *name);
void reader__close(struct reader *r);

/* Starts (again) at the first record. */
void reader__rewind(const struct reader *r, struct record_iter *it);

#define READER_HOST_MAX	256

/* Return: whether metrics of GPUs are defined near the recording's beginning. */
bool reader__has_metrics(const struct reader *r);

/*
 * Copies the name of the host, which is in the first records, without a NUL.
 * Return: its length; 0: the recording does not tell it.
 */
size_t reader__hostname(const struct reader *r, char host[READER_HOST_MAX]);

/*
 * Return: the name, without a directory, of the first file of the recording, of which this is another one;
 * else NULL.
 */
const char *reader__first_name(const struct reader *r);

/* Return: which file of its recording it is, from 1 on; sets *@recording_ns to when the first one begins. */
uint64_t reader__file_number(const struct reader *r, uint64_t *recording_ns);

/* Return: the damage that the walk has met so far; NULL for a recording without blocks. */
const struct damages *reader__damages(const struct reader *r);

/*
 * Return: @part, a record or what one has inside, or a copy of it, valid until reader__close();
 * NULL without memory.
 */
const void *reader__keep(const struct reader *r, const void *part, size_t bytes);

/* Lets the kernel read the file, or its first part, while another one is being used. */
void reader__read_ahead(const struct reader *r);

/* As reader__keep(), but valid until reader__let_go() only. */
const void *reader__hold(const struct reader *r, const void *part, size_t bytes);

/*
 * Frees what was held, and gives the file's pages back to the kernel: its records have been read. It may be
 * walked again.
 */
void reader__let_go(const struct reader *r);

/*
 * Gives the pages behind @it back to the kernel. Pointers into them stay valid. So memory use
 * depends on the launches in flight, not on the size of the file.
 */
void reader__release(const struct reader *r, struct record_iter *it);

/* Return: the next record, of a known type unless unknown_too, or NULL at the end, with @it->end set. */
const struct xpu_record *record_iter__next(struct record_iter *it);

/* Starts on the records inside @batch, which @outer returned last. */
void record_iter__enter(struct record_iter *it, const struct record_iter *outer,
			const struct xpu_record_batch *batch);

/*
 * Return: the offset in the file of the next record, or of the place that stopped the walk; in
 * blocks, that of the block.
 */
static inline uint64_t record_iter__file_offset(const struct record_iter *it)
{
	return it->in_block ? it->file_offset : it->file_offset + it->offset;
}

/*
 * Return: a number for the walk's place: equal in each walk after one record, different after any
 * other. Never 0.
 */
static inline uint64_t record_iter__place(const struct record_iter *it)
{
	return it->passed + it->offset;
}

/* Whether the shim counts the batch: not one that a thread sends by itself, which has no COUNTERS. */
static inline bool batch__is_counted(const struct xpu_record_batch *batch)
{
	const struct xpu_record *first = (const void *)batch->records;

	return batch->bytes < sizeof(*first) ||
	       (first->type != XPU_RECORD_RANGE && first->type != XPU_RECORD_CALLS &&
		first->type != XPU_RECORD_API);
}

#endif /* MERGE_READER_H */
