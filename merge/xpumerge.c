// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * xpumerge - join, symbolize and write out what xpuload recorded
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "chrome.h"
#include "diff.h"
#include "escape.h"
#include "folded.h"
#include "html.h"
#include "importer.h"
#include "output.h"
#include "perfscript.h"
#include "pftrace.h"
#include "pprof.h"
#include "reader.h"
#include "session.h"
#include "text.h"
#include "version.h"

enum {
	EXIT_OK		= 0,
	EXIT_LOSS	= 1,		/* the recording is not whole; or --strict, and anything is
					 * missing: what is there is written */
	EXIT_BAD	= 2,		/* usage, input or output */
};

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
};

struct options {
	const char **inputs;
	size_t nr_inputs;
	const char *output;		/* NULL: stdout */
	enum format format;
	bool unit_given;
	enum unit unit;
	uint32_t freq_hz;
	uint32_t max_rows;
	bool max_rows_given;
	enum table_format table_format;
	const char *table;		/* NULL: all */
	enum graph_mode graph;
	uint32_t nr_by;
	enum by by[NR_BY];
	bool trim;
	enum python_style python_style;
	struct filter filter;
	bool show_inline, show_srcline;
	const char *symfs, *debug_dirs, *buildid_dir;
	uint32_t without;		/* leaf kinds, see struct session_opts */
	bool strict;
	bool diff;			/* the command is "diff": two recordings */
	bool normalize_given;
	enum normalize normalize;
	struct importer importer;
};

struct progress {
	struct timespec start;
	bool tty;
	unsigned int percent;		/* shown last, 0: nothing yet */
};

static const char usage[] =
"usage: xpumerge [-i FILE] [-f FORMAT] [-o FILE] [OPTION...] [FILE...]\n"
"       xpumerge diff [-f folded|html|text] [-o FILE] [OPTION...] A B\n"
"       xpumerge [--cpu FILE] --gpu FILE [-t MS] [-s] [-f FORMAT] [-o FILE] [OPTION...]\n"
"       xpumerge --nsys FILE [-t ACTIVITY...] [-f FORMAT] [-o FILE] [OPTION...]\n"
"\n"
"Joins the launches and the device work of a recording made by xpuload, or of several,\n"
"and writes a summary, folded stacks or a timeline; diff: what differs between two.\n"
"\n"
"  -i, --input FILE     the recording (default xpu.data)\n"
"  -f, --format FORMAT  folded: a line for each call path, for flame graphs\n"
"                       chrome: timeline for Perfetto or chrome://tracing\n"
"                       html: interactive flame graph, one file for any browser\n"
"                       pprof: profile for go tool pprof and others of its kind\n"
"                       perf: device records, CPU samples and waits as perf script prints\n"
"                       samples\n"
"                       pftrace: the timeline in Perfetto's own format, a quarter of the size\n"
"                       text: summary (default)\n"
"                       data: of an import, a recording to be read again\n"
"  -o, --output FILE    write there; .folded, .json, .html, .pb.gz, .perf, .pftrace,\n"
"                       .txt and .data imply the format (default: standard output)\n"
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
"      --gpu FILE       in place of a recording: CUPTI's records as other tools write\n"
"                       them: Chrome JSON, JSON lines or text\n"
"      --cpu FILE       and the stacks of its launches, which are matched by time: lines\n"
"                       'timestamp_ns comm pid tid cpu frame;frame;...'\n"
"  -t, --tolerance MS   how far from its launch a stack may be once the offset between\n"
"                       the clocks is taken off (default 10)\n"
"  -s, --summary        tell more about the match\n"
"      --nsys FILE      in place of a recording: an export of Nsight Systems to SQLite;\n"
"                       -f chrome writes the events of nsys2json\n"
"  -t, --activity-type ACTIVITY...  of them kernel, nvtx, nvtx-kernel or cuda-api\n"
"                       (default kernel nvtx-kernel)\n"
"      --nvtx-event-prefix PREFIX...  of NVTX ranges only those with such names\n"
"      --nvtx-color-scheme JSON  {\"REGEX\": \"COLOR\", ...} for NVTX ranges\n"
"      --version        print the version\n"
"  -h, --help           print this\n"
"\n"
"Exit status: 0 fine, 1 the recording is cut off or was not closed, or something is\n"
"missing and --strict was given, 2 bad usage, input that cannot be read or is damaged,\n"
"or output that could not be written. What a cut or damaged recording has is written.\n";

static void complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void complain(const char *fmt, ...)
{
	va_list args;
	char *line;
	int len;

	va_start(args, fmt);
	len = vasprintf(&line, fmt, args);
	va_end(args);
	fputs("xpumerge: ", stderr);
	/* File names and what recordings say may hold anything. */
	escape__print(stderr, len < 0 ? "out of memory" : line, ESCAPE_TEXT);
	fputc('\n', stderr);
	if (len >= 0)
		free(line);
}

