// SPDX-License-Identifier: MIT
#include "columns.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "xpu_record.h"

#define ROWS_MAX	UINT16_MAX	/* maximum number of rows in one piece */
#define ROW_MIN		16u		/* minimum size of a row that is worth a piece's 8 bytes */

/*
 * ---- packing -----------------------------------------------------------------------------------
 *
 * Only the packer decides which rows form a table; the unpacker accepts any table.
 */

struct column_table {
	uint64_t key;			/* all rows of the table have this key */
	uint32_t nr_columns;
	uint32_t nr_rows;
};

/* Literals and the rows that follow them, as pointers into the records. */
struct column_piece {
	const uint8_t *literals;
	const uint8_t *rows;
	struct xpu_piece told;
};

struct columns {
	struct column_table tables[XPU_TABLES_MAX];
	uint32_t nr_tables;
	struct column_piece *pieces;
	size_t nr_pieces, pieces_cap;
	const uint8_t *literals;	/* the first literal that is not in a piece yet */
	uint32_t *words;		/* words of one table, column by column */
	uint8_t *out;
	size_t room_bytes;		/* @words and @out have room for this many bytes of
					 * records */
};

struct columns *columns__new(void)
{
	return calloc(1, sizeof(struct columns));
}

void columns__free(struct columns *c)
{
	if (!c)
		return;
	free(c->pieces);
	free(c->words);
	free(c->out);
	free(c);
}

/*
 * Return: the number of the table for rows with @key, or XPU_TABLES_MAX if there are too many
 * tables.
 */
static uint32_t columns__table(struct columns *c, uint64_t key, uint32_t nr_columns)
{
	uint32_t i;

	for (i = 0; i < c->nr_tables; i++)
		if (c->tables[i].key == key)
			return i;
	if (c->nr_tables < XPU_TABLES_MAX)
		c->tables[c->nr_tables++] = (struct column_table){ key, nr_columns, 0 };
	return i;
}

static int columns__push(struct columns *c, const struct column_piece *piece)
{
	struct column_piece *pieces;
	size_t cap = c->pieces_cap * 2 + 256;

	if (c->nr_pieces == c->pieces_cap) {
		pieces = realloc(c->pieces, cap * sizeof(*pieces));
		if (!pieces)
			return -ENOMEM;
		c->pieces = pieces;
		c->pieces_cap = cap;
	}
	c->pieces[c->nr_pieces++] = *piece;
	return 0;
}

/* Adds @nr rows at @rows, which follow the last rows or literals. Return: 0 or -ENOMEM. */
static int columns__rows(struct columns *c, uint64_t key, const void *rows, size_t nr,
			 uint32_t nr_columns)
{
	struct column_piece *last = c->nr_pieces ? &c->pieces[c->nr_pieces - 1] : NULL;
	const uint8_t *at = rows;
	uint32_t table;
	size_t some;
	int err;

	if (!nr)
		return 0;
	table = columns__table(c, key, nr_columns);
	if (table == XPU_TABLES_MAX)
		return 0;
	c->tables[table].nr_rows += nr;
	if (last && at == c->literals && last->told.table == table &&
	    last->told.nr_rows + nr <= ROWS_MAX) {
		last->told.nr_rows += nr;
		c->literals = at + nr * nr_columns * sizeof(uint32_t);
		return 0;
	}
	for (; nr; nr -= some) {
		some = nr < ROWS_MAX ? nr : ROWS_MAX;
		err = columns__push(c, &(struct column_piece){
			.literals = c->literals,
			.rows = at,
			.told = { at - c->literals, table, some },
		});
		if (err)
			return err;
		at += some * nr_columns * sizeof(uint32_t);
		c->literals = at;
	}
	return 0;
}

/* Adds a record of @type that has @nr elements of @element_bytes at @array. */
static int columns__array(struct columns *c, uint16_t type, const void *array, size_t nr,
			  size_t element_bytes, const uint8_t *end)
{
	if (nr > (size_t)(end - (const uint8_t *)array) / element_bytes)
		return 0;
	return columns__rows(c, UINT64_MAX - type, array, nr, element_bytes / sizeof(uint32_t));
}

static int columns__add(struct columns *c, const struct xpu_record *r);

