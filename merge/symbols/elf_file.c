// SPDX-License-Identifier: GPL-3.0-or-later
#include "symbols/elf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "xpu_record.h"

/* Begins to read a file. Return: 0; or -ENOEXEC, with the file closed. */
static int elf_file__begin(struct elf_file *f)
{
	elf_version(EV_CURRENT);
	f->elf = elf_memory(f->image, f->bytes);
	if (f->elf && elf_kind(f->elf) == ELF_K_ELF)
		return 0;
	elf_file__close(f);
	return -ENOEXEC;
}

int elf_file__open(struct elf_file *f, const char *path)
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
	if (!S_ISREG(st.st_mode) || (uintmax_t)st.st_size > SIZE_MAX) {
		err = -EINVAL;
		goto out;
	}
	if (!st.st_size) {
		err = -ENOEXEC;
		goto out;
	}
	/* libelf's interface to memory is not const, so the mapping is writable, but private. */
	image = mmap(NULL, st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, fd, 0);
	if (image == MAP_FAILED) {
		err = -errno;
		goto out;
	}
	*f = (struct elf_file){ .image = image, .bytes = st.st_size, .mapped = true };
	err = elf_file__begin(f);
out:
	close(fd);
	return err;
}

int elf_file__open_memory(struct elf_file *f, void *image, size_t bytes)
{
	*f = (struct elf_file){ .image = image, .bytes = bytes };
	return elf_file__begin(f);
}

int elf_file__open_vdso(struct elf_file *f)
{
	unsigned long start = getauxval(AT_SYSINFO_EHDR), from, to;
	int err = -ENOENT;
	char line[256];
	void *image;
	FILE *maps;

	if (!start)
		return -ENOENT;
	maps = fopen("/proc/self/maps", "re");
	if (!maps)
		return -errno;
	while (fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx", &from, &to) != 2 || from != start)
			continue;
		image = malloc(to - from);
		if (image)
			memcpy(image, (const void *)from, to - from);
		err = image ? elf_file__open_memory(f, image, to - from) : -ENOMEM;
		break;
	}
	fclose(maps);
	return err;
}

void elf_file__close(struct elf_file *f)
{
	elf_end(f->elf);
	if (f->image && f->mapped)
		munmap(f->image, f->bytes);
	else
		free(f->image);
	memset(f, 0, sizeof(*f));
}

/* ---- build-id ------------------------------------------------------------------------------- */

/* Return: length of the GNU build-id found in a run of notes, 0 if none is found. */
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

size_t elf_file__build_id(const struct elf_file *f, const uint8_t **id)
{
	size_t nr, i, len = 0;
	Elf_Scn *scn = NULL;
	GElf_Phdr phdr;
	GElf_Shdr shdr;

	if (!elf_getphdrnum(f->elf, &nr))
		for (i = 0; i < nr && !len; i++)
			if (gelf_getphdr(f->elf, i, &phdr) && phdr.p_type == PT_NOTE)
				len = notes__build_id(elf_getdata_rawchunk(f->elf, phdr.p_offset,
									   phdr.p_filesz,
									   phdr.p_align == 8 ?
									   ELF_T_NHDR8 :
									   ELF_T_NHDR), id);
	/* A debug file keeps the section, but its segment has no bytes. */
	while (!len && (scn = elf_nextscn(f->elf, scn)))
		if (gelf_getshdr(scn, &shdr) && shdr.sh_type == SHT_NOTE)
			len = notes__build_id(elf_getdata(scn, NULL), id);
	return len;
}

/* ---- parts ---------------------------------------------------------------------------------- */

Elf_Scn *elf_file__section(const struct elf_file *f, const char *name, GElf_Shdr *shdr)
{
	Elf_Scn *scn = NULL;
	const char *s;
	size_t names;

	if (elf_getshdrstrndx(f->elf, &names))
		return NULL;
	while ((scn = elf_nextscn(f->elf, scn))) {
		if (!gelf_getshdr(scn, shdr))
			continue;
		s = elf_strptr(f->elf, names, shdr->sh_name);
		if (s && !strcmp(s, name))
			return scn;
	}
	return NULL;
}

static struct elf_bytes elf_file__range(const struct elf_file *f, uint64_t offset, uint64_t nr,
					uint64_t addr)
{
	if (offset > f->bytes || nr > f->bytes - offset)
		return (struct elf_bytes){ NULL, 0, 0 };
	return (struct elf_bytes){ (const uint8_t *)f->image + offset, nr, addr };
}

struct elf_bytes elf_file__section_bytes(const struct elf_file *f, const char *name)
{
	GElf_Shdr shdr;

	if (!elf_file__section(f, name, &shdr) || shdr.sh_type == SHT_NOBITS)
		return (struct elf_bytes){ NULL, 0, 0 };
	return elf_file__range(f, shdr.sh_offset, shdr.sh_size, shdr.sh_addr);
}

struct elf_bytes elf_file__at(const struct elf_file *f, uint64_t addr)
{
	GElf_Phdr phdr;
	size_t nr, i;

	if (!elf_getphdrnum(f->elf, &nr))
		for (i = 0; i < nr; i++)
			if (gelf_getphdr(f->elf, i, &phdr) && phdr.p_type == PT_LOAD &&
			    addr >= phdr.p_vaddr && addr - phdr.p_vaddr < phdr.p_filesz)
				return elf_file__range(f, phdr.p_offset + (addr - phdr.p_vaddr),
						       phdr.p_filesz - (addr - phdr.p_vaddr),
						       addr);
	return (struct elf_bytes){ NULL, 0, 0 };
}

uint64_t elf_file__base(const struct elf_file *f)
{
	GElf_Phdr phdr;
	size_t nr, i;

	if (!elf_getphdrnum(f->elf, &nr))
		for (i = 0; i < nr; i++)
			if (gelf_getphdr(f->elf, i, &phdr) && phdr.p_type == PT_LOAD)
				return phdr.p_vaddr;
	return 0;
}

const char *elf_file__soname(const struct elf_file *f)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	Elf_Data *data;
	GElf_Dyn dyn;
	int i;

	while ((scn = elf_nextscn(f->elf, scn))) {
		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type != SHT_DYNAMIC)
			continue;
		data = elf_getdata(scn, NULL);
		for (i = 0; data && gelf_getdyn(data, i, &dyn) && dyn.d_tag != DT_NULL; i++)
			if (dyn.d_tag == DT_SONAME)
				return elf_strptr(f->elf, shdr.sh_link, dyn.d_un.d_val);
	}
	return NULL;
}
