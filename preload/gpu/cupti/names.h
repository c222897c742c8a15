/* SPDX-License-Identifier: MIT */
/*
 * names.h - names of kernels in programs that unload modules
 *
 * CUPTI remembers a kernel's name by the address where the driver keeps it. When the module is gone
 * and another kernel's name is at that address, CUPTI still returns the old name (seen with 13.0):
 * the device record of the new kernel has the name of the old kernel. The callback of the launch
 * has the right name. After the first unload, launches are therefore noted with their kernels'
 * names, and a record gets the name that was noted with its launch.
 */
#ifndef XPU_PRELOAD_NAMES_H
#define XPU_PRELOAD_NAMES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <cupti.h>

#include "base/hot.h"

struct names;
extern struct names *_Atomic names__table HIDDEN;	/* NULL: no module was unloaded so far */

static inline bool names__wanted(void)
{
	return atomic_load_explicit(&names__table, memory_order_relaxed);
}

/*
 * Makes the table of names. Called on any thread, when a module is being unloaded or may have been
 * unloaded.
 */
void names__start(void);

/*
 * Notes the kernel's name at a launch's entry, after names__start(). Called on any thread, also in
 * signal handlers.
 */
void names__launch(CUpti_CallbackId cbid, const CUpti_CallbackData *d);

/*
 * Note the kernel name of a graph node that a captured launch has made, or that is a copy of
 * another node.
 */
void names__captured(uint64_t node, uint32_t correlation_id);
void names__cloned(uint64_t node, uint64_t original);

/**
 * names__of - find the name that was noted for a kernel at its launch
 * @node: the graph node of the kernel, or 0
 * @correlation_id: the launch's id; used if @node is 0
 *
 * Return: the name, which is never freed; NULL if it was not noted.
 */
const char *names__of(uint64_t node, uint32_t correlation_id);

#endif /* XPU_PRELOAD_NAMES_H */
