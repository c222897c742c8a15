// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * gen_memory FILE - a recording of the memory events on standard input, one event per line
 *
 *	blocks				the recording has blocks, as xpumerge split expects
 *	options WORD			xpuload's options
 *	start NS			delays the recording's start by NS
 *	cut NS				the recording continues in the next file at NS
 *	proc N				a process; it has threads and call paths N * 10 + 1 to N *
 *					10 + 9
 *	device N D NR			device D of process N has a UUID made of NR
 *	rank N R			process N is rank R of a job
 *	exit N NS
 *	map N NS			the process runs the file /app
 *	gone N NS			the process's thread has ended
 *	record N NS ORDER [EXTRA]	begins an ALLOCS record; EXTRA: it claims to have EXTRA more
 *					events than it has
 *	WHAT SPACE DEVICE ADDRESS BYTES ORDER [PATH [NS [CONTEXT]]]
 *					an event in the record. ORDER and NS are added to the
 *					record's number and timestamp. PATH: 1 to 9, selects
 *					both the call path and the thread of the process
 *	sum WHAT SPACE DEVICE ADDRESS BYTES ORDER NR STEP
 *					NR events, each with the next number, STEP bytes after the
 *					previous block
 *
 *	migrate N WHAT NS DURATION ADDRESS VALUE NUMBER SOURCE TARGET
 *					a MIGRATION record of managed memory
 *
 * WHAT and SPACE are words as in xpumerge dump, or numbers. Nothing is checked: a test may need
 * invalid events.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen.h"
#include "util.h"

#define MAX_EVENTS	20000

static struct xpu_alloc events[MAX_EVENTS];
static struct xpu_record_allocs rec;
static uint32_t nr_more;
static bool is_open, has_blocks;

static uint8_t number_of(const char *word, const char *const *names, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (!strcmp(names[i], word))
			return i;
	return strtoul(word, NULL, 0);
}

static uint8_t what_of(const char *word)
{
	static const char *const names[] = {
		"NONE", "MADE", "FREED", "FAILED", "NOT_FREED", "CONTEXT_END", "TOTALS", "START",
		"HANDLE", "RETAINED", "LEVEL",
	};

	return number_of(word, names, sizeof(names) / sizeof(names[0]));
}

static uint8_t space_of(const char *word)
{
	static const char *const names[] = {
		"DEVICE", "MANAGED", "POOL", "PINNED", "REGISTERED", "PHYSICAL", "MAPPING", "ARRAY",
		"IMPORTED", "BLOCK", "GRAPHS", "UNUSED", "REST",
	};

	return number_of(word, names, sizeof(names) / sizeof(names[0]));
}

static void flush(struct gen *g)
{
	uint32_t nr = rec.nr;

	rec.nr += nr_more;
	if (is_open)
		gen__record(g, XPU_RECORD_ALLOCS, 0, &rec, sizeof(rec), events,
			    nr * sizeof(events[0]));
	is_open = false;
}

static void add_migration(struct gen *g, const char *what, const uint64_t n[10])
{
	static const char *const names[] = {
		"NONE", "TO_DEVICE", "TO_HOST", "BETWEEN", "GPU_FAULTS", "CPU_FAULT", "THRASHING",
	};
	const struct xpu_record_migration m = {
		.start_ns = n[3], .duration_ns = n[4], .address = n[5], .value = n[6],
		.number = n[7], .source = n[8], .target = n[9],
	};

	gen__batch_begin(g, n[3] ?: 1000, n[1], 0);
	gen__record(g, XPU_RECORD_MIGRATION,
		    number_of(what, names, sizeof(names) / sizeof(names[0])), &m, sizeof(m),
		    NULL, 0);
	gen__batch_end(g);
}

static void add_process(struct gen *g, uint32_t proc)
{
	uint64_t frame;
	uint32_t i;

	gen__process(g, XPU_MISC_PROCESS_ROOT, 1000, proc, 100 + proc, 0, "app");
	for (i = proc * 10 + 1; i < proc * 10 + 10; i++) {
		frame = 0x1000 * i;
		gen__thread(g, i, proc, 100 + i);
		gen__callchain(g, 0, 1000, i, proc, 1, 40 + i % 10, &frame, 1);
	}
}

