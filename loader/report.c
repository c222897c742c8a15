// SPDX-License-Identifier: GPL-3.0-or-later
#include "report.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/msg.h"
#include "human.h"
#include "injections.h"
#include "options.h"
#include "output_name.h"
#include "util.h"
#include "xpu_slot.h"

#define S(n)	((n) == 1 ? "" : "s")	/* the "s" of a plural */
#define U(x) ((unsigned long long)(x))

struct losses {
	uint64_t nr;			/* sum of all losses that are not in bytes */
	char text[2048];
};

/* Adds @nr losses. @what: the text to print after @nr */
static void add_loss(struct losses *l, uint64_t nr, const char *what)
{
	size_t used = strlen(l->text);

	if (!nr)
		return;
	l->nr += nr;
	snprintf(l->text + used, sizeof(l->text) - used, "%s%llu %s", used ? ", " : "", U(nr),
		 what);
}

/* Return: how many items were counted at the source, but are not accounted for here. */
static uint64_t missing(uint64_t counted, uint64_t accounted)
{
	return counted > accounted ? counted - accounted : 0;
}

static const char lost_batches[] = "batches of device records (ring full: try -m)";
static const char lost_waits[] = "waits for the device (ring full: try -m)";

static void count_losses(const struct report *r, struct losses *l)
{
	static const char *const kernel[XPU_LOST_NR] = {
		[XPU_LOST_LAUNCH] = "launches (ring full: try -m)",
		[XPU_LOST_BATCH] = lost_batches,
		[XPU_LOST_WAIT] = lost_waits,
		[XPU_LOST_OFF_CPU] =
			"off-CPU intervals or their stacks (maps or ring full: try -m)",
		[XPU_LOST_ACCOUNT] = "accounts of threads (maps or ring full: try -m)",
		[XPU_LOST_PROCESS] = "process events",
		[XPU_LOST_READ] = "slots unreadable",
		[XPU_LOST_SCRATCH] = "launches without kernel memory",
		[XPU_LOST_SIDEBAND] = "mmap or comm events",
		[XPU_LOST_SAMPLE] = "CPU samples (ring full: try -m)",
		[XPU_LOST_RANGE] = "events of NVTX ranges (ring full: try -m)",
		[XPU_LOST_ALLOC] = "events of memory (ring full: try -m)",
		[XPU_LOST_TAIL] = "processes that did not run at the detach",
	};
	const struct recorder_stats *st = &r->stats;
	uint64_t nr;
	int kind;

	memset(l, 0, sizeof(*l));
	for (kind = 0; kind < XPU_LOST_NR; kind++) {
		nr = r->lost[kind] - (kind == XPU_LOST_LAUNCH ? r->nr_unreached : 0);
		if (kernel[kind] && (kind != XPU_LOST_RANGE || r->opts->nvtx) &&
		    (kind != XPU_LOST_ALLOC || r->opts->memory))
			add_loss(l, nr,
				 kind == XPU_LOST_PROCESS && r->shared ?
				 "processes that used CUDA" : kernel[kind]);
	}
	add_loss(l, r->nr_unreached, "launches of processes that could not reach xpuload");
	add_loss(l, st->nr_untold, "call paths of launches (ring full: try -m)");
	add_loss(l, st->nr_no_memory, "launches (xpuload out of memory)");
	add_loss(l, st->nr_malformed, "malformed entries");
	add_loss(l, st->nr_beyond, "launches, samples, stacks or frames beyond a limit");
	add_loss(l, st->nr_missing, "launches counted but not received");
	if (r->opts->nvtx) {
		add_loss(l, st->nr_ranges_dropped, "events of NVTX ranges dropped by the shim");
		add_loss(l, st->nr_ranges_missing, "events of NVTX ranges logged but not received");
	}
	if (r->opts->memory)
		add_loss(l, st->nr_allocs_missing, "events of memory sent but not received");
	add_loss(l, st->nr_samples_no_memory, "CPU samples (xpuload out of memory)");
	add_loss(l, missing(r->nr_samples_taken, st->nr_samples + r->lost[XPU_LOST_SAMPLE]),
		 "CPU samples taken but not received");
	add_loss(l, st->nr_dropped_cupti, "device records dropped by CUPTI");
	add_loss(l, st->nr_dropped_shim, "device records dropped by the shim");
	add_loss(l, st->nr_bad_times, "device records without valid times");
	add_loss(l, st->nr_unfinished, "device records unfinished at exit");
	add_loss(l, st->nr_bad_calls, "API calls without valid times");
	add_loss(l, r->metrics.nr_malformed, "malformed records of GPU metrics");
	add_loss(l, r->splitter.nr_ends,
		 "restarts of xpumerge split, each with unwritten records");
	add_loss(l, r->splitter.nr_lost_files, "files not written, or only in part");
	add_loss(l, r->splitter.nr_lost_launches, "launches of files that could not be written");
	add_loss(l, r->splitter.nr_lost_profiles, "profiles not sent");
	add_loss(l, r->splitter.nr_unmerged, "files without profiles");
	add_loss(l, r->lost[XPU_LOST_DISK], "bytes not written");
	l->nr -= r->lost[XPU_LOST_DISK];	/* bytes, not records, so not part of the sum */
}

