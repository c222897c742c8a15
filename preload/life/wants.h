/* SPDX-License-Identifier: MIT */
/* wants.h - whether listeners and the environment want calls of the API and events of memory */
#ifndef XPU_PRELOAD_WANTS_H
#define XPU_PRELOAD_WANTS_H

#include <stdbool.h>

#include "launch/calls.h"

struct run;

/*
 * Return: which calls of the API to record. The environment says none, all or some; where a
 * listener is attached, the listener decides whether calls are recorded at all.
 */
enum calls_wanted wants__calls(void);

/* Whether memory events are all that is wanted: no launches, no device work. */
bool wants__only_memory(void);

void run__want_calls(struct run *run, enum calls_wanted wanted);

/* Starts and stops memory events as listeners want them or no longer do. */
void wants__follow_memory(struct run *run, bool heard);

#endif /* XPU_PRELOAD_WANTS_H */
