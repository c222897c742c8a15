// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * fuzz_ring - fuzzes the data that a hostile target can send through the probes, while two honest
 * processes send valid records
 *
 * The input is a program. Each of its steps makes one record as the ring buffer has it, changes
 * some of its fields, and passes it to the recorder. In between, the honest processes launch, with
 * the same IDs, path numbers and correlation IDs as the hostile process. Then the file is merged.
 * The result must have all launches of the honest processes, each under its own call path, with its
 * own kernel, and no other launches of these processes.
 *
 * The BPF programs set proc_id and pid, which a target cannot choose; so the input cannot choose
 * them either. All other fields may have any value, including fields that the BPF programs set.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "gen.h"
#include "gen_merge.h"
#include "record/ksyms.h"
#include "record/recorder.h"
#include "record/writer.h"
#include "xpu_slot.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

#define NOW		1000000000ull
#define NR_SITES	4
#define NR_LAUNCHES	12		/* launches of each honest process */
#define MAX_STEPS	200
#define DOMAIN		1		/* CUPTI's domain of the driver's calls */
#define CBID		307		/* CUPTI's id of cuLaunchKernel in that domain */
#define RANGE		1
#define CODE		0x1000		/* code address in the honest processes */
#define SITE(k)		(CODE + 0x100 * (k))
#define STRING_API	1
#define STRING_KERNEL	10		/* the id of the first kernel's name; more follow */

/*
 * One of two honest processes. The first process has a shim that logs launches. The shim of the
 * second process calls the probe for each launch, and the BPF program walks the stack.
 */
struct honest {
	uint32_t proc_id, pid;
	bool logs;
	unsigned int step;		/* the next step */
	unsigned int nr_sent;
};

enum { FIRST_HONEST = 1, HOSTILE = 2, SECOND_HONEST = 3, NR_PROCS = 8 };

static struct honest honest[] = {
	{ .proc_id = FIRST_HONEST, .pid = 1001, .logs = true },
	{ .proc_id = SECOND_HONEST, .pid = 1003 },
};

static struct recorder *rec;
static struct writer *writer;
static const uint8_t *at, *end;		/* the rest of the input */

/* ---- the input ------------------------------------------------------------------------------- */

static uint64_t take(size_t bytes)
{
	uint64_t value = 0;

	for (; bytes && at < end; bytes--)
		value = value << 8 | *at++;
	return value;
}

/* Return: a value at or near a limit, or a value that other records use. */
static uint64_t odd_value(void)
{
	static const uint64_t values[] = {
		0, 1, 2, 3, 4, 7, 8, 16, 24, 31, 64, 127, 128, 129, 255, 307, 1000, 1001, 1024,
		2046, 2047, 4096, 0x7fff, 0x8000, 0xffff, 0x10000, XPU_BATCH_MAX, XPU_STACK_MAX,
		XPU_STACK_MAX + 1, XPU_MAX_PATHS - 1, XPU_MAX_PATHS, XPU_MAX_PATHS + 1, 0x7fffffff,
		0x80000000, 0x80000001, 0xfffffff8, 0xffffffff, 0x100000000, NOW, SITE(1),
		0x7ffffffff000, 0x7fffffffffffffff, 0x8000000000000000, 0xffffffff81000000,
		0xfffffffffffffff8, 0xffffffffffffffff, XPU_FRAME_PYTHON | 1, XPU_FRAME_NAMED | 1,
		XPU_WORD_PYTHON | 1, XPU_LOG_RANGE | XPU_RANGE_POP, XPU_LOG_TICKS,
		XPU_LOG_ALLOC | XPU_ALLOC_FREED, XPU_LOG_ALLOC | XPU_LOG_ALLOC_MORE,
		XPU_LOG_ALLOC | XPU_LOG_ALLOC_SHORT | XPU_ALLOC_FREED,
	};
	uint8_t which = take(1);

	return which < ARRAY_SIZE(values) ? values[which] : take(which % 8 + 1);
}

/* Changes some words of a record. */
static void change(void *record, size_t bytes)
{
	unsigned int nr = take(1) % 6;
	size_t width, where;
	uint64_t value;

	for (; nr && bytes; nr--) {
		width = 1u << take(1) % 4;
		where = take(bytes > 512 ? 2 : 1) * width % bytes;
		value = odd_value();
		memcpy((uint8_t *)record + where, &value,
		       bytes - where < width ? bytes - where : width);
	}
}

/* The memory of each process: Python code objects at known addresses. */
static uint64_t memory[512];

ssize_t process_vm_readv(pid_t pid, const struct iovec *local, unsigned long nr_local,
			 const struct iovec *remote, unsigned long nr_remote, unsigned long flags)
{
	uintptr_t from = (uintptr_t)remote->iov_base;

	(void)pid;
	(void)nr_local;
	(void)nr_remote;
	(void)flags;
	if (from > sizeof(memory) || remote->iov_len > sizeof(memory) - from)
		return -1;
	memcpy(local->iov_base, (const uint8_t *)memory + from, remote->iov_len);
	return remote->iov_len;
}

/* Replaces the real ksyms, because reading the machine's symbols takes a tenth of a second. */
struct ksyms *ksyms__new(void)
{
	return malloc(1);
}

