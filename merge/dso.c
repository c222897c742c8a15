// SPDX-License-Identifier: GPL-3.0-or-later
#include "dso.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "demangle.h"

#define HASH_NONFATAL_OOM	1
#define uthash_nonfatal_oom(e)	(oom = true)
#include <uthash.h>

#define DELETED		" (deleted)"	/* the kernel appends it when a file is unlinked */

/* Two files of one path (replaced while it was recorded) are told apart by build-id or inode. */
struct dso_entry {
	struct dso dso;
	UT_hash_handle hh;
	char key[];
};

/* A symbol on its way into the sorted table. */
struct candidate {
	uint64_t start;
	uint64_t size;
	const char *name;
	uint8_t bind;			/* STB_* */
	uint8_t typed;			/* a function, not just a label */
	uint64_t section_end;		/* what bounds a symbol without a size */
};

void dsos__init(struct dsos *d, struct strpool *strings)
{
	memset(d, 0, sizeof(*d));
	d->strings = strings;
	elf_version(EV_CURRENT);
}

void dsos__exit(struct dsos *d)
{
	struct dso_entry *e, *tmp;

	HASH_ITER(hh, d->entries, e, tmp) {
		HASH_DEL(d->entries, e);
		if (e->dso.image)
			munmap(e->dso.image, e->dso.image_bytes);
		free(e->dso.symbols);
		free(e->dso.segments);
		free(e);
	}
}

static enum dso_role dso__role(const char *name)
{
	static const struct {
		const char *prefix;
		enum dso_role role;
	} roles[] = {
		{ "libxpushim.so", DSO_SHIM },
		{ "libcupti.so", DSO_CUPTI },
		{ "libcuda.so", DSO_CUDA },
		{ "libcudart.so", DSO_CUDART },
		/* As auditwheel renames what it packs into a wheel: libcudart-d0da41ae.so.11.0. */
		{ "libcupti-", DSO_CUPTI },
		{ "libcudart-", DSO_CUDART },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(roles); i++)
		if (!strncmp(name, roles[i].prefix, strlen(roles[i].prefix)))
			return roles[i].role;
	return DSO_PLAIN;
}

/* Return: what stands for the file in a frame, interned. */
static const char *dso__short_name(struct strpool *strings, const char *path)
{
	const char *name = strrchr(path, '/');
	size_t len;

	if (!*path || !strncmp(path, "//anon", 6))
		return "[anon]";
	name = name && name[1] ? name + 1 : path;
	len = strlen(name);
	if (len > strlen(DELETED) && !strcmp(name + len - strlen(DELETED), DELETED))
		len -= strlen(DELETED);
	return strpool__intern(strings, name, len);
}

struct dso *dsos__get(struct dsos *d, const struct xpu_record_mmap *rec)
{
	struct dso_entry *e;
	/* A file may be there under one path and not under another, so the path counts always. */
	struct {
		uint64_t ino;
		uint32_t dev_major, dev_minor;
		uint8_t build_id_len;
		uint8_t build_id[XPU_BUILD_ID_LEN];
	} which;
	size_t path_bytes = strlen(rec->filename), bytes = sizeof(which) + path_bytes;
	bool oom = false;
	char *key;

	memset(&which, 0, sizeof(which));
	if (rec->hdr.misc & XPU_MISC_MMAP_BUILD_ID && rec->build_id_len) {
		which.build_id_len = rec->build_id_len;
		memcpy(which.build_id, rec->build_id, rec->build_id_len);
	} else {
		which.ino = rec->ino;
		which.dev_major = rec->dev_major;
		which.dev_minor = rec->dev_minor;
	}
	key = malloc(bytes);
	if (!key)
		return NULL;
	memcpy(key, &which, sizeof(which));
	memcpy(key + sizeof(which), rec->filename, path_bytes);
	HASH_FIND(hh, d->entries, key, bytes, e);
	if (e)
		goto out;
	e = calloc(1, sizeof(*e) + bytes);
	if (!e)
		goto out;
	memcpy(e->key, key, bytes);
	e->dso.path = strpool__intern(d->strings, rec->filename, path_bytes);
	e->dso.name = dso__short_name(d->strings, rec->filename);
	if (!e->dso.path || !e->dso.name)
		goto out_free;
	e->dso.role = dso__role(e->dso.name);
	e->dso.build_id_len = which.build_id_len;
	memcpy(e->dso.build_id, which.build_id, sizeof(which.build_id));
	HASH_ADD_KEYPTR(hh, d->entries, e->key, bytes, e);
	if (!oom)
		goto out;
out_free:
	free(e);
	e = NULL;
out:
	free(key);
	return e ? &e->dso : NULL;
}

