// SPDX-License-Identifier: GPL-3.0-or-later
/* A recording as a whole: what refers to what, which GPU is which, the account of all losses. */
#include <errno.h>
#include <string.h>

#include "gen.h"
#include "reader.h"
#include "session.h"
#include "tap.h"

struct fixture {
	struct gen g;
	struct reader r;
	struct session s;
};

/* A process with two threads, a call path of a kernel launch (1) and one of a graph launch (2). */
static void fixture__begin(struct fixture *f)
{
	memset(f, 0, sizeof(*f));
	gen__header(&f->g);
	gen__process(&f->g, XPU_MISC_PROCESS_ROOT, 100, 1, 10, 0, "app");
	gen__thread(&f->g, 1, 1, 10);
	gen__thread(&f->g, 2, 1, 11);
	gen__callchain(&f->g, XPU_CHAIN_FAILED, 200, 1, 1, 1, 307, NULL, 0);
	gen__callchain(&f->g, XPU_CHAIN_FAILED, 200, 2, 1, 1, 514, NULL, 0);
	gen__batch_begin(&f->g, 300, 1, 12);
	gen__string(&f->g, 1, "cuLaunchKernel");
	gen__api(&f->g, 1, 307, 1);
	gen__string(&f->g, 2, "cuGraphLaunch");
	gen__api(&f->g, 1, 514, 2);
	gen__string(&f->g, 3, "kernel");
	gen__stream(&f->g, 1, 0, 1, 7);
	gen__batch_end(&f->g);
}

static struct session *fixture__run(struct fixture *f)
{
	gen__end(&f->g, 9000, 0);
	if (reader__open_mem(&f->r, f->g.v, f->g.nr, "test"))
		bail("the generated recording is not readable");
	if (session__init(&f->s, &(struct session_opts){ .trim = true }) ||
	    session__process(&f->s, &f->r))
		bail("out of memory");
	return &f->s;
}

static void fixture__end(struct fixture *f)
{
	session__exit(&f->s);
	gen__free(&f->g);
}

static void batch(struct fixture *f, uint32_t proc, uint32_t id)
{
	gen__batch_begin(&f->g, 2000, proc, 12);
	gen__kernel(&f->g, 0, 1500, 100, id, 3, 1);
	gen__batch_end(&f->g);
}

static void test_refs(void)
{
	struct session *s;
	struct fixture f;

	fixture__begin(&f);
	gen__launch(&f.g, 1000, 1, 1, 1);
	gen__launch(&f.g, 1000, 2, 99, 1);		/* no such path */
	gen__launch(&f.g, 1000, 3, 1, 99);		/* no such thread: its path's process */
	gen__launch(&f.g, 1000, 4, 99, 99);		/* neither */
	gen__launch(&f.g, 1000, 5, 0, 1);		/* no path, and none claimed */
	gen__process(&f.g, XPU_MISC_PROCESS_FORK, 500, 2, 20, 1, "other");
	gen__thread(&f.g, 3, 2, 20);
	gen__launch(&f.g, 1000, 6, 1, 3);		/* a path of another process */
	batch(&f, 1, 1);
	batch(&f, 1, 2);
	batch(&f, 1, 3);
	batch(&f, 1, 4);
	batch(&f, 1, 5);
	gen__batch_begin(&f.g, 2000, 2, 12);
	gen__kernel(&f.g, 0, 1500, 100, 6, 77, 88);	/* neither name nor stream */
	gen__batch_end(&f.g);
	s = fixture__run(&f);
	is_int(s->loss.bad_refs, 7, "references: those that lead nowhere are counted");
	is_int(s->loss.nr_matched, 5, "references: all but the launch of nobody are matched");
	is_int(s->loss.nr_orphans, 1, "references: its record is an orphan");
	is_int(s->loss.no_stack, 6, "references: no call path to show");
	is_int(s->status, 0, "references: no damage");
	fixture__end(&f);
}

