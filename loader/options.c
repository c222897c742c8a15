// SPDX-License-Identifier: GPL-3.0-or-later
#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
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
#include "own_files.h"
#include "output_name.h"
#include "attach/sampler.h"
#include "suffix.h"
#include "util.h"
#include "push_url.h"
#include "version.h"
#include "xpu_record.h"
#include "xpu_slot.h"

#define MIN_RING_BYTES	(64ull << 10)
#define MAX_RING_BYTES	(2ull << 30)
#define DEFAULT_RING_BYTES (64ull << 20)
#define MIN_STACK_BYTES	1024
#define DEFAULT_NAME	"xpu.data"
#define BLIND_STACK_BYTES 32768		/* bytes of the stack that a sample copies if the stack's
					 * end is unknown */
#define DEFAULT_HZ	99		/* not in step with activity at 100 Hz */
#define MAX_HZ		1000000000
#define MAX_SECONDS	1e9
#define MIN_EVERY	0.01
#define DEFAULT_EVERY_NS	10000000000ull	/* with --push */
#define DEFAULT_METRICS_HZ 1000
#define DEFAULT_STALLS	18		/* 2^18 cycles between samples */
#define MIN_STALLS	5
#define MAX_STALLS	31
#define MAX_METRICS_HZ	20000

/* Prints why an option is refused. Return: false. */
#define REFUSE(...)	(msg__error(__VA_ARGS__), false)

static const char usage[] =
"usage: xpuload [record] [OPTION...] [--] COMMAND [ARG...]\n"
"       xpuload [record] [OPTION...] -p PID[,PID] | -a [--duration SECONDS]\n"
"       xpuload top [OPTION...] [-p PID[,PID] | -a]\n"
"       xpuload report | script | diff [ARG...]\n"
"       xpuload --check\n"
"\n"
"Runs COMMAND and records each GPU launch with its call path and the time that the GPU\n"
"worked for it, and samples where threads spend CPU time.\n"
"\n";

static const char footer[] =
"\n"
"Exit status: the status of COMMAND; 125 if xpuload failed; 126 or 127 if COMMAND could\n"
"not be run.\n";

/* Shown to users who give no arguments. */
static const char *const examples[] = {
	"xpuload -o train.html python3 train.py    records a program, and makes a page",
	"xpuload -p PID --duration 10              records a program that runs, into xpu.data",
	"xpumerge xpu.data                         prints the summary of a recording",
};

static void explain_usage(bool with_examples)
{
	size_t i;

	msg__error("nothing to record: expected a COMMAND, -p PID or -a: see --help");
	for (i = 0; with_examples && i < ARRAY_SIZE(examples); i++)
		msg__error("    %s", examples[i]);
}

/* Options of perf and nsys that users may type. */
static const struct cmdline_habit habits[] = {
	{ "-D", "xpumerge --from leaves out the beginning" },
	{ "--delay", "xpumerge --from leaves out the beginning" },
	{ "-t", "CUDA and NVTX are always recorded, and --api adds API calls; xpumerge --tid "
		"picks threads" },
	{ "--trace", "CUDA and NVTX are always recorded, and --api adds API calls" },
	{ "--tid", "xpumerge --tid picks threads" },
	{ "-e", "CPU samples are taken by the clock; -F HZ says how many" },
	{ "-c", "CPU samples are taken by the clock; -F HZ says how many" },
	{ "-d", "--duration SECONDS; --every SECONDS is how often top shows a frame" },
	{ "--stdio", "top --batch" },
	{ "--sort", "keys pick what top shows; xpumerge --sort sorts the tables" },
	{ "--capture-range", "--capture cuda-profiler-api, or nvtx:REGEX" },
	{ "--capture-range-end", "--capture-end stop, repeat or repeat:N" },
	{ "--nvtx-capture",
	  "--capture 'nvtx:^DOMAIN:RANGE$'; in NVTX's own domain 'nvtx:^RANGE$'" },
	{ "-f", "an old recording is renamed to FILE.old" },
	{ "--force-overwrite", "an old recording is renamed to FILE.old" },
	{ "--stats", "-o FILE.txt is a summary, as xpumerge prints it" },
	{ "profile", "leave it out: xpuload COMMAND records" },
	{ "--gpus", "all GPUs are recorded; xpumerge --device LIST picks some of them" },
	{ "--device", "all GPUs are recorded; xpumerge --device LIST picks some of them" },
	{ "--devices", "all GPUs are recorded; xpumerge --device LIST picks some of them" },
	{ NULL, NULL },
};

const char *options__habit(const char *word)
{
	return cmdline__habit(habits, word);
}

/* The suffixes of merged results that -o accepts. */
static const char *const suffixes[] = {
#define SUFFIX(id, name, suffix)	suffix,
	FORMATS(SUFFIX) ".svg", NULL
#undef SUFFIX
};

/* Lists the suffixes of merged results, for --help. */
static void list_suffixes(char *buf, size_t size)
{
	const char *merged[ARRAY_SIZE(suffixes)] = { NULL };
	size_t i, nr = 0;

	for (i = 0; suffixes[i]; i++)
		if (strcmp(suffixes[i], ".data"))
			merged[nr++] = strcmp(suffixes[i], "/") ? suffixes[i] : "DIR/";
	cmdline__join(buf, size, merged, ", ");
}

/* Whether a name has the suffix of a merged result. */
static bool is_merged(const char *name)
{
	const char *suffix = suffix__of(name, suffixes);
	char plain[PATH_MAX];

	if (!suffix && has_suffix(name, ".gz") && strlen(name) < sizeof(plain)) {
		snprintf(plain, sizeof(plain), "%.*s", (int)strlen(name) - 3, name);
		suffix = suffix__of(plain, suffixes);
		/* Directories and pictures have no compressed form. */
		if (suffix && (!strcmp(suffix, "/") || !strcmp(suffix, ".svg")))
			suffix = NULL;
	}
	return suffix && strcmp(suffix, ".data");
}

/*
 * Return: whether a name is valid for a merged result or a recording. A recording's suffix may be a
 * number or missing. Other suffixes are refused with a message, as likely typing errors.
 */
