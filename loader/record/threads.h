/* SPDX-License-Identifier: GPL-3.0-or-later */
/* threads.h - threads: each is defined once in the file, and later records refer to its id */
#ifndef XPU_LOADER_THREADS_H
#define XPU_LOADER_THREADS_H

#include <stdbool.h>
#include <stdint.h>

struct numbers;
struct process;
struct processes;
struct threads;
struct writer;

/* Makes an empty set of threads. Return: NULL if memory runs out. */
struct threads *threads__new(struct writer *w, struct processes *ps);
void threads__free(struct threads *t);

/*
 * Return: the id of thread @tid of @p; 0 if memory runs out. @tid is a number in xpuload's pid
 * namespace. Threads beyond the limit share one id, with tid 0; @p->nr_beyond counts how often this
 * id is returned.
 */
uint32_t threads__id(struct threads *t, struct process *p, uint32_t tid);

/* Notes that thread @tid has the number @ns_tid in its own pid namespace. */
void threads__learn(struct threads *t, struct process *p, uint32_t tid, uint32_t ns_tid);

/* Return: the tid that threads__learn() has noted for @ns_tid; @ns_tid if the tid is unknown. */
uint32_t threads__tid(const struct process *p, uint32_t ns_tid);

/* Return: the id of thread @tid if it lives and has an id, or 0. */
uint32_t threads__known(const struct process *p, uint32_t tid);

/**
 * threads__end - remove a thread that has ended
 * @time_ns: when it ended; a process that began later is not affected
 *
 * A new thread with the same tid gets another id. Return: the ended thread's id, or 0.
 */
uint32_t threads__end(struct threads *t, struct process *p, uint32_t tid, uint64_t time_ns);

/* Whether a sweep is worthwhile: more threads have ended and settled than are alive. */
bool threads__sweep_is_due(const struct process *p);

/*
 * Adds the ids of all threads that may still have records to @ids, as keys. Return: 0 or -ENOMEM.
 */
int threads__living(const struct process *p, struct numbers *ids);

#endif /* XPU_LOADER_THREADS_H */
