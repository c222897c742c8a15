/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * side.h - adds the CPU samples and stacks of the file given with --cpu to an import of device work
 *
 *	err = cpu_side__read(&side, "perf.txt", srcline, &msgs);
 *	...				import the other side, and then
 *	err = cpu_side__write(&side, &import, "trace.json", &msgs);
 *	cpu_side__exit(&side);
 *
 * perf's samples of CPU time become CPU samples; perf's stacks at probes on CUDA functions become
 * lines for twofile.h. A file that consists of such lines is passed to twofile.h unchanged.
 */
#ifndef MERGE_CPU_SIDE_H
#define MERGE_CPU_SIDE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "import/import.h"
#include "import/input.h"
#include "import/perf/perf_data.h"
#include "import/perf/perf_records.h"
#include "import/perf/script.h"
#include "util.h"

enum cpu_side_kind {
	CPU_SIDE_NONE,
	CPU_SIDE_LINES,
	CPU_SIDE_SCRIPT,
	CPU_SIDE_DATA,
};

struct cpu_side {
	enum cpu_side_kind kind;
	const char *path;
	struct input_file file;		/* the file, if it consists of lines or is perf.data;
					 * otherwise closed */
	struct script script;
	struct perf_data data;
	ARRAY(char) launches;		/* the stacks of launches as lines of text */
	struct input_file lines;	/* the same lines as a file */
	uint64_t nr_launches;
	struct perf_told told;
	bool damaged;			/* the file is damaged: its end is missing */
	bool odd;			/* some input could not be read */
};

/*
 * Reads the file given with --cpu. Return: 0, -EINVAL with a message in @msgs, or -ENOMEM. The
 * caller must call cpu_side__exit(), even after a failure.
 */
int cpu_side__read(struct cpu_side *c, const char *path, bool srcline, struct msgs *msgs);
void cpu_side__exit(struct cpu_side *c);

/* Return: the stacks of launches, in twofile.h's form, owned by @c; NULL if the file has none. */
struct input_file *cpu_side__lines(struct cpu_side *c);

/*
 * Adds the samples to @im, whose processes and threads already exist. Frees the lines.
 * @other: the other side's file, or NULL
 * @beside: a recording that the import is merged with, or NULL
 * @buildid_dir: perf's build-id cache; NULL: the default directory
 * Return: 0, -EINVAL with a message in @msgs, or -ENOMEM.
 */
int cpu_side__write(struct cpu_side *c, struct import *im, const char *other,
		    const struct reader *beside, const char *buildid_dir, struct msgs *msgs);

void cpu_side__print(const struct cpu_side *c, FILE *f);

/*
 * Does the same as cpu_side__read(), but reads @size bytes at @buf, which the caller owns; for
 * tests.
 */
int cpu_side__read_mem(struct cpu_side *c, const char *buf, size_t size, bool srcline,
		       struct msgs *msgs);

#endif /* MERGE_CPU_SIDE_H */
