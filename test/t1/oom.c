// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Each memory allocation fails in turn. xpumerge never crashes, and the result is right or -ENOMEM,
 * never wrong.
 */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "write/chrome.h"
#include "write/diff.h"
#include "write/gate.h"
#include "write/folded.h"
#include "write/html.h"
#include "gen.h"
#include "graphs/graph.h"
#include "oom.h"
#include "write/perfscript.h"
#include "write/pftrace.h"
#include "write/pprof.h"
#include "read/reader.h"
#include "join/session.h"
#include "tap.h"
#include "write/tables/tables.h"
#include "write/text.h"

#ifdef OOM_CANNOT

int main(void)
{
	skip_all("a sanitizer has the allocator");
}

#else

static void make(struct gen *g)
{
	static const uint64_t frames[] = { 0x2010, 0x1010, 0x1110, 0x1210 };
	static const uint8_t uuid[16] = { 7 };
	static const struct xpu_range_event events[] = {
		{ 5, 1, 0, XPU_RANGE_PUSH, 0 }, { 11, 1, 10, XPU_RANGE_PUSH, 0 },
		{ 12, 1, 20, XPU_RANGE_MARK, 0 }, { 2, 1, 30, XPU_RANGE_POP, 1 },
		{ 88, 1, 40, XPU_RANGE_START, 0 },
	};
	char name[32];
	uint32_t i;

	gen__header(g);
	gen__fork(g, 100, 10, 10, 1, 1);
	gen__comm(g, XPU_MISC_COMM_EXEC, 110, 10, 10, "app");
	gen__process(g, XPU_MISC_PROCESS_ROOT, 105, 1, 10, 0, "app");
	gen__mmap(g, 120, 10, 0x1000, 0x1000, 0, "/nonexistent/app", NULL, 0);
	gen__mmap(g, 121, 10, 0x1800, 0x1000, 0, "/bin/sh", NULL, 0);
	gen__thread(g, 1, 1, 10);
	for (i = 1; i <= 40; i++) {
		gen__callchain(g, 0, 200, i, 1, 1, 307, frames, i % 5);
		gen__launch(g, 1000 + i, i, i, 1);
	}
	gen__batch_begin(g, 1500, 1, 12);
	gen__string(g, 1, "cuLaunchKernel");
	gen__api(g, 1, 307, 1);
	gen__device(g, 0, 0, uuid);
	gen__stream(g, 1, 0, 1, 7);
	for (i = 1; i <= 40; i++) {
		snprintf(name, sizeof(name), "_Z8kernel%02uPf", i);
		gen__string(g, 1 + i, name);
		gen__kernel(g, 0, 1100 + i, 50, i + 1, 1 + i, 1);
		g->node = i % 2 ? 6 : 9;
		gen__memset(g, XPU_MISC_GRAPH_NODE, 1110 + i, 20, i * 3, 1, 4096);
		g->node = 0;
	}
	gen__graph_clone(g, 6, 5);
	for (i = 1; i <= 40; i++)
		gen__calls(g, 1000 + i, 10 + i % 3, (const struct xpu_call[]){
			{ 0, i, 1, 0, 307 }, { 0, 1000 + i, 100, 0, 300 + i % 7 },
		}, 2);
	gen__batch_end(g);
	gen__graph_node(g, 1000, 5, 1, 3, 1, 1);
	for (i = 1; i < 20; i++) {
		snprintf(name, sizeof(name), "range %d", i);
		gen__range(g, 1000 + i, 1, i, i / 2, i % 3 ? "" : "domain", name);
	}
	gen__ranges(g, 1000, events, sizeof(events) / sizeof(events[0]));
	gen__launches_in(g, 1000, &(struct xpu_launch){ 1000, 1, 0, 1 }, &(uint32_t){ 11 }, 1);
	gen__launches_in(g, 1000, &(struct xpu_launch){ 1001, 2, 9, 1 }, &(uint32_t){ 77 }, 1);
	gen__samples(g, 1000, 100, &(struct xpu_sample){ .path_id = 1, .thread_id = 1 }, 1);
	gen__off_cpu(g, XPU_OFF_IO, 1000, 2, 200, 150, 1, 1);
	gen__off(g, XPU_OFF_LOCK, 1050, 100, 2, 1);
	gen__account(g, 100, 2000, 1, &(struct xpu_thread_time){ .run_ns = 1900 });
	gen__wait(g, XPU_WAIT_STREAM, 1050, 100, 1, 1, 1, 7, 0);
	gen__wait(g, XPU_WAIT_LAUNCH | XPU_WAIT_WORK, 1100, 100, 2, 1, 1, 0, 2);
	/* A process that ran before the recording. */
	gen__process(g, XPU_MISC_PROCESS_ATTACH, 1000, 2, 200, 0, "attached");
	gen__thread(g, 100, 2, 201);
	gen__launch(g, 1000, 10, 0, 100);
	gen__batch_begin(g, 2000, 2, 202);
	gen__kernel(g, 0, 1500, 50, 9, 1, 1);
	gen__batch_end(g);
	gen__end(g, 3000, 0);
}

