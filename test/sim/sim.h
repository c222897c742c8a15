/* SPDX-License-Identifier: MIT */
/*
 * sim.h - a small simulated CUDA, for machines without a GPU
 *
 * Three libraries with NVIDIA's names and ABI, built against NVIDIA's headers:
 *
 *	libcuda.so.1		device model (device.c), driver API (driver.c), graphs (graph.c)
 *	libcudart.so.N		runtime API and functions that code from nvcc calls (runtime.c)
 *	libcupti.so.N		callbacks (cupti.c) and activity buffers (activity.c)
 *
 * N is SIM_CUDA_MAJOR, 13 unless the compiler gets another number (-DSIM_CUDA_MAJOR=12).
 *
 * These are real: API calls, their nesting and stack frames, correlation IDs, callbacks, streams,
 * events, graphs, waiting, copied and set memory, activity buffers and their owners, threads.
 * Kernels are not real: they have no body. A piece of device work gets its start and end when it is
 * enqueued, from the tail of its stream and a known duration. One thread per device completes the
 * work in order of its ends, once these times have really passed. So a run is cheap (no sleep per
 * kernel) but asynchronous, and streams overtake one another.
 *
 * sim_kernel_cost_arg() names the uint64_t argument that holds a kernel's duration in nanoseconds.
 * Other kernels last XPU_SIM_KERNEL_NS.
 *
 * Environment:
 *	XPU_SIM_DEVICES=N	devices, default 1, at most 8
 *	XPU_SIM_MACHINE=NAME	8 characters of the devices' UUIDs: a process with another NAME
 *				has other devices
 *	XPU_SIM_MEMORY=N	bytes of memory of each device, default 80 GiB
 *	XPU_SIM_REST=N		memory that contexts and other processes use, in bytes, default 0
 *	XPU_SIM_POOL=N		bytes of this memory that the device's default pool has reserved and
 *				does not use, until the device has no other memory; default 0
 *	XPU_SIM_GRAPHS=N	bytes that CUDA reports for graph nodes on each device, default 0
 *	XPU_SIM_KERNEL_NS=N	duration of a kernel of unknown cost, default 4000
 *	XPU_SIM_LAUNCH_MS=N	the launch of a kernel waits N ms before CUPTI decides whether it
 *				records the kernel, as if a queue were full; default 0
 *	XPU_SIM_TRACE=FILE	the ground truth, appended: first "# image PID", then one line per
 *				piece of device work
 *				PID CORRELATION KIND NAME START END DEVICE CONTEXT STREAM NODE
 *				KIND is kernel, memcpy or memset; NAME the kernel's name, or HtoD,
 *				DtoH, DtoD, HtoH, PtoP, or "-"; START and END are in the clock that
 *				activity records use, END 0 if the process ended first; NODE is the
 *				graph node id or 0; CORRELATION is 0 if CUPTI was not in use at the
 *				launch. Written when a device becomes idle, and at exit.
 *	XPU_SIM_STATS=FILE	appended at exit: "PID NAME VALUE" lines, see enum sim_stat
 *	XPU_SIM_STRICT=1	abort(), instead of counting, if a client supplies a dirty buffer
 *				after it promised zeroed buffers, or calls CUPTI in a forked child
 *	XPU_SIM_CUPTI_BUSY=1	another subscriber holds CUPTI: error 39
 *	XPU_SIM_LATE_CALLBACKS=1	threads are sometimes delayed just before a callback
 *	XPU_SIM_CUPTI_VERSION=N	the result of cuptiGetVersion (18, 24, 130000, ...); records have
 *				the sizes of that version. Default: the library's own version
 *	XPU_SIM_DROP=N		every Nth device record is dropped, and counted as CUPTI counts it
 *	XPU_SIM_ZERO_TIMES=N	every Nth device record has start = end = 0
 *	XPU_SIM_FLUSH_US=N	a flush waits N us before it delivers anything
 *	XPU_SIM_NO_MIGRATIONS=N	CUPTI refuses the counters of managed memory with error N; the
 *				devices have no concurrent managed access
 *
 * The callbacks and records of CUPTI 13.0 for a call, their order and their IDs were compared with
 * a real GPU (sim_selftest dump). Known differences: how cudart makes its first context, and the
 * resource callbacks of the second, internal graph of an instantiation. Not compared: child graphs,
 * updates of executable graphs (here the nodes keep their IDs and nothing is reported), and copies
 * between devices, which have their own kind of record whether or not peer access was enabled.
 *
 * Not modeled: kernel bodies, device-side launches, textures, managed memory that migrates on
 * access (see sim_migrate), enabling of peer access, memory that pools keep (cudaMallocAsync
 * allocates at once), IPC, MPS, statically linked libcudart (it needs private export tables), CUPTI
 * beyond callbacks and activity.
 */
