// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * fuzz_reader - a whole merge, with all writers, of whatever the fuzzer thinks of
 *
 * Bytes changed at random rarely leave a chain of records, so the mutator knows where records
 * begin: it drops, repeats and exchanges whole ones, or changes what is inside of one.
 */
#include <stddef.h>
#include <stdint.h>

#include "gen_merge.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct merge_opts opts[] = {
		{ UNIT_US, false }, { UNIT_NS, true }, { UNIT_COUNT, false },
		{ UNIT_SAMPLES, true },
	};
	const char *broken;
	struct merged m;
	void *copy;

	/* A block of that very size, for the sanitizer to see a byte too many. */
	copy = malloc(size ? size : 1);
	if (!copy)
		return 0;
	memcpy(copy, data, size);
	merged__run(&m, copy, size, "fuzz", &opts[size / 8 % 4]);
	broken = merged__broken(&m);
	if (broken) {
		fprintf(stderr, "%s\n", broken);
		abort();
	}
	merged__free(&m);
	free(copy);
	return 0;
}

#define MAX_RECORDS	512

/* Offsets of the records in [from, to), nested ones too. */
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

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
	size_t at[MAX_RECORDS], nr = 0, from, to, bytes;
	struct xpu_record rec;
	uint8_t *copy;

	if (size > sizeof(struct xpu_file_header) && rand_r(&seed) % 8)
		nr = find_records(data, sizeof(struct xpu_file_header), size, at, 0);
	if (!nr)
		return LLVMFuzzerMutate(data, size, max_size);
	from = at[rand_r(&seed) % nr];
	to = at[rand_r(&seed) % nr];
	memcpy(&rec, data + from, sizeof(rec));
	bytes = rec.size;
	switch (rand_r(&seed) % 8) {
	case 0:			/* drop one; a batch around it is then too short */
		memmove(data + from, data + from + bytes, size - from - bytes);
		return size - bytes;
	case 1:			/* repeat one somewhere else */
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
	case 3:			/* one small number of one */
		from += 8 + rand_r(&seed) % ((bytes - 8) / 4 + 1) * 4;
		if (from + 4 <= size) {
			uint32_t value = rand_r(&seed) % 5;

			memcpy(data + from, &value, 4);
		}
		return size;
	default:		/* what is behind its header, or with it */
		if (bytes > 8 && rand_r(&seed) % 8)
			LLVMFuzzerMutate(data + from + 8, bytes - 8, bytes - 8);
		else
			LLVMFuzzerMutate(data + from, bytes, bytes);
		return size;
	}
}
