// SPDX-License-Identifier: GPL-3.0-or-later
#include "unparquet.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

/* The file, or one page of the file. */
struct in {
	const uint8_t *v;
	size_t nr, at;
};

struct reader {
	struct unparquet *u;
	struct in file;
	jmp_buf failed;
};

#define CHECK(r, what, ...)	do { if (!(what)) fail(r, __VA_ARGS__); } while (0)

static _Noreturn __attribute__((format(printf, 2, 3))) void fail(struct reader *r, const char *fmt,
								 ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(r->u->error, sizeof(r->u->error), fmt, args);
	va_end(args);
	longjmp(r->failed, 1);
}

struct unparquet_memory {
	struct unparquet_memory *next;
	uint64_t v[];
};

/* Return: memory that unparquet__free() frees. A test that runs out of memory aborts. */
static void *zalloc(struct reader *r, size_t nr, size_t size)
{
	struct unparquet_memory *m = calloc(1, sizeof(*m) + (nr + 1) * size);

	if (!m)
		abort();
	m->next = r->u->memory;
	r->u->memory = m;
	return m->v;
}

static char *copy_text(struct reader *r, const uint8_t *v, size_t nr)
{
	char *s = zalloc(r, nr + 1, 1);

	memcpy(s, v, nr);
	return s;
}

static uint8_t get_byte(struct reader *r, struct in *in)
{
	CHECK(r, in->at < in->nr, "ends too early");
	return in->v[in->at++];
}