void ksyms__free(struct ksyms *k)
{
	free(k);
}

void ksyms__write(struct ksyms *k, uint64_t addr, struct writer *w)
{
	(void)k;
	(void)addr;
	(void)w;
}

void ksyms__finish(struct ksyms *k, struct writer *w)
{
	(void)k;
	(void)w;
}

enum { CODE_TYPE = 0x10, UNICODE_TYPE = 0x18, CODE_AT = 0x100, NAME_AT = 0x400, TABLE_AT = 0x600 };

static const struct xpu_python python = {
	.runtime = 0x40, .code_type = CODE_TYPE, .unicode_type = UNICODE_TYPE,
	.interp_threads = 72, .minor = 12, .has_cframe = 1, .runtime_main = 48,
	.ts_thread_id = 136, .ts_frame = 56, .cframe_previous = 8, .f_previous = 8, .f_instr = 56,
	.f_owner = 70, .co_name = 128, .co_filename = 112, .co_firstlineno = 68,
	.co_linetable = 136, .co_code = 192, .co_bytes = 192, .ascii_bytes = 40,
	.compact_bytes = 56,
};

static void set_memory(void)
{
	memset(memory, 'a', sizeof(memory));
	memory[CODE_AT / 8 + 1] = CODE_TYPE;
	memory[(CODE_AT + 112) / 8] = memory[(CODE_AT + 128) / 8] = NAME_AT;
	memory[(CODE_AT + 136) / 8] = TABLE_AT;
	memory[(CODE_AT + 64) / 8] = 5ull << 32;
	memory[NAME_AT / 8 + 1] = UNICODE_TYPE;
	memory[NAME_AT / 8 + 2] = 8;			/* length in characters */
	memory[NAME_AT / 8 + 4] = 1u << 2 | 1u << 5 | 1u << 6;	/* one byte each, compact, ASCII */
	memory[TABLE_AT / 8 + 2] = 32;
}

/* ---- giving records to the recorder ---------------------------------------------------------- */

static bool is_honest(uint32_t proc_id)
{
	return proc_id == FIRST_HONEST || proc_id == SECOND_HONEST;
}

static void be_hostile(uint32_t *proc_id)
{
	if (is_honest(*proc_id))
		*proc_id = HOSTILE;
}

static void be_hostile_pid(uint32_t *pid)
{
	if (*pid == honest[0].pid || *pid == honest[1].pid)
		*pid = 1002;
}

/* Sets the members that a target cannot choose. */
static void set_ids(void *record, size_t size)
{
	struct xpu_record *r = record;

#define FIELD(type, member)	(&((struct type *)record)->member)
#define HAS(type)		(size >= sizeof(struct type))
	switch (HAS(xpu_record) ? r->type : 0) {
	case XPU_RECORD_LAUNCH:
	case XPU_RECORD_LAUNCH_WAIT:
		if (HAS(xpu_ring_launch))
			be_hostile(FIELD(xpu_ring_launch, proc_id));
		break;
	case XPU_RECORD_LOG:
		if (HAS(xpu_ring_log))
			be_hostile(FIELD(xpu_ring_log, proc_id));
		break;
	case XPU_RECORD_SAMPLE:
		if (HAS(xpu_ring_sample))
			be_hostile(FIELD(xpu_ring_sample, proc_id));
		break;
	case XPU_RECORD_OFF_STACK:
		if (HAS(xpu_ring_off_stack))
			be_hostile(FIELD(xpu_ring_off_stack, proc_id));
		break;
	case XPU_RECORD_RING_CPU_REST:
		if (HAS(xpu_ring_cpu_rest))
			be_hostile(FIELD(xpu_ring_cpu_rest, proc_id));
		break;
	case XPU_RECORD_RING_OFF:
		if (HAS(xpu_ring_off))
			be_hostile(FIELD(xpu_ring_off, proc_id));
		break;
	case XPU_RECORD_RING_ACCOUNT:
		if (HAS(xpu_ring_account))
			be_hostile(FIELD(xpu_ring_account, proc_id));
		break;
	case XPU_RECORD_BATCH:
		if (HAS(xpu_record_batch))
			be_hostile(FIELD(xpu_record_batch, proc_id));
		break;
	case XPU_RECORD_PROCESS:
		if (HAS(xpu_record_process)) {
			be_hostile(FIELD(xpu_record_process, proc_id));
			be_hostile(FIELD(xpu_record_process, parent_proc_id));
			be_hostile_pid(FIELD(xpu_record_process, pid));
		}
		break;
	case XPU_RECORD_PROCESS_EXIT:
		if (HAS(xpu_record_process_exit)) {
			be_hostile(FIELD(xpu_record_process_exit, proc_id));
			be_hostile_pid(FIELD(xpu_record_process_exit, pid));
		}
		break;
	}
#undef FIELD
#undef HAS
}

/* Sends a record in memory of exactly its size, so that the sanitizer sees a read beyond it. */
static void send_exact(const void *record, size_t size)
{
	void *copy = malloc(size ?: 1);

	if (!copy)
		abort();
	memcpy(copy, record, size);
	set_ids(copy, size);
	recorder__record(rec, copy, size);
	free(copy);
}

