/* SPDX-License-Identifier: MIT */
/*
 * python.h - CPython's frames in the call chains of launching threads
 *
 * The call path of a Python program is in the interpreter's own structures, not on the machine's
 * stack. For a series of Python calls, the stack has only one frame of the evaluation loop,
 * _PyEval_EvalFrameDefault(). A thread that launches reads the frames of its own PyThreadState,
 * from the innermost outwards, and replaces the loop's frames with them. The thread's frames, and
 * the objects that they refer to, stay valid while the thread is in this code, with or without the
 * GIL. So this code does not take the GIL, runs no Python code, and writes to nothing in the
 * interpreter.
 *
 * In CPython 3.10 and later, the interpreter keeps a structure on the stack for each loop. The
 * structure's address shows which native frame is the loop. Before 3.10, a loop is found by the
 * bounds of the function's symbol.
 *
 * The line of an instruction and the name of its code object are looked up once. Each thread
 * remembers them by address, and checks that the code object is unchanged. If memory is unreadable,
 * or not laid out as in CPython 3.8 to 3.13, all of this is switched off with a message.
 */
#ifndef XPU_PRELOAD_PYTHON_H
#define XPU_PRELOAD_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "python/mode.h"
#include "xpu_slot.h"

struct python;		/* a thread's known instructions, and room for its chain */

/**
 * python__chain - put the calling thread's Python frames into its call chain
 * @p: the calling thread's pointer, which is NULL before its first use
 * @level: number of this thread's launches that this launch interrupts. Unless it is 0, no Python
 * frames are added
 * @stack: for each frame in @slot, where its function's part of the stack begins; NULL with
 * PYTHON_ONLY
 * @slot: has the native call chain; set to the merged chain
 */
void python__chain(struct python **p, unsigned int level, const uint64_t *stack,
		   struct xpu_slot *slot);

/*
 * All input of the last python__chain() at level 0, except the native chain. While this input is
 * unchanged, Python's frames are unchanged, too. As in a walk, each frame is read only after the
 * next inner frame was found to lead to it. However, the frame's address and expected contents are
 * known in advance, so the processor need not wait. Traces need Python 3.12 or later, where code
 * objects have version numbers.
 */
struct python_trace;

/* Return: the size of the last chain's trace; 0 if the chain has no trace. @p may be NULL. */
size_t python__trace_bytes(const struct python *p);

/*
 * Return: a key of the trace. Equal traces have equal keys; different traces may have equal keys,
 * too.
 */
uint64_t python__trace_key(const struct python *p);

/* Writes the trace of the last chain to @trace. */
void python__trace(const struct python *p, struct python_trace *trace);

/* Return: whether the two traces are equal. */
bool python__same(const struct python_trace *a, const struct python_trace *b);

/* Return: whether the calling thread still has the Python frames of @trace. */
bool python__holds(const struct python_trace *trace);

/* Frees @p, which may be NULL, after its thread has ended. */
void python__free(struct python *p);

/*
 * Packs the definitions that launches need, under the lock of sender.h.
 * Return: whether there were any definitions.
 */
bool python__drain(void);

#endif /* XPU_PRELOAD_PYTHON_H */
