// SPDX-License-Identifier: GPL-3.0-or-later
#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmdline.h"
#include "complain.h"
#include "formats.h"
#include "suffix.h"
#include "util.h"
#include "version.h"
#include "write/text.h"

/*
 * The usage lines of the features' commands replace the first "%s", and the descriptions of these
 * commands replace the second "%s".
 */
static const char usage_format[] =
"usage: xpumerge [-i FILE] [-f FORMAT] [-o FILE] [OPTION...] [FILE...]\n"
"       xpumerge diff [-f folded|html|text] [-o FILE] [OPTION...] A B | A... vs B...\n"
"       xpumerge dump [-o FILE] [FILE]\n"
"%s"
"       xpumerge [--cpu FILE] --gpu FILE [-t MS] [-s] [-f FORMAT] [-o FILE] [OPTION...]\n"
"       xpumerge --nsys FILE [--cpu FILE] [-t ACTIVITY...] [-f FORMAT] [-o FILE] [OPTION...]\n"
"       xpumerge --cpu FILE [-f FORMAT] [-o FILE] [OPTION...] [RECORDING...]\n"
"\n"
"Joins the launches and the GPU work of recordings made by xpuload, by the id of each launch,\n"
"and writes a summary, folded stacks, a page or a timeline. Commands:\n"
"  diff   what differs between two recordings\n"
"  dump   each record of a recording as a line of text, with its offset\n"
"%s"
"\n";

static char usage[4096];

static const char footer[] =
"\n"
"Exit status: 0: success; 1: the recording is incomplete, no event passed the filters, or\n"
"--strict found a loss; 2: bad usage, damaged or unreadable input, or the output could not be\n"
"written. Whatever can be read of a damaged recording is written.\n";

/* options that users of perf report and nsys stats may try */
static const struct cmdline_habit habits[] = {
	{ "-r", "--table NAME picks a table" },
	{ "--report", "--table NAME picks a table" },
	{ "--stdio", "the summary, -f text, is the default" },
	{ "--tui", "the summary goes through $PAGER; -o x.html is a page to zoom and search in" },
	{ "-n", "each table has counts next to times" },
	{ "--children", "--table python_lines and -o x.html show times that include called "
			"functions" },
	{ "--no-children", "the tables show times that exclude called functions" },
	{ "--percent-limit", "--limit N sets the number of rows" },
	{ "--header", "the summary begins with that" },
	{ "--call-graph",
	  "call paths are always shown; --limit 0 --width 0 prints all of them uncut" },
	{ "-D", "xpumerge dump prints every record" },
	{ "-v", "xpumerge dump prints every record" },
	{ "-q", "2>/dev/null hides all messages" },
	{ NULL, NULL },
};

/* Words that users may type as a command, where a recording is expected. */
static const struct cmdline_habit no_commands[] = {
	{ "report", "xpumerge FILE prints the summary" },
	{ "stat", "xpumerge FILE prints the summary" },
	{ "stats", "xpumerge FILE prints the summary; --table NAME picks a table" },
	{ "merge", "xpumerge FILE... merges recordings" },
	{ "export", "-o FILE picks the format by the suffix of FILE" },
	{ "convert", "-o FILE picks the format by the suffix of FILE" },
	{ "script", "-f perf prints samples as perf script does" },
	{ "record", "xpuload COMMAND records a program" },
	{ "profile", "xpuload COMMAND records a program" },
	{ "help", "xpumerge --help, and the manual page xpumerge(1)" },
	{ "version", "xpumerge --version" },
	{ NULL, NULL },
};

/* ---- formats -------------------------------------------------------------------------------- */

#define ONE(id, name, suffix)	+ 1
#define MAX_FORMATS	(0 FORMATS(ONE))

#define MAX_WIDTH	100000
#define MAX_JOBS	1024
#define MIN_MAX_MEMORY	(32ull << 20)

/*
 * Return: the names of the formats that have all of @options, such as "folded, html and text".
 * @diff: only formats for diff
 */
static const char *formats__list(uint32_t options, bool diff, char buf[128])
{
	const char *names[MAX_FORMATS + 1] = { NULL };
	const struct named_format *f;
	size_t nr = 0;

	for (f = formats; f->name; f++)
		if (!(options & ~f->format->options) && (!diff || f->format->write_diff))
			names[nr++] = f->name;
	cmdline__join(buf, 128, names, " and ");
	return buf;
}

/* Lists the formats for --help, each in one or more lines. */
static void list_formats(char *buf, size_t size)
{
	const struct named_format *f;
	size_t len = 0;

	for (f = formats; f->name && len < size; f++)
		len += snprintf(buf + len, size - len, "%s%-8s %-11s %s", len ? "\n" : "",
				f->name, *f->suffix == '/' ? "DIR/" : f->suffix, f->format->help);
}

/* ---- one option ----------------------------------------------------------------------------- */

/* the commands for which an option has a meaning */
enum use {
	USE_ANY,
	USE_ALWAYS,			/* all commands accept the option, dump included */
	USE_MERGE,			/* a merge accepts the option, diff does not */
	USE_DIFF,
	USE_IMPORT,
	USE_GPU,
	USE_NSYS,
};

/* Prints that @arg is not one of the option's names, or not a valid number. */
static void complain_invalid(const struct cmdline_option *option, const char *arg)
{
	const char *const *names = cmdline__names(option);
	char expected[640];

	if (!names && option->max < 10000) {
		complain("--%s %s: expected a number from %" PRIu32 " to %" PRIu32, option->name,
			 arg, option->min, option->max);
		return;
	}
	if (!names) {
		complain("--%s %s: expected a number of at least %" PRIu32, option->name, arg,
			 option->min);
		return;
	}
	cmdline__expect(expected, sizeof(expected), option, arg);
	complain("--%s %s: %s", option->name, arg, expected);
}

