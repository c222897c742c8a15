// SPDX-License-Identifier: GPL-3.0-or-later
#include "gen.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void gen__free(struct gen *g)
{
	free(g->v);
	memset(g, 0, sizeof(*g));
}

void gen__bytes(struct gen *g, const void *bytes, size_t nr)
{
	if (g->cap - g->nr < nr) {
		g->cap = (g->nr + nr) * 2;
		g->v = realloc(g->v, g->cap);
		if (!g->v)
			abort();
	}
	if (nr)
		memcpy(g->v + g->nr, bytes, nr);
	g->nr += nr;
}

static int write_all(int fd, const uint8_t *v, size_t nr)
{
	ssize_t done;

	for (; nr; v += done, nr -= done) {
		done = write(fd, v, nr);
		if (done < 0)
			return -errno;
	}
	return 0;
}

int gen__save(const struct gen *g, const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	int err;

	if (fd < 0)
		return -errno;
	err = write_all(fd, g->v, g->nr);
	if (close(fd) && !err)
		err = -errno;
	return err;
}

void gen__flush(struct gen *g, int fd)
{
	if (write_all(fd, g->v, g->nr))
		abort();
	g->nr = 0;
}

void gen__record(struct gen *g, uint16_t type, uint16_t misc, const void *fixed,
		 size_t fixed_bytes, const void *tail, size_t tail_bytes)
{
	static const uint8_t zeros[8];
	size_t bytes = fixed_bytes + tail_bytes;
	struct xpu_record hdr = { type, misc | XPU_WITH_API(g->api, 0), (bytes + 7) / 8 * 8 };

	gen__bytes(g, &hdr, sizeof(hdr));
	gen__bytes(g, (const uint8_t *)fixed + sizeof(hdr), fixed_bytes - sizeof(hdr));
	gen__bytes(g, tail, tail_bytes);
	gen__bytes(g, zeros, hdr.size - bytes);
}

#define RECORD(type, misc, rec)		gen__record(g, type, misc, &(rec), sizeof(rec), NULL, 0)
#define RECORD_TAIL(type, misc, rec, tail, bytes) \
	gen__record(g, type, misc, &(rec), sizeof(rec), tail, bytes)

/* ---- top level ------------------------------------------------------------------------------ */

void gen__header(struct gen *g)
{
	struct xpu_file_header h = {
		.magic = XPU_FILE_MAGIC,
		.endian = XPU_FILE_ENDIAN,
		.version_major = XPU_VERSION_PLAIN,
		.version_minor = XPU_VERSION_PLAIN_MINOR,
		.header_bytes = sizeof(h),
		.clockid = 1,
		.start_mono_ns = 1000,
		.start_real_ns = 1700000000000000000ull,
		.nr_cpus = 2,
	};

	gen__bytes(g, &h, sizeof(h));
}

void gen__seal(struct gen *g)
{
	struct xpu_file_header *h = (void *)g->v;

	h->version_major = XPU_VERSION_MAJOR;
	h->version_minor = XPU_VERSION_MINOR;
	file_header__seal(h);
}

void gen__pack(struct gen *g, struct block_packer *p, const void *records, size_t bytes,
	       size_t block_bytes)
{
	const uint8_t *at = records, *end = at + bytes;
	const struct xpu_record_block *b;
	size_t nr, size;

	for (; at < end; at += nr) {
		for (nr = 0; at + nr < end; nr += size) {
			size = ((const struct xpu_record *)(at + nr))->size;
			if (nr && nr + size > block_bytes)
				break;
		}
		b = block_packer__pack(p, at, nr);
		if (!b)
			abort();
		gen__bytes(g, b, b->hdr.size);
	}
}

void gen__blocks(struct gen *g, const struct gen *plain, int level, size_t block_bytes)
{
	struct block_packer *p = block_packer__new(level);

	if (!p)
		abort();
	gen__bytes(g, plain->v, sizeof(struct xpu_file_header));
	gen__seal(g);
	gen__pack(g, p, plain->v + sizeof(struct xpu_file_header),
		  plain->nr - sizeof(struct xpu_file_header), block_bytes);
	block_packer__free(p);
}

