// SPDX-License-Identifier: GPL-3.0-or-later
#include "symbols/symtab.h"
#include "symbols/processor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * Return: whether every string of @strtab ends inside it and stays valid after elf_end(). To stay
 * valid, @strtab must be in the file's image, not a copy made by libelf.
 */
static bool strtab__usable(const struct elf_file *f, const Elf_Data *strtab)
{
	const char *s = strtab->d_buf, *image = f->image;

	return s && strtab->d_size && s >= image && s + strtab->d_size <= image + f->bytes &&
	       !s[strtab->d_size - 1];
}

/* The properties of a section that are needed for each of its symbols. */
struct section {
	uint64_t end;
	bool exec;
};

static struct section *elf_file__sections(const struct elf_file *f, size_t *nr)
{
	struct section *v;
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	size_t i;

	if (elf_getshdrnum(f->elf, nr))
		*nr = 0;
	v = calloc(*nr + 1, sizeof(*v));
	while (v && (scn = elf_nextscn(f->elf, scn))) {
		i = elf_ndxscn(scn);
		if (i < *nr && gelf_getshdr(scn, &shdr))
			v[i] = (struct section){ shdr.sh_addr + shdr.sh_size,
						 shdr.sh_flags & SHF_EXECINSTR };
	}
	return v;
}

/* Finds a table's strings and symbols. Return: the number of symbols; 0 if they are unusable. */
static size_t table__open(const struct elf_file *f, Elf_Scn *scn, const GElf_Shdr *shdr,
			  Elf_Data **symbols, const Elf_Data **strtab)
{
	Elf_Scn *str_scn = elf_getscn(f->elf, shdr->sh_link);
	size_t nr;

	*symbols = elf_getdata(scn, NULL);
	*strtab = str_scn ? elf_getdata(str_scn, NULL) : NULL;
	if (!*symbols || !*strtab || !shdr->sh_entsize || !strtab__usable(f, *strtab))
		return 0;
	nr = (*symbols)->d_size / shdr->sh_entsize;
	return min_t(size_t, nr, INT32_MAX);
}

/* Return: the versions of the symbols in @scn; NULL if they have no versions. */
static Elf_Data *table__versions(const struct elf_file *f, Elf_Scn *scn)
{
	Elf_Scn *versions = NULL;
	GElf_Shdr shdr;
	Elf_Data *data;

	while ((versions = elf_nextscn(f->elf, versions))) {
		if (!gelf_getshdr(versions, &shdr) || shdr.sh_type != SHT_GNU_versym ||
		    shdr.sh_link != elf_ndxscn(scn))
			continue;
		data = elf_getdata(versions, NULL);
		return data && data->d_buf ? data : NULL;
	}
	return NULL;
}

/* Return: whether a symbol has an old version, to which nothing is linked any more. */
static bool is_old(const char *name, Elf_Data *versions, size_t i)
{
	enum { HIDDEN = 0x8000 };	/* Linux Standard Base 5, "Symbol Version Table" */
	const char *at = strchr(name + 1, '@');
	GElf_Versym version;

	/*
	 * In .symtab the name shows the version: memcpy@GLIBC_2.2.5 is old, memcpy@@GLIBC_2.14 is
	 * not.
	 */
	if (at)
		return at[1] != '@';
	return versions && gelf_getversym(versions, i, &version) && version & HIDDEN;
}

