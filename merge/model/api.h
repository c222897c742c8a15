/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * api.h - a process's use of one API
 *
 * The APIs of a process number their launches, graph nodes, contexts and devices separately. A
 * scope combines a process's index with the number of an API. Maps from these numbers use the scope
 * instead of the process's index. CUDA's API has number 0, so its scope is equal to the process's
 * index.
 */
#ifndef MERGE_API_H
#define MERGE_API_H

#include <stdint.h>

#include "xpu_record.h"

#define SCOPE_PROCS		(1u << 28)	/* process indices are smaller than this */
#define SCOPE(proc, api)	((uint32_t)(proc) | (uint32_t)(api) << 28)
#define SCOPE_PROC(scope)	((uint32_t)(scope) & (SCOPE_PROCS - 1))
#define SCOPE_API(scope)	((uint32_t)(scope) >> 28)

_Static_assert(XPU_APIS == 16, "four bits of a scope are the API");

#endif /* MERGE_API_H */
