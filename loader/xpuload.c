// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * xpuload - records which call path launched which device work
 *
 * Arms the probes, starts the target or attaches to what runs already, drains the ring into xpu.data
 * until the end, and leaves everything that needs symbols to xpumerge.
 */
#include <errno.h>
#include <getopt.h>
#include <grp.h>
#include <limits.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "keeper.h"
#include "msg.h"
#include "paths.h"
#include "probes.h"
#include "pyfind.h"
#include "recorder.h"
#include "sampler.h"
#include "sideband.h"
#include "target.h"
#include "version.h"
#include "writer.h"
#include "xpu_slot.h"

#define STATUS_FAILED	125		/* xpuload itself; what env(1) and timeout(1) use */
#define STATUS_NOT_RUN	126		/* as the shell: found, not executable */
#define STATUS_NOT_FOUND 127

#define MERGE_INCOMPLETE	1	/* xpumerge's and fold.sh's: written, but not all is there */

#define DEFAULT_RING_BYTES	(64ull * 1024 * 1024)
#define BLIND_STACK_BYTES	32768	/* of a sample, if nobody knows where its stack ends */
#define DEFAULT_HZ		99	/* not in step with what happens a hundred times a second */
#define POLL_MS			100
#define RELAY_POLL_MS		5
#define BEHIND_POLL_MS		10
#define DETACH_NS		1000000000ull	/* for the last records, when nobody ends */
#define NICE			(-10)	/* of the one who drains the ring, if allowed */

struct options {
	const char *output;		/* as given */
	char *data;			/* the recording */
	bool merge;			/* output is not the recording itself */
	bool strict;
	bool no_cache;			/* keep no mapped files */
	bool gpu_only;			/* no CPU samples */
	bool cpu_only;			/* nothing else */
	bool api;			/* calls of CUDA's API, too */
	bool off_cpu;			/* account for all of the threads' time */
	uint64_t off_min_ns;		/* shorter intervals have no stack */
	bool freq_given;
	uint32_t freq_hz;		/* CPU samples a second, on each CPU */
	uint64_t ring_bytes;
	enum probes_mode mode;
	pid_t pid;			/* PROBES_PID */
	uint64_t duration_ns;		/* attached; 0: until a signal, or the target's end */
	char shim[PATH_MAX];
	const char *call_graph;		/* auto, fp, dwarf, or NULL */
	uint32_t stack_bytes;		/* that a sample copies, at most; 0: fp */
	uint32_t blind_stack_bytes;	/* ... where nobody knows where the stack ends */
	const char *python;		/* on, off, only, or NULL */
	const char *probe;		/* launch, path, or NULL */
	bool nvtx;			/* its ranges */
	unsigned int max_frames;	/* 0: the default */
	char **argv;			/* the command */
	char **own_argv;
	int own_argc;
};

