// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Writes tables with all kinds of values as Parquet and reads them with unparquet.c, which checks
 * every size, offset and statistic, and shares no code with the writer.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"
#include "unparquet.h"
#include "util.h"
#include "write/parquet/parquet.h"

#define PATH	"t.parquet"

enum { NUMBER, DELTA, PLAIN, TEXT, PLAIN_TEXT, REAL, FLAG, NR };

static const struct parquet_column columns[NR] = {
	{ "number", PARQUET_INT64, PARQUET_DICTIONARY, true },
	{ "delta", PARQUET_INT64, PARQUET_DELTA, true },
	{ "plain", PARQUET_INT64, PARQUET_PLAIN, false },
	{ "text", PARQUET_STRING, PARQUET_DICTIONARY, true },
	{ "plain text", PARQUET_STRING, PARQUET_PLAIN, true },
	{ "real", PARQUET_DOUBLE, PARQUET_PLAIN, true },
	{ "flag", PARQUET_BOOL, PARQUET_PLAIN, true },
};

static struct parquet_encoder *encoder;
static char *texts[200000];
static uint64_t seed = 88172645463325252ull;

static uint64_t next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* Fills the cells of row @i. */
typedef void (*fill_fn)(size_t i, int64_t cells[NR]);

static int64_t text(size_t i)
{
	if (!texts[i] && asprintf(&texts[i], "text %zu", i) < 0)
		abort();
	return parquet__string(texts[i]);
}

static void constant(size_t i, int64_t cells[NR])
{
	(void)i;
	cells[NUMBER] = cells[DELTA] = cells[PLAIN] = 7;
	cells[TEXT] = cells[PLAIN_TEXT] = text(0);
	cells[REAL] = parquet__double(-0.5);
	cells[FLAG] = true;
}

/* Empty texts: a column that has only empty texts may have no bytes at all. */
static void empty(size_t i, int64_t cells[NR])
{
	constant(i, cells);
	cells[TEXT] = cells[PLAIN_TEXT] = parquet__string("");
}

static void rising(size_t i, int64_t cells[NR])
{
	cells[NUMBER] = i / 100;
	cells[DELTA] = 1000000000000 + i * 1700 + i % 7;
	cells[PLAIN] = -(int64_t)i;
	cells[TEXT] = text(i % 200);
	cells[PLAIN_TEXT] = text(i);
	cells[REAL] = parquet__double(i / 3.0);
	cells[FLAG] = i % 3 == 0;
}

static void nulls(size_t i, int64_t cells[NR])
{
	(void)i;
	for (size_t k = 0; k < NR; k++)
		cells[k] = PARQUET_NULL;
	cells[PLAIN] = 0;
}

static void random_cells(size_t i, int64_t cells[NR])
{
	uint64_t r = next_random();

	cells[NUMBER] = r % 3 ? (int64_t)next_random() : PARQUET_NULL;
	cells[DELTA] = r % 5 ? (int64_t)(next_random() >> r % 60) : PARQUET_NULL;
	cells[PLAIN] = next_random();
	cells[TEXT] = r % 7 ? text(next_random() % (i + 1)) : PARQUET_NULL;
	cells[PLAIN_TEXT] = r % 11 ? text(next_random() % (i + 1)) : PARQUET_NULL;
	cells[REAL] = r % 13 ? parquet__double(sqrt(r)) : PARQUET_NULL;
	cells[FLAG] = r % 17 ? (int64_t)(r >> 40 & 1) : PARQUET_NULL;
}

/* The largest possible differences between values, which do not fit into 64 bits. */
static void extremes(size_t i, int64_t cells[NR])
{
	static const int64_t v[] = { INT64_MIN, INT64_MAX, 0, -1, INT64_MAX, INT64_MIN, 1 };

	random_cells(i, cells);
	cells[NUMBER] = cells[DELTA] = cells[PLAIN] = v[i % 7];
}

/* Runs of all lengths, beginning at each place in a group of 8. */
static void runs(size_t i, int64_t cells[NR])
{
	static size_t left;
	static int64_t value;

	if (!i || !left--) {
		left = next_random() % 40;
		value = next_random() % 5;
	}
	constant(i, cells);
	cells[NUMBER] = value ? value : PARQUET_NULL;
	cells[TEXT] = value % 3 ? text(value) : PARQUET_NULL;
	cells[FLAG] = value % 2 ? value % 3 : PARQUET_NULL;
}