static uint64_t get_varint(struct reader *r, struct in *in)
{
	unsigned int shift = 0;
	uint64_t n = 0;
	uint8_t byte;

	do {
		byte = get_byte(r, in);
		CHECK(r, shift < 64, "a number of more than 64 bits");
		n |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	return n;
}

static int64_t get_zigzag(struct reader *r, struct in *in)
{
	uint64_t n = get_varint(r, in);

	return (int64_t)(n >> 1) ^ -(int64_t)(n & 1);
}

static uint64_t get_le(struct reader *r, struct in *in, size_t bytes)
{
	uint64_t n = 0;
	size_t i;

	for (i = 0; i < bytes; i++)
		n |= (uint64_t)get_byte(r, in) << 8 * i;
	return n;
}

/* ---- Thrift's compact protocol, as a tree --------------------------------------------------- */

struct node {
	int id, type;
	int64_t n;			/* numbers and booleans */
	const uint8_t *v;		/* bytes of a binary */
	size_t bytes;
	struct node *children;		/* members of a structure, or elements of a list */
	size_t nr;
};

static void get_node(struct reader *r, struct in *in, struct node *node, int depth);

static void add_child(struct reader *r, struct node *parent, const struct node *child)
{
	struct node *old = parent->children;

	/* The array's size is the next power of two. */
	if (!(parent->nr & (parent->nr - 1))) {
		parent->children = zalloc(r, 2 * parent->nr + 1, sizeof(*child));
		if (parent->nr)
			memcpy(parent->children, old, parent->nr * sizeof(*child));
	}
	parent->children[parent->nr++] = *child;
}

static void get_struct(struct reader *r, struct in *in, struct node *node, int depth)
{
	int last = 0;
	uint8_t head;

	while ((head = get_byte(r, in))) {
		struct node child = { .type = head & 0xf };

		last = head >> 4 ? last + (head >> 4) : get_zigzag(r, in);
		child.id = last;
		CHECK(r, !node->nr || node->children[node->nr - 1].id < last,
		      "members out of order");
		get_node(r, in, &child, depth + 1);
		add_child(r, node, &child);
	}
}

static void get_list(struct reader *r, struct in *in, struct node *node, int depth)
{
	uint8_t head = get_byte(r, in);
	size_t nr = head >> 4 == 15 ? get_varint(r, in) : head >> 4, i;

	CHECK(r, nr <= in->nr, "a list of %zu elements", nr);
	for (i = 0; i < nr; i++) {
		struct node child = { .type = head & 0xf };

		get_node(r, in, &child, depth + 1);
		add_child(r, node, &child);
	}
}

static void get_node(struct reader *r, struct in *in, struct node *node, int depth)
{
	CHECK(r, depth < 16, "too deep");
	switch (node->type) {
	case 1:
	case 2:
		node->n = node->type == 1;
		break;
	case 3:
		node->n = (int8_t)get_byte(r, in);
		break;
	case 4:
	case 5:
	case 6:
		node->n = get_zigzag(r, in);
		break;
	case 8:
		node->bytes = get_varint(r, in);
		CHECK(r, node->bytes <= in->nr - in->at, "a text that is too long");
		node->v = in->v + in->at;
		in->at += node->bytes;
		break;
	case 9:
		get_list(r, in, node, depth);
		break;
	case 12:
		get_struct(r, in, node, depth);
		break;
	default:
		fail(r, "Thrift's type %d", node->type);
	}
}

static const struct node *member(const struct node *node, int id)
{
	size_t i;

	for (i = 0; node && i < node->nr; i++)
		if (node->children[i].id == id)
			return &node->children[i];
	return NULL;
}

static int64_t number(struct reader *r, const struct node *node, int id)
{
	const struct node *m = member(node, id);

	CHECK(r, m && m->type >= 3 && m->type <= 6, "member %d is missing", id);
	return m->n;
}

/* ---- values --------------------------------------------------------------------------------- */

static void get_hybrid(struct reader *r, struct in *in, unsigned int bits, uint32_t *v, size_t nr)
{
	size_t i = 0, k, run;
	uint64_t head, buf;
	unsigned int have;
	uint32_t value;

	CHECK(r, bits <= 32, "%u bits", bits);
	while (i < nr) {
		head = get_varint(r, in);
		run = head >> 1;
		CHECK(r, run, "an empty run");
		if (!(head & 1)) {
			value = get_le(r, in, (bits + 7) / 8);
			CHECK(r, run <= nr - i, "a run of %zu of the last %zu values", run, nr - i);
			for (k = 0; k < run; k++)
				v[i++] = value;
			continue;
		}
		for (buf = 0, have = 0, k = 0; k < run * 8; k++) {
			for (; have < bits; have += 8)
				buf |= (uint64_t)get_byte(r, in) << have;
			if (i < nr)
				v[i++] = buf & ((1ull << bits) - 1);
			else
				CHECK(r, run * 8 - k < 8, "groups behind the last value");
			buf >>= bits;
			have -= bits;
		}
	}
}

static void get_delta(struct reader *r, struct in *in, int64_t *v, size_t nr)
{
	uint64_t block = get_varint(r, in), minis = get_varint(r, in), total = get_varint(r, in),
		 last;
	uint64_t per = minis ? block / minis : 0;
	uint8_t widths[512];
	size_t i = 1, k, m;

	CHECK(r,
	      total == nr && minis && minis <= sizeof(widths) && block % 128 == 0 && per % 32 == 0,
	      "a header of deltas that cannot be");
	last = get_zigzag(r, in);
	if (nr)
		v[0] = last;
	while (i < nr) {
		uint64_t min = get_zigzag(r, in);

		for (m = 0; m < minis; m++)
			widths[m] = get_byte(r, in);
		for (m = 0; m < minis && i < nr; m++) {
			unsigned int have = 0;
			unsigned __int128 buf = 0;

			CHECK(r, widths[m] <= 64, "deltas of %u bits", widths[m]);
			for (k = 0; k < per; k++) {
				uint64_t mask = widths[m] == 64 ?
						UINT64_MAX : (1ull << widths[m]) - 1;

				for (; have < widths[m]; have += 8)
					buf |= (unsigned __int128)get_byte(r, in) << have;
				if (i < nr) {
					last += min + ((uint64_t)buf & mask);
					v[i++] = last;
				}
				buf >>= widths[m];
				have -= widths[m];
			}
		}
	}
}

static void get_plain(struct reader *r, struct in *in, int type, struct unparquet_value *v,
		      size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		switch (type) {
		case UNPARQUET_BOOL:
			CHECK(r, in->at + i / 8 < in->nr, "booleans end too early");
			v[i].n = in->v[in->at + i / 8] >> i % 8 & 1;
			break;
		case UNPARQUET_INT64:
			v[i].n = get_le(r, in, 8);
			break;
		case UNPARQUET_DOUBLE: {
			uint64_t bits = get_le(r, in, 8);

			memcpy(&v[i].d, &bits, sizeof(bits));
			break;
		}
		case UNPARQUET_STRING:
			v[i].bytes = get_le(r, in, 4);
			CHECK(r, v[i].bytes <= in->nr - in->at, "a string that is too long");
			v[i].s = copy_text(r, in->v + in->at, v[i].bytes);
			in->at += v[i].bytes;
			break;
		default:
			fail(r, "type %d", type);
		}
	}
	if (type == UNPARQUET_BOOL)
		in->at += (nr + 7) / 8;
}