/* Adds the records of a batch, which can contain many kernels or copies in a row. */
static int columns__batch(struct columns *c, const struct xpu_record_batch *batch)
{
	const uint8_t *at = batch->records, *end = (const uint8_t *)batch + batch->hdr.size;
	const struct xpu_record *r;
	int err = 0;

	if (batch->bytes > (size_t)(end - at))
		return 0;
	end = at + batch->bytes;
	while (!err && (size_t)(end - at) >= sizeof(*r)) {
		r = (const struct xpu_record *)at;
		if (r->size < sizeof(*r) || r->size % 8 || r->size > (size_t)(end - at))
			break;
		if (r->type != XPU_RECORD_BATCH)
			err = columns__add(c, r);
		at += r->size;
	}
	return err;
}

/* Adds a record as one row of the table for records with the same header. */
static int columns__row(struct columns *c, const struct xpu_record *r)
{
	uint64_t key;

	memcpy(&key, r, sizeof(key));
	return r->size < ROW_MIN || r->size > XPU_COLUMNS_MAX * sizeof(uint32_t) ? 0 :
	       columns__rows(c, key, r, 1, r->size / sizeof(uint32_t));
}

/* For each structure, defines a function that adds the rows of its tail. */
#define FIELD_ROWS(row, nr, ...)	r->nr
#define FIELD_CHECKED(row, nr, ...)	r->nr
#define FIELD_ITEMS(...)		0
#define FIELD_TEXT(...)			0
#define FIELD_TEXT_OR_NONE(...)		0
#define FIELD_NODE_ID(...)		0
#define FIELD_CHECK(...)		0
#define FIELD_RAW			0

#define RECORD(NAME, nr, tag, ...)						\
	static inline int tag##__rows(struct columns *c, const struct xpu_record *hdr)	\
	{									\
		const struct tag *r = (const void *)hdr;			\
		(void)c, (void)r;
#define ALSO(...)
#define STRUCT(tag, ...)	__attribute__((unused)) RECORD(, , tag)
#define TAIL(one, name, most, kind, ...)					\
		if (hdr->size >= sizeof(*r))					\
			return columns__array(c, hdr->type, r->name, FIELD_##kind, sizeof(one), \
					      (const uint8_t *)hdr + hdr->size);
#define END_RECORD								\
		return 0;							\
	}
#include "records.def"

static int columns__add(struct columns *c, const struct xpu_record *r)
{
	switch (r->type) {
#define PACK_PLAIN(NAME, tag)
#define PACK_ROW(NAME, tag)	case XPU_RECORD_##NAME: return columns__row(c, r);
#define PACK_ROWS(NAME, tag)	case XPU_RECORD_##NAME: return tag##__rows(c, r);
#define RECORD(NAME, nr, tag, bytes, where, major, minor, misc, split, pack, ...) \
	PACK_##pack(NAME, tag)
#include "records.def"
	case XPU_RECORD_BATCH:
		return r->size < sizeof(struct xpu_record_batch) ? 0 :
		       columns__batch(c, (const void *)r);
	default:
		return 0;
	}
}

static inline uint32_t zigzag(uint32_t difference)
{
	return difference << 1 ^ (uint32_t)((int32_t)difference >> 31);
}

static inline __attribute__((always_inline)) void gather(uint32_t *to, size_t nr_all,
							 const uint8_t *rows, size_t nr,
							 size_t nr_columns)
{
	const uint32_t *from = (const uint32_t *)rows;
	size_t i, k;

	for (i = 0; i < nr; i++, from += nr_columns)
		for (k = 0; k < nr_columns; k++)
			to[k * nr_all + i] = from[k];
}

/* Gathers the words of a table from all the records, one column after the other. */
static void columns__gather(const struct columns *c, uint32_t table)
{
	const struct column_table *t = &c->tables[table];
	uint32_t *to = c->words;
	size_t i;

	for (i = 0; i < c->nr_pieces; i++) {
		const struct column_piece *p = &c->pieces[i];

		if (p->told.table != table)
			continue;
		if (t->nr_columns == sizeof(struct xpu_launch) / sizeof(*to))
			gather(to, t->nr_rows, p->rows, p->told.nr_rows, 4);
		else if (t->nr_columns == sizeof(struct xpu_record_kernel) / sizeof(*to))
			gather(to, t->nr_rows, p->rows, p->told.nr_rows, 10);
		else
			gather(to, t->nr_rows, p->rows, p->told.nr_rows, t->nr_columns);
		to += p->told.nr_rows;
	}
}

