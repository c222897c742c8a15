// SPDX-License-Identifier: MIT
#include "block.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "columns.h"

#define HEADER_MAX	1024u		/* bytes, with room for longer headers of later versions */
#define PACKED_MAX	(2 * XPU_BLOCK_MAX)	/* columns can be larger than the records */

static size_t padded(size_t bytes)
{
	return (bytes + 7) & ~(size_t)7;
}

static bool is_in_proportion(size_t stored_bytes, size_t bytes)
{
	return bytes / XPU_BLOCK_RATIO <= stored_bytes;
}

/* Return: the CRC of @bytes at @data, with the four bytes at @field taken as 0. */
static uint32_t crc_without(const void *data, size_t bytes, size_t field)
{
	static const uint8_t zero[4];
	const uint8_t *at = data;
	uint32_t crc = crc32(0, at, field);

	crc = crc32(crc, zero, sizeof(zero));
	return crc32(crc, at + field + sizeof(zero), bytes - field - sizeof(zero));
}

void file_header__seal(struct xpu_file_header *hdr)
{
	hdr->crc = crc_without(hdr, sizeof(*hdr), offsetof(struct xpu_file_header, crc));
}

bool file_header__is_sealed(const struct xpu_file_header *hdr)
{
	return hdr->crc == crc_without(hdr, hdr->header_bytes,
				       offsetof(struct xpu_file_header, crc));
}

/* ---- making blocks -------------------------------------------------------------------------- */

struct block_packer {
	int level;
	struct columns *columns;
	ZSTD_CCtx *zstd;
	struct xpu_record_block *out;
	size_t out_bytes;
	uint64_t number, nr_launches;	/* totals over the blocks made so far */
};

struct block_packer *block_packer__new(int level)
{
	struct block_packer *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->level = level;
	if (level) {
		p->columns = columns__new();
		p->zstd = ZSTD_createCCtx();
	}
	if (!level || (p->columns && p->zstd))
		return p;
	block_packer__free(p);
	return NULL;
}

void block_packer__free(struct block_packer *p)
{
	if (!p)
		return;
	ZSTD_freeCCtx(p->zstd);
	columns__free(p->columns);
	free(p->out);
	free(p);
}

static uint32_t count_launches(const uint8_t *at, size_t bytes)
{
	const struct xpu_record_launches *r;
	uint32_t nr = 0;

	for (; bytes >= sizeof(r->hdr); at += r->hdr.size, bytes -= r->hdr.size) {
		r = (const struct xpu_record_launches *)at;
		if (r->hdr.size < sizeof(r->hdr) || r->hdr.size % 8 || r->hdr.size > bytes)
			break;
		if (r->hdr.type == XPU_RECORD_LAUNCHES && r->hdr.size >= sizeof(*r))
			nr += r->nr;
	}
	return nr;
}

void block_packer__resume(struct block_packer *p, uint64_t nr_blocks, uint64_t nr_launches)
{
	p->number = nr_blocks;
	p->nr_launches = nr_launches;
}

/* Makes room for @bytes of data. Return: 0 or -ENOMEM. */
static int block_packer__reserve(struct block_packer *p, size_t bytes)
{
	bytes += sizeof(*p->out) + 8;
	if (p->out_bytes >= bytes)
		return 0;
	free(p->out);
	p->out = malloc(bytes);
	p->out_bytes = p->out ? bytes : 0;
	return p->out ? 0 : -ENOMEM;
}

/*
 * Packs @bytes at @data into p->out. Stores the data unpacked if @level is 0, or if packing would
 * not make them smaller.
 */
static int block_packer__compress(struct block_packer *p, const void *data, size_t bytes, int level)
{
	size_t bound = level ? ZSTD_compressBound(bytes) : bytes, stored = 0;

	if (block_packer__reserve(p, bound > bytes ? bound : bytes))
		return -ENOMEM;
	p->out->hdr.misc = 0;
	p->out->packed_bytes = bytes;
	if (level)
		stored = ZSTD_compressCCtx(p->zstd, p->out->data, bound, data, bytes, level);
	if (level && !ZSTD_isError(stored) && stored < bytes) {
		p->out->hdr.misc = XPU_MISC_BLOCK_ZSTD;
	} else {
		if (bytes)
			memcpy(p->out->data, data, bytes);
		stored = bytes;
	}
	memset(p->out->data + stored, 0, padded(stored) - stored);
	p->out->stored_bytes = stored;
	return 0;
}

