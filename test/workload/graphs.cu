// SPDX-License-Identifier: MIT
/*
 * graphs.cu - graphs made in all possible ways
 *
 *	graphs [-n LAUNCHES] [-w]
 *
 * Makes graphs, says "ready", with -w waits for a line on stdin, and launches each graph LAUNCHES
 * times. Only the function NAME makes a node k_NAME; each graph is launched by its launch_GRAPH.
 * These nodes run for each launch of a graph:
 *
 *	captured	captured_one, captured_two
 *	built		built_one, then built_two
 *	cloned		the nodes of built, by cudaGraphClone
 *	nested		outer, then a child graph of inner_one and inner_two
 *	updated		k_after: cudaGraphExecUpdate has replaced k_before
 *	changed		k_changed, whose time cudaGraphExecKernelNodeSetParams has set to 9 us
 *	again		again_one: captured again for each launch, as some frameworks do,
 *			instantiated before the launch and destroyed after it
 *
 * At the end it prints "graphs: launches N kernels M" on stdout.
 */
#include <string.h>
#include <unistd.h>

#include "kernels.h"

static cudaStream_t stream;
static long nr_launches, nr_kernels;

#define CAPTURED(name)								\
	KERNEL(k_##name)							\
	extern "C" NOINLINE void name(void)					\
	{									\
		LAUNCH(k_##name, stream, 3000);					\
		NO_TAIL_CALL();							\
	}

#define BUILT(name)								\
	KERNEL(k_##name)							\
	extern "C" NOINLINE cudaGraphNode_t name(cudaGraph_t graph, cudaGraphNode_t behind)	\
	{									\
		unsigned long long ns = 5000;					\
		struct cudaKernelNodeParams p = params((const void *)k_##name);	\
		void *args[] = { &ns };						\
		cudaGraphNode_t node;						\
										\
		p.kernelParams = args;						\
		CHECK(cudaGraphAddKernelNode(&node, graph, &behind, behind ? 1 : 0, &p));	\
		NO_TAIL_CALL();							\
		return node;							\
	}

#define LAUNCHER(graph)								\
	extern "C" NOINLINE void launch_##graph(cudaGraphExec_t exec)		\
	{									\
		CHECK(cudaGraphLaunch(exec, stream));				\
		nr_launches++;							\
		NO_TAIL_CALL();							\
	}

static struct cudaKernelNodeParams params(const void *func)
{
	struct cudaKernelNodeParams p = cudaKernelNodeParams();

	p.func = (void *)func;
	p.gridDim = p.blockDim = dim3(1, 1, 1);
	return p;
}

CAPTURED(captured_one)
CAPTURED(captured_two)
CAPTURED(again_one)
BUILT(built_one)
BUILT(built_two)
BUILT(outer)
BUILT(inner_one)
BUILT(inner_two)
BUILT(before)
BUILT(after)
BUILT(changed)

LAUNCHER(captured)
LAUNCHER(built)
LAUNCHER(cloned)
LAUNCHER(nested)
LAUNCHER(updated)
LAUNCHER(changed)
LAUNCHER(again)

static cudaGraph_t graph_new(void)
{
	cudaGraph_t graph;

	CHECK(cudaGraphCreate(&graph, 0));
	return graph;
}

static cudaGraphExec_t instantiate(cudaGraph_t graph)
{
	cudaGraphExec_t exec;

	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	CHECK(cudaGraphDestroy(graph));
	return exec;
}

static cudaGraph_t capture(void (*one)(void), void (*two)(void))
{
	cudaGraph_t graph;

	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	one();
	if (two)
		two();
	CHECK(cudaStreamEndCapture(stream, &graph));
	return graph;
}

static cudaGraphExec_t make_cloned(cudaGraph_t original)
{
	cudaGraph_t clone;

	CHECK(cudaGraphClone(&clone, original));
	return instantiate(clone);
}

static cudaGraphExec_t make_nested(void)
{
	cudaGraph_t graph = graph_new(), child = graph_new();
	cudaGraphNode_t first, node;

	inner_two(child, inner_one(child, NULL));
	first = outer(graph, NULL);
	CHECK(cudaGraphAddChildGraphNode(&node, graph, &first, 1, child));
	CHECK(cudaGraphDestroy(child));
	return instantiate(graph);
}

static cudaGraphExec_t make_updated(void)
{
	cudaGraph_t graph = graph_new(), other = graph_new();
	cudaGraphExecUpdateResultInfo info;
	cudaGraphExec_t exec;

	before(graph, NULL);
	exec = instantiate(graph);
	after(other, NULL);
	CHECK(cudaGraphExecUpdate(exec, other, &info));
	CHECK(cudaGraphDestroy(other));
	return exec;
}

static cudaGraphExec_t make_changed(void)
{
	struct cudaKernelNodeParams p = params((const void *)k_changed);
	cudaGraph_t graph = graph_new();
	unsigned long long ns = 9000;
	void *args[] = { &ns };
	cudaGraphExec_t exec;
	cudaGraphNode_t node;

	node = changed(graph, NULL);
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	p.kernelParams = args;
	CHECK(cudaGraphExecKernelNodeSetParams(exec, node, &p));
	CHECK(cudaGraphDestroy(graph));
	return exec;
}

int main(int argc, char **argv)
{
	cudaGraphExec_t captured, built, cloned, nested, updated, changed_exec, once;
	cudaGraph_t graph;
	bool wait = false;
	long nr = 100;
	int opt;

	while ((opt = getopt(argc, argv, "n:w")) != -1) {
		switch (opt) {
		case 'n':
			nr = strtol(optarg, NULL, 0);
			break;
		case 'w':
			wait = true;
			break;
		default:
			fputs("usage: graphs [-n LAUNCHES] [-w]\n", stderr);
			return 2;
		}
	}
	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	captured = instantiate(capture(captured_one, captured_two));
	graph = graph_new();
	built_two(graph, built_one(graph, NULL));
	cloned = make_cloned(graph);
	built = instantiate(graph);
	nested = make_nested();
	updated = make_updated();
	changed_exec = make_changed();
	puts("ready");
	fflush(stdout);
	if (wait && getchar() == EOF)
		return 1;
	for (long i = 0; i < nr; i++) {
		launch_captured(captured);
		launch_built(built);
		launch_cloned(cloned);
		launch_nested(nested);
		launch_updated(updated);
		launch_changed(changed_exec);
		once = instantiate(capture(again_one, NULL));
		launch_again(once);
		CHECK(cudaStreamSynchronize(stream));
		CHECK(cudaGraphExecDestroy(once));
		nr_kernels += 2 + 2 + 2 + 3 + 1 + 1 + 1;
	}
	CHECK(cudaDeviceSynchronize());
	printf("graphs: launches %ld kernels %ld\n", nr_launches, nr_kernels);
	return 0;
}