static int set_filter(void *target, const struct cmdline_given *given)
{
	struct options *o = target;
	char why[128];
	int err = filter__set(&o->filter, given->option->value, given->arg, why);

	if (err)
		complain("--%s: %s", given->option->name,
			 err == -ENOMEM ? strerror(ENOMEM) : why);
	return err;
}

static int set_input(void *target, const struct cmdline_given *given)
{
	struct options *o = target;

	if (!*given->arg)
		return complain("a recording without a name: is a variable empty?");
	o->inputs[o->nr_inputs++] = given->arg;
	return 0;
}

static int set_fail_over(void *target, const struct cmdline_given *given)
{
	struct options *o = target;
	char *end;

	o->fail_over = strtod(given->arg, &end);
	end += *end == '%';
	if (isdigit((unsigned char)given->arg[0]) && !*end && o->fail_over <= 1e6)
		return 0;
	return complain("--fail-over %s: expected a percentage, such as 5%%", given->arg);
}

static int set_output(void *target, const struct cmdline_given *given)
{
	struct options *o = target;
	size_t i;

	for (i = 0; i < o->nr_outputs; i++) {
		if (strcmp(o->outputs[i], given->arg))
			continue;
		return complain("-o %s: twice", given->arg);
	}
	if (o->nr_outputs == o->which)
		o->output = given->arg;
	o->outputs[o->nr_outputs++] = given->arg;
	return 0;
}

static int set_format(void *target, const struct cmdline_given *given)
{
	struct options *o = target;
	int i = cmdline__find_name(given, given->arg);

	if (i < 0)
		return i;
	o->format = &formats[i];
	return 0;
}

static int set_by(void *target, const struct cmdline_given *given)
{
	struct options *o = target;
	const char *at = given->arg;
	char name[16];
	size_t len;
	int by;

	o->by_shape = false;
	for (o->write.by.nr = 0; ; at += len + 1) {
		len = strcspn(at, ",");
		snprintf(name, sizeof(name), "%.*s", (int)min_t(size_t, len, sizeof(name)), at);
		by = cmdline__find_name(given, name);
		if (by < 0)
			return by;
		if (options__has_by(o, by))
			return complain("--by: '%s' twice", name);
		if (by == BY_SHAPE)
			o->by_shape = true;
		else
			o->write.by.v[o->write.by.nr++] = by;
		if (!at[len])
			return 0;
	}
}

/* Sets -t: a number is a tolerance, names are activities; more names may follow. */
static int set_t(void *target, const struct cmdline_given *given)
{
	struct options *o = target;
	enum nsys_activity activity = nsys_activity__parse(given->arg);
	char *end, known[64];
	double ms;

	if (activity) {
		o->importer.opts.events.activities |= activity;
		while (optind < given->argc &&
		       (activity = nsys_activity__parse(given->argv[optind]))) {
			o->importer.opts.events.activities |= activity;
			optind++;
		}
		return 0;
	}
	ms = strtod(given->arg, &end);
	if (end == given->arg || *end || !(ms >= 0 && ms <= 1e6)) {
		cmdline__join(known, sizeof(known), nsys_activity_names, " or ");
		return complain("-t %s: expected a number of milliseconds, or %s", given->arg,
				known);
	}
	o->importer.opts.tolerance_ns = ms * 1e6;
	return 0;
}

static int set_max_memory(void *target, const struct cmdline_given *given)
{
	static const char units[] = "KMGT";
	struct options *o = target;
	const char *unit;
	char *end;
	double n = strtod(given->arg, &end);

	unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
	if (isdigit((unsigned char)given->arg[0]) && unit && !end[1])
		n *= 1ull << 10 * (unit - units + 1);
	else if (!isdigit((unsigned char)given->arg[0]) || *end)
		n = -1;
	if (!(n >= MIN_MAX_MEMORY && n <= INT64_MAX / 2))
		return complain("--max-memory %s: expected a size of 32M or more, such as 512M or "
				"4G", given->arg);
	o->max_memory = n;
	return 0;
}

/* Takes all arguments before the next option. */
static int set_prefixes(void *target, const struct cmdline_given *given)
{
	struct options *o = target;
	struct nsys_events_opts *e = &o->importer.opts.events;

	if (!e->prefixes)
		e->prefixes = calloc(given->argc + 1, sizeof(*e->prefixes));
	if (!e->prefixes) {
		complain("out of memory");
		return -ENOMEM;
	}
	e->prefixes[e->nr_prefixes++] = given->arg;
	while (optind < given->argc && given->argv[optind][0] != '-')
		e->prefixes[e->nr_prefixes++] = given->argv[optind++];
	return 0;
}

/* Takes a file of --gpu. There may be several files, one for each rank. */
static int take_gpu(struct import_opts *im, const char *file, size_t max)
{
	if (!im->gpu) {
		im->gpu = file;
		return 0;
	}
	if (!im->more_gpu)
		im->more_gpu = calloc(max, sizeof(*im->more_gpu));
	if (!im->more_gpu) {
		complain("out of memory");
		return -ENOMEM;
	}
	im->more_gpu[im->nr_more_gpu++] = file;
	return 0;
}

static int set_symfs(void *target, const struct cmdline_given *given)
{
	struct stat st;

	if (!stat(given->arg, &st) && S_ISDIR(st.st_mode))
		return cmdline__set_string(target, given);
	return complain("--symfs %s: expected a directory that exists", given->arg);
}

