/* SPDX-License-Identifier: GPL-3.0-or-later */
/* threads.h - threads, each defined once in the file, and known by its id from then on */
#ifndef XPU_LOADER_THREADS_H
#define XPU_LOADER_THREADS_H

#include <stdint.h>

struct threads;
struct writer;

/* Return: NULL without memory. */
struct threads *threads__new(struct writer *w);
void threads__free(struct threads *t);

/* Return: the id of thread @tid, as xpuload's pid namespace numbers it; 0 without memory. */
uint32_t threads__id(struct threads *t, uint32_t proc_id, uint32_t tid);

/* Its own pid namespace calls it @ns_tid. */
void threads__learn(struct threads *t, uint32_t proc_id, uint32_t tid, uint32_t ns_tid);

/* Return: the tid of the thread that was learnt to be @ns_tid; if none was, @ns_tid. */
uint32_t threads__tid(const struct threads *t, uint32_t proc_id, uint32_t ns_tid);

#endif /* XPU_LOADER_THREADS_H */
