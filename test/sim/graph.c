// SPDX-License-Identifier: MIT
/*
 * graph.c - graphs and stream capture of libcuda.so.1
 *
 * A node holds its work as a template, and a launch submits copies of the templates. An executable
 * graph owns a clone of its graph. The clone's nodes have their own IDs and are sorted by
 * dependencies. A child graph is cloned into its node; when the node runs, the child graph's nodes
 * run one by one.
 *
 * A capturing stream has a branch: its capture, and the nodes that the stream's next node will
 * depend on. An event recorded in a capture has a branch, too, and a stream that waits for the
 * event joins the capture.
 */
#include <stdlib.h>
#include <string.h>

#include "call.h"

struct CUgraphNode_st {
	uint32_t magic;
	uint32_t index;			/* in graph->nodes */
	uint64_t id;			/* a CUPTI ID */
	struct CUgraph_st *graph;
	struct CUgraphNode_st *original;	/* the node that this node is a clone of */
	CUgraphNodeType type;
	struct work *work;		/* template, owned; NULL for an empty node */
	struct CUgraph_st *child;	/* owned graph of a child graph node */
	uint32_t place;			/* index in the graph before it was sorted */
	uint32_t last_step;		/* for nodes of executable graphs: see struct
					 * CUgraphExec_st */
	struct CUgraphNode_st **deps;
	size_t nr_deps;
};

struct CUgraph_st {
	uint32_t magic;
	uint32_t id;			/* a CUPTI ID */
	uint32_t next_node;
	struct CUgraphNode_st **nodes;
	size_t nr_nodes;
	size_t size;
};

struct CUgraphExec_st {
	uint32_t magic;
	struct CUgraph_st *graph;	/* owned clone; its nodes are in submission order */
	struct CUgraph_st *hidden;	/* owned; a second graph with an ID, which CUPTI also
					 * reports */
	struct CUgraphNode_st **steps;	/* all nodes; the nodes of a child graph come after the
					 * node that owns the child graph */
	size_t nr_steps;
	uint32_t *first_dep;		/* by step, as work__submit_graph() expects them */
	uint32_t *deps;
};

struct capture {
	unsigned int nr_refs;		/* number of branches; the registry lock guards all
					 * members */
	uint64_t id;
	struct CUgraph_st *graph;	/* NULL once the capture has ended */
	struct CUstream_st *origin;
};

struct branch {
	struct capture *capture;
	struct CUgraphNode_st **nodes;
	size_t nr_nodes;
	struct CUstream_st *stream;	/* the stream of the branch; NULL: the branch belongs to an
					 * event */
	struct branch *next;		/* next branch in the list of streams' branches */
};

static struct branch *stream_branches;
static uint32_t last_graph_id;
static uint64_t last_capture_id;