static void test_late(void)
{
	struct session *s;
	struct fixture f;

	/* A kernel launch is forgotten when its record has come; a second one finds it again. */
	fixture__begin(&f);
	gen__launch(&f.g, 1000, 1, 1, 1);
	batch(&f, 1, 1);
	gen__launch(&f.g, 1100, 2, 1, 1);
	batch(&f, 1, 1);
	batch(&f, 1, 3);
	s = fixture__run(&f);
	is_int(s->join.nr_forgotten, 1, "kernel launch: forgotten when matched");
	is_int(s->join.nr_late, 1, "kernel launch: a second record finds it by a second look");
	is_int(s->loss.nr_launches, 2, "kernel launch: counted once");
	is_int(s->loss.nr_matched, 1, "kernel launch: matched once");
	is_int(s->loss.nr_orphans, 1, "kernel launch: the other record is an orphan");
	fixture__end(&f);

	/* A graph launch is kept. */
	fixture__begin(&f);
	gen__launch(&f.g, 1000, 1, 2, 1);
	batch(&f, 1, 1);
	batch(&f, 1, 1);
	batch(&f, 1, 1);
	s = fixture__run(&f);
	is_int(s->join.nr_late, 0, "graph launch: no second look");
	is_int(s->join.nr_works_matched, 3, "graph launch: all its records");
	is_int(s->aggregates.nr, 1, "graph launch: one line");
	is_int(s->aggregates.v[0].nr, 3, "graph launch: of three records");
	is_int(s->aggregates.v[0].sum_ns, 300, "graph launch: their time");
	fixture__end(&f);
}

static void device(struct fixture *f, uint32_t proc, uint32_t ordinal, const char *uuid,
		   uint32_t stream)
{
	uint8_t bytes[16] = { 0 };

	if (uuid)
		memcpy(bytes, uuid, strlen(uuid));
	gen__batch_begin(&f->g, 2000, proc, 12);
	gen__string(&f->g, 3, "kernel");
	gen__device(&f->g, ordinal, 0, bytes);
	gen__stream(&f->g, stream, ordinal, 1, 7);
	gen__kernel(&f->g, 0, 1500, 100, 1000 + stream, 3, stream);
	gen__batch_end(&f->g);
}

static uint32_t gpu_index(struct session *s, uint32_t stream)
{
	return s->gpus.list.v[s->streams.v[stream].gpu].number;
}

static void test_gpus(void)
{
	struct session *s;
	struct fixture f;

	/* Each process sees one GPU and calls it 0 (CUDA_VISIBLE_DEVICES): not the same one. */
	memset(&f, 0, sizeof(f));
	gen__header(&f.g);
	device(&f, 1, 0, "GPU-A", 1);
	device(&f, 2, 0, "GPU-B", 1);
	device(&f, 3, 0, "GPU-A", 1);
	device(&f, 4, 2, "GPU-B", 1);
	s = fixture__run(&f);
	is_int(gpus__nr_used(&s->gpus), 2, "GPUs: two");
	is_int(gpu_index(s, 0), 0, "GPUs: the first is 0");
	is_int(gpu_index(s, 1), 1, "GPUs: another of the same number gets the next free one");
	is_int(gpu_index(s, 2), 0, "GPUs: known again by its UUID");
	is_int(gpu_index(s, 3), 1, "GPUs: whatever number it has there");
	fixture__end(&f);

	/* A recording that does not tell UUIDs: numbers at their word. */
	memset(&f, 0, sizeof(f));
	gen__header(&f.g);
	device(&f, 1, 0, NULL, 1);
	device(&f, 1, 3, NULL, 2);
	device(&f, 2, 3, NULL, 1);
	s = fixture__run(&f);
	is_int(gpus__nr_used(&s->gpus), 2, "GPUs without UUID: two");
	is_int(gpu_index(s, 1), 3, "GPUs without UUID: by number");
	is_int(gpu_index(s, 2), 3, "GPUs without UUID: in all processes");
	fixture__end(&f);

	/* Known but idle. */
	memset(&f, 0, sizeof(f));
	gen__header(&f.g);
	device(&f, 1, 0, "GPU-A", 1);
	gen__batch_begin(&f.g, 2000, 1, 12);
	gen__device(&f.g, 1, 0, "GPU-B-0123456789");
	gen__stream(&f.g, 9, 1, 1, 7);
	gen__batch_end(&f.g);
	s = fixture__run(&f);
	is_int(gpus__nr_used(&s->gpus), 1, "GPUs: one without work does not count");
	fixture__end(&f);
}

static void counters(struct fixture *f, uint32_t proc, struct xpu_record_counters c)
{
	gen__batch_begin(&f->g, 2000, proc, 12);
	gen__counters(&f->g, &c);
	gen__batch_end(&f->g);
}

