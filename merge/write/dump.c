// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/dump.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "block.h"
#include "escape.h"
#include "model/labels.h"
#include "model/nvtx.h"
#include "xpu_utf8.h"

struct dump {
	FILE *f;
	const struct reader *reader;
	struct dump_result *result;
	uint64_t block;			/* the offset of the block that was printed last */
	uint64_t nr_damages;		/* number of damages printed */
	uint64_t nr_unknown;
	bool ended;
	bool aarch64;			/* the machine that was recorded; otherwise it is x86_64 */
	int err;
};

/* ---- members -------------------------------------------------------------------------------- */

enum member_kind {
	MEMBER_DECIMAL,
	MEMBER_SIGNED,
	MEMBER_HEX,
	MEMBER_NAME,			/* a number that has names */
	MEMBER_COMM,			/* XPU_COMM_LEN characters, perhaps without a NUL */
};

struct member {
	const char *name;
	uint32_t offset, bytes;
	enum member_kind kind;
	const char *const *names;	/* MEMBER_NAME: by number, ended by a NULL that is not the
					 * first */
};

/* A list ends with a member without a name. */
#define MEMBER(type, m, kind_) \
	{ .name = #m, .offset = offsetof(struct type, m), \
	  .bytes = sizeof(((struct type *)0)->m), .kind = kind_ }
#define DECIMAL(type, m)	MEMBER(type, m, MEMBER_DECIMAL)
#define HEX(type, m)		MEMBER(type, m, MEMBER_HEX)
#define COMM(type, m)		MEMBER(type, m, MEMBER_COMM)
#define NAME(type, m, list) \
	{ .name = #m, .offset = offsetof(struct type, m), \
	  .bytes = sizeof(((struct type *)0)->m), .kind = MEMBER_NAME, .names = list }
#define END			{ .name = NULL }

static void print_text(FILE *f, const char *text)
{
	putc('"', f);
	escape__print(f, text, ESCAPE_JSON);
	putc('"', f);
}

/* Prints @bytes of text, in which NULs separate strings, as quoted strings. */
static void dump__text(struct dump *d, const char *text, size_t bytes)
{
	char *copy = malloc(bytes + 1);
	size_t at;

	if (!copy) {
		d->err = -ENOMEM;
		return;
	}
	memcpy(copy, text, bytes);
	copy[bytes] = '\0';
	for (at = 0; at == 0 || at < bytes; at += strlen(copy + at) + 1) {
		putc(' ', d->f);
		print_text(d->f, copy + at);
	}
	free(copy);
}

static uint64_t member__value(const struct member *m, const void *base)
{
	const uint8_t *at = (const uint8_t *)base + m->offset;
	uint64_t value = 0;

	/* This assumes little endian: the reader refuses recordings with another byte order. */
	memcpy(&value, at, m->bytes);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	value >>= 64 - 8 * m->bytes;
#endif
	return value;
}

static void print_name(FILE *f, const char *const *names, uint64_t value)
{
	uint64_t i;

	for (i = 0; i <= value && (!i || names[i]); i++)
		if (i == value && names[i]) {
			fputs(names[i], f);
			return;
		}
	fprintf(f, "%" PRIu64, value);
}

static void member__print(const struct member *m, const void *base, struct dump *d)
{
	uint64_t value;

	if (m->kind == MEMBER_COMM) {
		char comm[XPU_COMM_LEN + 1] = "";

		memcpy(comm, (const char *)base + m->offset, XPU_COMM_LEN);
		fprintf(d->f, "%s=", m->name);
		print_text(d->f, comm);
		return;
	}
	value = member__value(m, base);
	fprintf(d->f, "%s=", m->name);
	switch (m->kind) {
	case MEMBER_SIGNED:
		fprintf(d->f, "%" PRId32, (int32_t)value);
		break;
	case MEMBER_HEX:
		fprintf(d->f, "%#" PRIx64, value);
		break;
	case MEMBER_NAME:
		print_name(d->f, m->names, value);
		break;
	default:
		fprintf(d->f, "%" PRIu64, value);
		break;
	}
}

/* Prints the members that lie inside @bytes at @base: records of older versions are shorter. */
static void dump__members(struct dump *d, const struct member *list, const void *base, size_t bytes,
			  const char *before)
{
	const struct member *m;

	for (m = list; m->name && m->offset + m->bytes <= bytes; m++) {
		fputs(m == list ? before : " ", d->f);
		member__print(m, base, d);
	}
}

/* Prints @nr structures of @bytes each, in braces. */
static void dump__rows(struct dump *d, const struct member *list, const void *rows, uint32_t nr,
		       size_t bytes)
{
	uint32_t i;

	for (i = 0; i < nr; i++) {
		dump__members(d, list, (const uint8_t *)rows + i * bytes, bytes, " {");
		putc('}', d->f);
	}
}

/* ---- names of constants --------------------------------------------------------------------- */

static const char *const info_keys[] = {
	[XPU_INFO_VERSION] = "VERSION", [XPU_INFO_HOSTNAME] = "HOSTNAME",
	[XPU_INFO_OS_RELEASE] = "OS_RELEASE", [XPU_INFO_ARCH] = "ARCH",
	[XPU_INFO_CMDLINE] = "CMDLINE", [XPU_INFO_OPTIONS] = "OPTIONS", NULL,
};

static const char *const lost_kinds[] = {
	[XPU_LOST_LAUNCH] = "LAUNCH", [XPU_LOST_BATCH] = "BATCH", [XPU_LOST_PROCESS] = "PROCESS",
	[XPU_LOST_READ] = "READ", [XPU_LOST_SCRATCH] = "SCRATCH",
	[XPU_LOST_SIDEBAND] = "SIDEBAND", [XPU_LOST_DISK] = "DISK", [XPU_LOST_WAIT] = "WAIT",
	[XPU_LOST_SAMPLE] = "SAMPLE", [XPU_LOST_OFF_CPU] = "OFF_CPU",
	[XPU_LOST_ACCOUNT] = "ACCOUNT", [XPU_LOST_RANGE] = "RANGE",
	[XPU_LOST_MALFORMED] = "MALFORMED", [XPU_LOST_ALLOC] = "ALLOC", [XPU_LOST_NR] = NULL,
};

static const char *const range_whats[] = {
	[XPU_RANGE_PUSH] = "PUSH", [XPU_RANGE_POP] = "POP", [XPU_RANGE_START] = "START",
	[XPU_RANGE_END] = "END", [XPU_RANGE_MARK] = "MARK", [XPU_RANGE_SET] = "SET", NULL,
};

