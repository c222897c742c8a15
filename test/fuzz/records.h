/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * records.h - the mutator of fuzzers that read recordings; included by one file of a fuzzer
 *
 * Random changes of bytes rarely leave a chain of records, so the mutator knows where records
 * begin. It drops, repeats and exchanges whole records, or changes the inside of a record. In a
 * recording of blocks, it mutates a block's records, its packed bytes, its header, and whole
 * blocks. Then it corrects the CRCs; otherwise the code after the CRC check would never run.
 */
#ifndef TEST_FUZZ_RECORDS_H
#define TEST_FUZZ_RECORDS_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "block.h"
#include "columns.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);

#define MAX_RECORDS	512

/* Sets @at to the offsets of the records in [from, to), nested records included. */
static size_t find_records(const uint8_t *data, size_t from, size_t to, size_t *at, size_t nr)
{
	struct xpu_record rec;

	while (to - from >= sizeof(rec) && nr < MAX_RECORDS) {
		memcpy(&rec, data + from, sizeof(rec));
		if (rec.size < sizeof(rec) || rec.size % 8 || rec.size > to - from)
			break;
		at[nr++] = from;
		if (rec.type == XPU_RECORD_BATCH && rec.size > sizeof(struct xpu_record_batch))
			nr = find_records(data, from + sizeof(struct xpu_record_batch),
					  from + rec.size, at, nr);
		from += rec.size;
	}
	return nr;
}

/* Mutates records; the records begin at @start. */
static size_t mutate_records(uint8_t *data, size_t start, size_t size, size_t max_size,
			     unsigned int seed)
{
	size_t at[MAX_RECORDS], nr = 0, from, to, bytes;
	struct xpu_record rec;
	uint8_t *copy;

	if (size > start && rand_r(&seed) % 8)
		nr = find_records(data, start, size, at, 0);
	if (!nr)
		return LLVMFuzzerMutate(data, size, max_size);
	from = at[rand_r(&seed) % nr];
	to = at[rand_r(&seed) % nr];
	memcpy(&rec, data + from, sizeof(rec));
	bytes = rec.size;
	switch (rand_r(&seed) % 8) {
	case 0:			/* drops a record; a batch around it is then too short */
		memmove(data + from, data + from + bytes, size - from - bytes);
		return size - bytes;
	case 1:			/* repeats a record somewhere else */
	case 2:
		if (size + bytes > max_size)
			return size;
		copy = malloc(bytes);
		if (!copy)
			return size;
		memcpy(copy, data + from, bytes);
		memmove(data + to + bytes, data + to, size - to);
		memcpy(data + to, copy, bytes);
		free(copy);
		return size + bytes;
	case 3:			/* changes a small number in a record */
		from += 8 + rand_r(&seed) % ((bytes - 8) / 4 + 1) * 4;
		if (from + 4 <= size) {
			uint32_t value = rand_r(&seed) % 5;

			memcpy(data + from, &value, 4);
		}
		return size;
	default:		/* changes a record's contents, and sometimes its header */
		if (bytes > 8 && rand_r(&seed) % 8)
			LLVMFuzzerMutate(data + from + 8, bytes - 8, bytes - 8);
		else
			LLVMFuzzerMutate(data + from, bytes, bytes);
		return size;
	}
}

#define MAX_BLOCKS	64

/* Sets @at to the offsets of the blocks with valid headers. */
static size_t find_blocks(const uint8_t *data, size_t size, size_t *at)
{
	struct xpu_record_block h;
	size_t nr = 0, from = sizeof(struct xpu_file_header);

	while (nr < MAX_BLOCKS && from < size) {
		if (!block__header(data + from, size - from, &h) || h.hdr.size > size - from) {
			from += 8;
			continue;
		}
		at[nr++] = from;
		from += h.hdr.size;
	}
	return nr;
}

/* Sets both CRCs of a block. */
static void seal(struct xpu_record_block *b)
{
	b->crc = crc32(0, b->data, b->stored_bytes);
	b->header_crc = 0;
	b->header_crc = crc32(0, (const uint8_t *)b, sizeof(*b));
}

/* Replaces the @bytes bytes at @at with the block @with. Return: the new size. */
static size_t replace(uint8_t *data, size_t size, size_t max_size, size_t at, size_t bytes,
		      const struct xpu_record_block *with)
{
	if (size - bytes + with->hdr.size > max_size)
		return size;
	memmove(data + at + with->hdr.size, data + at + bytes, size - at - bytes);
	memcpy(data + at, with, with->hdr.size);
	return size - bytes + with->hdr.size;
}

