// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The recorder at a detach: launches that arrive after the detach are not recorded. Logs with NVTX
 * ranges: the range of each launch. Threads that are still alive at the end.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/numbers.h"
#include "record/recorder.h"
#include "join/session.h"
#include "tap.h"
#include "record/windows.h"
#include "record/writer.h"
#include "xpu_slot.h"

#define DETACH_NS	1000000

static struct recorder *rec;
static const struct recorder_listener nobody;

static void process(uint32_t proc_id, uint32_t parent, uint16_t how, uint64_t time_ns)
{
	struct xpu_record_process r = {
		.hdr = { XPU_RECORD_PROCESS, how, sizeof(r) },
		.time_ns = time_ns,
		.proc_id = proc_id,
		.pid = 100 + proc_id,
		.parent_proc_id = parent,
		.comm = "app",
	};

	recorder__record(rec, &r, sizeof(r));
}

static void process_exit(uint32_t proc_id, uint64_t time_ns)
{
	struct xpu_record_process_exit r = {
		.hdr = { XPU_RECORD_PROCESS_EXIT, 0, sizeof(r) },
		.time_ns = time_ns,
		.proc_id = proc_id,
		.pid = 100 + proc_id,
	};

	recorder__record(rec, &r, sizeof(r));
}

static void launch(uint32_t proc_id, uint32_t correlation_id, uint64_t time_ns)
{
	struct {
		struct xpu_ring_launch l;
		uint64_t frame;
	} r = {
		.l = {
			.hdr = { XPU_RECORD_LAUNCH, 0, sizeof(r) },
			.time_ns = time_ns,
			.proc_id = proc_id,
			.tid = 100 + proc_id,
			.ns_tid = 100 + proc_id,
			.correlation_id = correlation_id,
			.cbid = 307,
			.domain = 2,
			.nr_frames = 1,
		},
		.frame = 0x1000,
	};

	recorder__record(rec, &r, sizeof(r));
}

/* Sends a batch with the shim's launch count and with the device records of the launches @ids. */
static void batch(uint32_t proc_id, uint64_t nr_launches, bool last, const uint32_t *ids, size_t nr)
{
	struct {
		struct xpu_record_batch b;
		struct xpu_record_counters c;
		struct xpu_record_kernel k[8];
	} r = {
		.b = {
			.hdr = { XPU_RECORD_BATCH, 0, sizeof(r) },
			.time_ns = DETACH_NS,
			.proc_id = proc_id,
			.tid = 100 + proc_id,
			.bytes = sizeof(r.c) + nr * sizeof(r.k[0]),
		},
		.c = {
			.hdr = { XPU_RECORD_COUNTERS, last ? XPU_MISC_COUNTERS_LAST : 0,
				 sizeof(r.c) },
			.nr_batches = 1,
			.nr_launches = nr_launches,
			.nr_kernels = nr,
			.nr_slots = 1,
		},
	};
	size_t i;

	for (i = 0; i < nr; i++)
		r.k[i] = (struct xpu_record_kernel){
			.hdr = { XPU_RECORD_KERNEL, 0, sizeof(r.k[i]) },
			.start_ns = DETACH_NS + i,
			.duration_ns = 1,
			.correlation_id = ids[i],
		};
	recorder__record(rec, &r, sizeof(r));
}

/* Sends a part of a log. @entries: ids of launches; a negative number is the id of a range */
static void send_log(uint64_t first, uint32_t range_id, const int *entries, uint32_t nr)
{
	struct {
		struct xpu_ring_log l;
		struct xpu_log_entry e[16];
	} r = {
		.l = {
			.hdr = { XPU_RECORD_LOG, 0, sizeof(r.l) + nr * sizeof(r.e[0]) },
			.first = first,
			.proc_id = 1,
			.tid = 101,
			.ns_tid = 101,
			.log_id = 1,
			.nr = nr,
			.range_id = range_id,
		},
	};
	uint32_t i;

	for (i = 0; i < nr; i++) {
		bool launched = entries[i] > 0;

		r.e[i] = (struct xpu_log_entry){
			.time = 1000 + first + i,
			.correlation_id = launched ? entries[i] : -entries[i],
			.path_id = launched ? 1 : XPU_LOG_RANGE | 3 << 8 | XPU_RANGE_POP,
		};
	}
	recorder__record(rec, &r, r.l.hdr.size);
}

