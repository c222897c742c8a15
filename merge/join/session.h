/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * session.h - one recording, or several, read, joined and summed up
 *
 *	session__init(&s, &opts);
 *	session__process(&s, &reader, 1);	two or three passes over the records
 *	folded__write(&s, ...);			any number of writers
 *	session__exit(&s);
 *
 * The first pass collects what others refer to: processes, maps, call paths, names. The second
 * streams launches and device records through the join and sums what comes out, by (call path,
 * thread name, device work). The third is there only when records wait for a launch that was
 * forgotten (see join.h). Several recordings are read one after the other; what refers by id does
 * so within its own, and all sums end up in the same tables. The writers then see sums; whoever
 * wants the single events (the timeline) gets them as they are joined, through struct session_sink.
 *
 * Where to look, in the order in which a record meets them:
 *
 *	session.c		several recordings, their clocks; the order of the passes
 *	session_collect.c	first pass, and what ids mean, resolved before the second
 *	session_device.c	second pass: launches and device work, through the join
 *	session_calls.c		second pass: calls of CUDA's API
 *	session_samples.c	second pass: CPU samples, and stacks that are unwound here
 *	session_off.c		second pass: off-CPU time; then waits, and accounts of threads
 *	session_nvtx.c		which NVTX ranges were open when, and how long each was
 *	session_origin.c	which call path, thread and thread's name a record's ids mean
 *	session_leaf.c		what ran, or what a thread did
 *	session_sum.c		the filter, and the sums
 *	session_stacks.c	afterwards: names for the frames
 *	session_settle.c	afterwards: what was sent and has not arrived
 *
 * They share session_tables.h, which no other file includes.
 */
#ifndef MERGE_SESSION_H
#define MERGE_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "xpu_record.h"
#include "symbols/callchain.h"
#include "symbols/dso.h"
#include "model/filter.h"
#include "model/gpu.h"
#include "model/graph.h"
#include "model/idle.h"
#include "symbols/jitmap.h"
#include "join/join.h"
#include "symbols/kallsyms.h"
#include "model/loss.h"
#include "model/machine.h"
#include "model/nvtx.h"
#include "symbols/pysource.h"
#include "read/reader.h"
#include "stats.h"
#include "symbols/unwind.h"
#include "util.h"
#include "model/wait.h"

struct thread {
	uint32_t proc;			/* index in machine.procs */
	uint32_t tid;
	const char *comm;		/* at the time asked for last ... */
	uint64_t from_ns, to_ns;	/* ... and how long before and after it holds */
	uint64_t nr_launches;
	uint64_t gpu_wait_ns;
	uint64_t nr_samples;
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
	const char *no_launch;		/* "[no launch]" and the like; NULL: a launch's */
	uint32_t launched;		/* GRAPH_BOTH: this one's stack, ... */
	uint32_t captured;		/* ... "[captured at]", and this one's; else NO_INDEX */
	uint32_t range;			/* by_range: in nvtx.ranges, or NVTX_NO_RANGE; ... */
	uint32_t in_range;		/* ... the chain that it is, in that range */
	uint64_t nr_launches;
	uint64_t nr_nodes;		/* of CUDA graphs, made here by an explicit call */
	uint64_t nr_pending;
	uint64_t nr_samples;
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
	LEAF_CPU,			/* a thread ran: the stack says where; no name */
	LEAF_OFF_CPU,			/* it was blocked: "lock", "io", "sleep", "runnable", ... */
	LEAF_GPU_WAIT,			/* it waited for the device: the name of the work */
	NR_LEAF_KINDS
};

/* Device work is of a GPU; the others have gpu NO_INDEX. */
static inline bool leaf_kind__is_device(enum leaf_kind kind)
{
	return kind <= LEAF_MEMSET;
}

/* What ran, or what a thread did meanwhile: the end of a folded line. */
struct leaf {
	enum leaf_kind kind;
	uint32_t gpu;			/* index in gpus.list; NO_INDEX if it is no device work */
	const char *name;		/* kernel, demangled; "HtoD"; "" */
};

/* Over all device work of one leaf. */
struct leaf_stats {
	struct stats ns, bytes;
};

struct session;

