// SPDX-License-Identifier: GPL-3.0-or-later
#include "import/perf/perf_data.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <zstd.h>

#include "import/perf/script.h"

#define MAGIC			"PERFILE2"
#define MAGIC_OTHER_ORDER	"2ELIFREP"
#define PIPE_HEADER_BYTES	16
#define HEADER_BYTES		104
#define FEATURE_BITS		256
#define UNPACKED_RATIO		256	/* largest ratio of decompressed to compressed bytes */
#define UNPACKED_MIN		(64u << 20)	/* a file is always accepted if its decompressed
						 * size is smaller */
#define MAX_ATTRS		65536

/* Values from include/uapi and tools/lib/perf. Some are missing in older headers. */
enum {
	TYPE_HEADER_ATTR	= 64,
	TYPE_AUXTRACE		= 71,
	TYPE_HEADER_FEATURE	= 80,
	TYPE_COMPRESSED		= 81,
	TYPE_COMPRESSED2	= 83,
	MISC_MMAP_DATA		= 1 << 13,
	MISC_COMM_EXEC		= 1 << 13,
	MISC_BUILD_ID		= 1 << 14,	/* a flag of MMAP2 */
	MISC_BUILD_ID_SIZE	= 1 << 15,	/* a flag of an entry of the build-id feature */
	BRANCH_HW_INDEX		= 1 << 17,
	BRANCH_COUNTERS		= 1 << 19,
	READ_LOST		= 1 << 4,
	PERF_RECORD_MMAP2_	= 10,
	PERF_RECORD_KSYMBOL_	= 17,
};

enum {
	FEATURE_BUILD_ID	= 2,
	FEATURE_HOSTNAME	= 3,
	FEATURE_OSRELEASE	= 4,
	FEATURE_ARCH		= 6,
	FEATURE_CMDLINE		= 11,
	FEATURE_EVENT_DESC	= 12,
	FEATURE_CLOCK_DATA	= 29,
};

/* Bytes to read in order: reading beyond their end gives 0 and sets bad. */
struct bytes {
	const uint8_t *p;
	size_t left;
	bool bad;
};

struct data_reader {
	struct perf_data *d;
	const uint8_t *base;
	size_t size;
	ZSTD_DStream *zstd;
	ARRAY(uint8_t) unpacked;	/* the start of a record whose end is still compressed */
	uint64_t nr_unpacked;
	ARRAY(uint64_t) words;
	uint32_t seq;
};

/* ---- bytes ----------------------------------------------------------------------------------- */

static const uint8_t *bytes__take(struct bytes *b, uint64_t len)
{
	const uint8_t *p = b->p;

	if (len > b->left) {
		b->bad = true;
		b->left = 0;
		return NULL;
	}
	b->p += len;
	b->left -= len;
	return p;
}

/* Reads a little-endian number of @len bytes, at most 8. */
static uint64_t bytes__number(struct bytes *b, size_t len)
{
	const uint8_t *p = bytes__take(b, len);
	uint64_t v = 0;

	while (p && len--)
		v = v << 8 | p[len];
	return v;
}

static uint64_t bytes__u64(struct bytes *b)
{
	return bytes__number(b, 8);
}

static uint32_t bytes__u32(struct bytes *b)
{
	return bytes__number(b, 4);
}

static uint16_t bytes__u16(struct bytes *b)
{
	return bytes__number(b, 2);
}

/* Reads a string as perf writes it: its length, then that many bytes, padded with NULs. */
static struct span bytes__string(struct bytes *b)
{
	uint32_t len = bytes__u32(b);
	const uint8_t *p = bytes__take(b, len);

	return (struct span){ (const char *)p, p ? strnlen((const char *)p, len) : 0 };
}

/* Return: the text up to a NUL, or to the end. */
static struct span bytes__rest(const struct bytes *b)
{
	return (struct span){ (const char *)b->p, strnlen((const char *)b->p, b->left) };
}

/* Return: a part of the file; shorter than @len if the file ends within this part. */
static struct bytes reader__part(const struct data_reader *r, uint64_t offset, uint64_t len)
{
	if (offset > r->size)
		return (struct bytes){ .p = r->base };
	return (struct bytes){ r->base + offset, min_t(uint64_t, len, r->size - offset), false };
}

/* ---- events ---------------------------------------------------------------------------------- */

