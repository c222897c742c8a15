// SPDX-License-Identifier: GPL-3.0-or-later
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "complain.h"
#include "text.h"
#include "version.h"

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

bool options__has_by(const struct options *o, enum by by)
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

int options__parse(struct options *o, int argc, char **argv)
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

void options__free(struct options *o)
{
	importer__close(&o->importer);
	filter__free(&o->filter);
	free(o->inputs);
}
