/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * gputrace.h - reads API calls and device work from the files of tools built on CUPTI
 *
 *  - Chrome JSON, an object with traceEvents or the bare array, with the categories CUDA_Runtime,
 *    CUDA_Driver, GPU_Kernel, MemCopy (and PyTorch's: cuda_runtime, kernel, gpu_memcpy, ...)
 *  - JSON lines, {"type":"CONCURRENT_KERNEL",...}, an object for each record
 *  - the text of NVIDIA's sample printers, CONCURRENT_KERNEL [ start, end ] duration ...
 *
 * The contents tell which format it is. Lines in none of these forms are counted, and are no error:
 * such files often have a program's own output between the records.
 */
#ifndef MERGE_GPUTRACE_H
#define MERGE_GPUTRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "import/import.h"
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
	uint64_t tid;			/* CUPTI's: often a part of pthread_self() */
	uint32_t pid;			/* 0: unknown */
	uint32_t correlation_id;
	bool driver;			/* of the driver API */
	enum call_kind kind;
	const char *name;		/* without prefix and version */
};

enum gpu_work_kind { WORK_KERNEL, WORK_MEMCPY, WORK_MEMSET };

struct gpu_work {
	enum gpu_work_kind kind;
	struct import_work w;		/* without its stream */
	uint32_t pid;			/* 0: unknown */
	uint32_t device, context, stream;
	struct span name;		/* part of the input */
};

enum gpu_format { GPU_CHROME, GPU_LINES };

struct gputrace {
	enum gpu_format format;
	struct strpool strings;		/* names of calls, by number: ... */
	ARRAY(enum call_kind) kinds;	/* ... their kinds */
	struct arena arena;
	ARRAY(struct gpu_call) calls;
	ARRAY(struct gpu_work) works;
	uint64_t nr_strange;		/* lines or events that could not be read */
	uint64_t nr_other;		/* records of other kinds */
	const char *damage;		/* JSON: the error, or NULL ... ... */
	uint64_t damage_offset;		/* ... and its place; everything before it has been read */
};

/* Reads all of @buf, which must stay until gputrace__exit(). Return: 0 or -ENOMEM. */
int gputrace__read(struct gputrace *t, const char *buf, size_t size);
void gputrace__exit(struct gputrace *t);

/**
 * cuda_api__parse - whether a frame or event is a CUDA API function
 * @s: "cudaLaunchKernel", "Runtime: cudaMemcpy_v3020", "cudaLaunchKernel<char>(char const*, ...)"
 * @name: set to the function's name in it
 *
 * Return: whether it is a CUDA API function.
 */
bool cuda_api__parse(const char *s, size_t len, const char **name, size_t *name_len);
enum call_kind cuda_api__kind(const char *name, size_t len);

#endif /* MERGE_GPUTRACE_H */