static const char *const alloc_whats[] = {
	[XPU_ALLOC_NONE] = "NONE", [XPU_ALLOC_MADE] = "MADE", [XPU_ALLOC_FREED] = "FREED",
	[XPU_ALLOC_FAILED] = "FAILED", [XPU_ALLOC_NOT_FREED] = "NOT_FREED",
	[XPU_ALLOC_CONTEXT_END] = "CONTEXT_END", [XPU_ALLOC_TOTALS] = "TOTALS",
	[XPU_ALLOC_START] = "START", [XPU_ALLOC_HANDLE] = "HANDLE",
	[XPU_ALLOC_RETAINED] = "RETAINED", [XPU_ALLOC_LEVEL] = "LEVEL",
	[XPU_ALLOC_SEGMENTS] = "SEGMENTS", [XPU_ALLOC_NR] = NULL,
};

static const char *const alloc_spaces[] = {
	[XPU_SPACE_DEVICE] = "DEVICE", [XPU_SPACE_MANAGED] = "MANAGED", [XPU_SPACE_POOL] = "POOL",
	[XPU_SPACE_PINNED] = "PINNED", [XPU_SPACE_REGISTERED] = "REGISTERED",
	[XPU_SPACE_PHYSICAL] = "PHYSICAL", [XPU_SPACE_MAPPING] = "MAPPING",
	[XPU_SPACE_ARRAY] = "ARRAY", [XPU_SPACE_IMPORTED] = "IMPORTED", [XPU_SPACE_BLOCK] = "BLOCK",
	[XPU_SPACE_GRAPHS] = "GRAPHS", [XPU_SPACE_UNUSED] = "UNUSED", [XPU_SPACE_REST] = "REST",
	[XPU_SPACE_NR] = NULL,
};

static const char *const process_kinds[] = {
	[XPU_MISC_PROCESS_ROOT] = "ROOT", [XPU_MISC_PROCESS_FORK] = "FORK",
	[XPU_MISC_PROCESS_EXEC] = "EXEC", [XPU_MISC_PROCESS_ATTACH] = "ATTACH", NULL,
};

static const char *const off_kinds[] = {
	[XPU_OFF_LOCK] = "LOCK", [XPU_OFF_IO] = "IO", [XPU_OFF_SLEEP] = "SLEEP",
	[XPU_OFF_POLL] = "POLL", [XPU_OFF_CHILD] = "CHILD", [XPU_OFF_OTHER] = "OTHER",
	[XPU_OFF_RUNNABLE] = "RUNNABLE", [XPU_OFF_CALL] = "CALL", [XPU_OFF_NR] = NULL,
};

static const char *const metric_kinds[] = {
	[XPU_METRIC_MEAN] = "MEAN", [XPU_METRIC_SUM] = "SUM", NULL,
};

static const char *const window_kinds[] = { "closed", "open", NULL };

static const char *const label_sources[] = {
	[XPU_LABEL_BY_TORCH] = "TORCH", [XPU_LABEL_BY_JAX] = "JAX",
	[XPU_LABEL_BY_OPEN_MPI] = "OPEN_MPI", [XPU_LABEL_BY_MVAPICH] = "MVAPICH",
	[XPU_LABEL_BY_PMI] = "PMI", [XPU_LABEL_BY_PMIX] = "PMIX", [XPU_LABEL_BY_SLURM] = "SLURM",
	[XPU_LABEL_BY_PBS] = "PBS", [XPU_LABEL_BY_LSF] = "LSF",
	[XPU_LABEL_BY_KUBERNETES] = "KUBERNETES", [XPU_LABEL_BY_CGROUP] = "CGROUP", NULL,
};

static const char *const message_levels[] = {
	[XPU_MESSAGE_INFO] = "INFO", [XPU_MESSAGE_WARNING] = "WARNING",
	[XPU_MESSAGE_ERROR] = "ERROR", NULL,
};

/* Names of flags are the names of the bits, the lowest first. */
static const char *const exit_flags[] = { "STOPPED", NULL };
static const char *const mmap_flags[] = { "BUILD_ID", "SYNTH", NULL };
static const char *const comm_flags[] = { "EXEC", NULL };
static const char *const chain_flags[] = {
	"TRUNCATED", "SHIM", "FAILED", "CPU", "NO_LAUNCH", "STACK", "OFF", NULL,
};
static const char *const launches_flags[] = { "RANGES", NULL };
static const char *const batch_flags[] = { "CARRIED", NULL };
static const char *const carried_flags[] = { "FINAL", NULL };
static const char *const end_flags[] = { "CONTINUES", NULL };
static const char *const stack_flags[] = { "DELTA", NULL };
static const char *const wait_flags[] = { "STREAM", "OTHERS", "WORK", "LAUNCH", NULL };
static const char *const device_flags[] = { "GRAPH_NODE", "BAD_TIME", NULL };
static const char *const counters_flags[] = { "LAST", NULL };
static const char *const block_flags[] = { "ZSTD", "COLUMNS", NULL };

static void print_flags(FILE *f, const char *const *names, uint32_t flags)
{
	const char *separator = "";
	unsigned int i;

	for (i = 0; names[i]; i++) {
		if (!(flags & 1u << i))
			continue;
		fprintf(f, "%s%s", separator, names[i]);
		flags &= ~(1u << i);
		separator = "|";
	}
	if (flags)
		fprintf(f, "%s%#x", separator, flags);
}

/* ---- data after the members of a record ----------------------------------------------------- */

static void dump__info(struct dump *d, const struct xpu_record *rec)
{
	const struct xpu_record_info *info = (const void *)rec;
	size_t bytes = info->bytes;

	if (info->key == XPU_INFO_ARCH)
		d->aarch64 = bytes >= 7 && !memcmp(info->data, "aarch64", 7);
	/* Leave out the last NUL: no string follows it. */
	dump__text(d, info->data, bytes && !info->data[bytes - 1] ? bytes - 1 : bytes);
}

static void dump__part(struct dump *d, const struct xpu_record *rec)
{
	const struct xpu_record_part *part = (const void *)rec;
	size_t bytes = rec->size - sizeof(*part);

	if (bytes)
		dump__text(d, part->first_name, strnlen(part->first_name, bytes));
}

static void dump__mmap(struct dump *d, const struct xpu_record *rec)
{
	const struct xpu_record_mmap *map = (const void *)rec;
	unsigned int i;

	if (map->build_id_len)
		fputs(" build_id=", d->f);
	for (i = 0; i < map->build_id_len; i++)
		fprintf(d->f, "%02x", map->build_id[i]);
	putc(' ', d->f);
	print_text(d->f, map->filename);
}