static void test_account(void)
{
	struct session *s;
	struct fixture f;

	fixture__begin(&f);
	gen__launch(&f.g, 1000, 1, 1, 1);
	batch(&f, 1, 1);
	/* Two threads sent at a time, and the later total came first. */
	counters(&f, 1, (struct xpu_record_counters){
		.nr_batches = 7, .nr_launches = 5, .nr_kernels = 2, .nr_memcpys = 3,
		.nr_memsets = 1, .nr_dropped_cupti = 10, .nr_dropped_shim = 20,
		.nr_unfinished = 1,
	});
	counters(&f, 1, (struct xpu_record_counters){ .nr_batches = 6, .nr_launches = 4 });
	gen__process(&f.g, XPU_MISC_PROCESS_FORK, 500, 2, 20, 1, "other");
	/* More has arrived than this one's last total says: nothing is missing. */
	gen__thread(&f.g, 3, 2, 20);
	gen__launch(&f.g, 1000, 1, 0, 3);
	counters(&f, 2, (struct xpu_record_counters){ .nr_batches = 1, .nr_dropped_cupti = 100 });
	gen__batch_begin(&f.g, 2000, 1, 12);
	gen__kernel(&f.g, XPU_MISC_BAD_TIME, 0, 0, 50, 3, 1);
	gen__kernel(&f.g, XPU_MISC_BAD_TIME, 0, 0, 51, 3, 1);
	gen__kernel(&f.g, 0, 0, 5, 52, 3, 1);
	gen__batch_end(&f.g);
	s = fixture__run(&f);
	is_int(s->loss.missing_launches, 4, "account: launches missing, of the last total");
	is_int(s->loss.missing_works, 2, "account: device records missing");
	is_int(s->loss.missing_batches, 2, "account: batches missing");
	is_int(s->loss.dropped_cupti, 110, "account: dropped by CUPTI, over all processes");
	is_int(s->loss.dropped_shim, 20, "account: dropped by the shim");
	is_int(s->loss.unfinished, 1, "account: unfinished");
	is_int(s->loss.bad_times, 2, "account: without times, but for the unfinished");
	is_int(loss__lost(&s->loss), 4 + 2 + 110 + 20, "account: lost in all");
	ok(!loss__clean(&s->loss), "account: not clean");
	fixture__end(&f);
}

static void test_lost(void)
{
	struct loss l = { .recorder = { [XPU_LOST_LAUNCH] = 10, [XPU_LOST_BATCH] = 2 } };
	struct session *s;
	struct fixture f;
	uint32_t kind;

	is_int(loss__lost(&l), 12, "lost: what the recorder saw");
	l.missing_launches = 10;
	l.missing_works = 800;
	l.missing_batches = 2;
	is_int(loss__lost(&l), 810, "lost: the shim knows what was in the batches");
	l.missing_works = 0;
	is_int(loss__lost(&l), 12, "lost: the same losses are not counted twice");
	l.recorder[XPU_LOST_DISK] = 4096;
	is_int(loss__lost(&l), 13, "lost: bytes are not records");

	/* Each kind has a counter, and a line. */
	for (kind = 1; kind < XPU_LOST_NR + 2; kind++) {
		char *text = NULL;
		size_t size;
		FILE *out;

		fixture__begin(&f);
		gen__lost(&f.g, 1000, kind, 3);
		gen__lost(&f.g, 2000, kind, 4);
		s = fixture__run(&f);
		ok(loss__lost(&s->loss) > 0, "lost, kind %u: is lost", kind);
		out = open_memstream(&text, &size);
		loss__print(&s->loss, out, "");
		fclose(out);
		ok(strstr(text, "\n           7 "), "lost, kind %u: is told", kind);
		free(text);
		fixture__end(&f);
	}
	fixture__begin(&f);
	s = fixture__run(&f);
	ok(loss__clean(&s->loss), "nothing lost: clean");
	fixture__end(&f);
}

static void test_bad_batch(void)
{
	struct session *s;
	struct fixture f;
	size_t at;

	fixture__begin(&f);
	gen__launch(&f.g, 1000, 1, 1, 1);
	gen__launch(&f.g, 1000, 2, 1, 1);
	gen__launch(&f.g, 1000, 3, 1, 1);
	gen__batch_begin(&f.g, 2000, 1, 12);
	gen__kernel(&f.g, 0, 1500, 100, 1, 3, 1);
	at = f.g.nr;
	gen__kernel(&f.g, 0, 1600, 100, 2, 3, 1);
	((struct xpu_record *)(f.g.v + at))->size = 0;
	gen__batch_end(&f.g);
	batch(&f, 1, 3);
	s = fixture__run(&f);
	is_int(s->status, -EBADMSG, "a batch damaged inside: the status says so");
	is_int(s->loss.bad_batches, 1, "a batch damaged inside: counted");
	is_int(s->loss.nr_matched, 2, "a batch damaged inside: what is around it counts");
	is_int(s->msgs.lines.nr, 1, "a batch damaged inside: one message");
	fixture__end(&f);
}

int main(void)
{
	test_refs();
	test_late();
	test_gpus();
	test_account();
	test_lost();
	test_bad_batch();
	return done_testing();
}
