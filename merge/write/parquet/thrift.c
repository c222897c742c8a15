// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/parquet/thrift.h"

/* Puts a member's header: its type, and its number or the step from the last member's number. */
static void thrift__member(struct thrift *t, int id, enum thrift_type type)
{
	int *last = &t->last[t->depth - 1];

	if (id > *last && id - *last <= 15) {
		bytes__put_byte(t->to, (id - *last) << 4 | type);
	} else {
		bytes__put_byte(t->to, type);
		bytes__put_varint(t->to, zigzag(id));
	}
	*last = id;
}

void thrift__begin(struct thrift *t, int id)
{
	if (id)
		thrift__member(t, id, THRIFT_STRUCT);
	t->last[t->depth++] = 0;
}

void thrift__end(struct thrift *t)
{
	bytes__put_byte(t->to, 0);
	t->depth--;
}

void thrift__int(struct thrift *t, int id, enum thrift_type type, int64_t n)
{
	thrift__member(t, id, type);
	if (type == THRIFT_BYTE)
		bytes__put_byte(t->to, n);
	else
		thrift__element_int(t, n);
}

void thrift__bool(struct thrift *t, int id, bool b)
{
	thrift__member(t, id, b ? THRIFT_TRUE : THRIFT_FALSE);
}

void thrift__binary(struct thrift *t, int id, const void *v, size_t nr)
{
	thrift__member(t, id, THRIFT_BINARY);
	bytes__put_varint(t->to, nr);
	bytes__put(t->to, v, nr);
}

void thrift__string(struct thrift *t, int id, const char *s)
{
	thrift__binary(t, id, s, strlen(s));
}

void thrift__list(struct thrift *t, int id, enum thrift_type type, size_t nr)
{
	thrift__member(t, id, THRIFT_LIST);
	if (nr < 15) {
		bytes__put_byte(t->to, nr << 4 | type);
	} else {
		bytes__put_byte(t->to, 0xf0 | type);
		bytes__put_varint(t->to, nr);
	}
}

void thrift__element_int(struct thrift *t, int64_t n)
{
	bytes__put_varint(t->to, zigzag(n));
}

void thrift__element_string(struct thrift *t, const char *s)
{
	bytes__put_varint(t->to, strlen(s));
	bytes__put(t->to, s, strlen(s));
}
