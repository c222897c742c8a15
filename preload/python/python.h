/* SPDX-License-Identifier: MIT */
/*
 * python.h - CPython's frames in the call chains of launching threads
 *
 * What a Python program launches from is written in the interpreter's own structures, not on the
 * machine's stack: there, each stretch of Python calls is one frame of the evaluation loop,
 * _PyEval_EvalFrameDefault(). A thread that launches reads its own PyThreadState, from the frame
 * that runs outwards, and puts the Python frames in the place of the loop's. Its frames, and what
 * they refer to, stay as long as the thread is in here, with the GIL or without; so the GIL is not
 * taken, no Python code runs, and nothing of the interpreter is written to.
 *
 * A loop's place on the stack is known exactly where the interpreter keeps something of each loop
 * there (3.10 and later), and by the bounds of the function's symbol before.
 *
 * What an instruction's line is and what its code object is called is found out once. Each thread
 * remembers it by address, and makes sure that there still is what was there. What cannot be read
 * or is not what CPython 3.8 to 3.13 have there switches all of this off, and that is said.
 */
#ifndef XPU_PRELOAD_PYTHON_H
#define XPU_PRELOAD_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "python/mode.h"
#include "xpu_slot.h"

struct python;		/* of one thread: what it remembers, and room for its chain */

/**
 * python__chain - put the calling thread's Python frames into its call chain
 * @p: the calling thread's, NULL before its first use
 * @level: how many launches of this thread this one interrupts; with any, there are no Python
 * frames
 * @stack: for each frame in @slot, where its function's stack begins; NULL with PYTHON_ONLY
 * @slot: has the native call chain; gets the merged one
 */
void python__chain(struct python **p, unsigned int level, const uint64_t *stack,
		   struct xpu_slot *slot);

/*
 * All that the last python__chain() at level 0 was made from, but for the native chain: while that
 * is the same, so are Python's frames. Each of them is read once the one inside of it has been
 * found to lead there, as walking does; but where it is, and what is expected there, is known
 * beforehand, so the processor need not wait. From Python 3.12 on, where code objects have version
 * numbers.
 */
struct python_trace;

/* What it takes; 0 if there is none. Of NULL, too. */
size_t python__trace_bytes(const struct python *p);

/* Another one means another trace, though not the other way round. */
uint64_t python__trace_key(const struct python *p);

/* Writes it there. */
void python__trace(const struct python *p, struct python_trace *trace);

/* Whether all is still the same on the calling thread. */
bool python__holds(const struct python_trace *trace);

/* When its thread is gone. Takes NULL. */
void python__free(struct python *p);

/* Packs the definitions that launches have made necessary. Under the activity lock.
 * Return: whether there were any. */
bool python__drain(void);

#endif /* XPU_PRELOAD_PYTHON_H */
