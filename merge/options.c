// SPDX-License-Identifier: GPL-3.0-or-later
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmdline.h"
#include "complain.h"
#include "formats.h"
#include "version.h"
#include "write/text.h"

/* %1$s: the formats; %2$s: their suffixes. */
static const char usage[] =
"usage: xpumerge [-i FILE] [-f FORMAT] [-o FILE] [OPTION...] [FILE...]\n"
"       xpumerge diff [-f folded|html|text] [-o FILE] [OPTION...] A B\n"
"       xpumerge dump [-o FILE] [FILE]\n"
"       xpumerge [--cpu FILE] --gpu FILE [-t MS] [-s] [-f FORMAT] [-o FILE] [OPTION...]\n"
"       xpumerge --nsys FILE [-t ACTIVITY...] [-f FORMAT] [-o FILE] [OPTION...]\n"
"\n"
"Joins the launches and the device work of a recording made by xpuload, or of several,\n"
"and writes a summary, folded stacks or a timeline; diff: what differs between two;\n"
"dump: every record of one as a line of text, with its offset.\n"
"\n"
"  -i, --input FILE     the recording (default xpu.data; '-': standard input)\n"
"  -f, --format FORMAT  %1$s"
"  -o, --output FILE    write there; %2$s:\n"
"                       the suffix implies the format (default: standard output)\n"
"      --unit UNIT      ns, us (default) or ms of device time; folded also: count\n"
"                       of device records, samples at --freq, bytes of copies\n"
"      --by LIST        folded, html: what the root frames tell, of comm (default), host,\n"
"                       pid, tid, device, stream, nvtx (the ranges that were open at the\n"
"                       launch, a frame each, in pprof a label); as in --by pid,comm\n"
"  -F, --freq HZ        for --unit samples (default: as CPU samples were recorded, or 99)\n"
"      --gpu-only       launches and device work, not what threads did\n"
"      --cpu-only       what threads did, not launches and device work\n"
"      --graph MODE     work of CUDA graphs under the call path that made the node:\n"
"                       capture (default); that launched the graph: launch; or both\n"
"      --no-trim        keep the frames of CUDA, CUPTI, the shim and the Python\n"
"                       interpreter itself\n"
"      --python-frames HOW  short: train.py:step:41 (default); full: with the path of\n"
"                       the file; no-line: train.py:step\n"
"      --pid LIST, --tid LIST, --comm LIST, --device LIST, --stream LIST\n"
"                       only what is of one of them: numbers, or names of threads\n"
"      --kernel REGEX   only kernels with a name that matches\n"
"      --nvtx REGEX     only what was launched in NVTX ranges of which one has such a name\n"
"      --from TIME, --to TIME  only what began in between, counted from the start of the\n"
"                       recording: seconds, or with ns, us, ms, s or m\n"
"      --inline         inlined functions as frames of their own\n"
"      --srcline        file and line behind each function\n"
"      --symfs DIR      look for all files below DIR, as if it were /\n"
"      --debug-dir DIRS where separate debug files are, with ':' between directories\n"
"                       (default /usr/lib/debug)\n"
"      --buildid-dir DIR  perf's cache of files (default ~/.debug)\n"
"      --normalize HOW  diff: none (default); total: as if both had the same total;\n"
"                       launches: as if both had as many launches\n"
"      --csv, --json    the tables of the summary for programs, with times in ns\n"
"      --table NAME     of them only this one: kernels, memory_time, memory_size,\n"
"                       api_calls, launch_sites, cpu_functions, nvtx_ranges, devices,\n"
"                       streams, threads or idle\n"
"      --limit N        rows of each table of the summary, 0: all (default 20; for --csv\n"
"                       and --json 0)\n"
"      --strict         exit with status 1 if anything is lost, unmatched or unnamed\n"
"  -g, --gpu FILE       in place of a recording: CUPTI's records as other tools write\n"
"                       them: Chrome JSON (PyTorch's profiler: with call paths), JSON\n"
"                       lines or text; more than once: a file of each rank\n"
"  -c, --cpu FILE       and the stacks of its launches, which are matched by time: lines\n"
"                       'timestamp_ns comm pid tid cpu frame;frame;...'; without -g that is\n"
"                       gpu_results.json\n"
"  -t, --tolerance MS   how far from its launch a stack may be once the offset between\n"
"                       the clocks is taken off (default 10)\n"
"  -s, --summary        tell more about the match\n"
"      --nsys FILE      in place of a recording: an export of Nsight Systems to SQLite;\n"
"                       -f chrome writes the events of nsys2json\n"
"  -t, --activity-type ACTIVITY...  of them kernel, nvtx, nvtx-kernel or cuda-api\n"
"                       (default kernel nvtx-kernel)\n"
"      --nvtx-event-prefix PREFIX...  of NVTX ranges only those with such names\n"
"      --nvtx-color-scheme JSON  {\"REGEX\": \"COLOR\", ...} for NVTX ranges\n"
"  -V, --version        print the version\n"
"  -h, --help           print this\n"
"\n"
"Exit status: 0 fine, 1 the recording is cut off or was not closed, or something is\n"
"missing and --strict was given, 2 bad usage, input that cannot be read or is damaged,\n"
"or output that could not be written. What a cut or damaged recording has is written.\n";

