// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Limits on the data that a hostile process can make the recorder keep, print and write. The sums
 * of the other processes in the recording stay exact.
 */
#include <fcntl.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/numbers.h"
#include "read/reader.h"
#include "record/recorder.h"
#include "tap.h"
#include "record/writer.h"
#include "xpu_slot.h"

#define MB		1024		/* in kB, the unit of /proc */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZER	(600 * MB)	/* a sanitizer's own memory and freed blocks */
#else
#define SANITIZER	0
#endif
#define HOSTILE		666
#define HONEST		7
#define SECOND		1000000000ull

static struct recorder *rec;
static struct writer *w;
static struct recorder_stats stats;
static uint64_t ring_lost;		/* launches of HOSTILE that the BPF programs could not
					 * send */

static void on_loss(void *ctx, uint32_t proc_id, struct xpu_loss *loss)
{
	(void)ctx;
	if (proc_id == HOSTILE)
		loss->nr_launches = ring_lost;
}

static const struct recorder_listener listener = { .loss = on_loss };

static void begin(const char *path)
{
	static const struct xpu_file_header header = {
		.magic = XPU_FILE_MAGIC, .endian = XPU_FILE_ENDIAN,
		.version_major = XPU_VERSION_MAJOR, .version_minor = XPU_VERSION_MINOR,
		.header_bytes = sizeof(header), .clockid = 1,
	};

	if (writer__open(open(path, O_RDWR), &header, &w) ||
	    !(rec = recorder__new(w, 1000000, true, true, &listener)))
		bail("cannot begin");
	ring_lost = 0;
}

static void end(void)
{
	recorder__flush(rec);
	recorder__stats(rec, &stats);
	recorder__finish(rec);
	recorder__free(rec);
	writer__close(w, NULL, NULL);
}

/* Return: the value of the line @what in this process's /proc/self/status, in kB. */
static long status_kb(const char *what)
{
	char line[256];
	FILE *f = fopen("/proc/self/status", "re");
	long kb = -1;

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, what, strlen(what)))
			kb = atol(line + strlen(what) + 1);
	if (f)
		fclose(f);
	return kb;
}

/*
 * Return: the heap memory in use, in kB, once the writer thread has nothing left to write. With a
 * sanitizer's heap: the memory of this process.
 */
static long heap_kb(void)
{
	struct mallinfo2 info;
	long kb = -1, last;
	int quiet = 0;

	if (SANITIZER)
		return status_kb("VmRSS:");
	while (quiet < 10) {
		last = kb;
		usleep(10000);
		info = mallinfo2();
		kb = (long)((info.uordblks + info.hblkhd) / 1024);
		quiet = kb == last ? quiet + 1 : 0;
	}
	return kb;
}

static void process(uint32_t proc_id)
{
	struct xpu_record_process r = {
		.hdr = { XPU_RECORD_PROCESS, XPU_MISC_PROCESS_FORK, sizeof(r) },
		.time_ns = 1,
		.proc_id = proc_id,
		.pid = 10 * proc_id,
	};

	snprintf(r.comm, sizeof(r.comm), "app %u", proc_id);
	recorder__record(rec, &r, sizeof(r));
}

static void process_exit(uint32_t proc_id, uint64_t time_ns)
{
	struct xpu_record_process_exit r = {
		.hdr = { XPU_RECORD_PROCESS_EXIT, 0, sizeof(r) },
		.time_ns = time_ns,
		.proc_id = proc_id,
		.pid = 10 * proc_id,
	};

	recorder__record(rec, &r, sizeof(r));
}

/* Sends a launch with a call chain of @nr_frames frames; chains with different @first differ. */
static void launch(uint32_t proc_id, uint32_t path_id, uint64_t first, uint32_t nr_frames,
		   uint16_t flags)
{
	static struct {
		struct xpu_ring_launch l;
		uint64_t frames[XPU_MAX_FRAMES];
	} r;
	uint32_t i;

	r.l = (struct xpu_ring_launch){
		.hdr = { XPU_RECORD_LAUNCH, 0, sizeof(r.l) + nr_frames * sizeof(r.frames[0]) },
		.time_ns = 100,
		.proc_id = proc_id,
		.tid = 10 * proc_id,
		.ns_tid = 10 * proc_id,
		.correlation_id = 1,
		.cbid = 307,
		.domain = 2,
		.flags = flags,
		.nr_frames = nr_frames,
		.path_id = path_id,
	};
	for (i = 0; i < nr_frames; i++)
		r.frames[i] = 0x1000 + i;
	r.frames[0] = first;
	recorder__record(rec, &r, r.l.hdr.size);
}

