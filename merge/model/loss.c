// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/loss.h"

#include <ctype.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "util.h"

struct loss_line {
	size_t offset;			/* offset of the counter in struct loss */
	const char *member;		/* the counter's name */
	const char *text;
	bool note;			/* a remark, which reports no loss */
};

#define LINE(member, text_)	{ offsetof(struct loss, member), #member, text_, false }
#define NOTE(member, text_)	{ offsetof(struct loss, member), #member, text_, true }

static const struct loss_line lines[] = {
	LINE(nr_pending, "launches without device work in the recording (pending)"),
	LINE(nr_duplicates, "of these have a correlation id that another launch had (duplicate)"),
	LINE(nr_cut_off,
	     "of these have a process without a last report: killed, or ended by exec or _exit()"),
	LINE(nr_orphans, "device records whose launch is not in the recording (orphans)"),
	LINE(recorder[XPU_LOST_LAUNCH], "launches lost: ring buffer full"),
	LINE(recorder[XPU_LOST_SCRATCH], "launches lost: no memory for a call chain"),
	LINE(recorder[XPU_LOST_BATCH], "batches of device records lost: ring buffer full"),
	LINE(recorder[XPU_LOST_READ], "slots or batches lost: not readable in the target"),
	LINE(recorder[XPU_LOST_MALFORMED], "invalid entries of logs: ignored"),
	LINE(recorder[XPU_LOST_PROCESS],
	     "processes lost: ring buffer, process table or connections full"),
	LINE(recorder[XPU_LOST_SIDEBAND],
	     "mmap, comm, fork or exit events lost: names may be missing or old"),
	LINE(recorder[XPU_LOST_DISK], "bytes lost: could not be written to the recording"),
	LINE(recorder[XPU_LOST_WAIT], "waits for the device lost: ring buffer full"),
	LINE(recorder[XPU_LOST_SAMPLE], "CPU samples lost: ring buffer full"),
	LINE(recorder[XPU_LOST_OFF_CPU],
	     "times off the CPU, or their call paths, lost: tables full"),
	LINE(recorder[XPU_LOST_ACCOUNT], "accounts of threads lost: tables full"),
	LINE(recorder[XPU_LOST_RANGE], "events of NVTX ranges lost: ring buffer full"),
	LINE(dropped_ranges, "events of NVTX ranges dropped by the shim"),
	LINE(missing_ranges, "events of NVTX ranges that the shim logged are not in the recording"),
	LINE(recorder[XPU_LOST_ALLOC], "events of memory lost: ring buffer full"),
	LINE(missing_allocs, "events of memory that the shim sent are not in the recording"),
	LINE(bad_allocs,
	     "events of memory that are impossible: a free or an allocation is missing before "
	     "them"),
	LINE(recorder[XPU_LOST_TAIL],
	     "processes did not run at the detach: launches or device records may be missing"),
	LINE(recorder_other, "losses of a kind that this version does not know"),
	LINE(missing_launches, "launches that the shim counted are not in the recording"),
	LINE(missing_works, "device records that the shim sent are not in the recording"),
	LINE(missing_calls, "API calls that the shim sent are not in the recording"),
	LINE(missing_batches, "batches that the shim sent are not in the recording"),
	LINE(dropped_cupti, "device records dropped by CUPTI"),
	LINE(dropped_shim, "device records dropped by the shim: no memory"),
	LINE(taken, "device records that programs collected themselves: not recorded"),
	LINE(unfinished, "device records of work that still ran when the process ended"),
	LINE(bad_times, "device records without valid times: counted, their time is not"),
	LINE(bad_calls, "API calls without valid times: left out"),
	LINE(outside_launches,
	     "launches timed outside of the recording: counted, their times are not"),
	LINE(outside_works,
	     "device records timed outside of the recording: counted, their times are not"),
	LINE(outside_calls, "API calls timed outside of the recording: left out"),
	LINE(outside_waits, "waits for the device timed outside of the recording: left out"),
	LINE(outside_ranges, "events of NVTX ranges timed outside of the recording: left out"),
	LINE(outside_allocs,
	     "events of memory timed outside of the recording: counted, their times are not"),
	LINE(outside_windows, "windows timed outside of the recording: left out"),
	LINE(outside_stalls,
	     "times of PC samples, outside of the recording: counted, their times are not"),
	LINE(outside_samples, "CPU samples timed outside of the recording: left out"),
	LINE(bad_refs, "references to threads, call paths, names or streams that nothing defines"),
	LINE(crowded, "waits, device records, mappings or segments left out: more than any program "
	     "has at once"),
	LINE(unknown_records, "records of types that this version does not know: left out"),
	LINE(bad_batches, "batches damaged inside: used up to the damage"),
	LINE(bad_header, "damaged header of the recording: its times may be wrong"),
	LINE(damaged_blocks, "blocks of records lost: damaged; names may be missing or old"),
	LINE(damaged_launches, "launches that were in these blocks"),
	LINE(damaged_bytes, "bytes left out within the recording: damaged"),
	LINE(corrupt_bytes, "bytes ignored at the end of the recording: damaged"),
	LINE(cut_bytes, "bytes ignored at the end of the recording: cut off inside a record"),
	LINE(not_closed, "recording not closed properly: its end may be missing"),
	LINE(no_stack, "launches or graph nodes without a call path ([no stack])"),
	LINE(truncated, "launches whose call path is deeper than recorded ([truncated])"),
	LINE(samples_no_stack, "CPU samples without a call path ([no stack])"),
	LINE(samples_truncated,
	     "CPU samples whose call path is deeper than recorded ([truncated])"),
	LINE(bad_metrics, "samples of GPU metrics that are impossible: left out"),
	LINE(missing_metrics, "samples of GPU metrics that were taken are not in the recording"),
	LINE(metric_overflows,
	     "times the GPU's memory for its metrics was full: samples are missing"),
	LINE(metric_gap_us, "us without samples of GPU metrics, between samples, of all GPUs"),
	LINE(stalls_full, "times the GPU's memory for PC samples was full: samples are missing"),
	LINE(stalls_uncovered_us,
	     "us of kernels without PC samples: no sampler, or CUPTI had not fetched them"),
	LINE(stalls_unexplained, "PC samples that CUPTI counted but did not deliver"),
	LINE(unsymbolized, "frames without a function name"),
	NOTE(uncertain, "frames of generated code that may be another function (?): its address "
	     "was used again"),
	NOTE(nr_captured, "launches captured into graphs: not run, not among the launches"),
	NOTE(nr_refused,
	     "launches that CUDA or OpenCL refused with an error: not among the launches"),
	NOTE(nr_no_bytes, "copies and sets of no bytes: not among the launches"),
	NOTE(before_attach, "device records of launches before the attach ([before attach])"),
	NOTE(after_detach, "device records of launches after the detach ([after detach])"),
	NOTE(at_detach, "launches in flight at the detach: not among the launches"),
	NOTE(at_edges, "launches not recorded while xpuload attached or detached"),
	NOTE(alloc_gaps, "calls to free memory in progress when the recording ended"),
	NOTE(unfinished_at_detach, "device records of work that still ran at the detach"),
	NOTE(unknown_nodes, "device records of graph nodes whose making was not recorded: under "
	     "their launch"),
};