/* perf report's and nsys stats's. */
static const struct cmdline_habit habits[] = {
	{ "-r", "--table NAME picks a table" },
	{ "--report", "--table NAME picks a table" },
	{ "--stdio", "the summary, -f text, is the default" },
	{ "--sort", "tables are sorted by time" },
	{ NULL, NULL },
};

/* ---- formats -------------------------------------------------------------------------------- */

/* The names of the formats that have all of @options, and are for diff: "folded, html and text". */
static const char *formats__list(uint32_t options, bool diff, char buf[128])
{
	const struct named_format *f, *last = NULL;
	size_t len = 0;

	for (f = formats; f->name; f++) {
		if (options & ~f->format->options || (diff && !f->format->write_diff))
			continue;
		if (last)
			len += snprintf(buf + len, 128 - len, "%s%s", len ? ", " : "", last->name);
		last = f;
	}
	snprintf(buf + len, 128 - len, "%s%s", len ? " and " : "", last->name);
	return buf;
}

#define HELP_COLUMN	23

/* Adds to @buf the formats, a line or more for each, from HELP_COLUMN on. */
static void help__formats(char *buf, size_t size)
{
	const struct named_format *f;
	const char *at, *end;
	size_t len = 0;

	for (f = formats; f->name; f++) {
		len += snprintf(buf + len, size - len, "%*s%s: ", len ? HELP_COLUMN : 0, "", f->name);
		for (at = f->format->help; *at; at = *end ? end + 1 : end) {
			end = strchrnul(at, '\n');
			len += snprintf(buf + len, size - len, "%*s%.*s\n",
					at == f->format->help ? 0 : HELP_COLUMN, "",
					(int)(end - at), at);
		}
	}
}

static void print_usage(void)
{
	char list[2048] = "", suffixes[512] = "";

	help__formats(list, sizeof(list));
	formats__suffixes(suffixes, sizeof(suffixes), "", HELP_COLUMN + strlen("write there; "),
			  HELP_COLUMN);
	printf(usage, list, suffixes);
}

/* ---- one option ----------------------------------------------------------------------------- */

/* When an option means something. */
enum use {
	USE_ANY,
	USE_ALWAYS,			/* with dump, too */
	USE_MERGE,			/* not with diff */
	USE_DIFF,
	USE_IMPORT,
	USE_GPU,
	USE_NSYS,
};

struct args {
	int argc;
	char **argv;
	const char *arg;		/* of the option itself */
};