/* Sends a record with some fields changed; sometimes the record is cut short. */
static void send_changed(void *record, size_t size)
{
	change(record, size);
	if (take(1) % 8 == 0)
		size = take(2) % (size + 1);
	send_exact(record, size);
}

/* ---- the honest processes -------------------------------------------------------------------- */

static void send_process(uint32_t proc_id, uint32_t pid, uint32_t parent, uint16_t how)
{
	struct xpu_record_process r = {
		.hdr = { XPU_RECORD_PROCESS, how, sizeof(r) },
		.time_ns = NOW, .proc_id = proc_id, .pid = pid, .parent_proc_id = parent,
		.comm = "app",
	};

	recorder__record(rec, &r, sizeof(r));
}

/* Sends the mapping that the kernel reports: the program that the code belongs to. */
static void honest__map(const struct honest *h)
{
	struct gen g = { 0 };

	gen__mmap(&g, NOW, h->pid, CODE / 2, 2 * CODE, CODE / 2, "/honest", NULL, 0);
	writer__append(writer, (const void *)g.v);
	gen__free(&g);
}

static void honest__launch(struct honest *h, unsigned int site, uint32_t correlation_id,
			   uint16_t flags)
{
	struct {
		struct xpu_ring_launch l;
		uint64_t frames[2];
	} r = {
		.l = {
			.hdr = { XPU_RECORD_LAUNCH, 0, sizeof(r) },
			.time_ns = NOW + correlation_id,
			.proc_id = h->proc_id,
			.tid = h->pid,
			.ns_tid = h->pid,
			.correlation_id = correlation_id,
			.cbid = CBID,
			.domain = DOMAIN,
			.flags = flags | (h->logs ? XPU_CHAIN_SHIM : 0),
			.nr_frames = 2,
			.path_id = h->logs ? site + 1 : 0,
			.range_id = RANGE,
		},
		.frames = { SITE(site), CODE + 0x800 },
	};

	recorder__record(rec, &r, sizeof(r));
}

/* Return: the launch site of an honest process's launch; the site also determines the kernel. */
static unsigned int site_of(uint32_t correlation_id)
{
	return correlation_id % NR_SITES;
}

static void honest__log(struct honest *h, uint32_t correlation_id)
{
	struct {
		struct xpu_ring_log l;
		struct xpu_log_entry e;
	} r = {
		.l = {
			.hdr = { XPU_RECORD_LOG, 0, sizeof(r) },
			.first = correlation_id - 1,
			.proc_id = h->proc_id,
			.tid = h->pid,
			.ns_tid = h->pid,
			.log_id = 1,
			.nr = 1,
			.range_id = RANGE,
		},
		.e = { NOW + correlation_id, correlation_id, site_of(correlation_id) + 1 },
	};

	recorder__record(rec, &r, sizeof(r));
}

/* Sends the records of @g as a batch of a process. */
static void send_batch(const struct gen *g, uint32_t proc_id, uint32_t tid)
{
	struct xpu_record_batch b = {
		.hdr = { XPU_RECORD_BATCH, 0, sizeof(b) + g->nr },
		.time_ns = NOW, .proc_id = proc_id, .tid = tid, .ns_tid = tid, .bytes = g->nr,
	};
	uint8_t *r = malloc(sizeof(b) + g->nr);

	if (!r)
		abort();
	memcpy(r, &b, sizeof(b));
	if (g->nr)
		memcpy(r + sizeof(b), g->v, g->nr);
	recorder__record(rec, r, sizeof(b) + g->nr);
	free(r);
}

static void honest__kernel_name(const struct honest *h, unsigned int site, char *buf, size_t size)
{
	snprintf(buf, size, "kernel_%u_%u", h->proc_id, site);
}

static void honest__range_name(const struct honest *h, char *buf, size_t size)
{
	snprintf(buf, size, "range_%u", h->proc_id);
}

static void honest__define(struct honest *h)
{
	struct xpu_record_counters c = { .nr_batches = 1, .nr_slots = 1 };
	uint8_t uuid[16] = { 1, 2, 3 };
	struct gen g = { 0 };
	unsigned int i;
	char name[32];

	gen__counters(&g, &c);
	gen__string(&g, STRING_API, "cuLaunchKernel");
	gen__api(&g, DOMAIN, CBID, STRING_API);
	for (i = 0; i < NR_SITES; i++) {
		honest__kernel_name(h, i, name, sizeof(name));
		gen__string(&g, STRING_KERNEL + i, name);
	}
	gen__device(&g, 0, STRING_API, uuid);
	gen__stream(&g, 1, 0, 1, 7);
	send_batch(&g, h->proc_id, h->pid);
	gen__free(&g);
}

static void honest__range(struct honest *h)
{
	struct gen g = { 0 };
	char name[32];

	honest__range_name(h, name, sizeof(name));
	gen__range(&g, NOW, h->proc_id, RANGE, 0, "", name);
	recorder__record(rec, g.v, g.nr);
	gen__free(&g);
}

