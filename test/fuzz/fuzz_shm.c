// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * fuzz_shm - fuzzes the memory that a hostile process shares with xpuload
 *
 * The input is a program. Its steps write records as the shim does, change any word of the shared
 * memory, or let the reader read. Whatever the memory contains, the reader passes on no record that
 * is too small for its type, and each call of the reader returns after at most as many bytes as the
 * ring has. Until something is changed, all records come out unchanged, in order. fuzz_ring fuzzes
 * the recorder's handling of records that the reader passes on.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "record/shm_reader.h"
#include "shm_memory.h"
#include "xpu_slot.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MAX_STEPS	300

static const uint8_t *at, *end;		/* the input */
static uint8_t *map;			/* the shared memory, as the process maps it */
static uint64_t ring_at, map_bytes, ring_bytes;
static uint64_t nr_written, nr_seen, bytes_seen;
static bool hostile;

static uint64_t take(size_t bytes)
{
	uint64_t value = 0;

	for (; bytes && at < end; bytes--)
		value = value << 8 | *at++;
	return value;
}

static void check(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "fuzz_shm: %s\n", what);
	abort();
}

static void on_record(void *ctx, struct xpu_record *r, size_t size)
{
	uint64_t sum = 0;
	size_t i;

	(void)ctx;
	check(size == r->size && size % 8 == 0 && size <= XPU_SHM_RECORD_MAX, "a size");
	switch (r->type) {
	case XPU_RECORD_LAUNCH:
	case XPU_RECORD_LAUNCH_WAIT:
		check(size >= sizeof(struct xpu_ring_launch), "a launch is too small");
		break;
	case XPU_RECORD_LOG:
		check(size >= sizeof(struct xpu_ring_log), "a log is too small");
		break;
	case XPU_RECORD_BATCH:
		check(size >= sizeof(struct xpu_record_batch), "a batch is too small");
		break;
	case XPU_RECORD_MMAP:
		check(size > sizeof(struct xpu_record_mmap), "a mapping is too small");
		break;
	case XPU_RECORD_COMM:
		check(size >= sizeof(struct xpu_record_comm), "a name is too small");
		break;
	default:
		check(0, "a type");
	}
	for (i = 0; i < size / 8; i++)
		sum += ((const uint64_t *)r)[i];
	if (!hostile)
		check(((struct xpu_ring_launch *)r)->graph_node_id == nr_seen + 1,
		      "an honest record is not as it was");
	asm volatile("" : : "r"(sum));
	nr_seen++;
	bytes_seen += size + sizeof(struct xpu_shm_word);
}

static struct xpu_shm_writer *writer(void)
{
	return (struct xpu_shm_writer *)(map + XPU_SHM_PAGE);
}

static void write_record(unsigned int state)
{
	uint32_t frames = take(1) % 64, bytes = sizeof(struct xpu_ring_launch) + frames * 8;
	struct xpu_ring_launch launch = {
		.hdr = { XPU_RECORD_LAUNCH, 0, bytes }, .nr_frames = frames,
		.graph_node_id = nr_written + 1,
	};
	struct xpu_shm_word word = { bytes, state };
	uint64_t head = writer()->head;
	uint8_t *to = map + ring_at + head % ring_bytes;

	/* At the end of the ring, the shim continues in the ring's second mapping. */
	if (head % 8 || head % ring_bytes + sizeof(word) + bytes > ring_bytes)
		return;
	memcpy(to, &word, sizeof(word));
	memcpy(to + sizeof(word), &launch, sizeof(launch));
	writer()->head += sizeof(word) + bytes;
	nr_written++;
}

static void write_log(void)
{
	struct xpu_log log = { .size = XPU_LOG_BYTES, .tid = 1, .id = 1 };
	uint32_t page = take(1);

	log.head = take(1);
	log.tail = take(1);
	writer()->log_at = take(1) * 8;
	writer()->nr_threads = page + 1;
	if (writer()->log_at + sizeof(log) <= XPU_SHM_THREAD_BYTES)
		memcpy(map + xpu_shm__thread_at(page) + writer()->log_at, &log, sizeof(log));
}

static void change(void)
{
	static const uint64_t bases[] = { 0, XPU_SHM_PAGE, 2 * XPU_SHM_PAGE };
	uint64_t which = take(1) % 5, where, value = take(take(1) % 9);

	if (which < 3)
		where = bases[which] + take(1) * 4;
	else if (which == 3)
		where = ring_at + (writer()->head + take(1) * 4) % ring_bytes;
	else
		where = take(4) % map_bytes;
	if (where % 2 == 0)
		where &= ~7ull;
	memcpy(map + where, &value, where + 8 <= map_bytes ? 8 : map_bytes - where);
}

static void drain(struct shm_reader *r)
{
	bytes_seen = 0;
	shm_reader__drain(r, on_record, NULL);
	check(bytes_seen <= ring_bytes, "more than a ringful");
	check(hostile || nr_seen == nr_written, "an honest record is missing");
}

/* Frees pages; the next access gets zeros. */
static void punch(void)
{
	uint64_t from = take(3) * 4096 % map_bytes;

	madvise(map + from, (take(1) + 1) * 4096, MADV_REMOVE);
}

/* After this call the memory may contain anything. First reads everything written so far. */
static void be_hostile(struct shm_reader *r)
{
	if (!hostile)
		drain(r);
	hostile = true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct shm_reader *r;
	int fd, step;

	at = data;
	end = data + size;
	nr_written = nr_seen = 0;
	hostile = false;
	ring_bytes = shm_reader__ring_bytes(0);
	ring_at = xpu_shm__ring_at();
	map_bytes = xpu_shm__bytes(ring_bytes);
	fd = shm_memory__new(ring_bytes, &map);
	if (fd < 0)
		return 0;
	check(!shm_reader__new(&(struct shm_memory){ .fd = fd }, ring_bytes, &r),
	      "it is not taken");
	close(fd);
	for (step = 0; step < MAX_STEPS && at < end; step++)
		switch (take(1) % 9) {
		case 0 ... 2:
			write_record(XPU_SHM_DONE);
			break;
		case 3:
			be_hostile(r);
			write_record(take(2));
			break;
		case 4:
			be_hostile(r);
			write_log();
			break;
		case 5:
		case 6:
			be_hostile(r);
			change();
			break;
		case 7:
			drain(r);
			break;
		case 8:
			be_hostile(r);
			punch();
			break;
		}
	bytes_seen = 0;
	shm_reader__finish(r, on_record, NULL);
	check(bytes_seen <= ring_bytes + XPU_SHM_NR_THREADS * XPU_LOG_BYTES, "more than there is");
	munmap(map, map_bytes);
	shm_reader__free(r);
	return 0;
}