/* Return: how many planes are needed for numbers that use only the bits in @bits. */
static uint16_t nr_planes(uint32_t bits)
{
	return bits ? (32 - __builtin_clz(bits) + 7) / 8 : 0;
}

/*
 * Turns @nr words into differences, either from the first word or from the word above. Prefers the
 * first word, which turns equal words into equal numbers, unless the word above gives fewer planes
 * or much smaller numbers.
 */
static struct xpu_column column__number(uint32_t *w, size_t nr)
{
	uint32_t base = w[0], bits = 0, delta_bits = 0, last, word;
	uint64_t sum = 0, delta_sum = 0;
	bool delta;
	size_t i;

	for (i = 1; i < nr; i++) {
		uint32_t n = zigzag(w[i] - base), d = zigzag(w[i] - w[i - 1]);

		bits |= n;
		delta_bits |= d;
		sum += n;
		delta_sum += d;
	}
	delta = nr_planes(delta_bits) < nr_planes(bits) || delta_sum < sum / 4;
	for (i = 0, last = base; i < nr; i++) {
		word = w[i];
		w[i] = zigzag(word - last);
		last = delta ? word : base;
	}
	return (struct xpu_column){ base, nr_planes(delta ? delta_bits : bits),
				    delta ? XPU_COLUMN_DELTA : 0 };
}

static uint8_t *column__planes(const uint32_t *numbers, size_t nr, unsigned int planes,
			       uint8_t *restrict to)
{
	unsigned int p;
	size_t i;

	for (p = 0; p < planes; p++, to += nr)
		for (i = 0; i < nr; i++)
			to[i] = numbers[i] >> 8 * p;
	return to;
}

/* Makes room for the largest possible result of @bytes of records. */
static int columns__reserve(struct columns *c, size_t bytes)
{
	size_t head = sizeof(struct xpu_columns) + XPU_TABLES_MAX *
		      (sizeof(struct xpu_table) + XPU_COLUMNS_MAX * sizeof(struct xpu_column));

	if (c->out && c->room_bytes >= bytes)
		return 0;
	free(c->words);
	free(c->out);
	c->room_bytes = 0;
	c->words = malloc(bytes ?: 1);
	/*
	 * A piece takes 8 bytes and has at least one row, of at least ROW_MIN bytes, so pieces add
	 * at most half of @bytes. Only the last piece may have no row.
	 */
	c->out = malloc(head + bytes + bytes / 2 + sizeof(struct xpu_piece));
	if (!c->words || !c->out) {
		free(c->out);
		c->out = NULL;
		return -ENOMEM;
	}
	c->room_bytes = bytes;
	return 0;
}

static int columns__find(struct columns *c, const uint8_t *records, size_t bytes)
{
	const uint8_t *at = records, *end = records + bytes;
	const struct xpu_record *r;
	int err = 0;

	c->nr_pieces = c->nr_tables = 0;
	c->literals = records;
	while (!err && (size_t)(end - at) >= sizeof(*r)) {
		r = (const struct xpu_record *)at;
		if (r->size < sizeof(*r) || r->size % 8 || r->size > (size_t)(end - at))
			break;
		err = columns__add(c, r);
		at += r->size;
	}
	return err ?: columns__push(c, &(struct column_piece){
		.literals = c->literals, .told = { end - c->literals, 0, 0 },
	});
}