/**
 * leaf__label - what stands before the name: "[GPU_Kernel]", "[GPU1_Memcpy]", "[Off_CPU]"
 * @buf: at least LEAF_LABEL_MAX bytes; "" for LEAF_CPU
 * @numbered: tell devices apart, for there is more than one
 */
#define LEAF_LABEL_MAX	32
void leaf__label(const struct session *s, const struct leaf *leaf, bool numbered, char *buf);

/* Over all calls of one function of CUDA's API, as recorded with --api. */
struct call_stats {
	const char *name;		/* interned */
	struct stats ns;		/* with opts.stats */
};

/* What a call path caused, in one thread name, of one kind. */
struct aggregate {
	uint32_t chain;
	uint32_t leaf;
	const char *comm;
	uint32_t thread;		/* with by_thread; NO_INDEX: not known */
	uint32_t stream;		/* with by_stream; NO_INDEX: of LEAF_PENDING */
	uint64_t nr;			/* device records; launches for LEAF_PENDING; samples */
	uint64_t sum_ns;
	uint64_t min_ns, max_ns;
	uint64_t bytes;
};

/* The life of a thread, as recorded with --off-cpu. */
struct thread_account {
	const struct xpu_record_account *rec;
	struct xpu_thread_time time;	/* the record's, none of them less than nothing */
	uint32_t thread;
	const char *comm;		/* at its end */
};

/* Words of the shim to the user. */
struct shim_message {
	uint32_t proc;
	uint16_t level;			/* enum xpu_message_level */
	const char *text;
};

/* One of the recordings. */
struct input {
	const struct reader *reader;
	const char *host;		/* interned, "" if not told */
	uint32_t host_nr;		/* index of the first input of that host */
	uint64_t shift_ns;		/* from its clock to the common one */
	uint32_t first_info, nr_infos;	/* in infos */
	struct loss loss;
	bool ended;			/* an END record was there */
	bool attached;			/* to processes that ran: there was no command */
	uint32_t wait_status;		/* of the target, as wait(2) encodes it */
	uint32_t sample_period_ns;	/* of its CPU samples; 0: it has none */
};

struct session;
struct slice;

/*
 * Device work, a launch without any, or a CPU sample, with the call path and thread that it is
 * summed up under.
 */
struct placed {
	uint64_t time_ns;		/* of the launch; of an orphan, its own; 0: not known */
	uint64_t duration_ns;
	const char *comm;
	uint32_t chain, thread, leaf;
};

/*
 * Single events, in the order in which they are joined. Each returns 0, or -errno to stop; those
 * that are not wanted may be NULL. With a filter, launches are told when their work passes it, and
 * so again with each further work.
 */
struct session_sink {
	void *ctx;
	int (*launch)(void *ctx, const struct session *s, uint64_t key, const struct launch *l);
	/*
	 * @l: NULL for an orphan. @made: the chain that made the graph node, or NO_INDEX. @first:
	 * of the launch, in no order.
	 */
	int (*work)(void *ctx, const struct session *s, uint64_t key, const struct work *w,
		    const struct launch *l, uint32_t made, bool first);
	int (*placed)(void *ctx, const struct session *s, const struct placed *placed);
	int (*slice)(void *ctx, const struct session *s, const struct slice *slice);
};

/* Under which call path the work of a CUDA graph's node belongs. */
enum graph_mode {
	GRAPH_CAPTURE,			/* the one that made the node */
	GRAPH_LAUNCH,			/* the one that launched the graph */
	GRAPH_BOTH,			/* both: launch path, "[captured at]", capture path */
};

#define LEAVES_DEVICE	(1u << LEAF_KERNEL | 1u << LEAF_MEMCPY | 1u << LEAF_MEMSET | \
			 1u << LEAF_PENDING)
#define LEAVES_CPU	(1u << LEAF_CPU | 1u << LEAF_OFF_CPU | 1u << LEAF_GPU_WAIT)