/* Sends the activity records of the process's launches, and the process's exit. */
static void honest__finish(struct honest *h)
{
	struct xpu_record_counters c = {
		.hdr = { .misc = XPU_MISC_COUNTERS_LAST },
		.nr_batches = 2, .nr_launches = NR_LAUNCHES, .nr_kernels = NR_LAUNCHES,
		.nr_slots = 1,
	};
	struct xpu_record_process_exit r = {
		.hdr = { XPU_RECORD_PROCESS_EXIT, 0, sizeof(r) },
		.time_ns = NOW + 2000, .proc_id = h->proc_id, .pid = h->pid,
	};
	struct gen g = { 0 };
	uint32_t id;

	gen__counters(&g, &c);
	for (id = 1; id <= NR_LAUNCHES; id++)
		gen__kernel(&g, 0, NOW + 1000 + id, 10 + id, id, STRING_KERNEL + site_of(id), 1);
	send_batch(&g, h->proc_id, h->pid);
	gen__free(&g);
	recorder__record(rec, &r, sizeof(r));
}

/* Return: false once the honest process has ended. */
static bool honest__step(struct honest *h)
{
	unsigned int step = h->step++, i;

	switch (step) {
	case 0:
		if (h->proc_id == FIRST_HONEST)
			send_process(h->proc_id, h->pid, 0, XPU_MISC_PROCESS_ROOT);
		else
			send_process(h->proc_id, h->pid, FIRST_HONEST, XPU_MISC_PROCESS_FORK);
		honest__map(h);
		return true;
	case 1:
		honest__define(h);
		return true;
	case 2:
		honest__range(h);
		return true;
	case 3:
		for (i = 0; i < NR_SITES && h->logs; i++)
			honest__launch(h, i, 0, XPU_CHAIN_NO_LAUNCH);
		return true;
	}
	if (h->nr_sent < NR_LAUNCHES) {
		h->nr_sent++;
		if (h->logs)
			honest__log(h, h->nr_sent);
		else
			honest__launch(h, site_of(h->nr_sent), h->nr_sent, 0);
		return true;
	}
	if (step > NR_LAUNCHES + 4)
		return false;
	honest__finish(h);
	return true;
}

/* ---- the hostile process --------------------------------------------------------------------- */

static void hostile_launch(uint16_t type)
{
	uint32_t nr = take(1) % 40, i;
	struct {
		struct xpu_ring_launch l;
		uint64_t frames[40];
	} r = {
		.l = {
			.hdr = { type, 0, sizeof(r.l) + nr * sizeof(r.frames[0]) },
			.time_ns = NOW + 1,
			.proc_id = HOSTILE,
			.tid = 1002,
			.ns_tid = 1002,
			.correlation_id = 1 + take(1) % NR_LAUNCHES,
			.cbid = CBID,
			.domain = DOMAIN,
			.flags = XPU_CHAIN_SHIM,
			.nr_frames = nr,
			.wait_ns = type == XPU_RECORD_LAUNCH_WAIT ? 100 : 0,
			.wait_context = 1,
			.wait_stream = 7,
			.path_id = 1 + take(1) % NR_SITES,
			.range_id = RANGE,
		},
	};

	for (i = 0; i < nr; i++)
		r.frames[i] = SITE(i);
	send_changed(&r, r.l.hdr.size);
}

static void hostile_log(void)
{
	uint32_t nr = take(2) % (XPU_LOG_ENTRIES + 1), i;
	struct {
		struct xpu_ring_log l;
		struct xpu_log_entry e[XPU_LOG_ENTRIES];
	} r = {
		.l = {
			.hdr = { XPU_RECORD_LOG, 0, sizeof(r.l) + nr * sizeof(r.e[0]) },
			.first = take(1),
			.clock_rate = 1,
			.proc_id = HOSTILE,
			.tid = 1002,
			.ns_tid = 1002,
			.log_id = 1,
			.nr = nr,
			.range_id = RANGE,
		},
	};

	for (i = 0; i < nr; i++)
		r.e[i] = (struct xpu_log_entry){ NOW + i, 1 + i % NR_LAUNCHES, 1 + i % NR_SITES };
	/* Puts memory events among the launches. */
	for (i = take(1); i + XPU_LOG_ALLOC_ENTRIES <= nr; i += 7) {
		r.e[i].path_id = XPU_LOG_ALLOC | (i % 2 ? XPU_LOG_ALLOC_SHORT : 0) |
				 XPU_ALLOC_MADE | (i % XPU_SPACE_NR) << 4;
		r.e[i + 1] = (struct xpu_log_entry){ 0x1000 * i, 1 + i,
						     XPU_LOG_ALLOC | XPU_LOG_ALLOC_MORE };
		r.e[i + 2] = (struct xpu_log_entry){ 4096, 1, XPU_LOG_ALLOC | XPU_LOG_ALLOC_MORE };
	}
	send_changed(&r, r.l.hdr.size);
}

