/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * model.h - the things in recordings: processes and threads, call paths, devices, device work
 *
 * The model has data only. The first pass over a recording adds things that the recording defines;
 * the second pass adds things that only appear with launches, device work and samples; the writers
 * read all of it.
 */
#ifndef MERGE_MODEL_H
#define MERGE_MODEL_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "model/captured.h"
#include "model/chain.h"
#include "model/feature.h"
#include "model/gpu.h"
#include "model/labels.h"
#include "model/leaf.h"
#include "model/loss.h"
#include "model/machine.h"
#include "model/range_names.h"
#include "model/shape.h"
#include "util.h"
#include "xpu_record.h"

/* Stands for an unknown name. */
#define UNKNOWN		"[unknown]"

struct reader;

struct thread {
	uint32_t proc;			/* index in machine.procs */
	uint32_t tid;
	const char *comm;		/* the name that the last lookup found */
	uint64_t from_ns, to_ns;	/* the span of time for which comm holds */
	uint64_t nr_launches;
	uint64_t nr_samples;
};

struct stream {
	uint32_t proc;
	uint32_t gpu;			/* index of the GPU in gpus.list */
	uint32_t context;
	uint32_t stream;
	bool known;			/* false: no record defines the stream */
	uint64_t busy_ns;
	uint64_t nr_works;
};

/* a message of the shim to the user */
struct shim_message {
	uint32_t proc;
	uint16_t level;			/* enum xpu_message_level */
	const char *text;
};

/* an input recording */
struct input {
	const struct reader *reader;
	const char *host;		/* interned, "" if unknown */
	uint32_t host_nr;		/* index of the first input of that host */
	uint64_t shift_ns;		/* add this to the recording's clock to get the common
					 * clock */
	uint32_t first_info, nr_infos;	/* the recording's entries in infos */
	struct loss loss;
	bool ended;			/* the recording has an END record */
	bool continues;			/* another file of the recording follows */
	uint64_t part;			/* the number of the file, if it is one of several */
	uint64_t file, recording_ns;	/* file: part, or 1 for a single file; recording_ns: start
					 * of the first file */
	bool previous_is_here;		/* an earlier file of the recording is also an input */
	bool next_is_here;		/* a later file of the recording is also an input */
	bool attached;			/* recorded by attaching to processes, without a command */
	uint64_t end_ns;		/* end of the recording on its own clock; set if ended */
	uint32_t wait_status;		/* exit status of the target, as wait(2) encodes it */
	uint32_t sample_period_ns;	/* period of the recording's CPU samples; 0: no samples */
};

struct model {
	ARRAY(struct input) inputs;
	uint32_t nr_hosts;
	bool realtime;			/* times are CLOCK_REALTIME, because there are several
					 * hosts */
	uint64_t start_ns;		/* start of the earliest recording */
	ARRAY(const struct xpu_record_info *) infos;
	struct strpool strings;
	struct machine machine;
	struct gpus gpus;
	struct ranges ranges;
	struct captured captured;
	ARRAY(struct thread) threads;
	ARRAY(struct path) paths;
	struct chains chains;
	ARRAY(struct stream) streams;
	struct shapes shapes;
	struct leaves leaves;
	ARRAY(struct shim_message) messages;
	void *features[NR_FEATURES + 1];	/* the features' states; NULL: asleep */
	struct arena arena;		/* for call paths that are not in any record */
};

void model__init(struct model *m);
void model__exit(struct model *m);

/*
 * Return: whether a thread's name is a name of the shim's threads. The shim is xpuload's part
 * inside the program.
 */
static inline bool thread_comm__is_ours(const char *comm)
{
	return !strcmp(comm, "xpushim") || !strcmp(comm, "xpushim-share");
}

/* Return: the recording that is being read. */
static inline struct input *model__input(const struct model *m)
{
	return &m->inputs.v[m->machine.recording];
}

/* Return: the rate, in Hz, of CPU samples in the first recording that has any; otherwise 0. */
uint32_t model__freq_hz(const struct model *m);

/* Return: the host that a process ran on; "" if there is only one host. */
const char *model__host(const struct model *m, uint32_t proc);

/* Return: the labels of a process, all 0 if it has none. */
const struct labels *model__labels(const struct model *m, uint32_t proc);

/* the properties of a process that its labels give */
enum process_label {
	PROCESS_NODE,
	PROCESS_POD,			/* "ml/train-0"; its uid if its name is unknown */
	PROCESS_CONTAINER,		/* the first 12 digits of an id, as runtimes show it */
	PROCESS_JOB,
};

/* Return: the text of a label, which the caller frees; NULL: unknown, or memory is short. */
char *model__process_label(const struct model *m, uint32_t proc, enum process_label label);

/*
 * Return: a text with all known properties, such as "node n1, job 4711, pod ml/train-0"; NULL if
 * memory is short. The caller frees the text.
 */
char *model__process_labels(const struct model *m, uint32_t proc);

/*
 * Return: the node that a process ran on; if it is unknown, the host of the recording; "" if
 * neither is known.
 */
const char *model__node(const struct model *m, uint32_t proc);

/* Return: the rank of a process, or NO_INDEX. */
static inline uint32_t model__rank(const struct model *m, uint32_t proc)
{
	return labels__number(model__labels(m, proc), XPU_LABEL_RANK);
}

/* Return: the name to show for a process, which is its last name; never NULL or empty. */
const char *model__proc_name(const struct model *m, uint32_t proc);

/* Return: the name that a process had at @time_ns, never NULL. */
const char *model__proc_comm(const struct model *m, uint32_t proc, uint64_t time_ns);

/*
 * Return: the name that a thread had at @time_ns, or the name of its process if the thread's name
 * is unknown; never NULL.
 */
const char *model__thread_comm(const struct model *m, struct thread *thread, uint64_t time_ns);

#endif /* MERGE_MODEL_H */