static bool is_output_name(const char *name)
{
	const char *suffix = suffix__looks_like(name), *comma;
	char meant[128], first[PATH_MAX];

	if (!strcmp(name, "-"))
		return REFUSE("-o -: standard output is the target's own: name a file");
	for (comma = strchr(name, ','); comma; comma = strchr(comma + 1, ',')) {
		snprintf(first, sizeof(first), "%.*s", (int)(comma - name), name);
		if (!suffix__of(first, suffixes))
			continue;
		return REFUSE("-o %s: one -o names one file: expected -o %s -o %s", name, first,
			      comma + 1);
	}
	if (!suffix || is_merged(name) || !strcmp(suffix, ".data"))
		return true;
	suffix__meant(name, suffixes, meant, sizeof(meant));
	return REFUSE("-o %s: no output has the suffix %s%s%s; a recording has .data, and --help "
		      "lists all suffixes", name, suffix, *meant ? ", " : "", meant);
}

/* ---- arguments of options, with messages about invalid ones ---------------------------------- */

/* Prints that @arg is not one of the option's words, or not a valid number. */
static void complain_invalid(const struct cmdline_option *option, const char *arg)
{
	const char *const *names = cmdline__names(option);
	char expected[192], word[64];

	if (option->letter)
		snprintf(word, sizeof(word), "-%c", option->letter);
	else
		snprintf(word, sizeof(word), "--%s", option->name);
	if (names)
		cmdline__expect(expected, sizeof(expected), option, arg);
	else
		snprintf(expected, sizeof(expected), "expected a number from %u to %u",
			 option->min, option->max);
	msg__error("%s %s: %s", word, arg, expected);
}

static int add_pid(struct options *opts, pid_t pid)
{
	pid_t *more;
	size_t i;

	for (i = 0; i < opts->nr_pids; i++)
		if (opts->pids[i] == pid)
			return 0;
	more = reallocarray(opts->pids, opts->nr_pids + 1, sizeof(*more));
	if (!more) {
		msg__error("out of memory");
		return -ENOMEM;
	}
	opts->pids = more;
	opts->pids[opts->nr_pids++] = pid;
	return 0;
}

static int set_pids(void *target, const struct cmdline_given *given)
{
	struct options *opts = target;
	const char *at = given->arg;
	unsigned long pid;
	char *end;

	if (opts->mode != PROBES_ALL)	/* options__agree() refuses -p with -a */
		opts->mode = PROBES_PID;
	for (;; at = end + 1) {
		errno = 0;
		pid = strtoul(at, &end, 10);
		if (errno || !isdigit((unsigned char)*at) || (*end && *end != ',') || !pid ||
		    pid > INT_MAX)
			return msg__error("-p %s: expected a pid, or several, such as 12,34",
					  given->arg);
		if (add_pid(opts, pid))
			return -ENOMEM;
		if (!*end)
			return 0;
	}
}

/* Sets a name to filter by, which must not be empty: an empty name would match every process. */
static int set_filter(void *target, const struct cmdline_given *given)
{
	if (*given->arg)
		return cmdline__set_string(target, given);
	return msg__error("--%s: expected a name", given->option->name);
}

static int set_freq(void *target, const struct cmdline_given *given)
{
	struct options *opts = target;
	uint64_t max_hz = sampler__max_hz();
	int err = cmdline__set_number(target, given);

	opts->freq_given = true;
	if (err || !max_hz || opts->freq_hz <= max_hz)
		return err;
	return msg__error("-F %s: the kernel allows %llu: sysctl "
			  "kernel.perf_event_max_sample_rate=%s allows more", given->arg,
			  (unsigned long long)max_hz, given->arg);
}

/*
 * Adds an output. If the recording is among several outputs, it becomes the first output,
 * opts->pattern.
 */
static int set_output(void *target, const struct cmdline_given *given)
{
	struct options *opts = target;
	const char *more = given->arg;

	if (!opts->output_given) {
		opts->output_given = true;
		opts->pattern = given->arg;
		return 0;
	}
	if (!is_merged(given->arg)) {
		if (!is_merged(opts->pattern))
			return msg__error("-o %s and -o %s both name the recording", opts->pattern,
					  given->arg);
		more = opts->pattern;
		opts->pattern = given->arg;
	}
	if (opts->nr_more == MAX_MORE_OUTPUTS)
		return msg__error("-o %s: more than %d outputs", given->arg, MAX_MORE_OUTPUTS + 1);
	opts->more_patterns[opts->nr_more++] = more;
	return 0;
}

static int set_off_cpu_min(void *target, const struct cmdline_given *given)
{
	struct options *opts = target;

	opts->off_cpu = true;
	return cmdline__set_number(target, given);
}

static int set_duration(void *target, const struct cmdline_given *given)
{
	struct options *opts = target;
	double seconds;
	char *end;

	seconds = strtod(given->arg, &end);
	if (!(seconds > 0 && seconds <= MAX_SECONDS) || *end)
		return msg__error("--duration %s: expected a number of seconds", given->arg);
	opts->duration_ns = (uint64_t)(seconds * 1e9) ?: 1;
	return 0;
}

static int set_every(void *target, const struct cmdline_given *given)
{
	struct options *opts = target;
	double seconds;
	char *end;

	seconds = strtod(given->arg, &end);
	if (!(seconds >= MIN_EVERY && seconds <= MAX_SECONDS) || *end)
		return msg__error("--every %s: expected a number of seconds, at least %g",
				  given->arg, MIN_EVERY);
	opts->every_ns = seconds * 1e9;
	return 0;
}

static int set_call_graph(void *target, const struct cmdline_given *given)
{
	struct options *opts = target;
	unsigned long bytes = XPU_STACK_MAX;
	const char *how = given->arg;
	char *end;
	int i;

	opts->blind_stack_bytes = BLIND_STACK_BYTES;
	if (!strncmp(how, "dwarf,", 6)) {
		bytes = strtoul(how + 6, &end, 10);
		if (*end || bytes < MIN_STACK_BYTES || bytes > XPU_STACK_MAX || bytes % 8)
			return msg__error("--call-graph %s: expected a copy of %d to %d bytes, a "
					  "multiple of 8", how, MIN_STACK_BYTES, XPU_STACK_MAX);
		opts->blind_stack_bytes = bytes;
		how = "dwarf";
	}
	i = cmdline__find_name(given, how);
	if (i < 0)
		return i;
	opts->call_graph = how;
	opts->stack_bytes = strcmp(how, "fp") ? bytes : 0;
	return 0;
}