/* Adds a record inside a batch: a type that is allowed there, or one that is not. */
static void hostile_nested(struct gen *g)
{
	static const struct xpu_launch launch = { 1, 1, 0, 1 };
	static const struct xpu_range_event event = { RANGE, 1, 0, XPU_RANGE_PUSH, 0 };
	static const struct xpu_sample sample = { 1, 1, 0, 0, 0 };
	static const struct xpu_call call = { 0, 1, 10, 0, CBID };
	static const uint64_t frames[] = { SITE(0), CODE + 0x800 };
	static const uint64_t regs[XPU_NR_REGS];
	static const struct xpu_thread_time time;
	static const uint8_t uuid[16] = { 1, 2, 3 };
	struct xpu_record_counters c = { .nr_batches = 5, .nr_launches = 5, .nr_slots = 3 };
	uint32_t id = 1 + take(1) % 16;
	size_t from = g->nr;

	switch (take(1) % 32) {
	case 0: gen__counters(g, &c); break;
	case 1: gen__message(g, 1 + id % 3, "from the target\x1b[31m"); break;
	case 2: gen__string(g, id, "evil"); break;
	case 3: gen__api(g, DOMAIN, CBID, id); break;
	case 4: gen__stream(g, id, id % 3, 1, 7); break;
	case 5: gen__device(g, id % 3, id, uuid); break;
	case 6: gen__kernel(g, 0, NOW, 10, id, STRING_KERNEL, 1); break;
	case 7: gen__kernel(g, XPU_MISC_GRAPH_NODE, NOW, 10, id, STRING_KERNEL, 1); break;
	case 8: gen__memcpy(g, 0, NOW, 10, id, 1, 4096, 1); break;
	case 9: gen__memset(g, XPU_MISC_GRAPH_NODE, NOW, 10, id, 1, 4096); break;
	case 10: gen__graph_clone(g, id, id + 1); break;
	case 11: gen__refused(g, id, 1); break;
	case 12: gen__calls(g, NOW, 1001, &call, 1); break;
	case 13: gen__record(g, XPU_RECORD_PYCODE, 0, &(struct xpu_record_pycode){
			.id = id, .name = 1, .filename = 1,
		 }, sizeof(struct xpu_record_pycode), NULL, 0);
		break;
	case 14: gen__record(g, XPU_RECORD_PYTHON, 0, &(struct xpu_record_python){
			.python = python,
		 }, sizeof(struct xpu_record_python), NULL, 0);
		break;
	case 15: gen__record(g, XPU_RECORD_RANGE, 0, &(struct xpu_record_range){
			.id = id, .name_bytes = 5, .domain_bytes = 1,
		 }, sizeof(struct xpu_record_range), "evil\0\0\0", 8);
		break;
	/* Records that only the recorder may write, about an honest process. */
	case 16: gen__process(g, XPU_MISC_PROCESS_EXEC, NOW, FIRST_HONEST, 1001, 1, "evil"); break;
	case 17: gen__process_exit(g, NOW, FIRST_HONEST, 1001, 0); break;
	case 18: gen__thread(g, id, FIRST_HONEST, 1001); break;
	case 19: gen__mmap(g, NOW, 1001, CODE, 0x1000, 0, "/evil", NULL, 0); break;
	case 20: gen__comm(g, XPU_MISC_COMM_EXEC, NOW, 1001, 1001, "evil"); break;
	case 21: gen__fork(g, NOW, 1001, 1001, 1002, 1002); break;
	case 22: gen__callchain(g, 0, NOW, id, FIRST_HONEST, DOMAIN, CBID, frames, 2); break;
	case 23: gen__launches(g, NOW, &launch, 1); break;
	case 24: gen__ranges(g, NOW, &event, 1); break;
	case 25: gen__graph_node(g, NOW, id, FIRST_HONEST, id, 1, 1); break;
	case 26: gen__wait(g, 0, NOW, 100, 1, 1, 1, 7, id); break;
	case 27: gen__samples(g, NOW, 1000000, &sample, 1); break;
	case 28: gen__stack(g, 0, NOW, 1, 1, 1000000, regs, regs, 8, 0); break;
	case 29: gen__account(g, NOW, NOW + 1, 1, &time); break;
	case 30: gen__end(g, NOW, 0); break;
	default: gen__off_cpu(g, 0, NOW, 1, 10, 10, 1, 1); break;
	}
	if (take(1) % 2)
		change(g->v + from, g->nr - from);
}

static void hostile_batch(void)
{
	unsigned int nr = take(1) % 12;
	struct xpu_record_batch b = {
		.hdr = { XPU_RECORD_BATCH, 0, 0 }, .time_ns = NOW, .proc_id = HOSTILE, .tid = 1002,
	};
	struct gen g = { 0 };

	gen__bytes(&g, &b, sizeof(b));
	if (nr == 11) {			/* a single memory event */
		struct xpu_record_alloc alloc = {
			.time_ns = NOW, .order = take(1),
			.event = { .path_id = 1, .what = XPU_ALLOC_MADE, .address = 0x1000,
				   .bytes = 4096 },
		};

		gen__record(&g, XPU_RECORD_ALLOC, 0, &alloc, sizeof(alloc), NULL, 0);
		change(g.v + sizeof(b), g.nr - sizeof(b));
	}
	for (; nr; nr--) {
		/*
		 * Adds a batch of another process inside this batch, by hand, because gen can have
		 * only one batch open at a time.
		 */
		if (take(1) % 16 == 0) {
			struct xpu_record_batch inner = {
				.hdr = { XPU_RECORD_BATCH, 0, sizeof(inner) + 16 },
				.proc_id = FIRST_HONEST, .tid = 1001, .bytes = 16,
			};

			gen__bytes(&g, &inner, sizeof(inner));
			gen__refused(&g, 1, 1);
			continue;
		}
		hostile_nested(&g);
	}
	b.bytes = g.nr - sizeof(b);
	/* The ring buffer's record may be longer than its header says. */
	b.hdr.size = g.nr;
	memcpy(g.v, &b, sizeof(b));
	if (take(1) % 4 == 0)
		change(g.v, sizeof(b));
	send_exact(g.v, take(1) % 8 ? g.nr : take(2) % (g.nr + 1));
	gen__free(&g);
}