/* Sends a thread's log with one entry. */
static void send_log(uint32_t proc_id, uint32_t tid, uint64_t log_first, uint32_t path_id)
{
	struct {
		struct xpu_ring_log l;
		struct xpu_log_entry e;
	} r = {
		.l = {
			.hdr = { XPU_RECORD_LOG, 0, sizeof(r) },
			.first = log_first,
			.proc_id = proc_id,
			.tid = tid,
			.ns_tid = tid,
			.log_id = tid,
			.nr = 1,
		},
		.e = { .time = 1000, .correlation_id = 2, .path_id = path_id },
	};

	recorder__record(rec, &r, sizeof(r));
}

static void batch(uint32_t proc_id, uint64_t nr_launches, uint64_t nr_kernels, const char *text)
{
	struct {
		struct xpu_record_batch b;
		struct xpu_record_counters c;
		struct xpu_record_message m;
		char text[64];
	} r = {
		.b = {
			.hdr = { XPU_RECORD_BATCH, 0, sizeof(r) },
			.proc_id = proc_id,
			.bytes = text ? sizeof(r) - sizeof(r.b) : sizeof(r.c),
		},
		.c = {
			.hdr = { XPU_RECORD_COUNTERS, 0, sizeof(r.c) },
			.nr_launches = nr_launches,
			.nr_kernels = nr_kernels,
		},
		.m = {
			.hdr = { XPU_RECORD_MESSAGE, XPU_MESSAGE_INFO,
				 sizeof(r.m) + sizeof(r.text) },
			.bytes = sizeof(r.text),
		},
	};

	if (text)
		snprintf(r.text, sizeof(r.text), "%s", text);
	recorder__record(rec, &r, sizeof(r));
}

/* Makes an honest process launch five times in all, from two paths, and report the count. */
static void be_honest(void)
{
	process(HONEST);
	launch(HONEST, 1, 0x10, 20, 0);
	launch(HONEST, 2, 0x20, 30, 0);
	send_log(HONEST, 71, 0, 1);
	send_log(HONEST, 71, 1, 2);
	send_log(HONEST, 72, 0, 2);
	batch(HONEST, 5, 5, NULL);
	process_exit(HONEST, 1000);
}

static const struct recorder_blame *blame_of(uint32_t proc_id)
{
	int i;

	for (i = 0; i < LIMIT_BLAMED; i++)
		if (stats.blamed[i].nr && stats.blamed[i].pid == 10 * proc_id)
			return &stats.blamed[i];
	return NULL;
}

static void is_exact(const char *while_)
{
	ok(!blame_of(HONEST), "%s: no loss is charged to the honest process", while_);
	ok(blame_of(HOSTILE) && !strcmp(blame_of(HOSTILE)->comm, "app 666"),
	   "%s: the loss names the hostile process by pid and name", while_);
	is_int(stats.nr_no_memory, 0, "%s: no message about a lack of memory", while_);
}

/* Implements the callback of numbers__sift(). */
static bool is_odd(void *ctx, const struct numbers_slot *slot)
{
	(void)ctx;
	return slot->value % 2;
}

