// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * fuzz_reader - fuzzes a whole merge, with all writers
 */
#include <stddef.h>
#include <stdint.h>

#include "gen_merge.h"
#include "records.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct merge_opts opts[] = {
		{ UNIT_US, false }, { UNIT_NS, true }, { UNIT_COUNT, false },
		{ UNIT_SAMPLES, true },
	};
	const char *broken;
	struct merged m;
	void *copy;

	/* The copy has exactly @size bytes, so that the sanitizer sees a read beyond them. */
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
