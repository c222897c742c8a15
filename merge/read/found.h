/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * found.h - what the first pass over a recording finds out: what the ids in it mean
 *
 * collect.c fills it and resolve.c completes it; from then on it is const. The indices that ids lead
 * to are those of struct model.
 */
#ifndef MERGE_FOUND_H
#define MERGE_FOUND_H

#include <stdbool.h>
#include <stdint.h>

#include "model/graph.h"
#include "model/model.h"
#include "symbols/kallsyms.h"
#include "symbols/pysource.h"
#include "util.h"
#include "xpu_record.h"

struct reader;

/*
 * What a process says that a function of CUDA's API is called holds for that process alone. CUPTI's
 * domains and callback ids are small numbers.
 */
#define API_KEY(proc, domain, cbid)	ID_KEY(proc, (domain) << 24 | (cbid))
#define API_KEY_FITS(domain, cbid)	((domain) < 1u << 8 && (cbid) < 1u << 24)

struct device_def {
	uint32_t proc;
	const struct xpu_record_device *rec;
};

struct stream_def {
	uint32_t proc;
	const struct xpu_record_stream *rec;
};

/* What one process says it sent. */
struct sent {
	struct xpu_record_counters last;	/* nr_batches 0: it never said */
	struct xpu_record_counters first;	/* what it had sent when the recording began ... */
	uint64_t baseline;			/* ... this batch, record_iter__place(), included */
	uint64_t nr_batches;			/* that have arrived */
};

/* When a process ended that had that number. */
struct exit_at {
	uint32_t pid;
	uint64_t exit_ns;
};

struct found {
	const struct reader *reader;
	uint64_t shift_ns;		/* from its clock to the common one */
	/* where what it added to the model begins */
	size_t first_path, first_thread, first_chain, first_proc;
	bool ends_known;		/* a process without an end has none */

	struct idmap paths;
	struct idmap threads;
	struct idmap tids;		/* (proc, tid): index of the thread */
	struct idmap ns_tids;		/* the same, as its own pid namespace has it */
	struct idmap strings;		/* (proc, id): index in string_defs */
	struct idmap streams;		/* (proc, id) */
	struct idmap apis;		/* API_KEY(): string id of the name */
	struct idmap pycodes;		/* (proc, id): index in pycode_defs */
	struct idmap refused;		/* (proc, correlation id): launches, and CUDA's answer */
	ARRAY(const char *) string_defs;	/* in the recording */
	ARRAY(const struct xpu_record_pycode *) pycode_defs;
	ARRAY(struct device_def) device_defs;
	ARRAY(struct stream_def) stream_defs;
	ARRAY(const struct xpu_record_wait *) waits;
	ARRAY(const struct xpu_record_ranges *) ranges;
	ARRAY(const struct xpu_record_account *) accounts;
	ARRAY(struct sent) sent;	/* by process, from first_proc on; those that sent */
	ARRAY(struct exit_at) exits;	/* by pid, then time */
	struct graphs graphs;
	struct kallsyms kallsyms;
	struct pysources pysources;
};

/* For a recording whose processes, threads and so on come behind those that @m has already. */
void found__init(struct found *f, struct model *m, const struct input *in);
void found__exit(struct found *f);

/* What @proc has sent; good until the next one is asked for. Return: 0 or -ENOMEM. */
int found__add_sent(struct found *f, uint32_t proc, struct sent **sent);

/* Return: the same, all 0 of a process that has sent nothing. */
const struct sent *found__sent(const struct found *f, uint32_t proc);

/*
 * Return: the string that a process has sent under that id, in the recording; NULL if it has not.
 */
const char *found__string(const struct found *f, uint32_t proc, uint32_t id);

/* Return: what a process says that a callback id of CUPTI's is called, or NULL. */
const char *found__api_name(const struct found *f, uint32_t proc, uint32_t domain, uint32_t cbid);

/* Puts f->exits in order. */
void found__sort_exits(struct found *f);

/* Return: when the process that had @pid at @from_ns has ended; UINT64_MAX if that is not known. */
uint64_t found__exit_ns(const struct found *f, uint32_t pid, uint64_t from_ns);

#endif /* MERGE_FOUND_H */