struct spec {
	const char *name;
	int letter;			/* 0: none */
	bool has_arg;
	/* Return: 0, 1 if that was all, or -errno with all said. */
	int (*set)(struct options *o, const struct spec *spec, const struct args *args);
	uint32_t options;		/* FORMAT_*: the group that it is of; 0: of all formats */
	enum use use;
	size_t member;			/* of struct options, for the simple ones */
	const char *const *names;	/* set_name(): what it may be, up to a NULL */
	uint32_t value;			/* set_value(), set_number(): the least */
};

#define MEMBER(o, spec, type)	((type *)((char *)(o) + (spec)->member))

static int set_string(struct options *o, const struct spec *spec, const struct args *args)
{
	*MEMBER(o, spec, const char *) = args->arg;
	return 0;
}

static int set_true(struct options *o, const struct spec *spec, const struct args *args)
{
	(void)args;
	*MEMBER(o, spec, bool) = true;
	return 0;
}

static int set_value(struct options *o, const struct spec *spec, const struct args *args)
{
	(void)args;
	*MEMBER(o, spec, unsigned int) = spec->value;
	return 0;
}

static int set_number(struct options *o, const struct spec *spec, const struct args *args)
{
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(args->arg, &end, 10);
	if (errno || *args->arg < '0' || *args->arg > '9' || *end || value < spec->value ||
	    value > UINT32_MAX) {
		complain("--%s: '%s' is not a number from %" PRIu32 " on", spec->name, args->arg,
			 spec->value);
		return -EINVAL;
	}
	*MEMBER(o, spec, uint32_t) = value;
	return 0;
}

/* Return: which of the names it is, or -EINVAL, with all said. */
static int find_name(const struct spec *spec, const char *name)
{
	char known[256] = "";
	int i;

	for (i = 0; spec->names[i]; i++)
		if (!strcmp(spec->names[i], name))
			return i;
	for (i = 0; spec->names[i]; i++)
		snprintf(known + strlen(known), sizeof(known) - strlen(known), "%s%s",
			 !i ? "" : spec->names[i + 1] ? ", " : " and ", spec->names[i]);
	complain("unknown --%s '%s': %s are known", spec->name, name, known);
	return -EINVAL;
}

static int set_name(struct options *o, const struct spec *spec, const struct args *args)
{
	int i = find_name(spec, args->arg);

	if (i < 0)
		return i;
	*MEMBER(o, spec, unsigned int) = i;
	return 0;
}

static int set_filter(struct options *o, const struct spec *spec, const struct args *args)
{
	char why[128];
	int err = filter__set(&o->filter, spec->value, args->arg, why);

	if (err)
		complain("--%s: %s", spec->name, err == -ENOMEM ? strerror(ENOMEM) : why);
	return err;
}

static int set_input(struct options *o, const struct spec *spec, const struct args *args)
{
	(void)spec;
	o->inputs[o->nr_inputs++] = args->arg;
	return 0;
}

static int set_format(struct options *o, const struct spec *spec, const struct args *args)
{
	char list[128];

	(void)spec;
	o->format = format__find(args->arg);
	if (o->format)
		return 0;
	complain("unknown --format '%s': %s are known", args->arg, formats__list(0, false, list));
	return -EINVAL;
}

static int set_by(struct options *o, const struct spec *spec, const struct args *args)
{
	const char *at = args->arg;
	char name[16];
	size_t len;
	int by;

	for (o->write.by.nr = 0; ; at += len + 1) {
		len = strcspn(at, ",");
		snprintf(name, sizeof(name), "%.*s", (int)min_t(size_t, len, sizeof(name)), at);
		by = find_name(spec, name);
		if (by < 0)
			return by;
		if (options__has_by(o, by)) {
			complain("--by: '%s' twice", name);
			return -EINVAL;
		}
		o->write.by.v[o->write.by.nr++] = by;
		if (!at[len])
			return 0;
	}
}

