// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * fuzz_perfscript - fuzzes the inputs of --cpu without --gpu: perf script's text, and perf.data
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "gen_merge.h"
#include "import/perf/side.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct merge_opts opts = { UNIT_NS, false };
	struct cpu_side side = { 0 };
	struct msgs msgs = { 0 };
	struct import im;
	struct merged m;
	struct reader r;
	int err;

	import__init(&im);
	err = cpu_side__read_mem(&side, (const char *)data, size, size % 2, &msgs);
	if (!err)
		err = cpu_side__write(&side, &im, NULL, NULL, "/nonexistent", &msgs);
	if (!err && side.told.nr_samples) {
		if (import__finish(&im, &r, "fuzz"))
			abort();
		merged__run(&m, im.records.v, im.records.nr, "fuzz", &opts);
		if (merged__broken(&m) || m.status || !m.ended) {
			fprintf(stderr, "%s\n", merged__broken(&m) ?: "the recording is damaged");
			abort();
		}
		merged__free(&m);
	} else if (err && !msgs.lines.nr) {
		fprintf(stderr, "failed without a word\n");
		abort();
	}
	cpu_side__exit(&side);
	import__exit(&im);
	msgs__free(&msgs);
	return 0;
}
