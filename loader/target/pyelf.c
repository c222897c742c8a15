// SPDX-License-Identifier: GPL-3.0-or-later
#include "target/pyelf.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/arch.h"
#include "xpu_pylayout.h"

#define MAX_SEGMENTS	64
#define MAX_SECTIONS	1024
#define MAX_TABLE	(64u << 20)	/* maximum bytes of a symbol table, or of its names */
#define PAGE_BYTES	4096

enum { PY_RUNTIME, PY_CODE, PY_UNICODE, PY_VERSION_HEX, NR_NAMES };

static const char *const names[NR_NAMES] = {
	[PY_RUNTIME] = "_PyRuntime", [PY_CODE] = "PyCode_Type", [PY_UNICODE] = "PyUnicode_Type",
	[PY_VERSION_HEX] = "Py_Version",
};

struct pyelf {
	int fd;
	unsigned int nr_segments;
	Elf64_Phdr segments[MAX_SEGMENTS];
	uint64_t found[NR_NAMES];	/* addresses in the file; 0: not found */
};

static int read_all(int fd, void *to, size_t bytes, uint64_t offset)
{
	size_t done;
	ssize_t n;

	if (offset > INT64_MAX - bytes)
		return -EINVAL;
	for (done = 0; done < bytes; done += n) {
		n = pread(fd, (char *)to + done, bytes - done, offset + done);
		if (n < 0 && errno == EINTR)
			n = 0;
		else if (n <= 0)
			return n ? -errno : -EINVAL;
	}
	return 0;
}

/*
 * Return: a copy of @bytes of the file at @offset, with a 0 added, for the caller to free; or NULL
 * and *@err.
 */
static void *read_table(int fd, uint64_t offset, uint64_t bytes, int *err)
{
	char *table = bytes && bytes <= MAX_TABLE ? malloc(bytes + 1) : NULL;

	*err = bytes && bytes <= MAX_TABLE ? table ? 0 : -ENOMEM : -EINVAL;
	if (!*err)
		*err = read_all(fd, table, bytes, offset);
	if (*err) {
		free(table);
		return NULL;
	}
	table[bytes] = '\0';
	return table;
}

static int pyelf__read_head(struct pyelf *e, Elf64_Ehdr *head)
{
	int err = read_all(e->fd, head, sizeof(*head), 0);

	if (err)
		return err;
	if (memcmp(head->e_ident, ELFMAG, SELFMAG) || head->e_ident[EI_CLASS] != ELFCLASS64 ||
	    head->e_ident[EI_DATA] != ELFDATA2LSB || head->e_machine != ARCH_ELF ||
	    head->e_phentsize != sizeof(Elf64_Phdr) || head->e_phnum > MAX_SEGMENTS ||
	    head->e_shentsize != sizeof(Elf64_Shdr) || !head->e_shnum ||
	    head->e_shnum > MAX_SECTIONS)
		return -EINVAL;
	e->nr_segments = head->e_phnum;
	return read_all(e->fd, e->segments, e->nr_segments * sizeof(e->segments[0]), head->e_phoff);
}

static int pyelf__read_symbols(struct pyelf *e, const Elf64_Shdr *table, const Elf64_Shdr *strings)
{
	uint64_t i;
	char *text;
	int err, k;
	Elf64_Sym *syms = read_table(e->fd, table->sh_offset, table->sh_size, &err);

	if (!syms)
		return err;
	text = read_table(e->fd, strings->sh_offset, strings->sh_size, &err);
	for (i = 0; text && i < table->sh_size / sizeof(*syms); i++) {
		if (syms[i].st_shndx == SHN_UNDEF || syms[i].st_name >= strings->sh_size ||
		    ELF64_ST_TYPE(syms[i].st_info) != STT_OBJECT)
			continue;
		for (k = 0; k < NR_NAMES; k++)
			if (!strcmp(text + syms[i].st_name, names[k]))
				e->found[k] = syms[i].st_value;
	}
	free(text);
	free(syms);
	return err;
}

