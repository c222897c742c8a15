// SPDX-License-Identifier: MIT
/*
 * strange.cu - CUDA programs of all kinds, for a real GPU; each run is one of them
 *
 * 	strange HOW
 *
 * Prints the number of launches, copies and memsets, "strange: launches N", and its results. Only
 * site_NAME launches kernel_NAME. strange -l lists every HOW.
 */
#include <cuda.h>
#include <cuda_runtime.h>
#include <cooperative_groups.h>
#include <cuda_profiler_api.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE	__attribute__((noinline))
#define NO_TAIL_CALL()	__asm__ volatile("" : : : "memory")

#define CHECK(call)								\
	do {									\
		cudaError_t err_ = (call);					\
		if (err_ != cudaSuccess) {					\
			fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call,	\
				cudaGetErrorString(err_));			\
			exit(1);						\
		}								\
	} while (0)

#define CHECK_DRIVER(call)							\
	do {									\
		CUresult res_ = (call);						\
		const char *name_ = "?";					\
		if (res_ != CUDA_SUCCESS) {					\
			cuGetErrorName(res_, &name_);				\
			fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, name_);	\
			exit(1);						\
		}								\
	} while (0)

static cudaStream_t stream;
static long nr_made;

#define MADE(n)		__atomic_fetch_add(&nr_made, (long)(n), __ATOMIC_RELAXED)

/* Adds 1 to a counter on the device. */
#define KERNEL(name)								\
	extern "C" __global__ void kernel_##name(unsigned int *p)		\
	{									\
		if (p && !threadIdx.x && !blockIdx.x)				\
			atomicAdd(p, 1);					\
	}

#define SITE(name)								\
	KERNEL(name)								\
	extern "C" NOINLINE void site_##name(cudaStream_t s, unsigned int *p)	\
	{									\
		kernel_##name<<<1, 32, 0, s>>>(p);				\
		CHECK(cudaGetLastError());					\
		MADE(1);							\
		NO_TAIL_CALL();							\
	}

SITE(main)
SITE(other)

static unsigned int *counter;		/* the counter's address on the device */

static void start(void)
{
	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	CHECK(cudaMalloc(&counter, sizeof(*counter)));
	CHECK(cudaMemsetAsync(counter, 0, sizeof(*counter), stream));
	MADE(1);
	CHECK(cudaStreamSynchronize(stream));
}

static void say(void)
{
	unsigned int n = 0;

	CHECK(cudaDeviceSynchronize());
	if (counter) {
		CHECK(cudaMemcpy(&n, counter, sizeof(n), cudaMemcpyDeviceToHost));
		MADE(1);
		printf("strange: counted %u\n", n);
	}
	printf("strange: launches %ld\n", nr_made);
	fflush(stdout);
}

/* ---- the ways to launch ---------------------------------------------------------------------- */

KERNEL(rt)
extern "C" NOINLINE void site_rt(void)
{
	cudaLaunchConfig_t config = {};
	cudaLaunchAttribute attr[2] = {};
	void *args[] = { &counter };

	CHECK(cudaLaunchKernel((const void *)kernel_rt, dim3(1), dim3(32), args, 0, stream));
	config.gridDim = dim3(2);
	config.blockDim = dim3(32);
	config.stream = stream;
	config.attrs = attr;
	attr[0].id = cudaLaunchAttributeClusterDimension;
	attr[0].val.clusterDim.x = 2;
	attr[0].val.clusterDim.y = attr[0].val.clusterDim.z = 1;
	attr[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
	attr[1].val.programmaticStreamSerializationAllowed = 1;
	config.numAttrs = 2;
	CHECK(cudaLaunchKernelExC(&config, (const void *)kernel_rt, args));
	CHECK(cudaLaunchCooperativeKernel((const void *)kernel_rt, dim3(2), dim3(32), args, 0,
					  stream));
	MADE(3);
}

static void how_runtime(void)
{
	start();
	for (int i = 0; i < 20; i++)
		site_rt();
	say();
}

static const char ptx[] =
	".version 7.0\n.target sm_70\n.address_size 64\n"
	".visible .entry kernel_ptx(.param .u64 p)\n{\n"
	"  .reg .b32 r;\n  .reg .b64 d;\n"
	"  ld.param.u64 d, [p];\n  cvta.to.global.u64 d, d;\n"
	"  atom.global.add.u32 r, [d], 1;\n  ret;\n}\n";

extern "C" NOINLINE void site_ptx(CUfunction fn, CUstream s, CUdeviceptr p)
{
	void *args[] = { &p };
	size_t bytes = sizeof(p);
	void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, &p, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
			  CU_LAUNCH_PARAM_END };
	CUlaunchConfig config = {};
	CUlaunchAttribute attr = {};

	CHECK_DRIVER(cuLaunchKernel(fn, 1, 1, 1, 1, 1, 1, 0, s, args, NULL));
	CHECK_DRIVER(cuLaunchKernel(fn, 1, 1, 1, 1, 1, 1, 0, s, NULL, extra));
	config.gridDimX = config.gridDimY = config.gridDimZ = 1;
	config.blockDimX = config.blockDimY = config.blockDimZ = 1;
	config.hStream = s;
	config.attrs = &attr;
	config.numAttrs = 1;
	attr.id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
	CHECK_DRIVER(cuLaunchKernelEx(&config, fn, args, NULL));
	CHECK_DRIVER(cuLaunchCooperativeKernel(fn, 1, 1, 1, 1, 1, 1, 0, s, args));
	MADE(4);
}