static const char *event_name(const struct perf_event_attr *a)
{
	static const char *const software[] = { "cpu-clock", "task-clock", "page-faults",
						"context-switches", "cpu-migrations" };
	static const char *const hardware[] = {
		"cycles", "instructions", "cache-references", "cache-misses", "branches",
		"branch-misses", "bus-cycles", "stalled-cycles-frontend", "stalled-cycles-backend",
		"ref-cycles",
	};

	/* The upper half of config is the PMU type. */
	if (a->type == PERF_TYPE_HARDWARE && (uint32_t)a->config < ARRAY_SIZE(hardware))
		return hardware[(uint32_t)a->config];
	if (a->type == PERF_TYPE_SOFTWARE && a->config < ARRAY_SIZE(software))
		return software[a->config];
	return a->type == PERF_TYPE_TRACEPOINT ? "a tracepoint" : "an event of another PMU";
}

static int perf_data__name_event(struct perf_data *d, struct perf_event *e, const char *name,
				 size_t len)
{
	e->name = strpool__intern(&d->strings, name, len);
	if (!e->name)
		return -ENOMEM;
	/* If the name is unknown, the event keeps the class that its type and config determine. */
	if (perf_event__class(e->name) != PERF_OTHER)
		e->class = perf_event__class(e->name);
	return 0;
}

/* Adds an event, and the ids of its samples. */
static int perf_data__add_attr(struct perf_data *d, const uint8_t *bytes, size_t size,
			       struct bytes ids)
{
	struct perf_event_attr attr = { 0 };
	struct perf_event e = { 0 };
	struct perf_attr a;
	int err;

	memcpy(&attr, bytes, min_t(size_t, size, sizeof(attr)));
	if (d->attrs.nr >= MAX_ATTRS)
		return 0;
	e.class = PERF_OTHER;
	err = perf_data__name_event(d, &e, event_name(&attr), strlen(event_name(&attr)));
	if (attr.freq)
		e.freq_hz = attr.sample_freq;
	a = (struct perf_attr){
		.sample_type = attr.sample_type, .read_format = attr.read_format,
		.branch_type = attr.branch_sample_type, .regs_user = attr.sample_regs_user,
		.sample_id_all = attr.sample_id_all, .event = d->events.nr,
	};
	if (!d->attrs.nr)
		d->clock = attr.use_clockid ? attr.clockid : PERF_CLOCK_OWN;
	while (!err && ids.left >= 8)
		err = min_t(int, idmap__add(&d->attr_ids, bytes__u64(&ids), d->attrs.nr), 0);
	err = err ?: array_push(&d->events, e);
	return err ?: array_push(&d->attrs, a);
}

static int reader__attrs(struct data_reader *r, uint64_t offset, uint64_t len, uint64_t attr_size)
{
	struct bytes b = reader__part(r, offset, len), ids, section;
	const uint8_t *p;
	uint64_t at;
	int err = 0;

	if (attr_size < PERF_ATTR_SIZE_VER0 + 16)
		return 0;
	while (!err && b.left >= attr_size) {
		p = bytes__take(&b, attr_size);
		section = (struct bytes){ p + attr_size - 16, 16, false };
		at = bytes__u64(&section);
		ids = reader__part(r, at, bytes__u64(&section));
		err = perf_data__add_attr(r->d, p, attr_size - 16, ids);
	}
	return err;
}

/* ---- features -------------------------------------------------------------------------------- */

static int perf_data__add_build_id(struct perf_data *d, struct span name, const uint8_t *id,
				   uint8_t len)
{
	const char *copy = strpool__intern(&d->strings, name.s, name.len);
	uint8_t entry[1 + XPU_BUILD_ID_LEN] = { len };
	size_t i;
	int err;

	if (!copy)
		return -ENOMEM;
	err = idmap__add(&d->build_ids, strpool__id(copy), d->ids.nr / sizeof(entry));
	memcpy(entry + 1, id, len);
	for (i = 0; err > 0 && i < sizeof(entry); i++)
		if (array_push(&d->ids, entry[i]))
			return -ENOMEM;
	return min_t(int, err, 0);
}

/*
 * Reads build-ids. An entry resembles a record: type, misc and size, then the pid, 20 bytes for the
 * build-id, the length of the build-id, and the file's name.
 */
static int perf_data__read_build_ids(struct perf_data *d, struct bytes b)
{
	int err = 0;

	while (!err && b.left >= 36) {
		struct bytes e = b;
		uint16_t misc, size;
		const uint8_t *id;
		uint8_t len;

		bytes__u32(&e);
		misc = bytes__u16(&e);
		size = bytes__u16(&e);
		if (size < 36 || size > b.left)
			break;
		bytes__u32(&e);
		id = bytes__take(&e, 24);
		len = misc & MISC_BUILD_ID_SIZE ? min_t(uint8_t, id[20], XPU_BUILD_ID_LEN) :
						  XPU_BUILD_ID_LEN;
		e.left = size - 36;
		err = perf_data__add_build_id(d, bytes__rest(&e), id, len);
		bytes__take(&b, size);
	}
	return err;
}

