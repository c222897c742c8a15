/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * gputrace.h - reads API calls and device work from the files of tools built on CUPTI
 *
 *  - Chrome JSON, an object with traceEvents or the bare array, with the categories CUDA_Runtime,
 *    CUDA_Driver, GPU_Kernel, MemCopy (PyTorch writes cuda_runtime, kernel, gpu_memcpy, ...); also
 *    PyTorch's operators, Python functions and annotations
 *  - JSON lines, {"type":"CONCURRENT_KERNEL",...}, an object for each record
 *  - the text of NVIDIA's sample printers, CONCURRENT_KERNEL [ start, end ] duration ...
 *  - JSON, CSV and databases (rocpd) of AMD's rocprofv3: see rocprof/rocprof.h
 *
 * The contents show which format a file has. Other lines are counted, but are not an error: such
 * files often have a program's own output between the records.
 */
#ifndef MERGE_GPUTRACE_H
#define MERGE_GPUTRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "import/epochs.h"
#include "import/import.h"
#include "import/input.h"
#include "util.h"

/* The kinds of calls at which stacks are taken. */
enum call_kind {
	CALL_OTHER,
	CALL_KERNEL,
	CALL_GRAPH,
	CALL_MEMCPY,
	CALL_MEMSET,
};

struct gpu_call {
	uint64_t start_ns, end_ns;
	uint64_t tid;			/* CUPTI's thread id, often a part of pthread_self() */
	uint32_t pid;			/* 0: unknown */
	uint32_t correlation_id;
	bool driver;			/* the call belongs to the driver API */
	enum call_kind kind;
	const char *name;		/* the function's name without prefix and version */
};

enum gpu_work_kind { WORK_KERNEL, WORK_MEMCPY, WORK_MEMSET };

struct gpu_work {
	enum gpu_work_kind kind;
	struct import_work w;		/* w.stream is not set */
	uint32_t pid;			/* 0: unknown */
	uint32_t device, context, stream;
	struct span name;		/* the work's name, kept in names */
};

enum gpu_op_kind {
	OP_CPU,				/* an operator of PyTorch */
	OP_PYTHON,
	OP_ANNOTATION,
};

/* An operator or function that a thread ran for a time. The operators of one thread nest. */
struct gpu_op {
	uint64_t start_ns, end_ns;
	uint64_t tid;
	uint32_t pid;
	enum gpu_op_kind kind;
	const char *name;		/* the operator's name, kept in names */
	const char *stack;		/* the stack of the call site, "innermost;...;outermost";
					 * NULL: unknown */
	const char *modules;		/* the modules around it, "outermost.inner"; or NULL */
};

/* A record of how long a thread waited for the device; the waiting call has its own record. */
struct gpu_sync {
	uint32_t correlation_id;
	uint32_t device, context, stream;
	bool of_stream;
};

struct gpu_name {			/* the name of a process or thread */
	uint32_t pid;
	uint64_t tid;
	bool thread;
	const char *name;		/* kept in names */
};

struct gpu_device {
	uint32_t id;
	const char *name;		/* kept in names */
};

enum gpu_format { GPU_CHROME, GPU_LINES, GPU_DATABASE };

struct gputrace {
	enum gpu_format format;
	struct input_file *input;	/* the file, while it is read */
	struct strpool strings;		/* names of calls, by number */
	ARRAY(enum call_kind) kinds;	/* the kind of each name in strings, by the same number */
	struct arena arena;
	ARRAY(struct gpu_call) calls;
	ARRAY(struct gpu_work) works;
	struct strpool names;		/* names of works, operators, annotations, processes and
					 * threads */
	ARRAY(struct gpu_op) ops;
	ARRAY(struct gpu_sync) syncs;
	ARRAY(struct gpu_name) thread_names;
	ARRAY(struct gpu_device) devices;
	uint64_t base_ns;		/* the base of the file's times, which has been added to
					 * them */
	uint32_t rank, world_size;	/* rank in a distributed program; world_size 0: unknown */
	bool has_rank;
	struct epochs epochs;		/* how correlation ids began again; all are unique now */
	uint64_t nr_strange;		/* number of lines or events that could not be read */
	uint64_t nr_begins;		/* number of events that begin and never end; they are left
					 * out */
	uint64_t nr_ends;		/* number of events that end and never begin; they are left
					 * out */
	uint64_t nr_not_finite;		/* number of values such as NaN instead of numbers */
	uint64_t nr_other;		/* number of records of other kinds */
	const char *damage;		/* for JSON: the error, or NULL */
	uint64_t damage_offset;		/* place of the error; everything before it has been read */
};