void gen__info(struct gen *g, uint32_t key, const char *data, size_t bytes)
{
	struct xpu_record_info rec = { .key = key, .bytes = bytes };

	RECORD_TAIL(XPU_RECORD_INFO, 0, rec, data, bytes);
}

void gen__process(struct gen *g, uint16_t how, uint64_t time_ns, uint32_t proc_id, uint32_t pid,
		  uint32_t parent_proc_id, const char *comm)
{
	struct xpu_record_process rec = {
		.time_ns = time_ns,
		.proc_id = proc_id,
		.pid = pid,
		.parent_proc_id = parent_proc_id,
	};

	memcpy(rec.comm, comm, strnlen(comm, sizeof(rec.comm)));
	RECORD(XPU_RECORD_PROCESS, how, rec);
}

void gen__process_exit(struct gen *g, uint64_t time_ns, uint32_t proc_id, uint32_t pid,
		       uint32_t exit_code)
{
	struct xpu_record_process_exit rec = {
		.time_ns = time_ns,
		.proc_id = proc_id,
		.pid = pid,
		.exit_code = exit_code,
	};

	RECORD(XPU_RECORD_PROCESS_EXIT, 0, rec);
}

void gen__thread(struct gen *g, uint32_t thread_id, uint32_t proc_id, uint32_t tid)
{
	struct xpu_record_thread rec = {
		.thread_id = thread_id, .proc_id = proc_id, .tid = tid, .ns_tid = g->ns_tid,
	};

	RECORD(XPU_RECORD_THREAD, 0, rec);
}

void gen__mmap(struct gen *g, uint64_t time_ns, uint32_t pid, uint64_t start, uint64_t len,
	       uint64_t pgoff, const char *filename, const void *build_id, size_t build_id_len)
{
	struct xpu_record_mmap rec = {
		.time_ns = time_ns,
		.pid = pid,
		.tid = pid,
		.start = start,
		.len = len,
		.pgoff = pgoff,
		.prot = 5,
		.flags = 2,
		.build_id_len = build_id_len,
	};

	if (build_id_len)
		memcpy(rec.build_id, build_id, build_id_len);
	RECORD_TAIL(XPU_RECORD_MMAP, build_id_len ? XPU_MISC_MMAP_BUILD_ID : 0, rec, filename,
		    strlen(filename) + 1);
}

void gen__comm(struct gen *g, uint16_t misc, uint64_t time_ns, uint32_t pid, uint32_t tid,
	       const char *comm)
{
	struct xpu_record_comm rec = { .time_ns = time_ns, .pid = pid, .tid = tid };

	memcpy(rec.comm, comm, strnlen(comm, sizeof(rec.comm)));
	RECORD(XPU_RECORD_COMM, misc, rec);
}

void gen__fork(struct gen *g, uint64_t time_ns, uint32_t pid, uint32_t tid, uint32_t ppid,
	       uint32_t ptid)
{
	struct xpu_record_task rec = {
		.time_ns = time_ns, .pid = pid, .tid = tid, .ppid = ppid, .ptid = ptid,
	};

	RECORD(XPU_RECORD_FORK, 0, rec);
}

void gen__callchain(struct gen *g, uint16_t flags, uint64_t time_ns, uint32_t path_id,
		    uint32_t proc_id, uint16_t domain, uint32_t cbid, const uint64_t *frames,
		    size_t nr_frames)
{
	struct xpu_record_callchain rec = {
		.path_id = path_id,
		.proc_id = proc_id,
		.time_ns = time_ns,
		.cbid = cbid,
		.domain = domain,
		.nr_frames = nr_frames,
	};

	RECORD_TAIL(XPU_RECORD_CALLCHAIN, flags, rec, frames, nr_frames * sizeof(*frames));
}

void gen__launches(struct gen *g, uint64_t time_ns, const struct xpu_launch *launches, size_t nr)
{
	struct xpu_record_launches rec = { .time_ns = time_ns, .nr = nr };

	RECORD_TAIL(XPU_RECORD_LAUNCHES, 0, rec, launches, nr * sizeof(*launches));
}

