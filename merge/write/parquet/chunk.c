// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/parquet/chunk.h"

#include <errno.h>
#include <stdlib.h>
#include <zstd.h>

#include "escape.h"
#include "write/parquet/encode.h"

#define MAX_DICTIONARY	65536		/* maximum number of distinct values: with more values, a
					 * dictionary saves little */
#define DICTIONARY_SLOTS (2 * MAX_DICTIONARY)
#define MAX_STATISTIC	256		/* maximum length of a string in statistics; chunks with
					 * longer strings have no statistics */
#define ZSTD_LEVEL	1

enum page { PAGE_DATA = 0, PAGE_DICTIONARY = 2 };

struct slot {
	int64_t value;
	uint32_t index;
	uint32_t round;			/* the round in which the slot is used; in all other rounds
					 * the slot is free */
};

struct parquet_encoder {
	ZSTD_CCtx *zstd;
	struct bytes page, packed, header;
	ARRAY(int64_t) dense;		/* the cells that are not null */
	ARRAY(uint32_t) indices;	/* indices of the values in the dictionary; or levels */
	ARRAY(int64_t) dictionary;
	struct slot *slots;
	uint32_t round;
	uint64_t secret;
};

struct parquet_encoder *parquet_encoder__new(void)
{
	struct parquet_encoder *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->zstd = ZSTD_createCCtx();
	e->slots = calloc(DICTIONARY_SLOTS, sizeof(*e->slots));
	e->secret = secret();
	if (!e->zstd || !e->slots) {
		parquet_encoder__free(e);
		return NULL;
	}
	ZSTD_CCtx_setParameter(e->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL);
	return e;
}

void parquet_encoder__free(struct parquet_encoder *e)
{
	if (!e)
		return;
	ZSTD_freeCCtx(e->zstd);
	bytes__free(&e->page);
	bytes__free(&e->packed);
	bytes__free(&e->header);
	array_free(&e->dense);
	array_free(&e->indices);
	array_free(&e->dictionary);
	free(e->slots);
	free(e);
}

int parquet_type__number(enum parquet_type type)
{
	static const int numbers[] = {
		[PARQUET_BOOL] = 0, [PARQUET_INT64] = 2, [PARQUET_DOUBLE] = 5, [PARQUET_STRING] = 6,
	};

	return numbers[type];
}

/* ---- pages ---------------------------------------------------------------------------------- */

/* The fields of a page's header that chunk.c uses. */
struct page_header {
	enum page type;
	size_t nr;			/* number of the page's values, including nulls */
	int encoding;
};

static void put_page_header(struct parquet_encoder *e, const struct page_header *page)
{
	struct thrift t = { .to = &e->header };

	e->header.nr = 0;
	thrift__begin(&t, 0);
	thrift__int(&t, 1, THRIFT_I32, page->type);
	thrift__int(&t, 2, THRIFT_I32, e->page.nr);
	thrift__int(&t, 3, THRIFT_I32, e->packed.nr);
	thrift__begin(&t, page->type == PAGE_DATA ? 5 : 7);
	thrift__int(&t, 1, THRIFT_I32, page->nr);
	thrift__int(&t, 2, THRIFT_I32, page->encoding);
	if (page->type == PAGE_DATA) {
		thrift__int(&t, 3, THRIFT_I32, ENCODING_RLE);
		thrift__int(&t, 4, THRIFT_I32, ENCODING_RLE);
	}
	thrift__end(&t);
	thrift__end(&t);
}

/* Compresses e->page and writes it after its header. Return: 0 or -ENOMEM. */
static int write_page(struct parquet_encoder *e, const struct page_header *page, FILE *f,
		      struct chunk_bytes *bytes)
{
	size_t nr;

	if (e->page.oom || e->page.nr > INT32_MAX / 2)
		return -ENOMEM;
	e->packed.nr = 0;
	if (!bytes__extend(&e->packed, ZSTD_compressBound(e->page.nr)))
		return -ENOMEM;
	nr = ZSTD_compress2(e->zstd, e->packed.v, e->packed.nr, e->page.v, e->page.nr);
	if (ZSTD_isError(nr))
		return -ENOMEM;
	e->packed.nr = nr;
	put_page_header(e, page);
	if (e->header.oom)
		return -ENOMEM;
	fwrite(e->header.v, e->header.nr, 1, f);
	fwrite(e->packed.v, e->packed.nr, 1, f);
	bytes->plain += e->header.nr + e->page.nr;
	bytes->packed += e->header.nr + e->packed.nr;
	return 0;
}

