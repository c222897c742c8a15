// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/dump.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "block.h"
#include "escape.h"
#include "model/labels.h"
#include "model/range_names.h"
#include "record.h"
#include "xpu_utf8.h"

struct dump {
	FILE *f;
	const struct reader *reader;
	struct dump_result *result;
	uint64_t block;			/* the offset of the block that was printed last */
	uint64_t nr_damages;		/* number of damaged places that were printed */
	uint64_t nr_unknown;
	bool ended;
	bool aarch64;			/* the recorded machine is aarch64; otherwise it is
					 * x86_64 */
	int err;
};

/* ---- fields --------------------------------------------------------------------------------- */

static void print_text(FILE *f, const char *text)
{
	putc('"', f);
	escape__print(f, text, ESCAPE_JSON);
	putc('"', f);
}

/* Prints each string in @bytes of text in quotes; NULs separate the strings. */
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

static void print_name(FILE *f, const struct number_names *names, uint64_t value)
{
	const char *name = number_names__find(names, value);

	if (name)
		fputs(name, f);
	else
		fprintf(f, "%" PRIu64, value);
}

static void print_flags(FILE *f, const struct number_names *names, uint32_t flags)
{
	const struct number_name *n;
	const char *separator = "";

	for (n = names->v; n->name; n++) {
		if (!(flags & n->number))
			continue;
		fprintf(f, "%s%s", separator, n->name + strlen(names->prefix));
		flags &= ~n->number;
		separator = "|";
	}
	if (flags)
		fprintf(f, "%s%#x", separator, flags);
}

/* Prints a domain of functions, with the API's number before it unless the API is CUDA. */
static void print_domain(FILE *f, uint32_t domain)
{
	if (XPU_API(domain))
		fprintf(f, "%u:", XPU_API(domain));
	fprintf(f, "%u", XPU_WITHOUT_API(domain));
}

static void print_hex(FILE *f, const uint8_t *bytes, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++)
		fprintf(f, "%02x", bytes[i]);
}

static void dump__comm(struct dump *d, const char *text)
{
	char comm[XPU_COMM_LEN + 1] = "";

	memcpy(comm, text, XPU_COMM_LEN);
	print_text(d->f, comm);
}

enum printed {
	DECIMAL, SIGNED, HEX, REAL, NAME, COMM, UUID, DOMAIN,
	SKIP,				/* this and the later kinds are not printed as one value */
	TEXT, ROWS,
};

static enum printed field__printed(const struct record_field *f)
{
	static const uint8_t printed[] = {
#define KIND(name, how, ...) [FIELD_##name] = how,
		FIELD_KINDS(KIND)
#undef KIND
	};

	return printed[f->kind];
}

static double real_of(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* Prints a field. @before: printed before the name */
static void dump__field(struct dump *d, const struct record_field *f, const void *base,
			const char *before)
{
	const uint8_t *at = (const uint8_t *)base + f->offset;
	enum printed how = field__printed(f);
	uint64_t value;

	fprintf(d->f, "%s%s=", before, f->name);
	if (how == COMM) {
		dump__comm(d, (const char *)at);
		return;
	}
	if (how == UUID) {
		print_hex(d->f, at, f->bytes);
		return;
	}
	value = record_field__value(f, base);
	if (how == SIGNED)
		fprintf(d->f, "%" PRId32, (int32_t)value);
	else if (how == HEX)
		fprintf(d->f, "%#" PRIx64, value);
	else if (how == REAL)
		fprintf(d->f, "%.17g", real_of(value));
	else if (how == NAME)
		print_name(d->f, f->names, value);
	else if (how == DOMAIN)
		print_domain(d->f, value);
	else
		fprintf(d->f, "%" PRIu64, value);
}

/* Prints the fields that fit into @bytes at @base: records of older versions are shorter. */
static void dump__fields(struct dump *d, const struct record_field *list, const void *base,
			 size_t bytes, const char *before)
{
	const struct record_field *f;

	for (f = list; f->name && f->offset + f->bytes <= bytes; f++) {
		if (field__printed(f) >= SKIP)
			continue;
		dump__field(d, f, base, before);
		before = " ";
	}
}

/*
 * Prints the fields that @names lists, separated by spaces, in that order. @first: printed before
 * the first name
 */
static void dump__named(struct dump *d, const struct record_field *list, const void *base,
			const char *names, const char *first, const char *before)
{
	const struct record_field *f;
	size_t len;

	for (; *names; names += len + (names[len] == ' '), first = before) {
		len = strcspn(names, " ");
		for (f = list; strncmp(f->name, names, len) || f->name[len];)
			f++;
		dump__field(d, f, base, first);
	}
}

/* Return: the type's field called @name. */
static const struct record_field *type__field(const struct xpu_record *rec, const char *name)
{
	const struct record_field *f = record_types[rec->type].fields();

	while (strcmp(f->name, name))
		f++;
	return f;
}

/* Prints the rows of a record's tail, in braces. @names: the only fields to print; NULL: all */
static void dump__rows(struct dump *d, const struct xpu_record *rec,
		       const struct record_field *tail, const char *names)
{
	const uint8_t *row = (const uint8_t *)rec + tail->offset;
	uint32_t nr = *(const uint32_t *)((const uint8_t *)rec + tail->count_at), i;

	for (i = 0; i < nr; i++, row += tail->bytes) {
		if (names)
			dump__named(d, tail->rows(), row, names, " {", " ");
		else
			dump__fields(d, tail->rows(), row, tail->bytes, " {");
		putc('}', d->f);
	}
}

/* ---- data that no kind of field describes ---------------------------------------------------- */

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

	if (map->build_id_len)
		fputs(" build_id=", d->f);
	print_hex(d->f, map->build_id, map->build_id_len);
	putc(' ', d->f);
	print_text(d->f, map->filename);
}