static int set_nvtx(void *target, const struct cmdline_given *given)
{
	struct options *opts = target;
	int i = given->arg ? cmdline__find_name(given, given->arg) : 0;

	opts->nvtx = i == 0;
	return i < 0 ? i : 0;
}

static int set_api(void *target, const struct cmdline_given *given)
{
	struct options *opts = target;
	int i = given->arg ? cmdline__find_name(given, given->arg) : 0;

	opts->api = i >= 0;
	opts->all_api = given->arg && i >= 0;
	return i < 0 ? i : 0;
}

static int set_capture_end(void *target, const struct cmdline_given *given)
{
	struct options *opts = target;

	opts->capture_end = given->arg;
	return capture_opts__parse_end(&opts->capture, given->arg);
}

static int set_stalls(void *target, const struct cmdline_given *given)
{
	struct options *opts = target;
	unsigned long period = DEFAULT_STALLS;
	const char *arg = given->arg;
	char *end;

	opts->stalls_have_how = arg;
	opts->exact_stalls = arg && !strncmp(arg, "exact", 5) && (!arg[5] || arg[5] == ',');
	if (opts->exact_stalls)
		arg = arg[5] ? arg + 6 : NULL;
	if (arg) {
		period = strtoul(arg, &end, 10);
		if (!isdigit((unsigned char)*arg) || *end)
			period = 0;
	}
	if (period < MIN_STALLS || period > MAX_STALLS)
		return msg__error("--stalls %s: expected N, exact or exact,N, where N is %d to %d, "
				  "for one sample in 2^N cycles", given->arg, MIN_STALLS,
				  MAX_STALLS);
	opts->stalls = period;
	return 0;
}

/* Parses a number, or names, or names followed by @ and a number. Names begin with letters. */
static int set_gpu_metrics(void *target, const struct cmdline_given *given)
{
	struct options *opts = target;
	const char *number = given->arg;
	unsigned long hz;
	char *end;

	opts->gpu_metrics = true;
	if (!number)
		return 0;
	if (isalpha((unsigned char)*number)) {
		number = strchr(given->arg, '@');
		opts->gpu_metrics_names = number ? strndup(given->arg, number++ - given->arg) :
						   given->arg;
		if (!opts->gpu_metrics_names) {
			msg__error("out of memory");
			return -ENOMEM;
		}
		if (!number)
			return 0;
	}
	hz = strtoul(number, &end, 10);
	if (isdigit((unsigned char)*number) && !*end && hz && hz <= MAX_METRICS_HZ) {
		opts->gpu_metrics_hz = hz;
		return 0;
	}
	return msg__error("--gpu-metrics %s: expected samples a second, 1 to %d, or names of "
			  "metrics with commas between, or names@HZ", given->arg, MAX_METRICS_HZ);
}

static int set_capture(void *target, const struct cmdline_given *given)
{
	struct options *opts = target;

	return capture_opts__parse(&opts->capture, given->arg);
}

static int set_migrations(void *target, const struct cmdline_given *given)
{
	struct options *opts = target;

	(void)given;
	opts->memory = opts->migrations = true;
	return 0;
}

static int set_memory_only(void *target, const struct cmdline_given *given)
{
	struct options *opts = target;

	(void)given;
	opts->memory = opts->memory_only = opts->gpu_only = true;
	return 0;
}

static int set_control(void *target, const struct cmdline_given *given)
{
	struct options *opts = target;

	return control__parse(&opts->control, given->arg);
}

static int set_transport(void *target, const struct cmdline_given *given)
{
	struct options *opts = target;
	int i = cmdline__find_name(given, given->arg);

	opts->transport = i < 0 ? TRANSPORT_AUTO : i;
	return i < 0 ? i : 0;
}

static int set_ring_size(void *target, const struct cmdline_given *given)
{
	static const char units[] = "KMG";
	struct options *opts = target;
	const char *unit;
	uint64_t bytes;
	char *end;

	errno = 0;
	bytes = strtoull(given->arg, &end, 10);
	unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
	if (!errno && isdigit((unsigned char)given->arg[0]) && bytes <= MAX_RING_BYTES &&
	    (unit ? !end[1] : !*end)) {
		opts->ring_bytes = bytes << (unit ? 10 * (unit - units + 1) : 0);
		if (opts->ring_bytes >= MIN_RING_BYTES && opts->ring_bytes <= MAX_RING_BYTES)
			return 0;
	}
	return msg__error("-m %s: expected a size of 64K to 2G", given->arg);
}

static int set_level(void *target, const struct cmdline_given *given)
{
	struct options *opts = target;
	char *end;
	long level;

	level = strtol(given->arg, &end, 10);
	if (!isdigit((unsigned char)given->arg[0]) || *end || level > BLOCK_LEVEL_MAX)
		return msg__error("-z %s: expected a level of 0 to %d", given->arg,
				  BLOCK_LEVEL_MAX);
	opts->level = level;
	return 0;
}

/* perf's -g: does nothing, since call paths are always recorded. */
static int set_nothing(void *target, const struct cmdline_given *given)
{
	(void)target, (void)given;
	return 0;
}

static int set_quiet(void *target, const struct cmdline_given *given)
{
	(void)target, (void)given;
	msg__quiet = true;
	return 0;
}

static int set_verbose(void *target, const struct cmdline_given *given)
{
	(void)target, (void)given;
	msg__verbosity++;
	return 0;
}

/* ---- the options ----------------------------------------------------------------------------- */

static const char *const call_graph_names[] = { "auto", "fp", "dwarf", NULL };
static const char *const names_names[] = { "end", "all", "later", NULL };
static const char *const python_names[] = { "on", "off", "only", NULL };
static const char *const nvtx_names[] = { "on", "off", NULL };
static const char *const api_names[] = { "all", NULL };
static const char *const probe_names[] = { "launch", "path", NULL };
static const char *const capture_end_names[] = { "together", "stop", "repeat", NULL };
static const char *const cupti_names[] = { "yield", "share", NULL };
static const char *const transport_names[] = { "auto", "bpf", "shm", NULL };	/* enum transport */

