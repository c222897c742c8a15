// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * gen_runs FILE [KEY=VALUE...] - makes a recording of one run of a program, with known noise
 *
 * Each step launches eight kernels from eight functions, which make API calls, and waits for the
 * GPU. The first step has its own kernel, which no other step launches. Each run has a factor for
 * each kernel, a factor for launching and a factor for waiting. Every duration is multiplied by its
 * factor. The logarithms of the factors have a normal distribution, whose deviation is "noise"
 * percent. Each single duration also varies by up to a tenth. Keys:
 *
 *	seed=1 steps=200 noise=0.5
 *	kernel=0 launch=0 wait=0	kernel 3, launches and waits are slower by these percentages
 *	again=0				percentage of the steps that launch kernel 3 twice
 */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen.h"

#define KERNELS		8
#define BASE		0x10000
#define START_NS	1000000000ull

enum { CBID_LAUNCH = 307, CBID_SYNC = 18, DRIVER = 1 };

static uint64_t state;

static double uniform(void)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (state >> 11) * 0x1p-53;
}

static double normal(void)
{
	return sqrt(-2 * log(1 - uniform())) * cos(2 * M_PI * uniform());
}

static uint64_t vary(double ns)
{
	return ns * (0.9 + 0.2 * uniform());
}

struct run {
	struct gen g, batch;
	uint64_t now_ns;
	uint32_t id;
	double kernel[KERNELS + 1], launch, wait;	/* mean times in ns */
};

static void flush(struct run *r)
{
	if (!r->batch.nr)
		return;
	gen__batch_begin(&r->g, r->now_ns, 1, 42);
	gen__bytes(&r->g, r->batch.v, r->batch.nr);
	gen__batch_end(&r->g);
	r->batch.nr = 0;
}

static void launch(struct run *r, uint32_t kernel)
{
	uint64_t call_ns = vary(r->launch), work_ns = vary(r->kernel[kernel]);
	const struct xpu_call call = {
		.correlation_id = ++r->id, .duration_ns = call_ns, .cbid = CBID_LAUNCH,
	};

	gen__launch(&r->g, r->now_ns + 100, r->id, 1 + kernel, 1);
	gen__calls(&r->batch, r->now_ns, 42, &call, 1);
	r->now_ns += call_ns;
	gen__kernel(&r->batch, 0, r->now_ns, work_ns, r->id, 20 + kernel, 1);
	r->now_ns += work_ns;
	if (r->batch.nr > 40000)
		flush(r);
}

static void define(struct run *r)
{
	struct gen_symbol symbols[KERNELS + 2];
	char name[KERNELS + 2][32], mangled[40], path[PATH_MAX];
	uint8_t uuid[16] = { 0xab };
	struct gen elf = { 0 };
	uint64_t frames[2];
	uint32_t i;

	for (i = 0; i < KERNELS + 2; i++) {
		snprintf(name[i], sizeof(name[i]), i == KERNELS + 1 ? "run" :
			 i == KERNELS ? "warm_up" : "layer_%u", i);
		symbols[i] = (struct gen_symbol){ name[i], GEN_TEXT_OFFSET + 64 * i, 64, 2 };
	}
	gen__elf(&elf, symbols, KERNELS + 2, NULL, 0);
	if (gen__save(&elf, "program.elf") || !realpath("program.elf", path))
		exit(1);
	gen__header(&r->g);
	gen__comm(&r->g, XPU_MISC_COMM_EXEC, START_NS, 42, 42, "train");
	gen__process(&r->g, XPU_MISC_PROCESS_ROOT, START_NS, 1, 42, 0, "train");
	gen__mmap(&r->g, START_NS + 10, 42, BASE, 0x10000, 0, path, NULL, 0);
	gen__thread(&r->g, 1, 1, 42);
	frames[1] = BASE + GEN_TEXT_OFFSET + 64 * (KERNELS + 1) + 8;
	for (i = 0; i <= KERNELS; i++) {
		frames[0] = BASE + GEN_TEXT_OFFSET + 64 * i + 8;
		gen__callchain(&r->g, XPU_CHAIN_SHIM, START_NS + 20, 1 + i, 1, DRIVER,
			       CBID_LAUNCH, frames, 2);
	}
	gen__callchain(&r->g, XPU_CHAIN_SHIM, START_NS + 20, 50, 1, DRIVER, CBID_SYNC, frames + 1,
		       1);
	gen__string(&r->batch, 1, "cuLaunchKernel");
	gen__string(&r->batch, 2, "cuStreamSynchronize");
	gen__api(&r->batch, DRIVER, CBID_LAUNCH, 1);
	gen__api(&r->batch, DRIVER, CBID_SYNC, 2);
	gen__string(&r->batch, 3, "Simulated GPU");
	gen__device(&r->batch, 0, 3, uuid);
	gen__stream(&r->batch, 1, 0, 1, 7);
	for (i = 0; i <= KERNELS; i++) {
		snprintf(mangled, sizeof(mangled), "kernel_%u", i);
		gen__string(&r->batch, 20 + i, mangled);
	}
	flush(r);
	gen__free(&elf);
}

int main(int argc, char **argv)
{
	double seed = 1, steps = 200, noise = 0.5, kernel = 0, launching = 0, wait = 0, again = 0;
	const struct {
		const char *key;
		double *value;
	} keys[] = {
		{ "seed", &seed }, { "steps", &steps }, { "noise", &noise }, { "kernel", &kernel },
		{ "launch", &launching }, { "wait", &wait }, { "again", &again },
	};
	struct xpu_record_counters counters = { 0 };
	struct run r = { .now_ns = START_NS + 1000 };
	uint64_t ns;
	size_t i, k;
	int err;

	for (i = 2; i < (size_t)argc; i++)
		for (k = 0; k < sizeof(keys) / sizeof(*keys); k++)
			if (!strncmp(argv[i], keys[k].key, strlen(keys[k].key)) &&
			    argv[i][strlen(keys[k].key)] == '=')
				*keys[k].value = atof(strchr(argv[i], '=') + 1);
	if (argc < 2)
		return 2;
	/* Adjacent seeds must not give similar numbers. */
	for (i = 0, state = seed; i < 20; i++, state ^= state >> 29)
		uniform();
	for (k = 0; k <= KERNELS; k++)
		r.kernel[k] = 4000 * (1 + k) * exp(noise / 100 * normal());
	r.kernel[3] *= 1 + kernel / 100;
	r.launch = 2000 * exp(noise / 100 * normal()) * (1 + launching / 100);
	r.wait = 9000 * exp(noise / 100 * normal()) * (1 + wait / 100);
	define(&r);
	for (i = 0; i < 20; i++)
		launch(&r, KERNELS);
	for (i = 0; i < steps; i++) {
		for (k = 0; k < KERNELS; k++)
			launch(&r, k);
		if ((size_t)((i + 1) * again / 100) > (size_t)(i * again / 100))
			launch(&r, 3);
		ns = vary(r.wait);
		gen__wait(&r.g, XPU_WAIT_STREAM, r.now_ns, ns, 50, 1, 1, 7, 0);
		r.now_ns += ns;
	}
	counters.nr_launches = r.id;
	gen__counters(&r.batch, &counters);
	flush(&r);
	gen__end(&r.g, r.now_ns, 0);
	err = gen__save(&r.g, argv[1]);
	gen__free(&r.g);
	gen__free(&r.batch);
	return err != 0;
}