void gen__launches_in(struct gen *g, uint64_t time_ns, const struct xpu_launch *launches,
		      const uint32_t *range_ids, size_t nr)
{
	struct xpu_record_launches rec = { .time_ns = time_ns, .nr = nr };
	uint8_t tail[256 * (sizeof(*launches) + sizeof(*range_ids))];

	if (nr * (sizeof(*launches) + sizeof(*range_ids)) > sizeof(tail))
		abort();
	memcpy(tail, launches, nr * sizeof(*launches));
	memcpy(tail + nr * sizeof(*launches), range_ids, nr * sizeof(*range_ids));
	RECORD_TAIL(XPU_RECORD_LAUNCHES, XPU_MISC_LAUNCHES_RANGES, rec, tail,
		    nr * (sizeof(*launches) + sizeof(*range_ids)));
}

void gen__ranges(struct gen *g, uint64_t time_ns, const struct xpu_range_event *events, size_t nr)
{
	struct xpu_record_ranges rec = { .time_ns = time_ns, .nr = nr };

	RECORD_TAIL(XPU_RECORD_RANGES, 0, rec, events, nr * sizeof(*events));
}

void gen__range(struct gen *g, uint64_t time_ns, uint32_t proc_id, uint32_t id, uint32_t parent,
		const char *domain, const char *name)
{
	struct xpu_record_range rec = {
		.id = id,
		.parent = parent,
		.name_bytes = strlen(name) + 1,
		.domain_bytes = strlen(domain) + 1,
	};
	char tail[XPU_RANGE_NAME_MAX + XPU_RANGE_DOMAIN_MAX];

	if (rec.name_bytes + rec.domain_bytes > (int)sizeof(tail))
		abort();
	memcpy(tail, name, rec.name_bytes);
	memcpy(tail + rec.name_bytes, domain, rec.domain_bytes);
	gen__batch_begin(g, time_ns, proc_id, 0);
	RECORD_TAIL(XPU_RECORD_RANGE, 0, rec, tail, rec.name_bytes + rec.domain_bytes);
	gen__batch_end(g);
}

void gen__nccl_range(struct gen *g, uint64_t time_ns, uint32_t proc_id, uint32_t id,
		     uint32_t parent, const char *name, const struct xpu_range_payload *payload)
{
	static const char domain[] = "NCCL";
	struct xpu_record_range rec = {
		.id = id,
		.parent = parent,
		.payload_bytes = sizeof(*payload),
		.name_bytes = strlen(name) + 1,
		.domain_bytes = sizeof(domain),
	};
	char tail[XPU_RANGE_NAME_MAX + 16 + sizeof(*payload)] = "";
	size_t names = rec.name_bytes + rec.domain_bytes, at = (names + 7) & ~(size_t)7;

	if (rec.name_bytes > XPU_RANGE_NAME_MAX)
		abort();
	memcpy(tail, name, rec.name_bytes);
	memcpy(tail + rec.name_bytes, domain, sizeof(domain));
	memcpy(tail + at, payload, sizeof(*payload));
	gen__batch_begin(g, time_ns, proc_id, 0);
	RECORD_TAIL(XPU_RECORD_RANGE, 0, rec, tail, at + sizeof(*payload));
	gen__batch_end(g);
}

void gen__launch(struct gen *g, uint64_t time_ns, uint32_t correlation_id, uint32_t path_id,
		 uint32_t thread_id)
{
	struct xpu_launch l = {
		.correlation_id = correlation_id, .path_id = path_id, .thread_id = thread_id,
	};

	gen__launches(g, time_ns, &l, 1);
}

void gen__graph_node(struct gen *g, uint64_t time_ns, uint64_t node_id, uint32_t proc_id,
		     uint32_t correlation_id, uint32_t path_id, uint32_t thread_id)
{
	struct xpu_record_graph_node rec = {
		.time_ns = time_ns,
		.node_id = node_id,
		.proc_id = proc_id,
		.correlation_id = correlation_id,
		.path_id = path_id,
		.thread_id = thread_id,
	};

	RECORD(XPU_RECORD_GRAPH_NODE, 0, rec);
}

