// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Each memory allocation of "ranks" fails in turn. "ranks" never crashes, and it returns -ENOMEM if
 * an output is not complete.
 */
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "oom.h"
#include "ranks_merge.h"
#include "tap.h"

#ifdef OOM_CANNOT

int main(void)
{
	skip_all("a sanitizer has the allocator");
}

#else

static uint8_t data[1 << 20] __attribute__((aligned(8)));

static size_t load(const char *args)
{
	char command[512];
	size_t size;
	FILE *f;

	snprintf(command, sizeof(command), "'%s'/gen_ranks . files=1 %s >/dev/null",
		 getenv("XPU_BUILD"), args);
	if (system(command))
		bail("gen_ranks failed");
	f = fopen("0.data", "rb");
	if (!f)
		bail("0.data is missing");
	size = fread(data, 1, sizeof(data), f);
	fclose(f);
	return size;
}

static void run(const char *args, FILE *out)
{
	unsigned long total, n, nr_failed = 0, nr_passed = 0, nr_wrong = 0;
	size_t size = load(args);
	const char *broken;
	int mode, err;

	nr_allocations = 0;
	broken = ranked__run(data, size, 1, out, &err);
	total = nr_allocations;
	ok(!broken && !err && total > 100, "%s: %lu allocations, %zu bytes", args, total, size);
	/* Fails one allocation, or one allocation and all later allocations. */
	for (mode = 0; mode < 2; mode++) {
		for (n = 1; n <= total; n++) {
			nr_allocations = 0;
			fail_from = n;
			fail_to = mode ? ULONG_MAX : n + 1;
			broken = ranked__run(data, size, 1, out, &err);
			fail_from = fail_to = 0;
			nr_failed += err == -ENOMEM;
			nr_passed += !err;
			if (!broken && (!err || err == -ENOMEM))
				continue;
			if (!nr_wrong++)
				diag("allocation %lu, %s: %s, error %d", n, mode ? "all" : "one",
				     broken ?: "", err);
		}
	}
	ok(!nr_wrong,
	   "%s: each failing allocation is reported as -ENOMEM, and none changes the result", args);
	ok(nr_failed > total,
	   "%s: with a failing allocation, %lu merges give up and %lu succeed", args, nr_failed,
	   nr_passed);
	broken = ranked__run(data, size, 1, out, &err);
	ok(!broken && !err, "%s: the merge succeeds again with enough memory", args);
}

int main(void)
{
	static char buf[BUFSIZ];
	FILE *out = fopen("/dev/null", "w");

	if (!out)
		bail("/dev/null cannot be written");
	setvbuf(out, buf, _IOFBF, sizeof(buf));
	run("ranks=3 steps=2 seed=2 slow_gpu=1", out);
	run("ranks=2 steps=2 seed=3 payload=0", out);
	fclose(out);
	return done_testing();
}

#endif