static int symtab__add_section(struct symtab *t, const struct elf_file *f, Elf_Scn *scn,
			       const GElf_Shdr *shdr, uint64_t bias)
{
	const Elf_Data *strtab;
	struct section *sections;
	size_t nr, nr_sections, i;
	Elf_Data *symbols, *versions = table__versions(f, scn);
	int err = 0;

	nr = table__open(f, scn, shdr, &symbols, &strtab);
	sections = elf_file__sections(f, &nr_sections);
	if (!sections)
		return -ENOMEM;
	for (i = 0; i < nr && !err; i++) {
		const struct section *sec;
		const char *name;
		unsigned int type;
		GElf_Sym sym;

		if (!gelf_getsym(symbols, i, &sym))
			break;
		type = GELF_ST_TYPE(sym.st_info);
		if (sym.st_shndx == SHN_UNDEF ||
		    (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE))
			continue;
		sec = sym.st_shndx < nr_sections ? &sections[sym.st_shndx] : NULL;
		/*
		 * A label without a type counts as a function if it is in code: assembly code often
		 * has no types.
		 */
		if (type == STT_NOTYPE && !(sec && sec->exec))
			continue;
		if (sym.st_name >= strtab->d_size)
			continue;
		name = (const char *)strtab->d_buf + sym.st_name;
		if (!*name || (type == STT_NOTYPE && (*name == '$' || *name == '.')))
			continue;
		err = array_push(&t->candidates, ((struct symtab_candidate){
			.start = sym.st_value + bias,
			.size = sym.st_size,
			.name = name,
			.section_end = sec && sec->end ? sec->end + bias : 0,
			.bind = GELF_ST_BIND(sym.st_info),
			.typed = type != STT_NOTYPE,
			.old = is_old(name, versions, i),
		}));
	}
	free(sections);
	return err;
}

int symtab__add_table(struct symtab *t, const struct elf_file *f, uint32_t type, uint64_t bias)
{
	size_t before = t->candidates.nr;
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	int err = 0;

	while (!err && (scn = elf_nextscn(f->elf, scn)))
		if (gelf_getshdr(scn, &shdr) && shdr.sh_type == type)
			err = symtab__add_section(t, f, scn, &shdr, bias);
	return err ?: (int)min_t(size_t, t->candidates.nr - before, INT32_MAX);
}

int symtab__add(struct symtab *t, uint64_t start, uint64_t end, const char *name)
{
	return array_push(&t->candidates, ((struct symtab_candidate){
		.start = start, .size = end - start, .name = name, .bind = STB_LOCAL,
		.typed = true }));
}

/* ---- PLT ------------------------------------------------------------------------------------ */

/* A word of the GOT that a relocation fills. */
struct got {
	uint64_t addr;
	const char *name;		/* name of the function; NULL: use the name of the function
					 * at .target */
	uint64_t target;
};

typedef ARRAY(struct got) gots_t;

static int got__cmp(const void *va, const void *vb)
{
	const struct got *a = va, *b = vb;

	return cmp3(a->addr, b->addr);
}

/* Adds the relocations of one section that fill the GOT with addresses of functions. */
static int gots__add(gots_t *gots, const struct elf_file *f, const struct processor *cpu,
		     Elf_Scn *scn, const GElf_Shdr *shdr)
{
	const Elf_Data *strtab = NULL;
	Elf_Data *rela = elf_getdata(scn, NULL), *symbols = NULL;
	size_t nr_symbols = 0, nr, i;
	Elf_Scn *sym_scn = elf_getscn(f->elf, shdr->sh_link);
	GElf_Shdr sym_shdr;
	int err = 0;

	if (!rela || !shdr->sh_entsize)
		return 0;
	if (sym_scn && gelf_getshdr(sym_scn, &sym_shdr) &&
	    (sym_shdr.sh_type == SHT_DYNSYM || sym_shdr.sh_type == SHT_SYMTAB))
		nr_symbols = table__open(f, sym_scn, &sym_shdr, &symbols, &strtab);
	nr = min_t(size_t, rela->d_size / shdr->sh_entsize, INT32_MAX);
	for (i = 0; i < nr && !err; i++) {
		struct got got = { 0 };
		uint32_t type;
		GElf_Rela r;
		GElf_Sym sym;

		if (!gelf_getrela(rela, i, &r))
			break;
		got.addr = r.r_offset;
		type = GELF_R_TYPE(r.r_info);
		if (type == cpu->jump_slot || type == cpu->glob_dat) {
			if (GELF_R_SYM(r.r_info) >= nr_symbols ||
			    !gelf_getsym(symbols, GELF_R_SYM(r.r_info), &sym) ||
			    sym.st_name >= strtab->d_size)
				continue;
			got.name = (const char *)strtab->d_buf + sym.st_name;
			if (!*got.name)
				continue;
		} else if (type == cpu->irelative) {
			got.target = r.r_addend;
		} else {
			continue;
		}
		err = array_push(gots, got);
	}
	return err;
}

