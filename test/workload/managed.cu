// SPDX-License-Identifier: MIT
/*
 * managed.cu - pages of managed memory migrate, and the program prints how much
 *
 *	managed [-n STEPS] [-r SEED] [-p MS] [-s]
 *
 * Functions mg_site_0 to mg_site_3 allocate managed memory, and other memory between. The host
 * writes it, a GPU touches it, the host reads it, in pieces of whole pages. On the simulated device
 * the program says how pages migrate (sim_migrate); on a real GPU they do. Each line of output is
 * the truth of a call path:
 *
 *	to_gpu SITE BYTES	moved from the host to the GPU
 *	to_host SITE BYTES	moved back
 *	gpu_faults SITE NR	page faults of the GPU (simulated device)
 *	cpu_faults SITE NR	page faults of the CPU (simulated device)
 *	thrashing SITE BYTES	(simulated device)
 *
 * SITE "none" is memory of no allocation, and "several" are pages that two sites share.
 *
 *	-p	pause between steps
 *	-s	a step frees its memory and the next step gets it again, by another site
 */
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kernels.h"

#define NR_SITES	4
#define PAGE		((size_t)64 << 10)
#define MB		((size_t)1 << 20)
#define CPU		UINT32_MAX

/* CUPTI's numbers. */
enum { TO_GPU = 1, TO_HOST = 2, CPU_FAULT = 3, GPU_FAULTS = 4, THRASHING = 5 };

struct migration {		/* struct sim_migration of test/sim/sim.h */
	uint32_t counter, source, target, flags;
	uint64_t address, value, start_ns, end_ns;
};

struct piece {
	char *at;
	size_t bytes;
	int site;
};

static void (*sim_migrate_at)(const struct migration *m);
static uint64_t truth[NR_SITES + 2][6];
static long nr_steps = 40, pause_ms;
static uint64_t seed = 1;

#define NONE	NR_SITES
#define SEVERAL	(NR_SITES + 1)

#ifdef __CUDACC__
static __global__ void touch(char *at, size_t bytes)
{
	for (size_t i = threadIdx.x * (size_t)4096; i < bytes; i += blockDim.x * (size_t)4096)
		at[i]++;
}
#endif

KERNEL(k_after)

static void migrate(int site, uint32_t counter, const char *at, uint64_t value)
{
	struct migration m;
	struct timespec ts;

	memset(&m, 0, sizeof(m));
	m.counter = counter;
	m.source = counter == TO_GPU ? CPU : 0;
	m.target = counter == TO_HOST ? CPU : 0;
	m.address = (uintptr_t)at;
	m.value = value;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	m.end_ns = ts.tv_sec * 1000000000ull + ts.tv_nsec;
	m.start_ns = m.end_ns - 1;
	sim_migrate_at(&m);
	truth[site][counter] += counter == CPU_FAULT ? 1 : value;
}

static NOINLINE void allocate(struct piece *p)
{
	CHECK(cudaMallocManaged((void **)&p->at, p->bytes, cudaMemAttachGlobal));
}

#define SITE(n)									\
	KERNELS_C NOINLINE void mg_site_##n(struct piece *p);			\
	KERNELS_C NOINLINE void mg_site_##n(struct piece *p)			\
	{									\
		p->site = n;							\
		allocate(p);							\
		NO_TAIL_CALL();							\
	}

SITE(0) SITE(1) SITE(2) SITE(3)

static void (*const sites[NR_SITES])(struct piece *) = {
	mg_site_0, mg_site_1, mg_site_2, mg_site_3,
};

/* The host has the piece; the GPU touches it, and the host reads it. */
static void use(const struct piece *p)
{
	if (sim_migrate_at) {
		migrate(p->site, CPU_FAULT, p->at, 0x401000);
		migrate(p->site, GPU_FAULTS, p->at + PAGE / 2, 3);
		migrate(p->site, TO_GPU, p->at, p->bytes / 2);
		migrate(p->site, TO_GPU, p->at + p->bytes / 2, p->bytes / 2);
		migrate(p->site, TO_HOST, p->at + p->bytes - PAGE, PAGE);
		migrate(p->site, THRASHING, p->at, PAGE);
		return;
	}
#ifdef __CUDACC__
	memset(p->at, 1, p->bytes);
	touch<<<1, 256>>>(p->at, p->bytes);
	CHECK(cudaDeviceSynchronize());
	truth[p->site][TO_GPU] += p->bytes;
	for (size_t i = 0; i < p->bytes; i += 4096)
		if (*(volatile char *)(p->at + i) != 2)
			exit(3);
	truth[p->site][TO_HOST] += p->bytes;
#endif
}

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return *state >> 33;
}

/* Addresses of no managed memory, and pages with memory of two sites. */
static void misbehave(void)
{
	struct piece a, b;
	void *device;

	if (!sim_migrate_at)
		return;
	CHECK(cudaMalloc(&device, MB));
	migrate(NONE, TO_GPU, (const char *)device, PAGE);
	migrate(NONE, GPU_FAULTS, (const char *)device, 2);
	a.bytes = b.bytes = PAGE;
	mg_site_0(&a);
	mg_site_1(&b);
	/* From the beginning of one of them to the end of the other. */
	migrate(SEVERAL, TO_HOST, a.at < b.at ? a.at : b.at,
		(a.at < b.at ? b.at - a.at : a.at - b.at) + PAGE);
	CHECK(cudaFree(a.at));
	migrate(NONE, TO_HOST, a.at, PAGE);
	CHECK(cudaFree(b.at));
	CHECK(cudaFree(device));
}

int main(int argc, char **argv)
{
	static const char *const names[] = {
		"", "to_gpu", "to_host", "cpu_faults", "gpu_faults", "thrashing",
	};
	static const char *const places[] = {
		"mg_site_0", "mg_site_1", "mg_site_2", "mg_site_3", "none", "several",
	};
	struct piece kept[NR_SITES];
	bool reuse = false;
	void *cuda;
	int c;

	while ((c = getopt(argc, argv, "n:r:p:s")) != -1) {
		switch (c) {
		case 'n': nr_steps = atol(optarg); break;
		case 'r': seed = strtoull(optarg, NULL, 10); break;
		case 'p': pause_ms = atol(optarg); break;
		case 's': reuse = true; break;
		default: return 2;
		}
	}
	cuda = dlopen("libcuda.so.1", RTLD_NOW);
	*(void **)&sim_migrate_at = cuda ? dlsym(cuda, "sim_migrate") : NULL;
	for (int i = 0; i < NR_SITES; i++) {
		kept[i].bytes = (2 + 2 * i) * MB;
		sites[i](&kept[i]);
	}
	for (long step = 0; step < nr_steps; step++) {
		struct timespec ts = { pause_ms / 1000, pause_ms % 1000 * 1000000 };
		int i = next_random(&seed) % NR_SITES;
		struct piece p;

		use(&kept[i]);
		p.bytes = reuse ? 4 * MB : 2 * MB * (1 + next_random(&seed) % 4);
		sites[(i + 1) % NR_SITES](&p);
		use(&p);
		CHECK(cudaFree(p.at));
		LAUNCH(k_after, 0, 1000);
		nanosleep(&ts, NULL);
	}
	misbehave();
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < NR_SITES + 2; i++)
		for (c = TO_GPU; c <= THRASHING; c++)
			if (truth[i][c])
				printf("%s %s %llu\n", names[c], places[i],
				       (unsigned long long)truth[i][c]);
	return 0;
}
