/* SPDX-License-Identifier: MIT */
/* life.h - functions of the shim's life cycle (shim.c) that the other folders call */
#ifndef XPU_PRELOAD_LIFE_H
#define XPU_PRELOAD_LIFE_H

#include <stdbool.h>

/*
 * The process is about to end, or to run another program, without exit handlers: sends finished
 * device work, and gives up after a second without progress. Async-signal-safe; does nothing in a
 * process that does not use CUDA, in a forked or vforked child, and when nobody listens.
 */
void shim__before_end(void);

/*
 * Sets the shim up, once, before anything else: chooses this process's probe sites, and makes the
 * driver inject the shim into the process and its children. Other libraries' constructors may call
 * the shim before its own constructor has run.
 */
void shim__load(void);

/*
 * Makes the calling thread call ranges__exit() and launch__exit(), in this order, when it ends; for
 * threads that own memory of the shim. Return: whether it will. Safe in signal handlers.
 */
bool shim__watch_thread(void);

/*
 * The program is about to call @function of CUPTI, which serves one user only. Waits until the shim
 * has let go of CUPTI.
 */
void shim__yield(const char *function);

/*
 * The program is about to call @function, which subscribes alongside others: does the work of
 * shim__yield(), unless the shim is one of several subscribers already. After the call of
 * @function, shim__join() waits until the shim has subscribed again.
 */
void shim__make_room(const char *function);
void shim__join(void);

/*
 * The calling thread opens or closes a window of the recording; it holds capture__lock(). Does
 * nothing while nobody listens.
 */
void shim__open_window(void);
void shim__close_window(void);

/* In ends.c; called when the shim is loaded. */
void ends__init(void);

#endif /* XPU_PRELOAD_LIFE_H */
