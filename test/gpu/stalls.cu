// SPDX-License-Identifier: MIT
/*
 * stalls.cu - kernels that stall for a known reason, each launched by a separate function
 *
 *	stalls [THREADS]	these kernels from THREADS threads
 *	stalls null N		N launches of an empty kernel; prints the mean ns of the last two
 *				thirds of them
 *	stalls short N US	N kernels of US us each, each with its own name; 200 at most
 *	stalls long		a kernel of 20 ms, 100 times; prints the total us
 *	stalls contexts WHAT	a letter for each step: p: kernels in the primary context of a GPU;
 *				c: kernels in a new context; d: destroys the last new context
 *	stalls mix SECONDS	eight threads: kernels, modules that are loaded and unloaded,
 *				graphs; prints the numbers of launches and kernels; SIGINT ends it
 *	stalls cold SECONDS	the same, but captures the graphs before their kernels have run
 *	stalls quit SECONDS	the same, but exits while the threads run
 */
#include <cuda.h>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define CHECK(call)								\
	do {									\
		cudaError_t err_ = (call);					\
		if (err_ != cudaSuccess) {					\
			fprintf(stderr, "stalls: %s: %s\n", #call, cudaGetErrorString(err_)); \
			exit(1);						\
		}								\
	} while (0)

#define NR_WORDS	(64 << 20)

/* Each load waits for the previous load, whose address is far away. */
__global__ void k_global(unsigned int *p, int n)
{
	unsigned int at = (blockIdx.x * blockDim.x + threadIdx.x) * 977u % NR_WORDS;

	for (int i = 0; i < n; i++)
		at = p[at];
	if (at == ~0u)
		p[0] = 1;
}

/* All threads of a warp use one shared memory bank. */
__global__ void k_shared(unsigned int *p, int n)
{
	__shared__ unsigned int s[32 * 32];
	unsigned int sum = 0, at = threadIdx.x % 32 * 32;

	for (int i = threadIdx.x; i < 32 * 32; i += blockDim.x)
		s[i] = i;
	__syncthreads();
	for (int i = 0; i < n; i++) {
		atomicAdd(&s[at + i % 32], 1);
		sum += s[at + (i + 7) % 32];
	}
	if (sum == ~0u)
		p[0] = sum;
}

/* One warp on each scheduler; its instructions wait for each other. */
__global__ void k_chain(unsigned int *p, int n)
{
	float x = threadIdx.x;

	for (int i = 0; i < n; i++) {
#pragma unroll
		for (int k = 0; k < 64; k++)
			x = x * 1.0001f + 0.5f;
	}
	if (x == 1.5f)
		p[0] = 1;
}

/* One warp out of 32 works, and the other warps wait for it. */
__global__ void k_barrier(unsigned int *p, int n)
{
	float x = threadIdx.x;

	for (int i = 0; i < n; i++) {	/* the other warps wait here */
		if (threadIdx.x < 32)
			for (int k = 0; k < 256; k++)
				x = x * 1.0001f + 0.5f;
		__syncthreads();
	}
	if (x == 1.5f)
		p[0] = 1;
}

template <int N> __device__ __forceinline__ float straight(float x, float y)
{
	if constexpr (N > 1)
		return straight<N / 2>(straight<N - N / 2>(x, y), y + N);
	return x * y + N;
}

/* Straight-line code that exceeds the instruction cache, run by one warp. */
__global__ void k_code(unsigned int *p, int n)
{
	float a = threadIdx.x;

#pragma unroll 1
	for (int i = 0; i < n; i++)
		a = straight<16384>(a, i);
	if (a == 1.5f)
		p[0] = 1;
}

__global__ void k_null() {}

static unsigned int *memory;

#define LAUNCH(name, grid, block, n)						\
	static __attribute__((noinline)) void launch_##name(cudaStream_t stream)	\
	{									\
		k_##name<<<grid, block, 0, stream>>>(memory, n);		\
		CHECK(cudaGetLastError());					\
	}

LAUNCH(global, 528, 128, 4000)
LAUNCH(shared, 528, 256, 20000)
LAUNCH(chain, 132, 128, 4000)
LAUNCH(barrier, 132, 1024, 2000)
LAUNCH(code, 132, 32, 100)

static void *run(void *arg)
{
	cudaStream_t stream;

	(void)arg;
	CHECK(cudaStreamCreate(&stream));
	for (int i = 0; i < 20; i++) {
		launch_global(stream);
		launch_shared(stream);
		launch_chain(stream);
		launch_barrier(stream);
		launch_code(stream);
	}
	CHECK(cudaStreamSynchronize(stream));
	return NULL;
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

/* Return: the peak memory of this process, in MB. */
static double megabytes(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss / 1024.;
}

static void null_kernels(int n)
{
	double begin = 0;

	for (int i = 0; i < n; i++) {
		if (i == n / 3)
			begin = now();
		k_null<<<1, 32>>>();
	}
	begin = (now() - begin) * 1e9 / (n - n / 3);
	CHECK(cudaDeviceSynchronize());
	printf("null %.1f %.0f MB\n", begin, megabytes());
}

static void long_kernels(void)
{
	double begin;

	CHECK(cudaMalloc(&memory, NR_WORDS * sizeof(*memory)));
	launch_shared(0);
	CHECK(cudaDeviceSynchronize());
	begin = now();
	for (int i = 0; i < 100; i++)
		launch_shared(0);
	CHECK(cudaDeviceSynchronize());
	printf("long %.1f %.0f MB\n", (now() - begin) * 1e6, megabytes());
}

/* ---- short ----------------------------------------------------------------------------------- */

#define NR_SHORT	200

template <int I> __global__ void short_kernel(long long cycles, unsigned int *p)
{
	long long end = clock64() + cycles;
	unsigned int x = threadIdx.x + I;

	while (clock64() < end)
		x = x * 3 + 1;
	if (x == 12345678)
		*p = x;
}

typedef void (*short_fn)(long long, unsigned int *);

template <int I> struct short_kernels {
	static void fill(short_fn *v)
	{
		v[I] = short_kernel<I>;
		short_kernels<I - 1>::fill(v);
	}
};

template <> struct short_kernels<-1> {
	static void fill(short_fn *) {}
};

/* All SMs are busy from the first kernel to the last. */
static void run_short(int n, double us)
{
	static short_fn v[NR_SHORT];
	int khz;

	short_kernels<NR_SHORT - 1>::fill(v);
	CHECK(cudaMalloc(&memory, sizeof(*memory)));
	CHECK(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, 0));
	for (int i = 0; i < n && i < NR_SHORT; i++)
		v[i]<<<264, 256>>>((long long)(us * khz / 1000), memory);
	CHECK(cudaDeviceSynchronize());
}

/* ---- mix ------------------------------------------------------------------------------------- */

static const char ptx[] =
	".version 7.8\n.target sm_80\n.address_size 64\n"
	".visible .entry loaded(.param .u64 p)\n{\n"
	"	.reg .u64 %a; .reg .u32 %i; .reg .pred %q; .reg .f32 %x;\n"
	"	mov.u32 %i, 0; mov.f32 %x, 0f3F800000;\n"
	"again:\n"
	"	fma.rn.f32 %x, %x, %x, %x; add.u32 %i, %i, 1; setp.lt.u32 %q, %i, 2000; "
	"@%q bra again;\n"
	"	ld.param.u64 %a, [p]; cvta.to.global.u64 %a, %a; st.global.f32 [%a], %x;\n"
	"	ret;\n}\n";

static volatile bool is_over, is_cold;
static unsigned long nr_launches, nr_kernels;

static void count(unsigned long launches, unsigned long kernels)
{
	__atomic_fetch_add(&nr_launches, launches, __ATOMIC_RELAXED);
	__atomic_fetch_add(&nr_kernels, kernels, __ATOMIC_RELAXED);
}

static void *mix_kernels(void *arg)
{
	cudaStream_t stream;

	(void)arg;
	CHECK(cudaStreamCreate(&stream));
	while (!is_over) {
		for (int i = 0; i < 20; i++) {
			k_chain<<<8, 128, 0, stream>>>(memory, 10);
			k_shared<<<8, 256, 0, stream>>>(memory, 20);
			k_null<<<1, 32, 0, stream>>>();
		}
		CHECK(cudaGetLastError());
		CHECK(cudaStreamSynchronize(stream));
		count(60, 60);
	}
	return NULL;
}

static void *mix_modules(void *arg)
{
	void *args[] = { &memory };
	cudaLibrary_t library;
	cudaKernel_t kernel;
	cudaStream_t stream;

	(void)arg;
	CHECK(cudaStreamCreate(&stream));
	while (!is_over) {
		CHECK(cudaLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
		CHECK(cudaLibraryGetKernel(&kernel, library, "loaded"));
		for (int i = 0; i < 10; i++)
			CHECK(cudaLaunchKernel((const void *)kernel, dim3(4), dim3(64), args, 0,
					       stream));
		CHECK(cudaStreamSynchronize(stream));
		CHECK(cudaLibraryUnload(library));
		count(10, 10);
	}
	return NULL;
}

static void *mix_graphs(void *arg)
{
	cudaGraphExec_t exec;
	cudaStream_t stream;
	cudaGraph_t graph;

	(void)arg;
	CHECK(cudaStreamCreate(&stream));
	if (!is_cold) {
		k_barrier<<<4, 256, 0, stream>>>(memory, 5);
		k_null<<<1, 32, 0, stream>>>();
		CHECK(cudaStreamSynchronize(stream));
		count(2, 2);
	}
	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	for (int i = 0; i < 5; i++) {
		k_barrier<<<4, 256, 0, stream>>>(memory, 5);
		k_null<<<1, 32, 0, stream>>>();
	}
	CHECK(cudaStreamEndCapture(stream, &graph));
	count(10, 0);		/* these launches are recorded without kernels */
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	while (!is_over) {
		for (int i = 0; i < 10; i++)
			CHECK(cudaGraphLaunch(exec, stream));
		CHECK(cudaStreamSynchronize(stream));
		count(10, 100);
	}
	return NULL;
}

static void stop(int signal)
{
	(void)signal;
	is_over = true;
}

static void mix(double seconds, bool quit)
{
	void *(*const runs[8])(void *) = {
		mix_kernels, mix_modules, mix_graphs, mix_kernels,
		mix_kernels, mix_modules, mix_graphs, mix_kernels,
	};
	double end = now() + seconds;
	pthread_t threads[8];

	signal(SIGINT, stop);
	CHECK(cudaMalloc(&memory, NR_WORDS * sizeof(*memory)));
	for (int i = 0; i < 8; i++)
		pthread_create(&threads[i], NULL, runs[i], NULL);
	while (!is_over && now() < end)
		usleep(10000);
	if (quit)
		exit(0);
	is_over = true;
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	printf("launches %lu kernels %lu\n", nr_launches, nr_kernels);
}

/* Makes contexts on one GPU, in the order of the letters. */
static void contexts(const char *letters)
{
	CUresult (*create)(CUcontext *, unsigned int, CUdevice);
	CUresult (*destroy)(CUcontext), (*use)(CUcontext);
	void *library = dlopen("libcuda.so.1", RTLD_LAZY);
	CUcontext context = NULL;
	unsigned int *p;
	int nr;

	*(void **)&create = dlsym(library, "cuCtxCreate_v2");
	*(void **)&destroy = dlsym(library, "cuCtxDestroy_v2");
	*(void **)&use = dlsym(library, "cuCtxSetCurrent");
	CHECK(cudaGetDeviceCount(&nr));
	for (; *letters; letters++) {
		if (*letters == 'd') {
			CHECK((cudaError_t)destroy(context));
			continue;
		}
		if (*letters == 'c')
			CHECK((cudaError_t)create(&context, 0, 0));
		else
			CHECK((cudaError_t)use(NULL));
		CHECK(cudaMalloc(&p, NR_WORDS * sizeof(*p)));
		for (int i = 0; i < 200; i++)
			k_chain<<<132, 128>>>(p, 1000);
		CHECK(cudaDeviceSynchronize());
		usleep(400000);
	}
}

int main(int argc, char **argv)
{
	int nr = argc > 1 ? atoi(argv[1]) : 1;
	pthread_t threads[64];
	unsigned int *host;

	if (argc > 2 && !strcmp(argv[1], "null")) {
		null_kernels(atoi(argv[2]));
		return 0;
	}
	if (argc > 3 && !strcmp(argv[1], "short")) {
		run_short(atoi(argv[2]), atof(argv[3]));
		return 0;
	}
	if (argc > 1 && !strcmp(argv[1], "long")) {
		long_kernels();
		return 0;
	}
	if (argc > 2 &&
	    (!strcmp(argv[1], "mix") || !strcmp(argv[1], "cold") || !strcmp(argv[1], "quit"))) {
		is_cold = !strcmp(argv[1], "cold");
		mix(atof(argv[2]), !strcmp(argv[1], "quit"));
		return 0;
	}
	if (argc > 2 && !strcmp(argv[1], "contexts")) {
		contexts(argv[2]);
		return 0;
	}
	CHECK(cudaMalloc(&memory, NR_WORDS * sizeof(*memory)));
	host = (unsigned int *)malloc(NR_WORDS * sizeof(*host));
	for (unsigned int i = 0; i < NR_WORDS; i++)
		host[i] = (i * 2654435761u + 12345u) % NR_WORDS;
	CHECK(cudaMemcpy(memory, host, NR_WORDS * sizeof(*host), cudaMemcpyHostToDevice));
	for (int i = 0; i < nr && i < 64; i++)
		pthread_create(&threads[i], NULL, run, NULL);
	for (int i = 0; i < nr && i < 64; i++)
		pthread_join(threads[i], NULL);
	printf("stalls: over\n");
	return 0;
}