void gen__wait(struct gen *g, uint16_t flags, uint64_t start_ns, uint64_t duration_ns,
	       uint32_t path_id, uint32_t thread_id, uint32_t context, uint32_t stream,
	       uint32_t correlation_id)
{
	struct xpu_record_wait rec = {
		.start_ns = start_ns,
		.duration_ns = duration_ns,
		.path_id = path_id,
		.thread_id = thread_id,
		.context = context,
		.stream = stream,
		.correlation_id = correlation_id,
	};

	RECORD(XPU_RECORD_WAIT, flags, rec);
}

void gen__samples(struct gen *g, uint64_t time_ns, uint32_t period_ns,
		  const struct xpu_sample *samples, size_t nr)
{
	struct xpu_record_samples rec = { .time_ns = time_ns, .nr = nr, .period_ns = period_ns };

	RECORD_TAIL(XPU_RECORD_SAMPLES, 0, rec, samples, nr * sizeof(*samples));
}

void gen__samples_ran(struct gen *g, uint64_t time_ns, uint32_t period_ns,
		      const struct xpu_sample *samples, const uint32_t *ran_ns, size_t nr)
{
	struct xpu_record_samples rec = { .time_ns = time_ns, .nr = nr, .period_ns = period_ns };
	size_t bytes = nr * sizeof(*samples), ran_bytes = nr * sizeof(*ran_ns);
	uint8_t *tail = calloc(1, bytes + ran_bytes + 1);

	if (!tail)
		abort();
	memcpy(tail, samples, bytes);
	memcpy(tail + bytes, ran_ns, ran_bytes);
	RECORD_TAIL(XPU_RECORD_SAMPLES, XPU_MISC_SAMPLES_RAN, rec, tail, bytes + ran_bytes);
	free(tail);
}

void gen__cpu_rest(struct gen *g, uint64_t from_ns, uint64_t end_ns, uint64_t ns, uint32_t proc_id,
		   uint32_t thread_id)
{
	struct xpu_record_cpu_rest rec = {
		.from_ns = from_ns, .end_ns = end_ns, .ns = ns, .proc_id = proc_id,
		.thread_id = thread_id,
	};

	RECORD(XPU_RECORD_CPU_REST, 0, rec);
}

void gen__stack(struct gen *g, uint16_t misc, uint64_t time_ns, uint32_t path_id,
		uint32_t thread_id, uint32_t period_ns, const uint64_t *regs, const void *stack,
		uint32_t bytes, uint64_t mask)
{
	uint64_t before = regs[XPU_REG_SP] % XPU_STACK_BLOCK;
	uint32_t nr = (before + bytes + XPU_STACK_BLOCK - 1) / XPU_STACK_BLOCK, i;
	struct xpu_record_stack rec = {
		.time_ns = time_ns,
		.path_id = path_id,
		.thread_id = thread_id,
		.period_ns = period_ns,
		.bytes = bytes,
		.nr_python = g->nr_python,
	};
	uint8_t blocks[64 * XPU_STACK_BLOCK] = { 0 };
	struct gen tail = { 0 };

	if (nr > 64)
		abort();
	if (!(misc & XPU_MISC_STACK_DELTA))
		mask = nr == 64 ? UINT64_MAX : (1ull << nr) - 1;
	memcpy(rec.regs, regs, sizeof(rec.regs));
	memcpy(blocks + before, stack, bytes);
	gen__bytes(&tail, g->python, g->nr_python * sizeof(*g->python));
	gen__bytes(&tail, &mask, sizeof(mask));
	for (i = 0; i < nr; i++)
		if (mask & 1ull << i)
			gen__bytes(&tail, blocks + i * XPU_STACK_BLOCK, XPU_STACK_BLOCK);
	RECORD_TAIL(XPU_RECORD_STACK, misc, rec, tail.v, tail.nr);
	gen__free(&tail);
}

