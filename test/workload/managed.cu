// SPDX-License-Identifier: MIT
/*
 * managed.cu - pages of managed memory migrate, and the program prints how much
 *
 *	managed [-n STEPS] [-r SEED] [-p MS] [-s]
 *
 * Functions mg_site_0 to mg_site_3 allocate managed memory that is kept, and mg_site_4 and
 * mg_site_5 allocate memory that is freed after its use: 16 MiB at most at any time. The program
 * tells the simulated device how pages migrate (sim_migrate). On a GPU it makes pages migrate: the
 * host writes memory, the GPU touches it, and the host reads it. Three sites differ: memory of
 * mg_site_1 is prefetched before each use, memory of mg_site_2 is first touched by the GPU, and
 * only the host uses memory of mg_site_3. Each line of output has the true figure of a call path:
 *
 *	to_gpu SITE BYTES	bytes moved from the host to the GPU
 *	to_host SITE BYTES	bytes moved back
 *	moves SITE NR		number of moves of pages, either way
 *	gpu_faults SITE NR	page faults of the GPU
 *	cpu_faults SITE NR	page faults of the CPU
 *	thrashing SITE BYTES	size of pages that move again and again
 *
 * SITE "none" stands for addresses outside of any managed allocation, "several" for pages that two
 * sites share. On a real GPU, bytes are exact, and the driver decides how many faults and moves
 * happen: a line has the least and the largest possible number. "launches NR" counts the program's
 * launches, and "concurrent 0" says that memory moves as a whole, because a device cannot share it
 * with the host.
 *
 *	-p	pauses between steps
 *	-s	each step frees its memory, and the next step allocates the same memory from
 *		another site
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

#define NR_KEPT		4
#define NR_SITES	6
#define PAGE		((size_t)64 << 10)
#define MB		((size_t)1 << 20)
#define CPU		UINT32_MAX

/* The numbers of CUPTI's counters, and MOVES, which only the program counts */
enum { TO_GPU = 1, TO_HOST = 2, CPU_FAULT = 3, GPU_FAULTS = 4, THRASHING = 5, MOVES = 6, NR_WHATS };

struct migration {		/* struct sim_migration of test/sim/sim.h */
	uint32_t counter, source, target, flags;
	uint64_t address, value, start_ns, end_ns;
};

struct piece {
	char *at;
	size_t bytes;
	int site;
	int value;			/* value of each byte that is touched */
	int on_host;			/* the host has used the piece: pages can move to the GPU */
};

static void (*sim_migrate_at)(const struct migration *m);
static uint64_t truth[NR_SITES + 2][NR_WHATS];	/* on a real GPU: the minimum of each value */
static long nr_steps = 40, pause_ms;
static uint64_t seed = 1;

#define NONE	NR_SITES
#define SEVERAL	(NR_SITES + 1)

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
	truth[site][MOVES] += counter == TO_GPU || counter == TO_HOST;
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

SITE(0) SITE(1) SITE(2) SITE(3) SITE(4) SITE(5)

static void (*const sites[NR_SITES])(struct piece *) = {
	mg_site_0, mg_site_1, mg_site_2, mg_site_3, mg_site_4, mg_site_5,
};

#ifdef __CUDACC__
#define SMALL_PAGE	((size_t)4 << 10)	/* the smallest amount that moves */
#define BLOCK		(2 * MB)		/* the largest amount */

static uint64_t most[NR_SITES + 2][NR_WHATS];
static long nr_launches;

extern "C" __global__ void k_touch(char *at, size_t bytes)
{
	for (size_t i = threadIdx.x * SMALL_PAGE; i < bytes; i += blockDim.x * SMALL_PAGE)
		at[i]++;
}

static void add(int site, int what, uint64_t least, uint64_t largest)
{
	truth[site][what] += least;
	most[site][what] += largest;
}

static void moves(const struct piece *p, int what)
{
	add(p->site, what, p->bytes, p->bytes);
	add(p->site, MOVES, p->bytes / BLOCK, p->bytes / SMALL_PAGE);
}

/*
 * Waits a little. If pages moved back and forth within 0.5 ms, CUDA would take this for thrashing,
 * and leave them where they are.
 */
static void rest(void)
{
	CHECK(cudaDeviceSynchronize());
	usleep(5000);
}

static NOINLINE void touch(struct piece *p)
{
	k_touch<<<1, 256>>>(p->at, p->bytes);
	nr_launches++;
	p->value++;
	rest();
}

