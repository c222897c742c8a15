// SPDX-License-Identifier: GPL-3.0-or-later
#include "symbols/roots.h"

#include <stdlib.h>
#include <string.h>

#include "symbols/processor.h"

/* Return: the function called @name in a finished table, or NULL. */
static const struct dso_symbol *symtab__named(const struct symtab *t, const char *name)
{
	size_t len = strlen(name);

	array_each(&t->symbols, s) {
		if (!s->plt && !strncmp(s->name, name, len) &&
		    (!s->name[len] || s->name[len] == '@'))
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
	/* mov $__NR_clone3,%eax; syscall; then tests, up to the place where the child continues */
	static const uint8_t call[] = { 0xb8, 0xb3, 0x01, 0x00, 0x00, 0x0f, 0x05 };
	enum { TESTS_MAX = 24 };
	struct elf_bytes code;
	struct extent found;
	size_t i, nr = 0;

	for (i = 1; i < extents->nr; i++) {
		const struct extent *e = &extents->v[i], *before = &extents->v[i - 1];

		/* The unwind information for the parent ends at the system call. */
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

/* Return: the code of the function from @start to @end; only the first part of a large function. */
static struct elf_bytes function_code(const struct elf_file *f, uint64_t start, uint64_t end)
{
	enum { CODE_MAX = 8192 };
	struct elf_bytes code = elf_file__at(f, start);

	code.nr = min_t(size_t, code.nr, end - start);
	code.nr = min_t(size_t, code.nr, CODE_MAX);
	return code;
}

/* An instruction "mov disp32(base), reg", with registers by their machine numbers. */
struct load {
	unsigned int reg, base;
	uint32_t disp;
};

static bool load__read(struct load *l, struct elf_bytes code, size_t at)
{
	const uint8_t *p = code.v + at;

	if (code.nr < 7 || at > code.nr - 7 || (p[0] & 0xfa) != 0x48 || p[1] != 0x8b ||
	    p[2] >> 6 != 2 || (p[2] & 7) == 4)
		return false;
	l->reg = (p[0] & 4) << 1 | (p[2] >> 3 & 7);
	l->base = (p[0] & 1) << 3 | (p[2] & 7);
	memcpy(&l->disp, p + 3, sizeof(l->disp));
	return true;
}

/* Return: whether @code contains "call *reg", or if @disp is set, "call *disp32(reg)". */
static bool calls_through(struct elf_bytes code, unsigned int reg, const uint32_t *disp)
{
	uint8_t modrm = (disp ? 0x90 : 0xd0) | (reg & 7);
	size_t i, bytes = disp ? 6 : 2;

	for (i = reg >= 8; i + bytes <= code.nr; i++)
		if (code.v[i] == 0xff && code.v[i + 1] == modrm &&
		    (reg < 8 || code.v[i - 1] == 0x41) &&
		    (!disp || !memcmp(code.v + i + 2, disp, sizeof(*disp))))
			return true;
	return false;
}

/*
 * Return: whether a function calls through a word of a structure, with the structure's next word as
 * the argument. start_thread() does this with pd->start_routine and pd->arg.
 */
static bool calls_routine(struct elf_bytes code)
{
	enum { RDI = 7, CODE_MAX = 2048 };
	struct load arg, fn;
	unsigned int called = 0, reg;		/* a bit for each register that is called through */
	uint32_t disp;
	size_t i, k;

	code.nr = min_t(size_t, code.nr, CODE_MAX);
	for (reg = 0; reg < 16; reg++)
		called |= calls_through(code, reg, NULL) << reg;
	for (i = 0; i < code.nr; i++) {
		if (!load__read(&arg, code, i) || arg.reg != RDI)
			continue;
		disp = arg.disp - 8;
		if (calls_through(code, arg.base, &disp))
			return true;
		for (k = 0; k < code.nr; k++)
			if (load__read(&fn, code, k) && fn.base == arg.base && fn.disp == disp &&
			    fn.reg != RDI && called & 1u << fn.reg)
				return true;
	}
	return false;
}

/* Return: the function without a name that begins at @addr, or NULL. */
static const struct extent *nameless_at(const struct symtab *t, const extents_t *extents,
					uint64_t addr)
{
	const struct extent *e = extents__find(extents, addr);

	return e && e->start == addr && !symtab__find(t, addr) ? e : NULL;
}

#define READ_MAX	64		/* maximum number of functions to read: a damaged file might
					 * have too many */

/* Candidates for start_thread(), where a thread begins. */
struct routines {
	const struct extent *found;	/* one of the candidates */
	size_t nr;
	size_t nr_read;			/* number of functions read, candidates or not, up to
					 * READ_MAX */
};

/* Adds the functions whose addresses @code loads. */
static void routines__add(struct routines *r, const struct symtab *t, const struct elf_file *f,
			  const extents_t *extents, struct elf_bytes code)
{
	const struct extent *e;
	int32_t disp;
	size_t i;

	for (i = 0; i + 7 <= code.nr; i++) {
		/* lea disp32(%rip),reg */
		if ((code.v[i] & 0xfb) != 0x48 || code.v[i + 1] != 0x8d ||
		    (code.v[i + 2] & 0xc7) != 0x05)
			continue;
		memcpy(&disp, code.v + i + 3, sizeof(disp));
		e = nameless_at(t, extents, code.addr + i + 7 + (int64_t)disp);
		if (!e || e == r->found || r->nr_read++ >= READ_MAX ||
		    !calls_routine(function_code(f, e->start, e->end)))
			continue;
		r->found = e;
		r->nr++;
	}
}

/*
 * Finds and names start_thread(). The exported pthread_create(), or a function that it calls,
 * passes start_thread() to clone3(). If two functions may be start_thread(), neither is named.
 */
static int add_start_thread(struct symtab *t, const struct elf_file *f, const extents_t *extents)
{
	const struct dso_symbol *create = symtab__named(t, "pthread_create");
	struct routines routines = { 0 };
	const struct extent *e;
	struct elf_bytes code;
	int32_t disp;
	size_t i;

	if (!create)
		return 0;
	code = function_code(f, create->start, create->end);
	routines__add(&routines, t, f, extents, code);
	for (i = 0; i + 5 <= code.nr; i++) {
		if (code.v[i] != 0xe8)
			continue;
		memcpy(&disp, code.v + i + 1, sizeof(disp));
		e = nameless_at(t, extents, code.addr + i + 5 + (int64_t)disp);
		if (e)
			routines__add(&routines, t, f, extents,
				      function_code(f, e->start, e->end));
	}
	return routines.nr == 1 && routines.nr_read <= READ_MAX ?
		add_extent(t, routines.found, "start_thread") : 0;
}

/* Return: whether the code [@start, @start + @code.nr) has a direct call of @target. */
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

/* Return: whether a call through a register or a word on the stack ends at @at. */
static bool follows_indirect_call(struct elf_bytes code, size_t at)
{
	static const struct {
		uint8_t bytes, nr_fixed, fixed[3];
	} calls[] = {
		{ 4, 3, { 0xff, 0x54, 0x24 } },		/* call *disp8(%rsp) */
		{ 7, 3, { 0xff, 0x94, 0x24 } },		/* call *disp32(%rsp) */
		{ 3, 2, { 0xff, 0x55 } },		/* call *disp8(%rbp) */
		{ 6, 2, { 0xff, 0x95 } },		/* call *disp32(%rbp) */
	};
	const uint8_t *end = code.v + at;
	size_t i;

	if (at >= 2 && end[-2] == 0xff && (end[-1] & 0xf8) == 0xd0)
		return true;
	for (i = 0; i < ARRAY_SIZE(calls); i++)
		if (at >= calls[i].bytes &&
		    !memcmp(end - calls[i].bytes, calls[i].fixed, calls[i].nr_fixed))
			return true;
	return false;
}

static int add_call_main(struct symtab *t, const struct elf_file *f, const extents_t *extents)
{
	/* Maximum number of bytes of code to search: both functions are small. */
	enum { CALLER_MAX = 4096, CALLEE_MAX = 1024 };
	const struct dso_symbol *start = symtab__named(t, "__libc_start_main");
	const struct dso_symbol *exit_fn = symtab__named(t, "exit");
	struct elf_bytes code, caller;
	int32_t disp;
	size_t at;

	if (!start || !exit_fn)
		return 0;
	caller = elf_file__at(f, start->start);
	if (caller.nr > start->end - start->start)
		caller.nr = start->end - start->start;
	caller.nr = min_t(size_t, caller.nr, CALLER_MAX);
	array_each(extents, e) {
		if (e->end - e->start > CALLEE_MAX || symtab__find(t, e->start) ||
		    !calls(caller, e->start))
			continue;
		code = elf_file__at(f, e->start);
		code.nr = min_t(size_t, code.nr, e->end - e->start);
		/* call *main; mov %eax,%edi; call exit */
		for (at = 0; at + 7 <= code.nr; at++) {
			memcpy(&disp, code.v + at + 3, sizeof(disp));
			if (!memcmp(code.v + at, "\x89\xc7\xe8", 3) &&
			    code.addr + at + 7 + (int64_t)disp == exit_fn->start &&
			    follows_indirect_call(code, at))
				return add_extent(t, e, "__libc_start_call_main");
		}
	}
	return 0;
}

/*
 * Names the function where std::thread begins: the exported constructor loads the function's
 * address as the third argument right before it calls pthread_create().
 */
static int add_std_thread(struct symtab *t, const struct elf_file *f, const extents_t *extents)
{
	static const char name[] = "_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14"
				   "default_deleteIS1_EEPFvvE";
	enum { CODE_MAX = 512, APART_MAX = 16 };
	const struct dso_symbol *start = symtab__named(t, name), *called;
	struct elf_bytes code;
	int32_t disp, call;
	size_t i, k;

	if (!start)
		return 0;
	code = elf_file__at(f, start->start);
	code.nr = min_t(size_t, code.nr, start->end - start->start);
	code.nr = min_t(size_t, code.nr, CODE_MAX);
	for (i = 0; i + 7 <= code.nr; i++) {
		/* lea disp32(%rip),%rdx */
		if (memcmp(code.v + i, "\x48\x8d\x15", 3))
			continue;
		memcpy(&disp, code.v + i + 3, sizeof(disp));
		for (k = i + 7; k < i + 7 + APART_MAX && k + 5 <= code.nr; k++) {
			memcpy(&call, code.v + k + 1, sizeof(call));
			called = code.v[k] != 0xe8 ? NULL :
				 symtab__find(t, code.addr + k + 5 + (int64_t)call);
			if (called && called->plt && !strcmp(called->name, "pthread_create"))
				return add_extent(t, extents__find(extents, code.addr + i + 7 +
								   (int64_t)disp),
						  "execute_native_thread_routine");
		}
	}
	return 0;
}

int roots__add(struct symtab *t, const struct elf_file *f)
{
	const char *soname = elf_file__soname(f);
	GElf_Ehdr ehdr;
	/* The code of the C library's functions is known for one processor only. */
	bool x86_64 = gelf_getehdr(f->elf, &ehdr) && ehdr.e_machine == EM_X86_64;
	bool libc = x86_64 && soname && !strcmp(soname, "libc.so.6");
	bool libstdcxx = x86_64 && soname && !strcmp(soname, "libstdc++.so.6");
	extents_t extents = { 0 };
	int err = 0;

	/* Read unwind information only of files that may lack one of the names. */
	if (!gelf_getehdr(f->elf, &ehdr) || !processor__of(f) ||
	    (!libc && !libstdcxx && (!ehdr.e_entry || symtab__find(t, ehdr.e_entry))))
		return 0;
	err = extents__read(&extents, f);
	err = err ?: add_start(t, f, &extents);
	if (!err && libc)
		err = add_clone3(t, f, &extents);
	if (!err && libc)
		err = add_start_thread(t, f, &extents);
	if (!err && libc)
		err = add_call_main(t, f, &extents);
	if (!err && libstdcxx)
		err = add_std_thread(t, f, &extents);
	free(extents.v);
	return err ?: symtab__build(t);
}
