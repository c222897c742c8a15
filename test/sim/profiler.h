/* SPDX-License-Identifier: MIT */
/*
 * profiler.h - inside libcupti.so.N: functions that cupti.c and activity.c share
 */
#ifndef TEST_SIM_PROFILER_H
#define TEST_SIM_PROFILER_H

#include <cupti.h>

#include "layout.h"
#include "sim.h"

#define NR_KINDS	64		/* more than there are activity kinds */
#define NR_CBIDS	1024		/* more than there are callback ids in a domain */

/* cupti.c */
extern const struct sim_core *core;

bool profiler__ready(void);
CUptiResult profiler__result(CUptiResult err);
void profiler__update(void);
uint32_t profiler__version(void);
uint64_t profiler__env(const char *name);

/* activity.c */
bool activity__any_enabled(void);
bool activity__serializes(void);
bool activity__wants_call(const struct sim_call *call);
void activity__call(const struct sim_call *call);
void activity__init_clock(void);
uint64_t activity__now(void);
void activity__devices(void);
void *activity__reserve(const struct sim_activity *act);
void activity__complete(void *record, const struct sim_activity *act);
void activity__abandon(void *record);
void activity__thread_exit(void *lane);
void activity__reset(void);

/* Every exported function begins with this. */
#define PROFILER_CHECK()							\
	do {									\
		if (!profiler__ready())						\
			return profiler__result(CUPTI_ERROR_NOT_INITIALIZED);	\
	} while (0)

#define PROFILER_CHECK_ARG(cond)						\
	do {									\
		if (!(cond))							\
			return profiler__result(CUPTI_ERROR_INVALID_PARAMETER);	\
	} while (0)

#endif /* TEST_SIM_PROFILER_H */
