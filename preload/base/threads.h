/* SPDX-License-Identifier: MIT */
/*
 * threads.h - the other threads of the process
 */
#ifndef XPU_PRELOAD_THREADS_H
#define XPU_PRELOAD_THREADS_H

#include <stdint.h>

/*
 * Waits until every other thread has left the code that it was in when this was called: it has used
 * some ms of CPU time since, or it sleeps in the kernel, or it has ended. Makes system calls for
 * each thread: not for threads that launch. Gives up after @timeout_ns.
 *
 * Return: how many threads have not left it; -errno if the threads cannot be listed, after a pause.
 */
int threads__wait_moved(uint64_t timeout_ns);

/*
 * Every other thread runs a full memory barrier: what it stored before is visible to the caller, and what
 * the caller stored before is visible to it. Costs the other threads nothing at other times.
 */
void threads__barrier(void);

#endif /* XPU_PRELOAD_THREADS_H */
