/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * symtab.h - the functions of a file, from all tables that list functions
 *
 * 	symtab__add_table(&t, &file, SHT_DYNSYM, 0);	any number, of one file or several
 * 	symtab__add_plt(&t, &file);
 * 	symtab__build(&t);				now disjoint and in order
 * 	symtab__find(&t, vaddr);
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
	const char *name;		/* NULL: named like the function at .target */
	union {
		uint64_t section_end;	/* for a symbol without a size: the end of its section */
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
 * @f: a file for a processor that is known, or any other: nothing is added
 *
 * Which entry is whose is read off its code, for linkers lay .plt, .plt.sec and .plt.got out
 * differently: it jumps to where a word of the GOT says, and a relocation fills that word.
 *
 * Return: 0 or -ENOMEM.
 */
int symtab__add_plt(struct symtab *t, const struct elf_file *f);

/* Adds a function that is in no table. @name must outlive @t. Return: 0 or -ENOMEM. */
int symtab__add(struct symtab *t, uint64_t start, uint64_t end, const char *name);

/**
 * symtab_candidate__cmp - compare two names for one address
 *
 * These rules decide, in this order: a function is better than a label; a name with a size is
 * better; global is better than weak, both of the default version are better than global and weak
 * of an old version, and these are better than local; the longer function is better; a name that is
 * not for use inside of a library (__GI_x, x.localalias) is better; fewer leading underscores are
 * better. Then any fixed order decides, so that a function has one name wherever its file's tables
 * were read from.
 *
 * Return: > 0 if @a is better, < 0 if @b is.
 */
int symtab_candidate__cmp(const struct symtab_candidate *a, const struct symtab_candidate *b);

/*
 * Turns the added functions, which may nest and overlap, into disjoint intervals: if several cover
 * an address, the one that begins last gets it. Of several names for one address the best one is
 * taken: see symtab_candidate__cmp().
 *
 * May be called again after more functions were added: those only fill gaps.
 *
 * Return: 0 or -ENOMEM.
 */
int symtab__build(struct symtab *t);

/* Return: the symbol that covers @vaddr, or NULL. */
struct dso_symbol *symtab__find(const struct symtab *t, uint64_t vaddr);

void symtab__free(struct symtab *t);

#endif /* MERGE_SYMTAB_H */
