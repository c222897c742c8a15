/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * elf_file.h - an ELF file in memory, with checked access to its parts by name
 *
 * The only door to libelf. The files are other people's, and may be damaged or made to do harm:
 * whatever is returned lies inside the image.
 */
#ifndef MERGE_ELF_FILE_H
#define MERGE_ELF_FILE_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_file {
	void *image;			/* NULL: not open */
	size_t bytes;
	bool mapped;			/* else from malloc() */
	Elf *elf;
};

/* Bytes of a file, or none. */
struct elf_bytes {
	const uint8_t *v;
	size_t nr;
	uint64_t addr;			/* their address, if they are to be loaded */
};

/**
 * elf_file__open - map a file and see that it is ELF
 * @f: not open
 * @path: a plain file; opening a device or a FIFO could have effects, and is not done
 *
 * Return: 0, -EINVAL if it is no plain file, -ENOEXEC if it is not ELF, or what open() said.
 */
int elf_file__open(struct elf_file *f, const char *path);

/* Opens an image in memory from malloc(), which @f owns from now on, also on failure. */
int elf_file__open_memory(struct elf_file *f, void *image, size_t bytes);

/* The vdso of this process. Return: 0 or -errno. */
int elf_file__open_vdso(struct elf_file *f);

void elf_file__close(struct elf_file *f);

/* Return: length of the build-id, which *@id points to; 0 if there is none. */
size_t elf_file__build_id(const struct elf_file *f, const uint8_t **id);

/* Return: the section called @name, or NULL; its header in *@shdr. */
Elf_Scn *elf_file__section(const struct elf_file *f, const char *name, GElf_Shdr *shdr);

/* Return: the bytes of the section called @name as they are in the file; nr 0 if it has none. */
struct elf_bytes elf_file__section_bytes(const struct elf_file *f, const char *name);

/* Return: the bytes that are loaded at @addr, up to the end of that segment; nr 0 if none are. */
struct elf_bytes elf_file__at(const struct elf_file *f, uint64_t addr);

/* Return: lowest address of the first segment to load; 0 if there is none. */
uint64_t elf_file__base(const struct elf_file *f);

/* Return: DT_SONAME, or NULL. */
const char *elf_file__soname(const struct elf_file *f);

#endif /* MERGE_ELF_FILE_H */