#define STACK_WORDS	64

static void hostile_sample(bool off)
{
	uint32_t nr_python = take(1) % 6, nr_words = take(1) % STACK_WORDS, i;
	bool stack = take(1) % 4;
	size_t head = off ? sizeof(struct xpu_ring_off_stack) : sizeof(struct xpu_ring_sample);
	uint64_t r[16 + 2 + 6 * 3 + XPU_NR_REGS + STACK_WORDS] = { 0 }, *to;
	struct xpu_python_frame *f;
	struct xpu_ring_off_stack *o = (void *)r;
	struct xpu_ring_sample *s = (void *)r;
	uint16_t flags = XPU_CHAIN_CPU | (stack ? XPU_CHAIN_STACK : 0);

	to = r + head / 8;
	*to++ = 0xffffffff81000000;
	if (!stack)
		*to++ = SITE(2);
	f = (void *)to;
	for (i = 0; stack && i < nr_python; i++) {
		f[i].code = i % 2 ? 0 : CODE_AT;
		f[i].where = i % 2 ? 0x7000 : 4;
		f[i].print = XPU_PYTHON_PRINT((uint64_t)NAME_AT, (uint64_t)TABLE_AT, 5);
	}
	to = stack ? (uint64_t *)(f + nr_python) : to;
	if (stack) {
		to[XPU_REG_SP] = 0x7000;
		to += XPU_NR_REGS;
		memset(to, 'b', nr_words * 8);
		to += nr_words;
	}
	if (off)
		*o = (struct xpu_ring_off_stack){
			.hdr = { XPU_RECORD_OFF_STACK, 0, (to - r) * 8 }, .time_ns = NOW,
			.hash = { take(1) % 4, 1 }, .proc_id = HOSTILE,
			.flags = flags | XPU_CHAIN_OFF, .nr_frames = stack ? 1 : 2, .tid = 1002,
			.stack_bytes = stack ? nr_words * 8 : 0, .nr_python = stack ? nr_python : 0,
		};
	else
		*s = (struct xpu_ring_sample){
			.hdr = { XPU_RECORD_SAMPLE, 0, (to - r) * 8 }, .time_ns = NOW,
			.proc_id = HOSTILE, .tid = 1002, .flags = flags, .nr_frames = stack ? 1 : 2,
			.stack_bytes = stack ? nr_words * 8 : 0, .nr_python = stack ? nr_python : 0,
		};
	send_changed(r, (to - r) * 8);
}

static void hostile_off(void)
{
	struct xpu_ring_off r = {
		.hdr = { XPU_RECORD_RING_OFF, take(1) % XPU_OFF_NR, sizeof(r) }, .first_ns = NOW,
		.last_ns = NOW + 50, .end_ns = NOW + 100, .nr = 2, .sum_ns = 80, .max_ns = 50,
		.hash = { take(1) % 4, 1 }, .proc_id = HOSTILE, .tid = 1002,
	};

	send_changed(&r, sizeof(r));
}

static void hostile_cpu_rest(void)
{
	struct xpu_ring_cpu_rest r = {
		.hdr = { XPU_RECORD_RING_CPU_REST, 0, sizeof(r) }, .from_ns = NOW,
		.end_ns = NOW + 10, .ns = 10, .proc_id = HOSTILE, .tid = 1002,
	};

	send_changed(&r, sizeof(r));
}

static void hostile_account(void)
{
	struct xpu_ring_account r = {
		.hdr = { XPU_RECORD_RING_ACCOUNT, 0, sizeof(r) }, .start_ns = NOW,
		.end_ns = NOW + 10, .proc_id = HOSTILE, .tid = 1002, .time = { .run_ns = 10 },
	};

	send_changed(&r, sizeof(r));
}

/*
 * Begins a process image of the hostile process or of one of its children: after a fork, an exec or
 * an attach, or in an unknown way.
 */
static void hostile_process(void)
{
	static const uint16_t how[] = {
		XPU_MISC_PROCESS_FORK, XPU_MISC_PROCESS_EXEC, XPU_MISC_PROCESS_ATTACH, 77,
	};
	struct xpu_record_process r = {
		.hdr = { XPU_RECORD_PROCESS, how[take(1) % ARRAY_SIZE(how)], sizeof(r) },
		.time_ns = NOW, .proc_id = HOSTILE + take(1) % NR_PROCS,
		.pid = 1002 + take(1) % 4 * 2, .parent_proc_id = HOSTILE, .comm = "evil",
	};

	send_changed(&r, sizeof(r));
}

