// SPDX-License-Identifier: MIT
/*
 * apis.cu - makes every call that starts device work, each call in its own function
 *
 *	apis [-n ROUNDS] [-d]
 *
 * A round makes each call once; there are ROUNDS rounds. Only site_NAME launches kernel_NAME. A
 * site that copies or sets memory uses a number of bytes that no other site uses. For each copy or
 * set the program prints "apis: NAME API KIND BYTES", for launches "apis: NAME API kernel". Graphs
 * are captured and built in other functions: kernel_NAME still belongs to site_NAME, because
 * capture_site_NAME is not a site. Without -d, a second device is used if the machine has one.
 */
#include <cuda.h>
#include <string.h>
#include <unistd.h>

#include "kernels.h"

#define BLOCK	65536			/* bytes; each call copies another multiple of it */
#define BLOCKS	64

static int nr_rounds = 10;
static bool say, no_bytes;
static cudaStream_t stream;
static char *device, *device2, *pinned, *pageable;
static int peer;			/* the second device if the machine has one, else the
					 * first */
static CUcontext context, peer_context;
static size_t next_blocks = 1;

#define COST	2000

/* ---- functions that are not linked: of the driver, and for the per-thread default stream ----- */

#define DRIVER(fn)	static __typeof__(&fn) d_##fn, d_##fn##_pt

DRIVER(cuLaunchKernel);
DRIVER(cuLaunchKernelEx);
DRIVER(cuLaunchCooperativeKernel);
DRIVER(cuMemcpy);
DRIVER(cuMemcpyAsync);
DRIVER(cuMemcpyHtoD);
DRIVER(cuMemcpyDtoH);
DRIVER(cuMemcpyDtoD);
DRIVER(cuMemcpyHtoDAsync);
DRIVER(cuMemcpyDtoHAsync);
DRIVER(cuMemcpyDtoDAsync);
DRIVER(cuMemcpyPeer);
DRIVER(cuMemcpyPeerAsync);
DRIVER(cuMemsetD8);
DRIVER(cuMemsetD16);
DRIVER(cuMemsetD32);
DRIVER(cuMemsetD8Async);
DRIVER(cuMemsetD16Async);
DRIVER(cuMemsetD32Async);
DRIVER(cuGraphLaunch);
static __typeof__(&cuCtxGetCurrent) d_cuCtxGetCurrent;

static void *find(const char *name, unsigned long long flags)
{
	enum cudaDriverEntryPointQueryResult found;
	void *fn = NULL;

	CHECK(cudaGetDriverEntryPointByVersion(name, &fn, 12000, flags, &found));
	if (!fn) {
		fprintf(stderr, "apis: no %s\n", name);
		exit(1);
	}
	return fn;
}

#define FIND(fn)								\
	do {									\
		*(void **)&d_##fn = find(#fn, cudaEnableLegacyStream);		\
		*(void **)&d_##fn##_pt = find(#fn, cudaEnablePerThreadDefaultStream);	\
	} while (0)

static void find_all(void)
{
	FIND(cuLaunchKernel);
	FIND(cuLaunchKernelEx);
	FIND(cuLaunchCooperativeKernel);
	FIND(cuMemcpy);
	FIND(cuMemcpyAsync);
	FIND(cuMemcpyHtoD);
	FIND(cuMemcpyDtoH);
	FIND(cuMemcpyDtoD);
	FIND(cuMemcpyHtoDAsync);
	FIND(cuMemcpyDtoHAsync);
	FIND(cuMemcpyDtoDAsync);
	FIND(cuMemcpyPeer);
	FIND(cuMemcpyPeerAsync);
	FIND(cuMemsetD8);
	FIND(cuMemsetD16);
	FIND(cuMemsetD32);
	FIND(cuMemsetD8Async);
	FIND(cuMemsetD16Async);
	FIND(cuMemsetD32Async);
	FIND(cuGraphLaunch);
	*(void **)&d_cuCtxGetCurrent = find("cuCtxGetCurrent", cudaEnableDefault);
}