static void test_map(void)
{
	/* Expected values come from OpenSSL: SIPHASH, size 16, c-rounds 1, d-rounds 3. */
	static const __u64 words[3] = {
		0x0101010101010101, 0x0101010101010101, 0x0101010101010101,
	};
	static const uint64_t key[2] = { 0x0706050403020100, 0x0f0e0d0c0b0a0908 };
	static const struct numbers_key expected[3] = {
		{ 0xbea58827b2bc7ee7, 0x013030dd6adb62fd },
		{ 0x225a075c9c329e19, 0x03e76e9957223e38 },
		{ 0x8247af1133fde168, 0xf87adb77c08738c3 },
	};
	static const size_t nr[3] = { 0, 1, 3 };
	struct numbers m = { 0 };
	uint64_t i, nr_wrong = 0;
	struct numbers_key k;

	for (i = 0; i < 3; i++) {
		k = numbers__siphash(key, words, nr[i]);
		ok(k.a == expected[i].a && k.b == expected[i].b, "SipHash-1-3, %zu words", nr[i]);
	}
	for (i = 0; i < 100000; i++)
		if (numbers__add(&m, (struct numbers_key){ i << 20, i % 3 }, i + 1))
			bail("no memory");
	for (i = 0; i < 100000; i++) {
		uint64_t *value = numbers__find(&m, (struct numbers_key){ i << 20, i % 3 });

		nr_wrong += !value || *value != i + 1;
		nr_wrong += !!numbers__find(&m, (struct numbers_key){ i << 20, 3 });
	}
	is_int(nr_wrong, 0, "a map has the entries that were put into it, and no others");
	for (i = 0; i < 100000; i += 3)
		numbers__remove(&m, (struct numbers_key){ i << 20, i % 3 });
	numbers__remove(&m, (struct numbers_key){ 5, 5 });
	is_int(m.nr, 100000 - 33334, "removed keys are not found");
	for (i = 0; i < 100000; i++)
		nr_wrong +=
			!!numbers__find(&m, (struct numbers_key){ i << 20, i % 3 }) != (i % 3 != 0);
	is_int(nr_wrong, 0, "all other keys are still there");
	ok(!numbers__sift(&m, is_odd, NULL) && m.nr == 33333 && m.nr_slots < 100000,
	   "a sifted map has the kept keys, in less memory");
	for (i = 0; i < 100000; i++)
		nr_wrong += !!numbers__find(&m, (struct numbers_key){ i << 20, i % 3 }) !=
			    (i % 3 && i % 2 == 0);
	is_int(nr_wrong, 0, "a sifted map has the kept keys and no others");
	ok(m.nr_slots <= 4 * m.nr, "a sifted map takes little memory");
	numbers__free(&m);
	ok(!numbers__find(&m, (struct numbers_key){ 0, 0 }), "an empty map finds nothing");
}

/* Tests path numbers that are larger than any number an honest process sends. */
static void test_path_numbers(void)
{
	uint32_t i;

	begin("/dev/null");
	for (i = 1; i <= 200; i++) {
		process(i);
		launch(i, XPU_MAX_PATHS, 0x10, 3, 0);
		send_log(i, 5, 0, XPU_MAX_PATHS);
	}
	end();
	is_int(stats.nr_launches, 400,
	       "huge path numbers in 200 processes: all launches are recorded");
	is_int(stats.nr_paths, 200, "huge path numbers: each process has one path");
	ok(status_kb("VmHWM:") < 100 * MB + SANITIZER,
	   "huge path numbers take little memory: %ld kB", status_kb("VmHWM:"));
}

static void test_short_processes(void)
{
	long before = 0, after;
	uint32_t i, k;

	begin("/dev/null");
	for (i = 1; i <= 20000; i++) {
		process(i);
		for (k = 1; k <= 50; k++)
			launch(i, k, k, 20, 0);
		for (k = 1; k <= 10; k++)
			send_log(i, k, 0, k);
		batch(i, 60, 60, NULL);
		process_exit(i, i * SECOND / 100);
		recorder__flush(rec);
		recorder__drained(rec, i * SECOND / 100);
		while (writer__is_behind(w))
			usleep(1000);
		if (i == 2000)
			before = heap_kb();
	}
	after = heap_kb();
	end();
	is_int(stats.nr_launches, 20000 * 60, "20,000 short processes: all launches are recorded");
	is_int(stats.nr_processes, 20000, "20,000 short processes: all processes are counted");
	is_int(stats.nr_blamed + stats.nr_missing + stats.nr_untold, 0,
	       "20,000 short processes: nothing is lost");
	ok(after < before + 2 * MB + SANITIZER,
	   "20,000 short processes: memory after 2,000 and at the end: %ld kB, %ld "
	   "kB", before, after);
}

static void test_flood_of_paths(void)
{
	uint64_t i, nr = 300000;

	begin("/dev/null");
	process(HOSTILE);
	be_honest();
	for (i = 0; i < nr; i++) {
		launch(HOSTILE, 0, 0x100000 + i, 500, 0);
		while (writer__is_behind(w))
			usleep(1000);
	}
	batch(HOSTILE, nr, 0, NULL);
	end();
	is_int(stats.nr_launches, nr + 5, "a flood of paths: all launches are recorded");
	ok(stats.nr_beyond > 0 && stats.nr_beyond < nr / 2,
	   "a flood of paths: %llu are beyond the limit",
	   (unsigned long long)stats.nr_beyond);
	is_exact("a flood of paths");
	ok(status_kb("VmHWM:") < 500 * MB + SANITIZER, "a flood of paths: memory: %ld kB",
	   status_kb("VmHWM:"));
}

