// SPDX-License-Identifier: GPL-3.0-or-later
#include "roots.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- extents of functions, by .eh_frame ------------------------------------------------------ */

struct extent {
	uint64_t start, end;
	bool no_caller;			/* its return address is undefined, as far as is read */
};

typedef ARRAY(struct extent) extents_t;

enum {
	PE_OMIT		= 0xff,		/* how pointers are written: DW_EH_PE_* */
	PE_PCREL	= 0x10,
	REG_RA		= 16,
};

/* What is read of a CIE. */
struct cie {
	uint8_t encoding;		/* of pointers in its FDEs; PE_OMIT: it cannot be read */
	bool no_caller;
};

struct cursor {
	const uint8_t *p, *end;
	uint64_t addr;			/* of p */
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

/* Reads a pointer, of those encodings that x86-64 compilers use. */
static bool cursor__pointer(struct cursor *c, uint8_t encoding, uint64_t *v)
{
	uint64_t base = (encoding & 0x70) == PE_PCREL ? c->addr : 0;
	uint32_t u32 = 0;
	bool ok;

	if (encoding & 0x60)		/* relative to something else, or indirect */
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
	*v += base;
	return ok;
}

/*
 * Return: whether instructions say that the return address is undefined. They are read up to the
 * first that the functions at the root do not begin with.
 */
static bool cursor__no_caller(struct cursor c)
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
			if (v == REG_RA)
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

static struct cie cie__read(struct cursor c)
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
	/* Alignments of code and data, the return address's register, length of what follows. */
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
	cie.no_caller = cursor__no_caller(c);
	return cie;
}

/* Takes one FDE. Return: 0, also for one that cannot be read, or -ENOMEM. */
static int extents__add(extents_t *out, struct cursor c, struct cie cie)
{
	struct extent e = { 0 };
	uint64_t len;

	if (cie.encoding == PE_OMIT || !cursor__pointer(&c, cie.encoding, &e.start) ||
	    !cursor__pointer(&c, cie.encoding & 0x0f, &len))
		return 0;
	e.end = e.start + len;
	if (e.end <= e.start)
		return 0;
	/* What augments it: with 'z' its length is in front. */
	e.no_caller = cie.no_caller ||
		      (cursor__uleb(&c, &len) && cursor__skip(&c, len) && cursor__no_caller(c));
	return array_push(out, e);
}

static int extent__cmp(const void *va, const void *vb)
{
	const struct extent *a = va, *b = vb;

	return cmp3(a->start, b->start) ?: cmp3(a->end, b->end);
}

/* Reads the extents of a file's functions, in order. Return: 0 or -ENOMEM. */
static int extents__read(extents_t *out, const struct elf_file *f)
{
	struct elf_bytes frame = elf_file__section_bytes(f, ".eh_frame");
	struct cursor all = { frame.v, frame.v + frame.nr, frame.addr }, c, def;
	struct cie cie = { PE_OMIT, false };
	size_t at, last = SIZE_MAX;
	uint32_t len, back;
	int err = 0;

	while (frame.nr && !err && cursor__read(&all, &len, sizeof(len))) {
		/* The last one is of length 0; a 64-bit length nobody writes. */
		if (!len || len == UINT32_MAX)
			break;
		c = all;
		if (!cursor__skip(&all, len) || len < sizeof(back))
			break;
		c.end = c.p + len;
		at = c.p - frame.v;
		cursor__read(&c, &back, sizeof(back));
		/* 0: a CIE; else an FDE, whose CIE is so many bytes before this word. */
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
				cie = cie__read(def);
		}
		err = extents__add(out, c, cie);
	}
	if (out->nr)
		qsort(out->v, out->nr, sizeof(*out->v), extent__cmp);
	return err;
}

