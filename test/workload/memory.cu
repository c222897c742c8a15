// SPDX-License-Identifier: MIT
/*
 * memory.cu - allocates memory of every kind, and prints what is live, for comparison with a
 * recording
 *
 *	memory [-t THREADS] [-n STEPS] [-m MOMENTS] [-r SEED] [-M] [-w] [-p MS] [-e FILE]
 *
 * Threads allocate from NR_SITES functions, mem_site_NN, each kind of memory at random, and free
 * what any thread has allocated. Between the rounds all threads pause, and the program prints
 *
 *	moment NS			CLOCK_MONOTONIC
 *	live SITE KIND BYTES NR		live memory at that moment, of each site and kind
 *
 * Then one thread alone makes a peak that is higher than any earlier moment ("peak ..."), asks for
 * more memory than the device has ("failed SITE device BYTES NR"), frees invalid pointers, forks,
 * and exits without freeing the rest ("leaked ..."). Last comes the sum of all allocations
 * ("allocated ...").
 *
 *	-M	without managed memory
 *	-w	every other round is between cudaProfilerStart() and cudaProfilerStop()
 *	-p	half of the pause at each moment, in ms (3)
 *	-e	before the peak, waits until FILE exists
 */
#include <cuda.h>
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NR_SITES	16
#define MAX_LIVE	4096
#define TOO_MUCH	((size_t)1 << 50)
#define MB		((size_t)1 << 20)

enum kind { DEVICE, ASYNC, FROM_POOL, MANAGED, PINNED, REGISTERED, PHYSICAL, ARRAY, NR_KINDS };

/* xpumerge's names for these kinds. */
static const char *const names[NR_KINDS] = {
	"device", "pool", "pool", "managed", "pinned", "registered", "physical", "array",
};

struct live {
	enum kind kind;
	int site;
	size_t bytes;
	void *at;
	CUmemGenericAllocationHandle handle;
};

struct sum {
	size_t bytes;
	long nr;
};

static int nr_threads = 4, nr_moments = 10;
static long nr_steps = 400;
static uint64_t seed = 1;
static bool no_managed, with_windows;
static long pause_ms = 3;
static const char *awaited;	/* the file of -e */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct live live[MAX_LIVE];
static int nr_live;
static struct sum sums[NR_SITES][NR_KINDS], allocated[NR_SITES][NR_KINDS];
static pthread_barrier_t still;
static CUmemoryPool pool;

/* Not linked, because the program must also run without a driver library. */
static struct {
	CUresult (*create)(CUmemGenericAllocationHandle *, size_t, const CUmemAllocationProp *,
			   unsigned long long);
	CUresult (*release)(CUmemGenericAllocationHandle);
	CUresult (*reserve)(CUdeviceptr *, size_t, size_t, CUdeviceptr, unsigned long long);
	CUresult (*address_free)(CUdeviceptr, size_t);
	CUresult (*map)(CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle,
			unsigned long long);
	CUresult (*unmap)(CUdeviceptr, size_t);
	CUresult (*pool_create)(CUmemoryPool *, const CUmemPoolProps *);
	CUresult (*from_pool)(CUdeviceptr *, size_t, CUmemoryPool, CUstream);
	CUresult (*array_create)(CUarray *, const CUDA_ARRAY_DESCRIPTOR *);
	CUresult (*array_destroy)(CUarray);
	CUresult (*mipmaps_create)(CUmipmappedArray *, const CUDA_ARRAY3D_DESCRIPTOR *,
				   unsigned int);
	CUresult (*mipmaps_destroy)(CUmipmappedArray);
} cu;

static void check(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "memory: %s: error %d\n", what, err);
	exit(1);
}

