/* SPDX-License-Identifier: GPL-3.0-or-later */
/* threads.h - threads: each is defined once in the file and known by its id from then on */
#ifndef XPU_LOADER_THREADS_H
#define XPU_LOADER_THREADS_H

#include <stdbool.h>
#include <stdint.h>

struct numbers;
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

/**
 * threads__end - a thread has ended
 * @time_ns: when; none that begins later is meant
 *
 * Its number may be another thread's from now on, which gets an id of its own. Return: the id that it had;
 * 0 if it had none.
 */
uint32_t threads__end(struct threads *t, struct process *p, uint32_t tid, uint64_t time_ns);

/* Whether it is worth a sweep: as many threads have ended, and settled, as live. */
bool threads__sweep_is_due(const struct process *p);

/* Adds the ids of all threads of which records may come as keys. Return: 0 or -ENOMEM. */
int threads__living(const struct process *p, struct numbers *ids);

#endif /* XPU_LOADER_THREADS_H */
