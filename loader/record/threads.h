/* SPDX-License-Identifier: GPL-3.0-or-later */
/* threads.h - threads: each is defined once in the file and known by its id from then on */
#ifndef XPU_LOADER_THREADS_H
#define XPU_LOADER_THREADS_H

#include <stdint.h>

struct process;
struct processes;
struct threads;
struct writer;

/* Return: NULL without memory. */
struct threads *threads__new(struct writer *w, struct processes *ps);
void threads__free(struct threads *t);

/*
 * Return: the id of thread @tid of @p, as xpuload's pid namespace numbers it; 0 without memory.
 * Threads beyond the limit share the id of one thread, whose tid is 0; @p->nr_beyond counts such
 * calls.
 */
uint32_t threads__id(struct threads *t, struct process *p, uint32_t tid);

/* Notes that thread @tid is @ns_tid in its own pid namespace. */
void threads__learn(struct threads *t, struct process *p, uint32_t tid, uint32_t ns_tid);

/* Return: the tid of the thread that threads__learn() gave as @ns_tid; @ns_tid if there is none. */
uint32_t threads__tid(const struct process *p, uint32_t ns_tid);

#endif /* XPU_LOADER_THREADS_H */
