// SPDX-License-Identifier: GPL-3.0-or-later
#include "symbols/ehframe.h"

#include <stdlib.h>
#include <string.h>

#include "symbols/processor.h"

enum {
	PE_OMIT		= 0xff,		/* how pointers are written: one of DW_EH_PE_* */
	PE_PCREL	= 0x10,
};

/* The parts of a CIE that are used. */
struct cie {
	uint8_t encoding;		/* encoding of pointers in the CIE's FDEs; PE_OMIT:
					 * unreadable */
	bool no_caller;
};

struct cursor {
	const uint8_t *p, *end;
	uint64_t addr;			/* the address of @p */
};

static bool cursor__skip(struct cursor *c, size_t nr)
{
	if (nr > (size_t)(c->end - c->p))
		return false;
	c->p += nr;
	c->addr += nr;
	return true;
}

static bool cursor__read(struct cursor *c, void *v, size_t nr)
{
	const uint8_t *p = c->p;

	if (!cursor__skip(c, nr))
		return false;
	memcpy(v, p, nr);
	return true;
}

static bool cursor__uleb(struct cursor *c, uint64_t *v)
{
	unsigned int shift = 0;
	uint8_t byte;

	*v = 0;
	do {
		if (!cursor__read(c, &byte, 1))
			return false;
		if (shift < 64)
			*v |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	return true;
}

/* Reads a pointer in one of the encodings that compilers use. */
static bool cursor__pointer(struct cursor *c, uint8_t encoding, uint64_t *v)
{
	uint64_t base = (encoding & 0x70) == PE_PCREL ? c->addr : 0;
	uint32_t u32 = 0;
	bool ok;

	if (encoding & 0x60)		/* relative to another base, or indirect */
		return false;
	switch (encoding & 0x0f) {
	case 0x00:			/* absptr, udata8, sdata8 */
	case 0x04:
	case 0x0c:
		ok = cursor__read(c, v, sizeof(*v));
		break;
	case 0x03:			/* udata4 */
		ok = cursor__read(c, &u32, sizeof(u32));
		*v = u32;
		break;
	case 0x0b:			/* sdata4 */
		ok = cursor__read(c, &u32, sizeof(u32));
		*v = (int64_t)(int32_t)u32;
		break;
	default:
		return false;
	}
	if (ok)
		*v += base;
	return ok;
}

/*
 * Return: whether instructions say that the return address is undefined. Stops reading at the first
 * instruction that is unusual at the beginning of a root function.
 */
static bool cursor__no_caller(struct cursor c, uint8_t ra)
{
	uint64_t v;
	uint8_t op;

	while (cursor__read(&c, &op, 1)) {
		switch (op & 0xc0 ? op & 0xc0 : op) {
		case 0x00:			/* DW_CFA_nop */
		case 0x40:			/* DW_CFA_advance_loc */
			break;
		case 0x07:			/* DW_CFA_undefined */
			if (!cursor__uleb(&c, &v))
				return false;
			if (v == ra)
				return true;
			break;
		case 0x0c:			/* DW_CFA_def_cfa */
			if (!cursor__uleb(&c, &v) || !cursor__uleb(&c, &v))
				return false;
			break;
		case 0x80:			/* DW_CFA_offset */
			if (!cursor__uleb(&c, &v))
				return false;
			break;
		default:
			return false;
		}
	}
	return false;
}

static struct cie cie__read(struct cursor c, uint8_t ra)
{
	static const struct cie none = { PE_OMIT, false };
	struct cie cie = { 0, false };
	uint8_t version, byte;
	const char *aug;
	uint64_t skip;
	size_t len;

	if (!cursor__read(&c, &version, 1) || (version != 1 && version != 3))
		return none;
	aug = (const char *)c.p;
	len = strnlen(aug, c.end - c.p);
	if (!cursor__skip(&c, len + 1) || *aug != 'z')
		return none;
	/*
	 * Skip the alignment factors of code and data, the register of the return address, and the
	 * length of the augmentation data.
	 */
	if (!cursor__uleb(&c, &skip) || !cursor__uleb(&c, &skip) ||
	    !(version == 1 ? cursor__skip(&c, 1) : cursor__uleb(&c, &skip)) ||
	    !cursor__uleb(&c, &skip))
		return none;
	for (aug++; *aug; aug++) {
		switch (*aug) {
		case 'R':
			if (!cursor__read(&c, &cie.encoding, 1))
				return none;
			break;
		case 'P':
			if (!cursor__read(&c, &byte, 1) || !cursor__pointer(&c, byte & 0x8f, &skip))
				return none;
			break;
		case 'L':
			if (!cursor__skip(&c, 1))
				return none;
			break;
		case 'S':
		case 'B':
			break;
		default:
			return none;
		}
	}
	cie.no_caller = cursor__no_caller(c, ra);
	return cie;
}

/* Takes one FDE. Return: 0, even if the FDE is unreadable; or -ENOMEM. */
static int extents__add(extents_t *out, struct cursor c, struct cie cie, uint8_t ra)
{
	struct extent e = { 0 };
	uint64_t len;

	if (cie.encoding == PE_OMIT || !cursor__pointer(&c, cie.encoding, &e.start) ||
	    !cursor__pointer(&c, cie.encoding & 0x0f, &len))
		return 0;
	e.end = e.start + len;
	if (e.end <= e.start)
		return 0;
	/* The augmentation data begin with their length, because the augmentation has 'z'. */
	e.no_caller = cie.no_caller ||
		      (cursor__uleb(&c, &len) && cursor__skip(&c, len) && cursor__no_caller(c, ra));
	return array_push(out, e);
}

static int extent__cmp(const void *va, const void *vb)
{
	const struct extent *a = va, *b = vb;

	return cmp3(a->start, b->start) ?: cmp3(a->end, b->end);
}

int extents__read(extents_t *out, const struct elf_file *f)
{
	struct elf_bytes frame = elf_file__section_bytes(f, ".eh_frame");
	const struct processor *cpu = processor__of(f);
	struct cursor all = { frame.v, frame.v, frame.addr }, c, def;
	struct cie cie = { PE_OMIT, false };
	size_t at, last = SIZE_MAX;
	uint32_t len, back;
	int err = 0;

	if (!frame.nr || !cpu)
		return 0;
	all.end += frame.nr;
	while (!err && cursor__read(&all, &len, sizeof(len))) {
		/* An entry of length 0 is the last entry. 64-bit lengths are not in use. */
		if (!len || len == UINT32_MAX)
			break;
		c = all;
		if (!cursor__skip(&all, len) || len < sizeof(back))
			break;
		c.end = c.p + len;
		at = c.p - frame.v;
		cursor__read(&c, &back, sizeof(back));
		/*
		 * 0 marks a CIE; other values mark an FDE, whose CIE is this many bytes before this
		 * word.
		 */
		if (!back || back > at)
			continue;
		at -= back;
		if (at != last) {
			last = at;
			def = (struct cursor){ frame.v + at, frame.v + frame.nr, frame.addr + at };
			cie.encoding = PE_OMIT;
			if (!cursor__read(&def, &len, sizeof(len)) ||
			    len > (size_t)(def.end - def.p))
				continue;
			def.end = def.p + len;
			if (cursor__skip(&def, 4))
				cie = cie__read(def, cpu->ra_column);
		}
		err = extents__add(out, c, cie, cpu->ra_column);
	}
	array_qsort(out, extent__cmp);
	return err;
}

const struct extent *extents__find(const extents_t *e, uint64_t addr)
{
	size_t lo = sorted_count(e->nr, i, e->v[i].end <= addr);

	return lo < e->nr && e->v[lo].start <= addr ? &e->v[lo] : NULL;
}
