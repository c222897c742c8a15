/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * pycode.h - Python code objects of samples, read from the target's memory
 *
 * A sample names a code object by its address and a number computed from its members. Each such
 * pair gets an id, and a record with the code's names and line table, which the merger decodes.
 */
#ifndef XPU_LOADER_PYCODE_H
#define XPU_LOADER_PYCODE_H

#include <stdint.h>
#include <sys/types.h>

#include "xpu_record.h"

struct process;
struct processes;
struct pycodes;
struct writer;

/* Makes an empty set of Python's code objects. Return: NULL if memory runs out. */
struct pycodes *pycodes__new(struct writer *w, struct processes *ps);
void pycodes__free(struct pycodes *c);

/**
 * pycodes__id - find or make the id of a code object
 * @p: its process
 * @f: the frame of the code object
 * @nr_bad: incremented if the code object is unreadable; at LIMIT_BAD_CODES, nothing more is read
 *
 * Return: the id; 0 if the code object was freed or is invalid, or if a limit is exceeded.
 */
uint32_t pycodes__id(struct pycodes *c, struct process *p, const struct xpu_python_frame *f,
		     unsigned int *nr_bad);

#endif /* XPU_LOADER_PYCODE_H */