const void *columns__pack(struct columns *c, const void *records, size_t bytes, size_t *packed)
{
	struct xpu_columns *head;
	struct xpu_piece *pieces;
	struct xpu_column *columns;
	uint8_t *to, *tables;
	size_t i, k;

	if (columns__reserve(c, bytes) || columns__find(c, records, bytes))
		return NULL;
	head = (struct xpu_columns *)c->out;
	*head = (struct xpu_columns){ .nr_pieces = c->nr_pieces, .nr_tables = c->nr_tables };
	pieces = (struct xpu_piece *)(head + 1);
	to = tables = (uint8_t *)(pieces + c->nr_pieces);
	for (i = 0; i < c->nr_tables; i++)
		to += sizeof(struct xpu_table) + c->tables[i].nr_columns * sizeof(*columns);
	for (i = 0; i < c->nr_pieces; i++) {
		const struct column_piece *p = &c->pieces[i];

		pieces[i] = p->told;
		head->literal_bytes += p->told.literal_bytes;
		if (p->told.literal_bytes)
			memcpy(to, p->literals, p->told.literal_bytes);
		to += p->told.literal_bytes;
	}
	for (i = 0; i < c->nr_tables; i++) {
		const struct column_table *t = &c->tables[i];

		*(struct xpu_table *)tables = (struct xpu_table){ t->nr_rows, t->nr_columns };
		columns = (struct xpu_column *)(tables + sizeof(struct xpu_table));
		columns__gather(c, i);
		for (k = 0; k < t->nr_columns; k++) {
			uint32_t *words = c->words + k * t->nr_rows;

			columns[k] = column__number(words, t->nr_rows);
			to = column__planes(words, t->nr_rows, columns[k].nr_planes, to);
		}
		tables = (uint8_t *)(columns + t->nr_columns);
	}
	*packed = to - c->out;
	return c->out;
}

/*
 * ---- unpacking ---------------------------------------------------------------------------------
 */

/* The packed bytes that are still to be read. */
struct packed {
	const uint8_t *at;
	size_t left;
};

/* Return: the next @nr elements of @bytes each; NULL if fewer elements are left. */
static const void *packed__take(struct packed *p, size_t nr, size_t bytes)
{
	const uint8_t *at = p->at;

	if (nr > p->left / bytes)
		return NULL;
	p->at += nr * bytes;
	p->left -= nr * bytes;
	return at;
}

static inline uint32_t unzigzag(uint32_t n)
{
	return n >> 1 ^ -(n & 1);
}

/* Writes @nr words of a column, from row @from, to their places. The column has @all rows. */
static inline __attribute__((always_inline)) uint32_t
column__scatter_n(const uint8_t *planes, size_t from, size_t nr, size_t all, unsigned int depth,
		  bool delta, uint32_t last, uint8_t *to, size_t row_bytes)
{
	uint32_t n, word;
	unsigned int p;
	size_t i;

	for (i = from; i < from + nr; i++, to += row_bytes) {
		for (p = 0, n = 0; p < depth; p++)
			n |= (uint32_t)planes[p * all + i] << 8 * p;
		word = last + unzigzag(n);
		*(uint32_t *)to = word;
		if (delta)
			last = word;
	}
	return last;
}

static uint32_t column__scatter(const struct xpu_column *c, const uint8_t *planes, size_t from,
				size_t nr, size_t all, uint32_t last, uint8_t *to,
				size_t row_bytes)
{
#define CASE(planes_, delta_) \
	case planes_ << 1 | delta_: \
		return column__scatter_n(planes, from, nr, all, planes_, delta_, last, to, \
					 row_bytes)

	/* clang-format off */
	switch (c->nr_planes << 1 | (c->flags & XPU_COLUMN_DELTA)) {
	CASE(1, 0); CASE(1, 1); CASE(2, 0); CASE(2, 1);
	CASE(3, 0); CASE(3, 1); CASE(4, 0); CASE(4, 1);
	/* clang-format on */
	default:
		return column__scatter_n(planes, from, nr, all, 0, 0, last, to, row_bytes);
	}
#undef CASE
}

struct unpacking {
	const struct xpu_piece *pieces;
	size_t nr_pieces;
	const struct xpu_table *tables[XPU_TABLES_MAX];
	uint32_t nr_tables;
	uint8_t *records;
	/* For each column of each table: its planes, and the last word; at first, the base. */
	const uint8_t *planes[XPU_TABLES_MAX][XPU_COLUMNS_MAX];
	uint32_t last[XPU_TABLES_MAX][XPU_COLUMNS_MAX];
};

static const struct xpu_column *table__column(const struct xpu_table *t, uint32_t column)
{
	return (const struct xpu_column *)(t + 1) + column;
}

