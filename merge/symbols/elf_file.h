/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * elf_file.h - an ELF file in memory, with checked access to its parts by name
 *
 * All ELF files are opened here, with libelf. The files come from other people, and may be damaged
 * or malicious, so all returned data are checked to lie inside the image.
 */
#ifndef MERGE_ELF_FILE_H
#define MERGE_ELF_FILE_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_file {
	void *image;			/* NULL: the file is not open */
	size_t bytes;
	bool mapped;			/* false: the image is from malloc() */
	Elf *elf;
};

/* a part of a file, perhaps empty */
struct elf_bytes {
	const uint8_t *v;
	size_t nr;
	uint64_t addr;			/* the load address of the bytes, if they are loaded */
};

/**
 * elf_file__open - map a file and check that it is ELF
 * @f: not open
 * @path: must be a plain file: opening a device or a FIFO could have side effects, and is refused
 *
 * Return: 0, -EINVAL if it is not a plain file, -ENOEXEC if it is not ELF, or the error of open().
 */
int elf_file__open(struct elf_file *f, const char *path);

/* Opens an image in memory. @image is from malloc(), and @f owns it even after a failure. */
int elf_file__open_memory(struct elf_file *f, void *image, size_t bytes);

/* Opens the vdso of this process. Return: 0 or -errno. */
int elf_file__open_vdso(struct elf_file *f);

void elf_file__close(struct elf_file *f);

/* Return: the length of the build-id, with *@id pointing to it; 0 if the file has no build-id. */
size_t elf_file__build_id(const struct elf_file *f, const uint8_t **id);

/* Return: the section called @name, with its header in *@shdr; or NULL. */
Elf_Scn *elf_file__section(const struct elf_file *f, const char *name, GElf_Shdr *shdr);

/*
 * Return: the bytes of the section called @name as they are in the file; nr is 0 if the file has no
 * such section.
 */
struct elf_bytes elf_file__section_bytes(const struct elf_file *f, const char *name);

/*
 * Return: the bytes that are loaded at @addr, up to the end of that segment; nr is 0 if no bytes
 * are loaded there.
 */
struct elf_bytes elf_file__at(const struct elf_file *f, uint64_t addr);

/* Return: the lowest address of the first loaded segment; 0 if the file has no segment. */
uint64_t elf_file__base(const struct elf_file *f);

/* Return: DT_SONAME, or NULL. */
const char *elf_file__soname(const struct elf_file *f);

#endif /* MERGE_ELF_FILE_H */