static void add_event(const char *what, const char *space, uint64_t device, uint64_t address,
		      uint64_t bytes, int64_t order, uint32_t path, int64_t ns, uint32_t context)
{
	if (rec.nr == MAX_EVENTS) {
		fprintf(stderr, "gen_memory: too many events in a record\n");
		exit(1);
	}
	events[rec.nr++] = (struct xpu_alloc){
		.path_id = path ? rec.proc_id * 10 + path : 0,
		.thread_id = path ? rec.proc_id * 10 + path : 0,
		.delta_ns = ns, .delta_order = order, .what = what_of(what),
		.space = space_of(space), .device = device, .extra = context, .address = address,
		.bytes = bytes,
	};
}

static void take(struct gen *g, char *line)
{
	char *words[12] = { 0 }, *word = strtok(line, " \t\n");
	struct xpu_file_header *header = (void *)g->v;
	uint64_t n[12] = { 0 };
	uint8_t uuid[16];
	size_t nr = 0, i;

	for (; word && nr < 12; word = strtok(NULL, " \t\n")) {
		words[nr] = word;
		n[nr++] = word[0] == '-' ? (uint64_t)strtoll(word, NULL, 0) :
			  strtoull(word, NULL, 0);
	}
	if (!nr)
		return;
	if (!strcmp(words[0], "blocks")) {
		has_blocks = true;
	} else if (!strcmp(words[0], "options") && nr > 1) {
		gen__info(g, XPU_INFO_OPTIONS, words[1], strlen(words[1]) + 1);
	} else if (!strcmp(words[0], "start")) {
		header->start_mono_ns += n[1];
		header->start_real_ns += n[1];
	} else if (!strcmp(words[0], "device")) {
		flush(g);
		memcpy(uuid, (uint64_t[]){ n[3], n[3] }, sizeof(uuid));
		gen__batch_begin(g, 1000, n[1], 0);
		gen__device(g, n[2], 0, uuid);
		gen__batch_end(g);
	} else if (!strcmp(words[0], "cut")) {
		struct xpu_record_cut cut = { .time_ns = n[1] };

		flush(g);
		gen__record(g, XPU_RECORD_CUT, 0, &cut, sizeof(cut), NULL, 0);
	} else if (!strcmp(words[0], "proc")) {
		flush(g);
		add_process(g, n[1]);
	} else if (!strcmp(words[0], "rank")) {
		flush(g);
		gen__label(g, n[1], XPU_LABEL_BY_TORCH, XPU_LABEL_RANK, n[2], NULL);
	} else if (!strcmp(words[0], "exit")) {
		flush(g);
		gen__process_exit(g, n[2], n[1], 100 + n[1], 0);
	} else if (!strcmp(words[0], "map")) {
		flush(g);
		gen__mmap(g, n[2], 100 + n[1], 0x1000, 0x100000, 0, "/app", NULL, 0);
	} else if (!strcmp(words[0], "gone")) {
		struct xpu_record_task task = { .time_ns = n[2],
						.pid = 100 + n[1],
						.tid = 100 + n[1] };

		flush(g);
		gen__record(g, XPU_RECORD_EXIT, 0, &task, sizeof(task), NULL, 0);
	} else if (!strcmp(words[0], "record")) {
		flush(g);
		rec = (struct xpu_record_allocs){ .time_ns = n[2], .order = n[3], .proc_id = n[1] };
		nr_more = n[4];
		is_open = true;
	} else if (!strcmp(words[0], "migrate") && nr >= 10) {
		flush(g);
		add_migration(g, words[2], n);
	} else if (!strcmp(words[0], "sum") && nr >= 9) {
		for (i = 0; i < n[7]; i++)
			add_event(words[1], words[2], n[3], n[4] + i * n[8], n[5], n[6] + i, 1, 0,
				  0);
	} else if (nr >= 6) {
		add_event(words[0], words[1], n[2], n[3], n[4], n[5], n[6], n[7], n[8]);
	}
}

int main(int argc, char **argv)
{
	struct gen g = { 0 }, blocks = { 0 };
	char line[256];
	int err;

	if (argc != 2) {
		fprintf(stderr, "usage: gen_memory FILE <EVENTS\n");
		return 2;
	}
	gen__header(&g);
	while (fgets(line, sizeof(line), stdin))
		take(&g, line);
	flush(&g);
	gen__end(&g, 2000000, 0);
	if (has_blocks)
		gen__blocks(&blocks, &g, 3, 65536);
	err = gen__save(has_blocks ? &blocks : &g, argv[1]);
	gen__free(&blocks);
	gen__free(&g);
	return -err;
}
