// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * gen_counters FILE [DRAM [SEED [MODE]]] - a recording of 3 s with samples of a GPU's counters,
 * whose truth is known
 *
 * Kernels: "wide" has two shapes with different values, "narrow" uses no tensor core, "first" and
 * "second" always run in succession, "once" runs for 2 us. The recording has a memory copy, too.
 * Prints the truth, a line KERNEL TENSOR DRAM NS for each kernel, with means over the kernel's
 * shapes. The argument DRAM is the DRAM percentage of "narrow".
 *
 * With the mode "operations", the recording has bytes and operations in place of shares: BYTES for
 * each percent of DRAM, and OPERATIONS for each percent of the tensor cores. With "instructions",
 * the operations are called instructions. With "none", the recording has bytes, and its operations
 * are 0. With "apart", the recording is a minute later, and "second" does not run. "another" is
 * like "apart", but with another GPU. With "shared", two processes run the work, and each has a
 * recording that samples the GPU: FILE and FILE.other. The printed truth covers both recordings.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen.h"

#define HEADER_NS 1000ull /* the start that gen__header() sets */
#define LATER_NS 60000000000ull
#define ROW_NS 1000000
#define NR_ROWS 3000
#define PROC 1
#define PID 100
#define DRIVER 1
#define CBID_LAUNCH 307
#define SET 1
#define NR_METRICS 6
#define BYTES 3e10f /* per second */
#define OPERATIONS 1e13f

static float operations = OPERATIONS;	/* for each percent of the tensor cores */
#define BACKGROUND 0.2 /* mean percentage of DRAM use in a sample that no kernel causes */

enum kind { WIDE_LARGE, WIDE_SMALL, NARROW, FIRST, SECOND, ONCE, COPY, NR_KINDS };

static struct {
	const char *name;
	double ns, tensor, dram;
	uint32_t path;
	double issue, active;
} kinds[NR_KINDS] = {
	{ "wide", 300000, 80, 20, 1, 25, 99 }, { "wide", 90000, 15, 30, 1, 20, 30 },
	{ "narrow", 120000, 0, 60, 2, 12, 98 }, { "first", 6000, 90, 10, 3, 5, 99 },
	{ "second", 4000, 10, 50, 3, 5, 99 },	{ "once", 2000, 50, 50, 2, 5, 99 },
	{ "", 200000, 0, 40, 2, 0, 0 },
};

static uint64_t start_ns = HEADER_NS;
static const char *uuid = "0123456789abcde";
static bool apart; /* "second" does not run */
static float rows[NR_ROWS][NR_METRICS];
static double total_ns[NR_KINDS];

static uint64_t random_state = 1;

/* Return: a number from 0 to 1; SEED fixes the sequence */
static double chance(void)
{
	random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
	return (random_state >> 11) * 0x1p-53;
}

static void add_names(struct gen *g)
{
	uint32_t i;

	gen__string(g, 1, "cuLaunchKernel");
	gen__api(g, DRIVER, CBID_LAUNCH, 1);
	gen__string(g, 2, "Simulated GPU");
	gen__device(g, 0, 2, uuid);
	gen__stream(g, 1, 0, 1, 7);
	for (i = 0; i < COPY; i++) {
		struct xpu_shape shape = { .grid = { i + 1, 1, 1 }, .block = { 128, 1, 1 } };

		gen__string(g, 10 + i, kinds[i].name);
		gen__shape(g, 10 + i, &shape);
	}
}

/* Adds a kernel or copy that begins at @at, in ns since the first row. */
static void add_work(struct gen *g, struct gen *batch, enum kind kind, double at)
{
	static uint32_t id;
	double ns = floor(kinds[kind].ns * (0.97 + 0.06 * chance()));
	uint64_t begin = start_ns + floor(at);
	size_t row;

	gen__launch(g, begin, ++id, kinds[kind].path, 1);
	if (kind == COPY)
		gen__memcpy(batch, 0, begin, ns, id, 1, 1000, 1);
	else
		gen__kernel(batch, 0, begin, ns, id, 10 + kind, 1);
	total_ns[kind] += ns;
	for (row = at / ROW_NS; row < NR_ROWS && row * ROW_NS < at + ns; row++) {
		double part = fmin((row + 1) * ROW_NS, at + ns) - fmax(row * ROW_NS, at);

		rows[row][0] += kinds[kind].tensor * part / ROW_NS;
		rows[row][1] += kinds[kind].dram * part / ROW_NS;
		rows[row][3] += kinds[kind].issue * part / ROW_NS;
		rows[row][4] += kinds[kind].active * part / ROW_NS;
	}
}

/* Divides the work among @nr processes. */
static void add_works(struct gen *g, struct gen *batch, uint32_t nr)
{
	double at = 5e6;
	bool once = true;

	while (at < (NR_ROWS - 5.0) * ROW_NS) {
		enum kind kind = chance() < 0.1 ? COPY : FIRST * chance();
		uint32_t to = nr > 1 && chance() < 0.5;

		if (kind == WIDE_LARGE && chance() < 0.5)
			kind = FIRST;
		if (once && at > 1e9) {
			kind = ONCE;
			once = false;
		}
		add_work(&g[to], &batch[to], kind, floor(at));
		at = floor(at) + 1.04 * kinds[kind].ns;
		if (kind == FIRST && !apart) {
			add_work(&g[to], &batch[to], SECOND, at);
			at += 1.04 * kinds[SECOND].ns;
		}
		at += chance() * 100000;
	}
}