static uint64_t loss__counter(const struct loss *l, const struct loss_line *line)
{
	return *(const uint64_t *)((const char *)l + line->offset);
}

void loss__add(struct loss *to, const struct loss *l)
{
	const uint64_t *from = (const uint64_t *)l;
	uint64_t *sum = (uint64_t *)to;
	size_t i;

	_Static_assert(sizeof(*l) % sizeof(uint64_t) == 0, "struct loss is all counters");
	for (i = 0; i < sizeof(*l) / sizeof(uint64_t); i++)
		sum[i] += from[i];
}

uint64_t loss__lost(const struct loss *l)
{
	/*
	 * The recorder counts its losses. The shim's counts, minus the launches and records that
	 * arrived, give a second count of the same losses. The larger count is nearer to the truth
	 * than the sum of both. A lost batch counts as one loss here, because only the shim knows
	 * how much it held. Bytes that were not written to the disk, or that are not a whole
	 * record, also count as one loss.
	 */
	uint64_t recorder = l->recorder[XPU_LOST_LAUNCH] + l->recorder[XPU_LOST_SCRATCH] +
			    l->recorder[XPU_LOST_BATCH] + l->recorder[XPU_LOST_READ] +
			    !!l->recorder[XPU_LOST_DISK];
	uint64_t missing = l->missing_launches +
			   max_t(uint64_t, l->missing_works + l->missing_calls, l->missing_batches);
	uint64_t damaged = max_t(uint64_t, l->damaged_blocks, !!l->damaged_bytes);
	uint64_t unread = !!l->cut_bytes + !!l->corrupt_bytes + l->bad_batches;

	unread += max_t(uint64_t, damaged, l->damaged_launches);
	missing = max_t(uint64_t, missing, unread);
	return max_t(uint64_t, recorder, missing) + l->recorder[XPU_LOST_PROCESS] +
	       l->recorder[XPU_LOST_SIDEBAND] + l->recorder[XPU_LOST_WAIT] +
	       l->recorder[XPU_LOST_OFF_CPU] + l->recorder[XPU_LOST_ACCOUNT] +
	       l->recorder[XPU_LOST_SAMPLE] + l->recorder[XPU_LOST_TAIL] +
	       l->dropped_ranges +
	       max_t(uint64_t, l->recorder[XPU_LOST_RANGE], l->missing_ranges) +
	       max_t(uint64_t, l->recorder[XPU_LOST_ALLOC], l->missing_allocs) +
	       l->recorder_other + l->dropped_cupti + l->dropped_shim;
}