/* Finds calls by process and correlation id. Starts zeroed. */
struct call_index {
	struct idmap calls;		/* maps (pid, correlation id) to the first call */
	struct idmap only;		/* maps a correlation id to its call; NO_INDEX: several pids
					 * have it */
	struct idmap pid_ids;		/* maps a pid to an index in pids */
	ARRAY(uint32_t) pids;		/* pids of the indexed calls */
};

/*
 * Adds the call @call. Return: 1 if added; 0 if it has no correlation id (*@first is NO_INDEX) or
 * if *@first, a call of its process, already has that id; or -ENOMEM.
 */
int call_index__add(struct call_index *x, const struct gpu_call *c, uint32_t call, uint32_t *first);

/*
 * Return: the call that caused device work, or NO_INDEX. @pid: 0 if the process of the work is
 * unknown; then the call is found only if no other call has the id
 */
uint32_t call_index__find(const struct call_index *x, uint32_t pid, uint32_t correlation_id);
void call_index__free(struct call_index *x);

/*
 * Adds a call or work. Used by code that reads parts of a file. Names are those in the file: a
 * call's name may have a prefix and CUPTI's version, a work's name a prefix. Return: 0 or -ENOMEM.
 */
int gputrace__add_call(struct gputrace *t, struct gpu_call *c, struct span name);
int gputrace__add_work(struct gputrace *t, struct gpu_work *w, uint64_t end_ns, struct span name);

/* Return: the decoded value of a JSON string, kept in names; NULL if memory is short. */
const char *gputrace__name(struct gputrace *t, struct span raw);

struct json;

/* Reads the processes in rocprofv3's JSON. Return: 0 or -ENOMEM; a JSON error stays in @j. */
int gputrace__read_rocprof(struct gputrace *t, struct json *j);

/* Return: whether a file is an SQLite database. */
bool rocpd__is(const char *buf, size_t size);

/* Reads a database, rocpd. Return: 0 or -ENOMEM; if it is damaged, t->damage is the reason. */
int gputrace__read_rocpd(struct gputrace *t, const char *buf, size_t size);

/* Return: whether a file is CSV of rocprofv3; whether two files belong to one process. */
bool rocprof_csv__is(const char *buf, size_t size);
bool rocprof_csv__same_set(const char *a, const char *b);

/*
 * Reads rocprofv3's CSV, and the other CSV files of the same process next to @path. Return: 0 or
 * -ENOMEM.
 */
int gputrace__read_rocprof_csv(struct gputrace *t, const char *path, const char *buf, size_t size);

/*
 * gputrace__read - read a file
 * @path: its name, or NULL
 * @in: not needed by @t afterwards
 *
 * Return: 0 or -ENOMEM.
 */
int gputrace__read(struct gputrace *t, const char *path, struct input_file *in);
void gputrace__exit(struct gputrace *t);

/* Adds messages about oddities in the file called @name to @msgs. */
void gputrace__complain(const struct gputrace *t, const char *name, struct msgs *msgs);

/* Adds a message that says why the file called @name has no calls and no device work. */
void gputrace__complain_empty(const struct gputrace *t, const char *name, struct msgs *msgs);

/**
 * cuda_api__parse - find out whether a frame or event is a CUDA API function
 * @s: "cudaLaunchKernel", "Runtime: cudaMemcpy_v3020", "cudaLaunchKernel<char>(char const*, ...)"
 * @name: set to the function's name in @s
 *
 * Return: whether it is a CUDA API function.
 */
bool cuda_api__parse(const char *s, size_t len, const char **name, size_t *name_len);
enum call_kind cuda_api__kind(const char *name, size_t len);

/* Return: how much device work a call with this @name causes. */
enum epoch_works call_kind__works(enum call_kind kind, const char *name);

#endif /* MERGE_GPUTRACE_H */
