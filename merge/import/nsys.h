/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * nsys.h - reads Nsight Systems' SQLite export
 *
 *	nsys__open(&n, "report.sqlite", &msgs);
 *	nsys__import(&n, &import);		a recording, for all writers, or
 *	nsys__write_events(&n, f, &opts);	the events of nsys2json
 *	nsys__close(&n);
 *
 * The tables and columns of an export depend on the version and on what was traced: missing ones
 * are no error. The upper bits of globalTid and globalPid (hardware, VM, pid) tell processes apart;
 * a correlation id is unique only within a process.
 */
#ifndef MERGE_NSYS_H
#define MERGE_NSYS_H

#include <regex.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "import/import.h"
#include "util.h"

struct sqlite3;

enum nsys_activity {
	NSYS_KERNEL	= 1 << 0,
	NSYS_NVTX	= 1 << 1,
	NSYS_NVTX_KERNEL = 1 << 2,
	NSYS_CUDA_API	= 1 << 3,
};

/* A kernel, copy or set. */
struct nsys_work {
	uint64_t start_ns, end_ns;
	uint32_t proc;			/* NO_INDEX: unknown */
	uint32_t correlation_id;
	uint32_t device, context, stream;
	uint8_t type;			/* XPU_RECORD_KERNEL, ... */
	uint8_t copy_kind;
	const char *name;		/* the name in nsys2json's form */
	const char *full_name;		/* the name demangled, with parameters; NULL: none */
	uint64_t bytes;
	uint32_t grid[3], block[3];
	uint32_t registers;
	uint64_t shared_bytes;		/* static and dynamic shared memory */
	uint32_t graph_id;		/* the graph that this is all work of, and no kernel; or
					 * 0 */
	uint32_t next;			/* index of the next work of the same call */
	uint32_t first_region, nr_regions;	/* the call's ranges in regions */
};

struct nsys_call {
	uint64_t start_ns, end_ns;
	uint64_t tid;			/* globalTid of the thread */
	uint32_t proc;
	uint32_t correlation_id;
	uint32_t callchain;		/* index in chains, NO_INDEX: none */
	const char *name;
	uint32_t result;		/* 0: the call succeeded */
	uint32_t range;			/* the recording's range around the call, or 0 */
};

enum nsys_range_kind {
	NSYS_RANGE_PUSH_POP,
	NSYS_RANGE_START_END,
	NSYS_RANGE_MARK,		/* a moment, not a range */
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
	uint32_t proc;			/* NO_INDEX: the domain is of all processes */
	uint32_t id;
	const char *name;
};

struct nsys_sync {			/* a wait of a thread for the device */
	uint64_t start_ns, end_ns;
	uint32_t proc;
	uint32_t correlation_id;
	uint32_t context, stream;
	bool of_stream;
};

struct nsys_gpu {
	uint64_t id;			/* the export's id */
	const char *name;
	const char *uuid;		/* as text, or NULL */
};

struct nsys_device {			/* a process's number of a GPU */
	uint64_t gpu;
	uint32_t device, pid;
};

struct nsys_proc {
	uint64_t id;			/* the upper bits of globalPid */
	const char *name;
	uint32_t device, nr_devices;	/* a device that its kernels ran on; number of such
					 * devices, at most 2 */
	uint32_t import_proc;
};

struct nsys_chain {
	uint64_t id;
	uint32_t first, nr;		/* in frames; the innermost frame is first */
};

struct nsys_frame {
	const char *symbol, *module;
	bool unresolved;
	bool kernel;
};

struct nsys_sample {			/* a CPU sample */
	uint64_t time_ns;
	uint64_t tid;			/* globalTid */
	uint32_t cpu;
};

struct nsys {
	struct sqlite3 *db;
	const char *path;
	struct msgs *msgs;
	bool no_memory;			/* memory ran out while a table was looked up */
	struct strpool strings;
	struct idmap string_ids;
	ARRAY(const char *) string_values;
	ARRAY(struct nsys_work) works;
	ARRAY(struct nsys_call) calls;
	ARRAY(struct nsys_range) ranges;
	ARRAY(struct nsys_domain) domains;
	ARRAY(struct nsys_sync) syncs;
	ARRAY(struct nsys_gpu) gpus;
	ARRAY(struct nsys_device) devices;
	const char *host;		/* or NULL */
	uint64_t epoch_ns;		/* since 1970: the export's time 0; or 0 */
	ARRAY(struct nsys_proc) procs;
	ARRAY(struct nsys_chain) chains;
	ARRAY(struct nsys_frame) frames;
	ARRAY(struct nsys_sample) samples;	/* in order of time */
	ARRAY(uint32_t) regions;	/* ranges around kernels, outermost first */
	struct idmap proc_ids;
	struct idmap chain_ids;
	struct idmap call_ids;		/* from (process, correlation id) to its outermost call */
	struct idmap work_ids;		/* from (process, correlation id) to its first work */
	struct idmap sample_ids;
	struct idmap thread_names;	/* from globalTid to a string */
	uint64_t last_ns;
	uint64_t nr_strange;		/* rows with impossible values */
	uint64_t nr_ranges_nowhere;	/* ranges without a thread */
	uint64_t nr_too_deep;		/* ranges within too many others */
	uint64_t nr_graphs_twice;	/* graphs that were recorded as a whole, and by their
					 * nodes, too */
	bool has_nvtx;
};

struct nsys_color {
	const char *pattern;		/* extended regular expression */
	const char *color;
	regex_t regex;
};

struct nsys_events_opts {
	uint32_t activities;		/* enum nsys_activity; 0: kernel and nvtx-kernel */
	const char **prefixes;		/* NVTX names must begin with one of them */
	size_t nr_prefixes;
	const char *colors;		/* JSON {"pattern": "color", ...}, or NULL */
};

/**
 * nsys__open - read an export
 * @n: filled in; the caller calls nsys__close() in any case
 * @path: an SQLite file, which is opened read-only
 * @msgs: gets the reason of a failure, and warnings
 *
 * Return: 0; -EINVAL if the file is no export; or -ENOMEM.
 */
int nsys__open(struct nsys *n, const char *path, struct msgs *msgs);

/* Reads an export in memory: @size bytes at @buf. */
int nsys__open_mem(struct nsys *n, void *buf, size_t size, struct msgs *msgs);
void nsys__close(struct nsys *n);

/* Imports the whole export into @im. Return: 0 or -ENOMEM. */
int nsys__import(struct nsys *n, struct import *im);

/*
 * Writes the events as a JSON array. Return: 0, -EINVAL for bad colors, with a message, or -errno.
 */
int nsys__write_events(struct nsys *n, FILE *f, const struct nsys_events_opts *opts);

/* The names of the activities, up to a NULL. */
extern const char *const nsys_activity_names[];

/* Return: the activity of that name, or 0. */
enum nsys_activity nsys_activity__parse(const char *name);

#endif /* MERGE_NSYS_H */
