/* SPDX-License-Identifier: MIT */
/*
 * names.h - names of kernels in programs that unload modules
 *
 * CUPTI remembers a kernel's name by the place where the driver keeps it, and goes on doing so when
 * the module is gone and another kernel's name is in that place (seen with 13.0): the device record
 * of that kernel has the name of the first. What the callback of the launch says is right. So from
 * the first unload on, launches are noted with their names, and a record's name is that of its
 * launch.
 */
#ifndef XPU_PRELOAD_NAMES_H
#define XPU_PRELOAD_NAMES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <cupti.h>

struct names;
extern struct names *_Atomic names__table;	/* NULL: nothing was unloaded so far */

static inline bool names__wanted(void)
{
	return atomic_load_explicit(&names__table, memory_order_relaxed);
}

/* A module goes, or may have gone. On any thread. */
void names__start(void);

/* Once names are wanted, at a launch's entry. On any thread, in signal handlers, too. */
void names__launch(CUpti_CallbackId cbid, const CUpti_CallbackData *d);

/* The same where a launch is captured: @node is what it made. And where graphs are copied. */
void names__captured(uint64_t node, uint32_t correlation_id);
void names__cloned(uint64_t node, uint64_t original);

/**
 * names__of - a kernel's name, as its launch had it
 * @node: its node, if it is one of a graph, or 0
 * @correlation_id: else of its launch
 *
 * Return: the name, which stays; NULL: it was not noted.
 */
const char *names__of(uint64_t node, uint32_t correlation_id);

#endif /* XPU_PRELOAD_NAMES_H */
