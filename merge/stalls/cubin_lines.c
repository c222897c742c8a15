// SPDX-License-Identifier: GPL-3.0-or-later
#include "stalls/cubin_lines.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* These opcodes are from DWARF 2. */
enum {
	DW_LNS_copy = 1, DW_LNS_advance_pc, DW_LNS_advance_line, DW_LNS_set_file,
	DW_LNS_negate_stmt, DW_LNS_set_basic_block, DW_LNS_const_add_pc, DW_LNS_fixed_advance_pc,
};
enum {
	DW_LNE_end_sequence = 1, DW_LNE_set_address, DW_LNE_define_file,
	/*
	 * NVIDIA added this opcode. It says that the following rows were inlined from a function at
	 * a row of the current sequence. Its operands are that row, counted from 1, and the offset
	 * of the function's name in .debug_str. Row 0: the following rows are not inlined.
	 */
	DW_LNE_inlined_call = 0x90,
};

#define MAX_OPCODES	64		/* maximum number of standard opcodes; DWARF 2 has 9 */

void cubin_lines__free(struct cubin_lines *l)
{
	array_free(&l->functions);
	array_free(&l->files);
	array_free(&l->lines);
	array_free(&l->sites);
	array_free(&l->by_name);
}

/* A part of the table to be read. Everything after its end, or after damage, reads as 0. */
struct cursor {
	const uint8_t *at, *end;
	bool bad;
};

static uint64_t get(struct cursor *c, unsigned int bytes)
{
	uint64_t value = 0;

	if (c->bad || (size_t)(c->end - c->at) < bytes) {
		c->bad = true;
		return 0;
	}
	memcpy(&value, c->at, bytes);
	c->at += bytes;
	return value;
}

static uint64_t get_uleb(struct cursor *c)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		byte = get(c, 1);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80 && !c->bad);
	return value;
}

static int64_t get_sleb(struct cursor *c)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		byte = get(c, 1);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80 && !c->bad);
	if (byte & 0x40 && shift < 64)
		value |= ~UINT64_C(0) << shift;
	return value;
}

static const char *get_string(struct cursor *c)
{
	const uint8_t *end = c->bad ? NULL : memchr(c->at, 0, c->end - c->at);
	const char *s = (const char *)c->at;

	if (!end) {
		c->bad = true;
		return "";
	}
	c->at = end + 1;
	return s;
}

/* a unit of the line table */
struct unit {
	struct cubin_lines *lines;
	const struct xpu_cubin_lines *blob;
	const uint8_t *table;		/* relocation offsets are relative to this address */
	const char *strings;		/* .debug_str */
	size_t strings_bytes;
	uint8_t min_length, line_range, opcode_base;
	int8_t line_base;
	uint8_t lengths[MAX_OPCODES];
	size_t first_file;
	/* the state of DWARF's line-number machine */
	size_t first_row;		/* first row of the current sequence */
	uint32_t function, site;
	uint64_t pc, file, line;
};

static void unit__reset(struct unit *u)
{
	u->first_row = u->lines->lines.nr;
	u->function = u->site = NO_INDEX;
	u->pc = 0;
	u->file = u->line = 1;
}

static int unit__row(struct unit *u, bool end)
{
	struct cubin_line line = { u->function, u->pc, NO_INDEX, u->line, u->site };

	if (u->function == NO_INDEX || u->pc > UINT32_MAX || u->line > UINT32_MAX)
		return 0;
	if (!end && u->file && u->file <= u->lines->files.nr - u->first_file)
		line.file = u->first_file + u->file - 1;
	return array_push(&u->lines->lines, line);
}

