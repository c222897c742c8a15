/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ksyms.h - names of the functions of Linux, read while the same Linux still runs
 *
 * The addresses change with every boot, and only root may read them. So the names of the functions
 * that a recording needs are written into it, each once.
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
 * Writes a KSYM record for the function that contains @addr, as soon as the names are read, unless
 * the function is unknown or already written.
 */
void ksyms__write(struct ksyms *k, uint64_t addr, struct writer *w);

/* Writes the KSYM records that still wait for names. */
void ksyms__finish(struct ksyms *k, struct writer *w);

#endif /* XPU_LOADER_KSYMS_H */
