/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * side.h - the file of --cpu: what threads did, to be told beside the work of devices
 *
 *	err = cpu_side__read(&side, "perf.txt", srcline, &msgs);
 *	...				the other side is told to the import, and then
 *	err = cpu_side__write(&side, &import, "trace.json", &msgs);
 *	cpu_side__exit(&side);
 *
 * perf's samples of CPU time become CPU samples; its stacks at probes on CUDA's functions become the
 * lines that twofile.h reads. A file of such lines is left to twofile.h as it is.
 */
#ifndef MERGE_CPU_SIDE_H
#define MERGE_CPU_SIDE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "import/import.h"
#include "import/input.h"
#include "import/perf/data.h"
#include "import/perf/script.h"
#include "import/perf/tell.h"
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
	struct input_file file;		/* of lines and of perf.data; else closed */
	struct script script;
	struct perf_data data;
	ARRAY(char) launches;		/* stacks of launches, as lines: ... */
	struct input_file lines;	/* ... those */
	uint64_t nr_launches;
	struct perf_told told;
	bool damaged;			/* the file's rest is missing */
	bool odd;			/* something could not be read */
};

/* Return: 0, -EINVAL with a message in @msgs, or -ENOMEM. cpu_side__exit() is due in any case. */
int cpu_side__read(struct cpu_side *c, const char *path, bool srcline, struct msgs *msgs);
void cpu_side__exit(struct cpu_side *c);

/* Return: the stacks of launches, as twofile.h reads them, owned by @c; NULL: there are none. */
struct input_file *cpu_side__lines(struct cpu_side *c);

/*
 * Tells the samples to @im, into processes and threads that it has already. The lines are gone then.
 * @other: the other side's file, or NULL
 * @beside: a recording that this one is put beside, or NULL
 * @buildid_dir: perf's cache of files, or NULL for its place
 * Return: 0, -EINVAL with a message in @msgs, or -ENOMEM.
 */
int cpu_side__write(struct cpu_side *c, struct import *im, const char *other,
		    const struct reader *beside, const char *buildid_dir, struct msgs *msgs);

void cpu_side__print(const struct cpu_side *c, FILE *f);

/* Reads @size bytes at @buf, which stay the caller's, as cpu_side__read() does a file; for tests. */
int cpu_side__read_mem(struct cpu_side *c, const char *buf, size_t size, bool srcline,
		       struct msgs *msgs);

#endif /* MERGE_CPU_SIDE_H */
