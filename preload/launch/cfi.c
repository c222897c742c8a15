// SPDX-License-Identifier: MIT
#include "launch/cfi.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "dwarf_expr.h"
#include "launch/objects.h"

#define DW_EH_PE_omit		0xff
#define DW_EH_PE_indirect	0x80

enum {
	DW_CFA_nop = 0x00, DW_CFA_set_loc, DW_CFA_advance_loc1, DW_CFA_advance_loc2,
	DW_CFA_advance_loc4, DW_CFA_offset_extended, DW_CFA_restore_extended, DW_CFA_undefined,
	DW_CFA_same_value, DW_CFA_register, DW_CFA_remember_state, DW_CFA_restore_state,
	DW_CFA_def_cfa, DW_CFA_def_cfa_register, DW_CFA_def_cfa_offset, DW_CFA_def_cfa_expression,
	DW_CFA_expression, DW_CFA_offset_extended_sf, DW_CFA_def_cfa_sf, DW_CFA_def_cfa_offset_sf,
	DW_CFA_val_offset, DW_CFA_val_offset_sf, DW_CFA_val_expression,
	DW_CFA_GNU_args_size = 0x2e, DW_CFA_GNU_negative_offset_extended = 0x2f,
	DW_CFA_advance_loc = 0x40, DW_CFA_offset = 0x80, DW_CFA_restore = 0xc0,
};

enum {
	DW_OP_const1u = 0x08, DW_OP_const8s = 0x0f, DW_OP_constu, DW_OP_consts, DW_OP_bra = 0x28,
	DW_OP_skip = 0x2f, DW_OP_lit0, DW_OP_lit31 = 0x4f, DW_OP_breg0 = 0x70,
	DW_OP_breg31 = 0x8f, DW_OP_bregx = 0x92,
};

/* Bytes to be read. After a bad read, all further reads fail. */
struct bytes {
	const uint8_t *p, *end;
	bool bad;
};

struct fde {			/* an FDE and the data of its CIE */
	struct bytes initial, insns;
	uint64_t pc, range, code_align;
	int64_t data_align;
	uint64_t return_reg;
	bool has_augmentation, signal;
};

/* ---- reading --------------------------------------------------------------------------------- */

static uint64_t take(struct bytes *b, size_t size)
{
	uint64_t v = 0;

	if (b->bad || (size_t)(b->end - b->p) < size) {
		b->bad = true;
		return 0;
	}
	memcpy(&v, b->p, size);
	b->p += size;
	return v;
}

static int64_t take_signed(struct bytes *b, size_t size)
{
	unsigned int shift = 64 - 8 * size;

	return (int64_t)(take(b, size) << shift) >> shift;
}