static void find_driver(void)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
	const struct {
		void *to;
		const char *name;
	} all[] = {
		{ &cu.create, "cuMemCreate" }, { &cu.release, "cuMemRelease" },
		{ &cu.reserve, "cuMemAddressReserve" }, { &cu.address_free, "cuMemAddressFree" },
		{ &cu.map, "cuMemMap" }, { &cu.unmap, "cuMemUnmap" },
		{ &cu.pool_create, "cuMemPoolCreate" },
		{ &cu.from_pool, "cuMemAllocFromPoolAsync" },
		{ &cu.array_create, "cuArrayCreate_v2" }, { &cu.array_destroy, "cuArrayDestroy" },
		{ &cu.mipmaps_create, "cuMipmappedArrayCreate" },
		{ &cu.mipmaps_destroy, "cuMipmappedArrayDestroy" },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		*(void **)all[i].to = cuda ? dlsym(cuda, all[i].name) : NULL;
		check(!*(void **)all[i].to, all[i].name);
	}
}

static CUmemAllocationProp on_device(void)
{
	CUmemAllocationProp prop;

	memset(&prop, 0, sizeof(prop));
	prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
	prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	return prop;
}

/* Allocates all possible mipmap levels; a program may leave out some. */
static void allocate_mipmaps(struct live *l)
{
	CUDA_ARRAY3D_DESCRIPTOR desc;
	size_t edge = 32 << l->bytes % 3;

	memset(&desc, 0, sizeof(desc));
	desc.Width = desc.Height = edge;
	desc.Format = CU_AD_FORMAT_FLOAT;
	desc.NumChannels = 2;
	check(cu.mipmaps_create((CUmipmappedArray *)&l->at, &desc, UINT32_MAX),
	      "cuMipmappedArrayCreate");
	for (l->bytes = 0; edge; edge /= 2)
		l->bytes += edge * edge * 8;
}

static __attribute__((noinline)) void allocate(struct live *l)
{
	CUmemAllocationProp prop = on_device();
	CUDA_ARRAY_DESCRIPTOR desc;
	CUdeviceptr at = 0;

	switch (l->kind) {
	case DEVICE:
		check(cudaMalloc(&l->at, l->bytes), "cudaMalloc");
		break;
	case ASYNC:
		check(cudaMallocAsync(&l->at, l->bytes, 0), "cudaMallocAsync");
		break;
	case FROM_POOL:
		check(cu.from_pool(&at, l->bytes, pool, NULL), "cuMemAllocFromPoolAsync");
		l->at = (void *)at;
		break;
	case MANAGED:
		check(cudaMallocManaged(&l->at, l->bytes, cudaMemAttachGlobal),
		      "cudaMallocManaged");
		break;
	case PINNED:
		check(cudaHostAlloc(&l->at, l->bytes, 0), "cudaHostAlloc");
		break;
	case REGISTERED:
		l->bytes = (l->bytes + 4095) & ~(size_t)4095;
		check(posix_memalign(&l->at, 4096, l->bytes), "posix_memalign");
		check(cudaHostRegister(l->at, l->bytes, 0), "cudaHostRegister");
		break;
	case PHYSICAL:
		l->bytes = 2 * MB * (1 + l->bytes % 4);
		check(cu.create(&l->handle, l->bytes, &prop, 0), "cuMemCreate");
		check(cu.reserve(&at, l->bytes, 0, 0, 0), "cuMemAddressReserve");
		check(cu.map(at, l->bytes, 0, l->handle, 0), "cuMemMap");
		/* The mapping keeps the memory allocated. */
		if (l->site % 2) {
			check(cu.release(l->handle), "cuMemRelease");
			l->handle = 0;
		}
		l->at = (void *)at;
		break;
	case ARRAY:
		if (l->site % 2) {
			allocate_mipmaps(l);
			break;
		}
		memset(&desc, 0, sizeof(desc));
		desc.Width = 64 + l->bytes % 64;
		desc.Height = 32;
		desc.Format = CU_AD_FORMAT_FLOAT;
		desc.NumChannels = 2;
		l->bytes = desc.Width * desc.Height * 8;
		check(cu.array_create((CUarray *)&l->at, &desc), "cuArrayCreate");
		break;
	default:
		break;
	}
}

