/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * options.h - xpumerge's command line
 */
#ifndef MERGE_OPTIONS_H
#define MERGE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "write/diff.h"
#include "model/filter.h"
#include "write/folded.h"
#include "import/importer.h"
#include "join/session.h"
#include "write/table.h"

enum format {
	FORMAT_NONE,
	FORMAT_FOLDED,
	FORMAT_CHROME,
	FORMAT_TEXT,
	FORMAT_PPROF,
	FORMAT_HTML,
	FORMAT_PERF,
	FORMAT_PFTRACE,
	FORMAT_DATA,			/* of an import: a recording */
	FORMAT_CSV,			/* text with TABLE_CSV, and called so */
	NR_FORMATS
};

struct options {
	const char **inputs;
	size_t nr_inputs;
	const char *output;		/* NULL: stdout */
	enum format format;
	enum unit unit;
	bool unit_given;
	uint32_t freq_hz;
	uint32_t max_rows;
	enum table_format table_format;
	const char *table;		/* NULL: all */
	enum graph_mode graph;
	struct by_list by;
	bool no_trim;
	enum python_style python_style;
	struct filter filter;
	bool show_inline, show_srcline;
	const char *symfs, *debug_dirs, *buildid_dir;
	bool gpu_only, cpu_only;
	bool strict;
	bool diff;			/* the command is "diff": two recordings */
	bool dump;			/* the command is "dump": records as text */
	enum normalize normalize;
	struct importer importer;
	uint64_t given;			/* options, by their place in the list of all */
};

/*
 * Return: 0, 1 if everything was said already, or -errno with all said. options__free() is due in
 * any case.
 */
int options__parse(struct options *o, int argc, char **argv);
void options__free(struct options *o);

/* Return: whether --by has @by. */
bool options__has_by(const struct options *o, enum by by);

#endif /* MERGE_OPTIONS_H */