/* ---- values --------------------------------------------------------------------------------- */

/* the smallest and the greatest value of a chunk */
struct range {
	bool known;
	int64_t min, max;
	struct bytes min_text, max_text;
};

static int compare_text(const uint8_t *a, size_t nr_a, const uint8_t *b, size_t nr_b)
{
	size_t nr = min_t(size_t, nr_a, nr_b);

	/* An empty text may be NULL, which memcmp() does not accept. */
	return (nr ? memcmp(a, b, nr) : 0) ?: cmp3(nr_a, nr_b);
}

static void text__set(struct bytes *to, const uint8_t *v, size_t nr)
{
	to->nr = 0;
	bytes__put(to, v, nr);
}

/* Puts the length of a string and the string, escaped as in all outputs. */
static void put_string(struct bytes *page, const char *s)
{
	size_t from = page->nr, nr;
	char out[ESCAPE_MAX];

	bytes__put_le(page, 0, 4);
	do {
		nr = escape__plain(s);
		bytes__put(page, s, nr);
		s += nr;
		nr = escape__next(&s, ESCAPE_TEXT, out);
		bytes__put(page, out, nr);
	} while (nr);
	if (page->oom)
		return;
	nr = page->nr - from - 4;
	for (size_t i = 0; i < 4; i++)
		page->v[from + i] = nr >> 8 * i;
}

/* Puts strings, and finds the smallest and the greatest string. */
static void put_strings(struct bytes *page, const int64_t *v, size_t nr, struct range *range)
{
	size_t i, from, len;

	range->known = nr;
	for (i = 0; i < nr && !page->oom; i++) {
		from = page->nr + 4;
		put_string(page, (const char *)(intptr_t)v[i]);
		if (page->oom)
			return;
		len = page->nr - from;
		if (!i ||
		    compare_text(page->v + from, len, range->min_text.v, range->min_text.nr) < 0)
			text__set(&range->min_text, page->v + from, len);
		if (!i ||
		    compare_text(page->v + from, len, range->max_text.v, range->max_text.nr) > 0)
			text__set(&range->max_text, page->v + from, len);
	}
	range->known &= range->min_text.nr <= MAX_STATISTIC && range->max_text.nr <= MAX_STATISTIC;
}

static void range__of_numbers(struct range *range, const struct parquet_column *column,
			      const int64_t *v, size_t nr)
{
	size_t i;

	/* The order of doubles has exceptions (0, NaN) that readers disagree about. */
	if (!nr || column->type == PARQUET_DOUBLE)
		return;
	range->known = true;
	range->min = range->max = v[0];
	for (i = 1; i < nr; i++) {
		range->min = min_t(int64_t, range->min, v[i]);
		range->max = max_t(int64_t, range->max, v[i]);
	}
}

static void put_numbers(struct bytes *page, const int64_t *v, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++)
		bytes__put_le(page, v[i], 8);
}

static void put_bools(struct bytes *page, const int64_t *v, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i += 8) {
		uint8_t byte = 0;

		for (size_t k = 0; k < 8 && i + k < nr; k++)
			byte |= !!v[i + k] << k;
		bytes__put_byte(page, byte);
	}
}

/* ---- dictionaries --------------------------------------------------------------------------- */

static struct slot *find_slot(struct parquet_encoder *e, int64_t value)
{
	uint32_t hash = hash__mix(value, 0, e->secret);
	size_t i = slots__home(hash, DICTIONARY_SLOTS);

	while (e->slots[i].round == e->round && e->slots[i].value != value)
		i = slots__next(i, DICTIONARY_SLOTS);
	return &e->slots[i];
}

/*
 * Puts the distinct values of e->dense into e->dictionary, and their indices into e->indices.
 * Return: 1; 0 if there are too many values; or -ENOMEM.
 */