/*
 * Reads the range of each launch in the recording, by launch id. Return: the number of range
 * events.
 */
static int read_ranges(const char *path, uint32_t *range_ids, size_t nr)
{
	const struct xpu_record *record;
	struct record_iter it;
	struct reader r;
	int nr_events = 0;
	uint32_t i;

	if (reader__open(&r, path))
		bail("cannot read it");
	reader__rewind(&r, &it);
	while ((record = record_iter__next(&it))) {
		const struct xpu_record_launches *l = (const void *)record;
		const struct xpu_record_ranges *ranges = (const void *)record;

		if (record->type == XPU_RECORD_RANGES) {
			for (i = 0; i < ranges->nr; i++)
				nr_events += ranges->events[i].what == XPU_RANGE_POP &&
					     ranges->events[i].place == 3;
			continue;
		}
		if (record->type != XPU_RECORD_LAUNCHES)
			continue;
		for (i = 0; i < l->nr; i++)
			if (l->launches[i].correlation_id < nr)
				range_ids[l->launches[i].correlation_id] =
					record->misc & XPU_MISC_LAUNCHES_RANGES ?
					((const __u32 *)&l->launches[l->nr])[i] : 0;
	}
	reader__close(&r);
	return nr_events;
}

static void test_ranges(const struct xpu_file_header *header, bool wanted)
{
	static const int one[] = { 1, -5, 2, 3 }, two[] = { 4, -6, 5 }, late[] = { 9, -7, 10 };
	static const int again[] = { -7, 10, 11 };
	char path[] = "/tmp/recorder.XXXXXX";
	uint32_t range_ids[16];
	struct writer *w;
	int nr;

	memset(range_ids, 0xff, sizeof(range_ids));
	if (writer__open(mkstemp(path), header, &w) ||
	    !(rec = recorder__new(w, 1000000, wanted, true, &nobody)))
		bail("cannot begin");
	process(1, 0, XPU_MISC_PROCESS_ROOT, 1);
	send_log(0, 0, one, 4);
	send_log(4, 5, two, 3);
	/*
	 * Two launches are lost. Then the sender is killed, and the last part of its log arrives
	 * again, with one more launch.
	 */
	send_log(9, 8, late, 3);
	send_log(10, 8, again, 3);
	recorder__flush(rec);
	if (writer__close(w, NULL, NULL))
		bail("cannot write it");
	recorder__free(rec);
	nr = read_ranges(path, range_ids, 16);
	is_int(nr, wanted ? 3 : 0,
	       "events of ranges are recorded once each%s", wanted ? "" : ", if wanted");
	is_int(range_ids[1], 0, "a launch before all ranges has no range");
	is_int(range_ids[2], wanted ? 5 : 0, "a launch after the first event has its range");
	is_int(range_ids[4], wanted ? 5 : 0, "a launch in the next part of the log has that range");
	is_int(range_ids[5], wanted ? 6 : 0, "a launch after the next event has its range");
	is_int(range_ids[9], wanted ? 8 : 0,
	       "a launch after lost launches has the range that its log names");
	is_int(range_ids[10], wanted ? 7 : 0,
	       "a launch after an event in that log has the event's range");
	is_int(range_ids[11], wanted ? 7 : 0, "a launch after a repeated event has its range");
	unlink(path);
}