/* Copies the literals to their places. Return: whether all pieces together have @bytes. */
static bool unpacking__literals(struct unpacking *u, const uint8_t *literals, size_t left,
				size_t bytes)
{
	uint32_t rows[XPU_TABLES_MAX] = { 0 }, t;
	uint8_t *to = u->records;
	size_t i, row_bytes;

	for (i = 0; i < u->nr_pieces; i++) {
		const struct xpu_piece *p = &u->pieces[i];

		if (p->literal_bytes > left || p->literal_bytes > bytes)
			return false;
		memcpy(to, literals, p->literal_bytes);
		to += p->literal_bytes;
		literals += p->literal_bytes;
		left -= p->literal_bytes;
		bytes -= p->literal_bytes;
		if (!p->nr_rows)
			continue;
		if (p->table >= u->nr_tables)
			return false;
		row_bytes = u->tables[p->table]->nr_columns * sizeof(uint32_t);
		/* Rows consist of words, so each row must be aligned to words. */
		if (p->nr_rows > bytes / row_bytes || (to - u->records) % sizeof(uint32_t))
			return false;
		rows[p->table] += p->nr_rows;
		to += p->nr_rows * row_bytes;
		bytes -= p->nr_rows * row_bytes;
	}
	for (t = 0; t < u->nr_tables; t++)
		if (rows[t] != u->tables[t]->nr_rows)
			return false;
	return !left && !bytes;
}

/* Return: whether @packed has the planes of all columns, and no bytes after them. */
static bool unpacking__planes(struct unpacking *u, struct packed *packed)
{
	const struct xpu_column *c;
	uint32_t t, k;

	for (t = 0; t < u->nr_tables; t++) {
		for (k = 0; k < u->tables[t]->nr_columns; k++) {
			c = table__column(u->tables[t], k);
			if (c->nr_planes > 4)
				return false;
			u->planes[t][k] = packed__take(packed, (size_t)u->tables[t]->nr_rows *
							    c->nr_planes, 1);
			if (!u->planes[t][k])
				return false;
			u->last[t][k] = c->base;
		}
	}
	return !packed->left;
}

/*
 * Copies the rows to their places. There may be a million pieces, so this reads each piece only
 * once.
 */
static void unpacking__rows(struct unpacking *u)
{
	size_t rows[XPU_TABLES_MAX] = { 0 }, row_bytes, i;
	uint8_t *to = u->records;
	uint32_t k;

	for (i = 0; i < u->nr_pieces; i++) {
		const struct xpu_piece *p = &u->pieces[i];
		const struct xpu_table *t;

		to += p->literal_bytes;
		if (!p->nr_rows)
			continue;
		t = u->tables[p->table];
		row_bytes = t->nr_columns * sizeof(uint32_t);
		for (k = 0; k < t->nr_columns; k++)
			u->last[p->table][k] =
				column__scatter(table__column(t, k), u->planes[p->table][k],
						rows[p->table], p->nr_rows, t->nr_rows,
						u->last[p->table][k], to + k * sizeof(uint32_t),
						row_bytes);
		rows[p->table] += p->nr_rows;
		to += p->nr_rows * row_bytes;
	}
}

int columns__unpack(const void *packed, size_t packed_bytes, void *records, size_t bytes)
{
	struct packed in = { packed, packed_bytes };
	struct unpacking u = { .records = records };
	const struct xpu_columns *head = packed__take(&in, 1, sizeof(*head));
	const uint8_t *literals;

	if (!head || head->nr_tables > XPU_TABLES_MAX)
		return -EBADMSG;
	u.nr_pieces = head->nr_pieces;
	u.pieces = packed__take(&in, u.nr_pieces, sizeof(*u.pieces));
	if (!u.pieces)
		return -EBADMSG;
	for (; u.nr_tables < head->nr_tables; u.nr_tables++) {
		const struct xpu_table *table = packed__take(&in, 1, sizeof(*table));

		if (!table || !table->nr_columns || table->nr_columns > XPU_COLUMNS_MAX ||
		    !packed__take(&in, table->nr_columns, sizeof(struct xpu_column)))
			return -EBADMSG;
		u.tables[u.nr_tables] = table;
	}
	literals = packed__take(&in, head->literal_bytes, 1);
	if (!literals || !unpacking__literals(&u, literals, head->literal_bytes, bytes))
		return -EBADMSG;
	if (!unpacking__planes(&u, &in))
		return -EBADMSG;
	unpacking__rows(&u);
	return 0;
}