static void dump__frame(struct dump *d, uint64_t frame)
{
	if (XPU_FRAME_IS_PYTHON(frame))
		fprintf(d->f, " python:%" PRIu32 ":%" PRIu32, XPU_FRAME_CODE(frame),
			XPU_FRAME_LINE(frame));
	else if (XPU_FRAME_IS_NAMED(frame))
		fprintf(d->f, " string:%" PRIu32, XPU_FRAME_STRING(frame));
	else
		fprintf(d->f, " %#" PRIx64, frame);
}

static void dump__callchain(struct dump *d, const struct xpu_record *rec)
{
	const struct xpu_record_callchain *chain = (const void *)rec;
	unsigned int i;

	for (i = 0; i < chain->nr_frames; i++)
		dump__frame(d, chain->frames[i]);
}

static void dump__launches(struct dump *d, const struct xpu_record *rec)
{
	static const struct member members[] = {
		DECIMAL(xpu_launch, correlation_id), DECIMAL(xpu_launch, path_id),
		MEMBER(xpu_launch, delta_ns, MEMBER_SIGNED), DECIMAL(xpu_launch, thread_id), END
	};
	const struct xpu_record_launches *l = (const void *)rec;
	const uint32_t *range_ids = (const void *)&l->launches[l->nr];
	uint32_t i;

	dump__rows(d, members, l->launches, l->nr, sizeof(l->launches[0]));
	if (!(rec->misc & XPU_MISC_LAUNCHES_RANGES))
		return;
	fputs(" range_id={", d->f);
	for (i = 0; i < l->nr; i++)
		fprintf(d->f, "%s%" PRIu32, i ? " " : "", range_ids[i]);
	putc('}', d->f);
}

static void dump__ranges(struct dump *d, const struct xpu_record *rec)
{
	static const struct member members[] = {
		NAME(xpu_range_event, what, range_whats), DECIMAL(xpu_range_event, range_id),
		DECIMAL(xpu_range_event, thread_id),
		MEMBER(xpu_range_event, delta_ns, MEMBER_SIGNED), DECIMAL(xpu_range_event, place),
		END
	};
	const struct xpu_record_ranges *r = (const void *)rec;

	dump__rows(d, members, r->events, r->nr, sizeof(r->events[0]));
}

static void dump__allocs(struct dump *d, const struct xpu_record *rec)
{
	static const struct member members[] = {
		NAME(xpu_alloc, what, alloc_whats), NAME(xpu_alloc, space, alloc_spaces),
		MEMBER(xpu_alloc, delta_order, MEMBER_SIGNED), HEX(xpu_alloc, address),
		DECIMAL(xpu_alloc, bytes), DECIMAL(xpu_alloc, device), DECIMAL(xpu_alloc, extra),
		DECIMAL(xpu_alloc, path_id), DECIMAL(xpu_alloc, thread_id),
		DECIMAL(xpu_alloc, range_id), MEMBER(xpu_alloc, delta_ns, MEMBER_SIGNED), END
	};
	const struct xpu_record_allocs *a = (const void *)rec;

	dump__rows(d, members, a->events, a->nr, sizeof(a->events[0]));
}

static void dump__samples(struct dump *d, const struct xpu_record *rec)
{
	static const struct member members[] = {
		DECIMAL(xpu_sample, path_id), DECIMAL(xpu_sample, thread_id),
		MEMBER(xpu_sample, delta_ns, MEMBER_SIGNED), DECIMAL(xpu_sample, cpu), END
	};
	const struct xpu_record_samples *s = (const void *)rec;

	dump__rows(d, members, s->samples, s->nr, sizeof(s->samples[0]));
}

static void dump__stack(struct dump *d, const struct xpu_record *rec)
{
	static const char *const aarch64_regs[XPU_NR_REGS] = {
		"x19", "x20", "x21", "x22", "x23", "x24", "x29", "sp", "x25", "x26", "x27", "x28",
		"x30", "x15", "x16", "x17", "pc",
	};
	static const char *const x86_64_regs[XPU_NR_REGS] = {
		"ax", "dx", "cx", "bx", "si", "di", "bp", "sp", "r8", "r9", "r10", "r11", "r12",
		"r13", "r14", "r15", "ip",
	};
	const char *const *regs = d->aarch64 ? aarch64_regs : x86_64_regs;
	const struct xpu_record_stack *s = (const void *)rec;
	const __u64 *bitmap = s->data + s->nr_python;
	size_t nr = 0, there = 0, i;

	for (i = 0; i < XPU_NR_REGS; i++)
		fprintf(d->f, " %s=%#" PRIx64, regs[i], (uint64_t)s->regs[i]);
	for (i = 0; i < s->nr_python; i++) {
		uint64_t word = s->data[i];

		if (XPU_WORD_IS_PYTHON(word))
			fprintf(d->f, " python:%" PRIu32 "+%" PRIu64, XPU_WORD_CODE(word),
				(uint64_t)XPU_WORD_WHERE(word));
		else
			fprintf(d->f, " loop:%#" PRIx64, word);
	}
	if (s->bytes)
		nr = (s->regs[XPU_REG_SP] % XPU_STACK_BLOCK + s->bytes + XPU_STACK_BLOCK - 1) /
		     XPU_STACK_BLOCK;
	for (i = 0; i < (nr + 63) / 64; i++)
		there += __builtin_popcountll(bitmap[i]);
	fprintf(d->f, " blocks=%zu/%zu", there, nr);
}

/* Prints a Python string: characters of @width bytes each. */
static void dump__python_text(struct dump *d, const uint8_t *text, uint32_t bytes, uint8_t width)
{
	char *utf8 = malloc(4 * (size_t)bytes + 1), *to = utf8;
	uint32_t i, c;

	if (!utf8) {
		d->err = -ENOMEM;
		return;
	}
	for (i = 0; width && i + width <= bytes; i += width) {
		c = 0;
		memcpy(&c, text + i, width);
		to = utf8__put_python(to, c);
	}
	*to = '\0';
	putc(' ', d->f);
	print_text(d->f, utf8);
	free(utf8);
}

static void dump__pysource(struct dump *d, const struct xpu_record *rec)
{
	const struct xpu_record_pysource *p = (const void *)rec;

	dump__python_text(d, p->data, p->name_bytes, p->name_width);
	dump__python_text(d, p->data + p->name_bytes, p->file_bytes, p->file_width);
}

static void dump__ksym(struct dump *d, const struct xpu_record *rec)
{
	putc(' ', d->f);
	print_text(d->f, ((const struct xpu_record_ksym *)rec)->name);
}