/* Turns the row's shares into amounts. */
static void make_amounts(float *row)
{
	row[0] *= operations;
	row[1] *= BYTES;
	row[5] *= BYTES;
}

enum amounts { SHARES, OPERATION_RATES, INSTRUCTION_RATES };

static void add_rows(struct gen *g, enum amounts amounts)
{
	static const char *const names[][3] = {
		{ "tensor", "DRAM read", "DRAM write" },
		{ "sm__ops_path_tensor_src_fp16_dst_fp32.sum.per_second",
		  "dram__bytes_read.sum.per_second", "dram__bytes_write.sum.per_second" },
		{ "sm__inst_executed.sum.per_second",
		  "dram__bytes_read.sum.per_second", "dram__bytes_write.sum.per_second" },
	};
	static const char *const units[] = { "%", "op/s", "inst/s" };
	const char *bytes = amounts ? "byte/s" : "%";
	float values[NR_METRICS];
	size_t row;
	uint32_t i;

	gen__metric(g, SET, 0, XPU_METRIC_MEAN, uuid, names[amounts][0],
		    units[amounts]);
	gen__metric(g, SET, 1, XPU_METRIC_MEAN, uuid, names[amounts][1], bytes);
	gen__metric(g, SET, 2, XPU_METRIC_MEAN, uuid, "clock", "MHz");
	gen__metric(g, SET, 3, XPU_METRIC_MEAN, uuid, "SM issue", "%");
	gen__metric(g, SET, 4, XPU_METRIC_MEAN, uuid, "SM active", "%");
	gen__metric(g, SET, 5, XPU_METRIC_MEAN, uuid, names[amounts][2], bytes);
	for (row = 0; row < NR_ROWS; row++) {
		memcpy(values, rows[row], sizeof(values));
		values[0] = fmax(values[0] + 0.4 * (chance() - 0.5), 0);
		values[1] += 2 * BACKGROUND * chance();
		values[2] = 1500;
		for (i = 3; i < NR_METRICS; i++)
			values[i] += 2 * BACKGROUND * chance();
		if (amounts)
			make_amounts(values);
		gen__metrics(g, SET, start_ns + row * ROW_NS, ROW_NS, NR_METRICS, values);
	}
	gen__metrics_end(g, SET, 0, NR_ROWS, 0);
}

static void begin(struct gen *g)
{
	uint32_t path;

	gen__header(g);
	gen__process(g, XPU_MISC_PROCESS_ROOT, start_ns, PROC, PID, 0, "app");
	gen__thread(g, 1, PROC, PID);
	gen__mmap(g, start_ns, PID, 0x1000, 0x10000, 0, "/nowhere/app", NULL, 0);
	for (path = 1; path <= 3; path++) {
		const uint64_t frames[] = { 0x1000 * path, 0x100 };

		gen__callchain(g, 0, start_ns, path, PROC, DRIVER, CBID_LAUNCH, frames, 2);
	}
	gen__batch_begin(g, start_ns, PROC, PID);
	add_names(g);
	gen__batch_end(g);
}

static void finish(struct gen *g, const struct gen *batch, enum amounts amounts)
{
	gen__batch_begin(g, start_ns + NR_ROWS * (uint64_t)ROW_NS, PROC, PID);
	gen__bytes(g, batch->v, batch->nr);
	gen__batch_end(g);
	add_rows(g, amounts);
	gen__end(g, start_ns + NR_ROWS * (uint64_t)ROW_NS, 0);
}

static void print_truth(void)
{
	uint32_t i;

	for (i = WIDE_SMALL; i < COPY; i++) {
		uint32_t from = i == WIDE_SMALL ? WIDE_LARGE : i, k;
		double ns = 0, tensor = 0, dram = 0, save = 0;

		for (k = from; k <= i; k++) {
			ns += total_ns[k];
			tensor += total_ns[k] * kinds[k].tensor;
			dram += total_ns[k] * kinds[k].dram;
			/* Reads and writes include the background. */
			save += total_ns[k] * (1 - fmax(kinds[k].tensor,
							kinds[k].dram + 2 * BACKGROUND) / 100);
		}
		printf("%s %.3f %.3f %.0f %.0f\n", kinds[i].name, tensor / ns,
		       dram / ns + BACKGROUND, ns, save);
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 4 ? argv[4] : "";
	uint32_t nr = strcmp(mode, "shared") ? 1 : 2, i;
	struct gen g[2] = { { 0 } }, batch[2] = { { 0 } };
	enum amounts amounts = !strcmp(mode, "instructions") ? INSTRUCTION_RATES :
			       !strcmp(mode, "operations") || !strcmp(mode, "none") ?
			       OPERATION_RATES : SHARES;
	char other[1000];
	int err = 0;

	if (argc < 2)
		return 2;
	if (argc > 2)
		kinds[NARROW].dram = atof(argv[2]);
	if (argc > 3)
		random_state = atoi(argv[3]);
	if (!strcmp(mode, "another"))
		uuid = "another GPU,...";
	if (!strcmp(mode, "none"))
		operations = 0;
	apart = !strcmp(mode, "apart") || !strcmp(mode, "another");
	start_ns += apart ? LATER_NS : 0;
	for (i = 0; i < nr; i++)
		begin(&g[i]);
	add_works(g, batch, nr);
	snprintf(other, sizeof(other), "%s.other", argv[1]);
	for (i = 0; i < nr; i++) {
		finish(&g[i], &batch[i], amounts);
		err |= gen__save(&g[i], i ? other : argv[1]);
		gen__free(&g[i]);
		gen__free(&batch[i]);
	}
	print_truth();
	return err != 0;
}
