// SPDX-License-Identifier: MIT
/*
 * graph.cu - CUDA graphs: where each node was made, and which launch ran it
 *
 *	graph [-n LAUNCHES]
 *
 * Captures a graph with two branches and builds another one node by node. Then it launches each
 * graph LAUNCHES times, with plain launches in between. Each kernel k_NAME was captured or added in
 * the function NAME; each run of it is caused by launch_captured or launch_built.
 *
 * Captured: top, left (three times), right, bottom, a memset and a copy to the host.
 * Built: built_first, built_second.
 */
#include <string.h>
#include <unistd.h>

#include "kernels.h"

#define BYTES	65536

KERNEL(k_top)
KERNEL(k_left)
KERNEL(k_right)
KERNEL(k_bottom)
KERNEL(k_built_first)
KERNEL(k_built_second)
KERNEL(k_plain)

static char *device;
static char *host;

extern "C" NOINLINE void top(cudaStream_t s)
{
	LAUNCH(k_top, s, 4000);
	NO_TAIL_CALL();
}

extern "C" NOINLINE void left(cudaStream_t s)
{
	LAUNCH(k_left, s, 6000);
	NO_TAIL_CALL();
}

extern "C" NOINLINE void right(cudaStream_t s)
{
	LAUNCH(k_right, s, 15000);
	NO_TAIL_CALL();
}

extern "C" NOINLINE void bottom(cudaStream_t s)
{
	LAUNCH(k_bottom, s, 2000);
	NO_TAIL_CALL();
}

extern "C" NOINLINE void plain(cudaStream_t s)
{
	LAUNCH(k_plain, s, 1000);
	NO_TAIL_CALL();
}

extern "C" NOINLINE void clear(cudaStream_t s)
{
	CHECK(cudaMemsetAsync(device, 5, BYTES, s));
	NO_TAIL_CALL();
}

extern "C" NOINLINE void fetch(cudaStream_t s)
{
	CHECK(cudaMemcpyAsync(host, device, BYTES, cudaMemcpyDeviceToHost, s));
	NO_TAIL_CALL();
}

static cudaGraphExec_t capture(cudaStream_t s, cudaStream_t side)
{
	cudaEvent_t fork_event, join_event;
	cudaGraphExec_t exec;
	cudaGraph_t graph;

	CHECK(cudaEventCreateWithFlags(&fork_event, cudaEventDisableTiming));
	CHECK(cudaEventCreateWithFlags(&join_event, cudaEventDisableTiming));
	CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
	top(s);
	clear(s);
	CHECK(cudaEventRecord(fork_event, s));
	CHECK(cudaStreamWaitEvent(side, fork_event, 0));
	for (int i = 0; i < 3; i++)
		left(s);
	right(side);
	CHECK(cudaEventRecord(join_event, side));
	CHECK(cudaStreamWaitEvent(s, join_event, 0));
	bottom(s);
	fetch(s);
	CHECK(cudaStreamEndCapture(s, &graph));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	CHECK(cudaGraphDestroy(graph));
	CHECK(cudaEventDestroy(fork_event));
	CHECK(cudaEventDestroy(join_event));
	return exec;
}

static void kernel_params(struct cudaKernelNodeParams *p, const void *func, void **args)
{
	*p = cudaKernelNodeParams();
	p->func = (void *)func;
	p->gridDim.x = p->gridDim.y = p->gridDim.z = 1;
	p->blockDim.x = p->blockDim.y = p->blockDim.z = 1;
	p->kernelParams = args;
}

extern "C" NOINLINE cudaGraphNode_t built_first(cudaGraph_t graph)
{
	unsigned long long ns = 3000;
	struct cudaKernelNodeParams p;
	void *args[] = { &ns };
	cudaGraphNode_t node;

	kernel_params(&p, (const void *)k_built_first, args);
	CHECK(cudaGraphAddKernelNode(&node, graph, NULL, 0, &p));
	NO_TAIL_CALL();
	return node;
}

extern "C" NOINLINE void built_second(cudaGraph_t graph, cudaGraphNode_t behind)
{
	unsigned long long ns = 5000;
	struct cudaKernelNodeParams p;
	void *args[] = { &ns };
	cudaGraphNode_t node;

	kernel_params(&p, (const void *)k_built_second, args);
	CHECK(cudaGraphAddKernelNode(&node, graph, &behind, 1, &p));
	NO_TAIL_CALL();
}

static cudaGraphExec_t build(void)
{
	cudaGraphExec_t exec;
	cudaGraph_t graph;

	CHECK(cudaGraphCreate(&graph, 0));
	built_second(graph, built_first(graph));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	CHECK(cudaGraphDestroy(graph));
	return exec;
}

extern "C" NOINLINE void launch_captured(cudaGraphExec_t exec, cudaStream_t s)
{
	CHECK(cudaGraphLaunch(exec, s));
	NO_TAIL_CALL();
}

extern "C" NOINLINE void launch_built(cudaGraphExec_t exec, cudaStream_t s)
{
	CHECK(cudaGraphLaunch(exec, s));
	NO_TAIL_CALL();
}

int main(int argc, char **argv)
{
	cudaGraphExec_t captured, built;
	cudaStream_t s, side;
	long nr = 1000;
	int opt;

	while ((opt = getopt(argc, argv, "n:")) != -1) {
		if (opt != 'n') {
			fputs("usage: graph [-n LAUNCHES]\n", stderr);
			return 2;
		}
		nr = strtol(optarg, NULL, 0);
	}
	CHECK(cudaMalloc((void **)&device, BYTES));
	CHECK(cudaMallocHost((void **)&host, BYTES));
	CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
	captured = capture(s, side);
	built = build();
	for (long i = 0; i < nr; i++) {
		launch_captured(captured, s);
		plain(side);
		launch_built(built, s);
	}
	CHECK(cudaGetLastError());
	CHECK(cudaDeviceSynchronize());
	if (nr > 0 && (host[0] != 5 || host[BYTES - 1] != 5)) {
		fputs("graph: the copy did not run\n", stderr);
		return 1;
	}
	CHECK(cudaGraphExecDestroy(captured));
	CHECK(cudaGraphExecDestroy(built));
	CHECK(cudaStreamDestroy(s));
	CHECK(cudaStreamDestroy(side));
	CHECK(cudaFreeHost(host));
	CHECK(cudaFree(device));
	printf("graph: launches %ld kernels %ld copies %ld sets %ld\n", 3 * nr, (6 + 2 + 1) * nr,
	       nr, nr);
	return 0;
}
