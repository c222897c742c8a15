/* SPDX-License-Identifier: MIT */
/*
 * migrations.h - managed memory: pages that move between the host and GPUs, page faults, thrashing
 *
 * CUPTI counts these in the driver, and only while somebody wants them. So the shim asks for them
 * when memory is recorded and the program allocates managed memory for the first time, before that
 * call returns: no page can move earlier, and a program without managed memory pays nothing. Pages
 * of __managed__ variables are recorded from the same moment.
 */
#ifndef XPU_PRELOAD_CUPTI_MIGRATIONS_H
#define XPU_PRELOAD_CUPTI_MIGRATIONS_H

#include <stdbool.h>
#include <stdint.h>

#include <cupti.h>

struct cupti;

/*
 * Prepares for counting, when the recording of memory starts. @late: the program may already have
 * managed memory, so CUPTI is asked at once to count.
 */
void migrations__start(const struct cupti *c, bool late);

/*
 * Makes CUPTI count page migrations, because the program has managed memory. May be called on any
 * thread, also in CUPTI's callbacks.
 */
void migrations__begin(void);

/* Makes CUPTI stop counting migrations. */
void migrations__end(void);

/* Packs a record of CUPTI's kind UNIFIED_MEMORY_COUNTER. @shift: ns to add to its times */
void migrations__pack(const CUpti_Activity *record, int64_t shift);

#endif /* XPU_PRELOAD_CUPTI_MIGRATIONS_H */