/*
 * Reads the names of events: first the number of events and the size of an attr, then for each
 * event its attr, number of ids, name and ids.
 */
static int perf_data__read_event_names(struct perf_data *d, struct bytes b)
{
	uint32_t nr = bytes__u32(&b), attr_size = bytes__u32(&b), nr_ids, i, k, attr;
	int err = 0;

	for (i = 0; i < nr && !b.bad && !err; i++) {
		struct span name;
		bool found = false;

		bytes__take(&b, attr_size);
		nr_ids = bytes__u32(&b);
		name = bytes__string(&b);
		for (k = 0; k < nr_ids && !b.bad; k++)
			found |= idmap__get(&d->attr_ids, bytes__u64(&b), &attr);
		/* Without ids, the names are in the order of the attrs. */
		if (!found)
			attr = i;
		if (!b.bad && attr < d->attrs.nr && name.len)
			err = perf_data__name_event(d, &d->events.v[d->attrs.v[attr].event], name.s,
						    name.len);
	}
	return err;
}

static void perf_data__read_command(struct perf_data *d, struct bytes b)
{
	uint32_t nr = bytes__u32(&b), i;
	char *copy = arena__alloc(&d->arena, b.left + 1), *to = copy;

	for (i = 0; copy && i < nr && !b.bad; i++) {
		struct span word = bytes__string(&b);

		if (!word.s)
			break;
		memcpy(to, word.s, word.len);
		to += word.len;
		*to++ = 0;
	}
	if (copy && to > copy)
		d->command = (struct span){ copy, to - copy };
}

static int perf_data__feature(struct perf_data *d, unsigned int bit, struct bytes b)
{
	uint32_t version, clock;

	switch (bit) {
	case FEATURE_BUILD_ID:
		return perf_data__read_build_ids(d, b);
	case FEATURE_HOSTNAME:
		d->hostname = bytes__string(&b);
		return 0;
	case FEATURE_OSRELEASE:
		d->release = bytes__string(&b);
		return 0;
	case FEATURE_ARCH:
		d->arch = bytes__string(&b);
		return 0;
	case FEATURE_CMDLINE:
		perf_data__read_command(d, b);
		return 0;
	case FEATURE_EVENT_DESC:
		return perf_data__read_event_names(d, b);
	case FEATURE_CLOCK_DATA:
		version = bytes__u32(&b);
		clock = bytes__u32(&b);
		if (version != 1 || (int)clock != d->clock)
			return 0;
		d->real_ns = bytes__u64(&b);
		d->clock_ns = bytes__u64(&b);
		return 0;
	default:
		return 0;
	}
}

static int reader__features(struct data_reader *r, const uint64_t bits[FEATURE_BITS / 64],
			    uint64_t at)
{
	struct bytes table = reader__part(r, at, UINT64_MAX);
	unsigned int i;
	uint64_t offset;
	int err = 0;

	for (i = 0; i < FEATURE_BITS && !err; i++) {
		if (!(bits[i / 64] >> i % 64 & 1))
			continue;
		offset = bytes__u64(&table);
		err = perf_data__feature(r->d, i, reader__part(r, offset, bytes__u64(&table)));
	}
	return err;
}

/* ---- samples --------------------------------------------------------------------------------- */

/*
 * Return: the event of the sample with that id, or NULL. If the file has only one event, all
 * samples belong to that event.
 */
static const struct perf_attr *perf_data__attr(const struct perf_data *d, uint64_t id)
{
	uint32_t i;

	if (d->attrs.nr == 1)
		return d->attrs.v;
	return idmap__get(&d->attr_ids, id, &i) ? &d->attrs.v[i] : NULL;
}

/*
 * Finds the event of a sample by the sample's id. The id is either the first field, or at the same
 * offset for all events.
 */
static const struct perf_attr *perf_data__sample_attr(const struct perf_data *d, struct bytes b)
{
	const uint64_t before =
		PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR;
	uint64_t type;

	if (!d->attrs.nr)
		return NULL;
	type = d->attrs.v[0].sample_type;
	if (d->attrs.nr == 1)
		return d->attrs.v;
	if (type & PERF_SAMPLE_IDENTIFIER)
		return perf_data__attr(d, bytes__u64(&b));
	if (!(type & PERF_SAMPLE_ID))
		return d->attrs.v;
	bytes__take(&b, 8 * __builtin_popcountll(type & before));
	return perf_data__attr(d, bytes__u64(&b));
}

