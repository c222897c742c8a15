/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * gputrace.h - reads API calls and device work from the files of GPU tools
 *
 *  - Chrome JSON, either an object with traceEvents or only the array of events. The
 *    categories are CUDA_Runtime, CUDA_Driver, GPU_Kernel, MemCopy (PyTorch writes cuda_runtime,
 *    kernel, gpu_memcpy, ...). PyTorch's operators, Python functions and annotations are also
 *    read, on any device
 *  - Chrome JSON of Intel's unitrace, onetrace, ze_tracer and cl_tracer (see pti.c)
 *  - JSON lines, {"type":"CONCURRENT_KERNEL",...}, an object for each record
 *  - the text that NVIDIA's sample programs print, CONCURRENT_KERNEL [ start, end ] duration ...
 *  - JSON, CSV and databases (rocpd) of AMD's rocprofv3: see rocprof/rocprof.h
 *
 * The format is detected from the file's contents. Lines that are not records are counted, but are
 * not an error: such files often contain the program's own output between the records.
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
	bool driver;			/* the call is in the driver API */
	enum call_kind kind;
	const char *name;		/* the function's name without its prefix and version */
};

enum gpu_work_kind { WORK_KERNEL, WORK_MEMCPY, WORK_MEMSET };

struct gpu_work {
	enum gpu_work_kind kind;
	struct import_work w;		/* w.stream is not set */
	uint32_t pid;			/* 0: unknown */
	uint32_t device, context, stream;
	enum xpu_api api;		/* API of the work if its call is unknown; 0: use the API of
					 * the file's other work */
	struct span name;		/* name of the activity record, kept in names */
	uint32_t first_pmc, nr_pmcs;	/* the record's counter values in pmcs */
};

/* value of a hardware counter for a kernel */
struct gpu_pmc {
	const char *name;		/* kept in names */
	double value;
};

enum gpu_op_kind {
	OP_CPU,				/* an operator of PyTorch */
	OP_PYTHON,
	OP_ANNOTATION,
};

/* An operator or function that a thread ran for some time. The operators of a thread nest. */
struct gpu_op {
	uint64_t start_ns, end_ns;
	uint64_t tid;
	uint32_t pid;
	enum gpu_op_kind kind;
	bool mark;			/* an annotation of a single moment */
	const char *name;		/* the operator's name, kept in names */
	const char *stack;		/* the stack of the call site, "innermost;...;outermost";
					 * NULL: unknown */
	const char *modules;		/* the containing modules, "outermost.inner", or NULL */
};

/*
 * A record of the time for which a thread waited for the device; the waiting call has its own
 * record.
 */
struct gpu_sync {
	uint32_t correlation_id;
	uint32_t device, context, stream;
	bool of_stream;
};

/* Memory that was allocated or freed. */
struct gpu_memory {
	uint64_t time_ns;		/* end of an allocation, or start of a free */
	uint64_t tid, address, bytes;
	uint32_t pid, correlation_id;
	uint16_t device;		/* device of an allocation; XPU_ALLOC_NO_DEVICE: the host,
					 * or unknown */
	uint8_t space;			/* enum xpu_alloc_space; for a free, it only matters
					 * whether this is XPU_SPACE_PHYSICAL */
	bool freed;
};

/*
 * Kinds of records that are not read: they belong to no kernel, or the recording format has no
 * place for them.
 */
enum gpu_unread {
	UNREAD_PMCS, UNREAD_PC_SAMPLES, UNREAD_SCRATCH, UNREAD_ROWS, UNREAD_OTHER, NR_UNREAD,
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
	ARRAY(struct gpu_pmc) pmcs;
	struct strpool names;		/* names of activity records, operators, annotations,
					 * processes and threads */
	ARRAY(struct gpu_op) ops;
	ARRAY(struct gpu_sync) syncs;
	ARRAY(struct gpu_memory) memory;
	ARRAY(struct gpu_name) thread_names;
	ARRAY(struct gpu_device) devices;
	uint64_t base_ns;		/* base of the file's times, already added to all times */
	uint32_t rank, world_size;	/* rank in a distributed program; world_size 0: unknown */
	bool has_rank;
	enum xpu_api api;		/* API of all calls and work; 0: gpu_api__of() finds the
					 * API of each name */
	bool linked;			/* correlation ids are synthetic: pti.c assigned them to
					 * calls and work */
	struct epochs epochs;		/* describes restarts of correlation ids; gputrace__read()
					 * made all ids unique */
	bool has_durations;		/* some calls take time, so a call of 0 ns is a short one;
					 * otherwise the file has no durations */
	uint64_t nr_bad_calls;		/* number of calls that end before they begin */
	bool has_high;			/* some correlation ids have more than 32 bits; high is
					 * the first one's upper half */
	uint32_t high;
	uint64_t nr_bad_ids;		/* number of correlation ids that are not used */
	uint64_t nr_unlinked;		/* number of wait records and memory events whose calls are
					 * unknown because ids restarted */
	uint64_t nr_strange;		/* number of lines or events that could not be read */
	uint64_t nr_begins;		/* number of begin events without an end, which are left
					 * out */
	uint64_t nr_ends;		/* number of end events without a begin, which are left
					 * out */
	uint64_t nr_not_finite;		/* number of values such as NaN in place of numbers */
	uint64_t nr_other;		/* number of records of kinds that are not read */
	uint64_t nr_left_out;		/* number of the nr_other records that may hold something
					 * this program could use */
	const char *left_out;		/* kind of the first of them, kept in names */
	bool rocprof;			/* some of the nr_other records are events of rocprof */
	uint64_t nr_unread[NR_UNREAD];
	const char *unread_tables;	/* names of a database's tables whose events are not read,
					 * kept in names; NULL: none */
	const char *damage;		/* the error that ended reading, or NULL */
	uint64_t damage_offset;		/* Chrome JSON: offset of the error; everything before it
					 * has been read */
};

