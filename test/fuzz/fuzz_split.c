// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * fuzz_split - fuzzes xpumerge split, which reads a recording from a pipe
 *
 * The files that split makes are deleted at once; fuzz_reader tests how split files are merged.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "block.h"
#include "gen.h"
#include "stream/split.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);

/*
 * The input consists of records. They are put into blocks here, so that the checksums match the
 * fuzzed bytes.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char name[] = "/tmp/fuzz_split.XXXXXX";
	struct split_opts opts = { .pattern = name, .keep = 1, .journal_fd = -1 };
	struct split_result result;
	struct block_packer *packer = block_packer__new(0);
	const struct xpu_record_block *block;
	struct gen header = { 0 };
	void *records = malloc(size + 1);
	int fd = memfd_create("recording", MFD_CLOEXEC), file = mkstemp(name);
	char *last;

	size = size > XPU_BLOCK_MAX ? XPU_BLOCK_MAX : size & ~(size_t)7;
	if (!packer || !records || fd < 0 || file < 0)
		abort();
	memcpy(records, data, size);
	gen__header(&header);
	gen__seal(&header);
	block = block_packer__pack(packer, records, size);
	if (!block || write(fd, header.v, header.nr) != (ssize_t)header.nr ||
	    write(fd, block, block->hdr.size) != (ssize_t)block->hdr.size)
		abort();
	lseek(fd, 0, SEEK_SET);
	split__run(fd, &opts, &result);
	last = split__name(name, result.nr_files);
	if (last)
		unlink(last);
	free(last);
	unlink(name);
	close(file);
	close(fd);
	gen__free(&header);
	block_packer__free(packer);
	free(records);
	return 0;
}

/*
 * Usually keeps the sizes of records right. Otherwise nothing after the first record would be read.
 */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
	struct xpu_record *rec;
	size_t at;

	size = LLVMFuzzerMutate(data, size, max_size) & ~(size_t)7;
	for (at = 0; at + sizeof(*rec) <= size && seed % 8; at += rec->size) {
		rec = (struct xpu_record *)(data + at);
		if (rec->size < sizeof(*rec) || rec->size % 8 || rec->size > size - at)
			rec->size = size - at;
		rec->type %= 96;
	}
	return size;
}