#define DCHECK(call)								\
	do {									\
		CUresult derr_ = (call);					\
		if (derr_ != CUDA_SUCCESS) {					\
			fprintf(stderr, "%s:%d: %s: error %d\n",		\
				__FILE__, __LINE__, #call, derr_);		\
			exit(1);						\
		}								\
	} while (0)

/*
 * The runtime's forms for the per-thread default stream. A compiler flag selects them, and cudart
 * exports them.
 */
extern "C" {
cudaError_t cudaLaunchKernel_ptsz(const void *func, dim3 grid, dim3 block, void **args,
				  size_t shared, cudaStream_t s);
cudaError_t cudaLaunchKernelExC_ptsz(const cudaLaunchConfig_t *config, const void *func,
				     void **args);
cudaError_t cudaLaunchCooperativeKernel_ptsz(const void *func, dim3 grid, dim3 block, void **args,
					     size_t shared, cudaStream_t s);
cudaError_t cudaMemcpy_ptds(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync_ptsz(void *dst, const void *src, size_t bytes,
				 enum cudaMemcpyKind kind, cudaStream_t s);
cudaError_t cudaMemset_ptds(void *ptr, int value, size_t bytes);
cudaError_t cudaMemsetAsync_ptsz(void *ptr, int value, size_t bytes, cudaStream_t s);
cudaError_t cudaGraphLaunch_ptsz(cudaGraphExec_t exec, cudaStream_t s);
}

/* ---- launches -------------------------------------------------------------------------------- */

static CUfunction function_of(const void *host)
{
	cudaFunction_t func;

	CHECK(cudaGetFuncBySymbol(&func, host));
	return (CUfunction)func;
}

/* A launch site. Its body can use its kernel, the stream and the arguments. */
#define LAUNCH_SITE(name, api, body)						\
	KERNEL(kernel_##name)							\
	extern "C" NOINLINE void site_##name(void)				\
	{									\
		unsigned long long ns = COST;					\
		const void *host = (const void *)kernel_##name;			\
		void *args[] = { &ns };						\
		dim3 one(1, 1, 1);						\
										\
		(void)host, (void)args, (void)one;				\
		if (say)							\
			puts("apis: " #name " " api " kernel");			\
		body;								\
		NO_TAIL_CALL();							\
	}

#define RUNTIME_CONFIG()							\
	cudaLaunchConfig_t config = cudaLaunchConfig_t();			\
	config.gridDim = config.blockDim = one

#define DRIVER_CONFIG(s)							\
	CUlaunchConfig config = CUlaunchConfig();				\
	config.gridDimX = config.gridDimY = config.gridDimZ = 1;		\
	config.blockDimX = config.blockDimY = config.blockDimZ = 1;		\
	config.hStream = s

LAUNCH_SITE(chevron, "cudaLaunchKernel", LAUNCH(kernel_chevron, stream, ns))
LAUNCH_SITE(runtime, "cudaLaunchKernel",
	    CHECK(cudaLaunchKernel(host, one, one, args, 0, stream)))
LAUNCH_SITE(runtime_pt, "cudaLaunchKernel",
	    CHECK(cudaLaunchKernel_ptsz(host, one, one, args, 0, NULL)))
LAUNCH_SITE(exc, "cudaLaunchKernelExC",
	    RUNTIME_CONFIG(); config.stream = stream;
	    CHECK(cudaLaunchKernelExC(&config, host, args)))
LAUNCH_SITE(exc_pt, "cudaLaunchKernelExC",
	    RUNTIME_CONFIG(); CHECK(cudaLaunchKernelExC_ptsz(&config, host, args)))
LAUNCH_SITE(coop, "cudaLaunchCooperativeKernel",
	    CHECK(cudaLaunchCooperativeKernel(host, one, one, args, 0, stream)))
LAUNCH_SITE(coop_pt, "cudaLaunchCooperativeKernel",
	    CHECK(cudaLaunchCooperativeKernel_ptsz(host, one, one, args, 0, NULL)))
LAUNCH_SITE(driver, "cuLaunchKernel",
	    DCHECK(d_cuLaunchKernel(function_of(host), 1, 1, 1, 1, 1, 1, 0, stream, args, NULL)))
LAUNCH_SITE(driver_pt, "cuLaunchKernel",
	    DCHECK(d_cuLaunchKernel_pt(function_of(host), 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL)))
LAUNCH_SITE(ex, "cuLaunchKernelEx",
	    DRIVER_CONFIG(stream);
	    DCHECK(d_cuLaunchKernelEx(&config, function_of(host), args, NULL)))
LAUNCH_SITE(ex_pt, "cuLaunchKernelEx",
	    DRIVER_CONFIG(NULL);
	    DCHECK(d_cuLaunchKernelEx_pt(&config, function_of(host), args, NULL)))
LAUNCH_SITE(dcoop, "cuLaunchCooperativeKernel",
	    DCHECK(d_cuLaunchCooperativeKernel(function_of(host), 1, 1, 1, 1, 1, 1, 0, stream,
					       args)))
LAUNCH_SITE(dcoop_pt, "cuLaunchCooperativeKernel",
	    DCHECK(d_cuLaunchCooperativeKernel_pt(function_of(host), 1, 1, 1, 1, 1, 1, 0, NULL,
						  args)))

/* ---- graphs ---------------------------------------------------------------------------------- */

static cudaGraphExec_t instantiate(const void *host)
{
	unsigned long long ns = COST;
	struct cudaKernelNodeParams p = cudaKernelNodeParams();
	void *args[] = { &ns };
	cudaGraphExec_t exec;
	cudaGraphNode_t node;
	cudaGraph_t graph;

	p.func = (void *)host;
	p.gridDim = p.blockDim = dim3(1, 1, 1);
	p.kernelParams = args;
	CHECK(cudaGraphCreate(&graph, 0));
	CHECK(cudaGraphAddKernelNode(&node, graph, NULL, 0, &p));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	CHECK(cudaGraphDestroy(graph));
	return exec;
}

#define GRAPH_SITE(name, api, launch)						\
	KERNEL(kernel_##name)							\
	static cudaGraphExec_t exec_##name;					\
	static void prepare_##name(void)					\
	{									\
		exec_##name = instantiate((const void *)kernel_##name);		\
	}									\
	extern "C" NOINLINE void site_##name(void)				\
	{									\
		if (say)							\
			puts("apis: " #name " " api " kernel");			\
		launch;								\
		NO_TAIL_CALL();							\
	}

GRAPH_SITE(graph, "cudaGraphLaunch", CHECK(cudaGraphLaunch(exec_graph, stream)))
GRAPH_SITE(graph_pt, "cudaGraphLaunch", CHECK(cudaGraphLaunch_ptsz(exec_graph_pt, NULL)))
GRAPH_SITE(dgraph, "cuGraphLaunch", DCHECK(d_cuGraphLaunch((CUgraphExec)exec_dgraph, stream)))
GRAPH_SITE(dgraph_pt, "cuGraphLaunch",
	   DCHECK(d_cuGraphLaunch_pt((CUgraphExec)exec_dgraph_pt, NULL)))

/* ---- copies and sets ------------------------------------------------------------------------- */

/*
 * A site that makes a copy or set. @body can use two variables: @bytes is a number of bytes that no
 * other site has, and @at is the address of the device memory as the driver's type.
 */
#define MEMORY_SITE(name, api, kind, body)					\
	extern "C" NOINLINE void site_##name(void)				\
	{									\
		static size_t blocks;						\
		CUdeviceptr at = (CUdeviceptr)device;				\
		size_t bytes;							\
										\
		if (!blocks)							\
			blocks = next_blocks++;					\
		bytes = no_bytes ? 0 : blocks * BLOCK;				\
		(void)at;							\
		if (say)							\
			printf("apis: " #name " " api " " kind " %zu\n", bytes);	\
		body;								\
		NO_TAIL_CALL();							\
	}

#define HALF	(BLOCKS * (size_t)BLOCK)

MEMORY_SITE(h2d, "cudaMemcpy", "HtoD",
	    CHECK(cudaMemcpy(device, pageable, bytes, cudaMemcpyHostToDevice)))
MEMORY_SITE(d2h, "cudaMemcpy", "DtoH",
	    CHECK(cudaMemcpy(pageable, device, bytes, cudaMemcpyDeviceToHost)))
MEMORY_SITE(d2d, "cudaMemcpy", "DtoD",
	    CHECK(cudaMemcpy(device + HALF, device, bytes, cudaMemcpyDeviceToDevice)))
MEMORY_SITE(default, "cudaMemcpy", "HtoD",
	    CHECK(cudaMemcpy(device, pinned, bytes, cudaMemcpyDefault)))
MEMORY_SITE(h2d_async, "cudaMemcpyAsync", "HtoD",
	    CHECK(cudaMemcpyAsync(device, pinned, bytes, cudaMemcpyHostToDevice, stream)))
MEMORY_SITE(d2h_async, "cudaMemcpyAsync", "DtoH",
	    CHECK(cudaMemcpyAsync(pinned, device, bytes, cudaMemcpyDeviceToHost, stream)))
MEMORY_SITE(d2d_async, "cudaMemcpyAsync", "DtoD",
	    CHECK(cudaMemcpyAsync(device + HALF, device, bytes, cudaMemcpyDeviceToDevice, stream)))
MEMORY_SITE(copy_pt, "cudaMemcpy", "HtoD",
	    CHECK(cudaMemcpy_ptds(device, pinned, bytes, cudaMemcpyHostToDevice)))
MEMORY_SITE(async_pt, "cudaMemcpyAsync", "HtoD",
	    CHECK(cudaMemcpyAsync_ptsz(device, pinned, bytes, cudaMemcpyHostToDevice, NULL)))
MEMORY_SITE(set, "cudaMemset", "set", CHECK(cudaMemset(device, 1, bytes)))
MEMORY_SITE(set_async, "cudaMemsetAsync", "set",
	    CHECK(cudaMemsetAsync(device, 1, bytes, stream)))
MEMORY_SITE(set_pt, "cudaMemset", "set", CHECK(cudaMemset_ptds(device, 1, bytes)))
MEMORY_SITE(set_async_pt, "cudaMemsetAsync", "set",
	    CHECK(cudaMemsetAsync_ptsz(device, 1, bytes, NULL)))

MEMORY_SITE(dcopy, "cuMemcpy", "HtoD", DCHECK(d_cuMemcpy(at, (CUdeviceptr)pinned, bytes)))
MEMORY_SITE(dcopy_async, "cuMemcpyAsync", "HtoD",
	    DCHECK(d_cuMemcpyAsync(at, (CUdeviceptr)pinned, bytes, stream)))
MEMORY_SITE(dh2d, "cuMemcpyHtoD", "HtoD", DCHECK(d_cuMemcpyHtoD(at, pageable, bytes)))
MEMORY_SITE(dd2h, "cuMemcpyDtoH", "DtoH", DCHECK(d_cuMemcpyDtoH(pageable, at, bytes)))
MEMORY_SITE(dd2d, "cuMemcpyDtoD", "DtoD", DCHECK(d_cuMemcpyDtoD(at + HALF, at, bytes)))
MEMORY_SITE(dh2d_async, "cuMemcpyHtoDAsync", "HtoD",
	    DCHECK(d_cuMemcpyHtoDAsync(at, pinned, bytes, stream)))
MEMORY_SITE(dd2h_async, "cuMemcpyDtoHAsync", "DtoH",
	    DCHECK(d_cuMemcpyDtoHAsync(pinned, at, bytes, stream)))
MEMORY_SITE(dd2d_async, "cuMemcpyDtoDAsync", "DtoD",
	    DCHECK(d_cuMemcpyDtoDAsync(at + HALF, at, bytes, stream)))
MEMORY_SITE(dh2d_pt, "cuMemcpyHtoD", "HtoD", DCHECK(d_cuMemcpyHtoD_pt(at, pinned, bytes)))
MEMORY_SITE(dh2d_async_pt, "cuMemcpyHtoDAsync", "HtoD",
	    DCHECK(d_cuMemcpyHtoDAsync_pt(at, pinned, bytes, NULL)))
MEMORY_SITE(dset8, "cuMemsetD8", "set", DCHECK(d_cuMemsetD8(at, 1, bytes)))
MEMORY_SITE(dset16, "cuMemsetD16", "set", DCHECK(d_cuMemsetD16(at, 1, bytes / 2)))
MEMORY_SITE(dset32, "cuMemsetD32", "set", DCHECK(d_cuMemsetD32(at, 1, bytes / 4)))
MEMORY_SITE(dset8_async, "cuMemsetD8Async", "set",
	    DCHECK(d_cuMemsetD8Async(at, 1, bytes, stream)))
MEMORY_SITE(dset16_async, "cuMemsetD16Async", "set",
	    DCHECK(d_cuMemsetD16Async(at, 1, bytes / 2, stream)))
MEMORY_SITE(dset32_async, "cuMemsetD32Async", "set",
	    DCHECK(d_cuMemsetD32Async(at, 1, bytes / 4, stream)))

MEMORY_SITE(peer, "cudaMemcpyPeer", "PtoP",
	    CHECK(cudaMemcpyPeer(device2, peer, device, 0, bytes)))
MEMORY_SITE(peer_async, "cudaMemcpyPeerAsync", "PtoP",
	    CHECK(cudaMemcpyPeerAsync(device2, peer, device, 0, bytes, stream)))
MEMORY_SITE(dpeer, "cuMemcpyPeer", "PtoP",
	    DCHECK(d_cuMemcpyPeer((CUdeviceptr)device2, peer_context, at, context, bytes)))
MEMORY_SITE(dpeer_async, "cuMemcpyPeerAsync", "PtoP",
	    DCHECK(d_cuMemcpyPeerAsync((CUdeviceptr)device2, peer_context, at, context, bytes,
				       stream)))

#define SITES(X)								\
	X(chevron) X(runtime) X(runtime_pt) X(exc) X(exc_pt) X(coop) X(coop_pt)	\
	X(driver) X(driver_pt) X(ex) X(ex_pt) X(dcoop) X(dcoop_pt)		\
	X(graph) X(graph_pt) X(dgraph) X(dgraph_pt)				\
	X(h2d) X(d2h) X(d2d) X(default) X(h2d_async) X(d2h_async) X(d2d_async)	\
	X(copy_pt) X(async_pt) X(set) X(set_async) X(set_pt) X(set_async_pt)	\
	X(dcopy) X(dcopy_async) X(dh2d) X(dd2h) X(dd2d)				\
	X(dh2d_async) X(dd2h_async) X(dd2d_async) X(dh2d_pt) X(dh2d_async_pt)	\
	X(dset8) X(dset16) X(dset32) X(dset8_async) X(dset16_async) X(dset32_async)

#define PEER_SITES(X)	X(peer) X(peer_async) X(dpeer) X(dpeer_async)

#define CALL_SITE(name)	site_##name();

static void prepare(void)
{
	size_t bytes = 2 * HALF;
	int nr_devices;

	CHECK(cudaGetDeviceCount(&nr_devices));
	peer = nr_devices > 1 && peer >= 0;
	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	CHECK(cudaMalloc((void **)&device, bytes));
	CHECK(cudaMallocHost((void **)&pinned, bytes));
	pageable = (char *)calloc(1, bytes);
	find_all();
	DCHECK(d_cuCtxGetCurrent(&context));
	CHECK(cudaSetDevice(peer));
	CHECK(cudaMalloc((void **)&device2, bytes));
	DCHECK(d_cuCtxGetCurrent(&peer_context));
	CHECK(cudaSetDevice(0));
	prepare_graph();
	prepare_graph_pt();
	prepare_dgraph();
	prepare_dgraph_pt();
}

int main(int argc, char **argv)
{
	int opt;

	while ((opt = getopt(argc, argv, "n:dz")) != -1) {
		switch (opt) {
		case 'n':
			nr_rounds = atoi(optarg);
			break;
		case 'd':
			peer = -1;
			break;
		case 'z':
			no_bytes = true;
			break;
		default:
			fputs("usage: apis [-n ROUNDS] [-d] [-z]\n", stderr);
			return 2;
		}
	}
	prepare();
	for (int i = 0; i < nr_rounds; i++) {
		say = !i;
		SITES(CALL_SITE)
		if (peer > 0) {
			PEER_SITES(CALL_SITE)
		}
	}
	CHECK(cudaGetLastError());
	CHECK(cudaDeviceSynchronize());
	return 0;
}