static int set_sort(void *target, const struct cmdline_given *given)
{
	struct options *o = target;

	const char *keys[TEXT_MAX_COLUMNS], *meant;

	o->write.sort = given->arg;
	if (text__has_column(NULL, given->arg, false))
		return 0;
	text__columns(NULL, keys);
	meant = cmdline__nearest(keys, given->arg);
	return complain("--sort %s: no table has such a column%s%s; expected a column such as "
			"count, avg or max_ns", given->arg, meant ? ", perhaps " : "", meant ?: "");
}

static int set_color(void *target, const struct cmdline_given *given)
{
	struct options *o = target;
	int i = given->arg ? cmdline__find_name(given, given->arg) : COLOR_ALWAYS;

	if (i >= 0)
		o->color = i;
	return i < 0 ? i : 0;
}

static int set_gpu(void *target, const struct cmdline_given *given)
{
	struct options *o = target;

	return take_gpu(&o->importer.opts, given->arg, given->argc + 1);
}

/* ---- all options ---------------------------------------------------------------------------- */

static const char *const unit_names[] = {
	[UNIT_NS] = "ns", [UNIT_US] = "us", [UNIT_MS] = "ms", [UNIT_SAMPLES] = "samples",
	[UNIT_COUNT] = "count", [UNIT_BYTES] = "bytes", NULL,
};

static const char *const python_names[] = {
	[PYTHON_SHORT] = "short", [PYTHON_FULL] = "full", [PYTHON_NO_LINE] = "no-line", NULL,
};

static const char *const color_names[] = {
	[COLOR_AUTO] = "auto", [COLOR_ALWAYS] = "always", [COLOR_NEVER] = "never", NULL,
};

static const char *const normalize_names[] = {
	[NORMALIZE_NONE] = "none", [NORMALIZE_TOTAL] = "total",
	[NORMALIZE_LAUNCHES] = "launches", NULL,
};

#define NAME(id, name, suffix)	name,
static const char *const format_names[] = { FORMATS(NAME) NULL };
#undef NAME

#define FILTER(kind)	.set = set_filter, .value = kind, .group = FORMAT_MERGED
#define MANY(kind)	FILTER(kind), .many = true

/*
 * In each row, .group is a FORMAT_* if only some formats have the option, and .use is a value of
 * enum use.
 */