/* ---- reading -------------------------------------------------------------------------------- */

/* Maps the file if it is a plain one. Opening a device or a FIFO could have effects: not done. */
static int dso__map_file(struct dso *dso, const char *path)
{
	struct stat st;
	int fd, err = 0;
	void *image;

	if (stat(path, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st)) {
		err = -errno;
		goto out;
	}
	if (!S_ISREG(st.st_mode) || !st.st_size || (uintmax_t)st.st_size > SIZE_MAX) {
		err = -EINVAL;
		goto out;
	}
	/* Writable because libelf's interface to memory is not const; private, so ours. */
	image = mmap(NULL, st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, fd, 0);
	if (image == MAP_FAILED) {
		err = -errno;
		goto out;
	}
	dso->image = image;
	dso->image_bytes = st.st_size;
out:
	close(fd);
	return err;
}

/* The kernel gives every process the same vdso, so ours will do if its build-id says so. */
static int dso__map_vdso(struct dso *dso)
{
	unsigned long start = getauxval(AT_SYSINFO_EHDR), from, to;
	int err = -ENOENT;
	char line[256];
	FILE *f;

	if (!start)
		return -ENOENT;
	f = fopen("/proc/self/maps", "re");
	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx", &from, &to) != 2 || from != start)
			continue;
		dso->image = mmap(NULL, to - from, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (dso->image == MAP_FAILED) {
			dso->image = NULL;
			err = -ENOMEM;
			break;
		}
		dso->image_bytes = to - from;
		memcpy(dso->image, (const void *)from, to - from);
		err = 0;
		break;
	}
	fclose(f);
	return err;
}

/* Return: length of the GNU build-id found in a run of notes, 0 if none is there. */
static size_t notes__build_id(Elf_Data *data, const uint8_t **id)
{
	size_t at = 0, next, name, desc;
	GElf_Nhdr nhdr;

	while (data && data->d_buf && (next = gelf_getnote(data, at, &nhdr, &name, &desc)) > at) {
		if (nhdr.n_type == NT_GNU_BUILD_ID && nhdr.n_namesz == 4 &&
		    !memcmp((char *)data->d_buf + name, "GNU", 4) &&
		    nhdr.n_descsz && nhdr.n_descsz <= XPU_BUILD_ID_LEN) {
			*id = (const uint8_t *)data->d_buf + desc;
			return nhdr.n_descsz;
		}
		at = next;
	}
	return 0;
}

static size_t elf__build_id(Elf *elf, const uint8_t **id)
{
	size_t nr, i, len = 0;
	Elf_Scn *scn = NULL;
	GElf_Phdr phdr;
	GElf_Shdr shdr;

	if (!elf_getphdrnum(elf, &nr))
		for (i = 0; i < nr && !len; i++)
			if (gelf_getphdr(elf, i, &phdr) && phdr.p_type == PT_NOTE)
				len = notes__build_id(elf_getdata_rawchunk(elf, phdr.p_offset,
									   phdr.p_filesz,
									   phdr.p_align == 8 ?
									   ELF_T_NHDR8 :
									   ELF_T_NHDR), id);
	/* A debug file keeps the section and has no bytes behind the segment. */
	while (!len && (scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &shdr) && shdr.sh_type == SHT_NOTE)
			len = notes__build_id(elf_getdata(scn, NULL), id);
	return len;
}