static void skip_read(struct bytes *b, uint64_t format)
{
	uint64_t nr = 1, each = 1 + !!(format & PERF_FORMAT_ID) + !!(format & READ_LOST);
	uint64_t times = !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
			 !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);

	if (format & PERF_FORMAT_GROUP)
		nr = bytes__u64(b);
	if (nr > b->left / 8)
		b->bad = true;
	else
		bytes__take(b, 8 * (times + nr * each));
}

static int reader__push(struct data_reader *r, uint64_t address, bool kernel)
{
	/*
	 * In our records, the upper byte of an address gives the kind of frame. If the upper byte
	 * does not fit the frame's kind, the lowest address of this kind replaces the address.
	 */
	if (kernel && address >> 56 != 0xff)
		address = 0xffull << 56;
	else if (!kernel && address >> 56)
		address = 0;
	return array_push(&r->words, address);
}

/* Reads a chain: kernel frames, then user frames. */
static int reader__chain(struct data_reader *r, struct bytes *b, uint16_t mode)
{
	uint64_t nr = bytes__u64(b), i, address;
	bool kernel = mode == PERF_RECORD_MISC_KERNEL || mode == PERF_RECORD_MISC_GUEST_KERNEL;
	int err = 0;

	if (nr > b->left / 8) {
		b->bad = true;
		return 0;
	}
	for (i = 0; i < nr && !err; i++) {
		address = bytes__u64(b);
		if (address >= (uint64_t)PERF_CONTEXT_MAX) {
			kernel = address == (uint64_t)PERF_CONTEXT_KERNEL ||
				 address == (uint64_t)PERF_CONTEXT_HV ||
				 address == (uint64_t)PERF_CONTEXT_GUEST_KERNEL;
			continue;
		}
		err = reader__push(r, address, kernel);
	}
	return err;
}

static void skip_branches(struct bytes *b, uint64_t type)
{
	uint64_t nr = bytes__u64(b);

	if (type & BRANCH_HW_INDEX)
		bytes__u64(b);
	if (nr > b->left / 24)
		b->bad = true;
	else
		bytes__take(b, nr * (type & BRANCH_COUNTERS ? 32 : 24));
}

/*
 * Reads registers, with perf's numbers for x86-64. Return: whether all registers needed for
 * unwinding were found.
 */
static bool read_regs(struct bytes *b, uint64_t mask, uint64_t regs[XPU_NR_REGS])
{
	static const uint8_t numbers[] = {
		[0] = XPU_REG_AX, [1] = XPU_REG_BX, [2] = XPU_REG_CX, [3] = XPU_REG_DX,
		[4] = XPU_REG_SI, [5] = XPU_REG_DI, [6] = XPU_REG_BP, [7] = XPU_REG_SP,
		[8] = XPU_REG_IP, [16] = XPU_REG_R8, [17] = XPU_REG_R9, [18] = XPU_REG_R10,
		[19] = XPU_REG_R11, [20] = XPU_REG_R12, [21] = XPU_REG_R13, [22] = XPU_REG_R14,
		[23] = XPU_REG_R15,
	};
	uint64_t abi = bytes__u64(b), value;
	uint32_t seen = 0, i;

	if (abi == PERF_SAMPLE_REGS_ABI_NONE)
		return false;
	for (i = 0; i < 64; i++) {
		if (!(mask >> i & 1))
			continue;
		value = bytes__u64(b);
		if (i < ARRAY_SIZE(numbers) && (i <= 8 || i >= 16)) {
			regs[numbers[i]] = value;
			seen |= 1u << numbers[i];
		}
	}
	return abi == PERF_SAMPLE_REGS_ABI_64 && seen == (1u << XPU_NR_REGS) - 1 && !b->bad;
}

/* Keeps the sample's copy of the stack. */
static int reader__user_stack(struct data_reader *r, struct bytes *b, struct perf_user_stack *copy,
			      bool has_regs, struct perf_sample *sample)
{
	uint64_t size = bytes__u64(b), dynamic;
	const uint8_t *stack = bytes__take(b, size);
	uint8_t *kept;
	int err;

	if (!size || b->bad)
		return 0;
	dynamic = min_t(uint64_t, bytes__u64(b), size);
	if (!dynamic || b->bad)
		return 0;
	if (!has_regs || copy->regs[XPU_REG_SP] > UINT64_MAX - XPU_STACK_MAX) {
		r->d->nr_no_unwind++;
		return 0;
	}
	copy->bytes = min_t(uint64_t, dynamic, XPU_STACK_MAX);
	/* Decompressed bytes are freed later, so copy the stack. */
	kept = arena__alloc(&r->d->arena, copy->bytes);
	if (!kept)
		return -ENOMEM;
	copy->stack = memcpy(kept, stack, copy->bytes);
	err = array_push(&r->d->copies, *copy);
	sample->copy = r->d->copies.nr;
	return err;
}