static NOINLINE void prefetch(const struct piece *p, bool to_host)
{
#if CUDART_VERSION >= 13000
	struct cudaMemLocation to;

	to.type = to_host ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
	to.id = 0;
	CHECK(cudaMemPrefetchAsync(p->at, p->bytes, to, 0, 0));
#else
	CHECK(cudaMemPrefetchAsync(p->at, p->bytes, to_host ? cudaCpuDeviceId : 0, 0));
#endif
	moves(p, to_host ? TO_HOST : TO_GPU);
	rest();
}

/* The pages are on the host, or nowhere yet. The first use of each page is a CPU fault, too. */
static void host_writes(struct piece *p)
{
	memset(p->at, p->value = 1, p->bytes);
	p->on_host = true;
	add(p->site, CPU_FAULT, 0, p->bytes / SMALL_PAGE);
	rest();
}

static void host_reads(struct piece *p, bool from_gpu)
{
	for (size_t i = 0; i < p->bytes; i += SMALL_PAGE)
		if (*(volatile char *)(p->at + i) != p->value)
			exit(3);
	p->on_host = true;
	add(p->site, CPU_FAULT, from_gpu, p->bytes / SMALL_PAGE);
	if (from_gpu)
		moves(p, TO_HOST);
	rest();
}

static void faults_to_gpu(struct piece *p)
{
	touch(p);
	add(p->site, GPU_FAULTS, 1, UINT32_MAX);
	if (p->on_host)
		moves(p, TO_GPU);
	p->on_host = false;
}

static void use_real(struct piece *p)
{
	switch (p->site) {
	case 1:
		host_writes(p);
		prefetch(p, false);
		touch(p);
		prefetch(p, true);
		host_reads(p, false);
		break;
	case 2:
		faults_to_gpu(p);
		host_reads(p, true);
		break;
	case 3:
		host_writes(p);
		host_reads(p, false);
		break;
	default:
		host_writes(p);
		faults_to_gpu(p);
		host_reads(p, true);
	}
}
#endif

static void use(struct piece *p)
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
	use_real(p);
#endif
}

static NOINLINE void after(void)
{
	LAUNCH(k_after, 0, 1000);
	NO_TAIL_CALL();
}

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return *state >> 33;
}

/* Reports addresses outside of managed memory, and pages with memory of two sites. */
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
	/* A range from the start of one allocation to the end of the other. */
	migrate(SEVERAL, TO_HOST, a.at < b.at ? a.at : b.at,
		(a.at < b.at ? b.at - a.at : a.at - b.at) + PAGE);
	CHECK(cudaFree(a.at));
	migrate(NONE, TO_HOST, a.at, PAGE);
	CHECK(cudaFree(b.at));
	CHECK(cudaFree(device));
}

static void print_truth(void)
{
	static const char *const names[] = {
		"", "to_gpu", "to_host", "cpu_faults", "gpu_faults", "thrashing", "moves",
	};
	static const char *const places[] = {
		"mg_site_0", "mg_site_1", "mg_site_2", "mg_site_3", "mg_site_4", "mg_site_5",
		"none", "several",
	};

	for (int i = 0; i < NR_SITES + 2; i++)
		for (int c = TO_GPU; c < NR_WHATS; c++) {
#ifdef __CUDACC__
			if (!sim_migrate_at && most[i][c])
				printf("%s %s %llu %llu\n", names[c], places[i],
				       (unsigned long long)truth[i][c],
				       (unsigned long long)most[i][c]);
#endif
			if (sim_migrate_at && truth[i][c])
				printf("%s %s %llu\n", names[c], places[i],
				       (unsigned long long)truth[i][c]);
		}
#ifdef __CUDACC__
	int concurrent;

	CHECK(cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentManagedAccess, 0));
	if (!sim_migrate_at)
		printf("launches %ld\nconcurrent %d\n", nr_launches + nr_steps, concurrent);
#endif
}

int main(int argc, char **argv)
{
	struct piece kept[NR_KEPT] = {};
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
	for (int i = 0; i < NR_KEPT; i++) {
		kept[i].bytes = 2 * MB;
		sites[i](&kept[i]);
	}
	for (long step = 0; step < nr_steps; step++) {
		struct timespec ts = { pause_ms / 1000, pause_ms % 1000 * 1000000 };
		int i = step < NR_KEPT ? step : next_random(&seed) % NR_KEPT;
		struct piece p = {};

		use(&kept[i]);
		p.bytes = reuse ? 4 * MB : 2 * MB * (1 + next_random(&seed) % 4);
		sites[NR_KEPT + step % 2](&p);
		use(&p);
		CHECK(cudaFree(p.at));
		after();
		nanosleep(&ts, NULL);
	}
	misbehave();
	CHECK(cudaDeviceSynchronize());
	print_truth();
	return 0;
}