static const struct cmdline_option rows[] = {
	{ "input", 'i', "FILE", .set = set_input, .many = true, .use = USE_ALWAYS,
	  .heading = "Common options:",
	  .help = "read the recording FILE (default xpu.data; - is standard input)" },
	{ "output", 'o', "FILE", .set = set_output, .many = true, .use = USE_ALWAYS,
	  .help = "write FILE (default: standard output). Its suffix picks the\n"
		  "format, .svg is a picture of folded. Add .gz to compress it.\n"
		  "Repeat -o to write several files" },
	{ "format", 'f', "FORMAT", .set = set_format, .names = format_names,
	  .help = "%s", .list = list_formats },
	{ "table", 0, "NAME", CMDLINE_WORD(write.table), .get_names = text__tables,
	  .group = FORMAT_TABLES, .use = USE_MERGE,
	  .help = "print only one table of the summary: %s" },
	{ "sort", 0, "COLUMN", .set = set_sort, .group = FORMAT_TABLES, .use = USE_MERGE,
	  .help = "sort tables by this column, by its title or key, such as\n"
		  "count, avg or max_ns (default: by time)" },
	{ "limit", 0, "N", CMDLINE_NUMBER(write.max_rows, 0, UINT32_MAX), .group = FORMAT_TABLES,
	  .help = "print N rows of each table, 0: all (default 20; all with\n"
		  "--csv and --json)" },
	{ "by", 0, "LIST", .set = set_by, .names = by_names, .group = FORMAT_BY,
	  .help = "begin each call path with these, such as --by rank,comm:\n"
		  "comm (default), host, pid, rank, node, pod, container, job,\n"
		  "tid, device, stream, nvtx (the open NVTX ranges). shape splits\n"
		  "kernels by grid, block and shared memory" },
	{ "from", 0, "TIME", FILTER(FILTER_FROM) },
	{ "to", 0, "TIME", FILTER(FILTER_TO),
	  .help = "keep only this part of the recording, counted from its start,\n"
		  "such as 1.5s or 20ms (units: ns, us, ms, s, m; default s)" },
	{ "help", 'h', .set = cmdline__help, .use = USE_ALWAYS,
	  .help = "print this help" },

	{ "unit", 0, "UNIT", CMDLINE_NAME(write.unit, unit_names), .group = FORMAT_UNIT,
	  .heading = "What to show:",
	  .help = "count time in ns, us (default) or ms; folded stacks also take\n"
		  "count (of kernels and copies), samples and bytes (copied)" },
	{ "gpu-only", CMDLINE_FLAG(gpu_only), .group = FORMAT_MERGED,
	  .help = "show launches and GPU work, not the threads" },
	{ "cpu-only", CMDLINE_FLAG(cpu_only), .group = FORMAT_MERGED,
	  .help = "show the threads, not launches and GPU work" },
	{ "waits", CMDLINE_FLAG(write.waits), .group = FORMAT_MERGED,
	  .help = "folded, .svg: also waits for GPUs and time off the CPU, under a\n"
		  "root of their own (other formats always have them)" },
	{ "inline", CMDLINE_FLAG(show_inline), .group = FORMAT_MERGED,
	  .help = "show inlined functions as frames" },
	{ "srcline", CMDLINE_FLAG(show_srcline), .group = FORMAT_MERGED,
	  .help = "show the file and line of each function" },
	{ "python-frames", 0, "HOW", CMDLINE_NAME(python_style, python_names),
	  .group = FORMAT_MERGED,
	  .help = "short: train.py:step:41 (default); full: with the path of the\n"
		  "file; no-line: train.py:step" },

	{ "pid", 0, "LIST", MANY(FILTER_PID),
	  .heading = "Where and when:" },
	{ "tid", 0, "LIST", MANY(FILTER_TID) },
	{ "comm", 0, "LIST", MANY(FILTER_COMM) },
	{ "device", 0, "LIST", MANY(FILTER_DEVICE) },
	{ "stream", 0, "LIST", MANY(FILTER_STREAM),
	  .help = "keep only these processes, ranks, threads, thread names,\n"
		  "devices or streams, such as 0,4-7" },
	{ "kernel", 0, "REGEX", MANY(FILTER_KERNEL),
	  .help = "keep only kernels whose names match" },
	{ "window", 0, "LIST", MANY(FILTER_WINDOW),
	  .help = "keep only these capture windows, by number" },

	{ "csv", CMDLINE_VALUE(write.table_format, TABLE_CSV), .group = FORMAT_TABLES,
	  .use = USE_MERGE, .heading = "Output:" },
	{ "json", CMDLINE_VALUE(write.table_format, TABLE_JSON), .group = FORMAT_TABLES,
	  .help = "print the summary's tables, or diff's verdict, for programs, with\n"
		  "times in ns" },
	{ "width", 0, "N", CMDLINE_NUMBER(width, 0, MAX_WIDTH), .group = FORMAT_TABLES,
	  .help = "print N characters a line; 0: cut nothing (default: the\n"
		  "terminal's width, $COLUMNS, or 80; 0 with -o)" },
	{ "color", 0, "[=WHEN]", .set = set_color, .names = color_names, .use = USE_ALWAYS,
	  .help = "use colors: auto (default: on a terminal, unless $NO_COLOR is\n"
		  "set), always or never" },
	{ "no-pager", CMDLINE_FLAG(no_pager), .use = USE_ALWAYS,
	  .help = "do not start $PAGER" },
	{ "strict", CMDLINE_FLAG(strict),
	  .help = "exit with status 1 if anything was lost, unmatched or unnamed" },
	{ "version", 'V', .set = cmdline__version, .use = USE_ALWAYS,
	  .help = "print the version" },

	{ "normalize", 0, "HOW", CMDLINE_NAME(normalize, normalize_names), .use = USE_DIFF,
	  .heading = "Comparing two recordings (xpumerge diff):",
	  .help = "scale A and B to the same number of launches (launches), to the\n"
		  "same total (total), or not at all (none, the default)" },
	{ "fail-over", 0, "PERCENT", .set = set_fail_over, .use = USE_DIFF,
	  .help = "exit with status 1 if call paths take over PERCENT more time\n"
		  "in B for each launch, beyond the noise, and print these paths;\n"
		  "such as 5%" },

	{ "gpu", 'g', "FILE", .set = set_gpu, .many = true, .use = USE_MERGE,
	  .heading = "Files of other tools, in place of a recording:",
	  .help = "read CUPTI's records: Chrome JSON (torch.profiler writes it with\n"
		  "call paths), JSON lines, or text. Repeat for more ranks" },
	{ "nsys", 0, "FILE", CMDLINE_STRING(importer.opts.nsys), .use = USE_MERGE,
	  .help = "read an SQLite export of Nsight Systems; -f chrome writes the\n"
		  "events of nsys2json" },
	{ "cpu", 'c', "FILE", CMDLINE_STRING(importer.opts.cpu), .use = USE_MERGE,
	  .help = "read CPU samples: perf.data, or the output of perf script;\n"
		  "alone, or with --gpu, --nsys or a recording. With --gpu\n"
		  "(default gpu_results.json) also the stacks of launches, in\n"
		  "lines 'timestamp_ns comm pid tid cpu frame;frame;...'" },
	{ "tolerance", 't', "MS", .set = set_t, .many = true,
	  .names = nsys_activity_names, .use = USE_IMPORT,
	  .help = "match a launch with a stack at most MS away, once the clocks'\n"
		  "offset is subtracted (default 10)" },
	{ "summary", 's', CMDLINE_FLAG(importer.opts.summary), .use = USE_GPU,
	  .help = "print more about the match" },
	{ "activity-type", 't', "ACTIVITY...", .set = set_t, .many = true,
	  .names = nsys_activity_names, .use = USE_IMPORT,
	  .help = "read these from --nsys: kernel, nvtx, nvtx-kernel, cuda-api\n"
		  "(default kernel nvtx-kernel)" },
	{ "nvtx-event-prefix", 0, "PREFIX...", .set = set_prefixes, .many = true, .use = USE_NSYS,
	  .help = "read only NVTX ranges whose names begin with a PREFIX" },
	{ "nvtx-color-scheme", 0, "JSON", CMDLINE_STRING(importer.opts.events.colors),
	  .use = USE_NSYS,
	  .help = "{\"REGEX\": \"COLOR\", ...}: color NVTX ranges by name" },

	{ "symfs", 0, "DIR", .set = set_symfs, .member = CMDLINE_MEMBER(const char *, symfs),
	  .group = FORMAT_MERGED,
	  .heading = "Expert options:",
	  .help = "look for programs and libraries below DIR instead of /" },
	{ "debug-dir", 0, "DIRS", CMDLINE_STRING(debug_dirs), .group = FORMAT_MERGED,
	  .help = "look for separate debug files in these directories, separated\n"
		  "by ':' (default /usr/lib/debug)" },
	{ "buildid-dir", 0, "DIR", CMDLINE_STRING(buildid_dir), .group = FORMAT_MERGED,
	  .help = "use this cache of perf (default ~/.debug)" },
	{ "no-trim", CMDLINE_FLAG(no_trim), .group = FORMAT_MERGED,
	  .help = "keep frames of CUDA, CUPTI, the shim and Python's interpreter" },
	{ "own-threads", CMDLINE_FLAG(own_threads), .group = FORMAT_MERGED,
	  .help = "keep the shim's own threads" },
	{ "freq", 'F', "HZ", CMDLINE_NUMBER(write.freq_hz, 1, UINT32_MAX), .group = FORMAT_FREQ,
	  .use = USE_MERGE,
	  .help = "with --unit samples: HZ samples are a second (default: the\n"
		  "recording's rate, or 99)" },
	{ "jobs", 'j', "N", CMDLINE_NUMBER(jobs, 1, MAX_JOBS),
	  .help = "read N recordings at a time (default: one per CPU); the output\n"
		  "is the same for all N" },
	{ "max-memory", 0, "SIZE", .set = set_max_memory, .use = USE_ALWAYS,
	  .help = "fail instead of using more memory, such as 512M or 4G\n"
		  "(default: half of the free memory)" },
};