/*
 * Reads the file's bytes for the address @vaddr. Fails for zero-filled memory, which is not in the
 * file. Return: 0 or a negative errno.
 */
static int pyelf__read_data(const struct pyelf *e, uint64_t vaddr, void *to, size_t bytes)
{
	unsigned int i;

	for (i = 0; i < e->nr_segments; i++) {
		const Elf64_Phdr *s = &e->segments[i];

		uint64_t at = vaddr - s->p_vaddr;

		if (s->p_type == PT_LOAD && vaddr >= s->p_vaddr && at < s->p_filesz &&
		    s->p_filesz - at >= bytes)
			return read_all(e->fd, to, bytes, s->p_offset + at);
	}
	return -EINVAL;
}

/* Sets *@bias to the difference between the process's addresses and the file's addresses. */
static bool pyelf__bias(const struct pyelf *e, uint64_t start, uint64_t pgoff, uint64_t *bias)
{
	unsigned int i;

	for (i = 0; i < e->nr_segments; i++) {
		const Elf64_Phdr *s = &e->segments[i];

		if (s->p_type != PT_LOAD || !(s->p_flags & PF_X) ||
		    pgoff < (s->p_offset & -(uint64_t)PAGE_BYTES) ||
		    pgoff - (s->p_offset & -(uint64_t)PAGE_BYTES) >= s->p_filesz + PAGE_BYTES)
			continue;
		*bias = start - (s->p_vaddr + (pgoff - s->p_offset));
		return true;
	}
	return false;
}

/*
 * Finds the version, encoded as in PY_VERSION_HEX. If only the file's name has the version, the
 * micro version is unknown.
 */
static int pyelf__version(const struct pyelf *e, unsigned int minor, unsigned long *version)
{
	uint64_t value;
	int err;

	*version = 3ul << 24 | minor << 16 | 0xf0;
	if (!e->found[PY_VERSION_HEX])
		return minor ? 0 : -EPROTO;
	err = pyelf__read_data(e, e->found[PY_VERSION_HEX], &value, sizeof(value));
	*version = err ? 0 : value;
	return err;
}

int pyelf__find(int fd, uint64_t start, uint64_t pgoff, unsigned int minor,
		struct xpu_python *python)
{
	struct py_debug_offsets debug;
	struct pyelf e = { .fd = fd };
	unsigned long version;
	struct py_layout l;
	Elf64_Shdr *sections;
	Elf64_Ehdr head;
	uint64_t bias;
	int err, i;

	err = pyelf__read_head(&e, &head);
	if (err)
		return err;
	sections = read_table(fd, head.e_shoff, head.e_shnum * sizeof(*sections), &err);
	for (i = 0; !err && i < head.e_shnum; i++)
		if ((sections[i].sh_type == SHT_DYNSYM || sections[i].sh_type == SHT_SYMTAB) &&
		    sections[i].sh_link < head.e_shnum)
			err = pyelf__read_symbols(&e, &sections[i], &sections[sections[i].sh_link]);
	free(sections);
	if (err)
		return err;
	if (!e.found[PY_RUNTIME] || !e.found[PY_CODE] || !e.found[PY_UNICODE] ||
	    !pyelf__bias(&e, start, pgoff, &bias))
		return -ENOENT;
	err = pyelf__version(&e, minor, &version);
	if (err)
		return err;
	if (!py_layout__find(version, &l))
		return -EPROTO;
	if (l.minor == 13) {
		err = pyelf__read_data(&e, e.found[PY_RUNTIME], &debug, sizeof(debug));
		if (err || !py_layout__debug(&l, &debug))
			return err ?: -EPROTO;
	}
	*python = py_layout__wire(&l);
	python->runtime = e.found[PY_RUNTIME] + bias;
	python->code_type = e.found[PY_CODE] + bias;
	python->unicode_type = e.found[PY_UNICODE] + bias;
	return 0;
}
