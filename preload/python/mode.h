/* SPDX-License-Identifier: MIT */
/* mode.h - whether there is an interpreter in the process, and what is wanted of it */
#ifndef XPU_PRELOAD_MODE_H
#define XPU_PRELOAD_MODE_H

#include <stdatomic.h>
#include <stdbool.h>

enum python_mode {
	PYTHON_OFF,
	PYTHON_ON,
	PYTHON_ONLY,	/* no native frames */
};

/* What python__chain() would do; PYTHON_OFF until an interpreter is found. */
extern _Atomic enum python_mode python__mode;

/*
 * Looks for an interpreter in the process, and reads XPUSHIM_PYTHON=on|off|only. Once there is one,
 * further calls do nothing; before, they are cheap. Not from a launch: takes the loader's lock.
 * @unwound: native call chains are made by unwind.c
 */
void python__look(bool unwound);

/*
 * Tells whoever takes CPU samples where the process's interpreter is, if there is one: when the
 * shim is loaded, for one that has not begun yet and in a process that never uses CUDA; and when
 * somebody has come to listen.
 * @early: the process has not called CUDA yet, see XPU_SITE_EARLY
 */
void python__tell(bool early);

#endif /* XPU_PRELOAD_MODE_H */