#define FILTER(m)	.set = set_filter, .member = CMDLINE_MEMBER(const char *, m)

static const struct cmdline_option rows[] = {
	{ "output", 'o', "FILE", .set = set_output, .many = true,
	  .heading = "Common options:",
	  .help = "write FILE (default xpu.data). Its suffix picks the format:\n"
		  ".data is the recording. Other results are merged at the\n"
		  "end: %s.\n"
		  "Repeat -o to write several files.",
	  .list = list_suffixes },
	{ "pid", 'p', "PID[,PID]", .set = set_pids, .many = true,
	  .help = "attach to running programs and their children; the programs\n"
		  "were started with LD_PRELOAD=libxpushim.so" },
	{ "all", 'a', CMDLINE_VALUE(mode, PROBES_ALL),
	  .help = "attach to all programs that were started in this way; with\n"
		  "--cpu-only, to all processes" },
	{ "duration", 0, "SECONDS", .set = set_duration,
	  .help = "stop -p or -a after SECONDS (default: at Ctrl-C, or when\n"
		  "each PID has ended)" },
	{ "cpu-only", CMDLINE_FLAG(cpu_only),
	  .help = "record only CPU samples, of any program, with or without a\n"
		  "GPU" },
	{ "memory", CMDLINE_FLAG(memory),
	  .help = "also record who allocates and frees GPU memory and pinned\n"
		  "memory, and the blocks of PyTorch's allocator" },
	{ "off-cpu", CMDLINE_FLAG(off_cpu),
	  .help = "also record where and why threads are blocked" },
	{ "gpu-metrics", 0, "[=HZ|LIST|LIST@HZ]", .set = set_gpu_metrics, .many = true,
	  .help = "also sample the GPUs' counters, power and energy, 1000\n"
		  "times a second or at HZ. LIST: NVIDIA's names of metrics,\n"
		  "separated by commas" },
	{ "check", CMDLINE_FLAG(check),
	  .help = "print what this machine can record, and how to get the rest" },
	{ "help", 'h', .set = cmdline__help,
	  .help = "print this help" },

	{ "freq", 'F', "HZ", .set = set_freq, CMDLINE_RANGE(freq_hz, 1, MAX_HZ),
	  .heading = "What to record:",
	  .help = "take HZ CPU samples a second (default 99)" },
	{ "gpu-only", CMDLINE_FLAG(gpu_only),
	  .help = "record launches and GPU work, but no CPU samples or waits" },
	{ "memory-only", .set = set_memory_only,
	  .help = "record memory, and nothing else" },
	{ "migrations", .set = set_migrations,
	  .help = "record memory and the page migrations of managed memory\n"
		  "(experimental)" },
	{ "stalls", 0, "[=N|exact]", .set = set_stalls,
	  .help = "also sample where and why warps stall inside kernels, every\n"
		  "2^N cycles of an SM (default 18). exact: by launch, one\n"
		  "kernel at a time" },
	{ "api", 0, "[=all]", .set = set_api, .names = api_names,
	  .help = "also record GPU API calls that can take time, about 0.25 us\n"
		  "a call. all: every call" },
	{ "nvtx", 0, "[=off]", .set = set_nvtx, .names = nvtx_names,
	  .help = "record NVTX ranges and the launches in them (default on)" },
	{ "off-cpu-min", 0, "US", .set = set_off_cpu_min, CMDLINE_RANGE(off_min_us, 1, UINT32_MAX),
	  .help = "like --off-cpu, but without the stacks of times under US\n"
		  "microseconds" },
	{ "python", 0, "HOW", CMDLINE_WORD(python), .names = python_names,
	  .help = "show Python functions in call paths: on (default), off, or\n"
		  "only (no native functions)" },
	{ "names", 0, "WHEN", CMDLINE_WORD(names), .names = names_names,
	  .help = "add the names of functions and lines to the recording when\n"
		  "it ends: for a second at most (end, the default) or however\n"
		  "long it takes (all); or leave them to xpumerge (later)" },

	{ "no-children", CMDLINE_FLAG(no_children),
	  .heading = "Where and when:",
	  .help = "with -p: do not record the children of PID" },
	{ "inject", CMDLINE_FLAG(inject),
	  .help = "also with -a: put the shim into programs that use CUDA without it,\n"
		  "as -p does (experimental)" },
	{ "no-inject", CMDLINE_FLAG(no_inject),
	  .help = "with -p: put the shim into no program" },
	{ "cgroup", 0, "PATH", FILTER(cgroup),
	  .help = "with -a: only processes in this cgroup, and their children" },
	{ "container", 0, "NAME", FILTER(container),
	  .help = "with -a: only processes in this container. NAME is its id,\n"
		  "the first digits of the id, or a name that its cgroup has" },
	{ "comm", 0, "NAME", FILTER(comm),
	  .help = "with -a: only processes called NAME (see ps -o comm), and\n"
		  "their children" },
	{ "capture", 0, "WHAT", .set = set_capture,
	  .help = "record only a part of the run:\n"
		  "cuda-profiler-api: from cudaProfilerStart() to ...Stop()\n"
		  "nvtx:REGEX: while an NVTX range with this name is open\n"
		  "launch:N-M: from launch number N to number M\n"
		  "after:S,for:S: by the clock, in seconds" },
	{ "capture-end", 0, "HOW", .set = set_capture_end, .names = capture_end_names,
	  .help = "if --capture opens several windows: together (default) puts\n"
		  "all in one recording; stop records only the first; repeat\n"
		  "makes a result of each (-o w%n.html), repeat:N of N at most" },
	{ "control", 0, "HOW", .set = set_control,
	  .help = "record between the commands enable and disable, read from\n"
		  "fifo:CTL[,ACK] or fd:CTL[,ACK], as perf record does; each\n"
		  "enable begins a new recording. stop and ping work, too" },

	{ "every", 0, "SECONDS", .set = set_every,
	  .heading = "Output:\n"
		     "  FILE may contain %h (the host), %p (the target's pid), %q{VAR} (a\n"
		     "  variable of the environment) and %n (the lowest unused number). Add .gz\n"
		     "  to compress a merged result.",
	  .help = "begin a new file every SECONDS, which can be read alone; %n\n"
		  "is its number (without %n, the number is the suffix)" },
	{ "keep", 0, "N", CMDLINE_NUMBER(keep, 1, 1000000),
	  .help = "with --every: keep only the last N files" },
	{ "push", 0, "URL", CMDLINE_STRING(push),
	  .help = "send profiles of each file of --every (default 10) to a\n"
		  "server: pyroscope+http://HOST:4040, otlp+http://HOST:4318,\n"
		  "parca+http://HOST:7070, or https. Without -o and --keep, the\n"
		  "files are removed afterwards" },
	{ "push-labels", 0, "LIST", CMDLINE_STRING(push_labels),
	  .help = "with --push: add labels to the profiles,\n"
		  "KEY=VALUE,KEY=VALUE" },
	{ "compression-level", 'z', "N", .set = set_level,
	  .help = "compress the recording: 1 (default, fastest) to 22\n"
		  "(smallest); 0: do not compress" },
	{ "strict", CMDLINE_FLAG(strict),
	  .help = "fail with status 125 if anything was lost or not recorded" },
	{ "batch", CMDLINE_FLAG(batch),
	  .help = "top: print frames as text, one after another" },
	{ "frames", 'n', "N", CMDLINE_NUMBER(frames, 1, UINT32_MAX),
	  .help = "top: stop after N frames" },
	{ "quiet", 'q', .set = set_quiet,
	  .help = "print warnings and errors only, no summary" },
	{ "verbose", 'v', .set = set_verbose,
	  .help = "print more; given twice, also libbpf's messages" },
	{ "version", 'V', .set = cmdline__version,
	  .help = "print the version" },

	{ "call-graph", 0, "HOW", .set = set_call_graph, .names = call_graph_names,
	  .heading = "Expert options:",
	  .help = "find call paths by unwind tables (dwarf), by frame pointers\n"
		  "(fp), or by dwarf where possible (auto, the default).\n"
		  "dwarf,BYTES limits the copy of the stack in a CPU sample\n"
		  "(default 262144, the most)" },
	{ "max-stack", 0, "N", CMDLINE_NUMBER(max_frames, 1, XPU_MAX_FRAMES),
	  .help = "keep N frames of a call path, 1 to 1000 (default 512; fp: at\n"
		  "most 127)" },
	{ "probe", 0, "WHEN", CMDLINE_WORD(probe), .names = probe_names,
	  .help = "enter the kernel once for each new call path and for\n"
		  "many launches at once (path, the default), or at each launch\n"
		  "(launch). Both are exact" },
	{ "cupti", 0, "HOW", CMDLINE_WORD(cupti), .names = cupti_names,
	  .help = "if COMMAND itself uses CUPTI, as torch.profiler does: yield\n"
		  "(default) records nothing until it is done; share serves\n"
		  "both" },
	{ "transport", 0, "HOW", .set = set_transport, .names = transport_names,
	  .help = "receive launches through BPF (bpf), through memory shared\n"
		  "with COMMAND, which needs no privileges (shm), or through\n"
		  "BPF where it is allowed (auto, the default)" },
	{ "ring-size", 'm', "BYTES", .set = set_ring_size,
	  .help = "size of the ring buffer, with K, M or G (default 64M): a\n"
		  "larger one survives larger bursts of launches" },
	{ "no-buildid-cache", 'N', CMDLINE_FLAG(no_cache),
	  .help = "do not copy mapped files that have another path here, as\n"
		  "files of containers do" },
	{ NULL, 'g', .set = set_nothing,
	  .help = "ignored, for users of perf: call paths are always recorded" },
};