static void hostile_exit(void)
{
	struct xpu_record_process_exit r = {
		.hdr = { XPU_RECORD_PROCESS_EXIT, 0, sizeof(r) }, .time_ns = NOW + 5,
		.proc_id = HOSTILE + take(1) % NR_PROCS, .pid = 1002,
	};

	send_changed(&r, sizeof(r));
}

/*
 * Makes a perf event of the hostile process. The process chooses names and files; the kernel fills
 * in the rest.
 */
static void hostile_event(void)
{
	uint32_t pid = 1002 + take(1) % 4 * 2, other = 1002 + take(1) % 4 * 2;
	uint64_t time_ns = NOW - 8 + take(1), start = take(1) * 0x1000;
	struct gen g = { 0 };
	char name[32];
	size_t i;

	for (i = 0; i < sizeof(name) - 1; i++)
		name[i] = take(1) ?: 'x';
	name[i] = '\0';
	switch (take(1) % 4) {
	case 0:
		gen__mmap(&g, time_ns, pid, start, take(2) * 0x10, 0, name, name, take(1) % 21);
		break;
	case 1: gen__comm(&g, take(1) % 2, time_ns, pid, pid, name); break;
	case 2: gen__fork(&g, time_ns, pid, pid, other, other); break;
	default: gen__process_exit(&g, time_ns, HOSTILE, pid, 0); break;
	}
	writer__append(writer, (const struct xpu_record *)g.v);
	gen__free(&g);
}

static void hostile_step(uint8_t op)
{
	struct xpu_thread_state state = { .proc_id = HOSTILE, .tid = 1002, .since_ns = NOW };
	struct xpu_python layout = python;
	uint64_t raw[32];

	switch (op % 20) {
	case 0: case 1: hostile_launch(XPU_RECORD_LAUNCH); break;
	case 2: hostile_launch(XPU_RECORD_LAUNCH_WAIT); break;
	case 3: case 4: hostile_log(); break;
	case 5: case 6: case 7: case 8: hostile_batch(); break;
	case 9: hostile_sample(false); break;
	case 10: hostile_sample(true); break;
	case 11: hostile_off(); break;
	case 12: hostile_account(); hostile_cpu_rest(); break;
	case 13: hostile_process(); break;
	case 14: hostile_exit(); break;
	case 15: hostile_event(); break;
	case 16:
		memset(raw, 0, sizeof(raw));
		raw[0] = (uint64_t)sizeof(raw) << 32 | take(1);
		send_changed(raw, take(1));
		break;
	case 17:
		change(&layout, sizeof(layout));
		recorder__found_python(rec, 1002, NOW, &layout);
		break;
	case 18:
		change(memory, sizeof(memory));
		break;
	case 19:
		change(&state, sizeof(state));
		be_hostile(&state.proc_id);
		recorder__living_thread(rec, &state, NOW + 100);
		recorder__lost(rec, 1 + take(1) % (XPU_LOST_NR - 1), take(1));
		break;
	}
}

/* ---- checks of the result -------------------------------------------------------------------- */

static void fail(const char *what, uint32_t proc_id)
{
	fprintf(stderr, "process %" PRIu32 ": %s\n", proc_id, what);
	abort();
}

static const struct honest *find_honest(uint32_t proc_id)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(honest); i++)
		if (honest[i].proc_id == proc_id)
			return &honest[i];
	return NULL;
}

/* Return: the site of the launches that @a counts, which are launches of @h */
static unsigned int check_aggregate(const struct session *s, const struct aggregate *a,
				    const struct honest *h)
{
	const struct chain *chain = &s->model.chains.v[a->chain];
	const struct leaf *leaf = &s->model.leaves.v[a->leaf];
	const struct stack *stack = chain->stack;
	unsigned int site;
	const struct owner *owner = aggregate__owner(&s->sums.aggregates, a);
	char name[32];

	if (chain->path == NO_INDEX || leaf->kind != LEAF_KERNEL)
		fail("something that is no kernel of a launch", h->proc_id);
	/*
	 * The name of a caller's frame is looked up one byte before the return address. In a stack
	 * that the kernel took, the innermost frame has its exact address.
	 */
	if (stack->nr != 2 || strcmp(stack->frames[0]->name, "honest+0x17ff") ||
	    sscanf(stack->frames[1]->name, "honest+0x%x", &site) != 1 || (++site & 0xff) > 1)
		fail("a call path that it does not have", h->proc_id);
	if (strcmp(s->model.paths.v[chain->path].api, "cuLaunchKernel"))
		fail("a call that it did not make", h->proc_id);
	site = (site - CODE) / 0x100;
	honest__kernel_name(h, site, name, sizeof(name));
	if (site >= NR_SITES || strcmp(leaf->name, name))
		fail("a kernel under another call path", h->proc_id);
	if (owner->thread == NO_INDEX || s->model.threads.v[owner->thread].tid != h->pid)
		fail("a thread that is not its own", h->proc_id);
	honest__range_name(h, name, sizeof(name));
	if (chain->range == NO_RANGE || strcmp(ranges__name(&s->model.ranges, chain->range), name))
		fail("a range that is not its own", h->proc_id);
	if (strcmp(owner->comm, "app"))
		fail("a name that is not its own", h->proc_id);
	return site;
}

