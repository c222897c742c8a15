/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * gen.h - recordings with given contents, for tests
 *
 * Appends records, in the order of the calls, to a buffer in memory. Nothing is checked: a test may
 * need invalid records. A test that runs out of memory aborts.
 *
 *	struct gen g = { 0 };
 *
 *	gen__header(&g);
 *	gen__process(&g, XPU_MISC_PROCESS_ROOT, 100, 1, 42, 0, "app");
 *	...
 *	gen__batch_begin(&g, 5000, 1, 43);
 *	gen__kernel(&g, 0, 4000, 10, 7, 1, 1);
 *	gen__batch_end(&g);
 *	gen__end(&g, 9000, 0);
 *	gen__save(&g, "xpu.data");
 *	gen__free(&g);
 */
#ifndef TEST_LIB_GEN_H
#define TEST_LIB_GEN_H

#include <stddef.h>
#include <stdint.h>

#include "block.h"
#include "xpu_record.h"

struct gen {
	uint8_t *v;
	size_t nr, cap;			/* in bytes */
	size_t batch;			/* offset of the open batch, or 0 */
	uint8_t api;			/* enum xpu_api of the next records with an API in misc */
	uint64_t node;			/* node of the next records with XPU_MISC_GRAPH_NODE; 0:
					 * any */
	uint32_t ns_tid;		/* ns_tid of the next BATCH and THREAD records */
	const uint64_t *python;		/* words of Python frames of the next STACK records */
	uint32_t nr_python;		/* number of these words */
};

void gen__free(struct gen *g);
int gen__save(const struct gen *g, const char *path);	/* 0 or -errno */
void gen__flush(struct gen *g, int fd);		/* writes the records to @fd and empties @g */

/*
 * gen__bytes() adds any bytes. gen__record() adds any record: it completes the header at the start
 * of @fixed, and adds @fixed and then @tail.
 */
void gen__bytes(struct gen *g, const void *bytes, size_t nr);
void gen__record(struct gen *g, uint16_t type, uint16_t misc, const void *fixed,
		 size_t fixed_bytes, const void *tail, size_t tail_bytes);

void gen__header(struct gen *g);
/* Turns the header at the start of @g into the header of a recording of blocks. */
void gen__seal(struct gen *g);
/*
 * Adds records as blocks, each with @block_bytes bytes of records; a longer record gets its own
 * block.
 */
void gen__pack(struct gen *g, struct block_packer *p, const void *records, size_t bytes,
	       size_t block_bytes);
/* Fills @g with the records of @plain, in blocks. @plain has no blocks. */
void gen__blocks(struct gen *g, const struct gen *plain, int level, size_t block_bytes);
void gen__info(struct gen *g, uint32_t key, const char *data, size_t bytes);
void gen__process(struct gen *g, uint16_t how, uint64_t time_ns, uint32_t proc_id, uint32_t pid,
		  uint32_t parent_proc_id, const char *comm);
void gen__process_exit(struct gen *g, uint64_t time_ns, uint32_t proc_id, uint32_t pid,
		       uint32_t exit_code);
void gen__thread(struct gen *g, uint32_t thread_id, uint32_t proc_id, uint32_t tid);
void gen__mmap(struct gen *g, uint64_t time_ns, uint32_t pid, uint64_t start, uint64_t len,
	       uint64_t pgoff, const char *filename, const void *build_id, size_t build_id_len);
void gen__comm(struct gen *g, uint16_t misc, uint64_t time_ns, uint32_t pid, uint32_t tid,
	       const char *comm);
void gen__fork(struct gen *g, uint64_t time_ns, uint32_t pid, uint32_t tid, uint32_t ppid,
	       uint32_t ptid);
void gen__callchain(struct gen *g, uint16_t flags, uint64_t time_ns, uint32_t path_id,
		    uint32_t proc_id, uint16_t domain, uint32_t cbid, const uint64_t *frames,
		    size_t nr_frames);
void gen__launches(struct gen *g, uint64_t time_ns, const struct xpu_launch *launches, size_t nr);
void gen__launch(struct gen *g, uint64_t time_ns, uint32_t correlation_id, uint32_t path_id,
		 uint32_t thread_id);
/* Adds launches in NVTX ranges; range_ids has a range for each launch. */
void gen__launches_in(struct gen *g, uint64_t time_ns, const struct xpu_launch *launches,
		      const uint32_t *range_ids, size_t nr);
void gen__ranges(struct gen *g, uint64_t time_ns, const struct xpu_range_event *events, size_t nr);
void gen__graph_node(struct gen *g, uint64_t time_ns, uint64_t node_id, uint32_t proc_id,
		     uint32_t correlation_id, uint32_t path_id, uint32_t thread_id);
void gen__wait(struct gen *g, uint16_t flags, uint64_t start_ns, uint64_t duration_ns,
	       uint32_t path_id, uint32_t thread_id, uint32_t context, uint32_t stream,
	       uint32_t correlation_id);
void gen__samples(struct gen *g, uint64_t time_ns, uint32_t period_ns,
		  const struct xpu_sample *samples, size_t nr);
/* Adds SAMPLES with XPU_MISC_SAMPLES_RAN: @ran_ns has a duration for each sample. */
void gen__samples_ran(struct gen *g, uint64_t time_ns, uint32_t period_ns,
		      const struct xpu_sample *samples, const uint32_t *ran_ns, size_t nr);
void gen__cpu_rest(struct gen *g, uint64_t from_ns, uint64_t end_ns, uint64_t ns, uint32_t proc_id,
		   uint32_t thread_id);
