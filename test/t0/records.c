// SPDX-License-Identifier: GPL-3.0-or-later
/* The table of record types: each type in it can be packed, read, checked and printed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen.h"
#include "read/reader.h"
#include "record.h"
#include "skeleton.h"
#include "tap.h"
#include "write/dump.h"

static bool is_read(const struct record_type *type)
{
	return type->where == RECORD_IN_FILE || type->where == RECORD_IN_BATCH;
}

/* Makes a recording with one record of a type. Return: the offset of the record */
static size_t one(struct gen *g, uint16_t type, uint32_t number)
{
	bool nested = record_types[type].where == RECORD_IN_BATCH;
	size_t at;

	g->nr = 0;
	gen__header(g);
	if (nested)
		gen__batch_begin(g, 2000, 1, 43);
	at = g->nr;
	skeleton__record(g, type, number);
	if (nested)
		gen__batch_end(g);
	return at;
}

/* Return: NULL if the reader accepts the record of the type in @g, else the reader's message. */
static const char *refusal(const struct gen *g, uint16_t type)
{
	struct record_iter it, inner;
	const struct xpu_record *rec;
	const char *what = "not found";
	struct reader r;

	if (reader__open_mem(&r, g->v, g->nr, "test"))
		return "not opened";
	reader__rewind(&r, &it);
	rec = record_iter__next(&it);
	if (rec && record_types[type].where == RECORD_IN_BATCH) {
		record_iter__enter(&inner, &it, (const void *)rec);
		it = inner;
		rec = record_iter__next(&it);
	}
	if (rec && rec->type == type)
		what = NULL;
	else if (it.what)
		what = it.what;
	reader__close(&r);
	return what;
}

static void test_read(struct gen *g, uint16_t type)
{
	const struct record_type *t = &record_types[type];
	const char *what;
	size_t at = one(g, type, 7);
	struct xpu_record *rec;

	what = refusal(g, type);
	ok(!what, "%s: a record of the least size is read", t->name);
	if (what)
		diag("%s", what);
	at = one(g, type, 7);
	rec = (void *)(g->v + at);
	rec->size = t->least - 8;
	ok(refusal(g, type) != NULL, "%s: a record that is too short is refused", t->name);
}

/* The reader refuses a record whose count of elements or length of text exceeds its size. */
static void test_count(struct gen *g, uint16_t type)
{
	const struct record_type *t = &record_types[type];
	const struct record_field *f, *list = t->fields(), *count;
	size_t at;

	for (f = list; f->name; f++) {
		if (!f->count_at || f->kind == FIELD_PART)
			continue;
		for (count = list; count->offset != f->count_at; count++)
			;
		at = one(g, type, 7);
		memset(g->v + at + count->offset, 0xff, count->bytes);
		ok(refusal(g, type) != NULL, "%s: %s beyond the record is refused", t->name,
		   count->name);
	}
}

static void test_dump(struct gen *g, uint16_t type)
{
	const struct record_type *t = &record_types[type];
	const struct record_field *f;
	struct dump_result result;
	char *text = NULL, name[80];
	struct reader r;
	size_t bytes;
	FILE *file;
	bool shown = true;
	int err;

	one(g, type, 7);
	file = open_memstream(&text, &bytes);
	err = reader__open_mem(&r, g->v, g->nr, "test") ?: dump__write(&r, file, &result);
	fclose(file);
	dump_result__free(&result);
	reader__close(&r);
	snprintf(name, sizeof(name), " %s", t->name);
	ok(!err && strstr(text, name), "%s: dump prints its name", t->name);
	for (f = t->fields(); f->name; f++) {
		if (f->kind <= FIELD_SHOWN || f->kind >= FIELD_PART)
			continue;
		snprintf(name, sizeof(name), " %s=", f->name);
		if (strstr(text, name))
			continue;
		diag("%s", f->name);
		shown = false;
	}
	ok(shown, "%s: dump prints its fields", t->name);
	free(text);
}

/* Packs many records of each type into blocks and unpacks them. */
static void test_pack(void)
{
	struct gen plain = { 0 }, blocks = { 0 };
	struct record_iter it;
	const struct xpu_record *rec;
	struct reader r;
	size_t at;
	uint32_t i;
	bool same = true;

	gen__header(&plain);
	for (i = 0; i < 40; i++)
		skeleton__records(&plain, i * 1000);
	gen__blocks(&blocks, &plain, 1, 20000);
	at = sizeof(struct xpu_file_header);
	is_int(reader__open_mem(&r, blocks.v, blocks.nr, "test"), 0,
	       "blocks of all types are opened");
	reader__rewind(&r, &it);
	it.unknown_too = true;
	while (same && (rec = record_iter__next(&it))) {
		same = rec->size <= plain.nr - at && !memcmp(plain.v + at, rec, rec->size);
		at += rec->size;
	}
	ok(same && at == plain.nr, "records of all types are the same after packing");
	is_int(it.end, RECORDS_WHOLE, "the blocks end without damage");
	reader__close(&r);
	gen__free(&plain);
	gen__free(&blocks);
}

/* Tests the properties of the table that other code relies on. */
static void test_table(uint16_t type)
{
	const struct record_type *t = &record_types[type];
	const struct record_field *f;
	size_t nr_keys = 0, nr_tails = 0, nr_rows = 0;

	for (f = t->fields(); f->name; f++) {
		nr_keys += f->kind == FIELD_KEY || f->kind == FIELD_KEY_HEX;
		nr_tails += f->kind >= FIELD_TAIL;
		nr_rows += f->kind == FIELD_ROWS;
	}
	ok(t->text[0] && nr_tails <= 1,
	   "%s: the type has a description, and one tail at most", t->name);
	ok(t->pack != RECORD_ROWS || nr_rows,
	   "%s: the type has rows if its rows are packed", t->name);
	ok(t->split != RECORD_CARRY || t->where != RECORD_IN_BATCH || nr_keys,
	   "%s: the type has a key if splitting repeats its records", t->name);
	ok(t->split != RECORD_HOLD || type == XPU_RECORD_LAUNCHES || record__at(type, FIELD_LAUNCH),
	   "%s: the type names a launch if splitting holds its records back", t->name);
}

int main(void)
{
	struct gen g = { 0 };
	unsigned int nr = 0;
	uint16_t type;

	for (type = 1; type < XPU_RECORD_TYPES; type++) {
		if (!is_read(&record_types[type]))
			continue;
		nr++;
		test_table(type);
		test_read(&g, type);
		test_count(&g, type);
		test_dump(&g, type);
	}
	ok(nr > 50, "%u types are tested", nr);
	test_pack();
	gen__free(&g);
	return done_testing();
}
