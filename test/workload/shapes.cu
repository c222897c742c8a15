// SPDX-License-Identifier: MIT
/*
 * shapes - launches a kernel in many launch shapes, and prints them
 *
 *	shapes LAUNCHES WAYS
 *
 * Launch i has shape i % WAYS. Prints a line for each shape, in order: grid, block, dynamic shared
 * memory and cluster, as in xpumerge's tables, and the number of launches.
 */
#include "kernels.h"

KERNEL(k_shaped)

struct way {
	dim3 grid, block;
	unsigned int dynamic_bytes, cluster;
};

static struct way way_of(unsigned int i)
{
	struct way w;

	w.grid = dim3(2 * (i + 1), 1 + i % 3, 1);
	w.block = dim3(32 * (1 + i % 32), 1, 1);
	w.dynamic_bytes = 1024 * (i % 4);
	w.cluster = i % 5 == 4 ? 2 : 0;
	return w;
}

extern "C" NOINLINE void shaped(const struct way *w)
{
	unsigned long long ns = 1000;
	void *args[] = { &ns };
	cudaLaunchConfig_t config = {};
	cudaLaunchAttribute attribute = {};

	config.gridDim = w->grid;
	config.blockDim = w->block;
	config.dynamicSmemBytes = w->dynamic_bytes;
	attribute.id = cudaLaunchAttributeClusterDimension;
	attribute.val.clusterDim.x = w->cluster;
	attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
	config.attrs = &attribute;
	config.numAttrs = w->cluster ? 1 : 0;
	CHECK(cudaLaunchKernelExC(&config, (const void *)k_shaped, args));
	NO_TAIL_CALL();
}

static void print_dim(dim3 d)
{
	printf("%u", d.x);
	if (d.y > 1 || d.z > 1)
		printf("x%u", d.y);
	if (d.z > 1)
		printf("x%u", d.z);
}

int main(int argc, char **argv)
{
	unsigned int nr = argc > 1 ? atoi(argv[1]) : 100, ways = argc > 2 ? atoi(argv[2]) : 10, i;
	struct way w;

	for (i = 0; i < nr; i++) {
		w = way_of(i % ways);
		shaped(&w);
	}
	CHECK(cudaDeviceSynchronize());
	for (i = 0; i < ways && i < nr; i++) {
		w = way_of(i);
		print_dim(w.grid);
		putchar(' ');
		print_dim(w.block);
		printf(" %u %s %u\n", w.dynamic_bytes, w.cluster ? "2" : "-",
		       (nr - i + ways - 1) / ways);
	}
	return 0;
}
