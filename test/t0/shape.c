// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Launch shapes: shapes have the expected text, equal shapes are stored once, and the occupancy
 * equals the result of NVIDIA's own calculator.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#if __has_include(<cuda_occupancy.h>)
#include <cuda_occupancy.h>
#define HAVE_CALCULATOR
#endif

#include "model/shape.h"
#include "tap.h"

#ifdef HAVE_CALCULATOR
static const struct device {
	const char *name;
	struct xpu_device_limits limits;
	size_t block_shared, optin;
} devices[] = {
	{ "V100", { 70, 80, 32, 2048, 32, 65536, 98304, 65536, 0, 0 }, 49152, 98304 },
	{ "T4", { 75, 40, 32, 1024, 16, 65536, 65536, 65536, 0, 0 }, 49152, 65536 },
	{ "A100", { 80, 108, 32, 2048, 32, 65536, 167936, 65536, 1024, 0 }, 49152, 166912 },
	{ "A40", { 86, 84, 32, 1536, 16, 65536, 102400, 65536, 1024, 0 }, 49152, 101376 },
	{ "L40", { 89, 142, 32, 1536, 24, 65536, 102400, 65536, 1024, 0 }, 49152, 101376 },
	{ "H100", { 90, 132, 32, 2048, 32, 65536, 233472, 65536, 1024, 0 }, 49152, 232448 },
	{ "B200", { 100, 148, 32, 2048, 32, 65536, 233472, 65536, 1024, 0 }, 49152, 232448 },
};

/*
 * Return: the number of blocks that fit on a multiprocessor, from NVIDIA's calculator; -1: it
 * refuses the shape.
 */
static int calculate(const struct device *d, const struct xpu_shape *shape, int threads)
{
	const struct xpu_device_limits *l = &d->limits;
	struct cudaOccDeviceProp properties = {
		.computeMajor = l->capability / 10, .computeMinor = l->capability % 10,
		.maxThreadsPerBlock = 1024, .maxThreadsPerMultiprocessor = l->max_threads,
		.regsPerBlock = l->block_registers, .regsPerMultiprocessor = l->registers,
		.warpSize = l->warp_threads, .sharedMemPerBlock = d->block_shared,
		.sharedMemPerMultiprocessor = l->shared_bytes, .numSms = l->nr_multiprocessors,
		.sharedMemPerBlockOptin = d->optin,
		.reservedSharedMemPerBlock = l->block_reserved_bytes,
	};
	struct cudaOccFuncAttributes attributes = {
		.maxThreadsPerBlock = 1024, .numRegs = shape->registers,
		.sharedSizeBytes = shape->static_bytes, .shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN,
		.maxDynamicSharedSizeBytes = d->optin - shape->static_bytes,
	};
	struct cudaOccDeviceState state = { .carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED };
	cudaOccResult result;

	if (cudaOccMaxActiveBlocksPerMultiprocessor(&result, &properties, &attributes, &state,
						    threads,
						    shape->dynamic_bytes) != CUDA_OCC_SUCCESS)
		return -1;
	return result.activeBlocksPerMultiprocessor;
}

static void test_occupancy(const struct device *d)
{
	uint32_t nr_wrong = 0, nr_refused = 0, i, warps, max_warps = d->limits.max_threads / 32;
	int threads, blocks;
	double got;

	for (i = 0; i < 100000; i++) {
		struct xpu_shape shape = {
			.grid = { 1 + rand() % 1000, 1, 1 }, .block = { 1 + rand() % 1024, 1, 1 },
			.registers = 1 + rand() % 255,
			.static_bytes = rand() % 2 ? rand() % 49152 : 0,
		};

		if (rand() % 2)
			shape.dynamic_bytes = rand() % (d->optin - shape.static_bytes);
		threads = shape.block[0];
		warps = (threads + 31) / 32;
		blocks = calculate(d, &shape, threads);
		nr_refused += blocks < 0;
		got = shape__occupancy(&shape, &d->limits);
		if (blocks >= 0 &&
		    (got < 0 || (uint32_t)(got * max_warps + 0.5) != blocks * warps)) {
			if (nr_wrong++ < 3)
				diag("%d threads, %u registers, %u + %u bytes: %d blocks, got %.1f "
				     "warps", threads, shape.registers, shape.static_bytes,
				     shape.dynamic_bytes, blocks, got * max_warps);
		}
	}
	is_int(nr_refused, 0, "%s: the calculator accepts all shapes", d->name);
	is_int(nr_wrong, 0, "%s: occupancy equals the calculator's result", d->name);
}

