/* SPDX-License-Identifier: GPL-3.0-or-later */
/* options.h - xpuload's command line */
#ifndef XPU_LOADER_OPTIONS_H
#define XPU_LOADER_OPTIONS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/probes.h"
#include "capture_opts.h"
#include "control_option.h"

#define STATUS_FAILED	125		/* xpuload itself failed; as in env(1) and timeout(1) */
#define STATUS_NOT_RUN	126		/* as in the shell: found, but not executable */
#define STATUS_NOT_FOUND 127

enum transport { TRANSPORT_AUTO, TRANSPORT_BPF, TRANSPORT_SHM };

#define MAX_MORE_OUTPUTS	15	/* further -o options */

struct options {
	bool top;			/* the command top: show the recording as it is made */
	bool batch;			/* top: print frames as text, one after the other */
	uint32_t frames;		/* top: the number of frames; 0: no limit */
	const char *pattern;		/* -o, as given, or xpu.data */
	bool output_given;
	char *output;			/* the expanded pattern. options__name() sets it and the
					 * next two members. With every_ns, it keeps %n for the
					 * number of a file */
	char *data;			/* the recording's name; with every_ns, the first file's
					 * name */
	bool merge;			/* @output is a result, not the recording */
	const char *more_patterns[MAX_MORE_OUTPUTS];	/* patterns of further results */
	char *more_outputs[MAX_MORE_OUTPUTS];		/* names of further results */
	size_t nr_more;
	bool strict;
	bool check;			/* check the machine, and record nothing */
	bool no_cache;			/* do not keep mapped files */
	bool gpu_only;			/* no CPU samples */
	bool cpu_only;			/* CPU samples only */
	bool api;			/* record calls of CUDA's API that can take time */
	bool all_api;			/* record every call of the API */
	bool memory;			/* record memory events, too */
	bool migrations;		/* record page migrations of managed memory */
	bool memory_only;		/* record only memory events and page migrations */
	uint32_t stalls;		/* take a PC sample once in 2^stalls cycles; 0: take none */
	bool exact_stalls;		/* kernels run one at a time; each sample names its
					 * launch */
	bool stalls_have_how;		/* the user gave exact_stalls or a period */
	bool gpu_metrics;		/* the GPUs' own counters */
	uint32_t gpu_metrics_hz;
	const char *gpu_metrics_names;	/* separated by commas; NULL: xpuload-metrics chooses */
	struct capture_opts capture;	/* windows; nothing outside of them is recorded */
	struct control control;		/* where commands come from */
	int ready_fd;			/* a descriptor: shared__env() or "" is written to it, with
					 * the NUL, once the targets are recorded; -1: none */
	bool invites;			/* the process in @pids records itself, and may get
					 * shared__env() */
	const char *capture_end;	/* "together", "stop" or NULL */
	bool off_cpu;			/* account for all the time of threads */
	uint32_t off_min_us;		/* shorter off-CPU intervals have no stack */
	uint64_t given;			/* a bit for each entry of the table: whether the option is
					 * given */
	bool freq_given;
	uint32_t freq_hz;		/* CPU samples a second on each CPU */
	uint64_t ring_bytes;
	int level;			/* level of compression; 0: none */
	enum probes_mode mode;
	pid_t *pids;			/* PROBES_PID: nr_pids different pids */
	size_t nr_pids;
	bool inject;			/* put the shim into processes that run without it, also
					 * with PROBES_ALL */
	bool no_inject;			/* put the shim into no process */
	bool no_children;		/* do not record the children of @pids */
	bool own_target;		/* @pids has only the COMMAND, which runs already */
	const char *comm;		/* PROBES_ALL: the name of processes, or NULL */
	const char *cgroup;		/* PROBES_ALL: the path of a cgroup, or NULL */
	const char *container;		/* PROBES_ALL: a container's name or id, or NULL */
	const char *push;		/* the URL that profiles go to; NULL: none */
	const char *push_labels;
	uint64_t every_ns;		/* begin a new file after this time; 0: one file */
	uint32_t keep;			/* keep only the last files, at most this many; 0: all */
	uint64_t duration_ns;		/* how long to record after attaching; 0: until a signal or
					 * the end */
	char shim[PATH_MAX];
	const char *call_graph;		/* auto, fp, dwarf, or NULL */
	uint32_t stack_bytes;		/* maximum bytes of the stack that a sample copies; 0: frame
					 * pointers */
	uint32_t blind_stack_bytes;	/* bytes to copy if the stack's end is unknown */
	const char *names;		/* end, all, later; NULL: end */
	const char *python;		/* on, off, only, or NULL */
	const char *probe;		/* launch, path, or NULL */
	const char *cupti;		/* yield, share, or NULL */
	bool nvtx;			/* record NVTX ranges */
	enum transport transport;	/* the requested transport */
	unsigned int max_frames;	/* 0: the default */
	char **argv;			/* the command */
	char **own_argv;
	int own_argc;
};

/**
 * options__parse - parse the command line, or print what is wrong with it
 *
 * Options that need no recording, such as --help and --check, take effect at once.
 *
 * Return: -1 to continue, with @opts to be freed by options__free(), or the status to exit with.
 */
int options__parse(struct options *opts, int argc, char **argv);
void options__free(struct options *opts);

/* Sets the shim's variables whose values are arguments of options. */
void options__set_environment(const struct options *opts);

/**
 * options__name - name the output and the recording; for a merged result, the recording is put next
 * to it
 * @pid: the target, or the first process to attach to
 *
 * Return: 0, or -1 after a message.
 */
int options__name(struct options *opts, pid_t pid);

/* Return: the time between two CPU samples on a CPU. */
static inline uint64_t options__period_ns(const struct options *opts)
{
	return 1000000000 / opts->freq_hz;
}

/* Whether a clock or commands start the recording; until then the target's shim sleeps. */
bool options__by_hand(const struct options *opts);

/* Return: what to use instead of @word, another tool's command; NULL if @word is unknown. */
const char *options__habit(const char *word);

#endif /* XPU_LOADER_OPTIONS_H */