static const struct extent *extents__find(const extents_t *e, uint64_t addr)
{
	size_t lo = 0, hi = e->nr, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (e->v[mid].end <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < e->nr && e->v[lo].start <= addr ? &e->v[lo] : NULL;
}

/* ---- the functions --------------------------------------------------------------------------- */

/* Return: the function of that name in a built table, or NULL. */
static const struct dso_symbol *symtab__named(const struct symtab *t, const char *name)
{
	size_t len = strlen(name), i;

	for (i = 0; i < t->symbols.nr; i++) {
		const struct dso_symbol *s = &t->symbols.v[i];

		if (!s->plt && !strncmp(s->name, name, len) && (!s->name[len] || s->name[len] == '@'))
			return s;
	}
	return NULL;
}

static int add_extent(struct symtab *t, const struct extent *e, const char *name)
{
	return e && !symtab__find(t, e->start) ? symtab__add(t, e->start, e->end, name) : 0;
}

static int add_start(struct symtab *t, const struct elf_file *f, const extents_t *extents)
{
	const struct extent *e;
	GElf_Ehdr ehdr;

	if (!gelf_getehdr(f->elf, &ehdr) || !ehdr.e_entry)
		return 0;
	e = extents__find(extents, ehdr.e_entry);
	return add_extent(t, e && e->no_caller && e->start == ehdr.e_entry ? e : NULL, "_start");
}

static int add_clone3(struct symtab *t, const struct elf_file *f, const extents_t *extents)
{
	/* mov $__NR_clone3,%eax; syscall; and then some tests, up to where the child goes on */
	static const uint8_t call[] = { 0xb8, 0xb3, 0x01, 0x00, 0x00, 0x0f, 0x05 };
	enum { TESTS_MAX = 24 };
	struct elf_bytes code;
	struct extent found;
	size_t i, nr = 0;

	for (i = 1; i < extents->nr; i++) {
		const struct extent *e = &extents->v[i], *before = &extents->v[i - 1];

		/* The unwind information of the parent's half ends at the system call. */
		if (!e->no_caller || before->end > e->start || e->start - before->end > TESTS_MAX)
			continue;
		code = elf_file__at(f, before->end - 5);
		if (code.nr < sizeof(call) || memcmp(code.v, call, sizeof(call)))
			continue;
		found = (struct extent){ before->start, e->end, true };
		nr++;
	}
	return nr == 1 ? add_extent(t, &found, "clone3") : 0;
}

/*
 * Return: whether @code begins with
 *	mov disp32+8(reg),%rdi
 *	call *disp32(reg)
 */
static bool is_thread_call(const uint8_t *code, size_t nr)
{
	uint32_t arg, fn;
	size_t at;

	if (nr < 14 || (code[0] != 0x48 && code[0] != 0x49) || code[1] != 0x8b ||
	    (code[2] & 0xf8) != 0xb8)
		return false;
	memcpy(&arg, code + 3, sizeof(arg));
	at = 7;
	if (code[0] == 0x49 && code[at++] != 0x41)
		return false;
	if (code[at] != 0xff || code[at + 1] != (0x90 | (code[2] & 7)))
		return false;
	memcpy(&fn, code + at + 2, sizeof(fn));
	return arg == fn + 8;
}

static int add_start_thread(struct symtab *t, const struct elf_file *f, const extents_t *extents)
{
	const struct extent *found = NULL, *e;
	struct elf_bytes text = elf_file__section_bytes(f, ".text");
	const uint8_t *p, *end = text.v + text.nr;

	for (p = text.v; text.nr && (p = memchr(p, 0x8b, end - p)); p++) {
		if (p == text.v || !is_thread_call(p - 1, end - p + 1))
			continue;
		e = extents__find(extents, text.addr + (p - text.v));
		if (!e || (found && found != e))
			return 0;
		found = e;
	}
	return add_extent(t, found, "start_thread");
}

/* Return: whether a function in [@start, @start + @code.nr) calls @target, directly. */
static bool calls(struct elf_bytes code, uint64_t target)
{
	int32_t disp;
	size_t i;

	for (i = 0; i + 5 <= code.nr; i++) {
		memcpy(&disp, code.v + i + 1, sizeof(disp));
		if (code.v[i] == 0xe8 && code.addr + i + 5 + (int64_t)disp == target)
			return true;
	}
	return false;
}

static int add_call_main(struct symtab *t, const struct elf_file *f, const extents_t *extents)
{
	/* Bytes of code that are looked at: both are small. */
	enum { CALLER_MAX = 4096, CALLEE_MAX = 1024 };
	const struct dso_symbol *start = symtab__named(t, "__libc_start_main");
	const struct dso_symbol *exit_fn = symtab__named(t, "exit");
	struct elf_bytes code, caller;
	int32_t disp;
	size_t i, at;

	if (!start || !exit_fn)
		return 0;
	caller = elf_file__at(f, start->start);
	if (caller.nr > start->end - start->start)
		caller.nr = start->end - start->start;
	caller.nr = min_t(size_t, caller.nr, CALLER_MAX);
	for (i = 0; i < extents->nr; i++) {
		const struct extent *e = &extents->v[i];

		if (e->end - e->start > CALLEE_MAX || symtab__find(t, e->start) ||
		    !calls(caller, e->start))
			continue;
		code = elf_file__at(f, e->start);
		code.nr = min_t(size_t, code.nr, e->end - e->start);
		/* call *reg; mov %eax,%edi; call exit */
		for (at = 2; at + 7 <= code.nr; at++) {
			memcpy(&disp, code.v + at + 3, sizeof(disp));
			if (code.v[at - 2] == 0xff && (code.v[at - 1] & 0xf8) == 0xd0 &&
			    code.v[at] == 0x89 && code.v[at + 1] == 0xc7 && code.v[at + 2] == 0xe8 &&
			    code.addr + at + 7 + (int64_t)disp == exit_fn->start)
				return add_extent(t, e, "__libc_start_call_main");
		}
	}
	return 0;
}

int roots__add(struct symtab *t, const struct elf_file *f)
{
	const char *soname = elf_file__soname(f);
	bool libc = soname && !strcmp(soname, "libc.so.6");
	extents_t extents = { 0 };
	GElf_Ehdr ehdr;
	int err = 0;

	/* Reading unwind information is for the files that may miss one of those names. */
	if (!gelf_getehdr(f->elf, &ehdr) || ehdr.e_machine != EM_X86_64 ||
	    (!libc && (!ehdr.e_entry || symtab__find(t, ehdr.e_entry))))
		return 0;
	err = extents__read(&extents, f);
	if (!err)
		err = add_start(t, f, &extents);
	if (!err && libc)
		err = add_clone3(t, f, &extents);
	if (!err && libc)
		err = add_start_thread(t, f, &extents);
	if (!err && libc)
		err = add_call_main(t, f, &extents);
	free(extents.v);
	return err ?: symtab__build(t);
}