/* Tests threads that are still alive at the end, with clocks that differ. */
static void test_living(const struct xpu_file_header *header)
{
	static const struct {
		uint32_t state, kind;
		uint64_t since_ns, wake_ns, life_ns, run_ns, blocked_ns, runnable_ns, call_ns;
		const char *name;
	} cases[] = {
		{ XPU_THREAD_RUNNING, 0, 3000, 0, 8000, 7000, 0, 0, 0, "it runs" },
		{ XPU_THREAD_RUNNING, 0, 9500, 0, 8500, 1000, 0, 0, 0,
		  "it runs since after the end" },
		{ XPU_THREAD_BLOCKED, XPU_OFF_LOCK, 3000, 0, 8000, 1000, 6000, 0, 0,
		  "it is blocked" },
		{ XPU_THREAD_BLOCKED, XPU_OFF_LOCK, 3000, 8000, 8000, 1000, 5000, 1000, 0,
		  "it is woken" },
		{ XPU_THREAD_BLOCKED, XPU_OFF_LOCK, 3000, 9300, 8300, 1000, 6300, 0, 0,
		  "it is woken after the end" },
		{ XPU_THREAD_BLOCKED, XPU_OFF_CALL, 3000, 8000, 8000, 1000, 0, 0, 6000,
		  "it is in a call that waits" },
		{ XPU_THREAD_RUNNABLE, XPU_OFF_RUNNABLE, 9500, 0, 8500, 1000, 0, 0, 0,
		  "it is runnable since after the end" },
	};
	char path[] = "/tmp/recorder.XXXXXX";
	const struct xpu_record *record;
	struct record_iter it;
	size_t i, nr = 0;
	uint64_t sums_ns = 0;
	struct writer *w;
	struct reader r;

	if (writer__open(mkstemp(path), header, &w) ||
	    !(rec = recorder__new(w, 1000000, false, true, &nobody)))
		bail("cannot begin");
	process(1, 0, XPU_MISC_PROCESS_ROOT, 1);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		recorder__living_thread(rec, &(struct xpu_thread_state){
			.start_ns = 1000, .since_ns = cases[i].since_ns,
			.wake_ns = cases[i].wake_ns, .state = cases[i].state,
			.kind = cases[i].kind, .proc_id = 1, .tid = 10 + i,
			/* The time before since_ns does not matter here. */
			.time = { .run_ns = 1000,
				  .off_ns[XPU_OFF_POLL] = cases[i].since_ns - 2000 },
		}, 9000);
	recorder__flush(rec);
	if (writer__close(w, NULL, NULL) || reader__open(&r, path))
		bail("cannot read it");
	recorder__free(rec);
	for (reader__rewind(&r, &it); (record = record_iter__next(&it));) {
		const struct xpu_record_account *a = (const void *)record;

		if (record->type == XPU_RECORD_OFF_CPU)
			sums_ns += ((const struct xpu_record_off_cpu *)record)->sum_ns;
		if (record->type != XPU_RECORD_ACCOUNT || nr == sizeof(cases) / sizeof(cases[0]))
			continue;
		is_int(a->end_ns - a->start_ns, cases[nr].life_ns,
		       "%s: its lifetime is right", cases[nr].name);
		is_int(a->time.run_ns, cases[nr].run_ns,
		       "%s: its time on the CPU is right", cases[nr].name);
		is_int(a->time.off_ns[XPU_OFF_LOCK], cases[nr].blocked_ns,
		       "%s: its blocked time is right",
		       cases[nr].name);
		is_int(a->time.off_ns[XPU_OFF_RUNNABLE], cases[nr].runnable_ns,
		       "%s: its runnable time is right",
		       cases[nr].name);
		is_int(a->time.off_ns[XPU_OFF_CALL], cases[nr].call_ns,
		       "%s: its time in the call is right",
		       cases[nr].name);
		nr++;
	}
	is_int(nr, sizeof(cases) / sizeof(cases[0]),
	       "each thread that is still alive has an account");
	is_int(sums_ns, 6000 + 6000 + 6300,
	       "the sums contain the blocked and runnable times of threads that are alive");
	reader__close(&r);
	unlink(path);
}

