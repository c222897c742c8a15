/* SPDX-License-Identifier: MIT */
/* interpreter.h - the CPython interpreter of this process, for python.c and code_names.c */
#ifndef XPU_PRELOAD_INTERPRETER_H
#define XPU_PRELOAD_INTERPRETER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/memory.h"
#include "python/mode.h"
#include "xpu_record.h"
#include "xpu_pylayout.h"

/* Written before python__mode is set; afterwards only read. */
struct interpreter {
	void *(*get_tstate)(void);
	struct py_layout layout;
	uint64_t code_type, unicode_type, bytes_type;	/* addresses of PyCode_Type, ... */
	uint64_t loop_start, loop_bytes;		/* _PyEval_EvalFrameDefault() */
};

/*
 * This symbol is hidden, so that code can read the fields without loading the structure's address.
 */
extern __attribute__((visibility("hidden"))) struct interpreter py;

#define L	(py.layout)		/* members are written L.f_previous, for example */

/*
 * Switches off Python frames in this process. @why: the reason; @level: XPU_MESSAGE_*. May be
 * called on any thread.
 */
void interpreter__give_up(int level, const char *why);

/*
 * Reports the reason given to interpreter__give_up(), once, under the lock of sender.h. Return:
 * whether there was a reason.
 */
bool interpreter__tell_trouble(void);

typedef uint64_t __attribute__((may_alias, aligned(1))) u64_alias;
typedef uint32_t __attribute__((may_alias, aligned(1))) u32_alias;

static inline uint64_t load64(uint64_t addr)
{
	return *(const u64_alias *)(uintptr_t)addr;
}

static inline uint32_t load32(uint64_t addr)
{
	return *(const u32_alias *)(uintptr_t)addr;
}

static inline uint8_t load8(uint64_t addr)
{
	return *(const uint8_t *)(uintptr_t)addr;
}

static inline bool readable(uint64_t addr, uint64_t bytes)
{
	return addr < USER_MAX && bytes <= USER_MAX - addr &&
	       memory__readable_span(addr, addr + bytes);
}

#endif /* XPU_PRELOAD_INTERPRETER_H */
