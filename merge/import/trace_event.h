/* SPDX-License-Identifier: GPL-3.0-or-later */
/* trace_event.h - events with fields, in Chrome JSON and in JSON lines */
#ifndef MERGE_TRACE_EVENT_H
#define MERGE_TRACE_EVENT_H

#include "import/gputrace.h"
#include "import/json.h"

/* The fields of an event that this program uses. They are neither decoded nor checked. */
struct event {
	struct span name, category, type, phase, ts, dur, start, end, pid, tid;
	struct span process, thread, correlation, device, context, stream, bytes, copy_kind;
	struct span arg_name, stack, modules;
	struct span grid, block, cluster, registers, shared, local;
	struct span id, sync_type, real_time;
	struct span rocprof;		/* BeginNs, which only files of rocprof have */
};

enum record_kind {
	RECORD_OTHER,
	RECORD_NOTHING,			/* the record holds nothing that this program uses */
	RECORD_RUNTIME,
	RECORD_DRIVER,
	RECORD_KERNEL,
	RECORD_MEMCPY,
	RECORD_MEMSET,
	RECORD_PTI_WORK,
	RECORD_SYNC,
	RECORD_OP,
	RECORD_PYTHON,
	RECORD_ANNOTATION,
};

#define LINUX_TID_MAX	(4u << 20)

/* Reads a string or a number without decoding it; skips any other value. */
void json__scalar(struct json *j, struct span *out);

/* Reads one object, including the object "args" inside it. @args: the object is "args" */
void event__read(struct event *e, struct json *j, bool args);

/* Return: the record kind for an event category or for CUPTI's name of an activity kind. */
enum record_kind record__kind(struct span s);

/*
 * Return: whether @raw is a number that is not negative. *@value: set to the number times 10^@scale
 */
bool span__u64(struct span raw, int scale, uint64_t *value);

/* Return: the number; 0 if @raw is not a number. */
uint32_t span__u32(struct span raw);

/* Return: the number that follows @word, such as "Stream" in "GPU0_Stream7"; or 0. */
uint32_t span__number_after(struct span raw, const char *word);

/*
 * Counts a record of @kind RECORD_OTHER or RECORD_NOTHING, which is not read. @what: the file's
 * word for its kind. Return: 0 or -ENOMEM.
 */
int gputrace__pass_over(struct gputrace *t, enum record_kind kind, struct span what);

/* Decodes the name of an event. Return: 0 or -ENOMEM. */
int gputrace__decode(struct gputrace *t, struct span raw, struct span *name);

/*
 * Adds the call, the activity record, the wait or the operator of an event. Return: 0 or -ENOMEM.
 */
int gputrace__add_event(struct gputrace *t, const struct event *e, enum record_kind kind,
			uint64_t start_ns, uint64_t end_ns);

#endif /* MERGE_TRACE_EVENT_H */