/* Tests that a target's records are counted if they claim more contents than they have. */
static void test_short(const struct xpu_file_header *header)
{
	struct xpu_ring_launch launch = {
		.hdr = { XPU_RECORD_LAUNCH, 0, sizeof(launch) },
		.time_ns = 1, .proc_id = 1, .tid = 101, .ns_tid = 101, .nr_frames = 1,
	};
	struct xpu_ring_log log = {
		.hdr = { XPU_RECORD_LOG, 0, sizeof(log) }, .proc_id = 1, .ns_tid = 101, .nr = 1,
	};
	struct xpu_record_batch batch = {
		.hdr = { XPU_RECORD_BATCH, 0, sizeof(batch) }, .proc_id = 1, .bytes = 8,
	};
	struct recorder_stats stats = { 0 };
	char path[] = "/tmp/recorder.XXXXXX";
	struct writer *w;

	if (writer__open(mkstemp(path), header, &w) ||
	    !(rec = recorder__new(w, 1000000, true, true, &nobody)))
		bail("cannot begin");
	process(1, 0, XPU_MISC_PROCESS_ROOT, 1);
	recorder__record(rec, &launch, sizeof(launch));
	recorder__record(rec, &log, sizeof(log));
	recorder__record(rec, &batch, sizeof(batch));
	recorder__stats(rec, &stats);
	is_int(stats.nr_malformed, 3, "records that lack their end are counted as malformed");
	recorder__free(rec);
	writer__close(w, NULL, NULL);
	unlink(path);
}

/*
 * Tests values that a target can choose, and values of a damaged record. Kernel names are written
 * for addresses that the kernel has found, but not for addresses that a target sends.
 */
static void test_forged(const struct xpu_file_header *header)
{
	struct {
		struct xpu_ring_launch l;
		uint64_t frames[2];
	} forged = {
		.l = {
			.hdr = { XPU_RECORD_LAUNCH, 0, sizeof(forged) },
			.time_ns = 1, .proc_id = 1, .tid = 101, .ns_tid = 101, .correlation_id = 1,
			.cbid = 307, .domain = 2, .nr_frames = 2,
			.flags = 0xffff & ~XPU_CHAIN_NO_LAUNCH,
		},
		.frames = { 0xffffffff81000000, 0xffffffffffffff00 },
	};
	struct xpu_record_process odd = {
		.hdr = { XPU_RECORD_PROCESS, XPU_MISC_PROCESS_FORK, 1 << 20 }, .proc_id = 9,
	};
	struct xpu_record_process_exit odd_exit = {
		.hdr = { XPU_RECORD_PROCESS_EXIT, 0, 1 << 20 }, .proc_id = 1,
	};
	struct {
		struct xpu_ring_sample s;
		uint64_t regs[XPU_NR_REGS], stack[8];
	} sample = {
		.s = {
			.hdr = { XPU_RECORD_SAMPLE, 0, sizeof(sample) }, .time_ns = 1, .proc_id = 1,
			.tid = 101, .flags = XPU_CHAIN_CPU | XPU_CHAIN_STACK,
			.stack_bytes = sizeof(sample.stack),
		},
		.regs = { [XPU_REG_SP] = UINT64_MAX - 15 },
	};
	char path[] = "/tmp/recorder.XXXXXX";
	const struct xpu_record *record;
	int flags = -1, nr_ksyms = 0, nr_processes = 0, stack_bytes = -1;
	struct record_iter it;
	struct writer *w;
	struct reader r;

	if (writer__open(mkstemp(path), header, &w) ||
	    !(rec = recorder__new(w, 1000000, true, true, &nobody)))
		bail("cannot begin");
	process(1, 0, XPU_MISC_PROCESS_ROOT, 1);
	recorder__record(rec, &forged, sizeof(forged));
	forged.l.hdr.type = XPU_RECORD_LAUNCH_WAIT;
	forged.l.wait_ns = 1;
	forged.l.cbid++;
	recorder__record(rec, &forged, sizeof(forged));
	recorder__record(rec, &odd, sizeof(odd));
	recorder__record(rec, &odd_exit, sizeof(odd_exit));
	recorder__record(rec, &sample, sizeof(sample));
	launch(1, 2, 100);
	recorder__flush(rec);
	recorder__finish(rec);
	if (writer__close(w, NULL, NULL) || reader__open(&r, path))
		bail("cannot read it");
	recorder__free(rec);
	reader__rewind(&r, &it);
	while ((record = record_iter__next(&it))) {
		if (record->type == XPU_RECORD_CALLCHAIN && flags < 0)
			flags = record->misc;
		if (record->type == XPU_RECORD_STACK)
			stack_bytes = ((const struct xpu_record_stack *)record)->bytes;
		nr_ksyms += record->type == XPU_RECORD_KSYM;
		nr_processes += record->type == XPU_RECORD_PROCESS ||
				record->type == XPU_RECORD_PROCESS_EXIT;
	}
	is_int(it.end, RECORDS_WHOLE, "forged records: the recording is whole");
	is_int(flags, XPU_CHAIN_TRUNCATED | XPU_CHAIN_SHIM | XPU_CHAIN_FAILED,
	       "forged records: a launch's call chain is still a launch's chain");
	is_int(nr_ksyms, 0, "forged records: kernel addresses get no names");
	is_int(nr_processes, 1, "forged records: a process record of the wrong size is ignored");
	is_int(stack_bytes, 0, "forged records: a stack beyond all addresses is not copied");
	reader__close(&r);
	unlink(path);
}