static int set_table(struct options *o, const struct spec *spec, const struct args *args)
{
	const char *names[TEXT_MAX_TABLES + 1] = { NULL };
	struct spec tables = *spec;

	text__tables(names);
	tables.names = names;
	if (find_name(&tables, args->arg) < 0)
		return -EINVAL;
	o->write.table = args->arg;
	return 0;
}

/* -t: a number is a tolerance, names are activities; more of them may follow. */
static int set_t(struct options *o, const struct spec *spec, const struct args *args)
{
	enum nsys_activity activity = nsys_activity__parse(args->arg);
	char *end;
	double ms;

	(void)spec;
	if (activity) {
		o->importer.opts.events.activities |= activity;
		while (optind < args->argc &&
		       (activity = nsys_activity__parse(args->argv[optind]))) {
			o->importer.opts.events.activities |= activity;
			optind++;
		}
		return 0;
	}
	ms = strtod(args->arg, &end);
	if (end == args->arg || *end || !(ms >= 0 && ms <= 1e6)) {
		complain("-t: '%s' is neither a number of milliseconds nor one of kernel, nvtx, "
			 "nvtx-kernel and cuda-api", args->arg);
		return -EINVAL;
	}
	o->importer.opts.tolerance_ns = ms * 1e6;
	return 0;
}

/* All arguments up to the next option. */
static int set_prefixes(struct options *o, const struct spec *spec, const struct args *args)
{
	struct nsys_events_opts *e = &o->importer.opts.events;

	(void)spec;
	if (!e->prefixes)
		e->prefixes = calloc(args->argc + 1, sizeof(*e->prefixes));
	if (!e->prefixes) {
		complain("out of memory");
		return -ENOMEM;
	}
	e->prefixes[e->nr_prefixes++] = args->arg;
	while (optind < args->argc && args->argv[optind][0] != '-')
		e->prefixes[e->nr_prefixes++] = args->argv[optind++];
	return 0;
}

static int show_version(struct options *o, const struct spec *spec, const struct args *args)
{
	(void)o, (void)spec, (void)args;
	puts("xpumerge " XPU_VERSION);
	return 1;
}

static int show_help(struct options *o, const struct spec *spec, const struct args *args)
{
	(void)o, (void)spec, (void)args;
	print_usage();
	return 1;
}

/* The first one, and more of them: a file of each rank. */
static int set_gpu(struct options *o, const struct spec *spec, const struct args *args)
{
	struct import_opts *im = &o->importer.opts;

	(void)spec;
	if (!im->gpu) {
		im->gpu = args->arg;
		return 0;
	}
	if (!im->more_gpu)
		im->more_gpu = calloc(args->argc + 1, sizeof(*im->more_gpu));
	if (!im->more_gpu) {
		complain("out of memory");
		return -ENOMEM;
	}
	im->more_gpu[im->nr_more_gpu++] = args->arg;
	return 0;
}

/* ---- all options ---------------------------------------------------------------------------- */

static const char *const unit_names[] = {
	[UNIT_NS] = "ns", [UNIT_US] = "us", [UNIT_MS] = "ms", [UNIT_SAMPLES] = "samples",
	[UNIT_COUNT] = "count", [UNIT_BYTES] = "bytes", NULL,
};

static const char *const by_names[NR_BY + 1] = {
	[BY_COMM] = "comm", [BY_HOST] = "host", [BY_PID] = "pid", [BY_TID] = "tid",
	[BY_DEVICE] = "device", [BY_STREAM] = "stream", [BY_NVTX] = "nvtx",
};

static const char *const graph_names[] = {
	[GRAPH_CAPTURE] = "capture", [GRAPH_LAUNCH] = "launch", [GRAPH_BOTH] = "both", NULL,
};

static const char *const python_names[] = {
	[PYTHON_SHORT] = "short", [PYTHON_FULL] = "full", [PYTHON_NO_LINE] = "no-line", NULL,
};

