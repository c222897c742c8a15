/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * session.h - one recording, read, joined and summed up
 *
 *	session__init(&s, &opts);
 *	session__process(&s, &reader);		two or three passes over the records
 *	folded__write(&s, ...);			any number of writers
 *	session__exit(&s);
 *
 * The first pass collects what others refer to: processes, maps, call paths, names. The second
 * streams launches and device records through the join and sums what comes out, by (call path,
 * thread name, device work). The third is there only when records wait for a launch that was
 * forgotten (see join.h). The writers then see sums; whoever wants the single events (the
 * timeline) gets them as they are joined, through struct session_sink.
 */
#ifndef MERGE_SESSION_H
#define MERGE_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "xpu_record.h"
#include "callchain.h"
#include "dso.h"
#include "gpu.h"
#include "join.h"
#include "loss.h"
#include "machine.h"
#include "reader.h"
#include "util.h"

#define NO_INDEX	UINT32_MAX

struct thread {
	uint32_t proc;			/* index in machine.procs */
	uint32_t tid;
	const char *comm;		/* at the time asked for last ... */
	uint64_t from_ns, to_ns;	/* ... and how long before and after it holds */
	uint64_t nr_launches;
};

/* A call path as recorded: addresses and what was called. */
struct path {
	const struct xpu_record_callchain *rec;
	uint32_t proc;
	struct image *image;		/* NULL: its maps are not known */
	const char *api;		/* interned */
	bool one_record;		/* the call can own one device record at most */
	uint32_t chain;			/* in remap epoch 0, NO_INDEX until used */
};

/* A call path in one remap epoch, or one of the labels that stand for none. */
struct chain {
	uint32_t proc;
	uint32_t path;			/* NO_INDEX: a launch without call path, or no launch */
	uint32_t epoch;
	bool no_launch;			/* the parent of device work whose launch was never seen */
	uint64_t nr_launches;
	uint64_t nr_pending;
	const struct stack *stack;
};

struct stream {
	uint32_t proc;
	uint32_t gpu;			/* index in gpus.list */
	uint32_t context;
	uint32_t stream;
	bool known;			/* false: stands for a stream that no record defines */
	uint64_t busy_ns;
	uint64_t nr_works;
};

enum leaf_kind {
	LEAF_KERNEL,
	LEAF_MEMCPY,
	LEAF_MEMSET,
	LEAF_PENDING,			/* a launch whose device work was never seen */
};

/* What ran: the end of a folded line. */
struct leaf {
	enum leaf_kind kind;
	uint32_t gpu;			/* index in gpus.list; NO_INDEX for LEAF_PENDING */
	const char *name;		/* kernel, demangled; "HtoD"; "" */
};

/* What a call path caused, in one thread name, of one kind. */
struct aggregate {
	uint32_t chain;
	uint32_t leaf;
	const char *comm;
	uint64_t nr;			/* device records; launches for LEAF_PENDING */
	uint64_t sum_ns;
	uint64_t min_ns, max_ns;
	uint64_t bytes;
};

/* Words of the shim to the user. */
struct shim_message {
	uint32_t proc;
	uint16_t level;			/* enum xpu_message_level */
	const char *text;
};

struct session;

/* Single events, in the order in which they are joined. Each returns 0, or -errno to stop. */
struct session_sink {
	void *ctx;
	int (*launch)(void *ctx, const struct session *s, uint64_t key, const struct launch *l);
	/* @l: NULL for an orphan. */
	int (*work)(void *ctx, const struct session *s, uint64_t key, const struct work *w,
		    const struct launch *l);
};

struct session_opts {
	bool trim;			/* leave out the frames of the shim and of CUDA */
	struct session_sink *sink;	/* or NULL */
	/* Told now and then how far it is, of 1000; may be NULL. */
	void (*progress)(void *ctx, unsigned int permille);
	void *progress_ctx;
};

struct session {
	struct session_opts opts;
	const struct reader *reader;
	struct strpool strings;
	struct msgs msgs;		/* for the user, about the input and the files it names */
	struct machine machine;
	struct dsos dsos;
	struct callchains callchains;
	struct join join;
	struct gpus gpus;

	ARRAY(const struct xpu_record_info *) infos;
	ARRAY(struct path) paths;
	ARRAY(struct thread) threads;
	ARRAY(struct chain) chains;
	ARRAY(struct stream) streams;
	ARRAY(struct leaf) leaves;
	ARRAY(struct aggregate) aggregates;
	ARRAY(struct shim_message) messages;
	struct session_tables *tables;

	struct loss loss;		/* complete after session__process() */
	bool ended;			/* an END record was there */
	uint32_t wait_status;		/* of the target, as wait(2) encodes it */
	uint64_t first_ns, last_ns;	/* earliest launch or work, end of the latest */
	uint64_t nr_works[3];		/* by LEAF_KERNEL, LEAF_MEMCPY, LEAF_MEMSET */
	int status;			/* -EBADMSG: the recording is damaged; else 0 */
};

int session__init(struct session *s, const struct session_opts *opts);
void session__exit(struct session *s);

/**
 * session__process - read, join and sum up a recording
 * @s: initialized, and not used before
 * @r: an open reader, which must outlive @s
 *
 * A recording that is cut or damaged is used up to there; s->loss and s->msgs say so, and
 * s->status is -EBADMSG for a damaged one.
 *
 * Return: 0, or -ENOMEM or what a sink returned: then nothing must be written from @s.
 */
int session__process(struct session *s, const struct reader *r);

/* Return: "CUpti_ActivityMemcpyKind" as a short name: "HtoD", "PtoP", ... */
const char *memcpy_kind__name(uint8_t kind);

/* Return: name of a process to show: what it was called last, never NULL or empty. */
const char *session__proc_name(const struct session *s, uint32_t proc);

#endif /* MERGE_SESSION_H */