bool loss__clean(const struct loss *l)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(lines); i++)
		if (!lines[i].note && loss__counter(l, &lines[i]))
			return false;
	return true;
}

void loss__print(const struct loss *l, FILE *f, const char *prefix)
{
	fprintf(f, "%slaunches %" PRIu64 " matched %" PRIu64 " unmatched %" PRIu64 " lost %" PRIu64
		"\n", prefix, l->nr_launches, l->nr_matched, loss__unmatched(l), loss__lost(l));
	loss__print_lines(l, f, prefix);
}

/* The words for the counts that loss__print() prints, in the plural and in the singular. */
static const char *const words[][2] = {
	{ "launches", "launch" }, { "records", "record" }, { "batches", "batch" },
	{ "slots", "slot" }, { "entries", "entry" }, { "events", "event" }, { "waits", "wait" },
	{ "samples", "sample" }, { "times", "time" }, { "accounts", "account" },
	{ "losses", "loss" }, { "calls", "call" }, { "references", "reference" },
	{ "blocks", "block" }, { "bytes", "byte" }, { "frames", "frame" },
	{ "mappings", "mapping" }, { "windows", "window" }, { "nodes", "node" },
	{ "processes", "process" }, { "are", "is" }, { "were", "was" }, { "have", "has" },
};

/*
 * Prints a line in the singular: changes its verb, and the nouns before the first preposition.
 * Other nouns stay as they are.
 */
static void print_singular(FILE *f, const char *text)
{
	bool nouns = true, verb = true;
	size_t len, i;

	for (; *text; text += len) {
		len = strcspn(text, " ,:") ?: 1;
		for (i = 0; i < ARRAY_SIZE(words); i++)
			if (strlen(words[i][0]) == len && !strncmp(text, words[i][0], len))
				break;
		if (i < ARRAY_SIZE(words) - 3 && nouns) {
			fputs(words[i][1], f);
			continue;
		}
		if (i >= ARRAY_SIZE(words) - 3 && i < ARRAY_SIZE(words) && verb) {
			fputs(words[i][1], f);
			verb = false;
			continue;
		}
		nouns &= strncmp(text, "of ", 3) && strncmp(text, "to ", 3) &&
			 strncmp(text, "for ", 4) && strncmp(text, "without", 7) && *text != ':';
		verb &= *text != ':';
		fprintf(f, "%.*s", (int)len, text);
	}
}

static void print_line(FILE *f, const char *prefix, uint64_t n, const char *text)
{
	fprintf(f, "%s%12" PRIu64 " ", prefix, n);
	if (n == 1)
		print_singular(f, text);
	else
		fputs(text, f);
	fputc('\n', f);
}

void loss__print_lines(const struct loss *l, FILE *f, const char *prefix)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(lines); i++) {
		uint64_t n = loss__counter(l, &lines[i]);

		if (n && lines[i].offset == offsetof(struct loss, unsymbolized))
			fprintf(f, "%s%12" PRIu64 " of %" PRIu64 " %s\n", prefix, n, l->nr_frames,
				lines[i].text);
		else if (n)
			print_line(f, prefix, n, lines[i].text);
	}
}

/* Turns recorder[XPU_LOST_DISK] into lost_disk, and leaves other names of members as they are. */
static void counter__name(const char *member, char *to, size_t size)
{
	static const char prefix[] = "[XPU_";
	const char *in = strstr(member, prefix);
	size_t i = 0;

	for (in = in ? in + strlen(prefix) : member; *in && *in != ']' && i + 1 < size; in++)
		to[i++] = tolower((unsigned char)*in);
	to[i] = 0;
}

bool loss__counter_at(const struct loss *l, size_t i, struct loss_counter *counter)
{
	if (i >= ARRAY_SIZE(lines))
		return false;
	counter__name(lines[i].member, counter->name, sizeof(counter->name));
	counter->meaning = lines[i].text;
	counter->count = loss__counter(l, &lines[i]);
	counter->loss = !lines[i].note;
	return true;
}