/* Finds calls by process and correlation id. Starts zeroed. */
struct call_index {
	struct idmap calls;		/* maps (pid, correlation id) to the first call */
	struct idmap only;		/* maps a correlation id to its call; NO_INDEX: calls of
					 * several pids have the id */
	struct idmap pid_ids;		/* maps a pid to an index in pids */
	ARRAY(uint32_t) pids;		/* pids of the indexed calls */
};

/*
 * Adds the call @call. Return: 1 if added; 0 if it has no correlation id (*@first is NO_INDEX), or
 * if the call *@first of the same process already has that id; or -ENOMEM.
 */
int call_index__add(struct call_index *x, const struct gpu_call *c, uint32_t call, uint32_t *first);

/*
 * Return: the call that caused device work, or NO_INDEX. @pid: 0 if the process of the work is
 * unknown; the call is then found only if no call of another process has the id
 */
uint32_t call_index__find(const struct call_index *x, uint32_t pid, uint32_t correlation_id);
void call_index__free(struct call_index *x);

/*
 * Adds a call or an activity record. The readers of the formats use these functions. Names are as
 * in the file: they may have a prefix, and a call's name may end with a version such as _v7000.
 * Return: 0 or -ENOMEM.
 */
int gputrace__add_call(struct gputrace *t, struct gpu_call *c, struct span name);
int gputrace__add_work(struct gputrace *t, struct gpu_work *w, uint64_t end_ns, struct span name);

/* Adds device work to the recording, with the values of a kernel's hardware counters. */
void gputrace__write_work(const struct gputrace *t, struct import *im, uint32_t proc,
			  const struct gpu_work *w);

/* Return: the decoded value of a JSON string, kept in names; NULL if memory is short. */
const char *gputrace__name(struct gputrace *t, struct span raw);

struct json;

/* Reads a line of JSON that holds one record. Return: 0 or -ENOMEM. */
int gputrace__json_line(struct gputrace *t, const char *s, size_t len);

/* Reads Chrome JSON. Return: 0 or -ENOMEM. */
int gputrace__read_chrome(struct gputrace *t, const char *buf, size_t size);

/*
 * Reads one line of the text that NVIDIA's sample programs print. *@continues: whether the previous
 * line belongs to device work, whose record takes several lines. Return: 0 or -ENOMEM.
 */
int gputrace__text_line(struct gputrace *t, const char *s, size_t len, bool *continues);

/* Reads the processes in rocprofv3's JSON. Return: 0 or -ENOMEM; a JSON error stays in @j. */
int gputrace__read_rocprof(struct gputrace *t, struct json *j);

/* Return: whether a file is an SQLite database. */
bool rocpd__is(const char *buf, size_t size);

/* Reads a rocpd database. Return: 0 or -ENOMEM; if the database is damaged, t->damage says why. */
int gputrace__read_rocpd(struct gputrace *t, const char *buf, size_t size);

/*
 * Return: whether a file is rocprofv3's CSV; for the second function, whether two such files belong
 * to one process.
 */
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
 * @in: the contents; @t does not use them after this call
 *
 * Return: 0 or -ENOMEM.
 */
int gputrace__read(struct gputrace *t, const char *path, struct input_file *in);
void gputrace__exit(struct gputrace *t);

/*
 * Return: the time at which the first call, activity record or operator began; UINT64_MAX if the
 * file has no such record.
 */
uint64_t gputrace__first_ns(const struct gputrace *t);

/* Adds messages about records in the file called @name that are not read. */
void gputrace__complain_unread(const struct gputrace *t, const char *name, struct msgs *msgs);

/* Return: whether something in the file was left out. */
bool gputrace__is_odd(const struct gputrace *t);

/* Adds messages about oddities in the file called @name. */
void gputrace__complain(const struct gputrace *t, const char *name, struct msgs *msgs);

