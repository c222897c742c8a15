/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * thrift.h - structures in Thrift's compact protocol, for Parquet's headers and footer
 *
 *	struct thrift t = { .to = &bytes };
 *
 *	thrift__begin(&t, 0);			the outermost structure
 *	thrift__int(&t, 1, THRIFT_I32, 2);	its members, by number, in order
 *	thrift__begin(&t, 5);			a structure as a member
 *	...
 *	thrift__end(&t);
 *	thrift__end(&t);
 *
 * Source: thrift/doc/specs/thrift-compact-protocol.md of Apache Thrift.
 */
#ifndef MERGE_PARQUET_THRIFT_H
#define MERGE_PARQUET_THRIFT_H

#include "write/parquet/bytes.h"

enum thrift_type {
	THRIFT_TRUE = 1,
	THRIFT_FALSE = 2,
	THRIFT_BYTE = 3,
	THRIFT_I16 = 4,
	THRIFT_I32 = 5,
	THRIFT_I64 = 6,
	THRIFT_BINARY = 8,
	THRIFT_LIST = 9,
	THRIFT_STRUCT = 12,
};

#define THRIFT_DEPTH	8

struct thrift {
	struct bytes *to;
	unsigned int depth;
	int last[THRIFT_DEPTH];		/* for each depth: number of the member that was put last */
};

/*
 * Begins a structure. @id: its member number in the structure around it; 0: it is the outermost
 * structure or an element of a list, and has no number
 */
void thrift__begin(struct thrift *t, int id);
void thrift__end(struct thrift *t);

/* Puts an integer. @type: THRIFT_BYTE to THRIFT_I64 */
void thrift__int(struct thrift *t, int id, enum thrift_type type, int64_t n);
void thrift__bool(struct thrift *t, int id, bool b);
void thrift__binary(struct thrift *t, int id, const void *v, size_t nr);
void thrift__string(struct thrift *t, int id, const char *s);

/* Begins a list of @nr elements, which the caller puts next. */
void thrift__list(struct thrift *t, int id, enum thrift_type type, size_t nr);

/* These functions put elements of a list. */
void thrift__element_int(struct thrift *t, int64_t n);
void thrift__element_string(struct thrift *t, const char *s);

#endif /* MERGE_PARQUET_THRIFT_H */
