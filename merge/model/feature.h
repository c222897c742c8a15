/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * feature.h - the list of features, and the interface between a feature and everything else
 *
 * A feature is a folder of merge/ and its line in FEATURES(). The folder defines NAME_feature; all
 * other code reaches the feature only through this interface, and no feature includes a header of
 * another feature. All other code builds and works without the folder and its line.
 *
 * A feature has one state for each model. The state is made when the feature wakes: before its
 * first record, if wakes() returns true, or before the first call of find_range() or find_maker().
 * While the state is NULL, the feature sleeps: it is not called, except for its tables and its
 * command.
 */
#ifndef MERGE_FEATURE_H
#define MERGE_FEATURE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "util.h"
#include "xpu_record.h"

/* Features finish in this order, and their tables are shown in this order. */
#define FEATURES(FEATURE)	\
	FEATURE(nvtx)		\
	FEATURE(waits)		\
	FEATURE(ranks)		\
	FEATURE(stalls)		\
	FEATURE(metrics)	\
	FEATURE(pmc)		\
	FEATURE(memory)		\
	FEATURE(migrations)	\
	FEATURE(graphs)		\
	FEATURE(labels)

#define FEATURE_ID(name)	FEATURE_##name,
enum feature_id { FEATURES(FEATURE_ID) NR_FEATURES };

struct carry;
struct cmdline_option;
struct collect;
struct json_out;
struct labels;
struct model;
struct named_format;
struct outfile;
struct placed_launch;
struct placed_sample;
struct placed_work;
struct parquet_column;
struct passes;
struct remap;
struct second_pass;
struct section;
struct session;
struct session_opts;
struct tables_recording;
struct work_place;
struct write_opts;

/* a type of record that a feature takes in the first pass */
struct feature_record {
	uint16_t type;			/* 0 ends a list */
	bool held;			/* the record stays in memory until close() returns */
	/*
	 * Takes a record. @proc: the process of the batch that contains the record; NO_INDEX if the
	 * record is in no batch
	 */
	int (*take)(void *state, struct collect *c, uint32_t proc, const struct xpu_record *rec);
};

/* what happens to an NVTX range */
enum range_event {
	RANGE_OPENS,
	RANGE_CLOSES,
	RANGE_IS_MARK,
};

/* a memory event; see struct xpu_alloc */
struct feature_memory {
	uint8_t what, space;		/* enum xpu_alloc_what and xpu_alloc_space */
	uint32_t proc;
	uint32_t extra;
	uint64_t time_ns;		/* on the common clock */
	uint64_t address, bytes;
	uint32_t chain, thread;		/* for XPU_ALLOC_MADE */
	const char *comm;
};

/* for the first answer of the summary: the GPUs that were busy, at least one */
struct feature_answer {
	size_t nr_gpus;
	uint64_t idle_ns;		/* sum of the idle times of these GPUs */
	unsigned int width;		/* width of the terminal; 0: no terminal */
};

struct meter_point {			/* a value, in effect since time_ns */
	uint64_t time_ns;
	double value;
};

/* a value of a GPU over time, for timelines */
struct meter {
	uint32_t gpu;			/* index in gpus.list */
	const char *name, *title, *unit;
	uint64_t first_ns;		/* UINT64_MAX: the meter never had a value */
	ARRAY(struct meter_point) points;	/* the points, if they were requested; the caller
						 * frees them */
};

struct counter_point {			/* a value, in effect since time_ns */
	uint64_t time_ns;
	uint64_t value;
};

typedef ARRAY(struct counter_point) counter_points_t;

/* a counter of a kernel, for comparisons; the texts belong to the session */
struct kernel_value {
	const char *kernel, *counter, *unit;
	double value, error;		/* NaN: unknown; error: one standard error */
	uint64_t ns;			/* the time of the kernel */
	bool together;			/* the value belongs to several kernels together */
};

typedef ARRAY(struct kernel_value) kernel_values_t;