/* ---- pages ---------------------------------------------------------------------------------- */

struct page {
	struct node header;
	struct in in;			/* the decompressed page */
	int64_t type, nr, encoding;
};

static void get_page(struct reader *r, uint64_t *at, uint64_t end, struct page *p)
{
	struct in in = { r->file.v, r->file.nr, *at };
	const struct node *of;
	uint64_t packed, plain;
	uint8_t *v;
	size_t got;

	*p = (struct page){ .header = { .type = 12 } };
	get_node(r, &in, &p->header, 0);
	p->type = number(r, &p->header, 1);
	plain = number(r, &p->header, 2);
	packed = number(r, &p->header, 3);
	of = member(&p->header, p->type == 0 ? 5 : 7);
	CHECK(r, of, "a page without its own header");
	p->nr = number(r, of, 1);
	p->encoding = number(r, of, 2);
	CHECK(r, p->type || (number(r, of, 3) == 3 && number(r, of, 4) == 3),
	      "levels that are no RLE");
	CHECK(r, plain < 1u << 30 && packed <= end && in.at <= end - packed,
	      "a page is longer than its column");
	v = zalloc(r, plain, 1);
	got = ZSTD_decompress(v, plain, r->file.v + in.at, packed);
	CHECK(r, !ZSTD_isError(got) && got == plain, "a page is not %zu bytes", (size_t)plain);
	p->in = (struct in){ v, plain, 0 };
	*at = in.at + packed;
}

/* A column of a row group. */
struct chunk {
	struct unparquet_column *column;
	size_t from, nr;		/* the chunk's rows */
	struct unparquet_value *dictionary;
	size_t nr_dictionary;
};

static void get_values(struct reader *r, struct chunk *c, struct page *p,
		       struct unparquet_value *dense, size_t nr)
{
	uint32_t *indices = zalloc(r, nr, sizeof(*indices));
	int64_t *numbers = zalloc(r, nr, sizeof(*numbers));
	unsigned int bits;
	size_t i;

	c->column->encodings |= 1u << (p->encoding & 31);
	switch (p->encoding) {
	case 0:
		get_plain(r, &p->in, c->column->type, dense, nr);
		break;
	case 5:
		CHECK(r, c->column->type == UNPARQUET_INT64, "deltas of type %d", c->column->type);
		get_delta(r, &p->in, numbers, nr);
		for (i = 0; i < nr; i++)
			dense[i].n = numbers[i];
		break;
	case 8:
		bits = get_byte(r, &p->in);
		get_hybrid(r, &p->in, bits, indices, nr);
		for (i = 0; i < nr; i++) {
			CHECK(r, indices[i] < c->nr_dictionary, "index %u of %zu", indices[i],
			      c->nr_dictionary);
			dense[i] = c->dictionary[indices[i]];
		}
		break;
	default:
		fail(r, "encoding %d", (int)p->encoding);
	}
}