static unsigned int read_counter(CUdeviceptr p)
{
	unsigned int n = 0;

	CHECK_DRIVER(cuMemcpyDtoH(&n, p, sizeof(n)));
	MADE(1);
	return n;
}

/* Uses only the driver API: modules, libraries and their kernels; several contexts. */
static void how_driver(void)
{
	CUcontext contexts[3];
	CUmodule module;
	CUlibrary library;
	CUkernel kernel;
	CUfunction fn;
	CUdeviceptr p;
	CUdevice dev;

	CHECK_DRIVER(cuInit(0));
	CHECK_DRIVER(cuDeviceGet(&dev, 0));
	for (int i = 0; i < 3; i++) {
#if CUDA_VERSION >= 13000
		CHECK_DRIVER(cuCtxCreate(&contexts[i], NULL, 0, dev));
#else
		CHECK_DRIVER(cuCtxCreate(&contexts[i], 0, dev));
#endif
		CHECK_DRIVER(cuMemAlloc(&p, 4));
		CHECK_DRIVER(cuMemsetD32(p, 0, 1));
		MADE(1);
		CHECK_DRIVER(cuModuleLoadData(&module, ptx));
		CHECK_DRIVER(cuModuleGetFunction(&fn, module, "kernel_ptx"));
		for (int j = 0; j < 10; j++)
			site_ptx(fn, NULL, p);
		CHECK_DRIVER(cuCtxSynchronize());
		printf("strange: context %d counted %u\n", i, read_counter(p));
		CHECK_DRIVER(cuModuleUnload(module));
	}
	CHECK_DRIVER(cuLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
	CHECK_DRIVER(cuLibraryGetKernel(&kernel, library, "kernel_ptx"));
	for (int i = 2; i >= 0; i--) {
		CHECK_DRIVER(cuCtxSetCurrent(contexts[i]));
		CHECK_DRIVER(cuMemAlloc(&p, 4));
		CHECK_DRIVER(cuMemsetD32(p, 0, 1));
		MADE(1);
		site_ptx((CUfunction)kernel, NULL, p);
		CHECK_DRIVER(cuCtxSynchronize());
		printf("strange: library in context %d counted %u\n", i, read_counter(p));
		CHECK_DRIVER(cuCtxDestroy(contexts[i]));
	}
	say();
}

static void how_green(void)
{
	CUdevResourceDesc desc;
	CUdevResource all, part;
	CUgreenCtx green;
	CUcontext context;
	unsigned int nr = 1;
	CUmodule module;
	CUfunction fn;
	CUdeviceptr p;
	CUdevice dev;
	CUstream s;

	CHECK_DRIVER(cuInit(0));
	CHECK_DRIVER(cuDeviceGet(&dev, 0));
	CHECK_DRIVER(cuDeviceGetDevResource(dev, &all, CU_DEV_RESOURCE_TYPE_SM));
	CHECK_DRIVER(cuDevSmResourceSplitByCount(&part, &nr, &all, NULL, 0, 16));
	CHECK_DRIVER(cuDevResourceGenerateDesc(&desc, &part, 1));
	CHECK_DRIVER(cuGreenCtxCreate(&green, desc, dev, CU_GREEN_CTX_DEFAULT_STREAM));
	CHECK_DRIVER(cuCtxFromGreenCtx(&context, green));
	CHECK_DRIVER(cuCtxSetCurrent(context));
	CHECK_DRIVER(cuGreenCtxStreamCreate(&s, green, CU_STREAM_NON_BLOCKING, 0));
	CHECK_DRIVER(cuMemAlloc(&p, 4));
	CHECK_DRIVER(cuMemsetD32(p, 0, 1));
	MADE(1);
	CHECK_DRIVER(cuModuleLoadData(&module, ptx));
	CHECK_DRIVER(cuModuleGetFunction(&fn, module, "kernel_ptx"));
	for (int i = 0; i < 10; i++)
		site_ptx(fn, s, p);
	CHECK_DRIVER(cuStreamSynchronize(s));
	printf("strange: green context counted %u\n", read_counter(p));
	say();
}

/* ---- work that is not a kernel --------------------------------------------------------------- */

static void on_host(void *arg)
{
	__atomic_fetch_add((int *)arg, 1, __ATOMIC_RELAXED);
}

static void on_stream(cudaStream_t s, cudaError_t err, void *arg)
{
	(void)s;
	(void)err;
	on_host(arg);
}

static void how_hostfunc(void)
{
	int nr = 0;

	start();
	for (int i = 0; i < 50; i++) {
		site_main(stream, counter);
		CHECK(cudaLaunchHostFunc(stream, on_host, &nr));
		site_other(stream, counter);
		CHECK(cudaStreamAddCallback(stream, on_stream, &nr, 0));
	}
	CHECK(cudaStreamSynchronize(stream));
	printf("strange: host functions %d\n", nr);
	say();
}

static void how_memory(void)
{
	unsigned int *managed;
	void *p;

	start();
	CHECK(cudaMallocManaged(&managed, 64 << 20));
	for (int i = 0; i < 20; i++) {
		managed[0] = 0;
		CHECK(cudaMallocAsync(&p, 1 << 20, stream));
		CHECK(cudaMemsetAsync(p, 1, 1 << 20, stream));
		site_main(stream, managed);
		CHECK(cudaFreeAsync(p, stream));
		CHECK(cudaStreamSynchronize(stream));
		MADE(1);
	}
#if CUDART_VERSION >= 13000
	cudaMemLocation where = { cudaMemLocationTypeDevice, 0 };

	CHECK(cudaMemPrefetchAsync(managed, 64 << 20, where, 0, stream));
#else
	CHECK(cudaMemPrefetchAsync(managed, 64 << 20, 0, stream));
#endif
	site_other(stream, managed);
	CHECK(cudaStreamSynchronize(stream));
	printf("strange: managed %u\n", managed[0]);
	say();
}

__device__ unsigned int symbol[1024];

static void how_copies(void)
{
	const size_t width = 1024, height = 64;
	cudaExtent extent = { width, height, 4 };
	cudaMemcpy3DParms parms = {};
	cudaChannelFormatDesc format = cudaCreateChannelDesc<unsigned int>();
	cudaPitchedPtr cube;
	cudaArray_t array;
	size_t pitch;
	char *host, *dev, *pinned;

	start();
	host = (char *)calloc(1, width * height * 4);
	CHECK(cudaMallocHost(&pinned, width * height * 4));
	CHECK(cudaMallocPitch(&dev, &pitch, width, height));
	CHECK(cudaMalloc3D(&cube, extent));
	CHECK(cudaMallocArray(&array, &format, 256, 64));
	for (int i = 0; i < 5; i++) {
		CHECK(cudaMemcpy2D(dev, pitch, host, width, width, height, cudaMemcpyHostToDevice));
		CHECK(cudaMemcpy2DAsync(pinned, width, dev, pitch, width, height,
					cudaMemcpyDeviceToHost, stream));
		CHECK(cudaMemset2D(dev, pitch, 1, width, height));
		CHECK(cudaMemset2DAsync(dev, pitch, 2, width, height, stream));
		CHECK(cudaMemset3D(cube, 3, extent));
		CHECK(cudaMemset3DAsync(cube, 3, extent, stream));
		parms.srcPtr = make_cudaPitchedPtr(host, width, width, height);
		parms.dstPtr = cube;
		parms.extent = extent;
		parms.kind = cudaMemcpyHostToDevice;
		CHECK(cudaMemcpy3D(&parms));
		parms.srcPtr.ptr = pinned;
		CHECK(cudaMemcpy3DAsync(&parms, stream));
		CHECK(cudaMemcpyToSymbol(symbol, host, sizeof(symbol)));
		CHECK(cudaMemcpyFromSymbol(host, symbol, sizeof(symbol)));
		CHECK(cudaMemcpy2DToArray(array, 0, 0, host, 1024, 1024, 64,
					  cudaMemcpyHostToDevice));
		CHECK(cudaMemcpy2DFromArray(host, 1024, array, 0, 0, 1024, 64,
					    cudaMemcpyDeviceToHost));
		CHECK(cudaMemcpyPeer(dev, 0, cube.ptr, 0, 4096));
		CHECK(cudaMemcpyPeerAsync(dev, 0, cube.ptr, 0, 4096, stream));
		CHECK(cudaMemcpy(dev, cube.ptr, 4096, cudaMemcpyDefault));
		MADE(15);
	}
	CHECK(cudaDeviceSynchronize());
	say();
}

/* Makes copies of 0 bytes, and copies without a device. */
static void how_nothing(void)
{
	char *host = (char *)calloc(2, 65536), *dev, *pinned;

	start();
	CHECK(cudaMalloc(&dev, 65536));
	CHECK(cudaMallocHost(&pinned, 65536));
	CHECK(cudaMemcpy(dev, host, 0, cudaMemcpyHostToDevice));
	CHECK(cudaMemcpyAsync(dev, pinned, 0, cudaMemcpyHostToDevice, stream));
	CHECK(cudaMemset(dev, 0, 0));
	CHECK(cudaMemsetAsync(dev, 0, 0, stream));
	CHECK(cudaStreamSynchronize(stream));	/* the driver did not receive these calls */
	CHECK(cudaMemcpy(host + 65536, host, 65536, cudaMemcpyHostToHost));
	CHECK(cudaMemcpyAsync(pinned, host, 65536, cudaMemcpyHostToHost, stream));
	CHECK(cudaMemcpy(host + 65536, host, 65536, cudaMemcpyDefault));
	CHECK(cudaStreamSynchronize(stream));
	MADE(3);
	say();
}

static void how_batch(void)
{
#if CUDART_VERSION >= 12080
	const size_t nr = 8, bytes = 65536;
	const void *from[nr];
	void *to[nr];
	size_t sizes[nr], which = 0;
	char *pinned, *dev;
	cudaMemcpyAttributes attr = {};

	start();
	CHECK(cudaMallocHost(&pinned, nr * bytes));
	CHECK(cudaMalloc(&dev, nr * bytes));
	for (size_t i = 0; i < nr; i++) {
		from[i] = pinned + i * bytes;
		to[i] = dev + i * bytes;
		sizes[i] = bytes;
	}
	attr.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
	for (int i = 0; i < 10; i++) {
#if CUDART_VERSION >= 13000
		CHECK(cudaMemcpyBatchAsync(to, from, sizes, nr, &attr, &which, 1, stream));
#else
		size_t fail;

		CHECK(cudaMemcpyBatchAsync(to, (void **)from, sizes, nr, &attr, &which, 1, &fail,
					   stream));
#endif
		MADE(1);
	}
	CHECK(cudaStreamSynchronize(stream));
	say();
#else
	start();
	say();
#endif
}

/* Copies and memsets with the driver's own functions. */
static CUdeviceptr here, there;
static char *pinned_host;
static CUarray line1, line2;

static void copy_2d(bool async, bool unaligned)
{
	CUDA_MEMCPY2D c = {};

	c.srcMemoryType = CU_MEMORYTYPE_HOST;
	c.srcHost = pinned_host;
	c.srcPitch = 64;
	c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
	c.dstDevice = here;
	c.dstPitch = 128;
	c.WidthInBytes = 63;
	c.Height = 16;
	CHECK_DRIVER(async ? cuMemcpy2DAsync(&c, stream) :
		     unaligned ? cuMemcpy2DUnaligned(&c) : cuMemcpy2D(&c));
}

static void copy_3d_peer(bool async)
{
	CUDA_MEMCPY3D_PEER c = {};

	c.srcMemoryType = c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
	c.srcDevice = here;
	c.dstDevice = there;
	c.srcPitch = c.dstPitch = 64;
	c.srcHeight = c.dstHeight = 8;
	c.WidthInBytes = 32;
	c.Height = 4;
	c.Depth = 2;
	CHECK_DRIVER(cuCtxGetCurrent(&c.srcContext));
	c.dstContext = c.srcContext;
	CHECK_DRIVER(async ? cuMemcpy3DPeerAsync(&c, stream) : cuMemcpy3DPeer(&c));
}

static void how_driver_copies(void)
{
	CUDA_ARRAY_DESCRIPTOR desc = {};

	start();
	CHECK_DRIVER(cuMemAlloc(&here, 65536));
	CHECK_DRIVER(cuMemAlloc(&there, 65536));
	CHECK_DRIVER(cuMemHostAlloc((void **)&pinned_host, 65536, 0));
	desc.Width = 1024;
	desc.Format = CU_AD_FORMAT_UNSIGNED_INT8;
	desc.NumChannels = 1;
	CHECK_DRIVER(cuArrayCreate(&line1, &desc));
	CHECK_DRIVER(cuArrayCreate(&line2, &desc));
	for (int i = 0; i < 5; i++) {
		CHECK_DRIVER(cuMemcpy(here, (CUdeviceptr)pinned_host, 4096));
		CHECK_DRIVER(cuMemcpyAsync(here, (CUdeviceptr)pinned_host, 4096, stream));
		CHECK_DRIVER(cuMemcpyHtoD(here, pinned_host, 4096));
		CHECK_DRIVER(cuMemcpyDtoH(pinned_host, here, 4096));
		CHECK_DRIVER(cuMemcpyDtoD(here, there, 4096));
		CHECK_DRIVER(cuMemcpyHtoA(line1, 0, pinned_host, 1024));
		CHECK_DRIVER(cuMemcpyAtoH(pinned_host, line1, 0, 1024));
		CHECK_DRIVER(cuMemcpyDtoA(line1, 0, here, 1024));
		CHECK_DRIVER(cuMemcpyAtoD(here, line1, 0, 1024));
		CHECK_DRIVER(cuMemcpyAtoA(line2, 0, line1, 0, 1024));
		CHECK_DRIVER(cuMemcpyHtoAAsync(line1, 0, pinned_host, 1024, stream));
		CHECK_DRIVER(cuMemcpyAtoHAsync(pinned_host, line1, 0, 1024, stream));
		CHECK_DRIVER(cuMemsetD8(here, 1, 4096));
		CHECK_DRIVER(cuMemsetD16Async(here, 1, 2048, stream));
		CHECK_DRIVER(cuMemsetD2D8(here, 64, 1, 32, 32));
		CHECK_DRIVER(cuMemsetD2D32Async(here, 256, 1, 32, 16, stream));
		MADE(16);
		copy_2d(false, false);
		copy_2d(false, true);
		copy_2d(true, false);
		copy_3d_peer(false);
		copy_3d_peer(true);
		MADE(5);
		/* These calls are neither copies nor memsets. */
		CHECK_DRIVER(cuStreamWriteValue32(stream, here, 1, 0));
		CHECK_DRIVER(cuStreamWaitValue32(stream, here, 0, CU_STREAM_WAIT_VALUE_GEQ));
	}
	say();
}

/* Maps and unmaps memory at addresses that the program chooses. */
static void how_virtual_memory(void)
{
	CUmemGenericAllocationHandle handle;
	CUmemAllocationProp prop = {};
	CUmemAccessDesc access = {};
	CUdeviceptr p;
	size_t size;

	start();
	prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
	prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	CHECK_DRIVER(cuMemGetAllocationGranularity(&size, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
	access.location = prop.location;
	access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	for (int i = 0; i < 20; i++) {
		CHECK_DRIVER(cuMemCreate(&handle, size, &prop, 0));
		CHECK_DRIVER(cuMemAddressReserve(&p, size, 0, 0, 0));
		CHECK_DRIVER(cuMemMap(p, size, 0, handle, 0));
		CHECK_DRIVER(cuMemSetAccess(p, size, &access, 1));
		CHECK(cudaMemsetAsync((void *)p, 0, size, stream));
		MADE(1);
		site_main(stream, (unsigned int *)p);
		CHECK(cudaStreamSynchronize(stream));
		CHECK_DRIVER(cuMemUnmap(p, size));
		CHECK_DRIVER(cuMemAddressFree(p, size));
		CHECK_DRIVER(cuMemRelease(handle));
	}
	say();
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static cudaGraph_t capture(void (*fn)(void))
{
	cudaGraph_t graph;
	long before = nr_made;

	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	fn();
	CHECK(cudaStreamEndCapture(stream, &graph));
	nr_made = before;
	return graph;
}

static char *graph_dev, *graph_host;
static int graph_calls;

static void all_kinds(void)
{
	site_main(stream, counter);
	CHECK(cudaMemcpyAsync(graph_dev, graph_host, 4096, cudaMemcpyHostToDevice, stream));
	CHECK(cudaMemsetAsync(graph_dev, 0, 4096, stream));
	CHECK(cudaLaunchHostFunc(stream, on_host, &graph_calls));
	site_other(stream, counter);
}

static void launch(cudaGraph_t graph, int nr, unsigned long long flags, bool upload)
{
	cudaGraphExec_t exec;

	CHECK(cudaGraphInstantiateWithFlags(&exec, graph, flags));
	if (upload)
		CHECK(cudaGraphUpload(exec, stream));
	for (int i = 0; i < nr; i++)
		CHECK(cudaGraphLaunch(exec, stream));
	MADE(nr);
	CHECK(cudaStreamSynchronize(stream));
	CHECK(cudaGraphExecDestroy(exec));
}

static void graph_start(void)
{
	start();
	CHECK(cudaMalloc(&graph_dev, 4096));
	CHECK(cudaMallocHost(&graph_host, 4096));
}

static void how_graph(void)
{
	cudaGraphExecUpdateResultInfo info;
	cudaGraphExec_t exec;
	cudaGraph_t graph;

	graph_start();
	graph = capture(all_kinds);
	launch(graph, 10, 0, false);
	launch(graph, 10, 0, true);
	CHECK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
	for (int i = 0; i < 10; i++) {
		CHECK(cudaGraphExecUpdate(exec, capture(all_kinds), &info));
		CHECK(cudaGraphLaunch(exec, stream));
		MADE(1);
	}
	CHECK(cudaStreamSynchronize(stream));
	printf("strange: host nodes %d\n", graph_calls);
	say();
}

/* Child graphs whose nodes have different kernels. */
#define NODE(name)								\
	KERNEL(name)								\
	static NOINLINE void site_##name(void)					\
	{									\
		kernel_##name<<<1, 32, 0, stream>>>(counter);			\
		NO_TAIL_CALL();							\
	}

NODE(top1) NODE(top2) NODE(a1) NODE(a2) NODE(b1) NODE(b2) NODE(b3) NODE(c1) NODE(c2)

static void sub_a(void)
{
	site_a1();
	site_a2();
}

static void sub_b(void)
{
	site_b1();
	site_b2();
	site_b3();
}

static void sub_c(void)
{
	site_c1();
	site_c2();
}

static void sub_top(void)
{
	site_top1();
	site_top2();
}

/* Return: a graph of the work of @fn, followed by @nr child graphs, one after another. */
static cudaGraph_t with_children(void (*fn)(void), cudaGraph_t *children, int nr)
{
	cudaGraph_t graph = capture(fn);
	cudaGraphNode_t nodes[8], child;
	size_t nr_nodes = 8;

	CHECK(cudaGraphGetNodes(graph, nodes, &nr_nodes));
	child = nodes[nr_nodes - 1];
	for (int i = 0; i < nr; i++) {
		cudaGraphNode_t next;

		CHECK(cudaGraphAddChildGraphNode(&next, graph, &child, 1, children[i]));
		child = next;
	}
	return graph;
}

static void how_child(void)
{
	cudaGraph_t a;

	start();
	a = capture(sub_a);
	launch(with_children(sub_top, &a, 1), 5, 0, false);
	say();
}

static void how_children(void)
{
	cudaGraph_t children[3];

	start();
	children[0] = capture(sub_a);
	children[1] = capture(sub_b);
	children[2] = capture(sub_a);
	launch(with_children(sub_top, children, 3), 5, 0, false);
	say();
}

static void how_deep(void)
{
	cudaGraph_t c, children[2];

	start();
	c = capture(sub_c);
	children[0] = with_children(sub_a, &c, 1);
	children[1] = capture(sub_b);
	launch(with_children(sub_top, children, 2), 5, 0, false);
	say();
}

static void only_host(void)
{
	CHECK(cudaLaunchHostFunc(stream, on_host, &graph_calls));
}

/* Graphs that give a device no work. */
static void how_empty_graph(void)
{
	cudaGraph_t graph;

	graph_start();
	launch(capture(only_host), 10, 0, false);
	CHECK(cudaGraphCreate(&graph, 0));
	launch(graph, 10, 0, false);
	printf("strange: host nodes %d\n", graph_calls);
	say();
}

__global__ void kernel_while(cudaGraphConditionalHandle handle, unsigned int *p)
{
	unsigned int n = atomicAdd(p, 1);

	cudaGraphSetConditional(handle, n % 5 != 4);
}

static NOINLINE void site_while(cudaGraph_t body, cudaGraphConditionalHandle handle)
{
	void *args[] = { &handle, &counter };
	cudaKernelNodeParams params = {};
	cudaGraphNode_t node;

	params.func = (void *)kernel_while;
	params.gridDim = dim3(1);
	params.blockDim = dim3(1);
	params.kernelParams = args;
	CHECK(cudaGraphAddKernelNode(&node, body, NULL, 0, &params));
	NO_TAIL_CALL();
}

static void how_conditional(void)
{
	cudaGraphConditionalHandle handle;
	cudaGraphNodeParams params = { cudaGraphNodeTypeConditional };
	cudaGraphNode_t node;
	cudaGraph_t graph;

	graph_start();
	CHECK(cudaGraphCreate(&graph, 0));
	CHECK(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
	params.conditional.handle = handle;
	params.conditional.type = cudaGraphCondTypeWhile;
	params.conditional.size = 1;
#if CUDART_VERSION >= 13000
	CHECK(cudaGraphAddNode(&node, graph, NULL, NULL, 0, &params));
#else
	CHECK(cudaGraphAddNode(&node, graph, NULL, 0, &params));
#endif
	site_while(params.conditional.phGraph_out[0], handle);
	launch(graph, 4, 0, false);
	say();
}

static cudaStream_t streams[2];
static cudaEvent_t forked, joined;

static void *capture_main(void *arg)
{
	for (int i = 0; i < 5; i++)
		site_other(streams[1], counter);
	return arg;
}

/* Tests a graph that two threads capture. */
static void how_capture(void)
{
	cudaGraph_t graph;
	pthread_t thread;
	long before;

	graph_start();
	for (int i = 0; i < 2; i++)
		CHECK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
	CHECK(cudaEventCreateWithFlags(&forked, cudaEventDisableTiming));
	CHECK(cudaEventCreateWithFlags(&joined, cudaEventDisableTiming));
	before = nr_made;
	CHECK(cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeRelaxed));
	CHECK(cudaEventRecord(forked, streams[0]));
	CHECK(cudaStreamWaitEvent(streams[1], forked, 0));
	pthread_create(&thread, NULL, capture_main, NULL);
	for (int i = 0; i < 5; i++)
		site_main(streams[0], counter);
	pthread_join(thread, NULL);
	CHECK(cudaEventRecord(joined, streams[1]));
	CHECK(cudaStreamWaitEvent(streams[0], joined, 0));
	CHECK(cudaStreamEndCapture(streams[0], &graph));
	nr_made = before;
	launch(graph, 10, 0, false);
	say();
}

/* Captures that fail: a stream that does not join, and a forbidden call. */
static void how_bad_capture(void)
{
	cudaStream_t other;
	cudaEvent_t event;
	cudaGraph_t graph;
	long before;
	void *p;

	start();
	CHECK(cudaStreamCreate(&other));
	CHECK(cudaEventCreate(&event));
	for (int i = 0; i < 10; i++) {
		before = nr_made;
		CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
		site_main(stream, counter);
		CHECK(cudaEventRecord(event, stream));
		CHECK(cudaStreamWaitEvent(other, event, 0));
		site_other(other, counter);
		printf("strange: %s\n", cudaGetErrorString(cudaStreamEndCapture(stream, &graph)));
		cudaGetLastError();
		CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
		site_main(stream, counter);
		nr_made = before;
		printf("strange: %s\n", cudaGetErrorString(cudaMalloc(&p, 64)));
		printf("strange: %s\n", cudaGetErrorString(cudaStreamEndCapture(stream, &graph)));
		cudaGetLastError();
		site_other(stream, counter);
	}
	say();
}

/* Graphs that are destroyed while they run. */
static void how_many_graphs(void)
{
	cudaGraphExec_t exec;
	cudaGraph_t graph, copy;

	graph_start();
	for (int i = 0; i < 300; i++) {
		graph = capture(all_kinds);
		CHECK(cudaGraphClone(&copy, graph));
		CHECK(cudaGraphDestroy(graph));
		CHECK(cudaGraphInstantiateWithFlags(&exec, copy, 0));
		CHECK(cudaGraphLaunch(exec, stream));
		MADE(1);
		CHECK(cudaGraphExecDestroy(exec));
		CHECK(cudaGraphDestroy(copy));
	}
	say();
}

static void *graph_main(void *arg)
{
	cudaStream_t s;

	CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	for (int i = 0; i < 1000; i++)
		CHECK(cudaGraphLaunch((cudaGraphExec_t)arg, s));
	MADE(1000);
	CHECK(cudaStreamSynchronize(s));
	return NULL;
}

static void how_graph_threads(void)
{
	cudaGraphExec_t execs[8];
	pthread_t threads[8];

	start();
	for (int i = 0; i < 8; i++)
		CHECK(cudaGraphInstantiateWithFlags(&execs[i], capture(sub_a), 0));
	for (int i = 0; i < 8; i++)
		pthread_create(&threads[i], NULL, graph_main, execs[i]);
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	say();
}

static void allocate(void)
{
	void *p;

	CHECK(cudaMallocAsync(&p, 1 << 20, stream));
	CHECK(cudaMemsetAsync(p, 0, 1 << 20, stream));
	site_main(stream, (unsigned int *)p);
	CHECK(cudaFreeAsync(p, stream));
}

static void how_memory_nodes(void)
{
	start();
	launch(capture(allocate), 50, 0, false);
	say();
}

KERNEL(dependent)

/* Programmatic dependent launches, in a stream and in a graph. */
static NOINLINE void site_dependent(void)
{
	cudaLaunchConfig_t config = {};
	cudaLaunchAttribute attr = {};
	void *args[] = { &counter };

	config.gridDim = dim3(1);
	config.blockDim = dim3(32);
	config.stream = stream;
	config.attrs = &attr;
	config.numAttrs = 1;
	attr.id = cudaLaunchAttributeProgrammaticStreamSerialization;
	attr.val.programmaticStreamSerializationAllowed = 1;
	for (int i = 0; i < 5; i++)
		CHECK(cudaLaunchKernelExC(&config, (const void *)kernel_dependent, args));
	MADE(5);
}

static void how_dependent(void)
{
	start();
	for (int i = 0; i < 50; i++)
		site_dependent();
	launch(capture(site_dependent), 50, 0, false);
	say();
}

/* ---- launches by the device ------------------------------------------------------------------ */

#ifdef STRANGE_RDC

extern "C" __global__ void kernel_child(unsigned int *p)
{
	atomicAdd(p, 1);
}

extern "C" __global__ void kernel_parent(unsigned int *p)
{
	kernel_child<<<1, 4, 0, cudaStreamFireAndForget>>>(p);
	kernel_child<<<1, 4, 0, cudaStreamTailLaunch>>>(p);
}

static NOINLINE void site_parent(void)
{
	kernel_parent<<<1, 1, 0, stream>>>(counter);
	MADE(1);
	NO_TAIL_CALL();
}

static void how_cdp(void)
{
	start();
	for (int i = 0; i < 10; i++)
		site_parent();
	CHECK(cudaStreamSynchronize(stream));
	say();
}

__device__ cudaGraphExec_t device_exec;

extern "C" __global__ void kernel_scheduler(void)
{
	cudaGraphLaunch(device_exec, cudaStreamGraphFireAndForget);
}

static NOINLINE void site_scheduler(void)
{
	kernel_scheduler<<<1, 1, 0, stream>>>();
}

static void kernels_only(void)
{
	site_main(stream, counter);
	site_other(stream, counter);
}

static void how_device_graph(void)
{
	cudaGraphExec_t exec;

	start();
	CHECK(cudaGraphInstantiateWithFlags(&exec, capture(kernels_only),
					    cudaGraphInstantiateFlagDeviceLaunch));
	CHECK(cudaGraphUpload(exec, stream));
	CHECK(cudaMemcpyToSymbol(device_exec, &exec, sizeof(exec)));
	MADE(1);
	launch(capture(site_scheduler), 5, 0, false);
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaGraphLaunch(exec, stream));
	MADE(1);
	CHECK(cudaStreamSynchronize(stream));
	say();
}

#endif

/* ---- programs -------------------------------------------------------------------------------- */

static void how_reset(void)
{
	start();
	for (int i = 0; i < 100; i++)
		site_main(stream, counter);
	CHECK(cudaStreamSynchronize(stream));
	for (int round = 0; round < 3; round++) {
		CHECK(cudaDeviceReset());
		start();
		for (int i = 0; i < 100; i++)
			site_other(stream, counter);
	}
	say();
}

/* Loads and unloads a library with its own kernel, repeatedly. */
static void how_plugin(void)
{
	unsigned int (*plug)(unsigned int *) = NULL;
	void *handle;

	start();
	for (int i = 0; i < 20; i++) {
		handle = dlopen("./plugin.so", RTLD_NOW);
		if (!handle) {
			fprintf(stderr, "strange: %s\n", dlerror());
			exit(1);
		}
		*(void **)&plug = dlsym(handle, "plug");
		MADE(plug(counter));
		CHECK(cudaDeviceSynchronize());
		dlclose(handle);
	}
	say();
}

static void how_streams(void)
{
	static cudaStream_t many[1000];

	start();
	for (int i = 0; i < 1000; i++)
		CHECK(cudaStreamCreateWithFlags(&many[i], cudaStreamNonBlocking));
	for (int i = 0; i < 5000; i++)
		site_main(many[i * 7 % 1000], counter);
	say();
}

template <class... T> struct list { };
template <class T, int n> struct grow {
	typedef list<typename grow<T, n - 1>::type, typename grow<T, n - 1>::type> type;
};
template <class T> struct grow<T, 0> {
	typedef T type;
};
struct a_type_with_a_name_of_some_length { };

template <class T> __global__ void kernel_long(unsigned int *p)
{
	atomicAdd(p, 1);
}

static NOINLINE void site_long(void)
{
	kernel_long<typename grow<a_type_with_a_name_of_some_length, 8>::type>
		<<<1, 1, 0, stream>>>(counter);
	CHECK(cudaGetLastError());
	MADE(1);
	NO_TAIL_CALL();
}

static void how_longname(void)
{
	start();
	for (int i = 0; i < 10; i++)
		site_long();
	say();
}

static void how_stream_default(void)
{
	start();
	for (int i = 0; i < 20; i++) {
		site_main(0, counter);
		site_other(cudaStreamPerThread, counter);
		site_other(cudaStreamLegacy, counter);
		CHECK(cudaMemset(counter + 0, 0, 4));
		CHECK(cudaMemsetAsync(counter, 0, 4));
		MADE(2);
	}
	say();
}

static void how_fault(void)
{
	start();
	site_main(stream, counter);
	CHECK(cudaStreamSynchronize(stream));
	site_other(stream, (unsigned int *)8);		/* an illegal address */
	printf("strange: launches %ld\n", nr_made);
	fflush(stdout);
	CHECK(cudaStreamSynchronize(stream));
}

/*
 * A context after an error: work that was launched before the error, and calls that the context
 * refuses after it.
 */
__global__ void kernel_trap(void)
{
	asm volatile("trap;");
}

static NOINLINE void site_trap(void)
{
	kernel_trap<<<1, 1, 0, stream>>>();
	MADE(1);
}

static void how_trap(void)
{
	start();
	site_main(stream, counter);
	CHECK(cudaStreamSynchronize(stream));
	site_trap();
	printf("strange: launches %ld\n", nr_made);
	printf("strange: %s\n", cudaGetErrorString(cudaDeviceSynchronize()));
	for (int i = 0; i < 10; i++) {
		kernel_main<<<1, 32, 0, stream>>>(counter);
		printf("strange: %s\n", cudaGetErrorString(cudaGetLastError()));
	}
}

/* cudaProfilerStart() and cudaProfilerStop(), which are meant for other profilers. */
static void how_profiler_calls(void)
{
	start();
	for (int i = 0; i < 5; i++) {
		CHECK(cudaProfilerStop());
		site_main(stream, counter);
		CHECK(cudaStreamSynchronize(stream));
		CHECK(cudaProfilerStart());
		site_other(stream, counter);
		CHECK(cudaStreamSynchronize(stream));
	}
	CHECK(cudaProfilerStop());
	site_main(stream, counter);
	say();
}

static void *raw_main(void *arg)
{
	for (int i = 0; i < 10; i++)
		site_other(stream, counter);
	__atomic_fetch_add((int *)arg, 1, __ATOMIC_RELEASE);
	syscall(SYS_exit, 0);
	return NULL;
}

/* Threads that end with the bare system call. */
static void how_raw_exit(void)
{
	static int nr_done;
	pthread_t thread;

	start();
	for (int i = 0; i < 100; i++)
		pthread_create(&thread, NULL, raw_main, &nr_done);
	while (__atomic_load_n(&nr_done, __ATOMIC_ACQUIRE) < 100)
		usleep(1000);
	usleep(50000);
	say();
}

static void use_cuda(void)
{
	start();
	for (int i = 0; i < 100; i++)
		site_main(stream, counter);
	say();
}

/* Children of a parent that has not used CUDA. */
static void how_fork_first(void)
{
	for (int i = 0; i < 4; i++)
		if (!fork()) {
			use_cuda();
			_exit(0);
		}
	while (wait(NULL) > 0)
		;
}

/* A child of a parent that has used CUDA cannot use CUDA. */
static void how_fork_after(void)
{
	start();
	site_main(stream, counter);
	fflush(stdout);
	if (!fork()) {
		printf("strange: %s\n", cudaGetErrorString(cudaMemset(counter, 0, 4)));
		fflush(stdout);
		_exit(0);
	}
	wait(NULL);
	site_other(stream, counter);
	say();
}

static void end_all(void *arg)
{
	exit(9);
}

/* The program exits in one of CUDA's own threads. */
static void how_callback_exits(void)
{
	start();
	for (int i = 0; i < 100; i++)
		site_main(stream, counter);
	printf("strange: launches %ld\n", nr_made);
	CHECK(cudaLaunchHostFunc(stream, end_all, NULL));
	for (;;)
		pause();
}

static void how_bad_launch(void)
{
	start();
	for (int i = 0; i < 10; i++) {
		kernel_main<<<1, 4096, 0, stream>>>(counter);	/* the launch fails: too many
								 * threads per block */
		printf("strange: %s\n", cudaGetErrorString(cudaGetLastError()));
		site_main(stream, counter);
	}
	say();
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} ways[] = {
		{ "runtime", how_runtime }, { "driver", how_driver }, { "green", how_green },
		{ "hostfunc", how_hostfunc }, { "memory", how_memory }, { "copies", how_copies },
		{ "nothing", how_nothing }, { "batch", how_batch }, { "graph", how_graph },
		{ "child", how_child }, { "children", how_children }, { "deep", how_deep },
		{ "empty_graph", how_empty_graph }, { "conditional", how_conditional },
		{ "capture", how_capture }, { "reset", how_reset }, { "plugin", how_plugin },
		{ "streams", how_streams }, { "longname", how_longname },
		{ "defaults", how_stream_default }, { "fault", how_fault },
		{ "bad_launch", how_bad_launch }, { "driver_copies", how_driver_copies },
		{ "virtual_memory", how_virtual_memory }, { "bad_capture", how_bad_capture },
		{ "many_graphs", how_many_graphs }, { "graph_threads", how_graph_threads },
		{ "memory_nodes", how_memory_nodes }, { "dependent", how_dependent },
		{ "trap", how_trap }, { "profiler_calls", how_profiler_calls },
		{ "raw_exit", how_raw_exit }, { "fork_first", how_fork_first },
		{ "fork_after", how_fork_after }, { "callback_exits", how_callback_exits },
#ifdef STRANGE_RDC
		{ "cdp", how_cdp }, { "device_graph", how_device_graph },
#endif
	};

	for (size_t i = 0; argc == 2 && i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (!strcmp(argv[1], "-l"))
			puts(ways[i].name);
		if (!strcmp(argv[1], ways[i].name)) {
			ways[i].run();
			return 0;
		}
	}
	if (argc == 2 && !strcmp(argv[1], "-l"))
		return 0;
	fprintf(stderr, "usage: strange HOW\n");
	return 2;
}
