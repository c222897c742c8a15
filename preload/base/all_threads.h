/* SPDX-License-Identifier: MIT */
/*
 * all_threads.h - the other threads of the process
 */
#ifndef XPU_PRELOAD_ALL_THREADS_H
#define XPU_PRELOAD_ALL_THREADS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Waits until every other thread has left the code that it ran when this was called: until the
 * thread has used some ms of CPU time, sleeps in the kernel, or has ended. Makes system calls for
 * each thread, so threads that launch must not call it. Gives up after @timeout_ns.
 *
 * Return: how many threads have not left that code. If the threads cannot be listed, pauses and
 * returns -errno.
 */
int all_threads__wait_moved(uint64_t timeout_ns);

/*
 * Makes every other thread run a full memory barrier. Afterwards the caller sees all earlier stores
 * of the other threads, and the other threads see all earlier stores of the caller. This costs the
 * other threads time only when it is called.
 */
void all_threads__barrier(void);

/*
 * Sets the function that is called as a watched thread ends. Must be called early, to get one of
 * the process's first pthread keys: when a thread first uses a later key, the C library allocates
 * memory, which a signal handler must not do.
 */
void all_threads__call_at_end(void (*fn)(void));

/*
 * Watches for the end of the calling thread, which has memory of the shim. Return: whether
 * all_threads__call_at_end()'s function will be called. Safe in signal handlers.
 */
bool all_threads__watch_end(void);

#endif /* XPU_PRELOAD_ALL_THREADS_H */
