/* SPDX-License-Identifier: MIT */
/* wants.h - whether listeners and the environment want API calls and memory events */
#ifndef XPU_PRELOAD_WANTS_H
#define XPU_PRELOAD_WANTS_H

#include <stdbool.h>

#include "launch/calls.h"

struct run;

/*
 * Return: which API calls to record. The environment selects none, some or all calls. In a process
 * that xpuload attaches to, the listener decides whether any calls are recorded.
 */
enum calls_wanted wants__calls(void);

/* Whether memory events are all that is wanted: no launches, no device work. */
bool wants__only_memory(void);

void run__want_calls(struct run *run, enum calls_wanted wanted);

/* Starts recording memory events when listeners want them, and stops when none does. */
void wants__follow_memory(struct run *run, bool heard);

#endif /* XPU_PRELOAD_WANTS_H */