static int symtab__add_plt_section(struct symtab *t, const struct elf_file *f,
				   const struct processor *cpu, const char *name,
				   const gots_t *gots)
{
	struct elf_bytes code = elf_file__section_bytes(f, name);
	struct got key, *got;
	size_t entry, at;
	GElf_Shdr shdr;
	int err = 0;

	if (!code.nr || !elf_file__section(f, name, &shdr))
		return 0;
	entry = shdr.sh_entsize == 8 ? 8 : 16;
	for (at = 0; at + entry <= code.nr && !err;
	     at += cpu->plt_step && !got ? cpu->plt_step : entry) {
		key.addr = cpu->plt_word(code.v + at, code.nr - at, code.addr + at, &entry);
		got = key.addr && gots->nr ?
		      bsearch(&key, gots->v, gots->nr, sizeof(key), got__cmp) : NULL;
		if (got)
			err = array_push(&t->candidates, ((struct symtab_candidate){
				.start = code.addr + at, .size = entry, .name = got->name,
				.target = got->target, .bind = STB_LOCAL, .plt = true }));
	}
	return err;
}

int symtab__add_plt(struct symtab *t, const struct elf_file *f)
{
	static const char *const sections[] = { ".plt", ".plt.sec", ".plt.got", ".iplt" };
	gots_t gots = { 0 };
	Elf_Scn *scn = NULL;
	const struct processor *cpu = processor__of(f);
	GElf_Shdr shdr;
	int err = 0;
	size_t i;

	if (!cpu)
		return 0;
	while (!err && (scn = elf_nextscn(f->elf, scn)))
		if (gelf_getshdr(scn, &shdr) && shdr.sh_type == SHT_RELA)
			err = gots__add(&gots, f, cpu, scn, &shdr);
	array_qsort(&gots, got__cmp);
	for (i = 0; i < ARRAY_SIZE(sections) && gots.nr && !err; i++)
		err = symtab__add_plt_section(t, f, cpu, sections[i], &gots);
	free(gots.v);
	return err;
}

/* ---- order ---------------------------------------------------------------------------------- */

/*
 * Return: how widely a name is visible. Even an exported name of an old version ranks above a local
 * name.
 */
static int candidate__rank(const struct symtab_candidate *c)
{
	int rank = c->bind == STB_GLOBAL ? 2 : c->bind == STB_WEAK ? 1 : 0;

	return rank && !c->old ? rank + 2 : rank;
}

/* Return: how clearly a name is meant only for use inside a library. */
static int name__internal(const char *name)
{
	/* The compiler gives some functions a second name, such as f.localalias. */
	if (name[strcspn(name, ".@")] == '.')
		return 2;
	/* glibc uses this name for its own calls of a function that it exports. */
	return !strncmp(name, "__GI_", 5);
}

int symtab_candidate__cmp(const struct symtab_candidate *a, const struct symtab_candidate *b)
{
	return cmp3(a->typed, b->typed) ?:
	       cmp3(!!a->size, !!b->size) ?:
	       cmp3(!!a->name, !!b->name) ?:
	       cmp3(candidate__rank(a), candidate__rank(b)) ?:
	       cmp3(a->size, b->size) ?:
	       (!a->name ? 0 :
		cmp3(name__internal(b->name), name__internal(a->name)) ?:
		cmp3(strspn(b->name, "_"), strspn(a->name, "_")) ?:
		strcmp(b->name, a->name));
}

/* Sorts by address. If an address has several names, the best comes last. */
static int by_address(const void *va, const void *vb)
{
	const struct symtab_candidate *a = va, *b = vb;

	return cmp3(a->start, b->start) ?: symtab_candidate__cmp(a, b);
}