static bool no_memory;

int __real_numbers__add(struct numbers *m, struct numbers_key key, uint64_t value);
int __wrap_numbers__add(struct numbers *m, struct numbers_key key, uint64_t value);

/* The linker puts this in place of numbers__add(): see test.mk. */
int __wrap_numbers__add(struct numbers *m, struct numbers_key key, uint64_t value)
{
	return no_memory ? -ENOMEM : __real_numbers__add(m, key, value);
}

/* Tests that stacks off the CPU and events of memory are counted if memory runs out. */
static void test_no_memory(const struct xpu_file_header *header)
{
	struct xpu_ring_off_stack stack = {
		.hdr = { XPU_RECORD_OFF_STACK, 0, sizeof(stack) },
		.time_ns = 2, .proc_id = 1, .tid = 101, .hash = { 1, 2 },
	};
	struct {
		struct xpu_record_batch b;
		struct xpu_record_alloc a;
	} alloc = {
		.b = {
			.hdr = { XPU_RECORD_BATCH, 0, sizeof(alloc) }, .proc_id = 1, .tid = 101,
			.ns_tid = 101, .bytes = sizeof(alloc.a),
		},
		.a = {
			.hdr = { XPU_RECORD_ALLOC, 0, sizeof(alloc.a) },
			.time_ns = 3, .event = { .what = XPU_ALLOC_MADE, .path_id = 1 },
		},
	};
	char path[] = "/tmp/recorder.XXXXXX";
	struct recorder_stats stats;
	struct writer *w;

	if (writer__open(mkstemp(path), header, &w) ||
	    !(rec = recorder__new(w, 1000000, false, true, &nobody)))
		bail("cannot begin");
	process(1, 0, XPU_MISC_PROCESS_ROOT, 1);
	no_memory = true;
	recorder__record(rec, &stack, sizeof(stack));
	recorder__stats(rec, &stats);
	is_int(stats.nr_beyond, 1, "no memory: a stack off the CPU is counted");
	recorder__record(rec, &alloc, sizeof(alloc));
	recorder__stats(rec, &stats);
	is_int(stats.nr_beyond, 2, "no memory: an event of memory without its thread is counted");
	no_memory = false;
	recorder__free(rec);
	writer__close(w, NULL, NULL);
	unlink(path);
}

/* Sends the record of a window of image 1 that opens at @open_ns, or closes at @close_ns. */
static void window(struct windows *w, uint64_t open_ns, uint64_t close_ns)
{
	struct {
		struct xpu_record_batch b;
		struct xpu_record_counters c;
		struct xpu_record_window w;
	} r = {
		.b = {
			.hdr = { XPU_RECORD_BATCH, 0, sizeof(r) }, .proc_id = 1,
			.bytes = sizeof(r.c) + sizeof(r.w),
		},
		.w = {
			.hdr = { XPU_RECORD_WINDOW,
				 close_ns ? XPU_MISC_WINDOW_CLOSED : XPU_MISC_WINDOW_OPEN,
				 sizeof(r.w) },
			.time_ns = close_ns ?: open_ns, .open_ns = open_ns,
		},
	};

	windows__take(w, &r, sizeof(r));
}

