/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * inject_steps.h - lets a test kill the injecting process at each of its steps
 *
 * Without INJECT_STEPS, the steps compile to nothing.
 */
#ifndef XPU_LOADER_INJECT_STEPS_H
#define XPU_LOADER_INJECT_STEPS_H

enum inject_step {
	STEP_PREPARED, STEP_BORROWED, STEP_CLONED, STEP_FOUND, STEP_MAPPED, STEP_FILLED,
	STEP_STARTED, STEP_LOADED, STEP_RELEASED, NR_STEPS
};

#ifdef INJECT_STEPS
void inject_step(enum inject_step step);	/* defined by a test */
#else
static inline void inject_step(enum inject_step step)
{
	(void)step;
}
#endif

#endif /* XPU_LOADER_INJECT_STEPS_H */
