/* SPDX-License-Identifier: GPL-3.0-or-later */
/* threads.h - threads, each defined once in the file, and known by its id from then on */
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
 * Those beyond the limit are one thread, whose tid is 0; @p->nr_beyond counts how often.
 */
uint32_t threads__id(struct threads *t, struct process *p, uint32_t tid);

/* Its own pid namespace calls it @ns_tid. */
void threads__learn(struct threads *t, struct process *p, uint32_t tid, uint32_t ns_tid);

/* Return: the tid of the thread that was learnt to be @ns_tid; if none was, @ns_tid. */
uint32_t threads__tid(const struct process *p, uint32_t ns_tid);

#endif /* XPU_LOADER_THREADS_H */
