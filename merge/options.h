/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * options.h - xpumerge's command line
 */
#ifndef MERGE_OPTIONS_H
#define MERGE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "model/feature.h"
#include "model/filter.h"
#include "import/importer.h"
#include "join/session.h"
#include "memory_limit.h"
#include "write/diff.h"
#include "write/format.h"

enum color {
	COLOR_AUTO,
	COLOR_ALWAYS,
	COLOR_NEVER,
};

struct options {
	const char **inputs;
	size_t nr_inputs;
	size_t nr_before;		/* for diff: number of inputs that belong to A; the rest
					 * belong to B */
	const char **outputs;		/* the arguments of all -o */
	size_t nr_outputs;
	size_t which;			/* index of the output to write now, if there are several */
	const char *output;		/* NULL: stdout */
	bool compress;			/* the output's name ends in .gz */
	bool picture;			/* the output's name ends in .svg */
	const struct named_format *format;
	struct write_opts write;
	bool by_shape;			/* --by shape, which is not in write.by */
	bool no_trim, own_threads;
	enum python_style python_style;
	struct filter filter;
	bool show_inline, show_srcline;
	const char *symfs, *debug_dirs, *buildid_dir;
	bool gpu_only, cpu_only;
	uint32_t width;			/* argument of --width, if given */
	enum color color;
	bool no_pager;
	void *values[NR_FEATURES];	/* for each feature: the values of its options */
	bool strict;
	bool diff;			/* the command is "diff": compare recordings A and B */
	const struct feature *command;	/* the feature whose command was given; NULL: none */
	bool add_names;			/* write the recording again, with the names of its call
					 * paths */
	bool dump;			/* the command is "dump": records as text */
	enum normalize normalize;
	double fail_over;		/* percentage; see gate.h and diff__print_grown() */
	struct importer importer;
	uint32_t jobs;			/* number of recordings to read in parallel; 0: the number
					 * of CPUs */
	uint64_t max_memory;		/* limit in bytes; 0: half of the free memory */
	struct memory_limit memory;	/* the memory limit that main() sets */
	uint64_t given;			/* a bit for each option that was given */
};

/*
 * options__parse - parse the command line
 * @argv: is changed
 * @which: which of the outputs of -o to write
 *
 * Return: 0; 1 if nothing is left to do; or -errno after a message. The caller calls
 * options__free(), even after a failure.
 */
int options__parse(struct options *o, int argc, char **argv, size_t which);
void options__free(struct options *o);

/*
 * Return: the writer of the command's results in the format; NULL: the command has no such format.
 */
const struct feature_writer *options__command_writer(const struct options *o);

#define OPTIONS_MAX_INSTEAD	128

/*
 * Return: @buf, filled with advice (": ...", or "") for a user who named a recording that does not
 * exist.
 */
const char *options__instead(const char *name, char buf[OPTIONS_MAX_INSTEAD]);

/* Return: the argument of --unit, or its default. */
const char *options__unit_name(const struct options *o);

/* Return: whether the option called @name was given. */
bool options__given(const struct options *o, const char *name);

/* Return: whether --by has @by. */
bool options__has_by(const struct options *o, enum by by);

#endif /* MERGE_OPTIONS_H */
