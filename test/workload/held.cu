// SPDX-License-Identifier: MIT
/*
 * held.cu - memory that CUDA itself holds: in pools, in graphs, in a context
 *
 * Allocates memory, and waits one second, in which a profiler can query CUDA. Prints CUDA's own
 * figures:
 *
 *	moment NS			CLOCK_MONOTONIC
 *	unused BYTES		reserved by the default pool, but not in use
 *	graphs BYTES		memory of graph nodes
 *	used BYTES		device memory that is in use by any process
 *
 * held_pool() and held_device() allocate memory. held_captured() allocates memory in a captured
 * graph, and held_node() with a graph node. With an argument, the program then asks for too much
 * memory, which makes CUDA take back unused memory of pools, and prints the figures again. With a
 * second argument, the program waits for a line of input before it asks for too much memory.
 */
#include <cuda.h>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MB		((size_t)1 << 20)
#define NOINLINE	extern "C" __attribute__((noinline))
#define NR_PIECES	4

NOINLINE void held_pool(void **at);
NOINLINE void held_device(void **at);
NOINLINE void held_captured(cudaStream_t stream);
NOINLINE void held_node(CUgraph graph);
NOINLINE void held_too_much(void);

static void check(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "held: %s: error %d\n", what, err);
	exit(1);
}

static void *driver(const char *name)
{
	static void *cuda;
	void *fn;

	cuda = cuda ? cuda : dlopen("libcuda.so.1", RTLD_NOW);
	fn = cuda ? dlsym(cuda, name) : NULL;
	check(!fn, name);
	return fn;
}

void held_pool(void **at)
{
	check(cudaMallocAsync(at, 32 * MB, 0), "cudaMallocAsync");
}

void held_device(void **at)
{
	check(cudaMalloc(at, 64 * MB), "cudaMalloc");
}

void held_captured(cudaStream_t stream)
{
	void *at;

	check(cudaMallocAsync(&at, 16 * MB, stream), "cudaMallocAsync in a capture");
	check(cudaMemsetAsync(at, 0, 16 * MB, stream), "cudaMemsetAsync in a capture");
	check(cudaFreeAsync(at, stream), "cudaFreeAsync in a capture");
}

void held_node(CUgraph graph)
{
	CUresult (*add)(CUgraphNode *, CUgraph, const CUgraphNode *, size_t,
			CUDA_MEM_ALLOC_NODE_PARAMS *);
	CUDA_MEM_ALLOC_NODE_PARAMS p;
	CUgraphNode node;

	memset(&p, 0, sizeof(p));
	p.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
	p.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	p.bytesize = 8 * MB;
	*(void **)&add = driver("cuGraphAddMemAllocNode");
	check(add(&node, graph, NULL, 0, &p), "cuGraphAddMemAllocNode");
}

void held_too_much(void)
{
	void *at;

	check(cudaMalloc(&at, (size_t)1 << 50) != cudaErrorMemoryAllocation,
	      "too much is not refused");
	cudaGetLastError();
}

static void launch_captured(cudaStream_t stream)
{
	cudaGraphExec_t exec;
	cudaGraph_t graph;

	/* This stream is not capturing, so ending the capture must fail. */
	check(cudaStreamEndCapture(stream, &graph) != cudaErrorIllegalState,
	      "cudaStreamEndCapture of none");
	cudaGetLastError();
	check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal),
	      "cudaStreamBeginCapture");
	held_captured(stream);
	check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
	check(cudaGraphInstantiateWithFlags(&exec, graph, 0), "cudaGraphInstantiate");
	for (int i = 0; i < 3; i++)
		check(cudaGraphLaunch(exec, stream), "cudaGraphLaunch");
	check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

static void launch_node(cudaStream_t stream)
{
	CUresult (*create)(CUgraph *, unsigned int);
	cudaGraphExec_t exec;
	CUgraph graph;

	*(void **)&create = driver("cuGraphCreate");
	check(create(&graph, 0), "cuGraphCreate");
	held_node(graph);
	check(cudaGraphInstantiateWithFlags(&exec, graph, 0), "cudaGraphInstantiate");
	check(cudaGraphLaunch(exec, stream), "cudaGraphLaunch");
	check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

static CUmemoryPool default_pool(void)
{
	CUresult (*get)(CUmemoryPool *, CUdevice);
	CUmemoryPool pool;

	*(void **)&get = driver("cuDeviceGetDefaultMemPool");
	check(get(&pool, 0), "cuDeviceGetDefaultMemPool");
	return pool;
}

/* Makes the pool keep its memory. */
static void keep_all(CUmemoryPool pool)
{
	CUresult (*set)(CUmemoryPool, CUmemPool_attribute, void *);
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
	cuuint64_t all = UINT64_MAX;

	*(void **)&set = dlsym(cuda, "cuMemPoolSetAttribute");	/* the simulated device lacks it */
	if (set)
		check(set(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &all), "cuMemPoolSetAttribute");
}

static void say(CUmemoryPool pool)
{
	CUresult (*of_pool)(CUmemoryPool, CUmemPool_attribute, void *);
	CUresult (*of_graphs)(CUdevice, CUgraphMem_attribute, void *);
	cuuint64_t reserved, used, graphs;
	struct timespec now;
	size_t left, total;

	*(void **)&of_pool = driver("cuMemPoolGetAttribute");
	*(void **)&of_graphs = driver("cuDeviceGetGraphMemAttribute");
	check(of_pool(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved),
	      "cuMemPoolGetAttribute");
	check(of_pool(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used), "cuMemPoolGetAttribute");
	check(of_graphs(0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &graphs),
	      "cuDeviceGetGraphMemAttribute");
	check(cudaMemGetInfo(&left, &total), "cudaMemGetInfo");
	clock_gettime(CLOCK_MONOTONIC, &now);
	printf("moment %lld\n", now.tv_sec * 1000000000ll + now.tv_nsec);
	printf("unused %llu\ngraphs %llu\nused %zu\n", (unsigned long long)(reserved - used),
	       (unsigned long long)graphs, total - left);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct timespec second = { 1, 200000000 };
	void *pieces[NR_PIECES], *device;
	cudaStream_t stream;
	CUmemoryPool pool;

	(void)argv;
	check(cudaStreamCreate(&stream), "cudaStreamCreate");
	held_device(&device);
	pool = default_pool();
	keep_all(pool);
	for (int i = 0; i < NR_PIECES; i++)
		held_pool(&pieces[i]);
	for (int i = 1; i < NR_PIECES; i++)
		check(cudaFreeAsync(pieces[i], 0), "cudaFreeAsync");
	check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
	launch_captured(stream);
	launch_node(stream);
	nanosleep(&second, NULL);
	say(pool);
	if (argc > 2)
		getchar();
	if (argc > 1) {
		held_too_much();
		say(pool);
	}
	return 0;
}
