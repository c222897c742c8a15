// SPDX-License-Identifier: MIT
#include "base/loaded.h"

#include <elf.h>
#include <stddef.h>
#include <string.h>

#include "base/lock.h"

struct tables {
	const ElfW(Sym) *symbols;
	const char *strings;
	const uint32_t *gnu_hash;
};

static const ElfW(Dyn) *dynamic_of(const struct dl_phdr_info *info)
{
	const ElfW(Phdr) *p;

	for (p = info->dlpi_phdr; p < info->dlpi_phdr + info->dlpi_phnum; p++)
		if (p->p_type == PT_DYNAMIC)
			return (const void *)(info->dlpi_addr + p->p_vaddr);
	return NULL;
}

/* Return: whether the object has all tables. */
static bool tables__read(const struct dl_phdr_info *info, struct tables *t)
{
	const ElfW(Dyn) *dyn = dynamic_of(info);
	uintptr_t at;

	memset(t, 0, sizeof(*t));
	for (; dyn && dyn->d_tag != DT_NULL; dyn++) {
		at = dyn->d_un.d_ptr;	/* relocated by glibc, except in the vDSO */
		if (at < info->dlpi_addr)
			at += info->dlpi_addr;
		if (dyn->d_tag == DT_SYMTAB)
			t->symbols = (const void *)at;
		else if (dyn->d_tag == DT_STRTAB)
			t->strings = (const void *)at;
		else if (dyn->d_tag == DT_GNU_HASH)
			t->gnu_hash = (const void *)at;
	}
	return t->symbols && t->strings && t->gnu_hash;
}

static uint32_t gnu_hash(const char *s)
{
	uint32_t hash = 5381;

	for (; *s; s++)
		hash = hash * 33 + (uint8_t)*s;
	return hash;
}

/* Return: the function or variable that the object defines, or NULL. */
static const ElfW(Sym) *tables__find(const struct tables *t, const char *name)
{
	uint32_t hash = gnu_hash(name), nr_buckets = t->gnu_hash[0], first = t->gnu_hash[1], i;
	uint32_t bloom_words = t->gnu_hash[2];
	const uint32_t *buckets =
		t->gnu_hash + 4 + bloom_words * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
	const uint32_t *chain = buckets + nr_buckets;
	const ElfW(Sym) *sym;

	i = nr_buckets ? buckets[hash % nr_buckets] : 0;
	if (i < first || !i)
		return NULL;
	for (;; i++) {
		sym = &t->symbols[i];
		if ((chain[i - first] | 1) == (hash | 1) && sym->st_shndx != SHN_UNDEF &&
		    (sym->st_info & 0xf) <= STT_FUNC && !strcmp(t->strings + sym->st_name, name))
			return sym;
		if (chain[i - first] & 1)
			return NULL;
	}
}

void symbol__find_in(const struct dl_phdr_info *info, const char *name, struct symbol *s)
{
	const ElfW(Sym) *sym;
	struct tables tables;

	sym = tables__read(info, &tables) ? tables__find(&tables, name) : NULL;
	if (sym)
		*s = (struct symbol){
			.address = info->dlpi_addr + sym->st_value,
			.bytes = sym->st_size,
			.in_program = !info->dlpi_name || !*info->dlpi_name,
		};
}

struct search {
	const char *name;
	struct symbol found;
};

static int look_into(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct search *s = ctx;

	(void)size;
	symbol__find_in(info, s->name, &s->found);
	return s->found.address != 0;
}

struct symbol symbol__find(const char *name)
{
	struct search s = { .name = name };
	sigset_t old;

	signals__block(&old);		/* a signal handler may launch, and so take the lock of the
					 * list of objects */
	dl_iterate_phdr(look_into, &s);
	signals__restore(&old);
	return s.found;
}
