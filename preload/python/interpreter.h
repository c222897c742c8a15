/* SPDX-License-Identifier: MIT */
/* interpreter.h - the CPython of this process, for python.c and pycode.c */
#ifndef XPU_PRELOAD_INTERPRETER_H
#define XPU_PRELOAD_INTERPRETER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/memory.h"
#include "python/mode.h"
#include "xpu_record.h"
#include "xpu_pylayout.h"

/* Written before python__mode is, then read only. */
struct interpreter {
	void *(*get_tstate)(void);
	struct py_layout layout;
	uint64_t code_type, unicode_type, bytes_type;	/* addresses of PyCode_Type, ... */
	uint64_t loop_start, loop_bytes;		/* _PyEval_EvalFrameDefault() */
};

/* Hidden, so that its fields are read without a register that says where it is. */
extern __attribute__((visibility("hidden"))) struct interpreter py;

#define L	(py.layout)		/* L.f_previous, and so on */

/*
 * Switches Python frames off in this process because of @why; @level is XPU_MESSAGE_*. On any
 * thread.
 */
void interpreter__give_up(int level, const char *why);

/* Reports that, once. Under the activity lock. Return: whether there was anything to report. */
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
