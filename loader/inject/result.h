/* SPDX-License-Identifier: GPL-3.0-or-later */
/* result.h - how putting the shim into a process went */
#ifndef XPU_LOADER_INJECT_RESULT_H
#define XPU_LOADER_INJECT_RESULT_H

#include <stdint.h>

#define INJECT_WHY	320

struct inject_result {
	uint64_t stopped_ns;		/* the longest time that a thread stood still ... */
	uint64_t cpu_wait_ns;		/* ... and how long of it was spent waiting for a CPU */
	uint32_t nr_stops;		/* number of stops, including looks at threads */
	char why[INJECT_WHY];		/* why it was refused */
};

#endif /* XPU_LOADER_INJECT_RESULT_H */