/*
 * @stack: @bytes bytes of the stack from regs[XPU_REG_SP]; with XPU_MISC_STACK_DELTA only the
 * blocks in @mask
 */
void gen__stack(struct gen *g, uint16_t misc, uint64_t time_ns, uint32_t path_id,
		uint32_t thread_id, uint32_t period_ns, const uint64_t *regs, const void *stack,
		uint32_t bytes, uint64_t mask);
void gen__pysource(struct gen *g, uint32_t id, uint16_t minor, const char *name,
		   const char *filename, uint32_t first_line, const void *table,
		   size_t table_bytes);
void gen__ksym(struct gen *g, uint64_t start, uint64_t end, const char *name);
void gen__off_cpu(struct gen *g, uint16_t kind, uint64_t last_ns, uint64_t nr, uint64_t sum_ns,
		  uint64_t max_ns, uint32_t path_id, uint32_t thread_id);
/* Adds equal durations off the CPU between @first_ns and @end_ns. */
void gen__off_sum(struct gen *g, uint16_t kind, uint64_t first_ns, uint64_t end_ns, uint64_t nr,
		  uint64_t sum_ns, uint32_t path_id, uint32_t thread_id);
void gen__off(struct gen *g, uint16_t kind, uint64_t start_ns, uint64_t duration_ns,
	      uint32_t path_id, uint32_t thread_id);
void gen__account(struct gen *g, uint64_t start_ns, uint64_t end_ns, uint32_t thread_id,
		  const struct xpu_thread_time *time);
void gen__metric(struct gen *g, uint16_t set, uint16_t index, uint32_t kind, const void *uuid,
		 const char *name, const char *unit);
/* Adds one row of a set that has @nr metrics. */
void gen__metrics(struct gen *g, uint16_t set, uint64_t begin_ns, uint32_t duration_ns, uint16_t nr,
		  const float *values);
void gen__metrics_end(struct gen *g, uint16_t set, uint32_t nr_overflows, uint64_t nr_rows,
		      uint64_t lost_ns);
void gen__lost(struct gen *g, uint64_t time_ns, uint32_t kind, uint64_t count);
void gen__end(struct gen *g, uint64_t time_ns, uint32_t wait_status);

void gen__batch_begin(struct gen *g, uint64_t time_ns, uint32_t proc_id, uint32_t tid);
void gen__batch_end(struct gen *g);
size_t gen__batch_bytes(const struct gen *g);		/* bytes of the open batch so far */
void gen__string(struct gen *g, uint32_t id, const char *s);
void gen__api(struct gen *g, uint32_t domain, uint32_t cbid, uint32_t name);
void gen__device(struct gen *g, uint32_t device, uint32_t name, const void *uuid);
/* Adds a device as gen__device() does, with the limits of an H100. */
void gen__limits(struct gen *g, uint32_t device, uint32_t name, const void *uuid);
/* Describes how kernels with the name @name are launched. */
void gen__shape(struct gen *g, uint32_t name, const struct xpu_shape *shape);
void gen__stream(struct gen *g, uint32_t id, uint32_t device, uint32_t context, uint32_t stream);
void gen__kernel(struct gen *g, uint16_t misc, uint64_t start_ns, uint64_t duration_ns,
		 uint32_t correlation_id, uint32_t name, uint32_t stream);
void gen__memcpy(struct gen *g, uint16_t misc, uint64_t start_ns, uint64_t duration_ns,
		 uint32_t correlation_id, uint32_t stream, uint64_t bytes, uint8_t copy_kind);
void gen__memset(struct gen *g, uint16_t misc, uint64_t start_ns, uint64_t duration_ns,
		 uint32_t correlation_id, uint32_t stream, uint64_t bytes);
void gen__calls(struct gen *g, uint64_t time_ns, uint32_t tid, const struct xpu_call *calls,
		size_t nr);
/* Adds an NVTX range in a separate batch. */
void gen__range(struct gen *g, uint64_t time_ns, uint32_t proc_id, uint32_t id, uint32_t parent,
		const char *domain, const char *name);
/* Adds a range of an NCCL operation, as gen__range() does. */
void gen__nccl_range(struct gen *g, uint64_t time_ns, uint32_t proc_id, uint32_t id,
		     uint32_t parent, const char *name, const struct xpu_range_payload *payload);
void gen__counters(struct gen *g, const struct xpu_record_counters *c);
/* Adds a LABEL of a batch or, with a @proc_id, a PROCESS_LABEL; @text: NULL for a number */
void gen__label(struct gen *g, uint32_t proc_id, uint16_t source, uint32_t label, uint32_t number,
		const char *text);
void gen__refused(struct gen *g, uint32_t correlation_id, uint32_t result);
void gen__graph_clone(struct gen *g, uint64_t node_id, uint64_t original_id);
void gen__message(struct gen *g, uint16_t level, const char *s);

/*
 * A small ELF file (x86-64, ET_DYN) whose code is mapped from offset 0x1000 to address 0x1000, and
 * whose symbol table is exactly @symbols.
 */
struct gen_symbol {
	const char *name;
	uint64_t value;
	uint64_t size;
	uint8_t info;			/* ELF64_ST_INFO(bind, type) */
};

#define GEN_TEXT_OFFSET	0x1000
#define GEN_TEXT_BYTES	0x1000

void gen__elf(struct gen *g, const struct gen_symbol *symbols, size_t nr, const void *build_id,
	      size_t build_id_len);

#endif /* TEST_LIB_GEN_H */