static void get_data(struct reader *r, struct chunk *c, struct page *p)
{
	uint32_t *levels = zalloc(r, c->nr, sizeof(*levels));
	struct unparquet_value *dense = zalloc(r, c->nr, sizeof(*dense));
	struct unparquet_value *to = c->column->v + c->from;
	size_t i, nr = 0, bytes;

	CHECK(r, (size_t)p->nr == c->nr, "%d values of %zu rows", (int)p->nr, c->nr);
	for (i = 0; i < c->nr; i++)
		levels[i] = 1;
	if (c->column->optional) {
		bytes = get_le(r, &p->in, 4);
		CHECK(r, bytes <= p->in.nr - p->in.at, "levels that are too long");
		struct in in = { p->in.v, p->in.at + bytes, p->in.at };

		get_hybrid(r, &in, 1, levels, c->nr);
		CHECK(r, in.at == in.nr, "bytes behind the levels");
		p->in.at += bytes;
	}
	for (i = 0; i < c->nr; i++)
		nr += levels[i];
	get_values(r, c, p, dense, nr);
	CHECK(r, p->in.at == p->in.nr, "%zu bytes behind the values of %s", p->in.nr - p->in.at,
	      c->column->name);
	for (i = 0, nr = 0; i < c->nr; i++)
		to[i] = levels[i] ? dense[nr++] : (struct unparquet_value){ .null = true };
}

/* ---- statistics ----------------------------------------------------------------------------- */