static uint64_t take_uleb(struct bytes *b)
{
	unsigned int shift = 0;
	uint64_t v = 0, byte;

	do {
		byte = take(b, 1);
		if (shift < 64)
			v |= (byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	return v;
}

static int64_t take_sleb(struct bytes *b)
{
	unsigned int shift = 0;
	uint64_t v = 0, byte;

	do {
		byte = take(b, 1);
		if (shift < 64)
			v |= (byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (shift < 64 && byte & 0x40)
		v |= ~0ull << shift;
	return v;
}

static void skip(struct bytes *b, uint64_t size)
{
	if (b->bad || (uint64_t)(b->end - b->p) < size)
		b->bad = true;
	else
		b->p += size;
}

/* Reads a pointer in one of the encodings that linkers write, except indirect ones. */
static uint64_t take_encoded(struct bytes *b, uint8_t enc)
{
	uint64_t base = 0, v;

	switch (enc & 0x70) {
	case 0x00:
		break;
	case 0x10:
		base = (uintptr_t)b->p;
		break;
	default:
		b->bad = true;
	}
	switch (enc & 0x0f) {
	case 0x00: case 0x04: case 0x0c:
		v = take(b, 8);
		break;
	case 0x01:
		v = take_uleb(b);
		break;
	case 0x02:
		v = take(b, 2);
		break;
	case 0x03:
		v = take(b, 4);
		break;
	case 0x09:
		v = take_sleb(b);
		break;
	case 0x0a:
		v = take_signed(b, 2);
		break;
	case 0x0b:
		v = take_signed(b, 4);
		break;
	default:
		v = 0;
		b->bad = true;
	}
	return base + v;
}

/* ---- finding --------------------------------------------------------------------------------- */

/* Return: the FDE whose range may contain @pc, from the linker's sorted table; or NULL. */
static const uint8_t *search_table(const uint8_t *hdr, const uint8_t *end, uint64_t pc)
{
	struct bytes b = { hdr, end, false };
	const uint8_t *table;
	uint64_t nr, lo, mid;
	int64_t target = pc - (uintptr_t)hdr;
	int32_t start, fde;
	uint8_t frame_enc, count_enc, table_enc;

	if (take(&b, 1) != 1)
		return NULL;
	frame_enc = take(&b, 1);
	count_enc = take(&b, 1);
	table_enc = take(&b, 1);
	if (count_enc == DW_EH_PE_omit || table_enc != 0x3b)	/* all linkers write datarel |
								 * sdata4 */
		return NULL;
	take_encoded(&b, frame_enc);
	nr = take_encoded(&b, count_enc);
	table = b.p;
	if (b.bad || !nr || nr > (uint64_t)(end - table) / 8)
		return NULL;

	for (lo = 0; nr > 1; ) {
		mid = nr / 2;
		memcpy(&start, table + (lo + mid) * 8, sizeof(start));
		if (start <= target) {
			lo += mid;
			nr -= mid;
		} else {
			nr = mid;
		}
	}
	memcpy(&start, table + lo * 8, sizeof(start));
	memcpy(&fde, table + lo * 8 + 4, sizeof(fde));
	return start <= target ? hdr + fde : NULL;
}

static struct bytes entry_bytes(const uint8_t *at, const uint8_t *start, const uint8_t *end)
{
	struct bytes b = { at, end, at < start || at >= end };
	uint64_t length = take(&b, 4);

	if (length >= 0xfffffff0 || !length || length > (uint64_t)(end - b.p))
		b.bad = true;
	else
		b.end = b.p + length;
	return b;
}

static int read_cie(struct bytes b, struct fde *e, uint8_t *enc)
{
	struct bytes aug;
	const char *s;
	uint8_t version;

	if (take(&b, 4))		/* an FDE points back at its CIE, a CIE has 0 there */
		return -EINVAL;
	version = take(&b, 1);
	s = (const char *)b.p;
	while (take(&b, 1))
		;
	if (b.bad || (version != 1 && version != 3))
		return -EINVAL;
	e->code_align = take_uleb(&b);
	e->data_align = take_sleb(&b);
	e->return_reg = version == 1 ? take(&b, 1) : take_uleb(&b);
	e->signal = false;
	e->has_augmentation = *s == 'z';
	*enc = 0;
	if (e->has_augmentation) {
		uint64_t size = take_uleb(&b);

		aug = b;
		skip(&b, size);
		aug.end = b.p;
		for (s++; *s; s++) {
			if (*s == 'R')
				*enc = take(&aug, 1);
			else if (*s == 'P')
				take_encoded(&aug, take(&aug, 1) & ~DW_EH_PE_indirect);
			else if (*s == 'L')
				take(&aug, 1);
			else if (*s == 'S')
				e->signal = true;
			else if (*s != 'B' && *s != 'G')
				return -EINVAL;
		}
		b.bad |= aug.bad;
	} else if (*s) {
		return -EINVAL;
	}
	e->initial = b;
	return b.bad || e->return_reg != CFI_RA ? -EINVAL : 0;
}

static int find_entry(uint64_t pc, struct fde *e)
{
	const uint8_t *start, *end, *fde;
	struct object object;
	uint64_t at, id, size;
	struct bytes b;
	uint8_t enc;

	if (!objects__find(pc, &object))
		return -ENOENT;
	start = (const uint8_t *)object.start;
	end = (const uint8_t *)object.end;
	fde = search_table((const uint8_t *)object.eh_frame_hdr, end, pc);
	if (!fde)
		return -ENOENT;
	b = entry_bytes(fde, start, end);
	at = (uintptr_t)b.p;
	id = take(&b, 4);		/* the distance from here back to the CIE */
	if (b.bad || !id ||
	    read_cie(entry_bytes((const uint8_t *)(at - id), start, end), e, &enc))
		return -EINVAL;
	e->pc = take_encoded(&b, enc);
	e->range = take_encoded(&b, enc & 0x0f);
	if (b.bad)
		return -EINVAL;
	if (pc - e->pc >= e->range)
		return -ENOENT;
	if (e->has_augmentation) {
		size = take_uleb(&b);
		skip(&b, size);
	}
	e->insns = b;
	return b.bad ? -EINVAL : 0;
}

/* ---- running --------------------------------------------------------------------------------- */

#define MAX_REMEMBERED	4

struct cfi_interpreter {
	struct cfi_row *row;
	struct cfi_row initial;			/* the row after the CIE's instructions */
	struct cfi_row remembered[MAX_REMEMBERED];
	unsigned int nr_remembered;
};

static void set(struct cfi_row *row, uint64_t reg, enum cfi_how how, int64_t v)
{
	if (reg < CFI_NR_REGS)			/* other registers are not kept across calls */
		row->regs[reg] = (struct cfi_rule){ how, v };
}

static uint64_t take_expr(struct bytes *b)
{
	uint64_t at = (uintptr_t)b->p, size = take_uleb(b);

	skip(b, size);
	return at;
}

static void set_cfa(struct cfi_row *row, uint64_t reg, int64_t off, struct bytes *b)
{
	if (reg >= CFI_NR_REGS)
		b->bad = true;
	row->cfa_reg = reg;
	row->cfa_off = off;
	row->cfa_expr = 0;
}

/* Runs @op if @op sets the location of the next instructions. Return: whether @op was run. */
static bool run_location(const struct fde *e, uint8_t op, struct bytes *b, uint64_t *loc)
{
	switch (op) {
	case DW_CFA_set_loc:
		*loc = take(b, 8);
		return true;
	case DW_CFA_advance_loc1:
		*loc += take(b, 1) * e->code_align;
		return true;
	case DW_CFA_advance_loc2:
		*loc += take(b, 2) * e->code_align;
		return true;
	case DW_CFA_advance_loc4:
		*loc += take(b, 4) * e->code_align;
		return true;
	}
	if ((op & 0xc0) != DW_CFA_advance_loc)
		return false;
	*loc += (op & 0x3f) * e->code_align;
	return true;
}

static void restore(struct cfi_interpreter *m, uint64_t reg)
{
	if (reg < CFI_NR_REGS)
		m->row->regs[reg] = m->initial.regs[reg];
}

/* Runs @op if it says where a register of the caller is saved. Return: whether it does. */
static bool run_register(struct cfi_interpreter *m, int64_t da, uint8_t op, struct bytes *b)
{
	struct cfi_row *row = m->row;
	uint64_t reg;

	switch (op & 0xc0) {
	case DW_CFA_offset:
		set(row, op & 0x3f, CFI_OFFSET, take_uleb(b) * da);
		return true;
	case DW_CFA_restore:
		restore(m, op & 0x3f);
		return true;
	}
	switch (op) {
	case DW_CFA_offset_extended:
		reg = take_uleb(b);
		set(row, reg, CFI_OFFSET, take_uleb(b) * da);
		return true;
	case DW_CFA_offset_extended_sf:
		reg = take_uleb(b);
		set(row, reg, CFI_OFFSET, take_sleb(b) * da);
		return true;
	case DW_CFA_GNU_negative_offset_extended:
		reg = take_uleb(b);
		set(row, reg, CFI_OFFSET, -(int64_t)take_uleb(b) * da);
		return true;
	case DW_CFA_val_offset:
		reg = take_uleb(b);
		set(row, reg, CFI_VAL_OFFSET, take_uleb(b) * da);
		return true;
	case DW_CFA_val_offset_sf:
		reg = take_uleb(b);
		set(row, reg, CFI_VAL_OFFSET, take_sleb(b) * da);
		return true;
	case DW_CFA_restore_extended:
		restore(m, take_uleb(b));
		return true;
	case DW_CFA_undefined:
		set(row, take_uleb(b), CFI_UNDEFINED, 0);
		return true;
	case DW_CFA_same_value:
		set(row, take_uleb(b), CFI_SAME, 0);
		return true;
	case DW_CFA_register:
		reg = take_uleb(b);
		set(row, reg, CFI_REGISTER, take_uleb(b));
		return true;
	case DW_CFA_expression:
		reg = take_uleb(b);
		set(row, reg, CFI_EXPR, take_expr(b));
		return true;
	case DW_CFA_val_expression:
		reg = take_uleb(b);
		set(row, reg, CFI_VAL_EXPR, take_expr(b));
		return true;
	}
	return false;
}

/*
 * Runs @op if it says where the frame is, or concerns the whole row. Return: whether @op is known
 * and valid.
 */
static bool run_frame(struct cfi_interpreter *m, int64_t da, uint8_t op, struct bytes *b)
{
	struct cfi_row *row = m->row;
	uint64_t reg;

	switch (op) {
	case DW_CFA_remember_state:
		if (m->nr_remembered == MAX_REMEMBERED)
			return false;
		m->remembered[m->nr_remembered++] = *row;
		return true;
	case DW_CFA_restore_state:
		if (!m->nr_remembered)
			return false;
		*row = m->remembered[--m->nr_remembered];
		return true;
	case DW_CFA_def_cfa:
		reg = take_uleb(b);
		set_cfa(row, reg, take_uleb(b), b);
		return true;
	case DW_CFA_def_cfa_sf:
		reg = take_uleb(b);
		set_cfa(row, reg, take_sleb(b) * da, b);
		return true;
	case DW_CFA_def_cfa_register:
		set_cfa(row, take_uleb(b), row->cfa_off, b);
		return true;
	case DW_CFA_def_cfa_offset:
		set_cfa(row, row->cfa_reg, take_uleb(b), b);
		return true;
	case DW_CFA_def_cfa_offset_sf:
		set_cfa(row, row->cfa_reg, take_sleb(b) * da, b);
		return true;
	case DW_CFA_def_cfa_expression:
		row->cfa_expr = take_expr(b);
		return true;
	case DW_CFA_GNU_args_size:
		take_uleb(b);
		return true;
	case DW_CFA_nop:
		return true;
	}
	return arch__is_ra_state(op);		/* ignored: return addresses are always stripped */
}

/* Runs the instructions that apply to code up to @pc. */
static bool run(struct cfi_interpreter *m, const struct fde *e, struct bytes b, uint64_t pc)
{
	uint64_t loc = e->pc;
	uint8_t op;

	while (!b.bad && b.p < b.end) {
		op = take(&b, 1);
		if (run_location(e, op, &b, &loc)) {
			if (loc > pc)
				return !b.bad;
		} else if (!run_register(m, e->data_align, op, &b) &&
			   !run_frame(m, e->data_align, op, &b)) {
			return false;
		}
	}
	return !b.bad;
}

/* Sets the row's rule: the caller continues at the return address, wherever that is saved. */
static void return_to(struct cfi_row *row)
{
	const struct cfi_rule *ra = &row->regs[CFI_RA];

	if (CFI_RA == CFI_IP)
		return;
	row->regs[CFI_IP] = ra->how == CFI_SAME ? (struct cfi_rule){ CFI_REGISTER, CFI_RA } : *ra;
}

int cfi__find(uint64_t pc, struct cfi_row *row)
{
	struct cfi_interpreter m;
	struct fde e;
	int err = find_entry(pc, &e);

	if (err)
		return err;
	memset(row, 0, sizeof(*row));
	if (!CFI_RA_IN_REGISTER)
		row->regs[CFI_RA].how = CFI_UNDEFINED;	/* instructions may say where RA is */
	row->signal = e.signal;
	row->start = e.pc;
	row->end = e.pc + e.range;
	m.row = row;
	m.nr_remembered = 0;
	memset(&m.initial, 0, sizeof(m.initial));
	if (!run(&m, &e, e.initial, ~0ull))
		return -EINVAL;
	m.initial = *row;
	if (!run(&m, &e, e.insns, pc))
		return -EINVAL;
	return_to(row);
	return 0;
}

/* ---- expressions ----------------------------------------------------------------------------- */

static struct bytes expr_bytes(uint64_t expr)
{
	/* The expression's bounds were checked when the row was made. */
	struct bytes b = { (const uint8_t *)expr, (const uint8_t *)expr + 10, false };
	uint64_t size = take_uleb(&b);

	b.end = b.p + size;
	return b;
}

bool cfi__is_breg(uint64_t expr, uint8_t reg, bool deref, int64_t *off)
{
	struct bytes b = expr_bytes(expr);

	if (take(&b, 1) != (uint64_t)DW_OP_breg0 + reg)
		return false;
	*off = take_sleb(&b);
	if (deref && take(&b, 1) != EXPR_DEREF)
		return false;
	return !b.bad && b.p == b.end;
}

/* Evaluates operations that push without popping: constants and registers. */
static bool produce(uint8_t op, struct bytes *b, const uint64_t *regs, uint64_t *value)
{
	uint64_t reg;

	if (op >= DW_OP_lit0 && op <= DW_OP_lit31) {
		*value = op - DW_OP_lit0;
		return true;
	}
	if (op >= DW_OP_const1u && op <= DW_OP_const8s) {
		size_t size = 1u << (op - DW_OP_const1u) / 2;

		*value = (op - DW_OP_const1u) % 2 ? (uint64_t)take_signed(b, size) : take(b, size);
		return true;
	}
	if (op == DW_OP_constu || op == DW_OP_consts) {
		*value = op == DW_OP_constu ? take_uleb(b) : (uint64_t)take_sleb(b);
		return true;
	}
	if ((op >= DW_OP_breg0 && op <= DW_OP_breg31) || op == DW_OP_bregx) {
		reg = op == DW_OP_bregx ? take_uleb(b) : (uint64_t)op - DW_OP_breg0;
		*value = reg < CFI_NR_REGS ? regs[reg] : 0;
		*value += take_sleb(b);
		b->bad |= reg >= CFI_NR_REGS;
		return true;
	}
	return false;
}

/* Follows a branch. Return: whether its target is in the expression. */
static bool jump(struct bytes *b, const uint8_t *start, int64_t by)
{
	if (by < start - b->p || by > b->end - b->p)
		return false;
	b->p += by;
	return true;
}

bool cfi__eval(uint64_t expr, const uint64_t *regs, const uint64_t *push, cfi_read_fn read,
	       void *ctx, uint64_t *value)
{
	struct expr e = { .read = read, .ctx = ctx };
	struct bytes b = expr_bytes(expr);
	const uint8_t *start = b.p;
	unsigned int steps;
	uint64_t produced;
	int64_t by;
	uint8_t op;
	bool done;

	if (push)
		expr__push(&e, *push);
	for (steps = 0; b.p < b.end && !b.bad; steps++) {
		if (steps == 1000)
			return false;
		op = take(&b, 1);
		if (produce(op, &b, regs, &produced)) {
			done = expr__push(&e, produced);
		} else if (op == DW_OP_skip) {
			by = take_signed(&b, 2);
			done = jump(&b, start, by);
		} else if (op == DW_OP_bra) {
			by = take_signed(&b, 2);
			done = e.nr && (!e.v[--e.nr] || jump(&b, start, by));
		} else {
			done = expr__operate(&e, op, op == EXPR_PLUS_UCONST ? take_uleb(&b) : 0);
		}
		if (!done)
			return false;
	}
	if (b.bad || !e.nr)
		return false;
	*value = e.v[e.nr - 1];
	return true;
}
