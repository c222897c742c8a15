// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * memory.c - memory FILE EVENTS [LIVE]: writes a recording of EVENTS memory events, and prints its
 * true figures
 *
 * Eight threads of one process allocate and free an allocator's blocks, at most LIVE (2,000) at any
 * moment, each in a slot of the allocator's segments. Events arrive as from threads' logs: 42 of
 * one thread, then 42 of another, so their numbers are out of order. Prints "peak BYTES left BYTES
 * bytes FILE-SIZE".
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "block.h"
#include "gen.h"
#include "xpu_slot.h"

#define NR_THREADS	8
#define NR_PATHS	500
#define FRAMES		20
#define LOG		42		/* events in a thread's log */
#define PER_RECORD	1024
#define BLOCK_BYTES	(256u << 10)
#define FLUSH_BYTES	(8u << 20)
#define SLOT_BYTES	(2ull << 20)
#define SEGMENT_SLOTS	10
#define SEGMENTS_AT	0x7f0000000000ull

struct log {
	struct xpu_alloc v[LOG];
	uint64_t order[LOG], time_ns[LOG];
	uint32_t nr;
};

static struct gen g, packed;
static struct block_packer *packer;
static int fd;
static struct log logs[NR_THREADS];
static struct xpu_alloc record[PER_RECORD];
static struct xpu_record_allocs head;
static uint64_t order, now_ns = 1000000000, seed = 1;

static uint64_t next_random(void)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return seed >> 33;
}

static void flush_record(void)
{
	if (!head.nr)
		return;
	gen__record(&g, XPU_RECORD_ALLOCS, 0, &head, sizeof(head), record,
		    head.nr * sizeof(record[0]));
	head.nr = 0;
	if (g.nr < FLUSH_BYTES)
		return;
	gen__pack(&packed, packer, g.v, g.nr, BLOCK_BYTES);
	gen__flush(&packed, fd);
	g.nr = 0;
}

static void flush_log(struct log *l)
{
	uint32_t i;

	for (i = 0; i < l->nr; i++) {
		if (head.nr == PER_RECORD)
			flush_record();
		if (!head.nr)
			head = (struct xpu_record_allocs){
				.time_ns = l->time_ns[i], .order = l->order[i], .proc_id = 1,
			};
		l->v[i].delta_ns = l->time_ns[i] - head.time_ns;
		l->v[i].delta_order = l->order[i] - head.order;
		record[head.nr++] = l->v[i];
	}
	l->nr = 0;
}

static void event(uint32_t thread, uint32_t path, uint8_t what, uint8_t space, uint64_t address,
		  uint64_t bytes)
{
	struct log *l = &logs[thread];

	if (l->nr == LOG)
		flush_log(l);
	now_ns += 500 + next_random() % 1000;
	l->order[l->nr] = ++order;
	l->time_ns[l->nr] = now_ns;
	l->v[l->nr++] = (struct xpu_alloc){
		.path_id = 1 + path, .thread_id = 1 + thread, .what = what, .space = space,
		.extra = 1, .address = address, .bytes = bytes,
	};
}

static void begin(void)
{
	uint64_t frames[FRAMES];
	const struct xpu_alloc start = { .what = XPU_ALLOC_START, .device = XPU_ALLOC_NO_DEVICE };
	uint32_t i, k;

	gen__header(&g);
	gen__seal(&g);
	gen__flush(&g, fd);
	gen__process(&g, XPU_MISC_PROCESS_ROOT, now_ns, 1, 42, 0, "app");
	for (i = 0; i < NR_THREADS; i++)
		gen__thread(&g, 1 + i, 1, 42 + i);
	for (i = 0; i < NR_PATHS; i++) {
		for (k = 0; k < FRAMES; k++)
			frames[k] = 0x400000 + (i + 1) * 64 * (k + 1);
		gen__callchain(&g, XPU_CHAIN_SHIM, now_ns, 1 + i, 1, XPU_DOMAIN_ALLOCATORS, 1,
			       frames, FRAMES);
	}
	head = (struct xpu_record_allocs){ .time_ns = now_ns, .order = 1, .proc_id = 1, .nr = 1 };
	record[0] = start;
	flush_record();
}

int main(int argc, char **argv)
{
	uint64_t nr = argc > 2 ? strtoull(argv[2], NULL, 10) : 0, i, used = 0, peak = 0;
	uint32_t live = argc > 3 ? strtoul(argv[3], NULL, 10) : 2000, slot;
	uint64_t *bytes = calloc(live + 1, sizeof(*bytes));
	struct xpu_record_counters counters = { .nr_batches = 1, .nr_slots = NR_THREADS };

	fd = nr && live ? open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0644) : -1;
	packer = block_packer__new(3);
	if (fd < 0 || !packer || !bytes) {
		fputs("usage: memory FILE EVENTS [LIVE]\n", stderr);
		return 2;
	}
	begin();
	for (i = 0; i < live; i += SEGMENT_SLOTS)
		event(0, 0, XPU_ALLOC_MADE, XPU_SPACE_DEVICE, SEGMENTS_AT + i * SLOT_BYTES,
		      SEGMENT_SLOTS * SLOT_BYTES);
	while (order < nr) {
		slot = next_random() % live;
		if (bytes[slot]) {
			event(next_random() % NR_THREADS, 1 + next_random() % (NR_PATHS - 1),
			      XPU_ALLOC_FREED, XPU_SPACE_BLOCK, SEGMENTS_AT + slot * SLOT_BYTES,
			      bytes[slot]);
			used -= bytes[slot];
			bytes[slot] = 0;
			continue;
		}
		bytes[slot] = 512 * (1 + next_random() % (SLOT_BYTES / 512));
		event(next_random() % NR_THREADS, 1 + next_random() % (NR_PATHS - 1),
		      XPU_ALLOC_MADE, XPU_SPACE_BLOCK, SEGMENTS_AT + slot * SLOT_BYTES,
		      bytes[slot]);
		used += bytes[slot];
		peak = used > peak ? used : peak;
	}
	for (i = 0; i < NR_THREADS; i++)
		flush_log(&logs[i]);
	flush_record();
	counters.nr_allocs = order;
	gen__batch_begin(&g, now_ns, 1, 42);
	gen__counters(&g, &counters);
	gen__batch_end(&g);
	gen__process_exit(&g, now_ns, 1, 42, 0);
	gen__end(&g, now_ns, 0);
	gen__pack(&packed, packer, g.v, g.nr, BLOCK_BYTES);
	gen__flush(&packed, fd);
	printf("peak %" PRIu64 " left %" PRIu64 " bytes %" PRIu64 "\n", peak, used,
	       (uint64_t)lseek(fd, 0, SEEK_CUR));
	block_packer__free(packer);
	gen__free(&g);
	gen__free(&packed);
	free(bytes);
	return close(fd) ? 1 : 0;
}