/* ---- options -------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	const char *suffix;
	enum format format;
} formats[] = {
	{ "folded", ".folded", FORMAT_FOLDED },
	{ "chrome", ".json", FORMAT_CHROME },
	{ "text", ".txt", FORMAT_TEXT },
	{ "pprof", ".pb.gz", FORMAT_PPROF },
	{ "html", ".html", FORMAT_HTML },
	{ "perf", ".perf", FORMAT_PERF },
	{ "pftrace", ".pftrace", FORMAT_PFTRACE },
	{ "data", ".data", FORMAT_DATA },
};

static int options__set_format(struct options *o, const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(formats); i++) {
		if (strcmp(formats[i].name, name))
			continue;
		o->format = formats[i].format;
		return 0;
	}
	complain("unknown format '%s': --help lists them", name);
	return -EINVAL;
}

/* Return: which of the names it is, or -EINVAL, with all said. */
static int find_name(const char *option, const char *name, const char *const *names, size_t nr)
{
	char known[256] = "";
	size_t i;

	for (i = 0; i < nr; i++)
		if (!strcmp(names[i], name))
			return i;
	for (i = 0; i < nr; i++)
		snprintf(known + strlen(known), sizeof(known) - strlen(known), "%s%s",
			 !i ? "" : i + 1 < nr ? ", " : " and ", names[i]);
	complain("unknown %s '%s': %s are known", option, name, known);
	return -EINVAL;
}

static int options__set_unit(struct options *o, const char *name)
{
	static const char *const names[] = {
		[UNIT_NS] = "ns", [UNIT_US] = "us", [UNIT_MS] = "ms", [UNIT_SAMPLES] = "samples",
		[UNIT_COUNT] = "count", [UNIT_BYTES] = "bytes",
	};
	int i = find_name("--unit", name, names, ARRAY_SIZE(names));

	if (i < 0)
		return i;
	o->unit = i;
	o->unit_given = true;
	return 0;
}

static int options__set_normalize(struct options *o, const char *name)
{
	static const char *const names[] = {
		[NORMALIZE_NONE] = "none", [NORMALIZE_TOTAL] = "total",
		[NORMALIZE_LAUNCHES] = "launches",
	};
	int i = find_name("--normalize", name, names, ARRAY_SIZE(names));

	if (i < 0)
		return i;
	o->normalize = i;
	o->normalize_given = true;
	return 0;
}

static int options__set_python_style(struct options *o, const char *name)
{
	static const char *const names[] = {
		[PYTHON_SHORT] = "short", [PYTHON_FULL] = "full", [PYTHON_NO_LINE] = "no-line",
	};
	int i = find_name("--python-frames", name, names, ARRAY_SIZE(names));

	if (i < 0)
		return i;
	o->python_style = i;
	return 0;
}

static int options__set_graph(struct options *o, const char *name)
{
	static const char *const names[] = {
		[GRAPH_CAPTURE] = "capture", [GRAPH_LAUNCH] = "launch", [GRAPH_BOTH] = "both",
	};
	int i = find_name("--graph", name, names, ARRAY_SIZE(names));

	if (i < 0)
		return i;
	o->graph = i;
	return 0;
}