const struct xpu_record_block *block_packer__pack(struct block_packer *p, const void *records,
						  size_t bytes)
{
	struct xpu_record_block *b;
	bool columns = p->level;
	const void *data = records;
	size_t packed = bytes;

	if (columns) {
		data = columns__pack(p->columns, records, bytes, &packed);
		if (!data)
			return NULL;
	}
	if (block_packer__compress(p, data, packed, p->level))
		return NULL;
	if (!is_in_proportion(p->out->stored_bytes, bytes > packed ? bytes : packed)) {
		columns = false;
		if (block_packer__compress(p, records, bytes, 0))
			return NULL;
	}
	b = p->out;
	b->hdr.type = XPU_RECORD_BLOCK;
	b->hdr.misc |= columns ? XPU_MISC_BLOCK_COLUMNS : 0;
	b->hdr.size = sizeof(*b) + padded(b->stored_bytes);
	memcpy(b->magic, XPU_BLOCK_MAGIC, sizeof(b->magic));
	b->crc = crc32(0, b->data, b->stored_bytes);
	b->raw_bytes = bytes;
	b->nr_launches = count_launches(records, bytes);
	b->number = p->number++;
	b->launches_before = p->nr_launches;
	p->nr_launches += b->nr_launches;
	b->header_crc = crc_without(b, sizeof(*b), offsetof(struct xpu_record_block, header_crc));
	return b;
}

/* ---- reading blocks ------------------------------------------------------------------------- */

size_t block__header(const void *at, size_t left, struct xpu_record_block *header)
{
	size_t bytes;

	if (left < sizeof(*header))
		return 0;
	memcpy(header, at, sizeof(*header));
	if (header->hdr.type != XPU_RECORD_BLOCK || header->hdr.size % 8 ||
	    memcmp(header->magic, XPU_BLOCK_MAGIC, sizeof(header->magic)) ||
	    header->raw_bytes > XPU_BLOCK_MAX || header->packed_bytes > PACKED_MAX ||
	    header->stored_bytes > PACKED_MAX ||
	    !is_in_proportion(header->stored_bytes, header->raw_bytes) ||
	    !is_in_proportion(header->stored_bytes, header->packed_bytes) ||
	    header->hdr.size < sizeof(*header) + padded(header->stored_bytes))
		return 0;
	bytes = header->hdr.size - padded(header->stored_bytes);
	if (bytes > HEADER_MAX || bytes > left ||
	    header->header_crc != crc_without(at, bytes,
					      offsetof(struct xpu_record_block, header_crc)))
		return 0;
	return bytes;
}

struct block_unpacker {
	ZSTD_DCtx *zstd;
	void *packed;
	size_t room;
};

struct block_unpacker *block_unpacker__new(void)
{
	return calloc(1, sizeof(struct block_unpacker));
}

void block_unpacker__free(struct block_unpacker *u)
{
	if (!u)
		return;
	ZSTD_freeDCtx(u->zstd);
	free(u->packed);
	free(u);
}

static int block_unpacker__decompress(struct block_unpacker *u, void *to, size_t bytes,
				      const void *data, size_t stored)
{
	u->zstd = u->zstd ?: ZSTD_createDCtx();
	if (!u->zstd)
		return -ENOMEM;
	return ZSTD_decompressDCtx(u->zstd, to, bytes, data, stored) == bytes ? 0 : -EBADMSG;
}

int block_unpacker__unpack(struct block_unpacker *u, const struct xpu_record_block *header,
			   const void *data, void *records)
{
	bool zstd = header->hdr.misc & XPU_MISC_BLOCK_ZSTD;
	bool columns = header->hdr.misc & XPU_MISC_BLOCK_COLUMNS;
	size_t stored = header->stored_bytes, bytes = header->packed_bytes;
	int err = 0;

	if (header->crc != crc32(0, data, stored))
		return -EBADMSG;
	if (header->hdr.misc & ~(XPU_MISC_BLOCK_ZSTD | XPU_MISC_BLOCK_COLUMNS))
		return -EPROTO;
	if ((!zstd && stored != bytes) || (!columns && bytes != header->raw_bytes))
		return -EBADMSG;
	if (!columns && zstd)
		return block_unpacker__decompress(u, records, bytes, data, stored);
	if (!columns) {
		memcpy(records, data, bytes);
		return 0;
	}
	/* Columns must be aligned, but the file's data may not be. */
	if (!u->packed || u->room < bytes) {
		free(u->packed);
		u->packed = malloc(bytes ?: 1);
		u->room = u->packed ? bytes : 0;
		if (!u->packed)
			return -ENOMEM;
	}
	if (zstd)
		err = block_unpacker__decompress(u, u->packed, bytes, data, stored);
	else
		memcpy(u->packed, data, bytes);
	return err ?: columns__unpack(u->packed, bytes, records, header->raw_bytes);
}