static void fire(uint32_t cbid, CUpti_GraphData data)
{
	tool__resource(cbid, ctx__current(), NULL, &data);
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static struct CUgraph_st *graph__new(void)
{
	struct CUgraph_st *graph = calloc(1, sizeof(*graph));

	if (!graph)
		return NULL;
	graph->magic = SIM_MAGIC_GRAPH;
	graph->id = __atomic_add_fetch(&last_graph_id, 1, __ATOMIC_RELAXED);
	return graph;
}

static void graph__free(struct CUgraph_st *graph);

static void node__free(struct CUgraphNode_st *node)
{
	node->magic = 0;
	work__free(node->work);
	graph__free(node->child);
	free(node->deps);
	free(node);
}

static void graph__free(struct CUgraph_st *graph)
{
	if (!graph)
		return;
	for (size_t i = 0; i < graph->nr_nodes; i++)
		node__free(graph->nodes[i]);
	free(graph->nodes);
	graph->magic = 0;
	free(graph);
}

/* Adds a node. On success, the graph owns @work. The caller holds the registry lock. */
static struct CUgraphNode_st *graph__add(struct CUgraph_st *graph, CUgraphNodeType type,
					 struct CUgraphNode_st *const *deps, size_t nr_deps,
					 struct work *work)
{
	struct CUgraphNode_st *node;

	if (graph->nr_nodes == graph->size) {
		size_t size = graph->size ? graph->size * 2 : 16;
		struct CUgraphNode_st **nodes = reallocarray(graph->nodes, size, sizeof(*nodes));

		if (!nodes)
			return NULL;
		graph->nodes = nodes;
		graph->size = size;
	}
	node = calloc(1, sizeof(*node));
	if (!node)
		return NULL;
	if (nr_deps) {
		node->deps = calloc(nr_deps, sizeof(*node->deps));
		if (!node->deps) {
			free(node);
			return NULL;
		}
		memcpy(node->deps, deps, nr_deps * sizeof(*deps));
		node->nr_deps = nr_deps;
	}
	node->magic = SIM_MAGIC_NODE;
	node->id = (uint64_t)graph->id << 32 | graph->next_node++;
	node->graph = graph;
	node->type = type;
	node->work = work;
	node->index = (uint32_t)graph->nr_nodes;
	node->place = node->index;
	graph->nodes[graph->nr_nodes++] = node;
	return node;
}

static CUgraphNodeType node_type(const struct work *work)
{
	switch (work->act.kind) {
	case SIM_KERNEL:
		return CU_GRAPH_NODE_TYPE_KERNEL;
	case SIM_MEMCPY:
		return CU_GRAPH_NODE_TYPE_MEMCPY;
	case SIM_MEMSET:
		return CU_GRAPH_NODE_TYPE_MEMSET;
	case SIM_HOST:
		return CU_GRAPH_NODE_TYPE_HOST;
	}
	return CU_GRAPH_NODE_TYPE_EMPTY;
}

static void node__announce_deps(struct CUgraphNode_st *node)
{
	for (size_t i = 0; i < node->nr_deps; i++)
		fire(CUPTI_CBID_RESOURCE_GRAPHNODE_DEPENDENCY_CREATED, (CUpti_GraphData){
			.graph = node->graph,
			.node = node,
			.nodeType = node->type,
			.dependency = node->deps[i],
		});
}

static void graph__announce_start(struct CUgraph_st *graph, CUgraphNodeType type)
{
	fire(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATE_STARTING, (CUpti_GraphData){
		.graph = graph,
		.nodeType = type,
	});
}

static void node__announce_end(struct CUgraphNode_st *node)
{
	fire(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, (CUpti_GraphData){
		.graph = node->graph,
		.node = node,
		.nodeType = node->type,
	});
}

static void node__announce(struct CUgraphNode_st *node)
{
	graph__announce_start(node->graph, node->type);
	node__announce_deps(node);
	node__announce_end(node);
}

static void graph__announce_destroy(struct CUgraph_st *graph)
{
	fire(CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING, (CUpti_GraphData){ .graph = graph });
}

static void graph__announce_destroy_nodes(struct CUgraph_st *graph)
{
	for (size_t i = 0; i < graph->nr_nodes; i++)
		fire(CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING, (CUpti_GraphData){
			.graph = graph,
			.node = graph->nodes[i],
			.nodeType = graph->nodes[i]->type,
		});
}

static struct work *work__copy(const struct work *work)
{
	struct work *copy = work ? malloc(sizeof(*copy)) : NULL;

	if (copy)
		*copy = *work;
	return copy;
}

/* Clones a graph. The clone's nodes keep the order and the numbers of the originals. */
static struct CUgraph_st *graph__clone(const struct CUgraph_st *graph)
{
	struct CUgraph_st *clone = graph__new();

	if (!clone)
		return NULL;
	registry__lock();
	for (size_t i = 0; i < graph->nr_nodes; i++) {
		struct CUgraphNode_st *from = graph->nodes[i];
		struct work *work = work__copy(from->work);
		struct CUgraphNode_st *to;

		to = graph__add(clone, from->type, from->deps, from->nr_deps, work);
		if (!to || (from->work && !work)) {
			registry__unlock();
			work__free(to ? NULL : work);
			graph__free(clone);
			return NULL;
		}
		to->original = from;
	}
	for (size_t i = 0; i < clone->nr_nodes; i++)
		for (size_t d = 0; d < clone->nodes[i]->nr_deps; d++)
			clone->nodes[i]->deps[d] = clone->nodes[clone->nodes[i]->deps[d]->index];
	registry__unlock();
	for (size_t i = 0; i < clone->nr_nodes; i++) {
		const struct CUgraph_st *child = clone->nodes[i]->original->child;

		if (child && !(clone->nodes[i]->child = graph__clone(child))) {
			graph__free(clone);
			return NULL;
		}
	}
	return clone;
}

/* Reports a clone as CUPTI does: each node is first created with its own ID, and then cloned. */
static void graph__announce_clone(struct CUgraph_st *clone, CUgraph original)
{
	fire(CUPTI_CBID_RESOURCE_GRAPH_CREATED, (CUpti_GraphData){ .graph = clone });
	for (size_t i = 0; i < clone->nr_nodes; i++) {
		struct CUgraphNode_st *node = clone->nodes[i];

		graph__announce_start(clone, node->type);
		node__announce_end(node);
		fire(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, (CUpti_GraphData){
			.graph = clone,
			.originalGraph = original,
			.node = node,
			.originalNode = node->original,
			.nodeType = node->type,
		});
		if (node->child)
			graph__announce_clone(node->child, node->original->child);
	}
	for (size_t i = 0; i < clone->nr_nodes; i++)
		node__announce_deps(clone->nodes[i]);
}

bool graph__id(CUgraph graph, uint32_t *id)
{
	if (!graph || graph->magic != SIM_MAGIC_GRAPH)
		return false;
	*id = graph->id;
	return true;
}

bool graph_exec__id(CUgraphExec exec, uint32_t *id)
{
	if (!exec || exec->magic != SIM_MAGIC_EXEC)
		return false;
	*id = exec->graph->id;
	return true;
}

bool graph_node__id(CUgraphNode node, uint64_t *id)
{
	if (!node || node->magic != SIM_MAGIC_NODE)
		return false;
	*id = node->id;
	return true;
}

static CUresult graph_create(CUgraph *out)
{
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	*out = graph__new();
	if (!*out)
		return CUDA_ERROR_OUT_OF_MEMORY;
	fire(CUPTI_CBID_RESOURCE_GRAPH_CREATED, (CUpti_GraphData){ .graph = *out });
	return CUDA_SUCCESS;
}

static CUresult graph_destroy(CUgraph graph)
{
	if (!graph || graph->magic != SIM_MAGIC_GRAPH)
		return CUDA_ERROR_INVALID_VALUE;
	graph__announce_destroy(graph);
	graph__announce_destroy_nodes(graph);
	graph__free(graph);
	return CUDA_SUCCESS;
}

static CUresult graph_clone(CUgraph *out, CUgraph graph)
{
	if (!out || !graph || graph->magic != SIM_MAGIC_GRAPH)
		return CUDA_ERROR_INVALID_VALUE;
	*out = graph__clone(graph);
	if (!*out)
		return CUDA_ERROR_OUT_OF_MEMORY;
	graph__announce_clone(*out, graph);
	return CUDA_SUCCESS;
}

static CUresult graph_nodes(CUgraph graph, CUgraphNode *nodes, size_t *nr)
{
	if (!graph || graph->magic != SIM_MAGIC_GRAPH || !nr)
		return CUDA_ERROR_INVALID_VALUE;
	if (nodes) {
		if (*nr > graph->nr_nodes)
			*nr = graph->nr_nodes;
		memcpy(nodes, graph->nodes, *nr * sizeof(*nodes));
	} else {
		*nr = graph->nr_nodes;
	}
	return CUDA_SUCCESS;
}

/* Adds a node, which takes ownership of @work. */
static CUresult graph_add(CUgraphNode *out, CUgraph graph, const CUgraphNode *deps, size_t nr_deps,
			  CUgraphNodeType type, struct work *work)
{
	struct CUgraphNode_st *node = NULL;
	CUresult err = CUDA_SUCCESS;

	if (!out || !graph || graph->magic != SIM_MAGIC_GRAPH || (nr_deps && !deps))
		err = CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; !err && i < nr_deps; i++)
		if (!deps[i] || deps[i]->graph != graph)
			err = CUDA_ERROR_INVALID_VALUE;
	if (!err) {
		registry__lock();
		node = graph__add(graph, type, deps, nr_deps, work);
		registry__unlock();
		if (!node)
			err = CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (err) {
		work__free(work);
		return err;
	}
	*out = node;
	node__announce(node);
	return CUDA_SUCCESS;
}

static CUresult graph_add_child(CUgraphNode *out, CUgraph graph, const CUgraphNode *deps,
				size_t nr_deps, CUgraph child)
{
	struct CUgraph_st *clone;
	CUresult err;

	if (!child || child->magic != SIM_MAGIC_GRAPH || child == graph)
		return CUDA_ERROR_INVALID_VALUE;
	clone = graph__clone(child);
	if (!clone)
		return CUDA_ERROR_OUT_OF_MEMORY;
	err = graph_add(out, graph, deps, nr_deps, CU_GRAPH_NODE_TYPE_GRAPH, NULL);
	if (err) {
		graph__free(clone);
		return err;
	}
	(*out)->child = clone;
	graph__announce_clone(clone, child);
	return CUDA_SUCCESS;
}

static struct work *template__new(enum sim_kind kind)
{
	struct CUctx_st *ctx = ctx__current();

	return ctx ? work__new(ctx->legacy, kind) : NULL;
}

static CUresult kernel_template(const CUDA_KERNEL_NODE_PARAMS *p, struct work **out)
{
	CUfunction func;
	struct work *work;

	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	func = p->func ? p->func : (CUfunction)p->kern;
	if (!func || func->magic != SIM_MAGIC_KERNEL)
		return CUDA_ERROR_INVALID_HANDLE;
	work = template__new(SIM_KERNEL);
	if (!work)
		return CUDA_ERROR_INVALID_CONTEXT;
	work->duration_ns = kernel__duration(func, p->kernelParams);
	work->act.name = func->name;
	work->act.told = kernel__told(func);
	work->act.shared_bytes = p->sharedMemBytes;
	work->act.grid[0] = p->gridDimX;
	work->act.grid[1] = p->gridDimY;
	work->act.grid[2] = p->gridDimZ;
	work->act.block[0] = p->blockDimX;
	work->act.block[1] = p->blockDimY;
	work->act.block[2] = p->blockDimZ;
	*out = work;
	return CUDA_SUCCESS;
}

static CUresult graph_add_kernel(CUgraphNode *out, CUgraph graph, const CUgraphNode *deps,
				 size_t nr_deps, const CUDA_KERNEL_NODE_PARAMS *p)
{
	struct work *work;
	CUresult err = kernel_template(p, &work);

	return err ? err : graph_add(out, graph, deps, nr_deps, CU_GRAPH_NODE_TYPE_KERNEL, work);
}

static CUresult graph_add_memcpy(CUgraphNode *out, CUgraph graph, const CUgraphNode *deps,
				 size_t nr_deps, const CUDA_MEMCPY3D *p)
{
	struct work *work;
	bool from_host, to_host;

	if (!p || p->Height > 1 || p->Depth > 1 || p->srcArray || p->dstArray)
		return CUDA_ERROR_NOT_SUPPORTED;
	work = template__new(SIM_MEMCPY);
	if (!work)
		return CUDA_ERROR_INVALID_CONTEXT;
	from_host = p->srcMemoryType == CU_MEMORYTYPE_HOST;
	to_host = p->dstMemoryType == CU_MEMORYTYPE_HOST;
	work->src = (from_host ? (const char *)p->srcHost : (const char *)p->srcDevice) +
		    p->srcXInBytes;
	work->dst = (to_host ? (char *)p->dstHost : (char *)p->dstDevice) + p->dstXInBytes;
	work->duration_ns = copy__duration(p->WidthInBytes);
	work->act.bytes = p->WidthInBytes;
	work->act.src_kind = memory__kind(work->src);
	work->act.dst_kind = memory__kind(work->dst);
	from_host = work->act.src_kind <= CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
	to_host = work->act.dst_kind <= CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
	if (from_host)
		work->act.copy_kind = to_host ? CUPTI_ACTIVITY_MEMCPY_KIND_HTOH :
						CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
	else
		work->act.copy_kind = to_host ? CUPTI_ACTIVITY_MEMCPY_KIND_DTOH :
						CUPTI_ACTIVITY_MEMCPY_KIND_DTOD;
	work->act.is_async = true;
	return graph_add(out, graph, deps, nr_deps, CU_GRAPH_NODE_TYPE_MEMCPY, work);
}

static CUresult graph_add_memset(CUgraphNode *out, CUgraph graph, const CUgraphNode *deps,
				 size_t nr_deps, const CUDA_MEMSET_NODE_PARAMS *p)
{
	struct work *work;

	if (!p || p->height > 1)
		return CUDA_ERROR_NOT_SUPPORTED;
	work = template__new(SIM_MEMSET);
	if (!work)
		return CUDA_ERROR_INVALID_CONTEXT;
	work->dst = (void *)p->dst;
	work->unit = (uint8_t)p->elementSize;
	work->act.bytes = p->width * p->elementSize;
	work->act.value = p->value;
	work->act.src_kind = memory__kind(work->dst);
	work->act.is_async = true;
	work->duration_ns = 1000 + work->act.bytes / 1000;
	return graph_add(out, graph, deps, nr_deps, CU_GRAPH_NODE_TYPE_MEMSET, work);
}

static CUresult graph_add_host(CUgraphNode *out, CUgraph graph, const CUgraphNode *deps,
			       size_t nr_deps, const CUDA_HOST_NODE_PARAMS *p)
{
	struct work *work;

	if (!p || !p->fn)
		return CUDA_ERROR_INVALID_VALUE;
	work = template__new(SIM_HOST);
	if (!work)
		return CUDA_ERROR_INVALID_CONTEXT;
	work->host_fn = p->fn;
	work->host_data = p->userData;
	work->duration_ns = 1000;
	return graph_add(out, graph, deps, nr_deps, CU_GRAPH_NODE_TYPE_HOST, work);
}

#define ADD_PROTO(type)								\
	(CUgraphNode *out, CUgraph graph, const CUgraphNode *deps, size_t nr_deps, const type *p)
#define ADD_CTX_PROTO(type)							\
	(CUgraphNode *out, CUgraph graph, const CUgraphNode *deps, size_t nr_deps,	\
	 const type *p, CUcontext ctx)

DRIVER_API(cuGraphCreate, (CUgraph *graph, unsigned int flags), (graph, flags), NULL,
	   graph_create(graph))
DRIVER_API(cuGraphDestroy, (CUgraph graph), (graph), NULL, graph_destroy(graph))
DRIVER_API(cuGraphClone, (CUgraph *clone, CUgraph graph), (clone, graph), NULL,
	   graph_clone(clone, graph))
DRIVER_API(cuGraphGetNodes, (CUgraph graph, CUgraphNode *nodes, size_t *nr), (graph, nodes, nr),
	   NULL, graph_nodes(graph, nodes, nr))
DRIVER_API(cuGraphAddKernelNode_v2, ADD_PROTO(CUDA_KERNEL_NODE_PARAMS),
	   (out, graph, deps, nr_deps, p), NULL, graph_add_kernel(out, graph, deps, nr_deps, p))
DRIVER_API(cuGraphAddMemcpyNode, ADD_CTX_PROTO(CUDA_MEMCPY3D),
	   (out, graph, deps, nr_deps, p, ctx), NULL,
	   graph_add_memcpy(out, graph, deps, nr_deps, p))
DRIVER_API(cuGraphAddMemsetNode, ADD_CTX_PROTO(CUDA_MEMSET_NODE_PARAMS),
	   (out, graph, deps, nr_deps, p, ctx), NULL,
	   graph_add_memset(out, graph, deps, nr_deps, p))
DRIVER_API(cuGraphAddHostNode, ADD_PROTO(CUDA_HOST_NODE_PARAMS), (out, graph, deps, nr_deps, p),
	   NULL, graph_add_host(out, graph, deps, nr_deps, p))
DRIVER_API(cuGraphAddChildGraphNode,
	   (CUgraphNode *out, CUgraph graph, const CUgraphNode *deps, size_t nr_deps,
	    CUgraph child),
	   (out, graph, deps, nr_deps, child), NULL,
	   graph_add_child(out, graph, deps, nr_deps, child))
DRIVER_API(cuGraphAddEmptyNode,
	   (CUgraphNode *out, CUgraph graph, const CUgraphNode *deps, size_t nr_deps),
	   (out, graph, deps, nr_deps), NULL,
	   graph_add(out, graph, deps, nr_deps, CU_GRAPH_NODE_TYPE_EMPTY, NULL))

/* Allocates no memory. XPU_SIM_GRAPHS says how much memory graphs claim to have reserved. */
static CUresult graph_add_alloc(CUgraphNode *out, CUgraph graph, const CUgraphNode *deps,
				size_t nr_deps, CUDA_MEM_ALLOC_NODE_PARAMS *p)
{
	static uint64_t next = 0x7000000000;

	if (!p || !p->bytesize)
		return CUDA_ERROR_INVALID_VALUE;
	p->dptr = __atomic_fetch_add(&next, (p->bytesize + 0xffff) & ~(uint64_t)0xffff,
				     __ATOMIC_RELAXED);
	return graph_add(out, graph, deps, nr_deps, CU_GRAPH_NODE_TYPE_EMPTY, NULL);
}

static CUresult graph_memory(CUgraphMem_attribute attribute, void *value)
{
	const char *env = getenv("XPU_SIM_GRAPHS");

	*(cuuint64_t *)value = env && attribute == CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT ?
			       strtoull(env, NULL, 10) : 0;
	return CUDA_SUCCESS;
}

DRIVER_API(cuGraphAddMemAllocNode,
	   (CUgraphNode *out, CUgraph graph, const CUgraphNode *deps, size_t nr_deps,
	    CUDA_MEM_ALLOC_NODE_PARAMS *p),
	   (out, graph, deps, nr_deps, p), NULL, graph_add_alloc(out, graph, deps, nr_deps, p))
DRIVER_API(cuDeviceGetGraphMemAttribute,
	   (CUdevice dev, CUgraphMem_attribute attribute, void *value), (dev, attribute, value),
	   NULL, graph_memory(attribute, value))
DRIVER_API(cuDeviceGraphMemTrim, (CUdevice dev), (dev), NULL, CUDA_SUCCESS)

/* ---- executable graphs ----------------------------------------------------------------------- */

/* Orders the nodes so that each comes after its dependencies. Return: false if there is a cycle. */
static bool graph__sort(struct CUgraph_st *graph)
{
	struct CUgraphNode_st **sorted = calloc(graph->nr_nodes + 1, sizeof(*sorted));
	bool *placed = calloc(graph->nr_nodes + 1, sizeof(*placed));
	size_t nr = 0, before;

	if (!sorted || !placed)
		goto out;
	do {
		before = nr;
		for (size_t i = 0; i < graph->nr_nodes; i++) {
			struct CUgraphNode_st *node = graph->nodes[i];
			bool ready = !placed[node->index];

			for (size_t d = 0; ready && d < node->nr_deps; d++)
				ready = placed[node->deps[d]->index];
			if (!ready)
				continue;
			placed[node->index] = true;
			sorted[nr++] = node;
		}
	} while (nr < graph->nr_nodes && nr > before);
out:
	if (sorted && placed && nr == graph->nr_nodes) {
		for (size_t i = 0; i < nr; i++) {
			graph->nodes[i] = sorted[i];
			graph->nodes[i]->index = (uint32_t)i;
		}
	} else {
		nr = graph->nr_nodes + 1;
	}
	free(sorted);
	free(placed);
	return nr == graph->nr_nodes;
}

static void exec__free(struct CUgraphExec_st *exec)
{
	if (!exec)
		return;
	graph__free(exec->graph);
	graph__free(exec->hidden);
	free(exec->steps);
	free(exec->first_dep);
	free(exec->deps);
	exec->magic = 0;
	free(exec);
}

/* Sorts the graph and its child graphs. Return: the number of its steps; 0 if there is a cycle. */
static size_t graph__count_steps(struct CUgraph_st *graph, size_t *nr_deps)
{
	size_t nr = graph->nr_nodes, more;

	if (!graph__sort(graph))
		return 0;
	for (size_t i = 0; i < graph->nr_nodes; i++) {
		struct CUgraphNode_st *node = graph->nodes[i];

		*nr_deps += node->nr_deps + 1;
		if (node->child && node->child->nr_nodes) {
			more = graph__count_steps(node->child, nr_deps);
			if (!more)
				return 0;
			nr += more;
		}
	}
	return nr;
}

/* @serial: the graph is a child graph, whose nodes run one after the other */
static void exec__add_steps(struct CUgraphExec_st *exec, const struct CUgraph_st *graph,
			    bool serial, uint32_t *pos)
{
	for (size_t i = 0; i < graph->nr_nodes; i++) {
		struct CUgraphNode_st *node = graph->nodes[i];

		if (serial)
			exec->deps[(*pos)++] = (uint32_t)exec->nr_steps - 1;
		for (size_t d = 0; d < node->nr_deps && !serial; d++)
			exec->deps[(*pos)++] = node->deps[d]->last_step;
		exec->steps[exec->nr_steps++] = node;
		exec->first_dep[exec->nr_steps] = *pos;
		if (node->child)
			exec__add_steps(exec, node->child, true, pos);
		node->last_step = (uint32_t)exec->nr_steps - 1;
	}
}

static struct CUgraphExec_st *exec__new(const struct CUgraph_st *graph)
{
	struct CUgraphExec_st *exec = calloc(1, sizeof(*exec));
	size_t nr_steps, nr_deps = 0;
	uint32_t pos = 0;

	if (!exec)
		return NULL;
	exec->magic = SIM_MAGIC_EXEC;
	exec->graph = graph__clone(graph);
	exec->hidden = graph__new();
	if (!exec->graph || !exec->hidden)
		goto fail;
	nr_steps = graph__count_steps(exec->graph, &nr_deps);
	if (!nr_steps && exec->graph->nr_nodes)
		goto fail;
	exec->steps = calloc(nr_steps + 1, sizeof(*exec->steps));
	exec->first_dep = calloc(nr_steps + 1, sizeof(*exec->first_dep));
	exec->deps = calloc(nr_deps + 1, sizeof(*exec->deps));
	if (!exec->steps || !exec->first_dep || !exec->deps)
		goto fail;
	exec__add_steps(exec, exec->graph, false, &pos);
	return exec;
fail:
	exec__free(exec);
	return NULL;
}

static CUresult graph_instantiate(CUgraphExec *out, CUgraph graph)
{
	struct CUgraphExec_st *exec;

	if (!out || !graph || graph->magic != SIM_MAGIC_GRAPH)
		return CUDA_ERROR_INVALID_VALUE;
	exec = exec__new(graph);
	if (!exec)
		return CUDA_ERROR_INVALID_VALUE;
	graph__announce_clone(exec->graph, graph);
	fire(CUPTI_CBID_RESOURCE_GRAPH_CREATED, (CUpti_GraphData){ .graph = exec->hidden });
	for (size_t i = 0; i < exec->graph->nr_nodes; i++)
		graph__announce_start(exec->hidden, exec->graph->nodes[i]->type);
	fire(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATE_STARTING, (CUpti_GraphData){ .graph = graph });
	fire(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED, (CUpti_GraphData){
		.graph = graph,
		.graphExec = exec,
	});
	*out = exec;
	return CUDA_SUCCESS;
}

static CUresult graph_instantiate_with(CUgraphExec *out, CUgraph graph,
				       CUDA_GRAPH_INSTANTIATE_PARAMS *p)
{
	CUresult err = p ? graph_instantiate(out, graph) : CUDA_ERROR_INVALID_VALUE;

	if (p)
		p->result_out = err ? CUDA_GRAPH_INSTANTIATE_ERROR : CUDA_GRAPH_INSTANTIATE_SUCCESS;
	return err;
}

static CUresult graph_exec_destroy(CUgraphExec exec)
{
	if (!exec || exec->magic != SIM_MAGIC_EXEC)
		return CUDA_ERROR_INVALID_VALUE;
	fire(CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING,
	     (CUpti_GraphData){ .graphExec = exec });
	graph__announce_destroy(exec->graph);
	graph__announce_destroy(exec->hidden);
	graph__announce_destroy_nodes(exec->graph);
	exec__free(exec);
	return CUDA_SUCCESS;
}

static CUresult graph_launch(CUgraphExec exec, CUstream handle, bool per_thread)
{
	struct CUstream_st *stream;
	struct work **works;
	size_t nr;
	CUresult err = stream__resolve(handle, per_thread, &stream);

	if (err)
		return err;
	if (!exec || exec->magic != SIM_MAGIC_EXEC)
		return CUDA_ERROR_INVALID_VALUE;
	if (stream__is_capturing(stream))
		return CUDA_ERROR_NOT_SUPPORTED;
	nr = exec->nr_steps;
	works = calloc(nr ? nr : 1, sizeof(*works));
	if (!works)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (size_t i = 0; i < nr; i++) {
		const struct CUgraphNode_st *node = exec->steps[i];
		struct work *work;

		if (!node->work)
			continue;
		work = work__new(stream, node->work->act.kind);
		works[i] = work__copy(node->work);
		if (!work || !works[i]) {
			err = CUDA_ERROR_OUT_OF_MEMORY;
			work__free(work);
			break;
		}
		/*
		 * The stream and the correlation ID come from this launch, all other values from
		 * the node.
		 */
		works[i]->stream = stream;
		works[i]->act.correlation_id = work->act.correlation_id;
		works[i]->act.device = work->act.device;
		works[i]->act.context = work->act.context;
		works[i]->act.stream = work->act.stream;
		works[i]->act.graph = exec->graph->id;
		works[i]->act.graph_node = node->id;
		work__free(work);
		work__reserve(works[i]);
	}
	if (!err)
		err = work__submit_graph(works, nr, exec->first_dep, exec->deps, stream);
	else
		for (size_t i = 0; i < nr; i++)
			if (works[i])
				work__abandon(works[i]);
	free(works);
	return err;
}

static bool node__replace_work(struct CUgraphNode_st *node, const struct work *work)
{
	struct work *copy = work__copy(work);

	if (work && !copy)
		return false;
	work__free(node->work);
	node->work = copy;
	return true;
}

/* Updates an executable graph, whose nodes keep their IDs. A graph of another shape is refused. */
static CUresult graph__update(struct CUgraph_st *to, const struct CUgraph_st *from)
{
	CUresult err;

	if (to->nr_nodes != from->nr_nodes)
		return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
	for (size_t i = 0; i < to->nr_nodes; i++) {
		struct CUgraphNode_st *node = to->nodes[i];
		const struct CUgraphNode_st *new = from->nodes[node->place];

		if (new->type != node->type || new->nr_deps != node->nr_deps)
			return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
		err = node->child ? graph__update(node->child, new->child) : CUDA_SUCCESS;
		if (err)
			return err;
		if (!node__replace_work(node, new->work))
			return CUDA_ERROR_OUT_OF_MEMORY;
	}
	return CUDA_SUCCESS;
}

static CUresult graph_exec_update(CUgraphExec exec, CUgraph graph,
				  CUgraphExecUpdateResultInfo *info)
{
	CUresult err;

	if (!exec || exec->magic != SIM_MAGIC_EXEC || !graph || graph->magic != SIM_MAGIC_GRAPH)
		return CUDA_ERROR_INVALID_VALUE;
	err = graph__update(exec->graph, graph);
	if (info) {
		memset(info, 0, sizeof(*info));
		info->result = err ? CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED :
				     CU_GRAPH_EXEC_UPDATE_SUCCESS;
	}
	return err;
}

static CUresult graph_exec_set_kernel(CUgraphExec exec, CUgraphNode original,
				      const CUDA_KERNEL_NODE_PARAMS *p)
{
	struct work *work;
	CUresult err;

	if (!exec || exec->magic != SIM_MAGIC_EXEC)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < exec->graph->nr_nodes; i++) {
		struct CUgraphNode_st *node = exec->graph->nodes[i];

		if (node->original != original || node->type != CU_GRAPH_NODE_TYPE_KERNEL)
			continue;
		err = kernel_template(p, &work);
		if (err)
			return err;
		work__free(node->work);
		node->work = work;
		return CUDA_SUCCESS;
	}
	return CUDA_ERROR_INVALID_VALUE;
}

