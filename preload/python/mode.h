/* SPDX-License-Identifier: MIT */
/* mode.h - whether the process has an interpreter, and how its frames are recorded */
#ifndef XPU_PRELOAD_MODE_H
#define XPU_PRELOAD_MODE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/hot.h"

enum python_mode {
	PYTHON_OFF,
	PYTHON_ON,
	PYTHON_ONLY,	/* no native frames */
};

/* How python__chain() reads frames; PYTHON_OFF until an interpreter is found. */
extern _Atomic enum python_mode python__mode HIDDEN;

/*
 * Looks for an interpreter in the process, and reads XPUSHIM_PYTHON=on|off|only. Calls are cheap,
 * and do nothing once an interpreter is found. Must not be called inside a launch, since it takes
 * the dynamic loader's lock. @unwound: unwind.c makes the native call chains
 */
void python__look(bool unwound);

/*
 * Reports the place of the process's interpreter, if any, to loaders that take CPU samples. Called
 * when there is a new listener. Also called when the shim is loaded, even though the
 * interpreter may start later, since the process may never use CUDA.
 * @early: the process has not called CUDA yet, see XPU_SITE_EARLY
 */
void python__tell(bool early);

#endif /* XPU_PRELOAD_MODE_H */