static int reader__keep_chain(struct data_reader *r, struct perf_sample *sample)
{
	struct perf_data *d = r->d;
	size_t bytes = r->words.nr * sizeof(*r->words.v);
	const char *copy = strpool__intern(&d->chains, r->words.nr ? (char *)r->words.v : "",
					   bytes);
	int err = 0;

	if (!copy)
		return -ENOMEM;
	sample->stack = strpool__id(copy);
	if (sample->stack == d->chain_words.nr)
		err = array_push(&d->chain_words, copy) ?: array_push(&d->chain_bytes, bytes);
	return err;
}

/* Counts a sample, and keeps it. */
static int reader__keep_sample(struct data_reader *r, struct perf_sample *s)
{
	const char *api;
	size_t api_len;
	int err;

	/* perf writes -1 for a thread that has exited. */
	if (s->pid > INT32_MAX || s->tid > INT32_MAX)
		s->pid = s->tid = 0;
	r->d->events.v[s->event].nr++;
	if (perf_event__launches(r->d->events.v[s->event].name, &api, &api_len))
		r->d->nr_launches++;
	err = reader__keep_chain(r, s);
	return err ?: array_push(&r->d->samples, *s);
}

static int reader__sample(struct data_reader *r, struct bytes b, uint16_t misc)
{
	const struct perf_attr *a = perf_data__sample_attr(r->d, b);
	struct perf_user_stack copy = { 0 };
	struct perf_sample s = { 0 };
	uint16_t mode = misc & PERF_RECORD_MISC_CPUMODE_MASK;
	uint64_t type, ip = 0;
	bool has_regs = false;
	int err = 0;

	if (!a) {
		r->d->nr_strange++;
		return 0;
	}
	type = a->sample_type;
	s.event = a->event;
	r->words.nr = 0;
	if (type & PERF_SAMPLE_IDENTIFIER)
		bytes__u64(&b);
	if (type & PERF_SAMPLE_IP)
		ip = bytes__u64(&b);
	if (type & PERF_SAMPLE_TID) {
		s.pid = bytes__u32(&b);
		s.tid = bytes__u32(&b);
	}
	if (type & PERF_SAMPLE_TIME)
		s.time_ns = bytes__u64(&b);
	if (type & PERF_SAMPLE_ADDR)
		bytes__u64(&b);
	if (type & PERF_SAMPLE_ID)
		bytes__u64(&b);
	if (type & PERF_SAMPLE_STREAM_ID)
		bytes__u64(&b);
	if (type & PERF_SAMPLE_CPU)
		s.cpu = bytes__u64(&b) & UINT16_MAX;
	if (type & PERF_SAMPLE_PERIOD)
		s.period = bytes__u64(&b);
	if (type & PERF_SAMPLE_READ)
		skip_read(&b, a->read_format);
	if (type & PERF_SAMPLE_CALLCHAIN)
		err = reader__chain(r, &b, mode);
	else if (type & PERF_SAMPLE_IP)
		err = reader__push(r, ip, mode == PERF_RECORD_MISC_KERNEL);
	if (type & PERF_SAMPLE_RAW)
		bytes__take(&b, bytes__u32(&b));
	if (type & PERF_SAMPLE_BRANCH_STACK)
		skip_branches(&b, a->branch_type);
	if (type & PERF_SAMPLE_REGS_USER)
		has_regs = read_regs(&b, a->regs_user, copy.regs);
	if (!err && type & PERF_SAMPLE_STACK_USER)
		err = reader__user_stack(r, &b, &copy, has_regs, &s);
	if (b.bad) {
		r->d->nr_strange++;
		return err;
	}
	return err ?: reader__keep_sample(r, &s);
}

/* ---- what happens to processes --------------------------------------------------------------- */

/*
 * Return: the time of a record that is not a sample. The time is at a fixed offset from the end of
 * the record.
 */