_Static_assert(ARRAY_SIZE(rows) <= CMDLINE_MAX_OPTIONS, "cmdline__parse() has room for them");

static const char *const commands[] = { "record", "top", NULL };

static const struct cmdline cmdline = {
	.version = "xpuload " XPU_VERSION,
	.usage = usage,
	.footer = footer,
	.column = 25, .columns = 86,
	.stop_at_word = true,
	.options = rows,
	.nr_options = ARRAY_SIZE(rows),
	.commands = commands,
	.habits = habits,
	.error = msg__error,
	.invalid = complain_invalid,
};

/* ---- all of them together -------------------------------------------------------------------- */

/* Refuses an option for a running program, whose shim has already read @env. */
static bool only_for_command(const char *option, bool given, const char *env)
{
	if (given)
		msg__error("%s needs a COMMAND to start; with -p and -a, %s in the program's "
			   "environment decides", option, env);
	return !given;
}

static bool options__controlled(const struct options *opts)
{
	return opts->control.fifos || opts->control.fd >= 0;
}

bool options__by_hand(const struct options *opts)
{
	return options__controlled(opts) || opts->capture.after_ns != UINT64_MAX;
}

/* Options that make other options useless. */
static const struct exclusion {
	const char *option, *why;
	const char *others[14];		/* NULL-terminated */
} exclusions[] = {
	{ "check", "records nothing",
	  { "output", "all", "duration", "every", "push", "control", "capture", NULL } },
	{ "quiet", "prints less", { "verbose", NULL } },
	{ "memory-only", "records memory and nothing else",
	  { "gpu-only", "cpu-only", "freq", "off-cpu", "off-cpu-min", "api", "stalls", "probe",
	    NULL } },
	{ "gpu-only", "takes no CPU samples", { "cpu-only", "freq", NULL } },
	{ "gpu-only", "records no time off the CPU", { "off-cpu", "off-cpu-min", NULL } },
	{ "cpu-only", "records nothing of CUDA",
	  { "api", "stalls", "gpu-metrics", "memory", "migrations", "nvtx", "probe", "cupti",
	    "capture-end", "inject", NULL } },
	{ "control", "makes a recording of each window", { "every", "push", NULL } },
	{ "top", "shows device work and CPU samples, and makes no file",
	  { "output", "keep", "push", "control", "capture", "api", "stalls", "gpu-metrics",
	    "off-cpu", "off-cpu-min", "memory", "migrations", "memory-only", NULL } },
};

static bool options__given(const struct options *opts, const char *name)
{
	return cmdline__has(&cmdline, opts->given, name) || (opts->top && !strcmp(name, "top"));
}