void gen__pysource(struct gen *g, uint32_t id, uint16_t minor, const char *name,
		   const char *filename, uint32_t first_line, const void *table, size_t table_bytes)
{
	struct xpu_record_pysource rec = {
		.id = id,
		.first_line = first_line,
		.minor = minor,
		.name_width = 1,
		.file_width = 1,
		.name_bytes = strlen(name),
		.file_bytes = strlen(filename),
		.table_bytes = table_bytes,
	};
	struct gen tail = { 0 };

	gen__bytes(&tail, name, rec.name_bytes);
	gen__bytes(&tail, filename, rec.file_bytes);
	gen__bytes(&tail, table, table_bytes);
	RECORD_TAIL(XPU_RECORD_PYSOURCE, 0, rec, tail.v, tail.nr);
	gen__free(&tail);
}

void gen__ksym(struct gen *g, uint64_t start, uint64_t end, const char *name)
{
	struct xpu_record_ksym rec = { .start = start, .end = end, .bytes = strlen(name) + 1 };

	RECORD_TAIL(XPU_RECORD_KSYM, 0, rec, name, rec.bytes);
}

void gen__off_cpu(struct gen *g, uint16_t kind, uint64_t last_ns, uint64_t nr, uint64_t sum_ns,
		  uint64_t max_ns, uint32_t path_id, uint32_t thread_id)
{
	struct xpu_record_off_cpu rec = {
		.last_ns = last_ns, .nr = nr, .sum_ns = sum_ns, .max_ns = max_ns,
		.path_id = path_id, .thread_id = thread_id,
	};

	RECORD(XPU_RECORD_OFF_CPU, kind, rec);
}

void gen__off_sum(struct gen *g, uint16_t kind, uint64_t first_ns, uint64_t end_ns, uint64_t nr,
		  uint64_t sum_ns, uint32_t path_id, uint32_t thread_id)
{
	struct xpu_record_off_cpu rec = {
		.last_ns = end_ns - sum_ns / nr, .nr = nr, .sum_ns = sum_ns, .max_ns = sum_ns / nr,
		.path_id = path_id, .thread_id = thread_id, .first_ns = first_ns, .end_ns = end_ns,
	};

	RECORD(XPU_RECORD_OFF_CPU, kind, rec);
}

void gen__off(struct gen *g, uint16_t kind, uint64_t start_ns, uint64_t duration_ns,
	      uint32_t path_id, uint32_t thread_id)
{
	struct xpu_record_off rec = {
		.start_ns = start_ns, .duration_ns = duration_ns,
		.path_id = path_id, .thread_id = thread_id,
	};

	RECORD(XPU_RECORD_OFF, kind, rec);
}

void gen__account(struct gen *g, uint64_t start_ns, uint64_t end_ns, uint32_t thread_id,
		  const struct xpu_thread_time *time)
{
	struct xpu_record_account rec = {
		.start_ns = start_ns, .end_ns = end_ns, .thread_id = thread_id, .time = *time,
	};

	RECORD(XPU_RECORD_ACCOUNT, 0, rec);
}

void gen__metric(struct gen *g, uint16_t set, uint16_t index, uint32_t kind, const void *uuid,
		 const char *name, const char *unit)
{
	struct xpu_record_metric rec = {
		.set = set, .index = index, .kind = kind, .name_bytes = strlen(name) + 1,
		.unit_bytes = strlen(unit) + 1,
	};
	char text[2 * XPU_METRIC_NAME_MAX];

	memcpy(rec.uuid, uuid, sizeof(rec.uuid));
	memcpy(text, name, rec.name_bytes);
	memcpy(text + rec.name_bytes, unit, rec.unit_bytes);
	RECORD_TAIL(XPU_RECORD_METRIC, 0, rec, text, rec.name_bytes + rec.unit_bytes);
}