/* Prints which processes lost something. */
static void print_blame(const struct recorder_stats *st)
{
	const struct recorder_blame *b;
	uint64_t nr = 0;

	for (b = st->blamed; b < st->blamed + LIMIT_BLAMED; b++) {
		struct losses l = { 0 };

		if (!b->nr)
			continue;
		add_loss(&l, b->nr_malformed, "malformed entries");
		add_loss(&l, b->nr_unread, "slots unreadable");
		add_loss(&l, b->nr_beyond, "launches, samples, stacks or frames beyond a limit");
		add_loss(&l, b->nr_lost, "launches (ring full: try -m)");
		add_loss(&l, b->nr_batches, lost_batches);
		add_loss(&l, b->nr_waits, lost_waits);
		add_loss(&l, b->nr_untold, "call paths of launches (ring full: try -m)");
		add_loss(&l, b->nr_missing, "launches counted but not received");
		add_loss(&l, b->nr_dropped_cupti, "device records dropped by CUPTI");
		add_loss(&l, b->nr_dropped_shim, "device records dropped by the shim");
		msg__warn("lost of pid %u (%.*s): %s", b->pid, XPU_COMM_LEN, b->comm, l.text);
		nr++;
	}
	if (st->nr_blamed > nr)
		msg__warn("and of %llu more processes", U(st->nr_blamed - nr));
}

/* Warns if --capture recorded nothing: its range or number may be misspelled. */
static void warn_of_no_window(const struct report *r)
{
	const char *what = r->opts->capture.what, *advice = "";

	if (!what || !r->stats.nr_cuda_processes || r->stats.nr_launches)
		return;
	if (!strncmp(what, XPU_CAPTURE_NVTX, strlen(XPU_CAPTURE_NVTX)))
		advice = ": without --capture, xpumerge --table nvtx_ranges lists the ranges";
	msg__warn("--capture %s: no launch was made while a window was open%s", what, advice);
}

/* Warns if no GPU's API was recorded. Return: whether it warned. */
static bool warn_of_nothing(const struct report *r)
{
	const struct recorder_stats *st = &r->stats;

	if (r->opts->cpu_only || st->nr_cuda_processes || st->nr_launches || st->nr_allocs ||
	    (r->shared && r->lost[XPU_LOST_PROCESS]))
		return false;
	if (r->opts->mode != PROBES_RUN)
		msg__warn("no CUDA or OpenCL launch was made while attached");
	else
		msg__warn("the target made no CUDA or OpenCL launch: it used neither in %s%llu "
			  "process%s, or the shim could not be loaded there%s",
			  st->nr_processes > 1 ? "any of " : "its ", U(st->nr_processes),
			  st->nr_processes > 1 ? "es" : "",
			  r->shared ? ", or it could not reach xpuload from another network "
				      "namespace or user" : "");
	return true;
}

/*
 * Warns of processes of other users, and of processes that gained privileges. Return: whether the
 * recording of any process was stopped.
 */
static bool warn_of_others(const struct report *r)
{
	if (r->nr_left_alone)
		msg__info("%llu process%s of other users %s left alone: root %s",
			  U(r->nr_left_alone), r->nr_left_alone == 1 ? "" : "es",
			  r->nr_left_alone == 1 ? "was" : "were",
			  geteuid() ? "records them, too" : "needs cap_sys_ptrace to record them");
	if (r->nr_stopped)
		msg__warn("stopped recording %llu process%s: %s gained privileges, or ran a "
			  "program that you may not read; run xpuload as root",
			  U(r->nr_stopped), r->nr_stopped == 1 ? "" : "es",
			  r->nr_stopped == 1 ? "it" : "they");
	return r->nr_stopped;
}

/* Warns of processes whose launches are missing. Return: whether there was a warning. */
static bool warn_of_missed(const struct report *r)
{
	if (r->nr_not_followed)
		msg__warn("%llu process%s could not be attached to: %s launches may be missing",
			  U(r->nr_not_followed), r->nr_not_followed == 1 ? "" : "es",
			  r->nr_not_followed == 1 ? "its" : "their");
	if (r->nr_late)
		msg__warn("%llu child process%s called CUDA before xpuload attached: %s first "
			  "launches may be missing", U(r->nr_late), r->nr_late == 1 ? "" : "es",
			  r->nr_late == 1 ? "its" : "their");
	return r->nr_not_followed || r->nr_late;
}

/* Warns if programs themselves collected device records with CUPTI. Return: whether it warned. */
static bool warn_of_taken(const struct recorder_stats *st)
{
	if (st->nr_taken)
		msg__warn("not recorded: %llu device record%s that programs collected themselves",
			  U(st->nr_taken), st->nr_taken == 1 ? "" : "s");
	return st->nr_taken;
}