/* Return: whether every option has an effect. Prints the first option that has no effect. */
static bool options__have_effect(const struct options *opts)
{
	const struct exclusion *e;
	const char *const *other;

	for (e = exclusions; e < exclusions + ARRAY_SIZE(exclusions); e++)
		for (other = e->others; options__given(opts, e->option) && *other; other++) {
			if (!options__given(opts, *other))
				continue;
			return REFUSE("%s%s %s: it cannot be combined with --%s",
				      strcmp(e->option, "top") ? "--" : "", e->option, e->why,
				      *other);
		}
	return true;
}

/* The table of conflicts uses these facts about the options. */
#define FACTS(X)									\
	X(COMMAND, opts->mode == PROBES_RUN)						\
	X(SOME, opts->mode == PROBES_PID)						\
	X(ALL, opts->mode == PROBES_ALL)						\
	X(TOP, opts->top)								\
	X(SHM, opts->transport == TRANSPORT_SHM)					\
	X(PIDS, opts->nr_pids)								\
	X(NO_CHILDREN, opts->no_children)						\
	X(INJECT, opts->inject)								\
	X(NO_INJECT, opts->no_inject)							\
	X(CGROUP, opts->cgroup)								\
	X(CONTAINER, opts->container)							\
	X(PICK, opts->cgroup || opts->container || opts->comm)				\
	X(CPU_ONLY, opts->cpu_only)							\
	X(OFF_CPU, opts->off_cpu)							\
	X(API, opts->api)								\
	X(NVTX, opts->nvtx)								\
	X(MEMORY_ONLY, opts->memory_only)						\
	X(STALLS, opts->stalls)								\
	X(EXACT_STALLS, opts->exact_stalls)						\
	X(METRICS_LIST, opts->gpu_metrics_names)					\
	X(CUPTI, opts->cupti)								\
	X(CUPTI_SHARE, is(opts->cupti, "share"))					\
	X(PYTHON_ONLY, is(opts->python, "only"))					\
	X(PYTHON_ON, is(opts->python, "on"))						\
	X(STACKS, opts->stack_bytes)							\
	X(CAPTURE, opts->capture.what)							\
	X(CAPTURE_NVTX, opts->capture.what &&						\
			!strncmp(opts->capture.what, XPU_CAPTURE_NVTX, 5))		\
	X(CAPTURE_END, opts->capture_end)						\
	X(CONTROL, options__controlled(opts))						\
	X(BY_HAND, options__by_hand(opts))						\
	X(DURATION, opts->duration_ns)							\
	X(EVERY, opts->every_ns)							\
	X(KEEP, opts->keep)								\
	X(MORE_FILES, opts->nr_more)							\
	X(PUSH, opts->push)								\
	X(PUSH_LABELS, opts->push_labels)						\
	X(TOP_ONLY, opts->batch || opts->frames)

#define FACT_NUMBER(name, holds)	name##_NUMBER,
#define FACT_BIT(name, holds)		name = 1ull << name##_NUMBER,
#define FACT_HOLDS(name, holds)		((holds) ? name : 0) |
enum { FACTS(FACT_NUMBER) NR_FACTS };
enum fact { FACTS(FACT_BIT) };

/*
 * A conflict exists if all facts of .all and no fact of .none hold. The first conflict is reported.
 */
static const struct {
	uint64_t all, none;
	const char *why;
} conflicts[] = {
	{ STALLS | METRICS_LIST, 0,
	  "a GPU cannot take PC samples and sample its counters at once: --stalls cannot be "
	  "combined with --gpu-metrics=LIST" },
	{ CUPTI | EXACT_STALLS, 0,
	  "--stalls=exact runs kernels one at a time, without another profiler: it cannot "
	  "be combined with --cupti" },
	{ MEMORY_ONLY, COMMAND,
	  "--memory-only needs a COMMAND to start: with -p and -a, use --memory --gpu-only" },
	{ CPU_ONLY | PYTHON_ONLY, 0,
	  "--python only is for launches: it cannot be combined with --cpu-only" },
	{ CPU_ONLY | CAPTURE, 0,
	  "--cpu-only records nothing of CUDA: it cannot be combined with --capture" },
	{ PYTHON_ON, STACKS,
	  "--python on needs --call-graph dwarf: with fp, use --python only or off" },
	{ OFF_CPU | CAPTURE, 0,
	  "--off-cpu records threads from begin to end: it cannot be combined with --capture" },
	{ MEMORY_ONLY | CAPTURE, 0,
	  "--memory-only records no launches: it cannot be combined with --capture" },
	{ CAPTURE_NVTX, NVTX,
	  "--nvtx=off records no ranges: it cannot be combined with --capture nvtx:" },
	{ CUPTI_SHARE | CAPTURE, 0,
	  "--cupti share serves another profiler all the time: it cannot be combined with "
	  "--capture" },
	{ CAPTURE_END, CAPTURE,
	  "--capture-end is for windows that the program opens: it needs --capture" },
	{ CAPTURE | CONTROL, 0,
	  "--control opens the windows: --capture can only be after:S or for:S" },
	{ BY_HAND | SHM | COMMAND, 0,
	  "--transport shm cannot attach to a running program: it cannot be combined with "
	  "--control, or --capture with after: or for:" },
	{ BY_HAND | CPU_ONLY | ALL, 0,
	  "--control, and --capture with after: or for:, cannot be combined with -a --cpu-only" },
	{ BY_HAND | DURATION, 0,
	  "--duration cannot be combined with --control or --capture after:S: use for:S" },
	{ CUPTI_SHARE | API, 0,
	  "--cupti share cannot serve another profiler if all API calls are recorded: it "
	  "cannot be combined with --api" },
	{ PIDS | ALL, 0,
	  "-p attaches to some processes, -a to all: they cannot be combined" },
	{ NO_CHILDREN, SOME,
	  "--no-children is for -p" },
	{ NO_INJECT, SOME,
	  "--no-inject is for -p" },
	{ INJECT | NO_INJECT, 0,
	  "--inject cannot be combined with --no-inject" },
	{ INJECT | COMMAND, 0,
	  "--inject is for -p and -a: the COMMAND gets the shim when it starts" },
	{ PICK, ALL,
	  "--cgroup, --container and --comm pick among all processes: they need -a" },
	{ CGROUP | CONTAINER, 0,
	  "--cgroup and --container both name a cgroup: they cannot be combined" },
	{ SHM | ALL, 0,
	  "--transport shm needs a COMMAND to start: -p and -a attach by BPF" },
	{ SHM | SOME, CONTROL,
	  "--transport shm needs a COMMAND to start: -p and -a attach by BPF" },
	{ SHM | OFF_CPU, 0,
	  "--transport shm records no time off the CPU: it cannot be combined with "
	  "--off-cpu" },
	{ TOP_ONLY, TOP,
	  "--batch and --frames are for xpuload top" },
	{ EVERY | MORE_FILES, 0,
	  "--every and --push make many files of one name: they take one -o" },
	{ PUSH_LABELS, PUSH,
	  "--push-labels is for --push" },
	{ EVERY | CAPTURE, 0,
	  "--capture opens and closes the recording itself: it cannot be combined with "
	  "--every and --push" },
	{ KEEP, EVERY,
	  "--keep is for --every" },
	{ EVERY | EXACT_STALLS, 0,
	  "--stalls=exact needs each launch in one file with its samples: it cannot be "
	  "combined with --every and --push" },
	{ DURATION | COMMAND, 0,
	  "--duration is for -p and -a; a COMMAND is recorded until it ends: see "
	  "timeout(1)" },
};

