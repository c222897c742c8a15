/* SPDX-License-Identifier: GPL-3.0-or-later */
/* opts.h - options for joining and summing up recordings, and the sink of single events */
#ifndef MERGE_OPTS_H
#define MERGE_OPTS_H

#include <stdbool.h>
#include <stdint.h>

#include "join/join.h"
#include "model/filter.h"
#include "model/heap.h"
#include "model/model.h"
#include "model/slice.h"
#include "symbols/callchain.h"

struct remap;

/*
 * Device work, a launch without device work, or a CPU sample, with the call path and thread that it
 * is summed up under.
 */
struct placed {
	uint64_t time_ns;		/* of the launch; of the work itself for an orphan; 0:
					 * unknown */
	uint64_t duration_ns;
	const char *comm;
	uint32_t chain, thread, leaf;
	bool ends_after;		/* a part of a CPU sample's time: it was taken after --to */
};

/*
 * Functions that get single events, in the order in which they are joined. Each returns 0, or
 * -errno to stop; functions that are not needed may be NULL. With a filter, a launch is passed on
 * when its work passes the filter, and again with each further work.
 */
struct session_sink {
	void *ctx;
	int (*launch)(void *ctx, const struct model *m, uint64_t key, const struct launch *l);
	/*
	 * @l: NULL for an orphan. @made: the chain that made the graph node, or NO_INDEX. @first:
	 * whether it is the launch's first work, in no particular order.
	 */
	int (*work)(void *ctx, const struct model *m, uint64_t key, const struct work *w,
		    const struct launch *l, uint32_t made, bool first);
	int (*placed)(void *ctx, const struct model *m, const struct placed *placed);
	int (*slice)(void *ctx, const struct model *m, const struct slice *slice);
	/* A single time that a thread was off the CPU; placed() gets sums of them. */
	int (*off)(void *ctx, const struct model *m, const struct placed *off);
	/*
	 * An event of memory, in the order of each process's numbers. @e->key has call path and thread
	 * of what was made or failed; @gpu: NO_INDEX: the host, or not known.
	 */
	int (*alloc)(void *ctx, const struct model *m, const struct heap_event *e, uint32_t gpu);

	/*
	 * For recordings that are read apart, several at a time, by several threads: makes a sink for one
	 * recording, in whose events indices are those of that recording's own model. Return: 0 or -errno.
	 * The function itself is NULL if the sink can only have events of the session's model.
	 */
	int (*part)(void *ctx, struct session_sink **part);
	/* In the order of the recordings. */
	void (*free_part)(struct session_sink *part);
	/* Part: the recording has been read. May be NULL. */
	void (*end)(void *ctx);
	/*
	 * Part: in the order of the recordings; the frames of its model @m have names. May be NULL.
	 * Return: 0 or -errno.
	 */
	int (*named)(void *ctx, const struct model *m);
	/* Takes over the events of a part, in the order of the recordings. Return: 0 or -errno. */
	int (*absorb)(void *ctx, const struct model *m, struct session_sink *part, const struct remap *r);
	bool numbers_gpus;		/* parts need the numbers and names of GPUs to show */
};

/* The call path under which the work of a CUDA graph's node is summed up. */
enum graph_mode {
	GRAPH_CAPTURE,			/* the call path that made the node */
	GRAPH_LAUNCH,			/* the call path that launched the graph */
	GRAPH_BOTH,			/* both: launch path, "[captured at]", capture path */
};

/* The memory that is shown, in place of all else. */
enum memory_view {
	MEMORY_NONE,
	MEMORY_LIVE,			/* at a moment; without one, at the end */
	MEMORY_PEAK,
	MEMORY_ALLOCATED,		/* in all */
	MEMORY_LEAKED,			/* never freed */
	MEMORY_FAILED,			/* that CUDA refused */
};

struct session_opts {
	enum memory_view memory;
	bool memory_made;		/* what was allocated in all, beside it */
	bool memory_at_failure;		/* the moment asked for is the last failure */
	const uint64_t *memory_at_ns;	/* moments since the recording began, rising; the last one is
					 * that asked for */
	size_t nr_memory_at;
	uint32_t without;		/* kinds of work to leave out: 1 << enum leaf_kind, ORed */
	enum graph_mode graph;
	bool by_thread;			/* sum up by thread, not by thread name */
	bool by_stream;			/* sum up by stream */
	bool by_range;			/* sum up by path of NVTX ranges: chain.range */
	bool by_shape;			/* tell kernels apart by how they are launched: in their names */
	bool with_shapes;		/* and for writers that show shapes, as leaves */
	bool by_time;			/* tell when the work of each sum was: sums.times; ... */
	size_t max_times;		/* ... with at most so many sums; 0: as a page can have; ... */
	bool times_by_path;		/* ... where there are very many, not by thread and range */
	bool stats;			/* collect leaf_stats */
	bool own_threads;		/* keep what threads of the shim did */
	bool trim;			/* leave out the frames of the shim, CUDA, Python's own */
	enum python_style python_style;
	struct filter *filter;		/* or NULL */
	bool show_inline, show_srcline;	/* see struct callchains */
	const char *symfs, *debug_dirs, *buildid_dir;	/* see struct symbol_paths */
	struct session_sink *sink;	/* or NULL */
	uint32_t jobs;			/* recordings to read at a time; 0: one */
	/* Called now and then with the progress, of 1000; may be NULL. */
	void (*progress)(void *ctx, unsigned int permille);
	void *progress_ctx;
};

#endif /* MERGE_OPTS_H */
