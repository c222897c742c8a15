/* SPDX-License-Identifier: GPL-3.0-or-later */
/* processes.h - process images, and what their shims say of themselves */
#ifndef XPU_LOADER_PROCESSES_H
#define XPU_LOADER_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "table.h"
#include "util.h"
#include "xpu_record.h"

struct processes;
struct recorder_stats;
struct writer;

struct process {
	UT_hash_handle hh;
	uint32_t proc_id, pid;
	uint32_t python_from;		/* 0, or the image that it is a fork of, or that one of */
	ARRAY(uint32_t) paths;		/* by the shim's number, the recording's; 0: not met */
	bool forked;			/* not an exec of one that is counted already */
	bool attached;			/* ran before: its counters began before the recording */
	bool failed;			/* said that it cannot be recorded */
	bool gone;			/* exited, or another image is in its place */
	bool ended;			/* the same, before the detach */
	uint64_t stopped_ns;		/* 0, or when it was recorded no further */
	uint64_t nr_launches;		/* received */
	uint64_t nr_ranges;		/* events of them */
	uint64_t nr_batches;
	struct xpu_record_counters first, counters;
};

/* Return: NULL without memory. */
struct processes *processes__new(struct writer *w);
void processes__free(struct processes *ps);

/* See recorder__attached() and recorder__detaching(). */
void processes__attached(struct processes *ps, uint64_t time_ns);
void processes__detaching(struct processes *ps, uint64_t time_ns);

/* Return: the image, new if it was not met; NULL without memory. */
struct process *processes__get(struct processes *ps, uint32_t proc_id);

/* Return: the latest image of @pid that is not gone, or NULL. */
struct process *processes__living(const struct processes *ps, pid_t pid);

/* An image begins, or ends. */
void processes__start(struct processes *ps, const struct xpu_record_process *r);
void processes__exit(struct processes *ps, const struct xpu_record_process_exit *r);

/* A batch has come: looks at the shim's counters, and passes on what it has to say to the user. */
void processes__batch(struct processes *ps, const struct xpu_record_batch *batch);

/* Whether what was logged in @p at @time_ns is for the recording. */
bool processes__is_after_attach(const struct processes *ps, const struct process *p,
				uint64_t time_ns);
bool processes__is_before_detach(const struct processes *ps, uint64_t time_ns);

/* How many have device work in hand that they have not said is all. */
unsigned int processes__nr_awake(const struct processes *ps);

/* Adds what they have said last, and what has come of it. */
void processes__stats(const struct processes *ps, struct recorder_stats *stats);

#endif /* XPU_LOADER_PROCESSES_H */