/* The rows above and the options of features; options.given has a bit for each option. */
static struct cmdline_option all[CMDLINE_MAX_OPTIONS];

_Static_assert(ARRAY_SIZE(rows) < CMDLINE_MAX_OPTIONS, "some are left for features");

/* add_commands() appends the commands of features. */
static const char *commands[3 + NR_FEATURES + 1] = { "diff", "dump", "split" };

static struct cmdline cmdline = {
	.version = "xpumerge " XPU_VERSION,
	.usage = usage,
	.footer = footer,
	.column = 25, .columns = 88,
	.options = all,
	.commands = commands,
	.habits = habits,
	.error = complain,
	.invalid = complain_invalid,
};

/* ---- options and commands of features -------------------------------------------------------- */

/* Return: a feature's option with the name @name, or NULL. *@id: set to the feature's number. */
static const struct cmdline_option *features__option(const char *name, unsigned int *id)
{
	const struct feature_options *brought;
	size_t i;

	for (*id = 0; features[*id]; ++*id) {
		brought = features[*id]->options;
		for (i = 0; brought && i < brought->nr; i++)
			if (!strcmp(brought->rows[i].name, name))
				return &brought->rows[i];
	}
	return NULL;
}

static int set_of_feature(void *target, const struct cmdline_given *given)
{
	struct options *o = target;
	unsigned int id;
	const struct cmdline_option *option = features__option(given->option->name, &id);

	return option->set(o->values[id], given);
}

static void add_option(const struct cmdline_option *option)
{
	if (cmdline.nr_options < ARRAY_SIZE(all))
		all[cmdline.nr_options++] = *option;
}

/*
 * Makes the table of all options. A feature's options come after the option feature_options.after.
 */
static void add_options(void)
{
	const struct feature_options *brought;
	struct cmdline_option option;
	size_t i, k, row;

	cmdline.nr_options = 0;
	for (row = 0; row < ARRAY_SIZE(rows); row++) {
		add_option(&rows[row]);
		for (i = 0; features[i]; i++) {
			brought = features[i]->options;
			if (!brought || strcmp(brought->after, rows[row].name) != 0)
				continue;
			for (k = 0; k < brought->nr; k++) {
				option = brought->rows[k];
				option.set = option.set ? set_of_feature : set_filter;
				add_option(&option);
			}
		}
	}
}

/* Allocates the values of features' options. Return: 0 or -ENOMEM. */
static int options__make_values(struct options *o)
{
	size_t i;

	for (i = 0; features[i]; i++) {
		if (!features[i]->options || !features[i]->options->bytes)
			continue;
		o->values[i] = calloc(1, features[i]->options->bytes);
		if (!o->values[i])
			return -ENOMEM;
	}
	return 0;
}

/* Checks the options of features. */
static int options__check_features(struct options *o)
{
	const struct feature_line line = {
		.format = o->format, .write = &o->write, .by_shape = o->by_shape,
		.gpu_only = o->gpu_only, .cpu_only = o->cpu_only, .diff = o->diff,
		.complain = complain,
	};
	size_t i;
	int err = 0;

	for (i = 0; features[i] && !err; i++)
		if (features[i]->options && features[i]->options->check)
			err = features[i]->options->check(o->values[i], &line);
	return err;
}

/* Adds the commands of features to the usage and to the list of commands. */
static void add_commands(void)
{
	char lines[1024] = "", words[1024] = "";
	size_t i, nr = 3;

	for (i = 0; features[i]; i++) {
		const struct feature_command *c = features[i]->command;

		if (!c)
			continue;
		commands[nr++] = features[i]->name;
		snprintf(lines + strlen(lines), sizeof(lines) - strlen(lines),
			 "       xpumerge %s %s\n", features[i]->name, c->arguments);
		snprintf(words + strlen(words), sizeof(words) - strlen(words), "  %-6s %s\n",
			 features[i]->name, c->help);
	}
	snprintf(usage, sizeof(usage), usage_format, lines, words);
}

/* Return: the feature whose command has that name, or NULL. */
static const struct feature *command__find(const char *name)
{
	size_t i;

	for (i = 0; features[i]; i++)
		if (features[i]->command && !strcmp(features[i]->name, name))
			return features[i];
	return NULL;
}

/* Return: @list, filled with the names of a command's formats. */
static const char *command__formats(const struct feature_command *c, char list[128])
{
	const char *names[8] = { NULL };
	size_t i;

	for (i = 0; c->writers[i].format && i + 1 < ARRAY_SIZE(names); i++)
		names[i] = c->writers[i].format;
	cmdline__join(list, 128, names, " or ");
	return list;
}

const struct feature_writer *options__command_writer(const struct options *o)
{
	const struct feature_writer *w = o->command->command->writers;

	while (w->format && strcmp(w->format, o->format->name))
		w++;
	return w->format ? w : NULL;
}

const char *options__unit_name(const struct options *o)
{
	return unit_names[o->write.unit];
}