static void dump__names(struct dump *d, const struct xpu_record *rec)
{
	const struct xpu_record_names *n = (const void *)rec;

	if (n->build_id_len)
		fputs(" build_id=", d->f);
	print_hex(d->f, n->build_id, n->build_id_len);
	putc(' ', d->f);
	print_text(d->f, n->path_bytes ? n->data : "");
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

static void dump__column(struct dump *d, const char *name, const uint32_t *v, uint32_t nr)
{
	uint32_t i;

	fprintf(d->f, " %s={", name);
	for (i = 0; i < nr; i++)
		fprintf(d->f, "%s%" PRIu32, i ? " " : "", v[i]);
	putc('}', d->f);
}

static void dump__launches(struct dump *d, const struct xpu_record *rec)
{
	const struct xpu_record_launches *l = (const void *)rec;

	dump__rows(d, rec, type__field(rec, "launches"), NULL);
	if (rec->misc & XPU_MISC_LAUNCHES_RANGES)
		dump__column(d, "range_id", (const void *)&l->launches[l->nr], l->nr);
}

static void dump__samples(struct dump *d, const struct xpu_record *rec)
{
	const struct xpu_record_samples *s = (const void *)rec;

	dump__rows(d, rec, type__field(rec, "samples"), NULL);
	if (rec->misc & XPU_MISC_SAMPLES_RAN)
		dump__column(d, "ran_ns", (const void *)&s->samples[s->nr], s->nr);
}

static void dump__ranges(struct dump *d, const struct xpu_record *rec)
{
	dump__rows(d, rec, type__field(rec, "events"), "what range_id thread_id delta_ns place");
}

static void dump__allocs(struct dump *d, const struct xpu_record *rec)
{
	const struct xpu_record_allocs *a = (const void *)rec;
	uint32_t i, apis = 0;

	for (i = 0; i < a->nr; i++)
		apis |= a->events[i].api;
	dump__rows(d, rec, type__field(rec, "events"),
		   apis ? "what space delta_order address bytes device api extra path_id thread_id "
			  "range_id delta_ns" :
			  "what space delta_order address bytes device extra path_id thread_id "
			  "range_id delta_ns");
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

static void dump__account(struct dump *d, const struct xpu_record *rec)
{
	const struct xpu_record_account *a = (const void *)rec;
	unsigned int i;

	fprintf(d->f, " run_ns=%" PRIu64 " nr_switches=%" PRIu64 " off_ns={",
		(uint64_t)a->time.run_ns, (uint64_t)a->time.nr_switches);
	for (i = 0; i < XPU_OFF_NR; i++)
		fprintf(d->f, "%s%s=%" PRIu64, i ? " " : "",
			number_names__find(record_types[XPU_RECORD_OFF].misc, i),
			(uint64_t)a->time.off_ns[i]);
	putc('}', d->f);
}

static void dump__device(struct dump *d, const struct xpu_record *rec)
{
	const struct record_field *limits = type__field(rec, "limits");

	if (rec->size >= sizeof(struct xpu_record_device))
		dump__fields(d, limits->rows(), (const uint8_t *)rec + limits->offset,
			     limits->bytes, " ");
}

static void dump__carried(struct dump *d, const struct xpu_record *rec)
{
	const struct xpu_record_carried *c = (const void *)rec;
	const struct record_field *counters = type__field(rec, "first")->rows();

	dump__named(d, counters, &c->first, "nr_batches nr_launches nr_kernels", " first.",
		    " first.");
	dump__named(d, counters, &c->last,
		    "nr_batches nr_launches nr_kernels nr_memcpys nr_memsets", " last.", " last.");
}

static void dump__window(struct dump *d, const struct xpu_record *rec)
{
	dump__named(d, record_types[rec->type].fields(), rec,
		    "number time_ns open_ns nr_launches", " ", " ");
}

static void dump__dim(struct dump *d, const char *what, const __u32 dim[3])
{
	fprintf(d->f, " %s={%" PRIu32 " %" PRIu32 " %" PRIu32 "}", what, dim[0], dim[1], dim[2]);
}

static void dump__metric(struct dump *d, const struct xpu_record *rec)
{
	const struct xpu_record_metric *m = (const void *)rec;

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

	dump__named(d, type__field(rec, "shape")->rows(), shape,
		    "registers static_bytes dynamic_bytes local_bytes", " shape.", " shape.");
	dump__dim(d, "grid", shape->grid);
	dump__dim(d, "block", shape->block);
	dump__dim(d, "cluster", shape->cluster);
}

static void dump__node_id(struct dump *d, const struct xpu_record *rec)
{
	const uint8_t *at = (const uint8_t *)rec + type__field(rec, "graph_node_id")->offset;

	if (rec->misc & XPU_MISC_GRAPH_NODE)
		fprintf(d->f, " graph_node_id=%" PRIu64, *(const uint64_t *)at);
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

static const struct special {
	void (*print)(struct dump *d, const struct xpu_record *rec);
	bool alone;			/* true: print() replaces the fields; false: print() is
					 * called after the fields are printed */
} specials[XPU_RECORD_TYPES] = {
	[XPU_RECORD_INFO] = { dump__info, false },
	[XPU_RECORD_MMAP] = { dump__mmap, false },
	[XPU_RECORD_CALLCHAIN] = { dump__callchain, false },
	[XPU_RECORD_LAUNCHES] = { dump__launches, false },
	[XPU_RECORD_EARLIER] = { dump__launches, false },
	[XPU_RECORD_SAMPLES] = { dump__samples, false },
	[XPU_RECORD_PART] = { dump__part, false },
	[XPU_RECORD_NAMES] = { dump__names, false },
	[XPU_RECORD_CARRIED] = { dump__carried, false },
	[XPU_RECORD_STACK] = { dump__stack, false },
	[XPU_RECORD_ACCOUNT] = { dump__account, false },
	[XPU_RECORD_PYSOURCE] = { dump__pysource, false },
	[XPU_RECORD_METRIC] = { dump__metric, false },
	[XPU_RECORD_METRICS] = { dump__metrics, false },
	[XPU_RECORD_PROCESS_LABEL] = { dump__label, false },
	[XPU_RECORD_RANGES] = { dump__ranges, false },
	[XPU_RECORD_ALLOCS] = { dump__allocs, false },
	[XPU_RECORD_KERNEL] = { dump__node_id, false },
	[XPU_RECORD_MEMCPY] = { dump__node_id, false },
	[XPU_RECORD_MEMSET] = { dump__node_id, false },
	[XPU_RECORD_DEVICE] = { dump__device, false },
	[XPU_RECORD_SHAPE] = { dump__shape, false },
	[XPU_RECORD_CALLS] = { dump__calls, false },
	[XPU_RECORD_RANGE] = { dump__range, false },
	[XPU_RECORD_LABEL] = { dump__label, false },
	[XPU_RECORD_WINDOW] = { dump__window, true },
};

/* Prints a record's fields and its tail. */
static void dump__contents(struct dump *d, const struct xpu_record *rec)
{
	const struct record_field *f, *list = record_types[rec->type].fields();
	const struct special *special = &specials[rec->type];

	if (!special->alone)
		dump__fields(d, list, rec, rec->size, " ");
	if (special->print) {
		special->print(d, rec);
		return;
	}
	for (f = list; f->name; f++) {
		if (f->kind == FIELD_ROWS)
			dump__rows(d, rec, f, NULL);
		if (f->kind != FIELD_TEXT)
			continue;
		putc(' ', d->f);
		print_text(d->f, (const char *)rec + f->offset);
	}
}

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

/* Prints the current block of the walk, before the block's first record. */
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
		print_flags(d->f, record_types[XPU_RECORD_BLOCK].misc, b.hdr.misc);
	else
		putc('0', d->f);
	putc('\n', d->f);
}

/* Prints the damage that the walk found since the last call. */
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

/*
 * Prints a record. @offset: the record's offset in its block, or in the file if the file has no
 * blocks
 */
static void dump__record(struct dump *d, const struct record_iter *it, const struct xpu_record *rec,
			 uint64_t offset)
{
	const struct record_type *type = it->known ? &record_types[rec->type] : NULL;

	dump__where(d, it, offset);
	fprintf(d->f, " [%#x]%s ", rec->size, it->nested ? "  " : "");
	if (!type) {
		fprintf(d->f, "UNKNOWN type=%u misc=%#x\n", rec->type, rec->misc);
		d->nr_unknown++;
		return;
	}
	fputs(type->name, d->f);
	if (type->misc_is_flags ? XPU_WITHOUT_API(rec->misc) : rec->misc || type->misc) {
		fputs(" misc=", d->f);
		if (!type->misc)
			fprintf(d->f, "%#x", rec->misc);
		else if (type->misc_is_flags)
			print_flags(d->f, type->misc, XPU_WITHOUT_API(rec->misc));
		else
			print_name(d->f, type->misc, rec->misc);
	}
	if (type->misc_is_flags && XPU_API(rec->misc))
		fprintf(d->f, " api=%u", XPU_API(rec->misc));
	dump__contents(d, rec);
	putc('\n', d->f);
}

/* Prints the records inside a batch. @offset: the batch's offset, counted as in dump__record() */
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

/* Prints, as the last line, how the walk ended, and adds this to the messages. */
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
			  PLURAL(d->nr_unknown, "record of an unknown type",
				 "records of unknown types"));
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
