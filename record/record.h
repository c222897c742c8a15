/* SPDX-License-Identifier: MIT */
/* record.h - looks up record types and their fields in the table of records.def */
#ifndef RECORD_RECORD_H
#define RECORD_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "xpu_record.h"

#define RECORD_MAX	(256u << 20)	/* maximum size of any record */
/*
 * Later versions may add up to this many bytes to a record. A larger size counts as damage, not as
 * a record that the end of the file cuts off. Otherwise a file with a damaged size would look as if
 * it ended there.
 */
#define RECORD_GROWTH	4096u

/* KIND(NAME, how dump prints it, what it means) */
#define FIELD_KINDS(KIND)							\
	KIND(NONE,	  SKIP,	   "0")						\
	KIND(SHOWN,	  SKIP,	   "")	/* printed by a function of dump */	\
	KIND(NUMBER,	  DECIMAL, "")						\
	KIND(SIGNED,	  SIGNED,  "")						\
	KIND(HEX,	  HEX,	   "")						\
	KIND(REAL,	  REAL,	   "")						\
	KIND(ADDRESS,	  HEX,	   "address")					\
	KIND(COUNT,	  DECIMAL, "count")					\
	KIND(BYTES,	  DECIMAL, "bytes")					\
	KIND(TIME_NS,	  DECIMAL, "time in ns")				\
	KIND(MADE_NS,	  DECIMAL, "time in ns, when the record was made")	\
	KIND(DURATION_NS, DECIMAL, "duration in ns")				\
	KIND(DELTA_NS,	  SIGNED,  "ns after the record's time_ns")		\
	KIND(DOMAIN,	  DOMAIN,  "domain of functions, with its API")		\
	KIND(PROC,	  DECIMAL, "process image")				\
	KIND(PARENT,	  DECIMAL, "process image")				\
	KIND(PID,	  DECIMAL, "process of the system")			\
	KIND(TID,	  DECIMAL, "thread of the system")			\
	KIND(THREAD,	  DECIMAL, "THREAD")					\
	KIND(PATH,	  DECIMAL, "CALLCHAIN")					\
	KIND(LAUNCH,	  DECIMAL, "correlation id of a launch")		\
	KIND(STRING,	  DECIMAL, "STRING")					\
	KIND(STREAM,	  DECIMAL, "STREAM")					\
	KIND(RANGE,	  DECIMAL, "RANGE")					\
	KIND(NODE,	  DECIMAL, "node of a CUDA graph")			\
	KIND(KEY,	  DECIMAL, "defined by this record")			\
	KIND(KEY_HEX,	  HEX,	   "defined by this record")			\
	KIND(NAMED,	  NAME,	   "")						\
	KIND(COMM,	  COMM,	   "name, perhaps without a NUL")		\
	KIND(UUID,	  UUID,	   "UUID")					\
	KIND(PART,	  SKIP,	   "")						\
	KIND(TAIL,	  SKIP,	   "")						\
	KIND(TEXT,	  TEXT,	   "")						\
	KIND(ROWS,	  ROWS,	   "")

enum field_kind {
#define KIND(name, ...) FIELD_##name,
	FIELD_KINDS(KIND)
#undef KIND
};

/* The name of a number. All names of an array have the same prefix; its last entry has no name. */
struct number_name {
	uint32_t number;
	const char *name, *text;
};

struct number_names {
	const char *prefix;
	const struct number_name *v;
};

/* Return: the name without the prefix, or NULL. */
const char *number_names__find(const struct number_names *names, uint64_t number);

/* Describes a field of a structure. The last entry of a list has no name. */
struct record_field {
	const char *name, *type, *text;
	uint32_t offset, bytes;		/* .bytes: size of the whole array, or of one element of a
					 * tail */
	uint32_t nr;			/* number of elements of an array; otherwise 0 */
	enum field_kind kind;
	uint8_t major, minor;		/* the version that added it; 0 if all versions have it */
	const struct number_names *names;
	const struct record_field *(*rows)(void);	/* for ROWS and PART: the fields of one
							 * element */
	uint32_t count_at;		/* offset of the field with the number of ROWS or ITEMS, or
					 * with the number of bytes of a TEXT */
};

enum record_where {
	RECORD_UNKNOWN, RECORD_IN_FILE, RECORD_IN_BATCH, RECORD_AROUND, RECORD_IN_RING,
	RECORD_IN_RING_BATCH,
};

enum record_split { RECORD_PASS, RECORD_CARRY, RECORD_HOLD, RECORD_SUM, RECORD_FILE };
enum record_pack { RECORD_PLAIN, RECORD_ROW, RECORD_ROWS };

struct record_type {
	uint32_t least, most;		/* sizes in bytes that a reader accepts */
	uint8_t where, split, pack;
	uint8_t major, minor;		/* the first version with this type */
	bool misc_is_flags;
	const struct number_names *misc;	/* NULL: no names */
	const char *name, *text;
	const struct record_field *(*fields)(void);
};

extern const struct record_type record_types[XPU_RECORD_TYPES];

#define FIELD_NAMED(names)	FIELD_NAMED
#define FIELD_PART(tag)		FIELD_PART
#define RECORD(NAME, nr, tag, ...)						\
	static inline size_t tag##__at(enum field_kind wanted)			\
	{									\
		typedef struct tag s;						\
		return 0
#define ALSO(...)
#define STRUCT(tag, ...)	RECORD(, , tag)
#define FIELD(type, name, kind, ...) \
	+ (wanted == FIELD_##kind ? offsetof(s, name) : 0)
#define END_RECORD ; }
#include "records.def"
#undef FIELD_NAMED
#undef FIELD_PART

/*
 * Return: the offset of the type's field of this kind; 0 if the type has no such field. A type may
 * have at most one such field.
 */
static inline size_t record__at(uint16_t type, enum field_kind kind)
{
	switch (type) {
#define RECORD(NAME, nr, tag, ...) case XPU_RECORD_##NAME: return tag##__at(kind);
#include "records.def"
	default:
		return 0;
	}
}

/*
 * Return: the number in the field of this kind; 0 if the type has no such field. A reader must have
 * checked the record's size.
 */
static inline uint32_t record__u32(const struct xpu_record *rec, enum field_kind kind)
{
	size_t at = record__at(rec->type, kind);
	uint32_t v = 0;

	if (at)
		memcpy(&v, (const char *)rec + at, sizeof(v));
	return v;
}

/* Return: when the recorder or Linux made the record; 0 if it has no such timestamp. */
static inline uint64_t record__made_ns(const struct xpu_record *rec)
{
	size_t at = record__at(rec->type, FIELD_MADE_NS);
	uint64_t v = 0;

	if (at)
		memcpy(&v, (const char *)rec + at, sizeof(v));
	return v;
}

/* Return: the number in a field of at most 8 bytes of the structure at @base. */
uint64_t record_field__value(const struct record_field *f, const void *base);

/* Return: a number that identifies a definition among all definitions of its type and process. */
uint64_t record__key(const struct xpu_record *rec);

#endif /* RECORD_RECORD_H */