/* Return: the function whose address a relocation puts at @at, or NO_INDEX. */
static uint32_t function_at(const struct unit *u, const uint8_t *at)
{
	const struct xpu_cubin_function *v = u->blob->functions;
	uint32_t low = 0, high = u->blob->nr_functions, middle, offset = at - u->table;

	/* Relocations are in order. */
	while (low < high) {
		middle = low + (high - low) / 2;
		if (v[middle].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low < u->blob->nr_functions && v[low].offset == offset ? low : NO_INDEX;
}

/* Calls in one row may have different callees, so each call becomes a separate site. */
static int unit__inlined(struct unit *u, struct cursor *c)
{
	uint64_t row = get_uleb(c), name = get_uleb(c);
	const struct cubin_line *at;
	const char *callee = "";

	u->site = NO_INDEX;
	if (c->bad || !row || row > u->lines->lines.nr - u->first_row)
		return 0;
	at = &u->lines->lines.v[u->first_row + row - 1];
	if (at->file == NO_INDEX)
		return 0;
	if (name < u->strings_bytes && memchr(u->strings + name, 0, u->strings_bytes - name))
		callee = u->strings + name;
	u->site = u->lines->sites.nr;
	return array_push(&u->lines->sites,
			  ((struct cubin_site){ callee, at->file, at->line, at->site }));
}

static int add_file(struct cubin_lines *l, const char *path)
{
	const char *slash = strrchr(path, '/');

	return array_push(&l->files, slash ? slash + 1 : path);
}

static int unit__extended(struct unit *u, struct cursor *c)
{
	uint64_t bytes = get_uleb(c);
	const uint8_t *end;
	int err = 0;

	if (c->bad || !bytes || bytes > (size_t)(c->end - c->at)) {
		c->bad = true;
		return 0;
	}
	end = c->at + bytes;
	switch (get(c, 1)) {
	case DW_LNE_end_sequence:
		err = unit__row(u, true);
		unit__reset(u);
		break;
	case DW_LNE_set_address:
		u->function = function_at(u, c->at);
		u->pc = bytes == 9 ? get(c, 8) : bytes == 5 ? get(c, 4) : 0;
		break;
	case DW_LNE_define_file:
		err = add_file(u->lines, get_string(c));
		break;
	case DW_LNE_inlined_call:
		err = unit__inlined(u, c);
		break;
	default:
		break;
	}
	c->at = end;
	return err;
}

static int unit__special(struct unit *u, uint8_t opcode)
{
	opcode -= u->opcode_base;
	u->pc += (uint64_t)u->min_length * (opcode / u->line_range);
	u->line += u->line_base + opcode % u->line_range;
	return unit__row(u, false);
}

static int unit__standard(struct unit *u, struct cursor *c, uint8_t opcode)
{
	unsigned int i;

	switch (opcode) {
	case DW_LNS_copy:
		return unit__row(u, false);
	case DW_LNS_advance_pc:
		u->pc += u->min_length * get_uleb(c);
		return 0;
	case DW_LNS_advance_line:
		u->line += get_sleb(c);
		return 0;
	case DW_LNS_set_file:
		u->file = get_uleb(c);
		return 0;
	case DW_LNS_const_add_pc:
		u->pc += (uint64_t)u->min_length * ((255 - u->opcode_base) / u->line_range);
		return 0;
	case DW_LNS_fixed_advance_pc:
		u->pc += get(c, 2);
		return 0;
	default:
		for (i = 0; i < u->lengths[opcode]; i++)
			get_uleb(c);
		return 0;
	}
}

static int unit__run(struct unit *u, struct cursor *c)
{
	uint8_t opcode;
	int err = 0;

	unit__reset(u);
	while (c->at < c->end && !c->bad && !err) {
		opcode = get(c, 1);
		if (!opcode)
			err = unit__extended(u, c);
		else if (opcode >= u->opcode_base)
			err = unit__special(u, opcode);
		else
			err = unit__standard(u, c, opcode);
	}
	return err;
}

/* Reads the header and its files, which DWARF 2 numbers from 1. Return: 0 or -ENOMEM. */
static int unit__head(struct unit *u, struct cursor *c)
{
	const uint8_t *program;
	const char *path;
	unsigned int i;
	uint64_t bytes;
	int err = 0;

	if (get(c, 2) > 4)
		c->bad = true;		/* no NVIDIA compiler writes this */
	bytes = get(c, 4);
	if (c->bad || bytes > (size_t)(c->end - c->at)) {
		c->bad = true;
		return 0;
	}
	program = c->at + bytes;
	u->min_length = get(c, 1);
	get(c, 1);			/* skip default_is_stmt */
	u->line_base = get(c, 1);
	u->line_range = get(c, 1);
	u->opcode_base = get(c, 1);
	if (!u->line_range || !u->opcode_base || u->opcode_base > MAX_OPCODES) {
		c->bad = true;
		return 0;
	}
	for (i = 1; i < u->opcode_base; i++)
		u->lengths[i] = get(c, 1);
	while (*get_string(c))
		;			/* directories */
	u->first_file = u->lines->files.nr;
	while (*(path = get_string(c)) && !err) {
		err = add_file(u->lines, path);
		get_uleb(c);
		get_uleb(c);
		get_uleb(c);
	}
	if (program >= c->at)
		c->at = program;
	else
		c->bad = true;
	return err;
}

static int line__cmp(const void *va, const void *vb, void *ctx)
{
	const struct cubin_line *a = va, *b = vb;

	(void)ctx;
	return cmp3(a->function, b->function) ?: cmp3(a->pc, b->pc);
}

/* Sorts by function and place. If several rows have the same place, the row written last counts. */
static int sort_lines(struct cubin_lines *l)
{
	struct { struct cubin_line line; size_t order; } *v;
	size_t i, nr = 0;

	v = malloc((l->lines.nr + 1) * sizeof(*v));
	if (!v)
		return -ENOMEM;
	for (i = 0; i < l->lines.nr; i++) {
		v[i].line = l->lines.v[i];
		v[i].order = i;
	}
	/*
	 * A function's rows are usually in order; but an insertion sort would be quadratic for
	 * hostile rows.
	 */
	if (l->lines.nr)
		qsort_r(v, l->lines.nr, sizeof(*v), line__cmp, NULL);
	for (i = 0; i < l->lines.nr; i++) {
		if (nr && !line__cmp(&v[nr - 1].line, &v[i].line, NULL)) {
			if (v[i].order > v[nr - 1].order && v[i].line.file != NO_INDEX)
				v[nr - 1] = v[i];
			continue;
		}
		v[nr++] = v[i];
	}
	for (i = 0; i < nr; i++)
		l->lines.v[i] = v[i].line;
	l->lines.nr = nr;
	free(v);
	return 0;
}

static int function__cmp(const void *va, const void *vb, void *ctx)
{
	const struct cubin_lines *l = ctx;

	return strcmp(l->functions.v[*(const uint32_t *)va], l->functions.v[*(const uint32_t *)vb]);
}

static int sort_functions(struct cubin_lines *l)
{
	uint32_t i;
	int err = 0;

	for (i = 0; i < l->functions.nr && !err; i++)
		err = array_push(&l->by_name, i);
	if (l->by_name.nr)
		qsort_r(l->by_name.v, l->by_name.nr, sizeof(*l->by_name.v), function__cmp, l);
	return err;
}

/* Return: the index of a function called @name, or NO_INDEX. */
static uint32_t find_function(const struct cubin_lines *l, const char *name)
{
	size_t low = 0, high = l->by_name.nr, middle;
	int cmp;

	while (low < high) {
		middle = low + (high - low) / 2;
		cmp = strcmp(l->functions.v[l->by_name.v[middle]], name);
		if (!cmp)
			return l->by_name.v[middle];
		if (cmp < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NO_INDEX;
}

int cubin_lines__read(struct cubin_lines *l, const struct xpu_cubin_lines *blob, size_t bytes)
{
	struct cursor all = { .bad = false };
	struct unit u = { .lines = l, .blob = blob };
	const char *names;
	uint64_t size;
	uint32_t i;
	int err = 0;

	memset(l, 0, sizeof(*l));
	size = sizeof(*blob);
	if (bytes < size)
		return 0;
	size += (uint64_t)blob->nr_functions * sizeof(blob->functions[0]);
	if (size + blob->names_bytes + blob->line_bytes > bytes || !blob->names_bytes)
		return 0;
	names = (const char *)blob + size;
	if (names[blob->names_bytes - 1])
		return 0;
	for (i = 0; i < blob->nr_functions && !err; i++)
		err = array_push(&l->functions, blob->functions[i].name < blob->names_bytes ?
				 names + blob->functions[i].name : "");
	u.table = all.at = (const uint8_t *)names + blob->names_bytes;
	all.end = all.at + blob->line_bytes;
	u.strings = (const char *)all.end;
	u.strings_bytes = (const char *)blob + bytes - u.strings;
	while (all.at < all.end && !all.bad && !err) {
		uint64_t unit_bytes = get(&all, 4);
		struct cursor c = { .at = all.at };

		if (all.bad || unit_bytes > (size_t)(all.end - all.at))
			break;
		c.end = c.at + unit_bytes;
		err = unit__head(&u, &c);
		if (!err && !c.bad)
			err = unit__run(&u, &c);
		all.at = c.end;
	}
	return err ?: sort_lines(l) ?: sort_functions(l);
}

const struct cubin_line *cubin_lines__find(const struct cubin_lines *l, const char *function,
					   uint32_t pc)
{
	uint32_t idx = find_function(l, function);
	size_t low = 0, high = l->lines.nr, middle;

	if (idx == NO_INDEX)
		return NULL;
	while (low < high) {
		const struct cubin_line *line;

		middle = low + (high - low) / 2;
		line = &l->lines.v[middle];
		if (line->function < idx || (line->function == idx && line->pc <= pc))
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || l->lines.v[low - 1].function != idx || l->lines.v[low - 1].file == NO_INDEX)
		return NULL;
	return &l->lines.v[low - 1];
}
