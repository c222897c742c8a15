// SPDX-License-Identifier: MIT
#include "nvtx/payload.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define NR_SCHEMAS	1024		/* a power of two */
#define MAX_ENTRIES	256
#define MAX_PAYLOADS	8		/* maximum number of payloads that are read from an event */

enum field {
	FIELD_COMM, FIELD_BYTES, FIELD_RANK, FIELD_NR_RANKS, FIELD_PEER, FIELD_ROOT, FIELD_OP,
	FIELD_KEY, FIELD_PARENT, NR_FIELDS
};

/* The names that NCCL gives its fields. */
static const char *const field_names[NR_FIELDS] = {
	[FIELD_COMM]	 = "NCCL communicator ID",
	[FIELD_BYTES]	 = "Message size [bytes]",
	[FIELD_RANK]	 = "Rank",
	[FIELD_NR_RANKS] = "No. of ranks",
	[FIELD_PEER]	 = "Peer rank",
	[FIELD_ROOT]	 = "Root",
	[FIELD_OP]	 = "Reduction operation",
	[FIELD_KEY]	 = "Key",
	[FIELD_PARENT]	 = "Parent NCCL communicator ID",
};

struct place {
	uint32_t offset;
	uint8_t size;			/* number of bytes; 0: the schema lacks the field */
};

struct schema {
	const void *domain;
	uint64_t id;
	struct place fields[NR_FIELDS];
	struct place message;		/* place of a pointer to the text */
	atomic_bool ambiguous;
};

static _Atomic(struct schema *) schemas[NR_SCHEMAS];
static atomic_uint_fast64_t last_id = NVTX_ABI_SCHEMA_ID_DYNAMIC;

/* ---- schemas --------------------------------------------------------------------------------- */

/* Return: the size of a type, which is also its alignment; 0: unknown. */
static size_t type_size(uint64_t type)
{
	static const uint8_t sizes[] = {
		0, 1, 1, sizeof(short), sizeof(short), sizeof(int), sizeof(int), sizeof(long),
		sizeof(long), sizeof(long long), sizeof(long long), 1, 1, 2, 2, 4, 4, 8, 8,
		sizeof(float), sizeof(double), sizeof(long double), sizeof(size_t), sizeof(void *),
	};

	if (type < sizeof(sizes))
		return sizes[type];
	if (type == NVTX_ABI_ENTRY_CSTRING || type == NVTX_ABI_ENTRY_CSTRING_UTF8 ||
	    type == NVTX_ABI_ENTRY_REGISTERED)
		return sizeof(void *);
	/* Enumerations that the program has registered have static schema ids. */
	return type >= NVTX_ABI_SCHEMA_ID_STATIC && type < NVTX_ABI_SCHEMA_ID_DYNAMIC ?
	       sizeof(int) : 0;
}

static bool is_text(uint64_t type)
{
	return type == NVTX_ABI_ENTRY_CSTRING || type == NVTX_ABI_ENTRY_CSTRING_UTF8 ||
	       type == NVTX_ABI_ENTRY_REGISTERED;
}

static bool is_integer(uint64_t type)
{
	return (type >= NVTX_ABI_ENTRY_SHORT && type <= NVTX_ABI_ENTRY_UINT64) ||
	       type == NVTX_ABI_ENTRY_SIZE || type >= NVTX_ABI_SCHEMA_ID_STATIC;
}

static void schema__take(struct schema *s, const struct nvtx_schema_entry *e, struct place place)
{
	int i;

	if (e->flags & NVTX_ABI_ENTRY_MESSAGE && is_text(e->type)) {
		s->message = place;
		return;
	}
	if (!e->name || e->flags & NVTX_ABI_ENTRY_NO_VALUE || !is_integer(e->type))
		return;
	for (i = 0; i < NR_FIELDS; i++)
		if (!s->fields[i].size && !strcmp(e->name, field_names[i]))
			s->fields[i] = place;
}

/*
 * Reads a schema's entries. An entry without an offset follows the previous entry, at the next
 * aligned offset.
 */
static void schema__read(struct schema *s, const struct nvtx_schema_attributes *attr)
{
	size_t i, size, end = 0;
	uint64_t offset;

	for (i = 0; i < attr->nr_entries && i < MAX_ENTRIES; i++) {
		const struct nvtx_schema_entry *e = &attr->entries[i];

		size = type_size(e->type);
		offset = e->offset;
		if (!offset && i)
			offset = size ? (end + size - 1) & ~(size - 1) : 0;
		if ((!offset && i) || offset > UINT32_MAX / 2)
			break;
		if (!size || e->flags & NVTX_ABI_ENTRY_NO_VALUE) {
			/* The size is unknown, so later entries need offsets of their own. */
			end = SIZE_MAX / 2;
			continue;
		}
		end = offset + size;
		schema__take(s, e, (struct place){ offset, size });
	}
}

static unsigned int slot_of(const void *domain, uint64_t id)
{
	uint64_t hash = ((uintptr_t)domain ^ id * 0x9e3779b97f4a7c15ull) * 0xff51afd7ed558ccdull;

	return hash >> 32 & (NR_SCHEMAS - 1);
}

static struct schema *schema__find(const void *domain, uint64_t id)
{
	unsigned int i, slot = slot_of(domain, id);
	struct schema *s;

	for (i = 0; i < NR_SCHEMAS; i++, slot = (slot + 1) & (NR_SCHEMAS - 1)) {
		s = atomic_load_explicit(&schemas[slot], memory_order_acquire);
		if (!s || (s->id == id && s->domain == domain))
			return s;
	}
	return NULL;
}