static bool same(const struct unparquet_column *c, const struct unparquet_value *v, int64_t cell)
{
	if (c->optional && cell == PARQUET_NULL)
		return v->null;
	if (v->null)
		return false;
	if (c->type == UNPARQUET_STRING)
		return !strcmp(v->s, (const char *)(intptr_t)cell) && v->bytes == strlen(v->s);
	if (c->type == UNPARQUET_DOUBLE)
		return parquet__double(v->d) == cell;
	return v->n == (c->type == UNPARQUET_BOOL ? !!cell : cell);
}

static struct parquet *begin(FILE **f, size_t max_rows)
{
	struct parquet *p;

	*f = fopen(PATH, "w");
	p = *f ? parquet__new(encoder, *f, columns, NR, max_rows) : NULL;
	if (!p)
		bail("cannot begin a file");
	return p;
}

static void finish(struct parquet *p, FILE *f)
{
	const struct parquet_pair pairs[] = { { "a", "1" }, { "", "" } };

	is_int(parquet__finish(p, pairs, 2), 0, "the table is finished");
	parquet__free(p);
	is_int(fclose(f), 0, "the file is written");
}

/* Writes rows and reads them back. */
static void round_trip(const char *name, fill_fn fill, size_t nr, size_t max_rows)
{
	int64_t (*cells)[NR] = calloc(nr + 1, sizeof(*cells));
	struct unparquet u;
	size_t i, k, nr_wrong = 0;
	struct parquet *p;
	FILE *f;
	int err = 0;

	p = begin(&f, max_rows);
	for (i = 0; i < nr; i++) {
		fill(i, cells[i]);
		err |= parquet__put(p, cells[i]);
	}
	is_int(err, 0, "%s: rows are taken", name);
	finish(p, f);
	is_int(unparquet__read(&u, PATH), 0, "%s: %zu rows are read back %s", name, nr, u.error);
	is_int(u.nr_rows, nr, "%s: no row is missing", name);
	is_int(u.nr_groups, (nr + max_rows - 1) / max_rows,
	       "%s: rows are in the expected number of row groups", name);
	for (i = 0; i < u.nr_rows; i++)
		for (k = 0; k < NR; k++)
			nr_wrong += !same(&u.columns[k], &u.columns[k].v[i], cells[i][k]);
	is_int(nr_wrong, 0, "%s: each value that is read equals the written value", name);
	unparquet__free(&u);
	free(cells);
}

static void test_sizes(void)
{
	static const size_t sizes[] = { 0, 1, 2, 7, 8, 9, 31, 32, 33, 34, 127, 128, 129, 130, 257 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		round_trip("random", random_cells, sizes[i], 1000);
		round_trip("runs", runs, sizes[i], 1000);
		round_trip("empty", empty, sizes[i], 1000);
	}
}

/* Return: the encodings that column @nr of the file uses. */
static unsigned int encodings(int nr)
{
	unsigned int ret = 0;
	struct unparquet u;

	if (!unparquet__read(&u, PATH))
		ret = u.columns[nr].encodings;
	unparquet__free(&u);
	return ret;
}

enum { IS_PLAIN = 1 << 0, IS_DELTA = 1 << 5, IS_DICTIONARY = 1 << 8 };

static void test_encodings(void)
{
	round_trip("rising", rising, 5000, 1500);
	is_int(encodings(NUMBER), IS_DICTIONARY, "few different numbers have a dictionary");
	is_int(encodings(TEXT), IS_DICTIONARY, "few different texts have a dictionary");
	is_int(encodings(DELTA), IS_DELTA, "times are stored as differences");
	is_int(encodings(PLAIN_TEXT), IS_PLAIN,
	       "a column that is declared plain has no dictionary");
	round_trip("many", random_cells, 150000, 140000);
	is_int(encodings(NUMBER), IS_DELTA, "too many different numbers are stored as differences");
	is_int(encodings(TEXT), IS_PLAIN, "too many different texts are stored plainly");
}