/* counters of a GPU over time, as whole numbers, for timelines */
struct feature_counters {
	const char *const *names;	/* ended by NULL */
	/* Adds the points of counter @i in order of time. Return: 0 or -ENOMEM. */
	int (*count)(const struct session *s, uint32_t gpu, unsigned int i,
		     counter_points_t *points);
	bool (*has_gpu)(const struct session *s, uint32_t gpu);
	uint64_t (*first_ns)(const struct session *s);	/* Return: when the counters begin;
							 * UINT64_MAX: never */
};

/* a table for query engines */
struct feature_table {
	const struct parquet_column *columns;
	size_t nr;
	const char *name;		/* NULL: the feature's name */
	/*
	 * Writes the rows of the recording that was read last, to the table that has the feature's
	 * number. NULL: the sink has already got all rows. Return: like parts__put().
	 */
	int (*put)(const struct model *m, struct tables_recording *r, uint32_t partition);
};

/* writes the results of a command in one format */
struct feature_writer {
	const char *format;		/* NULL ends a list */
	/*
	 * Writes the results in the format. Return: 0 or -ENOMEM; a write error only sets the error
	 * flag of @f.
	 */
	int (*write)(const void *command, FILE *f, const struct write_opts *opts);
};

/* for check(): options of the command line other than the feature's own options */
struct feature_line {
	const struct named_format *format;
	struct write_opts *write;	/* a check may choose the unit */
	bool by_shape, gpu_only, cpu_only, diff;
	int (*complain)(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
};

/* the options that a feature adds to xpumerge */
struct feature_options {
	/*
	 * Rows as in the table of merge/options.c, but the functions of these rows get the
	 * feature's values. A row without a function is a filter, and its @value is the kind of
	 * filter.
	 */
	const struct cmdline_option *rows;
	size_t nr;
	const char *after;		/* --help shows the rows after this option */
	size_t bytes;			/* size of the values, which begin as zeros; 0: none */
	/* Return: 0, or -EINVAL after a message. */
	int (*check)(const void *values, const struct feature_line *line);
	/* Changes the session's options as needed; opts->values has the feature's values, too. */
	void (*apply)(const void *values, struct session_opts *opts);
};

enum split_step {
	SPLIT_FLUSH,			/* write the records that are still being filled */
	SPLIT_KEEP_THREADS,		/* call carry__keep_thread() for threads that are needed */
	SPLIT_NEXT,			/* a file begins: write the records that must precede its
					 * events */
	SPLIT_SAVE,			/* write the records of SPLIT_NEXT, and waiting events, but
					 * change no state */
	SPLIT_FINISH,			/* the end: write all waiting events */
};

/* how a feature holds back or repeats records when a recording is split into files */
struct feature_split {
	uint16_t takes;			/* the type of the records that the feature writes itself */
	void *(*new)(struct carry *c);	/* @c: has the processes and their counts */
	void (*free)(void *state);
	/*
	 * Takes a record. If @p is NULL, only remembers the record, because an earlier program
	 * already saved it or passed it on.
	 */
	int (*record)(void *state, struct outfile *p, const struct xpu_record *rec);
	/* notes the number that a process uses for a GPU */
	int (*device)(void *state, uint32_t proc_id, const struct xpu_record_device *rec);
	int (*step)(void *state, struct outfile *p, enum split_step step, uint64_t time_ns);
	uint64_t (*nr_beyond)(const void *state);	/* how many things were dropped because of a
							 * limit */
};

/*
 * a command of xpumerge with the name of the feature: it reads recordings as a merge does, and
 * writes results of its own
 */
struct feature_command {
	const char *arguments, *help;	/* for --help; help may have line breaks */
	const char *const *refused;	/* names of options that have no effect; ended by NULL */
	bool no_filters;		/* options that select a part of the recordings have no
					 * effect, either */
	bool no_lines;			/* unless an option says otherwise, all lines of a Python
					 * function count together */
	/*
	 * Sets in @opts what the command needs. Return: a state; NULL: memory is short.
	 */
	void *(*new)(struct session_opts *opts);
	void (*free)(void *command);
	int (*finish)(void *command, const struct session *s);	/* Called when all recordings were
								 * read. */
	/*
	 * Return: why there are no results to write; NULL: there are some. Called after finish().
	 */
	const char *(*lacks)(const void *command);
	const struct feature_writer *writers;
};

/*
 * Functions may be NULL. Functions that return int return 0 or -ENOMEM, unless their comments name
 * other values.
 */
struct feature {
	const char *name;
	const char *needs;		/* another feature's name; without that feature, this
					 * feature is absent, too */
	void *(*new)(struct model *m);	/* Return: a state; NULL: memory is short */
	void (*free)(void *state);