static const char *const normalize_names[] = {
	[NORMALIZE_NONE] = "none", [NORMALIZE_TOTAL] = "total",
	[NORMALIZE_LAUNCHES] = "launches", NULL,
};

#define FLAG(m)		.set = set_true, .member = offsetof(struct options, m)
#define VALUE(m, v)	.set = set_value, .member = offsetof(struct options, m), .value = v
#define ARG(function)	.has_arg = true, .set = function
#define STRING(m)	ARG(set_string), .member = offsetof(struct options, m)
#define NUMBER(m, min)	ARG(set_number), .member = offsetof(struct options, m), .value = min
#define NAME(m, list)	ARG(set_name), .member = offsetof(struct options, m), .names = list
#define FILTER(kind)	ARG(set_filter), .value = kind, .options = FORMAT_MERGED

static const struct spec specs[] = {
	{ "input", 'i', ARG(set_input), .use = USE_ALWAYS },
	{ "format", 'f', ARG(set_format) },
	{ "output", 'o', STRING(output), .use = USE_ALWAYS },
	{ "unit", NAME(write.unit, unit_names), .options = FORMAT_UNIT },
	{ "by", ARG(set_by), .names = by_names, .options = FORMAT_BY },
	{ "freq", 'F', NUMBER(write.freq_hz, 1), .options = FORMAT_FREQ, .use = USE_MERGE },
	{ "gpu-only", FLAG(gpu_only), .options = FORMAT_MERGED },
	{ "cpu-only", FLAG(cpu_only), .options = FORMAT_MERGED },
	{ "graph", NAME(graph, graph_names), .options = FORMAT_MERGED },
	{ "no-trim", FLAG(no_trim), .options = FORMAT_MERGED },
	{ "python-frames", NAME(python_style, python_names), .options = FORMAT_MERGED },
	{ "pid", FILTER(FILTER_PID) },
	{ "tid", FILTER(FILTER_TID) },
	{ "comm", FILTER(FILTER_COMM) },
	{ "device", FILTER(FILTER_DEVICE) },
	{ "stream", FILTER(FILTER_STREAM) },
	{ "kernel", FILTER(FILTER_KERNEL) },
	{ "nvtx", FILTER(FILTER_NVTX) },
	{ "from", FILTER(FILTER_FROM) },
	{ "to", FILTER(FILTER_TO) },
	{ "inline", FLAG(show_inline), .options = FORMAT_MERGED },
	{ "srcline", FLAG(show_srcline), .options = FORMAT_MERGED },
	{ "symfs", STRING(symfs), .options = FORMAT_MERGED },
	{ "debug-dir", STRING(debug_dirs), .options = FORMAT_MERGED },
	{ "buildid-dir", STRING(buildid_dir), .options = FORMAT_MERGED },
	{ "normalize", NAME(normalize, normalize_names), .use = USE_DIFF },
	{ "csv", VALUE(write.table_format, TABLE_CSV), .options = FORMAT_TABLES, .use = USE_MERGE },
	{ "json", VALUE(write.table_format, TABLE_JSON), .options = FORMAT_TABLES, .use = USE_MERGE },
	{ "table", ARG(set_table), .options = FORMAT_TABLES, .use = USE_MERGE },
	{ "limit", NUMBER(write.max_rows, 0), .options = FORMAT_TABLES },
	{ "strict", FLAG(strict) },
	{ "gpu", 'g', ARG(set_gpu), .use = USE_MERGE },
	{ "cpu", 'c', STRING(importer.opts.cpu), .use = USE_MERGE },
	{ "tolerance", 't', ARG(set_t), .use = USE_IMPORT },
	{ "activity-type", 't', ARG(set_t), .use = USE_IMPORT },
	{ "summary", 's', FLAG(importer.opts.summary), .use = USE_GPU },
	{ "nsys", STRING(importer.opts.nsys), .use = USE_MERGE },
	{ "nvtx-event-prefix", ARG(set_prefixes), .use = USE_NSYS },
	{ "nvtx-color-scheme", STRING(importer.opts.events.colors), .use = USE_NSYS },
	{ "version", 'V', .set = show_version, .use = USE_ALWAYS },
	{ "help", 'h', .set = show_help, .use = USE_ALWAYS },
};

