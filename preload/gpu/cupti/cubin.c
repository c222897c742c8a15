// SPDX-License-Identifier: MIT
#include "gpu/cupti/cubin.h"

#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct cubin {
	const uint8_t *file;
	size_t bytes;
	const Elf64_Shdr *sections;
	size_t nr_sections;
	const char *names;		/* the names of sections */
	size_t names_bytes;
};

struct section_bytes {
	const uint8_t *v;
	size_t bytes;
};

static bool inside(const struct cubin *c, uint64_t offset, uint64_t bytes)
{
	return offset <= c->bytes && bytes <= c->bytes - offset;
}

static struct section_bytes bytes_of(const struct cubin *c, const Elf64_Shdr *s)
{
	if (!s || s->sh_type == SHT_NOBITS || !inside(c, s->sh_offset, s->sh_size))
		return (struct section_bytes){ .v = NULL };
	return (struct section_bytes){ c->file + s->sh_offset, s->sh_size };
}

static bool cubin__open(struct cubin *c, const void *file, size_t bytes)
{
	const Elf64_Ehdr *h = file;
	struct section_bytes names;

	*c = (struct cubin){ .file = file, .bytes = bytes };
	if (bytes < sizeof(*h) || memcmp(h->e_ident, ELFMAG, SELFMAG) ||
	    h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_shentsize != sizeof(Elf64_Shdr) ||
	    (uintptr_t)file % 8 || h->e_shoff % 8 ||
	    !inside(c, h->e_shoff, (uint64_t)h->e_shnum * sizeof(Elf64_Shdr)) ||
	    h->e_shstrndx >= h->e_shnum)
		return false;
	c->sections = (const void *)(c->file + h->e_shoff);
	c->nr_sections = h->e_shnum;
	names = bytes_of(c, &c->sections[h->e_shstrndx]);
	c->names = (const char *)names.v;
	c->names_bytes = names.bytes;
	return names.bytes && !c->names[names.bytes - 1];
}

static const Elf64_Shdr *section_of(const struct cubin *c, const char *name)
{
	size_t i;

	for (i = 0; i < c->nr_sections; i++)
		if (c->sections[i].sh_name < c->names_bytes &&
		    !strcmp(c->names + c->sections[i].sh_name, name))
			return &c->sections[i];
	return NULL;
}

/* Return: the name of a symbol, or NULL. */
static const char *symbol_name(struct section_bytes symbols, struct section_bytes strings,
			       size_t idx)
{
	Elf64_Sym symbol;

	if (idx >= symbols.bytes / sizeof(symbol))
		return NULL;
	memcpy(&symbol, symbols.v + idx * sizeof(symbol), sizeof(symbol));
	return symbol.st_name < strings.bytes ? (const char *)strings.v + symbol.st_name : NULL;
}

/* Fills in @functions; if it is NULL, only adds up the space that they need. */
static size_t put_functions(struct section_bytes relocs, struct section_bytes symbols,
			    struct section_bytes strings, struct xpu_cubin_function *functions,
			    char *names, size_t *names_bytes)
{
	size_t nr = 0, at = 0, i;

	for (i = 0; i < relocs.bytes / sizeof(Elf64_Rela); i++) {
		const char *name;
		Elf64_Rela r;

		memcpy(&r, relocs.v + i * sizeof(r), sizeof(r));
		name = symbol_name(symbols, strings, ELF64_R_SYM(r.r_info));
		if (!name || r.r_offset > UINT32_MAX)
			continue;
		if (functions) {
			functions[nr] = (struct xpu_cubin_function){ r.r_offset, at };
			memcpy(names + at, name, strlen(name) + 1);
		}
		nr++;
		at += strlen(name) + 1;
	}
	*names_bytes = at;
	return nr;
}

struct xpu_cubin_lines *cubin__lines(const void *file, size_t file_bytes, size_t *bytes)
{
	struct section_bytes lines, relocs, symbols, strings, inlined;
	struct xpu_cubin_lines *to;
	size_t nr, names_bytes;
	struct cubin c;
	char *names;

	if (!cubin__open(&c, file, file_bytes))
		return NULL;
	lines = bytes_of(&c, section_of(&c, ".debug_line"));
	relocs = bytes_of(&c, section_of(&c, ".rela.debug_line"));
	symbols = bytes_of(&c, section_of(&c, ".symtab"));
	strings = bytes_of(&c, section_of(&c, ".strtab"));
	inlined = bytes_of(&c, section_of(&c, ".debug_str"));
	if (!lines.bytes || !relocs.bytes || !strings.bytes || strings.v[strings.bytes - 1])
		return NULL;
	nr = put_functions(relocs, symbols, strings, NULL, NULL, &names_bytes);
	if (!nr || names_bytes > UINT32_MAX || lines.bytes > UINT32_MAX)
		return NULL;
	*bytes = sizeof(*to) + nr * sizeof(to->functions[0]) + names_bytes + lines.bytes +
		 inlined.bytes;
	to = malloc(*bytes);
	if (!to)
		return NULL;
	*to = (struct xpu_cubin_lines){ nr, names_bytes, lines.bytes };
	names = (char *)&to->functions[nr];
	put_functions(relocs, symbols, strings, to->functions, names, &names_bytes);
	memcpy(names + names_bytes, lines.v, lines.bytes);
	if (inlined.bytes)
		memcpy(names + names_bytes + lines.bytes, inlined.v, inlined.bytes);
	return to;
}
