// SPDX-License-Identifier: GPL-3.0-or-later
/* fuzz_ranks - fuzzes "xpumerge ranks", with all its outputs; some inputs are two recordings */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ranks_merge.h"
#include "records.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* The copy has exactly @size bytes, so that the sanitizer sees a read beyond them. */
	void *copy = malloc(size ? size : 1);
	const char *broken;
	int err;

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	broken = ranked__run(copy, size, 1 + size / 8 % 2, NULL, &err);
	if (broken || err == -ENOMEM) {
		fprintf(stderr, "%s\n", broken ?: "out of memory");
		abort();
	}
	free(copy);
	return 0;
}