static uint64_t perf_data__side_time(const struct perf_data *d, const struct bytes *b)
{
	const uint64_t behind[] = { PERF_SAMPLE_ID, PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU,
				    PERF_SAMPLE_IDENTIFIER };
	const struct perf_attr *a = d->attrs.v;
	size_t at = 8, i;
	uint64_t time_ns;

	if (!d->attrs.nr || !a->sample_id_all || !(a->sample_type & PERF_SAMPLE_TIME))
		return 0;
	for (i = 0; i < ARRAY_SIZE(behind); i++)
		at += a->sample_type & behind[i] ? 8 : 0;
	if (at > b->left)
		return 0;
	memcpy(&time_ns, b->p + b->left - at, sizeof(time_ns));
	return time_ns;
}

/*
 * Reads the mapping "[kernel.kallsyms]_stext". Its offset is the address of _stext, which changes
 * at each boot.
 */
static int perf_data__kernel_map(struct perf_data *d, struct span name, uint64_t pgoff)
{
	static const char prefix[] = "[kernel.kallsyms]";
	size_t len = sizeof(prefix) - 1;

	if (name.len <= len || memcmp(name.s, prefix, len))
		return 0;
	d->kernel_symbol = strpool__intern(&d->strings, name.s + len, name.len - len);
	d->kernel_text = pgoff;
	return d->kernel_symbol ? 0 : -ENOMEM;
}

static int perf_data__mmap(struct perf_data *d, struct perf_side *s, struct bytes b, uint16_t misc,
			   bool second)
{
	struct span name;
	uint8_t *id;

	s->kind = PERF_SIDE_MMAP;
	s->pid = bytes__u32(&b);
	s->tid = bytes__u32(&b);
	s->start = bytes__u64(&b);
	s->len = bytes__u64(&b);
	s->pgoff = bytes__u64(&b);
	s->prot = misc & MISC_MMAP_DATA ? PROT_READ : PROT_READ | PROT_EXEC;
	if (second && misc & MISC_BUILD_ID) {
		const uint8_t *p = bytes__take(&b, 24);

		s->build_id_len = p ? min_t(uint8_t, p[0], XPU_BUILD_ID_LEN) : 0;
		if (s->build_id_len) {
			id = arena__alloc(&d->arena, XPU_BUILD_ID_LEN);
			if (!id)
				return -ENOMEM;
			s->build_id = memcpy(id, p + 4, s->build_id_len);
		}
	} else if (second) {
		s->major = bytes__u32(&b);
		s->minor = bytes__u32(&b);
		s->ino = bytes__u64(&b);
		bytes__u64(&b);
	}
	if (second) {
		s->prot = bytes__u32(&b);
		s->flags = bytes__u32(&b);
	}
	name = bytes__rest(&b);
	if (b.bad) {
		d->nr_strange++;
		return 0;
	}
	if (s->pid > INT32_MAX)
		return perf_data__kernel_map(d, name, s->pgoff);
	if (!(s->prot & PROT_EXEC) || !s->len || s->start > UINT64_MAX - s->len)
		return 0;
	s->name = strpool__intern(&d->strings, name.s, name.len);
	return s->name ? array_push(&d->sides, *s) : -ENOMEM;
}

static int perf_data__comm(struct perf_data *d, struct perf_side *s, struct bytes b, uint16_t misc)
{
	struct span name;

	s->kind = PERF_SIDE_COMM;
	s->pid = bytes__u32(&b);
	s->tid = bytes__u32(&b);
	s->exec = misc & MISC_COMM_EXEC;
	name = bytes__rest(&b);
	if (b.bad) {
		d->nr_strange++;
		return 0;
	}
	s->name = strpool__intern(&d->strings, name.s, name.len);
	return s->name ? array_push(&d->sides, *s) : -ENOMEM;
}

static int perf_data__task(struct perf_data *d, struct perf_side *s, struct bytes b, bool fork)
{
	s->kind = fork ? PERF_SIDE_FORK : PERF_SIDE_EXIT;
	s->pid = bytes__u32(&b);
	s->ppid = bytes__u32(&b);
	s->tid = bytes__u32(&b);
	s->ptid = bytes__u32(&b);
	s->time_ns = bytes__u64(&b);
	if (!b.bad)
		return array_push(&d->sides, *s);
	d->nr_strange++;
	return 0;
}

/*
 * Reads a kernel symbol that appeared or disappeared. A later BPF program may get the same address.
 */