/* Warns of gaps in the GPUs' counters. Return: whether there were gaps. */
static bool warn_of_gaps(const struct gpu_metrics_stats *st)
{
	char full[64] = "";

	if (st->nr_overflows)
		snprintf(full, sizeof(full), " (the hardware's memory was full %llu time%s)",
			 U(st->nr_overflows), S(st->nr_overflows));
	if (st->lost_ns || st->nr_overflows)
		msg__warn("GPU metrics: %llu.%03u s without%s", U(st->lost_ns / 1000000000),
			  (unsigned int)(st->lost_ns / 1000000 % 1000), full);
	return st->lost_ns || st->nr_overflows || st->failed;
}

/* Writes the names and the size of the recording's files to @text, of @size bytes. */
static void describe_files(const struct report *r, char *text, size_t size)
{
	const struct options *opts = r->opts;
	uint64_t nr = r->splitter.nr_files, first = 1;
	char bytes[HUMAN_MAX], *name;

	if (opts->every_ns && splitter__removes(opts)) {
		snprintf(text, size, "%llu file%s, removed after sending, %s", U(nr), S(nr),
			 human__bytes(bytes, r->splitter.nr_bytes));
	} else if (opts->every_ns) {
		if (opts->keep && nr > opts->keep)
			first += nr - opts->keep;
		name = output_name__of_row(opts->output, first);
		snprintf(text, size, "%llu file%s, %s the first%s, %s", U(nr), S(nr),
			 name ?: opts->data, first > 1 ? " that is kept" : "",
			 human__bytes(bytes, r->splitter.nr_bytes));
		free(name);
	}
	else {
		snprintf(text, size, "%s, %s", r->opts->merge ? "recording" : r->opts->data,
			 human__bytes(bytes, r->file_bytes));
	}
}

bool report__print(const struct report *r)
{
	const struct recorder_stats *st = &r->stats;
	const char *es = st->nr_processes == 1 ? "" : "es";
	char calls[64] = "", allocs[64] = "", samples[64] = "", metrics[64] = "";
	char files[4200], end[4300];
	struct losses losses;
	bool nothing, stopped, taken, missed, gaps;
	int n;

	count_losses(r, &losses);
	stopped = warn_of_others(r);
	missed = warn_of_missed(r);
	taken = warn_of_taken(st);
	gaps = warn_of_gaps(&r->metrics);
	nothing = warn_of_nothing(r);
	warn_of_no_window(r);
	if (r->sampled)
		snprintf(samples, sizeof(samples), "; %llu CPU sample%s", U(st->nr_samples),
			 S(st->nr_samples));
	if (r->opts->gpu_metrics)
		snprintf(metrics, sizeof(metrics), "; %llu sample%s of GPU metrics",
			 U(r->metrics.nr_rows), S(r->metrics.nr_rows));
	if (r->opts->api)
		snprintf(calls, sizeof(calls), ", %llu API call%s", U(st->nr_calls),
			 S(st->nr_calls));
	if (r->opts->memory)
		snprintf(allocs, sizeof(allocs), ", %llu event%s of memory", U(st->nr_allocs),
			 S(st->nr_allocs));
	describe_files(r, files, sizeof(files));
	n = snprintf(end, sizeof(end), "; through %s; %s; lost %llu",
		     !r->shared ? "BPF" : r->opts->cpu_only ? "perf events" : "shared memory",
		     files, U(losses.nr));
	if (r->lost[XPU_LOST_DISK])
		snprintf(end + n, sizeof(end) - n, " and %llu byte%s", U(r->lost[XPU_LOST_DISK]),
			 S(r->lost[XPU_LOST_DISK]));
	if (r->opts->cpu_only)
		msg__info("%llu CPU sample%s, %llu process%s%s", U(st->nr_samples),
			  S(st->nr_samples), U(st->nr_processes), es, end);
	else
		msg__info("%llu launch%s from %llu call path%s, %llu device record%s%s%s, %llu "
			  "process%s%s%s%s", U(st->nr_launches), st->nr_launches == 1 ? "" : "es",
			  U(st->nr_paths), S(st->nr_paths), U(st->nr_device_records),
			  S(st->nr_device_records), calls, allocs, U(st->nr_processes), es, samples,
			  metrics, end);
	injections__print(r->injections);
	if (st->nr_at_edges)
		msg__debug("%llu launch%s not recorded while xpuload attached or "
			   "detached", U(st->nr_at_edges),
			   st->nr_at_edges == 1 ? "" : "es");
	if (losses.text[0])
		msg__warn("lost: %s", losses.text);
	if (st->nr_processes > 1 || st->nr_cuda_processes > 1 || st->nr_malformed ||
	    r->lost[XPU_LOST_READ])
		print_blame(st);
	if (st->nr_messages_hidden)
		msg__warn("%llu more %s not shown", U(st->nr_messages_hidden),
			  PLURAL(st->nr_messages_hidden, "message from a process is",
				 "messages from processes are"));
	return !losses.text[0] && !nothing && !stopped && !missed && !taken && !gaps;
}
