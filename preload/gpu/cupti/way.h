/* SPDX-License-Identifier: MIT */
/* way.h - asks the shim's thread to give way to the program, which wants CUPTI for itself */
#ifndef XPU_PRELOAD_CUPTI_WAY_H
#define XPU_PRELOAD_CUPTI_WAY_H

#include <stdbool.h>

/*
 * Sets the functions that let go of CUPTI and take it again. They run on the shim's thread. If the
 * shim has no thread, @yield runs on the calling thread. Must be called before life__used().
 */
void way__init(void (*yield)(void), void (*join)(void));

/*
 * Waits until the shim has let go of CUPTI. Called when the program is about to call CUPTI's
 * @function, which serves only one user.
 */
void way__yield(const char *function);

/* Return: the CUPTI function that the program last wanted to call. */
const char *way__function(void);

/*
 * Makes room for another subscriber, like way__yield(). Called when the program is about to call
 * @function, which subscribes alongside others. After that call, way__join() waits until the shim
 * has subscribed again; until then way__is_joining() returns true.
 */
void way__make_room(const char *function);
void way__join(void);
bool way__is_joining(void);
void way__has_joined(void);

#endif /* XPU_PRELOAD_CUPTI_WAY_H */