static int make_dictionary(struct parquet_encoder *e)
{
	size_t i, nr = e->dense.nr, max = min_t(size_t, MAX_DICTIONARY, nr / 2 + 8);
	struct slot *slot;

	e->dictionary.nr = 0;
	if (array_reserve(&e->indices, nr) || array_reserve(&e->dictionary, max))
		return -ENOMEM;
	if (!++e->round) {		/* overflows once in 2^32 chunks */
		memset(e->slots, 0, DICTIONARY_SLOTS * sizeof(*e->slots));
		e->round = 1;
	}
	for (i = 0; i < nr; i++) {
		if (i && e->dense.v[i] == e->dense.v[i - 1]) {
			e->indices.v[i] = e->indices.v[i - 1];
			continue;
		}
		slot = find_slot(e, e->dense.v[i]);
		if (slot->round != e->round) {
			if (e->dictionary.nr == max)
				return 0;
			*slot = (struct slot){ e->dense.v[i], e->dictionary.nr, e->round };
			e->dictionary.v[e->dictionary.nr++] = e->dense.v[i];
		}
		e->indices.v[i] = slot->index;
	}
	return 1;
}

/* ---- a chunk -------------------------------------------------------------------------------- */

/* a chunk that is being written */
struct writing {
	const struct chunk *c;
	uint64_t offset;		/* offset of the chunk's first page */
	bool has_dictionary;
	int encoding;			/* encoding of the chunk's values */
	uint64_t dictionary_bytes;	/* size of the chunk's dictionary page */
	struct range range;
	struct chunk_bytes bytes;
};

/* Collects the cells that are not null. Return: 0 or -ENOMEM. */
static int collect_dense(struct parquet_encoder *e, const struct chunk *c)
{
	size_t i;

	if (array_reserve(&e->dense, c->nr + 1))
		return -ENOMEM;
	e->dense.nr = 0;
	for (i = 0; i < c->nr; i++)
		if (!c->column->optional || c->v[i] != PARQUET_NULL)
			e->dense.v[e->dense.nr++] = c->v[i];
	return 0;
}

static int write_dictionary(struct parquet_encoder *e, struct writing *w, FILE *f)
{
	const struct page_header header = {
		.type = PAGE_DICTIONARY, .nr = e->dictionary.nr, .encoding = ENCODING_PLAIN,
	};
	int err;

	e->page.nr = 0;
	if (w->c->column->type == PARQUET_STRING) {
		put_strings(&e->page, e->dictionary.v, e->dictionary.nr, &w->range);
	} else {
		put_numbers(&e->page, e->dictionary.v, e->dictionary.nr);
		range__of_numbers(&w->range, w->c->column, e->dictionary.v, e->dictionary.nr);
	}
	err = write_page(e, &header, f, &w->bytes);
	w->dictionary_bytes = w->bytes.packed;
	return err;
}

/* Puts the levels, which say which rows have a value. Return: 0 or -ENOMEM. */
static int put_levels(struct parquet_encoder *e, const struct chunk *c)
{
	ARRAY(uint32_t) levels = { 0 };
	size_t from = e->page.nr, i;

	if (array_reserve(&levels, c->nr + 1))
		return -ENOMEM;
	for (i = 0; i < c->nr; i++)
		levels.v[i] = c->v[i] != PARQUET_NULL;
	bytes__put_le(&e->page, 0, 4);
	encode__hybrid(&e->page, levels.v, c->nr, 1);
	array_free(&levels);
	for (i = 0; !e->page.oom && i < 4; i++)
		e->page.v[from + i] = (e->page.nr - from - 4) >> 8 * i;
	return 0;
}

static void put_values(struct parquet_encoder *e, struct writing *w)
{
	const struct parquet_column *column = w->c->column;
	unsigned int bits;

	if (w->has_dictionary) {
		bits = max_t(unsigned int, 1, encode__bits(e->dictionary.nr - 1));
		bytes__put_byte(&e->page, bits);
		encode__hybrid(&e->page, e->indices.v, e->dense.nr, bits);
		return;
	}
	if (column->type == PARQUET_STRING) {
		put_strings(&e->page, e->dense.v, e->dense.nr, &w->range);
		return;
	}
	range__of_numbers(&w->range, column, e->dense.v, e->dense.nr);
	if (column->type == PARQUET_BOOL)
		put_bools(&e->page, e->dense.v, e->dense.nr);
	else if (w->encoding == ENCODING_DELTA_BINARY_PACKED)
		encode__delta(&e->page, e->dense.v, e->dense.nr);
	else
		put_numbers(&e->page, e->dense.v, e->dense.nr);
}

