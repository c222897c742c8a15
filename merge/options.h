/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * options.h - xpumerge's command line
 */
#ifndef MERGE_OPTIONS_H
#define MERGE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "model/filter.h"
#include "import/importer.h"
#include "join/session.h"
#include "memory.h"
#include "write/diff.h"
#include "write/format.h"

enum color {
	COLOR_AUTO,
	COLOR_ALWAYS,
	COLOR_NEVER,
};

#define MAX_MOMENTS	256		/* of --at */

struct options {
	const char **inputs;
	size_t nr_inputs;
	const char **outputs;		/* of -o, each time that it was given */
	size_t nr_outputs;
	size_t which;			/* the one to write now, of several: */
	const char *output;		/* NULL: stdout */
	bool compress;			/* its name ends in .gz */
	const struct named_format *format;
	struct write_opts write;
	bool by_shape;			/* --by shape, which is not in write.by */
	enum graph_mode graph;
	bool no_trim, own_threads;
	enum python_style python_style;
	struct filter filter;
	bool show_inline, show_srcline;
	const char *symfs, *debug_dirs, *buildid_dir;
	bool gpu_only, cpu_only;
	uint32_t width;			/* --width, if it was given */
	enum color color;
	bool no_pager;
	enum memory_view view;
	uint64_t at_ns[MAX_MOMENTS];	/* --at; of diff, of each side */
	size_t nr_at;
	bool at_failure[MAX_MOMENTS];
	bool strict;
	bool diff;			/* the command is "diff": two recordings */
	bool ranks;			/* the command is "ranks": processes that communicate */
	bool dump;			/* the command is "dump": records as text */
	enum normalize normalize;
	double fail_over;		/* percent; see diff__print_grown() */
	struct importer importer;
	uint32_t jobs;			/* recordings to read at a time; 0: as many as there are CPUs */
	uint64_t max_memory;		/* bytes; 0: half of what is free */
	struct memory_limit memory;	/* main() sets it */
	uint64_t given;			/* the options that were given, as bits by place in the
					 * table */
};

/*
 * @argv: is changed
 * @which: the output to write, of those of -o
 *
 * Return: 0; 1 if nothing is left to do; or -errno after a message. The caller calls
 * options__free() in any case.
 */
int options__parse(struct options *o, int argc, char **argv, size_t which);
void options__free(struct options *o);

/* Return: whether an option of that name was given. */
bool options__given(const struct options *o, const char *name);

/* Return: whether --by has @by. */
bool options__has_by(const struct options *o, enum by by);

#endif /* MERGE_OPTIONS_H */