/* Changes the records of the block with the header @h, or changes the block's packed bytes. */
static size_t mutate_block(uint8_t *data, size_t size, size_t max_size, size_t at,
			   const struct xpu_record_block *h, unsigned int seed)
{
	struct block_packer *packer = block_packer__new(rand_r(&seed) % 2);
	struct block_unpacker *unpacker = block_unpacker__new();
	size_t room = h->raw_bytes + 4096, nr = h->raw_bytes, packed_bytes;
	size_t header_bytes = block__header(data + at, size - at, &(struct xpu_record_block){ 0 });
	struct xpu_record_block *b = NULL;
	struct columns *columns = columns__new();
	uint8_t *records = aligned_alloc(8, (room + 7) & ~7ul);
	const void *packed;

	if (!packer || !unpacker || !columns || !records || nr > max_size * 8)
		goto out;
	if (block_unpacker__unpack(unpacker, h, data + at + header_bytes, records))
		goto out;
	if (rand_r(&seed) % 3) {
		nr = mutate_records(records, 0, nr, room, rand_r(&seed));
		b = (void *)block_packer__pack(packer, records, nr);
		if (!b)
			goto out;
		b->number = h->number;
		b->launches_before = h->launches_before;
		seal(b);
		size = replace(data, size, max_size, at, h->hdr.size, b);
		goto out;
	}
	packed = columns__pack(columns, records, nr, &packed_bytes);
	b = calloc(1, sizeof(*b) + packed_bytes + 64);
	if (!packed || !b)
		goto out_free;
	*b = *h;
	memcpy(b->data, packed, packed_bytes);
	/* The beginning of the data is mutated most, because it decides how the rest is read. */
	if (rand_r(&seed) % 4)
		LLVMFuzzerMutate(b->data, packed_bytes < 128 ? packed_bytes : 128,
				 packed_bytes < 128 ? packed_bytes : 128);
	else
		packed_bytes = LLVMFuzzerMutate(b->data, packed_bytes, packed_bytes + 56);
	b->hdr.misc = XPU_MISC_BLOCK_COLUMNS;
	b->stored_bytes = b->packed_bytes = packed_bytes;
	b->hdr.size = sizeof(*b) + (packed_bytes + 7) / 8 * 8;
	seal(b);
	size = replace(data, size, max_size, at, h->hdr.size, b);
out_free:
	free(b);
out:
	free(records);
	columns__free(columns);
	block_unpacker__free(unpacker);
	block_packer__free(packer);
	return size;
}

/* Changes one number of a block's header. */
static void mutate_header(uint8_t *data, size_t at, unsigned int seed)
{
	static const uint32_t numbers[] = { 0, 1, 8, 4096, XPU_BLOCK_MAX, XPU_BLOCK_MAX + 8,
					    0x7fffffff, 0xffffffff };
	size_t words = (sizeof(struct xpu_record_block) - 24) / 4;
	struct xpu_record_block b;
	uint32_t value = numbers[rand_r(&seed) % 8];

	memcpy(&b, data + at, sizeof(b));
	if (rand_r(&seed) % 4)
		memcpy((uint8_t *)&b + 24 + rand_r(&seed) % words * 4, &value, sizeof(value));
	else
		b.hdr.misc = rand_r(&seed) % 8;
	b.header_crc = 0;
	b.header_crc = crc32(0, (const uint8_t *)&b, sizeof(b));
	memcpy(data + at, &b, sizeof(b));
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
	size_t at[MAX_BLOCKS], nr = 0, from, to;
	struct xpu_record_block h;
	uint8_t *copy;

	if (size > sizeof(struct xpu_file_header))
		nr = find_blocks(data, size, at);
	if (!nr || rand_r(&seed) % 16 == 0)
		return mutate_records(data, sizeof(struct xpu_file_header), size, max_size, seed);
	from = at[rand_r(&seed) % nr];
	to = at[rand_r(&seed) % nr];
	block__header(data + from, size - from, &h);
	switch (rand_r(&seed) % 16) {
	case 0:
		memmove(data + from, data + from + h.hdr.size, size - from - h.hdr.size);
		return size - h.hdr.size;
	case 1:
		copy = malloc(h.hdr.size);
		if (!copy || size + h.hdr.size > max_size) {
			free(copy);
			return size;
		}
		memcpy(copy, data + from, h.hdr.size);
		memmove(data + to + h.hdr.size, data + to, size - to);
		memcpy(data + to, copy, h.hdr.size);
		free(copy);
		return size + h.hdr.size;
	case 2:
	case 3:
		mutate_header(data, from, rand_r(&seed));
		return size;
	default:
		return mutate_block(data, size, max_size, from, &h, rand_r(&seed));
	}
}

#endif /* TEST_FUZZ_RECORDS_H */