bool options__given(const struct options *o, const char *name)
{
	return cmdline__has(&cmdline, o->given, name);
}

bool options__has_by(const struct options *o, enum by by)
{
	uint32_t i;

	if (by == BY_SHAPE)
		return o->by_shape;
	for (i = 0; i < o->write.by.nr; i++)
		if (o->write.by.v[i] == by)
			return true;
	return false;
}

const char *options__instead(const char *name, char buf[OPTIONS_MAX_INSTEAD])
{
	const char *here = cmdline__habit(no_commands, name), *command = NULL;

	*buf = '\0';
	if (!here && !strpbrk(name, "./"))
		command = cmdline__nearest(commands, name);
	if (here)
		snprintf(buf, OPTIONS_MAX_INSTEAD, ": %s", here);
	else if (command)
		snprintf(buf, OPTIONS_MAX_INSTEAD, ": perhaps xpumerge %s", command);
	else if (!strcmp(name, "xpu.data"))
		snprintf(buf, OPTIONS_MAX_INSTEAD, ": xpuload makes one");
	return buf;
}

/* ---- options that exclude each other -------------------------------------------------------- */

static bool command__refuses(const struct feature_command *c, const struct cmdline_option *option)
{
	const char *const *name = c->refused;

	while (*name && strcmp(*name, option->name))
		name++;
	return *name || (c->no_filters && option->set == set_filter);
}

/* Return: why an option has no effect, or NULL. The text is valid until the next call. */
static const char *option__refuses(const struct cmdline_option *option, const struct options *o)
{
	static char why[64];
	const struct import_opts *im = &o->importer.opts;

	if (o->dump)
		return option->use == USE_ALWAYS ? NULL : "is not for dump";
	if (o->command && command__refuses(o->command->command, option)) {
		snprintf(why, sizeof(why), "is not for %s", o->command->name);
		return why;
	}
	switch (option->use) {
	case USE_MERGE:
		return o->diff ? "is not for diff" : NULL;
	case USE_DIFF:
		return o->diff ? NULL : "is for xpumerge diff";
	case USE_IMPORT:
		return importer__wanted(&o->importer) ? NULL : "is for --gpu and --nsys";
	case USE_GPU:
		return im->gpu || im->cpu ? NULL : "is for --gpu and --cpu";
	case USE_NSYS:
		return im->nsys ? NULL : "is for --nsys";
	case USE_ANY:
	case USE_ALWAYS:
		break;
	}
	return NULL;
}

/* Refuses options that would have no effect. */
static int options__check_given(const struct options *o)
{
	const char *why;
	char list[128];
	size_t i;

	for (i = 0; i < cmdline.nr_options; i++) {
		if (!(o->given & 1ull << i))
			continue;
		why = option__refuses(&all[i], o);
		if (why)
			return complain("--%s %s", all[i].name, why);
		if (all[i].group && o->importer.opts.events_only)
			return complain("--%s cannot change the events of an export of Nsight "
					"Systems: make a recording with -o x.data first",
					all[i].name);
		if (all[i].group & ~o->format->format->options)
			return complain("--%s is for -f %s", all[i].name,
					formats__list(all[i].group, o->diff, list));
	}
	return 0;
}

static int options__check_unit(const struct options *o)
{
	const struct format *format = o->format->format;
	uint32_t known = o->diff ? format->diff_units : format->units;

	if (known && !(known & 1u << o->write.unit))
		return complain("--unit %s is not for %s-f %s", unit_names[o->write.unit],
				o->diff ? "diff " : "", o->format->name);
	if (options__given(o, "freq") && o->write.unit != UNIT_SAMPLES)
		return complain("--freq is for --unit samples");
	if (o->write.table_format && o->write.unit_given)
		return complain("--unit is not for --csv and --json: their times are in ns");
	return 0;
}

static bool is_trace_name(const char *name)
{
	static const char *const suffixes[] = { ".json", ".json.gz", ".csv", ".db", ".rpd" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(suffixes); i++)
		if (has_suffix(name, suffixes[i]))
			return true;
	return false;
}

/*
 * Moves trace files from the inputs to --gpu: if the shell expands --gpu rank*.json, the second and
 * later files look like inputs.
 */
static int options__more_gpu(struct options *o)
{
	size_t i, nr = 0;
	int err;

	for (i = 0; i < o->nr_inputs; i++) {
		if (!is_trace_name(o->inputs[i])) {
			o->inputs[nr++] = o->inputs[i];
			continue;
		}
		err = take_gpu(&o->importer.opts, o->inputs[i], o->nr_inputs + 1);
		if (err)
			return err;
	}
	o->nr_inputs = nr;
	return 0;
}

/*
 * Finds the result files of other tools by the names that the tools' scripts use by default. Looks
 * for them only if -c is given alone, or if no recording exists.
 */
static void options__find_results(struct options *o)
{
	static const char cpu[] = "cpu_results.txt", gpu[] = "gpu_results.json";
	struct import_opts *im = &o->importer.opts;

	if (im->gpu || im->nsys || o->diff || o->nr_inputs || access(gpu, R_OK))
		return;
	if (!im->cpu) {
		if (!access("xpu.data", F_OK))
			return;
		im->cpu = access(cpu, R_OK) ? NULL : cpu;
	}
	im->gpu = gpu;
	complain("reads %s%s%s", im->cpu ?: "", im->cpu ? " and " : "", gpu);
}