static void check_honest(const struct session *s)
{
	uint64_t nr[ARRAY_SIZE(honest)][NR_SITES] = { { 0 } };
	const struct honest *h;
	uint32_t id;
	size_t i;

	for (i = 0; i < s->sums.aggregates.nr; i++) {
		const struct aggregate *a = &s->sums.aggregates.v[i];

		h = find_honest(s->model.machine.procs.v[s->model.chains.v[a->chain].proc].proc_id);
		if (h)
			nr[h - honest][check_aggregate(s, a, h)] += a->nr;
	}
	for (h = honest; h < honest + ARRAY_SIZE(honest); h++) {
		for (id = 1; id <= NR_LAUNCHES; id++)
			nr[h - honest][site_of(id)]--;
		for (i = 0; i < NR_SITES; i++)
			if (nr[h - honest][i])
				fail("not as many launches as it made", h->proc_id);
	}
}

/* Checks that only lines of printable text went to the terminal. */
static void check_text(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' ? *text != '\n' : *text == 0x7f)
			fail("a control character on the terminal", HOSTILE);
}

/* Tests a whole merge by xpumerge's functions. Runs only now and then: a merge takes long. */
static void check_merge(const char *path)
{
	static const struct merge_opts opts = { UNIT_US, false };
	const char *broken;
	struct merged m;
	FILE *f = fopen(path, "re");
	void *buf;
	long size;

	if (!f || fseek(f, 0, SEEK_END) || (size = ftell(f)) < 0)
		abort();
	rewind(f);
	buf = malloc(size + 1);
	if (!buf || fread(buf, 1, size, f) != (size_t)size)
		abort();
	fclose(f);
	merged__run(&m, buf, size, "fuzz", &opts);
	broken = merged__broken(&m);
	if (broken)
		fail(broken, 0);
	merged__free(&m);
	free(buf);
}

static void check_file(const char *path)
{
	static const struct session_opts opts = {
		.by_thread = true, .by_range = true, .stats = true,
	};
	struct session s;
	struct reader r;

	if (reader__open(&r, path))
		fail(r.error, 0);
	if (session__init(&s, &opts) || session__process(&s, &r, 1))
		abort();
	if (s.sums.loss.corrupt_bytes || s.sums.loss.cut_bytes)
		fail("the recorder wrote something that is no record", 0);
	check_honest(&s);
	session__exit(&s);
	reader__close(&r);
}

/* ---- one input ------------------------------------------------------------------------------- */

static char path[64];

static void remove_file(void)
{
	unlink(path);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	snprintf(path, sizeof(path), "/dev/shm/fuzz_ring.XXXXXX");
	if (close(mkstemp(path))) {
		perror(path);
		exit(1);
	}
	atexit(remove_file);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct xpu_file_header header = {
		.magic = XPU_FILE_MAGIC, .endian = XPU_FILE_ENDIAN,
		.version_major = XPU_VERSION_MAJOR, .version_minor = XPU_VERSION_MINOR,
		.header_bytes = sizeof(header), .clockid = 1,
	};
	static const struct recorder_listener nobody;
	struct xpu_record_end r = { .hdr = { XPU_RECORD_END, 0, sizeof(r) } };
	FILE *terminal = stderr, *said;
	struct recorder_stats stats;
	unsigned int nr_steps = 0, i;
	size_t said_bytes;
	char *text = NULL;
	uint8_t op;

	at = data;
	end = data + size;
	set_memory();
	if (writer__open(open(path, O_WRONLY | O_TRUNC | O_CLOEXEC), &header, &writer))
		abort();
	rec = recorder__new(writer, 1000000, true, true, &nobody);
	said = open_memstream(&text, &said_bytes);
	if (!rec || !said)
		abort();
	stderr = said;
	for (i = 0; i < ARRAY_SIZE(honest); i++)
		honest[i].step = honest[i].nr_sent = 0;
	honest__step(&honest[0]);
	send_process(HOSTILE, 1002, 0, XPU_MISC_PROCESS_ATTACH);
	while (at < end && nr_steps++ < MAX_STEPS) {
		op = take(1);
		hostile_step(op);
		if (op & 0x80)
			honest__step(&honest[op >> 6 & 1]);
		if (op == 0x5f)
			recorder__flush(rec);
	}
	for (i = 0; i < ARRAY_SIZE(honest); i++)
		while (honest__step(&honest[i]))
			;
	recorder__nr_awake(rec);
	recorder__stats(rec, &stats);
	recorder__flush(rec);
	recorder__finish(rec);
	writer__append(writer, &r.hdr);
	if (writer__close(writer, NULL, NULL))
		abort();
	recorder__free(rec);
	stderr = terminal;
	fclose(said);
	check_text(text);
	free(text);
	if (stats.nr_launches < ARRAY_SIZE(honest) * NR_LAUNCHES)
		fail("fewer launches were counted than there were", 0);
	check_file(path);
	if (size && data[0] % 16 == 0)
		check_merge(path);
	return 0;
}