static void put_statistics(struct parquet_encoder *e, const struct writing *w, struct thrift *t)
{
	size_t bytes = w->c->column->type == PARQUET_BOOL ? 1 : 8;

	thrift__begin(t, 12);
	thrift__int(t, 3, THRIFT_I64, w->c->nr - e->dense.nr);
	if (w->range.known && w->c->column->type == PARQUET_STRING) {
		thrift__binary(t, 5, w->range.max_text.v, w->range.max_text.nr);
		thrift__binary(t, 6, w->range.min_text.v, w->range.min_text.nr);
	} else if (w->range.known) {
		thrift__binary(t, 5, &w->range.max, bytes);
		thrift__binary(t, 6, &w->range.min, bytes);
	}
	thrift__end(t);
}

/* Puts the structures ColumnChunk and ColumnMetaData of parquet.thrift. */
static void put_metadata(struct parquet_encoder *e, const struct writing *w, struct thrift *t)
{
	const struct parquet_column *column = w->c->column;

	thrift__begin(t, 0);
	thrift__int(t, 2, THRIFT_I64, w->offset);
	thrift__begin(t, 3);
	thrift__int(t, 1, THRIFT_I32, parquet_type__number(column->type));
	thrift__list(t, 2, THRIFT_I32, w->has_dictionary ? 3 : 2);
	thrift__element_int(t, ENCODING_RLE);
	thrift__element_int(t, w->encoding);
	if (w->has_dictionary)
		thrift__element_int(t, ENCODING_PLAIN);
	thrift__list(t, 3, THRIFT_BINARY, 1);
	thrift__element_string(t, column->name);
	thrift__int(t, 4, THRIFT_I32, CODEC_ZSTD);
	thrift__int(t, 5, THRIFT_I64, w->c->nr);
	thrift__int(t, 6, THRIFT_I64, w->bytes.plain);
	thrift__int(t, 7, THRIFT_I64, w->bytes.packed);
	thrift__int(t, 9, THRIFT_I64, w->offset + w->dictionary_bytes);
	if (w->has_dictionary)
		thrift__int(t, 11, THRIFT_I64, w->offset);
	put_statistics(e, w, t);
	thrift__end(t);
	thrift__end(t);
}

static int pick_encoding(struct parquet_encoder *e, struct writing *w)
{
	const struct parquet_column *column = w->c->column;
	int ret = 0;

	if (column->encoding == PARQUET_DICTIONARY && e->dense.nr)
		ret = make_dictionary(e);
	w->has_dictionary = ret > 0;
	if (w->has_dictionary)
		w->encoding = ENCODING_RLE_DICTIONARY;
	else if (column->type == PARQUET_INT64 && column->encoding != PARQUET_PLAIN && e->dense.nr)
		w->encoding = ENCODING_DELTA_BINARY_PACKED;
	else
		w->encoding = ENCODING_PLAIN;
	return min_t(int, ret, 0);
}

int chunk__write(struct parquet_encoder *e, const struct chunk *c, FILE *f, uint64_t offset,
		 struct thrift *footer, struct chunk_bytes *bytes)
{
	struct writing w = { .c = c, .offset = offset };
	int err = collect_dense(e, c) ?: pick_encoding(e, &w);

	if (!err && w.has_dictionary)
		err = write_dictionary(e, &w, f);
	e->page.nr = 0;
	if (!err && c->column->optional)
		err = put_levels(e, c);
	if (!err) {
		put_values(e, &w);
		err = write_page(e, &(struct page_header){ PAGE_DATA, c->nr, w.encoding }, f,
				 &w.bytes);
	}
	if (!err) {
		put_metadata(e, &w, footer);
		*bytes = w.bytes;
	}
	bytes__free(&w.range.min_text);
	bytes__free(&w.range.max_text);
	return err ?: footer->to->oom ? -ENOMEM : 0;
}