/* Adds a message that says why the file called @name has no calls and no device work. */
void gputrace__complain_empty(const struct gputrace *t, const char *name, struct msgs *msgs);

/* ---- pti.c ----------------------------------------------------------------------------------- */

/*
 * Finds the calls of device work in the Chrome JSON of Intel's tools (PTI).
 *
 * These tools use keys to link device work with the call that queued it:
 *
 *  - unitrace writes a flow event "s" after the call, and a flow event "t" after the work. The
 *    category of these events is Flow_H2D_ID_RANK, or CL_Flow_H2D_ID_RANK for OpenCL. The work
 *    itself has only the ID, in its arguments. If implicit scaling split the work into tiles, the
 *    work has no flow event. unitrace invents the process and thread ids of work: they identify a
 *    device and its queue.
 *  - onetrace, ze_tracer and cl_tracer write the keys into the arguments of calls and work. A
 *    call that executes command lists has the keys of all lists, "1.1,2.1". If the work of an
 *    immediate command list has the key "3.1", the call of this work has the key "3". Calls and
 *    work have no category.
 *
 * Source: intel/pti-gpu, tools/unitrace/src/chromelogger.h, tools/onetrace/unified_tracer.h
 */
struct pti_flow {			/* a flow event at a call */
	uint32_t nr_before;		/* number of calls that precede it in the file */
	uint64_t time_ns, tid;
	uint32_t pid;
	uint32_t key;
};

struct pti_work {
	uint32_t work;			/* index in gputrace.works */
	uint32_t device;
	struct span id;			/* the work's key or id, as in the file */
};

struct pti_device {			/* prefix and suffix of the keys of a device's work */
	struct span before, after;
};

struct pti {
	struct strpool keys;
	struct idmap calls;		/* maps a key's number to an index in gputrace.calls */
	ARRAY(struct pti_flow) flows;
	ARRAY(struct pti_work) works;
	struct idmap device_ids;	/* maps a process's number in the file to a device */
	ARRAY(struct pti_device) devices;
	struct pti_device first;	/* prefix and suffix of the first flow event's keys */
	bool several;			/* a later flow event has another prefix or suffix */
};

/* Return: the device whose work has the process id @pid; NO_INDEX if memory is short. */
uint32_t pti__device(struct pti *p, uint32_t pid);

/*
 * Adds a flow event of category @category on thread @tid of @pid. @begins: the event is at a call;
 * otherwise it is at device work. @nr_calls: number of calls that precede the event in the file.
 * Return: 1 if the event links work with a call, 0 if it is another kind of flow event, or -ENOMEM.
 */
int pti__add_flow(struct pti *p, struct span category, uint32_t pid, uint64_t tid, uint64_t time_ns,
		  bool begins, uint32_t nr_calls);

/* Adds the keys of a call, which are separated by commas in @keys. Return: 0 or -ENOMEM. */
int pti__add_call(struct pti *p, uint32_t call, struct span keys);

/* Adds the device work with the key or id @id. Return: 0 or -ENOMEM. */
int pti__add_work(struct pti *p, uint32_t work, uint32_t device, struct span id);

/*
 * Gives each call and its device work the same correlation id, and sets the process of the work.
 * Return: whether the file has keys, or -ENOMEM.
 */
int pti__link(struct pti *p, struct gputrace *t);
void pti__free(struct pti *p);

/*
 * Takes the number of bytes from the end of a record's name, as in
 * "zeCommandListAppendMemoryCopy(H2D)[64]", or the launch shape, as in
 *	k[SIMD32 {64; 1; 1} {256; 1; 1}]
 * Takes the tile from the start of the name, as in "Tile #1: k", and sets the kind of @w. Return:
 * whether the name has a launch shape.
 */
bool pti_work__parse(struct gpu_work *w, struct span *name, struct xpu_shape *shape);

/* ---- gpu_names.c: names of API functions ---------------------------------------------------- */

/**
 * cuda_api__parse - find out whether a frame or event is a CUDA API function
 * @s: "cudaLaunchKernel", "Runtime: cudaMemcpy_v3020", "cudaLaunchKernel<char>(char const*, ...)"
 * @name: set to the function's name in @s
 *
 * Return: whether it is a CUDA API function.
 */
bool cuda_api__parse(const char *s, size_t len, const char **name, size_t *name_len);
enum call_kind cuda_api__kind(const char *name, size_t len);

/*
 * Return: the API of a function, derived from its prefix; XPU_API_CUDA if the prefix is not known.
 */
enum xpu_api gpu_api__of(const char *name, size_t len);

/* Return: whether a function with this @name waits for the device. */
bool gpu_api__waits(const char *name);

/* Return: how much device work a call with this @name causes. */
enum epoch_works call_kind__works(enum call_kind kind, const char *name);

#endif /* MERGE_GPUTRACE_H */