#ifndef TEST_SIM_SIM_H
#define TEST_SIM_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cuda.h>
#include <cudaProfiler.h>

#ifndef SIM_CUDA_MAJOR
#define SIM_CUDA_MAJOR	13
#endif

#define SIM_EXPORT	__attribute__((visibility("default")))

#define SIM_ABI		3

/* Counters in libcuda, for tests. */
enum sim_stat {
	SIM_STAT_KERNELS,		/* pieces of device work that were enqueued */
	SIM_STAT_MEMCPYS,
	SIM_STAT_MEMSETS,
	SIM_STAT_RECORDS,		/* activity records written for device work */
	SIM_STAT_DROPPED,		/* records not written: no buffer, or XPU_SIM_DROP */
	SIM_STAT_ORPHANED,		/* records that a forced flush delivered unfinished */
	SIM_STAT_BUFFERS_REQUESTED,
	SIM_STAT_BUFFERS_COMPLETED,
	SIM_STAT_BUFFERS_DIRTY,		/* buffers that should be zeroed and were not */
	SIM_STAT_CUPTI_AFTER_FORK,	/* CUPTI calls in a forked child */
	SIM_STAT_KERNELS_LATE,		/* how often kernel records were enabled after copy
					 * records; on a GPU, this order loses kernels while
					 * threads launch */
	SIM_STAT_NR
};

enum sim_kind {
	SIM_KERNEL,
	SIM_MEMCPY,
	SIM_MEMSET,
	SIM_HOST,			/* a host function, which has no activity record */
};

/* One piece of device work, with the contents of its activity record. */
struct sim_activity {
	enum sim_kind kind;
	uint32_t correlation_id;	/* 0: CUPTI was not in use */
	const char *name;		/* name of a kernel; lives until exit */
	const char *told;		/* the name that CUPTI reports */
	uint64_t queued_ns;		/* CLOCK_MONOTONIC, like the next two members */
	uint64_t start_ns;
	uint64_t end_ns;
	uint32_t device;
	uint32_t context;		/* this and the next members are CUPTI's IDs */
	uint32_t stream;
	uint32_t graph;
	uint64_t graph_node;
	uint64_t bytes;			/* size of a copy or memset */
	uint32_t value;			/* value of a memset */
	uint8_t copy_kind;		/* CUpti_ActivityMemcpyKind */
	uint8_t src_kind;		/* CUpti_ActivityMemoryKind; memset: kind of its target */
	uint8_t dst_kind;
	bool is_async;
	bool is_peer;			/* a copy between devices; its record has the next four
					 * members */
	uint32_t src_device;
	uint32_t dst_device;
	uint32_t src_context;
	uint32_t dst_context;
	bool cooperative;
	uint64_t grid_id;
	uint32_t grid[3];
	uint32_t block[3];
	uint32_t cluster[3];
	uint32_t shared_bytes;
};

/* A migration of managed memory, or a page fault, with the members of CUPTI's record. */
struct sim_migration {
	uint32_t counter;		/* CUpti_ActivityUnifiedMemoryCounterKind */
	uint32_t source, target;	/* devices, or CUPTI_UNIFIED_MEMORY_CPU_DEVICE_ID */
	uint32_t flags;
	uint64_t address, value;
	uint64_t start_ns, end_ns;	/* CLOCK_MONOTONIC; 0: sim_migrate() sets them */
};

/* The resources of a kernel depend on the length of its name, so that tests know the values. */
static inline uint32_t sim_registers(const char *name)
{
	return 16 + 8 * (strlen(name) % 4);
}

static inline uint32_t sim_static_bytes(const char *name)
{
	return 256 * (strlen(name) % 3);
}

static inline uint32_t sim_local_bytes(const char *name)
{
	return 8 * (strlen(name) % 2);
}

#define SIM_NR_CLIENTS	4		/* maximum number of CUPTI clients */

/* One API call in progress; lives on the caller's stack. */
struct sim_call {
	uint32_t domain;		/* CUpti_CallbackDomain */
	uint32_t cbid;
	const char *name;
	const void *params;		/* NVIDIA's struct for this call */
	const char *symbol;		/* kernel name of a launch */
	void *result;			/* CUresult or cudaError_t, set before the exit */
	bool sticks;			/* set by the tool: later calls keep this call's ID */
	uint64_t correlation_data[SIM_NR_CLIENTS];	/* the clients' data, from entry to exit */
	uint64_t start_ns;		/* start of the call's API activity record; 0: it has no
					 * record */
	uint32_t correlation_id;
	bool nested;			/* the call is inside another call, and shares its ID */
	bool live;			/* the call has an ID */
	uint8_t entered;		/* bit mask of the clients that saw the call's entry */
};

