/* SPDX-License-Identifier: MIT */
/*
 * hash.h - uthash, as merge/ uses it
 *
 * If memory is short, the entry is not added, and a variable oom, which the caller must declare, is
 * set.
 */
#ifndef LIB_HASH_H
#define LIB_HASH_H

#include <stdbool.h>

#define HASH_NONFATAL_OOM		1
#define uthash_nonfatal_oom(e)		(oom = true)
#include <uthash.h>

#endif /* LIB_HASH_H */
