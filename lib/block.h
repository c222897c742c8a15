/* SPDX-License-Identifier: MIT */
/*
 * block.h - the blocks of a recording, see struct xpu_record_block in xpu_record.h
 */
#ifndef XPU_BLOCK_H
#define XPU_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xpu_record.h"

#define BLOCK_LEVEL_DEFAULT	1
#define BLOCK_LEVEL_MAX		22

/* Sets .crc of a file's header. The header has sizeof(*hdr) bytes. */
void file_header__seal(struct xpu_file_header *hdr);
/*
 * Return: whether the header at @hdr has the right CRC. All of the file's header_bytes must be
 * readable.
 */
bool file_header__is_sealed(const struct xpu_file_header *hdr);

/* ---- making blocks -------------------------------------------------------------------------- */

struct block_packer;

/**
 * block_packer__new - make a packer for the blocks of one new file
 * @level: Zstandard level, 1 to BLOCK_LEVEL_MAX; 0: do not compress the records
 *
 * Return: NULL if there is no memory.
 */
struct block_packer *block_packer__new(int level);
void block_packer__free(struct block_packer *p);

/* Tells the packer how many blocks and launches the file already contains. */
void block_packer__resume(struct block_packer *p, uint64_t nr_blocks, uint64_t nr_launches);

/**
 * block_packer__pack - make the next block of the file
 * @records: @bytes of whole records, aligned to 8; at most XPU_BLOCK_MAX bytes
 *
 * Return: the block, hdr.size bytes, valid until the next call; NULL if memory is short.
 */
const struct xpu_record_block *block_packer__pack(struct block_packer *p, const void *records,
						  size_t bytes);

/* ---- reading blocks ------------------------------------------------------------------------- */

/**
 * block__header - look for a block's header
 * @at: where to look: @left bytes, which need not be aligned
 * @header: set to a copy of the members that this version knows
 *
 * Return: the size of the whole header if the header is valid, otherwise 0. The block may be longer
 * than @left.
 */
size_t block__header(const void *at, size_t left, struct xpu_record_block *header);

struct block_unpacker;

struct block_unpacker *block_unpacker__new(void);
void block_unpacker__free(struct block_unpacker *u);

/**
 * block_unpacker__unpack - restore the records of a block
 * @header: the header that block__header() found
 * @data: header->stored_bytes bytes, which need not be aligned
 * @records: room for header->raw_bytes bytes, aligned to 8
 *
 * Return: 0, -ENOMEM, -EBADMSG if the data are damaged, or -EPROTO if this version does not know
 * how they are packed.
 */
int block_unpacker__unpack(struct block_unpacker *u, const struct xpu_record_block *header,
			   const void *data, void *records);

#endif /* XPU_BLOCK_H */