static bool options__given(const struct options *o, const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(specs); i++)
		if (!strcmp(specs[i].name, name))
			return o->given & 1ull << i;
	return false;
}

bool options__has_by(const struct options *o, enum by by)
{
	uint32_t i;

	for (i = 0; i < o->write.by.nr; i++)
		if (o->write.by.v[i] == by)
			return true;
	return false;
}

/* ---- what goes with what -------------------------------------------------------------------- */

/* Return: why an option has nothing to do, or NULL. */
static const char *spec__refuses(const struct spec *spec, const struct options *o)
{
	const struct import_opts *im = &o->importer.opts;

	if (o->dump)
		return spec->use == USE_ALWAYS ? NULL : "is not for dump";
	switch (spec->use) {
	case USE_MERGE:
		return o->diff ? "is not for diff" : NULL;
	case USE_DIFF:
		return o->diff ? NULL : "is for xpumerge diff";
	case USE_IMPORT:
		return importer__wanted(&o->importer) ? NULL : "is for --gpu and --nsys";
	case USE_GPU:
		return im->gpu ? NULL : "is for --gpu";
	case USE_NSYS:
		return im->nsys ? NULL : "is for --nsys";
	case USE_ANY:
	case USE_ALWAYS:
		break;
	}
	return NULL;
}

/* Nothing that was asked for is passed over in silence. */
static int options__check_given(const struct options *o)
{
	const char *why;
	char list[128];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(specs); i++) {
		if (!(o->given & 1ull << i))
			continue;
		why = spec__refuses(&specs[i], o);
		if (why) {
			complain("--%s %s", specs[i].name, why);
			return -EINVAL;
		}
		if (specs[i].options && o->importer.opts.events_only) {
			complain("--%s is not for what Nsight Systems exported as it is: "
				 "-o x.data makes a recording of it", specs[i].name);
			return -EINVAL;
		}
		if (specs[i].options & ~o->format->format->options) {
			complain("--%s is for -f %s", specs[i].name,
				 formats__list(specs[i].options, o->diff, list));
			return -EINVAL;
		}
	}
	return 0;
}

static int options__check_unit(const struct options *o)
{
	const struct format *format = o->format->format;
	uint32_t known = o->diff ? format->diff_units : format->units;

	if (known && !(known & 1u << o->write.unit)) {
		complain("--unit %s is not for %s-f %s", unit_names[o->write.unit],
			 o->diff ? "diff " : "", o->format->name);
		return -EINVAL;
	}
	if (options__given(o, "freq") && o->write.unit != UNIT_SAMPLES) {
		complain("--freq is for --unit samples");
		return -EINVAL;
	}
	if (o->write.table_format && o->write.unit_given) {
		complain("--unit is not for --csv and --json: their times are in ns");
		return -EINVAL;
	}
	return 0;
}

static bool is_trace_name(const char *name)
{
	static const char *const suffixes[] = { ".json", ".json.gz" };
	size_t i, len = strlen(name), suffix_len;

	for (i = 0; i < ARRAY_SIZE(suffixes); i++) {
		suffix_len = strlen(suffixes[i]);
		if (len > suffix_len && !strcmp(name + len - suffix_len, suffixes[i]))
			return true;
	}
	return false;
}

