// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * fuzz_trace - fuzzes the inputs of --gpu without --cpu: JSON of Chrome, PyTorch and rocprofv3,
 * databases of rocprofv3, lines and text
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "gen_merge.h"
#include "import/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct merge_opts opts = { UNIT_NS, false };
	struct msgs msgs = { 0 };
	struct trace trace;
	struct import im;
	struct merged m;
	struct reader r;
	int err;

	import__init(&im);
	err = trace__read_mem(&trace, &im, (const char *)data, size, &msgs);
	if (!err) {
		if (import__finish(&im, &r, "fuzz"))
			abort();
		merged__run(&m, im.records.v, im.records.nr, "fuzz", &opts);
		if (merged__broken(&m) || m.status || !m.ended) {
			fprintf(stderr, "%s\n", merged__broken(&m) ?: "the recording is damaged");
			abort();
		}
		merged__free(&m);
	} else if (!msgs.lines.nr) {
		fprintf(stderr, "failed without a word\n");
		abort();
	}
	import__exit(&im);
	msgs__free(&msgs);
	return 0;
}
