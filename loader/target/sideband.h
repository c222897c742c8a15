/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sideband.h - mmap, comm, fork and exit events of the target's process tree
 *
 * From the kernel's own perf events, inherited from parent to child: what perf record uses.
 */
#ifndef XPU_LOADER_SIDEBAND_H
#define XPU_LOADER_SIDEBAND_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct keeper;
struct pyfind;
struct sideband;
struct writer;

/**
 * sideband__open - follow @pid and all that it forks from now on
 * @pid: or -1: the processes given to sideband__adopt(), and all that they fork
 *
 * Return: 0 or a negative errno; -EACCES or -EPERM without CAP_PERFMON.
 */
int sideband__open(pid_t pid, struct sideband **s);
void sideband__close(struct sideband *s);

/**
 * sideband__adopt - take up a process that runs already
 * @since_ns: when it was known to run
 *
 * Writes what it has mapped and what it and its threads are called, as /proc tells it now; nothing
 * of a process that permit__check() refuses.
 */
void sideband__adopt(struct sideband *s, pid_t pid, uint64_t since_ns, struct writer *w);

/* A process has ended, at @time_ns: soon there are no more events of it. */
void sideband__process_exit(struct sideband *s, pid_t pid, uint64_t time_ns);

/* Takes up the process that sideband__open() was given, of which there is nothing to be told yet. */
void sideband__follow(struct sideband *s, pid_t pid);

/*
 * What the programs in the kernel say of a process, with its time: its new image is its invoker's
 * to read; it is not any more; it has ended. Where it matters, what a new image maps is told of
 * only when one of these has come.
 */
enum sideband_word { SIDEBAND_ALLOWED, SIDEBAND_STOPPED, SIDEBAND_ENDED };
void sideband__hear(struct sideband *s, pid_t pid, enum sideband_word word, uint64_t time_ns);

/* Has @k told of each executable mapping. It must outlive @s, or be NULL. */
void sideband__set_keeper(struct sideband *s, struct keeper *k);

/* The same of @f. */
void sideband__set_pyfind(struct sideband *s, struct pyfind *f);

/* One file descriptor that polls readable when events wait; owned by @s. */
int sideband__fd(const struct sideband *s);

/*
 * Turns the events before @until_ns into records. Whatever the kernel's programs have said before
 * then must have been heard.
 */
void sideband__drain(struct sideband *s, uint64_t until_ns, struct writer *w);

/* Whether events are there, and wait for a word to be heard: polling for more is no use. */
bool sideband__waits(const struct sideband *s);

/* Events that the kernel could not deliver, so far. */
uint64_t sideband__nr_lost(const struct sideband *s);

#endif /* XPU_LOADER_SIDEBAND_H */
