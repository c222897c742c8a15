/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * import.h - turns other tools' recordings into a recording of xpuload
 *
 * An importer calls these functions for each event. They make the same records that
 * xpuload would have written, but in memory, so that the session and all writers can use them.
 * Frames contain their names (XPU_FRAME_NAMED).
 *
 *	import__init(&im);
 *	proc = import__process(&im, pid, comm, time_ns);
 *	thread = import__thread(&im, proc, tid);
 *	path = import__path(&im, proc, time_ns, "cudaLaunchKernel", frames, nr);
 *	import__launch(&im, time_ns, correlation_id, path, thread);
 *	import__kernel(&im, proc, &work, span__of("saxpy"));
 *	err = import__finish(&im, &reader, "trace.json");
 *	...
 *	import__exit(&im);
 *
 * If memory is short, the member err keeps the error, as in a stdio stream: later calls are
 * ignored, ids are 0, and import__finish() returns the error.
 */
#ifndef MERGE_IMPORT_H
#define MERGE_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "import/time_bounds.h"
#include "import/span.h"
#include "read/reader.h"
#include "util.h"
#include "xpu_record.h"

struct import_stream;

struct import_proc {
	uint32_t pid;
	uint32_t nr_strings, nr_apis;	/* number of strings and functions defined so far */
	uint64_t nr_allocs;		/* number of memory events of this process so far */
	uint32_t nr_migrations;		/* number of page migrations of this process so far */
};

struct import {
	int err;
	const char *file;		/* the file being read; NULL: no file */
	uint32_t api;			/* enum xpu_api for the calls, paths, waits, device work,
					 * streams and devices that are added next; set by the
					 * caller */
	ARRAY(uint8_t) records;		/* the recording so far */
	ARRAY(uint8_t) batch;		/* records of process batch_proc that are not in @records
					 * yet */
	uint32_t batch_proc;
	ARRAY(struct xpu_launch) launches;	/* launches not in @records yet; times are relative
						 * to launches_ns */
	ARRAY(uint32_t) launch_ranges;	/* the range of each launch */
	bool launches_in_ranges;	/* launch_ranges has an entry other than 0 */
	uint64_t launches_ns;
	ARRAY(struct xpu_range_event) range_events;	/* events not in @records yet; times are
							 * relative to range_events_ns */
	uint64_t range_events_ns;
	ARRAY(struct xpu_sample) samples;	/* samples not in @records yet; times are relative
						 * to samples_ns */
	uint64_t samples_ns;
	uint32_t sample_period_ns;
	struct strpool texts;		/* texts of all processes */
	struct idmap string_ids;	/* maps (process, text) to the string defined for the
					 * text */
	struct idmap api_ids;		/* maps (process, function name) to the function; each name
					 * belongs to one API */
	ARRAY(struct import_proc) by_proc;
	ARRAY(uint64_t) words;
	ARRAY(char) key;
	struct import_stream *streams;
	struct arena arena;
	struct idmap procs;		/* maps a pid to its first process */
	struct idmap threads;		/* maps (process, tid) to the first thread */
	uint32_t nr_threads, nr_paths, nr_streams, nr_ranges;
	uint64_t first_ns, last_ns;	/* times of the first and the last event; first_ns is
					 * UINT64_MAX if no event has a time */
	struct time_bounds bounds;		/* bounds of the start and end times of events */
};

/* Device work. Members that do not apply to this kind of work are 0. */
struct import_work {
	uint64_t start_ns;
	uint64_t duration_ns;
	uint32_t correlation_id;
	uint32_t stream;		/* an id that import__stream() returned */
	uint32_t graph_id;
	uint64_t graph_node_id;
	uint64_t bytes;			/* size of a copy or memset */
	uint8_t copy_kind;		/* CUpti_ActivityMemcpyKind */
	const void *shape;		/* struct xpu_shape, unaligned: launch shape of a kernel */
};

void import__init(struct import *im);
void import__exit(struct import *im);

/* Each call makes a new process or thread. Return: its id, at least 1. */
uint32_t import__process(struct import *im, uint32_t pid, const char *comm, uint64_t time_ns);
uint32_t import__thread(struct import *im, uint32_t proc, uint32_t tid);

/* Return: the first process with @pid, or the first thread of @proc with @tid; 0 if not found. */
uint32_t import__find_process(const struct import *im, uint32_t pid);
uint32_t import__find_thread(const struct import *im, uint32_t proc, uint32_t tid);

/* Sets the clock: the time @mono_ns on the recording's clock is @real_ns since 1970. */
void import__clock(struct import *im, uint64_t mono_ns, uint64_t real_ns);

/* Adds a fact about the recording. @key: enum xpu_info_key */
void import__info(struct import *im, uint32_t key, struct span text);

/* Gives a thread a name, valid since @time_ns. */
void import__comm(struct import *im, uint32_t pid, uint32_t tid, uint64_t time_ns,
		  const char *comm);

/**
 * import__path - make a call path
 * @api: the function called
 * @frames: @nr names, root first, without the called function; NULL in .s: no name
 *
 * Each call makes a new path, so callers should keep the ids of frequent paths. Paths deeper than
 * XPU_MAX_FRAMES lose their outermost frames and are marked as truncated.
 */
uint32_t import__path(struct import *im, uint32_t proc, uint64_t time_ns, const char *api,
		      const struct span *frames, size_t nr);

/* Makes a call path for CPU samples. */
uint32_t import__cpu_path(struct import *im, uint32_t proc, uint64_t time_ns,
			  const struct span *frames, size_t nr);

/* Return: the id of the stream that ran device work; equal streams have equal ids. */
uint32_t import__stream(struct import *im, uint32_t proc, uint32_t device, uint32_t context,
			uint32_t stream);