/*
 * Tests more short paths than the table holds at once: paths are written again, and nothing is
 * lost.
 */
static void test_many_paths(void)
{
	uint64_t i, nr = 600000;

	begin("/dev/null");
	process(HOSTILE);
	for (i = 0; i < nr; i++)
		launch(HOSTILE, 0, 0x100000 + i, 2, 0);
	batch(HOSTILE, nr, 0, NULL);
	end();
	is_int(stats.nr_launches, nr, "many paths: all launches are recorded");
	is_int(stats.nr_paths, nr, "many paths: all paths are different");
	is_int(stats.nr_blamed, 0, "many paths: no process is charged with a loss");
}

static void test_forged_entries(void)
{
	uint64_t i;

	begin("/dev/null");
	process(HOSTILE);
	be_honest();
	launch(HOSTILE, XPU_MAX_PATHS + 1, 0x10, 3, 0);
	for (i = 0; i < 100; i++)
		send_log(HOSTILE, 1, i, i % 2 ? 0 : XPU_MAX_PATHS + 1);
	send_log(HOSTILE, 1, 100, XPU_LOG_RANGE);
	send_log(HOSTILE, 2, UINT64_MAX, 1);
	send_log(HOSTILE, 3, 0, 4711);		/* a path that was never sent */
	batch(HOSTILE, 2, 0, NULL);
	end();
	is_int(stats.nr_malformed, 104, "forged entries have their own counter");
	is_int(stats.nr_launches, 7, "forged entries: none counts as a launch");
	is_int(stats.nr_untold + stats.nr_missing, 0,
	       "forged entries: none counts as lost in a full ring");
	is_exact("forged entries");

	begin("/dev/null");
	process(HOSTILE);
	send_log(HOSTILE, 3, 0, 4711);
	ring_lost = 1;
	end();
	is_int(stats.nr_untold, 1,
	       "a path whose definition was lost in a full ring counts as lost");
	is_int(stats.nr_malformed, 0, "a path whose definition was lost does not count as forged");
}

static void test_forged_counters(void)
{
	begin("/dev/null");
	process(HOSTILE);
	be_honest();
	batch(HOSTILE, UINT64_MAX, UINT64_MAX, NULL);
	process_exit(HOSTILE, 2000);
	end();
	ok(blame_of(HOSTILE) && blame_of(HOSTILE)->nr_missing == stats.nr_missing,
	   "forged counters: missing launches are charged to the forging process");
	ok(stats.nr_device_records >= 5 && stats.nr_device_records < 1ull << 60,
	   "forged counters: sums over all processes stay plausible");
	is_exact("forged counters");
}

static void test_threads(void)
{
	uint32_t i, nr = 400000;

	begin("/dev/null");
	process(HOSTILE);
	be_honest();
	launch(HOSTILE, 1, 0x10, 3, 0);
	for (i = 1; i <= nr; i++)
		send_log(HOSTILE, i, 0, 1);
	batch(HOSTILE, nr + 1, 0, NULL);
	end();
	is_int(stats.nr_launches, nr + 1 + 5, "forged threads: all launches are recorded");
	ok(stats.nr_beyond > 0 && stats.nr_beyond < nr, "forged threads: %llu are beyond the limit",
	   (unsigned long long)stats.nr_beyond);
	is_exact("forged threads");
}

/*
 * Tests a program that starts a thread for each request: data kept for a thread are freed when the
 * thread ends.
 */
static void test_ended_threads(void)
{
	uint32_t i, nr = 1200000, tid;
	long before = 0, after;

	begin("/dev/null");
	process(HOSTILE);
	for (i = 1; i <= nr; i++) {
		tid = 1000 + i % 30000;		/* thread ids are used again */
		send_log(HOSTILE, tid, i, i);	/* its path is defined later */
		launch(HOSTILE, i, 0x10 + i % 3, 3, XPU_CHAIN_NO_LAUNCH);
		send_log(HOSTILE, tid, i + 1, i);
		recorder__thread_exit(rec, 10 * HOSTILE, tid, i * SECOND / 1000);
		while (writer__is_behind(w))
			usleep(1000);
		if (i == 100000)
			before = heap_kb();
	}
	/* The thread never launched. */
	recorder__thread_exit(rec, 10 * HOSTILE, 5, nr * SECOND / 1000);
	after = heap_kb();
	batch(HOSTILE, 2 * nr, 0, NULL);
	end();
	is_int(stats.nr_launches, 2 * nr, "threads that end: all launches are recorded");
	is_int(stats.nr_blamed + stats.nr_beyond + stats.nr_untold + stats.nr_malformed, 0,
	       "threads that end: more in total than any limit allows at a time, and nothing is "
	       "lost");
	ok(after < before + 2 * MB + SANITIZER,
	   "threads that end: memory after the 100,000th and at the end: %ld kB, %ld "
	   "kB", before, after);
}

