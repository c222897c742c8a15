// SPDX-License-Identifier: GPL-3.0-or-later
#include "skeleton.h"

#include <stdlib.h>
#include <string.h>

#define TAIL_BYTES	64		/* length of a tail of zeros, if the record does not count
					 * the tail's elements */

/* Return: a number that is valid for the field */
static uint64_t value(const struct record_field *f, uint32_t number, bool checked)
{
	switch (f->kind) {
	case FIELD_NONE:
		return 0;
	case FIELD_COUNT:
	case FIELD_BYTES:
		return checked ? 0 : number % 5;
	case FIELD_TIME_NS:
	case FIELD_MADE_NS:
		return 2000 + number;
	case FIELD_DURATION_NS:
	case FIELD_DELTA_NS:
		return number % 100;
	case FIELD_NAMED:
		return f->names->v[0].number;
	case FIELD_ADDRESS:
	case FIELD_HEX:
		return 0x400000 + number;
	default:
		return 1;
	}
}

/* Sets the fields of one structure at @base. */
static void fill(const struct record_field *fields, uint8_t *base, uint32_t number, bool checked)
{
	const struct record_field *f;
	uint64_t v;

	for (f = fields; f->name; f++) {
		if (f->kind >= FIELD_TAIL)
			continue;
		if (f->kind == FIELD_PART) {
			fill(f->rows(), base + f->offset, number, checked);
			continue;
		}
		v = value(f, number, checked);
		if (f->bytes <= sizeof(v))
			memcpy(base + f->offset, &v, f->bytes);
		else if (f->kind != FIELD_NONE)
			memset(base + f->offset, 'a' + number % 26, f->bytes - 1);
	}
}

void skeleton__record(struct gen *g, uint16_t type, uint32_t number)
{
	const struct record_field *fields = record_types[type].fields(), *f, *tail = NULL;
	size_t at = sizeof(struct xpu_record), nr = 0;
	uint8_t *rec;
	uint32_t i;

	for (f = fields; f->name; f++) {
		if (f->kind >= FIELD_TAIL)
			tail = f;
		else
			at = f->offset + f->bytes;
	}
	if (tail) {
		at = tail->offset;
		nr = tail->count_at ? SKELETON_ROWS * tail->bytes : TAIL_BYTES;
	}
	rec = calloc(1, at + nr);
	if (!rec)
		abort();
	fill(fields, rec, number, tail && !tail->count_at && tail->kind == FIELD_TAIL);
	if (tail && tail->count_at) {
		for (f = fields; f->offset != tail->count_at; f++)
			;
		i = SKELETON_ROWS;
		memcpy(rec + f->offset, &i, f->bytes < sizeof(i) ? f->bytes : sizeof(i));
	}
	for (i = 0; tail && tail->kind == FIELD_ROWS && i < SKELETON_ROWS; i++)
		fill(tail->rows(), rec + at + i * tail->bytes, number + i, false);
	gen__record(g, type, record_types[type].misc && !record_types[type].misc_is_flags ? 1 : 0,
		    rec, at, rec + at, nr);
	free(rec);
}

void skeleton__records(struct gen *g, uint32_t number)
{
	uint16_t type;

	for (type = 1; type < XPU_RECORD_TYPES; type++)
		if (record_types[type].where == RECORD_IN_FILE && type != XPU_RECORD_BATCH &&
		    type != XPU_RECORD_END)
			skeleton__record(g, type, number);
	gen__batch_begin(g, 2000 + number, 1, 43);
	for (type = 1; type < XPU_RECORD_TYPES; type++)
		if (record_types[type].where == RECORD_IN_BATCH)
			skeleton__record(g, type, number);
	gen__batch_end(g);
	gen__end(g, 9000, 0);
}
