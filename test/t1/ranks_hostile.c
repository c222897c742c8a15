// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Tests the command "ranks" with recordings in which numbers are changed, and records are lost or
 * repeated. The command never crashes, and each output is complete. The waits of all ranks equal
 * the waits for stragglers plus the waits at the start, to the nanosecond.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "gen.h"
#include "ranks_merge.h"
#include "tap.h"

enum { NR_CHANGED = 400, MAX_RECORDS = 1 << 16 };

static uint64_t state = 1;

static uint32_t chance(uint32_t limit)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (state >> 33) % limit;
}

/* Reads the recordings that gen_ranks has written. */
static void make(const char *args, uint8_t **data, size_t *size)
{
	char command[512];
	FILE *f;

	snprintf(command, sizeof(command), "'%s'/gen_ranks . files=1 %s >/dev/null",
		 getenv("XPU_BUILD"), args);
	if (system(command))
		bail("gen_ranks failed");
	f = fopen("0.data", "rb");
	if (!f || fseek(f, 0, SEEK_END))
		bail("0.data is missing");
	*size = ftell(f);
	rewind(f);
	*data = aligned_alloc(8, *size + 8);
	if (!*data || fread(*data, 1, *size, f) != *size)
		bail("0.data cannot be read");
	fclose(f);
}

/* Lists the offsets of records, including nested records. Return: the number of records. */
static size_t find(const uint8_t *data, size_t from, size_t to, size_t *at, size_t nr)
{
	struct xpu_record rec;

	while (to - from >= sizeof(rec) && nr < MAX_RECORDS) {
		memcpy(&rec, data + from, sizeof(rec));
		if (rec.size < sizeof(rec) || rec.size > to - from)
			break;
		at[nr++] = from;
		if (rec.type == XPU_RECORD_BATCH && rec.size > sizeof(struct xpu_record_batch))
			nr = find(data, from + sizeof(struct xpu_record_batch), from + rec.size, at,
				  nr);
		from += rec.size;
	}
	return nr;
}

/*
 * Replaces a few numbers by other numbers from the recording or by extreme numbers, or swaps two
 * records of equal size.
 */
static void change(uint8_t *data, const size_t *at, size_t nr)
{
	static const uint32_t odd[] = { 0, 1, 2, 3, 7, 0x7fffffff, 0x80000000, 0xffffffff };
	uint32_t times = 1 + chance(6), value;
	struct xpu_record a, b;

	while (times--) {
		size_t one = at[chance(nr)], two = at[chance(nr)], k;

		memcpy(&a, data + one, sizeof(a));
		memcpy(&b, data + two, sizeof(b));
		if (a.size == b.size && chance(3)) {
			for (k = 0; k < a.size; k++) {
				uint8_t byte = data[one + k];

				data[one + k] = data[two + k];
				data[two + k] = byte;
			}
			continue;
		}
		if (a.size <= sizeof(a))
			continue;
		k = one + sizeof(a) + chance((a.size - sizeof(a)) / 4) * 4;
		value = odd[chance(8)];
		if (chance(2))
			memcpy(&value, data + two, sizeof(value));
		memcpy(data + k, &value, sizeof(value));
	}
}

static void run(const char *args)
{
	size_t *at = calloc(MAX_RECORDS, sizeof(*at)), size, nr, nr_merged = 0, nr_broken = 0, i;
	const char *broken, *first = NULL;
	uint8_t *data, *copy;
	int err;

	make(args, &data, &size);
	copy = aligned_alloc(8, size + 8);
	if (!at || !copy)
		bail("out of memory");
	nr = find(data, sizeof(struct xpu_file_header), size, at, 0);
	ok(nr > 100, "%s: the recording has %zu records", args, nr);
	broken = ranked__run(data, size, 1, NULL, &err);
	ok(!broken && !err, "%s: the unchanged recordings are merged: %s", args, broken ?: "right");
	for (i = 0; i < NR_CHANGED; i++) {
		memcpy(copy, data, size);
		change(copy, at, nr);
		broken = ranked__run(copy, size, 1 + chance(2), NULL, &err);
		nr_merged += !err;
		nr_broken += broken || err == -ENOMEM;
		if (broken && !first) {
			diag("change %zu: %s", i, broken);
			first = broken;
		}
	}
	ok(nr_merged > NR_CHANGED / 2, "%s: %zu of %d changed recordings are read", args, nr_merged,
	   (int)NR_CHANGED);
	ok(!nr_broken, "%s: the sums of all changed recordings are consistent", args);
	free(at);
	free(data);
	free(copy);
}

int main(void)
{
	run("ranks=3 steps=6 seed=3");
	run("ranks=4 steps=5 seed=9 payload=0");
	run("ranks=2 steps=8 seed=5 hostile=1 slow_host=1");
	return done_testing();
}