	/* ---- reading a recording, perhaps apart from others, with a model of its own */
	const struct feature_record *records;
	/*
	 * If a recording begins with records of this type, the device work of all recordings is
	 * kept.
	 */
	uint16_t announced_by;
	/*
	 * Return: whether to wake for a recording without the records that wake the feature. Called
	 * after the first pass.
	 */
	bool (*wakes)(const struct second_pass *p);
	int (*begin)(void *state, struct second_pass *p);	/* Called after the first pass. */
	/*
	 * Finds the range by the range id in a launch, wait or memory event. This wakes the
	 * feature. Return: like second_pass__range().
	 */
	int (*find_range)(void *state, struct model *m, uint32_t proc, uint32_t id,
			  uint32_t *range);
	/* Return: the range that was open on a thread at @time_ns. */
	uint32_t (*range_at)(void *state, uint32_t thread, uint64_t time_ns);
	/*
	 * Finds the call that made a piece of device work; a launch ran the work later. The records
	 * of this work have XPU_MISC_GRAPH_NODE. The feature wakes if it was asleep.
	 * Return: a number for move_work(); NO_INDEX: unknown.
	 */
	uint32_t (*find_maker)(void *state, struct second_pass *p, uint32_t proc,
			       const struct xpu_record *rec);
	/*
	 * Sets the member of @place that says which call made the work. May also replace the call
	 * path in @place, which is the path of the launch.
	 */
	int (*move_work)(void *state, struct second_pass *p, uint32_t maker,
			 struct work_place *place);
	/*
	 * Return: whether a launch has no device work because later launches run it, such as a
	 * launch that was captured into a graph. Counts such launches.
	 */
	bool (*runs_nothing)(void *state, struct second_pass *p, uint64_t key);
	/* Called for each event of NVTX ranges, thread by thread, before all launches. */
	int (*range)(void *state, struct second_pass *p, enum range_event event, uint32_t thread,
		     uint32_t range, uint64_t time_ns);
	/*
	 * Called before the second pass over the records, after all events of ranges. The hook may
	 * read the recording on its own. Like the other hooks up to close(), it may return the
	 * sink's error.
	 */
	int (*open)(void *state, struct second_pass *p, struct passes *passes);
	/* Called for each record of the second pass that no other code takes. */
	int (*record)(void *state, struct second_pass *p, const struct xpu_record *rec);
	/*
	 * Called for each launch, before its device work. Calls for other launches may come between
	 * the launch and its work.
	 */
	int (*launch)(void *state, struct second_pass *p, const struct placed_launch *launch);
	/*
	 * Called for each piece of device work, after its launch, and after the work was summed up.
	 */
	int (*work)(void *state, struct second_pass *p, const struct placed_work *work);
	/*
	 * Called in the second pass for each memory event; the caller is the feature "memory". The
	 * events of one process come in the order of their numbers, after the events of memory that
	 * was allocated before this file. No filter leaves out an event.
	 */
	int (*memory)(void *state, struct second_pass *p, const struct feature_memory *e);
	/*
	 * Return: whether the time of a thread's CPU sample belongs to this feature, which then
	 * counts the time itself. During the pass, true means that the time may belong to the
	 * feature. After last(), true means that it does.
	 */
	bool (*owns_sample)(void *state, uint32_t thread_id, uint64_t time_ns);
	/* Called for each CPU sample that counts. */
	int (*sample)(void *state, struct second_pass *p, const struct placed_sample *sample);
	int (*last)(void *state, struct second_pass *p);	/* Called after the last record. */
	int (*close)(void *state, struct second_pass *p);	/* Called after the last sample. */
	int (*settle)(void *state, struct second_pass *p);	/* Called after everything was read
								 * and losses were counted. */