static int options__set_by(struct options *o, char *list)
{
	static const char *const names[NR_BY] = {
		[BY_COMM] = "comm", [BY_HOST] = "host", [BY_PID] = "pid", [BY_TID] = "tid",
		[BY_DEVICE] = "device", [BY_STREAM] = "stream", [BY_NVTX] = "nvtx",
	};
	char *name, *rest = NULL;
	uint32_t by, i;

	o->nr_by = 0;
	for (name = strtok_r(list, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
		for (by = 0; by < NR_BY && strcmp(names[by], name); by++)
			;
		for (i = 0; i < o->nr_by && o->by[i] != by; i++)
			;
		if (by == NR_BY || i < o->nr_by) {
			complain("--by: %s '%s': comm, host, pid, tid, device, stream and nvtx are "
				 "known, each once", by == NR_BY ? "unknown" : "twice", name);
			return -EINVAL;
		}
		o->by[o->nr_by++] = by;
	}
	if (o->nr_by)
		return 0;
	complain("--by: an empty list");
	return -EINVAL;
}

static bool options__has_by(const struct options *o, enum by by)
{
	uint32_t i;

	for (i = 0; i < o->nr_by; i++)
		if (o->by[i] == by)
			return true;
	return false;
}

static int options__set_number(uint32_t *number, const char *name, const char *arg, uint32_t min)
{
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(arg, &end, 10);
	if (errno || end == arg || *end || *arg == '-' || value < min || value > UINT32_MAX) {
		complain("%s: '%s' is not a number from %" PRIu32 " on", name, arg, min);
		return -EINVAL;
	}
	*number = value;
	return 0;
}

static int options__set_filter(struct options *o, enum filter_kind kind, const char *arg)
{
	char why[128];
	int err = filter__set(&o->filter, kind, arg, why);

	if (err)
		complain("--%s: %s", filter_kind__name(kind),
			 err == -ENOMEM ? strerror(ENOMEM) : why);
	return err;
}

static int options__set_table(struct options *o, const char *name)
{
	if (!text__has_table(name)) {
		complain("unknown table '%s': --help lists them", name);
		return -EINVAL;
	}
	o->table = name;
	return 0;
}

/* -t: a number is a tolerance, names are activities; more of them may follow. */
static int options__set_t(struct options *o, int argc, char **argv)
{
	enum nsys_activity activity = nsys_activity__parse(optarg);
	char *end;
	double ms;

	for (; activity; activity = optind < argc ? nsys_activity__parse(argv[optind++]) : 0)
		o->importer.events.activities |= activity;
	if (o->importer.events.activities) {
		/* The last one asked for was none. */
		if (optind <= argc && !nsys_activity__parse(argv[optind - 1]))
			optind--;
		return 0;
	}
	ms = strtod(optarg, &end);
	if (end == optarg || *end || !(ms >= 0 && ms <= 1e6)) {
		complain("-t: '%s' is neither a number of milliseconds nor one of kernel, nvtx, "
			 "nvtx-kernel and cuda-api", optarg);
		return -EINVAL;
	}
	o->importer.tolerance_ns = ms * 1e6;
	return 0;
}

/* All arguments up to the next option. */
static int options__set_prefixes(struct options *o, int argc, char **argv)
{
	struct nsys_events_opts *e = &o->importer.events;

	if (!e->prefixes)
		e->prefixes = calloc(argc + 1, sizeof(*e->prefixes));
	if (!e->prefixes) {
		complain("out of memory");
		return -ENOMEM;
	}
	e->prefixes[e->nr_prefixes++] = optarg;
	while (optind < argc && argv[optind][0] != '-')
		e->prefixes[e->nr_prefixes++] = argv[optind++];
	return 0;
}

/* What is imported takes the place of a recording. */
static int options__complete_import(struct options *o)
{
	if (!importer__wanted(&o->importer))
		return 0;
	if (o->nr_inputs) {
		complain("%s: a recording beside --%s: one or the other", o->inputs[0],
			 o->importer.nsys ? "nsys" : "gpu");
		return -EINVAL;
	}
	if (o->importer.nsys && (o->importer.cpu || o->importer.gpu)) {
		complain("--nsys beside --cpu or --gpu: one or the other");
		return -EINVAL;
	}
	if (!o->importer.nsys && !o->importer.gpu) {
		complain("--cpu has stacks only: give the device records with --gpu");
		return -EINVAL;
	}
	o->inputs[o->nr_inputs++] = importer__name(&o->importer);
	return 0;
}

static int options__complete(struct options *o, int nr_args, char **args)
{
	size_t i, len, suffix;
	int n;

	for (n = 0; n < nr_args; n++)
		o->inputs[o->nr_inputs++] = args[n];
	if (o->diff && o->nr_inputs != TREE_SIDES) {
		complain("diff compares two recordings: xpumerge diff A B");
		return -EINVAL;
	}
	if (!o->diff && o->normalize_given) {
		complain("--normalize is for xpumerge diff");
		return -EINVAL;
	}
	if (options__complete_import(o))
		return -EINVAL;
	if (!o->nr_inputs)
		o->inputs[o->nr_inputs++] = "xpu.data";
	if (!o->format && o->output && strcmp(o->output, "-")) {
		len = strlen(o->output);
		for (i = 0; i < ARRAY_SIZE(formats); i++) {
			suffix = strlen(formats[i].suffix);
			if (len > suffix && !strcmp(o->output + len - suffix, formats[i].suffix))
				o->format = formats[i].format;
		}
		if (!o->format) {
			complain("%s: no format has this suffix: give one with -f (--help lists them)",
				 o->output);
			return -EINVAL;
		}
	}
	if (!o->format)
		o->format = FORMAT_TEXT;
	if (o->format == FORMAT_DATA && !importer__wanted(&o->importer)) {
		complain("data: only what is imported is written as a recording");
		return -EINVAL;
	}
	o->importer.events_only = o->importer.nsys && o->format == FORMAT_CHROME;
	if (o->without == (LEAVES_CPU | LEAVES_DEVICE)) {
		complain("--gpu-only and --cpu-only together leave nothing");
		return -EINVAL;
	}
	if (o->diff && o->format != FORMAT_FOLDED && o->format != FORMAT_HTML &&
	    o->format != FORMAT_TEXT) {
		complain("diff: folded, html and text are its formats");
		return -EINVAL;
	}
	if (o->diff && o->unit == UNIT_SAMPLES) {
		complain("--unit samples is not for diff");
		return -EINVAL;
	}
	if (o->diff && o->nr_by) {
		complain("--by is not for diff, which compares names");
		return -EINVAL;
	}
	if ((o->format != FORMAT_TEXT || o->diff) && (o->table_format || o->table)) {
		complain("--csv, --json and --table are for -f text");
		return -EINVAL;
	}
	if (o->table_format && o->unit_given) {
		complain("--unit is not for --csv and --json: their times are in ns");
		return -EINVAL;
	}
	/* Programs read all of it. */
	if (o->table_format && !o->max_rows_given)
		o->max_rows = 0;
	if (o->format == FORMAT_HTML && o->unit == UNIT_SAMPLES) {
		complain("--unit samples is for -f folded");
		return -EINVAL;
	}
	if (o->format == FORMAT_TEXT && o->unit > UNIT_MS) {
		complain("--unit samples, count and bytes are not for -f text");
		return -EINVAL;
	}
	if (o->format == FORMAT_PPROF && o->nr_by && (o->nr_by > 1 || o->by[0] != BY_NVTX)) {
		complain("-f pprof has labels for all but --by nvtx");
		return -EINVAL;
	}
	if (o->format != FORMAT_FOLDED && o->format != FORMAT_HTML && o->format != FORMAT_PPROF &&
	    o->nr_by) {
		complain("--by is for -f folded and html, and nvtx for pprof");
		return -EINVAL;
	}
	if (o->format != FORMAT_FOLDED && o->format != FORMAT_TEXT && o->format != FORMAT_HTML &&
	    o->unit_given) {
		complain("--unit is for -f folded, html and text: the others have units of their own");
		return -EINVAL;
	}
	if ((o->format == FORMAT_PPROF || o->format == FORMAT_PFTRACE || o->format == FORMAT_DATA) &&
	    (!o->output || !strcmp(o->output, "-")) &&
	    isatty(STDOUT_FILENO)) {
		complain("this format is no text: give -o FILE");
		return -EINVAL;
	}
	return 0;
}

/* Return: 0, 1 if everything was said already, or -EINVAL. */
static int options__parse(struct options *o, int argc, char **argv)
{
	enum { OPT_UNIT = 256, OPT_BY, OPT_GRAPH, OPT_NO_TRIM, OPT_PYTHON_FRAMES, OPT_INLINE,
	       OPT_SRCLINE, OPT_SYMFS, OPT_DEBUG_DIR, OPT_BUILDID_DIR, OPT_LIMIT, OPT_STRICT,
	       OPT_VERSION, OPT_GPU_ONLY, OPT_CPU_ONLY, OPT_NORMALIZE, OPT_CSV, OPT_JSON,
	       OPT_TABLE, OPT_CPU, OPT_GPU, OPT_NSYS, OPT_NVTX_PREFIX, OPT_NVTX_COLORS, OPT_FILTER };
	static const struct option longs[] = {
		{ "input", required_argument, NULL, 'i' },
		{ "format", required_argument, NULL, 'f' },
		{ "output", required_argument, NULL, 'o' },
		{ "unit", required_argument, NULL, OPT_UNIT },
		{ "freq", required_argument, NULL, 'F' },
		{ "by", required_argument, NULL, OPT_BY },
		{ "gpu-only", no_argument, NULL, OPT_GPU_ONLY },
		{ "cpu-only", no_argument, NULL, OPT_CPU_ONLY },
		{ "graph", required_argument, NULL, OPT_GRAPH },
		{ "no-trim", no_argument, NULL, OPT_NO_TRIM },
		{ "python-frames", required_argument, NULL, OPT_PYTHON_FRAMES },
		{ "inline", no_argument, NULL, OPT_INLINE },
		{ "srcline", no_argument, NULL, OPT_SRCLINE },
		{ "symfs", required_argument, NULL, OPT_SYMFS },
		{ "debug-dir", required_argument, NULL, OPT_DEBUG_DIR },
		{ "buildid-dir", required_argument, NULL, OPT_BUILDID_DIR },
		{ "limit", required_argument, NULL, OPT_LIMIT },
		{ "pid", required_argument, NULL, OPT_FILTER + FILTER_PID },
		{ "tid", required_argument, NULL, OPT_FILTER + FILTER_TID },
		{ "comm", required_argument, NULL, OPT_FILTER + FILTER_COMM },
		{ "device", required_argument, NULL, OPT_FILTER + FILTER_DEVICE },
		{ "stream", required_argument, NULL, OPT_FILTER + FILTER_STREAM },
		{ "kernel", required_argument, NULL, OPT_FILTER + FILTER_KERNEL },
		{ "nvtx", required_argument, NULL, OPT_FILTER + FILTER_NVTX },
		{ "from", required_argument, NULL, OPT_FILTER + FILTER_FROM },
		{ "to", required_argument, NULL, OPT_FILTER + FILTER_TO },
		{ "csv", no_argument, NULL, OPT_CSV },
		{ "json", no_argument, NULL, OPT_JSON },
		{ "table", required_argument, NULL, OPT_TABLE },
		{ "normalize", required_argument, NULL, OPT_NORMALIZE },
		{ "strict", no_argument, NULL, OPT_STRICT },
		{ "cpu", required_argument, NULL, OPT_CPU },
		{ "gpu", required_argument, NULL, OPT_GPU },
		{ "tolerance", required_argument, NULL, 't' },
		{ "activity-type", required_argument, NULL, 't' },
		{ "nsys", required_argument, NULL, OPT_NSYS },
		{ "nvtx-event-prefix", required_argument, NULL, OPT_NVTX_PREFIX },
		{ "nvtx-color-scheme", required_argument, NULL, OPT_NVTX_COLORS },
		{ "summary", no_argument, NULL, 's' },
		{ "version", no_argument, NULL, OPT_VERSION },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int opt, err = 0;

	*o = (struct options){
		.unit = UNIT_US, .max_rows = 20, .trim = true, .importer.tolerance_ns = 10000000,
	};
	/* No more of them than arguments, or the default. */
	o->inputs = calloc(argc + 1, sizeof(*o->inputs));
	if (!o->inputs) {
		complain("out of memory");
		return -ENOMEM;
	}
	if (argc > 1 && !strcmp(argv[1], "diff")) {
		o->diff = true;
		argv[1] = argv[0];
		argc--;
		argv++;
	}
	while (!err && (opt = getopt_long(argc, argv, "i:f:o:F:t:sh", longs, NULL)) != -1) {
		switch (opt) {
		case 'i':
			o->inputs[o->nr_inputs++] = optarg;
			break;
		case 'f':
			err = options__set_format(o, optarg);
			break;
		case 'o':
			o->output = optarg;
			break;
		case OPT_UNIT:
			err = options__set_unit(o, optarg);
			break;
		case 'F':
			err = options__set_number(&o->freq_hz, "--freq", optarg, 1);
			break;
		case OPT_BY:
			err = options__set_by(o, optarg);
			break;
		case OPT_GPU_ONLY:
			o->without |= LEAVES_CPU;
			break;
		case OPT_CPU_ONLY:
			o->without |= LEAVES_DEVICE;
			break;
		case OPT_GRAPH:
			err = options__set_graph(o, optarg);
			break;
		case OPT_NO_TRIM:
			o->trim = false;
			break;
		case OPT_PYTHON_FRAMES:
			err = options__set_python_style(o, optarg);
			break;
		case OPT_INLINE:
			o->show_inline = true;
			break;
		case OPT_SRCLINE:
			o->show_srcline = true;
			break;
		case OPT_SYMFS:
			o->symfs = optarg;
			break;
		case OPT_DEBUG_DIR:
			o->debug_dirs = optarg;
			break;
		case OPT_BUILDID_DIR:
			o->buildid_dir = optarg;
			break;
		case OPT_LIMIT:
			err = options__set_number(&o->max_rows, "--limit", optarg, 0);
			o->max_rows_given = true;
			break;
		case OPT_CSV:
			o->table_format = TABLE_CSV;
			break;
		case OPT_JSON:
			o->table_format = TABLE_JSON;
			break;
		case OPT_TABLE:
			err = options__set_table(o, optarg);
			break;
		case OPT_FILTER ... OPT_FILTER + NR_FILTERS - 1:
			err = options__set_filter(o, opt - OPT_FILTER, optarg);
			break;
		case OPT_NORMALIZE:
			err = options__set_normalize(o, optarg);
			break;
		case OPT_STRICT:
			o->strict = true;
			break;
		case OPT_CPU:
			o->importer.cpu = optarg;
			break;
		case OPT_GPU:
			o->importer.gpu = optarg;
			break;
		case 't':
			err = options__set_t(o, argc, argv);
			break;
		case OPT_NSYS:
			o->importer.nsys = optarg;
			break;
		case OPT_NVTX_PREFIX:
			err = options__set_prefixes(o, argc, argv);
			break;
		case OPT_NVTX_COLORS:
			o->importer.events.colors = optarg;
			break;
		case 's':
			o->importer.summary = true;
			break;
		case OPT_VERSION:
			puts("xpumerge " XPU_VERSION);
			return 1;
		case 'h':
			fputs(usage, stdout);
			return 1;
		default:
			/* getopt_long has said what it does not like. */
			fputs("xpumerge: --help lists the options\n", stderr);
			return -EINVAL;
		}
	}
	return err ?: options__complete(o, argc - optind, argv + optind);
}

/* ---- signals and progress ------------------------------------------------------------------- */

static void on_signal(int sig)
{
	static const char cut[] =
		"xpumerge: a file became shorter while it was being read: nothing written\n";

	output__abort_from_signal();
	if (sig == SIGBUS) {
		if (write(STDERR_FILENO, cut, sizeof(cut) - 1) < 0)
			_exit(EXIT_BAD);
		_exit(EXIT_BAD);
	}
	signal(sig, SIG_DFL);
	raise(sig);
}

static void catch_signals(void)
{
	static const int signals[] = { SIGBUS, SIGHUP, SIGINT, SIGTERM };
	struct sigaction old, sa = { .sa_handler = on_signal };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(signals); i++)
		if (!sigaction(signals[i], NULL, &old) && old.sa_handler != SIG_IGN)
			sigaction(signals[i], &sa, NULL);
}

static void progress__show(void *ctx, unsigned int permille)
{
	struct progress *p = ctx;
	struct timespec now;

	if (!p->tty || permille / 10 == p->percent)
		return;
	/* What is done within a second needs no progress. */
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (!p->percent && (now.tv_sec - p->start.tv_sec) * 1000000000ll + now.tv_nsec -
			   p->start.tv_nsec < 1000000000)
		return;
	p->percent = permille / 10;
	fprintf(stderr, "\rxpumerge: %3u %%", p->percent);
}

static void progress__clear(struct progress *p)
{
	if (p->percent)
		fputs("\r\033[K", stderr);
	p->percent = 0;
}

/* ---- merge ---------------------------------------------------------------------------------- */

/* Those that want each event, not sums only; made when they are asked for. */
struct event_writers {
	struct timeline *timeline;
	struct perfscript *perfscript;
};

/* Return: 0 or -ENOMEM; the sink in *@sink, NULL if the format needs none. */
static int event_writers__init(struct event_writers *w, enum format format,
			       struct session_sink **sink)
{
	switch (format) {
	case FORMAT_CHROME:
	case FORMAT_PFTRACE:
		w->timeline = timeline__new();
		*sink = w->timeline ? &w->timeline->sink : NULL;
		break;
	case FORMAT_PERF:
		w->perfscript = perfscript__new();
		*sink = w->perfscript ? perfscript__sink(w->perfscript) : NULL;
		break;
	default:
		*sink = NULL;
		return 0;
	}
	return *sink ? 0 : -ENOMEM;
}

static void event_writers__exit(struct event_writers *w)
{
	timeline__free(w->timeline);
	perfscript__free(w->perfscript);
}

static void warn_root(const char *path)
{
	struct stat st;

	if (geteuid() || stat(path, &st) || !st.st_uid)
		return;
	complain("%s belongs to uid %u: as root this reads whatever files it names; "
		 "better merge as that user", path, (unsigned int)st.st_uid);
}

/* Return: the unit that the page shows first, as its own list of them has it. */
static const char *html_unit(const struct options *o)
{
	static const char *const names[] = {
		[UNIT_NS] = "ns", [UNIT_US] = "\u00b5s", [UNIT_MS] = "ms", [UNIT_COUNT] = "count",
		[UNIT_BYTES] = "bytes",
	};

	return o->unit_given ? names[o->unit] : "auto";
}

static int write_format(const struct options *o, const struct session *s,
			const struct event_writers *writers, FILE *f, struct folded_result *folded)
{
	struct folded_opts folded_opts = {
		.unit = o->unit, .freq_hz = o->freq_hz, .nr_by = o->nr_by,
	};
	const struct text_opts text_opts = {
		.unit = o->unit, .max_rows = o->max_rows, .format = o->table_format, .table = o->table,
	};
	struct html_opts html_opts = {
		.unit = html_unit(o), .normalize = "", .nr_by = o->nr_by,
	};

	switch (o->format) {
	case FORMAT_FOLDED:
		memcpy(folded_opts.by, o->by, sizeof(o->by));
		return folded__write(s, f, &folded_opts, folded);
	case FORMAT_CHROME:
		return chrome__write(writers->timeline, s, f);
	case FORMAT_PFTRACE:
		return pftrace__write(writers->timeline, s, f);
	case FORMAT_PERF:
		return perfscript__write(writers->perfscript, s, f);
	case FORMAT_PPROF:
		return pprof__write(s, f);
	case FORMAT_HTML:
		memcpy(html_opts.by, o->by, sizeof(o->by));
		return html__write_session(f, s, &html_opts);
	default:
		return text__write(s, f, &text_opts);
	}
}

static int write_diff(const struct options *o, const struct diff *d, FILE *f,
		      struct folded_result *folded)
{
	switch (o->format) {
	case FORMAT_FOLDED:
		return diff__write_folded(d, f, folded);
	case FORMAT_HTML:
		return diff__write_html(d, f, html_unit(o));
	default:
		return diff__write_text(d, f);
	}
}

/* Writes @d, or @s if there is none. Return: 0, or -errno with all said. */
static int write_output(const struct options *o, const struct session *s,
			const struct event_writers *writers, const struct diff *d,
			struct folded_result *folded)
{
	const char *path = o->output ?: "-";
	struct output out;
	int err;

	err = output__open(&out, path);
	if (!err) {
		err = d ? write_diff(o, d, out.f, folded) :
			  write_format(o, s, writers, out.f, folded);
		if (err) {
			output__abort(&out);
			complain("%s: %s", o->inputs[0], strerror(-err));
			return err;
		}
		err = output__commit(&out);
	}
	if (err)
		complain("%s: cannot be written: %s", path, strerror(-err));
	return err;
}

static void print_msgs(const struct msgs *msgs)
{
	size_t i;

	for (i = 0; i < msgs->lines.nr; i++)
		complain("%s", msgs->lines.v[i]);
	if (msgs->nr_dropped)
		complain("%" PRIu64 " more messages like these", msgs->nr_dropped);
}

static void report(const struct session *s, const struct folded_result *folded)
{
	size_t i;

	print_msgs(&s->msgs);
	for (i = 0; i < s->messages.nr; i++)
		if (s->messages.v[i].level >= XPU_MESSAGE_WARNING)
			complain("%s (pid %" PRIu32 "): %s",
				 session__proc_name(s, s->messages.v[i].proc),
				 s->machine.procs.v[s->messages.v[i].proc].pid,
				 s->messages.v[i].text);
	if (folded->nr_rounded_away)
		complain("%" PRIu64 " lines show 0 for less than half a unit each, %" PRIu64
			 " ns in all: --unit ns shows them", folded->nr_rounded_away,
			 folded->rounded_away_ns);
	if (folded->nr_without_bytes)
		complain("%" PRIu64 " lines of kernels show 0: bytes are those of copies and sets",
			 folded->nr_without_bytes);
	session__print_loss(s, stderr);
}

static struct session_opts options__session(struct options *o, struct progress *progress)
{
	return (struct session_opts){
		.graph = o->graph,
		.by_thread = o->format == FORMAT_PPROF || options__has_by(o, BY_TID),
		.by_stream = o->format == FORMAT_PPROF || options__has_by(o, BY_STREAM),
		.by_range = o->format == FORMAT_TEXT || options__has_by(o, BY_NVTX) ||
			    filter__given(&o->filter, FILTER_NVTX),
		.stats = o->format == FORMAT_TEXT,
		.trim = o->trim,
		.without = o->without,
		.python_style = o->python_style,
		.filter = &o->filter,
		.show_inline = o->show_inline,
		.show_srcline = o->show_srcline,
		.symfs = o->symfs,
		.debug_dirs = o->debug_dirs,
		.buildid_dir = o->buildid_dir,
		.progress = progress__show,
		.progress_ctx = progress,
	};
}

/* Return: the exit status for a session that was written. */
static int session__exit_status(const struct session *s, bool strict)
{
	if (s->status)
		return EXIT_BAD;
	if (s->loss.cut_bytes || s->loss.not_closed || (strict && !loss__clean(&s->loss)))
		return EXIT_LOSS;
	return EXIT_OK;
}

static int merge(struct options *o, const struct reader *r)
{
	struct progress progress = { .tty = isatty(STDERR_FILENO) };
	struct session_opts opts = options__session(o, &progress);
	struct folded_result folded = { 0 };
	struct event_writers writers = { 0 };
	struct session s;
	int err, ret = EXIT_BAD;

	err = event_writers__init(&writers, o->format, &opts.sink);
	if (err) {
		complain("out of memory");
		return EXIT_BAD;
	}
	clock_gettime(CLOCK_MONOTONIC, &progress.start);
	err = session__init(&s, &opts);
	if (err)
		goto out_writers;
	err = session__process(&s, r, o->nr_inputs);
	progress__clear(&progress);
	if (err)
		goto out_session;

	if (write_output(o, &s, &writers, NULL, &folded))
		goto out_said;
	report(&s, &folded);
	ret = session__exit_status(&s, o->strict);
	if (importer__damaged(&o->importer))
		ret = EXIT_BAD;
	else if (o->strict && ret == EXIT_OK && !importer__clean(&o->importer))
		ret = EXIT_LOSS;
out_session:
	if (err)
		complain("%s: %s", o->inputs[0], strerror(-err));
out_said:
	session__exit(&s);
out_writers:
	event_writers__exit(&writers);
	return ret;
}

/* The command "diff": @r are A and B. */
static int compare(struct options *o, const struct reader *r)
{
	struct progress progress = { .tty = isatty(STDERR_FILENO) };
	const struct session_opts opts = options__session(o, &progress);
	const struct diff_opts diff_opts = {
		.normalize = o->normalize, .unit = o->unit, .max_rows = o->max_rows,
	};
	struct folded_result folded = { 0 }, none = { 0 };
	struct session s[TREE_SIDES];
	int err = 0, ret = EXIT_BAD;
	struct diff d;
	size_t i, nr;

	clock_gettime(CLOCK_MONOTONIC, &progress.start);
	for (nr = 0; nr < TREE_SIDES && !err; nr++) {
		err = session__init(&s[nr], &opts);
		if (err)
			break;
		err = session__process(&s[nr], &r[nr], 1);
		progress__clear(&progress);
	}
	if (err) {
		complain("%s: %s", o->inputs[nr ? nr - 1 : 0], strerror(-err));
		goto out;
	}
	err = diff__init(&d, &s[0], &s[1], &diff_opts);
	if (err == -EDOM)
		complain("%s: has nothing to normalize by: --normalize none", o->inputs[0]);
	else if (err)
		complain("%s: %s", o->inputs[0], strerror(-err));
	if (err || write_output(o, NULL, NULL, &d, &folded))
		goto out_diff;
	ret = EXIT_OK;
	for (i = 0; i < TREE_SIDES; i++) {
		complain("%c is %s", 'A' + (int)i, o->inputs[i]);
		report(&s[i], i ? &folded : &none);
		ret = max_t(int, ret, session__exit_status(&s[i], o->strict));
	}
out_diff:
	diff__exit(&d);
out:
	while (nr--)
		session__exit(&s[nr]);
	return ret;
}

/* Return: 0 or -errno, with all or none of them open. */
static int open_inputs(const struct options *o, struct reader *readers)
{
	struct stat *stats = calloc(o->nr_inputs, sizeof(*stats));
	size_t i, k;
	int err = 0;

	if (!stats) {
		complain("out of memory");
		return -ENOMEM;
	}
	for (i = 0; i < o->nr_inputs && !err; i++) {
		err = reader__open(&readers[i], o->inputs[i]);
		if (err) {
			complain("%s %s", o->inputs[i], readers[i].error);
			break;
		}
		warn_root(o->inputs[i]);
		if (stat(o->inputs[i], &stats[i]))
			continue;
		/* Compared with itself nothing differs, and that may be asked. */
		for (k = 0; k < i && !err && !o->diff; k++) {
			if (stats[k].st_dev != stats[i].st_dev || stats[k].st_ino != stats[i].st_ino)
				continue;
			complain("%s: the same recording as %s: all would count twice",
				 o->inputs[i], o->inputs[k]);
			err = -EINVAL;
		}
	}
	free(stats);
	while (err && i--)
		reader__close(&readers[i]);
	return err;
}

/* In place of open_inputs(), with all messages said. */
static int open_import(struct importer *importer, struct reader *reader)
{
	struct msgs msgs = { 0 };
	int err = importer__open(importer, reader, &msgs);

	print_msgs(&msgs);
	msgs__free(&msgs);
	if (!err)
		importer__print(importer, stderr);
	return err;
}

/* What was imported, as it is: the events of an export of Nsight Systems, or a recording. */
static int convert(struct options *o)
{
	const char *path = o->output ?: "-";
	struct msgs msgs = { 0 };
	struct output out;
	int err;

	err = output__open(&out, path);
	if (!err && o->format == FORMAT_DATA) {
		importer__write_recording(&o->importer, out.f);
		err = output__commit(&out);
	} else if (!err) {
		o->importer.nsys_export.msgs = &msgs;
		err = importer__write_events(&o->importer, out.f);
		print_msgs(&msgs);
		if (err) {
			output__abort(&out);
			if (!msgs.lines.nr)
				complain("%s: %s", o->importer.nsys, strerror(-err));
			msgs__free(&msgs);
			return EXIT_BAD;
		}
		msgs__free(&msgs);
		err = output__commit(&out);
	}
	if (err)
		complain("%s: cannot be written: %s", path, strerror(-err));
	if (err || importer__damaged(&o->importer))
		return EXIT_BAD;
	return o->strict && !importer__clean(&o->importer) ? EXIT_LOSS : EXIT_OK;
}

int main(int argc, char **argv)
{
	struct reader *readers = NULL;
	struct options o;
	int err, ret = EXIT_BAD;
	size_t i;

	err = options__parse(&o, argc, argv);
	if (err) {
		ret = err > 0 && !fflush(stdout) ? EXIT_OK : EXIT_BAD;
		goto out;
	}
	catch_signals();
	readers = calloc(o.nr_inputs, sizeof(*readers));
	if (!readers) {
		complain("out of memory");
		goto out;
	}
	if (importer__wanted(&o.importer) ? open_import(&o.importer, readers) :
					    open_inputs(&o, readers))
		goto out;
	if (o.importer.events_only || o.format == FORMAT_DATA)
		ret = convert(&o);
	else
		ret = o.diff ? compare(&o, readers) : merge(&o, readers);
	for (i = 0; i < o.nr_inputs; i++)
		reader__close(&readers[i]);
out:
	importer__close(&o.importer);
	free(readers);
	filter__free(&o.filter);
	free(o.inputs);
	return ret;
}
