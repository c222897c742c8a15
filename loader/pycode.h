/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * pycode.h - Python code objects that samples have met, read from the target's memory
 *
 * A sample names a code object by its address and a number made of what is in it. Each such pair
 * gets an id, and once a record with its names and line table, raw: the merger makes sense of them.
 */
#ifndef XPU_LOADER_PYCODE_H
#define XPU_LOADER_PYCODE_H

#include <stdint.h>
#include <sys/types.h>

#include "xpu_record.h"

struct pycodes;
struct writer;

/* Return: NULL without memory. */
struct pycodes *pycodes__new(void);
void pycodes__free(struct pycodes *p);

/* Remembers where things are in the interpreter of an image. Return: 0 or -ENOMEM. */
int pycodes__add_python(struct pycodes *p, uint32_t proc_id, const struct xpu_python *python);

/**
 * pycodes__id - the id of a code object
 * @proc_id, @pid: the process
 * @python_from: the image whose interpreter it has by a fork, 0 if it is its own
 * @f: the frame that it is of
 *
 * Return: 0 if it cannot be told: it is gone, or never was one.
 */
uint32_t pycodes__id(struct pycodes *p, uint32_t proc_id, uint32_t python_from, pid_t pid,
		     const struct xpu_python_frame *f, struct writer *w);

#endif /* XPU_LOADER_PYCODE_H */