	/* ---- all recordings */
	/* Adds a recording after its model and sums were added. May move the contents of @from. */
	int (*absorb)(void *state, void *from, struct remap *r);
	int (*finish)(void *state, struct session *s);

	/* Return: the labels of a process; NULL: it has none. At most one feature has this hook. */
	const struct labels *(*labels)(const void *state, uint32_t proc);

	/* ---- results; these get a session in which the feature may sleep */
	void (*answer)(const struct session *s, FILE *f, const struct feature_answer *a);
	void (*summary)(const struct session *s, FILE *f);	/* Writes lines below the first
								 * answer. */
	/* Prints lines about results that a filter left out. */
	void (*left_out)(const struct session *s, FILE *f);
	const struct section *const *sections;	/* tables of the summary; ended by NULL */
	/*
	 * These print JSON members of the page. The members of page_head() are in the head of a
	 * recording's data, and the members of page() follow the list of GPUs.
	 */
	int (*page_head)(const struct session *s, struct json_out *j);
	int (*page)(const struct session *s, struct json_out *j);
	/*
	 * Prints phrases about a kernel, each preceded by "; ". Return: 1 if the phrases may differ
	 * between GPUs, otherwise 0.
	 */
	int (*kernel)(const struct session *s, uint32_t leaf, FILE *f);
	/* Adds, for each kernel, its counters that have a standard error. */
	int (*kernel_values)(const struct session *s, kernel_values_t *values);
	/* Return: whether the recordings have data of the feature. */
	bool (*recorded)(const struct session *s);
	/*
	 * If the recordings have only data of this feature, prints their account. Return: whether
	 * the account was printed.
	 */
	bool (*account)(const struct session *s, FILE *f);
	/* Return: why an option of the feature leaves nothing to show; NULL: something is left. */
	const char *(*lacks)(const struct session *s);
	/*
	 * Sets *@nr and *@bytes to the number and the size of all allocations of an aggregate of
	 * leaf kind LEAF_MEMORY.
	 */
	void (*made)(const struct session *s, size_t aggregate, uint64_t *nr, uint64_t *bytes);
	const struct feature_counters *counters;
	/* Finds meter @i. Return: 1, 0 if the meter does not exist, or -ENOMEM. */
	int (*meter)(const struct session *s, size_t i, bool points, struct meter *meter);
	const struct feature_table *table;
	const struct feature_options *options;
	const struct feature_split *split;
	const struct feature_command *command;	/* the command has the feature's name */
};

#define FEATURE_DECLARE(name)	extern const struct feature name##_feature;
FEATURES(FEATURE_DECLARE)

/*
 * Indexed by enum feature_id; ended by NULL. An entry for an absent feature has only its name.
 */
extern const struct feature *features[];

/*
 * Calls a hook of each feature that is awake and has this hook, until a call fails. @states: the
 * features' states. Return: 0, or the hook's error.
 */
#define features_call(states, hook, ...) ({					\
	unsigned int id_;							\
	int err_ = 0;								\
										\
	for (id_ = 0; features[id_] && !err_; id_++)				\
		if ((states)[id_] && features[id_]->hook)			\
			err_ = features[id_]->hook((states)[id_], __VA_ARGS__);	\
	err_; })

/* Makes a feature's state for @m, unless the state exists. Return: 0 or -ENOMEM. */
int feature__wake(enum feature_id id, struct model *m, void **state);

/* Return: whether the recordings have data of any feature, even if filters leave them out. */
bool features__recorded(const struct session *s);

void features__free(void *const *states);

/* Adds the states @from to the states @to of @m. Return: 0 or -ENOMEM. */
int features__absorb(struct model *m, void **to, void *const *from, struct remap *r);

#endif /* MERGE_FEATURE_H */
