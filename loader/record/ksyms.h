/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ksyms.h - names of kernel functions, read while the same kernel still runs
 *
 * The addresses change with every boot, and only root may read them. So a recording contains the
 * names of the functions that it needs, each once.
 */
#ifndef XPU_LOADER_KSYMS_H
#define XPU_LOADER_KSYMS_H

#include <stdint.h>

struct ksyms;
struct writer;

/*
 * Return: NULL if memory runs out. A thread starts to read /proc/kallsyms at the first
 * ksyms__write().
 */
struct ksyms *ksyms__new(void);
void ksyms__free(struct ksyms *k);

/*
 * Writes a KSYM record for the function that contains @addr, unless the function is unknown or
 * already has a record. If the names have not been read yet, writes the record later.
 */
void ksyms__write(struct ksyms *k, uint64_t addr, struct writer *w);

/* Waits for the names, and writes the KSYM records that need them. */
void ksyms__finish(struct ksyms *k, struct writer *w);

#endif /* XPU_LOADER_KSYMS_H */
