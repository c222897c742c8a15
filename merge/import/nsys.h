/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * nsys.h - reads Nsight Systems' SQLite export
 *
 *	nsys__open(&n, "report.sqlite", &msgs);
 *	nsys__import(&n, &import);		a recording, for all writers; or
 *	nsys__write_events(&n, f, &opts);	the events of nsys2json
 *	nsys__close(&n);
 *
 * The tables and columns of an export depend on the version and on the traced APIs, so a missing
 * table or column is not an error. The upper bits of globalTid and globalPid (hardware, VM, pid)
 * identify the process; a correlation id is unique only within a process.
 */
#ifndef MERGE_NSYS_H
#define MERGE_NSYS_H

#include <regex.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "import/database.h"
#include "import/epochs.h"
#include "import/import.h"
#include "util.h"

#define NSYS_FRAMES_MAX		4096
#define NSYS_PROC_SHIFT		24	/* globalTid bits: hardware 8, VM 8, pid 24, tid 24 */
#define NSYS_TID(global)	((uint32_t)((global) & 0xffffff))
#define NSYS_PID(proc_id)	((uint32_t)((proc_id) & 0xffffff))

enum nsys_activity {
	NSYS_KERNEL	= 1 << 0,
	NSYS_NVTX	= 1 << 1,
	NSYS_NVTX_KERNEL = 1 << 2,
	NSYS_CUDA_API	= 1 << 3,
};

/* A kernel, copy or memset. */
struct nsys_work {
	uint64_t start_ns, end_ns;
	uint32_t proc;			/* NO_INDEX: unknown */
	uint32_t correlation_id;
	uint32_t device, context, stream;
	uint8_t type;			/* XPU_RECORD_KERNEL, ... */
	uint8_t copy_kind;
	uint8_t migration;		/* XPU_MIGRATION_* of a page migration, which no launch
					 * causes; 0 for other work */
	uint64_t address;		/* address of a migration's first page */
	const char *name;		/* the name as nsys2json shows it */
	const char *full_name;		/* the demangled name with parameters, or NULL */
	uint64_t bytes;
	uint32_t grid[3], block[3];
	uint32_t registers;
	uint64_t shared_bytes;		/* static plus dynamic shared memory */
	uint32_t dynamic_bytes;		/* part of shared_bytes */
	uint32_t cluster[3], local_bytes;	/* 0 if the export lacks them */
	uint32_t graph_id;		/* the graph, if the record is for a whole graph; 0: the
					 * record is for one operation */
	uint64_t graph_node_id;		/* 0: none */
	uint32_t next;			/* the next activity record of the same call */
	uint32_t first_region, nr_regions;	/* the ranges around the kernel, in nsys.regions */
};

struct nsys_call {
	uint64_t start_ns, end_ns;
	uint64_t tid;			/* globalTid of the calling thread */
	uint32_t proc;
	uint32_t correlation_id;	/* unique in the process */
	uint32_t file_id;		/* the correlation id in the file; not unique, because ids
					 * may restart */
	uint32_t callchain;		/* index in chains; NO_INDEX: no call chain */
	const char *name;
	uint32_t result;		/* 0: the call succeeded */
	uint32_t range;			/* id of the recording's range around the call, or 0 */
};

enum nsys_range_kind {
	NSYS_RANGE_PUSH_POP,
	NSYS_RANGE_START_END,
	NSYS_RANGE_MARK,		/* a point in time, not a range */
};

struct nsys_range {			/* an NVTX range */
	uint64_t start_ns, end_ns;
	uint64_t tid;
	uint32_t proc;
	uint32_t domain;
	enum nsys_range_kind kind;
	bool open;			/* the range was never popped */
	const char *name;
};

struct nsys_domain {			/* an NVTX domain */
	uint32_t proc;			/* NO_INDEX: the domain is shared by all processes */
	uint32_t id;
	const char *name;
};

struct nsys_sync {			/* a thread's wait for the device */
	uint64_t start_ns, end_ns;
	uint32_t proc;
	uint32_t correlation_id;
	uint32_t context, stream;
	bool of_stream;
};

struct nsys_node {			/* a node of a CUDA graph, created or copied */
	uint64_t time_ns;
	uint64_t tid;			/* globalTid */
	uint64_t id;
	uint64_t original;		/* the copied node; 0: this node is not a copy */
	uint32_t proc;
};

struct nsys_gpu {
	uint64_t id;			/* the export's id of the GPU */
	const char *name;
	const char *uuid;		/* the GPU's UUID as text, or NULL */
};

struct nsys_device {			/* a process's number for a GPU */
	uint64_t gpu;
	uint32_t device, pid;
};

struct nsys_proc {
	uint64_t id;			/* the upper bits of globalPid */
	const char *name;
	uint32_t device, nr_devices;	/* device of the process's kernels; nr_devices: number of
					 * such devices, capped at 2 */
	uint32_t import_proc;
	bool traced;			/* the process calls the CUDA API */
};

struct nsys_chain {
	uint64_t id;
	uint32_t first, nr;		/* the call chain's part of frames, innermost frame first */
};

struct nsys_frame {
	const char *symbol, *module;
	bool unresolved;
	bool kernel;
};

typedef ARRAY(struct nsys_chain) nsys_chains_t;
typedef ARRAY(struct nsys_frame) nsys_frames_t;

