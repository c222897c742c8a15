/* SPDX-License-Identifier: GPL-3.0-or-later */
/* options.h - xpuload's command line */
#ifndef XPU_LOADER_OPTIONS_H
#define XPU_LOADER_OPTIONS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/probes.h"
#include "capture.h"
#include "control_option.h"

#define STATUS_FAILED	125		/* xpuload itself; what env(1) and timeout(1) use */
#define STATUS_NOT_RUN	126		/* as the shell: found, not executable */
#define STATUS_NOT_FOUND 127

enum transport { TRANSPORT_AUTO, TRANSPORT_BPF, TRANSPORT_SHM };

#define MAX_MORE_OUTPUTS	15	/* -o again */

struct options {
	bool top;			/* the command: show what is recorded while it is */
	bool batch;			/* top: frames as text, one after the other */
	uint32_t frames;		/* top: so many; 0: no limit */
	const char *pattern;		/* -o, as given, or xpu.data */
	bool output_given;
	char *output;			/* what it stands for, as the next two from options__name() on;
					 * with every_ns, %n in it is the number of a file */
	char *data;			/* the recording; with every_ns, the first file */
	bool merge;			/* output is not the recording itself */
	const char *more_patterns[MAX_MORE_OUTPUTS];	/* of -o: other results, ... */
	char *more_outputs[MAX_MORE_OUTPUTS];		/* ... and what they stand for, as output */
	size_t nr_more;
	bool strict;
	bool check;			/* the machine, and record nothing */
	bool no_cache;			/* keep no mapped files */
	bool gpu_only;			/* no CPU samples */
	bool cpu_only;			/* nothing else */
	bool api;			/* calls of CUDA's API, too: those that can take time */
	bool all_api;			/* every call */
	bool memory;			/* events of memory, too ... */
	bool memory_only;		/* ... and nothing else */
	uint32_t stalls;		/* PC samples: once in 2^N cycles; 0: none */
	bool exact_stalls;		/* one kernel at a time, so that samples know their launch */
	bool stalls_have_how;		/* one of these two was given */
	bool gpu_metrics;		/* the GPUs' own counters */
	uint32_t gpu_metrics_hz;
	const char *gpu_metrics_names;	/* with commas between; NULL: those that xpuload-metrics chooses */
	struct capture capture;		/* windows outside of which nothing is recorded */
	struct control control;		/* who says when to record */
	int ready_fd;			/* gets a byte when the targets are recorded; -1: nobody waits */
	const char *capture_end;	/* together, stop, or NULL */
	bool off_cpu;			/* account for all of the threads' time */
	uint32_t off_min_us;		/* shorter intervals have no stack */
	uint64_t given;			/* options, by their places in the table */
	bool freq_given;
	uint32_t freq_hz;		/* CPU samples a second, on each CPU */
	uint64_t ring_bytes;
	int level;			/* of the recording's compression; 0: none */
	enum probes_mode mode;
	pid_t *pids;			/* PROBES_PID: nr_pids, each once */
	size_t nr_pids;
	bool no_children;		/* of these */
	bool own_target;		/* it is the COMMAND, which has been started already */
	const char *comm;		/* PROBES_ALL: the name of processes, or NULL */
	const char *cgroup;		/* PROBES_ALL: the path of a cgroup, or NULL */
	const char *container;		/* PROBES_ALL: a container's name or id, or NULL */
	const char *push;		/* the URL that profiles go to; NULL: none */
	const char *push_labels;
	uint64_t every_ns;		/* several files, each of that time; 0: one */
	uint32_t keep;			/* of these the last ones; 0: all */
	uint64_t duration_ns;		/* attached; 0: until a signal, or the target's end */
	char shim[PATH_MAX];
	const char *call_graph;		/* auto, fp, dwarf, or NULL */
	uint32_t stack_bytes;		/* that a sample copies, at most; 0: fp */
	uint32_t blind_stack_bytes;	/* bytes of a sample's stack, if the stack's end is
					 * unknown */
	const char *python;		/* on, off, only, or NULL */
	const char *probe;		/* launch, path, or NULL */
	const char *cupti;		/* yield, share, or NULL */
	bool nvtx;			/* its ranges */
	enum transport transport;	/* asked for */
	unsigned int max_frames;	/* 0: the default */
	char **argv;			/* the command */
	char **own_argv;
	int own_argc;
};

/**
 * options__parse - make sense of the command line, or say what is wrong with it
 *
 * Does at once what needs no recording: --help, --version, --check.
 *
 * Return: -1 to go on, with @opts for options__free(), or the status to exit with.
 */
int options__parse(struct options *opts, int argc, char **argv);
void options__free(struct options *opts);

/**
 * options__name - name the output, and the recording, which is beside it if the output is a merged result
 * @pid: of the target, or of the first one that is attached to
 *
 * Return: 0, or -1 after a message.
 */
int options__name(struct options *opts, pid_t pid);

/* Whether the target sleeps until a clock or somebody else says that it is to be recorded. */
bool options__by_hand(const struct options *opts);

/* Return: what there is in place of @word, a command of another tool's, or NULL. */
const char *options__habit(const char *word);

#endif /* XPU_LOADER_OPTIONS_H */
