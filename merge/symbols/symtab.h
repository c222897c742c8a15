/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * symtab.h - the functions of a file, from all the tables that tell of them
 *
 *	symtab__add_table(&t, &file, SHT_DYNSYM, 0);	any number, of one file or several
 *	symtab__add_plt(&t, &file);
 *	symtab__build(&t);				now disjoint and in order
 *	symtab__find(&t, vaddr);
 *
 * Names stay where the files have them, so the files must outlive the table. A large library has
 * half a million functions: nothing is allocated for one of them alone, and only names that are
 * asked for are demangled.
 */
#ifndef MERGE_SYMTAB_H
#define MERGE_SYMTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/elf_file.h"
#include "util.h"

struct dso_symbol {
	uint64_t start, end;	/* [start, end), addresses as in the file's symbol table */
	const char *name;	/* mangled, where the file has it */
	const char *pretty;	/* demangled and interned, NULL until asked for */
	bool plt;		/* not the function itself: its entry in the PLT */
};

/* A symbol on its way into the sorted table. */
struct symtab_candidate {
	uint64_t start;
	uint64_t size;
	const char *name;		/* NULL: called like what is at .target */
	union {
		uint64_t section_end;	/* what bounds a symbol without a size */
		uint64_t target;
	};
	uint8_t bind;			/* STB_* */
	bool typed;			/* a function, not just a label */
	bool plt;
	bool old;			/* of a version that is not the default one */
};

struct symtab {
	ARRAY(struct dso_symbol) symbols;	/* by address, disjoint */
	ARRAY(struct symtab_candidate) candidates;
};

/**
 * symtab__add_table - take the functions of a file's symbol tables
 * @t: the table
 * @f: the file
 * @type: SHT_SYMTAB or SHT_DYNSYM
 * @bias: to add to each address: a debug file may count from somewhere else, where its file was
 *	prelinked since
 *
 * Return: how many, or -ENOMEM.
 */
int symtab__add_table(struct symtab *t, const struct elf_file *f, uint32_t type, uint64_t bias);

/**
 * symtab__add_plt - name the PLT's entries after the functions that they jump to
 * @t: the table
 * @f: an x86-64 file
 *
 * Which entry is whose is read off its code, for linkers lay .plt, .plt.sec and .plt.got out
 * differently: it jumps to where a word of the GOT says, and a relocation fills that word.
 *
 * Return: 0 or -ENOMEM.
 */
int symtab__add_plt(struct symtab *t, const struct elf_file *f);

/* Adds a function that no table tells of. @name must outlive @t. Return: 0 or -ENOMEM. */
int symtab__add(struct symtab *t, uint64_t start, uint64_t end, const char *name);

/**
 * symtab_candidate__cmp - which of two names for one address is better
 *
 * Before the other comes: a function, before a label; one with a size; global before weak, both of
 * the default version, before the same of an old version, before local; the longer one; one that is
 * not for use inside of a library (__GI_x, x.localalias); one with fewer leading underscores. Then
 * any fixed order decides, so that a function has one name wherever its file's tables were read from.
 *
 * Return: > 0 if that is @a, < 0 if it is @b.
 */
int symtab_candidate__cmp(const struct symtab_candidate *a, const struct symtab_candidate *b);

/*
 * Turns what was added, which may nest and overlap, into disjoint intervals: where several cover an
 * address, the one that begins last has it. Of several names for one address the best one is
 * taken: see symtab_candidate__cmp().
 *
 * May be called again after more was added: those fill gaps only.
 *
 * Return: 0 or -ENOMEM.
 */
int symtab__build(struct symtab *t);

/* Return: the symbol that covers @vaddr, or NULL. */
struct dso_symbol *symtab__find(const struct symtab *t, uint64_t vaddr);

void symtab__free(struct symtab *t);

#endif /* MERGE_SYMTAB_H */