void gen__metrics(struct gen *g, uint16_t set, uint64_t begin_ns, uint32_t duration_ns, uint16_t nr,
		  const float *values)
{
	struct xpu_record_metrics rec = {
		.set = set, .nr_metrics = nr, .nr_rows = 1, .time_ns = begin_ns
	};
	uint32_t words[XPU_METRICS_ROW_WORDS(XPU_MAX_METRICS)] = { 0, duration_ns };

	memcpy(words + 2, values, nr * sizeof(*values));
	RECORD_TAIL(XPU_RECORD_METRICS, 0, rec, words,
		    XPU_METRICS_ROW_WORDS(nr) * sizeof(words[0]));
}

void gen__metrics_end(struct gen *g, uint16_t set, uint32_t nr_overflows, uint64_t nr_rows,
		      uint64_t lost_ns)
{
	struct xpu_record_metrics_end rec = {
		.set = set, .nr_overflows = nr_overflows, .nr_rows = nr_rows, .lost_ns = lost_ns,
	};

	RECORD(XPU_RECORD_METRICS_END, 0, rec);
}

void gen__lost(struct gen *g, uint64_t time_ns, uint32_t kind, uint64_t count)
{
	struct xpu_record_lost rec = { .time_ns = time_ns, .kind = kind, .count = count };

	RECORD(XPU_RECORD_LOST, 0, rec);
}

void gen__end(struct gen *g, uint64_t time_ns, uint32_t wait_status)
{
	struct xpu_record_end rec = { .time_ns = time_ns, .wait_status = wait_status };

	RECORD(XPU_RECORD_END, 0, rec);
}

/* ---- inside a batch ------------------------------------------------------------------------- */

void gen__batch_begin(struct gen *g, uint64_t time_ns, uint32_t proc_id, uint32_t tid)
{
	struct xpu_record_batch rec = {
		.time_ns = time_ns, .proc_id = proc_id, .tid = tid, .ns_tid = g->ns_tid,
	};

	g->batch = g->nr;
	RECORD(XPU_RECORD_BATCH, 0, rec);
}

void gen__batch_end(struct gen *g)
{
	struct xpu_record_batch *rec = (void *)(g->v + g->batch);

	rec->bytes = gen__batch_bytes(g);
	rec->hdr.size = g->nr - g->batch;
	g->batch = 0;
}

size_t gen__batch_bytes(const struct gen *g)
{
	return g->nr - g->batch - sizeof(struct xpu_record_batch);
}

void gen__string(struct gen *g, uint32_t id, const char *s)
{
	struct xpu_record_string rec = { .id = id, .bytes = strlen(s) + 1 };

	RECORD_TAIL(XPU_RECORD_STRING, 0, rec, s, rec.bytes);
}

void gen__api(struct gen *g, uint32_t domain, uint32_t cbid, uint32_t name)
{
	struct xpu_record_api rec = { .domain = domain, .cbid = cbid, .name = name };

	RECORD(XPU_RECORD_API, 0, rec);
}

void gen__device(struct gen *g, uint32_t device, uint32_t name, const void *uuid)
{
	struct xpu_record_device rec = { .device = device, .name = name };

	if (uuid)
		memcpy(rec.uuid, uuid, sizeof(rec.uuid));
	RECORD(XPU_RECORD_DEVICE, 0, rec);
}

void gen__limits(struct gen *g, uint32_t device, uint32_t name, const void *uuid)
{
	struct xpu_record_device rec = {
		.device = device, .name = name,
		.limits = { 90, 132, 32, 2048, 32, 65536, 233472, 65536, 1024, 0 },
	};

	memcpy(rec.uuid, uuid, sizeof(rec.uuid));
	RECORD(XPU_RECORD_DEVICE, 0, rec);
}

void gen__shape(struct gen *g, uint32_t name, const struct xpu_shape *shape)
{
	struct xpu_record_shape rec = { .name = name, .shape = *shape };

	RECORD(XPU_RECORD_SHAPE, 0, rec);
}

void gen__stream(struct gen *g, uint32_t id, uint32_t device, uint32_t context, uint32_t stream)
{
	struct xpu_record_stream rec = {
		.id = id, .device = device, .context = context, .stream = stream,
	};

	RECORD(XPU_RECORD_STREAM, 0, rec);
}