/*
 * Selects the sink of single events. Without a sink, each recording is read separately: one at a
 * time, or two at a time with SINK_NONE_JOBS.
 */
enum sink { SINK_TIMELINE, SINK_SAMPLES, SINK_TABLES, SINK_NONE, SINK_NONE_JOBS, NR_SINKS };

/* Merges @g into a directory of tables. Return: 0 or -errno. */
static int merge_tables(struct session_opts *opts, const struct reader *r, struct loss *loss)
{
	struct tables *tables;
	struct session s;
	int err;

	err = tables__new(&tables, "tables/", true);
	if (err)
		goto out;
	opts->sink = tables__sink(tables);
	err = session__init(&s, opts);
	if (err)
		goto out;
	err = session__process(&s, r, 2) ?: tables__write(tables, &s);
	*loss = s.sums.loss;
	session__exit(&s);
out:
	tables__free(tables);
	return err;
}

/* Merges @g twice, for one of the sinks. *@loss: the losses found. Return: 0 or -errno. */
static int merge(const struct gen *g, enum sink sink, FILE *out, struct loss *loss)
{
	struct folded_opts folded_opts = { .unit = UNIT_NS, .by = { 1, { BY_RANGE } } };
	struct graphs_opts graphs_opts = { GRAPH_BOTH };
	struct text_opts text_opts = { .unit = UNIT_NS };
	struct diff_opts diff_opts = { .unit = UNIT_NS };
	struct folded_result result;
	struct perfscript *perfscript = NULL;
	struct timeline *timeline = NULL;
	struct gate gate = { 0 };
	struct diff d;
	struct filter filter = { 0 };
	struct session_opts opts = {
		.trim = true, .by_thread = true, .stats = true, .by_range = true,
		.values[FEATURE_graphs] = &graphs_opts, .filter = &filter,
	};
	char why[128];
	struct session s;
	struct reader r[2];
	int err;

	err = reader__open_mem(&r[0], g->v, g->nr, "test");
	if (err)
		return err;
	r[1] = r[0];
	if (sink == SINK_SAMPLES)
		perfscript = perfscript__new();
	else if (sink == SINK_TIMELINE)
		timeline = timeline__new();
	if (!timeline && !perfscript && sink < SINK_TABLES)
		return -ENOMEM;
	if (sink < SINK_TABLES)
		opts.sink = timeline ? &timeline->sink : perfscript__sink(perfscript);
	/* With so few bins and rows, call paths are merged or grouped. */
	opts.by_time = opts.times_by_path = sink >= SINK_NONE;
	opts.max_times = 24;
	opts.jobs = sink == SINK_NONE_JOBS ? 2 : 1;
	err = filter__set(&filter, FILTER_PID, "10", why) ?:
	      filter__set(&filter, FILTER_COMM, "app", why) ?:
	      filter__set(&filter, FILTER_KERNEL, "^[a-z].*[^ ]|x", why) ?:
	      filter__set(&filter, FILTER_TO, "1", why);
	if (!err && sink == SINK_TABLES) {
		err = merge_tables(&opts, r, loss);
		goto out;
	}
	if (err)
		goto out;
	err = session__init(&s, &opts);
	if (err)
		goto out;
	err = session__process(&s, r, 2);
	if (!err)
		err = folded__write(&s, out, &folded_opts, &result);
	if (!err && opts.sink)
		err = timeline ? chrome__write(timeline, &s, out) :
			       perfscript__write(perfscript, &s, out);
	if (!err && timeline)
		err = pftrace__write(timeline, &s, out);
	*loss = s.sums.loss;
	/* The other sinks write the results that contain no single events. */
	if (err || sink == SINK_SAMPLES)
		goto exit;
	err = text__write(&s, out, &text_opts, &(bool){ false });
	if (!err)
		err = pprof__write(&s, out);
	if (!err)
		err = html__write(out, &(struct html_side){ &s, 1 }, 1,
					  &(struct html_opts){ .unit = "auto", .normalize = "" });
	if (!err) {
		err = diff__init(&d, &s, &s, &diff_opts) ?:
		      diff__write_folded(&d, out, true, &result) ?:
		      diff__write_text(&d, out, &(struct diff_text){ .human = true, .width = 80 });
		diff__exit(&d);
		err = err ?: gate__add(&gate, &s, 0) ?: gate__add(&gate, &s, 1) ?:
		      gate__judge(&gate) ?: gate__write_json(&gate, out, 0) ?:
		      gate__print(&gate, out, 0);
		gate__exit(&gate);
	}
exit:
	session__exit(&s);
out:
	filter__free(&filter);
	perfscript__free(perfscript);
	timeline__free(timeline);
	return err;
}