static int dso__read_segments(struct dso *dso, Elf *elf)
{
	ARRAY(struct dso_segment) segments = { 0 };
	GElf_Phdr phdr;
	size_t nr, i;
	int err, pass;

	if (elf_getphdrnum(elf, &nr))
		return -EINVAL;
	/* Executable ones first: neighbours share a page of the file, and code is asked for. */
	for (pass = 0; pass < 2; pass++) {
		for (i = 0; i < nr; i++) {
			if (!gelf_getphdr(elf, i, &phdr) || phdr.p_type != PT_LOAD ||
			    (phdr.p_flags & PF_X ? 0 : 1) != pass ||
			    phdr.p_offset + phdr.p_filesz < phdr.p_offset)
				continue;
			err = array_push(&segments, ((struct dso_segment){
				phdr.p_offset, phdr.p_offset + phdr.p_filesz, phdr.p_vaddr }));
			if (err) {
				free(segments.v);
				return err;
			}
		}
	}
	dso->segments = segments.v;
	dso->nr_segments = segments.nr;
	return 0;
}

/*
 * Return: whether every string of @strtab ends inside it, and stays when libelf is done: it must be
 * the file's bytes, not a copy of libelf's.
 */
static bool dso__strtab_usable(const struct dso *dso, const Elf_Data *strtab)
{
	const char *s = strtab->d_buf, *image = dso->image;

	return s && strtab->d_size && s >= image &&
	       s + strtab->d_size <= image + dso->image_bytes && !s[strtab->d_size - 1];
}

typedef ARRAY(struct candidate) candidates_t;

/* Adds the functions of one symbol table. */
static int dso__read_symbols(const struct dso *dso, Elf *elf, Elf_Scn *scn, const GElf_Shdr *shdr,
			     candidates_t *out)
{
	Elf_Scn *str_scn = elf_getscn(elf, shdr->sh_link);
	Elf_Data *symtab, *strtab;
	GElf_Shdr sec;
	size_t nr, i;
	GElf_Sym sym;

	symtab = elf_getdata(scn, NULL);
	strtab = str_scn ? elf_getdata(str_scn, NULL) : NULL;
	if (!symtab || !strtab || !shdr->sh_entsize || !dso__strtab_usable(dso, strtab))
		return 0;
	nr = symtab->d_size / shdr->sh_entsize;
	for (i = 0; i < nr && i < INT32_MAX; i++) {
		struct candidate c = { 0 };
		const char *name;
		unsigned int type;
		int err;

		if (!gelf_getsym(symtab, i, &sym))
			break;
		type = GELF_ST_TYPE(sym.st_info);
		if (sym.st_shndx == SHN_UNDEF ||
		    (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE))
			continue;
		sec.sh_flags = 0;
		if (sym.st_shndx < SHN_LORESERVE &&
		    gelf_getshdr(elf_getscn(elf, sym.st_shndx), &sec))
			c.section_end = sec.sh_addr + sec.sh_size;
		/* Of labels only those in code: hand-written assembly often has no types. */
		if (type == STT_NOTYPE && !(sec.sh_flags & SHF_EXECINSTR))
			continue;
		if (sym.st_name >= strtab->d_size)
			continue;
		name = (const char *)strtab->d_buf + sym.st_name;
		if (!*name || (type == STT_NOTYPE && (*name == '$' || *name == '.')))
			continue;
		c.start = sym.st_value;
		c.size = sym.st_size;
		c.name = name;
		c.bind = GELF_ST_BIND(sym.st_info);
		c.typed = type != STT_NOTYPE;
		err = array_push(out, c);
		if (err)
			return err;
	}
	return 0;
}

static int bind__rank(uint8_t bind)
{
	return bind == STB_GLOBAL ? 2 : bind == STB_WEAK ? 1 : 0;
}

/*
 * By address; of several names for one address the best comes last: a function before a label, one
 * with a size before one without, global before weak before local, the longer extent, fewer leading
 * underscores, and then any fixed order.
 */