void gen__kernel(struct gen *g, uint16_t misc, uint64_t start_ns, uint64_t duration_ns,
		 uint32_t correlation_id, uint32_t name, uint32_t stream)
{
	struct xpu_record_kernel rec = {
		.start_ns = start_ns,
		.duration_ns = duration_ns,
		.correlation_id = correlation_id,
		.name = name,
		.stream = stream,
	};
	uint64_t node = g->node ? g->node : start_ns;

	RECORD_TAIL(XPU_RECORD_KERNEL, misc, rec, &node,
		    misc & XPU_MISC_GRAPH_NODE ? sizeof(node) : 0);
}

static void gen__memory(struct gen *g, uint16_t type, uint16_t misc,
			const struct xpu_record_memory *rec)
{
	uint64_t node = g->node ? g->node : rec->start_ns;

	gen__record(g, type, misc, rec, sizeof(*rec), &node,
		    misc & XPU_MISC_GRAPH_NODE ? sizeof(node) : 0);
}

void gen__memcpy(struct gen *g, uint16_t misc, uint64_t start_ns, uint64_t duration_ns,
		 uint32_t correlation_id, uint32_t stream, uint64_t bytes, uint8_t copy_kind)
{
	struct xpu_record_memory rec = {
		.start_ns = start_ns,
		.duration_ns = duration_ns,
		.correlation_id = correlation_id,
		.stream = stream,
		.bytes = bytes,
		.copy_kind = copy_kind,
	};

	gen__memory(g, XPU_RECORD_MEMCPY, misc, &rec);
}

void gen__memset(struct gen *g, uint16_t misc, uint64_t start_ns, uint64_t duration_ns,
		 uint32_t correlation_id, uint32_t stream, uint64_t bytes)
{
	struct xpu_record_memory rec = {
		.start_ns = start_ns,
		.duration_ns = duration_ns,
		.correlation_id = correlation_id,
		.stream = stream,
		.bytes = bytes,
	};

	gen__memory(g, XPU_RECORD_MEMSET, misc, &rec);
}

void gen__calls(struct gen *g, uint64_t time_ns, uint32_t tid, const struct xpu_call *calls,
		size_t nr)
{
	struct xpu_record_calls rec = { .time_ns = time_ns, .tid = tid, .nr = nr };

	gen__record(g, XPU_RECORD_CALLS, 0, &rec, sizeof(rec), calls, nr * sizeof(*calls));
}

void gen__counters(struct gen *g, const struct xpu_record_counters *c)
{
	RECORD(XPU_RECORD_COUNTERS, 0, *c);
}

void gen__graph_clone(struct gen *g, uint64_t node_id, uint64_t original_id)
{
	struct xpu_record_graph_clone rec = { .node_id = node_id, .original_id = original_id };

	RECORD(XPU_RECORD_GRAPH_CLONE, 0, rec);
}

void gen__label(struct gen *g, uint32_t proc_id, uint16_t source, uint32_t label, uint32_t number,
		const char *text)
{
	struct xpu_record_label rec = {
		.proc_id = proc_id, .label = label, .number = number,
		.bytes = text ? strlen(text) + 1 : 0,
	};

	RECORD_TAIL(proc_id ? XPU_RECORD_PROCESS_LABEL : XPU_RECORD_LABEL, source, rec, text ?: "",
		    rec.bytes);
}

void gen__refused(struct gen *g, uint32_t correlation_id, uint32_t result)
{
	struct xpu_record_refused rec = { .correlation_id = correlation_id, .result = result };

	RECORD(XPU_RECORD_REFUSED, 0, rec);
}

void gen__message(struct gen *g, uint16_t level, const char *s)
{
	struct xpu_record_message rec = { .bytes = strlen(s) + 1 };

	RECORD_TAIL(XPU_RECORD_MESSAGE, level, rec, s, rec.bytes);
}

/* ---- ELF ------------------------------------------------------------------------------------ */