static void free_it(struct live *l)
{
	switch (l->kind) {
	case DEVICE:
	case MANAGED:
		check(cudaFree(l->at), "cudaFree");
		break;
	case ASYNC:
	case FROM_POOL:
		if (l->site % 3)
			check(cudaFreeAsync(l->at, 0), "cudaFreeAsync");
		else
			check(cudaFree(l->at), "cudaFree of a pool's");
		break;
	case PINNED:
		check(cudaFreeHost(l->at), "cudaFreeHost");
		break;
	case REGISTERED:
		check(cudaHostUnregister(l->at), "cudaHostUnregister");
		free(l->at);
		break;
	case PHYSICAL:
		/* Either the handle or the mapping is released last. */
		if (l->handle && l->site % 4)
			check(cu.release(l->handle), "cuMemRelease");
		check(cu.unmap((CUdeviceptr)l->at, l->bytes), "cuMemUnmap");
		if (l->handle && !(l->site % 4))
			check(cu.release(l->handle), "cuMemRelease");
		check(cu.address_free((CUdeviceptr)l->at, l->bytes), "cuMemAddressFree");
		break;
	case ARRAY:
		if (l->site % 2)
			check(cu.mipmaps_destroy((CUmipmappedArray)l->at),
			      "cuMipmappedArrayDestroy");
		else
			check(cu.array_destroy((CUarray)l->at), "cuArrayDestroy");
		break;
	default:
		break;
	}
}

#define SITE(n)									\
	extern "C" __attribute__((noinline)) void mem_site_##n(struct live *l);	\
	extern "C" void mem_site_##n(struct live *l)				\
	{									\
		allocate(l);							\
		asm volatile("" : : "r"(l) : "memory");				\
	}

SITE(00) SITE(01) SITE(02) SITE(03) SITE(04) SITE(05) SITE(06) SITE(07)
SITE(08) SITE(09) SITE(10) SITE(11) SITE(12) SITE(13) SITE(14) SITE(15)

static void (*const sites[NR_SITES])(struct live *) = {
	mem_site_00, mem_site_01, mem_site_02, mem_site_03, mem_site_04, mem_site_05, mem_site_06,
	mem_site_07, mem_site_08, mem_site_09, mem_site_10, mem_site_11, mem_site_12, mem_site_13,
	mem_site_14, mem_site_15,
};

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return *state >> 33;
}

static void make(int site, enum kind kind, size_t bytes)
{
	struct live l;

	memset(&l, 0, sizeof(l));
	l.kind = kind;
	l.site = site;
	l.bytes = bytes;
	sites[site](&l);
	pthread_mutex_lock(&lock);
	sums[site][kind].bytes += l.bytes;
	sums[site][kind].nr++;
	allocated[site][kind].bytes += l.bytes;
	allocated[site][kind].nr++;
	live[nr_live++] = l;
	pthread_mutex_unlock(&lock);
}

/* Frees one of the live allocations, whichever thread made it. */
static void drop(uint64_t random)
{
	struct live l;

	pthread_mutex_lock(&lock);
	random %= nr_live--;
	l = live[random];
	live[random] = live[nr_live];
	sums[l.site][l.kind].bytes -= l.bytes;
	sums[l.site][l.kind].nr--;
	pthread_mutex_unlock(&lock);
	free_it(&l);
}

static void print_sums(const char *what, struct sum (*of)[NR_KINDS])
{
	for (int site = 0; site < NR_SITES; site++)
		for (int kind = 0; kind < NR_KINDS; kind++)
			if (of[site][kind].nr)
				printf("%s mem_site_%02d %s %zu %ld\n", what, site, names[kind],
				       of[site][kind].bytes, of[site][kind].nr);
}

static void rest(void)
{
	struct timespec ts = { 0, pause_ms * 1000000 };

	nanosleep(&ts, NULL);
}

