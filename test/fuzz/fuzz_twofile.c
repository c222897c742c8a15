// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * fuzz_twofile - fuzzes recordings in two files
 *
 * The input has the stacks, a line "%%", and the device records. Whatever the files contain, the
 * records of the result must be in order, and its merges must be valid.
 */
#include <stddef.h>
#include <stdint.h>

#include "gen_merge.h"
#include "import/twofile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct merge_opts opts = { UNIT_NS, false };
	struct twofile_opts twofile_opts = { .cpu = "cpu", .gpu = "gpu", .tolerance_ns = 10000000 };
	const char *text = (const char *)data, *split = memmem(data, size, "%%\n", 3);
	size_t cpu_bytes = split ? split - text : 0, gpu_bytes = size - cpu_bytes - (split ? 3 : 0);
	/* Each copy has exactly the file's size, so that the sanitizer sees a read beyond it. */
	char *cpu = malloc(cpu_bytes + !cpu_bytes), *gpu = malloc(gpu_bytes + !gpu_bytes);
	struct twofile twofile;
	struct msgs msgs = { 0 };
	struct import im;
	struct merged m;
	struct reader r;
	int err;

	if (!cpu || !gpu)
		abort();
	memcpy(cpu, text, cpu_bytes);
	memcpy(gpu, split ? split + 3 : text, gpu_bytes);
	import__init(&im);
	err = twofile__read(&twofile, &im, &twofile_opts,
			    split ? &(struct input_file){ .buf = cpu, .size = cpu_bytes } : NULL,
			    &(struct input_file){ .buf = gpu, .size = gpu_bytes }, &msgs);
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
	free(gpu);
	free(cpu);
	return 0;
}