/* As in --gpu rank*.json: what the shell makes of it. */
static int options__more_gpu(struct options *o)
{
	size_t i, nr = 0;
	int err;

	for (i = 0; i < o->nr_inputs; i++) {
		const struct args args = { .argc = o->nr_inputs, .arg = o->inputs[i] };

		if (!is_trace_name(o->inputs[i])) {
			o->inputs[nr++] = o->inputs[i];
			continue;
		}
		err = set_gpu(o, NULL, &args);
		if (err)
			return err;
	}
	o->nr_inputs = nr;
	return 0;
}

/*
 * The files that the programs from which these formats come write, and their scripts read unless told
 * otherwise: with -c alone, or where there is no recording.
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

/* What is imported takes the place of a recording. */
static int options__complete_import(struct options *o)
{
	options__find_results(o);
	if (!importer__wanted(&o->importer))
		return 0;
	if (o->importer.opts.gpu && options__more_gpu(o))
		return -EINVAL;
	if (o->nr_inputs) {
		complain("%s: a recording beside --%s: one or the other", o->inputs[0],
			 importer__option(&o->importer));
		return -EINVAL;
	}
	if (o->importer.opts.nsys && (o->importer.opts.cpu || o->importer.opts.gpu)) {
		complain("--nsys beside --cpu or --gpu: one or the other");
		return -EINVAL;
	}
	if (o->importer.opts.cpu && o->importer.opts.nr_more_gpu) {
		complain("--cpu goes with one --gpu: stacks of several files cannot be told apart");
		return -EINVAL;
	}
	if (!o->importer.opts.nsys && !o->importer.opts.gpu) {
		complain("--cpu has stacks only: give the device records with --gpu");
		return -EINVAL;
	}
	if (!o->importer.opts.nsys && o->importer.opts.events.activities) {
		complain("-t: activities are for --nsys; --gpu takes a number of milliseconds");
		return -EINVAL;
	}
	o->inputs[o->nr_inputs++] = importer__name(&o->importer);
	o->importer.opts.events_only = o->importer.opts.nsys && o->format->format->exports_events;
	return 0;
}

/* By the suffix of what is written, unless it was given: tables are of one format. */
static int options__pick_format(struct options *o)
{
	if (o->output && !strcmp(o->output, "-"))
		o->output = NULL;
	if (!o->format && (!o->output || o->write.table_format || o->write.table))
		o->format = format__find("text");
	if (o->format)
		return 0;
	o->format = format__of_file(o->output);
	if (o->format)
		return 0;
	complain(strstr(o->output, ".svg") ?
		 "%s: fold.sh --svg, in scripts/ or lib/xpuload/, draws one; or take .html" :
		 "%s: no format has this suffix: give one with -f (--help lists them)", o->output);
	return -EINVAL;
}

/* The command "dump" takes one recording and writes text. */
static int options__complete_dump(struct options *o)
{
	/* As private as the recording. */
	o->format = format__find("data");
	if (options__check_given(o))
		return -EINVAL;
	if (o->nr_inputs > 1) {
		complain("dump prints one recording: xpumerge dump FILE");
		return -EINVAL;
	}
	if (!o->nr_inputs)
		o->inputs[o->nr_inputs++] = "xpu.data";
	if (o->output && !strcmp(o->output, "-"))
		o->output = NULL;
	return 0;
}

