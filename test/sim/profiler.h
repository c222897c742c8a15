/* SPDX-License-Identifier: MIT */
/*
 * profiler.h - inside libcupti.so.N: functions that cupti.c and activity.c share
 */
#ifndef TEST_SIM_PROFILER_H
#define TEST_SIM_PROFILER_H

#include <cupti.h>

#include "layout.h"
#include "sim.h"

#define NR_KINDS	64		/* more than the number of activity kinds */
#define NR_CBIDS	1024		/* more than the number of callback ids in a domain */

/*
 * Clients of CUPTI. Client 0 calls the functions that take no subscriber. Since CUDA 13.3 there may
 * be several clients, which pass their subscriber to each function. A process cannot have both
 * kinds of clients.
 */
#define NR_CLIENTS	SIM_NR_CLIENTS
#define SEVERAL_VERSION	130300

/* cupti.c */
/* Return: the number of the client that has the subscriber; 0: client 0, or no client. */
unsigned int profiler__client(CUpti_SubscriberHandle subscriber);
/* Return: whether any client passes its subscriber to the functions of CUPTI */
bool profiler__several(void);
extern const struct sim_core *core;

bool profiler__ready(void);
CUptiResult profiler__result(CUptiResult err);
void profiler__update(void);
uint32_t profiler__version(void);
uint64_t profiler__env(const char *name);

/* activity.c */
bool activity__any_enabled(void);
/* Return: whether activity kinds are enabled by functions that take no subscriber. */
bool activity__is_used_alone(void);
/* Clears the kinds that a client has enabled. Its buffers are returned to the client. */
void activity__leave(unsigned int client);
bool activity__serializes(void);
bool activity__wants_call(const struct sim_call *call);
void activity__call(const struct sim_call *call);
void activity__init_clock(void);
uint64_t activity__now(void);
void activity__devices(void);
void *activity__reserve(const struct sim_activity *act);
void activity__complete(void *record, const struct sim_activity *act);
void activity__abandon(void *record);
void activity__migrate(const struct sim_migration *migration);
void activity__thread_exit(void *lane);
void activity__reset(void);

/* pc.c */
void pc__kernel(const struct sim_activity *act);

/*
 * Report that a call begins, and that it ends. If kernels run one at a time, pc__ends() waits for
 * the kernel that the call launched.
 */
void pc__begins(uint32_t correlation_id);
void pc__ends(uint32_t correlation_id);

/* Report that a call has enqueued work on the device, and that such work has ended. */
void pc__launched(uint32_t correlation_id);
void pc__over(void);

bool pc__is_on(void);

/* Every exported function calls this first. */
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