static void dump__account(struct dump *d, const struct xpu_record *rec)
{
	const struct xpu_record_account *a = (const void *)rec;
	unsigned int i;

	fprintf(d->f, " run_ns=%" PRIu64 " nr_switches=%" PRIu64 " off_ns={",
		(uint64_t)a->time.run_ns, (uint64_t)a->time.nr_switches);
	for (i = 0; i < XPU_OFF_NR; i++)
		fprintf(d->f, "%s%s=%" PRIu64, i ? " " : "", off_kinds[i],
			(uint64_t)a->time.off_ns[i]);
	putc('}', d->f);
}

static void dump__uuid(struct dump *d, const uint8_t uuid[16])
{
	size_t i;

	fputs(" uuid=", d->f);
	for (i = 0; i < 16; i++)
		fprintf(d->f, "%02x", uuid[i]);
}

static void dump__string(struct dump *d, const struct xpu_record *rec)
{
	putc(' ', d->f);
	print_text(d->f, ((const struct xpu_record_string *)rec)->data);
}

static void dump__device(struct dump *d, const struct xpu_record *rec)
{
	const struct xpu_record_device *device = (const void *)rec;

	dump__uuid(d, device->uuid);
	if (rec->size < sizeof(*device))
		return;
	fprintf(d->f, " capability=%" PRIu32 " nr_multiprocessors=%" PRIu32 " warp_threads=%" PRIu32
		" max_threads=%" PRIu32 " max_blocks=%" PRIu32 " registers=%" PRIu32 " shared_bytes=%" PRIu32
		" block_registers=%" PRIu32 " block_reserved_bytes=%" PRIu32, device->limits.capability,
		device->limits.nr_multiprocessors, device->limits.warp_threads,
		device->limits.max_threads, device->limits.max_blocks, device->limits.registers,
		device->limits.shared_bytes, device->limits.block_registers,
		device->limits.block_reserved_bytes);
}

static void dump__dim(struct dump *d, const char *what, const __u32 dim[3])
{
	fprintf(d->f, " %s={%" PRIu32 " %" PRIu32 " %" PRIu32 "}", what, dim[0], dim[1], dim[2]);
}

static void dump__metric(struct dump *d, const struct xpu_record *rec)
{
	const struct xpu_record_metric *m = (const void *)rec;

	dump__uuid(d, m->uuid);
	putc(' ', d->f);
	print_text(d->f, m->data);
	fputs(" unit=", d->f);
	print_text(d->f, m->data + m->name_bytes);
}

static void dump__metrics(struct dump *d, const struct xpu_record *rec)
{
	const struct xpu_record_metrics *m = (const void *)rec;
	const uint32_t *word = m->words;
	uint32_t row, i;
	float value;

	for (row = 0; row < m->nr_rows; row++) {
		fprintf(d->f, " {delta_ns=%" PRIu32 " duration_ns=%" PRIu32, word[0], word[1]);
		for (i = 0, word += 2; i < m->nr_metrics; i++, word++) {
			memcpy(&value, word, sizeof(value));
			fprintf(d->f, " %.7g", value);
		}
		putc('}', d->f);
	}
}

static void dump__shape(struct dump *d, const struct xpu_record *rec)
{
	const struct xpu_shape *shape = &((const struct xpu_record_shape *)rec)->shape;

	dump__dim(d, "grid", shape->grid);
	dump__dim(d, "block", shape->block);
	dump__dim(d, "cluster", shape->cluster);
}

static void dump__kernel(struct dump *d, const struct xpu_record *rec)
{
	const struct xpu_record_kernel *k = (const void *)rec;

	if (rec->misc & XPU_MISC_GRAPH_NODE)
		fprintf(d->f, " graph_node_id=%" PRIu64, (uint64_t)k->graph_node_id[0]);
}

static void dump__memory(struct dump *d, const struct xpu_record *rec)
{
	const struct xpu_record_memory *m = (const void *)rec;

	if (rec->misc & XPU_MISC_GRAPH_NODE)
		fprintf(d->f, " graph_node_id=%" PRIu64, (uint64_t)m->graph_node_id[0]);
}

static void dump__message(struct dump *d, const struct xpu_record *rec)
{
	putc(' ', d->f);
	print_text(d->f, ((const struct xpu_record_message *)rec)->data);
}

static void dump__calls(struct dump *d, const struct xpu_record *rec)
{
	const struct xpu_record_calls *calls = (const void *)rec;
	uint32_t i;

	for (i = 0; i < calls->nr; i++) {
		const struct xpu_call *c = &calls->calls[i];

		fprintf(d->f, " {correlation_id=%" PRIu32 " delta_ns=%" PRId32 " duration_ns=%"
			PRIu64 " %s:%u}", c->correlation_id, c->delta_ns,
			(uint64_t)c->duration_high << 32 | c->duration_ns,
			c->cbid & XPU_CALL_RUNTIME ? "runtime" : "driver",
			c->cbid & ~XPU_CALL_RUNTIME);
	}
}

static void dump__payload(struct dump *d, const struct xpu_range_payload *p)
{
	if (!p)
		return;
	if (p->fields & XPU_COLLECTIVE_COMM)
		fprintf(d->f, " comm=%#" PRIx64, (uint64_t)p->comm);
	if (p->fields & XPU_COLLECTIVE_BYTES)
		fprintf(d->f, " bytes=%" PRIu64, (uint64_t)p->bytes);
	if (p->fields & XPU_COLLECTIVE_RANK)
		fprintf(d->f, " rank=%" PRId32, p->rank);
	if (p->fields & XPU_COLLECTIVE_NR_RANKS)
		fprintf(d->f, " nr_ranks=%" PRId32, p->nr_ranks);
	if (p->fields & XPU_COLLECTIVE_PEER)
		fprintf(d->f, " peer=%" PRId32, p->peer);
	if (p->fields & XPU_COLLECTIVE_ROOT)
		fprintf(d->f, " root=%" PRId32, p->root);
	if (p->fields & XPU_COLLECTIVE_OP)
		fprintf(d->f, " op=%" PRId32, p->op);
	if (p->fields & XPU_COLLECTIVE_KEY)
		fprintf(d->f, " key=%" PRId32, p->root);
	if (p->fields & XPU_COLLECTIVE_PARENT)
		fprintf(d->f, " parent_comm=%#" PRIx64, (uint64_t)p->bytes);
}

