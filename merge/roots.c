// SPDX-License-Identifier: GPL-3.0-or-later
#include "roots.h"

#include <stdlib.h>
#include <string.h>

/* Return: the function of that name in a built table, or NULL. */
static const struct dso_symbol *symtab__named(const struct symtab *t, const char *name)
{
	size_t len = strlen(name), i;

	for (i = 0; i < t->symbols.nr; i++) {
		const struct dso_symbol *s = &t->symbols.v[i];

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
	const uint8_t *p, *end;

	if (!text.nr)
		return 0;
	end = text.v + text.nr;
	for (p = text.v; (p = memchr(p, 0x8b, end - p)); p++) {
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
			    !memcmp(code.v + at, "\x89\xc7\xe8", 3) &&
			    code.addr + at + 7 + (int64_t)disp == exit_fn->start)
				return add_extent(t, e, "__libc_start_call_main");
		}
	}
	return 0;
}

/*
 * Where std::thread begins: what its constructor, which is exported, loads as third argument right
 * before it calls pthread_create.
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
	bool libc = soname && !strcmp(soname, "libc.so.6");
	bool libstdcxx = soname && !strcmp(soname, "libstdc++.so.6");
	extents_t extents = { 0 };
	GElf_Ehdr ehdr;
	int err = 0;

	/* Reading unwind information is for the files that may miss one of those names. */
	if (!gelf_getehdr(f->elf, &ehdr) || ehdr.e_machine != EM_X86_64 ||
	    (!libc && !libstdcxx && (!ehdr.e_entry || symtab__find(t, ehdr.e_entry))))
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
	if (!err && libstdcxx)
		err = add_std_thread(t, f, &extents);
	free(extents.v);
	return err ?: symtab__build(t);
}
