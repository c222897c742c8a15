/* SPDX-License-Identifier: MIT */
/*
 * hash.h - uthash, as merge/ uses it
 *
 * If memory is short, the entry is not added, and the variable oom is set. The caller must declare
 * it.
 */
#ifndef LIB_HASH_H
#define LIB_HASH_H

#include <stdbool.h>

#define HASH_NONFATAL_OOM		1
#define uthash_nonfatal_oom(e)		(oom = true)
#include <uthash.h>

#endif /* LIB_HASH_H */
