/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * pyelf.h - finds CPython's variables by the symbols of its executable or library
 *
 * The file may be hostile, so this runs in a process without privileges: see pyfind.h.
 */
#ifndef XPU_LOADER_PYELF_H
#define XPU_LOADER_PYELF_H

#include <stdint.h>

#include "xpu_record.h"

/**
 * pyelf__find - find the addresses and offsets for reading Python in a process that has mapped @fd
 * @fd: a file, open for reading
 * @start, @pgoff: an executable mapping of the file: its address and file offset
 * @minor: the minor version of Python 3, from the file's name, or 0; before 3.11, only the name has
 *	the version
 *
 * Return: 0, -ENOENT if the file has no interpreter, -EPROTO if the version is unknown, -EINVAL if
 * this is not a valid ELF file, or another negative errno.
 */
int pyelf__find(int fd, uint64_t start, uint64_t pgoff, unsigned int minor,
		struct xpu_python *python);

#endif /* XPU_LOADER_PYELF_H */
