/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * top_frame.h - the latest interval of a running recording: kernels, call paths and functions by
 * time
 *
 *	top_frames__init(&f);
 *	top_frames__add(&f, name, seconds);	a file of one interval, each second
 *	top_frame__print(&f.frame, &how, out);	any number of times
 *	top_frames__exit(&f);
 *
 * One session reads the files, so that names are looked up once. To bound the memory, a new session
 * begins after some time, or when the files get large.
 */
#ifndef MERGE_TOP_FRAME_H
#define MERGE_TOP_FRAME_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "join/session.h"
#include "read/reader.h"
#include "util.h"

/* kernels and copies; call paths that launched them; functions that ran */
enum top_list { TOP_WORK, TOP_PATHS, TOP_FUNCTIONS, NR_TOP_LISTS };

enum top_order { TOP_BY_TIME, TOP_BY_COUNT, TOP_BY_AVERAGE };

struct top_row {
	char *name;			/* for a path, in the form of shorten.h */
	uint64_t ns, nr;
};

struct top_gpu {
	uint32_t number;
	uint64_t busy_ns;
};

struct top_frame {
	double seconds;			/* length of the interval in seconds */
	uint64_t nr;			/* number of frames so far */
	uint64_t nr_launches, nr_lost, nr_samples, cpu_ns;
	uint64_t total_ns[NR_TOP_LISTS];
	ARRAY(struct top_row) lists[NR_TOP_LISTS];
	ARRAY(struct top_gpu) gpus;
};

struct top_frames {
	struct session_opts opts;
	struct session s;
	bool open;			/* @s is open */
	ARRAY(struct reader *) readers;	/* recordings that @s refers to */
	uint64_t bytes;			/* total size of these recordings */
	struct top_frame frame;
};

/* how a frame is shown */
struct top_look {
	enum top_order order;
	bool work, paths;		/* lists to show; a frame without any device work shows
					 * functions */
	unsigned int width, height;	/* height 0: show ten rows of each list */
	bool color, paused;
};

void top_frames__init(struct top_frames *f);
void top_frames__exit(struct top_frames *f);

/*
 * Reads the recording @name, and makes f->frame from it. Return: 0, or a negative errno after a
 * message.
 */
int top_frames__add(struct top_frames *f, const char *name, double seconds);

/* Prints the frame. Return: 0 or -ENOMEM. */
int top_frame__print(struct top_frame *frame, const struct top_look *look, FILE *out);

#endif /* MERGE_TOP_FRAME_H */
