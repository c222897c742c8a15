/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * found.h - the result of the first pass over a recording: the meaning of its ids
 *
 * collect.c fills it and resolve.c completes it; after that it does not change. It maps ids to
 * indices in struct model.
 */
#ifndef MERGE_FOUND_H
#define MERGE_FOUND_H

#include <stdbool.h>
#include <stdint.h>

#include "model/model.h"
#include "symbols/kallsyms.h"
#include "symbols/pysource.h"
#include "symbols/recorded_names.h"
#include "util.h"
#include "xpu_record.h"

struct reader;

/*
 * API_KEY() identifies an API function. Each process defines its own function names. Domains (which
 * include the API) and function numbers are small.
 */
#define API_KEY(proc, domain, cbid)	ID_KEY(proc, (domain) << 16 | (cbid))
#define API_KEY_FITS(domain, cbid)	((domain) < 1u << 16 && (cbid) < 1u << 16)

struct device_def {
	uint32_t proc;
	const struct xpu_record_device *rec;
};

struct stream_def {
	uint32_t proc;
	const struct xpu_record_stream *rec;
};

/* The counters of one process's shim: how much it has sent. */
struct sent {
	const struct xpu_record_counters *last;	/* the latest counters; nr_batches 0: the process
						 * sent no counters */
	uint64_t allocs_ns;			/* time of the process's last memory event */
	const struct xpu_record_counters *first;	/* counters when the recording began */
	uint64_t baseline;			/* the place of @first, from record_iter__place() */
	uint64_t nr_batches;			/* number of batches that have arrived */
	bool carried;				/* @first is from a CARRIED record; keep it */
	bool lost;				/* earlier files lack some records */
	bool final;				/* no later file contains records of the process */
	uint64_t nr_allocs;		/* number of memory events in the recording */
};

/* The pid and the end time of a process. */
struct exit_at {
	uint32_t pid;
	uint64_t exit_ns;
};

struct found {
	const struct reader *reader;
	uint64_t shift_ns;		/* common clock minus the recording's clock */
	uint64_t from_ns, to_ns;	/* limits for all times; default: no limits */
	/* Start of the recording's entries in the model. */
	size_t first_path, first_thread, first_chain, first_proc;
	bool has_stacks;		/* the recording has STACK records */
	bool ends_known;		/* processes without an end record certainly kept running */

	struct idmap paths;
	struct idmap threads;
	struct idmap tids;		/* maps (proc, tid) to the index of the thread */
	struct idmap ns_tids;		/* like tids, for the tid in the thread's pid namespace */
	struct ids strings;		/* maps (proc, id) to an index in string_defs */
	struct ids shapes;		/* maps (proc, string id of name) to a shape of the model */
	struct idmap streams;		/* maps (proc, id) to an index in the model's streams */
	struct idmap apis;		/* maps API_KEY() to the string id of the name */
	struct idmap api_classes;	/* maps API_KEY() to enum xpu_call_class, if known */
	struct idmap pycodes;		/* maps (proc, id) to an index in pycode_defs */
	struct idmap refused;		/* maps (scope, correlation id) to a failure's result */
	ARRAY(const char *) string_defs;	/* strings in the reader's memory */
	ARRAY(const struct xpu_record_pycode *) pycode_defs;
	ARRAY(struct device_def) device_defs;
	ARRAY(struct stream_def) stream_defs;
	ARRAY(struct sent) sent;	/* by process, from first_proc to the last sender */
	struct arena counters;		/* memory of the counters to which @sent points */
	ARRAY(struct exit_at) exits;	/* sorted by pid, then by time */
	struct kallsyms kallsyms;
	struct pysources pysources;
	struct recorded_names names;
};

/* Starts a recording. Its processes, threads and so on will be appended to @m. */
void found__init(struct found *f, struct model *m, const struct input *in);
void found__exit(struct found *f);

/*
 * Return: whether a time range, on the recording's clock, lies within the recording. Processes
 * report their own times; a wrong or forged time must not shift the times of other processes.
 */
static inline bool found__has_time(const struct found *f, uint64_t from_ns, uint64_t to_ns)
{
	return from_ns <= to_ns && from_ns >= f->from_ns && to_ns <= f->to_ns;
}

/* Return: the time within the recording that is nearest to @ns. */
static inline uint64_t found__nearest_ns(const struct found *f, uint64_t ns)
{
	return ns < f->from_ns ? f->from_ns : ns > f->to_ns ? f->to_ns : ns;
}

/* The counters of a process that sent no counters. */
extern const struct xpu_record_counters counters__none;

/*
 * Stores a copy of @rec, the first or last counters of a process, in *@to. Other versions of
 * xpuload may have fewer counters. Return: 0 or -ENOMEM.
 */
int found__keep_counters(struct found *f, const struct xpu_record_counters **to,
			 const struct xpu_record_counters *rec, size_t bytes);

/* Sets *@sent to the counters of @proc, valid until the next call. Return: 0 or -ENOMEM. */
int found__add_sent(struct found *f, uint32_t proc, struct sent **sent);

/* Return: the counters of @proc; all 0 if the process has sent nothing. */
const struct sent *found__sent(const struct found *f, uint32_t proc);

/* Return: the process's string with that id, in the recording's memory; or NULL. */
const char *found__string(const struct found *f, uint32_t proc, uint32_t id);

/* Return: the name that the process gave to a function of an API, or NULL. */
const char *found__api_name(const struct found *f, uint32_t proc, uint32_t domain, uint32_t cbid);

/* Return: the class of the function, which is XPU_CALL_IS_UNKNOWN in older recordings. */
enum xpu_call_class found__api_class(const struct found *f, uint32_t proc, uint32_t domain,
				     uint32_t cbid);

/* Sorts f->exits. */
void found__sort_exits(struct found *f);

/* Return: the end time of the process that had @pid at @from_ns; UINT64_MAX if unknown. */
uint64_t found__exit_ns(const struct found *f, uint32_t pid, uint64_t from_ns);

#endif /* MERGE_FOUND_H */