static int candidate__cmp(const void *va, const void *vb)
{
	const struct candidate *a = va, *b = vb;

	return cmp3(a->start, b->start) ?:
	       cmp3(a->typed, b->typed) ?:
	       cmp3(!!a->size, !!b->size) ?:
	       cmp3(bind__rank(a->bind), bind__rank(b->bind)) ?:
	       cmp3(a->size, b->size) ?:
	       cmp3(strspn(b->name, "_"), strspn(a->name, "_")) ?:
	       strcmp(b->name, a->name);
}

/*
 * Turns candidates, which may nest and overlap, into disjoint intervals: where several cover an
 * address, the one that begins last has it.
 */
static int dso__build_symbols(struct dso *dso, candidates_t *c)
{
	ARRAY(struct dso_symbol) out = { 0 };
	ARRAY(struct dso_symbol) open = { 0 };
	uint64_t pos = 0, upto;
	size_t i, nr = 0;
	int err = 0;

	if (!c->nr)
		return 0;
	qsort(c->v, c->nr, sizeof(*c->v), candidate__cmp);
	for (i = 0; i < c->nr; i++)
		if (i + 1 == c->nr || c->v[i].start != c->v[i + 1].start)
			c->v[nr++] = c->v[i];
	c->nr = nr;
	for (i = 0; i <= nr && !err; i++) {
		upto = i < nr ? c->v[i].start : UINT64_MAX;
		/* Up to the next one's start, the open ones end, innermost first. */
		while (open.nr && !err) {
			struct dso_symbol *top = &open.v[open.nr - 1];
			uint64_t end = min_t(uint64_t, top->end, upto);

			if (pos < end) {
				err = array_push(&out, ((struct dso_symbol){ pos, end, top->name,
									     NULL }));
				pos = end;
			}
			if (top->end > upto)
				break;
			open.nr--;
		}
		if (i == nr || err)
			break;
		pos = upto;
		upto = c->v[i].start + c->v[i].size;
		if (!c->v[i].size) {
			/* Assembly without .size: up to the next symbol or its section's end. */
			upto = c->v[i].section_end;
			if (i + 1 < nr && c->v[i + 1].start < upto)
				upto = c->v[i + 1].start;
		}
		if (upto > pos)
			err = array_push(&open, ((struct dso_symbol){ pos, upto, c->v[i].name,
								      NULL }));
	}
	free(open.v);
	if (err) {
		free(out.v);
		return err;
	}
	dso->symbols = out.v;
	dso->nr_symbols = out.nr;
	return 0;
}

static int dso__read_symtabs(struct dso *dso, Elf *elf)
{
	static const uint32_t tables[] = { SHT_SYMTAB, SHT_DYNSYM };
	candidates_t c = { 0 };
	Elf_Scn *scn;
	GElf_Shdr shdr;
	int err = 0;
	size_t i;

	/* .symtab has all that .dynsym has, and the local functions. */
	for (i = 0; i < ARRAY_SIZE(tables) && !c.nr && !err; i++) {
		scn = NULL;
		while (!err && (scn = elf_nextscn(elf, scn)))
			if (gelf_getshdr(scn, &shdr) && shdr.sh_type == tables[i])
				err = dso__read_symbols(dso, elf, scn, &shdr, &c);
	}
	if (!err)
		err = dso__build_symbols(dso, &c);
	free(c.v);
	return err;
}

/* Opens the file behind @dso. Return: 0, -ENXIO if there is none by its nature, or -errno. */
static int dso__map(struct dso *dso)
{
	size_t len = strlen(dso->path);
	char *path;
	int err;

	/* Without a build-id to compare nothing says that it is this kernel's. */
	if (!strcmp(dso->path, "[vdso]"))
		return dso->build_id_len ? dso__map_vdso(dso) : -ENXIO;
	if (dso->path[0] != '/' || dso->path[1] == '/')
		return -ENXIO;
	path = strdup(dso->path);
	if (!path)
		return -ENOMEM;
	/* Unlinked or replaced while it ran: the build-id tells whether the new one is the same. */
	if (dso->build_id_len && len > strlen(DELETED) &&
	    !strcmp(path + len - strlen(DELETED), DELETED))
		path[len - strlen(DELETED)] = 0;
	err = dso__map_file(dso, path);
	free(path);
	return err;
}

