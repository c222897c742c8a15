/* SPDX-License-Identifier: MIT */
/* life.h - what the rooms may ask of the shim's life cycle, which is shim.c's */
#ifndef XPU_PRELOAD_LIFE_H
#define XPU_PRELOAD_LIFE_H

#include <stdbool.h>

/*
 * The process is about to end, or to run another program, without exit handlers: what is finished
 * on the devices is sent, as long as a second brings that further. Async-signal-safe; does nothing in a
 * process that does not use CUDA, in a forked or vforked child, and when nobody listens.
 */
void shim__before_end(void);

/*
 * What is to be done before anything else, once: which probe sites are this process's, and that it
 * and its children are injected. Others' constructors may call in here before the shim's own has
 * run.
 */
void shim__load(void);

/*
 * The calling thread has got something of the shim's: when it ends, ranges__exit() and
 * launch__exit() are called, in this order. Return: whether they will be. Safe in signal handlers.
 */
bool shim__watch_thread(void);

/*
 * The program is about to call @function of CUPTI, which is for one user only. Waits until it is
 * free.
 */
void shim__yield(const char *function);

/* ends.c, called when the shim is loaded. */
void ends__init(void);

#endif /* XPU_PRELOAD_LIFE_H */