static int options__complete(struct options *o)
{
	const struct format *format;
	char list[128];

	if (o->dump)
		return options__complete_dump(o);
	if (o->diff && o->nr_inputs != TREE_SIDES) {
		complain("diff compares two recordings: xpumerge diff A B");
		return -EINVAL;
	}
	if (options__pick_format(o) || options__complete_import(o))
		return -EINVAL;
	format = o->format->format;
	if (format->as && !o->diff) {
		o->write.table_format = o->write.table_format ?: format->table_format;
		o->format = format__named(format->as);
		format = format->as;
	}
	if (!o->nr_inputs)
		o->inputs[o->nr_inputs++] = "xpu.data";
	if (format->imported && !importer__wanted(&o->importer)) {
		complain("data: only what is imported is written as a recording");
		return -EINVAL;
	}
	if (o->gpu_only && o->cpu_only) {
		complain("--gpu-only and --cpu-only together leave nothing");
		return -EINVAL;
	}
	if (filter__given(&o->filter, FILTER_TO) && o->filter.to_ns <= o->filter.from_ns) {
		complain("--to: not after --from: nothing is in between");
		return -EINVAL;
	}
	if (o->diff && !format->write_diff) {
		complain("diff: -f %s are its formats", formats__list(0, true, list));
		return -EINVAL;
	}
	o->write.unit_given = options__given(o, "unit");
	if (options__check_given(o) || options__check_unit(o))
		return -EINVAL;
	if (format->only_by_nvtx && o->write.by.nr && (o->write.by.nr > 1 || o->write.by.v[0] != BY_NVTX)) {
		complain("-f %s has labels for all but --by nvtx", o->format->name);
		return -EINVAL;
	}
	if (o->diff && (options__has_by(o, BY_PID) || options__has_by(o, BY_TID))) {
		complain("--by pid and tid are not for diff: those of two recordings differ");
		return -EINVAL;
	}
	/* Programs read all of it. */
	if (o->write.table_format && !options__given(o, "limit"))
		o->write.max_rows = 0;
	if (format->binary && !o->output && isatty(STDOUT_FILENO)) {
		complain("this format is no text: give -o FILE");
		return -EINVAL;
	}
	return 0;
}

/* ---- the command line ----------------------------------------------------------------------- */

/* Return: 0, 1 if everything was said already, or -errno. */
static int options__read(struct options *o, int argc, char **argv)
{
	struct option longs[ARRAY_SIZE(specs) + 1] = { 0 };
	char letters[2 * ARRAY_SIZE(specs) + 2] = ":", line[256];
	int opt, err, at = 1;
	size_t i;

	/* Those without a letter are told by their place in the list. */
	for (i = 0; i < ARRAY_SIZE(specs); i++) {
		longs[i] = (struct option){
			specs[i].name, specs[i].has_arg, NULL, specs[i].letter ?: 256 + (int)i,
		};
		if (specs[i].letter)
			at += sprintf(letters + at, "%c%s", specs[i].letter,
				      specs[i].has_arg ? ":" : "");
	}
	while ((opt = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		const struct args args = { argc, argv, optarg };

		for (i = 0; i < ARRAY_SIZE(specs) && longs[i].val != opt; i++)
			;
		if (i == ARRAY_SIZE(specs)) {
			cmdline__explain(line, sizeof(line), opt, argv, longs, habits);
			complain("%s", line);
			return -EINVAL;
		}
		err = specs[i].set(o, &specs[i], &args);
		if (err)
			return err;
		o->given |= 1ull << i;
	}
	while (optind < argc)
		o->inputs[o->nr_inputs++] = argv[optind++];
	return 0;
}

int options__parse(struct options *o, int argc, char **argv)
{
	*o = (struct options){
		.write = { .unit = UNIT_US, .max_rows = 20 }, .importer.opts.tolerance_ns = 10000000,
	};
	/* No more of them than arguments, or the default. */
	o->inputs = calloc(argc + 1, sizeof(*o->inputs));
	if (!o->inputs) {
		complain("out of memory");
		return -ENOMEM;
	}
	if (argc > 1 && (!strcmp(argv[1], "diff") || !strcmp(argv[1], "dump"))) {
		o->diff = !strcmp(argv[1], "diff");
		o->dump = !o->diff;
		argv[1] = argv[0];
		argc--;
		argv++;
	}
	return options__read(o, argc, argv) ?: options__complete(o);
}

void options__free(struct options *o)
{
	importer__close(&o->importer);
	filter__free(&o->filter);
	free(o->inputs);
}

_Static_assert(ARRAY_SIZE(specs) <= 64, "options.given has a bit for each");
