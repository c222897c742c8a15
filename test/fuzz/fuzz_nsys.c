// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * fuzz_nsys - fuzzes databases that claim to be exports of Nsight Systems
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "gen_merge.h"
#include "import/nsys.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *prefixes[] = { "", "s" };
	static const struct merge_opts opts = { UNIT_NS, false };
	struct nsys_events_opts events_opts = {
		.activities = NSYS_KERNEL | NSYS_NVTX | NSYS_NVTX_KERNEL | NSYS_CUDA_API,
		.prefixes = prefixes, .nr_prefixes = 2, .colors = "{\"a|b\": \"good\"}",
	};
	uint8_t *copy = malloc(size + !size);
	struct msgs msgs = { 0 };
	char *json = NULL;
	size_t json_bytes;
	struct merged m;
	struct import im;
	struct reader r;
	struct nsys n;
	FILE *f;
	int err;

	if (!copy)
		abort();
	memcpy(copy, data, size);
	err = nsys__open_mem(&n, copy, size, &msgs);
	/* A file can make SQLite ask for more memory than allowed. */
	if (err && err != -ENOMEM && !msgs.lines.nr) {
		fprintf(stderr, "failed without a word\n");
		abort();
	}
	if (!err) {
		import__init(&im);
		err = nsys__import(&n, &im);
		if (!err && import__finish(&im, &r, "fuzz"))
			abort();
		if (!err) {
			merged__run(&m, im.records.v, im.records.nr, "fuzz", &opts);
			if (merged__broken(&m) || m.status || !m.ended) {
				fprintf(stderr, "%s\n",
					merged__broken(&m) ?: "the recording is damaged");
				abort();
			}
			merged__free(&m);
		}
		import__exit(&im);
		f = open_memstream(&json, &json_bytes);
		if (!f)
			abort();
		nsys__write_events(&n, f, &events_opts);
		fclose(f);
		free(json);
	}
	nsys__close(&n);
	msgs__free(&msgs);
	free(copy);
	return 0;
}