/* Return: whether the file at hand is the one that was mapped, as far as anybody can tell. */
static bool dso__same_build(const struct dso *dso, Elf *elf)
{
	const uint8_t *id = NULL;
	size_t len;

	if (!dso->build_id_len)
		return true;
	len = elf__build_id(elf, &id);
	return len == dso->build_id_len && !memcmp(id, dso->build_id, len);
}

/* Reads the file; leaves the reason in dso->why when it cannot be used. */
static void dsos__load(struct dsos *d, struct dso *dso)
{
	Elf *elf;
	int err;

	dso->state = DSO_NO_FILE;
	err = dso__map(dso);
	if (err) {
		if (err != -ENXIO)
			dso->why = strpool__internf(d->strings, ", cannot be read: %s",
						    err == -EINVAL ? "not a regular file" :
						    strerror(-err));
		return;
	}
	elf = elf_memory(dso->image, dso->image_bytes);
	if (!elf || elf_kind(elf) != ELF_K_ELF) {
		dso->state = DSO_NO_ELF;
		dso->why = ", not an ELF file";
		goto out;
	}
	if (!dso__same_build(dso, elf)) {
		dso->state = DSO_MISMATCH;
		dso->why = ", it has changed since the recording (build-id differs)";
		goto out;
	}
	err = dso__read_segments(dso, elf);
	if (!err)
		err = dso__read_symtabs(dso, elf);
	if (err) {
		dso->state = DSO_NO_ELF;
		dso->why = err == -EINVAL ? ": damaged ELF file" : ": out of memory";
		goto out;
	}
	dso->state = DSO_LOADED;
out:
	/* The names stay in the mapping; libelf frees only what it copied. */
	elf_end(elf);
}

struct dso_symbol *dsos__find_symbol(struct dsos *d, struct dso *dso, uint64_t offset,
				     uint64_t *vaddr)
{
	size_t lo = 0, hi, mid, i;

	*vaddr = offset;
	if (dso->state == DSO_UNTRIED)
		dsos__load(d, dso);
	if (dso->state != DSO_LOADED)
		return NULL;
	for (i = 0; i < dso->nr_segments; i++) {
		const struct dso_segment *seg = &dso->segments[i];

		if (seg->offset <= offset && offset < seg->end) {
			*vaddr = offset - seg->offset + seg->vaddr;
			break;
		}
	}
	if (i == dso->nr_segments)
		return NULL;
	for (hi = dso->nr_symbols; lo < hi;) {
		mid = lo + (hi - lo) / 2;
		if (dso->symbols[mid].end <= *vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == dso->nr_symbols || dso->symbols[lo].start > *vaddr)
		return NULL;
	return &dso->symbols[lo];
}

const char *dsos__symbol_name(struct dsos *d, struct dso_symbol *sym)
{
	char *name, *pretty = NULL;

	if (sym->pretty)
		return sym->pretty;
	/* .symtab of a library has the version behind the name: memcpy@@GLIBC_2.14. */
	name = strndup(sym->name, strcspn(sym->name + 1, "@") + 1);
	if (!name)
		return NULL;
	pretty = demangle(name);
	sym->pretty = strpool__intern(d->strings, pretty ? pretty : name,
				      strlen(pretty ? pretty : name));
	free(pretty);
	free(name);
	return sym->pretty;
}

void dsos__report(const struct dsos *d, struct msgs *msgs)
{
	const struct dso_entry *e;

	for (e = d->entries; e; e = e->hh.next)
		if (e->dso.why && e->dso.nr_unnamed)
			msgs__add(msgs, "%s: no symbols%s", e->dso.path, e->dso.why);
}