/*
 * Bytes that are not UTF-8, and terminal control characters, are escaped as in all other outputs.
 */
static void test_texts(void)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{ "a\xff\xc0z", "a\xef\xbf\xbd\xef\xbf\xbdz" }, { "a\nb\x1b", "a?b?" }, { "", "" },
		{ "\xc3\xa4\"\\;<", "\xc3\xa4\"\\;<" },
	};
	int64_t cells[NR];
	struct unparquet u;
	struct parquet *p;
	size_t i;
	FILE *f;

	p = begin(&f, 100);
	constant(0, cells);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		cells[TEXT] = cells[PLAIN_TEXT] = parquet__string(rows[i].in);
		is_int(parquet__put(p, cells), 0, "a row is taken");
	}
	finish(p, f);
	is_int(unparquet__read(&u, PATH), 0, "texts are read back %s", u.error);
	for (i = 0; i < u.nr_rows; i++) {
		is_str(u.columns[TEXT].v[i].s, rows[i].out,
		       "text %zu, is read from a dictionary", i);
		is_str(u.columns[PLAIN_TEXT].v[i].s, rows[i].out,
		       "text %zu, is read from a plain column", i);
	}
	is_int(u.nr_pairs, 2, "the file has two pairs of metadata");
	is_str(u.keys[0], "a", "metadata have their key");
	is_str(u.values[0], "1", "metadata have their value");
	unparquet__free(&u);
}

/* Statistics of long strings are left out: they are as long as the strings. */
static void test_long_text(void)
{
	char *s = malloc(70000), *shorter = strdup("b");
	int64_t cells[NR];
	struct unparquet u;
	struct parquet *p;
	FILE *f;

	memset(s, 'a', 70000 - 1);
	s[70000 - 1] = 0;
	p = begin(&f, 10);
	constant(0, cells);
	cells[TEXT] = cells[PLAIN_TEXT] = parquet__string(s);
	is_int(parquet__put(p, cells), 0, "a row with a long string is taken");
	cells[TEXT] = cells[PLAIN_TEXT] = parquet__string(shorter);
	is_int(parquet__put(p, cells), 0, "a row with a short string is taken");
	finish(p, f);
	is_int(unparquet__read(&u, PATH), 0, "both rows are read back %s", u.error);
	ok(u.nr_rows == 2 && !strcmp(u.columns[TEXT].v[0].s, s) &&
	   !strcmp(u.columns[PLAIN_TEXT].v[1].s, "b"),
	"both strings that are read equal the written strings");
	unparquet__free(&u);
	free(s);
	free(shorter);
}

/* The test's reader is useless if it accepts everything. */
static void test_reader(void)
{
	size_t size, i, nr_refused = 0, nr = 0;
	struct unparquet u;
	uint8_t *bytes;
	FILE *f;

	round_trip("small", rising, 40, 30);
	f = fopen(PATH, "r");
	bytes = malloc(1 << 20);
	size = f ? fread(bytes, 1, 1 << 20, f) : 0;
	if (f)
		fclose(f);
	for (i = 4; i < size; i += 7, nr++) {
		bytes[i] ^= 0x15;
		f = fopen(PATH, "w");
		fwrite(bytes, 1, size, f);
		fclose(f);
		nr_refused += unparquet__read(&u, PATH) != 0;
		unparquet__free(&u);
		bytes[i] ^= 0x15;
	}
	/* Undetected damage is in the texts of the footer, in values without statistics, ... */
	ok(nr_refused > nr / 2, "the reader finds %zu of %zu damaged bytes", nr_refused, nr);
	free(bytes);
}

int main(void)
{
	size_t i;

	encoder = parquet_encoder__new();
	if (!encoder)
		bail("no encoder");
	test_sizes();
	round_trip("constant", constant, 100000, 60000);
	round_trip("nulls", nulls, 1000, 300);
	round_trip("extremes", extremes, 1000, 999);
	round_trip("runs", runs, 100000, 131072);
	test_encodings();
	test_texts();
	test_long_text();
	test_reader();
	parquet_encoder__free(encoder);
	for (i = 0; i < ARRAY_SIZE(texts); i++)
		free(texts[i]);
	return done_testing();
}
