/* SPDX-License-Identifier: MIT */
/*
 * core.h - inside libcuda.so.1: contexts, streams, device work, instrumented calls
 *
 * Locking: a device's lock guards its heap of work and the times of its streams and contexts. The
 * registry lock (device.c) guards lists and names. A thread holds at most one of these locks, and
 * none while it calls a tool or user code.
 */
#ifndef TEST_SIM_CORE_H
#define TEST_SIM_CORE_H

#include <pthread.h>

#include "sim.h"

#define SIM_MAX_DEVICES		8
#define SIM_MAX_CONTEXTS	16	/* depth of a thread's context stack */

struct device;
struct branch;

enum {	/* kinds of objects; a freed object keeps its memory and loses its magic */
	SIM_MAGIC_CONTEXT	= 0x78746373,
	SIM_MAGIC_STREAM	= 0x72747373,
	SIM_MAGIC_EVENT		= 0x746e7665,
	SIM_MAGIC_KERNEL	= 0x6e72656b,
	SIM_MAGIC_GRAPH		= 0x68707267,
	SIM_MAGIC_NODE		= 0x65646f6e,
	SIM_MAGIC_EXEC		= 0x63657865,
	SIM_MAGIC_MODULE	= 0x646f6d73,
};

struct CUctx_st {
	uint32_t magic;
	uint32_t uid;			/* CUPTI's context id */
	struct device *dev;
	struct CUctx_st *next;
	unsigned int flags;
	int has_module;			/* a kernel was launched, so the context's module was
					 * loaded */
	struct CUstream_st *legacy;	/* the NULL stream */
	uint64_t tail_ns;		/* end of all work so far */
	uint64_t blocking_tail_ns;	/* end of all work in streams that wait for the NULL
					 * stream */
};

struct CUstream_st {
	uint32_t magic;
	uint32_t id;
	struct CUctx_st *ctx;
	struct CUstream_st *next;	/* list of all streams, to check handles */
	unsigned int flags;
	int priority;
	bool is_legacy;
	bool is_users;			/* made by cuStreamCreate; CUPTI gets no callbacks for other
					 * streams */
	uint64_t tail_ns;		/* end of the last work */
	unsigned int nr_pending;
	struct branch *branch;		/* branch of a capture; NULL: the stream is not capturing */
};

struct CUevent_st {
	uint32_t magic;
	unsigned int flags;
	struct device *dev;		/* device where the event was last recorded; NULL: never */
	uint64_t behind_ns;		/* end of the work that the event waits for; 0: none */
	uint64_t time_ns;		/* when the event happens */
	struct branch *branch;		/* owned; the event's place in a capture, or NULL */
};

struct CUfunc_st {
	uint32_t magic;
	int cost_arg;			/* index of the argument that has the kernel's duration;
					 * -1: unknown */
	struct CUfunc_st *next;
	const char *name;
	const char *told;		/* the name that CUPTI got at the handle's first launch: see
					 * kernel__told() */
};

/* One piece of device work. The device's heap owns the work from device__enqueue() to its end. */
struct work {
	struct sim_activity act;
	struct CUstream_st *stream;
	struct work *next;
	uint64_t seq;
	uint64_t duration_ns;
	uint64_t not_before_ns;		/* end of the nodes that a graph node depends on */
	bool in_graph;			/* its start follows not_before_ns, not the stream's tail */
	void *record;			/* the tool's handle for the record, or NULL */
	void *dst;
	const void *src;
	void *staging;			/* owned copy of pageable memory as it was at the call */
	uint8_t unit;			/* element size of a set: 1, 2 or 4 bytes */
	CUhostFn host_fn;
	void *host_data;
};

/* State of a thread. */
struct thread {
	uint32_t correlation_id;	/* ID of the outermost API call; 0 outside of calls */
	uint32_t depth;
	bool in_callback;
	bool is_stuck;			/* the thread keeps its correlation id after a call */
	bool has_destructor;
	void *tool_data;
	struct CUctx_st *contexts[SIM_MAX_CONTEXTS];
	unsigned int nr_contexts;
	struct CUstream_st *per_thread[SIM_MAX_DEVICES];
};