static int perf_data__kernel_symbol(struct perf_data *d, struct bytes b)
{
	struct perf_kernel_symbol symbol = { .start = bytes__u64(&b) };
	uint32_t len = bytes__u32(&b);
	uint16_t type = bytes__u16(&b), gone = bytes__u16(&b) & 1;
	struct span name = bytes__rest(&b);

	(void)type;
	if (b.bad || gone || !len || !name.len || symbol.start >> 56 != 0xff)
		return 0;
	symbol.end = symbol.start + min_t(uint64_t, len, UINT64_MAX - symbol.start);
	symbol.name = strpool__intern(&d->strings, name.s, name.len);
	return symbol.name ? array_push(&d->bpf, symbol) : -ENOMEM;
}

/* ---- records --------------------------------------------------------------------------------- */

static int reader__records(struct data_reader *r, struct bytes *b, bool packed);

/* Decompresses more of the stream, and reads the records that are complete so far. */
static int reader__unpack(struct data_reader *r, struct bytes b)
{
	const uint64_t max = max_t(uint64_t, UNPACKED_MIN, r->size * UNPACKED_RATIO);
	ZSTD_inBuffer in = { .src = b.p, .size = b.left };
	ZSTD_outBuffer out;
	struct bytes whole;
	size_t result, left;
	int err = 0;

	if (!r->zstd)
		r->zstd = ZSTD_createDStream();
	if (!r->zstd)
		return -ENOMEM;
	while (!err && in.pos < in.size && r->nr_unpacked <= max) {
		err = array_reserve(&r->unpacked, r->unpacked.nr + 65536);
		if (err)
			break;
		out = (ZSTD_outBuffer){ .dst = r->unpacked.v + r->unpacked.nr, .size = 65536 };
		result = ZSTD_decompressStream(r->zstd, &out, &in);
		if (ZSTD_isError(result)) {
			r->d->cut = true;
			ZSTD_initDStream(r->zstd);
			r->unpacked.nr = 0;
			return 0;
		}
		r->unpacked.nr += out.pos;
		r->nr_unpacked += out.pos;
		whole = (struct bytes){ r->unpacked.v, r->unpacked.nr, false };
		err = reader__records(r, &whole, true);
		left = whole.left;
		memmove(r->unpacked.v, whole.p, left);
		r->unpacked.nr = left;
	}
	r->d->cut |= r->nr_unpacked > max;
	return err;
}

static int reader__record(struct data_reader *r, uint32_t type, uint16_t misc, struct bytes b,
			  bool packed)
{
	struct perf_data *d = r->d;
	struct perf_side side = { .time_ns = perf_data__side_time(d, &b), .seq = r->seq++ };
	const uint8_t *p;
	uint32_t attr_size;
	uint64_t value;

	switch (type) {
	case PERF_RECORD_SAMPLE:
		return reader__sample(r, b, misc);
	case PERF_RECORD_MMAP:
		return perf_data__mmap(d, &side, b, misc, false);
	case PERF_RECORD_MMAP2_:
		return perf_data__mmap(d, &side, b, misc, true);
	case PERF_RECORD_COMM:
		return perf_data__comm(d, &side, b, misc);
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		return perf_data__task(d, &side, b, type == PERF_RECORD_FORK);
	case PERF_RECORD_KSYMBOL_:
		return perf_data__kernel_symbol(d, b);
	case PERF_RECORD_LOST:
		bytes__u64(&b);
		d->nr_lost += bytes__u64(&b);
		return 0;
	case PERF_RECORD_LOST_SAMPLES:
		d->nr_lost += bytes__u64(&b);
		return 0;
	case TYPE_HEADER_ATTR:
		/*
		 * perf writes this record if its output is a pipe. The record has an attr, which
		 * contains its own size, and then ids.
		 */
		if (b.left < PERF_ATTR_SIZE_VER0)
			return 0;
		memcpy(&attr_size, b.p + 4, sizeof(attr_size));
		p = bytes__take(&b, attr_size);
		return p && attr_size >= PERF_ATTR_SIZE_VER0 ?
			perf_data__add_attr(d, p, attr_size, b) : 0;
	case TYPE_HEADER_FEATURE:
		value = bytes__u64(&b);
		return value < FEATURE_BITS && !packed ? perf_data__feature(d, value, b) : 0;
	case TYPE_COMPRESSED:
		return packed ? 0 : reader__unpack(r, b);
	case TYPE_COMPRESSED2:
		value = bytes__u64(&b);
		b.left = min_t(uint64_t, b.left, value);
		return packed ? 0 : reader__unpack(r, b);
	default:
		return 0;
	}
}