/* Checks the options of an import, and adds the import to the inputs. */
static int options__complete_import(struct options *o)
{
	options__find_results(o);
	if (!importer__wanted(&o->importer))
		return 0;
	if (o->importer.opts.gpu && options__more_gpu(o))
		return -EINVAL;
	if (o->nr_inputs && (o->importer.opts.gpu || o->importer.opts.nsys))
		return complain("%s: a recording cannot be combined with --%s", o->inputs[0],
				importer__option(&o->importer));
	if (o->importer.opts.nsys && o->importer.opts.gpu)
		return complain("--nsys cannot be combined with --gpu");
	if (o->importer.opts.cpu && o->importer.opts.nr_more_gpu)
		return complain("--cpu goes with one --gpu: stacks of several files cannot be told "
				"apart");
	if (!o->importer.opts.nsys && o->importer.opts.events.activities)
		return complain("-t: activities are for --nsys; --gpu takes a number of "
				"milliseconds");
	if (o->nr_inputs && o->format->format->imported)
		return complain("%s: only imports are written as a recording, without other "
				"recordings", o->inputs[0]);
	/* The import comes after all other inputs. */
	o->inputs[o->nr_inputs++] = importer__name(&o->importer);
	o->importer.opts.events_only = o->importer.opts.nsys && !o->importer.opts.cpu &&
				       o->format->format->exports_events;
	o->importer.opts.srcline = o->show_srcline;
	o->importer.opts.buildid_dir = o->buildid_dir;
	return 0;
}

/*
 * Return: the format that the suffix of the output selects, or NULL. A requested table may have any
 * suffix; .json then means a table, not a timeline.
 */
static const struct named_format *options__format_of_output(const struct options *o)
{
	const struct named_format *f = format__of_file(o->output);

	if (!f && (o->write.table_format || o->write.table))
		return format__find("text");
	if (f && o->write.table_format == TABLE_JSON && f == format__find("chrome"))
		return format__find("text");
	return f;
}

/*
 * Refuses an output with a suffix of another format. A table may have any suffix, and any text
 * format may use .txt.
 */
static int options__check_suffix(const struct options *o)
{
	const struct named_format *by_name = o->output ? format__of_file(o->output) : NULL;
	const char *suffix = o->picture ? "folded" : by_name ? by_name->name : o->format->name;

	if (!strcmp(suffix, o->format->name) || o->write.table_format || o->write.table ||
	    (!strcmp(suffix, "text") && !o->format->format->binary) ||
	    (by_name && has_suffix(o->format->suffix, by_name->suffix)))
		return 0;
	return complain("-f %s -o %s: the name's suffix stands for %s: leave out -f, or take the "
			"suffix %s", o->format->name, o->output, o->picture ? "a picture" : suffix,
			o->format->suffix);
}

/* Picks the format by the suffix of the output, unless an option gave the format. */
static int options__pick_format(struct options *o)
{
	char meant[128];
	struct stat st;

	if (o->nr_outputs > 1 && (o->format || o->write.table_format || o->write.table))
		return complain("several -o pick formats by their suffixes: they cannot be "
				"combined with -f, --csv, --json or --table");

	if (o->output && !*o->output)
		return complain("-o: expected the name of a file");
	if (o->output && !strcmp(o->output, "-"))
		o->output = NULL;
	if (!o->format && !o->output)
		o->format = format__find("text");
	o->picture = o->output && has_suffix(o->output, ".svg");
	if (o->picture && !o->format)
		o->format = format__find("folded");
	if (o->format)
		return options__check_suffix(o);
	if (!stat(o->output, &st) && S_ISDIR(st.st_mode))
		o->format = format__find("parquet");
	else
		o->format = options__format_of_output(o);
	if (o->format)
		return 0;
	suffix__meant(o->output, format__suffixes(), meant, sizeof(meant));
	return complain("%s: no format has this suffix%s%s: give one with -f (--help lists them)",
			o->output, *meant ? ", " : "", meant);
}

/*
 * Checks that the format supports all properties that are given with --by. Return: 0, or -EINVAL
 * after a message.
 */
static int options__check_by(const struct options *o)
{
	char known[128] = "";
	uint32_t allowed = o->format->format->by;
	bool wrong = false;
	int by;

	for (by = 0; allowed && by < NR_BY; by++) {
		wrong |= options__has_by(o, by) && !(allowed & 1u << by);
		if (allowed & 1u << by)
			snprintf(known + strlen(known), sizeof(known) - strlen(known), "%s%s",
				 *known ? ", " : "", by_names[by]);
	}
	if (wrong)
		complain("--by with -f %s: expected one of: %s", o->format->name, known);
	if (wrong)
		return -EINVAL;
	if (o->by_shape && o->cpu_only)
		return complain("--by shape tells kernels apart: it cannot be combined with "
				"--cpu-only");
	return 0;
}

/* Checks the options of the command "dump", which takes one recording and writes text. */
static int options__complete_dump(struct options *o)
{
	/* With the format of a recording, only the owner may read the output. */
	o->format = format__find("data");
	if (options__check_given(o))
		return -EINVAL;
	o->compress = o->output && has_suffix(o->output, ".gz");
	if (o->nr_inputs > 1)
		return complain("dump prints one recording: xpumerge dump FILE");
	if (!o->nr_inputs)
		o->inputs[o->nr_inputs++] = "xpu.data";
	if (o->output && !strcmp(o->output, "-"))
		o->output = NULL;
	return 0;
}

/* Checks that standard input is only read for a single output. */
static int options__check_stdin(const struct options *o)
{
	size_t i;

	for (i = 0; i < o->nr_inputs && o->nr_outputs > 1; i++) {
		if (!o->inputs[i] || strcmp(o->inputs[i], "-"))
			continue;
		return complain("standard input can be read only once: with several -o, name a "
				"file");
	}
	return 0;
}

