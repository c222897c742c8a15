// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/pftrace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "escape.h"
#include "perfetto_fields.h"
#include "util.h"

#define SEQUENCE	1		/* the sequence id of all packets: the file has only one
					 * writer */

/* pftrace__intern_text() writes these messages with the field numbers of InternedString. */
#define SAME_FIELDS(message) \
	_Static_assert(message##__IID == INTERNED_STRING__IID && \
		       message##__NAME == INTERNED_STRING__STR, #message)
SAME_FIELDS(EVENT_CATEGORY);
SAME_FIELDS(EVENT_NAME);
SAME_FIELDS(DEBUG_ANNOTATION_NAME);

/*
 * IDs of clocks. Timestamps take most of a packet, so each of the first tracks has a clock of its
 * own, whose timestamps are relative to the previous timestamp. All other tracks use the last
 * clock, whose timestamps are relative to the beginning.
 */
enum {
	CLOCK_DELTAS		= 64,
	CLOCK_SINCE_START	= 127,
};

/* Fixed ids, for the few names that are known beforehand. */
enum category {
	CATEGORY_LAUNCH = 1, CATEGORY_KERNEL, CATEGORY_MEMCPY, CATEGORY_MEMSET,
	CATEGORY_SLICES,		/* the first category of slices; each enum slice_kind has
					 * a category */
};
enum annotation { ANNOTATION_NONE, ANNOTATION_CORRELATION, ANNOTATION_PATH, ANNOTATION_CAPTURED,
		  ANNOTATION_BYTES, ANNOTATION_SHAPE, ANNOTATION_NUMBER, ANNOTATION_PART };

/* The upper bits of a track's UUID are the kind of track, the lower 32 bits are this number: */
#define UUID_PROCESS	(1ull << 40)	/* the process */
#define UUID_THREAD	(2ull << 40)	/* the thread */
#define UUID_NO_THREAD	(3ull << 40)	/* the process; for events whose thread is unknown */
#define UUID_GPU	(4ull << 40)	/* the GPU */
#define UUID_STREAM	(5ull << 40)	/* the number of the track, counted over all streams */
#define UUID_COUNTER	(6ull << 40)	/* the GPU and the counter, as one number */
#define UUID_METER	(7ull << 40)	/* the meter */
#define UUID_WINDOWS	(8ull << 40)	/* the process; for its capture windows */

/* a message under construction */
struct msg {
	ARRAY(uint8_t) bytes;
	bool failed;			/* memory was short */
};

/*
 * the arrows from one launch, except the first arrow; each arrow needs its own ID, because a flow
 * connects all events that have the same ID
 */
struct fan {
	uint32_t nr;
	uint32_t next;			/* the number of the arrow that ends next */
};

struct pftrace {
	FILE *f;
	const struct session *s;
	struct timeline *t;
	struct msg packet, event, inner;
	struct msg interned;		/* names that the next packet defines */
	struct msg out;			/* bytes that are not yet written */
	uint64_t track;			/* events without a track go to this track */
	uint32_t clock;			/* packets without a clock use this clock */
	uint32_t next_clock;
	uint64_t last_ns;		/* the base of the clock's next timestamp */
	struct idmap functions;		/* maps the address of a name to the iid of an event or
					 * function */
	struct idmap frames;		/* frame -> iid */
	struct idmap mappings;		/* dso -> iid */
	struct idmap graphs;		/* maps the key of a launch with several records to an index
					 * in fans */
	ARRAY(struct fan) fans;
	uint32_t next_arrow;
	bool *has_path, *has_stack;	/* for each chain: whether its interned messages were
					 * written */
	bool *has_leaf;			/* for each leaf: whether its name was written */
	bool *has_shape;		/* for each leaf: whether its shape was written */
	bool started;
	ARRAY(char) text;
	bool failed;
};

static uint64_t address(const void *p)
{
	return (uintptr_t)p;
}

/* ---- protobuf ------------------------------------------------------------------------------- */

#define VARINT_MAX	10		/* bytes */

/* Makes room. Return: where to put the next @len bytes; NULL if memory is short. */
static inline uint8_t *msg__room(struct msg *m, size_t len)
{
	if (array_reserve(&m->bytes, m->bytes.nr + len)) {
		m->failed = true;
		return NULL;
	}
	return m->bytes.v + m->bytes.nr;
}

static void msg__raw(struct msg *m, const void *bytes, size_t len)
{
	uint8_t *to = msg__room(m, len);

	if (!to || !len)
		return;
	memcpy(to, bytes, len);
	m->bytes.nr += len;
}

static inline void msg__varint(struct msg *m, uint64_t value)
{
	uint8_t *to = msg__room(m, VARINT_MAX), *end = to;

	if (!to)
		return;
	for (; value >= 0x80; value >>= 7)
		*end++ = value | 0x80;
	*end++ = value;
	m->bytes.nr += end - to;
}

static size_t varint__len(uint64_t value)
{
	size_t len = 1;

	for (; value >= 0x80; value >>= 7)
		len++;
	return len;
}

static inline void msg__uint(struct msg *m, unsigned int field, uint64_t value)
{
	msg__varint(m, field << 3);
	msg__varint(m, value);
}

static void msg__fixed64(struct msg *m, unsigned int field, uint64_t value)
{
	uint8_t bytes[8];
	size_t i;

	for (i = 0; i < sizeof(bytes); i++)
		bytes[i] = value >> (8 * i);
	msg__varint(m, field << 3 | 1);
	msg__raw(m, bytes, sizeof(bytes));
}

static void msg__double(struct msg *m, unsigned int field, double value)
{
	uint64_t bits;

	_Static_assert(sizeof(bits) == sizeof(value), "a double has 64 bits");
	memcpy(&bits, &value, sizeof(bits));
	msg__fixed64(m, field, bits);
}

static void msg__bytes(struct msg *m, unsigned int field, const void *bytes, size_t len)
{
	msg__varint(m, field << 3 | 2);
	msg__varint(m, len);
	msg__raw(m, bytes, len);
}

/* Puts @from into @m, and empties @from. */
static void msg__message(struct msg *m, unsigned int field, struct msg *from)
{
	msg__bytes(m, field, from->bytes.v, from->bytes.nr);
	m->failed |= from->failed;
	from->bytes.nr = 0;
}

/* ---- packets and interned data --------------------------------------------------------------- */

#define OUT_BYTES	(64 * 1024)

static void pftrace__flush(struct pftrace *p)
{
	if (p->out.bytes.nr)
		fwrite(p->out.bytes.v, 1, p->out.bytes.nr, p->f);
	p->out.bytes.nr = 0;
}

/*
 * Completes p->packet with @body as its @field, and with p->interned; all three messages are empty
 * afterwards.
 */
static void pftrace__finish_packet(struct pftrace *p, unsigned int field, struct msg *body)
{
	size_t len = body->bytes.nr;

	msg__uint(&p->packet, TRACE_PACKET__TRUSTED_PACKET_SEQUENCE_ID, SEQUENCE);
	msg__uint(&p->packet, TRACE_PACKET__SEQUENCE_FLAGS,
		  p->started ? TRACE_PACKET__SEQ_NEEDS_INCREMENTAL_STATE :
			       TRACE_PACKET__SEQ_INCREMENTAL_STATE_CLEARED);
	p->started = true;
	if (p->interned.bytes.nr)
		msg__message(&p->packet, TRACE_PACKET__INTERNED_DATA, &p->interned);
	msg__varint(&p->out, TRACE__PACKET << 3 | 2);
	msg__varint(&p->out, p->packet.bytes.nr + varint__len(field << 3) + varint__len(len) + len);
	msg__raw(&p->out, p->packet.bytes.v, p->packet.bytes.nr);
	msg__message(&p->out, field, body);
	p->failed |= p->packet.failed || p->out.failed;
	p->packet.bytes.nr = 0;
	if (p->out.bytes.nr >= OUT_BYTES)
		pftrace__flush(p);
}

/* Sets defaults for the events that follow: @track, and its clock. */
static void pftrace__enter_track(struct pftrace *p, uint64_t track)
{
	p->track = track;
	p->clock = p->next_clock;
	p->last_ns = p->t->first_ns;
	if (p->next_clock < CLOCK_SINCE_START)
		p->next_clock++;
	msg__uint(&p->inner, TRACK_EVENT_DEFAULTS__TRACK_UUID, track);
	msg__message(&p->event, TRACE_PACKET_DEFAULTS__TRACK_EVENT_DEFAULTS, &p->inner);
	msg__uint(&p->event, TRACE_PACKET_DEFAULTS__TIMESTAMP_CLOCK_ID, p->clock);
	pftrace__finish_packet(p, TRACE_PACKET__TRACE_PACKET_DEFAULTS, &p->event);
}

static void pftrace__clear_text(struct pftrace *p)
{
	p->text.nr = 0;
}

/* Adds a text, escaped so that it is UTF-8. */
static void pftrace__add_text(struct pftrace *p, const char *s, enum escape how)
{
	char out[ESCAPE_MAX];
	size_t len;

	while ((len = escape__next(&s, how, out))) {
		if (array_reserve(&p->text, p->text.nr + len)) {
			p->failed = true;
			return;
		}
		memcpy(p->text.v + p->text.nr, out, len);
		p->text.nr += len;
	}
}

/* Interns p->text. */
static void pftrace__intern_text(struct pftrace *p, unsigned int field, uint64_t iid)
{
	msg__uint(&p->inner, INTERNED_STRING__IID, iid);
	msg__bytes(&p->inner, INTERNED_STRING__STR, p->text.v, p->text.nr);
	msg__message(&p->interned, field, &p->inner);
}

static void pftrace__intern(struct pftrace *p, unsigned int field, uint64_t iid, const char *s)
{
	pftrace__clear_text(p);
	pftrace__add_text(p, s, ESCAPE_TEXT);
	pftrace__intern_text(p, field, iid);
}

static uint32_t pftrace__function(struct pftrace *p, const char *name)
{
	uint32_t iid;

	if (idmap__get(&p->functions, address(name), &iid))
		return iid;
	iid = p->functions.nr + 1;
	if (idmap__put(&p->functions, address(name), iid))
		p->failed = true;
	pftrace__intern(p, INTERNED_DATA__FUNCTION_NAMES, iid, name);
	/* Ids of event names come after the ids of leaves' names. */
	pftrace__intern(p, INTERNED_DATA__EVENT_NAMES, p->s->model.leaves.nr + iid, name);
	return iid;
}

static uint64_t pftrace__leaf_name(struct pftrace *p, uint32_t idx)
{
	const struct leaf *leaf = &p->s->model.leaves.v[idx];

	if (!p->has_leaf[idx]) {
		p->has_leaf[idx] = true;
		pftrace__clear_text(p);
		pftrace__add_text(p, leaf_kind__prefix(leaf->kind), ESCAPE_TEXT);
		pftrace__add_text(p, leaf->name, ESCAPE_TEXT);
		pftrace__intern_text(p, INTERNED_DATA__EVENT_NAMES, 1 + idx);
	}
	return 1 + idx;
}

/* Interns a call path as one string. */
static uint64_t pftrace__path(struct pftrace *p, uint32_t chain)
{
	const struct stack *stack = p->s->model.chains.v[chain].stack;
	uint32_t i;

	if (!p->has_path[chain]) {
		p->has_path[chain] = true;
		pftrace__clear_text(p);
		for (i = 0; i < stack->nr; i++) {
			pftrace__add_text(p, i ? ";" : "", ESCAPE_TEXT);
			pftrace__add_text(p, stack->frames[i]->name, ESCAPE_FOLDED);
		}
		pftrace__intern_text(p, INTERNED_DATA__DEBUG_ANNOTATION_STRING_VALUES,
				     1 + (uint64_t)chain);
	}
	return 1 + (uint64_t)chain;
}

/*
 * Interns the shape of a leaf's kernels as one string. Return: its id; 0 if the shape is unknown.
 */
static uint64_t pftrace__shape(struct pftrace *p, uint32_t idx)
{
	const struct leaf *leaf = &p->s->model.leaves.v[idx];
	const struct xpu_shape *shape = shapes__at(&p->s->model.shapes, leaf->shape);
	uint64_t iid = 1 + (uint64_t)p->s->model.chains.nr + idx;
	char *text;

	if (!shape)
		return 0;
	if (p->has_shape[idx])
		return iid;
	text = shape__describe(shape, &p->s->model.gpus.list.v[leaf->gpu].limits);
	if (!text)
		return 0;
	p->has_shape[idx] = true;
	pftrace__clear_text(p);
	pftrace__add_text(p, text, ESCAPE_TEXT);
	pftrace__intern_text(p, INTERNED_DATA__DEBUG_ANNOTATION_STRING_VALUES, iid);
	free(text);
	return iid;
}

/*
 * Interns the mapping of a frame. The format requires a mapping, so a frame without a file gets the
 * mapping [unknown].
 */
static uint32_t pftrace__mapping(struct pftrace *p, const struct dso *dso)
{
	uint32_t iid;

	if (idmap__get(&p->mappings, address(dso), &iid))
		return iid;
	iid = p->mappings.nr + 1;
	if (idmap__put(&p->mappings, address(dso), iid))
		p->failed = true;
	pftrace__intern(p, INTERNED_DATA__MAPPING_PATHS, iid, dso ? dso->path : "[unknown]");
	/* The string holds raw bytes. */
	msg__uint(&p->inner, INTERNED_STRING__IID, iid);
	msg__bytes(&p->inner, INTERNED_STRING__STR, dso ? dso->build_id : NULL,
		   dso ? dso->build_id_len : 0);
	msg__message(&p->interned, INTERNED_DATA__BUILD_IDS, &p->inner);
	msg__uint(&p->inner, MAPPING__IID, iid);
	msg__uint(&p->inner, MAPPING__BUILD_ID, iid);
	msg__uint(&p->inner, MAPPING__PATH_STRING_IDS, iid);
	msg__message(&p->interned, INTERNED_DATA__MAPPINGS, &p->inner);
	return iid;
}

static uint32_t pftrace__frame(struct pftrace *p, const struct frame *frame)
{
	uint32_t iid, function, mapping;

	if (idmap__get(&p->frames, address(frame), &iid))
		return iid;
	function = pftrace__function(p, frame->name);
	mapping = pftrace__mapping(p, frame->dso);
	iid = p->frames.nr + 1;
	if (idmap__put(&p->frames, address(frame), iid))
		p->failed = true;
	msg__uint(&p->inner, FRAME__IID, iid);
	msg__uint(&p->inner, FRAME__FUNCTION_NAME_ID, function);
	msg__uint(&p->inner, FRAME__MAPPING_ID, mapping);
	/* The field is required, although names identify frames. */
	msg__uint(&p->inner, FRAME__REL_PC, 0);
	msg__message(&p->interned, INTERNED_DATA__FRAMES, &p->inner);
	return iid;
}

/* Interns a call path as the format's Callstack, root first. */
static uint64_t pftrace__callstack(struct pftrace *p, uint32_t chain)
{
	const struct stack *stack = p->s->model.chains.v[chain].stack;
	struct msg callstack = { 0 };
	uint32_t i;

	if (!p->has_stack[chain]) {
		p->has_stack[chain] = true;
		msg__uint(&callstack, CALLSTACK__IID, 1 + (uint64_t)chain);
		for (i = 0; i < stack->nr; i++)
			msg__uint(&callstack, CALLSTACK__FRAME_IDS,
				  pftrace__frame(p, stack->frames[i]));
		msg__message(&p->interned, INTERNED_DATA__CALLSTACKS, &callstack);
		array_free(&callstack.bytes);
	}
	return 1 + (uint64_t)chain;
}

/* ---- tracks --------------------------------------------------------------------------------- */

/* Completes the descriptor p->inner with @uuid and @parent, and writes it. */
static void pftrace__put_track(struct pftrace *p, uint64_t uuid, uint64_t parent)
{
	msg__uint(&p->inner, TRACK_DESCRIPTOR__UUID, uuid);
	if (parent)
		msg__uint(&p->inner, TRACK_DESCRIPTOR__PARENT_UUID, parent);
	pftrace__finish_packet(p, TRACE_PACKET__TRACK_DESCRIPTOR, &p->inner);
}

static void pftrace__add_number(struct pftrace *p, const char *before, uint32_t number)
{
	char text[64];

	snprintf(text, sizeof(text), "%s%" PRIu32, before, number);
	pftrace__add_text(p, text, ESCAPE_TEXT);
}

/* Adds the process's labels (rank, node, pod and so on) to the descriptor. */
static void pftrace__process_labels(struct pftrace *p, uint32_t proc)
{
	const struct model *m = &p->s->model;
	char *labels;

	if (model__rank(m, proc) != NO_INDEX)
		msg__uint(&p->event, PROCESS_DESCRIPTOR__LEGACY_SORT_INDEX,
			  timeline__sort_index(p->s, proc));
	if (!labels__any(model__labels(m, proc)))
		return;
	labels = model__process_labels(m, proc);
	if (!labels) {
		p->failed = true;
		return;
	}
	pftrace__clear_text(p);
	pftrace__add_text(p, labels, ESCAPE_TEXT);
	msg__bytes(&p->event, PROCESS_DESCRIPTOR__PROCESS_LABELS, p->text.v, p->text.nr);
	free(labels);
}

static void pftrace__process(struct pftrace *p, uint32_t proc)
{
	uint32_t rank = model__rank(&p->s->model, proc);

	pftrace__clear_text(p);
	if (rank != NO_INDEX) {
		pftrace__add_number(p, "rank ", rank);
		pftrace__add_text(p, ": ", ESCAPE_TEXT);
	}
	pftrace__add_text(p, model__proc_name(&p->s->model, proc), ESCAPE_TEXT);
	if (*model__host(&p->s->model, proc)) {
		pftrace__add_text(p, " on ", ESCAPE_TEXT);
		pftrace__add_text(p, model__host(&p->s->model, proc), ESCAPE_TEXT);
	}
	msg__uint(&p->event, PROCESS_DESCRIPTOR__PID, p->t->pids[proc]);
	msg__bytes(&p->event, PROCESS_DESCRIPTOR__PROCESS_NAME, p->text.v, p->text.nr);
	pftrace__process_labels(p, proc);
	msg__message(&p->inner, TRACK_DESCRIPTOR__PROCESS, &p->event);
	pftrace__put_track(p, UUID_PROCESS | proc, 0);
}

static uint64_t thread_uuid(uint32_t proc, uint32_t thread)
{
	return thread == NO_INDEX ? UUID_NO_THREAD | proc : UUID_THREAD | thread;
}

static void pftrace__thread(struct pftrace *p, uint32_t proc, uint32_t thread)
{
	const char *comm = "unknown thread";

	if (thread != NO_INDEX)
		comm = p->s->model.threads.v[thread].comm ?: model__proc_name(&p->s->model, proc);
	pftrace__clear_text(p);
	pftrace__add_text(p, comm, ESCAPE_TEXT);
	msg__uint(&p->event, THREAD_DESCRIPTOR__PID, p->t->pids[proc]);
	msg__uint(&p->event, THREAD_DESCRIPTOR__TID, timeline__tid(p->s, thread));
	msg__bytes(&p->event, THREAD_DESCRIPTOR__THREAD_NAME, p->text.v, p->text.nr);
	msg__message(&p->inner, TRACK_DESCRIPTOR__THREAD, &p->event);
	pftrace__put_track(p, thread_uuid(proc, thread), UUID_PROCESS | proc);
	pftrace__enter_track(p, thread_uuid(proc, thread));
}

static void pftrace__named_track(struct pftrace *p, uint64_t uuid, uint64_t parent)
{
	msg__bytes(&p->inner, TRACK_DESCRIPTOR__NAME, p->text.v, p->text.nr);
	pftrace__put_track(p, uuid, parent);
}

static void pftrace__gpus(struct pftrace *p)
{
	size_t i;

	for (i = 0; i < p->s->model.gpus.list.nr; i++) {
		const struct gpu *gpu = &p->s->model.gpus.list.v[i];

		if (!timeline__has_gpu(p->s, i))
			continue;
		pftrace__clear_text(p);
		pftrace__add_number(p, "GPU ", gpu->number);
		pftrace__add_text(p, gpu->name ? " " : "", ESCAPE_TEXT);
		pftrace__add_text(p, gpu->name ? gpu->name : "", ESCAPE_TEXT);
		pftrace__named_track(p, UUID_GPU | i, 0);
	}
}

static void pftrace__streams(struct pftrace *p)
{
	uint32_t i, lane;

	for (i = 0; i < p->s->model.streams.nr; i++) {
		const struct stream *stream = &p->s->model.streams.v[i];

		for (lane = 0; lane < p->t->nr_lanes[i]; lane++) {
			pftrace__clear_text(p);
			if (stream->known) {
				pftrace__add_number(p, "stream ", stream->stream);
				pftrace__add_number(p, " context ", stream->context);
			} else {
				pftrace__add_text(p, "unknown stream", ESCAPE_TEXT);
			}
			if (lane)
				pftrace__add_number(p, " +", lane);
			pftrace__add_text(p, " (", ESCAPE_TEXT);
			pftrace__add_text(p, model__proc_name(&p->s->model, stream->proc),
					  ESCAPE_TEXT);
			pftrace__add_number(p, " ", p->s->model.machine.procs.v[stream->proc].pid);
			pftrace__add_text(p, ")", ESCAPE_TEXT);
			pftrace__named_track(p, UUID_STREAM | (p->t->first_track[i] + lane),
					     UUID_GPU | stream->gpu);
		}
	}
}

/* ---- events --------------------------------------------------------------------------------- */

static void pftrace__annotate(struct pftrace *p, enum annotation name, unsigned int field,
			      uint64_t value)
{
	size_t len = varint__len(DEBUG_ANNOTATION__NAME_IID << 3) + varint__len(name) +
		     varint__len(field << 3) + varint__len(value);

	msg__varint(&p->event, TRACK_EVENT__DEBUG_ANNOTATIONS << 3 | 2);
	msg__varint(&p->event, len);
	msg__uint(&p->event, DEBUG_ANNOTATION__NAME_IID, name);
	msg__uint(&p->event, field, value);
}

static void pftrace__put_time(struct pftrace *p, uint64_t time_ns)
{
	if (p->clock != CLOCK_SINCE_START && time_ns >= p->last_ns) {
		msg__uint(&p->packet, TRACE_PACKET__TIMESTAMP, time_ns - p->last_ns);
		p->last_ns = time_ns;
		return;
	}
	msg__uint(&p->packet, TRACE_PACKET__TIMESTAMP, time_ns - p->t->first_ns);
	if (p->clock != CLOCK_SINCE_START)
		msg__uint(&p->packet, TRACE_PACKET__TIMESTAMP_CLOCK_ID, CLOCK_SINCE_START);
}

static void pftrace__put_event(struct pftrace *p, uint64_t time_ns, unsigned int type,
			       uint64_t track)
{
	msg__uint(&p->event, TRACK_EVENT__TYPE, type);
	if (track != p->track)
		msg__uint(&p->event, TRACK_EVENT__TRACK_UUID, track);
	pftrace__put_time(p, time_ns);
	pftrace__finish_packet(p, TRACE_PACKET__TRACK_EVENT, &p->event);
}

/* Return: the flow id of a launch. @key: the launch's process and correlation id */
static uint64_t flow_id(uint64_t key)
{
	return key + (1ull << 32);
}

static uint64_t arrow_id(uint32_t nr)
{
	return 1ull << 63 | nr;
}

/* For each launch that has several arrows, counts the arrows except the first one. */
static void pftrace__count_arrows(struct pftrace *p)
{
	const struct timeline *t = p->t;
	uint32_t idx;
	size_t i;

	for (i = 0; i < t->device.nr && !p->failed; i++) {
		if (t->device.v[i].first || t->device.v[i].orphan)
			continue;
		if (!idmap__get(&p->graphs, t->device.v[i].key, &idx)) {
			idx = p->fans.nr;
			p->failed |= idmap__put(&p->graphs, t->device.v[i].key, idx) ||
				     array_push(&p->fans, (struct fan){ 0 });
		}
		if (!p->failed)
			p->fans.v[idx].nr++;
	}
}

/* Puts the starts of the arrows from a launch to all its work. */
static void pftrace__put_arrows(struct pftrace *p, uint64_t key)
{
	uint32_t idx, i;

	msg__fixed64(&p->event, TRACK_EVENT__FLOW_IDS, flow_id(key));
	if (!idmap__get(&p->graphs, key, &idx))
		return;
	p->fans.v[idx].next = p->next_arrow;
	for (i = 0; i < p->fans.v[idx].nr; i++)
		msg__fixed64(&p->event, TRACK_EVENT__FLOW_IDS, arrow_id(p->next_arrow++));
}

static void pftrace__end_arrow(struct pftrace *p, const struct device_event *e)
{
	uint64_t id = flow_id(e->key);
	uint32_t idx;

	if (!e->first && idmap__get(&p->graphs, e->key, &idx))
		id = arrow_id(p->fans.v[idx].next++);
	msg__fixed64(&p->event, TRACK_EVENT__FLOW_IDS, id);
}

/* Marks a slice that --from or --to has cut. */
static void pftrace__part(struct pftrace *p, bool is_part)
{
	if (is_part)
		pftrace__annotate(p, ANNOTATION_PART, DEBUG_ANNOTATION__UINT_VALUE, 1);
}

static void pftrace__annotate_path(struct pftrace *p, enum annotation what, uint32_t chain)
{
	if (chain != NO_INDEX)
		pftrace__annotate(p, what, DEBUG_ANNOTATION__STRING_VALUE_IID,
				  pftrace__path(p, chain));
}

/* Adds a launch's annotations to p->event, which the caller completes. */
static void pftrace__call(struct pftrace *p, uint64_t key, uint32_t chain)
{
	pftrace__annotate(p, ANNOTATION_CORRELATION, DEBUG_ANNOTATION__UINT_VALUE,
			  JOIN_KEY_ID(key));
	pftrace__annotate_path(p, ANNOTATION_PATH, chain);
	if (chain != NO_INDEX)
		pftrace__put_arrows(p, key);
}

static void pftrace__launch(struct pftrace *p, const struct host_event *e)
{
	const struct stack *stack = p->s->model.chains.v[e->chain].stack;

	msg__uint(&p->event, TRACK_EVENT__CATEGORY_IIDS, CATEGORY_LAUNCH);
	msg__uint(&p->event, TRACK_EVENT__NAME_IID, p->s->model.leaves.nr +
		  pftrace__function(p, stack->frames[stack->nr - 1]->name));
	pftrace__call(p, e->key, e->chain);
}

static void pftrace__slice(struct pftrace *p, const struct slice *slice)
{
	msg__uint(&p->event, TRACK_EVENT__CATEGORY_IIDS,
		  slice->chain != NO_INDEX ? CATEGORY_LAUNCH : CATEGORY_SLICES + slice->kind);
	msg__uint(&p->event, TRACK_EVENT__NAME_IID,
		  p->s->model.leaves.nr + pftrace__function(p, slice->name));
	if (slice->kind == SLICE_API)
		pftrace__call(p, slice->key, slice->chain);
	pftrace__part(p, slice->is_part);
}

static void pftrace__sample(struct pftrace *p, const struct host_event *e)
{
	uint64_t callstack = pftrace__callstack(p, e->chain);

	msg__uint(&p->event, PERF_SAMPLE__PID, p->t->pids[JOIN_KEY_PROC(e->key)]);
	msg__uint(&p->event, PERF_SAMPLE__TID, timeline__tid(p->s, e->thread));
	msg__uint(&p->event, PERF_SAMPLE__CALLSTACK_IID, callstack);
	pftrace__put_time(p, e->time_ns);
	pftrace__finish_packet(p, TRACE_PACKET__PERF_SAMPLE, &p->event);
}

static void pftrace__track(struct pftrace *p, const struct timeline_track *track)
{
	struct track_walk walk = { .t = p->t, .track = track };
	uint64_t uuid = thread_uuid(track->proc, track->thread);
	int step;

	pftrace__thread(p, track->proc, track->thread);
	do {
		step = track_walk__next(&walk);
		if (step == TRACK_SAMPLE) {
			pftrace__sample(p, walk.event);
		} else if (step == TRACK_BEGIN) {
			if (walk.slice)
				pftrace__slice(p, walk.slice);
			else
				pftrace__launch(p, walk.event);
			pftrace__put_event(p, walk.time_ns, TRACK_EVENT__TYPE_SLICE_BEGIN, uuid);
		} else if (step == TRACK_END) {
			pftrace__put_event(p, walk.time_ns, TRACK_EVENT__TYPE_SLICE_END, uuid);
		}
	} while (step >= 0 && step != TRACK_DONE);
	p->failed |= step < 0;
	track_walk__exit(&walk);
}

/* Writes a track with the process's capture windows. */
static void pftrace__windows(struct pftrace *p, uint32_t proc)
{
	const struct captured *c = &p->s->model.captured;
	uint64_t uuid = UUID_WINDOWS | proc;
	bool has_track = false;

	array_each(&c->windows, w) {
		if (w->proc != proc || !captured_window__passes(w, p->s->opts.filter))
			continue;
		if (!has_track) {
			pftrace__clear_text(p);
			pftrace__add_text(p, "windows", ESCAPE_TEXT);
			pftrace__named_track(p, uuid, UUID_PROCESS | proc);
			pftrace__enter_track(p, uuid);
			has_track = true;
		}
		msg__uint(&p->event, TRACK_EVENT__NAME_IID,
			  p->s->model.leaves.nr + pftrace__function(p, "window"));
		pftrace__annotate(p, ANNOTATION_NUMBER, DEBUG_ANNOTATION__UINT_VALUE, w->number);
		pftrace__put_event(p, w->open_ns, TRACK_EVENT__TYPE_SLICE_BEGIN, uuid);
		pftrace__put_event(p, captured_window__close(w), TRACK_EVENT__TYPE_SLICE_END, uuid);
	}
}

static void pftrace__tracks(struct pftrace *p)
{
	const struct timeline *t = p->t;
	size_t i;

	for (i = 0; i < t->tracks.nr && !p->failed; i++) {
		if (!i || t->tracks.v[i].proc != t->tracks.v[i - 1].proc) {
			pftrace__process(p, t->tracks.v[i].proc);
			pftrace__windows(p, t->tracks.v[i].proc);
		}
		pftrace__track(p, &t->tracks.v[i]);
	}
}

static void pftrace__work(struct pftrace *p, const struct device_event *e)
{
	static const enum category categories[] = {
		[LEAF_KERNEL] = CATEGORY_KERNEL,
		[LEAF_MEMCPY] = CATEGORY_MEMCPY,
		[LEAF_MEMSET] = CATEGORY_MEMSET,
	};
	uint64_t track = UUID_STREAM | (p->t->first_track[e->stream] + e->lane);
	enum leaf_kind kind = p->s->model.leaves.v[e->leaf].kind;
	uint64_t shape;

	msg__uint(&p->event, TRACK_EVENT__CATEGORY_IIDS, categories[kind]);
	msg__uint(&p->event, TRACK_EVENT__NAME_IID, pftrace__leaf_name(p, e->leaf));
	pftrace__annotate(p, ANNOTATION_CORRELATION, DEBUG_ANNOTATION__UINT_VALUE,
			  JOIN_KEY_ID(e->key));
	shape = kind == LEAF_KERNEL ? pftrace__shape(p, e->leaf) : 0;
	if (shape)
		pftrace__annotate(p, ANNOTATION_SHAPE, DEBUG_ANNOTATION__STRING_VALUE_IID, shape);
	if (kind != LEAF_KERNEL && !e->began_before)
		pftrace__annotate(p, ANNOTATION_BYTES, DEBUG_ANNOTATION__UINT_VALUE, e->bytes);
	pftrace__part(p, e->is_part);
	pftrace__annotate_path(p, ANNOTATION_PATH, e->chain);
	pftrace__annotate_path(p, ANNOTATION_CAPTURED, e->made);
	if (!e->orphan)
		pftrace__end_arrow(p, e);
	pftrace__put_event(p, e->start_ns, TRACK_EVENT__TYPE_SLICE_BEGIN, track);
	pftrace__put_event(p, e->end_ns, TRACK_EVENT__TYPE_SLICE_END, track);
}

static void pftrace__device(struct pftrace *p)
{
	const struct timeline *t = p->t;
	uint32_t stream = NO_INDEX;
	size_t i;

	for (i = 0; i < t->device.nr && !p->failed; i++) {
		if (t->device.v[i].stream != stream) {
			stream = t->device.v[i].stream;
			pftrace__enter_track(p, UUID_STREAM | t->first_track[stream]);
		}
		pftrace__work(p, &t->device.v[i]);
	}
}

static int pftrace__counter(struct pftrace *p, uint32_t gpu, unsigned int what)
{
	uint64_t uuid = UUID_COUNTER | ((uint64_t)gpu * timeline__nr_counters() + what);
	counter_points_t points = { 0 };
	size_t i;
	int err = timeline__count(p->t, p->s, gpu, what, &points);

	if (!err && points.nr) {
		msg__bytes(&p->inner, TRACK_DESCRIPTOR__COUNTER, NULL, 0);
		pftrace__clear_text(p);
		pftrace__add_text(p, timeline_counter__name(what), ESCAPE_TEXT);
		pftrace__named_track(p, uuid, UUID_GPU | gpu);
		pftrace__enter_track(p, uuid);
	}
	for (i = 0; i < points.nr && !err; i++) {
		msg__uint(&p->event, TRACK_EVENT__COUNTER_VALUE, points.v[i].value);
		pftrace__put_event(p, points.v[i].time_ns, TRACK_EVENT__TYPE_COUNTER, uuid);
	}
	array_free(&points);
	return err;
}

/* Writes a track with the values of a meter. @nr: the track's number among all tracks of meters. */
static void pftrace__meter(struct pftrace *p, const struct meter *m, uint32_t nr)
{
	uint64_t uuid = UUID_METER | nr;
	size_t i;

	if (m->points.nr) {
		pftrace__clear_text(p);
		pftrace__add_text(p, m->unit, ESCAPE_TEXT);
		msg__bytes(&p->event, COUNTER_DESCRIPTOR__UNIT_NAME, p->text.v, p->text.nr);
		msg__message(&p->inner, TRACK_DESCRIPTOR__COUNTER, &p->event);
		pftrace__clear_text(p);
		pftrace__add_text(p, m->name, ESCAPE_TEXT);
		pftrace__named_track(p, uuid, UUID_GPU | m->gpu);
		pftrace__enter_track(p, uuid);
	}
	for (i = 0; i < m->points.nr; i++) {
		msg__double(&p->event, TRACK_EVENT__DOUBLE_COUNTER_VALUE, m->points.v[i].value);
		pftrace__put_event(p, m->points.v[i].time_ns, TRACK_EVENT__TYPE_COUNTER, uuid);
	}
}

static int pftrace__meters(struct pftrace *p)
{
	struct meter_walk walk = { 0 };
	struct meter meter;
	uint32_t nr = 0;
	int err;

	do {
		err = meter_walk__next(&walk, p->s, true, &meter);
		if (err > 0)
			pftrace__meter(p, &meter, nr++);
		array_free(&meter.points);
	} while (err > 0);
	return err;
}

static int pftrace__counters(struct pftrace *p)
{
	uint32_t gpu, what;
	int err = 0;

	for (gpu = 0; gpu < p->s->model.gpus.list.nr; gpu++)
		for (what = 0; what < timeline__nr_counters() && !err; what++)
			err = pftrace__counter(p, gpu, what);
	return err ?: pftrace__meters(p);
}

static void pftrace__clock(struct pftrace *p, uint32_t id, uint64_t time_ns)
{
	msg__uint(&p->event, CLOCK_SNAPSHOT__CLOCK__CLOCK_ID, id);
	msg__uint(&p->event, CLOCK_SNAPSHOT__CLOCK__TIMESTAMP, time_ns);
	if (id >= CLOCK_DELTAS && id < CLOCK_SINCE_START)
		msg__uint(&p->event, CLOCK_SNAPSHOT__CLOCK__IS_INCREMENTAL, true);
	msg__message(&p->inner, CLOCK_SNAPSHOT__CLOCKS, &p->event);
}

/* Writes the initial values of the clocks. */
static void pftrace__clocks(struct pftrace *p)
{
	uint32_t absolute = p->s->model.realtime ? BUILTIN_CLOCK_REALTIME :
			    BUILTIN_CLOCK_MONOTONIC, id;

	pftrace__clock(p, absolute, p->t->first_ns);
	for (id = CLOCK_DELTAS; id <= CLOCK_SINCE_START; id++)
		pftrace__clock(p, id, 0);
	msg__uint(&p->inner, CLOCK_SNAPSHOT__PRIMARY_TRACE_CLOCK, absolute);
	pftrace__finish_packet(p, TRACE_PACKET__CLOCK_SNAPSHOT, &p->inner);
}

/* Interns the fixed names, which the next packet defines. */
static void pftrace__names(struct pftrace *p)
{
	enum slice_kind kind;

	pftrace__intern(p, INTERNED_DATA__EVENT_CATEGORIES, CATEGORY_LAUNCH, "launch");
	pftrace__intern(p, INTERNED_DATA__EVENT_CATEGORIES, CATEGORY_KERNEL,
			leaf_kind__name(LEAF_KERNEL));
	pftrace__intern(p, INTERNED_DATA__EVENT_CATEGORIES, CATEGORY_MEMCPY,
			leaf_kind__name(LEAF_MEMCPY));
	pftrace__intern(p, INTERNED_DATA__EVENT_CATEGORIES, CATEGORY_MEMSET,
			leaf_kind__name(LEAF_MEMSET));
	for (kind = 0; kind < NR_SLICE_KINDS; kind++)
		pftrace__intern(
			p, INTERNED_DATA__EVENT_CATEGORIES, CATEGORY_SLICES + kind,
			slice__category(&(struct slice){ .kind = kind, .chain = NO_INDEX }));
	pftrace__intern(p, INTERNED_DATA__DEBUG_ANNOTATION_NAMES, ANNOTATION_CORRELATION,
			"correlation");
	pftrace__intern(p, INTERNED_DATA__DEBUG_ANNOTATION_NAMES, ANNOTATION_PATH, "call path");
	pftrace__intern(p, INTERNED_DATA__DEBUG_ANNOTATION_NAMES, ANNOTATION_CAPTURED,
			"captured at");
	pftrace__intern(p, INTERNED_DATA__DEBUG_ANNOTATION_NAMES, ANNOTATION_BYTES, "bytes");
	pftrace__intern(p, INTERNED_DATA__DEBUG_ANNOTATION_NAMES, ANNOTATION_SHAPE, "launched as");
	pftrace__intern(p, INTERNED_DATA__DEBUG_ANNOTATION_NAMES, ANNOTATION_NUMBER, "number");
	if (filter__given(p->s->opts.filter, FILTER_FROM) ||
	    filter__given(p->s->opts.filter, FILTER_TO))
		pftrace__intern(p, INTERNED_DATA__DEBUG_ANNOTATION_NAMES, ANNOTATION_PART, "part");
}

int pftrace__write(struct timeline *t, const struct session *s, FILE *f)
{
	struct pftrace p = { .f = f, .s = s, .t = t, .next_clock = CLOCK_DELTAS };
	int err = -ENOMEM;

	/* Allocate one element more than needed, because malloc(0) may return NULL. */
	p.has_path = calloc(s->model.chains.nr + 1, sizeof(*p.has_path));
	p.has_stack = calloc(s->model.chains.nr + 1, sizeof(*p.has_stack));
	p.has_leaf = calloc(s->model.leaves.nr + 1, sizeof(*p.has_leaf));
	p.has_shape = calloc(s->model.leaves.nr + 1, sizeof(*p.has_shape));
	if (!p.has_path || !p.has_stack || !p.has_leaf || !p.has_shape)
		goto out;
	err = timeline__prepare(t, s);
	if (err)
		goto out;
	pftrace__count_arrows(&p);
	pftrace__names(&p);
	pftrace__clocks(&p);
	pftrace__gpus(&p);
	pftrace__streams(&p);
	pftrace__tracks(&p);
	pftrace__device(&p);
	err = pftrace__counters(&p);
	pftrace__flush(&p);
	if (p.failed)
		err = -ENOMEM;
out:
	array_free(&p.text);
	array_free(&p.interned.bytes);
	array_free(&p.inner.bytes);
	array_free(&p.event.bytes);
	array_free(&p.packet.bytes);
	array_free(&p.out.bytes);
	array_free(&p.fans);
	idmap__free(&p.graphs);
	idmap__free(&p.mappings);
	idmap__free(&p.frames);
	idmap__free(&p.functions);
	free(p.has_shape);
	free(p.has_leaf);
	free(p.has_stack);
	free(p.has_path);
	return err;
}