struct session_opts {
	uint32_t without;		/* leave these out: 1 << enum leaf_kind, or'ed */
	enum graph_mode graph;
	bool by_thread;			/* one sum for each thread, not for each thread name */
	bool by_stream;			/* the same for each stream */
	bool by_range;			/* the same for each path of NVTX ranges: chain.range */
	bool stats;			/* collect leaf_stats */
	bool trim;			/* leave out the frames of the shim, CUDA, Python's own */
	enum python_style python_style;
	struct filter *filter;		/* or NULL */
	bool show_inline, show_srcline;	/* see struct callchains */
	const char *symfs, *debug_dirs, *buildid_dir;	/* see struct symbol_paths */
	struct session_sink *sink;	/* or NULL */
	/* Told now and then how far it is, of 1000; may be NULL. */
	void (*progress)(void *ctx, unsigned int permille);
	void *progress_ctx;
};

struct session {
	struct session_opts opts;
	const struct reader *reader;	/* the one that is being read */
	ARRAY(struct input) inputs;
	uint32_t nr_hosts;
	bool realtime;			/* times are CLOCK_REALTIME's: there are several hosts */
	uint64_t shift_ns;		/* of the one that is being read */
	struct strpool strings;
	struct msgs msgs;		/* for the user, about the input and the files it names */
	struct machine machine;
	struct dsos dsos;
	struct callchains callchains;
	struct join join;
	struct graphs graphs;
	struct waits waits;
	struct jitmaps jitmaps;
	struct idles idles;
	struct kallsyms kallsyms;
	struct pysources pysources;
	struct unwind unwind;
	struct gpus gpus;
	struct nvtx nvtx;

	ARRAY(const struct xpu_record_info *) infos;
	ARRAY(struct path) paths;
	ARRAY(struct thread) threads;
	ARRAY(struct chain) chains;
	ARRAY(struct stream) streams;
	ARRAY(struct leaf) leaves;
	ARRAY(struct leaf_stats) leaf_stats;	/* by leaf, of the first ones; with opts.stats */
	ARRAY(struct call_stats) calls;
	ARRAY(struct aggregate) aggregates;
	ARRAY(struct shim_message) messages;
	ARRAY(struct thread_account) accounts;
	struct session_tables *tables;

	struct loss loss;		/* complete after session__process() */
	bool ended;			/* an END record was there, in each of them */
	uint64_t start_ns;		/* of the recording, or of the earliest */
	uint64_t first_ns, last_ns;	/* earliest launch or work, end of the latest */
	uint64_t nr_works[3];		/* by LEAF_KERNEL, LEAF_MEMCPY, LEAF_MEMSET, if wanted */
	uint64_t nr_left_out;		/* by the filter: device records, and ... */
	uint64_t nr_pending_left_out;	/* ... launches without any */
	uint64_t nr_samples;		/* that were wanted */
	uint64_t nr_calls;		/* that were wanted */
	int status;			/* -EBADMSG: the recording is damaged; else 0 */
};

int session__init(struct session *s, const struct session_opts *opts);
void session__exit(struct session *s);

/**
 * session__process - read, join and sum up recordings
 * @s: initialized, and not used before
 * @r: @nr open readers, which must outlive @s
 *
 * A recording that is cut or damaged is used up to there; s->loss and s->msgs say so, and
 * s->status is -EBADMSG for a damaged one.
 *
 * Recordings of one host and boot have CLOCK_MONOTONIC in common. Other times are brought together
 * by CLOCK_REALTIME, which each recording tells for its start.
 *
 * Return: 0, or -ENOMEM or what a sink returned: then nothing must be written from @s.
 */
int session__process(struct session *s, const struct reader *r, size_t nr);

/*
 * Prints the account: of all, and of each recording that is not clean if there are several; and
 * what the filter left out.
 */
void session__print_loss(const struct session *s, FILE *f);

/* Return: "lock", "io", ...; NULL for a kind that is not known. */
const char *off_kind__name(uint32_t kind);

/* Return: "CUpti_ActivityMemcpyKind" as a short name: "HtoD", "PtoP", ... */
const char *memcpy_kind__name(uint8_t kind);

/*
 * Return: how many CPU samples a second were recorded, of the first recording that has some; or 0.
 */
uint32_t session__freq_hz(const struct session *s);

/* Return: the host that a process ran on; "" if there is one only. */
const char *session__host(const struct session *s, uint32_t proc);

/* Return: name of a process to show: what it was called last, never NULL or empty. */
const char *session__proc_name(const struct session *s, uint32_t proc);

#endif /* MERGE_SESSION_H */