static void dump__range(struct dump *d, const struct xpu_record *rec)
{
	const struct xpu_record_range *r = (const void *)rec;

	putc(' ', d->f);
	print_text(d->f, r->data);
	fputs(" domain=", d->f);
	print_text(d->f, r->data + r->name_bytes);
	dump__payload(d, range__payload(r));
}

static void dump__label(struct dump *d, const struct xpu_record *rec)
{
	const struct xpu_record_label *l = (const void *)rec;

	fprintf(d->f, " %s=", label__name(l->label));
	if (XPU_LABEL_IS_TEXT(l->label))
		print_text(d->f, l->bytes ? l->data : "");
	else
		fprintf(d->f, "%" PRIu32, l->number);
}

/* ---- all types ------------------------------------------------------------------------------ */

#define MEMBERS(name, ...) static const struct member name##_members[] = { __VA_ARGS__, END }

MEMBERS(info, NAME(xpu_record_info, key, info_keys));
MEMBERS(process, DECIMAL(xpu_record_process, time_ns), DECIMAL(xpu_record_process, proc_id),
	DECIMAL(xpu_record_process, pid), DECIMAL(xpu_record_process, parent_proc_id),
	COMM(xpu_record_process, comm));
MEMBERS(process_exit, DECIMAL(xpu_record_process_exit, time_ns),
	DECIMAL(xpu_record_process_exit, proc_id), DECIMAL(xpu_record_process_exit, pid),
	HEX(xpu_record_process_exit, exit_code));
MEMBERS(thread, DECIMAL(xpu_record_thread, thread_id), DECIMAL(xpu_record_thread, proc_id),
	DECIMAL(xpu_record_thread, tid), DECIMAL(xpu_record_thread, ns_tid));
MEMBERS(mmap, DECIMAL(xpu_record_mmap, time_ns), DECIMAL(xpu_record_mmap, pid),
	DECIMAL(xpu_record_mmap, tid), HEX(xpu_record_mmap, start), HEX(xpu_record_mmap, len),
	HEX(xpu_record_mmap, pgoff), DECIMAL(xpu_record_mmap, ino),
	DECIMAL(xpu_record_mmap, dev_major), DECIMAL(xpu_record_mmap, dev_minor),
	HEX(xpu_record_mmap, prot), HEX(xpu_record_mmap, flags));
MEMBERS(comm, DECIMAL(xpu_record_comm, time_ns), DECIMAL(xpu_record_comm, pid),
	DECIMAL(xpu_record_comm, tid), COMM(xpu_record_comm, comm));
MEMBERS(task, DECIMAL(xpu_record_task, time_ns), DECIMAL(xpu_record_task, pid),
	DECIMAL(xpu_record_task, tid), DECIMAL(xpu_record_task, ppid),
	DECIMAL(xpu_record_task, ptid));
MEMBERS(callchain, DECIMAL(xpu_record_callchain, path_id),
	DECIMAL(xpu_record_callchain, proc_id), DECIMAL(xpu_record_callchain, time_ns),
	DECIMAL(xpu_record_callchain, cbid), DECIMAL(xpu_record_callchain, domain),
	DECIMAL(xpu_record_callchain, nr_frames));
MEMBERS(launches, DECIMAL(xpu_record_launches, time_ns), DECIMAL(xpu_record_launches, nr));
MEMBERS(ranges, DECIMAL(xpu_record_ranges, time_ns), DECIMAL(xpu_record_ranges, nr));
MEMBERS(samples, DECIMAL(xpu_record_samples, time_ns), DECIMAL(xpu_record_samples, nr),
	DECIMAL(xpu_record_samples, period_ns));
MEMBERS(stack, DECIMAL(xpu_record_stack, time_ns), DECIMAL(xpu_record_stack, path_id),
	DECIMAL(xpu_record_stack, thread_id), DECIMAL(xpu_record_stack, period_ns),
	DECIMAL(xpu_record_stack, cpu), DECIMAL(xpu_record_stack, bytes),
	DECIMAL(xpu_record_stack, nr_python));
MEMBERS(pysource, DECIMAL(xpu_record_pysource, id), DECIMAL(xpu_record_pysource, first_line),
	DECIMAL(xpu_record_pysource, minor), DECIMAL(xpu_record_pysource, table_bytes));
MEMBERS(ksym, HEX(xpu_record_ksym, start), HEX(xpu_record_ksym, end));
MEMBERS(graph_node, DECIMAL(xpu_record_graph_node, time_ns),
	DECIMAL(xpu_record_graph_node, node_id), DECIMAL(xpu_record_graph_node, proc_id),
	DECIMAL(xpu_record_graph_node, correlation_id), DECIMAL(xpu_record_graph_node, path_id),
	DECIMAL(xpu_record_graph_node, thread_id));
MEMBERS(wait, DECIMAL(xpu_record_wait, start_ns), DECIMAL(xpu_record_wait, duration_ns),
	DECIMAL(xpu_record_wait, path_id), DECIMAL(xpu_record_wait, thread_id),
	DECIMAL(xpu_record_wait, context), DECIMAL(xpu_record_wait, stream),
	DECIMAL(xpu_record_wait, correlation_id), DECIMAL(xpu_record_wait, range_id));
MEMBERS(off_cpu, DECIMAL(xpu_record_off_cpu, last_ns), DECIMAL(xpu_record_off_cpu, nr),
	DECIMAL(xpu_record_off_cpu, sum_ns), DECIMAL(xpu_record_off_cpu, max_ns),
	DECIMAL(xpu_record_off_cpu, path_id), DECIMAL(xpu_record_off_cpu, thread_id),
	DECIMAL(xpu_record_off_cpu, first_ns), DECIMAL(xpu_record_off_cpu, end_ns));
MEMBERS(off, DECIMAL(xpu_record_off, start_ns), DECIMAL(xpu_record_off, duration_ns),
	DECIMAL(xpu_record_off, path_id), DECIMAL(xpu_record_off, thread_id));
MEMBERS(account, DECIMAL(xpu_record_account, start_ns), DECIMAL(xpu_record_account, end_ns),
	DECIMAL(xpu_record_account, thread_id));
MEMBERS(batch, DECIMAL(xpu_record_batch, time_ns), DECIMAL(xpu_record_batch, proc_id),
	DECIMAL(xpu_record_batch, tid), DECIMAL(xpu_record_batch, bytes),
	DECIMAL(xpu_record_batch, ns_tid));
MEMBERS(lost, DECIMAL(xpu_record_lost, time_ns), NAME(xpu_record_lost, kind, lost_kinds),
	DECIMAL(xpu_record_lost, count));