void gen__elf(struct gen *g, const struct gen_symbol *symbols, size_t nr, const void *build_id,
	      size_t build_id_len)
{
	enum { S_NULL, S_TEXT, S_NOTE, S_SYMTAB, S_STRTAB, S_NR };
	static const char shstrtab[] = "\0.text\0.note.gnu.build-id\0.symtab\0.strtab";
	Elf64_Ehdr eh = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(eh),
		.e_ehsize = sizeof(eh),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 2,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = S_NR,
		.e_shstrndx = S_STRTAB,
	};
	Elf64_Nhdr nh = { .n_namesz = 4, .n_descsz = build_id_len, .n_type = NT_GNU_BUILD_ID };
	Elf64_Phdr ph[2] = {
		{ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_offset = GEN_TEXT_OFFSET,
		  .p_vaddr = GEN_TEXT_OFFSET, .p_filesz = GEN_TEXT_BYTES, .p_memsz = GEN_TEXT_BYTES,
		  .p_align = 0x1000 },
		{ .p_type = PT_NOTE, .p_flags = PF_R, .p_align = 4 },
	};
	Elf64_Shdr sh[S_NR] = {
		[S_TEXT] = { .sh_name = 1, .sh_type = SHT_PROGBITS,
			     .sh_flags = SHF_ALLOC | SHF_EXECINSTR, .sh_addr = GEN_TEXT_OFFSET,
			     .sh_offset = GEN_TEXT_OFFSET, .sh_size = GEN_TEXT_BYTES },
		[S_NOTE] = { .sh_name = 7, .sh_type = SHT_NOTE, .sh_addralign = 4 },
		[S_SYMTAB] = { .sh_name = 26, .sh_type = SHT_SYMTAB, .sh_link = S_STRTAB,
			       .sh_entsize = sizeof(Elf64_Sym), .sh_addralign = 8 },
		[S_STRTAB] = { .sh_name = 34, .sh_type = SHT_STRTAB },
	};
	static const uint8_t zeros[8], page[GEN_TEXT_BYTES];
	struct gen strings = { 0 };
	size_t start = g->nr, i;

	gen__bytes(&strings, shstrtab, sizeof(shstrtab));
	gen__bytes(g, &eh, sizeof(eh));
	gen__bytes(g, ph, sizeof(ph));
	ph[1].p_offset = sh[S_NOTE].sh_offset = g->nr - start;
	ph[1].p_filesz = sh[S_NOTE].sh_size = build_id_len ? sizeof(nh) + 4 + build_id_len : 0;
	if (build_id_len) {
		gen__bytes(g, &nh, sizeof(nh));
		gen__bytes(g, "GNU", 4);
		gen__bytes(g, build_id, build_id_len);
	}
	gen__bytes(g, page, GEN_TEXT_OFFSET - (g->nr - start));
	gen__bytes(g, page, GEN_TEXT_BYTES);
	sh[S_SYMTAB].sh_offset = g->nr - start;
	sh[S_SYMTAB].sh_size = (nr + 1) * sizeof(Elf64_Sym);
	sh[S_SYMTAB].sh_info = 1;
	for (i = 0; i <= nr; i++) {
		Elf64_Sym sym = { 0 };

		if (i) {
			sym.st_name = strings.nr;
			sym.st_info = symbols[i - 1].info;
			sym.st_shndx = S_TEXT;
			sym.st_value = symbols[i - 1].value;
			sym.st_size = symbols[i - 1].size;
			gen__bytes(&strings, symbols[i - 1].name, strlen(symbols[i - 1].name) + 1);
		}
		gen__bytes(g, &sym, sizeof(sym));
	}
	sh[S_STRTAB].sh_offset = g->nr - start;
	sh[S_STRTAB].sh_size = strings.nr;
	gen__bytes(g, strings.v, strings.nr);
	gen__free(&strings);
	gen__bytes(g, zeros, -(g->nr - start) & 7);
	eh.e_shoff = g->nr - start;
	gen__bytes(g, sh, sizeof(sh));
	memcpy(g->v + start, &eh, sizeof(eh));
	memcpy(g->v + start + sizeof(eh), ph, sizeof(ph));
}
