/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ksyms.h - names of the kernel's functions, while they are these
 *
 * Which address is what changes with every boot, and only root may ask: so the recording gets the
 * names of the functions that it needs, each once.
 */
#ifndef XPU_LOADER_KSYMS_H
#define XPU_LOADER_KSYMS_H

#include <stdint.h>

struct ksyms;
struct writer;

/* Return: NULL without memory. A thread reads /proc/kallsyms from when the first name is wanted. */
struct ksyms *ksyms__new(void);
void ksyms__free(struct ksyms *k);

/*
 * Writes a KSYM record for the function that @addr is in, once the names are read, unless it is
 * written or not known.
 */
void ksyms__write(struct ksyms *k, uint64_t addr, struct writer *w);

/* Writes those that are still to be written. */
void ksyms__finish(struct ksyms *k, struct writer *w);

#endif /* XPU_LOADER_KSYMS_H */