static int compare(int type, const struct unparquet_value *a, const struct unparquet_value *b)
{
	size_t less = a->bytes < b->bytes ? a->bytes : b->bytes;
	int d;

	if (type != UNPARQUET_STRING)
		return (a->n > b->n) - (a->n < b->n);
	d = memcmp(a->s, b->s, less);
	return d ? d : (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

static bool is_value(const struct node *node, int type, const struct unparquet_value *v)
{
	int64_t n = 0;

	if (type == UNPARQUET_STRING)
		return node->bytes == v->bytes && !memcmp(node->v, v->s, v->bytes);
	if (node->bytes != (type == UNPARQUET_BOOL ? 1 : 8))
		return false;
	memcpy(&n, node->v, node->bytes);
	return n == v->n;
}

static void check_statistics(struct reader *r, const struct chunk *c, const struct node *statistics)
{
	const struct unparquet_value *v = c->column->v + c->from, *min = NULL, *max = NULL;
	const struct node *told_max = member(statistics, 5), *told_min = member(statistics, 6);
	int type = c->column->type;
	size_t i, nulls = 0;

	for (i = 0; i < c->nr; i++) {
		nulls += v[i].null;
		if (v[i].null)
			continue;
		min = !min || compare(type, &v[i], min) < 0 ? &v[i] : min;
		max = !max || compare(type, &v[i], max) > 0 ? &v[i] : max;
	}
	CHECK(r, number(r, statistics, 3) == (int64_t)nulls, "%s: another number of nulls",
	      c->column->name);
	CHECK(r, !told_min == !told_max, "%s: half of the statistics", c->column->name);
	if (!told_min || !told_max)
		return;
	CHECK(r, min && is_value(told_min, type, min), "%s: another minimum", c->column->name);
	CHECK(r, max && is_value(told_max, type, max), "%s: another maximum", c->column->name);
}

/* ---- row groups ----------------------------------------------------------------------------- */

static void check_encodings(struct reader *r, const struct node *meta, bool has_dictionary,
			    int64_t encoding)
{
	const struct node *list = member(meta, 2);
	uint32_t told = 0, wanted = 1u << 3 | 1u << (encoding & 31) | (has_dictionary ? 1u : 0);
	size_t i;

	for (i = 0; list && i < list->nr; i++)
		told |= 1u << (list->children[i].n & 31);
	CHECK(r, told == wanted, "encodings %x are told, %x are there", told, wanted);
}

/* Reads the column of a row group that begins at *@at. */
static void get_chunk(struct reader *r, struct chunk *c, const struct node *node, uint64_t *at)
{
	const struct node *meta = member(node, 3), *path = member(meta, 3);
	uint64_t from = *at, end;
	struct page p;

	CHECK(r, meta && path && path->nr == 1, "a column without metadata");
	CHECK(r,
	      path->children[0].bytes == strlen(c->column->name) &&
		      !memcmp(path->children[0].v, c->column->name, path->children[0].bytes),
	      "another column");
	CHECK(r, number(r, meta, 1) == c->column->type, "%s: another type", c->column->name);
	CHECK(r, number(r, meta, 4) == 6, "%s: no zstd", c->column->name);
	CHECK(r, number(r, meta, 5) == (int64_t)c->nr, "%s: another number of values",
	      c->column->name);
	end = from + number(r, meta, 7);
	CHECK(r, end >= from && end <= r->file.nr, "%s: longer than the file", c->column->name);
	if (member(meta, 11)) {
		CHECK(r, (uint64_t)number(r, meta, 11) == *at, "%s: dictionary elsewhere",
		      c->column->name);
		get_page(r, at, end, &p);
		CHECK(r, p.type == 2 && p.encoding == 0, "%s: no dictionary", c->column->name);
		CHECK(r, p.nr >= 0 && (size_t)p.nr <= p.in.nr, "%s: too many values",
		      c->column->name);
		c->nr_dictionary = p.nr;
		c->dictionary = zalloc(r, p.nr, sizeof(*c->dictionary));
		get_plain(r, &p.in, c->column->type, c->dictionary, p.nr);
		CHECK(r, p.in.at == p.in.nr, "%s: bytes behind the dictionary", c->column->name);
	}
	CHECK(r, (uint64_t)number(r, meta, 9) == *at, "%s: data elsewhere", c->column->name);
	get_page(r, at, end, &p);
	CHECK(r, p.type == 0, "%s: no data page", c->column->name);
	get_data(r, c, &p);
	check_encodings(r, meta, c->dictionary, p.encoding);
	CHECK(r, *at == end, "%s: bytes behind the last page", c->column->name);
	check_statistics(r, c, member(meta, 12));
}

static void get_groups(struct reader *r, const struct node *groups)
{
	uint64_t at = 4;
	size_t row = 0, i, k;

	for (i = 0; groups && i < groups->nr; i++) {
		const struct node *group = &groups->children[i], *columns = member(group, 1);
		uint64_t from = at;
		size_t nr = number(r, group, 3);

		CHECK(r, columns && columns->nr == r->u->nr_columns, "another number of columns");
		CHECK(r, (uint64_t)number(r, group, 5) == at, "a row group elsewhere");
		CHECK(r, nr && nr <= r->u->nr_rows - row, "more rows than are told");
		for (k = 0; k < columns->nr; k++) {
			struct chunk c = { .column = &r->u->columns[k], .from = row, .nr = nr };

			get_chunk(r, &c, &columns->children[k], &at);
		}
		CHECK(r, (uint64_t)number(r, group, 6) == at - from, "another size of a row group");
		row += nr;
	}
	CHECK(r, row == r->u->nr_rows, "%zu rows, not %zu", row, r->u->nr_rows);
	CHECK(r, at == r->file.nr, "%zu bytes behind the row groups", (size_t)(r->file.nr - at));
	r->u->nr_groups = groups ? groups->nr : 0;
}

static void get_schema(struct reader *r, const struct node *schema)
{
	struct unparquet *u = r->u;
	size_t i;

	CHECK(r,
	      schema && schema->nr && number(r, &schema->children[0], 5) == (int64_t)schema->nr - 1,
	      "a schema that is not flat");
	u->nr_columns = schema->nr - 1;
	u->columns = zalloc(r, u->nr_columns, sizeof(*u->columns));
	for (i = 0; i < u->nr_columns; i++) {
		const struct node *node = &schema->children[i + 1], *name = member(node, 4);
		struct unparquet_column *c = &u->columns[i];

		CHECK(r, name, "a column without a name");
		c->name = copy_text(r, name->v, name->bytes);
		c->type = number(r, node, 1);
		c->optional = number(r, node, 3);
		c->v = zalloc(r, u->nr_rows, sizeof(*c->v));
		/* converted type UTF8, logical type STRING */
		CHECK(r,
		      (c->type == UNPARQUET_STRING) == (member(node, 6) && !number(r, node, 6)) &&
			      (c->type == UNPARQUET_STRING) == !!member(member(node, 10), 1),
		      "%s: strings are UTF-8, and nothing else is", c->name);
	}
}

static void get_footer(struct reader *r, const struct node *footer)
{
	const struct node *pairs = member(footer, 5), *orders = member(footer, 7);
	struct unparquet *u = r->u;
	size_t i;

	u->nr_rows = number(r, footer, 3);
	CHECK(r, u->nr_rows < 1u << 24, "too many rows for a test");
	get_schema(r, member(footer, 2));
	CHECK(r, orders && orders->nr == u->nr_columns, "no order for each column");
	u->nr_pairs = pairs ? pairs->nr : 0;
	u->keys = zalloc(r, u->nr_pairs, sizeof(*u->keys));
	u->values = zalloc(r, u->nr_pairs, sizeof(*u->values));
	for (i = 0; i < u->nr_pairs; i++) {
		const struct node *key = member(&pairs->children[i], 1);
		const struct node *value = member(&pairs->children[i], 2);

		CHECK(r, key && value, "a pair of metadata that is none");
		u->keys[i] = copy_text(r, key->v, key->bytes);
		u->values[i] = copy_text(r, value->v, value->bytes);
	}
	get_groups(r, member(footer, 4));
}

static void get_file(struct reader *r, uint8_t *v, size_t nr)
{
	struct node footer = { .type = 12 };
	struct in in = { v, nr - 8, 0 };
	uint32_t bytes;

	CHECK(r, nr >= 12 && !memcmp(v, "PAR1", 4) && !memcmp(v + nr - 4, "PAR1", 4), "no PAR1");
	memcpy(&bytes, v + nr - 8, 4);
	CHECK(r, bytes <= nr - 12, "a footer that is longer than the file");
	in.at = nr - 8 - bytes;
	r->file = (struct in){ v, in.at, 0 };
	get_node(r, &in, &footer, 0);
	CHECK(r, in.at == in.nr, "bytes behind the footer");
	get_footer(r, &footer);
}

int unparquet__read(struct unparquet *u, const char *path)
{
	struct reader r = { .u = u };
	FILE *f = fopen(path, "r");
	uint8_t *v = NULL;
	long nr = -1;

	memset(u, 0, sizeof(*u));
	if (f && !fseek(f, 0, SEEK_END))
		nr = ftell(f);
	if (nr >= 0) {
		rewind(f);
		v = zalloc(&r, nr, 1);
		nr = fread(v, 1, nr, f) == (size_t)nr ? nr : -1;
	}
	if (f)
		fclose(f);
	if (nr < 0) {
		snprintf(u->error, sizeof(u->error), "cannot be read");
		return -1;
	}
	if (setjmp(r.failed))
		return -1;
	get_file(&r, v, nr);
	return 0;
}

void unparquet__free(struct unparquet *u)
{
	struct unparquet_memory *m;

	while ((m = u->memory)) {
		u->memory = m->next;
		free(m);
	}
	memset(u, 0, sizeof(*u));
}
