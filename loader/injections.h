/* SPDX-License-Identifier: GPL-3.0-or-later */
/* injections.h - puts the shim into several processes, one after the other */
#ifndef XPU_LOADER_INJECTIONS_H
#define XPU_LOADER_INJECTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct injections;

/**
 * injections__new - make an empty list of processes
 * @shim: the path of the shim; this string must outlive the list
 *
 * Return: the list, or NULL if memory runs out.
 */
struct injections *injections__new(const char *shim);

void injections__free(struct injections *i);

/*
 * Adds a process without the shim, unless it was added before. A process that does not use CUDA
 * will be left alone, and may be added again. @late: the process has just loaded CUDA, so that a
 * refusal may be temporary, and further attempts follow.
 */
void injections__add(struct injections *i, pid_t pid, bool late);

/* Lets a process be added again, because it has ended or runs another program. */
void injections__forget(struct injections *i, pid_t pid);

/* Return: a descriptor that polls readable when injections__step() has something to do, or -1. */
int injections__fd(const struct injections *i);

/* Whether a process waits for its first turn, or an injection is in progress. */
bool injections__wait(const struct injections *i);

/**
 * injections__step - end one injection and begin the next one
 * @timeout_ms: maximum time to wait for the end of the injection in progress
 *
 * Prints a message if it has put the shim into a process, and for the first refusal of each kind.
 *
 * Return: the process whose injection has ended, and which may have the shim now; or 0.
 */
pid_t injections__step(struct injections *i, int timeout_ms);

/* Return: the number of processes into which the shim could not be put. */
uint64_t injections__nr_refused(const struct injections *i);

/*
 * Waits a short time for the injection in progress, and counts the processes whose turn has not
 * come.
 */
void injections__finish(struct injections *i);

/* Prints which processes have got the shim, and why other processes have not got the shim. */
void injections__print(const struct injections *i);

#endif /* XPU_LOADER_INJECTIONS_H */