MEMBERS(part, DECIMAL(xpu_record_part, time_ns), DECIMAL(xpu_record_part, number),
	DECIMAL(xpu_record_part, first_mono_ns));
MEMBERS(cut, DECIMAL(xpu_record_cut, time_ns));
MEMBERS(carried, DECIMAL(xpu_record_carried, proc_id), DECIMAL(xpu_record_carried, first.nr_batches),
	DECIMAL(xpu_record_carried, first.nr_launches), DECIMAL(xpu_record_carried, first.nr_kernels),
	DECIMAL(xpu_record_carried, last.nr_batches), DECIMAL(xpu_record_carried, last.nr_launches),
	DECIMAL(xpu_record_carried, last.nr_kernels), DECIMAL(xpu_record_carried, last.nr_memcpys),
	DECIMAL(xpu_record_carried, last.nr_memsets));
MEMBERS(end, DECIMAL(xpu_record_end, time_ns), HEX(xpu_record_end, wait_status));
MEMBERS(string, DECIMAL(xpu_record_string, id));
MEMBERS(api, DECIMAL(xpu_record_api, domain), DECIMAL(xpu_record_api, cbid),
	DECIMAL(xpu_record_api, name));
MEMBERS(device, DECIMAL(xpu_record_device, device), DECIMAL(xpu_record_device, name));
MEMBERS(shape, DECIMAL(xpu_record_shape, name), DECIMAL(xpu_record_shape, shape.registers),
	DECIMAL(xpu_record_shape, shape.static_bytes), DECIMAL(xpu_record_shape, shape.dynamic_bytes),
	DECIMAL(xpu_record_shape, shape.local_bytes));
MEMBERS(stream, DECIMAL(xpu_record_stream, id), DECIMAL(xpu_record_stream, device),
	DECIMAL(xpu_record_stream, context), DECIMAL(xpu_record_stream, stream));
MEMBERS(kernel, DECIMAL(xpu_record_kernel, start_ns), DECIMAL(xpu_record_kernel, duration_ns),
	DECIMAL(xpu_record_kernel, correlation_id), DECIMAL(xpu_record_kernel, name),
	DECIMAL(xpu_record_kernel, stream), DECIMAL(xpu_record_kernel, graph_id));
MEMBERS(memory, DECIMAL(xpu_record_memory, start_ns), DECIMAL(xpu_record_memory, duration_ns),
	DECIMAL(xpu_record_memory, correlation_id), DECIMAL(xpu_record_memory, stream),
	DECIMAL(xpu_record_memory, bytes), DECIMAL(xpu_record_memory, copy_kind),
	DECIMAL(xpu_record_memory, src_kind), DECIMAL(xpu_record_memory, dst_kind),
	DECIMAL(xpu_record_memory, is_async), DECIMAL(xpu_record_memory, graph_id));
MEMBERS(calls, DECIMAL(xpu_record_calls, time_ns), DECIMAL(xpu_record_calls, tid),
	DECIMAL(xpu_record_calls, nr));
MEMBERS(allocs, DECIMAL(xpu_record_allocs, time_ns), DECIMAL(xpu_record_allocs, order),
	DECIMAL(xpu_record_allocs, proc_id), DECIMAL(xpu_record_allocs, nr));
MEMBERS(graph_clone, DECIMAL(xpu_record_graph_clone, node_id),
	DECIMAL(xpu_record_graph_clone, original_id));
MEMBERS(refused, DECIMAL(xpu_record_refused, correlation_id),
	DECIMAL(xpu_record_refused, result));
MEMBERS(pycode, DECIMAL(xpu_record_pycode, id), DECIMAL(xpu_record_pycode, name),
	DECIMAL(xpu_record_pycode, filename), DECIMAL(xpu_record_pycode, first_line));
MEMBERS(metric, DECIMAL(xpu_record_metric, set), DECIMAL(xpu_record_metric, index),
	NAME(xpu_record_metric, kind, metric_kinds));
MEMBERS(metrics, DECIMAL(xpu_record_metrics, set), DECIMAL(xpu_record_metrics, nr_metrics),
	DECIMAL(xpu_record_metrics, nr_rows), DECIMAL(xpu_record_metrics, time_ns));
MEMBERS(label, DECIMAL(xpu_record_label, proc_id), DECIMAL(xpu_record_label, label));
MEMBERS(metrics_end, DECIMAL(xpu_record_metrics_end, set),
	DECIMAL(xpu_record_metrics_end, nr_overflows), DECIMAL(xpu_record_metrics_end, nr_rows),
	DECIMAL(xpu_record_metrics_end, lost_ns));
MEMBERS(stall_reason, DECIMAL(xpu_record_stall_reason, index), DECIMAL(xpu_record_stall_reason, name));
MEMBERS(stalls, DECIMAL(xpu_record_stalls, begin_ns), DECIMAL(xpu_record_stalls, end_ns),
	HEX(xpu_record_stalls, cubin_crc), DECIMAL(xpu_record_stalls, device),
	DECIMAL(xpu_record_stalls, context), DECIMAL(xpu_record_stalls, function),
	DECIMAL(xpu_record_stalls, nr));
MEMBERS(stall, HEX(xpu_stall, pc), DECIMAL(xpu_stall, reason), DECIMAL(xpu_stall, samples));
MEMBERS(cubin, HEX(xpu_record_cubin, crc), DECIMAL(xpu_record_cubin, total_bytes),
	DECIMAL(xpu_record_cubin, offset), DECIMAL(xpu_record_cubin, bytes));
MEMBERS(stalls_account, DECIMAL(xpu_record_stalls_account, device),
	DECIMAL(xpu_record_stalls_account, context), DECIMAL(xpu_record_stalls_account, total),
	DECIMAL(xpu_record_stalls_account, others), DECIMAL(xpu_record_stalls_account, dropped),
	DECIMAL(xpu_record_stalls_account, nr_full),
	DECIMAL(xpu_record_stalls_account, interval_cycles),
	DECIMAL(xpu_record_stalls_account, recorded),
	DECIMAL(xpu_record_stalls_account, begin_ns), DECIMAL(xpu_record_stalls_account, end_ns));
MEMBERS(window, DECIMAL(xpu_record_window, number), DECIMAL(xpu_record_window, time_ns),
	DECIMAL(xpu_record_window, open_ns), DECIMAL(xpu_record_window, nr_launches));