/* Tests whether a sample is in a window, if the records of many windows came first. */
static void test_windows(void)
{
	struct windows *w = windows__new();
	uint64_t i, nr_inside = 0, nr_outside = 0;

	for (i = 1; w && i <= 100; i++) {
		window(w, 10 * i, 0);
		window(w, 10 * i, 10 * i + 5);
	}
	for (i = 37; w && i <= 100; i++) {
		nr_inside += windows__place(w, 1, 10 * i + 3) == WINDOWS_INSIDE;
		nr_outside += windows__place(w, 1, 10 * i + 7) == WINDOWS_OUTSIDE;
	}
	is_int(nr_inside, 64, "a sample in one of the latest 64 windows is inside");
	is_int(nr_outside, 64, "a sample after one of the latest 64 windows is outside");
	is_int(windows__place(w, 1, 363), WINDOWS_UNKNOWN, "an older sample is neither");
	is_int(windows__place(w, 2, 363), WINDOWS_OUTSIDE,
	       "a sample of an image without windows is outside");
	windows__free(w);
}

int main(void)
{
	static const struct xpu_file_header header = {
		.magic = XPU_FILE_MAGIC, .endian = XPU_FILE_ENDIAN,
		.version_major = XPU_VERSION_MAJOR, .version_minor = XPU_VERSION_MINOR,
		.header_bytes = sizeof(header), .clockid = 1,
	};
	static const struct session_opts opts = { 0 };
	static const uint32_t ids[] = { 1, 3, 5, 7, 9 };
	char path[] = "/tmp/recorder.XXXXXX";
	struct xpu_record_end end = { .hdr = { XPU_RECORD_END, 0, sizeof(end) } };
	struct recorder_stats stats;
	struct reader r;
	struct session s;
	struct writer *w;

	if (writer__open(mkstemp(path), &header, &w) ||
	    !(rec = recorder__new(w, 1000000, true, true, &nobody)))
		bail("cannot begin");

	/* An exec replaces the child, and the new image outlives the child. */
	process(1, 0, XPU_MISC_PROCESS_ROOT, 1);
	process(2, 1, XPU_MISC_PROCESS_FORK, 2);
	batch(2, 0, false, NULL, 0);
	process(3, 2, XPU_MISC_PROCESS_EXEC, 3);
	batch(3, 0, false, NULL, 0);
	is_int(recorder__nr_awake(rec), 1,
	       "no records are awaited from an image that an exec has replaced");
	launch(3, 1, 100);
	launch(3, 3, 200);
	process_exit(1, DETACH_NS - 1);

	/*
	 * Launches 5, 7 and 9 come after the detach begins. Only launches 7 and 9 still reach an
	 * attached probe.
	 */
	recorder__detaching(rec, DETACH_NS);
	launch(3, 7, DETACH_NS + 10);
	launch(3, 9, DETACH_NS + 20);
	batch(3, 5, true, ids, 5);
	is_int(recorder__nr_awake(rec), 0,
	       "no records are awaited from a process that has sent its last batch");
	process_exit(3, DETACH_NS + 100);

	recorder__stats(rec, &stats);
	is_int(stats.nr_launches, 2, "launches up to the detach are recorded");
	is_int(stats.nr_tagged, 2, "launches reported after the detach are not missed");
	is_int(stats.nr_at_edges, 3, "launches reported after the detach are counted");
	recorder__flush(rec);
	writer__append(w, &end.hdr);
	if (writer__close(w, NULL, NULL) || reader__open(&r, path) || session__init(&s, &opts) ||
	    session__process(&s, &r, 1))
		bail("cannot read it");
	is_int(s.sums.loss.nr_launches, 2, "the recording has the launches up to the detach");
	is_int(s.sums.loss.nr_matched, 2, "the launches up to the detach have their device work");
	is_int(s.sums.loss.nr_orphans, 0, "no device work is without a launch");
	is_int(s.sums.loss.after_detach, 3,
	       "device work of launches after the detach is counted separately");
	is_int(s.sums.loss.missing_launches, 0, "launches after the detach are not missing");
	session__exit(&s);
	reader__close(&r);
	recorder__free(rec);
	unlink(path);
	test_ranges(&header, true);
	test_ranges(&header, false);
	test_living(&header);
	test_short(&header);
	test_forged(&header);
	test_no_memory(&header);
	test_windows();
	return done_testing();
}