static void test_calculator(void)
{
	size_t i;

	srand(1);
	for (i = 0; i < ARRAY_SIZE(devices); i++)
		test_occupancy(&devices[i]);
}
#else
static void test_calculator(void)
{
	skip("NVIDIA's occupancy calculator", "cuda_occupancy.h is missing");
}
#endif

static void test_unknown(void)
{
	struct xpu_shape shape = { .block = { 256, 1, 1 }, .registers = 32 };
	struct xpu_device_limits limits = { 90, 132, 32, 2048, 32, 65536, 233472, 65536, 1024, 0 };
	struct xpu_device_limits none = { 0 };

	ok(shape__occupancy(&shape, &none) < 0, "an unknown device has no occupancy");
	memset(shape.block, 0xff, sizeof(shape.block));
	ok(shape__occupancy(&shape, &limits) <= 0,
	   "a block of more threads than a 32-bit number holds has no occupancy");
	memset(shape.block, 0, sizeof(shape.block));
	ok(shape__occupancy(&shape, &limits) < 0, "a block without threads has no occupancy");
	memset(&limits, 0xff, sizeof(limits));
	shape.block[0] = 1;
	memset(&shape.registers, 0xff, 4 * sizeof(shape.registers));
	ok(shape__occupancy(&shape, &limits) <= 1,
	   "numbers that no device has give an occupancy of at most 1");
}

static void is_text(const struct xpu_shape *shape, const char *expected)
{
	char text[SHAPE_TEXT_MAX];

	shape__text(shape, text);
	is_str(text, expected, "%s", expected);
}

static void test_text(void)
{
	struct xpu_shape shape = { .grid = { 64, 1, 1 }, .block = { 256, 1, 1 } };
	uint32_t i;

	is_text(&shape, "<<<64, 256>>>");
	shape.grid[1] = 2;
	shape.block[2] = 4;
	shape.dynamic_bytes = 4096;
	is_text(&shape, "<<<64x2, 256x1x4, 4096 B>>>");
	shape.cluster[0] = 2;
	is_text(&shape, "<<<64x2, 256x1x4, 4096 B, cluster 2>>>");
	for (i = 0; i < 3; i++)
		shape.grid[i] = shape.block[i] = shape.cluster[i] = shape.dynamic_bytes =
			UINT32_MAX;
	is_text(&shape, "<<<4294967295x4294967295x4294967295, 4294967295x4294967295x4294967295, "
		"4294967295 B, cluster 4294967295x4294967295x4294967295>>>");
}

static void test_shapes(void)
{
	struct xpu_shape shape = { .grid = { 1, 1, 1 } };
	uint32_t first, i, idx = 0, nr_wrong = 0;
	struct shapes shapes;

	shapes__init(&shapes);
	shapes__get(&shapes, &shape, &first);
	for (i = 0; i < 20000; i++) {
		shape.local_bytes = i % 10000;
		nr_wrong += shapes__get(&shapes, &shape, &idx) || idx != i % 10000;
	}
	is_int(nr_wrong + first, 0, "each shape has a number");
	is_int(shapes.nr, 10000, "each shape exists once");
	is_int(shapes__at(&shapes, 4711)->local_bytes, 4711, "a shape is found by its number");
	ok(!shapes__at(&shapes, NO_INDEX) && !shapes__at(&shapes, SHAPE_SEVERAL),
	   "neither an unknown shape nor several shapes have dimensions");
	is_int(shape__common(3, 3), 3, "two equal shapes give that shape");
	is_int(shape__common(3, NO_INDEX), SHAPE_SEVERAL,
	       "a known and an unknown shape give several shapes");
	shapes__exit(&shapes);
}

int main(void)
{
	test_calculator();
	test_unknown();
	test_text();
	test_shapes();
	return done_testing();
}