void import__device(struct import *im, uint32_t proc, uint32_t device, const char *name,
		    const uint8_t uuid[16]);

/*
 * Adds a launch. @correlation_id: 0 if the launch has no recorded device work. @path, @thread: 0 if
 * unknown
 */
void import__launch(struct import *im, uint64_t time_ns, uint32_t correlation_id, uint32_t path,
		    uint32_t thread);

/* Like import__launch(), for a launch inside a range from import__range(). */
void import__launch_in(struct import *im, uint64_t time_ns, uint32_t correlation_id, uint32_t path,
		       uint32_t thread, uint32_t range);

/* Marks a launch as failed: it has no device work. */
void import__refused(struct import *im, uint32_t proc, uint32_t correlation_id, uint32_t result);

/*
 * Records that a call created a node of a graph. @correlation_id: the id of the captured launch, or
 * 0 if the call was not a launch.
 */
void import__graph_node(struct import *im, uint32_t proc, uint64_t time_ns, uint64_t node_id,
			uint32_t correlation_id, uint32_t path, uint32_t thread);

/* Records that a node is a copy of another node, because a graph was instantiated or cloned. */
void import__graph_clone(struct import *im, uint32_t proc, uint64_t node_id, uint64_t original_id);

/*
 * Makes an NVTX range, or a similar range, nested in @parent (0: no parent). Each call makes a new
 * range, so callers should keep the ids of frequent ranges. @domain may be "".
 */
uint32_t import__range(struct import *im, uint32_t proc, uint32_t parent, struct span name,
		       struct span domain);

/*
 * Adds a push, pop or mark of a thread's ranges. The events of a thread must be added in time
 * order. @what, @range and @place: as in struct xpu_range_event
 */
void import__range_event(struct import *im, uint64_t time_ns, uint32_t thread, uint32_t range,
			 enum xpu_range_what what, uint32_t place);

struct import_wait {
	uint64_t start_ns;
	uint64_t duration_ns;
	uint32_t path, thread, range;
	uint32_t context, stream;	/* as in import__stream() */
	uint16_t flags;			/* XPU_WAIT_* */
};

/* Adds a wait of a thread for the device. */
void import__wait(struct import *im, const struct import_wait *w);

/*
 * Adds a memory event. The events of a process must be added in time order. @a: time, order and API
 * need not be set; path, thread and range are as in import__launch_in()
 */
void import__alloc(struct import *im, uint32_t proc, uint64_t time_ns, struct xpu_alloc a);

/* Adds an API call by the thread @tid, whether or not it is a launch. @correlation_id: may be 0. */
void import__call(struct import *im, uint32_t proc, uint32_t tid, uint64_t start_ns,
		  uint64_t duration_ns, uint32_t correlation_id, const char *api);

/* Adds a CPU sample. @path: from import__cpu_path(); @period_ns: the CPU time of the sample */
void import__sample(struct import *im, uint64_t time_ns, uint32_t path, uint32_t thread,
		    uint32_t cpu, uint32_t period_ns);

/*
 * Makes a call path for CPU samples from the words of an XPU_RECORD_CALLCHAIN, innermost first.
 * Addresses are looked up in the process's mappings at @time_ns.
 */
uint32_t import__cpu_chain(struct import *im, uint32_t proc, uint64_t time_ns,
			   const uint64_t *words, size_t nr);

/*
 * Notes the time of a record that import__record() adds: import__see_sample() for a sample,
 * import__see_other() for any other record.
 */
void import__see_sample(struct import *im, uint64_t time_ns);
void import__see_other(struct import *im, uint64_t time_ns);

/*
 * Adds an unchanged record at the top level: @fixed, which starts with space for the record's
 * header, and @tail. The reader must know the record's type.
 */
void import__record(struct import *im, uint16_t type, uint16_t misc, const void *fixed,
		    size_t fixed_bytes, const void *tail, size_t tail_bytes);
void import__kernel(struct import *im, uint32_t proc, const struct import_work *w,
		    struct span name);
/*
 * Adds a value of the hardware counter @name for the kernel @w. Call this after the kernel was
 * added.
 */
void import__pmc(struct import *im, uint32_t proc, const struct import_work *w, const char *name,
		 double value);
void import__memcpy(struct import *im, uint32_t proc, const struct import_work *w);
void import__memset(struct import *im, uint32_t proc, const struct import_work *w);

/* Adds a migration of pages. @what: XPU_MIGRATION_*. The caller need not set m.number. */
void import__migration(struct import *im, uint32_t proc, uint16_t what,
		       struct xpu_record_migration m);

/* Ends the recording and opens @r on it. Return: 0 or -errno; r->error has the reason. */
int import__finish(struct import *im, struct reader *r, const char *name);

/*
 * Writes the finished recording to a file, in the current format version, for later use.
 * Return: 0 or -ENOMEM; errors of @f stay in its error flag.
 */
int import__write(const struct import *im, FILE *f);

/*
 * Reads a whole file, and decompresses it if it is a gzip file. The caller frees *@buf. Return: 0
 * or -errno. -EBADMSG means that the compressed file is damaged or truncated; -ENODEV means that
 * the path is a device whose input never ends.
 */
int import__load(const char *path, char **buf, size_t *size);

/* Return: the message for an error of import__load(). */
const char *import__load_error(int err);

/*
 * Return: the CUpti_ActivityMemcpyKind for "HtoD", "Device-to-Host", "DEVICE_TO_HOST", ..., or 0.
 */
uint8_t import__copy_kind(const char *s, size_t len);

#endif /* MERGE_IMPORT_H */
