/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * perf_data.h - reads perf.data, the file of "perf record"
 *
 * It uses these features of the file: event names, build-ids of files, the host's name and system,
 * and the relation of the clock to wall-clock time. Call chains and stack copies (--call-graph
 * dwarf) become records of our own format. So perf.data and our own recordings share the code that
 * reads the binaries of the profiled programs.
 * Source: Linux, tools/perf/Documentation/perf.data-file-format.txt,
 * include/uapi/linux/perf_event.h.
 */
#ifndef MERGE_PERF_PERF_DATA_H
#define MERGE_PERF_PERF_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "import/import.h"
#include "import/perf/events.h"
#include "util.h"
#include "xpu_record.h"

/* The positions of an event's sample fields. */
struct perf_attr {
	uint64_t sample_type, read_format, branch_type, regs_user;
	bool sample_id_all;
	uint32_t event;			/* the event's index in events */
};

enum perf_side_kind {
	PERF_SIDE_MMAP,
	PERF_SIDE_COMM,
	PERF_SIDE_FORK,
	PERF_SIDE_EXIT,
};

/* A change of a process's mappings, name or threads. */
struct perf_side {
	uint64_t time_ns;
	uint32_t seq;
	enum perf_side_kind kind;
	uint32_t pid, tid, ppid, ptid;
	bool exec;			/* COMM: an exec set the name, and removed all mappings */
	uint64_t start, len, pgoff, ino;	/* for MMAP */
	uint32_t major, minor, prot, flags;
	const char *name;		/* for MMAP and COMM; interned */
	const uint8_t *build_id;	/* for MMAP, or NULL */
	uint8_t build_id_len;
};

struct perf_kernel_symbol {
	uint64_t start, end;
	const char *name;		/* interned */
};

struct perf_user_stack {
	uint64_t regs[XPU_NR_REGS];
	uint32_t bytes;
	const uint8_t *stack;		/* the stack's bytes from the stack pointer */
};

struct perf_data {
	ARRAY(struct perf_event) events;
	ARRAY(struct perf_attr) attrs;
	struct idmap attr_ids;		/* maps a sample's id to an index in attrs */
	ARRAY(struct perf_sample) samples;	/* in time order; @stack is a number in @chains,
						 * @comm is NULL */
	ARRAY(struct perf_user_stack) copies;	/* stack copies of samples */
	struct strpool chains;		/* the bytes of frames, as in XPU_RECORD_CALLCHAIN */
	ARRAY(const char *) chain_words;
	ARRAY(uint32_t) chain_bytes;
	ARRAY(struct perf_side) sides;	/* in order of time */
	ARRAY(struct perf_kernel_symbol) bpf;	/* BPF programs in the kernel, one symbol each */
	struct strpool strings;
	struct idmap build_ids;		/* maps the number of a file name to an index in ids */
	ARRAY(uint8_t) ids;		/* build-ids, each a length and XPU_BUILD_ID_LEN bytes */
	struct arena arena;
	struct span hostname, release, arch, command;
	int clock;			/* PERF_CLOCK_*, or the clock's id */
	uint64_t clock_ns, real_ns;	/* the same time on that clock and in UTC; 0: unknown */
	uint64_t kernel_text;		/* the address of kernel_symbol; 0: unknown */
	const char *kernel_symbol;	/* "_text" or "_stext" */
	uint64_t nr_lost;
	uint64_t nr_launches;		/* number of samples at probes on CUDA's functions */
	uint64_t nr_no_unwind;		/* number of stack copies from machines other than x86-64 */
	uint64_t nr_strange;		/* number of records that could not be read */
	bool cut;
};

/* Return: whether @buf is a perf.data file, of either byte order. */
bool perf_data__is(const void *buf, size_t size);

/*
 * Reads @buf, which must stay valid until perf_data__exit(). Return: 0, -EINVAL with a message in
 * @msgs, or -ENOMEM.
 */
int perf_data__read(struct perf_data *d, const void *buf, size_t size, const char *path,
		    struct msgs *msgs);
void perf_data__exit(struct perf_data *d);

#endif /* MERGE_PERF_PERF_DATA_H */
