/* SPDX-License-Identifier: GPL-3.0-or-later */
/* opts.h - options for joining and summing up recordings, and the sink of single events */
#ifndef MERGE_OPTS_H
#define MERGE_OPTS_H

#include <stdbool.h>
#include <stdint.h>

#include "join/join.h"
#include "model/feature.h"
#include "model/filter.h"
#include "model/model.h"
#include "model/slice.h"
#include "symbols/callchain.h"

struct remap;

/*
 * Device work, a launch without device work, or a CPU sample, with the call path and the thread
 * under which it is summed up.
 */
struct placed {
	uint64_t time_ns;		/* time of the launch, or of the work itself for an orphan;
					 * 0: unknown */
	uint64_t duration_ns;
	const char *comm;
	uint32_t chain, thread, leaf;
	bool ends_after;		/* for a part of a CPU sample: the sample was taken after
					 * --to */
};

/* An entry of the sums over time: time that a thread spent, or a launch without device work. */
struct spent {
	uint64_t from_ns, to_ns;
	uint64_t ns;			/* time spent between from_ns and to_ns */
	uint32_t nr;			/* number of samples, waits or launches that began in
					 * the span */
	uint32_t aggregate;		/* index in sums.aggregates */
	uint32_t thread, leaf;
};

struct tables_recording;

/* Writes a row of a feature's table. Return: 0 or -errno. */
typedef int (*put_table_row)(struct tables_recording *r, const struct model *m, const void *row);

/*
 * Functions that take single events, in the order in which they are joined. Each returns 0, or
 * -errno to stop; functions that are not needed may be NULL. With a filter, the sink gets a launch
 * when a piece of its device work passes the filter, and again for each further piece that does.
 */
struct session_sink {
	void *ctx;
	int (*launch)(void *ctx, const struct model *m, uint64_t key, const struct launch *l);
	/*
	 * Takes a piece of device work. @l: its launch; NULL for an orphan. @made: the chain that
	 * made the graph node, or NO_INDEX. @first: whether this is the first work of the launch
	 * that the join found.
	 */
	int (*work)(void *ctx, const struct model *m, uint64_t key, const struct work *w,
		    const struct launch *l, uint32_t made, bool first);
	int (*placed)(void *ctx, const struct model *m, const struct placed *placed);
	int (*slice)(void *ctx, const struct model *m, const struct slice *slice);
	/*
	 * Takes one interval in which a thread was off the CPU; placed() gets the sums of
	 * intervals.
	 */
	int (*off)(void *ctx, const struct model *m, const struct placed *off);
	int (*spent)(void *ctx, const struct model *m, const struct spent *spent);
	/* Calls put() for a row of a feature's table, if the sink has tables. */
	int (*row)(void *ctx, const struct model *m, put_table_row put, const void *row);

	/*
	 * Makes a sink for one recording, so that several threads can read recordings separately.
	 * Indices in its events refer to that recording's own model. Return: 0 or -errno. The
	 * function itself is NULL if the sink can only take events of the session's model.
	 */
	int (*apart)(void *ctx, struct session_sink **sink);
	/* Frees a sink that apart() made. Called in the order of the recordings. */
	void (*free_apart)(struct session_sink *sink);
	/* Called for a sink that apart() made, when its recording has been read. May be NULL. */
	void (*end)(void *ctx);
	/*
	 * Called for each sink that apart() made, in the order of the recordings, when the frames
	 * of the sink's model @m have names. May be NULL. Return: 0 or -errno.
	 */
	int (*named)(void *ctx, const struct model *m);
	/*
	 * Takes over the events of a sink that apart() made, in the order of the recordings.
	 * Return: 0 or -errno.
	 */
	int (*absorb)(void *ctx, const struct model *m, struct session_sink *apart,
		      const struct remap *r);
	bool numbers_gpus;		/* sinks that apart() made need the numbers and names with
					 * which GPUs are shown */
};

struct session_opts {
	bool in_bytes;			/* the results are bytes instead of times */
	bool with_made;			/* also sum up all allocated memory */
	const void *values[NR_FEATURES];	/* values of the options that each feature adds;
						 * NULL: defaults */
	unsigned int side;		/* the session is side 1 or 2 of diff; 0: neither */
	uint32_t without;		/* kinds of work to leave out: 1 << enum leaf_kind, ORed */
	bool by_thread;			/* sum up by thread, not by thread name */
	bool by_stream;			/* sum up by stream */
	bool by_range;			/* sum up by path of NVTX ranges: chain.range */
	bool by_shape;			/* distinguish kernels by shape: names contain the shape */
	bool with_shapes;		/* distinguish kernels by shape: each shape is a leaf, for
					 * writers that show shapes */
	bool by_time;			/* collect the times of each sum's work in sums.times */
	size_t max_times;		/* maximum number of sums in sums.times; 0: as many as fit
					 * in a page */
	bool times_by_path;		/* if max_times is not enough, do not split times by thread
					 * and NVTX range */
	bool stats;			/* collect leaf_stats */
	bool own_threads;		/* keep activities of the shim's threads */
	bool trim;			/* leave out frames of the shim, of CUDA and of the Python
					 * interpreter */
	enum python_style python_style;
	struct filter *filter;		/* may be NULL */
	bool show_inline, show_srcline;	/* see struct callchains */
	const char *symfs, *debug_dirs, *buildid_dir;	/* see struct symbol_paths */
	struct session_sink *sink;	/* may be NULL */
	uint32_t jobs;			/* how many recordings to read at once; 0: one */
	/* Called from time to time with the progress, up to 1000; may be NULL. */
	void (*progress)(void *ctx, unsigned int permille);
	void *progress_ctx;
};

#endif /* MERGE_OPTS_H */
