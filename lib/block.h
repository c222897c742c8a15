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

/* Sets .crc of a file's header, of sizeof(*hdr) bytes. */
void file_header__seal(struct xpu_file_header *hdr);
/* Return: whether the header at @hdr has the right CRC. All header_bytes must be there. */
bool file_header__is_sealed(const struct xpu_file_header *hdr);

/* ---- making blocks -------------------------------------------------------------------------- */

struct block_packer;

/**
 * block_packer__new - make a packer for the blocks of one file, from its first on
 * @level: Zstandard's, 1 to BLOCK_LEVEL_MAX; 0: records stay as they are
 *
 * Return: NULL if there is no memory.
 */
struct block_packer *block_packer__new(int level);
void block_packer__free(struct block_packer *p);

/* The file has so many blocks and launches already. */
void block_packer__resume(struct block_packer *p, uint64_t nr_blocks, uint64_t nr_launches);

/**
 * block_packer__pack - make the next block of the file
 * @records: whole ones, aligned to 8; @bytes of them, XPU_BLOCK_MAX at most
 *
 * Return: the block, hdr.size bytes, which stay valid until the next call; NULL: no memory.
 */
const struct xpu_record_block *block_packer__pack(struct block_packer *p, const void *records,
						  size_t bytes);

/* ---- reading blocks ------------------------------------------------------------------------- */

/**
 * block__header - look for a block's header
 * @at: @left bytes, need not be aligned
 * @header: a copy of the members that this version knows
 *
 * Return: the bytes of the whole header if it is valid, else 0. The block may be longer than @left.
 */
size_t block__header(const void *at, size_t left, struct xpu_record_block *header);

struct block_unpacker;

struct block_unpacker *block_unpacker__new(void);
void block_unpacker__free(struct block_unpacker *u);

/**
 * block_unpacker__unpack - the records of a block
 * @header: as block__header() found it
 * @data: header->stored_bytes, need not be aligned
 * @records: room for header->raw_bytes, aligned to 8
 *
 * Return: 0, -EBADMSG: the data are damaged, -EPROTO: they are packed in a way not known here,
 * -ENOMEM.
 */
int block_unpacker__unpack(struct block_unpacker *u, const struct xpu_record_block *header,
			   const void *data, void *records);

#endif /* XPU_BLOCK_H */