/* Reads the complete records of @b, and leaves an incomplete last record. */
static int reader__records(struct data_reader *r, struct bytes *b, bool packed)
{
	struct bytes rec;
	uint16_t misc, size;
	uint32_t type;
	int err = 0;

	while (!err && b->left >= 8) {
		rec = *b;
		type = bytes__u32(&rec);
		misc = bytes__u16(&rec);
		size = bytes__u16(&rec);
		if (size < 8) {
			r->d->cut = true;
			b->left = 0;
			break;
		}
		if (size > b->left)
			break;
		rec.left = size - 8;
		bytes__take(b, size);
		/*
		 * The trace of Intel PT or Arm ETM follows this record. The record's size does not
		 * include the trace.
		 */
		if (type == TYPE_AUXTRACE && !packed)
			r->d->cut |= !bytes__take(b, bytes__u64(&rec));
		else
			err = reader__record(r, type, misc, rec, packed);
	}
	return err;
}

/* ---- the file -------------------------------------------------------------------------------- */

bool perf_data__is(const void *buf, size_t size)
{
	return size >= PIPE_HEADER_BYTES &&
	       (!memcmp(buf, MAGIC, 8) || !memcmp(buf, MAGIC_OTHER_ORDER, 8));
}

static int perf_sample__compare(const void *a, const void *b, void *ctx __attribute__((unused)))
{
	const struct perf_sample *x = a, *y = b;

	return cmp3(x->time_ns, y->time_ns);
}

static int perf_side__compare(const void *a, const void *b, void *ctx __attribute__((unused)))
{
	const struct perf_side *x = a, *y = b;

	return cmp3(x->time_ns, y->time_ns) ?: cmp3(x->seq, y->seq);
}

static int reader__file(struct data_reader *r)
{
	struct bytes h = { r->base, r->size, false };
	uint64_t header_size, attr_size, attrs, attrs_len, data, data_len, bits[FEATURE_BITS / 64];
	struct bytes records;
	size_t i;
	int err;

	bytes__u64(&h);
	header_size = bytes__u64(&h);
	if (header_size == PIPE_HEADER_BYTES) {
		err = reader__records(r, &h, false);
		r->d->cut |= h.left;
		return err;
	}
	attr_size = bytes__u64(&h);
	attrs = bytes__u64(&h);
	attrs_len = bytes__u64(&h);
	data = bytes__u64(&h);
	data_len = bytes__u64(&h);
	bytes__take(&h, 16);
	for (i = 0; i < ARRAY_SIZE(bits); i++)
		bits[i] = bytes__u64(&h);
	if (h.bad)
		return -EINVAL;
	err = reader__attrs(r, attrs, attrs_len, attr_size);
	/* Samples refer to events, so read the names of events before the samples. */
	if (!err && data_len && data <= UINT64_MAX - data_len)
		err = reader__features(r, bits, data + data_len);
	if (err)
		return err;
	/* perf writes the length of the data only when it exits; until then the length is 0. */
	records = reader__part(r, data, data_len ?: UINT64_MAX);
	r->d->cut |= !data_len || records.left < data_len;
	err = reader__records(r, &records, false);
	r->d->cut |= records.left;
	return err;
}

int perf_data__read(struct perf_data *d, const void *buf, size_t size, const char *path,
		    struct msgs *msgs)
{
	struct data_reader r = { .d = d, .base = buf, .size = size };
	int err = 0;

	memset(d, 0, sizeof(*d));
	d->clock = PERF_CLOCK_UNKNOWN;
	if (!memcmp(buf, MAGIC_OTHER_ORDER, 8))
		return msgs__refuse(msgs, "%s: from a machine of the other byte order: give the "
				    "output of perf script", path);
	err = reader__file(&r);
	if (r.zstd)
		ZSTD_freeDStream(r.zstd);
	array_free(&r.unpacked);
	array_free(&r.words);
	if (err == -ENOMEM)
		return err;
	if (err || !d->attrs.nr)
		return msgs__refuse(msgs, "%s: no events in it: damaged, or of a perf before "
				    "2.6.35", path);
	array__sort(d->samples.v, d->samples.nr, sizeof(*d->samples.v), perf_sample__compare, NULL);
	array__sort(d->sides.v, d->sides.nr, sizeof(*d->sides.v), perf_side__compare, NULL);
	return 0;
}

void perf_data__exit(struct perf_data *d)
{
	arena__free(&d->arena);
	array_free(&d->ids);
	idmap__free(&d->build_ids);
	strpool__free(&d->strings);
	array_free(&d->bpf);
	array_free(&d->sides);
	array_free(&d->chain_bytes);
	array_free(&d->chain_words);
	strpool__free(&d->chains);
	array_free(&d->copies);
	array_free(&d->samples);
	idmap__free(&d->attr_ids);
	array_free(&d->attrs);
	array_free(&d->events);
}