MEMBERS(range, DECIMAL(xpu_record_range, id), DECIMAL(xpu_record_range, parent));
MEMBERS(counters, DECIMAL(xpu_record_counters, nr_batches),
	DECIMAL(xpu_record_counters, nr_launches), DECIMAL(xpu_record_counters, nr_kernels),
	DECIMAL(xpu_record_counters, nr_memcpys), DECIMAL(xpu_record_counters, nr_memsets),
	DECIMAL(xpu_record_counters, nr_dropped_cupti),
	DECIMAL(xpu_record_counters, nr_dropped_shim),
	DECIMAL(xpu_record_counters, nr_bad_times), DECIMAL(xpu_record_counters, nr_unfinished),
	DECIMAL(xpu_record_counters, nr_slots), DECIMAL(xpu_record_counters, nr_calls),
	DECIMAL(xpu_record_counters, nr_bad_calls), DECIMAL(xpu_record_counters, nr_ranges),
	DECIMAL(xpu_record_counters, nr_dropped_ranges), DECIMAL(xpu_record_counters, nr_taken),
	DECIMAL(xpu_record_counters, nr_allocs));
static const struct member no_members[] = { END };

static void dump__stalls(struct dump *d, const struct xpu_record *rec)
{
	const struct xpu_record_stalls *s = (const void *)rec;

	dump__rows(d, stall_members, s->stalls, s->nr, sizeof(s->stalls[0]));
}

struct type {
	const char *name;
	const struct member *members;
	const char *const *misc;	/* names of its values, or of its bits; NULL: without
					 * names */
	bool misc_is_flags;
	void (*rest)(struct dump *d, const struct xpu_record *rec);
};