int main(void)
{
	static const unsigned long steps[NR_SINKS] = { 1, 1, 29, 3, 7 };
	unsigned long total, n, nr_failed = 0, nr_passed = 0, nr_wrong = 0, nr_odd = 0;
	struct loss right, got;
	struct gen g = { 0 };
	static char buf[BUFSIZ];
	FILE *out = fopen("/dev/null", "w");
	int mode, err;

	if (!out)
		bail("/dev/null cannot be written");
	setvbuf(out, buf, _IOFBF, sizeof(buf));
	make(&g);
	/* Fails one allocation, or one allocation and all later allocations. */
	for (mode = 0; mode < 2 * NR_SINKS; mode++) {
		nr_allocations = 0;
		is_int(merge(&g, mode / 2, out, &right), 0,
		       "with enough memory the merge succeeds");
		total = nr_allocations;
		ok(total > 100, "a merge makes %lu allocations", total);
		ok(right.nr_matched == 78 && right.nr_works == 162,
		   "with enough memory the account is right");
		/* Tables and threads are slow, so not every allocation is tested with them. */
		for (n = 1; n <= total; n += steps[mode / 2]) {
			nr_allocations = 0;
			fail_from = n;
			fail_to = mode % 2 ? ULONG_MAX : n + 1;
			err = merge(&g, mode / 2, out, &got);
			fail_from = fail_to = 0;
			if (err == -ENOMEM)
				nr_failed++;
			else if (err)
				nr_odd++;
			else if (memcmp(&got, &right, sizeof(got)))
				nr_wrong++;
			else
				nr_passed++;
		}
	}
	is_int(nr_odd, 0, "each failing allocation is reported as -ENOMEM");
	is_int(nr_wrong, 0, "no failing allocation changes the account");
	ok(nr_failed > 2 * total,
	   "with a failing allocation, %lu merges give up and %lu succeed", nr_failed, nr_passed);
	is_int(merge(&g, SINK_SAMPLES, out, &got), 0,
	       "the merge succeeds again with enough memory");
	gen__free(&g);
	fclose(out);
	return done_testing();
}

#endif
