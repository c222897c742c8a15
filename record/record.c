// SPDX-License-Identifier: MIT
#include "record.h"

/* ---- names ----------------------------------------------------------------------------------- */

#define ENUM(tag, prefix)						\
	static const struct number_names tag##_names = {		\
		prefix, (const struct number_name[]){
#define VALUE(id, nr, ...)		{ nr, #id, "" __VA_ARGS__ },
#define VALUE_AS(id, nr, as, ...)	{ nr, #as, "" __VA_ARGS__ },
#define END_ENUM			{ 0, NULL, NULL } } };
#include "records.def"

const char *number_names__find(const struct number_names *names, uint64_t number)
{
	const struct number_name *n;

	for (n = names->v; n->name; n++)
		if (n->number == number)
			return n->name + strlen(names->prefix);
	return NULL;
}

/* ---- fields ---------------------------------------------------------------------------------- */

#define FIELD_NAMED(tag)		FIELD_NAMED, .names = &tag##_names
#define FIELD_PART(tag)			FIELD_PART, .rows = tag##__fields
#define FIELD_ROWS(tag, count, ...) \
	FIELD_ROWS, .rows = tag##__fields, .count_at = offsetof(s, count)
#define FIELD_CHECKED(tag, count, ...)	FIELD_ROWS(tag, count)
#define FIELD_ITEMS(count, ...)		FIELD_TAIL, .count_at = offsetof(s, count)
#define FIELD_TEXT(count, ...)		FIELD_TEXT, .count_at = offsetof(s, count)
#define FIELD_TEXT_OR_NONE(count, ...)	FIELD_TAIL, .count_at = offsetof(s, count)
#define FIELD_CHECK(...)		FIELD_TAIL
#define FIELD_NODE_ID(...)		FIELD_TAIL
#define FIELD_RAW			FIELD_TAIL

#define RECORD(NAME, nr, tag, ...)						\
	static const struct record_field *tag##__fields(void)			\
	{									\
		typedef struct tag s;						\
		static const struct record_field fields[] = {
#define ALSO(...)
#define STRUCT(tag, ...)	__attribute__((unused)) RECORD(, , tag)
#define ONE(type_, name_, bytes_, nr_, major_, minor_, kind_, ...)		\
	{ .name = #name_, .type = #type_, .text = "" __VA_ARGS__, .offset = offsetof(s, name_),	\
	  .bytes = bytes_, .nr = nr_, .major = major_, .minor = minor_, .kind = FIELD_##kind_ },
#define FIELD(type, name, kind, ...)	ONE(type, name, sizeof(type), 0, 0, 0, kind, __VA_ARGS__)
#define FIELDS(type, name, nr, kind, ...) \
	ONE(type, name, sizeof(type[nr]), nr, 0, 0, kind, __VA_ARGS__)
#define ADDED(major, minor, type, name, kind, ...) \
	ONE(type, name, sizeof(type), 0, major, minor, kind, __VA_ARGS__)
#define TAIL(type, name, most, kind, ...) \
	ONE(type, name, sizeof(type), 0, 0, 0, kind, __VA_ARGS__)
#define END_RECORD							\
			{ .name = NULL }				\
		};							\
		(void)sizeof(s);					\
		return fields;						\
	}
#include "records.def"

/* ---- types ----------------------------------------------------------------------------------- */

/* Total bytes of the fields that older records lack, and maximum bytes of the tail. */
#define RECORD(NAME, nr, tag, ...)	enum { tag##__added = 0
#define ALSO(...)
#define STRUCT(tag, ...)		RECORD(, , tag)
#define ADDED(major, minor, type, ...)	+ sizeof(type)
#define END_RECORD			};
#include "records.def"

#define ANY	RECORD_MAX / 2
#define RECORD(NAME, nr, tag, ...)	enum { tag##__tail = 0
#define ALSO(...)
#define STRUCT(tag, ...)		RECORD(, , tag)
#define TAIL(type, name, most, ...)	+ (most)
#define END_RECORD			};
#include "records.def"

#define NO_MISC		NULL
#define FLAGS(tag)	&tag##_names, .misc_is_flags = true
#define KIND(tag)	&tag##_names

const struct record_type record_types[XPU_RECORD_TYPES] = {
#define RECORD(NAME, nr, tag, bytes, where_, major_, minor_, misc_, split_, pack_, text_)	\
	[nr] = {								\
		.name = #NAME, .text = text_, .fields = tag##__fields,		\
		.least = sizeof(struct tag) - tag##__added,			\
		.most = sizeof(struct tag) + tag##__tail + RECORD_GROWTH,	\
		.where = RECORD_##where_, .split = RECORD_##split_, .pack = RECORD_##pack_,	\
		.major = major_, .minor = minor_, .misc = misc_,		\
	},
#include "records.def"
};

/* ---- values ---------------------------------------------------------------------------------- */

uint64_t record_field__value(const struct record_field *f, const void *base)
{
	uint64_t value = 0;

	memcpy(&value, (const uint8_t *)base + f->offset, f->bytes);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	value >>= 64 - 8 * f->bytes;
#endif
	return value;
}

uint64_t record__key(const struct xpu_record *rec)
{
	const struct record_field *f;
	uint64_t key = 0;

	for (f = record_types[rec->type].fields(); f->name; f++)
		if (f->kind == FIELD_KEY || f->kind == FIELD_KEY_HEX)
			key = (key << 32 | key >> 32) ^ record_field__value(f, rec);
	return key ^ (uint64_t)XPU_API(rec->misc) << 60;
}