#define TYPE(T, members_, ...) \
	[XPU_RECORD_##T] = { .name = #T, .members = members_##_members, ##__VA_ARGS__ }
#define FLAGS(list)	.misc = list, .misc_is_flags = true
#define KINDS(list)	.misc = list

static const struct type types[] = {
	TYPE(INFO, info, .rest = dump__info),
	TYPE(PROCESS, process, KINDS(process_kinds)),
	TYPE(PROCESS_EXIT, process_exit, FLAGS(exit_flags)),
	TYPE(THREAD, thread),
	TYPE(MMAP, mmap, FLAGS(mmap_flags), .rest = dump__mmap),
	TYPE(COMM, comm, FLAGS(comm_flags)),
	TYPE(FORK, task),
	TYPE(EXIT, task),
	TYPE(CALLCHAIN, callchain, FLAGS(chain_flags), .rest = dump__callchain),
	TYPE(LAUNCHES, launches, FLAGS(launches_flags), .rest = dump__launches),
	TYPE(EARLIER, launches, FLAGS(launches_flags), .rest = dump__launches),
	TYPE(BATCH, batch, FLAGS(batch_flags)),
	TYPE(LOST, lost),
	TYPE(PART, part, .rest = dump__part),
	TYPE(CUT, cut),
	TYPE(CARRIED, carried, FLAGS(carried_flags)),
	TYPE(END, end, FLAGS(end_flags)),
	TYPE(GRAPH_NODE, graph_node),
	TYPE(SAMPLES, samples, .rest = dump__samples),
	TYPE(KSYM, ksym, .rest = dump__ksym),
	TYPE(STACK, stack, FLAGS(stack_flags), .rest = dump__stack),
	TYPE(WAIT, wait, FLAGS(wait_flags)),
	TYPE(OFF_CPU, off_cpu, KINDS(off_kinds)),
	TYPE(OFF, off, KINDS(off_kinds)),
	TYPE(ACCOUNT, account, .rest = dump__account),
	TYPE(PYSOURCE, pysource, .rest = dump__pysource),
	TYPE(METRIC, metric, .rest = dump__metric),
	TYPE(METRICS, metrics, .rest = dump__metrics),
	TYPE(METRICS_END, metrics_end),
	TYPE(PROCESS_LABEL, label, KINDS(label_sources), .rest = dump__label),
	TYPE(RANGES, ranges, .rest = dump__ranges),
	TYPE(ALLOCS, allocs, FLAGS(batch_flags), .rest = dump__allocs),
	TYPE(STRING, string, .rest = dump__string),
	TYPE(API, api),
	TYPE(STREAM, stream),
	TYPE(KERNEL, kernel, FLAGS(device_flags), .rest = dump__kernel),
	TYPE(MEMCPY, memory, FLAGS(device_flags), .rest = dump__memory),
	TYPE(MEMSET, memory, FLAGS(device_flags), .rest = dump__memory),
	TYPE(COUNTERS, counters, FLAGS(counters_flags)),
	TYPE(MESSAGE, no, KINDS(message_levels), .rest = dump__message),
	TYPE(DEVICE, device, .rest = dump__device),
	TYPE(STALL_REASON, stall_reason),
	TYPE(STALLS, stalls, .rest = dump__stalls),
	TYPE(STALLS_ACCOUNT, stalls_account),
	TYPE(CUBIN, cubin),
	TYPE(WINDOW, window, KINDS(window_kinds)),
	TYPE(SHAPE, shape, .rest = dump__shape),
	TYPE(GRAPH_CLONE, graph_clone),
	TYPE(PYCODE, pycode),
	TYPE(CALLS, calls, .rest = dump__calls),
	TYPE(REFUSED, refused),
	TYPE(RANGE, range, .rest = dump__range),
	TYPE(LABEL, label, KINDS(label_sources), .rest = dump__label),
};

static void dump__header(struct dump *d)
{
	const struct xpu_file_header *h = &d->reader->header;

	fprintf(d->f, "0 [%#x] HEADER version=%u.%u clockid=%u start_mono_ns=%" PRIu64
		" start_real_ns=%" PRIu64 " nr_cpus=%u", h->header_bytes, h->version_major,
		h->version_minor, h->clockid, (uint64_t)h->start_mono_ns,
		(uint64_t)h->start_real_ns, h->nr_cpus);
	if (h->version_major > XPU_VERSION_PLAIN)
		fprintf(d->f, " crc=%#x%s", h->crc, d->reader->bad_header ? " (damaged)" : "");
	putc('\n', d->f);
}

/* Prints the block that the walk is in, before its first record. */
static void dump__block(struct dump *d, const struct record_iter *it)
{
	const struct reader *r = d->reader;
	struct xpu_record_block b;

	if (!it->in_block || it->file_offset == d->block ||
	    !block__header(r->base + it->file_offset, r->size - it->file_offset, &b))
		return;
	d->block = it->file_offset;
	fprintf(d->f, "%#" PRIx64 " [%#x] BLOCK number=%" PRIu64 " stored_bytes=%u packed_bytes=%u"
		" raw_bytes=%u nr_launches=%u launches_before=%" PRIu64 " misc=", d->block,
		b.hdr.size, (uint64_t)b.number, b.stored_bytes, b.packed_bytes, b.raw_bytes,
		b.nr_launches, (uint64_t)b.launches_before);
	if (b.hdr.misc)
		print_flags(d->f, block_flags, b.hdr.misc);
	else
		putc('0', d->f);
	putc('\n', d->f);
}

/* Prints the damage that the walk met since the last call. */
static void dump__damages(struct dump *d)
{
	const struct damages *all = reader__damages(d->reader);

	for (; all && d->nr_damages < all->nr && d->nr_damages < DAMAGES_MAX; d->nr_damages++) {
		const struct damage *one = &all->v[d->nr_damages];

		fprintf(d->f, "%#" PRIx64 " [%#" PRIx64 "] DAMAGED: %s: %" PRIu64 " blocks with %"
			PRIu64 " launches lost\n", one->offset, one->bytes, one->what,
			one->nr_blocks, one->nr_launches);
	}
}

static void dump__where(struct dump *d, const struct record_iter *it, uint64_t offset)
{
	if (it->in_block)
		fprintf(d->f, "%#" PRIx64 "+%#" PRIx64, it->file_offset, offset);
	else
		fprintf(d->f, "%#" PRIx64, offset);
}

/* @offset: of the record, in its block, or in the file if the file has no blocks */
static void dump__record(struct dump *d, const struct record_iter *it, const struct xpu_record *rec,
			 uint64_t offset)
{
	const struct type *type = it->known && rec->type < ARRAY_SIZE(types) ? &types[rec->type] :
				  &types[0];

	dump__where(d, it, offset);
	fprintf(d->f, " [%#x]%s ", rec->size, it->nested ? "  " : "");
	if (!type->name) {
		fprintf(d->f, "UNKNOWN type=%u misc=%#x\n", rec->type, rec->misc);
		d->nr_unknown++;
		return;
	}
	fputs(type->name, d->f);
	if (rec->misc || (type->misc && !type->misc_is_flags)) {
		fputs(" misc=", d->f);
		if (!type->misc)
			fprintf(d->f, "%#x", rec->misc);
		else if (type->misc_is_flags)
			print_flags(d->f, type->misc, rec->misc);
		else
			print_name(d->f, type->misc, rec->misc);
	}
	dump__members(d, type->members, rec, rec->size, " ");
	if (type->rest)
		type->rest(d, rec);
	putc('\n', d->f);
}

/* Prints the records inside a batch. @base: of the batch, as @offset of dump__record() */
static void dump__batch(struct dump *d, const struct record_iter *outer,
			const struct xpu_record_batch *batch, uint64_t offset)
{
	const struct xpu_record *rec;
	struct record_iter it;

	offset += (const uint8_t *)batch->records - (const uint8_t *)batch;
	record_iter__enter(&it, outer, batch);
	it.unknown_too = true;
	while ((rec = record_iter__next(&it)))
		dump__record(d, &it, rec, offset + ((const uint8_t *)rec - batch->records));
	if (it.end == RECORDS_WHOLE)
		return;
	d->result->damaged = true;
	dump__where(d, outer, offset + it.offset);
	fprintf(d->f, " [%#" PRIx64 "]   DAMAGED: %s: the rest of the batch is lost\n",
		it.size - it.offset, it.what);
	msgs__add(&d->result->msgs, "%s: a batch is damaged at offset %" PRIu64 ": %s; the rest of "
		  "it is lost", d->reader->name, record_iter__file_offset(&it), it.what);
}

/* Prints how the walk ended as the last line, and adds it to the messages. */
static void dump__finish(struct dump *d, const struct record_iter *it)
{
	const struct damages *all = reader__damages(d->reader);
	struct dump_result *result = d->result;
	const char *name = d->reader->name;

	if (d->reader->bad_header) {
		result->damaged = true;
		msgs__add(&result->msgs, "%s: the header's checksum is wrong", name);
	}
	if (all && all->nr) {
		result->damaged = true;
		msgs__add(&result->msgs, "%s: damaged in %" PRIu64 " places: %" PRIu64 " blocks "
			  "with %" PRIu64 " launches lost%s", name, all->nr, all->nr_blocks,
			  all->nr_launches, all->nr > DAMAGES_MAX ? "; only the first have lines" :
			  "");
	}
	if (it->end == RECORDS_CUT || it->end == RECORDS_CORRUPT) {
		result->damaged |= it->end == RECORDS_CORRUPT;
		result->cut = true;
		fprintf(d->f, "%#" PRIx64 " [%#" PRIx64 "] %s: %s\n", it->offset,
			it->size - it->offset, it->end == RECORDS_CUT ? "CUT" : "DAMAGED",
			it->what);
		msgs__add(&result->msgs, "%s: %s at offset %" PRIu64 ": %s; %" PRIu64
			  " bytes ignored", name, it->end == RECORDS_CUT ? "cut" : "damaged",
			  it->offset, it->what, it->size - it->offset);
	} else if (!d->ended) {
		result->cut = true;
		msgs__add(&result->msgs, "%s: not closed: the record END is missing", name);
	}
	if (d->nr_unknown)
		msgs__add(&result->msgs, "%s: %" PRIu64 " %s", name, d->nr_unknown,
			  PLURAL(d->nr_unknown, "record of an unknown type", "records of unknown types"));
}

int dump__write(const struct reader *r, FILE *f, struct dump_result *result)
{
	struct dump d = { .f = f, .reader = r, .result = result, .block = UINT64_MAX };
	const struct xpu_record *rec;
	struct record_iter it;
	uint64_t offset;

	memset(result, 0, sizeof(*result));
	dump__header(&d);
	reader__rewind(r, &it);
	it.unknown_too = true;
	while (!d.err && !ferror(f) && (rec = record_iter__next(&it))) {
		offset = (const uint8_t *)rec - it.base;
		dump__damages(&d);
		dump__block(&d, &it);
		dump__record(&d, &it, rec, offset);
		if (it.known && rec->type == XPU_RECORD_BATCH)
			dump__batch(&d, &it, (const void *)rec, offset);
		d.ended |= it.known && rec->type == XPU_RECORD_END;
		reader__release(r, &it);
	}
	if (it.end == RECORDS_MORE || it.end == RECORDS_NO_MEMORY)
		return d.err ?: it.end == RECORDS_NO_MEMORY ? -ENOMEM : 0;
	dump__damages(&d);
	dump__finish(&d, &it);
	return 0;
}

void dump_result__free(struct dump_result *result)
{
	msgs__free(&result->msgs);
}