/**
 * struct sim_tool - the events that libcupti receives, installed with sim_core.set_tool
 *
 * api_enter, api_exit, resource and synchronized run on the calling thread, with no lock held.
 * migrate runs on the thread that calls sim_migrate. reserve runs on the launching thread before
 * the work is enqueued and returns a handle for its activity record, or NULL. complete runs on the
 * device's thread when the work has ended; abandon runs if the work will never end. thread_exit
 * gets what the thread stored in *tool_data.
 */
struct sim_tool {
	void (*api_enter)(struct sim_call *call);
	void (*api_exit)(struct sim_call *call);
	void (*resource)(uint32_t cbid, CUcontext ctx, CUstream stream, void *descriptor);
	void (*synchronized)(uint32_t cbid, CUcontext ctx, CUstream stream);
	void (*initialized)(void);
	void *(*reserve)(const struct sim_activity *activity);
	void (*complete)(void *record, const struct sim_activity *activity);
	void (*abandon)(void *record);
	void (*migrate)(const struct sim_migration *migration);
	void (*thread_exit)(void *tool_data);
};

/**
 * struct sim_core - the functions that libcuda offers to libcudart and libcupti, through its one
 * private symbol
 *
 * IDs are CUPTI's IDs: small numbers, unique in the process.
 */
struct sim_core {
	uint32_t abi;			/* SIM_ABI */
	uint32_t bytes;			/* sizeof(struct sim_core) */

	/* for API calls; *active is 0 while no tool wants anything */
	const uint32_t *active;
	void (*call_enter)(struct sim_call *call);
	void (*call_exit)(struct sim_call *call);

	/* for libcupti */
	void (*set_tool)(const struct sim_tool *tool, bool active, bool serialize);
	void **(*tool_data)(void);	/* tool data of the calling thread */
	bool (*in_callback)(bool now);	/* sets the calling thread's flag, returns its old
					 * value */
	uint64_t (*now_ns)(void);	/* CLOCK_MONOTONIC */
	void (*set_clock_offset)(int64_t offset_ns);	/* records' clock minus CLOCK_MONOTONIC */
	CUresult (*check)(void);	/* whether API calls are allowed */
	bool (*forked)(void);		/* whether this process was forked from the process that
					 * called cuInit */
	uint32_t (*nr_devices)(void);
	CUcontext (*current)(void);
	bool (*context_id)(CUcontext ctx, uint32_t *id, uint32_t *device);
	bool (*stream_id)(CUcontext ctx, CUstream stream, bool per_thread, uint32_t *id);
	bool (*graph_id)(CUgraph graph, uint32_t *id);
	bool (*graph_exec_id)(CUgraphExec exec, uint32_t *id);
	bool (*graph_node_id)(CUgraphNode node, uint64_t *id);
	void (*count)(enum sim_stat stat, uint64_t nr);

	/* for libcudart */
	void (*kernel_cost_arg)(CUfunction kernel, unsigned int arg);
};

/**
 * sim_core - exported by libcuda.so.1
 * @abi: SIM_ABI of the caller
 *
 * Return: the table, or NULL if libcuda and the caller were not built from the same source.
 */
SIM_EXPORT const struct sim_core *sim_core(uint32_t abi);

/**
 * sim_kernel_cost_arg - names the argument that holds a kernel's duration
 * @func: the kernel's host function, as __cudaRegisterFunction knows it
 * @arg: index of a uint64_t argument, in nanoseconds
 *
 * Exported by libcudart. Programs that also run on a real GPU find it with dlsym().
 */
SIM_EXPORT void sim_kernel_cost_arg(const void *func, unsigned int arg);

/**
 * sim_migrate - makes pages of managed memory migrate now, or makes a page fault
 *
 * Exported by libcuda. Programs that also run on a real GPU find it with dlsym(): there, pages
 * migrate when the host or a kernel touches them.
 */
SIM_EXPORT void sim_migrate(const struct sim_migration *migration);

/**
 * sim_stat - reads a counter
 *
 * Exported by libcuda.
 */
SIM_EXPORT uint64_t sim_stat(enum sim_stat stat);

#endif /* TEST_SIM_SIM_H */