static const struct symtab_candidate *symtab__candidate_at(const struct symtab *t, uint64_t start)
{
	size_t lo = sorted_count(t->candidates.nr, i, t->candidates.v[i].start < start);

	return lo < t->candidates.nr && t->candidates.v[lo].start == start ?
		&t->candidates.v[lo] : NULL;
}

/* Sorts candidates, leaves one for each address, and names candidates without a name. */
static void symtab__choose(struct symtab *t)
{
	struct symtab_candidate *v = t->candidates.v;
	const struct symtab_candidate *target;
	size_t i, nr = 0;

	if (!t->candidates.nr)
		return;
	qsort(v, t->candidates.nr, sizeof(*v), by_address);
	for (i = 0; i < t->candidates.nr; i++)
		if (i + 1 == t->candidates.nr || v[i].start != v[i + 1].start)
			v[nr++] = v[i];
	t->candidates.nr = nr;
	for (i = 0; i < nr; i++) {
		if (v[i].name)
			continue;
		target = symtab__candidate_at(t, v[i].target);
		v[i].name = target && !target->plt ? target->name : NULL;
	}
}

typedef ARRAY(struct dso_symbol) symbols_t;

/* Adds [from, to) of @c, except the parts that the first @nr_old symbols cover. */
static int symtab__emit(struct symtab *t, size_t nr_old, uint64_t from, uint64_t to,
			const struct symtab_candidate *c)
{
	uint64_t end;
	int err = 0;
	size_t lo = sorted_count(nr_old, i, t->symbols.v[i].end <= from);

	for (; from < to && !err; lo++) {
		end = lo < nr_old ? min_t(uint64_t, t->symbols.v[lo].start, to) : to;
		if (from < end && c->name)
			err = array_push(&t->symbols, ((struct dso_symbol){
				from, end, c->name, NULL, c->plt }));
		if (lo == nr_old)
			break;
		from = max_t(uint64_t, from, t->symbols.v[lo].end);
	}
	return err;
}

static int symbol__cmp(const void *va, const void *vb)
{
	const struct dso_symbol *a = va, *b = vb;

	return cmp3(a->start, b->start);
}

int symtab__build(struct symtab *t)
{
	struct extent {
		uint64_t end;
		const struct symtab_candidate *c;
	};
	ARRAY(struct extent) open = { 0 };
	size_t nr_old = t->symbols.nr, nr, i;
	uint64_t pos = 0, upto;
	int err = 0;

	symtab__choose(t);
	nr = t->candidates.nr;
	for (i = 0; nr && i <= nr && !err; i++) {
		const struct symtab_candidate *c = &t->candidates.v[i];

		upto = i < nr ? c->start : UINT64_MAX;
		/*
		 * Close the open functions that end before the next function begins, innermost
		 * first.
		 */
		while (open.nr && !err) {
			const struct extent *top = &open.v[open.nr - 1];
			uint64_t end = min_t(uint64_t, top->end, upto);

			if (pos < end) {
				err = symtab__emit(t, nr_old, pos, end, top->c);
				pos = end;
			}
			if (top->end > upto)
				break;
			open.nr--;
		}
		if (i == nr || err)
			break;
		pos = upto;
		upto = c->start + c->size;
		if (!c->size) {
			/*
			 * Assembly code without .size extends to the next symbol or to the end of
			 * its section.
			 */
			upto = c->section_end;
			if (i + 1 < nr)
				upto = min_t(uint64_t, upto, c[1].start);
		}
		if (upto > pos)
			err = array_push(&open, ((struct extent){ upto, c }));
	}
	free(open.v);
	array_free(&t->candidates);
	if (!err && nr_old)
		array_qsort(&t->symbols, symbol__cmp);
	return err;
}

struct dso_symbol *symtab__find(const struct symtab *t, uint64_t vaddr)
{
	size_t lo = sorted_count(t->symbols.nr, i, t->symbols.v[i].end <= vaddr);

	return lo < t->symbols.nr && t->symbols.v[lo].start <= vaddr ? &t->symbols.v[lo] : NULL;
}

void symtab__free(struct symtab *t)
{
	array_free(&t->symbols);
	array_free(&t->candidates);
}
