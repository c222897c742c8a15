/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * timeline.h - collects and sorts single events for the writers of timelines
 *
 * Device work is on tracks, one for each (GPU, context, stream); slices on a track must nest, so
 * records that overlap go to further lanes of the stream. Each thread has a track with its
 * launches, CPU samples and slices (slice.h), which writers walk with struct track_walk.
 */
#ifndef MERGE_TIMELINE_H
#define MERGE_TIMELINE_H

#include "join/session.h"
#include "model/feature.h"
#include "model/slice.h"

/*
 * Linux pids end at 2^22. Larger numbers, within the 32 bits of Perfetto's pids, are for processes
 * that share a pid with an earlier process, and for GPUs, which the format only knows as processes.
 */
#define PID_REUSED	(1u << 23)
#define PID_GPU		(1u << 30)

struct host_event {
	uint64_t time_ns;
	uint64_t key;
	uint32_t thread;
	uint32_t chain;
	bool sample;			/* the event is a sample, not a launch */
	bool is_slice;			/* the event is a launch whose API call is a separate event;
					 * removed later */
};

#define SHAPE_UNSEEN	(UINT32_MAX >> 4)

struct device_event {
	uint64_t start_ns, end_ns;
	uint64_t launch_ns;
	uint64_t bytes;
	uint64_t key;
	uint32_t leaf;
	uint32_t stream;
	uint32_t thread;		/* the thread that launched the work */
	uint32_t aggregate;		/* as in struct work */
	uint32_t lane;			/* lane within the stream: more than 0 where records
					 * overlap */
	uint32_t chain;			/* the chain of the launch; NO_INDEX: unknown */
	uint32_t made;			/* the call chain that created the graph node, or
					 * NO_INDEX */
	uint32_t shape : 28;		/* as in struct work; SHAPE_UNSEEN: unknown */
	bool orphan : 1;
	bool first : 1;			/* this record was collected first of the launch's records;
					 * it need not be the earliest */
	bool is_part : 1, began_before : 1;	/* both as in struct work */
};

/* the events of one thread: ranges of the arrays below */
struct timeline_track {
	uint32_t proc;
	uint32_t thread;		/* index of the thread; NO_INDEX: unknown */
	size_t host, host_end;
	size_t slice, slice_end;
};

struct timeline {
	struct session_sink sink;	/* the sink for struct session_opts */
	ARRAY(struct host_event) host;	/* launches and samples, sorted by process, thread, time */
	ARRAY(struct slice) slices;	/* slices, sorted by process, thread, time; if two start
					 * together, the longer is first */
	ARRAY(struct timeline_track) tracks;	/* the tracks, sorted by rank, process, thread */
	uint64_t first_ns;		/* time of the earliest event */
	bool has_calls;			/* API calls were recorded, so launches have durations */
	ARRAY(struct device_event) device;	/* device events, sorted by stream, time */
	uint64_t nr_untimed;		/* number of records without times, which are left out */
	uint32_t *pids;			/* for each process: its pid, which is unique; 0: the
					 * process has no track */
	uint32_t *nr_lanes;		/* for each stream: its number of lanes */
	uint32_t *first_track;		/* for each stream: the number of its first track, counted
					 * from 1 */
};

/*
 * Return: an empty timeline for the caller to timeline__free(), or NULL. Keeps about 60 bytes per
 * event.
 */
struct timeline *timeline__new(void);
void timeline__free(struct timeline *t);

/* Makes a timeline; timeline formats use this function as format.listen(). */
void *timeline__listen(struct session_sink **sink);
void timeline__drop(void *events);

/*
 * Sorts the collected events, unless they are sorted. Return: 0; or -ENOMEM, after which @t is
 * unusable.
 */
int timeline__prepare(struct timeline *t, const struct session *s);

enum timeline_counter {
	COUNTER_IN_FLIGHT,		/* number of pieces of device work that are launched but not
					 * finished */
	COUNTER_COPYING,		/* number of bytes of the copies that are running */
	NR_COUNTERS			/* the first number for counters of features */
};

/* Return: the number of counters of a GPU, including the counters of features. */
unsigned int timeline__nr_counters(void);

/* Return: the counter's name. */
const char *timeline_counter__name(unsigned int what);

/**
 * timeline__count - compute a counter of one GPU over time
 * @t: prepared
 * @s: its session
 * @gpu: its index in s->model.gpus
 * @what: which counter; less than timeline__nr_counters()
 * @points: empty; gets points in order of time. Where points are too dense to see, only peaks are
 * kept.
 *
 * Return: 0 or -ENOMEM; the caller frees @points, even after a failure.
 */
int timeline__count(const struct timeline *t, const struct session *s, uint32_t gpu,
		    unsigned int what, counter_points_t *points);

/* the state of a walk over the meters of all features; zero it first */
struct meter_walk {
	unsigned int feature;
	size_t nr;
};

/*
 * Takes the next meter. Return: 1 with the meter, 0 after the last meter, or -ENOMEM. @points: also
 * takes the meter's points, which the caller frees, even after a failure.
 */
int meter_walk__next(struct meter_walk *w, const struct session *s, bool points,
		     struct meter *meter);

/* Return: whether the GPU has anything on the timeline. */
bool timeline__has_gpu(const struct session *s, uint32_t gpu);

enum track_step {
	TRACK_BEGIN,			/* start of a slice, or of a launch that is not a slice */
	TRACK_END,			/* end of the open slice that began last */
	TRACK_SAMPLE,
	TRACK_DONE,
};

/*
 * Walks a thread's slices, launches and samples in the order of the output, properly nested.
 * Nesting is enforced: a slice ends no later than the slice around it.
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
	uint64_t time_ns;		/* time of the step */
	uint64_t end_ns;		/* for TRACK_BEGIN: when the slice will end */
	const struct slice *slice;	/* for TRACK_BEGIN: the slice; NULL for a launch */
	const struct host_event *event;	/* for TRACK_BEGIN of a launch, and TRACK_SAMPLE: the
					 * event */
	/* private members */
	size_t nr_host, nr_slices;	/* number of events already walked */
	ARRAY(uint64_t) open;		/* the end times of open slices */
};

int track_walk__next(struct track_walk *w);
void track_walk__exit(struct track_walk *w);

/* Return: the tid that the tracks show for a thread; 0 if unknown. */
uint32_t timeline__tid(const struct session *s, uint32_t thread);

/*
 * Return: for a process with a rank, the number by which viewers order processes and GPUs; for a
 * process without a rank, 0.
 */
uint32_t timeline__sort_index(const struct session *s, uint32_t proc);

/* Return: a word for the slice's kind, such as "api"; "launch" for a call that is a launch. */
const char *slice__category(const struct slice *slice);

#endif /* MERGE_TIMELINE_H */
