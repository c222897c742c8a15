/* SPDX-License-Identifier: GPL-3.0-or-later */
/* result.h - the result of putting the shim into a process */
#ifndef XPU_LOADER_INJECT_RESULT_H
#define XPU_LOADER_INJECT_RESULT_H

#include <stdint.h>

#define INJECT_WHY	320

struct inject_result {
	uint64_t stopped_ns;		/* longest time for which a thread was stopped */
	uint64_t cpu_wait_ns;		/* the part of stopped_ns that was spent waiting for a
					 * CPU */
	uint32_t nr_stops;		/* number of stops, including those that only read a
					 * thread's state */
	char why[INJECT_WHY];		/* why the process was refused */
};

#endif /* XPU_LOADER_INJECT_RESULT_H */