struct nsys_sample {			/* a CPU sample */
	uint64_t time_ns;
	uint64_t tid;			/* globalTid */
	uint32_t cpu;
};

struct nsys {
	struct database db;
	const char *path;
	struct msgs *msgs;
	struct strpool strings;
	struct idmap string_ids;
	ARRAY(const char *) string_values;
	ARRAY(struct nsys_work) works;
	ARRAY(struct nsys_call) calls;
	ARRAY(struct nsys_range) ranges;
	ARRAY(struct nsys_domain) domains;
	ARRAY(struct nsys_sync) syncs;
	ARRAY(struct nsys_node) nodes;
	ARRAY(struct nsys_gpu) gpus;
	ARRAY(struct nsys_device) devices;
	const char *host;		/* host name, or NULL */
	uint64_t epoch_ns;		/* wall-clock time of the export's time 0; or 0 */
	ARRAY(struct nsys_proc) procs;
	nsys_chains_t chains, os_chains;	/* call chains of CUDA calls and of system calls */
	nsys_frames_t frames, os_frames;	/* frames of these call chains */
	ARRAY(struct nsys_sample) samples;	/* by time */
	ARRAY(uint32_t) regions;	/* ranges around kernels, outermost first */
	struct idmap proc_ids;
	struct idmap chain_ids, os_chain_ids;
	struct idmap call_ids;		/* maps (process, correlation id) to the outermost call */
	struct idmap work_ids;		/* maps (process, correlation id) to the first work */
	struct idmap sample_ids;
	struct idmap node_ids;		/* ids of the nodes in @nodes */
	struct idmap event_streams;	/* maps (process, event) to the stream that it was recorded
					 * on; NO_INDEX: several streams */
	struct idmap event_syncs;	/* maps (process, id of a recorded event) to its stream */
	struct idmap thread_names;	/* maps a globalTid to a string */
	uint64_t last_ns;
	uint64_t before_ns;		/* time from the first event to the export's time 0; times
					 * in this struct are relative to the first event */
	struct epochs epochs;
	uint64_t nr_ranges_nowhere;	/* number of ranges without a thread */
	uint64_t nr_ranges_unknown;	/* number of ranges of types that are unknown */
	uint64_t nr_too_deep;		/* number of ranges nested too deeply */
	uint64_t nr_graphs_twice;	/* number of graphs recorded both as a whole and node by
					 * node */
	bool has_nvtx;
};

struct nsys_color {
	const char *pattern;		/* an extended regular expression */
	const char *color;
	regex_t regex;
};

struct nsys_events_opts {
	uint32_t activities;		/* enum nsys_activity; 0: kernel and nvtx-kernel */
	const char **prefixes;		/* write only NVTX ranges whose names begin with one of
					 * these prefixes */
	size_t nr_prefixes;
	const char *colors;		/* JSON {"pattern": "color", ...}, or NULL */
};

/**
 * nsys__open - read an export
 * @n: filled in; the caller must call nsys__close(), even after a failure
 * @path: an SQLite file, which is opened read-only
 * @msgs: gets the reason for a failure, and warnings
 *
 * Return: 0; -EINVAL if the file is not an export; or -ENOMEM.
 */
int nsys__open(struct nsys *n, const char *path, struct msgs *msgs);

/* Reads an export in memory: @size bytes at @buf. */
int nsys__open_mem(struct nsys *n, void *buf, size_t size, struct msgs *msgs);
void nsys__close(struct nsys *n);

/* ---- for the import -------------------------------------------------------------------------- */

/* Return: the string that a column refers to, or NULL. */
const char *nsys__string(const struct nsys *n, struct sqlite3_stmt *stmt, int i);

/*
 * Reads the time in column @i; nsys__times() also reads the time in the next column. Return: false
 * if a time is impossible. After the last row, database__next() reports how many rows had
 * impossible times.
 */
bool nsys__is_time(const struct nsys *n, struct sqlite3_stmt *stmt, int i, uint64_t *ns);
bool nsys__time(struct nsys *n, struct sqlite3_stmt *stmt, int i, uint64_t *ns);
bool nsys__times(struct nsys *n, struct sqlite3_stmt *stmt, int i, uint64_t *start_ns,
		 uint64_t *end_ns);

/* Finds the process with a globalTid or globalPid. Return: 0 or -ENOMEM. */
int nsys__proc(struct nsys *n, uint64_t global, uint32_t *proc);

/*
 * Reads a frame, whose columns are "id symbol stackDepth module unresolved". @kernel_mode: index of
 * the column that marks frames of the OS kernel, or 0.
 */
void nsys__frame(const struct nsys *n, struct sqlite3_stmt *stmt, int kernel_mode,
		 struct nsys_frame *f);

/* Imports the whole export into @im. Return: 0 or -ENOMEM. */
int nsys__import(struct nsys *n, struct import *im);

/*
 * Writes the events as a JSON array. Return: 0; -EINVAL, with a message, if the colors are invalid;
 * or -errno.
 */
int nsys__write_events(struct nsys *n, FILE *f, const struct nsys_events_opts *opts);

/* The names of the activities; the last entry is NULL. */
extern const char *const nsys_activity_names[];

/* Return: the activity with that name, or 0. */
enum nsys_activity nsys_activity__parse(const char *name);

#endif /* MERGE_NSYS_H */