static bool is(const char *value, const char *word)
{
	return value && !strcmp(value, word);
}

/* Options whose arguments the shim gets unchanged, in a variable of XPU_SHIM_VARIABLES. */
static const struct {
	const char *variable;
	size_t member;			/* offset of a const char *, or of a uint32_t that is 0 if
					 * the option was not given */
	bool is_number;
} for_shim[] = {
	{ XPU_CALL_GRAPH_ENV, CMDLINE_MEMBER(const char *, call_graph), false },
	{ XPU_MAX_FRAMES_ENV, CMDLINE_MEMBER(uint32_t, max_frames), true },
	{ XPU_PYTHON_ENV, CMDLINE_MEMBER(const char *, python), false },
	{ XPU_PROBE_ENV, CMDLINE_MEMBER(const char *, probe), false },
	{ XPU_CUPTI_ENV, CMDLINE_MEMBER(const char *, cupti), false },
};

void options__set_environment(const struct options *opts)
{
	char number[16];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(for_shim); i++) {
		const void *member = (const char *)opts + for_shim[i].member;
		const char *value = number;

		if (!for_shim[i].is_number)
			value = *(const char *const *)member;
		else if (*(const uint32_t *)member)
			snprintf(number, sizeof(number), "%u", *(const uint32_t *)member);
		else
			value = NULL;
		if (value)
			setenv(for_shim[i].variable, value, 1);
	}
}

/* Return: whether no two options conflict; prints the first conflict. */
static bool options__agree(const struct options *opts)
{
	uint64_t facts = FACTS(FACT_HOLDS) 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(conflicts); i++)
		if ((facts & conflicts[i].all) == conflicts[i].all &&
		    !(facts & conflicts[i].none))
			return REFUSE("%s", conflicts[i].why);
	if (opts->mode == PROBES_RUN)
		return true;
	return (opts->cpu_only ||
		(only_for_command("--python", opts->python, XPU_PYTHON_ENV) &&
		 only_for_command("--call-graph", opts->call_graph, XPU_CALL_GRAPH_ENV))) &&
	       only_for_command("--cupti", opts->cupti, XPU_CUPTI_ENV) &&
	       only_for_command("--stalls=", opts->stalls_have_how, XPU_STALLS_ENV) &&
	       only_for_command("--api=all", opts->all_api, XPU_API_ENV) &&
	       only_for_command("--migrations", opts->migrations, XPU_MIGRATIONS_ENV) &&
	       only_for_command("--capture", opts->capture.what, XPU_CAPTURE_ENV) &&
	       only_for_command("--probe", opts->probe, XPU_PROBE_ENV);
}

