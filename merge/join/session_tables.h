/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * session_tables.h - where the ids of a recording lead
 *
 * What the passes of a session share beside struct session itself. For merge/session*.c only; each
 * member says which of them fills it.
 */
#ifndef MERGE_SESSION_TABLES_H
#define MERGE_SESSION_TABLES_H

#include <stdint.h>

#include "xpu_record.h"
#include "join/session.h"
#include "util.h"
#include "model/window.h"

#define UNKNOWN		"[unknown]"
#define NR_RECENT	65536

/* Ids of one process only have its index in the upper half of their key. */
#define ID_KEY(proc, id)	((uint64_t)(proc) << 32 | (id))

/*
 * What a process says that a function of CUDA's API is called holds for that process alone. CUPTI's
 * domains and callback ids are small numbers.
 */
#define API_KEY(proc, domain, cbid)	ID_KEY(proc, (domain) << 24 | (cbid))
#define API_KEY_FITS(domain, cbid)	((domain) < 1u << 8 && (cbid) < 1u << 24)

/* An interned string of the shim's: a kernel's name, most of them. */
struct string_def {
	const char *s;			/* in the recording */
	uint32_t leaf, leaf_gpu;	/* the kernel of this name that was looked up last */
};

struct device_def {
	uint32_t proc;
	const struct xpu_record_device *rec;
};

struct stream_def {
	uint32_t proc;
	const struct xpu_record_stream *rec;
};

/* What stands in the place of a call path, or of a launch. */
enum label {
	LABEL_NO_PATH,
	LABEL_NO_LAUNCH,
	LABEL_BEFORE,
	LABEL_AFTER,
	LABEL_NO_STACK,			/* of a sample */
	NR_LABELS
};

/* What one process says it sent, and what has arrived of it. */
struct account {
	struct xpu_record_counters sent;	/* nr_batches 0: it never said */
	struct xpu_record_counters first;	/* what it had sent when the recording began ... */
	uint64_t baseline;			/* ... this batch, record_iter__place(), included */
	struct window window;
	uint64_t nr_launches;
	uint64_t nr_works;
	uint64_t nr_calls;
	uint64_t nr_batches;
	uint64_t nr_ranges;			/* events of them */
	uint32_t nr_threads;
	uint64_t seen_ns;			/* the last time it launched or sent something */
	uint32_t label_chains[NR_LABELS];
	uint32_t unknown_stream;
};

/* When a process ended that had that number. */
struct exit_at {
	uint32_t pid;
	uint64_t exit_ns;
};

/* A sample in a call of which it turns out later whether it was a wait. */
struct waiting_sample {
	struct launch at;
	uint32_t period_ns;
	const struct wait *wait;
};

struct session_tables {
	/* session_collect.c, in the first pass */
	struct idmap paths;
	struct idmap threads;
	struct idmap strings;		/* (proc, id) */
	struct idmap streams;		/* (proc, id) */
	struct idmap apis;		/* API_KEY(): string id of the name */
	struct idmap pycodes;		/* (proc, id) */
	struct idmap refused;		/* (proc, correlation id): launches, and CUDA's answer */
	ARRAY(struct string_def) string_defs;
	ARRAY(struct device_def) device_defs;
	ARRAY(struct stream_def) stream_defs;
	ARRAY(const struct xpu_record_pycode *) pycode_defs;
	ARRAY(const struct xpu_record_wait *) wait_recs;
	uint64_t nr_damages;			/* of the recording, in the pass so far */
	ARRAY(struct exit_at) exits;	/* by pid, then time */

	/* session_settle.c */
	ARRAY(struct account) accounts;	/* by process */

	/* session_origin.c */
	struct idmap chains;		/* (path, epoch), epoch > 0 */
	struct idmap joined_chains;	/* (chain of the launch, chain of the capture) */

	/* session_leaf.c */
	struct leaf_entry *leaves;
	ARRAY(uint32_t) wait_leaves;	/* by leaf: that of waiting for it, or NO_INDEX */

	/* session_sum.c */
	struct aggregate_entry *aggregates;
	uint32_t recent[NR_RECENT];	/* aggregates, by RECENT(): most works find theirs here */

	/* session_calls.c */
	struct idmap tids;		/* (proc, tid) */
	struct idmap ns_tids;		/* the same, as its own pid namespace has it */
	struct idmap calls;		/* (proc, cbid), perhaps with XPU_CALL_RUNTIME: index in s->calls */
	struct idmap call_names;	/* interned name: the same; of all recordings */

	/* session_samples.c */
	struct unwound_entry *unwound;
	ARRAY(char) unwound_key;	/* to look one up */
	ARRAY(struct waiting_sample) waiting_samples;

	/* session_stacks.c */
	uint32_t path_proc;		/* whose path is being resolved */

	/* session.c: where the tables of the recording that is being read begin */
	size_t first_path, first_thread, first_chain, first_proc, first_account;
	unsigned int permille;		/* what opts.progress was told last */
	struct arena arena;		/* the entries of the hashes above */
};

#endif /* MERGE_SESSION_TABLES_H */
