// SPDX-License-Identifier: GPL-3.0-or-later
#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "block.h"
#include "check.h"
#include "cmdline.h"
#include "formats.h"
#include "base/msg.h"
#include "base/own_files.h"
#include "attach/sampler.h"
#include "util.h"
#include "version.h"
#include "xpu_record.h"
#include "xpu_slot.h"

#define MIN_RING_BYTES	(64ull << 10)
#define MAX_RING_BYTES	(2ull << 30)
#define DEFAULT_RING_BYTES (64ull << 20)
#define MIN_STACK_BYTES	1024
#define BLIND_STACK_BYTES 32768		/* of a sample, if nobody knows where its stack ends */
#define DEFAULT_HZ	99		/* not in step with what happens a hundred times a second */
#define MAX_HZ		1000000000
#define MAX_SECONDS	1e9

enum {
	OPT_STRICT = 256, OPT_CHECK, OPT_DURATION, OPT_CALL_GRAPH, OPT_MAX_STACK, OPT_PYTHON,
	OPT_PROBE, OPT_GPU_ONLY, OPT_CPU_ONLY, OPT_OFF_CPU, OPT_OFF_CPU_MIN, OPT_API, OPT_NVTX,
};

static const struct option longs[] = {
	{ "output", required_argument, NULL, 'o' },
	{ "pid", required_argument, NULL, 'p' },
	{ "all", no_argument, NULL, 'a' },
	{ "freq", required_argument, NULL, 'F' },
	{ "gpu-only", no_argument, NULL, OPT_GPU_ONLY },
	{ "cpu-only", no_argument, NULL, OPT_CPU_ONLY },
	{ "api", no_argument, NULL, OPT_API },
	{ "off-cpu", no_argument, NULL, OPT_OFF_CPU },
	{ "off-cpu-min", required_argument, NULL, OPT_OFF_CPU_MIN },
	{ "duration", required_argument, NULL, OPT_DURATION },
	{ "call-graph", required_argument, NULL, OPT_CALL_GRAPH },
	{ "max-stack", required_argument, NULL, OPT_MAX_STACK },
	{ "python", required_argument, NULL, OPT_PYTHON },
	{ "probe", required_argument, NULL, OPT_PROBE },
	{ "nvtx", optional_argument, NULL, OPT_NVTX },
	{ "ring-size", required_argument, NULL, 'm' },
	{ "compression-level", required_argument, NULL, 'z' },
	{ "strict", no_argument, NULL, OPT_STRICT },
	{ "check", no_argument, NULL, OPT_CHECK },
	{ "no-buildid-cache", no_argument, NULL, 'N' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "verbose", no_argument, NULL, 'v' },
	{ "version", no_argument, NULL, 'V' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static const char usage_text[] =
"usage: xpuload [record] [OPTION...] [--] COMMAND [ARG...]\n"
"       xpuload [record] [OPTION...] -p PID | -a [--duration SECONDS]\n"
"       xpuload --check\n"
"\n"
"Runs COMMAND and records, for every CUDA launch, the call path that made it and the time the\n"
"device worked for it, and samples where its threads spend their CPU time.\n"
"\n"
"  -o, --output FILE      what to write; the suffix picks it: .data the recording (default\n"
"                         xpu.data); the merged result at once:\n"
"                         %s, .svg\n"
"  -p, --pid PID          attach to a running program that was started with the shim preloaded\n"
"  -a, --all              to every such program on this machine\n"
"      --duration SECONDS how long; without it until Ctrl-C, or until PID ends\n"
"  -F, --freq HZ          CPU samples a second (default 99)\n"
"  -g                     nothing: call paths are always recorded\n"
"      --gpu-only         launches and device work, no CPU samples and no waits\n"
"      --cpu-only         CPU samples of any program; needs no CUDA and preloads nothing\n"
"      --api              also every call of CUDA's API, its begin and its end; costs the program\n"
"                         some 0.3 us a call\n"
"      --off-cpu          also where threads are blocked, by kind (lock, io, sleep, ...), and an\n"
"                         account of each thread's life\n"
"      --off-cpu-min US   with --off-cpu: show no stacks of shorter times (default 0)\n"
"      --call-graph HOW   dwarf[,BYTES]: by unwind tables: launches in the target, samples from\n"
"                         a copy of the stack (at most 262144 bytes, the default); fp:\n"
"                         along frame pointers; auto (default): dwarf where possible\n"
"      --python HOW       Python's frames in call chains: on (default; with dwarf), off, or\n"
"                         only: without native frames\n"
"      --nvtx[=off]       NVTX ranges, with the launches in them: on is the default\n"
"      --max-stack N      frames in a call chain, 1 to 1000 (default 512; fp: at most 127)\n"
"      --probe WHEN       path (default): the kernel is entered for new call paths and for\n"
"                         many launches at once; launch: at each one. Both are exact\n"
"  -m, --ring-size BYTES  ring buffer (K, M, G; default 64M): larger for bursts of launches\n"
"  -z, --compression-level N\n"
"                         of the recording: 1 (default, the fastest) to 22 (the smallest), or 0:\n"
"                         not compressed\n"
"      --strict           fail (status 125) when anything was lost or not recorded\n"
"      --check            say what this machine allows, and what to do about the rest\n"
"  -N, --no-buildid-cache keep no copies of mapped files that are not at their paths here\n"
"  -q, --quiet            no summary at the end; warnings and errors stay\n"
"  -v, --verbose          more; twice: libbpf's own messages\n"
"  -V, --version          print the version\n"
"  -h, --help             print this\n"
"\n"
"Exit status: COMMAND's own; 125 when xpuload itself failed, 126 or 127 when COMMAND could not\n"
"be run.\n";

/* perf's and nsys's. */
static const struct cmdline_habit habits[] = {
	{ "-D", "xpumerge --from leaves out the beginning" },
	{ "--delay", "xpumerge --from leaves out the beginning" },
	{ "-t", "CUDA and NVTX are always recorded, all calls with --api; xpumerge --tid picks "
		"threads" },
	{ "--trace", "CUDA and NVTX are always recorded, all calls with --api" },
	{ "--tid", "xpumerge --tid picks threads" },
	{ "-e", "CPU samples are taken by the clock; -F HZ says how many" },
	{ "-c", "CPU samples are taken by the clock; -F HZ says how many" },
	{ "--capture-range", "xpumerge --nvtx REGEX, or --from and --to, pick a part" },
	{ "-f", "an old recording is renamed to FILE.old" },
	{ "--force-overwrite", "an old recording is renamed to FILE.old" },
	{ "--stats", "-o FILE.txt is a summary, as xpumerge prints it" },
	{ "profile", "xpuload COMMAND records" },
	{ "report", "xpumerge shows recordings" },
	{ "script", "xpumerge shows recordings" },
	{ "stats", "xpumerge shows recordings" },
	{ NULL, NULL },
};

const char *options__habit(const char *word)
{
	return cmdline__habit(habits, word);
}

bool has_suffix(const char *s, const char *suffix)
{
	size_t n = strlen(s), m = strlen(suffix);

	return n > m && !strcmp(s + n - m, suffix);
}

/* ---- arguments of options: what is wrong is said here ---------------------------------------- */

/* Return: the number, or 0. */
static uint64_t parse_number(const char *option, const char *arg, uint64_t max)
{
	unsigned long long n;
	char *end;

	errno = 0;
	n = strtoull(arg, &end, 10);
	if (errno || !isdigit((unsigned char)arg[0]) || *end || !n || n > max) {
		msg__error("%s %s: expected a number from 1 to %llu", option, arg,
			   (unsigned long long)max);
		return 0;
	}
	return n;
}

/* Return: @arg, or NULL if it is none of @a, @b and, unless it is NULL, @c. */
static const char *parse_word(const char *option, const char *arg, const char *a, const char *b,
			      const char *c)
{
	if (!strcmp(arg, a) || !strcmp(arg, b) || (c && !strcmp(arg, c)))
		return arg;
	msg__error("%s %s: expected %s%s%s or %s", option, arg, a, c ? ", " : "", c ? b : "",
		   c ?: b);
	return NULL;
}

static uint64_t parse_bytes(const char *arg)
{
	static const char units[] = "KMG";
	const char *unit;
	uint64_t bytes;
	char *end;

	errno = 0;
	bytes = strtoull(arg, &end, 10);
	unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
	if (!errno && isdigit((unsigned char)arg[0]) && bytes <= MAX_RING_BYTES &&
	    (unit ? !end[1] : !*end)) {
		bytes <<= unit ? 10 * (unit - units + 1) : 0;
		if (bytes >= MIN_RING_BYTES && bytes <= MAX_RING_BYTES)
			return bytes;
	}
	msg__error("-m %s: expected a size of 64K to 2G", arg);
	return 0;
}

/* Return: the level, or -1. */
static int parse_level(const char *arg)
{
	char *end;
	long level;

	level = strtol(arg, &end, 10);
	if (isdigit((unsigned char)arg[0]) && !*end && level <= BLOCK_LEVEL_MAX)
		return level;
	msg__error("-z %s: expected a level of 0 to %d", arg, BLOCK_LEVEL_MAX);
	return -1;
}

static uint32_t parse_freq(const char *arg)
{
	uint64_t max_hz = sampler__max_hz(), hz = parse_number("-F", arg, MAX_HZ);

	if (max_hz && hz > max_hz) {
		msg__error("-F %s: the kernel allows %llu: see "
			   "/proc/sys/kernel/perf_event_max_sample_rate", arg,
			   (unsigned long long)max_hz);
		return 0;
	}
	return hz;
}

static uint64_t parse_duration(const char *arg)
{
	double seconds;
	char *end;

	seconds = strtod(arg, &end);
	if (seconds > 0 && seconds <= MAX_SECONDS && !*end)
		return (uint64_t)(seconds * 1e9) ?: 1;
	msg__error("--duration %s: expected a number of seconds", arg);
	return 0;
}

static bool parse_call_graph(struct options *opts, const char *arg)
{
	unsigned long bytes = XPU_STACK_MAX;
	char *end;

	opts->blind_stack_bytes = BLIND_STACK_BYTES;
	if (!strncmp(arg, "dwarf,", 6)) {
		bytes = strtoul(arg + 6, &end, 10);
		if (*end || bytes < MIN_STACK_BYTES || bytes > XPU_STACK_MAX || bytes % 8) {
			msg__error("--call-graph %s: expected a copy of %d to %d bytes, a "
				   "multiple of 8", arg, MIN_STACK_BYTES, XPU_STACK_MAX);
			return false;
		}
		opts->blind_stack_bytes = bytes;
		arg = "dwarf";
	}
	opts->stack_bytes = bytes;
	opts->call_graph = parse_word("--call-graph", arg, "auto", "fp", "dwarf");
	if (opts->call_graph && !strcmp(opts->call_graph, "fp"))
		opts->stack_bytes = 0;
	return opts->call_graph;
}

/* Return: false if the option is not what it should be. */
static bool take_option(struct options *opts, int c, char *arg)
{
	switch (c) {
	case 'o':
		opts->output = arg;
		break;
	case 'p':
		if (opts->mode != PROBES_ALL)	/* both: see options__agree() */
			opts->mode = PROBES_PID;
		opts->pid = parse_number("-p", arg, INT_MAX);
		return opts->pid;
	case 'a':
		opts->mode = PROBES_ALL;
		break;
	case 'F':
		opts->freq_given = true;
		opts->freq_hz = parse_freq(arg);
		return opts->freq_hz;
	case 'g':			/* perf's: always so */
		break;
	case OPT_GPU_ONLY:
		opts->gpu_only = true;
		break;
	case OPT_CPU_ONLY:
		opts->cpu_only = true;
		break;
	case OPT_API:
		opts->api = true;
		break;
	case OPT_OFF_CPU:
		opts->off_cpu = true;
		break;
	case OPT_OFF_CPU_MIN:
		opts->off_cpu = true;
		opts->off_min_ns = parse_number("--off-cpu-min", arg, UINT32_MAX) * 1000;
		return opts->off_min_ns;
	case OPT_CALL_GRAPH:
		return parse_call_graph(opts, arg);
	case OPT_PYTHON:
		opts->python = parse_word("--python", arg, "on", "off", "only");
		return opts->python;
	case OPT_PROBE:
		opts->probe = parse_word("--probe", arg, "launch", "path", NULL);
		return opts->probe;
	case OPT_NVTX:
		opts->nvtx = !arg || !strcmp(arg, "on");
		return opts->nvtx || parse_word("--nvtx", arg, "on", "off", NULL);
	case OPT_MAX_STACK:
		opts->max_frames = parse_number("--max-stack", arg, XPU_MAX_FRAMES);
		return opts->max_frames;
	case OPT_DURATION:
		opts->duration_ns = parse_duration(arg);
		return opts->duration_ns;
	case 'm':
		opts->ring_bytes = parse_bytes(arg);
		return opts->ring_bytes;
	case 'z':
		opts->level = parse_level(arg);
		return opts->level >= 0;
	case 'N':
		opts->no_cache = true;
		break;
	case OPT_STRICT:
		opts->strict = true;
		break;
	case 'q':
		msg__quiet = true;
		break;
	case 'v':
		msg__verbosity++;
		break;
	}
	return true;
}

/* ---- all of them together -------------------------------------------------------------------- */

/* Refuses an option for a running program, whose shim has read @env at its start. */
static bool only_for_command(const char *option, bool given, const char *env)
{
	if (given)
		msg__error("%s is for a COMMAND to start; for a running program, %s in its "
			   "environment decided", option, env);
	return !given;
}

static bool options__agree(const struct options *opts)
{
	const char *wrong = NULL;

	if (opts->gpu_only && opts->cpu_only)
		wrong = "--gpu-only takes no CPU samples: it cannot be together with --cpu-only";
	else if (opts->gpu_only && opts->freq_given)
		wrong = "--gpu-only takes no CPU samples: it cannot be together with -F";
	else if (opts->gpu_only && opts->off_cpu)
		wrong = "--gpu-only looks at no threads: it cannot be together with --off-cpu";
	else if (opts->cpu_only && opts->api)
		wrong = "--cpu-only knows of no CUDA: it cannot be together with --api";
	else if (opts->cpu_only && opts->mode == PROBES_ALL)
		wrong = "--cpu-only is for a COMMAND or a process: -a finds programs by the shim";
	else if (opts->cpu_only && opts->python && !strcmp(opts->python, "only"))
		wrong = "--python only is for launches: not with --cpu-only";
	else if (opts->pid && opts->mode == PROBES_ALL)
		wrong = "-p is for one process and -a for all: not together";
	else if (opts->duration_ns && opts->mode == PROBES_RUN)
		wrong = "--duration is for -p and -a; a COMMAND is recorded until it ends: see "
			"timeout(1)";
	else if (has_suffix(opts->output, ".gz") && !has_suffix(opts->output, ".pb.gz"))
		wrong = "-o: .pb.gz alone is compressed; see gzip(1) for others";
	else if (!strcmp(opts->output, "-"))
		wrong = "-o -: standard output is the target's own: name a file";
	if (wrong) {
		msg__error("%s", wrong);
		return false;
	}
	if (opts->mode == PROBES_RUN)
		return true;
	return (opts->cpu_only ||
		(only_for_command("--python", opts->python, XPU_PYTHON_ENV) &&
		 only_for_command("--call-graph", opts->call_graph, XPU_CALL_GRAPH_ENV))) &&
	       only_for_command("--probe", opts->probe, XPU_PROBE_ENV);
}

/* @err: of looking for it */
static bool options__check_shim(const struct options *opts, int err)
{
	if (opts->cpu_only)
		return true;
	if (err)
		msg__error("libxpushim.so is neither beside xpuload nor in ../lib/xpuload: %s",
			   strerror(-err));
	else if (strpbrk(opts->shim, ": "))
		msg__error("%s: LD_PRELOAD cannot hold a path with a blank or a colon; install "
			   "xpuload elsewhere", opts->shim);
	else
		return true;
	return false;
}

static void print_usage(void)
{
	char suffixes[512] = "";

	formats__suffixes(suffixes, sizeof(suffixes), ".data", 25, 25);
	printf(usage_text, suffixes);
}

/* Chooses the recording's name; it is beside the merged result, if the user asks for a result. */
static int options__choose_data(struct options *opts)
{
#define SUFFIX(id, name, suffix)	suffix,
	static const char *const merged[] = { FORMATS(SUFFIX) ".svg" };
#undef SUFFIX
	uint32_t number;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(merged); i++)
		opts->merge |= has_suffix(opts->output, merged[i]) && strcmp(merged[i], ".data");
	if (!opts->merge)
		return (opts->data = strdup(opts->output)) ? 0 : -ENOMEM;
	/* A name that nobody can have taken. */
	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -errno;
	return asprintf(&opts->data, "%s.%08x.data", opts->output, number) < 0 ? -ENOMEM : 0;
}

int options__parse(struct options *opts, int argc, char **argv)
{
	bool check = false;
	char line[256];
	int c, err;

	*opts = (struct options){
		.output = "xpu.data", .ring_bytes = DEFAULT_RING_BYTES, .freq_hz = DEFAULT_HZ,
		.nvtx = true, .stack_bytes = XPU_STACK_MAX, .own_argv = argv,
		.blind_stack_bytes = BLIND_STACK_BYTES, .level = BLOCK_LEVEL_DEFAULT,
	};
	if (argc > 1 && !strcmp(argv[1], "record"))
		optind = 2;		/* as perf has it */
	while ((c = getopt_long(argc, argv, "+:o:p:aF:gm:z:NqvVh", longs, NULL)) != -1) {
		if (c == 'h') {
			print_usage();
			return 0;
		}
		if (c == 'V') {
			printf("xpuload %s\n", XPU_VERSION);
			return 0;
		}
		if (c == '?' || c == ':') {
			cmdline__explain(line, sizeof(line), c, argv, longs, habits);
			msg__error("%s", line);
			return STATUS_FAILED;
		}
		check |= c == OPT_CHECK;
		if (c != OPT_CHECK && !take_option(opts, c, optarg))
			return STATUS_FAILED;
	}
	err = own_files__find("libxpushim.so", opts->shim, sizeof(opts->shim));
	if (check)
		return check__run(err ? NULL : opts->shim);
	if (opts->mode == PROBES_RUN && optind == argc) {
		msg__error("nothing to record: expected a COMMAND, -p PID or -a: see --help");
		return STATUS_FAILED;
	}
	if (opts->mode != PROBES_RUN && optind < argc) {
		msg__error("%s: -p and -a attach and take no COMMAND; --duration SECONDS, Ctrl-C "
			   "or the end of PID ends them", argv[optind]);
		return STATUS_FAILED;
	}
	if (!options__agree(opts) || !options__check_shim(opts, err))
		return STATUS_FAILED;
	if (opts->probe && opts->call_graph && !strcmp(opts->probe, "path") &&
	    !strcmp(opts->call_graph, "fp"))
		msg__warn("--call-graph fp reads every launch's stack in the kernel: as with "
			  "--probe launch");
	opts->argv = argv + optind;
	opts->own_argc = opts->mode == PROBES_RUN ? optind : argc;
	if (options__choose_data(opts)) {
		msg__error("out of memory");
		return STATUS_FAILED;
	}
	return -1;
}

void options__free(struct options *opts)
{
	free(opts->data);
}