/* Refuses an invalid receiver or label before anything is started. */
static bool options__check_push(const struct options *opts)
{
	const char *why, *at;
	struct push_url url;

	if (!opts->push)
		return true;
	why = push_url__parse(&url, opts->push);
	if (why)
		return REFUSE("--push %s: %s", opts->push, why);
	why = push_token__check(getenv("XPULOAD_PUSH_TOKEN"));
	if (why)
		return REFUSE("XPULOAD_PUSH_TOKEN: %s", why);
	for (at = opts->push_labels; at && *at; at += strcspn(at, ","), at += *at == ',') {
		size_t len = strspn(
			at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

		if (!len || at[len] != '=' || strchr("0123456789", *at))
			return REFUSE("--push-labels %s: expected KEY=VALUE, with commas between",
				      opts->push_labels);
	}
	return true;
}

/*
 * Prints an error if the shim is needed and cannot be used. @err: the result of the search for the
 * shim
 */
static bool options__check_shim(const struct options *opts, int err)
{
	if (opts->cpu_only)
		return true;
	if (err)
		msg__error("libxpushim.so is neither next to xpuload nor in ../lib/xpuload: %s",
			   strerror(-err));
	else if (strpbrk(opts->shim, ": "))
		msg__error("%s: LD_PRELOAD cannot hold a path with a blank or a colon; install "
			   "xpuload elsewhere", opts->shim);
	else
		return true;
	return false;
}

/*
 * Checks and expands a name. If each window has its own result, the name keeps %n for the window's
 * number.
 */
static int options__expand(const struct options *opts, const char *pattern, pid_t pid, char **name)
{
	return opts->capture.each && is_merged(pattern) ?
	       output_name__expand_row(pattern, pid, name) :
	       output_name__expand(pattern, pid, name);
}

int options__name(struct options *opts, pid_t pid)
{
	uint32_t number;
	size_t i, len;
	int err = opts->every_ns ? output_name__expand_row(opts->pattern, pid, &opts->output) :
				   options__expand(opts, opts->pattern, pid, &opts->output);

	for (i = 0; i < opts->nr_more && !err; i++)
		err = options__expand(opts, opts->more_patterns[i], pid, &opts->more_outputs[i]);
	if (err) {
		if (err == -ENOMEM)
			msg__error("out of memory");
		return -1;
	}
	opts->merge = !opts->every_ns && is_merged(opts->output);
	/* Put the recording next to the output, under a name that nobody else can have used. */
	for (len = strlen(opts->output); len > 1 && opts->output[len - 1] == '/'; len--)
		;
	if (opts->every_ns)
		opts->data = output_name__of_row(opts->output, 1);
	else if (!opts->merge)
		opts->data = strdup(opts->output);
	else if (getrandom(&number, sizeof(number), 0) != sizeof(number) ||
		 asprintf(&opts->data, "%.*s.%08x.data", (int)len, opts->output, number) < 0)
		opts->data = NULL;
	if (!opts->data)
		msg__error("out of memory");
	return opts->data ? 0 : -1;
}

/* Refuses an invalid name before anything is started. */
static bool options__check_name(const struct options *opts, const char *pattern)
{
	char *name;
	int err;

	if (!is_output_name(pattern))
		return false;
	if (opts->capture.each && is_merged(pattern) &&
	    (!output_name__has_number(pattern) || has_suffix(pattern, ".svg")))
		return REFUSE("-o %s: --capture-end repeat makes a result for each window: "
			      "expected %%n in the name, and not .svg", pattern);
	if (options__controlled(opts) && !output_name__has_number(pattern))
		return REFUSE("-o %s: --control may make several recordings: expected %%n in the "
			      "name", pattern);
	if (opts->every_ns && is_merged(pattern))
		return REFUSE("-o %s: --every and --push make recordings, each of which xpumerge "
			      "can merge: name them .data", pattern);
	if (opts->mode == PROBES_ALL && output_name__has_pid(pattern))
		return REFUSE("-o: %%p is the target's pid, and -a has several targets: leave %%p "
			      "out");
	err = output_name__expand(pattern, 0, &name);
	if (err == -ENOMEM)
		msg__error("out of memory");
	if (err)
		return false;
	free(name);
	return true;
}

static bool options__check_names(const struct options *opts)
{
	size_t i, k;

	if (!options__check_name(opts, opts->pattern))
		return false;
	for (i = 0; i < opts->nr_more; i++) {
		if (!options__check_name(opts, opts->more_patterns[i]))
			return false;
		for (k = 0; k <= i; k++) {
			if (strcmp(opts->more_patterns[i],
				   k ? opts->more_patterns[k - 1] : opts->pattern))
				continue;
			return REFUSE("-o %s: twice", opts->more_patterns[i]);
		}
	}
	return true;
}

/*
 * Completes the options of the command "top", which makes no file, but a stream of intervals for
 * xpumerge top.
 */
static bool options__complete_top(struct options *opts, int argc)
{
	if (optind < argc)
		return REFUSE("top: expected -p PID or -a: top shows programs that already run");
	if (opts->mode == PROBES_RUN)
		opts->mode = PROBES_ALL;
	opts->every_ns = opts->every_ns ?: 1000000000;
	opts->no_cache = true;
	msg__quiet = true;
	return true;
}

int options__parse(struct options *opts, int argc, char **argv)
{
	int err;

	*opts = (struct options){
		.pattern = DEFAULT_NAME, .ring_bytes = DEFAULT_RING_BYTES, .freq_hz = DEFAULT_HZ,
		.nvtx = true, .stack_bytes = XPU_STACK_MAX, .own_argv = argv,
		.blind_stack_bytes = BLIND_STACK_BYTES, .level = BLOCK_LEVEL_DEFAULT,
		.gpu_metrics_hz = DEFAULT_METRICS_HZ,
		.capture = { .after_ns = UINT64_MAX }, .control = { .fd = -1, .ack_fd = -1 },
		.ready_fd = -1,
	};
	opts->top = argc > 1 && !strcmp(argv[1], "top");
	if (opts->top || (argc > 1 && !strcmp(argv[1], "record")))
		optind = 2;		/* "record" is accepted, as by perf */
	err = cmdline__parse(&cmdline, opts, argc, argv, &opts->given);
	if (err)
		return err < 0 ? STATUS_FAILED : 0;
	if (!options__have_effect(opts))
		return STATUS_FAILED;
	if (opts->check && optind < argc) {
		msg__error("%s: --check records nothing: it takes no COMMAND", argv[optind]);
		return STATUS_FAILED;
	}
	err = own_files__find("libxpushim.so", opts->shim, sizeof(opts->shim));
	if (opts->check)
		return opts->nr_pids ? check__pids(opts->pids, opts->nr_pids, opts->shim,
						   !opts->no_inject, !opts->no_children) :
				       check__run(err ? NULL : opts->shim);
	if (opts->top && !options__complete_top(opts, argc))
		return STATUS_FAILED;
	if (opts->mode == PROBES_RUN && optind == argc) {
		explain_usage(argc == 1);
		return STATUS_FAILED;
	}
	if (opts->mode != PROBES_RUN && optind < argc) {
		msg__error("%s: -p and -a attach and take no COMMAND; --duration SECONDS, Ctrl-C "
			   "or the end of PID ends them", argv[optind]);
		return STATUS_FAILED;
	}
	if (opts->push && !opts->every_ns)
		opts->every_ns = DEFAULT_EVERY_NS;
	if (!options__agree(opts) || !options__check_push(opts) || !options__check_shim(opts, err))
		return STATUS_FAILED;
	if (opts->probe && opts->call_graph && !strcmp(opts->probe, "path") &&
	    !strcmp(opts->call_graph, "fp"))
		msg__warn("--call-graph fp reads every launch's stack in the kernel: as with "
			  "--probe launch");
	if (options__controlled(opts) && !opts->output_given)
		opts->pattern = "xpu-%n.data";
	opts->argv = argv + optind;
	opts->own_argc = opts->mode == PROBES_RUN ? optind : argc;
	return options__check_names(opts) ? -1 : STATUS_FAILED;
}

void options__free(struct options *opts)
{
	size_t i;

	for (i = 0; i < opts->nr_more; i++)
		free(opts->more_outputs[i]);
	free(opts->pids);
	free(opts->output);
	free(opts->data);
}