static CUresult graph_upload(CUgraphExec exec)
{
	return exec && exec->magic == SIM_MAGIC_EXEC ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

DRIVER_API(cuGraphInstantiateWithFlags,
	   (CUgraphExec *exec, CUgraph graph, unsigned long long flags), (exec, graph, flags), NULL,
	   graph_instantiate(exec, graph))
DRIVER_API_PTSZ(cuGraphInstantiateWithParams,
		(CUgraphExec *exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *p),
		(exec, graph, p), NULL, graph_instantiate_with(exec, graph, p))
DRIVER_API(cuGraphExecUpdate_v2,
	   (CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *info),
	   (exec, graph, info), NULL, graph_exec_update(exec, graph, info))
DRIVER_API(cuGraphExecKernelNodeSetParams_v2,
	   (CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *p),
	   (exec, node, p), NULL, graph_exec_set_kernel(exec, node, p))
DRIVER_API(cuGraphExecDestroy, (CUgraphExec exec), (exec), NULL, graph_exec_destroy(exec))
DRIVER_API_PTSZ(cuGraphLaunch, (CUgraphExec exec, CUstream s), (exec, s), NULL,
		graph_launch(exec, s, per_thread))
DRIVER_API_PTSZ(cuGraphUpload, (CUgraphExec exec, CUstream s), (exec, s), NULL,
		graph_upload(exec))

/* ---- capture --------------------------------------------------------------------------------- */

bool stream__is_capturing(const struct CUstream_st *stream)
{
	return __atomic_load_n(&stream->branch, __ATOMIC_ACQUIRE);
}

/* Drops a reference. The caller holds the registry lock. */
static void branch__put(struct branch *branch)
{
	if (!branch)
		return;
	if (!--branch->capture->nr_refs)
		free(branch->capture);
	free(branch->nodes);
	free(branch);
}

/* Drops a reference; @branch may be NULL. */
void branch__free(struct branch *branch)
{
	registry__lock();
	branch__put(branch);
	registry__unlock();
}

/*
 * Return: a new branch of @capture, at the same nodes as @at. The caller holds the registry lock.
 */
static struct branch *branch__new(struct capture *capture, const struct branch *at)
{
	struct branch *branch = calloc(1, sizeof(*branch));

	if (!branch)
		return NULL;
	if (at && at->nr_nodes) {
		branch->nodes = calloc(at->nr_nodes, sizeof(*branch->nodes));
		if (!branch->nodes) {
			free(branch);
			return NULL;
		}
		memcpy(branch->nodes, at->nodes, at->nr_nodes * sizeof(*at->nodes));
		branch->nr_nodes = at->nr_nodes;
	}
	branch->capture = capture;
	capture->nr_refs++;
	return branch;
}

/* Makes @branch the branch of the stream. The caller holds the registry lock. */
static void branch__attach(struct branch *branch, struct CUstream_st *stream)
{
	branch->stream = stream;
	branch->next = stream_branches;
	stream_branches = branch;
	__atomic_store_n(&stream->branch, branch, __ATOMIC_RELEASE);
}

/**
 * capture__add - adds work as a node to the graph that a stream is capturing into
 * @stream: a capturing stream
 * @work: ownership passes to the graph
 */
CUresult capture__add(struct CUstream_st *stream, struct work *work)
{
	struct CUgraphNode_st *node = NULL;
	struct CUgraphNode_st **nodes = calloc(1, sizeof(*nodes));
	struct branch *branch;

	registry__lock();
	branch = stream->branch;
	if (nodes && branch && branch->capture->graph)
		node = graph__add(branch->capture->graph, node_type(work), branch->nodes,
				  branch->nr_nodes, work);
	if (node) {
		free(branch->nodes);
		nodes[0] = node;
		branch->nodes = nodes;
		branch->nr_nodes = 1;
	}
	registry__unlock();
	if (!node) {
		free(nodes);
		work__free(work);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	node__announce(node);
	return CUDA_SUCCESS;
}

CUresult capture__record_event(struct CUstream_st *stream, struct CUevent_st *event)
{
	CUresult err = CUDA_SUCCESS;
	struct branch *branch = NULL;

	registry__lock();
	if (stream->branch)
		branch = branch__new(stream->branch->capture, stream->branch);
	if (branch) {
		branch__put(event->branch);
		event->branch = branch;
		event->dev = NULL;
	} else {
		err = CUDA_ERROR_OUT_OF_MEMORY;
	}
	registry__unlock();
	return err;
}

CUresult capture__wait_event(struct CUstream_st *stream, struct CUevent_st *event)
{
	CUresult err = CUDA_SUCCESS;
	struct branch *from, *to;

	registry__lock();
	from = event->branch;
	to = stream->branch;
	if (!from || !from->capture->graph) {
		err = CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
	} else if (!to) {
		to = branch__new(from->capture, from);
		if (to)
			branch__attach(to, stream);
		else
			err = CUDA_ERROR_OUT_OF_MEMORY;
	} else if (to->capture != from->capture) {
		err = CUDA_ERROR_STREAM_CAPTURE_MERGE;
	} else if (from->nr_nodes) {
		struct CUgraphNode_st **nodes = reallocarray(
			to->nodes, to->nr_nodes + from->nr_nodes, sizeof(*nodes));

		if (nodes) {
			to->nodes = nodes;
			for (size_t i = 0; i < from->nr_nodes; i++) {
				size_t j = 0;

				while (j < to->nr_nodes && nodes[j] != from->nodes[i])
					j++;
				if (j == to->nr_nodes)
					nodes[to->nr_nodes++] = from->nodes[i];
			}
		} else {
			err = CUDA_ERROR_OUT_OF_MEMORY;
		}
	}
	registry__unlock();
	return err;
}

static CUresult capture_begin(CUstream handle, bool per_thread)
{
	struct CUstream_st *stream;
	struct capture *capture;
	struct branch *branch;
	CUresult err = stream__resolve(handle, per_thread, &stream);

	if (err)
		return err;
	if (stream->is_legacy)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (stream__is_capturing(stream))
		return CUDA_ERROR_ILLEGAL_STATE;
	capture = calloc(1, sizeof(*capture));
	if (!capture)
		return CUDA_ERROR_OUT_OF_MEMORY;
	capture->graph = graph__new();
	capture->id = __atomic_add_fetch(&last_capture_id, 1, __ATOMIC_RELAXED);
	capture->origin = stream;
	if (capture->graph)
		fire(CUPTI_CBID_RESOURCE_GRAPH_CREATED,
		     (CUpti_GraphData){ .graph = capture->graph });
	registry__lock();
	branch = capture->graph ? branch__new(capture, NULL) : NULL;
	if (branch) {
		branch__attach(branch, stream);
	} else {
		graph__free(capture->graph);
		free(capture);
		err = CUDA_ERROR_OUT_OF_MEMORY;
	}
	registry__unlock();
	return err;
}

/*
 * Return: whether all streams of the capture have been joined to its origin stream. The caller
 * holds the registry lock.
 */
static bool capture__is_joined(const struct capture *capture)
{
	const struct branch *origin = capture->origin->branch;
	bool *reached = calloc(capture->graph->nr_nodes + 1, sizeof(*reached));
	bool joined = reached;

	if (!reached)
		return false;
	for (size_t i = 0; i < origin->nr_nodes; i++)
		reached[origin->nodes[i]->index] = true;
	/* A captured node depends only on older nodes. */
	for (size_t i = capture->graph->nr_nodes; i-- > 0;)
		for (size_t d = 0; reached[i] && d < capture->graph->nodes[i]->nr_deps; d++)
			reached[capture->graph->nodes[i]->deps[d]->index] = true;
	for (size_t i = 0; i < capture->graph->nr_nodes; i++)
		joined = joined && reached[i];
	free(reached);
	return joined;
}

static CUresult capture_end(CUstream handle, CUgraph *out, bool per_thread)
{
	struct branch **p = &stream_branches;
	struct CUgraph_st *graph = NULL;
	struct CUstream_st *stream;
	struct capture *capture;
	struct branch *branch;
	CUresult err = stream__resolve(handle, per_thread, &stream);

	if (err)
		return err;
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	*out = NULL;
	registry__lock();
	branch = stream->branch;
	capture = branch ? branch->capture : NULL;
	if (!capture || capture->origin != stream) {
		registry__unlock();
		return capture ? CUDA_ERROR_STREAM_CAPTURE_UNMATCHED : CUDA_ERROR_ILLEGAL_STATE;
	}
	graph = capture->graph;
	if (!capture__is_joined(capture))
		err = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
	capture->graph = NULL;
	capture->nr_refs++;
	while ((branch = *p)) {
		if (branch->capture != capture) {
			p = &branch->next;
			continue;
		}
		*p = branch->next;
		__atomic_store_n(&branch->stream->branch, NULL, __ATOMIC_RELEASE);
		branch__put(branch);
	}
	if (!--capture->nr_refs)
		free(capture);
	registry__unlock();
	if (err)
		graph__free(graph);
	else
		*out = graph;
	return err;
}

static CUresult capture_info(CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id,
			     CUgraph *graph, bool per_thread)
{
	struct CUstream_st *stream;
	CUresult err = stream__resolve(handle, per_thread, &stream);

	if (err)
		return err;
	registry__lock();
	*status = stream->branch ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
	if (stream->branch && id)
		*id = stream->branch->capture->id;
	if (stream->branch && graph)
		*graph = stream->branch->capture->graph;
	registry__unlock();
	return CUDA_SUCCESS;
}

static CUresult capture_info_v3(CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id,
				CUgraph *graph, const CUgraphNode **nodes, size_t *nr_nodes,
				bool per_thread)
{
	/*
	 * The returned nodes would have to stay valid after the unlock. No caller here asks for
	 * nodes.
	 */
	if (nodes)
		*nodes = NULL;
	if (nr_nodes)
		*nr_nodes = 0;
	return capture_info(handle, status, id, graph, per_thread);
}

static CUresult exchange_mode(CUstreamCaptureMode *mode)
{
	static __thread CUstreamCaptureMode current = CU_STREAM_CAPTURE_MODE_GLOBAL;
	CUstreamCaptureMode old = current;

	if (!mode)
		return CUDA_ERROR_INVALID_VALUE;
	current = *mode;
	*mode = old;
	return CUDA_SUCCESS;
}

DRIVER_API_PTSZ(cuStreamBeginCapture_v2, (CUstream s, CUstreamCaptureMode mode), (s, mode), NULL,
		capture_begin(s, per_thread))
DRIVER_API_PTSZ(cuStreamEndCapture, (CUstream s, CUgraph *graph), (s, graph), NULL,
		capture_end(s, graph, per_thread))
DRIVER_API_PTSZ(cuStreamIsCapturing, (CUstream s, CUstreamCaptureStatus *status), (s, status),
		NULL, capture_info(s, status, NULL, NULL, per_thread))
DRIVER_API_PTSZ(cuStreamGetCaptureInfo_v3,
		(CUstream s, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
		 const CUgraphNode **nodes, const CUgraphEdgeData **edges, size_t *nr_nodes),
		(s, status, id, graph, nodes, edges, nr_nodes), NULL,
		capture_info_v3(s, status, id, graph, nodes, nr_nodes, per_thread))
DRIVER_API(cuThreadExchangeStreamCaptureMode, (CUstreamCaptureMode *mode), (mode), NULL,
	   exchange_mode(mode))
