/* SPDX-License-Identifier: MIT */
/* privileges.h - gives up privileges for good, before a process reads or runs anything of others */
#ifndef LIB_PRIVILEGES_H
#define LIB_PRIVILEGES_H

#include <stdint.h>

#define CAP_BIT(cap)	(1ull << (cap))

/*
 * From the next exec on, this process has no capabilities but @keep, a mask of CAP_BIT(), and gains no
 * others. The capabilities that it has stay until then. Return: 0 or a negative errno.
 */
int privileges__bound(uint64_t keep);

/*
 * Gives up all capabilities but @keep, now and for all programs executed later. Return: 0 or a negative
 * errno.
 */
int privileges__drop(uint64_t keep);

#endif /* LIB_PRIVILEGES_H */