/*
 * Puts a schema into the hash table. Return: the schema in the table, or NULL if the table is full.
 */
static struct schema *schema__put(struct schema *s)
{
	unsigned int i, slot = slot_of(s->domain, s->id);
	struct schema *old;

	for (i = 0; i < NR_SCHEMAS; i++, slot = (slot + 1) & (NR_SCHEMAS - 1)) {
		old = NULL;
		if (atomic_compare_exchange_strong(&schemas[slot], &old, s))
			return s;
		if (old->id == s->id && old->domain == s->domain)
			return old;
	}
	return NULL;
}

uint64_t payload__register(const void *domain, const struct nvtx_schema_attributes *attr)
{
	uint64_t needed = NVTX_ABI_SCHEMA_HAS_ENTRIES | NVTX_ABI_SCHEMA_HAS_NR_ENTRIES, id;
	int saved_errno = errno;
	struct schema *s, *there;

	if (!attr || (attr->field_mask & needed) != needed || !attr->entries)
		return 0;
	s = calloc(1, sizeof(*s));
	errno = saved_errno;
	if (!s)
		return 0;
	s->domain = domain;
	s->id = attr->field_mask & NVTX_ABI_SCHEMA_HAS_ID ? attr->schema_id : 0;
	if (!s->id)
		s->id = atomic_fetch_add(&last_id, 1) + 1;
	schema__read(s, attr);
	there = schema__put(s);
	if (there == s)
		return s->id;
	if (there && (memcmp(s->fields, there->fields, sizeof(s->fields)) ||
		      memcmp(&s->message, &there->message, sizeof(s->message))))
		atomic_store(&there->ambiguous, true);
	id = there ? s->id : 0;
	free(s);
	return id;
}

/* ---- payloads -------------------------------------------------------------------------------- */

static bool place__read(struct place place, const struct nvtx_payload_data *data, uint64_t *value)
{
	const char *at = (const char *)data->payload + place.offset;
	int32_t narrow;
	int16_t shorter;

	if (!place.size || place.offset + place.size > data->size)
		return false;
	switch (place.size) {
	case 8:
		memcpy(value, at, 8);
		return true;
	case 4:
		memcpy(&narrow, at, 4);
		*value = (uint64_t)(int64_t)narrow;
		return true;
	case 2:
		memcpy(&shorter, at, 2);
		*value = (uint64_t)(int64_t)shorter;
		return true;
	default:
		return false;
	}
}

/*
 * Adds the fields of @data to @out, whose members are in the order of XPU_COLLECTIVE_*. A
 * communicator split has no message size and no root. Two fields that only a split has are stored
 * in their place.
 */
static void schema__fields(const struct schema *s, const struct nvtx_payload_data *data,
			   struct xpu_range_payload *out)
{
	uint64_t v[NR_FIELDS] = { 0 };
	int i;

	for (i = 0; i < NR_FIELDS; i++)
		if (place__read(s->fields[i], data, &v[i]))
			out->fields |= 1u << i;
	if (s->fields[FIELD_COMM].size != sizeof(uint64_t))
		out->fields &= ~XPU_COLLECTIVE_COMM;
	out->comm = v[FIELD_COMM];
	out->bytes = v[FIELD_BYTES];
	out->rank = v[FIELD_RANK];
	out->nr_ranks = v[FIELD_NR_RANKS];
	out->peer = v[FIELD_PEER];
	out->root = v[FIELD_ROOT];
	out->op = v[FIELD_OP];
	if (out->fields & (XPU_COLLECTIVE_BYTES | XPU_COLLECTIVE_ROOT))
		out->fields &= ~(XPU_COLLECTIVE_KEY | XPU_COLLECTIVE_PARENT);
	if (out->fields & XPU_COLLECTIVE_PARENT)
		out->bytes = v[FIELD_PARENT];
	if (out->fields & XPU_COLLECTIVE_KEY)
		out->root = v[FIELD_KEY];
}

_Static_assert(XPU_COLLECTIVE_COMM == 1 << FIELD_COMM && XPU_COLLECTIVE_BYTES == 1 << FIELD_BYTES &&
	       XPU_COLLECTIVE_RANK == 1 << FIELD_RANK && XPU_COLLECTIVE_PEER == 1 << FIELD_PEER &&
	       XPU_COLLECTIVE_NR_RANKS == 1 << FIELD_NR_RANKS &&
	       XPU_COLLECTIVE_ROOT == 1 << FIELD_ROOT && XPU_COLLECTIVE_OP == 1 << FIELD_OP &&
	       XPU_COLLECTIVE_KEY == 1 << FIELD_KEY && XPU_COLLECTIVE_PARENT == 1 << FIELD_PARENT,
	       "bits");

bool payload__read(const void *domain, const struct nvtx_payload_data *data, size_t nr,
		   struct xpu_range_payload *out, const char **name)
{
	const struct schema *s;
	uint64_t text;
	size_t i;

	memset(out, 0, sizeof(*out));
	for (i = 0; data && i < nr && i < MAX_PAYLOADS; i++) {
		s = data[i].payload ? schema__find(domain, data[i].schema_id) : NULL;
		if (!s || atomic_load_explicit(&s->ambiguous, memory_order_relaxed))
			continue;
		if (name && place__read(s->message, &data[i], &text) && text)
			*name = (const char *)(uintptr_t)text;
		if (s->fields[FIELD_COMM].size && !out->fields)
			schema__fields(s, &data[i], out);
	}
	return out->fields & XPU_COLLECTIVE_COMM;
}
