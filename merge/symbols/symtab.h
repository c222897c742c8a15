/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * symtab.h - the functions of a file, from all tables that list functions
 *
 *	symtab__add_table(&t, &file, SHT_DYNSYM, 0);	for each table of one or several files
 *	symtab__add_plt(&t, &file);
 *	symtab__build(&t);				now the functions are disjoint and in order
 *	symtab__find(&t, vaddr);
 *
 * Names stay where the files have them, so the files must outlive the table. A large library has
 * half a million functions: no function has a separate allocation, and names are demangled only
 * when requested.
 */
#ifndef MERGE_SYMTAB_H
#define MERGE_SYMTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/elf_file.h"
#include "util.h"

struct dso_symbol {
	uint64_t start, end;	/* [start, end), as addresses in the file's symbol table */
	const char *name;	/* the mangled name, usually in the file's image */
	const char *pretty;	/* the demangled name, interned; NULL: not requested yet */
	bool plt;		/* the function's entry in the PLT, not the function itself */
};

/* A symbol before the table is sorted. */
struct symtab_candidate {
	uint64_t start;
	uint64_t size;
	const char *name;		/* NULL: the name is the name of the function at .target */
	union {
		uint64_t section_end;	/* for a symbol without a size: the end of its section */
		uint64_t target;
	};
	uint8_t bind;			/* STB_* */
	bool typed;			/* the symbol is a function, not just a label */
	bool plt;
	bool old;			/* the symbol has a version other than the default
					 * version */
};

struct symtab {
	ARRAY(struct dso_symbol) symbols;	/* sorted by address, disjoint */
	ARRAY(struct symtab_candidate) candidates;
};

/**
 * symtab__add_table - add the functions of a file's symbol tables
 * @t: the table
 * @f: the file
 * @type: SHT_SYMTAB or SHT_DYNSYM
 * @bias: added to each address; a debug file may have another base if the main file was prelinked
 *	later
 *
 * Return: the number of functions that were added, or -ENOMEM.
 */
int symtab__add_table(struct symtab *t, const struct elf_file *f, uint32_t type, uint64_t bias);

/**
 * symtab__add_plt - name PLT entries after the functions that they jump to
 * @t: the table
 * @f: the file; if its processor is unknown, nothing is added
 *
 * The function of an entry is found from the entry's code, because linkers lay out .plt, .plt.sec
 * and .plt.got differently: the code jumps to the address in a word of the GOT, and a relocation
 * fills that word.
 *
 * Return: 0 or -ENOMEM.
 */
int symtab__add_plt(struct symtab *t, const struct elf_file *f);

/* Adds a function that is not in any table. @name must outlive @t. Return: 0 or -ENOMEM. */
int symtab__add(struct symtab *t, uint64_t start, uint64_t end, const char *name);

/**
 * symtab_candidate__cmp - compare two names for one address
 *
 * The first criterion that differs decides. A function is better than a label; a name with a size
 * is better than a name without a size. By visibility, the order from best to worst is: global,
 * weak, global with an old version, weak with an old version, local. The longer function is better.
 * A name for use only inside a library, such as __GI_x or x.localalias, is worse. Fewer leading
 * underscores are better. Finally any fixed order decides, so that a function has one name,
 * whichever tables of its file were read.
 *
 * Return: > 0 if @a is better, < 0 if @b is.
 */
int symtab_candidate__cmp(const struct symtab_candidate *a, const struct symtab_candidate *b);

/*
 * Turns the added functions, which may nest and overlap, into disjoint intervals: if several
 * functions cover an address, the function that begins last gets it. If an address has several
 * names, the best is taken: see symtab_candidate__cmp().
 *
 * May be called again after more functions were added: these only fill gaps.
 *
 * Return: 0 or -ENOMEM.
 */
int symtab__build(struct symtab *t);

/* Return: the symbol that covers @vaddr, or NULL. */
struct dso_symbol *symtab__find(const struct symtab *t, uint64_t vaddr);

void symtab__free(struct symtab *t);

#endif /* MERGE_SYMTAB_H */
