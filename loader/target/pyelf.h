/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * pyelf.h - where CPython keeps its things, by the symbols of its executable or library
 *
 * The file is somebody else's, so this runs in no process that has anything to lose: see pyfind.h.
 */
#ifndef XPU_LOADER_PYELF_H
#define XPU_LOADER_PYELF_H

#include <stdint.h>

#include "xpu_record.h"

/**
 * pyelf__find - what a process that has mapped @fd is to be read by
 * @fd: a file, open for reading
 * @start, @pgoff: an executable mapping of it: address, and bytes into the file
 * @minor: of Python 3, as the file's name has it, or 0; before 3.11 nothing else tells
 *
 * Return: 0; -ENOENT if the interpreter is not in there, -EPROTO if it is of a version that is not
 * known, -EINVAL if this is no such file, or a negative errno of reading it.
 */
int pyelf__find(int fd, uint64_t start, uint64_t pgoff, unsigned int minor,
		struct xpu_python *python);

#endif /* XPU_LOADER_PYELF_H */
