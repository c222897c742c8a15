/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * rocprof.h - the records of AMD's rocprofv3 (rocprofiler-sdk), in each of its file formats
 *
 * A reader fills in a struct rocprof for each process, and rocprof__tell() adds it to the trace.
 *
 * A record of device work has the id of the innermost call that queued it: a HIP call, or an HSA
 * call inside a HIP call. The HIP call is the ancestor of the HSA call inside it. HIP and HSA calls
 * share one numbering, so they are one API of the recording.
 */
#ifndef MERGE_ROCPROF_H
#define MERGE_ROCPROF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "import/gputrace.h"
#include "import/span.h"
#include "util.h"

struct rocprof_agent {
	uint64_t handle;
	bool gpu;
	bool numbered;
	uint64_t number;		/* index among the GPUs */
	struct span name;
};

/* A call, or a range of a thread. */
struct rocprof_call {
	struct span name;		/* if .s is NULL, see @kind */
	uint32_t kind, operation;	/* JSON: indices of the name in operations */
	uint32_t pid;			/* 0: use the pid in struct rocprof */
	uint64_t start_ns, end_ns, tid;
	uint64_t id, ancestor;		/* correlation ids; 0: no id */
};

struct rocprof_work {
	struct rocprof_call c;		/* c.name is the direction of a copy or the name of a
					 * kernel; if c.name.s is NULL: see kernel */
	uint64_t kernel, agent, src_agent, queue, stream, bytes;
	uint64_t external;		/* external correlation id; 0: no id */
	uint64_t grid[3], block[3];	/* in threads; a block size of 0: unknown */
	uint64_t shared_bytes, local_bytes, registers;
	bool has_stream;
	uint64_t address;		/* address of memory */
	uint64_t dispatch;		/* number of a kernel's dispatch, or of its event in
					 * databases; NO_DISPATCH: unknown */
};

#define NO_DISPATCH	UINT64_MAX

/* A hardware counter's value; the values of one counter in one dispatch are summed. */
struct rocprof_pmc {
	uint64_t dispatch;
	const char *name;		/* kept in the trace's names; NULL: see counter */
	uint64_t counter;		/* JSON: the counter's id in counters */
	double value;
	bool told;
};

typedef ARRAY(struct rocprof_call) rocprof_calls_t;
typedef ARRAY(struct rocprof_work) rocprof_works_t;
typedef ARRAY(struct rocprof_pmc) rocprof_pmcs_t;

struct rocprof_kind {
	struct span name;
	size_t first, nr;		/* the kind's names in rocprof.operations */
};

/* Texts by id. */
struct rocprof_texts {
	struct idmap ids;		/* maps an id to an index in v */
	ARRAY(struct span) v;
};

/* One process. Starts zeroed, except for t. */
struct rocprof {
	struct gputrace *t;
	uint32_t pid;
	bool escaped;			/* texts are raw strings of JSON */
	struct span command;		/* the program's path */
	ARRAY(struct rocprof_agent) agents;
	ARRAY(struct rocprof_kind) kinds;
	ARRAY(struct span) operations;
	struct rocprof_texts kernels, markers, counters;
	struct rocprof_texts renames;	/* names from --kernel-rename, by external correlation id */
	rocprof_calls_t hip, hsa;
	rocprof_calls_t functions;	/* traced functions of other libraries, such as RCCL */
	rocprof_calls_t ranges;		/* ROCTX ranges */
	rocprof_works_t dispatches, copies, fills;
	rocprof_works_t counted;	/* dispatches with counter values; if kernels were traced,
					 * they are also in the array dispatches */
	rocprof_pmcs_t pmcs;
	rocprof_works_t memory;		/* allocations and frees; c.name is an operation such as
					 * MEMORY_ALLOCATION_FREE */
	/* Set by rocprof__number_gpus() and rocprof__tell(). */
	struct idmap gpus;		/* maps handle to an index in agents */
	struct idmap hip_ids, hsa_ids;	/* maps a correlation id to the index of the call */
	struct idmap told;		/* ids of HSA calls that were added to the trace */
	struct idmap wide_ids;		/* maps ids of more than 31 bits to smaller numbers */
};

/* Return: the array for the calls of a domain such as HIP_RUNTIME_API. */
rocprof_calls_t *rocprof__calls(struct rocprof *r, struct span domain);

/* Adds a text; if the id already has a text, that text stays. Return: 0 or -ENOMEM. */
int rocprof_texts__add(struct rocprof_texts *t, uint64_t id, struct span text);

/*
 * Adds a counter value, which counts as unread until its kernel is added to the trace. Return: 0 or
 * -ENOMEM.
 */
int rocprof__add_pmc(struct gputrace *t, rocprof_pmcs_t *pmcs, struct rocprof_pmc pmc);

/*
 * Adds an agent for each GPU that has device work. Used for files that do not describe agents,
 * where only the GPU numbers are known. Return: 0 or -ENOMEM.
 */
int rocprof__number_gpus(struct rocprof *r);

/* Adds all data of the process to its trace. Return: 0 or -ENOMEM. */
int rocprof__tell(struct rocprof *r);
void rocprof__exit(struct rocprof *r);

#endif /* MERGE_ROCPROF_H */