static void *work(void *arg)
{
	uint64_t random = seed + (uintptr_t)arg * 7919;

	check(cudaSetDevice(0), "cudaSetDevice");
	for (int moment = 0; moment < nr_moments; moment++) {
		for (long step = 0; step < nr_steps; step++) {
			uint64_t r = next_random(&random);
			enum kind kind = (enum kind)(r % NR_KINDS);
			bool full;

			pthread_mutex_lock(&lock);
			full = nr_live > 200 + (int)(r >> 8) % 100;
			pthread_mutex_unlock(&lock);
			if (full || ((r >> 4) % 5 < 2 && nr_live > 50))
				drop(next_random(&random));
			else
				make((r >> 12) % NR_SITES,
				     kind == MANAGED && no_managed ? DEVICE : kind,
				     1 + (r >> 16) % 100000);
		}
		pthread_barrier_wait(&still);
		pthread_barrier_wait(&still);
	}
	return NULL;
}

static void watch(void)
{
	struct timespec ts;

	for (int moment = 0; moment < nr_moments; moment++) {
		pthread_barrier_wait(&still);
		rest();
		clock_gettime(CLOCK_MONOTONIC, &ts);
		printf("moment %lld\n", ts.tv_sec * 1000000000ll + ts.tv_nsec);
		rest();
		print_sums("live", sums);
		if (with_windows)
			check(moment % 2 ? cudaProfilerStop() : cudaProfilerStart(),
			      "cudaProfilerStart");
		pthread_barrier_wait(&still);
	}
}

/* Allocates more than was live at any earlier moment. */
static void make_peak(void)
{
	int first = nr_live;

	for (int i = 0; i < 8; i++)
		make(i, DEVICE, (200 + i) * MB + 1);
	print_sums("peak", sums);
	while (nr_live > first + 1) {
		struct live l = live[--nr_live];

		sums[l.site][l.kind].bytes -= l.bytes;
		sums[l.site][l.kind].nr--;
		free_it(&l);
	}
}

extern "C" __attribute__((noinline)) void mem_site_failed(void);
extern "C" void mem_site_failed(void)
{
	void *at;
	int err = cudaMalloc(&at, TOO_MUCH);

	check(err != cudaErrorMemoryAllocation, "cudaMalloc of too much did not fail");
	cudaGetLastError();
}

static void misbehave(void)
{
	for (int i = 0; i < 3; i++)
		mem_site_failed();
	printf("failed mem_site_failed failed %zu 3\n", 3 * TOO_MUCH);
	cudaFree((void *)0x1234560000);
	cudaGetLastError();
	cudaFree(NULL);
	if (!fork())
		_exit(0);
	wait(NULL);
}

int main(int argc, char **argv)
{
	CUmemAllocationProp prop = on_device();
	pthread_t threads[64];
	CUmemPoolProps props;
	int c;

	while ((c = getopt(argc, argv, "t:n:m:r:Mwp:e:")) != -1) {
		switch (c) {
		case 't': nr_threads = atoi(optarg); break;
		case 'n': nr_steps = atol(optarg); break;
		case 'm': nr_moments = atoi(optarg); break;
		case 'r': seed = strtoull(optarg, NULL, 10); break;
		case 'M': no_managed = true; break;
		case 'p': pause_ms = atol(optarg) % 1000; break;
		case 'e': awaited = optarg; break;
		case 'w': with_windows = true; break;
		default: return 2;
		}
	}
	check(nr_threads < 1 || nr_threads > 64, "-t: expected 1 to 64 threads");
	check(cudaFree(NULL), "cudaFree");
	find_driver();
	memset(&props, 0, sizeof(props));
	props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
	props.location = prop.location;
	check(cu.pool_create(&pool, &props), "cuMemPoolCreate");
	pthread_barrier_init(&still, NULL, nr_threads + 1);
	for (int i = 0; i < nr_threads; i++)
		check(pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)(i + 1)),
		      "thread");
	watch();
	for (int i = 0; i < nr_threads; i++)
		pthread_join(threads[i], NULL);
	while (awaited && access(awaited, F_OK))
		usleep(10000);
	make_peak();
	misbehave();
	print_sums("leaked", sums);
	print_sums("allocated", allocated);
	fflush(stdout);
	return 0;
}