/* device.c */
uint64_t now_ns(void);
struct thread *thread__self(void);
const struct sim_tool *tool(void);
void tool__resource(uint32_t cbid, struct CUctx_st *ctx, struct CUstream_st *stream, void *desc);
void tool__synchronized(uint32_t cbid, struct CUctx_st *ctx, struct CUstream_st *stream);
void count(enum sim_stat stat, uint64_t nr);
void registry__lock(void);
void registry__unlock(void);

CUresult core__init(void);
CUresult core__check(void);

unsigned int devices__nr(void);
struct device *device__get(int ordinal);
int device__ordinal(const struct device *dev);
struct CUctx_st *device__primary_retain(struct device *dev, CUresult *err);
CUresult device__primary_release(struct device *dev);
CUresult device__primary_reset(struct device *dev);
bool device__primary_active(struct device *dev);
void device__wait(struct device *dev, uint64_t time_ns);
bool device__is_done(struct device *dev, uint64_t time_ns);

struct CUctx_st *ctx__new(struct device *dev, unsigned int flags);
CUresult ctx__destroy(struct CUctx_st *ctx);
void ctx__wait(struct CUctx_st *ctx);
CUresult ctx__synchronize(struct CUctx_st *ctx);
void ctx__tell_module(struct CUctx_st *ctx, uint32_t cbid);
struct CUctx_st *ctx__current(void);
bool ctx__is_valid(const struct CUctx_st *ctx);

struct CUstream_st *stream__new(struct CUctx_st *ctx, unsigned int flags, int priority);
CUresult stream__destroy(struct CUstream_st *stream);
CUresult stream__resolve(CUstream handle, bool per_thread, struct CUstream_st **out);
uint64_t stream__tail(struct CUstream_st *stream);
void stream__wait_until(struct CUstream_st *stream, uint64_t time_ns);
CUresult stream__synchronize(struct CUstream_st *stream);

struct work *work__new(struct CUstream_st *stream, enum sim_kind kind);
void work__free(struct work *work);
void work__abandon(struct work *work);
void work__reserve(struct work *work);
CUresult work__submit(struct work *work);
CUresult work__submit_graph(struct work **works, size_t nr, const uint32_t *first_dep,
			    const uint32_t *deps, struct CUstream_st *stream);

const char *kernel__name(const char *name);
const char *kernel__told(struct CUfunc_st *kernel);
uint64_t kernel__duration(const struct CUfunc_st *kernel, void *const *params);
uint64_t copy__duration(size_t bytes);

/* Allocates or frees @bytes of a device's memory. Return: whether so many bytes were free. */
bool memory__take(int device, size_t bytes);
void memory__give(int device, size_t bytes);
/* Return: the bytes that the device's default pool has reserved but does not use */
size_t memory__pool(int device);
void memory__info(int device, size_t *free_bytes, size_t *total);

CUresult memory__alloc(size_t bytes, uint8_t kind, int device, void **out);
CUresult memory__free(void *ptr, uint8_t kind);
bool memory__find(const void *ptr, uint8_t *kind, int *device, void **base, size_t *bytes);
CUresult memory__register(void *ptr, size_t bytes);
CUresult memory__unregister(void *ptr);
uint8_t memory__kind(const void *ptr);

/* graph.c */
bool stream__is_capturing(const struct CUstream_st *stream);
void branch__free(struct branch *branch);
CUresult capture__add(struct CUstream_st *stream, struct work *work);
CUresult capture__record_event(struct CUstream_st *stream, struct CUevent_st *event);
CUresult capture__wait_event(struct CUstream_st *stream, struct CUevent_st *event);
bool graph__id(CUgraph graph, uint32_t *id);
bool graph_exec__id(CUgraphExec exec, uint32_t *id);
bool graph_node__id(CUgraphNode node, uint64_t *id);

/* driver.c */
void call__enter(struct sim_call *call);
void call__exit(struct sim_call *call);

#endif /* TEST_SIM_CORE_H */