struct session {
	const struct options *opts;
	struct target target;
	struct probes *probes;
	struct sampler *sampler;	/* NULL: no CPU samples */
	struct sideband *sideband;
	struct keeper *keeper;		/* or NULL */
	struct pyfind *pyfind;		/* the same */
	struct writer *writer;
	struct recorder *recorder;
	int signal_fd;
	int pid_fd;			/* PROBES_PID: readable when it ends */
	bool stop;			/* attached: a signal says so */
	bool told_disk;
	bool sampled;			/* there was a sampler */
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
"                         xpu.data), .folded, .json, .html, .pb.gz, .perf, .pftrace,\n"
"                         .txt, .svg the merged result at once\n"
"  -p, --pid PID          attach to a running program that was started with the shim preloaded\n"
"  -a, --all              to every such program on this machine\n"
"      --duration SECONDS how long; without it until Ctrl-C, or until PID ends\n"
"  -F, --freq HZ          CPU samples a second (default 99)\n"
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

static uint64_t now_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/* ---- options --------------------------------------------------------------------------------- */

static bool has_suffix(const char *s, const char *suffix)
{
	size_t n = strlen(s), m = strlen(suffix);

	return n > m && !strcmp(s + n - m, suffix);
}

static int parse_bytes(const char *arg, uint64_t *bytes)
{
	char *end;

	errno = 0;
	*bytes = strtoull(arg, &end, 10);
	if (errno || end == arg || arg[0] == '-')
		return -EINVAL;
	switch (*end) {
	case 'G': case 'g':
		*bytes *= 1024;
		/* fall through */
	case 'M': case 'm':
		*bytes *= 1024;
		/* fall through */
	case 'K': case 'k':
		*bytes *= 1024;
		end++;
		break;
	}
	return *end || *bytes < 65536 || *bytes > 1ull << 31 ? -EINVAL : 0;
}

/* Where the recording goes; beside the merged result, if that is what is wanted. */
static int choose_data(struct options *opts)
{
	static const char *const merged[] = { ".folded", ".json", ".html", ".pb.gz", ".perf", ".pftrace",
					      ".txt", ".svg" };
	size_t i;

	for (i = 0; i < sizeof(merged) / sizeof(merged[0]); i++)
		if (has_suffix(opts->output, merged[i]))
			opts->merge = true;
	if (!opts->merge)
		return (opts->data = strdup(opts->output)) ? 0 : -ENOMEM;
	return asprintf(&opts->data, "%s.%d.data", opts->output, getpid()) < 0 ? -ENOMEM : 0;
}

static int parse_call_graph(char *arg, struct options *opts)
{
	char *comma = strchr(arg, ','), *end = NULL;

	opts->stack_bytes = XPU_STACK_MAX;
	opts->blind_stack_bytes = BLIND_STACK_BYTES;
	if (comma && !strncmp(arg, "dwarf,", 6)) {
		opts->stack_bytes = strnlen(comma + 1, 7) < 7 ? strtoul(comma + 1, &end, 10) : 0;
		opts->blind_stack_bytes = opts->stack_bytes;
		if (!end || *end || opts->stack_bytes < 1024 || opts->stack_bytes > XPU_STACK_MAX ||
		    opts->stack_bytes % 8) {
			msg__error("--call-graph %s: a copy of 1024 to %d bytes is wanted, a "
				   "multiple of 8", arg, XPU_STACK_MAX);
			return -EINVAL;
		}
		arg = strndup(arg, comma - arg);	/* as the shim wants it */
		if (!arg)
			return -ENOMEM;
	}
	opts->call_graph = arg;
	if (!strcmp(arg, "fp"))
		opts->stack_bytes = 0;
	else if (strcmp(arg, "auto") && strcmp(arg, "dwarf")) {
		msg__error("--call-graph %s: auto, fp or dwarf is wanted", arg);
		return -EINVAL;
	}
	return 0;
}

static int parse_freq(const char *arg, uint32_t *hz)
{
	uint64_t max_hz = sampler__max_hz();
	char *end;

	*hz = strnlen(arg, 10) < 10 ? strtoul(arg, &end, 10) : 0;
	if (!*hz || *end) {
		msg__error("-F %s: samples a second are wanted, a number from 1 on", arg);
		return -EINVAL;
	}
	if (max_hz && *hz > max_hz) {
		msg__error("-F %s: the kernel allows %llu: see "
			   "/proc/sys/kernel/perf_event_max_sample_rate", arg,
			   (unsigned long long)max_hz);
		return -EINVAL;
	}
	return 0;
}

/* What cannot be meant together. */
static int check_modes(const struct options *opts)
{
	if (opts->gpu_only && (opts->cpu_only || opts->freq_given)) {
		msg__error("--gpu-only takes no CPU samples: it cannot be together with %s",
			   opts->cpu_only ? "--cpu-only" : "-F");
		return -EINVAL;
	}
	if (opts->gpu_only && opts->off_cpu) {
		msg__error("--gpu-only looks at no threads: it cannot be together with --off-cpu");
		return -EINVAL;
	}
	if (opts->cpu_only && opts->api) {
		msg__error("--cpu-only knows of no CUDA: it cannot be together with --api");
		return -EINVAL;
	}
	if (opts->cpu_only && opts->mode == PROBES_ALL) {
		msg__error("--cpu-only is for a COMMAND or a process: -a finds programs by the shim");
		return -EINVAL;
	}
	if (opts->cpu_only && opts->python && !strcmp(opts->python, "only")) {
		msg__error("--python only is for launches: not with --cpu-only");
		return -EINVAL;
	}
	return 0;
}

/* Fills in @opts. Return: -1 to go on, or the status to exit with. */
static int parse_options(int argc, char **argv, struct options *opts)
{
	enum { OPT_STRICT = 256, OPT_CHECK, OPT_DURATION, OPT_CALL_GRAPH, OPT_MAX_STACK, OPT_PYTHON,
	       OPT_PROBE, OPT_GPU_ONLY, OPT_CPU_ONLY, OPT_OFF_CPU, OPT_OFF_CPU_MIN,
	       OPT_API, OPT_NVTX };
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
		{ "strict", no_argument, NULL, OPT_STRICT },
		{ "check", no_argument, NULL, OPT_CHECK },
		{ "no-buildid-cache", no_argument, NULL, 'N' },
		{ "quiet", no_argument, NULL, 'q' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "version", no_argument, NULL, 'V' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	bool check = false;
	double seconds;
	char *end;
	int c, err;

	*opts = (struct options){ .output = "xpu.data", .ring_bytes = DEFAULT_RING_BYTES,
				  .freq_hz = DEFAULT_HZ, .nvtx = true,
				  .stack_bytes = XPU_STACK_MAX,
				  .blind_stack_bytes = BLIND_STACK_BYTES, .own_argv = argv };
	if (argc > 1 && !strcmp(argv[1], "record"))
		optind = 2;		/* as perf has it */
	while ((c = getopt_long(argc, argv, "+o:p:aF:m:NqvVh", longs, NULL)) != -1) {
		switch (c) {
		case 'o':
			opts->output = optarg;
			break;
		case 'p':
			opts->mode = PROBES_PID;
			opts->pid = strtol(optarg, &end, 10);
			if (opts->pid <= 0 || *end || end == optarg) {
				msg__error("-p %s: not a process id", optarg);
				return STATUS_FAILED;
			}
			break;
		case 'a':
			opts->mode = PROBES_ALL;
			break;
		case 'F':
			if (parse_freq(optarg, &opts->freq_hz))
				return STATUS_FAILED;
			opts->freq_given = true;
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
		case OPT_OFF_CPU_MIN:
			opts->off_min_ns = strnlen(optarg, 10) < 10 ?
				strtoul(optarg, &end, 10) * 1000ull : 0;
			if (!opts->off_min_ns || *end) {
				msg__error("--off-cpu-min %s: a number of microseconds is wanted",
					   optarg);
				return STATUS_FAILED;
			}
			/* fall through */
		case OPT_OFF_CPU:
			opts->off_cpu = true;
			break;
		case OPT_CALL_GRAPH:
			if (parse_call_graph(optarg, opts))
				return STATUS_FAILED;
			break;
		case OPT_PYTHON:
			opts->python = optarg;
			if (strcmp(optarg, "on") && strcmp(optarg, "off") && strcmp(optarg, "only")) {
				msg__error("--python %s: on, off or only is wanted", optarg);
				return STATUS_FAILED;
			}
			break;
		case OPT_PROBE:
			opts->probe = optarg;
			if (strcmp(optarg, "launch") && strcmp(optarg, "path")) {
				msg__error("--probe %s: launch or path is wanted", optarg);
				return STATUS_FAILED;
			}
			break;
		case OPT_NVTX:
			opts->nvtx = !optarg || !strcmp(optarg, "on");
			if (!opts->nvtx && strcmp(optarg, "off")) {
				msg__error("--nvtx=%s: on or off is wanted", optarg);
				return STATUS_FAILED;
			}
			break;
		case OPT_MAX_STACK:
			opts->max_frames = strnlen(optarg, 5) < 5 ? strtoul(optarg, &end, 10) : 0;
			if (!opts->max_frames || opts->max_frames > XPU_MAX_FRAMES || *end) {
				msg__error("--max-stack %s: a number from 1 to %d is wanted",
					   optarg, XPU_MAX_FRAMES);
				return STATUS_FAILED;
			}
			break;
		case OPT_DURATION:
			seconds = strtod(optarg, &end);
			if (!(seconds > 0) || seconds > 1e9 || *end) {
				msg__error("--duration %s: not a number of seconds", optarg);
				return STATUS_FAILED;
			}
			opts->duration_ns = seconds * 1e9;
			break;
		case 'm':
			if (parse_bytes(optarg, &opts->ring_bytes)) {
				msg__error("-m %s: a size of 64K to 2G is wanted", optarg);
				return STATUS_FAILED;
			}
			break;
		case 'N':
			opts->no_cache = true;
			break;
		case OPT_STRICT:
			opts->strict = true;
			break;
		case OPT_CHECK:
			check = true;
			break;
		case 'q':
			msg__quiet = true;
			break;
		case 'v':
			msg__verbosity++;
			break;
		case 'V':
			printf("xpuload %s\n", XPU_VERSION);
			return 0;
		case 'h':
			fputs(usage_text, stdout);
			return 0;
		default:
			fputs("Try 'xpuload --help'.\n", stderr);
			return STATUS_FAILED;
		}
	}
	err = paths__find("libxpushim.so", opts->shim, sizeof(opts->shim));
	if (check)
		return check__run(err ? NULL : opts->shim);
	if (check_modes(opts))
		return STATUS_FAILED;
	if (err && !opts->cpu_only) {
		msg__error("libxpushim.so is neither beside xpuload nor in ../lib/xpuload: %s",
			   strerror(-err));
		return STATUS_FAILED;
	}
	if (!opts->cpu_only && strpbrk(opts->shim, ": ")) {
		msg__error("%s: LD_PRELOAD cannot hold a path with a blank or a colon; install "
			   "xpuload elsewhere", opts->shim);
		return STATUS_FAILED;
	}

	if ((optind == argc) == (opts->mode == PROBES_RUN)) {
		fputs(usage_text, stderr);
		return STATUS_FAILED;
	}
	if (opts->python && opts->mode != PROBES_RUN && !opts->cpu_only) {
		msg__error("--python is for a COMMAND to start; for a running program, "
			   XPU_PYTHON_ENV " in its environment decided");
		return STATUS_FAILED;
	}
	if (opts->call_graph && opts->mode != PROBES_RUN && !opts->cpu_only) {
		msg__error("--call-graph is for a COMMAND to start; for a running program, "
			   XPU_CALL_GRAPH_ENV " in its environment decided");
		return STATUS_FAILED;
	}
	if (opts->probe && opts->mode != PROBES_RUN) {
		msg__error("--probe is for a COMMAND to start; for a running program, "
			   XPU_PROBE_ENV " in its environment decided");
		return STATUS_FAILED;
	}
	if (opts->probe && opts->call_graph && !strcmp(opts->probe, "path") &&
	    !strcmp(opts->call_graph, "fp"))
		msg__warn("--call-graph fp reads every launch's stack in the kernel: as with "
			  "--probe launch");
	opts->argv = argv + optind;
	opts->own_argc = opts->mode == PROBES_RUN ? optind : argc;
	if (choose_data(opts)) {
		msg__error("out of memory");
		return STATUS_FAILED;
	}
	return -1;
}

/* Whether there is something to run, so that a slip of the finger costs no old recording. */
static int find_command(const char *name)
{
	const char *path = getenv("PATH"), *end;
	char file[PATH_MAX];
	int err = ENOENT;

	if (strchr(name, '/'))
		return access(name, X_OK) ? errno : 0;
	for (; path; path = *end ? end + 1 : NULL) {
		end = strchrnul(path, ':');
		snprintf(file, sizeof(file), "%.*s/%s", end > path ? (int)(end - path) : 1,
			 end > path ? path : ".", name);
		if (!access(file, X_OK))
			return 0;
		if (errno == EACCES)
			err = EACCES;
	}
	return err;
}

static int report_exec(const char *name, int err)
{
	msg__error("cannot run %s: %s", name, strerror(err));
	return err == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_RUN;
}

/* ---- the file -------------------------------------------------------------------------------- */

/* Keeps one old recording, as perf record does. */
static void keep_old(const char *path)
{
	char old[PATH_MAX];
	struct stat st;

	if (lstat(path, &st) || !S_ISREG(st.st_mode) || !st.st_size)
		return;
	if ((size_t)snprintf(old, sizeof(old), "%s.old", path) < sizeof(old) && !rename(path, old))
		keeper__rename(path, old);
}

static void write_info(struct writer *w, enum xpu_info_key key, const char *data, size_t bytes)
{
	size_t size = (sizeof(struct xpu_record_info) + bytes + 7) & ~(size_t)7;
	struct xpu_record_info *r = writer__reserve(w, size);

	if (!r)
		return;
	memset(r, 0, size);
	r->hdr.type = XPU_RECORD_INFO;
	r->hdr.size = size;
	r->key = key;
	r->bytes = bytes;
	memcpy(r->data, data, bytes);
}

static void write_argv_info(struct writer *w, enum xpu_info_key key, char *const argv[], int argc)
{
	size_t bytes = 0, at = 0;
	char *data;
	int i;

	for (i = 0; i < argc && argv[i]; i++)
		bytes += strlen(argv[i]) + 1;
	data = malloc(bytes ?: 1);
	if (!data)
		return;
	for (i = 0; i < argc && argv[i]; i++)
		at = stpcpy(data + at, argv[i]) + 1 - data;
	write_info(w, key, data, bytes);
	free(data);
}

static void write_cmdline_info(struct writer *w, pid_t pid)
{
	char path[64], data[4096];
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	f = fopen(path, "re");
	if (!f)
		return;
	n = fread(data, 1, sizeof(data), f);
	fclose(f);
	write_info(w, XPU_INFO_CMDLINE, data, n);
}

static void write_infos(struct session *s)
{
	const struct options *opts = s->opts;
	struct utsname u;

	write_info(s->writer, XPU_INFO_VERSION, XPU_VERSION, sizeof(XPU_VERSION));
	if (!uname(&u)) {
		write_info(s->writer, XPU_INFO_HOSTNAME, u.nodename, strlen(u.nodename) + 1);
		write_info(s->writer, XPU_INFO_OS_RELEASE, u.release, strlen(u.release) + 1);
		write_info(s->writer, XPU_INFO_ARCH, u.machine, strlen(u.machine) + 1);
	}
	if (opts->mode == PROBES_RUN)
		write_argv_info(s->writer, XPU_INFO_CMDLINE, opts->argv, INT_MAX);
	else if (opts->mode == PROBES_PID)
		write_cmdline_info(s->writer, opts->pid);
	write_argv_info(s->writer, XPU_INFO_OPTIONS, opts->own_argv, opts->own_argc);
}

static int open_file(struct session *s)
{
	struct xpu_file_header hdr = {
		.magic = XPU_FILE_MAGIC,
		.endian = XPU_FILE_ENDIAN,
		.version_major = XPU_VERSION_MAJOR,
		.version_minor = XPU_VERSION_MINOR,
		.header_bytes = sizeof(hdr),
		.clockid = CLOCK_MONOTONIC,
		.start_mono_ns = now_ns(CLOCK_MONOTONIC),
		.start_real_ns = now_ns(CLOCK_REALTIME),
		.nr_cpus = sysconf(_SC_NPROCESSORS_CONF),
	};
	int err;

	keep_old(s->opts->data);
	err = writer__open(s->opts->data, &hdr, &s->writer);
	if (err)
		msg__error("cannot write %s: %s", s->opts->data, strerror(-err));
	else
		write_infos(s);
	return err;
}

static void on_off_sum(void *ctx, const struct xpu_off_key *key, const struct xpu_off_sum *sum)
{
	recorder__off_sum(ctx, key, sum);
}

struct living {
	struct recorder *recorder;
	uint64_t end_ns;
};

static void on_living_thread(void *ctx, const struct xpu_thread_state *t)
{
	struct living *living = ctx;

	recorder__living_thread(living->recorder, t, living->end_ns);
}

/* What the kernel has kept for the end. */
static void write_accounts(struct session *s)
{
	struct living living = { s->recorder, now_ns(CLOCK_MONOTONIC) };

	if (!s->opts->off_cpu)
		return;
	probes__drain(s->probes);		/* the stacks that the sums refer to */
	recorder__flush(s->recorder);
	probes__each_off(s->probes, on_off_sum, s->recorder);
	probes__each_thread(s->probes, on_living_thread, &living);
}

static void write_losses(struct session *s)
{
	int kind;

	for (kind = 1; kind < XPU_LOST_NR; kind++)
		if (kind != XPU_LOST_SIDEBAND && kind != XPU_LOST_DISK)
			recorder__lost(s->recorder, kind, probes__nr_lost(s->probes, kind));
	recorder__lost(s->recorder, XPU_LOST_SIDEBAND, sideband__nr_lost(s->sideband));
}

static void write_end(struct session *s)
{
	struct xpu_record_end *r;

	recorder__finish(s->recorder);
	r = writer__reserve(s->writer, sizeof(*r));
	if (r)
		*r = (struct xpu_record_end){
			.hdr = { XPU_RECORD_END, 0, sizeof(*r) },
			.time_ns = now_ns(CLOCK_MONOTONIC),
			.wait_status = s->target.wait_status,
		};
}

/* ---- recording ------------------------------------------------------------------------------- */

static void on_record(void *ctx, const void *data, size_t size)
{
	struct session *s = ctx;

	recorder__record(s->recorder, data, size);
}

static int open_signals(struct session *s)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGQUIT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	sigaddset(&set, SIGCONT);
	sigaddset(&set, SIGALRM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);	/* what is too much is counted, as on a full disk */
	s->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return s->signal_fd < 0 ? -errno : 0;
}

static void take_signals(struct session *s)
{
	struct signalfd_siginfo info;

	while (read(s->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (s->opts->mode != PROBES_RUN)
			s->stop |= info.ssi_signo != SIGCHLD && info.ssi_signo != SIGCONT;
		else if (info.ssi_signo != SIGCHLD)
			target__signal(&s->target, info.ssi_signo, info.ssi_code, info.ssi_pid);
	}
	if (s->opts->mode == PROBES_RUN)
		target__reap(&s->target);
}

static void on_found_python(void *ctx, pid_t pid, uint64_t time_ns, const struct xpu_python *python)
{
	struct session *s = ctx;

	recorder__found_python(s->recorder, pid, time_ns, python);
}

static void drain(struct session *s)
{
	int err;

	if (s->sampler)
		sampler__rescan(s->sampler);
	probes__drain(s->probes);
	sideband__drain(s->sideband, s->writer);
	pyfind__drain(s->pyfind, on_found_python, s);
	recorder__flush(s->recorder);
	write_losses(s);
	writer__flush(s->writer);

	err = writer__error(s->writer);
	if (err && !s->told_disk) {
		msg__error("cannot write %s: %s: nothing more is recorded; what is there stays "
			   "readable", s->opts->data, strerror(err));
		s->told_disk = true;
	}
}

/*
 * Shims that go on without us notice that nobody wants launches any more, and send what they have:
 * those of attached processes, and of descendants that outlive the target.
 */
static void detach(struct session *s)
{
	struct pollfd fds[] = {
		{ .fd = probes__fd(s->probes), .events = POLLIN },
		{ .fd = sideband__fd(s->sideband), .events = POLLIN },
	};
	uint64_t end_ns = now_ns(CLOCK_MONOTONIC) + DETACH_NS;

	sampler__close(s->sampler);
	s->sampler = NULL;
	drain(s);
	recorder__detaching(s->recorder, now_ns(CLOCK_MONOTONIC));
	probes__detach_launches(s->probes);
	while (recorder__nr_awake(s->recorder) && now_ns(CLOCK_MONOTONIC) < end_ns) {
		poll(fds, 2, RELAY_POLL_MS);
		drain(s);
	}
	drain(s);
}

static void record_attached(struct session *s)
{
	struct pollfd fds[] = {
		{ .fd = s->signal_fd, .events = POLLIN },
		{ .fd = s->pid_fd, .events = POLLIN },
		{ .fd = probes__fd(s->probes), .events = POLLIN },
		{ .fd = sideband__fd(s->sideband), .events = POLLIN },
		{ .fd = pyfind__fd(s->pyfind), .events = POLLIN },
	};
	uint64_t start_ns = now_ns(CLOCK_MONOTONIC), end_ns = start_ns + s->opts->duration_ns, now;
	bool ended = false, hello = true;
	int timeout;

	while (!s->stop && !ended) {
		now = now_ns(CLOCK_MONOTONIC);
		timeout = POLL_MS;
		if (s->opts->duration_ns) {
			if (now >= end_ns)
				break;
			if (end_ns - now < POLL_MS * 1000000ull)
				timeout = (end_ns - now) / 1000000 + 1;
		}
		if (hello && now - start_ns >= XPU_HELLO_NS) {
			probes__end_hello(s->probes);
			hello = false;
		}
		if (writer__is_behind(s->writer)) {
			poll(fds, 2, BEHIND_POLL_MS);
			take_signals(s);
			continue;
		}
		fds[4].fd = pyfind__fd(s->pyfind);	/* it may have ended */
		poll(fds, 5, timeout);
		take_signals(s);
		ended = fds[1].revents != 0;
		drain(s);
	}

	detach(s);
	write_accounts(s);
	write_end(s);
}

static void record(struct session *s)
{
	struct pollfd fds[] = {
		{ .fd = s->signal_fd, .events = POLLIN },
		{ .fd = probes__fd(s->probes), .events = POLLIN },
		{ .fd = sideband__fd(s->sideband), .events = POLLIN },
		{ .fd = pyfind__fd(s->pyfind), .events = POLLIN },
	};
	bool relaying = false, behind = false;

	while (!s->target.exited) {
		fds[3].fd = pyfind__fd(s->pyfind);	/* it may have ended */
		poll(fds, behind ? 1 : 4,
		     relaying ? RELAY_POLL_MS : behind ? BEHIND_POLL_MS : POLL_MS);
		take_signals(s);
		relaying = target__relay(&s->target, s->probes);
		behind = writer__is_behind(s->writer);
		if (!behind)
			drain(s);
	}
	detach(s);			/* of the target itself all is in: it ran the probes */
	write_accounts(s);
	write_end(s);
}

/* ---- the account ----------------------------------------------------------------------------- */

struct losses {
	uint64_t nr;			/* of all kinds */
	char text[1024];
};

static __attribute__((format(printf, 3, 4))) void add_loss(struct losses *l, uint64_t nr,
							   const char *fmt, ...)
{
	size_t used = strlen(l->text);
	va_list args;

	if (!nr)
		return;
	l->nr += nr;
	if (used)
		used += snprintf(l->text + used, sizeof(l->text) - used, ", ");
	if (used >= sizeof(l->text))
		return;
	va_start(args, fmt);
	vsnprintf(l->text + used, sizeof(l->text) - used, fmt, args);
	va_end(args);
}

#define U(x) ((unsigned long long)(x))

static void count_losses(struct session *s, const struct recorder_stats *st, uint64_t lost_bytes,
			 struct losses *l)
{
	uint64_t ring = probes__nr_lost(s->probes, XPU_LOST_LAUNCH);
	uint64_t batches = probes__nr_lost(s->probes, XPU_LOST_BATCH);
	uint64_t processes = probes__nr_lost(s->probes, XPU_LOST_PROCESS);
	uint64_t reads = probes__nr_lost(s->probes, XPU_LOST_READ);
	uint64_t scratch = probes__nr_lost(s->probes, XPU_LOST_SCRATCH);
	uint64_t waits = probes__nr_lost(s->probes, XPU_LOST_WAIT);
	uint64_t off_cpu = probes__nr_lost(s->probes, XPU_LOST_OFF_CPU);
	uint64_t accounts = probes__nr_lost(s->probes, XPU_LOST_ACCOUNT);
	uint64_t sideband = sideband__nr_lost(s->sideband);
	uint64_t samples = probes__nr_lost(s->probes, XPU_LOST_SAMPLE);
	uint64_t ranges = probes__nr_lost(s->probes, XPU_LOST_RANGE);
	uint64_t taken = probes__nr_samples(s->probes);
	uint64_t accounted = st->nr_launches + ring + reads + scratch + st->nr_no_memory;

	l->nr = 0;
	l->text[0] = '\0';
	add_loss(l, ring, "%llu launches (ring full: try -m)", U(ring));
	add_loss(l, batches, "%llu batches of device records (ring full: try -m)", U(batches));
	add_loss(l, waits, "%llu waits for the device (ring full: try -m)", U(waits));
	add_loss(l, off_cpu, "%llu off-CPU intervals or their stacks", U(off_cpu));
	add_loss(l, accounts, "%llu accounts of threads", U(accounts));
	add_loss(l, processes, "%llu process events", U(processes));
	add_loss(l, reads, "%llu slots unreadable", U(reads));
	add_loss(l, scratch, "%llu launches without kernel memory", U(scratch));
	add_loss(l, sideband, "%llu mmap or comm events", U(sideband));
	add_loss(l, st->nr_untold, "%llu call paths of launches (ring full: try -m)",
		 U(st->nr_untold));
	add_loss(l, st->nr_no_memory, "%llu launches for want of memory", U(st->nr_no_memory));
	if (st->nr_tagged > accounted)
		add_loss(l, st->nr_tagged - accounted, "%llu launches tagged but not seen",
			 U(st->nr_tagged - accounted));
	if (s->opts->nvtx) {
		add_loss(l, ranges, "%llu events of NVTX ranges (ring full: try -m)", U(ranges));
		add_loss(l, st->nr_ranges_dropped, "%llu events of NVTX ranges dropped by the shim",
			 U(st->nr_ranges_dropped));
		if (st->nr_ranges_logged > st->nr_ranges + ranges)
			add_loss(l, st->nr_ranges_logged - st->nr_ranges - ranges,
				 "%llu events of NVTX ranges logged but not seen",
				 U(st->nr_ranges_logged - st->nr_ranges - ranges));
	}
	add_loss(l, samples, "%llu CPU samples (ring full: try -m)", U(samples));
	add_loss(l, st->nr_samples_no_memory, "%llu CPU samples for want of memory",
		 U(st->nr_samples_no_memory));
	if (taken > st->nr_samples + samples)
		add_loss(l, taken - st->nr_samples - samples, "%llu CPU samples taken but not seen",
			 U(taken - st->nr_samples - samples));
	add_loss(l, st->nr_dropped_cupti, "%llu device records dropped by CUPTI",
		 U(st->nr_dropped_cupti));
	add_loss(l, st->nr_dropped_shim, "%llu device records dropped by the shim",
		 U(st->nr_dropped_shim));
	add_loss(l, st->nr_bad_times, "%llu device records without valid times",
		 U(st->nr_bad_times));
	add_loss(l, st->nr_unfinished, "%llu device records unfinished at exit",
		 U(st->nr_unfinished));
	add_loss(l, st->nr_bad_calls, "%llu API calls without valid times", U(st->nr_bad_calls));
	if (lost_bytes) {		/* of records of every kind */
		add_loss(l, lost_bytes, "%llu bytes not written", U(lost_bytes));
		l->nr -= lost_bytes;
	}
}

static void finish_keeper(struct session *s)
{
	struct keeper_stats st;

	if (!s->keeper)
		return;
	keeper__finish(s->keeper, &st);
	if (st.nr_files && !s->opts->merge)
		msg__info("%llu mapped files that are not at their paths here: kept in %s" XPU_KEPT_SUFFIX
			  ", %.1f MB", U(st.nr_files), s->opts->data, st.bytes / 1e6);
	if (st.nr_failed)
		msg__info("%llu mapped files are not at their paths here and could not be kept: %s",
			  U(st.nr_failed), strerror(st.error));
}

/**
 * close_session - write what is left and say what was recorded
 *
 * Return: 0, or STATUS_FAILED when the recording is not what was asked for.
 */
static int close_session(struct session *s)
{
	uint64_t bytes = 0, lost_bytes = 0;
	struct recorder_stats st;
	struct losses losses;
	char calls[64] = "", samples[64] = "", lost[64];
	bool nothing;
	int err;

	finish_keeper(s);
	err = writer__close(s->writer, &bytes, &lost_bytes);
	s->writer = NULL;
	if (err && !s->told_disk)
		msg__error("cannot write %s: %s", s->opts->data, strerror(-err));
	recorder__stats(s->recorder, &st);
	count_losses(s, &st, lost_bytes, &losses);
	nothing = !st.nr_cuda_processes && !st.nr_launches;

	if (s->opts->cpu_only)
		nothing = false;
	else if (nothing && s->opts->mode != PROBES_RUN)
		msg__warn("no CUDA launch was made while attached");
	else if (nothing)
		msg__warn("the target made no CUDA launch: cuInit was never called in %s%llu "
			  "process%s, or the shim could not be loaded there",
			  st.nr_processes > 1 ? "any of " : "its ", U(st.nr_processes),
			  st.nr_processes > 1 ? "es" : "");
	if (s->sampled)
		snprintf(samples, sizeof(samples), "; %llu CPU samples", U(st.nr_samples));
	if (s->opts->api)
		snprintf(calls, sizeof(calls), ", %llu API calls", U(st.nr_calls));
	snprintf(lost, sizeof(lost), lost_bytes ? "%llu and %llu bytes" : "%llu", U(losses.nr),
		 U(lost_bytes));
	if (s->opts->cpu_only)
		msg__info("%llu CPU samples, %llu process%s; %s, %.1f MB; lost %s",
			  U(st.nr_samples), U(st.nr_processes), st.nr_processes == 1 ? "" : "es",
			  s->opts->merge ? "recording" : s->opts->data, bytes / 1e6, lost);
	else
		msg__info("%llu launches from %llu call path%s, %llu device records%s, %llu "
			  "process%s%s; %s, %.1f MB; lost %s", U(st.nr_launches),
			  U(st.nr_paths), st.nr_paths == 1 ? "" : "s", U(st.nr_device_records),
			  calls, U(st.nr_processes), st.nr_processes == 1 ? "" : "es", samples,
			  s->opts->merge ? "recording" : s->opts->data, bytes / 1e6, lost);
	if (st.nr_at_edges)
		msg__debug("%llu launches fell between attaching and detaching", U(st.nr_at_edges));
	if (losses.text[0])
		msg__warn("lost: %s", losses.text);
	if (err || st.nr_errors)
		return STATUS_FAILED;
	return s->opts->strict && (losses.text[0] || nothing) ? STATUS_FAILED : 0;
}

/* ---- merging at once ------------------------------------------------------------------------- */

/* Other people's ELF files are not for root to parse: become the one who called sudo. */
static void drop_to_invoker(void)
{
	const char *uid = getenv("SUDO_UID"), *gid = getenv("SUDO_GID");
	const char *user = getenv("SUDO_USER");

	if (geteuid() || !uid || !gid)
		return;
	if (user)
		initgroups(user, strtoul(gid, NULL, 10));
	if (setgid(strtoul(gid, NULL, 10)) || setuid(strtoul(uid, NULL, 10)))
		_exit(STATUS_FAILED);
}

static int merge(const struct options *opts, struct keeper *keeper)
{
	bool svg = has_suffix(opts->output, ".svg");
	const char *name = svg ? "fold.sh" : "xpumerge";
	char tool[PATH_MAX];
	int status;
	pid_t pid;

	if (paths__find(name, tool, sizeof(tool))) {
		msg__error("%s is not there: the recording stays in %s", name, opts->data);
		return STATUS_FAILED;
	}
	pid = fork();
	if (!pid) {
		drop_to_invoker();
		if (svg)
			execl(tool, tool, "--svg", "-o", opts->output, opts->data, NULL);
		else
			execl(tool, tool, "-i", opts->data, "-o", opts->output,
			      opts->strict ? "--strict" : NULL, NULL);
		_exit(STATUS_FAILED);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pid < 0 || !WIFEXITED(status) || WEXITSTATUS(status)) {
		if (pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == MERGE_INCOMPLETE)
			msg__error("not all is in %s: the recording stays in %s", opts->output,
				   opts->data);
		else
			msg__error("%s failed: the recording stays in %s", name, opts->data);
		return STATUS_FAILED;
	}
	unlink(opts->data);
	if (keeper)
		keeper__remove(keeper);
	return 0;
}

/* ---- main ------------------------------------------------------------------------------------ */

static void on_process(void *ctx, const struct xpu_record_process *r)
{
	struct session *s = ctx;
	int err;

	if (r->hdr.misc == XPU_MISC_PROCESS_ATTACH) {
		sideband__adopt(s->sideband, r->pid, s->writer);
	} else if (r->hdr.misc == XPU_MISC_PROCESS_FORK && s->opts->mode == PROBES_PID) {
		err = probes__follow(s->probes, r->pid);
		if (err && err != -ESRCH)	/* it may be over already */
			msg__warn("cannot attach to pid %u, a child of %d: %s", r->pid,
				  s->opts->pid, strerror(-err));
	}
}

static void on_python(void *ctx, uint32_t proc_id, const struct xpu_python *python)
{
	struct session *s = ctx;

	if (s->sampled || s->opts->off_cpu)
		probes__set_python(s->probes, proc_id, python);
}

/* The probes, the file, and what goes between; in the order in which they may fail for good. */
static int start_recording(struct session *s, const char *shim)
{
	const struct options *opts = s->opts;
	struct probes_options popts = {
		.shim = shim,
		.mode = opts->mode,
		.pid = opts->pid,
		.ring_bytes = opts->ring_bytes,
		.max_frames = opts->max_frames,
		.sample = !opts->gpu_only,
		.waits = !opts->gpu_only,
		.ranges = opts->nvtx,
		.stack_bytes = opts->stack_bytes,
		.blind_stack_bytes = opts->blind_stack_bytes,
		.api = opts->api,
		.off_cpu = opts->off_cpu,
		.off_min_ns = opts->off_min_ns,
	};
	uint64_t period_ns = 1000000000 / opts->freq_hz;
	char why[1024];
	int err;

	if (probes__open(&popts, on_record, s, &s->probes, why, sizeof(why))) {
		msg__error("%s", why);
		return STATUS_FAILED;
	}
	if (open_file(s))
		return STATUS_FAILED;
	s->recorder = recorder__new(s->writer, period_ns, opts->nvtx, on_process, on_python,
				    s);
	if (!s->recorder) {
		msg__error("out of memory");
		return STATUS_FAILED;
	}
	recorder__attached(s->recorder, now_ns(CLOCK_MONOTONIC));
	if (opts->gpu_only)
		return 0;
	err = sampler__open(probes__sample_fd(s->probes), period_ns, &s->sampler);
	s->sampled = !err;
	if (!err)
		return 0;
	if (opts->cpu_only || opts->freq_given) {
		msg__error("cannot sample CPUs: perf_event_open: %s", strerror(-err));
		return STATUS_FAILED;
	}
	msg__warn("no CPU samples: perf_event_open: %s", strerror(-err));
	return 0;
}

/* The path of the shim that @pid has loaded, as this process can open it. */
static int find_mapped_shim(pid_t pid, char *path, size_t len)
{
	char maps[64], *line = NULL, *name;
	size_t cap = 0;
	int err = -ENOENT;
	FILE *f;

	snprintf(maps, sizeof(maps), "/proc/%d/maps", pid);
	f = fopen(maps, "re");
	if (!f)
		return -errno;
	while (err && getline(&line, &cap, f) > 0) {
		name = strchr(line, '/');
		if (!name || !strstr(name, "/libxpushim.so"))
			continue;
		name[strcspn(name, "\n")] = '\0';
		if ((size_t)snprintf(path, len, "/proc/%d/root%s", pid, name) >= len)
			continue;
		err = 0;
		/* It may have been replaced, or have no path that means the same here and there. */
		if (access(path, R_OK))
			snprintf(path, len, "/proc/%d/map_files/%.*s", pid,
				 (int)strcspn(line, " "), line);
	}
	free(line);
	fclose(f);
	return err;
}

/* Told of all mappings from now on. */
static int start_keeper(struct session *s)
{
	sideband__set_pyfind(s->sideband, s->pyfind);
	if (s->opts->no_cache)
		return 0;
	s->keeper = keeper__new(s->opts->data);
	if (!s->keeper) {
		msg__error("out of memory");
		return STATUS_FAILED;
	}
	sideband__set_keeper(s->sideband, s->keeper);
	return 0;
}

static int start_attached(struct session *s)
{
	const struct options *opts = s->opts;
	char shim[PATH_MAX + 32];
	int err;

	snprintf(shim, sizeof(shim), "%s", opts->shim);
	if (opts->mode == PROBES_PID) {
		if (opts->cpu_only)
			err = kill(opts->pid, 0) ? -errno : 0;
		else
			err = find_mapped_shim(opts->pid, shim, sizeof(shim));
		if (err == -ENOENT && !kill(opts->pid, 0))
			msg__error("pid %d runs without the shim; start it with LD_PRELOAD=%s",
				   opts->pid, opts->shim);
		else if (err)
			msg__error("pid %d: %s", opts->pid, strerror(err == -ENOENT ? ESRCH : -err));
		if (err)
			return STATUS_FAILED;
		s->pid_fd = syscall(SYS_pidfd_open, opts->pid, 0);
	}
	err = sideband__open(-1, &s->sideband);
	if (err) {
		msg__error("cannot follow the targets' mappings: perf_event_open: %s",
			   strerror(-err));
		return STATUS_FAILED;
	}
	err = start_keeper(s);
	if (err)
		return err;
	err = start_recording(s, opts->cpu_only ? NULL : shim);
	if (err)
		return err;
	if (opts->mode == PROBES_PID)
		sideband__adopt(s->sideband, opts->pid, s->writer);
	return 0;
}

/* What the target's shim is to know; it inherits ours. */
static void set_shim_environment(const struct options *opts)
{
	char number[16];

	if (opts->call_graph)
		setenv(XPU_CALL_GRAPH_ENV, opts->call_graph, 1);
	if (!opts->gpu_only && opts->stack_bytes)
		setenv(XPU_SAMPLES_ENV, "1", 1);
	if (opts->python)
		setenv(XPU_PYTHON_ENV, opts->python, 1);
	if (opts->gpu_only)
		setenv(XPU_WAITS_ENV, "off", 1);
	if (opts->api)
		setenv(XPU_API_ENV, "on", 1);
	if (opts->probe)
		setenv(XPU_PROBE_ENV, opts->probe, 1);
	if (opts->max_frames) {
		snprintf(number, sizeof(number), "%u", opts->max_frames);
		setenv(XPU_MAX_FRAMES_ENV, number, 1);
	}
}

static int start(struct session *s)
{
	const struct options *opts = s->opts;
	const char *shim = opts->cpu_only ? NULL : opts->shim;
	int err;

	err = start_recording(s, shim);
	if (err)
		return err;
	probes__adopt_next_child(s->probes);
	set_shim_environment(opts);
	err = target__fork(&s->target, opts->argv, shim);
	if (err) {
		msg__error("cannot fork: %s", strerror(-err));
		return STATUS_FAILED;
	}
	err = sideband__open(s->target.pid, &s->sideband);
	if (err) {
		msg__error("cannot follow the target's mappings: perf_event_open: %s",
			   strerror(-err));
		return STATUS_FAILED;	/* our end of its pipe closes: it goes, too */
	}
	err = start_keeper(s);
	if (err)
		return err;
	err = target__exec(&s->target);
	if (err)
		return report_exec(opts->argv[0], -err);
	return 0;
}

/* Where nothing is preloaded, somebody must look for Python: a child that has none of what comes later. */
static void start_pyfind(struct session *s)
{
	const struct options *opts = s->opts;

	if (!opts->cpu_only || !opts->stack_bytes || (opts->python && !strcmp(opts->python, "off")))
		return;
	s->pyfind = pyfind__new();
	if (!s->pyfind)
		msg__warn("no Python frames: cannot start what finds them: %s", strerror(errno));
}

static void session__free(struct session *s)
{
	sampler__close(s->sampler);
	writer__close(s->writer, NULL, NULL);
	recorder__free(s->recorder);
	sideband__close(s->sideband);
	keeper__free(s->keeper);
	pyfind__free(s->pyfind);
	probes__close(s->probes);
	if (s->signal_fd >= 0)
		close(s->signal_fd);
	if (s->pid_fd >= 0)
		close(s->pid_fd);
}

int main(int argc, char **argv)
{
	struct session s = { .signal_fd = -1, .pid_fd = -1 };
	struct options opts;
	int status, err;

	target__init();
	status = parse_options(argc, argv, &opts);
	if (status != -1)
		return status;
	s.opts = &opts;

	err = opts.mode == PROBES_RUN ? find_command(opts.argv[0]) : 0;
	if (err) {
		status = report_exec(opts.argv[0], err);
		goto out;
	}
	start_pyfind(&s);
	err = open_signals(&s);
	if (err) {
		msg__error("cannot take signals: %s", strerror(-err));
		status = STATUS_FAILED;
		goto out;
	}
	status = opts.mode == PROBES_RUN ? start(&s) : start_attached(&s);
	if (status)
		goto out;
	setpriority(PRIO_PROCESS, syscall(SYS_gettid), NICE);
	if (opts.mode == PROBES_RUN)
		record(&s);
	else
		record_attached(&s);
	status = close_session(&s);
	if (opts.merge && merge(&opts, s.keeper) && !status)
		status = STATUS_FAILED;
out:
	session__free(&s);
	free(opts.data);
	if (!status)
		target__exit_like(s.target.wait_status);
	return status;
}
