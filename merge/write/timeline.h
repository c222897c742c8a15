/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * timeline.h - single events, collected and put in order, for the writers of timelines
 *
 * Device work is of tracks, one for each (GPU, context, stream); slices on a track must nest, so
 * records that overlap spill to further lanes of the stream. Launches, CPU samples and what slice.h
 * describes are of threads, one track each, which writers walk with struct track_walk.
 */
#ifndef MERGE_TIMELINE_H
#define MERGE_TIMELINE_H

#include "join/session.h"
#include "model/slice.h"

/*
 * Linux pids end at 2^22. Processes that share a pid with an earlier one, and GPUs, which the
 * format knows only as processes, are numbered beyond, within the 32 bits of Perfetto's pids.
 */
#define PID_REUSED	(1u << 23)
#define PID_GPU		(1u << 30)

struct host_event {
	uint64_t time_ns;
	uint64_t key;
	uint32_t thread;
	uint32_t chain;
	bool sample;			/* not a launch */
	bool is_slice;			/* a launch whose API call is an event of its own; removed later */
};

struct device_event {
	uint64_t start_ns, end_ns;
	uint64_t launch_ns;
	uint64_t bytes;
	uint64_t key;
	uint32_t leaf;
	uint32_t stream;
	uint32_t thread;		/* of the launch */
	uint32_t lane;			/* of the stream: 0, or more where records overlap */
	uint32_t made;			/* chain that made the graph node, or NO_INDEX */
	bool orphan;
	bool first;			/* of its launch; in no order */
};

/* The events of one thread: parts of the three arrays below. */
struct timeline_track {
	uint32_t proc;
	uint32_t thread;		/* NO_INDEX: not known */
	size_t host, host_end;
	size_t slice, slice_end;
};

struct timeline {
	struct session_sink sink;	/* what to put into struct session_opts */
	ARRAY(struct host_event) host;	/* by process, thread, time; without launches that are slices */
	ARRAY(struct slice) slices;	/* by process, thread, time, longer ones first */
	ARRAY(struct timeline_track) tracks;	/* by process */
	uint64_t first_ns;		/* the earliest of all */
	bool has_calls;			/* so launches have durations */
	ARRAY(struct device_event) device;	/* by stream, time */
	uint64_t nr_untimed;		/* records without times: no place on a timeline */
	uint32_t *pids;			/* by process, unique; 0: it has no track */
	uint32_t *nr_lanes;		/* by stream */
	uint32_t *first_track;		/* by stream: the number of its first track, from 1 */
};

/* Return: an empty timeline for the caller to timeline__free(), or NULL. Keeps some 60 bytes an event. */
struct timeline *timeline__new(void);
void timeline__free(struct timeline *t);

/* The listen() of timelines' formats. */
void *timeline__listen(struct session_sink **sink);
void timeline__drop(void *events);

/*
 * Puts the collected events in order, unless they are. Return: 0, or -ENOMEM, after which @t is
 * unusable.
 */
int timeline__prepare(struct timeline *t, const struct session *s);

enum timeline_counter {
	COUNTER_IN_FLIGHT,		/* device records launched and not finished */
	COUNTER_COPYING,		/* bytes of the copies that run */
	COUNTER_MEMORY_USED,		/* bytes; recorded with --memory, as the next one */
	COUNTER_MEMORY_RESERVED,
	NR_COUNTERS
};

struct counter_point {			/* the value from then on */
	uint64_t time_ns;
	uint64_t value;
};

typedef ARRAY(struct counter_point) counter_points_t;

/* Return: what the counter is called. */
const char *timeline_counter__name(enum timeline_counter what);

/**
 * timeline__count - a counter of one GPU over time
 * @t: prepared
 * @s: its session
 * @gpu: index in s->model.gpus
 * @what: which counter
 * @points: empty; by time. Where there are very many, peaks stand for what is too short to see.
 *
 * Return: 0 or -ENOMEM; @points are to be freed in any case.
 */
int timeline__count(const struct timeline *t, const struct session *s, uint32_t gpu,
		    enum timeline_counter what, counter_points_t *points);

struct meter_point {			/* the value from then on */
	uint64_t time_ns;
	double value;
};

typedef ARRAY(struct meter_point) meter_points_t;

/*
 * A metric over time; where there are no samples it is 0. Return: 0 or -ENOMEM; @points, empty, are to
 * be freed in any case.
 */
int timeline__meter(const struct metric_set *set, uint32_t metric, meter_points_t *points);

/* Return: whether the GPU has anything on the timeline. */
bool timeline__has_gpu(const struct session *s, uint32_t gpu);

enum track_step {
	TRACK_BEGIN,			/* of a slice, or of a launch that is not a slice */
	TRACK_END,			/* of the open slice that began last */
	TRACK_SAMPLE,
	TRACK_DONE,
};

/*
 * One thread's slices, launches and samples in the order in which they have to be written, properly
 * nested; also where that cannot be the truth: a slice ends with the one around it at the latest.
 *
 *	struct track_walk w = { .t = t, .track = &t->tracks.v[i] };
 *
 *	while ((step = track_walk__next(&w)) != TRACK_DONE)
 *		...				negative: -ENOMEM
 *	track_walk__exit(&w);
 */
struct track_walk {
	const struct timeline *t;
	const struct timeline_track *track;
	uint64_t time_ns;		/* of the step */
	uint64_t end_ns;		/* TRACK_BEGIN: when it will end */
	const struct slice *slice;	/* TRACK_BEGIN: NULL for a launch */
	const struct host_event *event;	/* TRACK_BEGIN of a launch, TRACK_SAMPLE */
	/* its own */
	size_t nr_host, nr_slices;	/* done */
	ARRAY(uint64_t) open;		/* ends of those that have not ended */
};

int track_walk__next(struct track_walk *w);
void track_walk__exit(struct track_walk *w);

/* Return: the thread's number on its process's tracks; 0 if it is not known. */
uint32_t timeline__tid(const struct session *s, uint32_t thread);

/* Return: where a process with a rank is to stand among the GPUs and the others; 0 for one without. */
uint32_t timeline__sort_index(const struct session *s, uint32_t proc);

#endif /* MERGE_TIMELINE_H */