static void test_numbers_untold(void)
{
	uint32_t i, nr = 1200000;

	begin("/dev/null");
	process(HOSTILE);
	be_honest();
	for (i = 1; i <= nr; i++)
		send_log(HOSTILE, 1, i, i);
	batch(HOSTILE, nr, 0, NULL);
	end();
	is_int(stats.nr_launches, nr + 5, "forged numbers: all launches are recorded");
	ok(stats.nr_beyond > 0 && stats.nr_beyond < nr, "forged numbers: %llu are beyond the limit",
	   (unsigned long long)stats.nr_beyond);
	is_exact("forged numbers");
}

/* Tests messages. Standard error is a file during this test. */
static void test_messages(void)
{
	char path[] = "/tmp/bounds.XXXXXX", text[65536];
	int fd = mkstemp(path), old = dup(2), i;
	ssize_t n;

	fflush(stderr);
	dup2(fd, 2);
	begin("/dev/null");
	process(HOSTILE);
	for (i = 0; i < 1000; i++)
		batch(HOSTILE, 0, 0, "\x1b]0;a\x9b" "31m\xc2\x9b" "b\xe2\x80\xaez\n");
	end();
	fflush(stderr);
	dup2(old, 2);
	n = pread(fd, text, sizeof(text) - 1, 0);
	text[n < 0 ? 0 : n] = 0;
	unlink(path);
	close(fd);
	close(old);
	for (i = 0, n = 0; text[i]; i++)
		n += text[i] == '\n';
	is_int(n, LIMIT_MESSAGES,
	       "a flood of messages: as many lines as the limit allows are printed");
	is_int(stats.nr_messages_hidden, 1000 - LIMIT_MESSAGES,
	       "a flood of messages: the other messages are counted");
	text[strcspn(text, "\n")] = 0;
	is_str(text, "xpuload: pid 6660: ?]0;a\xef\xbf\xbd" "31m?b?z?",
	       "a message has no characters that a terminal acts on");
}

/*
 * A hostile process chooses the flags and frames of its launches. They must neither become samples
 * of another process nor name kernel code.
 */
static void test_kernel_frames(void)
{
	char path[] = "/tmp/bounds.XXXXXX";
	const struct xpu_record *r;
	struct record_iter it;
	struct reader reader;
	int nr_chains = 0, nr_ksyms = 0, flags = 0;

	if (close(mkstemp(path)))
		bail("cannot make a file");
	begin(path);
	process(HOSTILE);
	launch(HOSTILE, 0, 0xffffffff81000000, 1,
	       XPU_CHAIN_CPU | XPU_CHAIN_OFF | XPU_CHAIN_STACK | 0x8000 | XPU_CHAIN_SHIM);
	end();
	if (reader__open(&reader, path))
		bail("cannot read it");
	reader__rewind(&reader, &it);
	while ((r = record_iter__next(&it))) {
		nr_chains += r->type == XPU_RECORD_CALLCHAIN;
		nr_ksyms += r->type == XPU_RECORD_KSYM;
		if (r->type == XPU_RECORD_CALLCHAIN)
			flags = r->misc;
	}
	reader__close(&reader);
	unlink(path);
	is_int(nr_chains, 1, "a launch with kernel addresses as frames has a call chain");
	is_int(flags, XPU_CHAIN_SHIM, "a call chain of kernel addresses has the flags of a launch");
	is_int(nr_ksyms, 0,
	       "kernel addresses in a launch's call chain get no names of kernel functions");
}

int main(void)
{
	test_map();
	test_path_numbers();
	test_short_processes();
	test_forged_entries();
	test_forged_counters();
	test_messages();
	test_kernel_frames();
	test_threads();
	test_ended_threads();
	test_numbers_untold();
	test_many_paths();
	test_flood_of_paths();
	return done_testing();
}