/* Checks that the table of --table has the column of --sort. */
static int options__check_sort(const struct options *o)
{
	const char *keys[TEXT_MAX_COLUMNS];
	char list[1024];

	if (!o->write.sort || !o->write.table ||
	    text__has_column(o->write.table, o->write.sort, false))
		return 0;
	text__columns(o->write.table, keys);
	cmdline__join(list, sizeof(list), keys, " or ");
	return complain("--sort %s: the table %s has no such column; expected %s", o->write.sort,
			o->write.table, list);
}

/* Divides diff's inputs: A B, or A... vs B... Return: 0 or -EINVAL after a message. */
static int options__split_sides(struct options *o)
{
	size_t i, at = 0;

	for (i = 0; i < o->nr_inputs && !at; i++)
		at = strcmp(o->inputs[i], "vs") ? 0 : i;
	if (at) {
		o->nr_inputs--;
		memmove(o->inputs + at, o->inputs + at + 1,
			(o->nr_inputs - at) * sizeof(*o->inputs));
	} else if (o->nr_inputs == TREE_SIDES) {
		at = 1;
	}
	if (at && at < o->nr_inputs) {
		o->nr_before = at;
		return 0;
	}
	return complain("diff compares two recordings, xpumerge diff A B, or several of each "
			"build, xpumerge diff A... vs B...");
}

static int options__complete(struct options *o)
{
	const struct format *format;
	char list[128];

	if (o->dump)
		return options__complete_dump(o);
	if (o->diff && options__split_sides(o))
		return -EINVAL;
	if (options__check_stdin(o) || options__pick_format(o) || options__complete_import(o))
		return -EINVAL;
	o->compress = format__compresses(o->format, o->output);
	format = o->format->format;
	if (format->as && !o->diff) {
		if (o->write.table_format && o->write.table_format != format->table_format)
			return complain("--json cannot be combined with %s %s",
					options__given(o, "format") ? "-f" : "-o",
					options__given(o, "format") ? o->format->name : o->output);
		o->write.table_format = o->write.table_format ?: format->table_format;
		o->format = format__named(format->as);
		format = format->as;
	}
	if (!o->nr_inputs)
		o->inputs[o->nr_inputs++] = "xpu.data";
	o->add_names = format->imported && !importer__wanted(&o->importer);
	if (o->add_names && (o->diff || o->command || o->nr_inputs > 1))
		return complain("-o FILE.data adds names to one recording: xpumerge -i %s -o "
				"FILE.data; -o x.html or -o x.txt makes one result of several",
				o->inputs[0]);
	if (o->gpu_only && o->cpu_only)
		return complain("--gpu-only and --cpu-only together show nothing");
	if (filter__given(&o->filter, FILTER_TO) && o->filter.to_ns <= o->filter.from_ns)
		return complain("--to: expected a time after --from");
	if (options__given(o, "fail-over") && o->write.unit != UNIT_US &&
	    o->write.unit != UNIT_NS && o->write.unit != UNIT_MS)
		return complain("--fail-over compares times: not with --unit %s",
				unit_names[o->write.unit]);
	if (o->picture && (o->diff || o->command))
		return complain("-o %s: no picture is drawn of this: take .html", o->output);
	if (o->diff && !format->write_diff)
		return complain("diff: expected one of the formats %s",
				formats__list(0, true, list));
	if (o->command && !options__command_writer(o))
		return complain("%s: expected -f %s", o->command->name,
				command__formats(o->command->command, list));
	if (o->command && o->command->command->no_lines && !options__given(o, "python-frames"))
		o->python_style = PYTHON_NO_LINE;
	o->write.unit_given = options__given(o, "unit");
	if (options__check_features(o))
		return -EINVAL;
	if (options__check_given(o) || options__check_unit(o))
		return -EINVAL;
	if (options__check_by(o))
		return -EINVAL;
	if (o->diff && (options__has_by(o, BY_PID) || options__has_by(o, BY_TID)))
		return complain("--by pid and tid are not for diff: two recordings have different "
				"pids and tids");
	if (options__check_sort(o))
		return -EINVAL;
	/*
	 * Tables for programs have all rows.
	 */
	if (o->write.table_format && !options__given(o, "limit"))
		o->write.max_rows = 0;
	if (format->open && !o->output)
		return complain("expected -o DIR/: %s is a directory of files", o->format->name);
	if (format->binary && !o->output && isatty(STDOUT_FILENO))
		return complain("expected -o FILE: this format is binary");
	return 0;
}

/* ---- the command line ----------------------------------------------------------------------- */

int options__parse(struct options *o, int argc, char **argv, size_t which)
{
	int err;

	*o = (struct options){
		.write = { .unit = UNIT_US, .max_rows = 20 },
		.importer.opts.tolerance_ns = 10000000,
	};
	/* There are at most as many inputs as arguments, or one default input. */
	o->inputs = calloc(argc + 1, sizeof(*o->inputs));
	o->outputs = calloc(argc + 1, sizeof(*o->outputs));
	o->which = which;
	if (!o->inputs || !o->outputs || options__make_values(o)) {
		complain("out of memory");
		return -ENOMEM;
	}
	add_options();
	add_commands();
	o->diff = argc > 1 && !strcmp(argv[1], "diff");
	o->dump = argc > 1 && !strcmp(argv[1], "dump");
	o->command = argc > 1 ? command__find(argv[1]) : NULL;
	if (o->diff || o->dump || o->command) {
		argv[1] = argv[0];
		argc--;
		argv++;
	}
	err = cmdline__parse(&cmdline, o, argc, argv, &o->given);
	if (err)
		return err;
	while (optind < argc)
		o->inputs[o->nr_inputs++] = argv[optind++];
	return options__complete(o);
}

void options__free(struct options *o)
{
	size_t i;

	for (i = 0; features[i]; i++)
		free(o->values[i]);
	importer__close(&o->importer);
	filter__free(&o->filter);
	free(o->inputs);
	free(o->outputs);
}
